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
# (ch-goal)=
# # GOAL: a gradient that no loss has
#
# So far a loss came first and its weights followed. GOAL {cite:p}`xuan2023dissecting` writes down the weights and leaves the loss
# out. Take a query with one positive of score $s_+$ and one negative of score $s_-$. While the positive is ahead by less than a
# margin of 0.2, the gradient *con × con* pulls the positive by 1 and pushes the negative by 1; *con × lin* pulls by $1 - s_+$ and
# pushes by $s_-$. Which of the two belongs to a loss? Walk once around a small square in the plane of $(s_+, s_-)$ and add up what
# each step should change the loss by. A walk around a square on a hillside ends at the height where it began.

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
import pandas as pd
import torch

import icrlib
from icrlib import chapter, paper, plots
from icrlib.experiments import check, live, runs
from icrlib.losses import GradientObjective, TripletSH, goal, integrability, objectives
from icrlib.losses.integrability import plane
from icrlib.widgets import loop_explorer

smoke = chapter.start(smoke)
ONE, OTHER = plots.COLOURS["triplet_sh"], plots.COLOURS["ntxent"]
RELATIVE = {"lin-ms": (0.1, 0.1), "sig-ms": (0.9, 0.4)}  # relative terms (plus, minus), held fixed on the plane
SQUARE = torch.tensor([[0.3, 0.1], [0.7, 0.1], [0.7, 0.5], [0.3, 0.5]], dtype=torch.float64)


def walk(pair_weight, steps=4000):
    """What con x pair_weight gathers along the four sides, (4, steps): field times step. The field is (-w+, w-)."""
    field, t = plane(GradientObjective("con", pair_weight)), (torch.arange(steps).double()[:, None] + 0.5) / steps
    ways = zip(SQUARE, SQUARE.roll(-1, 0), strict=True)
    return torch.stack([(field(a + t * (b - a)) * (b - a) / steps).sum(1) for a, b in ways])


# %% tags=["remove-input"] mystnb={"image": {"alt": "Two curves over the way around a square. Both are flat along the first two sides, rise along the third and fall along the fourth. con times con comes back to zero. con times lin rises to 0.20 and falls by 0.12 only: it ends at plus 0.08."}, "figure": {"name": "fig-goal-walk", "caption": "Once around a square, back to the starting point. con × con comes back to zero; con × lin is at the same point with 0.08 more “loss” than before."}}
fig, ax = plt.subplots(figsize=(6.4, 2.7))
for p, colour in {"con": ONE, "lin": OTHER}.items():
    height = walk(p).flatten().cumsum(0)
    ax.plot(torch.linspace(0, 1.6, 16000), height, color=colour, label=f"con × {p}: ends at {height[-1].abs():.2f}")
ax.axhline(0, color="black", lw=0.8)
for corner in (0.4, 0.8, 1.2):
    ax.axvline(corner, color="black", lw=0.8, ls=":")
ax.set(xlabel="way walked (dotted: corners)", ylabel="loss gathered")
ax.legend(loc="upper left", fontsize=10, frameon=True, framealpha=1, edgecolor="none");

# %% [markdown]
# con × con comes back to zero; it is the gradient of Triplet-SH. **con × lin gathers 0.08 on every round, so no continuous loss has
# this gradient.** It is no exception: of GOAL's fifteen gradients 3 belong to a loss. One can train with the others all the same.
#
# *You will be able to* build such a gradient, see in a picture whether it has a loss, and train with it · ten minutes to read · under
# a minute to run. You need {numref}`Chapter {number} <ch-triplet>`.
#
# ## The walk, by pencil
#
# The corners are (0.3, 0.1), (0.7, 0.1), (0.7, 0.5) and (0.3, 0.5). A step along $s_+$ changes a loss by $-w_+\, ds_+$, and
# one along $s_-$ by $w_-\, ds_-$, where $w_+$ is the pull and $w_-$ the push.
#
# 1. To the right, with $s_- = 0.1$, the positive is ahead by more than 0.2: nothing pulls or pushes.
# 2. Up, with $s_+ = 0.7$: the same.
# 3. Back to the left, with $s_- = 0.5$, the margin is missed all the way: con × lin gathers
#    $\int_{0.3}^{0.7} (1 - s_+)\, ds_+ = 0.20$, con × con gathers $\int_{0.3}^{0.7} ds_+ = 0.40$.
# 4. Down again, with $s_+ = 0.3$: con × lin loses $\int_{0.1}^{0.5} s_-\, ds_- = 0.12$, con × con loses 0.40.

