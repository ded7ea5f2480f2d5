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
# # Triplet and Triplet-SH: one formula, two pulls
#
# **What you will be able to do:** derive the weights of both losses and check each line by machine; say which negative a
# "semi-hard" rule takes; and find a wrong sign in a printed gradient. **Time:** under a minute on one core. **You
# need:** {doc}`../foundations/task`.
#
# A query has one positive and seven negatives. Two losses look at the same eight scores. Both are made of the same
# formula: a positive should beat a negative by a margin, and what is missing is the cost. The figure shows what each
# does to a score, its **weight**: the slope of the loss as that score grows. One would expect them to differ a little.

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
from fractions import Fraction

import matplotlib.pyplot as plt
import pandas as pd
import torch
from IPython.display import Markdown

from icrlib import chapter, cocos, paper, plots
from icrlib.agreement import agreement, by_autograd, by_differences
from icrlib.losses import NTXent, SmoothAP, Triplet, TripletSH
from icrlib.widgets import explorer, explorer_on_circle, frames_slider, live

smoke = chapter.start(smoke)
PUSHED, PULLED, QUIET = "#b2182b", "#2166ac", "#b0b0b0"  # red is pushed down, blue is pulled up

# %%
row = [0.60, 0.68, 0.56, 0.52, 0.47, 0.43, 0.31, 0.11]
scores = torch.tensor([row], dtype=torch.float64)
positives = torch.tensor([[1, 0, 0, 0, 0, 0, 0, 0]]).bool()


# %% tags=["hide-input"] mystnb={"image": {"alt": "Two bar charts of the weights on eight scores. Triplet: five negatives at plus one, the positive at minus five. Triplet-SH: one negative at plus one, the positive at minus one."}, "figure": {"name": "fig-two-pulls", "caption": "One row of scores, one margin, two losses. Red is pushed down, blue pulled up. Triplet moves five negatives and pulls the positive five times as hard."}}
def bars(ax, row, name):
    values = row.tolist()
    ax.bar(range(8), values, color=[PUSHED if value > 0 else PULLED for value in values])
    for x, value in enumerate(values):
        place = "bottom" if value >= 0 else "top"
        ax.text(x, value, f"{value:+.0f}".replace("-", "−") if value else "0", ha="center", va=place, fontsize=10)
    ax.axhline(0, color="black", lw=0.8)
    ax.set(ylim=(-6.2, 2.2), xticks=range(8), yticks=(-6, -4, -2, 0, 2))
    ax.set_xticklabels([f"{s:.2f}\n{'−' if j else '+'}" for j, s in enumerate(scores[0])], fontsize=10)
    ax.set_title(name, fontsize=11)


margin = 0.2
fig, axes = plt.subplots(2, 1, figsize=(4.8, 4.8), sharey=True)
for ax, loss, name in zip(axes, (Triplet(margin), TripletSH(margin)), ("Triplet", "Triplet-SH"), strict=True):
    bars(ax, loss.weights(scores, positives)[0], f"{name}: loss {float(loss.per_query(scores, positives)):.2f}")
fig.supylabel("weight", fontsize=11)
assert Triplet(margin).weights(scores, positives)[0].tolist() == [-5, 1, 1, 1, 1, 1, 0, 0]
assert TripletSH(margin).weights(scores, positives)[0].tolist() == [-1, 1, 0, 0, 0, 0, 0, 0]

# %% [markdown]
# Same formula, and yet: five negatives or one; a pull of five or of one. Which negatives are touched, and why these?
# And which of them is the "semi-hard" one that gave Triplet-SH its name?
#
# Find out by hand. Below is the same row, best first. Move a score and watch the bars: how far down must negative 1 go
# before Triplet-SH lets go of it, and whom does it take instead? The curve shows the weight of the candidate that you
# chose at every score it could have. Before you look: where does Triplet's jump from 0 to 1, and where Triplet-SH's?
# (On both sides of zero the bars have an even scale up to a weight of 0.01, and a logarithmic one beyond.)

# %% tags=["hide-input"]
NAMES = ["the positive", *(f"negative {k}" for k in range(1, 8))]
MARGINS = [0.0, 0.05, 0.1, 0.2, 0.3, 0.5]
explorer(scores, positives, {"triplet": Triplet(), "triplet_sh": TripletSH()}, columns=NAMES, together=True, curve=True,
         selected=(0, 4), controls={name: {"margin": MARGINS} for name in ("triplet", "triplet_sh")},
         about="One positive and seven negatives under Triplet and Triplet-SH; scores and margins can be moved")

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
def at(loss, s, j=4):
    """The weight of candidate j if its score were s."""
    moved = scores.clone()
    moved[0, j] = s
    return float(loss.weights(moved, positives)[0, j])


assert at(Triplet(), 0.39) == 0 and at(Triplet(), 0.41) == 1  # within the margin of 0.2 of the positive's 0.60
assert at(TripletSH(), 0.67) == 0 and at(TripletSH(), 0.69) == 1  # above all other negatives, the highest at 0.68
assert at(TripletSH(), 0.57, j=1) == 1 and at(TripletSH(), 0.55, j=1) == 0  # for negative 1 that is negative 2, at 0.56
lower = scores.clone()
lower[0, 1] = 0.55
assert TripletSH().weights(lower, positives)[0].tolist() == [-1, 0, 1, 0, 0, 0, 0, 0]

# %% [markdown]
# Triplet's curve jumps where the candidate comes within the margin of the positive, at 0.40, and nothing else matters
# to it. Triplet-SH's jumps where the candidate overtakes the highest other negative: from then on it is the one that is
# pushed. Negative 1 is let go below 0.56, the score of negative 2, which is pushed instead; every other negative has to
# overtake negative 1, at 0.68. The rest of this chapter derives these two curves.
#
# ## One triplet
#
# A query, its positive with score $s_+$ and one negative with score $s_-$ are a triplet. Its cost (ECIR Eq. 1,
# {cite:p}`bleeker2022lessons`) is
#
# $$ [\alpha - s_+ + s_-]_+, \qquad [x]_+ = \max(x, 0). $$
#
# The cost is zero once the positive is ahead by the margin $\alpha$. A query has many negatives $N$. The two losses
# differ in one word, *sum* or *max* (ECIR Eqs. 3a and 1):
#
# $$ \begin{aligned} \ell_\text{Triplet} &= \sum_{j \in N} [\alpha - s_+ + s_j]_+, \\
#    \ell_\text{SH} &= \big[\alpha - s_+ + \max_{j \in N} s_j\big]_+. \end{aligned} $$

