# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# (ch-smoothap)=
# # SmoothAP: how do you differentiate a rank?
#
# Retrieval is judged by ranks, such as **average precision** (AP). Why not train on it? A query has five correct and seven wrong
# candidates, and we move the score of one wrong candidate. AP jumps where it passes a correct one, and between two jumps its slope is
# 0. A model that follows slopes learns nothing from a staircase.

# %% tags=["parameters", "remove-cell"]
smoke: bool = False  # a quick try: tiny data, a few updates, no result

# %% tags=["colab-setup", "remove-cell"]
import importlib.util

if importlib.util.find_spec("icrlib") is None:
    raise ModuleNotFoundError(
        "icrlib is missing. In a clone, `make wheel` writes icrlib-0.1.0-py3-none-any.whl; "
        "upload it here, then run %pip install icrlib-0.1.0-py3-none-any.whl"
    )

# %% tags=["remove-cell"]
import math

import matplotlib.pyplot as plt
import torch

from icrlib import chapter, plots
from icrlib.agreement import agreement, by_autograd
from icrlib.experiments import check
from icrlib.losses import NTXent, SmoothAP, Triplet, TripletSH
from icrlib.widgets import explorer, explorer_on_circle

smoke = chapter.start(smoke)
s = torch.tensor([0.62, 0.58, 0.55, 0.50, 0.44,
                  0.60, 0.56, 0.53, 0.47, 0.40, 0.30, 0.10], dtype=torch.float64)
positive = torch.arange(12) < 5


def moved(grid, j=7):
    """The row once for each score of candidate j."""
    return torch.where(torch.arange(12) == j, grid[:, None], s)

# %% tags=["remove-input"] mystnb={"image": {"alt": "Average precision over the score of one wrong candidate, from 0.35 to 0.85: a staircase that falls by five steps, one at each correct candidate's score, and beside it two smooth curves; the one at temperature 0.01 follows the steps closely, the one at 0.03 is a slide below them. All are flat above 0.7."}, "figure": {"name": "fig-staircase", "caption": "AP while one wrong candidate's score moves. Dotted lines: scores of the five correct ones. The true AP is a staircase without slope; SmoothAP puts a sigmoid in place of each step."}}
grid = torch.linspace(0.35, 0.85, 501, dtype=torch.float64)
fig, ax = plt.subplots(figsize=(7.4, 2.7))
true_ap, *smooth = (1 - SmoothAP(tau=tau).per_query(moved(grid), positive.expand(501, -1)) for tau in (1e-7, 0.01, 0.03))
ax.plot(grid, true_ap, color="black", lw=1.5, label="true AP")
for tau, curve, style in zip((0.01, 0.03), smooth, ("-", "--"), strict=True):
    ax.plot(grid, curve, color=plots.COLOURS["smoothap"], lw=2, ls=style, label=f"smooth, τ = {tau}")
for own in s[positive].tolist():
    ax.axvline(own, color="#999999", lw=0.8, ls=":")
ax.set(xlabel="score of the wrong candidate", ylabel="AP")
ax.legend(loc="upper right", fontsize=10);

# %% [markdown]
# **SmoothAP replaces every step by a sigmoid and has a slope where the staircase jumps: it moves candidates that nearly tie with a
# correct one.** At its published temperature, τ = 0.01, a wrong candidate 0.2 ahead of all correct ones, the worst mistake of all,
# weighs less than a hundred-millionth of what the heaviest tie weighs.
#
# *You will be able to* derive these weights, to say whom SmoothAP moves, and to find a wrong sign in a derivation · ten minutes to read
# · half a minute to run.
#
# ## Average precision counts who is above
#
# We follow this one query. The rank of candidate $i$ in a set is one plus the number of members that score higher. AP divides, for each
# positive, its rank among the positives by its rank among all, and takes the mean. With $P$ for the positives, $N$ for the negatives
# and $\Omega$ for both:
#
# $$
# \text{AP} = \frac1{|P|} \sum_{i \in P} \frac{A_i}{R_i}, \qquad
# A_i = 1 + \sum_{j \in P} 1[s_j > s_i], \qquad R_i = 1 + \sum_{j \in \Omega} 1[s_j > s_i].
# $$

