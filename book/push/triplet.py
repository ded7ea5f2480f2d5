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
# (ch-triplet)=
# # Triplet and Triplet-SH: every violator, or the worst one
#
# A query has one correct candidate, its **positive**, and seven wrong ones, its **negatives**. The positive should beat
# a negative by a margin; what is missing is the cost. Triplet adds this cost up over all negatives, Triplet-SH takes the
# largest. Whom does each of them push, and how hard? The bars are **weights**: the slope of the loss as that score grows.

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

from icrlib import chapter, cocos, plots
from icrlib.agreement import agreement, by_autograd, by_differences
from icrlib.evidence.sentences import check, greater, number
from icrlib.losses import NTXent, SmoothAP, Triplet, TripletSH
from icrlib.widgets import explorer, explorer_on_circle, frames_slider, live

smoke = chapter.start(smoke)
PUSHED, PULLED = "#b2182b", "#2166ac"  # red is pushed down, blue is pulled up
row = [0.60, 0.68, 0.56, 0.52, 0.47, 0.43, 0.31, 0.11]  # the positive comes first
scores = torch.tensor([row], dtype=torch.float64)
positives = torch.arange(8)[None] == 0
margin = 0.2

# %% tags=["remove-input"] mystnb={"image": {"alt": "Two bar charts of the weights on eight scores. Triplet: five negatives at plus one, the positive at minus five. Triplet-SH: one negative at plus one, the positive at minus one."}, "figure": {"name": "fig-two-pulls", "caption": "One row of scores, a margin of 0.2, two losses. Red is pushed down, blue (+) pulled up. Triplet moves five negatives and pulls the positive five times as hard."}}
fig, axes = plt.subplots(1, 2, figsize=(8, 2.6), sharey=True)
for ax, (name, loss) in zip(axes, {"Triplet": Triplet(margin), "Triplet-SH": TripletSH(margin)}.items(), strict=True):
    values = loss.weights(scores, positives)[0].tolist()
    drawn = ax.bar(range(8), values, color=[PUSHED if value > 0 else PULLED for value in values])
    ax.bar_label(drawn, [f"{value:+.0f}".replace("-", "−") if value else "0" for value in values], fontsize=10)
    ax.axhline(0, color="black", lw=0.8)
    ax.set(ylim=(-6.2, 2.2), title=f"{name}: loss {float(loss.per_query(scores, positives)):.2f}")
    ax.set_xticks(range(8), [f"{s:.2f}\n{'−' if j else '+'}" for j, s in enumerate(row)], fontsize=9)
axes[0].set_ylabel("weight", fontsize=11);

# %% [markdown]
# Triplet pushes the 5 negatives that come within the margin of the positive, each with a weight of 1, and pulls the
# positive with 5. Triplet-SH pushes the highest negative alone. The weights are counts: how badly a negative violates the
# margin does not enter.
#
# *You will be able to derive the weights of both losses and check each line by machine; 12 minutes to read, under a
# minute to run.*

# %% tags=["hide-input"]
# checked by machine
all_pay, one_pays = (loss(margin).weights(scores, positives)[0] for loss in (Triplet, TripletSH))
check("Triplet pushes the 5 negatives that come within the margin of the positive, each with a weight of 1, and pulls "
      "the positive with 5.",
      number("5 1 5", [int((all_pay > 0).sum()), float(all_pay[1:6].mean()), -float(all_pay[0])]))
assert one_pays.tolist() == [-1, 1, 0, 0, 0, 0, 0, 0] and all_pay.tolist() == [-5, 1, 1, 1, 1, 1, 0, 0]

# %% [markdown]
# ## Move a score
#
# Below is the same row. The curve shows the weight of the candidate that you chose at every score it could have. Before
# you look: where does Triplet's jump from 0 to 1, and where Triplet-SH's? And how far down must negative 1 go before
# Triplet-SH lets go of it? (Bars have an even scale up to a weight of 0.01, and a logarithmic one beyond.)