# %% tags=["nbval-check-output"]
margin = 0.2
own, others = scores[:, :1], scores[:, 1:]
triplet = torch.relu(margin - own + others).sum(1)
triplet_sh = torch.relu(margin - own + others.max(1, keepdim=True).values)[:, 0]
print(f"Triplet {float(triplet):.2f}, Triplet-SH {float(triplet_sh):.2f}")

# %% [markdown]
# ## The weights, line by line
#
# We want $w_j = \partial \ell / \partial s_j$ for all candidates.
#
# **Line 1, the hinge.** Its slope is 0 on the left, 1 on the right:
#
# $$ \frac{d}{dx} [x]_+ = 1[x > 0]. $$
#
# The corner at $x = 0$ comes later. `agreement` compares a formula for the weights with the slope of the loss in two
# ways: `"autograd"` is the largest difference from PyTorch's own derivative, and `"differences"` the largest difference
# from $(\ell(s_j + h) - \ell(s_j - h))/2h$ for a small $h$, relative to the largest slope.

# %%
x = torch.tensor([[-0.3], [-0.01], [0.02], [0.4]], dtype=torch.float64)
line_1 = (x > 0).double()
checked = agreement(line_1, lambda x: torch.relu(x)[:, 0], x)
assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6
line_1.flatten().tolist()

# %% [markdown]
# **Line 2, the inside.** $x = \alpha - s_+ + s_-$ grows with $s_-$ and falls with $s_+$. So one triplet gives
#
# $$ \begin{aligned} w_- &= +1[s_+ - s_- < \alpha], \\
#    w_+ &= -1[s_+ - s_- < \alpha]. \end{aligned} $$
#
# The size of the violation is not in it. A triplet that misses the margin by a hair counts like one that is far off.

# %% tags=["nbval-check-output"]
pairs = torch.tensor([[0.60, 0.41], [0.60, 0.99], [0.60, 0.39]], dtype=torch.float64)
active = (pairs[:, 0] - pairs[:, 1] < margin).double()
line_2 = torch.stack([-active, active], dim=1)
checked = agreement(line_2, lambda x: torch.relu(margin - x[:, 0] + x[:, 1]), pairs)
assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6
line_2.tolist()

# %% [markdown]
# **Line 3, the sum.** In Triplet every active negative gets its own $+1$. The positive takes part in all of them:
#
# $$ \begin{aligned} w_j &= 1[s_+ - s_j < \alpha] \ \ (j \in N), \\
#    w_+ &= -\sum_{j \in N} w_j. \end{aligned} $$ (eq-triplet-weights)
#
# That is the pull of five.


# %%
def my_triplet(scores, positives, margin):
    """One positive a row."""
    own = scores[positives][:, None]
    w = ((own - scores < margin) & ~positives).double()
    return w - positives * w.sum(1, keepdim=True)


w = my_triplet(scores, positives, margin)
checked = agreement(w, lambda x: torch.relu(margin - x[:, :1] + x[:, 1:]).sum(1), scores)
assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6

# %% [markdown]
# **Line 4, the maximum.** A small change of a score changes $\max_j s_j$ only if that score is the largest. So if the
# largest is unique, the derivative of a maximum is 1 at its place $h$ and 0 elsewhere (ties come later):
#
# $$ \begin{aligned} h &= \arg\max_{j \in N} s_j, \\
#    w_h &= 1[s_+ - s_h < \alpha], \\
#    w_+ &= -w_h. \end{aligned} $$


# %%
def my_triplet_sh(scores, positives, margin):
    own = scores[positives][:, None]
    negatives = scores.masked_fill(positives, -torch.inf)
    hardest = negatives.argmax(1, keepdim=True)
    active = (own - negatives.gather(1, hardest) < margin).double()
    w = torch.zeros_like(scores).scatter(1, hardest, active)
    return w - positives * active


w = my_triplet_sh(scores, positives, margin)
checked = agreement(w, lambda x: torch.relu(margin - x[:, 0] + x[:, 1:].amax(1)), scores)
assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6

# %% [markdown]
# The library's weights are these, on our row and on forty random queries, at four margins.

# %%
rng = torch.Generator().manual_seed(0)
random = torch.rand(40, 40, generator=rng, dtype=torch.float64) * 2 - 1
cases = [(scores, positives), (random, torch.eye(40, dtype=torch.bool))]
for s, p in cases:
    for a in (0.0, 0.1, 0.2, 0.7):
        for loss, mine in ((Triplet(a), my_triplet), (TripletSH(a), my_triplet_sh)):
            w = loss.weights(s, p)
            assert (w - mine(s, p, a)).abs().max() == 0
            checked = agreement(w, lambda x, f=loss, p=p: f.per_query(x, p), s)
            assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6

# %% [markdown]
# Two things can be read off. The weights of a row sum to zero: only *differences* of scores matter. And a query has a
# gradient under Triplet exactly if it has one under Triplet-SH: if any negative is inside the margin, so is the hardest.

# %%
eye = torch.eye(40, dtype=torch.bool)
all_pay, one_pays = Triplet(0.2).weights(random, eye), TripletSH(0.2).weights(random, eye)
assert all_pay.sum(1).abs().max() == 0 and one_pays.sum(1).abs().max() == 0
assert torch.equal((all_pay != 0).any(1), (one_pays != 0).any(1))

# %% [markdown]
# ## Both directions, and the released numbers
#
# A batch is read by rows (an image asks for its caption) and by columns (a caption asks for its image). ECIR Eqs. 2 and
# 3b **sum** over all queries; so does the released code. Here are three pairs. We ran the released code on them, and
# these are the values and the gradients that it gave.

# %%
S3 = torch.tensor([[0.60, 0.45, 0.10],
                   [0.30, 0.55, 0.50],
                   [0.05, 0.62, 0.40]], dtype=torch.float64)
OWN = torch.eye(3, dtype=torch.bool)
released = {"triplet": (1.29, [[-1, 2, 0], [0, -3, 2], [0, 2, -2]]),
            "triplet_sh": (1.19, [[-1, 1, 0], [0, -2, 2], [0, 2, -2]])}

