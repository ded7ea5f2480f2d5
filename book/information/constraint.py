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

# %% [markdown]
# (ch-constraint)=
# # Why does the constraint switch itself off?
#
# In {numref}`Chapter {number} <ch-target>` a decoder has to find a caption's target from the caption's vector.
# {cite:t}`bleeker2022keep` bound its error: the *reconstruction loss* shall not exceed a number $\eta$, and below it
# training cares about retrieval only. A multiplier $\lambda$ enforces the bound. It grows while the bound is broken, and
# the larger it is, the more the reconstruction counts. The authors published the record of a training on COCO with
# $\eta = 0.3$. Whenever the upper curve crosses the dotted line, $\lambda$ should come back and press it down. It does not:
# λ is zero in 97 % of the record, and in 24 of 60 epochs it stays at zero although the mean of the epoch is clearly above
# the bound.

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
import inspect
from textwrap import dedent

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Code

import icrlib
from icrlib import chapter, paper, toy
from icrlib.evidence.sentences import check, greater, number
from icrlib.experiments import runs
from icrlib.paper import ltd_curves, replay
from icrlib.paper.ltd_curves import EPOCHS, PER_EPOCH, curve

smoke = chapter.start(smoke)
LAMBDA, RAW, REC = "#0173b2", "#b35c00", "#00775a"  # the colours of the multiplier, of x and of the reconstruction
COLOURS = {0.05: "#440154", 0.1: "#3b528b", 0.2: "#1f9e55", 0.3: "#d1495b"}
UNIT = 1e5  # of the axes of steps, as in the paper's figure

# %% tags=["remove-cell"]
def log_with_zero(ax, top=100, bottom=0.0, least=1e-3):
    """A logarithmic axis on which 0 has a place: even below ``least``."""
    ax.set_yscale("symlog", linthresh=least, linscale=0.5)
    ax.set_ylim(bottom - least / 2 if not bottom else 2 * bottom, 1.5 * top)
    below = [-(10.0**k) for k in range(4, -4, -1) if bottom and bottom <= -(10.0**k) <= -0.1]
    above = [10.0**k for k in range(-3, 5) if least <= 10.0**k <= top]
    ax.set_yticks([*below, 0, *above], [f"{tick:g}".replace("-", "−") for tick in (*below, 0, *above)])
    ax.minorticks_off()

# %% tags=["remove-input"] mystnb={"image": {"alt": "Two panels over 265,000 steps. Above, the reconstruction loss falls from about 1 below the dotted bound of 0.3, stays below it until about step 60,000, then runs above it until step 160,000, and ends at it. Below, the multiplier on a logarithmic axis with a zero: it rises to about 4, is zero from step 5,000 on, and stays there but for two short peaks below 0.1, at steps 160,000 and 210,000."}, "figure": {"name": "fig-off", "caption": "A released record of LTD, with the bound η = 0.3 (dotted). Above: reconstruction loss of single batches and the means of epochs (dark). Shaded: epochs clearly above the bound with λ at 0."}}
steps, rec = curve("release", "lag_0.3", "reconstruction")
value = curve("release", "lag_0.3", "lambda").values
epochs = rec.reshape(EPOCHS, -1).mean(1), value.reshape(EPOCHS, -1).max(1)
surely = 0.3 + 2 * rec.reshape(EPOCHS, -1).std(1, ddof=1) / 45**0.5  # above by two standard errors of an epoch's mean
sleeping = np.flatnonzero((epochs[0] > surely) & (epochs[1] <= replay.ZERO))  # epochs from 0
fig, axes = plt.subplots(2, 1, figsize=(7.6, 3.5), sharex=True)
axes[0].plot(steps / UNIT, rec, color=REC, lw=0.4, alpha=0.5)
axes[0].plot((np.arange(EPOCHS) + 0.5) * PER_EPOCH / UNIT, epochs[0], color=REC, lw=2.4)
axes[0].axhline(0.3, color="black", ls=":")
axes[0].set(ylim=(0.15, 0.5), ylabel="reconstr. loss")
axes[1].plot(steps / UNIT, value, color=LAMBDA, lw=1.6)
axes[1].set(ylabel="multiplier λ", xlabel="steps in units of 100,000")
log_with_zero(axes[1], 10)
for ax in axes:
    for epoch in sleeping:
        ax.axvspan(epoch * PER_EPOCH / UNIT, (epoch + 1) * PER_EPOCH / UNIT, color="#d55e00", alpha=0.15, lw=0)