# %% tags=["nbval-check-output"]
above = s[None, :] > s[positive][:, None]  # row i: who is above positive i
A, R = 1 + above[:, positive].sum(1), 1 + above.sum(1)
print("A", A.tolist(), " R", R.tolist(), f" AP {float((A / R).double().mean()):.4f}")

# %% [markdown]
# Now put a sigmoid with temperature $\tau$ in place of each step (ECIR Eq. 7, {cite:p}`bleeker2022lessons`): near 1 if $j$ is well
# above $i$, near 0 if it is well below, ½ at a tie,
#
# $$ G_{ij} = \sigma\!\left(\frac{s_j - s_i}{\tau}\right), \qquad C_i = \sum_{j \in N} G_{ij}, \qquad R_i = A_i + C_i. $$
#
# $C_i$ counts the negatives above $i$. The loss of a query is $1 - \text{AP}$, and one line of algebra makes it shorter:
# $1 - A_i/R_i = C_i/R_i$. It also keeps digits that single precision loses where a list is nearly perfect.

# %% tags=["nbval-check-output"]
def parts(s, positive, tau):
    """G (P, M), and A and C (P, 1), one row for each positive."""
    i = positive.nonzero()
    G = torch.sigmoid((s - s[i]) / tau).scatter(1, i, 0.0)  # nobody is above itself
    A = 1 + G[:, positive].sum(1, keepdim=True)
    C = G[:, ~positive].sum(1, keepdim=True)
    return G, A, C


def smooth_ap(s, positive, tau):
    _, A, C = parts(s, positive, tau)
    return (A / (A + C)).mean()


{tau: round(float(smooth_ap(s, positive, tau)), 4) for tau in (0.001, 0.01, 0.05, 0.1)}

# %% [markdown]
# ## The weights, line by line
#
# We want $w_j = \partial \ell / \partial s_j$ of $\ell = \frac1{|P|} \sum_i C_i / R_i$.
#
# **Line 1, the sigmoid.** Its derivative is $\sigma(1 - \sigma)$, and $s_i$ enters with a minus:
#
# $$ \frac{\partial G_{ij}}{\partial s_j} = + g_{ij}, \qquad \frac{\partial G_{ij}}{\partial s_i} = - g_{ij}, \qquad
# g_{ij} = \frac{G_{ij} (1 - G_{ij})}{\tau}. $$
#
# **Line 2, the quotient.** With $R = A + C$, a negative above $i$ raises its term, another positive above $i$ lowers it:
#
# $$ \frac{\partial}{\partial C} \frac{C}{R} = + \frac{A}{R^2}, \qquad \frac{\partial}{\partial A} \frac{C}{R} = - \frac{C}{R^2}. $$

# %%
pair, tau = torch.tensor([[0.50, 0.52]], dtype=torch.float64), 0.02  # s_i, s_j


def smooth_step(x):
    return torch.sigmoid((x[:, 1] - x[:, 0]) / tau)


g = smooth_step(pair) * (1 - smooth_step(pair)) / tau
AC = torch.tensor([[2.0, 3.0], [1.0, 0.5], [4.2, 7.1]], dtype=torch.float64)
line_1 = torch.stack([-g, g], dim=1)
line_2 = torch.stack([-AC[:, 1], AC[:, 0]], dim=1) / AC.sum(1, keepdim=True) ** 2
for line, f, point in ((line_1, smooth_step, pair),
                       (line_2, lambda x: x[:, 1] / x.sum(1), AC)):
    checked = agreement(line, f, point)
    assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6

# %% [markdown]
# **Line 3, the chain rule.** Fix one positive $i$ and let $u_{ij} = g_{ij} / R_i^2$. A negative acts through $C_i$, another positive
# through $A_i$, and $s_i$ itself through every $G_{ij}$, with a minus. **Line 4** is the mean over the positives:
#
# | to | weight from the term of $i$ |
# | --- | --- |
# | a negative $j$ | $+ A_i\, u_{ij}$ |
# | another positive $l$ | $- C_i\, u_{il}$ |
# | $i$ itself | minus the sum of all others |

# %%
def my_weights(s, positive, tau):
    G, A, C = parts(s, positive, tau)
    u = G * (1 - G) / (tau * (A + C) ** 2)
    row = torch.where(positive, -C * u, A * u)  # the row of i: u_ii is 0 so far
    row = row.scatter(1, positive.nonzero(), -row.sum(1, keepdim=True))
    return row.mean(0)