# %% tags=["nbval-check-output"]
ours = {}
for name, loss in (("triplet", Triplet(0.2)), ("triplet_sh", TripletSH(0.2))):
    value, gradient = float(loss(S3, OWN)), loss.score_gradient(S3, OWN)
    assert abs(value - released[name][0]) < 1e-10
    assert torch.equal(gradient, torch.tensor(released[name][1], dtype=torch.float64))
    x = S3.clone().requires_grad_()
    loss(x, OWN).backward()
    assert (x.grad - gradient).abs().max() < 1e-10
    rows, columns = loss.per_query(S3, OWN).sum(), loss.per_query(S3.T, OWN).sum()
    print(f"{plots.label(name)}: {value:.2f} = rows {rows:.2f} + columns {columns:.2f}")
    ours[name] = gradient

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three matrices of three images and three captions: scores, and the gradient of Triplet and of Triplet-SH with both directions added. They differ in the cell of image 1 and caption 2 and in the positive of pair 2."}, "figure": {"name": "fig-triplet-s3", "caption": "The gradient of the batch loss, both directions added. Losses of 1.29 and 1.19, close to each other; but one positive is pulled by 3 and by 2."}}
fig, axes = plt.subplots(1, 3, figsize=(6.2, 2.5))
plots.matrix(axes[0], S3, OWN, title="scores s")
for ax, (name, gradient) in zip(axes[1:], ours.items(), strict=True):
    plots.matrix(ax, gradient, OWN, title=plots.label(name), weights=True, limit=3)
    ax.title.set_color(plots.COLOURS[name])
assert (ours["triplet"] != ours["triplet_sh"]).nonzero().tolist() == [[0, 1], [1, 1]]  # as the alt text says
assert (float(ours["triplet"][1, 1]), float(ours["triplet_sh"][1, 1])) == (-3, -2)

# %% [markdown]
# ## The margin decides who counts
#
# A margin says how far ahead is far enough. To see what it does we need several queries: we take the matrix of
# {doc}`../intro`, its rows the queries, and draw the weights of both losses for four margins.

# %% tags=["hide-input", "remove-output"]
S4, OWN4 = plots.example()
PAIR = {"triplet": Triplet, "triplet_sh": TripletSH}


def two_matrices(margin):
    fig, axes = plt.subplots(1, 2, figsize=(6, 3.3))
    for ax, (name, kind) in zip(axes, PAIR.items(), strict=True):
        weights, cost = kind(margin).weights(S4, OWN4), float(kind(margin).per_query(S4, OWN4).sum())
        plots.matrix(ax, weights, OWN4, title=f"{plots.label(name)}: cost {cost:.2f}", weights=True, limit=3)
        ax.title.set_color(plots.COLOURS[name])
    return fig


margins = [0.0, 0.07, 0.2, 0.45]
live(two_matrices, margins, label="α")  # with a kernel; the page has the next one

# %% [markdown]
# Slide $\alpha$. A larger margin should bring in more negatives under Triplet; under Triplet-SH, which takes one negative
# a query, it can only bring in more *queries*.


# %% tags=["hide-input"]
def touched(loss):
    """Negatives that the loss pushes, row by row."""
    return (loss.weights(S4, OWN4) > 0).sum(1)


steps = [(touched(Triplet(a)), touched(TripletSH(a))) for a in margins]
assert all(int(after.sum()) > int(before.sum()) for one, two in zip(steps, steps[1:], strict=False)
           for before, after in zip(one, two, strict=True))  # both panels change at every step of the slider
frames_slider(two_matrices, margins, label="margin α", start=2,
              alt=lambda margin: f"Weights of four rows at margin {margin}. Negatives pushed in each row: Triplet "
                                 f"{touched(Triplet(margin)).tolist()}, Triplet-SH "
                                 f"{touched(TripletSH(margin)).tolist()}.")

# %% tags=["hide-input"]
assert touched(TripletSH(0.45)).tolist() == [1] * 4
assert torch.equal(TripletSH(0.45).weights(S4, OWN4), TripletSH(2.5).weights(S4, OWN4))
Markdown(f"At α = 0 Triplet pushes {int(touched(Triplet(0.0)).sum())} negative, at 0.45 it pushes "
         f"**{int(touched(Triplet(0.45)).sum())}**, and a positive is pulled once for each in its row. Triplet-SH pushes "
         f"{int(touched(TripletSH(0.0)).sum())} and **{int(touched(TripletSH(0.45)).sum())}**, which is one in every "
         "row. A still larger margin raises the value of Triplet-SH's loss, but changes none of its weights; Triplet "
         f"would go on to all {int((~OWN4).sum())} negatives.")

# %% [markdown]
# Now a whole batch, as large as those of the paper, but made up: 128 random pairs, where a caption's vector is its
# image's vector plus noise. ECIR counts the samples that contribute to a gradient and calls this COCOS
# ({doc}`../lessons/cocos`): for Triplet-SH the queries that have a gradient (Eq. 10), for Triplet the active triplets.

# %%
rng = torch.Generator().manual_seed(1)
images = torch.randn(128, 16, generator=rng, dtype=torch.float64)
noise = torch.randn(128, 16, generator=rng, dtype=torch.float64)
images, captions = (v / v.norm(dim=1, keepdim=True) for v in (images, images + noise))
batch, pairs128 = images @ captions.T, torch.eye(128, dtype=torch.bool)


def counts(margin):
    """Active triplets, and queries with at least one (ECIR Eq. 10)."""
    active = (batch.diagonal()[:, None] - batch < margin) & ~pairs128
    return int(active.sum()), int(active.any(1).sum())


# %% [markdown]
# The library's counter agrees. With `convention="definition"` it counts by the paper's own formulas; `C_B` is the sum
# over the batch, and `C_0` the number of queries without a gradient.

# %%
for margin in (0.0, 0.2, 0.5, 1.0):
    triplets, queries = counts(margin)
    every = cocos.count(Triplet(margin), batch, pairs128, convention="definition")
    hardest = cocos.count(TripletSH(margin), batch, pairs128, convention="definition")
    assert every["C_B"] == triplets and hardest["C_B"] == queries
    assert every["C_0"] == hardest["C_0"] == 128 - queries

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two curves over the margin on a logarithmic axis. Active triplets per query rise from below one to 127; for Triplet-SH the curve rises to one and stays there."}, "figure": {"name": "fig-active", "caption": "How many negatives a query pushes away, on average over a batch of 128 pairs. Triplet-SH saturates at one; Triplet goes on to all 127."}}
grid = [0.02 * k for k in range(1, 91)]
curves = torch.tensor([counts(a) for a in grid], dtype=torch.float64) / 128
fig, ax = plt.subplots(figsize=(6.2, 3.2))
for column, name in enumerate(("triplet", "triplet_sh")):
    ax.plot(grid, curves[:, column], color=plots.COLOURS[name], lw=2.2, label=plots.label(name))