# %%
for p in ("con", "lin"):
    sides = walk(p).sum(1)
    print(p, [round(float(side), 2) for side in sides], f"in all {sides.sum().abs():.2f}")

# %% [markdown]
# Here is the plane to try it. The arrows are con × con. Change the pair weight to lin: which arrows turn, and which only get
# shorter? Then go around once more.

# %% tags=["hide-input"]
loop_explorer(GradientObjective("con", "con"), about="A rectangle in the plane of two scores, to be walked "
              "around, and what a designed gradient gathers on the way")

# %% [markdown]
# With lin the arrows on the line $s_+ + s_- = 1$ only get shorter, since pull and push are equal there. Elsewhere they turn.
#
# ## Three weights times five
#
# Parameters feel a loss through the scores only, so a gradient is designed once the pull $w_+$ on the positive and the push $w_-$ on
# the hardest negative are written down. GOAL makes them of two factors:
#
# $$ w_+ = T(s_+, s_-)\, P_+(s_+), \qquad w_- = T(s_+, s_-)\, P_-(s_-). $$ (eq-goal-weights)
#
# The **triplet weight** $T$ looks at both scores and says how much this row counts. The **pair weight** $P$ looks at one score at a
# time.
#
# | $T$ | $T(s_+, s_-)$ | taken from |
# | --- | --- | --- |
# | con | 1 if $s_- > s_+ - m$, else 0 | Triplet-SH |
# | nca | $\sigma(\gamma (s_- - s_+))$ | NT-Xent with the hardest negative |
# | cir | $\sigma(\gamma [(1 - s_+)^2 + s_-^2 - 1])$ | Circle |
#
# | $P$ | $P_+(s_+)$ | $P_-(s_-)$ |
# | --- | --- | --- |
# | con | 1 | 1 |
# | lin | $1 - s_+$ | $s_-$ |
# | sig | $\frac{1}{1 + e^{a (s_+ - \lambda)}}$ | $\frac{1}{1 + e^{-b (s_- - \lambda)}}$ |
# | lin-ms | $(1 - \nu_+)(1 - s_+)$ | $(1 + \nu_-)\, s_-$ |
# | sig-ms | $\frac{1}{\mu_+ + e^{a (s_+ - \lambda)}}$ | $\frac{1}{\mu_- + e^{-b (s_- - \lambda)}}$ |
#
# Here $\sigma$ is the logistic function, $m = 0.2$, $a = 2$, $b = 10$ and $\lambda = 0.5$. The sharpness $\gamma = 10$ is an inverse
# temperature (GOAL prints τ for it). The *relative terms* compare a score with its neighbours: $\nu$ is the mean difference and $\mu$
# the mean of its exponential. A row without neighbours has $\nu = 0$ and $\mu = 1$, so that lin-ms is lin and sig-ms is sig. All
# pair weights but con pull less at a close positive and push less at a far negative. One goes too far: under lin a negative with a
# score below zero is pushed by less than nothing, which is a pull ({ref}`erratum-goal-10`).
#
# The released code differs in three places, and below we say which version we mean. Its con has no margin, so that it is always 1;
# its cir subtracts ½ in the bracket and not 1; and it takes 0 for a mean over no neighbours ({ref}`erratum-goal-8`,
# {ref}`erratum-goal-12`).
#
# ## A size and a ratio
#
# How many of the fifteen differ on one row of scores? A common factor of all weights of a row is only a learning rate. So divide by
# the pull. What is left is the ratio of push to pull, $w_-/w_+ = P_-/P_+$: **$T$ drops out**. Then fifteen objectives should have at
# most five ratios. Their sizes $w_+ = T P_+$ may all differ.

# %%
scores = [0.60, 0.68, 0.62, 0.56, 0.49, 0.45, 0.37, 0.25, 0.08, -0.12]  # positive first
row, own = torch.tensor([scores]).double(), torch.arange(10)[None] == 0
weights = {name: o.weights(row, own)[0] for name, o in objectives().items()}
ratios = {name: round(float(-w[1] / w[0]), 4) for name, w in weights.items()}
sizes = {round(float(-w[0]), 4) for w in weights.values()}
print(len(weights), "objectives:", len({*ratios.values()}), "ratios,", len(sizes), "sizes")
for p in goal.PAIR_WEIGHTS:
    print(f"P {p:6}: push over pull, for each T:",
          *(f"{ratios[f'goal:{t} x {p}']:.2f}" for t in goal.TRIPLET_WEIGHTS))