# %% tags=["remove-input"]
NAMES = ["the positive", *(f"negative {k}" for k in range(1, 8))]
MARGINS = [0.0, 0.05, 0.1, 0.2, 0.3, 0.5]
explorer(scores, positives, {"triplet": Triplet(), "triplet_sh": TripletSH()}, columns=NAMES, together=True, curve=True,
         selected=(0, 4), controls={name: {"margin": MARGINS} for name in ("triplet", "triplet_sh")},
         about="One positive and seven negatives under Triplet and Triplet-SH; scores and margins can be moved")

# %% [markdown]
# Triplet's curve jumps where the candidate comes within the margin of the positive, at 0.40; no other score matters to
# it. Triplet-SH's jumps where the candidate overtakes the highest other negative. So negative 1 is let go below 0.56,
# where negative 2 becomes the highest. The rest of this chapter derives these two curves.

# %% tags=["hide-input"]
# checked by machine
def jump(loss, j):
    """The score at which candidate j begins to be pushed, the others where they are."""
    moved = torch.where(torch.arange(8) == j, torch.arange(0.001, 1, 0.01).double()[:, None], scores)
    return int((loss.weights(moved, positives.expand(100, 8))[:, j] > 0).nonzero()[0]) / 100


check("Triplet's curve jumps where the candidate comes within the margin of the positive, at 0.40; no other score "
      "matters to it.", number("0.40", jump(Triplet(), 4)))
check("So negative 1 is let go below 0.56, where negative 2 becomes the highest.",
      number("0.56", jump(TripletSH(), 1)), also="1 2")

# %% [markdown]
# ## The two formulas
#
# A query, its positive with score $s_+$ and one negative with score $s_-$ are a triplet. Its cost is
#
# $$ [\alpha - s_+ + s_-]_+, \qquad [x]_+ = \max(x, 0), $$
#
# zero once the positive is ahead by the margin $\alpha$. With $N$ for the query's negatives, the two losses differ in one
# word, *sum* or *max* (Eqs. 3a and 1 of ECIR, {cite:p}`bleeker2022lessons`, the paper that compares them):
#
# $$ \ell_\text{Triplet} = \sum_{j \in N} [\alpha - s_+ + s_j]_+, \qquad
#    \ell_\text{SH} = \big[\alpha - s_+ + \max_{j \in N} s_j\big]_+. $$

# %% tags=["nbval-check-output"]
own, others = scores[:, :1], scores[:, 1:]
triplet = torch.relu(margin - own + others).sum(1)
triplet_sh = torch.relu(margin - own + others.max(1, keepdim=True).values)[:, 0]
print("positive", own[0].tolist(), "negatives", others[0].tolist())
print(f"Triplet {float(triplet):.2f}, Triplet-SH {float(triplet_sh):.2f}")

# %% [markdown]
# ## The weights, line by line
#
# We want $w_j = \partial \ell / \partial s_j$ for all candidates. After each line, `agreement` compares the formula with
# PyTorch's own derivative (`"autograd"`, largest difference) and with the slope between two nearby points
# (`"differences"`, relative to the largest slope).
#
# **Line 1, the hinge.** Its slope is 0 on the left and 1 on the right, $\frac{d}{dx} [x]_+ = 1[x > 0]$.
#
# **Line 2, the inside.** $x = \alpha - s_+ + s_-$ grows with $s_-$ and falls with $s_+$, so one triplet gives
# $w_- = 1[s_+ - s_- < \alpha]$ and $w_+ = -w_-$. The size of the violation is gone: a negative just inside the margin
# weighs as much as one far ahead of the positive, and one just outside weighs nothing.

# %% tags=["nbval-check-output"]
pairs = torch.tensor([[0.60, 0.41], [0.60, 0.99], [0.60, 0.39]], dtype=torch.float64)
active = (pairs[:, 0] - pairs[:, 1] < margin).double()
line_2 = torch.stack([-active, active], dim=1)
checked = agreement(line_2, lambda x: torch.relu(margin - x[:, 0] + x[:, 1]), pairs)
assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6
line_2.tolist()

