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
# (ch-triplet)=
# # Triplet and Triplet-SH: push every violator, or the worst one?
#
# A query has one correct candidate, its **positive**, and seven wrong ones, its **negatives**. The positive should beat a negative by a
# margin; what is missing is the cost. Triplet adds this cost up over all negatives, Triplet-SH takes the largest. Whom does each of
# them push, and how hard? The bars are **weights**: the slope of the loss as that score grows.

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
import matplotlib.pyplot as plt
import torch

from icrlib import chapter
from icrlib.agreement import agreement, by_autograd, by_differences
from icrlib.experiments import check
from icrlib.losses import Triplet, TripletSH
from icrlib.widgets import explorer

smoke = chapter.start(smoke)
row = [0.60, 0.68, 0.56, 0.52, 0.47, 0.43, 0.31, 0.11]  # the positive comes first
scores = torch.tensor([row], dtype=torch.float64)
positives = torch.arange(8)[None] == 0
margin = 0.2

# %% tags=["remove-input"] mystnb={"image": {"alt": "Two bar charts of the weights on eight scores. Triplet: five negatives at plus one, the positive at minus five. Triplet-SH: one negative at plus one, the positive at minus one."}, "figure": {"name": "fig-two-pulls", "caption": "One row of scores, a margin of 0.2, two losses. Red is pushed down, blue (+) pulled up. Triplet moves five negatives and pulls the positive five times as hard."}}
fig, axes = plt.subplots(1, 2, figsize=(8, 2.6), sharey=True)
for ax, (name, loss) in zip(axes, {"Triplet": Triplet(margin), "Triplet-SH": TripletSH(margin)}.items(), strict=True):
    values = loss.weights(scores, positives)[0].tolist()
    drawn = ax.bar(range(8), values, color=["#b2182b" if value > 0 else "#2166ac" for value in values])
    ax.bar_label(drawn, [f"{value:+.0f}".replace("-", "−") if value else "0" for value in values], fontsize=10)
    ax.axhline(0, color="black", lw=0.8)
    ax.set(ylim=(-6.2, 2.2), title=f"{name}: loss {float(loss.per_query(scores, positives)):.2f}")
    ax.set_xticks(range(8), [f"{s:.2f}\n{'−' if j else '+'}" for j, s in enumerate(row)], fontsize=9)
axes[0].set_ylabel("weight", fontsize=11);

# %% [markdown]
# **Triplet pushes the 5 negatives that come within the margin of the positive, each with a weight of 1, and pulls the positive with 5.
# Triplet-SH pushes the highest negative alone.** The weights are counts: how badly a negative violates the margin does not enter.
#
# *You will be able to* derive the weights of both losses and check each line by machine · ten minutes to read · half a minute to run.
# The library has these weights:

# %% tags=["nbval-check-output"]
all_pay = Triplet(margin).weights(scores, positives)[0]
one_pays = TripletSH(margin).weights(scores, positives)[0]
print("Triplet", all_pay.int().tolist(), "Triplet-SH", one_pays.int().tolist())

# %% [markdown]
# ## Move a score
#
# Below is the same row. The curve shows the weight of the candidate that you chose at every score it could have. Before you look: where
# does Triplet's jump from 0 to 1, and where Triplet-SH's? And how far down must negative 1 go before Triplet-SH lets go of it? (Bars
# have an even scale up to a weight of 0.01, and a logarithmic one beyond.)

# %% tags=["remove-input"]
NAMES = ["the positive", *(f"negative {k}" for k in range(1, 8))]
explorer(scores, positives, {"triplet": Triplet(), "triplet_sh": TripletSH()}, columns=NAMES, together=True, curve=True,
         selected=(0, 4), controls=dict.fromkeys(("triplet", "triplet_sh"), {"margin": [0.0, 0.05, 0.1, 0.2, 0.3, 0.5]}),
         about="One positive and seven negatives under Triplet and Triplet-SH; scores and margins can be moved")

# %% [markdown]
# Triplet's curve jumps where the candidate comes within the margin of the positive, at 0.40; no other score matters to it. Triplet-SH's
# jumps where the candidate overtakes the highest other negative. So negative 1 is let go below 0.56, where negative 2 becomes the
# highest. The rest of this chapter derives these two curves.

# %% tags=["hide-input"]
# checked by machine
def pushed(loss, j, score):  # the others where they are
    return bool(loss.weights(torch.where(torch.arange(8) == j, score, scores), positives)[0, j] > 0)


