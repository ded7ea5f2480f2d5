"""Wrong answers to the exercises of the other chapters, told as in answers_lessons.py."""

from __future__ import annotations

import numpy as np
import torch

from answers_lessons import opposite


def multiplied(sign=1, back=True, first=1.0, top=100.0, keep=True):
    """LTD's multiplier; projected unless ``back`` is False. ``keep``: the momentum, where x was put back."""

    def values(losses, eta):
        x, b, found = 1.0, None, []
        for loss in losses:
            g = sign * (loss / eta - 1)
            b = first * g if b is None else 0.9 * b + 0.1 * g
            x += 0.005 * b
            clipped = min(max(x, 0.0), top)
            b = b if keep or clipped == x else 0.0
            x = clipped if back else x
            found.append(clipped)
        return found

    return values


WRONG = {
    "gradients/goal": {
        "check_goal_weights": (
            lambda right: -right,
            lambda right: right.abs(),
            [-0.45, 0, 0.62, 0],
            lambda right: right.sign() * right[2] / 0.62,
        ),
        "check_level_lines": ({"nca"}, {"nca", "steep", "cir"}, {"far"}, {"nca", "steep", "con"}),
        "check_surrogate": (
            lambda s, w: (w.detach() * s).sum(1),
            lambda s, w: (w * (s - s.detach())).sum(),
            lambda s, w: (w.detach() * (s.detach() - s)).sum(1),
            lambda s, w: (w * (s.detach() - s.detach())).sum(1),
            lambda s, w: (w.detach() * (s - s)).sum(1),
        ),
    },
    "gradients/fifteen": {
        "check_cir_lin": (
            lambda right, *a: tuple(-x for x in right(*a)),
            lambda right, p, n, tau, k: right(p, n, tau, 1.0),
            lambda right, p, n, tau, k: (right(p, n, tau, k)[0] / (1 - p), right(p, n, tau, k)[1] / n),
            lambda right, p, n, tau, k: tuple(2 * tau * x for x in right(p, n, tau, k)),
        ),
    },
    "information/contrastive": {
        "check_caption_gradient": (
            opposite,
            lambda right, q, v, o, t: t * right(q, v, o, t),
            lambda q, v, o, t: (torch.softmax(o @ q / t, 0) @ o - v) / t,
        ),
        "check_shortcut_advantage": (
            opposite,
            lambda b, t, p: t * np.log(1 / p),
            lambda b, t, p: np.log(b / p - b + 1),
            lambda b, t, p: t * np.log((b - 1) / p),
        ),
    },
    "information/constraint": {
        "check_asleep": (
            opposite,
            lambda right, *a: right(*a) - 1,
            lambda X, L, eta, lr: int(X / (lr * (L - eta))) + 1,
            lambda X, L, eta, lr: int(X / (L / eta - 1)) + 1,
        ),
        "check_put_back": (
            multiplied(sign=-1),
            multiplied(back=False),
            multiplied(first=0.1),
            multiplied(top=1e9),
            multiplied(keep=False),
        ),
    },
    "information/target": {
        "check_equal_lambda": (
            lambda g, r, eta: g / r,
            lambda g, r, eta: r * eta / g,
            lambda g, r, eta: g / (r * eta),
            lambda g, r, eta: 1 + g * eta / r,
        ),
        "check_price_of_many": (
            lambda right, k, c: right(2, c),
            lambda k, c: 1 - (1 + (k - 1) * c) / k,
            lambda k, c: (1 - c) / 4,
            lambda right, k, c: right(k + 1, c),
            lambda right, k, c: 1 - right(k, c),
        ),
    },
    "information/pays": {
        "check_two_runs": (
            lambda right, s, n, m: right(s, n, m) / 2**0.5,
            lambda right, s, n, m: right(s, n + 1, m),
            lambda right, s, n, m: right(s, n, 1),
            lambda right, s, n, m: right([np.mean(s)] * len(s), n, m),
            lambda right, s, n, m: right(s, n, m) * ((n - 1) / n) ** 0.5,
        ),
        "check_draws": (
            lambda right, sd, lead: right(sd, lead) + 1,
            lambda right, sd, lead: right(sd, lead) - 1,
            lambda sd, lead: int((1.96 * sd / lead) ** 2) + 1,
            lambda right, sd, lead: right(sd, 2 * lead),
        ),
    },
    "reproduce/run": {
        "check_report": (364, 371, 361, 301, 369),
        "check_updates": (705, 3510, 235, 3516, 30000),
        "check_seeds": ((-4.03, 2.24), (4.03, 14.43), (4.03, 22.37), (4.03, 1.83), (4.03, 3.88), (4.03, 1.02)),
    },
    "reproduce/hours": {
        "check_gru": (
            lambda right, *a: right(*a) / 2,
            lambda c, w, i, d: 6 * c * w * i * d,
            lambda c, w, i, d: 6 * c * d * (w * i + (w - 1) * d),
            lambda right, *a: right(*a) * 4 / 3,
        ),
    },
    "push/own-loss": {
        "check_own_weights": (
            [-0.17, 0.25, -0.05, 0, -0.03],
            [1, -3, 1, 0, 1],
            [0.17, -0.25, 0.05, 0.01, 0.02],
            [0.34, -0.5, 0.1, 0, 0.06],
        ),
        "check_cubic": (opposite, lambda right, *a: right(*a) / 3, lambda right, *a: right(*a).abs()),
        "check_diagonal": (
            (lambda m: -m * m / 2, "value"),
            (lambda m: m * m, "value"),
            (lambda m: m * m / 2, "gradient"),
            (lambda m: 0.0, "value"),
        ),
    },
    "reference/errata": {
        "check_triplet_sign": ([1.0, -1.0], [0.0, 0.0]),
        "check_below_zero": (0.5, 0.3, 0.8, -0.5127, 0.4873),
    },
    "reference/claims": {
        "check_weakest": (
            lambda words: words[0],
            lambda words: max(words, key=("contradicted", "undecided", "equivalent", "reproduced").index),
            lambda words: "contradicted" if "contradicted" in words else "reproduced",
            lambda words: min(words, key=("contradicted", "equivalent", "undecided", "reproduced").index),
            lambda words: max(set(words), key=words.count),
        ),
    },
}