# %% [markdown]
# **Line 3, the sum.** In Triplet every active negative gets its own 1. The positive takes part in all of them:
#
# $$ w_j = 1[s_+ - s_j < \alpha] \ \ (j \in N), \qquad w_+ = -\sum_{j \in N} w_j. $$ (eq-triplet-weights)

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
# **Line 4, the maximum.** A small change of a score changes $\max_j s_j$ only if that score is the largest. So the
# derivative of a maximum is 1 at its place $h$ and 0 elsewhere:
#
# $$ h = \arg\max_{j \in N} s_j, \qquad w_h = 1[s_+ - s_h < \alpha], \qquad w_+ = -w_h. $$

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
# The library's weights are these, on our row and on forty random queries, at four margins. Two facts follow. The weights
# of a row sum to zero, so that only *differences* of scores matter. And a query has a gradient under Triplet exactly if it
# has one under Triplet-SH: if any negative is inside the margin, so is the highest.

# %%
rng = torch.Generator().manual_seed(0)
random = torch.rand(40, 40, generator=rng, dtype=torch.float64) * 2 - 1
eye = torch.eye(40, dtype=torch.bool)
for s, p in ((scores, positives), (random, eye)):
    for a in (0.0, 0.1, 0.2, 0.7):
        for loss, mine in ((Triplet(a), my_triplet), (TripletSH(a), my_triplet_sh)):
            w = loss.weights(s, p)
            assert (w - mine(s, p, a)).abs().max() == 0 and w.sum(1).abs().max() == 0
            checked = agreement(w, lambda x, f=loss, p=p: f.per_query(x, p), s)
            assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6
        assert torch.equal((w != 0).any(1), (my_triplet(s, p, a) != 0).any(1))

# %% [markdown]
# A batch is read by rows (an image asks for its caption) and by columns (a caption asks for its image). Both losses *sum*
# over all queries, as ECIR's released code does; a test of the library compares values and gradients with that code's.
#
# ## The margin decides who counts
#
# Slide $\alpha$ over the matrix of {doc}`../intro`, whose rows are queries. A larger margin brings in
# more negatives under Triplet; under Triplet-SH, which takes one negative a query, it can only bring in more *queries*.

# %% tags=["hide-input", "remove-output"]
S4, OWN4 = plots.example()
PAIR = {"triplet": Triplet, "triplet_sh": TripletSH}


def touched(loss):
    """Negatives that the loss pushes, row by row."""
    return (loss.weights(S4, OWN4) > 0).sum(1)


def two_matrices(margin):
    fig, axes = plt.subplots(1, 2, figsize=(6, 3.3))
    for ax, (name, kind) in zip(axes, PAIR.items(), strict=True):
        weights, cost = kind(margin).weights(S4, OWN4), float(kind(margin).per_query(S4, OWN4).sum())
        plots.matrix(ax, weights, OWN4, title=f"{plots.label(name)}: cost {cost:.2f}", weights=True, limit=3)
        ax.title.set_color(plots.COLOURS[name])
    return fig


margins = [0.0, 0.07, 0.2, 0.45]
live(two_matrices, margins, label="α")  # with a kernel; the page has the next one

# %% tags=["remove-input"]
frames_slider(two_matrices, margins, label="margin α", start=2,
              alt=lambda margin: f"Weights of four rows at margin {margin}. Negatives pushed in each row: Triplet "
                                 f"{touched(Triplet(margin)).tolist()}, Triplet-SH "
                                 f"{touched(TripletSH(margin)).tolist()}.")

# %% [markdown]
# At 0.45 Triplet pushes 9 negatives and Triplet-SH 4, one in every row. A larger margin raises Triplet-SH's loss, but
# changes none of its weights; Triplet would go on to all 12. The same on a batch of the usual size, 128 random pairs,
# where a caption's vector is its image's plus noise:

# %% tags=["nbval-check-output"]
rng = torch.Generator().manual_seed(1)
images, noise = (torch.randn(128, 16, generator=rng, dtype=torch.float64) for _ in range(2))
images, captions = (v / v.norm(dim=1, keepdim=True) for v in (images, images + noise))
batch, pairs128 = images @ captions.T, torch.eye(128, dtype=torch.bool)