check("Triplet pushes the 5 negatives that come within the margin of the positive, each with a weight of 1, and pulls "
      "the positive with 5.", f"the {int((all_pay > 0).sum())} negatives", f"weight of {float(all_pay.max()):.0f}",
      f"with {-float(all_pay[0]):.0f}", one_pays.tolist() == [-1, 1, 0, 0, 0, 0, 0, 0])
check("Triplet's curve jumps where the candidate comes within the margin of the positive, at 0.40; no other score "
      "matters to it.", f"at {row[0] - margin:.2f}", pushed(Triplet(), 4, 0.401), not pushed(Triplet(), 4, 0.399))
check("So negative 1 is let go below 0.56, where negative 2 becomes the highest.", f"below {row[2]:.2f}",
      pushed(TripletSH(), 1, 0.561), not pushed(TripletSH(), 1, 0.559), also="1 2")

# %% [markdown]
# ## The two formulas
#
# A query, its positive with score $s_+$ and one negative with score $s_-$ are a triplet. Its cost is
#
# $$ [\alpha - s_+ + s_-]_+, \qquad [x]_+ = \max(x, 0), $$
#
# zero once the positive is ahead by the margin $\alpha$. With $N$ for the query's negatives, the two losses differ in one word, *sum*
# or *max* (Eqs. 3a and 1 of ECIR, {cite:p}`bleeker2022lessons`, the paper that compares them):
#
# $$ \ell_\text{Triplet} = \sum_{j \in N} [\alpha - s_+ + s_j]_+, \qquad
#    \ell_\text{SH} = \big[\alpha - s_+ + \max_{j \in N} s_j\big]_+. $$

# %% tags=["nbval-check-output"]
own, others = scores[:, :1], scores[:, 1:]
triplet = torch.relu(margin - own + others).sum(1)
triplet_sh = torch.relu(margin - own + others.max(1, keepdim=True).values)[:, 0]
print(f"Triplet {float(triplet):.2f}, Triplet-SH {float(triplet_sh):.2f}")

# %% [markdown]
# ## The weights, line by line
#
# We want $w_j = \partial \ell / \partial s_j$ for all candidates. After each line, `agreement` compares the formula with PyTorch's own
# derivative (`"autograd"`, largest difference) and with the slope between two nearby points (`"differences"`, relative to the largest
# slope).
#
# **Line 1, the hinge.** Its slope is 0 on the left and 1 on the right, $\frac{d}{dx} [x]_+ = 1[x > 0]$.
#
# **Line 2, the inside.** $x = \alpha - s_+ + s_-$ grows with $s_-$ and falls with $s_+$, so one triplet gives
# $w_- = 1[s_+ - s_- < \alpha]$ and $w_+ = -w_-$. The size of the violation is gone: a negative just inside the margin weighs as much as
# one far ahead of the positive, and one just outside weighs nothing.

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
# **Line 4, the maximum.** A small change of a score changes $\max_j s_j$ only if that score is the largest. So the derivative of a
# maximum is 1 at its place $h$ and 0 elsewhere:
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
# Two facts follow. The weights of a row sum to zero, so that only *differences* of scores matter. And a query has a gradient under
# Triplet exactly if it has one under Triplet-SH: if any negative is inside the margin, so is the highest. Both hold, and the library's
# weights are these, on our row and on forty random queries, at four margins.

# %% tags=["hide-input"]
# checked by machine
rng = torch.Generator().manual_seed(0)
random, eye = torch.rand(40, 40, generator=rng, dtype=torch.float64) * 2 - 1, torch.eye(40, dtype=torch.bool)
for s, p in ((scores, positives), (random, eye)):
    for a in (0.0, 0.1, 0.2, 0.7):
        for loss, mine in ((Triplet(a), my_triplet), (TripletSH(a), my_triplet_sh)):
            w = loss.weights(s, p)
            assert (w - mine(s, p, a)).abs().max() == 0 and w.sum(1).abs().max() == 0
            checked = agreement(w, lambda x, f=loss, p=p: f.per_query(x, p), s)
            assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6
        assert torch.equal((w != 0).any(1), (my_triplet(s, p, a) != 0).any(1))

# %% [markdown]
# A batch is read by rows (an image asks for its caption) and by columns (a caption asks for its image). Both losses *sum* over all
# queries, as ECIR's released code does; a test of the library compares values and gradients with that code's.
#
# ## The margin decides who counts
#
# A larger margin brings in more negatives under Triplet; under Triplet-SH, which takes one negative a query, it can only bring in more
# *queries*. (Move it in the figure above.) So it is in a batch of the usual size, here of 128 random pairs read by rows, where a
# caption's vector is its image's plus noise:

