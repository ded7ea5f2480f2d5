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
# # SmoothAP: how to differentiate a rank
#
# **What you will be able to do:** derive the weights of SmoothAP and check each line; say which candidates it moves, and
# which it leaves alone; find a wrong sign in a derivation by machine. **Time:** under a minute on one core. **You
# need:** {doc}`../foundations/task`.

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
import matplotlib.pyplot as plt
import pandas as pd
import torch
from IPython.display import Markdown

from icrlib import chapter, paper, plots
from icrlib.agreement import agreement, by_autograd
from icrlib.losses import SmoothAP
from icrlib.widgets import explorer, frames_slider, live

smoke = chapter.start(smoke)
PUSHED, PULLED = "#b2182b", "#2166ac"  # red is pushed down, blue is pulled up

# %% [markdown]
# Below are four derivations of one gradient, run on the same query with three positives and four negatives (at
# $\tau = 0.02$). A bar is the **weight** of a candidate, the slope of the loss by its score: red is pushed down, blue
# pulled up. The derivations differ in two signs. In A both signs are wrong. In B and in C one of them is. D has none.
# One would expect A to be the worst of the four.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Four bar charts of seven weights each. A and D are the same: negatives pushed down, positives pulled up. B and C are their mirror image."}, "figure": {"name": "fig-four-derivations", "caption": "Four derivations of the weights of one row. Red is pushed down, blue pulled up. A has two wrong signs and looks like D, which has none."}}
def derived(s, positive, tau, inner=1, outer=1):
    """Weights of 1 - AP on one row; inner = -1 and outer = -1 put in the two wrong signs."""
    i = positive.nonzero()
    G = torch.sigmoid((s - s[i]) / tau).scatter(1, i, 0.0)
    slope = inner * G * (1 - G) / tau
    A, C = 1 + G[:, positive].sum(1, keepdim=True), G[:, ~positive].sum(1, keepdim=True)
    to_A, to_C = (part.scatter(1, i, -part.sum(1, keepdim=True)) for part in (slope * positive, slope * ~positive))
    return -outer * ((to_A * (A + C) - A * (to_A + to_C)) / (A + C) ** 2).mean(0)


seven = torch.tensor([0.56, 0.50, 0.44, 0.58, 0.53, 0.47, 0.40], dtype=torch.float64)
three = torch.arange(7) < 3
fig, axes = plt.subplots(2, 2, figsize=(6.4, 4), sharex=True, sharey=True)
signs = {"A": (-1, -1), "B": (-1, 1), "C": (1, -1), "D": (1, 1)}
weights_of = {letter: derived(seven, three, 0.02, *pair) for letter, pair in signs.items()}
assert all((weights_of[x] + sign * weights_of["D"]).abs().max() < 1e-12
           for x, sign in zip("ABC", (-1, 1, 1), strict=True))
assert bool((weights_of["D"][three] < 0).all()) and bool((weights_of["D"][~three] > 0).all())
for ax, (letter, bars) in zip(axes.flat, weights_of.items(), strict=True):
    ax.bar(range(7), bars, color=[PUSHED if value > 0 else PULLED for value in bars])
    ax.axhline(0, color="black", lw=0.8)
    ax.set(title=letter, xticks=range(7), xticklabels=["+"] * 3 + ["−"] * 4)
fig.supxlabel("positives (+) and negatives (−)", fontsize=11)
fig.supylabel("weight", fontsize=11);

# %% [markdown]
# A is what the online appendix of ECIR {cite:p}`bleeker2022lessons` does. Two of its steps have a wrong sign, and yet its
# last line is right. How can that be? And how would you notice a derivation that has only one?
#
# ## Average precision counts who is above
#
# We follow one query. It has twelve candidates; the first five are positives.

# %%
s = torch.tensor([0.62, 0.58, 0.55, 0.50, 0.44,
                  0.60, 0.56, 0.53, 0.47, 0.40, 0.30, 0.10], dtype=torch.float64)
positive = torch.arange(12) < 5

# %% [markdown]
# The rank of candidate $i$ in a set is one plus the number of members that score higher (ECIR Eq. 6). Average precision
# (ECIR Eq. 5) divides the rank among the positives by the rank among all, and takes the mean over the positives. With
# $\Omega$ for all candidates, $P$ for the positives and $N$ for the negatives:
#
# $$
# \begin{gathered}
# \text{AP} = \frac1{|P|} \sum_{i \in P} \frac{A_i}{R_i}, \\
# A_i = 1 + \sum_{j \in P} 1[s_j - s_i > 0], \\
# R_i = 1 + \sum_{j \in \Omega} 1[s_j - s_i > 0].
# \end{gathered}
# $$

# %% tags=["nbval-check-output"]
above = s[None, :] > s[positive][:, None]  # row i: who is above positive i
A, R = 1 + above[:, positive].sum(1), 1 + above.sum(1)
true_ap = float((A / R).double().mean())
print("A", A.tolist(), " R", R.tolist(), f" AP {true_ap:.4f}")

# %% [markdown]
# AP depends on the scores only through these steps. A step is flat on both sides and has no slope where it jumps, so the
# gradient of AP is zero wherever it exists. It does not tell a model which way to go, and training needs a substitute.
#
# ## A step, made smooth
#
# Replace the step by a sigmoid with temperature $\tau$ (ECIR Eq. 7):
#
# $$ G_{ij} = \sigma\!\left(\frac{s_j - s_i}{\tau}\right) $$
#
# It is near 1 if $j$ is well above $i$, near 0 if it is well below, and ½ at a tie. Slide $\tau$. The dots are the
# other candidates of our query, seen from its third positive.

