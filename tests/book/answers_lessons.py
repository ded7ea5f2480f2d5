"""Wrong answers to the book's exercises, by chapter and checking function; the right one stands in the chapter.

A wrong answer whose first argument is called ``right`` is made from the right one. The first wrong answer to a question
about weights or gradients has the opposite sign.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy import stats


def opposite(right, *given):
    return -right(*given)


def toward(bodies, pull):
    lengths = bodies.norm(dim=1, keepdim=True)
    return (pull + ((bodies @ pull)[:, None] / lengths**2) * bodies) / lengths


def without_ranks(scores, own, tau, eps):
    above = torch.sigmoid((scores - scores.gather(1, own[:, None])) / tau).scatter(1, own[:, None], 0.0)
    return int((above * (1 - above) / tau <= eps).all(1).sum())


WRONG = {
    "search/scores": {
        "check_recall": (1.0, 0.0),
        "check_recalls": ((0, 60, 80), (0.2, 0.6, 0.8), (20, 40, 80), (20, 60, 100)),
        "check_guess": (lambda N: 1000 / N, lambda N: 10 / N, lambda N: 10.0),
    },
    "search/towers": {
        "check_last_state": (
            opposite,
            lambda s, n: s[:, -1],
            lambda s, n: s[torch.arange(len(s)), n],
            lambda s, n: s[:, n - 1],
            lambda s, n: s[torch.arange(len(s)), -n],
        ),
        "check_which_axis": (
            opposite,
            lambda x: x / x.norm(dim=1, keepdim=True),
            lambda x: x / x.norm(dim=0, keepdim=True),
            lambda x: x / x.norm(),
        ),
        "check_asleep": ((9, 0, 1.5), (0, -9, -1.5), (-9, -3, -1.5), (-9, 0, 0), (-9, 0)),
    },
    "search/photos": {
        "check_how_many": ((25, 100), (97, 194), (96, 384), (68, 271), (385, 97), (98, 386)),
    },
    "push/one-picture": {
        "check_sparse_row": (
            [2.1667, -1.8333, -0.3333, 0],
            [-0.4333, 0.3667, 0.0667, 0],
            [-2.1667, 1.8333, 0.3333],
            [-2, 2, 0, 0],
            [2.8333, 1.8333, 0.3333, 0],
            [-3.07, 1.59, 1.17, 0.31],
        ),
        "check_most_harm": ("smoothap", "triplet_sh", "no_such_loss"),
    },
    "push/triplet": {
        "check_triplet_weights": ([-1, -1, 2, 0, 0], [0, 1, -1, 0, 0], [1, 1, -1, 0, 0], [1, 1, -2, 0]),
        "check_semi_hard": ((3, {3, 5}), (4, {2, 3, 5}), (2, {3, 5})),
    },
    "push/ntxent": {
        "check_ntxent_weights": (
            opposite,
            lambda right, s, i, t: t * right(s, i, t),
            lambda s, i, t: torch.softmax(s / t, 0) / t,
        ),
        "check_ifm_pull": (
            opposite,
            lambda right, u, t, e: t * right(u, t, e),
            lambda right, u, t, e: 2 * right(u, t, e),
            lambda right, u, t, e: right(u, t, e / 2),  # a margin of eps
            lambda right, u, t, e: right(u, t, e * t),
            lambda u, t, e: torch.sigmoid(u + 2 * e / t) / t,
        ),
        "check_even_bias": (
            opposite,
            lambda B, t, c: -np.log(B - 1),
            lambda B, t, c: -np.log(B) - t * c,
            lambda B, t, c: -10.0,
        ),
    },
    "push/smoothap": {
        "check_quotient": (
            (lambda a, c: c / (a + c) ** 2, lambda a, c: -a / (a + c) ** 2),
            (lambda a, c: a / (a + c) ** 2, lambda a, c: -c / (a + c) ** 2),
        ),
        "check_one_positive": (lambda right: -right, lambda right: right * 0.02, [1.0, 2.0]),
        "check_reach": (-0.0459, 0.0921, 4.595),
    },
    "training/losses": {
        "check_selected": (
            lambda history: history[-1][2],
            lambda history: max(entry[2] for entry in history),
            lambda history: max(entry[1] for entry in history),
            lambda history: max(history[::-1], key=lambda e: e[1])[2],
        ),
    },
    "training/plateau": {"check_constant": (float(np.log(512) / 0.1), 2 * 512 * 0.2)},
    "systems/reading": {
        "check_same_words": (
            lambda right, f, s: not right(f, s),
            lambda f, s: f == s,
            lambda f, s: sorted(f) == sorted(s),
            lambda f, s: set(f.split()) == set(s.split()),
            lambda f, s: len(f.split()) == len(s.split()),
        ),
        "check_moment": (
            lambda u, s, level: next((x for x, y in zip(u, s, strict=True) if y > level), None),
            lambda right, u, s, level: right(u, s, level - 1),
            lambda u, s, level: u[-1] if s[-1] > level else None,
            lambda right, u, s, level: right(u, [-y for y in s], -level),
        ),
        "check_rate": (-1.5e-3, 7.5e-4, 3e-3, 3 / 2200),
    },
    "training/errors": {
        "check_rows": (4, 6, 3, 24),
        "check_excused": (
            lambda right, s, own, true: 1 - right(s, own, true),
            lambda right, s, own, true: right(s, own, true & ~own) / 2,
            lambda right, s, own, true: right(-s, own, true),
            lambda right, s, own, true: right(s, own, ~true),
            lambda s, own, true: float((~own & true).gather(1, s.argmax(1, keepdim=True)).double().mean()),
        ),
    },
    "training/counting": {
        "check_counts": ((2, 3, 4), (1, 3, 4), (3, 4, 4), (3, 3, 3), (3, 3, 5), (4, 4, 5), (3, 3)),
        "check_captions": (
            lambda right, v: right(v.T),
            lambda right, v: right(~v),
            lambda right, v: (float(v.sum(0).float().mean()), *right(v)[1:]),
            lambda right, v: (*right(v)[:2], int((v.sum(0) > 0).sum())),
        ),
        "check_earshot": (
            opposite,
            lambda p, tau, eps: np.log(p / eps),
            lambda p, tau, eps: -tau * np.log(eps),
            lambda p, tau, eps: tau * np.log10(p / eps),
            lambda p, tau, eps: tau * np.log(p / (tau * eps)),
        ),
    },
    "training/audit": {
        "check_last_batch": (14, 72, 26, 360),
        "check_counter": (
            lambda right, s, own, t, e: len(s) - right(s, own, t, e),  # those with a gradient
            lambda right, s, own, t, e: right(s, own, t, e / t),  # as released: without 1/tau
            without_ranks,
            lambda right, s, own, t, e: right(s, torch.arange(len(s)) % 12, t, e),  # a row that is not the positive's
            lambda right, s, own, t, e: right(s, own, t, e) - 1,
        ),
    },
    "training/foretell": {
        "check_rate": (
            opposite,
            lambda r, B, tau: r * 2 * B,
            lambda r, B, tau: r / (2 * B * B * tau),
            lambda r, B, tau: r * 2 * B * tau,
            lambda r, B, tau: r * B * B * tau,
        ),
    },
    "systems/pooling": {
        "check_maximum": (
            lambda right, rows, n: rows.amax(0),  # the padding, too
            lambda right, rows, n: rows[:n].mean(0),
            lambda right, rows, n: rows[: n + 1].amax(0),
        ),
        "check_minimum": (
            lambda words, regions: words.amin(0) @ regions.amin(0),
            lambda words, regions: -((-words).amin(0) @ (-regions).amin(0)),
            lambda words, regions: words.max(0).values @ regions.max(0).values,
        ),
    },
    "systems/modular": {
        "check_find": (
            lambda right, r, c, m, k: (r @ m, (k * r @ m).softmax(0) @ c),
            lambda right, r, c, m, k: ((k * r @ m).softmax(0) @ (r @ m), c[(r @ m).argmax()]),
            lambda right, r, c, m, k: right(r, c, m, k * 2),
            lambda right, r, c, m, k: right(r, c, m, 1.0),
        ),
    },
    "training/which-loss": {
        "check_own_captions": (
            lambda B, N, k: B * (k - 1) / (k * N - 1),
            lambda B, N, k: (B - 1) * (k - 1) / (k * N),
            lambda B, N, k: (B - 1) * k / (k * N - 1),
            lambda B, N, k: (B - 1) / N,
        ),
        "check_smallest": (
            opposite,
            lambda right, sd, n, m: right(sd, n, m / 2),  # one-sided
            lambda sd, n, m: stats.t.ppf(1 - 0.025 / m, n) * sd / n**0.5,
            lambda right, sd, n, m: right(sd, n, 1),
            lambda sd, n, m: stats.norm.ppf(1 - 0.025 / m) * sd / n**0.5,
            lambda right, sd, n, m: right(sd, n, m) / n**0.5,
        ),
    },
}
