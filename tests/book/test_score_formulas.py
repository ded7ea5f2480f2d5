"""The script of the explorable score table in a real browser: its formulas beside the library's, for every loss."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from icrlib import cocos
from icrlib.losses import LOSSES, by_name, objectives
from icrlib.widgets import score_table
from score_tables import FOUR, example, of_table

CHANGED = [
    ("triplet", {"margin": 0.0}),
    ("triplet_sh", {"margin": 0.5}),
    ("ntxent", {"tau": 0.01}),
    ("ntxent", {"tau": 1.0}),
    ("ntxent", {"denominator": "negatives"}),
    ("smoothap", {"tau": 0.1}),
    ("dcl", {"tau": 0.3}),
    ("ifm", {"tau": 0.02, "eps": 0.0}),
    ("siglip", {"scale": 30.0, "bias": -2.0}),
    ("ntxent_sparse", {"tau": 0.02}),
    ("ntxent_hard", {"tau": 0.01}),
    *((name, {"negatives": "hardest"}) for name in ("circle", "binomial_deviance", "multi_similarity")),
    ("circle", {"detach": False}),
    ("binomial_deviance", {"scaled": True}),
    ("goal:cir x sig-ms", {"tau": 3.0, "alpha": 1.0, "beta": 4.0, "lam": 0.3, "eps": 0.3, "margin": 0.1}),
]
ALL = [*map(by_name, LOSSES), *objectives().values(), *(by_name(name, **options) for name, options in CHANGED)]


def tables():
    """Scores and masks: random ones, ties of all kinds, extremes, one positive a row and several, not square."""
    made = torch.Generator().manual_seed(0)
    eye = torch.eye(5, dtype=torch.bool)
    several = torch.zeros(4, 12, dtype=torch.bool)
    for q in range(4):
        several[q, 3 * q : 3 * q + 3] = True
    for k in range(6):
        yield 2 * torch.rand(5, 5, generator=made, dtype=torch.float64) - 1, eye
        yield 2 * torch.rand(4, 12, generator=made, dtype=torch.float64) - 1, several
        yield torch.randint(-2, 3, (5, 5), generator=made).double() / 4, eye  # many ties
        yield torch.randint(-1, 2, (4, 12), generator=made).double() * (1 if k % 2 else 0.5), several
    for value in (-1.0, 0.0, 1.0):
        yield torch.full((5, 5), value, dtype=torch.float64), eye
        yield torch.full((4, 12), value, dtype=torch.float64), several
    yield 2 * eye.double() - 1, eye
    yield 1 - 2 * eye.double(), eye


def computed(visit, losses, cases):
    """What the script makes of each table with each loss: [[{value, weights, gradient, counts}]]."""
    given = [score_table.described("x", loss) for loss in losses]
    data = [[s.tolist(), p.int().tolist()] for s, p in cases]
    return visit.page.evaluate(
        """([losses, cases]) => { const f = window.icrLosses; return losses.map(loss => cases.map(([s, p]) => {
        const r = f.rows(loss, s, p), b = f.both(loss, s, p);
        return {value: r.value, weights: r.weights, both: b.value, gradient: b.gradient,
                counts: r.weights.map((w, q) => f.counts(w, p[q]))}; })); }""",
        [given, data],
    )


def off_by(visit, losses, cases):
    """The largest difference between script and library, relative to what is large."""
    worst = 0.0
    for loss, of_loss in zip(losses, computed(visit, losses, cases), strict=True):
        for (s, p), found in zip(cases, of_loss, strict=True):
            wants = (loss.weights(s, p), loss.per_query(s, p), loss.score_gradient(s, p), loss(s, p))
            for what, wanted in zip(("weights", "value", "gradient", "both"), wants, strict=True):
                difference = (torch.tensor(found[what], dtype=torch.float64) - wanted).abs() / (1 + wanted.abs())
                worst = max(worst, float(torch.nan_to_num(difference, nan=torch.inf).max()))
    return worst


def test_formulas_of_every_loss_are_the_librarys(opened):
    visit = opened(example())
    assert set(of_table(visit, "formulas.names")) == {*LOSSES, "goal"}
    assert off_by(visit, ALL, list(tables())) < 1e-6
    ways = [(q, d) for q in ("sum", "mean") for d in ("sum", "mean")]
    reduced = [replace(loss, queries=q, directions=d) for loss in FOUR.values() for q, d in ways]
    assert off_by(visit, reduced, list(tables())[:4]) < 1e-6


def test_counts_are_those_of_cocos(opened):
    visit = opened(example())
    cases = list(tables())
    for loss, of_loss in zip(ALL, computed(visit, ALL, cases), strict=True):
        for (s, p), found in zip(cases, of_loss, strict=True):
            for q, counts in enumerate(found["counts"]):
                alone = s[q : q + 1], p[q : q + 1]
                one = cocos.count(loss, *alone, convention="exact") if loss.rows_independent else None
                weights = loss.weights(s, p)[q]
                if bool(((weights.abs() - 0.01).abs() > 1e-9).all()):
                    assert counts["count"] == (one or {"C_B": int((weights.abs() > 0.01).sum())})["C_B"], loss
                if one is not None:
                    assert counts["effective"] == pytest.approx(one["n_eff"], rel=1e-5, abs=1e-9), loss