# %% [markdown]
# There are 5 ratios and 9 sizes: three values of $T$ times three of $P_+$, since a row with one positive has no other positives to
# compare with.
#
# Between the rows of a batch the size decides which row counts. To see how much that matters, we train a bag of words for a few
# seconds and compare cir × lin with Triplet-SH on 128 test pairs, by the cosine of their weights: on the whole batch, and with each
# row scaled to length one.

# %%
data = icrlib.load_dataset("scenes", smoke=smoke)
model = icrlib.train(data, "bow", updates=400, smoke=smoke, progress=False).model
images, captions = icrlib.evaluation.embed(model, data.test)
image_of = data.test.image_of.tolist()
first = [image_of.index(n) for n in range(min(128, len(data.test)))]  # a caption of each
batch = (images[:len(first)] @ captions[first].T).double()
eye, two = torch.eye(len(first)).bool(), (GradientObjective("cir", "lin"), TripletSH(0.2))
pair = [objective.weights(batch, eye) for objective in two]
both = (pair[0].norm(dim=1) > 0) & (pair[1].norm(dim=1) > 0)
equal = [w[both] / w[both].norm(dim=1)[:, None] for w in pair]
cosine = {name: float((a * b).sum() / (a.norm() * b.norm()))
          for name, (a, b) in {"whole": pair, "within rows": equal}.items()}
cosine

# %% [markdown]
# Within a row the two nearly agree, and on the whole they do not: cir gives most of the weight to a few rows.
#
# ## Which of them have a loss?
#
# For one positive and one negative the pair weights alone always have one, because each looks at its own score only. Call it $\Phi$:
#
# $$ \Phi = \int P_-\, ds_- - \int P_+\, ds_+, \qquad (-w_+, w_-) = T \cdot \nabla \Phi. $$ (eq-phi)
#
# So **a designed gradient has a loss exactly if $T$ is constant along the level lines of $\Phi$**. Otherwise one could walk up where
# $T$ is large and down where it is small. (This holds where $\nabla\Phi$ is nowhere zero and each level line hangs together.) For
# lin, $\Phi = \tfrac12[(1 - s_+)^2 + s_-^2]$, and its level lines are circles around the solved point $(1, 0)$.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two planes with circles around the lower right corner and arrows that cross them outwards. Left, the shaded half plane of con cuts through the circles, and a square lies across its edge. Right, the shading of cir follows the circles."}, "figure": {"name": "fig-goal-levels", "caption": "Shaded: T. Circles: the level lines of Φ for lin. Arrows: the field T∇Φ. Left, the edge of con cuts the circles, and the walk around the square gathers 0.08. Right, cir is constant along the circles: it has a loss."}}
fig, axes = plt.subplots(1, 2, figsize=(6.6, 3.6), sharey=True)
fine, coarse = ([*torch.meshgrid(*[torch.linspace(*ends).double()] * 2, indexing="xy")]
                for ends in ((0, 1, 161), (0.08, 0.92, 8)))
for ax, name in zip(axes, ("con", "cir"), strict=True):
    T = GradientObjective(name, "con")
    ax.imshow(T.on_plane(*fine)[0], origin="lower", extent=(0, 1, 0, 1), cmap="Blues", vmin=0, vmax=1.6)
    ax.contour(*fine, ((1 - fine[0]) ** 2 + fine[1] ** 2) / 2, levels=7, colors="#555555", linewidths=0.9)
    shade, (x, y) = T.on_plane(*coarse)[0], coarse
    ax.quiver(x, y, -shade * (1 - x), shade * y, angles="xy", scale=7, width=0.007, color="black")
    ax.set(title=f"{name} × lin", xlim=(0, 1), ylim=(0, 1), xlabel="$s_+$ (up: $s_-$)", xticks=(0, 1), yticks=(0, 1))
axes[0].plot(*torch.cat([SQUARE, SQUARE[:1]]).T, color=ONE, lw=2.5);

# %% [markdown]
# Each $T$ now has one question. con changes only at its edge $s_+ - s_- = m$, which must be a level line of $\Phi$. nca is constant
# along all such lines, and cir along circles. The lines fit P con, the circles fit P lin, and nothing fits the rest. `integrability`
# asks the same by derivatives and by random walks. (Derivatives alone would miss con, which jumps at one line.)

# %%
few = {"loops": 3, "points": 8} if smoke else {}
have = {}
for version in ("paper", "released"):
    tested = {name.removeprefix("goal:"): integrability(
        o, relative=RELATIVE.get(o.pair_weight, (None, None)), **few)
        for name, o in objectives(convention=version).items()}
    have[version] = [name for name, report in tested.items() if report.conservative]

