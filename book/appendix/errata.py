# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Errata: what is printed, what runs, what is right
#
# **What you will be able to do:** look up any equation that this book uses, see where print, code and calculus differ,
# and run the check. **Time:** under a minute on one core. **You need:** {doc}`notation`.

# %% tags=["parameters", "remove-cell"]
smoke: bool = False  # a quick try: tiny data, a few updates, no result

# %% tags=["colab-setup", "remove-cell"]
import importlib.util

if importlib.util.find_spec("icrlib") is None:
    raise ModuleNotFoundError(
        "icrlib is missing. In a clone, `make wheel` writes icrlib-0.1.0-py3-none-any.whl; "
        "upload it here, then run %pip install icrlib-0.1.0-py3-none-any.whl"
    )

# %% tags=["hide-input"]
import math
from itertools import pairwise, product

import matplotlib.pyplot as plt
import pandas as pd
import torch
from IPython.display import Markdown

from icrlib import LagrangeMultiplier, chapter, paper, plots, records
from icrlib.agreement import by_autograd
from icrlib.losses import NTXent, SmoothAP
from icrlib.paper import ltd

smoke = chapter.start(smoke)

# %% [markdown]
# You type an equation from a paper into your code, and the loss falls below zero. Is it you, or is it the equation? The
# machine can tell: it takes the derivative of the loss itself and compares. All is tried on the same small numbers: a
# query and six candidates, the scores of three pairs, and those of two images with two captions each.


# %% tags=["hide-input"]
def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def slope(f, *at):
    """Derivative of the number f(*at) by each argument, by autograd."""
    at = [torch.as_tensor(x, dtype=torch.float64).clone().requires_grad_() for x in at]
    found = torch.autograd.grad(f(*at), at)
    return found if len(found) > 1 else found[0]


def cosine(a, b):
    """+1: same direction; -1: opposite."""
    return float((a * b).sum() / (a.norm() * b.norm()))


rng = torch.Generator().manual_seed(0)
V = torch.nn.functional.normalize(torch.randn(6, 8, generator=rng, dtype=torch.float64), dim=1)
q = torch.nn.functional.normalize(V[0] + 1.2 * V[1], dim=0)  # one query; candidate 0 is its positive
assert 0.2 + (V[1] - V[0]) @ q > 0  # the triplet with candidate 1 is active
S3 = tensor([[0.60, 0.45, 0.10], [0.30, 0.55, 0.50], [0.05, 0.62, 0.40]])
S24 = tensor([[0.55, 0.53, 0.54, 0.10], [0.50, 0.46, 0.52, 0.51]])
M24 = torch.tensor([[1, 1, 0, 0], [0, 0, 1, 1]]).bool()
EYE = torch.eye(3, dtype=torch.bool)

# %% [markdown]
# Three formulas are needed more than once: average precision by the step function of ECIR's Eq. 6, and GOAL's triplet
# weights nca and cir. What is printed there as $\tau$ is the sharpness $\gamma = 1/\tau$ here, because $\tau$ is always a
# temperature in this book ({doc}`notation`); the code keeps the printed name.


# %% tags=["hide-input"]
def step_ap(s, D):
    """AP of one row whose first candidate is its only positive; D says what is compared in the step of Eq. 6."""
    return 1 / (1 + sum(float(D(s[0], s[j]) > 0) for j in range(1, len(s))))


def T_nca(positive, negative, tau=10):
    return torch.sigmoid(tau * (negative - positive))


def T_cir(positive, negative, tau=10, shift=0.0):
    return torch.sigmoid(-tau * (positive * (2 - positive) - negative**2 + shift))


def shown(value):
    return value if isinstance(value, str) else f"{float(value):.4g}"


p, half, corner = torch.softmax(V @ q / 0.1, 0), tensor(0.5), tensor(0.9)
of_triplet = slope(lambda x: torch.relu(0.2 + (V[1] - V[0]) @ x), q)
of_ntxent = slope(lambda x: torch.logsumexp(V @ x / 0.1, 0) - V[0] @ x / 0.1, q)
halves = (SmoothAP().per_query(S24, M24), SmoothAP().per_query(S24.T, M24.T))
over_nca, over_centre = (T_cir(corner, corner) / x for x in (T_nca(corner, corner), T_cir(half, half)))
rises = ltd.gaps("itd_dual", "con", ltd.RECALLS) > 0

# %% [markdown]
# Here is what was measured. Click an equation to get to its check. The numbers under "as checked" are computed, here or
# in the check; words quote what is printed, or sum up what the check shows.

# %% tags=["hide-input"]
rows = [
    ("ecir-4", "ECIR Eq. 4", "value on a 3 × 3 matrix", NTXent(denominator="negatives")(S3, EYE), NTXent()(S3, EYE)),
    ("ecir-6", "ECIR, after Eq. 6", "AP of a perfect list of 5", step_ap(tensor([5, 4, 3, 2, 1]), lambda i, j: i - j),
     step_ap(tensor([5, 4, 3, 2, 1]), lambda i, j: j - i)),
    ("ecir-8", "ECIR Eq. 8", "value on a 2 × 4 matrix", torch.cat(halves).mean(), sum(x.mean() for x in halves) / 2),
    ("ecir-9", "ECIR Eq. 9a", "cosine with the gradient",
     cosine(V[0] - V[1], of_triplet), cosine(V[1] - V[0], of_triplet)),
    ("ecir-11", "ECIR Eq. 11", "cosine with the gradient",
     cosine(V[0] - p @ V, of_ntxent), cosine(p @ V - V[0], of_ntxent)),
    ("goal-2", "GOAL Eq. 2", "gradient of (3θ)² at θ = 2", slope(lambda t: (3 * t) ** 2, 2.0) * 3,
     slope(lambda t: (3 * t) ** 2, 2.0)),
    ("goal-6", "GOAL Eqs. 6–7", "slope over weight, γ = 10", 1,
     slope(lambda n: torch.nn.functional.softplus(10 * (n - 0.6)), 0.5) / T_nca(0.6, half)),
    ("goal-8", "GOAL Eq. 8", "T cir at (0.9, 0.9), over T nca there", "above 1, if T nca is meant", over_nca),
    ("goal-8", "GOAL Eq. 8", "T cir at (0.9, 0.9), over T cir at (½, ½)", "above 1, if the centre is meant", over_centre),
    ("ltd-time", "LTD Eq. 4", "axis that the shares add up over", "vocabulary", "time"),
    ("ltd-restart", "LTD Sec. 5.5", "rate of the captions' head, second half", "fixed", "zero"),
    ("ltd-rows", "LTD Sec. 5.2", "recalls that ITD as a dual loss raises, of six", "few or none",
     ", ".join(f"{place} {int(up.sum())}" for place, up in rises.groupby(level=0, sort=False))),
    ("ltd-curves", "LTD Sec. 5.3", "contrastive loss and rsum, correlation over six runs", "not a good indication",
     ltd.contrastive_and_rsum()),
]
paper.styled(pd.DataFrame([
    {"equation": f'<a href="#erratum-{anchor}">{name}</a>', "measured": what, "as printed": shown(a),
     "as checked": shown(b)} for anchor, name, what, a, b in rows]), name="errata")

# %% [markdown]
# ## Before you read on
#
# Slips in print are normal, since nothing has to run a printed equation before it appears. Many of those below are in
# print only; where the released code has them, too, we say so. We could find them only because of what these papers did
# well.
#
# - ECIR {cite:p}`bleeker2022lessons` released its code, its run settings and a written derivation, trained everything
#   five times, and put standard deviations beside every score. It asked what a loss does to a score, not only who wins.
# - GOAL {cite:p}`xuan2023dissecting` laid out a whole family, named which members were known, ran all of them three
#   times, and published the numbers that do not favour its choice.
# - LTD {cite:p}`bleeker2022keep` states its argument as a gradient, where it can be tested, and released not only its code
#   but its job lists, its target notebook and the recorded curves of its trainings. Most of what stands below under its
#   name could only be seen because of that.
#
# Our own slips are at the {ref}`end <erratum-ours>`. Each entry has three lines: what is printed, what the check shows,
# the corrected form. Weights and gradients are those of the *loss*. A few entries correct nothing: the one on GOAL's
# Eqs. 3 and 4, for example, says what to add when these equations are put into code.
#
# ## ECIR

# %% [markdown]
# (erratum-ecir-4)=
# ### Eq. 4: the denominator of NT-Xent
#
# - *Printed:* the sum runs over the negatives $S_N$.
# - *What the check shows:* another loss. It can fall below zero: its slope by the positive's score is $-1/\tau$ at any
#   score, so that it falls as far as the cosine can rise. The slides, Eq. 11 and the released code have the positive in
#   the sum. As a loss of its own it has a name, DCL; {doc}`../lessons/beyond` trains with it.
# - *Corrected form:* $-\log \frac{e^{s^+/\tau}}{\sum_{j \in \Omega} e^{s_j/\tau}}$. In the library, `denominator="all"`.

