"""Counts over a whole training set: against a loop that takes one query at a time, and what is refused."""

from __future__ import annotations

import statistics
from dataclasses import replace

import pytest
import torch

from icrlib import cocos
from icrlib.data.splits import Split
from icrlib.losses import DCL, LOSSES, NTXent, SmoothAP, Triplet, TripletSH, by_name
from icrlib.models.base import Sequences
from icrlib.sampling import Sampler

from . import twins

ECIR = [Triplet(), TripletSH(), NTXent(), SmoothAP(tau=0.05)]
COUNTED = [*ECIR, DCL()]  # a form of NT-Xent, and counted as such
OTHERS = [by_name(name) for name, kind in LOSSES.items() if kind not in map(type, COUNTED)]
GOAL = [by_name(f"goal:{name}") for name in ("con x lin", "cir x sig-ms")]
GOAL += [by_name(f"goal:{name}", convention="released") for name in ("nca x lin-ms", "cir x sig-ms")]


def encodings(images=23, each=3, width=6, seed=0):
    """Unit vectors in float64, captions near their images; ``each`` captions an image, or from 2 to that many."""
    generator = torch.Generator().manual_seed(seed)
    counts = [each] * images if isinstance(each, int) else [each[k % len(each)] for k in range(images)]
    owner = torch.arange(images).repeat_interleave(torch.tensor(counts))
    x = torch.randn(images, width, generator=generator, dtype=torch.float64)
    y = x[owner] + 0.7 * torch.randn(len(owner), width, generator=generator, dtype=torch.float64)
    split = Split("train", x, [""] * len(owner), owner, [str(k) for k in range(images)])
    return *(torch.nn.functional.normalize(v, dim=1) for v in (x, y)), split


def epoch(split, batches="pairs", positives="diagonal", size=10, seed=3):
    sampler = Sampler(split, seed, size, batches, positives)
    return [sampler[k] for k in range(sampler.per_epoch)]