# %% tags=["hide-input", "remove-output"]
def draw_step(tau):
    fig, ax = plt.subplots(figsize=(4.8, 2.7))
    x = torch.linspace(-0.48, 0.14, 401, dtype=torch.float64)
    ax.plot(x, (x > 0).double(), color="black", lw=1, ls=":", label="step")
    ax.plot(x, torch.sigmoid(x / tau), color=plots.COLOURS["smoothap"], label="G")
    others = (s - s[2])[torch.arange(12) != 2]
    G = torch.sigmoid(others / tau)
    ax.plot(others, G, "o", color=plots.COLOURS["smoothap"])
    ax.set(xlim=(-0.48, 0.14), ylim=(-0.05, 1.05), xlabel="score difference $s_j - s_i$", ylabel="counts as above")
    ax.set_title(f"τ = {tau}: smooth rank {1 + float(G.sum()):.2f}, true rank {int(R[2])}")
    ax.legend(loc="center left")
    return fig


step_taus = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2]
live(draw_step, step_taus, label="τ")  # with a kernel; the page has the next one

# %% [markdown]
# With a small $\tau$ the dots should lie on the step, and the smooth rank should be the true one, 5; with a large one
# every candidate counts in part.

# %% tags=["hide-input"]
frames_slider(draw_step, step_taus, label="temperature τ", start=2,
              alt=lambda tau: f"Step and sigmoid at temperature {tau}. The smooth rank of the third positive is "
                              f"{1 + float(torch.sigmoid((s - s[2]) / tau).sum()) - 0.5:.2f}; its true rank is 5.")

# %% [markdown]
# With the sigmoid in place of the step, everything else stays. We write it once, with the number of negatives above,
# $C_i$, by itself. Then $R_i = A_i + C_i$.

# %%
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


# %% tags=["nbval-check-output"]
taus = (0.001, 0.01, 0.05, 0.1)
by_tau = {tau: round(float(smooth_ap(s, positive, tau)), 4) for tau in taus}
assert abs(by_tau[0.001] - true_ap) < 1e-4
by_tau

# %% tags=["hide-input"]
off_by = {tau: true_ap - value for tau, value in by_tau.items()}
assert off_by[0.001] < 1e-4 < 0.01 < off_by[0.01] < off_by[0.05] < off_by[0.1]
_, A, C = parts(s, positive, 0.1)
lost = (torch.tensor([1, 2 / 3, 3 / 5, 4 / 7, 5 / 9], dtype=torch.float64) - (A / (A + C))[:, 0]).tolist()
assert lost[0] > 0.6 * sum(lost) and max(lost) == lost[0]
Markdown(f"At τ = 0.001 the smooth AP is the true one, to the digits shown. At 0.01 it is {off_by[0.01]:.3f} too low and "
         f"at 0.1 {off_by[0.1]:.3f}. Most of that is lost at the highest positive: its term A/R is 1 in truth and "
         f"{float(A[0] / (A[0] + C[0])):.2f} at τ = 0.1, since those below it now count in part as above it.")

# %% [markdown]
# How far off can it be? A sigmoid misses its step by at most $e^{-|x|}$, and the slope of $A_i/R_i$ by one $G_{ij}$ is
# at most $1/R_i$, never above 1. So
#
# $$ |\text{smooth AP} - \text{AP}| \;\le\; \frac{1}{|P|} \sum_{i \in P} \sum_{j \ne i} e^{-|s_j - s_i|/\tau}: $$ (eq-off-by)
#
# what counts are the pairs that lie within a few $\tau$ of a tie.

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
def bound(s, positive, tau):
    gaps = (s - s[positive][:, None]).abs() / tau
    return float(((-gaps).exp().sum(1) - 1).mean())  # less the pair of a positive with itself


for tau in (0.001, 0.005, 0.01, 0.05, 0.1):
    assert abs(true_ap - float(smooth_ap(s, positive, tau))) <= bound(s, positive, tau)