# %% tags=["nbval-check-output"]
printed, corrected = NTXent(tau=0.1, denominator="negatives"), NTXent(tau=0.1)
own = printed.weights(S3, EYE).diagonal()
assert torch.allclose(own, tensor([-10.0] * 3)) and float(printed(S3, EYE)) < 0
print(f"printed {float(printed(S3, EYE)):.4f}, corrected {float(corrected(S3, EYE)):.4f}")

# %% [markdown]
# (erratum-ecir-6)=
# ### Between Eqs. 6 and 7: the sign of $D_{ij}$
#
# - *Printed:* Eq. 6 counts $1[s_i - s_j < 0]$, which is right. The text below it sets $D_{ij} = s_i - s_j$ and counts
#   $1[D_{ij} > 0]$, and the smooth form takes over this $D_{ij}$.
# - *What the check shows:* Eq. 6 counts who is above, the rest who is below. A perfect list gets a low AP, the worst
#   list the highest. The matrix in the appendix and the released code have $s_j - s_i$.
# - *Corrected form:* $D_{ij} = s_j - s_i$.

# %% tags=["nbval-check-output"]
best, worst = tensor([5, 4, 3, 2, 1]), tensor([1, 4, 3, 2, 5])
differences = {"s_i - s_j": lambda i, j: i - j, "s_j - s_i": lambda i, j: j - i}
found = {name: [step_ap(best, D), step_ap(worst, D)] for name, D in differences.items()}
assert found["s_j - s_i"][0] == 1 and found["s_i - s_j"][1] == 1
print("AP of the best and the worst list:", found)

# %% [markdown]
# (erratum-ecir-8)=
# ### Eq. 8: one mean, or two halves
#
# - *Printed:* $\frac{1}{|B|} \sum_{q \in B} (1 - \text{AP}_q)$, over all queries of the batch.
# - *What the check shows:* with five captions an image, this gives the caption direction five times the say. The
#   released code takes the mean of each direction and then half of each. The values differ; so do the gradients.
# - *Corrected form:* $\frac12 \operatorname{mean}_{\text{images}} + \frac12 \operatorname{mean}_{\text{captions}}$, as run.

# %% tags=["nbval-check-output"]
images, captions = SmoothAP().per_query(S24, M24), SmoothAP().per_query(S24.T, M24.T)
pooled, as_run = torch.cat([images, captions]).mean(), (images.mean() + captions.mean()) / 2
assert abs(float(as_run - SmoothAP()(S24, M24))) < 1e-12
print(f"pooled {float(pooled):.4f}, as run {float(as_run):.4f}")

# %% [markdown]
# (erratum-ecir-9)=
# ### Eqs. 9a and 9b: the sign, and a plus
#
# - *Printed:* $\partial \ell / \partial q = v^+ - v^-$ where the triplet is active. The text below says
#   "$s^+ + s^- < \alpha$".
# - *What the check shows:* exactly minus the gradient: it is the direction in which a step goes. And the sum
#   $s^+ + s^-$ calls an active triplet inactive.
# - *Corrected form:* $v^- - v^+$ if $s^+ - s^- < \alpha$. Counts (Eq. 10) do not depend on the sign.

# %% tags=["nbval-check-output"]
gradient = slope(lambda x: torch.relu(0.2 - V[0] @ x + V[1] @ x), q)
direction = cosine(V[0] - V[1], gradient)
s_plus, s_minus, alpha = 0.7, 0.6, 0.2
assert abs(direction + 1) < 1e-12 and alpha - s_plus + s_minus > 0
active, by_text = s_plus - s_minus < alpha, s_plus + s_minus < alpha
print(f"cosine {direction:+.4f}; active {active}, by the text {by_text}")

# %% [markdown]
# (erratum-ecir-11)=
# ### Eq. 11: the sign, and which loss
#
# - *Printed:* $(1 - p_+) \tau^{-1} v^+ - \sum_{N} p_j \tau^{-1} v_j$, with $p$ the softmax over $\Omega$.
# - *What the check shows:* exactly minus the gradient of the loss with all candidates in the denominator. It is not the
#   gradient of Eq. 4 as printed, in either sign. That one is $1/(1 - p_+)$ times as long: it pulls a positive that has
#   won as hard as any other.
# - *Corrected form:* $w_j = (p_j - 1[j = +]) / \tau$.

# %% tags=["nbval-check-output"]
p = torch.softmax(V @ q / 0.1, 0)
printed = (1 - p[0]) * V[0] / 0.1 - (p[1:] @ V[1:]) / 0.1
full = slope(lambda x: torch.logsumexp(V @ x / 0.1, 0) - V[0] @ x / 0.1, q)
eq_4 = slope(lambda x: torch.logsumexp(V[1:] @ x / 0.1, 0) - V[0] @ x / 0.1, q)
assert (printed + full).abs().max() < 1e-10 and abs(cosine(full, eq_4) - 1) < 1e-12
longer = float(eq_4.norm() / full.norm())
assert abs(longer - 1 / (1 - float(p[0]))) < 1e-10
print(f"cosine {cosine(printed, full):+.4f}; Eq. 4 is {longer:.4f} times as long")

# %% [markdown]
# (erratum-ecir-12)=
# ### Eq. 12: right, but its factor is later quoted with the other sign
#
# - *Printed:* $\partial \text{AP} / \partial q$, in which pairs of positives have a minus and the factor
#   $\mathcal R(i, S_N) - 1$. Below Eq. 13 the text calls the factor $1 - \mathcal R(i, S_N)$.
# - *What the check shows:* with $D_{ij} = s_j - s_i$ inside, Eq. 12 is the slope of AP to all digits. The loss is
#   $1 - \text{AP}$, so that its gradient is minus that. The factor is $C_i$, the smooth number of negatives above $i$.
#   $1 - \mathcal R$ is right only if the minus before the factor is meant to be in it; beside that minus it is wrong.
# - *Corrected form:* $\mathcal R(i, S_N) - 1$ in the text as well. For the loss: {doc}`../gradients/smoothap`.

# %%
def eq_12(s, positive, tau, sign=1):
    """ECIR Eq. 12 on a row of scores; sign = -1 takes the text's factor."""
    total, unit = torch.zeros_like(s), torch.eye(len(s), dtype=s.dtype)
    for i in positive.nonzero()[:, 0]:
        G = torch.sigmoid((s - s[i]) / tau) * (torch.arange(len(s)) != i)
        A, C = 1 + G[positive].sum(), G[~positive].sum()
        apart = (G * (1 - G) / tau)[:, None] * (unit[i] - unit)
        among = sign * C * apart[positive].sum(0)
        total += (A * apart[~positive].sum(0) - among) / (A + C) ** 2
    return total / positive.sum()


# %% tags=["nbval-check-output"]
weights = by_autograd(lambda x: SmoothAP(tau=0.01).per_query(x, M24), S24)[0]
as_printed, as_text = eq_12(S24[0], M24[0], 0.01), eq_12(S24[0], M24[0], 0.01, sign=-1)
off = [float((x + weights).abs().max()) for x in (as_printed, as_text)]
assert off[0] < 1e-10 and off[1] > 1e-2
print(f"largest error: Eq. 12 {off[0]:.4f}, with the text's factor {off[1]:.4f}")

# %% [markdown]
# (erratum-ecir-property-1)=
# ### Property 1 below Eq. 12: the inverse square
#
# - *Printed:* a positive that is ranked low counts little, because of $\mathcal R(i, S_\Omega)^{-2}$.
# - *What the check shows:* true if *negatives* are ahead. If *positives* are ahead, the smooth rank $A_i$ among the
#   positives grows as well, and the weight falls as $A_i / R_i^2$ only, with $R_i = \mathcal R(i, S_\Omega)$.
# - *Corrected form:* in the gradient of the loss, $A_i w_{ij}$ for negatives and $-C_i w_{ij}$ for other positives,
#   where $w_{ij} = \text{sim}(D_{ij}) / R_i^2$ and sim is the slope of the sigmoid.

# %% tags=["nbval-check-output"]
def tied(negatives, positives):
    """|P| times the weight of a negative tied with positive i; so many others are ahead."""
    s = tensor([[0.9] * (positives + negatives) + [0.5, 0.5]])
    mask = torch.tensor([[True] * positives + [False] * negatives + [True, False]])
    return float(SmoothAP().weights(s, mask)[0, -1]) * (positives + 1)


negatives, positives = tied(9, 0) / tied(0, 0), tied(0, 9) / tied(0, 0)
assert abs(negatives - (1.5 / 10.5) ** 2) < 1e-9
print(f"rank 10 over rank 1, behind negatives {negatives:.4f}, positives {positives:.4f}")

# %% [markdown]
# (erratum-ecir-appendix)=
# ### Online appendix: two signs that cancel
#
# - *Printed:* (1) $D_{ij} = s_i - s_j$, so $\partial D_{ij}/\partial q = v_i - v_j$, while its matrix has $s_j - s_i$.
#   (2) The quotient $A/R$ is differentiated with the numerator $A R' - R A'$.
# - *What the check shows:* each alone reverses every weight; together they give the right Eq. 12. {doc}`../gradients/smoothap`
#   runs all four. Two small ones: the second term of Eq. 16 is labelled D and is B; the indicators of Eqs. 2 and 4
#   point in opposite directions.
# - *Corrected form:* $\partial D_{ij}/\partial q = v_j - v_i$ and $A' R - A R'$.