assert curves[0, 0] < 1 and curves[-1, 0] == 127 and curves[-1, 1] == 1  # as the caption says
ax.axvline(0.2, color="black", lw=0.8, ls=":")
ax.text(0.22, 60, "published\nα = 0.2", fontsize=10, va="center")
ax.set(yscale="log", xlabel="margin α", ylabel="active per query")
ax.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
ax.legend(loc="lower right");

# %% tags=["hide-input"]
(at_02, queries_02), (at_1, queries_1) = counts(0.2), counts(1.0)
Markdown(f"At α = 0.2 there are **{at_02}** active triplets in **{queries_02}** of 128 queries: "
         f"{at_02 / queries_02:.1f} for each query that has any, or {at_02 / 128:.1f} on average over all 128, as the "
         f"figure has it. At α = 1 there are **{at_1:,}** in {queries_1}.")

# %% [markdown]
# What does that do to a training step? Each loss is a *sum* over the queries, so every query and every negative that
# becomes active adds a term to the gradient. Terms that point the same way make it longer, and with plain descent the
# step too; terms that point apart cancel in part. Which happens here? We take the length of the gradient for the 128
# image vectors, with images as queries.

# %% tags=["hide-input"]
def length(kind, margin):
    """Norm of the gradient of the summed loss by all image vectors, images as queries."""
    return float((kind(margin).weights(batch, pairs128) @ captions).norm())


table = pd.DataFrame([{"margin α": f"{a}"} | {plots.label(n): f"{length(k, a):.1f}" for n, k in PAIR.items()}
                      for a in (0.05, 0.2, 1.0)])
grown = {name: length(kind, 1.0) / length(kind, 0.05) for name, kind in PAIR.items()}
assert grown["triplet"] > 10 * grown["triplet_sh"] > 10 and length(TripletSH, 1.5) == length(TripletSH, 1.0)
x = images.clone().requires_grad_()
TripletSH(0.2).per_query(x @ captions.T, pairs128).sum().backward()
assert abs(float(x.grad.norm()) - length(TripletSH, 0.2)) < 1e-9
paper.styled(table, "Length of the gradient of the made-up batch, by the margin.", name="margin-length")

# %% tags=["hide-input"]
Markdown("On this batch, from α = 0.05 to 1, the gradient of Triplet becomes "
         f"**{grown['triplet']:.0f} times** as long, that of "
         f"Triplet-SH **{grown['triplet_sh']:.1f} times**.")

# %% [markdown]
# So on this batch a larger margin means a longer gradient with both losses, but not equally. Under Triplet-SH the growth
# ends when every query has its one negative; under Triplet it goes on with every negative. Whoever changes the margin of
# Triplet and trains by plain descent therefore also changes the length of the steps, and should choose the learning rate
# again. With Adam, with which ECIR trains, this matters less, because it divides a common factor of all gradients out;
# but the clipping of long gradients, which comes before it, does see their length. No training here has tested either.
#
# ## What "semi-hard" means here
#
# The name comes from FaceNet (Schroff, Kalenichenko and Philbin, 2015). There, a **semi-hard** negative is one that is
# inside the margin but still *behind* the positive. Negatives ahead of the positive are left out, as too hard. FaceNet
# measures squared distances. For unit vectors
#
# $$
# \begin{gathered}
# \lVert q - v \rVert^2 = 2 - 2\, q \cdot v, \quad\text{so} \\
# \lVert q - v_- \rVert^2 - \lVert q - v_+ \rVert^2 < \alpha \\
# \iff s_+ - s_- < \alpha / 2.
# \end{gathered}
# $$
#
# A margin on squared distances reaches half as far in scores: FaceNet's window is $s_+ - \alpha/2 < s_- < s_+$. VSE++
# {cite:p}`faghri2018vsepp` puts the margin on the scores and takes the **hardest** negative of the batch, and so does
# ECIR's Eq. 1 with its $\max$. In our row the two rules disagree.

# %% tags=["nbval-check-output"]
margin = 0.2
s, negative = scores[0], ~positives[0]
squared = 2 - 2 * s  # squared distances from the query
window = negative & (squared > squared[0]) & (squared < squared[0] + margin)
assert torch.equal(window, negative & (s < s[0]) & (s > s[0] - margin / 2))
facenet = int(squared.masked_fill(~window, torch.inf).argmin())
ecir = int(s.masked_fill(~negative, -torch.inf).argmax())
assert TripletSH(margin).weights(scores, positives)[0, ecir] == 1
print("semi-hard:", [round(float(x), 2) for x in s[window]])
print(f"nearest of them: column {facenet}, score {float(s[facenet]):.2f}")
print(f"hardest of all:  column {ecir}, score {float(s[ecir]):.2f}")

# %% tags=["hide-input"] mystnb={"image": {"alt": "A line of scores. The positive is at 0.60. A dark band from 0.50 to 0.60 holds two negatives, at 0.52 and 0.56; a light band goes on to 0.40 and holds two more. The negative at 0.68, right of the positive and outside the bands, is marked as the choice of ECIR and VSE++."}, "figure": {"name": "fig-semi-hard", "caption": "Two rules on one row, α = 0.2. The dark band holds FaceNet's semi-hard negatives (margin on squared distances), the light one those that the same margin on scores would add. The max rule takes the hardest, ahead of the positive and outside both."}}
fig, ax = plt.subplots(figsize=(6.6, 2.3))
left = float(s[0]) - margin
ax.axvspan(left, left + margin / 2, color="#ececec", lw=0)
ax.axvspan(left + margin / 2, float(s[0]), color="#cfcfcf", lw=0)
ax.axhline(0, color="black", lw=0.8, zorder=1)
ax.plot(s[1:], torch.zeros(7), "o", color=PUSHED, ms=9, zorder=2)
ax.plot(s[:1], [0], "D", color=PULLED, ms=10, zorder=2)
lines = {"arrowstyle": "-", "lw": 1, "color": "black"}
ax.annotate("positive", (float(s[0]), -0.1), (float(s[0]) + 0.02, -0.66), fontsize=10.5, arrowprops=lines)
ax.annotate("nearest\nsemi-hard", (float(s[facenet]), 0.1), (float(s[facenet]) - 0.01, 0.6), ha="right", va="center",
            fontsize=10.5, arrowprops=lines)