draws = torch.rand(200, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
assert all(abs(float(smooth_ap(x, positive, 1e-9)) - float(smooth_ap(x, positive, tau))) <= bound(x, positive, tau)
           for x in draws for tau in (0.005, 0.05))

# %% [markdown]
# The loss of a query is $1 - \text{AP}$ (ECIR Eq. 8). One line of algebra makes it shorter, and all that follows too:
#
# $$ 1 - \frac{A_i}{R_i} = \frac{R_i - A_i}{R_i} = \frac{C_i}{R_i}. $$
#
# It also keeps digits. In single precision, a positive that is well ahead has $A/R$ equal to one.

# %% tags=["nbval-check-output"]
ahead = torch.tensor([0.75, 0.55], dtype=torch.float32)
_, A, C = parts(ahead, torch.tensor([True, False]), 0.01)
print(f"1 - A/R = {float(1 - A / (A + C)):.2e}    C/R = {float(C / (A + C)):.2e}")

# %% [markdown]
# ## The weights, line by line
#
# We want $w_j = \partial \ell / \partial s_j$ of $\ell = \frac1{|P|} \sum_i C_i / R_i$. Two rules are enough.
#
# **Line 1, the sigmoid.** Its derivative is $\sigma(1 - \sigma)$, and $s_i$ enters with a minus:
#
# $$ \begin{gathered}
# \frac{\partial G_{ij}}{\partial s_j} = + g_{ij}, \qquad \frac{\partial G_{ij}}{\partial s_i} = - g_{ij}, \\
# g_{ij} = \frac{G_{ij} (1 - G_{ij})}{\tau}.
# \end{gathered} $$

# %%
pair = torch.tensor([[0.50, 0.52]], dtype=torch.float64)  # s_i, s_j
tau = 0.02


def smooth_step(x, tau=tau):
    return torch.sigmoid((x[:, 1] - x[:, 0]) / tau)


G = smooth_step(pair)
g = G * (1 - G) / tau
line_1 = torch.stack([-g, g], dim=1)
checked = agreement(line_1, smooth_step, pair)
assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6
line_1.round(decimals=4).tolist()

# %% [markdown]
# **Line 2, the quotient.** By the quotient rule, with $R = A + C$:
#
# $$ \begin{gathered}
# \frac{\partial}{\partial C} \frac{C}{R} = \frac{R - C}{R^2} = + \frac{A}{R^2}, \\
# \frac{\partial}{\partial A} \frac{C}{R} = - \frac{C}{R^2}.
# \end{gathered} $$
#
# A negative above $i$ raises its term of the loss, and another positive above $i$ lowers it. By how much depends on both
# counts and not on the rank alone; a section below takes that up.

# %%
AC = torch.tensor([[2.0, 3.0], [1.0, 0.5], [4.2, 7.1]], dtype=torch.float64)
A, C = AC.T
line_2 = torch.stack([-C, A], dim=1) / (A + C)[:, None] ** 2
checked = agreement(line_2, lambda x: x[:, 1] / x.sum(1), AC)
assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6
line_2.round(decimals=4).tolist()

# %% [markdown]
# **Line 3, the chain rule.** Fix one positive $i$ and let $u_{ij} = g_{ij} / R_i^2$. A negative acts through $C_i$,
# another positive through $A_i$, and $s_i$ itself through every $G_{ij}$, with a minus. So the term $C_i / R_i$ gives
#
# | to | weight |
# | --- | --- |
# | a negative $j$ | $+ A_i\, u_{ij}$ |
# | another positive $l$ | $- C_i\, u_{il}$ |
# | $i$ itself | minus the sum of all others |
#
# **Line 4** is the mean over the positives. In code, these are four lines:

# %%
def my_weights(s, positive, tau):
    G, A, C = parts(s, positive, tau)
    u = G * (1 - G) / (tau * (A + C) ** 2)
    row = torch.where(positive, -C * u, A * u)  # the row of i: u_ii is 0 so far
    row = row.scatter(1, positive.nonzero(), -row.sum(1, keepdim=True))
    return row.mean(0)


for tau in (0.01, 0.05, 0.1):
    w = my_weights(s, positive, tau)[None]
    checked = agreement(w, lambda x, t=tau: 1 - smooth_ap(x[0], positive, t)[None], s[None])
    assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6

# %% [markdown]
# Collected by candidate, the same sum reads
#
# $$ \begin{gathered}
# w_j = \frac1{|P|} \sum_{i \in P} A_i u_{ij} \quad (j \in N), \\
# w_i = -\frac1{|P|} \Big[ A_i \sum_{j \in N} u_{ij} \\
# - C_i \sum_{l \in P'} u_{il} + \sum_{l \in P'} C_l u_{li} \Big] \, (i \in P)
# \end{gathered} $$ (eq-smoothap-weights)
#
# where $P'$ are the positives other than $i$. The last sum is what $i$ does for *other* positives: being above them is
# good for their precision.

# %%
def collected(s, positive, tau):
    """The two formulas above, candidate by candidate."""
    G, A, C = parts(s, positive, tau)
    u, size = G * (1 - G) / (tau * (A + C) ** 2), int(positive.sum())
    result = (A * u).sum(0) / size  # right for negatives; positives come next
    among = u[:, positive]
    gain = A[:, 0] * u[:, ~positive].sum(1) - C[:, 0] * among.sum(1) + (C * among).sum(0)
    result[positive] = -gain / size
    return result


by_row, by_candidate = my_weights(s, positive, 0.01), collected(s, positive, 0.01)
assert (by_row - by_candidate).abs().max() < 1e-12
assert by_row.sum().abs() < 1e-12  # adding a constant to all scores changes no rank

# %% [markdown]
# The library's loss, `SmoothAP`, has these weights, for any number of queries at once.

# %%
row, mask = s[None], positive[None]
for tau in (0.01, 0.05, 0.1):
    loss = SmoothAP(tau=tau)
    value, w = loss.per_query(row, mask), loss.weights(row, mask)
    assert abs(float(value) - (1 - float(smooth_ap(s, positive, tau)))) < 1e-12
    assert (w[0] - my_weights(s, positive, tau)).abs().max() < 1e-12
    checked = agreement(w, lambda x, f=loss: f.per_query(x, mask), row)
    assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6

# %% [markdown]
# ## Who is moved, and how far does it look?
#
# The weights of all twelve candidates are next, best first. Slide $\tau$ and watch two things: how many bars there are,
# and how long the longest is. A small $\tau$ makes the step steep, so the few candidates near a positive should get
# all the weight; a large one spreads it. Then choose the negative at 0.53 and look at the curve, which shows its weight
# at every score it could have. One would expect a hump at each of the five positives, and nothing between them.

# %% tags=["hide-input"]
weight_taus = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2]
NAMES = [*(f"positive {k}" for k in range(1, 6)), *(f"negative {k}" for k in range(1, 8))]
explorer(s[None], positive[None], {"smoothap": SmoothAP()}, columns=NAMES, curve=True, selected=(0, 7),
         controls={"smoothap": {"tau": weight_taus}},
         about="Five positives and seven negatives under SmoothAP; scores and the temperature can be moved")

