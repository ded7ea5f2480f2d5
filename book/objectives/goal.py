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
# # GOAL: a gradient that no loss has
#
# **What you will be able to do:** build a gradient out of a triplet weight and a pair weight; read its picture; train with
# it, and check that it does what a loss would do where one stands behind it. **Time:** under a minute on one core. **You
# need:** {doc}`../foundations/task` and {doc}`../gradients/triplet`.
#
# In the chapters before, a loss came first and its weights followed. GOAL {cite:p}`xuan2023dissecting` goes the other
# way: it writes down the weights. Here are two of its fifteen sets, con × con and con × lin. The first word, the *triplet
# weight*, says which triplets count: here those that are not yet apart by a margin. The second, the *pair weight*, says how
# hard each of the two scores is moved. A query has one positive with score $s_+$ and one negative with score $s_-$. Walk
# once around a small square in the plane of $(s_+, s_-)$, and add up what each little
# step should change the loss by. A walk around a square on a hillside ends at the height where it began, and so should
# this one.

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
from torch.nn.functional import normalize

from icrlib import chapter, paper, plots
from icrlib.agreement import agreement, by_autograd
from icrlib.losses import GradientObjective, HardNTXent, TripletSH, goal, objectives
from icrlib.widgets import frames_slider, live, loop_explorer

smoke = chapter.start(smoke)
ONE, OTHER = plots.COLOURS["triplet_sh"], plots.COLOURS["ntxent"]


# %%
def square(x, y, half):
    """Corners of a square around (x, y), against the clock."""
    sides = [[-half, -half], [half, -half], [half, half], [-half, half]]
    return torch.tensor([x, y], dtype=torch.float64) + torch.tensor(sides).double()


def walk(field, corners, steps=4000):
    """The sum of field · step along the way, after every step."""
    ends = corners.roll(-1, 0)
    t = (torch.arange(steps, dtype=torch.float64)[:, None] + 0.5) / steps
    sides = zip(corners, ends, strict=True)
    sums = [(field(a + t * (b - a)) * (b - a) / steps).sum(1) for a, b in sides]
    return torch.cat(sums).cumsum(0)


# %%
def con_con(points, margin=0.2):
    """The gradient of the triplet loss: pull 1, push 1, inside the margin."""
    p, n = points.T
    inside = (margin + n - p > 0).double()
    return torch.stack([-inside, inside], 1)


def con_lin(points, margin=0.2):
    """The same triplets; but pull by 1 - s+, push by s-."""
    p, n = points.T
    return con_con(points, margin) * torch.stack([1 - p, n], 1)


B = square(0.5, 0.3, 0.2)
walks = {"con × con": walk(con_con, B), "con × lin": walk(con_lin, B)}

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two curves over the way around a square. Both are flat along the first two sides, rise along the third and fall along the fourth. con times con comes back to zero. con times lin rises to 0.20 and falls by 0.12 only: it ends at plus 0.08."}, "figure": {"name": "fig-goal-walk", "caption": "Once around a square, back to the starting point. Both gather nothing along the first two sides, then rise, then fall. The triplet gradient comes back to zero. The other one does not: the same point, and 0.08 more \"loss\" than before."}}
fig, ax = plt.subplots(figsize=(6.4, 3))
way = torch.linspace(0, 1.6, 16000)
for (name, height), colour in zip(walks.items(), (ONE, OTHER), strict=True):
    ax.plot(way, height, color=colour, label=f"{name}: ends at {round(float(height[-1]), 2) + 0.0:+.2f}")
    ax.plot(way[-1:], height[-1:], "o", color=colour)
ax.axhline(0, color="black", lw=0.8)
for corner in (0.4, 0.8, 1.2):
    ax.axvline(corner, color="black", lw=0.8, ls=":")
ax.set(xlabel="way walked (dotted: corners)", ylabel="loss gathered")
ax.legend(loc="upper left", fontsize=10, frameon=True, framealpha=1, edgecolor="none");

# %% tags=["nbval-check-output"]
turned = walk(con_lin, B.flip(0))[-1]
gained = float(walks["con × lin"][-1])
assert abs(float(walks["con × con"][-1])) < 1e-12 and abs(gained - 0.08) < 1e-5
for height in walks.values():  # sides 1 and 2 flat, 3 up, 4 down
    assert height[:8000].abs().max() < 1e-12
    assert (height[8000:12000].diff() > 0).all() and (height[12000:].diff() < 0).all()
assert abs(float(walks["con × lin"][11999]) - 0.20) < 1e-3
print(f"con x lin: {gained:+.4f}, the other way round {float(turned):+.4f}")

# %% [markdown]
# Along the first two sides the positive is ahead by the margin and more, so both gather nothing. The third side lowers
# the positive, which costs; the fourth lowers the negative, which gives back. con × con gives back all that it took.
# con × lin does not: along the third side its pull grows from 0.3 to 0.7, along the fourth its push shrinks from 0.5 to
# 0.1, and the sums over the two sides differ. ({doc}`integrate` finds the reason. That the pull and the push differ in
# size is not enough: cir × lin has the same two pair weights, and every walk with it ends at zero.)
#
# But a loss has *one* value at one point. So no continuous loss has con × lin as its gradient: walk around often enough,
# and what has been gathered is as large as you like. (A value that jumps at the margin can have these slopes, and
# {doc}`integrate` writes one down. A descent follows slopes and would not feel its jumps.) Here is the plane to try it.
# The arrows are con × con, which gathers nothing on any closed walk. Change the pair weight to lin: which arrows turn, and
# which only get shorter? Then go around once more.

# %% tags=["hide-input"]
loop_explorer(GradientObjective("con", "con"), about="A rectangle in the plane of two scores, to be walked "
              "around, and what a designed gradient gathers on the way")