# %% tags=["nbval-check-output"]
def A_of(t):  # positive i = 0 of the first row of S24; its score is moved by t
    return 1 + torch.sigmoid((S24[0, 1] - S24[0, 0] - t) / 0.01)


def R_of(t):
    return A_of(t) + torch.sigmoid((S24[0, 2:] - S24[0, 0] - t) / 0.01).sum()


A, R, A_, R_ = A_of(0), R_of(0), slope(A_of, 0.0), slope(R_of, 0.0)
truth = slope(lambda t: A_of(t) / R_of(t), 0.0)
four = [float(a * b * (A_ * R - A * R_) / R**2 / truth) for a in (1, -1) for b in (1, -1)]
assert max(abs(abs(x) - 1) for x in four) < 1e-12
print("derived / true, for no slip, (2), (1), both:", [f"{x:+.0f}" for x in four])

# %% [markdown]
# (erratum-ecir-13)=
# ### Eq. 13: pair terms are not weights
#
# - *Printed:* counts $\text{sim}(D_{ij}) / R_i^2 > \epsilon$. It says that $A_i$ and $C_i$ are left out. sim is "the
#   derivative of (7)", so it has $1/\tau$; the released counter leaves that out too.
# - *What the check shows:* a perfectly ranked query has counted pairs, though no weight. And $1/\tau$ alone changes
#   the count, as if $\epsilon$ were a hundred times smaller.
# - *Corrected form:* count $A_i w_{ij}$ and $C_i w_{ij}$, the terms that enter the gradient.

# %% tags=["nbval-check-output"]
s = tensor([[0.80, 0.795, 0.79, 0.785, 0.78] + [0.2] * 20])
mask = (torch.arange(25) < 5)[None]
G = torch.sigmoid((s - s[0, :5, None]) / 0.01) * (1 - torch.eye(5, 25, dtype=s.dtype))
terms = G * (1 - G) / (1 + G.sum(1, keepdim=True)) ** 2
released, defined = (float((x > 0.01).sum() / 5) for x in (terms, terms / 0.01))
weights = by_autograd(lambda x: SmoothAP().per_query(x, mask), s)
assert weights.abs().max() < 1e-18
print(f"pairs per positive: released {released:.1f}, with 1/tau {defined:.1f}; by weight 0")

# %% [markdown]
# (erratum-ecir-table-1)=
# ### Text and Table 1
#
# - *Printed:* row 2.7 has an average t2i recall of 54.6. The text compares SmoothAP's row 1.8 with "row 1.5". It says
#   that a query has one positive candidate in "the i2t task".
# - *What the check shows:* of all averages in the table one does not fit its three recalls. Row 1.5 is the plain
#   Triplet loss, which SmoothAP beats. One positive is the case for captions as queries.
# - *Corrected form:* 54.8; row 1.6, Triplet-SH; and t2i.

# %% tags=["hide-input", "nbval-check-output"]
table = paper.table("ecir/1")
for way in ("i2t", "t2i"):
    mean = table[[f"{way}_{r}" for r in ("r1", "r5", "r10")]].mean(axis=1)
    for row in (table[f"{way}_average_recall"] - mean)[lambda gap: gap.abs() > 0.1].index:
        print(f"row {row}, {way}: printed {table.loc[row, f'{way}_average_recall']}, its recalls give {mean[row]:.2f}")
print("rsum of rows 1.5, 1.6, 1.8:", *(table.loc[row, "rsum"] for row in ("1.5", "1.6", "1.8")))

# %% [markdown]
# ## GOAL
#
# We write $w_+$ and $w_-$ for the pull on the positive and the push on the hardest negative:
# $\partial \ell / \partial s^+ = -w_+ = -T P_+$ and $\partial \ell / \partial s^- = w_- = T P_-$.

# %% [markdown]
# (erratum-goal-2)=
# ### Eq. 2: the first factor
#
# - *Printed:* $\frac{\partial l}{\partial \theta} \frac{\partial x}{\partial \theta}$.
# - *What the check shows:* the chain rule applied twice. The next sentence names the right factor.
# - *Corrected form:* $\frac{\partial l}{\partial x} \frac{\partial x}{\partial \theta}$, and
#   $\frac{\partial l}{\partial y} \frac{\partial y}{\partial \phi}$.

# %% tags=["nbval-check-output"]
theta, X = 2.0, 3.0  # x = theta X, l = x²
by_theta = float(slope(lambda t: (t * X) ** 2, theta))
by_x = float(slope(lambda x: x**2, theta * X))
assert abs(by_x * X - by_theta) < 1e-12
print(f"printed {by_theta * X:.0f}, corrected {by_x * X:.0f}, autograd {by_theta:.0f}")

# %% [markdown]
# (erratum-goal-4)=
# ### Eqs. 3 and 4: right for a pair, not yet a batch
#
# - *Printed:* the gradient of the loss of one pair by $x$ and by $y$. There $x$ has two roles, anchor and positive.
# - *What the check shows:* no misprint. It is the gradient of that loss to all digits. But training sums the losses of a
#   batch, and there $x$ has a third role: it is the hard negative of other captions. If the printed gradients are summed
#   over a batch of 32, a large part of the batch's gradient is missing. How large depends on the batch: we show pairs
#   that belong together (a caption is its image plus noise of 0.2 a dimension) and random ones. The released code adds
#   the third role.
# - *For a batch:* $\partial \ell / \partial X = G\, Y$ and $\partial \ell / \partial Y = G^\top X$, where the matrix
#   $G$ holds the weights of all pairs.

# %% tags=["hide-input"]
def one_pair(x, y, other_y, other_x, margin=0.2):
    """The loss of GOAL Eq. 4: one pair, and the hard negatives of its two members."""
    return (torch.relu(margin + x @ other_y - x @ y) + torch.relu(margin + y @ other_x - y @ x)).sum()


def printed_pair(x, y, other_y, other_x, margin=0.2):
    """GOAL Eq. 4: both lines, and whether the two triplets are active."""
    a, b = (float(margin + s > 0) for s in (x @ other_y - x @ y, y @ other_x - y @ x))
    return (a * (other_y - y) - b * y, -a * x + b * (other_x - x)), (a, b)


seen = set()
for j, i, m in product(V[1:], V[1:], (0.2, 0.6, 1.0)):
    printed, active = printed_pair(V[0], q, j, i, m)
    exact = slope(lambda x, y, j=j, i=i, m=m: one_pair(x, y, j, i, m), V[0], q)
    assert all((g - h).abs().max() < 1e-12 for g, h in zip(printed, exact, strict=True))
    seen.add(active)
assert {(0, 0), (0, 1), (1, 1)} <= seen  # no triplet active, one, both

# %% [markdown]
# How much is missing in a batch? We take twenty batches of 32 pairs, once with captions near their images, once with
# random ones, and compare the sum over all pairs with the gradient that autograd finds.


# %% tags=["hide-input"]
def missing_roles(related, margin=0.2):
    """Relative distance of GOAL Eq. 4, summed over a batch, from autograd of the batch loss; for 20 batches."""
    missing, unit = [], torch.nn.functional.normalize
    for seed in range(20):
        rng = torch.Generator().manual_seed(seed)
        x, noise = (torch.randn(32, 16, generator=rng).double() for _ in "xy")
        x = unit(x, dim=1)
        y = unit(x + 0.2 * noise if related else noise, dim=1)
        S = (x @ y.T).fill_diagonal_(-9)  # a positive is never mined
        own, text, image = (x * y).sum(1), S.max(1), S.max(0)
        a = (margin + text.values - own > 0).double()[:, None]
        b = (margin + image.values - own > 0).double()[:, None]
        printed = torch.cat([a * (y[text.indices] - y) - b * y, -a * x + b * (x[image.indices] - x)])
        whole = torch.cat(slope(lambda x, y, j=text.indices, i=image.indices: (
            torch.relu(margin + (x * (y[j] - y)).sum(1)) + torch.relu(margin + (y * (x[i] - x)).sum(1))).sum(), x, y))
        missing.append(float((printed - whole).norm() / whole.norm()))
    return tensor(missing)


# %%
missing, unrelated = missing_roles(related=True), missing_roles(related=False)
assert float(missing.min()) > 0.4 and float(unrelated.min()) > 0.3
middle, of_random = float(missing.median()), float(unrelated.median())
print(f"missing, median of 20 batches: {middle:.2f}; for random pairs {of_random:.2f}")

# %% [markdown]
# (erratum-goal-5)=
# ### Eq. 5: the Heaviside function at zero, and in the code
#
# - *Printed:* $T^{\text{con}} = \delta(m + s^- - s^+)$; its value at 0 is not given.
# - *What the check shows:* even two functions of one framework disagree: in PyTorch, `relu` has slope 0 there, `clamp`
#   slope 1. This holds for ECIR Eqs. 9 and 10 too. The released code has no Heaviside: easy triplets keep weight 1.
# - *Corrected form:* $1[m + s^- - s^+ > 0]$, and a sentence on the margin of the experiments.

