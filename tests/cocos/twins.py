"""Slow, independent twins of COCOS: ECIR's formulas and its released counter, one query at a time, in loops."""

from __future__ import annotations

import math

from icrlib.losses.ntxent import NTXent
from icrlib.losses.smoothap import SmoothAP
from icrlib.losses.triplet import TripletSH

from ..losses import slow


def rows_of(scores, mask, direction):
    return (scores, mask) if direction == "i2t" else (scores.T, mask.T)


def definition(loss, row, mask, eps):
    """One query, from the paper's formulas."""
    own, rest = slow.split_row(row, mask)
    total = 0
    for i in own:
        if isinstance(loss, NTXent):
            z = sum(math.exp(row[j] / loss.tau) for j in [i, *rest])
            total += sum(math.exp(row[j] / loss.tau) / z > eps for j in rest)
        elif isinstance(loss, SmoothAP):
            sigmoid = {j: 1 / (1 + math.exp(-(row[j] - row[i]) / loss.tau)) for j in range(len(row)) if j != i}
            rank = 1 + sum(sigmoid.values())
            total += sum(g * (1 - g) / loss.tau / rank**2 > eps for g in sigmoid.values())
        else:
            inside = [loss.margin + row[j] - row[i] > 0 for j in rest]
            total += any(inside) if isinstance(loss, TripletSH) else sum(inside)
    return total / len(own)


def defined_shares(loss, row, mask, eps):
    """NT-Xent's C_neg, W_neg and W_pos of one query."""
    own, rest = slow.split_row(row, mask)
    result = [0.0, 0.0, 0.0]
    for i in own:
        z = sum(math.exp(row[j] / loss.tau) for j in [i, *rest])
        large = [p for j in rest if (p := math.exp(row[j] / loss.tau) / z) > eps]
        for k, value in enumerate((len(large), sum(large), 1 - math.exp(row[i] / loss.tau) / z)):
            result[k] += value / len(own)
    return result


def released_triplet_t2i(loss, scores, mask):
    """For each image (column), the captions (rows) that it is a violating negative of: the released axis."""
    rows = list(zip(scores.tolist(), mask.tolist(), strict=True))
    return [
        sum(not own[image] and loss.margin + row[image] - row[own.index(True)] > 0 for row, own in rows)
        for image in range(scores.shape[1])
    ]


def released_smoothap(scores, each, tau, eps, t2i):
    """The released counter as it indexes: query q reads rows kq … kq+k-1 of its full (M, M) matrix; no 1/τ."""
    counts = []
    for row in scores.tolist():
        candidates, rows = len(row), range(each * len(counts), each * len(counts) + each)
        number = 0
        for i in (i for i in rows if i < candidates):
            g = [1 / (1 + math.exp(-(s - row[i]) / tau)) if j != i else 0 for j, s in enumerate(row)]
            number += sum(v * (1 - v) / (1 + sum(g)) ** 2 > eps for v in g)
        counts.append(number / (1 if t2i else each))
    return counts


def summary(counts, weights, mask, shares=()):
    """What a batch's summary must be, from a count a query, and the true weights (lists)."""
    some, several = [c for c in counts if c], []
    for row, own in zip(weights, mask, strict=True):
        rest = [abs(w) for w, positive in zip(row, own, strict=True) if not positive]
        if any(rest):
            several.append(sum(rest) ** 2 / sum(w * w for w in rest))
    result = {
        "C_q": sum(some) / len(some) if some else 0.0,
        "C_B": sum(counts),
        "C_0": counts.count(0),
        "n_eff": sum(several) / len(several) if several else 0.0,
    }
    means = [sum(column) / len(column) for column in zip(*shares, strict=True)]
    return result | dict(zip(("C_neg", "W_neg", "W_pos"), means, strict=False))
