"""Counts over a whole training set: against a loop that takes one query at a time, and what is refused."""

from __future__ import annotations

import statistics

import pytest
import torch

from icrlib import cocos
from icrlib.data.splits import Split
from icrlib.losses import DCL, LOSSES, GradientObjective, Loss, NTXent, SmoothAP, Triplet, TripletSH, by_name
from icrlib.sampling import Batch, Sampler

from . import twins

ECIR = [Triplet(), TripletSH(), NTXent(), SmoothAP(tau=0.05)]
COUNTED = [*ECIR, DCL()]  # a form of NT-Xent, and counted as such
OTHERS = [by_name(name) for name, kind in LOSSES.items() if kind not in map(type, COUNTED)]
GOAL = [
    GradientObjective(t, p, convention=c)
    for t, p, c in [
        ("con", "lin", "paper"),
        ("cir", "sig-ms", "paper"),
        ("nca", "lin-ms", "released"),
        ("cir", "sig-ms", "released"),
    ]
]


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
    found = cocos.per_batch(loss, x, y, batches, convention=convention, eps=eps, progress=False)
    whole = cocos.over(loss, x, y, batches, convention=convention, eps=eps, progress=False)
    for side in ("i2t", "t2i"):
        expected = []
        for batch in batches:
            scores, mask = x[batch.images] @ y[batch.captions].T, batch.positives
            expected.append(one_by_one(loss, *twins.rows_of(scores, mask, side), convention, eps, side))
        assert set(found[side]) == {*expected[0], "queries"}
        assert set(whole[side]) == {*expected[0], *(f"{key}_std" for key in expected[0])}
        for key in expected[0]:
            values = [batch[key] for batch in expected]
            exactly = 0 if convention == "exact" and key in ("C_B", "C_0") else 1e-9
            assert found[side][key].tolist() == pytest.approx(values, rel=exactly, abs=exactly), (side, key)
            assert whole[side][key] == pytest.approx(statistics.fmean(values), abs=1e-9), (side, key)
            assert whole[side][f"{key}_std"] == pytest.approx(statistics.pstdev(values), abs=1e-9), (side, key)


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


@pytest.mark.parametrize("convention", cocos.CONVENTIONS)
def test_smoothap_on_images_equals_the_loop(convention):
    x, y, split = encodings()
    batches = epoch(split, batches="images", size=5)
    assert [tuple(batch.positives.shape) for batch in batches] == [(5, 15)] * 4 + [(3, 9)]
    compare(SmoothAP(tau=0.05), x, y, batches, convention)


@pytest.mark.parametrize("together", [1, 8 * 10 * 10 * 3, 1 << 30])
@pytest.mark.parametrize("convention", cocos.CONVENTIONS)
@pytest.mark.parametrize("loss", ECIR, ids=repr)
def test_how_many_batches_are_counted_together_changes_nothing(loss, convention, together, monkeypatch):
    """Also where batches of several shapes come in turns."""
    x, y, split = encodings()
    batches = [*epoch(split), *epoch(split, size=7, seed=4)[:3], *epoch(split, seed=5)]
    usual = cocos.per_batch(loss, x, y, batches, convention=convention)
    monkeypatch.setattr("icrlib.cocos.over_training_set.TOGETHER_ON_CPU", together)
    for side, numbers in cocos.per_batch(loss, x, y, batches, convention=convention).items():
        for key, values in numbers.items():
            assert values.tolist() == pytest.approx(usual[side][key].tolist(), rel=1e-12), (side, key)


class Recorder(Triplet):
    """Notes how many rows it is asked for at a time."""

    asked: list = []

    def weights(self, scores, positives):
        self.asked.append(len(scores))
        return super().weights(scores, positives)