# %% tags=["nbval-check-output"]
relu, clamp = slope(torch.relu, 0.0), slope(lambda x: x.clamp(min=0), 0.0)
easy = float(tensor(0.2 + 0.4 - 0.9) > 0)  # margin 0.2, s+ = 0.9, s- = 0.4
assert (float(relu), float(clamp), easy) == (0, 1, 0)
print(f"slope at 0: relu {float(relu):.0f}, clamp {float(clamp):.0f};",
      f"easy triplet: paper {easy:.0f}, release 1")

# %% [markdown]
# (erratum-goal-6)=
# ### Eqs. 6 and 7: a factor γ
#
# - *Printed:* the scalar in the gradient of Eq. 6 is $T^{\text{nca}}$. (The sharpness $\gamma$ is printed as $\tau$.)
# - *What the check shows:* it is $\gamma\, T^{\text{nca}}$. With Adam a constant factor hardly matters; beside another
#   loss, or with clipping, it does.
# - *Corrected form:* $\gamma\, \sigma(\gamma (s^- - s^+))$, or Eq. 6 divided by $\gamma$.

# %% tags=["nbval-check-output"]
s_plus, s_minus, tau = tensor(0.6), tensor(0.5), 10


def eq_6(p, n):
    return -torch.log(torch.exp(tau * p) / (torch.exp(tau * p) + torch.exp(tau * n)))


by_plus, by_minus = slope(eq_6, s_plus, s_minus)
ratio = float(by_minus / T_nca(s_plus, s_minus))
assert abs(ratio - tau) < 1e-9 and abs(by_plus + by_minus) < 1e-9
print(f"slope / T nca = {ratio:.4f}")

# %% [markdown]
# (erratum-goal-8)=
# ### Eq. 8: corner cases
#
# - *Printed:* $T^{\text{cir}}$ gives more weight to corner cases, where both similarities are large or both small. It
#   does not say more than what; the sentence before has it that $T^{\text{nca}}$ does not treat these cases well.
# - *What the check shows:* read as a comparison with $T^{\text{nca}}$ it is wrong: with Eq. 8, $T^{\text{cir}} \le
#   T^{\text{nca}}$ on the whole unit square, with equality at its four corners. Read as a comparison with the centre of
#   the square it is right. The released code subtracts 0.5 in the bracket, which the paper does not mention; then
#   $T^{\text{cir}} \ge T^{\text{nca}}$ everywhere.
# - *Corrected form:* "relative to the centre"; or Eq. 8 with the shift. Which one the tables used cannot be told.

# %% tags=["nbval-check-output"]
axis = torch.linspace(0, 1, 401, dtype=torch.float64)
p, n = torch.meshgrid(axis, axis, indexing="ij")
printed = T_cir(p, n) - T_nca(p, n)
released = T_cir(p, n, shift=-0.5) - T_nca(p, n)
assert printed.max() < 1e-12 and released.min() > -1e-12
same = tensor([0.5, 0.9])  # s+ = s-: there T nca is 0.5
eq_8, shifted = (T_cir(same, same, shift=c).round(decimals=4).tolist() for c in (0, -0.5))
print(f"T cir at (.5, .5) and (.9, .9): Eq. 8 {eq_8}, with the shift {shifted}")

# %% [markdown]
# (erratum-goal-10)=
# ### Eq. 10: below zero
#
# - *Printed:* $P_-^{\text{lin}} = s^-$.
# - *What the check shows:* cosines may be negative. Then the weight is too, and the negative is attracted. The released
#   code does not cut it either.
# - *Corrected form:* $[s^-]_+$, as the Circle loss itself cuts its factors; or a sentence that no cut is meant.

# %% tags=["nbval-check-output"]
s_minus = tensor([-0.2, 0.0, 0.3])
weight = s_minus  # P_- of Eq. 10
assert (weight < 0).any() and (weight.relu() >= 0).all()
print("printed", weight.tolist(), " cut at zero", weight.relu().tolist())

# %% [markdown]
# (erratum-goal-12)=
# ### Eq. 12: a sentence the wrong way round, and the empty set
#
# - *Printed:* $m_-^{\text{sig}} > 1$ means that the chosen negative is closer than the others; $m_-^{\text{sig}} < 1$
#   "will not exist" with hard negative mining. What an empty set gives is not said.
# - *What the check shows:* the reverse. The hardest negative has $s^- \ge R$, so $m_-^{\text{sig}} \le 1$ always. An
#   empty set is 0 in the released code, and the weight is then an exponential.
# - *Corrected form:* exchange "> 1" and "< 1" in that paragraph; an empty set gives the neutral value 1.

# %% tags=["nbval-check-output"]
rng = torch.Generator().manual_seed(1)
negatives = torch.rand(1000, 8, generator=rng).double().sort(1, descending=True).values
hardest, others = negatives[:, :1], negatives[:, 1:]
m_minus = torch.exp(-10 * (hardest - others)).mean(1)
assert m_minus.max() <= 1
weight = {m: float(1 / (m + torch.exp(-10 * (tensor(0.9) - 0.5)))) for m in (0, 1)}
print(f"m_- above 1 in {int((m_minus > 1).sum())} of 1000 rows;",
      f"P_- of an empty set: {weight[1]:.3f} with 1, {weight[0]:.1f} with 0")

# %% [markdown]
# (erratum-goal-13)=
# ### Eqs. 12 and 13: two neutral values, one symbol
#
# - *Printed:* $m_\pm$ stands for the relative terms of both families, beside the margin $m$. Figure 3 sets all four to
#   0.1. $P^{\text{lin-ms}}$ is called parameter free.
# - *What the check shows:* the sigmoid form is neutral at 1, the linear form at 0. So 0.1 is a tenth off in one panel and
#   up to ten times in the other, and it raises $P_+$ in one and lowers it in the other. The sets still need $\epsilon$,
#   whose value the paper does not give (the code: 0.1).
# - *Corrected form:* write $\mu_\pm$ (neutral 1) and $\nu_\pm$ (neutral 0), and state $\epsilon$.

# %% tags=["nbval-check-output"]
s = tensor(0.9)
P_lin = {nu: float((1 + nu) * s) for nu in (0.0, 0.1)}
P_sig = {mu: float(1 / (mu + torch.exp(-10 * (s - 0.5)))) for mu in (1.0, 0.1)}
assert abs(P_lin[0.1] / P_lin[0.0] - 1.1) < 1e-12
lin, sig = P_lin[0.1] / P_lin[0.0], P_sig[0.1] / P_sig[1.0]
print(f"P_- at s- = 0.9, with 0.1 over neutral: lin {lin:.2f}, sig {sig:.2f}")

# %% [markdown]
# (erratum-goal-table-1)=
# ### Table 1: which cells are the named losses
#
# - *Printed:* con × sig is binomial deviance, con × sig-ms is Multi-Similarity, cir × lin is Circle.
# - *What the check shows:* each under conditions. Binomial deviance needs its two terms divided by $\alpha$ and $\beta$;
#   else the two ratios differ. Multi-Similarity has a *sum* that includes the pair itself, not a mean over the others.
#   Circle matches if its factors are differentiated too and its margin is $1/\sqrt2$.
# - *Corrected form:* state the conditions in the table.

# %% tags=["nbval-check-output"]
sp, sn, softplus = tensor(0.6), tensor([0.5, 0.45, 0.3]), torch.nn.functional.softplus


def deviance(p, n):
    return softplus(-2 * (p - 0.5)) + softplus(10 * (n - 0.5))


def circle(p, n, m=0.5**0.5):  # factors (n + m) and (1 + m - p) not detached
    return softplus(10 * ((n + m) * (n - m) - (1 + m - p) * (p - 1 + m)))


pull, push = slope(deviance, sp, sn[0])
ratios = -pull / torch.sigmoid(-2 * (sp - 0.5)), push / torch.sigmoid(10 * (sn[0] - 0.5))
lin = T_cir(sp, sn[0]) * torch.stack([-(1 - sp), sn[0]])
assert torch.allclose(torch.stack(slope(circle, sp, sn[0])), 2 * 10 * lin)
print(f"deviance over its cell: {float(ratios[0]):.1f} and {float(ratios[1]):.1f}")

# %% tags=["nbval-check-output"]
ms = slope(lambda n: torch.log1p(torch.exp(10 * (n - 0.5)).sum()) / 10, sn)[0]
own, gaps = torch.exp(-10 * (sn[0] - 0.5)), torch.exp(-10 * (sn[0] - sn))
cell = {"mean of the others": 1 / (own + gaps[1:].mean()),
        "sum with itself": 1 / (own + gaps.sum())}
assert abs(cell["sum with itself"] - ms) < 1e-12
{f"cell over Multi-Similarity, {name}": round(float(w / ms), 4) for name, w in cell.items()}

# %% [markdown]
# (erratum-goal-integrable)=
# ### Section 3.4 and Table 1: two named cells have no continuous loss
#
# - *Printed:* new combinations may be hard or impossible to integrate.
# - *What the check shows:* true, and more: with the Heaviside in $T^{\text{con}}$, con × sig (binomial
#   deviance) and con × sig-ms (Multi-Similarity) are not the gradient of any continuous loss. Around a closed loop that
#   crosses the hinge their work is not zero.
# - *Corrected form:* of the 15 combinations as printed, con × con, nca × con and cir × lin have a continuous loss. See
#   {doc}`../objectives/integrate`.

