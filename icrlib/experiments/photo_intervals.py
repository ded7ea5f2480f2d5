"""A difference on photos: few seeds, one test set, and the rank of every query in the records.

Photos cannot be drawn anew, so that a difference between two losses is uncertain for two reasons: other seeds, and
other test images. A t-interval over seeds does not contain the second.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from icrlib.experiments import record_settings as runs
from icrlib.experiments.intervals import Estimate

RESAMPLES, SEED = 1000, 20220410
CUTS = {"r1": (1,), "r5": (5,), "r10": (10,), "average_recall": (1, 5, 10)}
MEASURES = ("test.rsum", *(f"test.{side}.{cut}" for side in ("i2t", "t2i") for cut in CUTS))


def applies(records: Sequence[Mapping], measure: object) -> bool:
    """Do all records share one data set, with ranks that the measure can be computed from?

    ``ValueError`` where some of them have ranks and others not.
    """
    if measure not in MEASURES or None in (shared := {runs.data_hash(record) for record in records}) or len(shared) > 1:
        return False
    without = [record for record in records if not (record["test"].get("ranks"))]
    if without and len(without) < len(records):
        raise ValueError(f"{runs.where(without[0])}: no test ranks, which the others have; run it again")
    return not without


def estimate(ours: Sequence[Mapping], other: Sequence[Mapping] | float, measure: str = "test.rsum") -> Estimate:
    """Mean difference and SE² = 2 s²/n + SE²_bootstrap, with Welch and Satterthwaite's degrees of freedom.

    s² is the variance over seeds, pooled over both sides, with 2(n − 1) degrees of freedom; the bootstrap resamples
    test images with their captions, the same for both sides, of hits that are averaged over seeds (N − 1 degrees).
    Together they have (Σ v)² / Σ v²/df, of two variances v (Satterthwaite 1946).
    **Training set and gallery are fixed**: the interval is about other seeds and other queries, not about other
    training photos; and a query that is drawn twice still competes with the same candidates. ``other`` may be a number.
    """
    sides = [ours] if isinstance(other, (int, float)) else [ours, other]
    values = [np.array([runs.measured(record, measure) for record in side]) for side in sides]
    hits = [np.mean([_hits(record, measure) for record in side], axis=0) for side in sides]  # (2, N) each
    n, captions = len(ours), _captions(ours[0])
    mean = float(values[0].mean() - (other if len(sides) == 1 else values[1].mean()))
    if n < 2:
        return Estimate(mean, None, None, n)
    seeds = sum(value.var(ddof=1) for value in values) / n  # 2 s²/n for two sides of equal size
    sampled = bootstrap(hits[0] - (0 if len(sides) == 1 else hits[1]), captions).var(ddof=1)
    parts = [(float(seeds), len(sides) * (n - 1)), (float(sampled), len(captions) - 1)]
    total, squares = sum(v for v, _ in parts), sum(v**2 / df for v, df in parts)
    df = total**2 / squares if squares else min(df for _, df in parts)
    return Estimate(mean, math.sqrt(total), df, n)


def bootstrap(hits: np.ndarray, captions: np.ndarray) -> np.ndarray:
    """The measure in each of ``RESAMPLES`` resamples of N images with their captions, percent. (RESAMPLES,)

    ``hits`` (2, N): of each image as a query, and summed over its captions; ``captions`` (N,): how many it has.
    """
    times = _times(len(captions))
    return 100 * (times @ hits[0] / len(captions) + times @ hits[1] / (times @ captions))


@lru_cache(maxsize=1)
def _times(images: int) -> np.ndarray:
    """How often each image is in each resample, (RESAMPLES, N): the same for every comparison."""
    rng = np.random.default_rng(SEED)
    return rng.multinomial(images, np.full(images, 1 / images), size=RESAMPLES).astype(float)


def _hits(record: Mapping, measure: str) -> np.ndarray:
    """(2, N) parts of the measure: of each image, and of its captions; checked against the record's own number."""
    path, captions = measure.removeprefix("test."), _captions(record)
    side, _, cut = path.rpartition(".")
    cuts = np.array(CUTS.get(cut, CUTS["average_recall"]))
    hit = {name: (_numbers(record, name)[:, None] <= cuts).sum(1) for name in ("i2t", "t2i")}
    image_of = _numbers(record, "image_of")
    parts = np.stack([hit["i2t"], np.bincount(image_of, weights=hit["t2i"], minlength=len(captions))])
    if path != "rsum":
        parts = parts * np.array([[side == "i2t"], [side == "t2i"]]) / len(cuts)
    again = 100 * (parts[0].mean() + parts[1].sum() / captions.sum())
    if abs(again - runs.measured(record, measure)) > 1e-3:
        raise ValueError(
            f"{runs.where(record)}: {measure} is {runs.measured(record, measure):.3f}, but {again:.3f} by "
            "the ranks in the same record"
        )
    return parts


def _captions(record: Mapping) -> np.ndarray:
    """How many captions each image has."""
    return np.bincount(_numbers(record, "image_of"), minlength=len(_numbers(record, "i2t")))


def _numbers(record: Mapping, name: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(record["test"]["ranks"][name]), dtype="<u2")