def test_equal_batches_go_through_the_loss_together_unless_it_looks_beyond_its_row():
    x, y, split = encodings()
    Recorder.asked.clear()
    cocos.per_batch(Recorder(), x, y, epoch(split), convention="exact")
    assert Recorder.asked == [60, 60, 9, 9]

    class Entangled(Recorder):
        rows_independent = False

    Recorder.asked.clear()
    cocos.per_batch(Entangled(), x, y, epoch(split), convention="exact")
    assert Recorder.asked == [10] * 12 + [9, 9]
    assert Loss.rows_independent and GradientObjective("con", "con").rows_independent
    assert not GradientObjective("con", "con", convention="released").rows_independent


def test_memory_is_bounded(monkeypatch):
    x, y, split = encodings()
    monkeypatch.setattr("icrlib.cocos.over_training_set.TOGETHER_ON_CPU", 8 * 10 * 10 * 4)
    Recorder.asked.clear()
    cocos.per_batch(Recorder(), x, y, iter(epoch(split)), convention="exact")
    assert Recorder.asked == [40, 40, 20, 20, 9, 9]


def test_weighing_by_size():
    """As published each batch counts alike; by size, each query does."""
    x, y, split = encodings(images=21, each=1)
    batches = epoch(split, size=9)
    found = cocos.per_batch(Triplet(), x, y, batches, convention="exact")["t2i"]
    sizes = [9, 9, 3]
    assert found["queries"].tolist() == sizes
    values = found["C_0"].tolist()
    assert len(set(values)) > 1
    alike = cocos.over(Triplet(), x, y, batches, convention="exact")["t2i"]
    by_size = cocos.over(Triplet(), x, y, batches, convention="exact", by_size=True)["t2i"]
    repeated = [value for value, size in zip(values, sizes, strict=True) for _ in range(size)]
    assert alike["C_0"] == pytest.approx(statistics.fmean(values))
    assert alike["C_0_std"] == pytest.approx(statistics.pstdev(values))
    assert by_size["C_0"] == pytest.approx(statistics.fmean(repeated))
    assert by_size["C_0_std"] == pytest.approx(statistics.pstdev(repeated))


def test_the_sizes_of_batches_alone_make_the_spread_that_table_4_prints():
    """C_0 of caption queries, Flickr30k, 226 batches of 640 and one of 360: most of the 18.72 in ECIR's row 1.4."""
    sizes = torch.tensor([640.0] * 226 + [360.0])
    assert float(sizes.mean()) == pytest.approx(638.767, abs=1e-3)
    assert float(sizes.std(correction=0)) == pytest.approx(18.54, abs=1e-2)
    found = cocos.over_training_set._statistics({"C_0": sizes.double(), "queries": sizes.double()}, by_size=False)
    assert found == {"C_0": pytest.approx(638.767, abs=1e-3), "C_0_std": pytest.approx(18.54, abs=1e-2)}