row, mask = s[None], positive[None]
for tau in (0.01, 0.05, 0.1):
    loss, w = SmoothAP(tau=tau), my_weights(s, positive, tau)[None]
    assert abs(loss.per_query(row, mask) - (1 - smooth_ap(s, positive, tau))) < 1e-12
    assert (loss.weights(row, mask) - w).abs().max() < 1e-12 and abs(float(w.sum())) < 1e-12
    checked = agreement(w, lambda x, t=tau: 1 - smooth_ap(x[0], positive, t)[None], row)
    assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6

# %% [markdown]
# The library has these weights, for any number of queries at once.
#
# ## Who is moved, and how far does it look?
#
# The weights of all twelve candidates, best first. Slide $\tau$ and watch how many bars there are, and how long the longest is. Then
# look at the curve of the negative at 0.53, its weight at every score it could have. One would expect a hump at each of the five
# positives, and nothing between them.

# %% tags=["remove-input"]
NAMES = [*(f"positive {k}" for k in range(1, 6)), *(f"negative {k}" for k in range(1, 8))]
explorer(s[None], positive[None], {"smoothap": SmoothAP()}, columns=NAMES, curve=True, selected=(0, 7),
         controls={"smoothap": {"tau": [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2]}},
         about="Five positives and seven negatives under SmoothAP; scores and the temperature can be moved")

# %% [markdown]
# Count the humps, and compare the candidate far ahead of all with the heaviest tie:

# %% tags=["nbval-check-output"]
def weight_at(scores, tau=0.01):
    """The weight of candidate 7 at these scores."""
    return SmoothAP(tau=tau).weights(moved(scores), positive.expand(len(scores), -1))[:, 7]


def humps(tau):
    w = weight_at(torch.linspace(0.3, 0.7, 801, dtype=torch.float64), tau)
    return int(((w[1:-1] > w[:-2]) & (w[1:-1] > w[2:])).sum())


far = weight_at(s[:1] + 0.2)[0] / weight_at(grid).max()  # 0.2 above the best positive
print({tau: humps(tau) for tau in (0.005, 0.01, 0.02)}, f"far ahead: {far:.1e}")

# %% [markdown]
# At τ = 0.005 the curve has its five humps. At 0.01 there are 3, since the three highest positives lie only a few τ apart; at 0.02
# there is one. So a low temperature is near to the true AP, but moves only what nearly ties; a high one reaches farther, and is farther
# from AP. A hump at the top of the list is higher than one at its end: there, the rank that is squared in the denominator is smaller.
#
# A positive can be pushed, too. Put two positives side by side, far below five negatives. Then $C$ is 5 for both, and what is left is
# how the two share their ranks: the sum of $A/(A + 5)$ is largest if they tie.

# %% tags=["nbval-check-output"]
low = torch.tensor([0.305, 0.300, 0.9, 0.9, 0.9, 0.9, 0.9], dtype=torch.float64)
upper, lower = my_weights(low, torch.arange(7) < 2, 0.01)[:2].tolist()
print(f"weight of the upper positive {upper:+.4f}, of the lower {lower:+.4f}")

# %% [markdown]
# What becomes of a batch in which nothing nearly ties? Here are four pictures and four captions on a circle, all free to turn, under
# this loss, the two of {numref}`Chapter {number} <ch-triplet>`, and NT-Xent. They ask in both directions, which makes eight queries;
# one is *solved* if its partner scores highest. Each loss has a rate at which its first step moves one point by four degrees. Which
# loss will solve all eight from this start, and which will stop? Press *Play*, then drag a point and try again.

# %% tags=["remove-input"]
PICTURES, CAPTIONS = [10, 60, 130, 250], [100, 20, 200, 215]
BESIDE = {"triplet": Triplet(), "triplet_sh": TripletSH(), "ntxent": NTXent(), "smoothap": SmoothAP()}
explorer_on_circle(PICTURES, CAPTIONS, BESIDE, about="Four pictures and four captions on a circle under four losses")

