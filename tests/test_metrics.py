"""Ranks and measures against naive loops; torchmetrics where definitions agree, and where they do not."""

from __future__ import annotations

import importlib
import statistics

import pytest
import torch
from hypothesis import given, settings

from icrlib import metrics
from icrlib.data.backbones import import_torchvision
from icrlib.metrics import KEYS, diagnose, from_scores, ranks
from icrlib.score_checks import NonFiniteScores

from .losses.slow import OWN3, S3, problems, split_row, st

import_torchvision()  # torchmetrics imports it, which may first need the library's repair
retrieval = importlib.import_module("torchmetrics.functional.retrieval")


def slow_ranks(row, mask, ties):
    """Ranks of the relevant candidates of one query, best first; pessimistic: every tied non-relevant goes ahead."""
    relevant, rest = split_row(row, mask)
    found = []
    for k, score in enumerate(sorted((row[i] for i in relevant), reverse=True)):
        ahead = sum(row[j] > score or (ties == "pessimistic" and row[j] == score) for j in rest)
        found.append(1 + k + ahead)
    return found


def slow_measures(scores, positives, ties="pessimistic"):
    """One query after the other, from the list that a reader would see: 1 for relevant, 0 for not."""
    lists = []
    for row, mask in zip(scores.tolist(), positives.tolist(), strict=True):
        hits = set(slow_ranks(row, mask, ties))
        lists.append([rank in hits for rank in range(1, len(row) + 1)])
    best = [marks.index(True) + 1 for marks in lists]
    result = {f"r{k}": 100 * statistics.fmean(any(marks[:k]) for marks in lists) for k in (1, 5, 10)}
    result["average_recall"] = statistics.fmean(result.values())

    def precision_at_hits(marks):
        return [sum(marks[: r + 1]) / (r + 1) for r, hit in enumerate(marks) if hit]

    result["map"] = statistics.fmean(statistics.fmean(precision_at_hits(marks)) for marks in lists)
    five = [precision_at_hits(marks[:5]) for marks in lists]
    result["map_at_5"] = statistics.fmean(statistics.fmean(hits) if hits else 0.0 for hits in five)
    result["r_precision"] = statistics.fmean(sum(marks[: sum(marks)]) / sum(marks) for marks in lists)
    result["median_rank"] = statistics.median(best)
    return result


@pytest.mark.parametrize("ties", ["pessimistic", "optimistic"])
@given(data=st.data())
@settings(max_examples=60)
def test_equals_the_naive_loops(ties, data):
    scores, mask = data.draw(problems(ties=data.draw(st.booleans()), largest=14))
    scores = scores.mul(10).round() / 10  # ties of relevant with non-relevant, too
    found = ranks(scores, mask, ties)
    expected = [slow_ranks(*q, ties) for q in zip(scores.tolist(), mask.tolist(), strict=True)]
    assert found.query.tolist() == [q for q, row in enumerate(expected) for _ in row]
    assert found.k.tolist() == [k for row in expected for k in range(len(row))]
    assert found.rank.tolist() == [r for row in expected for r in row]
    measures = from_scores(scores, mask, ties)
    assert tuple(measures) == KEYS and all(type(v) is float for v in measures.values())
    assert measures == pytest.approx(slow_measures(scores, mask, ties), abs=1e-9)


def one_query(*hits, length=20, relevant=5):
    """A query whose relevant candidates come at the given ranks, the remaining ones last."""
    at = [*hits, *range(length, length - relevant + len(hits), -1)]
    mask = torch.zeros(1, length, dtype=torch.bool)
    mask[0, [rank - 1 for rank in at]] = True
    return torch.linspace(1, 0, length)[None], mask


@pytest.mark.parametrize(
    ("hits", "value"),
    [((1,), 1.0), ((2, 5), 0.45), ((5,), 0.2), ((1, 2, 3, 4, 5), 1.0), ((1, 3), (1 + 2 / 3) / 2), ((), 0), ((6,), 0)],
)
def test_map_at_5_divides_by_the_hits_found(hits, value):
    """As released: not by min(5, |P|), so a single hit at rank 1 is already perfect (the usual AP@5: 0.2)."""
    assert from_scores(*one_query(*hits))["map_at_5"] == pytest.approx(value)


