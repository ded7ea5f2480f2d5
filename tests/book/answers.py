"""Right and wrong answers to the book's exercises: chapter, the checking function, the right one, and the wrong ones.

The first wrong answer to a question about weights or gradients has the opposite sign.
"""

from __future__ import annotations

import re

import numpy as np
import torch
from scipy import stats
from torch.nn.functional import softplus


def hardest(candidates, query):
    return candidates[(candidates @ query).argmax()]


def query_gradient(query, positive, candidates, margin):
    top = hardest(candidates, query)
    return (top - positive) * float(margin - query @ positive + query @ top > 0)


def every_active(query, positive, candidates, margin):
    active = (margin - query @ positive + candidates @ query > 0).double()
    return (active[:, None] * (candidates - positive)).sum(0)


def ntxent_weights(scores, positive, tau):
    return (torch.softmax(scores / tau, 0) - torch.eye(len(scores), dtype=scores.dtype)[positive]) / tau


def through_norm(query, weights, candidates):
    pull = weights @ candidates
    return (pull - (pull @ query) * query / (query @ query)) / query.norm()


def caption_gradient(query, own, others, tau):
    pictures = torch.cat([own[None], others])
    return (torch.softmax(pictures @ query / tau, 0) @ pictures - own) / tau


def _one_positive():
    above = torch.sigmoid(torch.tensor([0.02, -0.06], dtype=torch.float64) / 0.02)
    row = above * (1 - above) / (0.02 * (1 + above.sum()) ** 2)
    return torch.stack([-row.sum(), row[0], row[1]])


def ifm_pull(u, tau, eps):
    return (torch.sigmoid(u) + torch.sigmoid(u + 2 * eps / tau)) / (2 * tau)


def smallest(sd, n, m, df=1, level=0.025):
    return stats.t.ppf(1 - level / m, n - df) * sd / n**0.5


def climb(cost, ahead, choose=min):
    here = min(cost, key=cost.get)
    while above := [a for a, b in ahead if b == here]:
        here = choose(above, key=cost.get)
    return here


def excused(scores, own, true):
    top = scores.argmax(1, keepdim=True)
    wrong = ~own.gather(1, top)[:, 0]
    return float(true.gather(1, top)[wrong].double().mean()) if wrong.any() else 0.0


ONE_POSITIVE = _one_positive()
REACH = float(0.01 * np.log((1 + 0.96**0.5) / (1 - 0.96**0.5)))


def paired(first, second):
    differences = np.array([first[seed] - second[seed] for seed in first])
    return differences.mean(), 2.7764 * differences.std(ddof=1) / len(differences) ** 0.5


def t_of(a, a_std, b, b_std, n):
    return (a - b) / ((a_std**2 + b_std**2) / (n - 1)) ** 0.5


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


def price(eta):
    theta = 1 - ((eta - 0.09) / 0.3) ** 0.5
    return eta * 0.2 * theta / (0.6 * (1 - theta))


def cir_lin(positive, negative, tau, shift):
    weight = torch.sigmoid(tau * ((1 - positive) ** 2 + negative**2 - shift))
    return -weight * (1 - positive), weight * negative


def norm_gradient(bodies, pull):
    """d (sum of cosines) by un-normalised vectors: the pull without its part along each, over the length."""
    lengths = bodies.norm(dim=1, keepdim=True)
    return (pull - ((bodies @ pull)[:, None] / lengths**2) * bodies) / lengths


def toward(bodies, pull):
    lengths = bodies.norm(dim=1, keepdim=True)
    return (pull + ((bodies @ pull)[:, None] / lengths**2) * bodies) / lengths


def heard(V, theta, phi, g):
    return (V @ theta.T) @ (V @ phi.T).T @ (V @ g.T) / len(V)


def entry(**changes):
    texts = ["the sun over the sea", "an orange sky"]
    return {"filename": "sunset.jpg", "split": "train", "sentences": [{"raw": t} for t in texts]} | changes


