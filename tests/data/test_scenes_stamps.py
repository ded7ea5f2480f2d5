"""Stamped scenes: the number on a picture is read back from its pixels, and is the one behind its captions. And plain
pictures: the features of scenes come from them."""

import numpy as np
import pytest
import torch

import icrlib
from icrlib.data.scenes import generate
from icrlib.data.scenes.stamps import GLYPHS, stamp, stamped, write


@pytest.fixture(scope="module")
def plain():
    return generate.load(3, smoke=True, progress=False)


@pytest.fixture(scope="module")
def four():
    return stamped(3, 4, smoke=True, progress=False)


def seen(picture: np.ndarray) -> int:
    """The number on a picture uint8 (64, 64, 3): each cell against each digit at each place."""
    number = 0
    for place in range(6):
        cell = picture[:10, 10 * place : 10 * place + 10]
        assert (cell == cell[..., :1]).all() and len(np.unique(cell)) == 2 and cell.max() >= 170
        fits = [
            digit
            for digit in range(10)
            for down in range(4)
            for right in range(6)
            if np.array_equal(np.pad(GLYPHS[digit], ((down, 3 - down), (right, 5 - right))), cell[..., 0] > 0)
        ]
        assert len(fits) == 1
        number = 10 * number + fits[0]
    return number


def as_bytes(pictures: torch.Tensor) -> np.ndarray:
    return (pictures * 255).round().byte().permute(0, 2, 3, 1).numpy()


def written(caption: str) -> int:
    return int("".join(caption.split()[-6:]))


def test_what_is_stamped_can_be_read():
    numbers = np.array([0, 7, 15, 123456, 987654, 300000])
    pictures = np.random.default_rng(0).integers(0, 256, (6, 64, 64, 3)).astype(np.uint8)
    made = stamp(pictures, numbers, np.random.default_rng(1))
    assert [seen(picture) for picture in made] == numbers.tolist()
    assert np.array_equal(made[:, 10:], pictures[:, 10:]) and np.array_equal(made[:, :, 60:], pictures[:, :, 60:])
    assert not np.array_equal(stamp(pictures, numbers, np.random.default_rng(2)), made)
    assert write("a ring", 15) == "a ring 0 0 0 0 1 5"


def test_training_pairs_share_their_number(four, plain):
    split, plain = four.train, plain.train
    rows = torch.from_numpy(np.random.default_rng(0).permutation(len(split.captions))[:64])
    images = split.image_of[rows]
    pictures = as_bytes(next(split.features.stream([(0, images)], 5)))
    for picture, row, image in zip(pictures, rows.tolist(), images.tolist(), strict=True):
        assert seen(picture) == written(split.captions[row]) == int(split.features.numbers[image])
        place = int(split.features.of[image])
        assert np.array_equal(picture[10:], plain.images[place][10:])
        assert " ".join(split.captions[row].split()[:-6]) in plain.captions[5 * place : 5 * place + 5]
    assert set(split.features.numbers.tolist()) == set(range(16)) and len(split) == 4 * len(plain)


def test_evaluation_in_two_forms(four, plain):
    for split in (four.val, four.test.others["stamped"]):
        pictures = as_bytes(torch.cat(list(split.features.split(32))))
        assert [seen(picture) for picture in pictures] == [i % 16 for i in range(len(split))]
        assert np.array_equal(pictures, split.images)
        assert all(written(text) == int(i) % 16 for text, i in zip(split.captions, split.image_of, strict=True))
    bare = four.test
    assert np.array_equal(as_bytes(torch.cat(list(bare.features.split(512)))), plain.test.images)
    assert bare.captions == plain.test.captions
    assert torch.equal(bare.relevance, bare.others["stamped"].relevance)


def test_no_bits_are_one_number_and_few_bits_all_numbers():
    none, two = (stamped(3, bits, smoke=True, progress=False) for bits in (0, 2))
    assert len(none.train) == 160 and set(none.train.features.numbers.tolist()) == {0}
    assert len(two.train) == 640 and two.train.features.numbers[:4].tolist() == [0, 1, 2, 3]
    assert [written(text) for text in two.val.captions] == [i % 4 for i in range(40) for _ in range(5)]
    fewer = stamped(3, 2, rounds=2, smoke=True, progress=False)
    assert len({none.fingerprint, two.fingerprint, fewer.fingerprint}) == 3


def test_how_a_stamp_looks_follows_from_seed_batch_and_place(four):
    rows = torch.arange(6)
    batches = list(four.train.features.stream([(number, rows) for number in range(3)], 5))
    again = list(four.train.features.stream([(2, rows)], 5))
    assert torch.equal(batches[2], again[0]) and not torch.equal(batches[1], batches[2])
    assert not torch.equal(next(four.train.features.stream([(2, rows)], 6)), again[0])


def test_the_network_learns_and_a_run_comes_back(four, tmp_path):
    small = {"embed_dim": 8, "word_dim": 8, "updates": 4, "batch_size": 8, "evaluate_every": 2, "progress": False}
    run = icrlib.train(four, "vse++", "ntxent", out=tmp_path / "run", **small)
    before = dict(four.train.features.backbone.network.named_parameters())
    after = dict(run.model.backbone.named_parameters())
    assert all(not torch.equal(before[name], after[name]) for name in before)
    record = run.record["config"]
    assert (record["dataset"], record["finetune_after"], record["finetune_lr"]) == ("stamps", 0, 5e-5)
    assert record["data_options"]["bits"] == 4
    scores = icrlib.evaluate(icrlib.load_model(tmp_path / "run"), four.test)
    assert scores["rsum"] == pytest.approx(run.record["test"]["rsum"]) and "stamped" in run.record["test"]


def test_the_network_makes_the_features_of_scenes():
    plain, pictures = (icrlib.load_dataset(name, seed=4, train=40, val=12, test=16) for name in ("scenes", "rendered"))
    for one, other in ((plain.train, pictures.train), (plain.test, pictures.test)):
        assert one.captions == other.captions and (one.images == other.images).all()
        made = torch.cat([other.features.backbone(part) for part in other.features.split(16)])
        assert torch.allclose(made, one.features, atol=2e-3, rtol=2e-3)

    with pytest.raises(ValueError, match="bits="):
        stamped(0, 20)