# %% [markdown]
# After 150 steps the two triplet losses are at zero and at rest: once every match is ahead by the margin, nothing has a weight. NT-Xent
# has solved all 8, too, and goes on, because a softmax leaves every candidate some weight. SmoothAP has stopped with 3 of 8 solved: no
# score nearly ties with a match, and near ties are all that it sees.

# %% tags=["hide-input"]
# checked by machine
def after(loss, steps=150):
    """The same descent by autograd: the loss, how many of the eight queries are solved, and the largest weight."""
    at, own, rate = torch.tensor([PICTURES, CAPTIONS]).double().deg2rad().requires_grad_(), torch.eye(4) > 0, None
    for step in range(steps + 1):
        scores = (at[0][:, None] - at[1]).cos()
        (slope,) = torch.autograd.grad(value := loss(scores, own), at)
        rate = rate or math.radians(4) / float(slope.abs().max())
        if step < steps:
            at = (at - rate * slope).detach().requires_grad_()
    x, right = scores.detach(), int((scores.diag() >= scores.amax(1)).sum() + (scores.diag() >= scores.amax(0)).sum())
    return float(value.detach()), right, float(loss.score_gradient(x, own).abs().max())


AFTER = {name: after(loss) for name, loss in BESIDE.items()}
assert AFTER["triplet"][:2] == AFTER["triplet_sh"][:2] == (0, 8) and AFTER["smoothap"][2] < 1e-4
check("NT-Xent has solved all 8, too, and goes on", f"all {AFTER['ntxent'][1]}", AFTER["ntxent"][0] > 0)
check("SmoothAP has stopped with 3 of 8 solved", f"with {AFTER['smoothap'][1]} of", also="8")
check("At its published temperature, τ = 0.01, a wrong candidate 0.2 ahead of all correct ones, the worst mistake of "
      "all, weighs less than a hundred-millionth of what the heaviest tie weighs.", 0 < far < 1e-8, also="0.01 0.2")
check("At 0.01 there are 3, since the three highest positives lie only a few τ apart; at 0.02 there is one.",
      f"are {humps(0.01)},", humps(0.02) == 1, humps(0.005) == 5, upper > 0 > lower, also="0.01 0.02")

# %% [markdown]
# ## A derivation with two wrong signs
#
# ECIR's appendix derives this gradient, and its last line (Eq. 12) is right. On the way two signs are wrong: the difference $s_j - s_i$
# is differentiated as $s_i - s_j$, and the numerator of the quotient is $A R' - R A'$ for $A' R - A R'$. Here are four derivations of
# the slope of AP, with none, one or both of the two:

# %% tags=["nbval-check-output"]
def derived(s, positive, tau, wrong_difference, wrong_quotient):
    """The derivative of AP by the scores, with none, one or both of the two signs wrong."""
    G, A, C = parts(s, positive, tau)
    R, i = A + C, positive.nonzero()
    g = (-1 if wrong_difference else 1) * G * (1 - G) / tau
    A_, R_ = (x.scatter(1, i, -x.sum(1, keepdim=True)) for x in (g * positive, g))
    numerator = A_ * R - A * R_
    return ((-numerator if wrong_quotient else numerator) / R**2).mean(0)


truth = by_autograd(lambda x: smooth_ap(x[0], positive, 0.02)[None], s[None])[0]
for wrong in ((False, False), (True, False), (False, True), (True, True)):
    ratio = derived(s, positive, 0.02, *wrong) / truth
    assert (ratio - ratio.round()).abs().max() < 1e-9 and len(ratio.round().unique()) == 1
    print(f"wrong difference {wrong[0]!s:5}  wrong quotient {wrong[1]!s:5}  "
          f"derived / true {ratio[0]:+.0f}")

# %% [markdown]
# Each wrong sign alone reverses every weight, and would show at the end. Two cancel, and do not. A comparison of each *line* with
# autograd finds them, as lines 1 and 2 were compared above. The released code has $s_j - s_i$ and leaves the derivative to autograd, so
# that no training rested on this ({ref}`the errata <erratum-ecir-12>`).
#
# ## Five positives, or one
#
# A batch for SmoothAP has images with *all* their captions, so that the two directions differ in kind. An image query has several
# positives, and acts wherever one of them has a neighbour. A caption query has one image, and its sister captions play no role: $A = 1$,
# $w_j = g_{+j} / R^2$, and it acts only where another image nearly ties with its own. The loss is the mean of each direction, half of each,
# as released.
#
# ## A perfect list
#
# One more case, which {numref}`Chapter {number} <ch-audit>` needs. Five positives lie close together at the top, twenty negatives far
# below. ECIR counts, as samples that contribute, the pair terms $G(1-G)/R^2$ above 0.01.