# %%
def loop(T, P_plus, P_minus, centre=(0.5, 0.3), h=0.2, steps=20_000):
    """Work of (-T P_+, T P_-) around a square in the plane of s+ and s-."""
    t = (torch.arange(steps).double() + 0.5) / steps * 2 * h - h
    x, y, same = *centre, torch.zeros_like(t)
    sides = [(x + t, y - h + same, -1, 0), (x + h + same, y + t, 0, 1),
             (x + t, y + h + same, 1, 0), (x - h + same, y + t, 0, -1)]
    work = [a * T(p, n) * P_plus(p) + b * T(p, n) * P_minus(n) for p, n, a, b in sides]
    return float(sum(work).sum()) * 2 * h / steps


def con(p, n):
    return (0.2 + n - p > 0).double()


def sig(m_plus=1.0, m_minus=1.0):
    return (lambda p: 1 / (m_plus + torch.exp(2 * (p - 0.5))),
            lambda n: 1 / (m_minus + torch.exp(-10 * (n - 0.5))))


# %% tags=["nbval-check-output"]
one, lin = (torch.ones_like, torch.ones_like), (lambda p: 1 - p, lambda n: n)
work = {"con x con": loop(con, *one), "nca x con": loop(T_nca, *one),
        "cir x lin": loop(T_cir, *lin),
        "con x sig": loop(con, *sig()), "con x sig-ms": loop(con, *sig(0.9, 0.4))}
assert all(abs(work[name]) < 1e-4 for name in list(work)[:3])
assert work["con x sig"] > 0.1 and work["con x sig-ms"] > 0.1
{name: round(abs(value), 3) for name, value in work.items()}

# %% [markdown]
# (erratum-goal-backward)=
# ### The released backward pass
#
# - *Printed:* training in gradient space can take the place of a loss.
# - *What the check shows:* the released `autograd.Function` returns its stored gradient and ignores the one that comes
#   in. Weights of losses, means and loss scaling in mixed precision then do nothing.
# - *Corrected form:* multiply by the incoming gradient; or use the sum of detached weights times scores.

# %%
class Stored(torch.autograd.Function):
    @staticmethod
    def forward(ctx, s, w):
        ctx.save_for_backward(w)
        return (w * s).sum()

    @staticmethod
    def backward(ctx, incoming):
        return ctx.saved_tensors[0], None  # what comes in is ignored


# %% tags=["nbval-check-output"]
w, s = tensor([-0.7, 0.7]), tensor([0.6, 0.5])
ignored = [slope(lambda x, c=c: c * Stored.apply(x, w), s) for c in (1.0, 0.5, 0.0)]
respected = [slope(lambda x, c=c: c * (w.detach() * x).sum(), s) for c in (1.0, 0.5, 0.0)]
assert torch.equal(ignored[0], ignored[2]) and respected[2].abs().max() == 0
print("loss × 1, ½, 0: released", [round(float(x[1]), 2) for x in ignored],
      " corrected", [round(float(x[1]), 2) for x in respected])

# %% [markdown]
# ## LTD
#
# (erratum-ltd-2)=
# ### Eq. 2: sign, and a denominator
#
# - *Printed:* announced as the derivative of $-\mathcal L$, labelled $\partial \mathcal L / \partial q$. Eq. 2d defines
#   $Z(q, v)$ with $e^{q \cdot v/\tau}$ plus the sum over all negatives. Eq. 2c has a $q^-$ that is not defined.
# - *What the check shows:* with $Z$ and $q$ as corrected below, the right-hand sides of 2a to 2c are minus the labelled
#   derivatives. As printed, for a negative $v$ the denominator of $Z$ holds $v$ twice and lacks $v^+$, so that the
#   shares do not sum to one.
# - *Corrected form:* $-\partial \mathcal L / \partial q$ on the left; $Z$ the softmax over all candidates; $q$ for $q^-$.

# %% tags=["nbval-check-output"]
e = torch.exp(V @ q / 0.05)
softmax = e / e.sum()
as_2d = e / (e + e[1:].sum())  # right for candidate 0, the positive
eq_2a = ((1 - softmax[0]) * V[0] - softmax[1:] @ V[1:]) / 0.05
eq_2bc = torch.cat([(1 - softmax[:1])[:, None] * q, -softmax[1:, None] * q]) / 0.05
by_q, by_v = slope(lambda x, v: torch.logsumexp(v @ x / 0.05, 0) - v[0] @ x / 0.05, q, V)
assert (eq_2a + by_q).abs().max() < 1e-10 and (eq_2bc + by_v).abs().max() < 1e-10
assert abs(as_2d[0] - softmax[0]) < 1e-12
shares = f"Eq. 2d {float(as_2d.sum()):.2f}, softmax {float(softmax.sum()):.2f}"
of_2a, of_2bc = cosine(eq_2a, by_q), cosine(eq_2bc, by_v)
print(f"cosine: Eq. 2a {of_2a:+.4f}, Eqs. 2b and 2c {of_2bc:+.4f}")
print(f"sum of shares: {shares}")

# %% [markdown]
# (erratum-ltd-6)=
# ### Eqs. 4 to 9: small ones
#
# - *Printed:* a sequence that starts at $x_i$ (Eq. 4); a decoder without biases (Eq. 5); "negative cosine similarity" above
#   a formula with $1 - \cos$ (Eq. 6), said to be equivalent to the squared distance of unit vectors; "maximizing
#   $\mathcal L_{rec}$ w.r.t. $\lambda$" below Eq. 9; $\alpha$ for the momentum and for the triplet margin.
# - *What the check shows:* the three forms of Eq. 6 differ by a constant and by a factor of two, so the equivalence holds.
#   $\mathcal L_{rec}$ has no $\lambda$ in it: what is maximised is $\mathcal L_{lag}$. The released decoder has biases.
# - *Corrected form:* $x_1$; $1 - \cos$; $\max_\lambda \mathcal L_{lag}$, whose slope is $\mathcal L_{rec}/\eta - 1$.

# %% tags=["nbval-check-output"]
made, target = V[2] * 1.7, V[3]


def apart(y):
    """1 - cos of Eq. 6."""
    return 1 - y @ target / (y.norm() * target.norm())


forms = {"1 - cos": apart, "-cos": lambda y: apart(y) - 1,
         "squared distance": lambda y: ((y / y.norm() - target) ** 2).sum()}
slopes = {name: slope(f, made) for name, f in forms.items()}
assert torch.allclose(slopes["1 - cos"], slopes["-cos"])
assert torch.allclose(slopes["squared distance"], 2 * slopes["1 - cos"])
of_lambda = slope(lambda lam: lam * (apart(made) / 0.2 - 1), 1.0)
assert abs(of_lambda - (apart(made) / 0.2 - 1)) < 1e-12
{name: round(float(f(made)), 4) for name, f in forms.items()}

# %% [markdown]
# (erratum-ltd-time)=
# ### Eq. 4 as released: a softmax over time
#
# - *Printed:* the negative log-likelihood of each word, given the words before it and the caption's vector.
# - *What the check shows:* scores of shape (captions, positions, vocabulary) went through a log-softmax over axis 1, the
#   positions. Each word's score competes with the same word's score at other positions, not with other words. A word that
#   the caption does not have may score as high as it likes; a word that it has twice cannot do better than $2 \ln 2$.
# - *Corrected form:* the softmax over the vocabulary. Rows 1.2, 1.3, 2.2.\* and 2.3.\* of Table 1 do not test what the
#   text argues from them, and $\eta = 6$ is a bound on another scale.

# %% tags=["nbval-check-output"]
# "a cat and a dog": word 0 twice; the vocabulary has 7 words
said = torch.tensor([0, 1, 2, 0, 3])
logits = torch.zeros(1, 5, 7, dtype=torch.float64)
logits[0, torch.arange(5), said] = 50.0  # as sure of the right word as can be, everywhere
loud = logits.clone()
loud[:, :, 6] += 100.0  # and surer still of a word that the caption does not have


def nll(scores, axis):
    return abs(float(torch.log_softmax(scores, axis)[0, torch.arange(5), said].sum()))


over_time = torch.softmax(loud, 1)
assert torch.allclose(over_time.sum(1), torch.ones(1, 7, dtype=torch.float64))
assert abs(nll(logits, 1) - 2 * math.log(2)) < 1e-9 and nll(loud, 1) == nll(logits, 1)
print(f"over time {nll(logits, 1):.2f}, with the wrong word {nll(loud, 1):.2f}; over the "
      f"vocabulary {nll(logits, 2):.2f}, with the wrong word {nll(loud, 2):.0f}")

# %% [markdown]
# (erratum-ltd-gru)=
# ### Section 4: half of the bidirectional GRU
#
# - *Printed:* the caption encoder is a bidirectional GRU.
# - *What the check shows:* as released, both directions are read at the last position. There the backward half has read one
#   word, and it is always `<end>`. Its 512 numbers are the same for every caption: a learned constant.
# - *Corrected form:* as run, a forward GRU of 512 with a bias; meant, the backward state at the *first* position.