assert len(sleeping) >= 15

# %% [markdown]
# The reason is that λ is a clipped copy of another number, $x$. While the bound was kept, $x$ ran on
# below zero, down to about −18. Before λ can leave zero, $x$ has to climb all the way back, in steps that are tiny where
# the bound is broken by little. Engineers call this **integrator wind-up**, and one line of code cures it.
#
# *You will be able to turn "never above this bound" into a loss, and to recognise a multiplier that has wound up, and for
# how long · 12 minutes to read · 1 minute to run.*

# %% tags=["hide-input"]
# checked by machine
idle, replayed = value <= replay.ZERO, replay.recorded("release", "lag_0.3")
check("λ is zero in 97 % of the record, and in 24 of 60 epochs it stays at zero although the mean of the epoch is "
      "clearly above the bound.", number("97", 100 * idle.mean()), number("24 60", [len(sleeping), EPOCHS]))
check("While the bound was kept, x ran on below zero, down to about −18.", number("-18", replayed.raw.min()))

# %% [markdown]
# ("Clearly" means by more than two standard errors of the epoch's mean. While the bound is *kept*, a λ of zero is right.)
# An example small enough for a pencil shows how it comes about.
#
# ## From a wish to a loss
#
# The wish (LTD, Eq. 8) is the smallest contrastive loss $L_{con}$ among all models whose reconstruction loss $L_{rec}$ is
# at most $\eta$. With $\theta$ for all weights of the model,
#
# $$ \min_{\theta} \; L_{con}(\theta) \quad \text{such that} \quad L_{rec}(\theta) \le \eta . $$ (eq-wish)
#
# Gradient descent minimises one loss and has no "such that". So two players play against each other (Eq. 9):
#
# $$ \max_{\lambda \ge 0} \; \min_{\theta} \; L_{lag}, \qquad
#    L_{lag} = L_{con}(\theta) + \lambda \Big( \frac{L_{rec}(\theta)}{\eta} - 1 \Big) . $$ (eq-lagrangian)
#
# The bracket is positive where the bound is broken and negative where it is kept. Suppose that the model moves first. If
# it breaks the bound, the second player can make $L_{lag}$ as large as she likes. If it keeps the bound, the best she can
# do is $\lambda = 0$, and what remains is $L_{con}$: the wish. (With $\lambda \le 100$, as in LTD, it is an exact penalty: a
# bound is broken where keeping it would take a larger λ. In training nobody moves first.)
#
# ### One number instead of a network
#
# Let $\theta$ be a single number: how much of a caption the encoder keeps. The contrastive loss would like to keep nothing,
# the reconstruction to keep everything:
#
# $$ L_{con}(\theta) = 0.1\, \theta^2, \qquad L_{rec}(\theta) = 0.09 + 0.3\, (\theta - 1)^2 . $$ (eq-toy)
#
# $L_{rec}$ is 0.39 at $\theta = 0$ and lowest at $\theta = 1$, where it is 0.09: no $\theta$ does better. With
# $\eta = 0.3$ the bound is kept for $\theta \ge 1 - \sqrt{0.7} = 0.163$. Since $L_{con}$ grows with $\theta$, the best
# allowed place is this edge. There the two slopes must be in balance, else moving along would pay:
#
# $$ L_{con}' + \frac{\lambda}{\eta} L_{rec}' = 0 \quad\Rightarrow\quad
#    \lambda^\star = \eta\, \frac{0.2\, \theta}{0.6\, (1 - \theta)} = 0.3 \cdot \frac{0.0327}{0.502} = 0.0195 . $$ (eq-price)
#
# A multiplier is a price: make the bound tighter by one per cent, and the best contrastive loss that is still allowed
# rises by about $\lambda^\star / 100$. The next cell finds it both ways, for three bounds.

# %% tags=["nbval-check-output"]
P = toy.PROBLEM  # a = 0.2, b = 0.3, floor = 0.09


def con(theta):
    return P["a"] * theta**2 / 2