# %% tags=["remove-cell"]
def moved(tau, share=0.05):
    """How many candidates carry at least a share of the largest weight."""
    w = my_weights(s, positive, tau).abs()
    return int((w > share * w.max()).sum())


largest = {tau: float(my_weights(s, positive, tau).abs().max()) for tau in weight_taus}

# %% tags=["hide-input"]
assert largest[0.002] < largest[0.01] > largest[0.1] and moved(0.01) < moved(0.1)
Markdown(f"At τ = 0.01, **{moved(0.01)}** of the 12 candidates carry more than a twentieth of the largest weight. At "
         f"τ = 0.1 there are **{moved(0.1)}**, and the largest weight fell from {largest[0.01]:.2f} to "
         f"{largest[0.1]:.2f}. At τ = 0.002 it is {largest[0.002]:.2f}: the gaps are now too wide for the sigmoid.")

# %% tags=["remove-cell"]
def humps(tau=0.01, j=7):
    """The weight of a negative where it ties with each positive, the highest positive first."""
    at = [torch.where(torch.arange(12) == j, own, s) for own in s[positive]]
    return [float(my_weights(moved, positive, tau)[j]) for moved in at]


assert humps() == sorted(humps(), reverse=True) and max(humps()) > 5 * min(humps())

# %% tags=["remove-cell"]
def at_tie(i, tau=0.01, j=7):
    """A and R of positive i when negative j ties with it."""
    moved_to = torch.where(torch.arange(12) == j, s[i], s)
    _, A, C = parts(moved_to, positive, tau)
    return float(A[i]), float(A[i] + C[i])


(A_top, R_top), (A_last, R_last) = at_tie(0), at_tie(4)
by_rank, by_both = (R_last / R_top) ** 2, humps()[0] / humps()[-1]
assert by_both < 0.3 * by_rank and A_last > 4 * A_top

# %% tags=["remove-cell"]
def peaks(tau, j=7):
    """The scores at which the weight of negative j has a maximum."""
    own = torch.linspace(0.3, 0.7, 801, dtype=torch.float64)
    moved_to = s.repeat(len(own), 1)
    moved_to[:, j] = own
    w = SmoothAP(tau=tau).weights(moved_to, positive.expand(len(own), -1))[:, j]
    return own[1:-1][(w[1:-1] > w[:-2]) & (w[1:-1] > w[2:])].tolist()


def at_score(own, tau=0.01, j=7):
    """The weight of negative j at a score."""
    return float(my_weights(torch.where(torch.arange(12) == j, own, s), positive, tau)[j])


assert [len(peaks(tau)) for tau in (0.005, 0.01, 0.02)] == [5, 3, 1] and abs(peaks(0.01)[2] - 0.613) < 1e-3
assert [round(peak, 2) for peak in peaks(0.01)[:2]] == [0.44, 0.50]

# %% tags=["hide-input"]
at = ", ".join(f"{peak:.2f}" for peak in peaks(0.01))
Markdown(f"At τ = 0.005 the curve has its {len(peaks(0.005))} humps. At 0.01 there are only **{len(peaks(0.01))}**, at "
         f"{at}: the three highest positives lie three or four τ apart, and their humps have run into one. At 0.02 there "
         f"is only {len(peaks(0.02))}. Between the humps the weight goes down, but not to zero. Far "
         f"above all positives it does: at 0.82, {0.82 - 0.62:.1f} above the highest, it is {at_score(0.82):.0e} at "
         "τ = 0.01. So a negative that is far ahead of every positive, which costs the most, is left alone.")

# %% tags=["hide-input"]
Markdown("The weight also depends on where in the list the tie is. At τ = 0.01 a tie with the "
         f"highest positive weighs **{by_both:.0f} times** as much as one with the lowest. Why not more? The rank at "
         f"the two ties is {R_top:.2f} and {R_last:.2f}, and it is squared in the denominator; by itself that would "
         f"make a factor of {by_rank:.0f}. But beside it stands A, the number of positives down to there, and that is "
         f"{A_top:.1f} at the top and {A_last:.1f} at the end.")

# %% [markdown]
# So the choice of $\tau$ has two sides. At a low one the smooth AP is near the true AP, but only pairs that nearly tie
# have weight. At a high one distant pairs have weight too, but what is optimised is further from AP. ECIR uses 0.01.
#
# ### A positive that is pushed down
#
# Eq. {eq}`eq-smoothap-weights` lets a positive's weight be positive. It happens. Here are two positives side by side,
# below five negatives.

# %% tags=["nbval-check-output"]
low = torch.tensor([0.305, 0.300, 0.9, 0.9, 0.9, 0.9, 0.9], dtype=torch.float64)
two = torch.arange(7) < 2
upper, lower = my_weights(low, two, 0.01)[:2].tolist()
assert upper > 0 > lower
_, A, C = parts(low, two, 0.01)
assert abs(float(A.sum()) - 3) < 1e-12 and (C - 5).abs().max() < 1e-12
print(f"weight of the upper positive {upper:+.4f}, of the lower {lower:+.4f}")