# %% tags=["nbval-check-output"]
torch.manual_seed(0)
gru = torch.nn.GRU(8, 4, bidirectional=True, batch_first=True).double()
end, halves = torch.randn(8, dtype=torch.float64), []
for length in (6, 4, 3):
    caption = torch.cat([torch.randn(length - 1, 8, dtype=torch.float64), end[None]])
    halves.append(gru(caption[None])[0][0, length - 1].detach().split(4))
spread = [max(float((a[k] - halves[0][k]).abs().max()) for a in halves) for k in (0, 1)]
assert spread[1] < 1e-12 < spread[0]
print(f"largest difference between captions: forward {spread[0]:.2f}, backward below 1e-12")

# %% [markdown]
# (erratum-ltd-lambda)=
# ### Section 4: a multiplier "bounded between 0 and 100"
#
# - *Printed:* $\lambda$ starts at 1, is bounded between 0 and 100, and is positive again when the bound is exceeded
#   (Section 5.3).
# - *What the check shows:* as released, $\lambda$ is clipped where it is *read*. The number behind it runs on below zero
#   while the bound is met, and must come all the way back before $\lambda$ moves. Engineers call that wind-up. The
#   release's own curves have $\lambda = 0$ for long stretches above $\eta$.
# - *Corrected form:* put the number itself back between the bounds after each step (`rule="projected"`).

# %% tags=["nbval-check-output"]
waits = {}
for rule in ("published", "projected"):
    multiplier = LagrangeMultiplier(eta=0.2, rule=rule)
    for _ in range(2000):
        multiplier.step(0.1)  # the bound is met
    waits[rule] = 0
    while float(multiplier.value) == 0 and waits[rule] < 5000:
        multiplier.step(0.25)  # and now exceeded by a quarter
        waits[rule] += 1
assert waits["published"] > 100 * waits["projected"]
print("updates above the bound until the multiplier is positive:", waits)
runs = ltd.recorded()
above, pairs = (int(runs[name].sum()) for name in ("zero_pairs_above", "zero_pairs"))
print(f"in the release's curves: {above:,} of {pairs:,} neighbouring zeros "
      "lie above the bound")

# %% [markdown]
# (erratum-ltd-restart)=
# ### Section 5.5: a "fixed" learning rate of 2e-5
#
# - *Printed:* the head that tunes the targets (rows 4.1.2 and 4.2.2) has a fixed learning rate of 2e-5.
# - *What the check shows:* as released, a cosine takes the rates of both groups of weights to zero in 30 epochs. Then the
#   rate of the images' group is set anew, and a new cosine begins. It multiplies the rate that is there, and zero times
#   anything is zero: for the second half of the training the captions' head stands still.
# - *Corrected form:* set both rates, or keep the captions' group out of the schedule.

# %% tags=["nbval-check-output"]
def cosine_step(rate, epoch, length=30):
    """The chainable form: the new rate from the one before."""
    return rate * (1 + math.cos(math.pi * epoch / length)) / (
        1 + math.cos(math.pi * (epoch - 1) / length))


rates = {"images": [2e-4], "captions": [2e-5]}
for epoch in range(1, 60):
    for group, past in rates.items():
        rate = cosine_step(past[-1], (epoch - 1) % 30 + 1)
        past.append(2e-5 if group == "images" and epoch == 30 else rate)
assert abs(rates["images"][45] - 1e-5) < 1e-9 and max(rates["captions"][30:]) < 1e-18
{group: {epoch: float(f"{past[epoch]:.1e}") for epoch in (0, 15, 29, 30, 45)}
 for group, past in rates.items()}

# %% [markdown]
# (erratum-ltd-unscaled)=
# ### The released step: gradients unscaled twice
#
# - *Printed:* nothing; mixed precision is not mentioned. (Nor are the clipped gradient, word dropout and random erasing.)
# - *What the check shows:* the trainer unscales the gradients of the optimiser, to clip them, and then hands the *wrapper*
#   that averages weights to the scaler. The scaler keeps its books by object, does not recognise it, and divides by the
#   loss scale again. Adam forgives a common factor only while the gradient is far above its $\epsilon = 10^{-8}$.
# - *Corrected form:* hand over the same object twice. The triplet rows of Table 2 ran without averaging and rows 4.\*
#   without mixed precision, so that they differ from Table 1 in this, too. (Checked with today's scaler, not that of 2022.)

# %% tags=["nbval-check-output"]
class Wrapper:
    def __init__(self, inner):
        self.inner, self.param_groups = inner, inner.param_groups

    def step(self):
        self.inner.step()


moved = {}
for name, wrap in (("same object", lambda x: x), ("wrapper", Wrapper)):
    weight = torch.nn.Parameter(torch.ones(3))
    sgd = torch.optim.SGD([weight], lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=65_536.0)
    scaler.scale((weight * torch.tensor([1.0, 2.0, 3.0])).sum()).backward()
    scaler.unscale_(sgd)
    before = weight.grad.clone()
    scaler.step(wrap(sgd))
    moved[name] = float((weight.grad / before).mean())
typical = 2 / math.sqrt(1e7)  # a clipped norm of 2 over ten million weights
shrunk = {name: typical * share / (typical * share + 1e-8) for name, share in moved.items()}
assert moved["same object"] == 1 and abs(moved["wrapper"] * 65_536 - 1) < 1e-6
print("share of the gradient:", moved)
print("share of Adam's step:", {name: round(share, 2) for name, share in shrunk.items()})

# %% [markdown]
# (erratum-ltd-targets)=
# ### Section 3.4: what the targets are, and who saw the test captions
#
# - *Printed:* for each caption of the training set a target, from a general sentence encoder.
# - *What the check shows:* the released notebook encodes batches of 128, the first of 129. What is left after the last full
#   batch is never encoded; it gets the vectors of the batch before. The cell that writes Flickr30k's test split writes the
#   validation split; whether that file was used cannot be told from the tables. And by its model card the teacher was
#   trained on pairs of captions of one picture: 317,695 of Flickr30k, nearly all that there are, and 828,395 of MS-COCO.
#   Five captions for each of its 82,783 training images would make 827,830; some have more than five. (Whether the rest
#   comes from there was not traced.)
# - *Corrected form:* encode the rest, too; write the test split; say who saw what.

# %% tags=["nbval-check-output"]
splits = {"F30k train": 145_000, "COCO train": 566_435, "COCO test": 25_000,
          "F30k test": 5_000}
left_over = {name: (captions - 129) % 128 for name, captions in splits.items()}
assert list(left_over.values()) == [103, 34, 39, 7]
five_choose_two = 31_783 * math.comb(5, 2), 82_783 * math.comb(5, 2)
print("captions with another caption's target:", left_over)
print(f"pairs there are and pairs listed: Flickr30k {five_choose_two[0]:,} and 317,695; "
      f"COCO's training images {five_choose_two[1]:,} and 828,395")

# %% [markdown]
# (erratum-ltd-sampling)=
# ### Section 3.1: one caption for each image
#
# - *Printed:* for each image one of its captions is sampled, and each caption is used once in an epoch.
# - *What the check shows:* the second is so; for the first, the released data are shuffled caption by caption. Two captions
#   of one image meet in a batch, and each is then a negative of the other's pair.
# - *Corrected form:* "captions are shuffled". Of a batch of 128 on Flickr30k one in five has such a pair.

# %% tags=["nbval-check-output"]
image_of = torch.randperm(145_000, generator=torch.Generator().manual_seed(0)) // 5
batches = image_of[: 1132 * 128].view(1132, 128)
meets = sum(len(set(batch.tolist())) < 128 for batch in batches) / len(batches)
expected = 1 - math.exp(-128 * 127 / 2 * 4 / (145_000 - 1))
assert abs(meets - expected) < 0.04
print(f"batches in which an image comes twice: {meets:.0%}, expected {expected:.0%}")

# %% [markdown]
# (erratum-ltd-rows)=
# ### Section 5: rows that Table 1 does not have, and a sentence that it contradicts
#
# - *Printed:* rows 2.1.5, 2.2.5, 2.1.3, 2.2.3 and 2.5; "2.4.2, 2.4.2"; and that ITD as a dual loss does not improve recall
#   for most values of $k$, by rows 1.2, 2.1.2 and 2.2.2.
# - *What the check shows:* there are no rows of the first five numbers, and 2.1.2 is the baseline on CxC. On MS-COCO
#   (2.2.1) and CxC (2.2.2) ITD has no recall below the baseline's, and four and five of six above it. On Flickr30k the
#   sentence is right.
# - *Corrected form:* 2.5.1, 2.5.2, 2.3.1, 2.3.2 and 2.5.1; 2.1.2, 2.4.2; 2.2.1 for 2.1.2 in the sentence on ITD; and
#   "does not improve recall on Flickr30k".
#
# Table 1's rows on CxC are the models of its rows on MS-COCO, scored with further positives. How a positive was defined
# cannot be recovered: the released notebook keeps pairs without a threshold, leaves the original ones out, and joins
# validation ratings with test images.

