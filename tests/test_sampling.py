"""Batches: a pure function of (seed, update), every item once an epoch, masks as published or true."""

from __future__ import annotations

import pytest
import torch

from icrlib.data.splits import Split
from icrlib.sampling import Sampler

from .conftest import make_split


@pytest.mark.parametrize("batches", ["pairs", "images"])
@pytest.mark.parametrize("images", [7, 16, 33])  # 33 = 2 x 16 + 1: a lone image joins the batch before
def test_every_item_comes_once_an_epoch(batches, images):
    split = make_split("train", images, 0)
    sampler = Sampler(split, seed=3, batch_size=16, batches=batches)
    for epoch in range(2):
        drawn = [sampler[epoch * sampler.per_epoch + i] for i in range(sampler.per_epoch)]
        assert all(len(batch.images) >= 2 for batch in drawn)
        captions = torch.cat([batch.captions for batch in drawn])
        assert sorted(captions.tolist()) == list(range(len(split.captions)))
        if batches == "images":
            assert sorted(torch.cat([b.images for b in drawn]).tolist()) == list(range(images))


def test_batches_depend_on_seed_and_update_only():
    split = make_split("train", 40, 0)
    forward, jump = Sampler(split, 1, 16), Sampler(split, 1, 16)
    sequence = [forward[i].captions for i in range(3 * forward.per_epoch)]
    for update in (20, 3, 11):
        assert torch.equal(jump[update].captions, sequence[update])
    assert not torch.equal(sequence[0], Sampler(split, 2, 16)[0].captions)
    assert not torch.equal(sequence[0], sequence[forward.per_epoch])  # a new order each epoch


def test_masks_as_published_and_true():
    split = make_split("train", 6, 0)  # few images, so that one comes twice in a batch of pairs
    published, true = Sampler(split, 0, 12), Sampler(split, 0, 12, positives="image")
    batch, same = published[0], true[0]
    assert torch.equal(batch.positives, torch.eye(len(batch.images), dtype=torch.bool))
    slow = torch.tensor([[bool(a == split.image_of[c]) for c in same.captions] for a in same.images])
    assert torch.equal(same.positives, slow) and slow.sum() > len(slow)
    own = Sampler(split, 0, 4, "images")[0]
    slow = torch.tensor([[bool(a == split.image_of[c]) for c in own.captions] for a in own.images])
    assert torch.equal(own.positives, slow) and bool(slow.any(1).all())


def captioned(*captions):
    """A split of (image, text) pairs."""
    rows, texts = zip(*captions, strict=True)
    names = [f"photo{i}" for i in range(max(rows) + 1)]
    return Split("train", torch.rand(len(names), 3), list(texts), torch.tensor(rows), names)


SHARED = captioned((0, "A  red RING"), (0, "a box"), (1, "a red ring"), (2, "a box"), (3, "a star"), (3, " "), (2, " "))


@pytest.mark.parametrize("batches", ["pairs", "images"])
@pytest.mark.parametrize("size", [2, 3, 7])
def test_equal_texts_are_positives(batches, size):
    """Against every pair read on its own; a text without a word equals nothing; everybody has a negative."""
    texts, image_of = [SHARED.texts[c] for c in range(7)], SHARED.image_of.tolist()
    sampler, first = Sampler(SHARED, 5, size, batches, "text"), Sampler(SHARED, 5, size, batches)
    for update in range(3 * sampler.per_epoch):
        batch, plain = sampler[update], first[update]
        of = [{int(texts[c]) for c in range(7) if image_of[c] == row} for row in batch.images.tolist()]
        slow = torch.tensor([[int(texts[c]) in own for c in batch.captions.tolist()] for own in of])
        assert torch.equal(batch.positives, slow) and slow.any(0).all() and slow.any(1).all()
        assert not (slow.all(0).any() or slow.all(1).any())
        assert torch.equal(batch.captions[: len(plain.captions)], plain.captions)
    assert SHARED.texts.tolist() == [0, 1, 0, 1, 2, 3, 4]


def test_refusals():
    split, alone = make_split("train", 6, 0), Split("train", torch.ones(1, 3), ["a b"], torch.tensor([0]), ["x"])
    of_all = captioned((0, "a dog"), (1, "a dog"), (1, "a cat"))  # nothing is left to tell apart
    everywhere = captioned((0, "a dog"), (0, "a cat"), (1, "a dog"), (1, "a cow"))
    for given, message in (
        ((split, 0, 4, "image"), "batches 'image'"),
        ((split, 0, 1), "batch_size"),
        ((alone, 0, 4), "at least two"),
        ((of_all, 0, 2, "pairs", "text"), "image photo1"),
        ((everywhere, 0, 2, "pairs", "text"), "caption 'a dog'"),
    ):
        with pytest.raises(ValueError, match=message):
            Sampler(*given)