def one_by_one(loss, scores, mask, convention, eps, direction):
    """The summary of one batch: each query alone through ``loss.weights``, counted in Python."""
    rows = list(zip(scores.tolist(), mask.tolist(), strict=True))
    if getattr(loss, "convention", "paper") == "released":  # looks at the rows of the other queries
        weights = loss.weights(scores, mask).tolist()
    else:
        weights = [loss.weights(s[None], m[None])[0].tolist() for s, m in zip(scores, mask, strict=True)]
    if convention == "exact":
        counts, shares = [sum(abs(w) > eps for w in row) for row in weights], []
        if isinstance(loss, NTXent):
            for row, own in zip(weights, mask.tolist(), strict=True):
                large = [w for w, positive in zip(row, own, strict=True) if not positive and w > eps]
                pulled = sum(abs(w) for w, positive in zip(row, own, strict=True) if positive)
                shares.append((len(large), sum(large), pulled))
        return twins.summary(counts, weights, mask.tolist(), shares)
    counts = [twins.definition(loss, *row, eps) for row in rows]
    if convention == "published" and isinstance(loss, SmoothAP):
        long, short = max(scores.shape), min(scores.shape)
        counts = twins.released_smoothap(scores, long // short, loss.tau, eps, direction == "t2i")
    elif convention == "published" and type(loss) is Triplet and direction == "t2i":
        counts = twins.released_triplet_t2i(loss, scores, mask)
    shares = [twins.defined_shares(loss, *row, eps) for row in rows] if isinstance(loss, NTXent) else []
    return twins.summary(counts, weights, mask.tolist(), shares)


def compare(loss, x, y, batches, convention, eps=0.01):
    """Every number of every batch and both directions; then mean and population standard deviation."""
    result = cocos.per_batch(loss, x, y, batches, convention=convention, eps=eps, progress=False)
    means = cocos.over(loss, x, y, batches, convention=convention, eps=eps, progress=False)
    for side in ("i2t", "t2i"):
        expected = []
        for batch in batches:
            scores, mask = x[batch.images] @ y[batch.captions].T, batch.positives
            expected.append(one_by_one(loss, *twins.rows_of(scores, mask, side), convention, eps, side))
        assert set(result[side]) == {*expected[0], "queries"}
        assert set(means[side]) == {*expected[0], *(f"{key}_std" for key in expected[0])}
        assert result[side]["queries"].tolist() == [batch.positives.shape[side == "t2i"] for batch in batches]
        for key in expected[0]:
            values = [batch[key] for batch in expected]
            exactly = 0 if convention == "exact" and key in ("C_B", "C_0") else 1e-9
            assert result[side][key].tolist() == pytest.approx(values, rel=exactly, abs=exactly), (side, key)
            assert means[side][key] == pytest.approx(statistics.fmean(values), abs=1e-9), (side, key)
            assert means[side][f"{key}_std"] == pytest.approx(statistics.pstdev(values), abs=1e-9), (side, key)


@pytest.mark.parametrize("convention", cocos.CONVENTIONS)
@pytest.mark.parametrize("loss", COUNTED, ids=repr)
def test_pairs_equal_the_loop(loss, convention):
    """69 pairs in batches of 10, the last of 9."""
    x, y, split = encodings()
    batches = epoch(split)
    assert [len(batch.captions) for batch in batches] == [10] * 6 + [9]
    compare(loss, x, y, batches, convention)
    compare(loss, x, y, batches, convention, eps=0.2)


@pytest.mark.parametrize("loss", OTHERS + GOAL, ids=repr)
def test_every_other_loss_equals_the_loop(loss):
    x, y, split = encodings()
    compare(loss, x, y, epoch(split), "exact")
    for convention in ("definition", "published"):
        with pytest.raises(ValueError, match=f"ECIR defines no count for {type(loss).__name__}"):
            cocos.over(loss, x, y, epoch(split), convention=convention)


@pytest.mark.parametrize("convention", ["definition", "exact"])
@pytest.mark.parametrize("loss", ECIR, ids=repr)
def test_several_positives_equal_the_loop(loss, convention):
    """True masks of pairs, where an image can come twice; and images with 2 to 4 captions, so shapes differ."""
    x, y, split = encodings(each=(2, 4, 3))
    pairs, images = epoch(split, positives="image"), epoch(split, batches="images", size=5)
    assert any((batch.positives.sum(1) > 1).any() for batch in pairs)
    assert len({batch.positives.shape for batch in images}) > 2
    compare(loss, x, y, pairs, convention)
    compare(loss, x, y, images, convention)


@pytest.mark.parametrize("each", [2, 3])
def test_published_smoothap_on_images_equals_the_loop(each):
    x, y, split = encodings(each=each)
    batches = epoch(split, batches="images", size=5)
    assert [tuple(batch.positives.shape) for batch in batches] == [(5, 5 * each)] * 4 + [(3, 3 * each)]
    compare(SmoothAP(tau=0.05), x, y, batches, "published")


class Recorder(Triplet):
    """Notes how many rows it is called with at a time."""

    rows: list = []

    def weights(self, scores, positives):
        self.rows.append(len(scores))
        return super().weights(scores, positives)


class Entangled(Recorder):
    rows_independent = False


@pytest.mark.parametrize(
    ("kind", "limit", "rows"),
    [
        (Recorder, 1 << 30, [60, 60, 9, 9]),
        (Recorder, 8 * 10 * 10 * 4, [40, 40, 20, 20, 9, 9]),  # memory is bounded
        (Entangled, 1 << 30, [10] * 12 + [9, 9]),
    ],
)
def test_equal_batches_go_through_the_loss_together_unless_it_looks_beyond_its_row(kind, limit, rows, monkeypatch):
    x, y, split = encodings()
    monkeypatch.setattr("icrlib.cocos.over_training_set.TOGETHER_ON_CPU", limit)
    Recorder.rows.clear()
    cocos.per_batch(kind(), x, y, iter(epoch(split)), convention="exact")
    assert Recorder.rows == rows


def test_a_similarity_of_one_s_own():
    """Of encodings that are no tensors; and the graph is left alone."""
    x, y, split = encodings()
    x.requires_grad_()
    graphs, batches = [], epoch(split)

    def nearest(images, captions):
        distances = torch.cdist(images.values[:, 0], captions.values[:, 0])
        graphs.append(distances.requires_grad)
        return -distances

    given = (Sequences(v[:, None], torch.ones(len(v), dtype=torch.int64)) for v in (x, y))
    result = cocos.per_batch(NTXent(), *given, batches, convention="exact", similarity=nearest)["t2i"]
    assert graphs == [False] * 7 and not result["W_pos"].requires_grad
    scores = -torch.cdist(x[batches[2].images], y[batches[2].captions]).detach()
    expected = cocos.count(NTXent(), scores.T, batches[2].positives.T, convention="exact", direction="t2i")
    assert {key: float(result[key][2]) for key in expected} == pytest.approx(expected, rel=1e-12)


def test_what_is_refused():
    x, y, split = encodings()
    one = epoch(split)[0]
    for batches, options, message in (
        ([], {}, "no batches"),
        ([one], {"convention": "definitions"}, "'definition'"),
        ([one], {"eps": float("nan")}, "eps"),
    ):
        with pytest.raises(ValueError, match=message):
            cocos.over(Triplet(), x, y, batches, **({"convention": "exact"} | options))


def test_an_error_names_the_row_and_the_batches():
    x, y, split = encodings()
    batches = epoch(split)
    batches[4] = replace(batches[4], positives=torch.zeros(10, 10, dtype=torch.bool))
    with pytest.raises(ValueError, match="row 40 of positives has no positive") as caught:
        cocos.per_batch(NTXent(), x, y, batches, convention="exact")
    assert "batches 0 to 5, i2t" in caught.value.__notes__[0]