# %% tags=["nbval-check-output"]
printed = ltd.rows()
cited = ["2.1.5", "2.2.5", "2.1.3", "2.2.3", "2.5"]
assert not set(cited) & set(printed.index)
recalls = printed[ltd.RECALLS]
gain = {place: (recalls.loc[a] - recalls.loc[b]).astype(float).round(1)
        for place, a, b in (("Flickr30k", "1.2", "1.1"), ("MS-COCO", "2.2.1", "2.1.1"),
                            ("CxC", "2.2.2", "2.1.2"))}
assert (gain["Flickr30k"] < 0).all()
assert (gain["MS-COCO"] >= 0).all() and (gain["CxC"] >= 0).all()
assert [int((gain[place] > 0).sum()) for place in ("MS-COCO", "CxC")] == [4, 5]
{place: {"rsum": round(float(values.sum()), 1),
         "recalls that rise": int((values > 0).sum())} for place, values in gain.items()}

# %% [markdown]
# (erratum-ltd-curves)=
# ### Figure 2 and Section 5.3: a running maximum, and a loss that is said not to matter
#
# - *Printed:* Fig. 2a is the course of the recall sum. Observation 5: value and course of the contrastive loss do not
#   depend on the value of the reconstruction loss; "Hence, the contrastive loss on its own does not provide a good
#   indication of the performances on the evaluation task." The axis of Fig. 2c says cosine similarity.
# - *What the check shows:* what was recorded for Fig. 2a is `best_score`, the highest value *so far*: it never falls.
#   Nearly all of our own trainings fall at some evaluation. The contrastive losses at the end (means of ten epochs)
#   differ between the six recorded runs, and they order the six models as their recall sums do. That speaks against the
#   quoted sentence, but is six points, one run each. The curve of Fig. 2c is $1 - \cos$.
# - *Corrected form:* "the best recall sum so far"; and in the six runs on MS-COCO the contrastive loss at the end is a
#   good indication of the recall sum: the lower the one, the higher the other.

# %% tags=["nbval-check-output"]
runs = ltd.recorded()
ours = [[entry["val"]["rsum"] for entry in record["history"]]
        for record in records.find(study="ecir")]
falling = sum(any(b < a for a, b in pairwise(past)) for past in ours) / len(ours)
assert runs["falls"].sum() == 0 and falling > 0.9
correlation = ltd.contrastive_and_rsum()
assert correlation < -0.9
by_loss = runs.sort_values("contrastive").index
assert list(by_loss) == list(runs.sort_values("rsum", ascending=False).index)
print(f"falls in {len(runs)} recorded curves: {runs['falls'].sum()}; "
      f"ours that fall: {falling:.0%}")
least, most = runs["contrastive"].min(), runs["contrastive"].max()
print(f"contrastive loss at the end: {least:.3f} to {most:.3f}")
print(f"correlation of contrastive loss and rsum: {correlation:+.3f}")

# %% [markdown]
# (erratum-ltd-triplet)=
# ### Section 5.4: is the triplet loss a special case of InfoNCE?
#
# - *Printed:* yes, with one positive and one negative. (The paper takes this from its reference 26.)
# - *What the check shows:* with one negative InfoNCE is $\ln(1 + e^{(s^- - s^+)/\tau})$. It has no margin and is never
#   zero, so that every pair keeps a gradient. Times $\tau$, and for $\tau \to 0$, it becomes a hinge with margin zero; a
#   margin has to be put in by hand.
# - *Corrected form:* a smooth relative of the triplet loss. What the text concludes from it, that with both losses the
#   negatives of the batch decide what is learned, does not need the identity.

# %% tags=["nbval-check-output"]
pair, own = tensor([[0.9, 0.4]]), torch.tensor([[True, False]])
gap = float(pair[0, 1] - pair[0, 0])
infonce = float(NTXent(tau=0.05).per_query(pair, own))
assert abs(infonce - math.log1p(math.exp(gap / 0.05))) < 1e-12
assert infonce > 0 == max(0.2 + gap, 0)


def smooth_hinge(margin, tau=1e-3):
    """Times tau, with the margin added to the negative: the hinge as tau falls."""
    return tau * float(NTXent(tau=tau).per_query(pair + tensor([[0.0, margin]]), own))


assert abs(smooth_hinge(0.8) - (0.8 + gap)) < 1e-9 and smooth_hinge(0.2) < 1e-9
print(f"won by 0.5: triplet {max(0.2 + gap, 0):.0f}, InfoNCE {infonce:.1e}; "
      f"with a margin of 0.8, hinge {0.8 + gap:.2f}, smooth {smooth_hinge(0.8):.2f}")

# %% [markdown]
# (erratum-ours)=
# ## Ours
#
# - While this book was built, a sampler drew the same batches for every seed. It packed seed and epoch into one 64-bit
#   number, and PyTorch's CPU generator keeps the lower 32 bits. A test that compared two seeds found it. Three "seeds"
#   would have agreed to the last digit.
# - The released SmoothAP cuts $(s_j - s_i)/\tau$ at ±50 before it takes the sigmoid, so that pairs which are farther
#   apart get no gradient at all. Ours leaves the cut out. On a perfect list the weights differ by less than $10^{-18}$.
# - **We stopped too early.** The first version of this book concluded that no loss beats a bag of words, and that no
#   model uses the order of words. Both came from runs of 3,000 updates at a learning rate of 0.001, which fell to a
#   tenth halfway, at 1,500. In the figure below the same model with the same loss, but three times the updates, begins
#   to read the order of words after that point, while its rate is still up, and then its recall rises, too. The rate
#   would have done as well: the run of 3,000 updates on the same draw at 0.003, with all else the same, begins to read,
#   too.
# - **And we nearly stopped too early again.** The first repair had 1,500 updates, with a rate and a start searched for
#   each loss, and all models but one read. NT-Xent was ahead of Triplet-SH in every draw. With 3,000 updates, searched
#   anew (both losses took 0.003), Triplet-SH is ahead in every draw: {doc}`../lessons/training` shows both.
# - **We said that cir as printed stands still, because its gradient is small.** That was with one rate for all of GOAL's
#   objectives, 1e-3, and the explanation rested on one seed of one objective. At a rate of its own it does learn, late; and
#   with clipping and length varied on several draws, {doc}`../objectives/grid` says how much of that is the size.
# - Three seeds on one draw of data decided our claims. When a change moved nothing but the rounding, 25 of the 119
#   verdicts of that time went from decided to undecided or back (counted once, in review). The rule since then: on
#   scenes ten draws of data for a claim (on photos there are still three seeds), a correction for families of claims,
#   and a word for differences that are too small to matter.
# - On photos we had a bag of words far ahead of VSE++ with each of the four losses. These runs had one rate for all,
#   unequal numbers of updates, and no word dropout. With settings that were searched for each loss no difference between
#   the two models is decided any more ({doc}`../lessons/training`).

# %% tags=["nbval-check-output"]
def drawn(seed, epoch):
    rng = torch.Generator().manual_seed((seed << 32) + epoch)
    return torch.randperm(100, generator=rng)


assert torch.equal(drawn(1, 0), drawn(2, 0)) and not torch.equal(drawn(1, 0), drawn(1, 1))
s, mask = tensor([[0.80, 0.795, 0.79] + [0.2] * 20]), (torch.arange(23) < 3)[None]


def with_cut(x):
    """One minus SmoothAP of the row of scores, with the released cut at ±50."""
    G = torch.sigmoid(((x - x[0, :3, None]) / 0.01).clamp(-50, 50)) * (1 - torch.eye(3, 23))
    C = G[:, 3:].sum(1)
    return (C / (1 + G.sum(1))).mean()[None]


off = SmoothAP().weights(s, mask) - by_autograd(with_cut, s)
assert 0 < off.abs().max() < 1e-18
print("seeds 1 and 2 draw the same:", bool(torch.equal(drawn(1, 0), drawn(2, 0))))

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels over the updates of two trainings that differ in their length alone: swap accuracy on top, validation rsum below. The swap accuracy of the short one stays near chance; that of the long one leaves it before its own rate falls, and its rsum then passes the bag of words' line."}, "figure": {"name": "fig-stopped", "caption": "NT-Xent on 1,500 scenes at a learning rate of 0.001: our first default, and three times its updates. Dotted: where the rate of each falls to a tenth. The short training's fell before reading began, and it never did."}}
def studied(method, updates):
    """The study's first draw at our first default's rate, with this many updates."""
    (record,) = records.find(study="reading", method=method, loss="ntxent", seed=0, lr=1e-3, updates=updates,
                             data_options={"seed": 0, "train": 1500, "val": 500, "test": 1000, "regions": False})
    return record


short, long, bag = studied("vse++", 3000), studied("vse++", 9000), studied("bow", 9000)
figure, (top, bottom) = plt.subplots(2, 1, figsize=(6.4, 4.6), sharex=True)
for record, colour, name in ((long, plots.COLOURS["ntxent"], "9,000 updates"), (short, "#111111", "3,000 updates")):
    updates = [entry["update"] for entry in record["history"]]
    top.plot(updates, [entry["twins"]["swap"] for entry in record["history"]], color=colour, marker="o", ms=3, label=name)
    bottom.plot(updates, [entry["val"]["rsum"] for entry in record["history"]], color=colour, marker="o", ms=3)