ax.annotate("ECIR, VSE++", (float(s[ecir]), 0.1), (float(s[ecir]), 0.55), ha="center", fontsize=10.5, arrowprops=lines)
for end, text in ((left + margin, "margin on\ndistance²"), (left + margin / 2, "margin on\nscores")):
    ax.text(end - 0.003, -0.6, text, ha="right", va="center", fontsize=9.5)
ax.set(xlim=(0.05, 0.78), ylim=(-1, 0.95), yticks=[], xlabel="score")
ax.spines["left"].set_visible(False);

# %% [markdown]
# So the SH in the name stands for a rule that the loss does not use. We keep the name, because the papers and their
# tables do. Just read it as "hardest in the batch".
#
# ## Corners
#
# ### On the hinge
#
# What if a triplet sits exactly on the margin? The hinge has a corner there. Every slope from 0 to 1 is a subgradient,
# and each program picks one. These numbers are exact in binary, so nothing is rounded.

# %% tags=["nbval-check-output"]
corner = torch.tensor([[0.50, 0.25]]).double()  # positive, negative; the margin is 0.25
one = torch.tensor([[True, False]])
hinges = {"relu": torch.relu, "clamp": lambda x: x.clamp(min=0)}
for name, hinge in hinges.items():
    slope = by_autograd(lambda x, h=hinge: h(0.25 - x[:, 0] + x[:, 1]), corner)[0, 1]
    print(f"{name}: slope {float(slope):.0f}")
halfway = by_differences(lambda x: torch.relu(0.25 - x[:, 0] + x[:, 1]), corner)[0, 1]
print(f"central difference: {float(halfway):.1f}")
assert Triplet(0.25).weights(corner, one)[0, 1] == 0

# %% [markdown]
# `torch.relu` says 0, `torch.clamp(min=0)` says 1, and a central difference sees both sides and says ½. ECIR's Eqs. 9
# and 10 use a strict $<$, so a triplet on the margin is not active. The library follows the strict inequality. The
# released code calls `clamp`. For scores of a network, an exact hit is a coincidence.

# %% [markdown]
# ### Ties
#
# What if two negatives share the maximum? The maximum has a corner too. `max` along a dimension gives all to the
# *first* index; `amax` shares equally. The library, like the released code, takes the first.

# %% tags=["nbval-check-output"]
tie = torch.tensor([[0.50, 0.45, 0.45, 0.10]], dtype=torch.float64)
first = torch.tensor([[True, False, False, False]])
maxima = {"max": lambda x: x.max(1).values, "amax": lambda x: x.amax(1)}
for name, largest in maxima.items():
    w = by_autograd(lambda x, f=largest: torch.relu(0.2 - x[:, 0] + f(x[:, 1:])), tie)
    print(f"{name:5}", w[0].tolist())
print("icrlib", TripletSH(0.2).weights(tie, first)[0].tolist())

# %% [markdown]
# Ties are not rare when a model gives every pair the same score. {doc}`../lessons/training` has such a model.
#
# ## From scores to vectors
#
# A score is $s_j = q \cdot v_j$. So the chain rule turns weights into a gradient for the query:
#
# $$ \begin{aligned} \frac{\partial \ell}{\partial q} &= \sum_j w_j v_j \\
#    &= \sum_{j \text{ active}} (v_j - v_+). \end{aligned} $$ (eq-triplet-q)
#
# We check it on random unit vectors.

# %%
rng = torch.Generator().manual_seed(5)
V = torch.randn(8, 6, generator=rng, dtype=torch.float64)
V = V / V.norm(dim=1, keepdim=True)
q = V[0] + 0.9 * V[1:3].sum(0)  # near its positive, and near two negatives
q = (q / q.norm())[None]
MARGIN = 0.5
active = (q @ V[0] - q @ V[1:].T < MARGIN)[0]


def loss_of(q):
    return Triplet(MARGIN).per_query(q @ V.T, positives)


gradient = (V[1:][active] - V[0]).sum(0)[None]
checked = agreement(gradient, loss_of, q)
assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6
assert (gradient - Triplet(MARGIN).weights(q @ V.T, positives) @ V).abs().max() < 1e-12

# %% [markdown]
# ### The printed sign
#
# ECIR prints (Eqs. 9a and 9b)
#
# $$ \begin{aligned} \frac{\partial \ell}{\partial q} &= v_+ - v_- \quad\text{if } s_+ - s_- < \alpha, \\
#    \frac{\partial \ell}{\partial q} &= \sum_{j} 1[s_+ - s_j < \alpha]\, (v_+ - v_j). \end{aligned} $$
#
# Compare with Eq. {eq}`eq-triplet-q`. Who is right? A central difference knows no algebra. If the print were the
# gradient, subtracting it would leave zero. Let us also add it.

# %% tags=["nbval-check-output"]
eq_9b = (V[0] - V[1:][active]).sum(0)
slope = by_differences(loss_of, q)[0]
added, subtracted = float((slope + eq_9b).abs().max()), float((slope - eq_9b).abs().max())
assert added < 1e-8
print("active:", int(active.sum()))
print(f"differences + printed: {added:.6f}, differences - printed: {subtracted:.4f}")

# %% [markdown]
# The printed vector is **minus** the gradient: the way that a descent step goes. In all chapters here a gradient is what
# descent subtracts.
#
# One more slip. The text below Eq. 9b calls a triplet violating if $s_+ + s_- < \alpha$. The equation has the minus.

# %% tags=["nbval-check-output"]
own, others = scores[0, 0], scores[0, 1:]
by_equation, by_text = own - others < 0.2, own + others < 0.2
truth = Triplet(0.2).weights(scores, positives)[0, 1:] > 0
assert torch.equal(by_equation, truth)
print("active:", int(truth.sum()))
print("by the equation:", int(by_equation.sum()), " by the text:", int(by_text.sum()))

# %% [markdown]
# Neither touches the counts or the released code. Both are in {ref}`the errata <erratum-ecir-9>`.
#
# ## What normalising changes
#
# An encoder does not return a unit vector. It returns some $x$, and the score uses $q = x / \lVert x \rVert$. So there
# is one more link in the chain:
#
# $$ \frac{\partial \ell}{\partial x} = \frac{1}{\lVert x \rVert} \big(I - q q^\top\big)
#    \sum_j w_j v_j. $$ (eq-projection)
#
# The matrix takes away the part along $q$. What is left is **tangent** to the sphere.

# %%
def tangent(x, weights, V):
    q = x / x.norm()
    pull = weights @ V
    return (pull - (pull @ q) * q) / x.norm()