def rec(theta):
    return P["floor"] + P["b"] * (theta - 1) ** 2


def edge(eta):
    return 1 - np.sqrt((eta - P["floor"]) / P["b"])


for eta in (0.3, 0.2, 0.1):
    best = edge(eta)
    price = eta * P["a"] * best / (2 * P["b"] * (1 - best))
    dearer = (con(edge(eta * 0.9999)) - con(best)) / 0.0001  # per relative change of η
    assert abs(dearer - price) < 1e-3
    print(f"η = {eta}: edge at θ = {best:.3f}, L_con = {con(best):.4f}, "
          f"price λ* = {price:.4f}")

# %% [markdown]
# ## How λ is found: it climbs its own slope
#
# Nobody knows $\lambda^\star$ for a network. So $\theta$ goes down the slope of $L_{lag}$ in small steps while $\lambda$
# goes up. Its slope is the bracket, $g = L_{rec}/\eta - 1$. LTD's code steps along a running mean $b$ of the slopes, with a
# learning rate of 0.005,
#
# $$ \begin{aligned} b_0 &= g_0, & b_t &= 0.9\, b_{t-1} + 0.1\, g_t, \\
#    x &\leftarrow x + 0.005\, b_t, & \lambda &= \text{clip}(x, 0, 100), \end{aligned} $$ (eq-rule)
#
# starting at $x = 1$. The first slope is not damped, so it counts ten times. (LTD's code passes the gradient on as if there
# were no clip, so $x$ moves where λ cannot.) In the library this is `icrlib.LagrangeMultiplier`, whose step is:

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Show how the source is printed", "code_prompt_hide": "Hide"}
Code(dedent(inspect.getsource(icrlib.LagrangeMultiplier.step)), language="python")

# %% [markdown]
# The example starts at $\theta = -0.75$, where $L_{rec}$ is about 1, as for a new network; the step of $\theta$ is 0.001.
# The first three steps ($\theta$ and its loss are those before the step, $x$ is that after it):


# %%
def play(multiplier, steps=30_000):
    """θ descends, the multiplier climbs: θ, L_rec, x and λ, (4, steps)."""
    theta, rows = P["start"], []
    for _ in range(steps):
        pull = float(multiplier.value) / multiplier.eta * 2 * P["b"] * (theta - 1)
        slope = P["a"] * theta + pull
        multiplier.step(rec(theta))  # its loss was taken with the λ from before
        rows.append((theta, rec(theta), float(multiplier.raw), float(multiplier.value)))
        theta -= P["descent"] * slope
    return np.array(rows).T

# %% tags=["nbval-check-output"]
x, b = 1.0, None
for step, (theta, loss, raw, _) in enumerate(play(icrlib.LagrangeMultiplier(0.3), 3).T):
    g = loss / 0.3 - 1
    b = g if b is None else 0.9 * b + 0.1 * g
    x += 0.005 * b
    assert abs(x - raw) < 1e-12
    print(f"step {step}: θ = {theta:.4f}  L_rec = {loss:.4f}  "
          f"g = {g:.4f}  b = {b:.4f}  x = {x:.4f}")

# %% [markdown]
# So $x$ is a **sum over the whole past**. Whether it is above zero does not say whether the bound is broken now, but whether
# the violations so far, and the 1 that $x$ began with, outweigh the slack.
#
# ## Winding up
#
# Only $\lambda$ is clipped. While the bound is kept, $x$ falls through zero and further; when it is broken at last, $x$ has
# to climb all the way back. The remedy: put $x$ back to 0 after each step that took it below, and back to 100 after each that
# took it above. The library calls the two rules *published* and *projected*. Both, for 30,000 steps:

# %%
rules = {rule: play(icrlib.LagrangeMultiplier(0.3, rule=rule))
         for rule in ("published", "projected")}

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two columns, the published rule on the left, the projected rule on the right. Left, the reconstruction loss falls well below the bound of 0.3, then drifts above it for half of the steps and falls back at the end; x falls to about minus 12 while lambda is 0 and takes most of the steps to come back. Right, the reconstruction loss comes back to the bound and stays on it; x never falls below 0, and lambda hovers around 0.02."}, "figure": {"name": "fig-two-rules", "caption": "The example with η = 0.3 under both rules. Above: L_rec and the bound. Below: x (dashed) and λ, on an axis that is logarithmic beyond ±0.1. Shaded: λ is 0 although the bound is broken."}}
fig, axes = plt.subplots(2, 2, figsize=(8.2, 4.6), sharex=True, sharey="row")
for (rule, (_, loss, raw, value)), (upper, lower) in zip(rules.items(), axes.T, strict=True):
    at = np.arange(len(loss)) / 1000
    upper.plot(at, loss, color=REC, lw=2)
    upper.axhline(0.3, color="black", ls=":")
    upper.set(title=rule, ylim=(0, 0.6))
    lower.plot(at, raw, color=RAW, ls="--", lw=1.6, label="x")
    lower.plot(at, value, color=LAMBDA, lw=2.4, label="λ")
    log_with_zero(lower, 3, -20, 0.1)
    lower.set(xlabel="steps in thousands")
    for ax in (upper, lower):
        bad = (value <= 0) & (loss > 0.3)
        ax.fill_between(at, 0, 1, where=bad, transform=ax.get_xaxis_transform(), color="#d55e00", alpha=0.15, lw=0)
axes[0, 0].set(ylabel="$L_{rec}$")
axes[1, 0].set(ylabel="x and λ")
axes[1, 1].legend(fontsize="small");

# %% tags=["remove-cell"]
PRICE = 0.3 * P["a"] * edge(0.3) / (2 * P["b"] * (1 - edge(0.3)))


def course(rule):
    """The numbers of one rule on the example."""
    _, loss, raw, value = rules[rule]
    asleep, lowest = (value <= 0) & (loss > 0.3), int(raw.argmin())
    return {"first": int((value <= 0).argmax()), "bad": 100 * asleep.mean(), "low": raw.min(), "lowest": lowest,
            "again": lowest + int((value[lowest:] > 0).argmax()), "worst": loss[lowest:].max(),
            "end": loss[-5000:].mean(), "last": value[-5000:].mean()}


wound, put_back = course("published"), course("projected")
assert wound["low"] < -10 and wound["bad"] > 50 and put_back["bad"] < 1 and wound["again"] - wound["lowest"] > 10_000
assert abs(put_back["end"] - 0.3) < 0.003 and abs(put_back["last"] - PRICE) < 0.002 and wound["worst"] > 0.36

# %% [markdown]
# **Published.** λ is zero from step 972 on. The first climb of λ had pushed θ far beyond the edge, the way back is slow, and
# until step 8,944 $x$ falls, to −12.3. Then the bound is broken and $x$ begins to climb, but each step pays back only 0.005
# of a slope of at most 0.3. λ is above zero again 13,055 steps later, and by then $L_{rec}$ has risen to 0.383: the model did
# what the contrastive loss alone would do.
#
# **Projected.** The same climb, the same overshoot, but λ is there as soon as it is needed. Over the last 5,000 steps
# $L_{rec}$ is 0.300 on average and λ 0.0194. The price that we worked out by hand is 0.0195.
#
# Write $x = -X$. If the bound is broken by the share $g$ from now on, λ comes back after about $X / (0.005\, g)$ steps: with
# $X = 12$ and a reconstruction a quarter above the bound, ten thousand. **A bound that is broken by little leaves λ at zero
# for longest.**

# %% tags=["hide-input"]
# checked by machine
check("λ is zero from step 972 on.", number("972", wound["first"]))
check("The first climb of λ had pushed θ far beyond the edge, the way back is slow, and until step 8,944 x falls, to "
      "−12.3.", number("8,944 -12.3", [wound["lowest"], wound["low"]]))
check("λ is above zero again 13,055 steps later, and by then L_{rec} has risen to 0.383: the model did what the "
      "contrastive loss alone would do.", number("13,055 0.383", [wound["again"] - wound["lowest"], wound["worst"]]))
check("Over the last 5,000 steps L_{rec} is 0.300 on average and λ 0.0194.",
      number("0.300 0.0194", [put_back["end"], put_back["last"]]), also="5,000")