# %% tags=["nbval-check-output"]
rng = torch.Generator().manual_seed(1)
images, noise = (torch.randn(128, 16, generator=rng, dtype=torch.float64) for _ in range(2))
images, captions = (v / v.norm(dim=1, keepdim=True) for v in (images, images + noise))
batch, of_batch = images @ captions.T, torch.eye(128, dtype=torch.bool)
pushes = {a: [int((loss.weights(batch, of_batch) > 0).sum()) for loss in
              (Triplet(a), TripletSH(a))] for a in (0.0, 0.2, 0.5, 1.0)}
for a, (every, worst) in pushes.items():
    print(f"margin {a}: Triplet pushes {every:5}, Triplet-SH {worst:3}")

# %% [markdown]
# At the published margin of 0.2 Triplet pushes 504 negatives of this batch, and Triplet-SH 88. So Triplet's gradient is a sum of almost
# six times as many terms. Whoever changes Triplet's margin changes the size of its gradient, too, and should choose the learning rate
# again. Once every query pushes a negative, a larger margin changes none of Triplet-SH's weights.
#
# ## What "semi-hard" means
#
# Triplet-SH has its name from FaceNet (Schroff, Kalenichenko and Philbin, 2015). There, a **semi-hard** negative is inside the margin
# but still *behind* the positive; those ahead of it are left out, as too hard. FaceNet measures squared distances, and for unit vectors
# $\lVert q - v \rVert^2 = 2 - 2\, q \cdot v$, so that a margin reaches half as far in scores: its window is
# $s_+ - \alpha/2 < s_- < s_+$. VSE++ {cite:p}`faghri2018vsepp` and ECIR take the **hardest** negative of the batch. On our row the
# rules disagree:

# %% tags=["nbval-check-output"]
squared = 2 - 2 * scores[0]
window = (squared > squared[0]) & (squared < squared[0] + margin)
facenet = int(squared.masked_fill(~window, torch.inf).argmin())
hardest = int(scores[0].masked_fill(positives[0], -torch.inf).argmax())
print(f"FaceNet takes the one at {row[facenet]:.2f}, Triplet-SH that at {row[hardest]:.2f}")

# %% [markdown]
# So the SH stands for a rule that the loss does not use. We keep the name, because the papers and their tables do; read it as "hardest
# in the batch".
#
# ## From scores to vectors
#
# A score is $s_j = q \cdot v_j$, so the chain rule turns weights into a gradient for the query. An encoder returns some $x$ and the
# score uses $q = x / \lVert x \rVert$, which adds one more link:
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


def on_circle(degrees):
    angle = torch.tensor(degrees, dtype=torch.float64).deg2rad()
    return torch.stack([angle.cos(), angle.sin()])


V, first = torch.stack([on_circle(0), on_circle(60)]), torch.tensor([[True, False]])


def loss_of(q):
    return Triplet(margin).per_query(q @ V.T, first)


q = on_circle(100)[None]
weights, x = Triplet(margin).weights(q @ V.T, first)[0], 2.5 * q
projected = tangent(x[0], weights, V)[None]
for formula, f, point in (((weights @ V)[None], loss_of, q),
                          (projected, lambda x: loss_of(x / x.norm()), x)):
    checked = agreement(formula, f, point)
    assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6

# %% [markdown]
# The cell checks both with the positive at 0° and one negative at 60° on a circle, for a query at 100°. Let the query go on, to 120°,
# the direction of $v_- - v_+$, and beyond. Nowhere does it cost more than there. Does it turn the fastest there, too? (*Slope*: the
# length of what is left, by which it turns.)

# %% tags=["nbval-check-output"]
for degrees in (60, 90, 110, 120, 130, 150):
    at, cost = on_circle(degrees), float(loss_of(on_circle(degrees)[None]))
    w = Triplet(margin).weights((at @ V.T)[None], first)[0]
    print(f"{degrees:3}°  cost {cost:.2f}  weights {w.int().tolist()}"
          f"  slope {float(tangent(at, w, V).norm()):.2f}")

# %% [markdown]
# The weights are full all along, and at the worst place the query does not turn at all: the whole gradient points along $q$ and is
# projected away. It is a peak, so a nudge is enough to leave it. But counting weights and measuring motion are two things.
#
# ````{admonition} As printed
# :class: note
#
# ECIR's Eqs. 9a and 9b print $v_+ - v_-$ as the gradient for the query. A central difference knows no algebra, and adding the print to
# it leaves zero: what is printed is **minus** the gradient, the way of a descent step. Counts and released code are not touched
# ({ref}`the errata <erratum-ecir-9>`).
# ````