@given(problem=problems(largest=12))
@settings(max_examples=30)
def test_equals_torchmetrics_without_ties(problem):
    scores, mask = problem
    scores = scores + 1  # torchmetrics leaves out relevant candidates whose score is not above 0
    found = from_scores(scores, mask)

    def mean(measure, **options):
        return float(torch.stack([measure(s, p, **options) for s, p in zip(scores, mask, strict=True)]).double().mean())

    assert found["map"] == pytest.approx(mean(retrieval.retrieval_average_precision), abs=1e-5)
    assert found["r_precision"] == pytest.approx(mean(retrieval.retrieval_r_precision), abs=1e-5)
    for k in (1, 5, 10):
        top = min(k, scores.shape[1])
        assert found[f"r{k}"] == pytest.approx(100 * mean(retrieval.retrieval_hit_rate, top_k=top), abs=1e-4)


@pytest.mark.parametrize("room", [1, 20, 100, metrics.ROOM])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("ties", ["pessimistic", "optimistic"])
@pytest.mark.parametrize("counts", [[1, 1, 1, 1], [2, 3, 2, 3], [9, 1, 1, 1]])
def test_every_way_of_counting(counts, ties, turned, room, monkeypatch):
    """Equal, similar and very different numbers of relevant candidates; rows and columns as they lie in memory; a
    buffer of any size; a list in any order."""
    monkeypatch.setattr(metrics, "ROOM", room)
    scores = torch.randint(0, 6, (4, 12), generator=torch.Generator().manual_seed(0)).float()
    scores = scores.T.contiguous().T if turned else scores
    mask = torch.arange(12) < torch.tensor(counts)[:, None]
    query, candidate = (part.flip(0) for part in mask.nonzero(as_tuple=True))
    expected = [r for row in zip(scores.tolist(), mask.tolist(), strict=True) for r in slow_ranks(*row, ties)]
    assert metrics.ranks_at(scores, query, candidate, ties).rank.tolist() == expected


def test_what_is_refused():
    with pytest.raises(ValueError, match="pessimistic"):
        from_scores(S3, OWN3, ties="pesimistic")
    with pytest.raises(ValueError, match="row 0"):
        from_scores(S3, torch.ones(3, 3).bool())
    with pytest.raises(NonFiniteScores, match=r"scores\[1, 2\] is nan"):
        from_scores(torch.where(torch.arange(9).view(3, 3) == 5, torch.nan, S3), OWN3)


def test_diagnose_a_collapse():
    generator = torch.Generator().manual_seed(0)
    flat = 0.5 + 1e-4 * torch.randn(16, 16, generator=generator)
    found = diagnose(flat, torch.eye(16).bool())
    assert found["collapsed"] is True and found["active"] == 1 and found["spread"] == pytest.approx(1e-4, rel=0.2)
    assert "nearly the same score" in found["hint"] and "train longer" in found["hint"]


def test_diagnose_a_healthy_model():
    """Scores far apart; also a solved batch (nothing active) and a bad model (spread, but wrong) are no collapse."""
    found = diagnose(S3, OWN3)
    assert found["positive"] == pytest.approx((0.6 + 0.55 + 0.4) / 3)
    assert found["negative"] == pytest.approx((0.45 + 0.1 + 0.3 + 0.5 + 0.05 + 0.62) / 6)
    assert found["spread"] == pytest.approx(statistics.pstdev(S3.flatten().tolist()))
    assert found["active"] == 1 and not found["collapsed"] and found["hint"] == ""
    solved = diagnose(torch.eye(3), OWN3)
    assert solved["active"] == 0 and not solved["collapsed"]
    assert not diagnose(-torch.eye(3), OWN3)["collapsed"]
    assert not diagnose(1e-4 * torch.eye(3), OWN3, margin=0)["collapsed"]  # close together, but nothing is active
    scores = torch.tensor([[0.9, 0.5, 0.1], [0.1, 0.9, 0.75], [0.1, 0.1, 0.9]])
    assert diagnose(scores, OWN3)["active"] == pytest.approx(1 / 3)
    assert diagnose(scores, OWN3, margin=0.5)["active"] == pytest.approx(2 / 3)