def counts(margin):
    """Active triplets, and queries with at least one (ECIR Eq. 10)."""
    active = (batch.diagonal()[:, None] - batch < margin) & ~pairs128
    return int(active.sum()), int(active.any(1).sum())


for a in (0.0, 0.2, 0.5, 1.0):
    triplets, queries = counts(a)
    print(f"margin {a}: {triplets:5} active triplets, {queries:3} queries with a gradient")

# %% [markdown]
# At the published margin of 0.2 this batch has 504 active triplets, in 88 of its 128 queries. So Triplet's gradient is a
# sum of almost six times as many terms. Whoever changes Triplet's margin changes the size of its gradient, too, and should choose
# the learning rate again.

# %% tags=["hide-input"]
# checked by machine
for a in (0.0, 0.2, 0.5, 1.0):  # the library's counter, by the paper's own formulas
    every, hardest = (cocos.count(kind(a), batch, pairs128, convention="definition") for kind in (Triplet, TripletSH))
    assert (every["C_B"], hardest["C_B"]) == counts(a) and every["C_0"] == hardest["C_0"] == 128 - counts(a)[1]
check("At 0.45 Triplet pushes 9 negatives and Triplet-SH 4, one in every row.",
      number("9 4", [int(touched(kind(0.45)).sum()) for kind in (Triplet, TripletSH)]), also="0.45")
check("A larger margin raises Triplet-SH's loss, but changes none of its weights; Triplet would go on to all 12.",
      number("12", int(touched(Triplet(2.0)).sum())))
check("At the published margin of 0.2 this batch has 504 active triplets, in 88 of its 128 queries.",
      number("504 88", counts(0.2)), also="0.2 128")
assert torch.equal(TripletSH(0.45).weights(S4, OWN4), TripletSH(2.5).weights(S4, OWN4))

# %% [markdown]
# ## What "semi-hard" means
#
# Triplet-SH has its name from FaceNet (Schroff, Kalenichenko and Philbin, 2015). There, a **semi-hard** negative is inside
# the margin but still *behind* the positive; those ahead of it are left out, as too hard. FaceNet measures squared
# distances, and for unit vectors $\lVert q - v \rVert^2 = 2 - 2\, q \cdot v$, so that a margin reaches half as far in
# scores: its window is $s_+ - \alpha/2 < s_- < s_+$. VSE++ {cite:p}`faghri2018vsepp` and ECIR take the **hardest** negative
# of the batch. On our row the rules disagree.

# %% tags=["remove-input"] mystnb={"image": {"alt": "A line of scores. The positive is at 0.60. A dark band from 0.50 to 0.60 holds two negatives, at 0.52 and 0.56; a light band goes on to 0.40 and holds two more. The negative at 0.68, right of the positive and outside the bands, is marked as the choice of ECIR and VSE++."}, "figure": {"name": "fig-semi-hard", "caption": "Two rules on one row, α = 0.2. The dark band holds FaceNet's semi-hard negatives (margin on squared distances), the light one those that the same margin on scores would add. The max rule takes the hardest, ahead of the positive and outside both."}}
s, negative = scores[0], ~positives[0]
squared = 2 - 2 * s  # squared distances from the query
window = negative & (squared > squared[0]) & (squared < squared[0] + margin)
facenet = int(squared.masked_fill(~window, torch.inf).argmin())
ecir = int(s.masked_fill(~negative, -torch.inf).argmax())
fig, ax = plt.subplots(figsize=(6.6, 2.3))
ax.axvspan(0.4, 0.5, color="#ececec", lw=0)
ax.axvspan(0.5, 0.6, color="#cfcfcf", lw=0)
ax.axhline(0, color="black", lw=0.8, zorder=1)
ax.plot(s[1:], torch.zeros(7), "o", color=PUSHED, ms=9, zorder=2)
ax.plot(s[:1], [0], "D", color=PULLED, ms=10, zorder=2)
lines = {"arrowstyle": "-", "lw": 1, "color": "black"}
for j, start, at_text, text, side in ((0, -0.1, (0.62, -0.66), "positive", "left"),
                                      (facenet, 0.1, (0.55, 0.6), "nearest\nsemi-hard", "right"),
                                      (ecir, 0.1, (0.68, 0.55), "ECIR, VSE++", "center")):
    ax.annotate(text, (float(s[j]), start), at_text, ha=side, va="center", fontsize=10.5, arrowprops=lines)