# %% [markdown]
# ### What swings without winding up
#
# Is winding up the reason that the two players swing? Let $u$ and $v$ be how far $\theta$ and $\lambda$ are from where
# they belong. Near there a step is, with $\alpha = 0.001$ the step of $\theta$, $r = 0.005$ that of $\lambda$, and
# $L'_{rec}$ and $L''_{lag}$ taken at the edge,
#
# $$ \begin{aligned} u &\leftarrow u - \alpha \left(L''_{lag}\, u + \frac{L'_{rec}}{\eta}\, v\right), \\
#    v &\leftarrow v + r\, \frac{L'_{rec}}{\eta}\, u . \end{aligned} $$
#
# This is solved by $e^{st}$ with $s^2 + \alpha L''_{lag}\, s + \alpha r\, (L'_{rec}/\eta)^2 = 0$. For our numbers $s$ is
# complex: its imaginary part gives the period, its real part says that the swings die out. (The momentum, a delay of ten
# steps, plays no part.) So the projected rule should swing, too, and the published one longer.

# %% tags=["hide-input"]
def period(eta):
    """Steps of one swing, and in how many it is halved, from the equation for s."""
    best, u_to_v = edge(eta), 2 * P["b"] * (1 - edge(eta)) / eta
    curvature = P["a"] + P["a"] * best / (1 - best)  # λ*/η · 2b is a θ / (1 - θ)
    s = np.roots([1, P["descent"] * curvature, P["descent"] * 0.005 * u_to_v**2])[0]
    return 2 * np.pi / abs(s.imag), np.log(2) / -s.real


def swings(eta, rule):
    """Steps from one breaking of the bound to the next."""
    loss = play(icrlib.LagrangeMultiplier(eta, rule=rule), 60_000)[1]
    return np.diff(np.flatnonzero((loss[:-1] < eta) & (loss[1:] >= eta)))


swung = {(eta, rule): swings(eta, rule) for eta in (0.3, 0.2, 0.15) for rule in ("projected", "published")}
for eta in (0.3, 0.2, 0.15):
    assert (abs(swung[eta, "projected"] - period(eta)[0]) < 3).all()
    assert swung[eta, "published"][0] > 2.5 * period(eta)[0] and (np.diff(swung[eta, "published"][:6]) < 0).all()
paper.styled(pd.DataFrame([{"η": f"{eta:g}", "period computed": f"{period(eta)[0]:,.0f}",
                            "projected": f"{np.median(swung[eta, 'projected']):,.0f}",
                            "published, the first three": ", ".join(f"{n:,}" for n in swung[eta, "published"][:3]),
                            "halved in": f"{period(eta)[1]:,.0f}"} for eta in (0.3, 0.2, 0.15)]),
             "Steps from one breaking of the bound to the next, in the example.", name="periods")

# %% [markdown]
# The projected rule keeps the computed period to the step. The published one begins with swings that are three to ten times
# as long, and they shrink towards it: winding up adds a detour that is paid once, not the swinging.
#
# ### Wind it up yourself
#
# Before you move anything: does a large or a small learning rate of $\lambda$ wind up least? Then try these:
#
# 1. $\eta = 0.2$, published: $\lambda$ comes back now and then. What happens to $L_{rec}$ each time?
# 2. The same with the projected rule.
# 3. $\eta = 0.05$, which no $\theta$ can keep: what do $x$ and $\lambda$ do?
# 4. $\eta = 0.3$, projected, momentum 0.999: why is it late now?

# %%
toy.wind_up(eta=0.3)

# %% [markdown]
# At $\eta = 0.2$ λ returns 8 times in 30,000 steps, each time too late and then for too long, so that $L_{rec}$ swings
# around the bound. At $\eta = 0.05$ the other end winds up: λ is held at 100, and $x$ runs on to 124. Should the bound
# become possible later, $x$ has to come down first. The learning rate of λ matters little, for a sum that grows faster
# shrinks faster, too: of the three rates 0.1, 0.005 and 0.0005, the smallest still has λ at zero with the bound broken
# in 44 % of the steps. And with a momentum of 0.999 the running mean is a thousand steps behind, so that even a
# projected λ comes late.

# %% tags=["hide-input"]
# checked by machine
def share_asleep(run, eta=0.3):
    return 100 * float(((run[3] <= 0) & (run[1] > eta)).mean())