# %% tags=["nbval-check-output"]
perfect = torch.tensor([0.80, 0.795, 0.79, 0.785, 0.78] + [0.2] * 20, dtype=torch.float64)
first_five = torch.arange(25) < 5
G, A, C = parts(perfect, first_five, 0.01)
terms = G * (1 - G) / (A + C) ** 2  # one for each positive and candidate
largest = float(SmoothAP().weights(perfect[None], first_five[None]).abs().max())
counted = float((terms > 0.01).sum() / 5)
print(f"largest weight {largest:.0e}, pair terms above 0.01: {counted:.1f} a positive")

# %% [markdown]
# The pair terms are between positives. In the weights each is multiplied by $C_i$, the number of negatives above $i$, and there is
# none. So on a perfect list the count finds pairs that contribute nothing.
#
# ## What we found
#
# - AP has no slope. SmoothAP has one where scores nearly tie with a positive's; a negative far ahead of every positive is left alone.
# - A negative is weighted by the number of positives down to its tie, over the squared rank; another positive by the number of
#   negatives above, and it can be pushed down.
# - A low temperature is near to AP and moves little; of five humps in the weight of one negative 3 were left at τ = 0.01.
# - A derivation in which two slips cancel passes a check of its last line. A check of each line finds them.
# - On a perfect list the largest weight is 6e-24, and yet 3.6 pair terms for each positive are counted.

# %% tags=["hide-input"]
# checked by machine
check("of five humps in the weight of one negative 3 were left at τ = 0.01.", f"negative {humps(0.01)} were", also="0.01")
check("On a perfect list the largest weight is 6e-24, and yet 3.6 pair terms for each positive are counted.",
      f"is {largest:.0e}", f"yet {counted:.1f} pair")

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} One positive, two negatives
# :label: ex-one-positive
# ````
#
# A query has scores `[0.50, 0.52, 0.44]`; the first is its positive; $\tau = 0.02$. Give the three weights of $1 - \text{AP}$ as a
# tensor, from $G$, $R$ and $\tau$ alone (no library, no autograd).

# %%
mine = ...

# %% tags=["hide-input"]
def check_one_positive(value):
    """Passes for the three weights of SmoothAP on this row."""
    if value is ...:
        return "your turn"
    scores = torch.tensor([[0.50, 0.52, 0.44]], dtype=torch.float64)
    expected = SmoothAP(tau=0.02).weights(scores, torch.tensor([[True, False, False]]))[0]
    value = torch.as_tensor(value, dtype=torch.float64)
    assert value.shape == (3,), f"not yet: three weights are needed, got shape {tuple(value.shape)}"
    assert value[0] < 0, "not yet: a positive with negatives near it is pulled up, so its weight is below zero"
    hint = "each negative gets G (1 - G) / (tau R²), the positive minus their sum"
    assert (value - expected).abs().max() < 1e-4, f"not yet: {hint}"
    return "right"


check_one_positive(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-one-positive
# :class: dropdown
# ````
#
# With one positive $A = 1$, and no other positive exists.

# %%
G = torch.sigmoid(torch.tensor([0.02, -0.06], dtype=torch.float64) / 0.02)
w = G * (1 - G) / (0.02 * (1 + G.sum()) ** 2)
check_one_positive(torch.stack([-w.sum(), w[0], w[1]]))

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise} Reach
# :label: ex-reach
#
# Predict: at $\tau = 0.01$, how far apart may two scores be so that $G (1 - G)$ is still 0.01?
# ````
#
# ````{solution} ex-reach
# :class: dropdown
#
# $G (1 - G) = \epsilon$ has the larger root $G = (1 + \sqrt{1 - 4 \epsilon})/2$. The gap is $\tau \ln \frac{G}{1-G}$, about
# $4.6\, \tau$, which is 0.046.
# ````
#
# Next: {numref}`Chapter {number} <ch-one-picture>` puts the weights of every loss of the library on the same scores.