# %% [markdown]
# The negatives are too far off to matter, so that $C$ is 5 for both positives. What is left is how the two share their
# ranks: their two $A$ add up to 3 whatever their gap is. As $A / (A + 5)$ is concave in $A$, the sum of the two terms is
# largest if both have the same $A$, that is, if they tie. True AP does not change if they swap.
#
# ## The published derivation
#
# ECIR Eq. 12 gives the gradient with respect to the query vector $q$. Candidates are vectors $v_j$, and
# $s_j = q \cdot v_j$. With $\text{sim} = G(1-G)/\tau$ and $\mathcal R(i, S_N) - 1 = C_i$ it reads
#
# $$ \begin{gathered}
# \frac{\partial \text{AP}}{\partial q} = \frac1{|P|} \sum_{i \in P} \frac1{R_i^2}
# \; \Big( \\
# \quad A_i \sum_{j \in N} \text{sim}(D_{ij}) (v_i - v_j) \\
# - C_i \sum_{j \in P} \text{sim}(D_{ij}) (v_i - v_j) \Big).
# \end{gathered} $$
#
# We type it as printed. It takes $G$ as an argument, because we will disagree about what goes into it.

# %%
def eq_12(G, positive, V, tau):
    total = torch.zeros_like(V[0])
    for row, i in zip(G, positive.nonzero()[:, 0], strict=True):
        sim = row * (1 - row) / tau
        A, C = 1 + row[positive].sum(), row[~positive].sum()
        apart = sim[:, None] * (V[i] - V)
        total += (A * apart[~positive].sum(0) - C * apart[positive].sum(0)) / (A + C) ** 2
    return total / positive.sum()


# %% [markdown]
# The judge is autograd, on random vectors.

# %%
rng = torch.Generator().manual_seed(3)
V = torch.randn(12, 8, generator=rng, dtype=torch.float64)
V = V / V.norm(dim=1, keepdim=True)
q = V[:5].sum(0) / V[:5].sum(0).norm()
TAU = 0.1


def slope_of_ap(sign):
    """d AP / d q by autograd, with sign * (s_j - s_i) inside the sigmoid."""
    x = q.clone().requires_grad_()
    scores = V @ x
    return torch.autograd.grad(smooth_ap(sign * scores, positive, TAU), x)[0]


# %% [markdown]
# First with $D_{ij} = s_j - s_i$, which counts who is *above* $i$. Then with $D_{ij} = s_i - s_j$, as the text between
# Eqs. 6 and 7 prints it, which counts who is *below*.

# %%
G_above, *_ = parts(V @ q, positive, TAU)
G_below, *_ = parts(-(V @ q), positive, TAU)
right = eq_12(G_above, positive, V, TAU)
printed = eq_12(G_below, positive, V, TAU)
error = {"s_j - s_i": float((right - slope_of_ap(+1)).abs().max()),
         "s_i - s_j": float((printed - slope_of_ap(+1)).abs().max()),
         "s_i - s_j, its own AP": float((printed + slope_of_ap(-1)).abs().max())}
assert error["s_j - s_i"] < 1e-12 and error["s_i - s_j, its own AP"] < 1e-12
assert error["s_i - s_j"] > 1e-2
{name: round(value, 4) for name, value in error.items()}

# %% [markdown]
# Line by line:
#
# - With $s_j - s_i$, Eq. 12 is the slope of AP, to the last digit. AP should rise and the loss should fall, so the
#   gradient of the *loss* is its negative.
# - With the printed $s_i - s_j$ it is not.
# - With the printed $s_i - s_j$ in AP as well, it is exactly *minus* the slope. So the printed definition and the
#   printed result do not belong together.
#
# ### Two signs
#
# So there is a right result, derived from a definition that does not lead there. Somewhere a sign was lost, and
# somewhere another. They are here:
#
# 1. **The difference.** The appendix differentiates $D_{ij} = s_i - s_j$, so that
#    $\partial D_{ij} / \partial q = v_i - v_j$. But its $A$ and $R$ count who is above, and in its matrix (its Eq. 3)
#    stands $s_j - s_i$. For those, the derivative is $v_j - v_i$.
# 2. **The quotient.** The derivative of $A / R$ has the numerator $A' R - A R'$. The appendix has $A R' - R A'$.
#
# Each alone turns every weight around. We run all four.

# %%
def quotient(s, positive, tau, wrong_difference, wrong_quotient):
    """The derivative of AP by the scores, with none, one or both of the two signs wrong."""
    G, A, C = parts(s, positive, tau)
    R, i = A + C, positive.nonzero()
    g = G * (1 - G) / tau
    if wrong_difference:
        g = -g
    A_, R_ = (x.scatter(1, i, -x.sum(1, keepdim=True)) for x in (g * positive, g))
    numerator = A * R_ - R * A_ if wrong_quotient else A_ * R - A * R_
    return (numerator / R**2).mean(0)


truth = by_autograd(lambda x: smooth_ap(x[0], positive, 0.02)[None], s[None])[0]
both = (False, True)
four = {(d, k): quotient(s, positive, 0.02, d, k) for d in both for k in both}

# %% tags=["hide-input"]
rows = []
for (difference, order_of), value in four.items():
    ratio = float((value * truth).sum() / (truth * truth).sum())
    assert (value - ratio * truth).abs().max() < 1e-12 and abs(abs(ratio) - 1) < 1e-12
    letter = next(x for x, pair_of in signs.items() if pair_of == (1 - 2 * difference, 1 - 2 * order_of))
    rows.append({"bars": letter, "difference": "wrong" if difference else "right",
                 "quotient": "wrong" if order_of else "right", "derived / true": f"{ratio:+.0f}",
                 "verdict": "right" if ratio > 0 else "every weight reversed"})
paper.styled(pd.DataFrame(rows), name="two-signs")