def cubic(scores, positive, margin):
    weights = torch.relu(margin + scores - scores[positive]) ** 2
    weights[positive] = 0
    weights[positive] = -weights.sum()
    return weights


_PULL_PUSH = torch.tensor([-1.0, 1.0], dtype=torch.float64)
_T = 1 / (1 + np.exp(-0.7))


def mirrored(text):
    other = {"left": "right", "right": "left"}
    return re.sub(r"\b(left|right)\b", lambda found: other[found[0]], text)


def stays_above(updates, swap, level):
    found = None
    for update, value in zip(reversed(updates), reversed(swap), strict=True):
        if value <= level:
            return found
        found = update
    return found


def captions_hear(counts):
    some = int((counts > 0).sum())
    return float(counts.sum()) / max(some, 1), int(counts.sum()), len(counts) - some


def without_gradient(scores, own, tau, eps, *, power=2, minus=0):
    """Queries (rows) without a pair term of their positive, in column ``own``, above eps; the rest are ways to err."""
    above = torch.sigmoid((scores - scores.gather(1, own[:, None])) / tau).scatter(1, own[:, None], 0.0)
    rank = 1 + above.sum(1, keepdim=True)
    return int((above * (1 - above) / (tau * rank**power) <= eps).all(1).sum()) - minus


def price_of_many(k, c):
    return 1 - ((1 + (k - 1) * c) / k) ** 0.5


def two_runs(stds, n, m):
    return float(stats.t.ppf(1 - 0.025 / m, (n - 1) * len(stds)) * np.sqrt(2 * np.mean(np.square(stds)) * n / (n - 1)))


def precisions(hits):
    first = np.array(hits[: sum(hits)], dtype=float)
    return float(first.mean()), float((first.cumsum() / np.arange(1, len(first) + 1) * first).mean())


def least_over_time(words):
    return sum(words.count(word) * np.log(words.count(word)) for word in set(words))