# %% [markdown]
# With lin the arrows on the line $s_+ + s_- = 1$ only get shorter, since pull and push are equal there. Below it the pull
# is larger and they turn to the left, above it the push is larger and they turn upwards.
#
# Yet one can train with such a gradient. How is it built, and what is trained if there is no loss to fall? (How many of
# GOAL's fifteen are like con × lin, and how one can tell, is a question of its own: {doc}`integrate`.)
#
# ## From a loss to three factors
#
# GOAL starts from the chain rule (GOAL Eqs. 1 and 2): parameters feel the loss only through the embeddings. And the
# embeddings feel it only through the scores. For a triplet of anchor $x$, positive $y$ and mined negative $y'$
#
# $$ \begin{gathered} \frac{\partial \ell}{\partial x} = \underbrace{\frac{\partial \ell}{\partial s_+}}_{-w_+} y
#    + \underbrace{\frac{\partial \ell}{\partial s_-}}_{+w_-} y', \\
#    w_+ = T \cdot P_+, \quad w_- = T \cdot P_-. \end{gathered} $$ (eq-goal-weights)
#
# Three factors: a **triplet weight** $T(s_+, s_-)$ that looks at both scores; a **pair weight**, $P_+(s_+)$ or
# $P_-(s_-)$, that looks at one; and a direction, $y$ or $y'$. (The printed Eq. 2 has a slip in its first factor:
# {ref}`erratum-goal-2`.) If the scores were free, a step of descent would raise $s_+$ by $w_+$ and lower $s_-$ by $w_-$,
# times the learning rate; embeddings move many scores at once.
#
# ### The mined negative feels it too
#
# GOAL's Eq. 3 sums up the gradient of an embedding $x$, and Eq. 4 does so for the triplet loss. Both give $x$ two roles: it
# is an anchor, and it is the positive of its caption. In a batch it has a third. Other captions may have mined it as
# *their* negative. Six pairs are enough to see the difference.

# %%
rng = torch.Generator().manual_seed(0)
X = normalize(torch.randn(6, 4, generator=rng, dtype=torch.float64), dim=1)
Y = normalize(X + 0.5 * torch.randn(6, 4, generator=rng, dtype=torch.float64), dim=1)
eye6 = torch.eye(6, dtype=torch.bool)
S6 = X @ Y.T
others = S6.masked_fill(eye6, -torch.inf)
(hard_y, mined_y), (hard_x, mined_x) = others.max(1), others.max(0)
own = S6.diagonal()
row_active = (0.2 + hard_y - own > 0).double()[:, None]
column_active = (0.2 + hard_x - own > 0).double()[:, None]

# %% tags=["nbval-check-output"]
eq_4 = row_active * (Y[mined_y] - Y) - column_active * Y  # as printed
third = torch.zeros_like(X).index_add(0, mined_x, column_active * Y)
leaf = X.clone().requires_grad_()
TripletSH(0.2)(leaf @ Y.T, eye6).backward()
field = TripletSH(0.2).score_gradient(S6, eye6)
assert (field @ Y - leaf.grad).abs().max() < 1e-10
assert (eq_4 + third - leaf.grad).abs().max() < 1e-10
missing = float((eq_4 - leaf.grad).norm() / leaf.grad.norm())
print(f"length of the error over the gradient's: Eq. 4 {missing:.2f}, with the third 0")

# %% [markdown]
# So we never write gradients of embeddings by hand. We write the matrix $G = \partial \ell / \partial S$, and let
# $\partial \ell / \partial X = G Y$ and $\partial \ell / \partial Y = G^\top X$ do the rest. All roles are in it. The
# released code adds the third role as well: {ref}`erratum-goal-4`.
#
# ## Three triplet weights
#
# **con.** The triplet loss with a hard negative, $[m + s_- - s_+]_+$ (GOAL Eq. 4), has slope 0 or 1 (GOAL Eq. 5):
#
# $$ T^\text{con} = 1[m + s_- - s_+ > 0]. $$
#
# **nca.** NT-Xent with the one hard negative (GOAL Eq. 6) is
# $-\log \frac{e^{\gamma s_+}}{e^{\gamma s_+} + e^{\gamma s_-}} = \log(1 + e^{\gamma (s_- - s_+)})$. The number $\gamma$ is a
# **sharpness**: the larger it is, the more abruptly a weight changes with the scores. (GOAL prints $\tau$ for it. In this
# book $\tau$ is always a temperature, by which scores are divided, so that $\gamma = 1/\tau$. Only in code the name
# stays: the argument `tau` of `GradientObjective` is GOAL's, and holds $\gamma$.) The slope of $\log(1 + e^z)$ is $\sigma(z)$. So, up
# to the factor $\gamma$ (GOAL Eq. 7),
#
# $$ T^\text{nca} = \sigma(\gamma (s_- - s_+)). $$
#
# **cir.** From Circle loss (GOAL Eq. 8), rewritten with $s_+ (2 - s_+) = 1 - (1 - s_+)^2$:
#
# $$ T^\text{cir} = \sigma\big(\gamma\, [(1 - s_+)^2 + s_-^2 - 1]\big). $$
#
# Its level lines are circles around $(1, 0)$, the scores that Circle loss aims at. The released code has
# $-\tfrac12$ in place of the $-1$, and its con has no margin: always 1 ({ref}`erratum-goal-5`, {ref}`erratum-goal-8`).

# %%
TAU, MARGIN = 10.0, 0.2  # TAU: the sharpness γ


def T_con(p, n):
    return (MARGIN + n - p > 0).double()


def T_nca(p, n, tau=TAU):
    return torch.sigmoid(tau * (n - p))


def T_cir(p, n, tau=TAU, minus=1.0):
    return torch.sigmoid(tau * ((1 - p) ** 2 + n**2 - minus))


# %% [markdown]
# The check: the first two are slopes of their losses. (`agreement` compares a weight with autograd and with differences of
# a value.) Eq. 6 has slope $\gamma\, T^\text{nca}$; the paper drops the factor ({ref}`erratum-goal-6`). $T^\text{cir}$ alone is
# not the slope of Circle loss, whose slopes contain pair weights too; {doc}`integrate` compares them.

# %%
rng = torch.Generator().manual_seed(1)
pairs = torch.rand(60, 2, generator=rng, dtype=torch.float64) * 2 - 1  # rows (s+, s-)
p, n = pairs.T


def triplet_loss(x):
    return torch.relu(MARGIN + x[:, 1] - x[:, 0])


def eq_6(x):
    return -torch.log(torch.exp(TAU * x[:, 0]) / torch.exp(TAU * x).sum(1))


for T, loss in ((T_con(p, n), triplet_loss), (TAU * T_nca(p, n), eq_6)):
    checked = agreement(torch.stack([-T, T], 1), loss, pairs)
    assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6

# %% [markdown]
# The library has the same $T$. Asked with the pair weight that is 1, an objective's `on_plane` gives $T$ itself at any two
# scores:

# %%
mine = {"con": T_con(p, n), "nca": T_nca(p, n), "cir": T_cir(p, n)}
mine_released = mine | {"con": torch.ones_like(p), "cir": T_cir(p, n, minus=0.5)}
for name in goal.TRIPLET_WEIGHTS:
    for convention, known in (("paper", mine), ("released", mine_released)):
        plus, minus = GradientObjective(name, "con", convention=convention).on_plane(p, n)
        assert torch.equal(plus, minus) and (plus - known[name]).abs().max() < 1e-12

# %% tags=["hide-input"] mystnb={"image": {"alt": "Four squares with the positive score to the right and the negative score up. con is a step along a diagonal, nca a ramp across the diagonal, cir a ramp along circles around the lower right corner; with the released shift these circles are smaller."}, "figure": {"name": "fig-goal-2", "caption": "GOAL's Figure 2, computed, and cir as released. Bottom right a triplet is solved, top left it is the wrong way round. Dark is weight 1; lines at 0.1, 0.5 and 0.9. Level lines are straight for nca, circles for cir."}}
axis = torch.linspace(0, 1, 161, dtype=torch.float64)
P_AXIS, N_AXIS = torch.meshgrid(axis, axis, indexing="xy")


def diagram(ax, values, title, top=1.0, levels=(0.1, 0.5, 0.9)):
    shades = torch.linspace(0, top, 11).tolist()
    ax.contourf(P_AXIS, N_AXIS, values, levels=shades, cmap="Blues", vmin=0, vmax=top, extend="both", antialiased=False)
    if float(values.max() - values.min()) > 1e-9:
        ax.contour(P_AXIS, N_AXIS, values, levels=levels, colors="black", linewidths=0.9)
    ax.set(title=title, xticks=[], yticks=[], aspect="equal")


fig, axes = plt.subplots(2, 2, figsize=(4.9, 5.1), sharex=True, sharey=True)
panels = {"con, m = 0.2": T_con(P_AXIS, N_AXIS), "nca, γ = 10": T_nca(P_AXIS, N_AXIS),
          "cir, Eq. 8": T_cir(P_AXIS, N_AXIS), "cir, as released": T_cir(P_AXIS, N_AXIS, minus=0.5)}