# %% [markdown]
# The letters are those of the bars at the top. That answers the opening question: each wrong sign reverses every weight,
# so two of them cancel. A derivation with only one, like B or C, shows at the end, because its result has the wrong sign.
# One with both, like A, does not: its end is right. Such a slip is found by comparing each *line* with autograd. We do so
# twice, with our sign and with that of the appendix:

# %% tags=["nbval-check-output"]
def off(line, function, at):
    return float((line - by_autograd(function, at)).abs().max())


lines = {"1, the difference": (line_1, smooth_step, pair),
         # A / R is 1 - C / R, so its slope is minus that of line 2
         "2, the quotient": (-line_2, lambda x: x[:, 0] / x.sum(1), AC)}
for name, (line, function, at) in lines.items():
    print(f"line {name}: off by {off(line, function, at):.4f};",
          f"with the sign of the appendix by {off(-line, function, at):.4f}")

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
for line, function, at in lines.values():
    assert off(line, function, at) < 1e-10 and off(-line, function, at) > 0.1

# %% [markdown]
# The released code has $s_j - s_i$ and leaves the derivative to autograd, so no training rested on these lines. All printed
# slips and their corrected forms are in {ref}`the errata <erratum-ecir-12>`.
#
# ### What the square hides
#
# The paper reads Eq. 12 so: a positive in a low rank counts little, because of $R_i^{-2}$. But $A_i$ and $C_i$ stand
# beside it, and they grow with the rank. Let positive $i$ tie with a negative, and put $n$ others far ahead of both: first
# $n$ negatives, then $n$ positives.

# %%
def weight_at(ahead, positives_ahead=0, tau=0.01):
    s = [0.9] * (positives_ahead + ahead) + [0.5, 0.5]  # the last two tie
    s = torch.tensor(s, dtype=torch.float64)
    is_positive = torch.zeros(len(s), dtype=torch.bool)
    is_positive[:positives_ahead] = True
    is_positive[-2] = True
    return float(my_weights(s, is_positive, tau)[-1]) * int(is_positive.sum())


table = pd.DataFrame([{"n": n, "negatives ahead": f"{weight_at(n):.3f}",
                       "positives ahead": f"{weight_at(0, n):.3f}"} for n in (0, 1, 3, 9)])
assert abs(weight_at(9) / weight_at(0) - (1.5 / 10.5) ** 2) < 1e-9
assert abs(weight_at(0, 9) / weight_at(0) - 10 * (1.5 / 10.5) ** 2) < 1e-9
title = "Weight of the tied negative from positive i, before the mean, n others ahead."
paper.styled(table, title, name="rank-terms")

# %% [markdown]
# The smooth rank of $i$ is $R_i = n + 1.5$, because the tie counts half. With negatives ahead $A_i$ stays 1, and the weight
# falls as $R^{-2}$, as the paper says. With positives ahead $A_i$ grows with the rank, and the weight falls as $A / R^2$,
# about as $R^{-1}$. So the rank alone does not tell how much a positive counts.
#
# ## Exact, in less memory
#
# The textbook compares all candidates with all: a cube of $Q \cdot M \cdot M$ numbers. This is the whole loss:

# %%
def textbook(scores, positives, tau=0.01):
    D = scores[:, None, :] - scores[:, :, None]  # D[q, i, j] = s_j - s_i
    apart = 1 - torch.eye(scores.shape[1], dtype=scores.dtype)
    G = torch.sigmoid((D / tau).clamp(-50, 50)) * apart
    R = 1 + G.sum(2)
    A = 1 + (G * positives[:, None]).sum(2)
    return 1 - (A / R * positives).sum(1) / positives.sum(1)


# %% [markdown]
# But AP asks for the ranks of positives only. The library forms these rows, $Q \cdot P \cdot M$ numbers, and no
# approximation. We compare both on eight images with five captions each, in value and in gradient.

# %% tags=["nbval-check-output"]
a, b = torch.arange(8)[:, None], torch.arange(40)[None]
own = b // 5 == a
eight = 0.25 * torch.sin(1.3 * a.double() + 0.7 * b) + 0.30 * own
for scores, positives in ((eight, own), (eight.T, own.T)):
    rows_only, cube = SmoothAP().per_query(scores, positives), textbook(scores, positives)
    assert (rows_only - cube).abs().max() < 1e-12
    cube_weights = by_autograd(lambda x, p=positives: textbook(x, p), scores)
    assert (SmoothAP().weights(scores, positives) - cube_weights).abs().max() < 1e-10
print(f"loss of both directions: {float(SmoothAP()(eight, own)):.6f}")

# %% tags=["hide-input"]
B, k = 128, 5
cube = {"i2t": B * (B * k) ** 2, "t2i": B * k * B**2}
rows_only = {"i2t": B * k * (B * k), "t2i": B * k * 1 * B}
assert cube["i2t"] / rows_only["i2t"] == 128 and cube["t2i"] / rows_only["t2i"] == 128
Markdown(f"A batch of the paper has {B} images and {B * k} captions. In single precision one such array takes "
         f"{4 * cube['i2t'] / 2**20:.0f} MiB for image queries and {4 * cube['t2i'] / 2**20:.0f} MiB for caption "
         f"queries; with the rows of positives alone, {4 * rows_only['i2t'] / 2**20:.1f} MiB and "
         f"{4 * rows_only['t2i'] / 2**20:.1f} MiB. Both are {cube['i2t'] // rows_only['i2t']} times smaller.")

# %% [markdown]
# ## Five positives, or one
#
# A batch for SmoothAP has images with *all* their captions. So the two directions differ in kind. An image query has
# several positives. A caption query has one image, and its sister captions play no role. With one positive, $A = 1$,
# and the weights shrink to $w_j = g_{+j} / R^2$ and $w_+ = -\sum_j w_j$.
#
# Two images with two captions each are enough to see it. An image query should act wherever one of its two positives has
# a neighbour; a caption query only where the two images give it nearly the same score.