# %% tags=["hide-input"]
NAMED = {"con x con": "Triplet-SH", "nca x con": "NT-Xent, hardest negative", "cir x lin": "Circle, in full"}
paper.styled(pd.DataFrame([{"": f"T {t}"} | {f"P {p}": NAMED[f"{t} x {p}"] if f"{t} x {p}" in have["paper"] else "–"
                                             for p in goal.PAIR_WEIGHTS} for t in goal.TRIPLET_WEIGHTS]),
             "The losses behind the fifteen as printed; “–”: no continuous loss.", name="goal-integrable")

# %% [markdown]
# As printed, 3 of 15 have a loss. GOAL's Table 1 names two more, and under conditions that it does not state
# ({ref}`erratum-goal-table-1`). As released, without con's edge, 7 of 15 have a loss on the plane.
#
# The criterion also designs. Bend the edge of con into a circle around $(1, 0)$, and lin has a loss again, a triplet loss with a
# round margin:

# %%
goal.TRIPLET_WEIGHTS["ring"] = lambda o, p, n: ((1 - p) ** 2 + n**2 > o.margin).to(p.dtype)
for pair_weight in ("lin", "con"):
    report = integrability(GradientObjective("ring", pair_weight, margin=0.5), **few)
    print(f"ring x {pair_weight}: has a loss: {report.conservative}")
del goal.TRIPLET_WEIGHTS["ring"]

# %% [markdown]
# ## Training without a loss
#
# Compute the signed weights $w_j$ (minus $w_+$ at the positive, plus $w_-$ at the negative), hold them constant (the bar; in torch
# `w.detach()`), and give autograd a stand-in:
#
# $$ \tilde\ell = \sum_j \bar w_j\, s_j. $$ (eq-surrogate)
#
# Its gradient is $w$, whatever $w$ is, and its value means nothing. So watch the *gap*, the mean of $s_- - s_+$. Where a loss stands
# behind the weights, training by weights is training by that loss: con × con and Triplet-SH, trained alike, have the same rsum on each of
# five draws. GOAL's Eq. 4, for one embedding, misses that it may be mined for other queries, too ({ref}`erratum-goal-4`).
#
# ### A gradient that does not listen
#
# The released code takes another road: an `autograd.Function` that stores the designed gradient and hands it back, whatever comes in.

# %%
class Ignores(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, gradient):
        ctx.save_for_backward(gradient)
        return (gradient * scores).sum()

    @staticmethod
    def backward(ctx, incoming):
        return ctx.saved_tensors[0], None  # incoming is not used


S3 = torch.tensor([[0.3, 0.5, 0.4], [-0.1, 0.4, 0.0], [0.4, 0.9, 0.7]]).double()
w = GradientObjective("cir", "lin").score_gradient(S3, torch.eye(3).bool())
for times, back in {1: 1, 0.5: 1, 65536: 65536}.items():  # a scaler divides it out again
    lengths = []
    for make in (lambda s: Ignores.apply(s, w), lambda s: (w * s).sum()):
        (make(s := S3.clone().requires_grad_()) * times).backward()
        lengths.append(float(s.grad.norm()) / back)
    print(f"loss x {times:<6} stored gradient {lengths[0]:.6f}, surrogate {lengths[1]:.6f}")

# %% [markdown]
# Half a loss gives the whole gradient. Under mixed precision PyTorch's scaler multiplies the loss by 65536 and later divides the
# gradient by the same number; the stored gradient was never multiplied, so it arrives 65536 times too small. The surrogate is an
# ordinary function of the scores and follows every factor.
#
# ## What we found
#
# - A walk around a small square gathers 0.08 of con × lin, so this gradient belongs to no continuous loss; a surrogate trains with it.
# - A designed gradient has a loss exactly if its triplet weight is constant along the level lines of $\Phi$, the loss of its pair
#   weight. Of the fifteen as printed, 3 have one.
# - The triplet weight drops out of the ratio of push to pull. On our row the fifteen have 5 ratios and 9 sizes.
# - The size says which rows of a batch count. On one trained batch the cosine of cir × lin with Triplet-SH is 0.96 within rows and
#   0.34 on the whole.
# - A stored gradient must be multiplied by the one that comes in, or halves of losses and scaled losses are ignored.

# %% tags=["hide-input"]
# checked by machine
rounds = {p: float(walk(p).sum()) for p in ("con", "lin")}
check("con × lin gathers 0.08 on every round, so no continuous loss has this gradient.", abs(rounds["con"]) < 1e-9,
      f"{rounds['lin']:.2f}")