x = 2.5 * q
weights = Triplet(MARGIN).weights(q @ V.T, positives)[0]
projected = tangent(x[0], weights, V)
checked = agreement(projected[None], lambda x: loss_of(x / x.norm(dim=1, keepdim=True)), x)
assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6
assert abs(projected @ x[0]) < 1e-12

# %% [markdown]
# How much is taken away? The part along $q$ is $\sum_j w_j s_j$. For one active triplet that is $s_- - s_+$, a number
# that the loss knows already: $-\alpha$ on the margin, 0 where both score alike, and up to 2 for the worst violation.

# %% tags=["nbval-check-output"]
raw = weights @ V
along = float(weights @ (V @ q[0]))
kept = projected * x.norm()
assert abs(float(raw @ raw) - along**2 - float(kept @ kept)) < 1e-12
angle = math.degrees(math.acos(float(kept @ raw / (kept.norm() * raw.norm()))))
print(f"length {float(raw.norm()):.4f}, on the tangent {float(kept.norm()):.4f}")
print(f"turned by {angle:.1f}°")

# %% [markdown]
# Three things follow.
#
# - The step is at right angles to $x$. By Pythagoras, plain descent can only make $x$ *longer*.
# - The longer $x$, the shorter its gradient. A long vector turns slowly.
# - The weight is no longer the whole story. Here is the worst case.
#
# Put the positive at 0° and a negative at 60° on a circle, and let the query go all the way around.

# %% tags=["hide-input"] mystnb={"image": {"alt": "The cost of one triplet over the angle of the query: a hill. The weight of the negative is one over the whole hill, but the slope is zero at its top, at 120 degrees."}, "figure": {"name": "fig-around", "caption": "One triplet, all positions of the query. Wherever there is a cost the weight is 1. The slope, which moves the query, is zero at the top of the hill, where the violation is worst."}}
theta = torch.linspace(-180, 180, 721, dtype=torch.float64)
cost = torch.relu(0.2 - torch.cos(theta.deg2rad()) + torch.cos((theta - 60).deg2rad()))
turning = (torch.sin(theta.deg2rad()) - torch.sin((theta - 60).deg2rad())) * (cost > 0)
fig, ax = plt.subplots(figsize=(6.4, 3.2))
ax.plot(theta, cost, color="black", lw=2.2, label="cost")
ax.plot(theta, (cost > 0).double(), color=PUSHED, lw=1.8, ls="--", label="weight of the negative")
ax.plot(theta, turning, color=plots.COLOURS["triplet"], lw=1.8, label="slope, per radian")
ax.axvline(120, color="black", lw=0.8, ls=":")
ax.set(xlabel="angle of the query, degrees", xticks=range(-180, 181, 60), ylim=(-1.15, 2.1))
ax.set_yticks([-1, 0, 1])
ax.legend(loc="upper left", fontsize=10);

# %% tags=["nbval-check-output"]
two = torch.tensor([[1.0, 0.0], [0.5, 0.75**0.5]], dtype=torch.float64)  # at 0° and 60°
worst = (two[1] - two[0]) / (two[1] - two[0]).norm()
s = (two @ worst)[None]
w = Triplet(0.2).weights(s, one)[0]
cost, moved = float(Triplet(0.2).per_query(s, one)), float(tangent(worst, w, two).norm())
assert moved < 1e-12
print(f"cost {cost:.4f}, weights {w.tolist()}, gradient {moved:.6f}")

# %% [markdown]
# A query that points along $v_- - v_+$ has full weights and stands still. It is a peak, so a nudge is enough to leave
# it. But it shows that counting weights, as ECIR's COCOS does, and measuring motion are two things.
#
# ## A few steps on the circle
#
# Last, the whole motion. One query (black), its positive (blue) and six negatives. All of them are free, and each step
# is the gradient times a rate, downhill. The query's gradient is Eq. {eq}`eq-projection`. A candidate's is $w_j q$,
# because $s_j = q \cdot v_j$; normalising takes away the part along $v_j$ and leaves $w_j (q - s_j v_j)$. Its length is
# $\lvert w_j \rvert \sqrt{1 - s_j^2}$ where $v_j$ has length 1. The two losses need different numbers of steps, so we
# look at both at the same *share* of their ways.

# %%
START = torch.tensor([90.0, 25.0, 103.0, 118.0, 134.0, 152.0, 215.0, 310.0]).double()
FIRST = torch.arange(7)[None] == 0


def descend(loss, steps, rate=0.03):
    """After so many steps: unit vectors (query first), next moves, cost, who is active."""
    x = torch.stack([START.deg2rad().cos(), START.deg2rad().sin()], dim=1)
    for step in range(steps + 1):
        x = x.detach().requires_grad_()
        unit = x / x.norm(dim=1, keepdim=True)
        s = unit[:1] @ unit[1:].T
        cost = loss.per_query(s, FIRST)[0]
        move = -rate * torch.autograd.grad(cost, x)[0]
        if step < steps:
            x = x + move
    return unit.detach(), move, float(cost.detach()), loss.weights(s.detach(), FIRST)[0] > 0


# %%
WAYS = {"triplet": Triplet(0.2), "triplet_sh": TripletSH(0.2)}
NEEDED = {name: next(n for n in range(400) if descend(loss, n)[2] == 0)
          for name, loss in WAYS.items()}


def at_share(name, share):
    """The step at this share ("1/6") of the way, and what :func:`descend` says of it."""
    step = round(float(Fraction(share)) * NEEDED[name])
    return step, *descend(WAYS[name], step)


# %% tags=["hide-input", "remove-output"]
ARROW = {"arrowstyle": "->", "lw": 1.8, "shrinkA": 0, "shrinkB": 0}


def draw_share(share):
    fig, axes = plt.subplots(1, 2, figsize=(6.2, 3.5))
    for ax, name in zip(axes, WAYS, strict=True):
        step, points, moves, cost, active = at_share(name, share)
        ax.add_patch(plt.Circle((0, 0), 1, fill=False, color="#cccccc"))
        faces = ["black", PULLED, *(PUSHED if yes else "white" for yes in active[1:])]
        edges = ["black", PULLED, *[PUSHED] * 6]
        for (a, b), (u, v), face, edge in zip(points.tolist(), (6 * moves).tolist(), faces, edges, strict=True):
            ax.plot(a, b, "o", ms=7, mfc=face, mec=edge, mew=1.5)
            if math.hypot(u, v) > 0.01:
                ax.annotate("", (a + u, b + v), (a, b), arrowprops=ARROW | {"color": edge})
        ax.set(xlim=(-1.15, 1.15), ylim=(-1.1, 1.15), xticks=[], yticks=[], aspect="equal")
        title = f"{plots.label(name)}, step {step} of {NEEDED[name]}\ncost {cost:.2f}, {int(active.sum())} active"
        ax.set_title(title, fontsize=11)
        ax.title.set_color(plots.COLOURS[name])
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
    return fig