for end, text in ((0.6, "margin on\ndistance²"), (0.5, "margin on\nscores")):
    ax.text(end - 0.003, -0.6, text, ha="right", va="center", fontsize=9.5)
ax.set(xlim=(0.05, 0.78), ylim=(-1, 0.95), yticks=[], xlabel="score")
ax.spines["left"].set_visible(False);

# %% [markdown]
# So the SH stands for a rule that the loss does not use. We keep the name, because the papers and their tables do; read it
# as "hardest in the batch".
#
# ## From scores to vectors
#
# A score is $s_j = q \cdot v_j$, so the chain rule turns weights into a gradient for the query. An encoder returns some $x$
# and the score uses $q = x / \lVert x \rVert$, which adds one more link:
#
# $$ \frac{\partial \ell}{\partial q} = \sum_j w_j v_j, \qquad
#    \frac{\partial \ell}{\partial x} = \frac{1}{\lVert x \rVert} \big(I - q q^\top\big) \sum_j w_j v_j. $$ (eq-projection)
#
# The matrix takes away the part along $q$. What is left is **tangent** to the sphere.

# %%
def tangent(x, weights, V):
    q = x / x.norm()
    pull = weights @ V
    return (pull - (pull @ q) * q) / x.norm()


rng = torch.Generator().manual_seed(5)
V = torch.randn(8, 6, generator=rng, dtype=torch.float64)
V = V / V.norm(dim=1, keepdim=True)
q = V[0] + 0.9 * V[1:3].sum(0)  # near its positive, and near two negatives
q, MARGIN = (q / q.norm())[None], 0.5


def loss_of(q):
    return Triplet(MARGIN).per_query(q @ V.T, positives)


weights, x = Triplet(MARGIN).weights(q @ V.T, positives)[0], 2.5 * q
projected = tangent(x[0], weights, V)[None]
for formula, f, point in (((weights @ V)[None], loss_of, q),
                          (projected, lambda x: loss_of(x / x.norm()), x)):
    checked = agreement(formula, f, point)
    assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6

# %% [markdown]
# A weight, then, is not the whole story. Put the positive at 0° and one negative at 60° on a circle, and let the query go
# all the way around.

# %% tags=["remove-input"] mystnb={"image": {"alt": "The cost of one triplet over the angle of the query: a hill. The weight of the negative is one over the whole hill, but the slope is zero at its top, at 120 degrees."}, "figure": {"name": "fig-around", "caption": "One triplet, all positions of the query. Wherever there is a cost the weight is 1. The slope, which moves the query, is zero at the top of the hill, where the violation is worst."}}
theta = torch.linspace(-180, 180, 721, dtype=torch.float64)
cost = torch.relu(0.2 - torch.cos(theta.deg2rad()) + torch.cos((theta - 60).deg2rad()))
turning = (torch.sin(theta.deg2rad()) - torch.sin((theta - 60).deg2rad())) * (cost > 0)
fig, ax = plt.subplots(figsize=(6.4, 3))
ax.plot(theta, cost, color="black", lw=2.2, label="cost")
ax.plot(theta, (cost > 0).double(), color=PUSHED, lw=1.8, ls="--", label="weight of the negative")
ax.plot(theta, turning, color=plots.COLOURS["triplet"], lw=1.8, label="slope, per radian")
ax.axvline(120, color="black", lw=0.8, ls=":")
ax.set(xlabel="angle of the query, degrees", xticks=range(-180, 181, 60), ylim=(-1.15, 2.1))
ax.legend(loc="upper left", fontsize=10);