LONG = 30_000 if not smoke else 3_000
swing, low = (play(icrlib.LagrangeMultiplier(eta), LONG) for eta in (0.2, 0.05))
slow, quick = (play(icrlib.LagrangeMultiplier(0.3, lr=lr), LONG) for lr in (0.0005, 0.1))
late_mean = play(icrlib.LagrangeMultiplier(0.3, momentum=0.999, dampening=0.999, rule="projected"), LONG)
returns = int((np.diff((swing[3] > 0).astype(int)) > 0).sum())
assert smoke or (returns >= 3 and low[2].max() > 100 == low[3].max() and 5 < share_asleep(late_mean) < 30)
assert smoke or 30 < share_asleep(slow) < share_asleep(rules["published"]) < share_asleep(quick) < 70
if not smoke:
    check("At \\eta = 0.2 λ returns 8 times in 30,000 steps, each time too late and then for too long, so that L_{rec} "
          "swings around the bound.", number("8", returns), also="0.2 30,000")
    check("At \\eta = 0.05 the other end winds up: λ is held at 100, and x runs on to 124.",
          number("100 124", [low[3].max(), low[2].max()]), also="0.05")
    check("The learning rate of λ matters little, for a sum that grows faster shrinks faster, too: of the three rates "
      "0.1, 0.005 and 0.0005, the smallest still has λ at zero with the bound broken in 44 % of the steps.",
          number("44", share_asleep(slow)), greater(share_asleep, quick, rules["published"], slow),
          also="0.1 0.005 0.0005")

# %% [markdown]
# ## The paper's other bounds
#
# Four of the released records, with all four bounds. Expect a λ that falls to zero early and returns too late where the bound
# can be kept, and a λ at its upper end where it cannot.

# %% tags=["remove-cell"]
def late(run, quantity, record="release"):
    """The mean of the last ten epochs."""
    return float(curve(record, run, quantity).values[-450:].mean())


def idle_share(run):
    return 100 * replay.zero_share(curve("release", run, "lambda").values)


# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels over the steps of four runs. Above, reconstruction losses end at the bounds 0.2 and 0.3 and near 0.09 for the bounds 0.05 and 0.1. Below, lambda on a logarithmic axis with zero: at 0.05 it sits at 100, at 0.1 it rises to 80 and falls slowly to 19, at 0.2 and 0.3 it falls to zero within the first tenth."}, "figure": {"name": "fig-ltd-2", "caption": "From the released records on COCO, one run a bound. Above: reconstruction loss, means of each epoch, and the bounds (dotted). Below: λ, with its zeros."}}
fig, axes = plt.subplots(2, 1, figsize=(7.2, 5.2), sharex=True)
for eta, shade in COLOURS.items():
    steps, values = curve("release", f"lag_{eta:g}", "reconstruction")
    axes[0].plot(steps[22::45] / UNIT, values.reshape(-1, 45).mean(1), color=shade, lw=1.6)
    axes[0].axhline(eta, color=shade, ls=":", lw=1)
    axes[1].plot(steps / UNIT, curve("release", f"lag_{eta:g}", "lambda").values, color=shade, lw=1.6,
                 label=f"η = {eta:g}")
log_with_zero(axes[1])
axes[0].set(yscale="log", ylim=(0.045, 0.6), ylabel="reconstruction loss")
axes[0].set_yticks([0.05, 0.1, 0.2, 0.3, 0.5], ["0.05", "0.1", "0.2", "0.3", "0.5"])
axes[0].minorticks_off()
axes[1].set(ylabel="multiplier λ", xlabel="steps in units of 100,000")
fig.legend(loc="outside upper center", ncols=4, fontsize="small");

# %% [markdown]
# - **η = 0.05 cannot be kept.** The reconstruction loss ends at 0.091. λ reaches 100 at step 6,126 and stays there, while
#   $x$, by the rule, runs on to 1,339.
# - **η = 0.1 is kept, narrowly.** λ climbs to 80 by step 70,790, and takes all of the remaining steps to fall to 19. That is
#   no wind-up, for nothing was clipped.
# - **η = 0.2 and 0.3 are kept early.** λ is zero in 51 % and 97 % of the records. At 0.2 it sleeps through five epochs, 8 to
#   12, whose means are clearly above the bound, and is small and at zero by turns afterwards.
#
# Did this rule make these records? They let us test it, for the rule needs nothing but the recorded reconstruction
# losses. The record of the paper's later version, in which $x$ is far from zero most of the time, suits this best. Replayed
# over it, the published rule has a correlation of at least 0.9993 with the recorded λ at all five bounds; at η = 0.2 the
# projected rule has one of 0.33.