class Sequences:
    """Encodings that are no tensor: what cross-attention compares."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, rows):
        return Sequences(self.values[rows])


def test_a_similarity_of_one_s_own():
    x, y, split = encodings()

    def nearest(images, captions):
        return -torch.cdist(images.values, captions.values)

    batches = epoch(split)
    found = cocos.per_batch(NTXent(), Sequences(x), Sequences(y), batches, convention="exact", similarity=nearest)[
        "t2i"
    ]
    scores = -torch.cdist(x[batches[2].images], y[batches[2].captions])
    expected = cocos.count(NTXent(), scores.T, batches[2].positives.T, convention="exact", direction="t2i")
    assert {key: float(found[key][2]) for key in expected} == pytest.approx(expected, rel=1e-12)


def test_the_graph_is_left_alone():
    x, y, split = encodings()
    x.requires_grad_()
    graphs = []

    def watched(images, captions):
        graphs.append((images @ captions.T).requires_grad)
        return images @ captions.T

    found = cocos.per_batch(NTXent(), x, y, epoch(split), convention="exact", similarity=watched)
    assert graphs == [False] * 7 and not found["i2t"]["W_pos"].requires_grad


def change(batch, **fields):
    return Batch(**(vars(batch) | fields))


def test_what_is_refused():
    x, y, split = encodings()
    batches = epoch(split)

    def over(*batches, convention="exact", loss=ECIR[2], images=x, captions=y, **options):
        return cocos.over(loss, images, captions, batches, convention=convention, progress=False, **options)

    with pytest.raises(ValueError, match="no batches to count"):
        over()
    with pytest.raises(ValueError, match=r"unknown convention 'definitions'.*Did you mean 'definition'\?"):
        over(*batches, convention="definitions")
    with pytest.raises(ValueError, match="eps must be zero or more; got nan"):
        over(*batches, eps=float("nan"))
    with pytest.raises(ValueError, match=r"images \(23, 6\) and captions \(69, 5\) must be encodings .* of one width"):
        over(*batches, captions=y[:, :5])
    with pytest.raises(ValueError, match=r"images \(23,\)"):
        over(*batches, images=x[:, 0])
    with pytest.raises(ValueError, match="captions of batch 1: row 69 is not there, the encodings have 69"):
        over(batches[0], change(batches[1], captions=torch.full((10,), 69)))
    with pytest.raises(ValueError, match="images of batch 0: row -1 is not there"):
        over(change(batches[0], images=torch.full((10,), -1)))
    none = torch.empty(0, dtype=torch.int64)
    with pytest.raises(ValueError, match="captions of batch 1: none; a batch needs at least two images"):
        over(batches[0], change(batches[1], captions=none, positives=torch.empty(10, 0, dtype=torch.bool)))
    with pytest.raises(ValueError, match=r"batch 0 has 10 images and 10 captions, but scores \(10, 10\) and positives"):
        over(change(batches[0], positives=torch.eye(9, dtype=torch.bool)))
    with pytest.raises(ValueError, match=r"batch 0 has 10 images and 10 captions, but scores \(10,\)"):
        over(batches[0], similarity=lambda a, b: (a * b).sum(1))
    with pytest.raises(ValueError, match="released counter of Triplet knows one positive a query"):
        over(*epoch(split, batches="images"), convention="published", loss=Triplet())
    good, other = epoch(split, batches="images")[:2]
    mixed = change(other, captions=other.captions.flip(0), positives=other.positives.flip(1))
    with pytest.raises(ValueError, match="equally many captions an image, image by image"):
        over(good, mixed, convention="published", loss=SmoothAP())


def test_an_error_names_the_row_and_the_batch():
    """Though batches are counted together, the message speaks of its own batch, not of the pile."""
    x, y, split = encodings()
    batches = epoch(split)
    empty = batches[4].positives.clone()
    empty[7] = False
    batches[4] = change(batches[4], positives=empty)
    with pytest.raises(ValueError, match="row 7 of positives has no positive") as caught:
        cocos.per_batch(NTXent(), x, y, batches, convention="exact")
    assert caught.value.__notes__ == ["This is batch 4, i2t."]
    batches = epoch(split)
    x[batches[6].images[2]] = torch.nan
    first = next(k for k, batch in enumerate(batches) if batches[6].images[2] in batch.images)
    with pytest.raises(ValueError, match=r"scores\[\d, 0\] is nan") as caught:
        cocos.per_batch(SmoothAP(), x, y, batches, convention="definition")
    assert caught.value.__notes__ == [f"This is batch {first}, i2t."]


def test_a_long_count_shows_a_bar(monkeypatch, capsys):
    """Nothing for what is over in two seconds, a bar for the rest, none where it is not wanted."""
    x, y, split = encodings()
    monkeypatch.setenv("TQDM_DISABLE", "0")
    cocos.over(Triplet(), x, y, epoch(split), convention="exact")
    assert capsys.readouterr().err == ""
    options = []
    monkeypatch.setattr(
        "icrlib.cocos.over_training_set.bar", lambda items, *given, **more: options.append((given, more)) or items
    )
    cocos.over(Triplet(), x, y, epoch(split), convention="exact", progress=False)
    assert options == [(("counting", False), {"delay": 2})]
