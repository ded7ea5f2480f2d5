"""Wrong answers to the book's exercises, by chapter and checking function; the right one stands in the chapter.

A wrong answer whose first argument is called ``right`` is made from the right one. The first wrong answer to a question
about weights or gradients has the opposite sign; the others are the likeliest slips.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy import stats

from icrlib.experiments import published


def opposite(right, *given):
    return -right(*given)


def multiplied(back=True, first=1.0, keep=True):
    """LTD's multiplier; projected unless ``back`` is False. ``keep``: the momentum, where x was put back."""

    def values(losses, eta):
        x, b, found = 1.0, None, []
        for loss in losses:
            g = loss / eta - 1
            b = first * g if b is None else 0.9 * b + 0.1 * g
            x += 0.005 * b
            clipped = min(max(x, 0.0), 100.0)
            b = b if keep or clipped == x else 0.0
            x = clipped if back else x
            found.append(clipped)
        return found

    return values


WRONG = {
    "search/scores": {
        "check_recall": (1.0, 0.0),
        "check_guess": (lambda N: 1000 / N, lambda N: 10.0),
    },
    "search/towers": {
        "check_last_state": (opposite, lambda s, n: s[:, -1], lambda s, n: s[torch.arange(len(s)), n]),
    },
    "search/photos": {"check_how_many": ((25, 100), (97, 194), (385, 97))},
    "push/one-picture": {
        "check_most_harm": ("smoothap", "no_such_loss"),
    },
    "push/triplet": {
        "check_triplet_weights": ([-1, -1, 2, 0, 0], [0, 1, -1, 0, 0], [1, 1, -2, 0]),
    },
    "push/ntxent": {
        "check_ntxent_weights": (opposite, lambda right, s, i, t: t * right(s, i, t)),
    },
    "push/smoothap": {
        "check_one_positive": (lambda right: -right, [1.0, 2.0]),
    },
    "training/losses": {
        "check_selected": (
            lambda history: max(entry[2] for entry in history),
            lambda history: max(history[::-1], key=lambda e: e[1])[2],
        ),
    },
    "training/plateau": {"check_constant": (float(np.log(512) / 0.1), 2 * 512 * 0.2)},
    "systems/reading": {
        "check_how_far": (
            lambda right, c, w, o: right(c, w, o) - 1,  # the way between them
            lambda right, c, w, o: right(c.replace(",", ""), w, o),  # a comma is no word
            lambda c, w, o: 1 + abs((t := c.replace(",", " ,").split()).index(w) - t.index(o)),  # the first of each
        ),
    },
    "training/errors": {
        "check_excused": (
            lambda right, s, own, true: 1 - right(s, own, true),
            lambda right, s, own, true: right(-s, own, true),
            lambda s, own, true: float((~own & true).gather(1, s.argmax(1, keepdim=True)).double().mean()),
        ),
    },
    "training/counting": {
        "check_counts": ((2, 3, 4), (3, 3, 5), (3, 3)),
        "check_earshot": (opposite, lambda p, tau, eps: tau * np.log10(p / eps)),
    },
    "training/audit": {
        "check_counter": (
            lambda right, s, own, t, e: len(s) - right(s, own, t, e),  # those with a gradient
            lambda right, s, own, t, e: right(s, own, t, e / t),  # as released: without 1/tau
            lambda right, s, own, t, e: right(s, torch.arange(len(s)) % 12, t, e),  # a row that is not the positive's
        ),
    },
    "training/foretell": {"check_rate": (opposite, lambda r, B, tau: r * 2 * B, lambda r, B, tau: r * B * B * tau)},
    "systems/pooling": {
        "check_minimum": (
            lambda words, regions: words.amin(0) @ regions.amin(0),
            lambda words, regions: words.max(0).values @ regions.max(0).values,
        ),
    },
    "systems/modular": {
        "check_find": (
            lambda right, r, c, m, k: (r @ m, (k * r @ m).softmax(0) @ c),
            lambda right, r, c, m, k: right(r, c, m, 1.0),
        ),
    },
    "systems/matching": {
        "check_ceiling": (
            lambda ranks, top, k: 100 * sum(int(r) <= k for r in ranks) / len(ranks),
            lambda ranks, top, k: 100 * sum(int(r) <= top for r in ranks) / len(ranks),
        ),
    },
    "training/which-loss": {
        "check_own_captions": (lambda B, N, k: B * (k - 1) / (k * N - 1), lambda B, N, k: (B - 1) / N),
        "check_smallest": (
            opposite,
            lambda right, sd, n, m: right(sd, n, m / 2),  # one-sided
            lambda sd, n, m: stats.t.ppf(1 - 0.025 / m, n) * sd / n**0.5,
        ),
    },
    "gradients/goal": {
        "check_level_lines": ({"nca"}, {"nca", "steep", "con"}),
        "check_surrogate": (
            lambda s, w: (w * (s - s.detach())).sum(),
            lambda s, w: (w.detach() * (s.detach() - s)).sum(1),
            lambda s, w: (w.detach() * (s - s)).sum(1),
        ),
    },
    "gradients/fifteen": {
        "check_cir_lin": (
            lambda right, *a: tuple(-x for x in right(*a)),
            lambda right, p, n, tau, k: right(p, n, tau, 1.0),
        ),
    },
    "information/contrastive": {
        "check_caption_gradient": (opposite, lambda q, v, o, t: (torch.softmax(o @ q / t, 0) @ o - v) / t),
        "check_shortcut_advantage": (opposite, lambda b, t, p: t * np.log((b - 1) / p)),
    },
    "information/constraint": {
        "check_put_back": (multiplied(back=False), multiplied(first=0.1), multiplied(keep=False)),
    },
    "information/target": {
        "check_price_of_many": (lambda right, k, c: right(2, c), lambda right, k, c: 1 - right(k, c)),
    },
    "information/pays": {
        "check_two_runs": (lambda right, s, n, m: right(s, n + 1, m), lambda right, s, n, m: right(s, n, 1)),
    },
    "reproduce/run": {
        "check_report": (364, 301),
        "check_updates": (705, 3516),
        "check_seeds": ((-4.03, 2.24), (4.03, 1.83), (4.03, 1.02)),
    },
    "reproduce/tables": {
        "check_fifth": (
            {"loss": "dcl"},
            published("ecir/1.1") | {"loss": "dcl"},
            published("ecir/1.3") | {"loss": "dcl", "seed": range(3)},
        )
    },
    "reproduce/hours": {"check_gru": (lambda right, *a: right(*a) / 2, lambda c, w, i, d: 6 * c * w * i * d)},
    "push/own-loss": {
        "check_own_weights": ([-0.17, 0.25, -0.05, 0, -0.03], [0.34, -0.5, 0.1, 0, 0.06]),
    },
    "reference/claims": {
        "check_weakest": (
            lambda words: words[0],
            lambda words: max(words, key=("contradicted", "undecided", "equivalent", "reproduced").index),
            lambda words: "contradicted" if "contradicted" in words else "reproduced",
        ),
    },
}