# %% tags=["hide-input"]
# checked by machine
steps, longest = curve("release", "lag_0.05", "lambda")
peaks, slowly = curve("release", "lag_0.1", "lambda")
means, values = (curve("release", "lag_0.2", name).values.reshape(EPOCHS, -1) for name in ("reconstruction", "lambda"))
through = np.flatnonzero((means.mean(1) > 0.2 + 2 * means.std(1, ddof=1) / means.shape[1] ** 0.5)
                         & (values.max(1) <= replay.ZERO)) + 1
check("The reconstruction loss ends at 0.091.", number("0.091", late("lag_0.05", "reconstruction")))
check("λ reaches 100 at step 6,126 and stays there, while x, by the rule, runs on to 1,339.",
      number("100 6,126 1,339", [longest[-1], steps[(longest >= 100).argmax()],
                                 replay.recorded("release", "lag_0.05").raw[-1]]))
check("λ climbs to 80 by step 70,790, and takes all of the remaining steps to fall to 19.",
      number("80 70,790 19", [slowly.max(), peaks[slowly.argmax()], slowly[-1]]))
check("λ is zero in 51 % and 97 % of the records.", number("51 97", [idle_share("lag_0.2"), idle_share("lag_0.3")]))
check("At 0.2 it sleeps through five epochs, 8 to 12, whose means are clearly above the bound, and is small and at zero "
      "by turns afterwards.", number("8 12", [through[0], through[-1]]), also="0.2")
fits = {rule: {run: replay.agreement("tmlr", run, rule).correlation for run in ltd_curves.constrained("tmlr")}
        for rule in ("published", "projected")}
check("Replayed over it, the published rule has a correlation of at least 0.9993 with the recorded λ at all five "
      "bounds; at η = 0.2 the projected rule has one of 0.33.",
      number("0.9993 0.33", [min(fits["published"].values()), fits["projected"]["lag_0.2"]]), also="0.2")

# %% [markdown]
# ## Does wind-up matter for retrieval?
#
# The record cannot say: a λ that came back earlier would have changed the losses that follow. On scenes the two rules were
# trained side by side, with three targets and five draws each, and they made **the same runs to the last digit**. There
# a bound that was met once stayed met, so nothing ever called λ back. In a training four times as long the rules do part,
# on one draw, but after the evaluation that is kept. So a projected rule costs nothing and cures the wind-up; whether it
# retrieves better is open.

# %% tags=["hide-input"]
# checked by machine
def both_rules(at, **settings):
    return [runs("scenes", method="ltd", at=at, multiplier=rule, **settings) for rule in ("published", "projected")]


PAIRS = [both_rules(f"searched, LTD bound{target}", seed=range(5)) for target in ("", " form", " words")]
LONGER = [both_rules("searched, LTD bound", eta=eta, seed=100, updates=12000, evaluate_every=1000) for eta in (0.07, 0.1)]


def parting(one, other):
    """The first logged update at which the two rules differ."""
    of = [pd.DataFrame(found[0]["log"], columns=found[0]["log_columns"]) for found in (one, other)]
    return int(of[0]["update"][np.flatnonzero(of[0]["reconstruction"] != of[1]["reconstruction"])[0]])


assert [len(one) for one, _ in PAIRS] == [5, 5, 5]
assert all(a["log"] == b["log"] for rules in PAIRS for a, b in zip(*rules, strict=True))
assert all(found[0]["chosen"]["update"] < parting(*rules) for rules in LONGER for found in rules)