# %% [markdown]
# At 120°, the direction of $v_- - v_+$, the cost is highest, the weights are full, and the query does not move: all of
# the gradient points along $q$ and is projected away. It is a peak, so a nudge is enough to leave it. But counting weights
# and measuring motion are two things. The same factor slows down candidates: one with weight $w_j$ moves a query by
# $\lvert w_j \rvert \sqrt{1 - s_j^2}$, least where the two nearly agree or are opposite.

# %% tags=["hide-input"]
# checked by machine
two = torch.tensor([[1.0, 0.0], [0.5, 0.75**0.5]], dtype=torch.float64)  # at 0° and 60°
worst, one = two[1] - two[0], torch.tensor([[True, False]])  # of length 1
assert theta[cost.argmax()] == 120 and abs(math.degrees(math.atan2(worst[1], worst[0])) - 120) < 1e-9
w = Triplet(0.2).weights((two @ worst)[None], one)[0]
assert w.tolist() == [-1, 1] and tangent(worst, w, two).norm() < 1e-12
for v in V:
    assert abs((v - (v @ q[0]) * q[0]).norm() - (1 - (v @ q[0]) ** 2).sqrt()) < 1e-12

# %% [markdown]
# Now a whole batch that moves: four pictures and four captions on a circle, all free to turn, under these two losses and
# the two of the next chapters. They ask in both directions, which makes eight queries; one is *solved* if its partner
# scores highest. Each loss has a rate at which its first step moves one point by four degrees. Which loss will solve all
# eight from this start, and which will stop? Press *Play*, then drag a point and try again.

# %% tags=["remove-input"]
PICTURES, CAPTIONS = [10, 60, 130, 250], [100, 20, 200, 215]
BESIDE = {"triplet": Triplet(), "triplet_sh": TripletSH(), "ntxent": NTXent(), "smoothap": SmoothAP()}
explorer_on_circle(PICTURES, CAPTIONS, BESIDE, about="Four pictures and four captions on a circle under four losses")

# %% [markdown]
# After 150 steps the two triplet losses are at zero and at rest: once every match is ahead by the margin, nothing has a
# weight. NT-Xent has solved all 8, too, and goes on, because a softmax leaves every candidate some weight. SmoothAP has
# stopped with 3 of 8 solved: no score nearly ties with a match, and near ties are all that it sees
# ({numref}`Chapter {number} <ch-smoothap>`).

# %% tags=["hide-input"]
# checked by machine
def after(loss, steps):
    """The same descent by autograd: the loss, how many of the eight queries are solved, and the largest weight."""
    at, own, rate = torch.tensor([PICTURES, CAPTIONS]).double().deg2rad().requires_grad_(), torch.eye(4) > 0, None
    for step in range(steps + 1):
        s = (at[0][:, None] - at[1]).cos()
        (slope,) = torch.autograd.grad(value := loss(s, own), at)
        rate = rate or math.radians(4) / float(slope.abs().max())
        if step < steps:
            at = (at - rate * slope).detach().requires_grad_()
    s, right = s.detach(), int((s.diag() >= s.amax(1)).sum() + (s.diag() >= s.amax(0)).sum())
    return float(value.detach()), right, float(loss.score_gradient(s, own).abs().max())


AFTER = {name: after(loss, 150) for name, loss in BESIDE.items()}
check("NT-Xent has solved all 8, too, and goes on, because a softmax leaves every candidate some weight.",
      number("8", AFTER["ntxent"][1]), greater(lambda x: x, AFTER["ntxent"][0], 0))
check("SmoothAP has stopped with 3 of 8 solved: no score nearly ties with a match, and near ties are all that it sees",
      number("3", AFTER["smoothap"][1]), also="8")
assert AFTER["triplet"][:2] == AFTER["triplet_sh"][:2] == (0, 8) and AFTER["smoothap"][2] < 1e-4