check("A walk around a small square gathers 0.08 of con × lin,", f"{rounds['lin']:.2f}")
check("of GOAL's fifteen gradients 3 belong to a loss.", smoke or have["paper"] == [*NAMED], also="3")
check("Of the fifteen as printed, 3 have one.", smoke or len(have["paper"]) == 3, also="3")
check("As released, without con's edge, 7 of 15 have a loss", smoke or len(have["released"]) == 7, also="7 15")
ALIKE = {"lr": 3e-3, "warmup": 0, "updates": 3000, "seed": range(5)}
alike = [runs("scenes", loss=loss, **ALIKE).values().tolist() for loss in ("triplet_sh", "goal:con x con")]
check("have the same rsum on each of five draws.", alike[0] == alike[1], len(alike[0]) == 5)
check("On our row the fifteen have 5 ratios and 9 sizes.", f"{len({*ratios.values()})} ratios", f"{len(sizes)} sizes")
check("On one trained batch the cosine of cir × lin with Triplet-SH is 0.96 within rows and 0.34 on the whole.",
      live("0.96 within rows", cosine["within rows"]), live("0.34 on the whole", cosine["whole"]))

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} Look, then say
# :label: ex-level-lines
# ````
#
# With the pair weight con the level lines of $\Phi$ are the lines $s_- - s_+ = \text{const}$. Which of these triplet weights have a
# loss together with con? Give the set of names out of `"nca"`, `"cir"`, `"steep"` and `"far"`, where steep is
# $\sigma(100\,(s_- - s_+))$ and far is $1 - s_+$.

# %%
mine = ...

# %% tags=["hide-input"]
def check_level_lines(value):
    """Passes for the triplet weights that are constant where the difference of the scores is."""
    if value is ...:
        return "your turn"
    p = torch.linspace(-1, 0.8, 19, dtype=torch.float64)
    n = p + 0.1  # along one level line
    along = {"nca": torch.sigmoid(10 * (n - p)), "cir": torch.sigmoid(10 * ((1 - p) ** 2 + n**2 - 1)),
             "steep": torch.sigmoid(100 * (n - p)), "far": 1 - p}
    moves = {name: float(values.max() - values.min()) for name, values in along.items()}
    for name in sorted(set(value) ^ {name for name in moves if moves[name] < 1e-9}):
        raise AssertionError(f"not yet: where s- is s+ + 0.1, {name} changes by {moves.get(name, float('nan')):.2g}")
    return "right"


check_level_lines(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-level-lines
# :class: dropdown
# ````
#
# A function of the difference alone, however steep, is constant along those lines. The circles of cir cross them, and so does a
# weight that looks at one score.

# %%
check_level_lines({"nca", "steep"})

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} A surrogate that nobody misreads
# :label: ex-goal-surrogate
# ````
#
# The value of $\tilde\ell$ means nothing, but a number that falls will be looked at. Write a surrogate with the same gradient whose
# value is always zero: `mine = lambda s, w: ...`, of scores and weights, two (Q, M) tensors, gives a value for each query.

# %%
mine = ...

# %% tags=["hide-input"]
def check_surrogate(value):
    """Passes for a surrogate of value zero with the given weights as its gradient."""
    if value is ...:
        return "your turn"
    scores = (torch.rand(3, 4, dtype=torch.float64) - 0.5).requires_grad_()
    weights = scores**2 - 0.1  # they depend on the scores, as designed weights do
    out = value(scores, weights)
    assert out.shape == (3,), f"not yet: one value for each of the 3 queries is needed, got shape {tuple(out.shape)}"
    assert out.abs().max() < 1e-12, f"not yet: the value is {float(out.detach()[0]):+.3f} for the first query, not 0"
    assert out.requires_grad, "not yet: nothing is left to differentiate; only one of the two scores may be constant"
    (slope,) = torch.autograd.grad(out.sum(), scores)
    assert slope.abs().max() > 0, "not yet: the value is zero, and the gradient, too"
    assert (slope - weights).abs().max() < 1e-12, "not yet: the gradient is another one; are the weights held constant?"
    return "right"


check_surrogate(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-goal-surrogate
# :class: dropdown
# ````
#
# $s - \bar s$ is zero and has the slope one.

# %%
check_surrogate(lambda s, w: (w.detach() * (s - s.detach())).sum(1))

# %% [markdown]
# ````{solution-end}
# ````
#
# Next: {numref}`Chapter {number} <ch-fifteen>` trains all fifteen.
