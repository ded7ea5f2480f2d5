"""Measures with several right answers, and among distractors: against slow twins, and against evaluate."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import icrlib
from icrlib import evaluation, judged
from icrlib.data.splits import Judgements

from .conftest import make_split

SIDES = ("i2t", "t2i")


@pytest.fixture
def split():
    return make_split("test", 23, 5, fewest=1, most=3)  # no caption twice: blocks of another size round ties apart


def drawn(split, seed, share):
    """Pairs of which some queries have none, in any order; and each query's right candidates, for both directions."""
    dice = np.random.default_rng(seed)
    mask = dice.random((len(split), len(split.captions))) < share
    mask[3, :], mask[:, 7], mask[0, 0] = False, False, True
    order = dice.permutation(mask.sum())
    image, caption = (torch.from_numpy(rows[order]) for rows in np.nonzero(mask))
    right = [{q: set(np.nonzero(row)[0].tolist()) for q, row in enumerate(m) if row.any()} for m in (mask, mask.T)]
    return Judgements("drawn", split, image, caption), dict(zip(SIDES, right, strict=True))


def by_hand(scores, right):
    """Query by query, as naver-ai/eccv-caption's code does: {query: right candidates} and scores (Q, M)."""
    found = {"r1": [], "r5": [], "r10": [], "r_precision": [], "map_at_r": []}
    for query, answers in right.items():
        order = sorted(range(scores.shape[1]), key=lambda c: -scores[query, c])
        hits, size = [c in answers for c in order], len(answers)
        for k in (1, 5, 10):
            found[f"r{k}"].append(100.0 * any(hits[:k]))
        found["r_precision"].append(sum(hits[:size]) / size)
        found["map_at_r"].append(sum(sum(hits[: k + 1]) / (k + 1) for k in range(size) if hits[k]) / size)
    return {name: sum(values) / len(values) for name, values in found.items()}


@pytest.mark.parametrize("part", [1, 5, 1000])  # queries whose scores are held at a time
@pytest.mark.parametrize("share", [0.05, 0.15])
def test_measures_as_counted_query_by_query(split, share, part, monkeypatch):
    monkeypatch.setattr(evaluation, "PART", 4 * part * len(split))
    judgements, right = drawn(split, part, share)
    scores = torch.randn(len(split), len(split.captions), generator=torch.Generator().manual_seed(part))
    found = judged.evaluate_judged(scores, judgements)
    for side, matrix in zip(SIDES, (scores, scores.T), strict=True):
        expected = by_hand(matrix.numpy(), right[side]) | {
            "queries": len(right[side]),
            "left_out": len(matrix) - len(right[side]),
            "positives": np.mean([len(a) for a in right[side].values()]),
        }
        assert expected["left_out"] > 0 and {key: found[side][key] for key in expected} == pytest.approx(expected)
    assert found["rsum"] == pytest.approx(sum(found[s][k] for s in SIDES for k in ("r1", "r5", "r10")))


def test_own_pairs_give_what_evaluate_gives(model, split):
    own = Judgements("own", split, split.image_of, torch.arange(len(split.captions)))
    found, plain = judged.evaluate_judged(model, own), icrlib.evaluate(model, split)
    assert found["rsum"] == plain["rsum"] and found["t2i"]["map_at_r"] == pytest.approx(found["t2i"]["r1"] / 100)
    for side in SIDES:
        assert {key: found[side][key] for key in plain[side]} == plain[side] and found[side]["left_out"] == 0


@pytest.mark.parametrize(
    ("image", "caption", "word"),
    [
        ([4] * 500, range(500), "no other candidate"),
        ([], [], "no query"),
        ([23], [0], "rows of 23 images"),
        ([4], [-1], "rows of 23 images"),
        ([4, 4], [2, 2], "each once"),
        ([4, 4], [2], "shorter"),
    ],
)
def test_judgements_that_do_not_fit_are_refused(split, image, caption, word):
    rows = (torch.tensor([*some][: len(split.captions)], dtype=torch.int64) for some in (image, caption))
    with pytest.raises(ValueError, match=word):
        judged.evaluate_judged(torch.zeros(len(split), len(split.captions)), Judgements("odd", split, *rows))


def test_scores_that_cannot_be_ranked(split):
    scores, judgements = torch.zeros(len(split), len(split.captions)), drawn(split, 0, 0.1)[0]
    found = judged.evaluate_judged(scores, judgements)
    assert found["rsum"] == found["i2t"]["map_at_r"] == found["t2i"]["r_precision"] == 0  # ties count against the model
    with pytest.raises(ValueError, match="wanted"):
        judged.evaluate_judged(scores[1:], judgements)
    scores[2, 5] = torch.nan
    with pytest.raises(ValueError, match=r"scores\[2, 5\]"):
        judged.evaluate_judged(scores, judgements)


@pytest.mark.parametrize("relevance", ["own", "text"])
def test_distractors_are_candidates_of_captions_alone(model, split, relevance, monkeypatch):
    """As one matrix counts with their columns added; in blocks, too."""
    split.captions[3] = split.captions[0]
    more = torch.rand(9, 12, generator=torch.Generator().manual_seed(1))
    images, captions = evaluation.embed(model, split)
    scores = torch.cat([images, model.encode_images(more)]).detach() @ captions.T
    right = torch.zeros(scores.shape, dtype=torch.bool)
    right[split.pairs_by_text() if relevance == "text" else (split.image_of, torch.arange(len(split.captions)))] = True
    expected = icrlib.metrics.from_scores(scores.T, right.T)
    monkeypatch.setattr(evaluation, "PART", 4 * 40)
    for whole in (evaluation.WHOLE, 0):
        monkeypatch.setattr(evaluation, "WHOLE", whole)
        found, plain = (icrlib.evaluate(model, split, relevance, distractors=d) for d in (more, None))
        assert found["t2i"] == pytest.approx(expected) and found["i2t"] == plain["i2t"]
        assert found["rsum"] < plain["rsum"]