WEAKER = ("contradicted", "undecided", "equivalent", "reproduced")
CHECKS = [
    ("foundations/task", "check_recall", 0.5, (1.0, 0.0)),
    ("foundations/task", "check_recalls", (20, 60, 80), ((0, 60, 80), (0.2, 0.6, 0.8), (20, 40, 80), (20, 60, 100))),
    (
        "foundations/task",
        "check_guess",
        lambda N: 100 * min(10, N) / N,
        (lambda N: 1000 / N, lambda N: 10 / N, lambda N: 10.0),
    ),
    (
        "lessons/training",
        "check_selected",
        lambda history: max(history, key=lambda entry: entry[1])[2],
        (
            lambda history: history[-1][2],
            lambda history: max(entry[2] for entry in history),
            lambda history: max(entry[1] for entry in history),
            lambda history: max(history[::-1], key=lambda e: e[1])[2],
        ),
    ),
    ("lessons/training", "check_constant", float(np.log(512)), (float(np.log(512) / 0.1), 2 * 512 * 0.2)),
    (
        "lessons/reading",
        "check_same_words",
        lambda f, s: sorted(f.split()) == sorted(s.split()),
        (
            lambda f, s: sorted(f.split()) != sorted(s.split()),
            lambda f, s: f == s,
            lambda f, s: sorted(f) == sorted(s),
            lambda f, s: set(f.split()) == set(s.split()),
            lambda f, s: len(f.split()) == len(s.split()),
        ),
    ),
    (
        "lessons/reading",
        "check_moment",
        stays_above,
        (
            lambda u, s, level: next((x for x, y in zip(u, s, strict=True) if y > level), None),
            lambda u, s, level: stays_above(u, s, level - 1),
            lambda u, s, level: u[-1] if s[-1] > level else None,
            lambda u, s, level: stays_above(u, [-y for y in s], -level),
        ),
    ),
    ("lessons/reading", "check_rate", 1.5e-3, (-1.5e-3, 7.5e-4, 3e-3, 3 / 2200)),
    ("lessons/table1", "check_rows", 5, (4, 6, 3, 24)),
    (
        "lessons/table1",
        "check_excused",
        excused,
        (
            lambda s, own, true: 1 - excused(s, own, true),
            lambda s, own, true: excused(s, own, true & ~own) / 2,
            lambda s, own, true: excused(-s, own, true),
            lambda s, own, true: excused(s, own, ~true),
            lambda s, own, true: float((~own & true).gather(1, s.argmax(1, keepdim=True)).double().mean()),
        ),
    ),
    (
        "lessons/cocos",
        "check_counts",
        (3, 3, 4),
        ((2, 3, 4), (1, 3, 4), (3, 4, 4), (3, 3, 3), (3, 3, 5), (4, 4, 5), (3, 3)),
    ),
    (
        "lessons/cocos",
        "check_captions",
        lambda v: captions_hear(v.sum(0)),
        (
            lambda v: captions_hear(v.sum(1)),
            lambda v: captions_hear((~v).sum(0)),
            lambda v: (float(v.sum(0).float().mean()), *captions_hear(v.sum(0))[1:]),
            lambda v: (*captions_hear(v.sum(0))[:2], int((v.sum(0) > 0).sum())),
        ),
    ),
    (
        "lessons/cocos",
        "check_earshot",
        lambda p, tau, eps: tau * np.log(p / eps),
        (
            lambda p, tau, eps: tau * np.log(eps / p),
            lambda p, tau, eps: np.log(p / eps),
            lambda p, tau, eps: -tau * np.log(eps),
            lambda p, tau, eps: tau * np.log10(p / eps),
            lambda p, tau, eps: tau * np.log(p / (tau * eps)),
        ),
    ),
    ("lessons/audit", "check_axis", (1.5, 1), ((1.0, 0), (1.0, 1), (1.5, 0), (-1.5, 1))),
    ("lessons/audit", "check_last_batch", 15, (14, 72, 26, 360)),
    (
        "lessons/audit",
        "check_counter",
        without_gradient,
        (
            lambda s, own, t, e: len(s) - without_gradient(s, own, t, e),  # those with a gradient
            lambda s, own, t, e: without_gradient(s, own, t, e / t),  # as released: without 1/tau
            lambda s, own, t, e: without_gradient(s, own, t, e, power=0),
            lambda s, own, t, e: without_gradient(
                s, torch.arange(len(s)) % 12, t, e
            ),  # a row that is not the positive's
            lambda s, own, t, e: without_gradient(s, own, t, e, minus=1),
        ),
    ),
    (
        "lessons/beyond",
        "check_ifm_pull",
        ifm_pull,
        (
            lambda *a: -ifm_pull(*a),
            lambda u, t, e: t * ifm_pull(u, t, e),
            lambda u, t, e: 2 * ifm_pull(u, t, e),
            lambda u, t, e: ifm_pull(u, t, e / 2),  # a margin of eps
            lambda u, t, e: ifm_pull(u, t, e * t),
            lambda u, t, e: torch.sigmoid(u + 2 * e / t) / t,
        ),
    ),
    (
        "lessons/beyond",
        "check_even_bias",
        lambda B, t, c: -np.log(B - 1) - t * c,
        (
            lambda B, t, c: np.log(B - 1) + t * c,
            lambda B, t, c: -np.log(B - 1),
            lambda B, t, c: -np.log(B) - t * c,
            lambda B, t, c: -10.0,
        ),
    ),
    (
        "lessons/beyond",
        "check_sparse_row",
        [-2.1667, 1.8333, 0.3333, 0],
        (
            [2.1667, -1.8333, -0.3333, 0],
            [-0.4333, 0.3667, 0.0667, 0],
            [-2.1667, 1.8333, 0.3333],
            [-2, 2, 0, 0],
            [2.8333, 1.8333, 0.3333, 0],
            [-3.07, 1.59, 1.17, 0.31],
        ),
    ),
    (
        "lessons/which-loss",
        "check_own_captions",
        lambda B, N, k: (B - 1) * (k - 1) / (k * N - 1),
        (
            lambda B, N, k: B * (k - 1) / (k * N - 1),
            lambda B, N, k: (B - 1) * (k - 1) / (k * N),
            lambda B, N, k: (B - 1) * k / (k * N - 1),
            lambda B, N, k: (B - 1) / N,
        ),
    ),
    (
        "lessons/which-loss",
        "check_smallest",
        smallest,
        (
            lambda *a: -smallest(*a),
            lambda *a: smallest(*a, level=0.05),
            lambda *a: smallest(*a, df=0),
            lambda sd, n, m: smallest(sd, n, 1),
            lambda sd, n, m: stats.norm.ppf(1 - 0.025 / m) * sd / n**0.5,
            lambda sd, n, m: smallest(sd, n, m) / n**0.5,
        ),
    ),
    (
        "lessons/which-loss",
        "check_climb",
        climb,
        (
            lambda cost, ahead: min(cost, key=cost.get),
            lambda cost, ahead: climb(cost, ahead, max),
            lambda cost, ahead: max([min(cost, key=cost.get), *(a for a, _ in ahead)], key=cost.get),
            lambda cost, ahead: min([a for a, b in ahead if b == "a"] or ["a"], key=cost.get),
            lambda cost, ahead: min(set(cost) - {b for _, b in ahead}, key=cost.get),
        ),
    ),
    (
        "foundations/encoders",
        "check_last_state",
        lambda s, n: s[torch.arange(len(s)), n - 1],
        (
            lambda s, n: -s[torch.arange(len(s)), n - 1],
            lambda s, n: s[:, -1],
            lambda s, n: s[torch.arange(len(s)), n],
            lambda s, n: s[:, n - 1],
            lambda s, n: s[torch.arange(len(s)), -n],
        ),
    ),
    (
        "foundations/encoders",
        "check_norm_gradient",
        norm_gradient,
        (
            lambda *a: -norm_gradient(*a),
            toward,
            lambda u, c: norm_gradient(u, c) * u.norm(dim=1, keepdim=True),
            lambda u, c: c.expand_as(u) / u.norm(dim=1, keepdim=True),
        ),
    ),
    (
        "foundations/encoders",
        "check_which_axis",
        lambda x: x / x.norm(dim=-1, keepdim=True),
        (
            lambda x: -x / x.norm(dim=-1, keepdim=True),
            lambda x: x / x.norm(dim=1, keepdim=True),
            lambda x: x / x.norm(dim=0, keepdim=True),
            lambda x: x / x.norm(),
        ),
    ),
    (
        "foundations/regions",
        "check_heard",
        heard,
        (
            lambda *a: -heard(*a),
            lambda V, *a: len(V) * heard(V, *a),
            lambda V, t, p, g: heard(V, p, t, g),
            lambda V, t, p, g: heard(V, t.T, p.T, g.T),
            lambda V, t, p, g: ((V @ t.T) @ (V @ p.T).T).softmax(1) @ (V @ g.T),
            lambda V, t, p, g: (V @ t.T) @ (V @ p.T).T @ V / len(V),
        ),
    ),
    (
        "foundations/regions",
        "check_asleep",
        (-9, 0, -1.5),
        ((9, 0, 1.5), (0, -9, -1.5), (-9, -3, -1.5), (-9, 0, 0), (-9, 0)),
    ),
    (
        "foundations/regions",
        "check_as_text",
        lambda line: (line.decode("utf-8") if isinstance(line, bytes) else line).rstrip("\n"),
        (
            str,
            lambda line: str(line).rstrip("\n"),
            lambda line: line if isinstance(line, str) else line.decode("utf-8"),
            lambda line: (line.decode("latin-1") if isinstance(line, bytes) else line).rstrip("\n"),
            lambda line: line.rstrip(b"\n" if isinstance(line, bytes) else "\n"),
        ),
    ),
    (
        "foundations/your-data",
        "check_entry",
        entry(),
        (
            entry(split="trains"),
            entry(sentences=["the sun over the sea", "an orange sky"]),
            entry(filename="sun.jpg"),
            entry(split="val"),
            entry(sentences=[{"raw": "the sun over the sea. an orange sky"}]),
        ),
    ),
    (
        "foundations/your-data",
        "check_distance",
        lambda d2: 1 - d2 / 2,
        (lambda d2: d2 / 2 - 1, lambda d2: 1 - d2, lambda d2: 1 - d2.sqrt() / 2),
    ),
    (
        "foundations/albums",
        "check_plan",
        lambda known, there: {n for n in there if known.get(n) != there[n]},
        (
            lambda known, there: set(there) - set(known),
            lambda known, there: set(there),
            lambda known, there: {n for n in there if known.get(n, (0,))[0] != there[n][0]},
            lambda known, there: {n for n in known if known.get(n) != there.get(n)},
            lambda known, there: {n for n in known | there if known.get(n) != there.get(n)},
        ),
    ),
    (
        "foundations/albums",
        "check_both",
        lambda a, b: (-a).argsort().argsort() + (-b).argsort().argsort(),
        (
            lambda a, b: a.argsort().argsort() + b.argsort().argsort(),
            lambda a, b: a + b,
            lambda a, b: (-a).argsort() + (-b).argsort(),
            lambda a, b: (-a - b).argsort().argsort(),
        ),
    ),
    ("foundations/pipelines", "check_momentum", 44, (-44, 43, 45, 10)),
    (
        "foundations/pipelines",
        "check_mirror",
        mirrored,
        (
            lambda text: text,
            lambda text: text.replace("left", "right").replace("right", "left"),
            lambda text: text.replace("left", "!").replace("right", "left").replace("!", "right"),
        ),
    ),
    (
        "extend/own-loss",
        "check_own_weights",
        [0.17, -0.25, 0.05, 0, 0.03],
        ([-0.17, 0.25, -0.05, 0, -0.03], [1, -3, 1, 0, 1], [0.17, -0.25, 0.05, 0.01, 0.02], [0.34, -0.5, 0.1, 0, 0.06]),
    ),
    (
        "extend/own-loss",
        "check_cubic",
        cubic,
        (lambda *a: -cubic(*a), lambda s, i, m: cubic(s, i, m) / 3, lambda s, i, m: cubic(s, i, m).abs()),
    ),
    (
        "gradients/triplet",
        "check_triplet_weights",
        [1, 1, -2, 0, 0],
        ([-1, -1, 2, 0, 0], [0, 1, -1, 0, 0], [1, 1, -1, 0, 0], [1, 1, -2, 0]),
    ),
    (
        "gradients/triplet",
        "check_query_gradient",
        query_gradient,
        (lambda *a: -query_gradient(*a), lambda q, p, v, m: hardest(v, q) - p, every_active),
    ),
    ("gradients/triplet", "check_semi_hard", (4, {3, 5}), ((3, {3, 5}), (4, {2, 3, 5}), (2, {3, 5}))),
    (
        "gradients/ntxent",
        "check_ntxent_weights",
        ntxent_weights,
        (
            lambda *a: -ntxent_weights(*a),
            lambda s, i, t: t * ntxent_weights(s, i, t),
            lambda s, i, t: torch.softmax(s / t, 0) / t,
        ),
    ),
    (
        "gradients/ntxent",
        "check_through_norm",
        through_norm,
        (
            lambda *a: -through_norm(*a),
            lambda q, w, v: w @ v / q.norm(),
            lambda q, w, v: through_norm(q, w, v) * q.norm(),
            lambda q, w, v: (w @ v + ((w @ v) @ q) * q / (q @ q)) / q.norm(),
        ),
    ),
    (
        "gradients/ntxent",
        "check_floor",
        -20 + float(np.log(2)),
        (0.0, -20.0, -10 + float(np.log(2)), 20 - float(np.log(2))),
    ),
    (
        "gradients/smoothap",
        "check_quotient",
        (lambda a, c: -c / (a + c) ** 2, lambda a, c: a / (a + c) ** 2),
        (
            (lambda a, c: c / (a + c) ** 2, lambda a, c: -a / (a + c) ** 2),
            (lambda a, c: a / (a + c) ** 2, lambda a, c: -c / (a + c) ** 2),
        ),
    ),
    ("gradients/smoothap", "check_one_positive", ONE_POSITIVE, (-ONE_POSITIVE, ONE_POSITIVE * 0.02, [1.0, 2.0])),
    ("gradients/smoothap", "check_reach", REACH, (-0.0459, 0.0921, 4.595)),
    (
        "objectives/goal",
        "check_goal_weights",
        [-_T * 0.45, 0, _T * 0.62, 0],
        ([_T * 0.45, 0, -_T * 0.62, 0], [_T * 0.45, 0, _T * 0.62, 0], [-0.45, 0, 0.62, 0], [-_T, 0, _T, 0]),
    ),
    ("objectives/goal", "check_attract", {"lin", "lin-ms"}, ({"lin"}, {"lin", "lin-ms", "sig"}, {"con"}, {"linear"})),
    (
        "objectives/goal",
        "check_surrogate",
        lambda s, w: (w.detach() * (s - s.detach())).sum(1),
        (
            lambda s, w: (w.detach() * s).sum(1),
            lambda s, w: (w * (s - s.detach())).sum(),
            lambda s, w: (w.detach() * (s.detach() - s)).sum(1),
            lambda s, w: (w * (s.detach() - s.detach())).sum(1),
            lambda s, w: (w.detach() * (s - s)).sum(1),
        ),
    ),
    (
        "objectives/integrate",
        "check_level_lines",
        {"nca", "steep"},
        ({"nca"}, {"nca", "steep", "cir"}, {"far"}, {"nca", "steep", "con"}),
    ),
    ("objectives/integrate", "check_loop", 0.12, (-0.12, 0.0, 0.08)),
    (
        "objectives/integrate",
        "check_potential",
        lambda p, n: softplus(-2 * (p - 0.5)) / 2 + softplus(10 * (n - 0.5)) / 10,
        (
            lambda p, n: softplus(2 * (p - 0.5)) / 2 + softplus(10 * (n - 0.5)) / 10,
            lambda p, n: softplus(-2 * (p - 0.5)) + softplus(10 * (n - 0.5)),
            lambda p, n: softplus(-2 * (p - 0.5)) / 2 - softplus(10 * (n - 0.5)) / 10,
        ),
    ),
    ("gradients/one-picture", "check_effective", 1 / 0.375, (3.0, 1.0, 0.375)),
    (
        "gradients/one-picture",
        "check_softplus_weights",
        lambda s: torch.sigmoid(s[1] - s[0]) * _PULL_PUSH,
        (lambda s: -torch.sigmoid(s[1] - s[0]) * _PULL_PUSH, lambda s: torch.sigmoid(s[0] - s[1]) * _PULL_PUSH),
    ),
    ("gradients/one-picture", "check_most_harm", "binomial_deviance", ("smoothap", "triplet_sh", "no_such_loss")),
    ("objectives/fifteen", "check_ratio_size", (1.0, 0.1), ((0.2, 0.1), (1.0, 0.5))),
    (
        "objectives/fifteen",
        "check_no_attraction",
        lambda s: s.clamp(min=0),
        (lambda s: -s.clamp(min=0), lambda s: s, lambda s: s.abs(), lambda s: s.clamp(min=0.5)),
    ),
    (
        "shortcuts/contrastive",
        "check_caption_gradient",
        caption_gradient,
        (
            lambda *a: -caption_gradient(*a),
            lambda q, v, o, t: t * caption_gradient(q, v, o, t),
            lambda q, v, o, t: (torch.softmax(o @ q / t, 0) @ o - v) / t,
        ),
    ),
    (
        "shortcuts/contrastive",
        "check_shortcut_advantage",
        lambda b, t, p: t * np.log(b / p - b + 1),
        (
            lambda b, t, p: -t * np.log(b / p - b + 1),
            lambda b, t, p: t * np.log(1 / p),
            lambda b, t, p: np.log(b / p - b + 1),
            lambda b, t, p: t * np.log((b - 1) / p),
        ),
    ),
    (
        "shortcuts/constraint",
        "check_asleep",
        lambda X, L, eta, lr: int(X / (lr * (L / eta - 1))) + 1,
        (
            lambda X, L, eta, lr: -int(X / (lr * (L / eta - 1))) - 1,
            lambda X, L, eta, lr: int(X / (lr * (L / eta - 1))),
            lambda X, L, eta, lr: int(X / (lr * (L - eta))) + 1,
            lambda X, L, eta, lr: int(X / (L / eta - 1)) + 1,
        ),
    ),
    (
        "shortcuts/constraint",
        "check_put_back",
        multiplied(),
        (
            multiplied(sign=-1),
            multiplied(back=False),
            multiplied(first=0.1),
            multiplied(top=1e9),
            multiplied(keep=False),
        ),
    ),
    (
        "shortcuts/constraint",
        "check_price",
        price,
        (lambda eta: -price(eta), lambda eta: price(eta) / eta, lambda eta: 0.0, lambda eta: eta * price(eta) / 0.3),
    ),
    (
        "shortcuts/decoding",
        "check_equal_lambda",
        lambda g, r, eta: g * eta / r,
        (
            lambda g, r, eta: g / r,
            lambda g, r, eta: r * eta / g,
            lambda g, r, eta: g / (r * eta),
            lambda g, r, eta: 1 + g * eta / r,
        ),
    ),
    (
        "shortcuts/decoding",
        "check_price_of_many",
        price_of_many,
        (
            lambda k, c: price_of_many(2, c),
            lambda k, c: 1 - (1 + (k - 1) * c) / k,
            lambda k, c: (1 - c) / 4,
            lambda k, c: 1 - ((1 + k * c) / (k + 1)) ** 0.5,
            lambda k, c: 1 - price_of_many(k, c),
        ),
    ),
    (
        "shortcuts/decoding",
        "check_least_over_time",
        least_over_time,
        (
            lambda words: 0.0,
            lambda words: len(words) * np.log(len(words)),
            lambda words: -least_over_time(words),
            lambda words: sum(np.log(words.count(word)) for word in set(words)),
            lambda words: least_over_time(words) / np.log(2),
        ),
    ),
    (
        "shortcuts/tables",
        "check_two_runs",
        two_runs,
        (
            lambda s, n, m: two_runs(s, n, m) / 2**0.5,
            lambda s, n, m: two_runs(s, n + 1, m),
            lambda s, n, m: two_runs(s, n, 1),
            lambda s, n, m: two_runs([np.mean(s)] * len(s), n, m),
            lambda s, n, m: two_runs(s, n, m) * ((n - 1) / n) ** 0.5,
        ),
    ),
    (
        "shortcuts/tables",
        "check_precision",
        precisions,
        (
            lambda hits: precisions(hits)[::-1],
            lambda hits: (hits[0], precisions(hits)[1]),
            lambda hits: (precisions(hits)[0], precisions(hits)[0] ** 2),
            lambda hits: (precisions(hits)[0], float(np.mean(hits))),
            lambda hits: (sum(hits) / len(hits), precisions(hits)[1]),
        ),
    ),
    (
        "objectives/grid",
        "check_paired",
        paired,
        (
            lambda f, g: (-paired(f, g)[0], paired(f, g)[1]),
            lambda f, g: (paired(f, g)[0], 2.7764 * np.std([f[s] - g[s] for s in f]) / 5**0.5),
            lambda f, g: paired(dict(enumerate(f.values())), dict(enumerate(g.values()))),
        ),
    ),
    (
        "objectives/grid",
        "check_cir_lin",
        cir_lin,
        (
            lambda *a: tuple(-x for x in cir_lin(*a)),
            lambda p, n, tau, k: cir_lin(p, n, tau, 1.0),
            lambda p, n, tau, k: (cir_lin(p, n, tau, k)[0] / (1 - p), cir_lin(p, n, tau, k)[1] / n),
            lambda p, n, tau, k: tuple(2 * tau * x for x in cir_lin(p, n, tau, k)),
        ),
    ),
    (
        "reproduce/goal-tables",
        "check_noise",
        t_of,
        (
            lambda *a: -t_of(*a),
            lambda a, s, b, r, n: t_of(a, s, b, r, n + 1),
            lambda a, s, b, r, n: (a - b) / ((s**2 + r**2) / n**2) ** 0.5,
        ),
    ),
    (
        "reproduce/paper-scale",
        "check_gru",
        lambda c, w, i, d: 6 * c * w * d * (i + d),
        (
            lambda c, w, i, d: 3 * c * w * d * (i + d),
            lambda c, w, i, d: 6 * c * w * i * d,
            lambda c, w, i, d: 6 * c * d * (w * i + (w - 1) * d),
            lambda c, w, i, d: 8 * c * w * d * (i + d),
        ),
    ),
    (
        "reproduce/paper-scale",
        "check_faster",
        lambda f, times: 1 / (f + (1 - f) / times),
        (
            lambda f, times: f + (1 - f) / times,
            lambda f, times: 1 / (f / times + 1 - f),
            lambda f, times: times,
            lambda f, times: f + (1 - f) * times,
        ),
    ),
    ("appendix/errata", "check_triplet_sign", [-1.0, 1.0], ([1.0, -1.0], [0.0, 0.0])),
    (
        "appendix/errata",
        "check_nca_push",
        lambda p, n, tau: tau * torch.sigmoid(tau * (n - p)),
        (
            lambda p, n, tau: tau * torch.sigmoid(tau * (p - n)),
            lambda p, n, tau: torch.sigmoid(tau * (n - p)),
            lambda p, n, tau: -tau * torch.sigmoid(tau * (n - p)),
        ),
    ),
    (
        "extend/own-loss",
        "check_diagonal",
        (lambda m: m * m / 2, "value"),
        (
            (lambda m: -m * m / 2, "value"),
            (lambda m: m * m, "value"),
            (lambda m: m * m / 2, "gradient"),
            (lambda m: 0.0, "value"),
        ),
    ),
    (
        "foundations/your-data",
        "check_how_many",
        (97, 385),
        ((25, 100), (97, 194), (96, 384), (68, 271), (385, 97), (98, 386)),
    ),
    ("reproduce/goal-tables", "check_best_of_fifteen", 1.736, (-1.736, 0.0, 1.70, 2.5, 0.56)),
    (
        "reproduce/goal-tables",
        "check_half_width",
        lambda s, n: stats.t.ppf(0.975, n - 1) * s / (n - 1) ** 0.5,
        (
            lambda s, n: stats.t.ppf(0.975, n - 1) * s / n**0.5,
            lambda s, n: 1.96 * s / (n - 1) ** 0.5,
            lambda s, n: stats.t.ppf(0.975, n) * s / (n - 1) ** 0.5,
            lambda s, n: s,
            lambda s, n: stats.t.ppf(0.95, n - 1) * s / (n - 1) ** 0.5,
        ),
    ),
    ("reproduce/run", "check_report", 358, (364, 371, 361, 301, 369)),
    ("reproduce/run", "check_updates", 3525, (705, 3510, 235, 3516, 30000)),
    (
        "reproduce/run",
        "check_seeds",
        (4.03, 2.24),
        ((-4.03, 2.24), (4.03, 14.43), (4.03, 22.37), (4.03, 1.83), (4.03, 3.88), (4.03, 1.02)),
    ),
    ("appendix/errata", "check_below_zero", 0.5127, (0.5, 0.3, 0.8, -0.5127, 0.4873)),
    (
        "appendix/claims",
        "check_weakest",
        lambda words: min(words, key=WEAKER.index),
        (
            lambda words: words[0],
            lambda words: max(words, key=WEAKER.index),
            lambda words: "contradicted" if "contradicted" in words else "reproduced",
            lambda words: min(words, key=("contradicted", "equivalent", "undecided", "reproduced").index),
            lambda words: max(set(words), key=words.count),
        ),
    ),
]