# %% [markdown]
# ````{admonition} As printed
# :class: note
#
# ECIR's Eqs. 9a and 9b print $v_+ - v_-$ as the gradient for the query. A central difference knows no algebra, and adding
# the print to it leaves zero: what is printed is **minus** the gradient, the way of a descent step. Counts and released
# code are not touched ({ref}`the errata <erratum-ecir-9>`).
# ````

# %% tags=["nbval-check-output"]
printed = -(weights @ V)  # Eq. 9b: the sum of v+ - v over the active negatives
slope = by_differences(loss_of, q)[0]
print(f"differences + printed: {float((slope + printed).abs().max()):.6f}, "
      f"differences - printed: {float((slope - printed).abs().max()):.4f}")

# %% [markdown]
# ## Corners
#
# On the hinge, and where two negatives share the maximum, every program picks a slope. These numbers are exact in binary.

# %% tags=["nbval-check-output"]
corner = torch.tensor([[0.50, 0.25]], dtype=torch.float64)  # margin 0.25
for name, hinge in {"relu": torch.relu, "clamp": lambda x: x.clamp(min=0)}.items():
    slope = by_autograd(lambda x, h=hinge: h(0.25 - x[:, 0] + x[:, 1]), corner)[0, 1]
    print(f"on the hinge, {name}: {float(slope):.0f}")
tie = torch.tensor([[0.50, 0.45, 0.45, 0.10]], dtype=torch.float64)
maxima = {"max": lambda x: x.max(1).values, "amax": lambda x: x.amax(1)}
for name, largest in maxima.items():
    w = by_autograd(lambda x, f=largest: torch.relu(0.2 - x[:, 0] + f(x[:, 1:])), tie)
    print(f"at a tie, {name}:", w[0].tolist())
assert Triplet(0.25).weights(corner, one)[0, 1] == 0
assert TripletSH().weights(tie, torch.arange(4)[None] == 0).tolist() == [[-1, 1, 0, 0]]

# %% [markdown]
# The library follows the strict inequality of ECIR's Eq. 9 on the hinge, and at a tie the first index, as the released code
# does. Ties are not rare: a model in its collapse gives every pair the same score
# ({numref}`Chapter {number} <ch-plateau>`).
#
# ## What we found
#
# - Triplet pushes every negative within the margin, and all alike; Triplet-SH pushes only the highest. How badly the
#   margin is violated does not enter. A query has a gradient under one exactly if it has one under the other.
# - On our row that is a pull of 5 against a pull of 1 on the same positive. In a batch of 128 made-up pairs 504 triplets
#   are active, in 88 queries.
# - The semi-hard negative of FaceNet scored 0.56 on our row; the one that "Triplet-SH" takes scored 0.68.
# - A weight is the slope by a *score*. How far a vector turns is another matter: where the violation is worst, it does not
#   turn at all.

# %% tags=["hide-input"]
# checked by machine
check("On our row that is a pull of 5 against a pull of 1 on the same positive.",
      number("5 1", [-all_pay[0], -one_pays[0]]))
check("In a batch of 128 made-up pairs 504 triplets are active, in 88 queries.",
      number("504 88", counts(0.2)), also="128")
check("The semi-hard negative of FaceNet scored 0.56 on our row; the one that \"Triplet-SH\" takes scored 0.68.",
      number("0.56 0.68", [row[facenet], row[ecir]]))

# %% [markdown]
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
# ````{exercise-start} A standstill
# :label: ex-standstill
# ````
#
# Find a start on the circle from which Triplet has not solved all eight queries after 150 steps. (Try two pictures at one
# place, and captions on the other side.) What holds the unsolved queries up?
#
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-standstill
# :class: dropdown
# ````
#
# Pictures at 201, 201, 33 and 76 degrees and captions at 3, 14, 357 and 329 are one. A point moves by the part of its pulls and
# pushes that is at right angles to itself: partners on opposite sides pull along the diameter, with little of it across, and
# two points at one place are moved nearly alike, so that none gets ahead of the other.
#
# ````{solution-end}
# ````
#
# Next: {numref}`Chapter {number} <ch-ntxent>` lets every negative count, by degrees.
