"""Measures with several right answers: against slow twins, against evaluate on truths that both know, and in parts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import icrlib
from icrlib import evaluation, judged
from icrlib.data import scenes
from icrlib.data.judgements import Judgements
from icrlib.models import VSE

from .conftest import make_split


@pytest.fixture
def split():
    return make_split("test", 23, 5, fewest=1, most=6)


def drawn(split, seed=0, share=0.1):
    """Other pairs for each direction; some queries have none. As rows and as {query: set of candidates}."""
    dice, sides, twins = np.random.default_rng(seed), {}, {}
    for side in ("i2t", "t2i"):
        mask = dice.random((len(split), len(split.captions))) < share
        mask[3, :], mask[:, 7], mask[0, 0] = False, False, True
        image, caption = np.nonzero(mask)
        order = dice.permutation(len(image))  # in any order
        sides[side] = torch.from_numpy(image[order]), torch.from_numpy(caption[order])
        matrix = mask if side == "i2t" else mask.T
        twins[side] = {query: set(np.nonzero(row)[0].tolist()) for query, row in enumerate(matrix) if row.any()}
    return Judgements("drawn", sides["i2t"], sides["t2i"], len(split), len(split.captions)), twins


def by_hand(scores, right):
    """Query by query, as naver-ai/eccv-caption's code does: {query: right candidates} and scores (Q, M)."""
    found = {"r1": [], "r5": [], "r10": [], "r_precision": [], "map_at_r": []}
    for query, answers in right.items():
        order = sorted(range(scores.shape[1]), key=lambda c: -scores[query, c])
        for k in (1, 5, 10):
            found[f"r{k}"].append(100.0 if any(c in answers for c in order[:k]) else 0.0)
        size = len(answers)
        found["r_precision"].append(sum(c in answers for c in order[:size]) / size)
        found["map_at_r"].append(
            sum(sum(c in answers for c in order[: k + 1]) / (k + 1) for k in range(size) if order[k] in answers) / size
        )
    return {name: sum(values) / len(values) for name, values in found.items()}


@pytest.mark.parametrize("seed", range(4))
def test_measures_as_counted_query_by_query(split, seed):
    judgements, right = drawn(split, seed, share=0.05 + 0.1 * seed)
    scores = torch.randn(len(split), len(split.captions), generator=torch.Generator().manual_seed(seed))
    found = judged.evaluate_judged(scores, split, judgements)
    for side, matrix in (("i2t", scores), ("t2i", scores.T)):
        for name, value in by_hand(matrix.numpy(), right[side]).items():
            assert found[side][name] == pytest.approx(value), (side, name)
        total = len(matrix)
        assert found[side]["queries"] == len(right[side]) < total
        assert found[side]["left_out"] == total - len(right[side])
        assert found[side]["positives"] == pytest.approx(np.mean([len(a) for a in right[side].values()]))
    assert found["rsum"] == pytest.approx(sum(found[s][k] for s in ("i2t", "t2i") for k in ("r1", "r5", "r10")))


def test_ties_count_against_the_model(split):
    flat = torch.zeros(len(split), len(split.captions))
    found = judged.evaluate_judged(flat, split, drawn(split)[0])
    assert found["rsum"] == found["i2t"]["map_at_r"] == found["t2i"]["r_precision"] == 0


def test_own_pairs_give_what_evaluate_gives(model, split):
    found, plain = judged.evaluate_judged(model, split, Judgements.own(split)), icrlib.evaluate(model, split)
    assert found["rsum"] == plain["rsum"]
    for side in ("i2t", "t2i"):
        assert {key: found[side][key] for key in plain[side]} == plain[side] and found[side]["left_out"] == 0
    assert found["t2i"]["map_at_r"] == pytest.approx(found["t2i"]["r1"] / 100)


@pytest.fixture(scope="module")
def data():
    return scenes.load(train=40, val=4, test=40, progress=False)