top.axhline(50, color=plots.COLOURS["bow"], ls="--")
bottom.axhline(max(entry["val"]["rsum"] for entry in bag["history"]), color=plots.COLOURS["bow"], ls="--",
               label="bag of words")
for axes in (top, bottom):
    axes.axvline(short["config"]["drops"][0], color="#111111", ls=":")
    axes.axvline(long["config"]["drops"][0], color=plots.COLOURS["ntxent"], ls=":")
    axes.legend(fontsize="small")
top.set_ylabel("swap accuracy, %")
bottom.set(xlabel="updates", ylabel="validation rsum");

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
swaps = {name: [(entry["update"], entry["twins"]["swap"]) for entry in record["history"]]
         for name, record in (("short", short), ("long", long))}
stays = [update for update, _ in swaps["long"] if all(value > 60 for later, value in swaps["long"] if later >= update)]
begins = min(stays)
assert short["config"]["drops"] == [1500] and short["config"]["drops"][0] < begins < long["config"]["drops"][0]
assert max(value for _, value in swaps["short"]) < 60  # the line that the chapter on reading draws
assert long["test"]["rsum"] > bag["test"]["rsum"] > short["test"]["rsum"]
assert max(entry["val"]["rsum"] for entry in long["history"]) > max(entry["val"]["rsum"] for entry in bag["history"])

# %% tags=["remove-cell"]
(faster,) = records.find(study="ecir", method="vse++", loss="ntxent", seed=0)
assert {k for k in short["config"] if short["config"][k] != faster["config"][k]} <= {"lr", "asked"}
assert faster["config"]["lr"] == 0.003 and faster["history"][-1]["twins"]["swap"] > 60


def lead(study):
    """Test rsum of NT-Xent less that of Triplet-SH, draw by draw."""
    first, second = ({r["config"]["seed"]: r["test"]["rsum"]
                      for r in records.find(study=study, method="vse++", loss=loss)} for loss in ("ntxent", "triplet_sh"))
    return [first[seed] - second[seed] for seed in first.keys() & second.keys()]


assert min(lead("half")) > 0 > max(lead("ecir"))  # the second slip: half the updates, and what they hid
assert {r["config"]["lr"] for loss in ("ntxent", "triplet_sh")
        for r in records.find(study="ecir", method="vse++", loss=loss)} == {0.003}
photo_runs = [[r["test"]["rsum"] for r in records.find(study="photo_runs", method=m, loss="ntxent")]
              for m in ("vse++", "bow")]
assert abs(sum(photo_runs[0]) - sum(photo_runs[1])) / 3 < 6 and all(len(runs) == 3 for runs in photo_runs)  # the last
cir = [(r["config"]["lr"], r["chosen"]["val_rsum"]) for r in records.find(study="goal_tuning")
       if "cir" in r["config"]["loss"] and r["config"]["loss_options"]["convention"] == "paper"]
assert max(v for lr, v in cir if lr == 1e-3) < 310 < 360 < min(v for lr, v in cir if lr == 3e-3)  # the third: a rate

# %% [markdown]
# ## What we found

# %% tags=["hide-input"]
Markdown("\n".join([
    "- Three printed gradients, ECIR Eqs. 9 and 11 and LTD Eq. 2, are exactly minus the gradient (LTD's once its Z and "
    "its q are corrected).",
    f"- Eq. 4 of ECIR is another loss: {float(NTXent(denominator='negatives')(S3, EYE)):.4f} where the one that ran "
    f"gives {float(NTXent()(S3, EYE)):.4f}.",
    f"- GOAL Eqs. 3–4 are right for the pair that they are written for. Summed over a batch, they miss a part of its "
    f"gradient, which the released code adds: {100 * middle:.0f} % in synthetic batches of pairs that belong together, "
    f"{100 * of_random:.0f} % with random pairs (medians of 20).",
    f"- In GOAL Eq. 12, {int((m_minus > 1).sum())} of 1000 rows show the only case that the text leaves for negatives, "
    "a relative term above 1.",
]))

# %% [markdown]
# - The most frequent slip is a sign: $D_{ij}$ after ECIR's Eq. 6, its Eqs. 9 and 11, the factor quoted below Eq. 13,
#   two in its appendix that cancel, and LTD's Eq. 2. (ECIR's Eq. 6 is right, and Eq. 12 is with $D_{ij} = s_j - s_i$.)
#   All of these are in print only: the released code has the right $D_{ij}$ and leaves gradients to autograd.
# - In released code there are, of ECIR, the pair count; of GOAL the missing Heaviside, the shift in T cir, the weight
#   below zero, the empty set and the ignored gradient; of LTD the softmax over time, the half of the bidirectional GRU,
#   the multiplier that is clipped only where it is read, the rate of zero, the second unscaling, the last batch of
#   targets, the cell that writes the test split, captions shuffled one by one, and the running maximum.
#
# ## Exercises
#
# ````{exercise-start} A gradient with the right sign
# :label: ex-errata-sign
# ````
#
# A triplet has $s^+ = 0.7$, $s^- = 0.6$ and $\alpha = 0.2$. Give $(\partial \ell / \partial s^+, \partial \ell /
# \partial s^-)$ of the loss (not of the step).

# %%
mine = ...

# %% tags=["hide-input"]
def check_triplet_sign(value):
    """Passes for the gradient of an active hinge by its positive and its negative."""
    if value is ...:
        return "your turn"
    at = torch.tensor([0.7, 0.6], dtype=torch.float64, requires_grad=True)
    torch.relu(0.2 - at[0] + at[1]).backward()
    value = torch.as_tensor(value, dtype=torch.float64)
    hint = "the loss falls when the positive rises, so its derivative there is below zero"
    assert value.shape == (2,) and (value - at.grad).abs().max() < 1e-9, f"not yet: got {value.tolist()}; {hint}"
    return "right"


check_triplet_sign(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-errata-sign
# :class: dropdown
# ````
#
# The hinge is active, since $0.7 - 0.6 < 0.2$. Its value is $0.2 - s^+ + s^-$.

# %%
check_triplet_sign([-1.0, 1.0])

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} The factor that Eq. 6 drops
# :label: ex-errata-tau
# ````
#
# Write $w_-$, the derivative of GOAL Eq. 6 by $s^-$ for one direction, as a function of $s^+$, $s^-$ and the sharpness
# $\gamma$: `mine = lambda positive, negative, gamma: ...`. Use `torch.sigmoid`.

# %%
mine = ...

# %% tags=["hide-input"]
def check_nca_push(value):
    """Passes for gamma * sigmoid(gamma * (s- - s+))."""
    if value is ...:
        return "your turn"
    for positive, negative, gamma in ((0.6, 0.5, 10.0), (0.3, 0.5, 4.0), (0.9, 0.1, 1.0)):
        p, n = (torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (positive, negative))
        torch.nn.functional.softplus(gamma * (n - p)).backward()
        got = float(value(p.detach(), n.detach(), gamma))
        hint = "which of the two scores raises the loss, and is there a factor in front?"
        assert chapter.near(got, n.grad), f"not yet: got {got:.4f}, autograd has {float(n.grad):.4f}; {hint}"
    return "right"


check_nca_push(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-errata-tau
# :class: dropdown
# ````
#
# Eq. 6 is $\log(1 + e^{\gamma(s^- - s^+)})$ for one direction. The inner derivative is $\gamma$.

# %%
check_nca_push(lambda p, n, gamma: gamma * torch.sigmoid(gamma * (n - p)))

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} A loss below zero
# :label: ex-errata-negative
# ````
#
# ECIR's Eq. 4 leaves the positive out of the denominator. A query has two negatives with the scores 0.3 and 0.5, and
# $\tau = 0.1$. From which score $s_+$ of the positive on is its printed loss below zero? Give it to three digits.

# %%
mine = ...

# %% tags=["hide-input"]
def check_below_zero(value):
    """Passes for the positive's score at which the loss of Eq. 4, as printed, is zero."""
    if value is ...:
        return "your turn"
    negatives = torch.tensor([0.3, 0.5], dtype=torch.float64)
    loss = float(torch.logsumexp(negatives / 0.1, 0) - value / 0.1)
    assert abs(value - 0.5) > 1e-9, "not yet: level with the hardest negative; the other one counts, too"
    assert abs(loss) < 0.01, f"not yet: at {value} the printed loss is {loss:+.3f}"
    return "right"


check_below_zero(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-errata-negative
# :class: dropdown
# ````
#
# Zero means $s_+ = \tau \log(e^{0.3/\tau} + e^{0.5/\tau})$, the soft maximum of the negatives: a little above the
# hardest one. From there on the loss falls below zero without a bound but that of the cosine.

# %%
check_below_zero(0.1 * float(torch.logsumexp(torch.tensor([3.0, 5.0]), 0)))

# %% [markdown]
# ````{solution-end}
# ````
#
# Next: {doc}`claims` goes through what the papers say, sentence by sentence, and what came out here.