shares = ["0", "1/6", "2/6", "3/6", "4/6", "5/6", "1"]
live(draw_share, shares, label="share")  # with a kernel; the page has the next one

# %% [markdown]
# Arrows show the next step, six times as long. A filled red point is an active negative, an open one is at rest. Who has
# to move before the cost is gone?


# %% tags=["hide-input"]
def told(share):
    lines = []
    for name in WAYS:
        step, _, _, cost, active = at_share(name, share)
        lines.append(f"{plots.label(name)}, step {step}: cost {cost:.2f}, {int(active.sum())} active negatives.")
    return f"Points on two circles at {share} of the way. " + " ".join(lines)


frames_slider(draw_share, shares, label="share of the steps", alt=told)

# %% tags=["hide-input"]
def walked(name):
    """Steps until the cost is zero, and by how many degrees each point turned on the way."""
    start, end = descend(WAYS[name], 0)[0], descend(WAYS[name], NEEDED[name])[0]
    return NEEDED[name], (start * end).sum(1).clamp(-1, 1).acos().rad2deg()


ends = {plots.label(name): walked(name) for name in WAYS}
paper.styled(pd.DataFrame([
    {"loss": name, "steps": steps, "query": f"{turned[0]:.0f}°", "positive": f"{turned[1]:.0f}°",
     "negatives moved": int((turned[2:] > 0.1).sum())} for name, (steps, turned) in ends.items()
]), "Until the cost is zero: how far each point turned.", name="circle")

# %% [markdown]
# Triplet takes fewer steps here; its first one turns the query further, and it moves more negatives. Triplet-SH works on
# one negative at a time. Notice the nearest negative at the start: it has full weight, and its arrow is the shortest.
# The first step moves a candidate by the rate times $\lvert w_j \rvert \sqrt{1 - s_j^2}$, and its score is close to one.

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
points, moves, _, active = descend(Triplet(0.2), 0)
assert NEEDED["triplet"] < NEEDED["triplet_sh"] and moves[0].norm() > descend(TripletSH(0.2), 0)[1][0].norm()
assert (ends["Triplet"][1][2:] > 0.1).sum() > (ends["Triplet-SH"][1][2:] > 0.1).sum()
assert max(int(descend(TripletSH(0.2), n)[3].sum()) for n in range(NEEDED["triplet_sh"])) == 1
lengths = moves[1:].norm(dim=1).masked_fill(~active, torch.inf)
assert int(lengths.argmin()) == 1 == int((points[2:] @ points[0]).argmax()) + 1  # the nearest moves least
s = points[1:] @ points[0]
w = Triplet(0.2).weights(s[None], FIRST)[0].abs()
assert (moves[1:].norm(dim=1) - 0.03 * w * (1 - s**2).sqrt()).abs().max() < 1e-12

# %% [markdown]
# One query is not a batch. Here are four pictures and four captions at once, all of them free to turn, and the two
# losses of the next chapters beside the two of this one. They differ in scale, so each gets a fixed rate at which its
# first step moves the point that it moves most by four degrees. The pictures ask for captions and the captions for
# pictures, which makes eight queries; a query is *solved* if its partner scores highest. Which loss will solve all eight
# from this start, and which will stop? Press *Play*; then drag a point somewhere else, and try again.

# %% tags=["hide-input"]
PICTURES, CAPTIONS = [10, 60, 130, 250], [100, 20, 200, 215]
BESIDE = {"triplet": Triplet(), "triplet_sh": TripletSH(), "ntxent": NTXent(), "smoothap": SmoothAP()}
explorer_on_circle(PICTURES, CAPTIONS, BESIDE, about="Four pictures and four captions on a circle under four losses")

# %% tags=["hide-input"]
def after(loss, steps, start=(PICTURES, CAPTIONS)):
    """The same descent by autograd: the loss, how many of the eight queries are solved, and the largest weight."""
    at, own = torch.tensor(start).double().deg2rad().requires_grad_(), torch.eye(4, dtype=torch.bool)
    rate = None
    for step in range(steps + 1):
        s = (at[0][:, None] - at[1]).cos()
        value = loss(s, own)
        (slope,) = torch.autograd.grad(value, at)
        rate = rate or math.radians(4) / float(slope.abs().max())
        if step < steps:
            at = (at - rate * slope).detach().requires_grad_()
    s, right = s.detach(), int((s.diag() >= s.amax(1)).sum() + (s.diag() >= s.amax(0)).sum())
    return float(value.detach()), right, float(loss.score_gradient(s, own).abs().max())


AFTER = {name: after(loss, 150) for name, loss in BESIDE.items()}
assert AFTER["triplet"][0] == AFTER["triplet_sh"][0] == 0 < AFTER["ntxent"][0]
assert AFTER["smoothap"][1] < 4 and all(AFTER[name][1] == 8 for name in ("triplet", "triplet_sh", "ntxent"))
assert abs(after(BESIDE["smoothap"], 50)[0] - AFTER["smoothap"][0]) < 1e-3 and AFTER["smoothap"][2] < 1e-4  # at rest
OTHER = [201, 201, 33, 76], [3, 14, 357, 329]
Markdown("After 150 steps: " + "; ".join(f"{plots.label(name)} loss {value:.3f}, {right} of 8 queries solved"
                                         for name, (value, right, _) in AFTER.items())
         + f". From another start, pictures at {OTHER[0]} and captions at {OTHER[1]} degrees, Triplet has solved "
         f"{after(BESIDE['triplet'], 150, OTHER)[1]} of 8 after as many steps.")

# %% [markdown]
# From this start the two triplet losses reach zero and stop: once every match is ahead by the margin, nothing has a
# weight. NT-Xent solves as many queries and goes on, because a softmax leaves every candidate some weight. SmoothAP, at
# its published temperature, stands still with most queries unsolved: no score nearly ties with a match any more, so all
# its weights are next to zero, also those of candidates that are far ahead of the match. {doc}`smoothap` explains it;
# drag a caption to where its score nearly ties with a match, and SmoothAP moves again.

# %% [markdown]
# ## What we found