def test_truth_on_scenes_gives_what_evaluate_gives(data):
    torch.manual_seed(1)
    model = VSE(data.test.features.shape[1], len(data.vocabulary), embed_dim=16, word_dim=8)
    model.vocabulary = data.vocabulary
    known = icrlib.evaluate(model, data.test, relevance=True)
    assert data.test.relevance.sum() > len(data.test.captions)
    found = judged.evaluate_judged(model, data.test, Judgements.true(data.test))
    assert found["rsum"] == known["rsum"]
    for side in ("i2t", "t2i"):
        assert {key: found[side][key] for key in known[side]} == known[side]


def test_a_split_that_knows_no_truth(split):
    with pytest.raises(ValueError, match="'test' does not know which images a caption describes"):
        Judgements.true(split)


@pytest.mark.parametrize("part", [1, 4, 5, 200, 1000])  # the last part is smaller for some
def test_parts_equal_the_whole(model, monkeypatch, part):
    split = make_split("test", 23, 5, fewest=1, most=3)  # no caption twice: blocks of another size round ties apart
    judgements, _ = drawn(split, 2)
    whole = judged.evaluate_judged(model, split, judgements)
    monkeypatch.setattr(evaluation, "PART", 4 * part * len(split))
    assert judged.evaluate_judged(model, split, judgements) == whole  # the matrix is there, ranks come in parts
    monkeypatch.setattr(evaluation, "WHOLE", 0)
    found = judged.evaluate_judged(model, split, judgements)
    for side in ("i2t", "t2i"):
        assert found[side] == pytest.approx(whole[side])


def test_no_more_than_a_part_of_the_scores_is_held(model, split, monkeypatch):
    sizes, original = [], evaluation.all_scores

    def seen(*given):
        made = original(*given)
        sizes.append(made.numel())
        return made

    monkeypatch.setattr(evaluation, "all_scores", seen)
    monkeypatch.setattr(evaluation, "WHOLE", 0)
    monkeypatch.setattr(evaluation, "PART", 4 * 200)
    judged.evaluate_judged(model, split, Judgements.own(split))
    assert len(sizes) > 10 and max(sizes) <= 200


def test_scores_that_are_not_finite(split):
    scores = torch.zeros(len(split), len(split.captions))
    scores[2, 5] = torch.nan
    with pytest.raises(ValueError, match=r"scores\[2, 5\] is nan"):
        judged.evaluate_judged(scores, split, Judgements.own(split))


def test_what_does_not_fit_is_refused(split):
    scores = torch.zeros(len(split), len(split.captions))
    other = Judgements.own(make_split("test", 5, 0))
    with pytest.raises(ValueError, match="own pairs: judgements for 5 images and .* but the split 'test' has 23 and"):
        judged.evaluate_judged(scores, split, other)
    with pytest.raises(ValueError, match="wanted .23, "):
        judged.evaluate_judged(scores.T, split, Judgements.own(split))
    none = torch.tensor([], dtype=torch.int64)
    with pytest.raises(ValueError, match="empty, i2t: no query has a right answer"):
        judged.evaluate_judged(scores, split, Judgements.of_pairs("empty", split, none, none))
    everything = torch.arange(len(split.captions))
    with pytest.raises(ValueError, match="i2t: every candidate is right for query 4"):
        judged.evaluate_judged(scores, split, Judgements.of_pairs("all", split, everything * 0 + 4, everything))


@pytest.mark.parametrize(
    ("image", "caption", "message"),
    [
        ([0, 23], [0, 1], "image rows must lie in 0 to 22; got 0 to 23"),
        ([0, 1], [-1, 1], "caption rows must lie in 0 to"),
        ([0, 1], [0], "2 images for 1 captions"),
        ([0, 1, 0], [2, 1, 2], "a pair is listed twice"),
    ],
)
def test_pairs_that_are_none(split, image, caption, message):
    with pytest.raises(ValueError, match=f"odd, i2t: {message}"):
        Judgements.of_pairs("odd", split, torch.tensor(image), torch.tensor(caption))