# %% tags=["nbval-check-output"]
printed = -(weights @ V)  # Eq. 9b: the sum of v+ - v over the active negatives
slope = by_differences(loss_of, q)[0]
print(f"differences + printed: {float((slope + printed).abs().max()):.6f}, "
      f"differences - printed: {float((slope - printed).abs().max()):.4f}")

# %% [markdown]
# ## Corners
#
# On the hinge, and where two negatives share the maximum, every program picks a slope. At a tie `torch.max` gives the whole push to the
# first of the equal negatives and `torch.amax` divides it. The library takes the first, as the released code does, and on the hinge the
# slope 0, by the strict inequality of ECIR's Eq. 9. Ties are not rare: a model in its collapse gives every pair the same score
# ({numref}`Chapter {number} <ch-plateau>`).
#
# ## What we found
#
# - Triplet pushes every negative within the margin, and all alike; Triplet-SH pushes only the highest. How badly the margin is violated
#   does not enter. A query has weights under one exactly if it has some under the other.
# - On our row that is a pull of 5 against a pull of 1 on the same positive. In 128 made-up pairs it is 504 pushes against 88.
# - The semi-hard negative of FaceNet scored 0.56 on our row; the one that "Triplet-SH" takes scored 0.68.
# - A weight is the slope by a *score*. How far a vector turns is another matter: where the violation is worst, it does not turn at all.

# %% tags=["hide-input"]
# checked by machine
check("On our row that is a pull of 5 against a pull of 1 on the same positive.", f"of {-float(all_pay[0]):.0f} against",
      f"of {-float(one_pays[0]):.0f} on")
check("At the published margin of 0.2 Triplet pushes 504 negatives of this batch, and Triplet-SH 88.",
      "pushes {} negatives of this batch, and Triplet-SH {}".format(*pushes[0.2]), also="0.2")
check("In 128 made-up pairs it is 504 pushes against 88.", "is {} pushes against {}".format(*pushes[0.2]), also="128")
tie = torch.tensor([[0.50, 0.25, 0.25]], dtype=torch.float64)  # exact in binary
assert by_autograd(lambda x: x[:, 1:].max(1).values, tie).tolist() == [[0, 1, 0]]
assert by_autograd(lambda x: x[:, 1:].amax(1), tie).tolist() == [[0, 0.5, 0.5]]
assert Triplet(0.25).weights(tie, positives[:, :3]).tolist() == [[0, 0, 0]]
assert TripletSH(0.5).weights(tie, positives[:, :3]).tolist() == [[-1, 1, 0]]
assert TripletSH(2.5).weights(batch, of_batch).equal(TripletSH(1.5).weights(batch, of_batch))
check("The semi-hard negative of FaceNet scored 0.56 on our row; the one that \"Triplet-SH\" takes scored 0.68.",
      f"FaceNet scored {row[facenet]:.2f}", f"takes scored {row[hardest]:.2f}")

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} Five weights
# :label: ex-triplet-weights
# ````
#
# A query has the scores `[0.30, 0.55, 0.41, 0.20, 0.12]`; the **third** is its positive; $\alpha = 0.2$. Give the five weights of
# Triplet as a list, those of the loss.

# %%
mine = ...

# %% tags=["hide-input"]
def check_triplet_weights(value):
    if value is ...:
        return "your turn"
    value = torch.as_tensor(value, dtype=torch.float64).flatten()
    expected = torch.tensor([1, 1, -2, 0, 0], dtype=torch.float64)
    assert value.shape == (5,), f"not yet: five weights are needed, got {len(value)}"
    assert not value.equal(-expected), "not yet: every sign is turned around; that is the way a step goes"
    wrong = (value - expected).abs().gt(1e-9).nonzero().flatten().tolist()
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
# ````{exercise} Two kinds of hard
# :label: ex-semi-hard
#
# A query has the scores `[0.50, 0.20, 0.58, 0.44, 0.71, 0.36]`; the first is its positive; $\alpha = 0.2$. Which one does Triplet-SH
# push down, and which are semi-hard, behind the positive and inside the margin, with the margin taken on the scores?
# ````
#
# ````{solution} ex-semi-hard
# :class: dropdown
#
# It pushes the largest, 0.71. Between 0.30 and 0.50 are 0.44 and 0.36. (On squared distances the window is 0.40 to 0.50 and holds 0.44
# alone.)
# ````
#
# Next: {numref}`Chapter {number} <ch-ntxent>` lets every negative count, by degrees.