# %% tags=["hide-input"]
all_pay_first = Triplet(0.2).weights(scores, positives)[0]
Markdown("\n".join([
    f"- At α = 0.2, Triplet touches {int((all_pay_first > 0).sum())} of 7 negatives of the first row, Triplet-SH one; "
    f"the positive is pulled by {-int(all_pay_first[0])} and by 1.",
    f"- On the 3 × 3 matrix both equal the released code in value ({released['triplet'][0]:.2f} and "
    f"{released['triplet_sh'][0]:.2f}) and gradient.",
    f"- The nearest semi-hard negative, in FaceNet's sense, scored {scores[0, facenet]:.2f}, the one that ECIR and VSE++ "
    f"take {scores[0, ecir]:.2f}.",
    f"- From α = 0.05 to 1 the gradient of a made-up batch became {grown['triplet']:.0f} times as long under Triplet and "
    f"{grown['triplet_sh']:.1f} times under Triplet-SH.",
    f"- ECIR's Eq. 9b plus central differences is {added:.6f}: the print is minus the gradient.",
    f"- In a made-up batch of 128 pairs at α = 0.2: {at_02} active triplets, but {queries_02} queries with a gradient.",
]))

# %% [markdown]
# - The weights are counts. How badly a triplet is violated does not enter.
# - A query has a gradient under Triplet exactly if it has one under Triplet-SH.
# - On the hinge and at ties a program must choose: the library takes slope 0, and the first index.
# - A weight is the slope by a *score*. For the query's vector, normalising takes away the part of the gradient along
#   $q$, and that can be all of it.
#
# ## Exercises
#
# ````{exercise-start} Five weights
# :label: ex-triplet-weights
# ````
#
# A query has the scores `[0.30, 0.55, 0.41, 0.20, 0.12]`; the **third** is its positive; $\alpha = 0.2$. Give the five
# weights of Triplet as a list, those of the loss.

# %%
mine = ...

# %% tags=["hide-input"]
def check_triplet_weights(value):
    """Passes for the five weights of Triplet on this row."""
    if value is ...:
        return "your turn"
    value = torch.as_tensor(value, dtype=torch.float64).flatten()
    s, positive = torch.tensor([0.30, 0.55, 0.41, 0.20, 0.12], dtype=torch.float64), 2
    expected = ((s[positive] - s) < 0.2).double()
    expected[positive] = 1 - expected.sum()  # minus the number of the others
    assert value.shape == (5,), f"not yet: five weights are needed, got {len(value)}"
    hint = "that is the way a step goes (as printed in Eq. 9); the gradient is its negative"
    assert not torch.allclose(value, -expected), f"not yet: every sign is turned around; {hint}"
    wrong = [j for j in range(5) if abs(value[j] - expected[j]) > 1e-9]
    assert not wrong, f"not yet: look at candidates {wrong} (counted from 0)"
    return "right"


check_triplet_weights(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-triplet-weights
# :class: dropdown
# ````
#
# Active are the negatives above $0.41 - 0.2 = 0.21$: the first and the second. The positive gets minus two.

# %%
check_triplet_weights([1, 1, -2, 0, 0])

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} The gradient of the query
# :label: ex-query-gradient
# ````
#
# Write the gradient of Triplet-SH for a unit vector $q$ (no projection), with one positive and several negatives:
# `mine = lambda q, v_plus, V_minus, margin: ...`. `V_minus` holds a negative a row.

# %%
mine = ...

# %% tags=["hide-input"]
def check_query_gradient(value):
    """Passes for the gradient of [margin - q.v_plus + max q.V_minus]_+ by q."""
    if value is ...:
        return "your turn"
    rng = torch.Generator().manual_seed(11)
    for margin in (0.0, 0.2, 0.2, 1.5, 0.2, 0.9):
        vectors = torch.randn(6, 4, generator=rng, dtype=torch.float64)
        q, v_plus, *V_minus = vectors / vectors.norm(dim=1, keepdim=True)
        V_minus = torch.stack(V_minus)
        x = q.clone().requires_grad_()
        torch.relu(margin - x @ v_plus + (V_minus @ x).max()).backward()
        got = torch.as_tensor(value(q, v_plus, V_minus, margin), dtype=torch.float64)
        assert got.shape == (4,), f"not yet: a vector like q is needed, got shape {tuple(got.shape)}"
        turned = x.grad.norm() > 0 and torch.allclose(got, -x.grad)
        assert not turned, "not yet: minus the gradient; descent subtracts a gradient, so it must point at v_minus"
        hint = "one negative, the hardest, and only where the triplet is active"
        assert torch.allclose(got, x.grad, atol=1e-9), f"not yet: margin {margin}; {hint}"
    return "right"


check_query_gradient(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-query-gradient
# :class: dropdown
# ````
#
# The hardest negative minus the positive, times the indicator.


# %%
def solution(q, v_plus, V_minus, margin):
    hardest = V_minus[(V_minus @ q).argmax()]
    return (hardest - v_plus) * (margin - q @ v_plus + q @ hardest > 0)


check_query_gradient(solution)

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} Two kinds of hard
# :label: ex-semi-hard
# ````
#
# A query has the scores `[0.50, 0.20, 0.58, 0.44, 0.71, 0.36]`; the first is its positive; $\alpha = 0.2$. Which column
# does the loss Triplet-SH push down, and which columns would be semi-hard, behind the positive and inside the margin, with
# the margin taken on the scores? Answer `mine = (column, {columns})`, counted from 0.

# %%
mine = ...

# %% tags=["hide-input"]
def check_semi_hard(value):
    """Passes for the hardest negative's column and the set of columns in the window of semi-hard ones."""
    if value is ...:
        return "your turn"
    s = [0.50, 0.20, 0.58, 0.44, 0.71, 0.36]
    hardest, window = value
    largest = max(range(1, 6), key=lambda j: s[j])
    assert hardest == largest, "not yet: in spite of its name, Triplet-SH takes the maximum"
    expected = {j for j in range(1, 6) if s[0] - 0.2 < s[j] < s[0]}
    assert set(window) == expected, "not yet: semi-hard is behind the positive and inside the margin"
    return "right"


check_semi_hard(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-semi-hard
# :class: dropdown
# ````
#
# The largest is 0.71. Between 0.30 and 0.50 are 0.44 and 0.36. (On squared distances the window would be 0.40 to 0.50,
# and hold 0.44 alone.)

# %%
check_semi_hard((4, {3, 5}))

# %% [markdown]
# ````{solution-end}
# ````
#
# Next: {doc}`ntxent` lets every negative count, by degrees.