# %%
S = torch.tensor([[0.55, 0.53, 0.54, 0.10],
                  [0.50, 0.46, 0.52, 0.51]], dtype=torch.float64)
M = torch.tensor([[1, 1, 0, 0], [0, 0, 1, 1]]).bool()
loss = SmoothAP(tau=0.01)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three matrices of two images and four captions: scores, weights with images as queries, and weights with captions as queries. Image queries act on all candidates but the last of the first row; caption queries act mostly in the third column, where the two images' scores are close."}, "figure": {"name": "fig-two-directions", "caption": "The same scores read in two directions, in one colour scale. Rows: two positives each. Columns: one positive each. Framed: own pairs. Colours go by the root of a weight, so that small ones can be seen. A caption query acts where the two images nearly tie, in the third column."}}
by_images, by_captions = loss.weights(S, M), loss.weights(S.T, M.T).T
assert int(by_captions.abs().sum(0).argmax()) == 2 and by_captions[:, 2].abs().sum() > 0.5 * by_captions.abs().sum()
assert by_images[0, 3].abs() < 1e-6 and int((by_images.abs() > 0.1).sum()) == 7
norm = plots.weight_scale(float(by_images.abs().max()))
fig, axes = plt.subplots(3, 1, figsize=(4.4, 8))
plots.matrix(axes[0], S, M, title="scores s")
plots.matrix(axes[1], by_images, M, title="weights, image queries", weights=True, norm=norm)
plots.matrix(axes[2], by_captions, M, title="weights, caption queries", weights=True, norm=norm)
plots.weight_key(fig, axes, norm)

# %% tags=["nbval-check-output"]
images, captions = loss.per_query(S, M), loss.per_query(S.T, M.T)
assert torch.allclose(loss.weights(S.T, M.T)[0, 0], -loss.weights(S.T, M.T)[0, 1])
print("image queries  ", images.round(decimals=4).tolist())
print("caption queries", captions.round(decimals=4).tolist())

# %% [markdown]
# ### Half and half, or all alike?
#
# Now two averages are possible. ECIR Eq. 8 takes the mean over all queries of the batch. Read literally, five captions
# weigh as much as five images. The released code takes the mean of each direction first, then half of each.

# %% tags=["nbval-check-output"]
halves = float(images.mean() + captions.mean()) / 2
pooled = float(torch.cat([images, captions]).mean())
assert abs(halves - float(loss(S, M))) < 1e-12
print(f"half and half {halves:.4f}, pooled {pooled:.4f}")

# %% [markdown]
# With $k$ captions an image, pooling gives the caption direction $k$ times the say. The library does what was run. Its
# gradient, both directions and both halves included, is `score_gradient`. The weights of the figure are those of single
# queries; here they are divided by twice the number of queries, so a cell is that of the second panel over 4 plus that
# of the third over 8.

# %% tags=["nbval-check-output"]
gradient = loss.score_gradient(S, M)
x = S.clone().requires_grad_()
loss(x, M).backward()
assert (x.grad - gradient).abs().max() < 1e-10
gradient.round(decimals=4).tolist()

# %% [markdown]
# ## The clamp at ±50
#
# The released code cuts $(s_j - s_i)/\tau$ at ±50, to be safe in the exponential. Beyond it the gradient is zero. With
# $\tau = 0.01$ that means all pairs more than 0.5 apart. Does it matter?

# %%
def pair_slope(gap, clamp):
    x = torch.tensor(gap, dtype=torch.float64, requires_grad=True)
    inside = (x / 0.01).clamp(-50, 50) if clamp else x / 0.01
    torch.sigmoid(inside).backward()
    return float(x.grad)


gaps = (0.0, 0.02, 0.05, 0.1, 0.2, 0.49, 0.51)
table = pd.DataFrame([{"gap": gap, "with clamp": f"{pair_slope(-gap, True):.1e}",
                       "without": f"{pair_slope(-gap, False):.1e}"} for gap in gaps])
assert 1e8 < pair_slope(0.0, True) / pair_slope(-0.2, True) < 1.5e8
assert pair_slope(-0.51, True) == 0 and 0 < pair_slope(-0.51, False) < 1e-19
paper.styled(table.astype(str), "Slope of the sigmoid at a gap, over τ.", name="clamp")

# %% [markdown]
# No. Where the clamp begins to cut, the slope is already $e^{-50}/\tau$, at any $\tau$. The reach of the sigmoid is the
# limit that matters: at $\tau = 0.01$, a pair 0.2 apart has a slope about a hundred million times smaller than a tie.
# So a positive that is that far behind its negatives gets next to no gradient from them.
#
# ## A perfect list
#
# Last, a case that the next chapters need. Five positives lie close together, twenty negatives far below.

# %%
perfect = torch.tensor([0.80, 0.795, 0.79, 0.785, 0.78] + [0.2] * 20, dtype=torch.float64)
first_five = torch.arange(25) < 5
G, A, C = parts(perfect, first_five, 0.01)
terms = G * (1 - G) / (A + C) ** 2  # one for each positive and candidate
loss, mask = SmoothAP(tau=0.01), first_five[None]
value = float(loss.per_query(perfect[None], mask))
weights = by_autograd(lambda x: loss.per_query(x, mask), perfect[None])
counted = float((terms > 0.01).sum() / 5)