# %% [markdown]
# ## What we found
#
# - λ is zero in 97 % of the record with η = 0.3, and in 24 of 60 epochs although the bound is clearly broken.
# - The cause is that $x$, the number behind λ, is a sum without a lower limit: it falls to about −18 and has to come back
#   first. The smaller the violation, the longer that takes.
# - The upper end winds up as well: with a bound that cannot be kept, λ stands at 100 while $x$ runs on to 1,339.
# - Putting $x$ back to the limit after each step removes the delay, and in the example λ then settles at its price. That
#   descent and ascent swing around each other is another matter, and stays.
# - On scenes both rules made the same runs, so what wind-up does to retrieval is not known.

# %% tags=["hide-input"]
# checked by machine
check("λ is zero in 97 % of the record with η = 0.3, and in 24 of 60 epochs although the bound is clearly broken.",
      number("97 24 60", [100 * idle.mean(), len(sleeping), EPOCHS]), also="0.3")
check("The cause is that x, the number behind λ, is a sum without a lower limit: it falls to about −18 and has to come "
      "back first.", number("-18", replayed.raw.min()))
check("The upper end winds up as well: with a bound that cannot be kept, λ stands at 100 while x runs on to 1,339.",
      number("100 1,339", [longest[-1], replay.recorded("release", "lag_0.05").raw[-1]]))

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} How long does it sleep?
# :label: ex-wound-up
# ````
#
# The raw number is at $x = -X$, and from now on the reconstruction loss is $L > \eta$, always the same. Momentum has
# settled, so that each step moves $x$ by $lr \cdot (L/\eta - 1)$. After how many steps is $\lambda$ above zero for the
# first time? `mine = lambda X, L, eta, lr: ...`, a whole number.

# %%
mine = ...

# %% tags=["hide-input"]
def check_asleep(value):
    """Passes for the number of steps until the multiplier leaves zero."""
    if value is ...:
        return "your turn"
    for X, L, eta, lr in ((18.31437, 0.31, 0.3, 0.005), (0.01, 0.5, 0.2, 0.005), (7.7003, 0.26, 0.25, 0.02)):
        x, steps = -X, 0
        while x <= 0:
            x, steps = x + lr * (L / eta - 1), steps + 1
        got = value(X, L, eta, lr)
        assert got == steps, f"not yet: with X = {X}, L = {L}, η = {eta} you get {got}, not {steps}"
    return "right"


check_asleep(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-wound-up
# :class: dropdown
# ````
#
# $X$ divided by the step, and then the next whole number. With an $X$ of 18 and a loss of 0.31 at a bound of 0.3,
# about what the first figure shows, these are more than a hundred thousand steps, or 24 epochs on COCO.

# %%
check_asleep(lambda X, L, eta, lr: int(X / (lr * (L / eta - 1))) + 1)

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} Put it back
# :label: ex-put-back
# ````
#
# Write the projected rule: `mine(losses, eta)` returns the list of $\lambda$ after each step, from $x = 1$, with the
# learning rate 0.005, momentum and dampening 0.9, the first slope undamped, and $x$ put back to between 0 and 100 after
# each step. The momentum is kept as it is.

# %%
mine = ...

# %% tags=["hide-input"]
def check_put_back(value):
    """Passes for the projected rule."""
    if value is ...:
        return "your turn"
    import icrlib

    losses = [0.9 - 0.002 * k for k in range(300)] + [0.05] * 900 + [0.4] * 300 + [60.0] * 200 + [0.05] * 100
    multiplier = icrlib.LagrangeMultiplier(0.2, rule="projected")
    got = value(list(losses), 0.2)
    assert len(got) == len(losses), f"not yet: {len(got)} values for {len(losses)} losses"
    for step, loss in enumerate(losses):
        multiplier.step(loss)
        expected = float(multiplier.value)
        assert chapter.near(got[step], expected), f"not yet: λ after step {step} is {got[step]}, not {expected}"
    return "right"


check_put_back(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-put-back
# :class: dropdown
# ````
#
# One line more than the published rule: the clipped number is what the next step starts from.

# %%
def solution(losses, eta):
    x, b, found = 1.0, None, []
    for loss in losses:
        g = loss / eta - 1
        b = g if b is None else 0.9 * b + 0.1 * g
        x = min(max(x + 0.005 * b, 0.0), 100.0)
        found.append(x)
    return found


check_put_back(solution)

# %% [markdown]
# ````{solution-end}
# ````
#
# Next: {numref}`Chapter {number} <ch-pays>` asks whether any of this pays.
