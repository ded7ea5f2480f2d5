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


@pytest.mark.parametrize("seed", range(2))
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


@pytest.mark.parametrize("part", [1, 5, 1000])  # the last part is smaller for some
def test_parts_equal_the_whole(model, monkeypatch, part):
    split = make_split("test", 23, 5, fewest=1, most=3)  # no caption twice: blocks of another size round ties apart
    judgements, _ = drawn(split, 2)
    at_once = judged.evaluate_judged(model, split, judgements)
    monkeypatch.setattr(evaluation, "PART", 4 * part * len(split))
    assert judged.evaluate_judged(model, split, judgements) == at_once  # the matrix is there, ranks come in parts
    monkeypatch.setattr(evaluation, "WHOLE", 0)
    found = judged.evaluate_judged(model, split, judgements)
    for side in ("i2t", "t2i"):
        assert found[side] == pytest.approx(at_once[side])


def pairs(*captions, image=4):
    return lambda split: Judgements.of_pairs("odd", split, torch.full((len(captions),), image), torch.tensor(captions))


@pytest.mark.parametrize(
    ("judgements", "word"),
    [
        (lambda split: Judgements.own(make_split("test", 5, 0)), "5 images"),
        (lambda split: Judgements.true(split), "'test'"),
        (lambda split: pairs(*range(len(split.captions)))(split), "every candidate"),
        (lambda split: Judgements.of_pairs("odd", split, *2 * [torch.tensor([], dtype=torch.int64)]), "no query"),
        (pairs(0, image=23), "image rows"),
        (pairs(-1), "caption rows"),
        (pairs(2, 2), "twice"),
    ],
)
def test_judgements_that_do_not_fit_are_refused(split, judgements, word):
    with pytest.raises(ValueError, match=word):
        judged.evaluate_judged(torch.zeros(len(split), len(split.captions)), split, judgements(split))


def test_scores_that_cannot_be_ranked(split):
    scores = torch.zeros(len(split), len(split.captions))
    found = judged.evaluate_judged(scores, split, drawn(split)[0])
    assert found["rsum"] == found["i2t"]["map_at_r"] == found["t2i"]["r_precision"] == 0  # ties count against the model
    scores[2, 5] = torch.nan
    with pytest.raises(ValueError, match=r"scores\[2, 5\]"):
        judged.evaluate_judged(scores, split, Judgements.own(split))