# %% tags=["hide-input"]
assert value < 1e-12 and float(weights.abs().max()) < 1e-19
assert int((terms / 0.01 > 0.01).sum()) > int((terms > 0.01).sum())  # with 1/tau more pairs are counted
Markdown(f"The loss is {value:.0e} and the largest weight **{float(weights.abs().max()):.0e}**. "
         f"Yet the largest pair term G(1−G)/R², as ECIR's code counts it, is **{float(terms.max()):.2f}**, and a "
         f"positive has on average **{counted:.1f}** pair terms above 0.01.")

# %% [markdown]
# The pair terms are between positives. In the weights each is multiplied by $C_i$, the number of negatives above $i$,
# and there is none (what is left is the tail of the sigmoid, $e^{-58}$ and less). ECIR counts the pair terms above 0.01
# (its Eq. 13; the released code leaves out the factor $1/\tau$, with which even more would be counted;
# {doc}`../lessons/cocos` counts with it). So on a list like this it counts pairs that contribute nothing.
#
# ## What we found

# %% tags=["hide-input"]
Markdown("\n".join([
    f"- Eq. 12 is right if the sigmoid sees s_j − s_i (largest error {error['s_j - s_i']:.4f}), wrong with the printed "
    f"difference ({error['s_i - s_j']:.4f}).",
    f"- Two wrong signs cancel: of the four derivations {sum(r['verdict'] == 'right' for r in rows)} have the right "
    "result, the one with no slip and the one with both.",
    f"- On the 2 × 4 example the released average is {halves:.4f}, the pooled one of Eq. 8 {pooled:.4f}.",
    f"- At τ = 0.01, {moved(0.01)} of 12 candidates carried more than a twentieth of the largest weight; at τ = 0.1, "
    f"{moved(0.1)}, but that weight was {largest[0.01] / largest[0.1]:.0f} times smaller.",
    f"- A perfect list has a largest weight of {float(weights.abs().max()):.0e} and {counted:.1f} counted pairs a "
    "positive.",
]))

# %% [markdown]
# - 1 − A/R = C/R, which is shorter to derive and keeps its digits where the list is nearly perfect.
# - A negative is weighted by $A_i$, another positive by $-C_i$. Only rows of positives are needed, not the whole cube.
# - With a small $\tau$ only near ties have weight. A negative far ahead of every positive is left alone.
# - A positive can be pushed down: in the example, towards a tie with another positive.
# - A derivation in which two slips cancel passes a check of its last line; a check of each line finds them.
#
# ## Exercises
#
# ````{exercise-start} The quotient, with signs
# :label: ex-quotient-signs
# ````
#
# The term of a positive is $C / R$ with $R = A + C$. Write its two derivatives as a pair of functions, by $A$ first and
# by $C$ second: `mine = (lambda A, C: ..., lambda A, C: ...)`.

# %%
mine = ...

# %% tags=["hide-input"]
def check_quotient(value):
    """Passes for the derivatives of C / (A + C) by A and by C."""
    if value is ...:
        return "your turn"
    for A, C in ((1.0, 0.5), (2.0, 3.0), (4.2, 7.1)):
        got = [float(f(A, C)) for f in value]
        expected = [-C / (A + C) ** 2, A / (A + C) ** 2]
        hint = "signs: a positive above helps, a negative above costs"
        close = all(abs(x - y) < 1e-9 for x, y in zip(got, expected, strict=True))
        assert close, f"not yet: at A = {A}, C = {C} got {got[0]:.4f} and {got[1]:.4f}; {hint}"
    return "right"


check_quotient(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-quotient-signs
# :class: dropdown
# ````
#
# $C' R - C R'$ over $R^2$. By $A$: $C' = 0$, $R' = 1$. By $C$: $C' = 1$, $R' = 1$, and $R - C = A$.

# %%
check_quotient((lambda A, C: -C / (A + C) ** 2, lambda A, C: A / (A + C) ** 2))

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} One positive, two negatives
# :label: ex-one-positive
# ````
#
# A query has scores `[0.50, 0.52, 0.44]`; the first is its positive; $\tau = 0.02$. Give the three weights of
# $1 - \text{AP}$ as a tensor, from $G$, $R$ and $\tau$ alone (no library, no autograd).

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
# ````{exercise-start} Reach
# :label: ex-reach
# ````
#
# Predict: at $\tau = 0.01$, how far apart may two scores be so that $G (1 - G)$ is still 0.01? Give the largest gap.

# %%
mine = ...

# %% tags=["hide-input"]
def check_reach(value):
    """Passes for the gap at which G (1 - G) falls to 0.01 with tau = 0.01."""
    if value is ...:
        return "your turn"
    G = torch.sigmoid(torch.tensor(float(value), dtype=torch.float64) / 0.01)
    slope = float(G * (1 - G))
    assert value > 0 and abs(slope - 0.01) < 1e-4, f"not yet: at a gap of {value} G (1 - G) is {slope:.4f}"
    return "right"


check_reach(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-reach
# :class: dropdown
# ````
#
# $G (1 - G) = \epsilon$ has the larger root $G = (1 + \sqrt{1 - 4 \epsilon})/2$. The gap is $\tau \ln \frac{G}{1-G}$,
# about $4.6\, \tau$.

# %%
G = (1 + (1 - 4 * 0.01) ** 0.5) / 2
check_reach(0.01 * float(torch.logit(torch.tensor(G, dtype=torch.float64))))

# %% [markdown]
# ````{solution-end}
# ````
#
# Next: {doc}`one-picture` puts the weights of these losses, and of eight others, on the same scores.