for ax, (title, values) in zip(axes.flat, panels.items(), strict=True):
    diagram(ax, values, title)
    ax.set(xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
fig.supxlabel("positive score $s_+$", fontsize=11)
fig.supylabel("negative score $s_-$", fontsize=11);

# %% [markdown]
# ### Does cir give more to the corners?
#
# The paper says that $T^\text{cir}$ "increases the weight" of corner cases: both scores high, or both low. Compare it
# with $T^\text{nca}$. A sigmoid grows, so it is enough to compare what is inside:
#
# $$
# \begin{aligned}
# & [(1 - s_+)^2 + s_-^2 - 1] - [s_- - s_+] \\
# & \quad = -\big[s_+ (1 - s_+) + s_- (1 - s_-)\big].
# \end{aligned}
# $$
#
# For scores between 0 and 1 this is never above zero. With the released shift, $\tfrac12$ is added, and it is never
# below.

# %% tags=["nbval-check-output"]
fine = torch.linspace(0, 1, 401, dtype=torch.float64)
a, b = torch.meshgrid(fine, fine, indexing="ij")
nca = T_nca(a, b)
more = {"Eq. 8": T_cir(a, b) - nca, "released": T_cir(a, b, minus=0.5) - nca}
for name, difference in more.items():
    equal = [(round(float(a[i, j]), 2), round(float(b[i, j]), 2))
             for i, j in (difference.abs() < 1e-12).nonzero()]
    above, below = (difference > 1e-12).any(), (difference < -1e-12).any()
    print(f"{name}: above nca {bool(above)}, below {bool(below)}, equal at", *equal)

# %% tags=["hide-input"]
places = {"middle (½, ½)": (0.5, 0.5), "both high (.9, .9)": (0.9, 0.9), "both low (.1, .1)": (0.1, 0.1),
          "wrong way round (.7, .9)": (0.7, 0.9), "solved (.9, .4)": (0.9, 0.4)}
at = {name: torch.tensor(place, dtype=torch.float64) for name, place in places.items()}
paper.styled(pd.DataFrame([
    {"triplet (s+, s−)": name, "con": f"{float(T_con(*x)):.0f}", "nca": f"{float(T_nca(*x)):.3f}",
     "cir, Eq. 8": f"{float(T_cir(*x)):.3f}", "cir, released": f"{float(T_cir(*x, minus=0.5)):.3f}"}
    for name, x in at.items()
]), "Triplet weights at five places, γ = 10, m = 0.2.", name="goal-corners")

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
for corner in ("both high (.9, .9)", "both low (.1, .1)"):
    for minus in (1.0, 0.5):
        assert T_cir(*at[corner], minus=minus) > T_cir(*at["middle (½, ½)"], minus=minus)
    assert T_cir(*at[corner]) < T_nca(*at[corner]) < T_cir(*at[corner], minus=0.5)

# %% [markdown]
# Against its own middle the corners (both high, both low) do gain, in both versions. But the printed cir gives them less
# than nca, the released one more. So in absolute numbers the sentence needs the shift that the paper does not print. Which
# version made the paper's tables cannot be told from the release.
#
# ## Five pair weights
#
# | | $P_+$ | $P_-$ | |
# | --- | --- | --- | --- |
# | con | 1 | 1 | GOAL Eq. 9 |
# | lin | $1 - s_+$ | $s_-$ | GOAL Eq. 10 |
# | sig | $1 / (1 + e^{a (s_+ - \lambda)})$ | $1 / (1 + e^{-b (s_- - \lambda)})$ | GOAL Eq. 11 |
# | sig-ms | $1 / (\mu_+ + e^{a (s_+ - \lambda)})$ | $1 / (\mu_- + e^{-b (s_- - \lambda)})$ | GOAL Eq. 12 |
# | lin-ms | $(1 - \nu_+)(1 - s_+)$ | $(1 + \nu_-)\, s_-$ | GOAL Eq. 13 |
#
# The idea is the same in all but the first: a positive that is already close needs little pull, a negative that is far
# away needs little push. The relative terms $\mu$ and $\nu$ come in the next section. For now they are numbers; the
# paper's Figure 3 takes 0.1 for all four.

# %%
ALPHA, BETA, LAM = 2.0, 10.0, 0.5


def pair_weights(name, p, n, plus, minus):
    """P+ and P-; plus and minus are the relative terms (mu or nu)."""
    if name == "con":
        return torch.ones_like(p), torch.ones_like(n)
    if name.startswith("lin"):
        return (1 - plus) * (1 - p), (1 + minus) * n
    far, near = torch.exp(ALPHA * (p - LAM)), torch.exp(-BETA * (n - LAM))
    return 1 / (plus + far), 1 / (minus + near)


FIG_3 = {"con": (0, 0), "lin": (0, 0), "sig": (1, 1)}
FIG_3 |= {"lin-ms": (0.1, 0.1), "sig-ms": (0.1, 0.1)}
for name, terms in FIG_3.items():
    ours = pair_weights(name, p, n, *terms)
    library = GradientObjective("con", name, convention="released").on_plane(p, n, terms)
    assert all((x - y).abs().max() < 1e-12 for x, y in zip(ours, library, strict=True))

# %% tags=["hide-input"] mystnb={"image": {"alt": "Left, five weights of a positive over its score: con is flat, the others fall, sig-ms from above two. Right, five weights of a negative: con is flat, lin and lin-ms rise as lines, sig as an S, and sig-ms leaves the figure."}, "figure": {"name": "fig-goal-3", "caption": "GOAL's Figure 3, computed (a = 2, b = 10, λ = 0.5, all relative terms 0.1). The same 0.1 changes lin by a tenth, and multiplies the push of sig at high scores by more than nine."}}
PAIR_COLOURS = dict(zip(FIG_3, ("black", "#0173b2", "#de8f05", "#56b4e9", "#d55e00"), strict=True))
fig, axes = plt.subplots(1, 2, figsize=(6.8, 3.2))
for name, terms in FIG_3.items():
    style = {"color": PAIR_COLOURS[name], "ls": "--" if "ms" in name else "-", "label": name}
    for ax, values in zip(axes, pair_weights(name, axis, axis, *terms), strict=True):
        ax.plot(axis, values, **style)
axes[0].set(title="positive, $P_+$", xlabel="$s_+$", ylabel="pair weight", ylim=(0, 2.3))
axes[1].set(title="negative, $P_-$", xlabel="$s_-$", ylim=(0, 2.3))
highest = float(pair_weights("sig-ms", axis, axis, 0.1, 0.1)[1][-1])
assert highest > 9 * float(pair_weights("sig", axis, axis, 1, 1)[1][-1])
assert all((abs(ms / plain - 1) - 0.1).abs()[1:-1].max() < 1e-9 for ms, plain in
           zip(pair_weights("lin-ms", axis, axis, 0.1, 0.1), pair_weights("lin", axis, axis, 0, 0), strict=True))
axes[1].text(0.62, 2.1, f"sig-ms:\n{highest:.1f} at 1", fontsize=10, color=PAIR_COLOURS["sig-ms"], va="top")
axes[0].legend(fontsize=9.5, ncols=2, loc="upper right");

# %% [markdown]
# And the equations as numbers, to check your own code against: at five scores, with relative terms of 0.1.

# %% tags=["hide-input"]
heads = {"−¼": -0.25, "0": 0.0, "½": 0.5, "¾": 0.75, "1": 1.0}
five = torch.tensor(list(heads.values()), dtype=torch.float64)
rows = []
for side, sign in enumerate("+−"):
    for name in ("lin", "sig", "lin-ms", "sig-ms"):
        values = pair_weights(name, five, five, *FIG_3[name])[side].tolist()
        rows.append({"at score": f"P{sign} {name}"} | {h: f"{v:.4f}" for h, v in zip(heads, values, strict=True)})
paper.styled(pd.DataFrame(rows), "Pair weights at five scores (a = 2, b = 10, λ = 0.5).", name="goal-pair-weights")

# %% [markdown]
# The table shows two things that the figure does not. First, $P_-^\text{lin}$ has no floor: a negative with a score below
# zero gets a weight below zero, so that it is *attracted* ({ref}`erratum-goal-10`). Second, 0.1 means two things. The
# sigmoid's neutral value, which makes sig-ms the same as sig, is 1; the line's is 0 ({ref}`erratum-goal-13`). This is why
# we write $\mu$ and $\nu$, where the paper has one letter for both.
#
# ## Relative terms
#
# Multi-Similarity compares a pair with its neighbours. Take the query's other positives $\mathcal P$ that lie below its
# highest negative plus $\epsilon$, and its other negatives $\mathcal N$ that lie above its lowest positive minus
# $\epsilon$. Then (below GOAL Eqs. 12 and 13)
#
# $$
# \begin{aligned}
# \mu_+ &= \underset{R \in \mathcal P}{\text{mean}}\; e^{a (s_+ - R)}, \\
# \mu_- &= \underset{R \in \mathcal N}{\text{mean}}\; e^{-b (s_- - R)}, \\
# \nu_+ &= \underset{R \in \mathcal P}{\text{mean}}\, (s_+ - R), \\
# \nu_- &= \underset{R \in \mathcal N}{\text{mean}}\, (s_- - R).
# \end{aligned}
# $$
#
# The paper gives no $\epsilon$ (the release has 0.1), and does not say what the mean over nothing is. We take the
# neutral value.

# %%
def relative_terms(row, positive, i, eps=0.1):
    """(mu+, mu-, nu+, nu-) of one row for its positive i."""
    hardest = row.masked_fill(positive, -torch.inf).argmax()
    here = torch.arange(len(row))
    near = positive & (here != i) & (row < row[hardest] + eps)
    close = ~positive & (here != hardest) & (row > row[positive].min() - eps)
    found = []
    for own, among, rate in ((row[i], near, ALPHA), (row[hardest], close, -BETA)):
        gaps = own - row[among]
        mu, nu = float(torch.exp(rate * gaps).mean()), float(gaps.mean())
        found.append((mu, nu) if among.any() else (1.0, 0.0))
    (mu_plus, nu_plus), (mu_minus, nu_minus) = found
    return mu_plus, mu_minus, nu_plus, nu_minus


# %% [markdown]
# Two images with two captions each, and the library's whole weights from these terms:

# %% tags=["nbval-check-output"]
S24 = torch.tensor([[0.6, 0.3, 0.7, 0.5], [0.2, 0.5, 0.4, 0.9]], dtype=torch.float64)
M24 = torch.tensor([[1, 1, 0, 0], [0, 0, 1, 1]]).bool()
for name, which in (("sig-ms", slice(0, 2)), ("lin-ms", slice(2, 4))):
    expected = torch.zeros_like(S24)
    for q, i in M24.nonzero().tolist():
        terms = relative_terms(S24[q], M24[q], i)[which]
        k = S24[q].masked_fill(M24[q], -torch.inf).argmax()
        plus, minus = pair_weights(name, S24[q, i], S24[q, k], *terms)
        T = T_nca(S24[q, i], S24[q, k]) / 2  # the mean over two positives
        expected[q, i] -= T * plus
        expected[q, k] += T * minus
        print(name, f"image {q}, positive {i}: {terms[0]:.4f} {terms[1]:.4f}")
    weights = GradientObjective("nca", name).weights(S24, M24)
    assert (weights - expected).abs().max() < 1e-12

# %% [markdown]
# ### A sentence the wrong way round
#
# After Eq. 12 the paper says that $\mu_- > 1$ is the case where the chosen negative is closer than the others, and that
# $\mu_- < 1$ will not exist with hard negative mining. The hardest negative has $s_- \ge R$. So every exponent is at or
# below zero. We count.

# %% tags=["nbval-check-output"]
rng = torch.Generator().manual_seed(2)
first = torch.arange(8) == 0
rows = torch.rand(1000, 8, generator=rng, dtype=torch.float64)
mu_minus = torch.tensor([relative_terms(row, first, 0)[1] for row in rows])
nu_minus = torch.tensor([relative_terms(row, first, 0)[3] for row in rows])
alone = (nu_minus == 0) & (mu_minus == 1)  # empty sets; random scores have no ties
assert mu_minus.max() <= 1 and nu_minus.min() >= 0
print(f"of 1000 rows: mu- above 1 in {int((mu_minus > 1).sum())},",
      f"below 1 in {int((mu_minus < 1).sum())}, no neighbour in {int(alone.sum())}")

# %% [markdown]
# It is the other way round ({ref}`erratum-goal-12`). A negative that stands out from the others gets a small $\mu_-$,
# and the weight $1 / (\mu_- + \dots)$ is *large*. How large? The mean leaves out the pair itself, so $\mu_-$ can come
# close to 0. And the released code has 0 where the set is empty.

# %% tags=["nbval-check-output"]
s = torch.tensor([0.7, 0.9, 1.0], dtype=torch.float64)
for mu in (1.0, 0.0):
    values = pair_weights("sig-ms", s, s, 1.0, mu)[1]
    print(f"mu- = {mu:.0f}: P- at 0.7, 0.9, 1.0:", *(f"{v:.3f}" for v in values))

# %% [markdown]
# ## Three times five
#
# Any $T$ can meet any $P$. These are the fifteen, as the push on the negative and as the pull on the positive. Relative
# terms are held fixed at values of which none is neutral, so that each of the fifteen differs from the others:
# $\nu = (0.1, 0.1)$, $\mu = (0.9, 0.4)$, first for the positive, then for the negative.

# %%
RELATIVE = {"lin-ms": (0.1, 0.1), "sig-ms": (0.9, 0.4)}  # (plus, minus)


def on_plane(objective, p, n):
    return objective.on_plane(p, n, RELATIVE.get(objective.pair_weight, (None, None)))


# %% tags=["hide-input"] mystnb={"image": {"alt": "Fifteen small diagrams of the push on the negative. In rows the triplet weights, in columns the pair weights. All but P con fade towards the bottom, where the negative scores low."}, "figure": {"name": "fig-goal-15-minus", "caption": "The push w− of all fifteen. Rows share their T, columns their P. Dark is 1.5 or more; lines at 0.25, 0.75 and 1.25. Every P but con fades towards the bottom, where the negative is far."}}
def fifteen(side):
    """A small diagram of w+ (side 0) or w- (side 1) for each objective."""
    fig, axes = plt.subplots(3, 5, figsize=(6.8, 4.3), sharex=True, sharey=True)
    for ax, objective in zip(axes.flat, objectives().values(), strict=True):
        weight = on_plane(objective, P_AXIS, N_AXIS)[side].expand_as(P_AXIS)
        diagram(ax, weight, "", top=1.5, levels=(0.25, 0.75, 1.25))
    for ax, name in zip(axes[0], goal.PAIR_WEIGHTS, strict=True):
        ax.set_title(f"P {name}", fontsize=11)
    for ax, name in zip(axes[:, 0], goal.TRIPLET_WEIGHTS, strict=True):
        ax.set_ylabel(f"T {name}", fontsize=11, fontweight="bold")
    fig.supxlabel("in each: $s_+$ to the right, $s_-$ up, both 0 to 1", fontsize=10)
    return fig


fifteen(1);

# %% tags=["hide-input"] mystnb={"image": {"alt": "Fifteen small diagrams of the pull on the positive. All but P con fade towards the right, where the positive scores high."}, "figure": {"name": "fig-goal-15-plus", "caption": "The pull w+ of all fifteen, same scale. Every P but con fades towards the right, where the positive is close. At the corner of both high scores, lin pulls by nothing and pushes with all of T."}}
fifteen(0)
for P in goal.PAIR_WEIGHTS:  # as the captions say; the released con is 1 everywhere, and so shows P itself
    pull, push = on_plane(objectives(convention="released")[f"goal:con x {P}"], axis, axis)
    fades = bool((pull.diff() < 0).all() and (push.diff() > 0).all()) if P != "con" else False
    assert fades != (P == "con") and (P != "lin" or (float(pull[-1]), float(push[-1])) == (0, 1))

# %% [markdown]
# The paper states $\gamma = 10$ for its figure only. The released class starts from $\gamma = 1$. The slider below moves it.
# With $\gamma = 1$ the weight $T^\text{nca}$ of this square lies between 0.27 and 0.73, so that solved triplets are moved
# nearly as hard as violated ones; with a large $\gamma$ it is almost a step, like con with a margin of zero.

# %% tags=["remove-output"]
def draw_tau(tau):
    fig, axes = plt.subplots(1, 3, figsize=(6.3, 2.4), sharey=True)
    cells = [("nca", "paper", "nca × lin"), ("cir", "paper", "cir × lin, Eq. 8"),
             ("cir", "released", "cir × lin, released")]
    for ax, (T, convention, title) in zip(axes, cells, strict=True):
        objective = GradientObjective(T, "lin", tau=tau, convention=convention)
        diagram(ax, objective.on_plane(P_AXIS, N_AXIS)[1], title, levels=(0.1, 0.5, 0.9))
        ax.set(xticks=(0, 0.5, 1), yticks=(0, 0.5, 1), xlabel="$s_+$")
    axes[0].set_ylabel("$s_-$")
    return fig


taus = [1, 2, 5, 10, 20, 50]
live(draw_tau, taus, label="γ")  # with a kernel; the page has the next one


# %% tags=["hide-input"]
def share_pushed(tau, T="nca", convention="paper"):
    """Share of the unit square with a push of at least 0.1."""
    objective = GradientObjective(T, "lin", tau=tau, convention=convention)
    return float((objective.on_plane(P_AXIS, N_AXIS)[1] >= 0.1).double().mean())


assert [round(float(x), 2) for x in T_nca(P_AXIS, N_AXIS, tau=1).aminmax()] == [0.27, 0.73]
frames_slider(draw_tau, taus, label="sharpness γ", start=3, dpi=70,
              alt=lambda tau: f"Push on the negative at γ = {tau}. It is at least 0.1 on {share_pushed(tau):.0%} of "
                              f"the square for nca, {share_pushed(tau, 'cir'):.0%} for cir and "
                              f"{share_pushed(tau, 'cir', 'released'):.0%} for cir as released.")

# %% [markdown]
# ## Training by weights
#
# How does one train without a loss? With a stand-in. Compute the signed weights $w_j$ (minus $w_+$ at the positive, plus
# $w_-$ at the negative), hold them constant, which the bar says, and take
#
# $$ \tilde\ell = \sum_j \bar w_j\, s_j. $$ (eq-surrogate)
#
# Its gradient is $w$, whatever $w$ is. Its value means nothing.

# %%
def surrogate(scores, weights):
    return (weights.detach() * scores).sum(1)


rng = torch.Generator().manual_seed(3)
S8 = torch.rand(8, 8, generator=rng, dtype=torch.float64) * 1.6 - 0.6
eye8 = torch.eye(8, dtype=torch.bool)
for convention in ("paper", "released"):
    for objective in objectives(convention=convention).values():
        w = objective.weights(S8, eye8)
        assert (by_autograd(lambda x, w=w: surrogate(x, w), S8) - w).abs().max() < 1e-10
        library = by_autograd(lambda x, o=objective: o.per_query(x, eye8), S8)
        assert (library - w).abs().max() < 1e-10

# %% [markdown]
# That is the library's `GradientObjective`. Here it is on three pairs. Row 1 is solved: 0.4 against 0.0, margin 0.2. We
# repaired the released file (as published it does not parse) and ran it on the same matrix.

# %%
S3 = torch.tensor([[0.3, 0.5, 0.4], [-0.1, 0.4, 0.0], [0.4, 0.9, 0.7]], dtype=torch.float64)
eye3 = torch.eye(3, dtype=torch.bool)
RAN = {"con x lin": [0.7, 0.5, 0.6, 0.0, 0.3, 0.9],  # w+ and w- of row 0, 1, 2
       "nca x sig": [0.527322, 0.440399, 0.009889, 0.000120, 0.353475, 0.864955],
       "cir x lin-ms": [0.705957, 0.504255, 0.118690, 0.0, 0.191493, 1.325719],
       "con x sig-ms": [0.671569, 0.731059, 1.221403, 0.006738, 0.284442, 39.914446]}


def pulls_and_pushes(objective):
    w = objective.weights(S3, eye3)
    return torch.stack([-w.diagonal(), w.masked_fill(eye3, 0).sum(1)], 1).flatten().tolist()


# %% tags=["hide-input"]
rows = []
for name, ran in RAN.items():
    for convention in ("paper", "released"):
        found = pulls_and_pushes(objectives(convention=convention)[f"goal:{name}"])
        agree = max(abs(x - y) for x, y in zip(found, ran, strict=True)) < 1e-6
        assert agree or convention == "paper"
        heads = [f"{w} {row}" for row in range(3) for w in ("w+", "w−")]
        rows.append({"": name, "convention": convention} | {h: f"{v:.3f}" for h, v in zip(heads, found, strict=True)})
paper.styled(pd.DataFrame(rows), "Pull and push of rows 0, 1, 2. Released: as the repaired file gave them.",
             name="goal-golden")

# %% [markdown]
# Four things make the conventions differ. The release shifts cir by a half, which is why its cir weights are so much
# larger. It has no margin, so the solved row 1 still counts. An empty set gives 0, not 1: hence the large pull of sig-ms
# in row 1, $1 / e^{-0.2}$. And it takes its neighbours from the whole batch. A positive is compared with the positives of
# *other rows*: in row 0 with 0.4, and $1 / (e^{2 (0.3 - 0.4)} + e^{-0.4})$ is the 0.672 of the table. And the bound for
# negatives is the lowest positive of the batch. In row 2 it so finds the negative 0.4, far below 0.9. Then $\mu_-$ is next
# to nothing and the push is 40. By the paper's rule that row has no neighbour.

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
released_cir, printed_cir = (pulls_and_pushes(objectives(convention=c)["goal:cir x lin-ms"])
                             for c in ("released", "paper"))
assert all(x > 2 * y for x, y in zip(released_cir, printed_cir, strict=True) if y)
assert relative_terms(S3[2], eye3[2], 2)[1] == 1  # the paper's rule: nobody near
mu = torch.exp(-BETA * (S3[2, 1] - S3[2, 0]))  # the release: 0.4 counts
_, push = pair_weights("sig-ms", S3[2, 2], S3[2, 1], 1.0, mu)
assert abs(float(push) - RAN["con x sig-ms"][5]) < 1e-6
for row, others in ((0, [1]), (1, []), (2, [0, 1])):  # positives of other rows that the release compares with
    mu = torch.exp(ALPHA * (S3[row, row] - S3.diagonal()[others])).mean() if others else torch.tensor(0.0).double()
    pull, _ = pair_weights("sig-ms", S3[row, row], S3[row, row], mu, 1.0)
    assert abs(float(pull) - RAN["con x sig-ms"][2 * row]) < 1e-6

# %% [markdown]
# As the value means nothing, what should one watch? The library offers `gap`, the sum of $s_- - s_+$ over rows and
# columns, which should fall while a model learns. Here are the three pairs twice, and the second time every positive is
# ahead by 0.15 more. A triplet loss would be lower. What does the surrogate of con × lin do?

# %% tags=["nbval-check-output"]
straight = GradientObjective("con", "lin")
before, better = S3 + 0.1 * eye3.double(), S3 + 0.25 * eye3.double()
for name, matrix in (("before", before), ("better", better)):
    value, gap = float(straight(matrix, eye3)), straight.gap(matrix, eye3)
    triplet = float(TripletSH(0.2)(matrix, eye3))
    print(f"{name}: surrogate {value:+.3f}, gap {gap:+.2f}, triplet loss {triplet:.2f}")
assert straight(better, eye3) > straight(before, eye3)
pushed = [straight.score_gradient(x, eye3).masked_fill(eye3, 0) for x in (before, better)]
assert torch.equal(*pushed)  # the same negatives, pushed by the same weights

# %% [markdown]
# The surrogate rises, although the triplet loss and the gap fall. The negatives and their weights are the same in both
# matrices, so that their part of the sum does not change. A positive contributes minus its pull times its score,
# $-(1 - s_+)\, s_+$, and the sum of these is nearer to zero in the better matrix. For the same reason a surrogate that
# falls would not show that a model learns.
#
# ### By loss or by weights: the same training
#
# GOAL's Table 2 asks whether anything is lost by training with weights. It sets its own runs with con × con, three each,
# beside numbers that the original papers reported for the triplet loss. (R152 is a ResNet-152, FT one that was trained
# further. BUTD are features of detected regions, WSL those of a network trained on hashtags. i2t: pictures look for
# captions; t2i: captions for pictures.) The paper calls the two "almost the same", and concludes that con × con "has
# equivalent effect to the triplet loss".

# %% tags=["hide-input"]
verified = paper.table("goal/2")
rows = []
for k in range(0, len(verified), 2):
    cited, own_runs = verified.iloc[k], verified.iloc[k + 1]
    assert pd.isna(cited.i2t_r1_std) and not pd.isna(own_runs.i2t_r1_std)  # a cited number has no deviation
    line = {"method": cited.method}
    for way in ("i2t", "t2i"):
        mean, deviation = own_runs[f"{way}_r1"], own_runs[f"{way}_r1_std"]
        line |= {f"{way}, cited": f"{cited[f'{way}_r1']:.1f}", f"{way}, con × con": f"{mean:.1f} ± {deviation:.1f}"}
    rows.append(line)
apart = {(k, way): abs(verified[f"{way}_r1"].iloc[k + 1] - verified[f"{way}_r1"].iloc[k])
         for k in range(0, len(verified), 2) for way in ("i2t", "t2i")}
assert max(apart, key=apart.get) == (2, "t2i") and abs(apart[2, "t2i"] - 0.7) < 1e-9 and verified.t2i_r1_std.iloc[3] == 0
paper.styled(pd.DataFrame(rows), "GOAL's Table 2, R@1 on MS-COCO 5K: triplet loss as cited, and con × con.",
             name="goal-table-2")

# %% [markdown]
# One cannot expect them to be equal: the cited numbers come from the earlier papers' own runs, with other seeds on
# other machines. (The largest difference is that of VSE∞ with BUTD features, captions that look for pictures: 0.7, where the
# runs with con × con did not vary in the first decimal.) So the table cannot show whether the two trainings are
# equivalent. That can be decided here, with one code and one seed. First the gradients, on
# twenty random batches. For nca × con the loss is the NT-Xent of the hardest negative, up to the factor $\gamma$:

# %%
rng = torch.Generator().manual_seed(4)
eye16 = torch.eye(16, dtype=torch.bool)
con_x_con, nca_x_con = GradientObjective("con", "con"), GradientObjective("nca", "con")
by_tau = HardNTXent(0.1, queries="sum", directions="sum")  # summed, as the objectives are
for _ in range(20):
    s = torch.rand(16, 16, generator=rng, dtype=torch.float64) * 2 - 1
    for G, loss, factor in ((con_x_con, TripletSH(0.2), 1), (nca_x_con, by_tau, 10)):
        apart = factor * G.score_gradient(s, eye16) - loss.score_gradient(s, eye16)
        assert apart.abs().max() < 1e-12

# %% [markdown]
# Then twenty steps of descent on free embeddings, by loss and by weights:

# %% tags=["nbval-check-output"]
def descend(loss, steps=20, rate=0.02):
    rng = torch.Generator().manual_seed(5)
    v = torch.randn(2, 16, 8, generator=rng, dtype=torch.float64).requires_grad_()
    for _ in range(steps):
        x, y = normalize(v, dim=2)
        loss(x @ y.T, eye16).backward()
        with torch.no_grad():
            v -= rate * v.grad
            v.grad = None
    return v.detach()


start = descend(con_x_con, steps=0)
by_loss, by_weights = descend(TripletSH(0.2)), descend(con_x_con)
moved, apart = (by_loss - start).abs().max(), (by_loss - by_weights).abs().max()
assert apart < 1e-12
print(f"moved by up to {float(moved):.2f}, apart by {float(apart):.4f}")

# %% [markdown]
# So here, where nothing else differs, training by the weights of con × con *is* training by the triplet loss, up to
# rounding. For nca × con the same follows from its gradients, with a learning rate that is $\gamma$ times larger.
#
# ### A gradient that does not listen
#
# The released code takes another road: an `autograd.Function` that stores the designed gradient and hands it back,
# whatever comes in.

# %%
class Ignores(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, gradient):
        ctx.save_for_backward(gradient)
        return (gradient * scores).sum()

    @staticmethod
    def backward(ctx, incoming):
        return ctx.saved_tensors[0], None  # incoming is not used


def slope_of(make, factor):
    x = S3.clone().requires_grad_()
    (make(x) * factor).backward()
    return x.grad


# %% tags=["hide-input"]
objective = GradientObjective("cir", "lin")
G3 = objective.score_gradient(S3, eye3)
assert torch.amp.GradScaler("cpu").get_scale() == 65536
factors = {"1": 1.0, "½ (two losses, averaged)": 0.5, "65536 (mixed precision)": 65536.0}
rows = []
for name, c in factors.items():
    stored, ours = slope_of(lambda x: Ignores.apply(x, G3), c), slope_of(lambda x: objective(x, eye3), c)
    assert torch.equal(stored, G3) and (ours - c * G3).abs().max() < 1e-9 * c
    back = 65536.0 if c > 1 else 1.0  # a gradient scaler divides it out again
    rows.append({"loss ×": name, "should be": f"{float(G3.norm()) * c / back:.6f}",
                 "stored gradient": f"{float(stored.norm()) / back:.6f}", "icrlib": f"{float(ours.norm()) / back:.6f}"})
paper.styled(pd.DataFrame(rows), "Length of the gradient of cir × lin that reaches the optimiser.", name="goal-ignores")

# %% [markdown]
# Half a loss gives the whole gradient. Under mixed precision PyTorch's gradient scaler multiplies the loss, at first by
# 65536, and later divides the gradient by the same number. The stored gradient was never multiplied, so that after the
# division it is 65536 times too small. The surrogate is an ordinary function of the scores, and its gradient follows every
# factor ({ref}`erratum-goal-backward`).
#
# ## What we found

# %% tags=["hide-input"]
Markdown("\n".join([
    f"- Around one small square con × lin gathers {gained:+.2f}, so no continuous loss has this gradient. A surrogate "
    "hands it to autograd all the same.",
    f"- Summed over a small batch GOAL's Eq. 4 lacks the role of mined negatives; on one batch of six random pairs the "
    f"error was {missing:.2f} times as long as the gradient. If one designs the matrix of weights on the scores, the "
    "chain rule adds up all roles of an embedding.",
    f"- μ− was below 1 in {int((mu_minus < 1).sum())} of 1000 random rows and above 1 in {int((mu_minus > 1).sum())}; "
    "with the hardest negative it cannot be above. The paper's text says that below 1 does not exist.",
]))

# %% [markdown]
# - The surrogate should multiply its gradient by the one that comes in. Its value means nothing, so we watch the gap.
# - For scores between 0 and 1 cir, as printed, nowhere gives more weight than nca; as released, nowhere less.
# - Where a known loss stands behind the weights, training by weights is training by that loss, up to a constant factor. We
#   checked the steps for con × con, and the gradients for nca × con. Whether a gradient *without* a loss trains well is
#   not a question for this page: {doc}`grid` trains all fifteen.
#
# ## Exercises
#
# ````{exercise-start} Four weights
# :label: ex-goal-weights
# ````
#
# A query has the scores `[0.55, 0.48, 0.62, 0.10]`; the first is its positive. Give the four weights
# $\partial \tilde\ell / \partial s_j$ of **nca × lin** with $\gamma = 10$ as a tensor, from the equations (no library).

# %%
mine = ...

# %% tags=["hide-input"]
def check_goal_weights(value):
    """Passes for the four weights of nca x lin on this row."""
    if value is ...:
        return "your turn"
    s_plus, s_minus = torch.tensor(0.55, dtype=torch.float64), torch.tensor(0.62, dtype=torch.float64)
    T = torch.sigmoid(10 * (s_minus - s_plus))
    expected = torch.zeros(4, dtype=torch.float64)
    expected[0], expected[2] = -T * (1 - s_plus), T * s_minus
    value = torch.as_tensor(value, dtype=torch.float64)
    assert value.shape == (4,), f"not yet: four weights are needed, got shape {tuple(value.shape)}"
    assert value[0] < 0, "not yet: descent subtracts a gradient, so the positive's weight must be below zero"
    assert value[1] == value[3] == 0, "not yet: only the hardest negative is pushed"
    assert (value - expected).abs().max() < 1e-4, "not yet: T looks at both scores, P at one; see Eqs. 7 and 10"
    return "right"


check_goal_weights(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-goal-weights
# :class: dropdown
# ````
#
# The hardest negative is the third. $T = \sigma(10 \cdot 0.07)$; the positive gets $-T (1 - 0.55)$.

# %%
T = torch.sigmoid(torch.tensor(10 * (0.62 - 0.55), dtype=torch.float64))
check_goal_weights(torch.stack([-T * (1 - 0.55), 0 * T, T * 0.62, 0 * T]))

# %% [markdown]
# ````{solution-end}
# ````
# ````{exercise-start} Who is attracted?
# :label: ex-goal-attract
# ````
#
# A triplet has the scores $s_+ = 0.3$ and $s_- = -0.2$; the margin is 0.2 and the relative terms are neutral. Under which of
# the pair weights con, lin, sig, lin-ms, sig-ms, with the triplet weight nca, would a step of descent *raise* $s_-$?
# Give a set of names, `mine = {"con", ...}`.

# %%
mine = ...

# %% tags=["hide-input"]
def check_attract(value):
    """Passes for the pair weights under which this negative is attracted."""
    if value is ...:
        return "your turn"
    from icrlib.losses import GradientObjective

    scores, own = torch.tensor([[0.3, -0.2]], dtype=torch.float64), torch.tensor([[True, False]])
    names = ("con", "lin", "sig", "lin-ms", "sig-ms")
    value = set(value)
    assert value <= set(names), f"not yet: {sorted(value - set(names))} are no pair weights; there are {', '.join(names)}"
    for name in names:
        push = float(GradientObjective("nca", name).weights(scores, own)[0, 1])
        assert name not in value or push < 0, f"not yet: {name} pushes this negative by {push:.3f}, further away"
        assert name in value or push > 0, f"not yet: one more; what is P− of {name} at a score below zero?"
    return "right"


check_attract(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-goal-attract
# :class: dropdown
# ````
#
# Those with a line: $P_- = s_-$ is below zero there, and the neutral $\nu_-$ changes nothing. A sigmoid is above zero
# everywhere.

# %%
check_attract({"lin", "lin-ms"})

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} A surrogate that nobody misreads
# :label: ex-goal-surrogate
# ````
#
# The value of $\tilde\ell$ means nothing, but a number that falls will be looked at. Write a surrogate with the same
# gradient whose value is always zero: `mine = lambda s, w: ...`, scores and weights, two (Q, M) tensors, a value for each query.
# (`x.detach()` is $x$, held constant.)

# %%
mine = ...

# %% tags=["hide-input"]
def check_surrogate(value):
    """Passes for a surrogate of value zero with the given weights as its gradient."""
    if value is ...:
        return "your turn"
    rng = torch.Generator().manual_seed(9)
    scores = (torch.rand(3, 4, generator=rng, dtype=torch.float64) - 0.5).requires_grad_()
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
# ````{exercise-start} An open one
# :label: ex-goal-open
# ````
#
# The pair weights fall for a positive that is close and rise for a negative that is close. What would you want for a
# negative that is *very* close, closer than the positive by far, given that it may be a caption that is true of the
# picture ({doc}`../foundations/task`)? Draw $P_-$ by hand before you write it down. Then say what it does to a model that
# has just begun to train, when all scores are alike.
#
# ````{exercise-end}
# ````
#
# Next: {doc}`fifteen` puts the fifteen on one row of scores and asks how many of them differ.
