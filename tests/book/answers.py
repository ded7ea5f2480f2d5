"""Wrong answers to the book's exercises, by checking function; the right one stands in the chapter.

A wrong answer whose first argument is called ``right`` is made from the right one. The first wrong answer to a question
about weights or gradients has the opposite sign; the others are the likeliest slips.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy import stats

from icrlib import LagrangeMultiplier
from icrlib.experiments import published


def opposite(right, *given):
    return -right(*given)


def multiplied(rule="projected", damped=False, keep=True):
    """LTD's λ, the first step ``damped`` as all others; without ``keep`` the momentum ends where x is put back."""

    def values(losses, eta):
        multiplier, found = LagrangeMultiplier(eta, rule=rule), []
        multiplier.steps += damped
        for loss in losses:
            multiplier.step(loss)
            found.append(float(multiplier.value))
            if not keep and found[-1] in multiplier.bounds:
                multiplier.velocity.zero_()
        return found

    return values


WRONG = {
    "check_recall": (1.0, 0.0),
    "check_guess": (lambda N: 1000 / N, lambda N: 10.0),
    "check_last_state": (opposite, lambda s, n: s[:, -1], lambda s, n: s[torch.arange(len(s)), n]),
    "check_how_many": ((25, 100), (97, 194), (385, 97)),
    "check_most_harm": ("smoothap", "no_such_loss"),
    "check_triplet_weights": ([-1, -1, 2, 0, 0], [0, 1, -1, 0, 0], [1, 1, -2, 0]),
    "check_ntxent_weights": (opposite, lambda right, s, i, t: t * right(s, i, t)),
    "check_one_positive": (lambda right: -right, [1.0, 2.0]),
    "check_selected": (
        lambda history: max(entry[2] for entry in history),
        lambda history: max(history[::-1], key=lambda e: e[1])[2],
    ),
    "check_constant": (float(np.log(512) / 0.1), 2 * 512 * 0.2),
    "check_how_far": (
        lambda right, c, w, o: right(c, w, o) - 1,  # the way between them
        lambda right, c, w, o: right(c.replace(",", ""), w, o),  # a comma is no word
        lambda c, w, o: 1 + abs((t := c.replace(",", " ,").split()).index(w) - t.index(o)),  # the first of each
    ),
    "check_excused": (
        lambda right, s, own, true: 1 - right(s, own, true),
        lambda right, s, own, true: right(-s, own, true),
        lambda s, own, true: float((~own & true).gather(1, s.argmax(1, keepdim=True)).double().mean()),
    ),
    "check_counts": ((2, 3, 4), (3, 3, 5), (3, 3)),
    "check_earshot": (opposite, lambda p, tau, eps: tau * np.log10(p / eps)),
    "check_counter": (
        lambda right, s, own, t, e: len(s) - right(s, own, t, e),  # those with a gradient
        lambda right, s, own, t, e: right(s, own, t, e / t),  # as released: without 1/tau
        lambda right, s, own, t, e: right(s, torch.arange(len(s)) % 12, t, e),  # a row that is not the positive's
    ),
    "check_rate": (opposite, lambda r, B, tau: r * 2 * B, lambda r, B, tau: r * B * B * tau),
    "check_minimum": (
        lambda words, regions: words.amin(0) @ regions.amin(0),
        lambda words, regions: words.max(0).values @ regions.max(0).values,
    ),
    "check_find": (
        lambda right, r, c, m, k: (r @ m, (k * r @ m).softmax(0) @ c),
        lambda right, r, c, m, k: right(r, c, m, 1.0),
    ),
    "check_ceiling": (
        lambda ranks, top, k: 100 * sum(int(r) <= k for r in ranks) / len(ranks),
        lambda ranks, top, k: 100 * sum(int(r) <= top for r in ranks) / len(ranks),
    ),
    "check_own_captions": (lambda B, N, k: B * (k - 1) / (k * N - 1), lambda B, N, k: (B - 1) / N),
    "check_smallest": (
        opposite,
        lambda right, sd, n, m: right(sd, n, m / 2),  # one-sided
        lambda sd, n, m: stats.t.ppf(1 - 0.025 / m, n) * sd / n**0.5,
    ),
    "check_level_lines": ({"nca"}, {"nca", "steep", "con"}),
    "check_surrogate": (
        lambda s, w: (w * (s - s.detach())).sum(),
        lambda s, w: (w.detach() * (s.detach() - s)).sum(1),
        lambda s, w: (w.detach() * (s - s)).sum(1),
    ),
    "check_cir_lin": (
        lambda right, *a: tuple(-x for x in right(*a)),
        lambda right, p, n, tau, k: right(p, n, tau, 1.0),
    ),
    "check_caption_gradient": (opposite, lambda q, v, o, t: (torch.softmax(o @ q / t, 0) @ o - v) / t),
    "check_shortcut_advantage": (opposite, lambda b, t, p: t * np.log((b - 1) / p)),
    "check_put_back": (multiplied("published"), multiplied(damped=True), multiplied(keep=False)),
    "check_price_of_many": (lambda right, k, c: right(2, c), lambda right, k, c: 1 - right(k, c)),
    "check_two_runs": (lambda right, s, n, m: right(s, n + 1, m), lambda right, s, n, m: right(s, n, 1)),
    "check_report": (364, 301),
    "check_updates": (705, 3516),
    "check_seeds": ((-4.03, 2.24), (4.03, 1.83), (4.03, 1.02)),
    "check_fifth": (
        {"loss": "dcl"},
        published("ecir/1.1") | {"loss": "dcl"},
        published("ecir/1.3") | {"loss": "dcl", "seed": range(3)},
    ),
    "check_gru": (lambda right, *a: right(*a) / 2, lambda c, w, i, d: 6 * c * w * i * d),
    "check_own_weights": ([-0.17, 0.25, -0.05, 0, -0.03], [0.34, -0.5, 0.1, 0, 0.06]),
    "check_weakest": (
        lambda words: words[0],
        lambda words: max(words, key=("contradicted", "undecided", "equivalent", "reproduced").index),
        lambda words: "contradicted" if "contradicted" in words else "reproduced",
    ),
}
