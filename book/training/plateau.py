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
# (ch-plateau)=
# # A flat loss need not be dead
#
# You start a training with the loss that won in ECIR, Triplet-SH. After five hundred updates you see this. Has it failed? Should you
# stop it?

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
import numpy as np
import pandas as pd
import torch

from icrlib import chapter, paper, plots
from icrlib.experiments import check, runs
from icrlib.losses import NTXent, SmoothAP, Triplet, TripletSH
from icrlib.paper import span

smoke = chapter.start(smoke)

# %%
SH = {"method": "vse++", "loss": "triplet_sh", "margin": 0.2, "seed": range(100, 103)}
cold = runs("scenes", lr=0.003, warmup=0, updates=3000, **SH)  # three draws of the data
plateau = 2 * 128 * 0.2  # 2Bα: a batch has 128 pairs, the margin is 0.2

# %% tags=["remove-input"] mystnb={"image": {"alt": "Training loss of Triplet-SH over the first updates of a training, one line for each of three draws of the data. Each falls towards a dotted line, which it reaches after some hundred updates, and lies flat on it."}, "figure": {"name": "fig-flat", "caption": "The first sixth of a training with Triplet-SH at the rate 0.003, one line a draw of the data. The dotted line is a constant that we derive below."}}
plt.figure(figsize=(6.4, 2.7))
for record in cold:
    first = [point for point in record["log"] if point[0] <= 500]
    plt.plot(*np.array(first).T, color=plots.COLOURS["triplet_sh"], lw=1.2)
    assert all(abs(value / plateau - 1) < 0.05 for update, value in first if update > 150)  # as flat as it looks
plt.axhline(plateau, color="black", ls=":")
plt.ylim(0, None)
plt.xlabel("updates")
plt.ylabel("training loss");

# %% [markdown]
# **Wait. The dotted line is 2Bα = 51.2, the loss of a model that gives every pair the same score, and at this rate all three runs leave it
# by themselves.** They end 4.1 rsum (validation) ahead of three that were spared the plateau; three draws cannot say that they are
# better. At three times the rate
# none leaves it within 1,500 updates; there, begin with a loss that has all negatives, a warm-up.
#
# *You will be able to* recognise a collapse by its constant, say why some losses leave it and one lingers, and what clipping does to
# whom · seven minutes to read · ten seconds to run.
#
# (`runs` reads our records of the trainings that it describes: VSE++, of {numref}`Chapter {number} <ch-towers>`, on pictures that each
# seed draws anew. `missing="train"` would train others here. *rsum* is the sum of six recalls, 600 at most.)

# %%
warm = runs("scenes", lr=0.003, warmup=500, updates=3000, **SH)  # begins with all negatives
fast = runs("scenes", lr=0.01, warmup=0, updates=1500, **SH)
best = {name: group.mean("chosen.val_rsum")
        for name, group in {"at once": cold, "warm-up": warm, "rate 0.01": fast}.items()}
{name: round(value, 1) for name, value in best.items()}

# %% tags=["hide-input"]
# checked by machine
gain = best["at once"] - best["warm-up"]
check("The dotted line is 2Bα = 51.2, the loss of a model that gives every pair the same score, and at this rate all "
      "three runs leave it by themselves.", f"2Bα = {plateau:.1f}",
      len(cold) == 3, cold.values("chosen.val_rsum").min() > 400,
      plateau == cold[0]["config"]["batch_size"] * 2 * cold[0]["config"]["loss_options"]["margin"])
check("They end 4.1 rsum (validation) ahead of three that were spared the plateau;",
      f"end {gain:.1f} rsum", len(warm) == 3)
check("At three times the rate none leaves it within 1,500 updates;",
      fast.values("chosen.val_rsum").max() < 10, also="1,500")

# %% [markdown]
# ## A constant for each loss
#
# Suppose that a model gives *every* pair the same score. Then $s_j - s_+ = 0$ for all triplets, and each hinge is exactly the margin
# $\alpha$. A batch has $B$ images and $B$ captions as queries, and Triplet-SH adds one hinge for each: $2B\alpha$. Each loss has such a
# constant, worth knowing for your batch; the library computes it, and the short formulas agree:

# %% tags=["nbval-check-output"]
eye = torch.eye(128, dtype=torch.bool)
B, alpha = 128, 0.2
collapsed = {"2Bα": 2 * B * alpha, "2B(B-1)α": 2 * B * (B - 1) * alpha,
             "ln B": np.log(B)}
computed = [loss.collapsed(eye) for loss in (TripletSH(), Triplet(), NTXent())]
assert np.allclose(computed, list(collapsed.values()), rtol=1e-12)
{name: round(float(value), 3) for name, value in collapsed.items()}

# %% [markdown]
# A log that shows this number shows a model without any difference between scores. How does it come there? At first the hardest
# negative of a row mostly scores above the positive, and then making all scores alike lowers the loss.
#
# ## Why does one loss stay there, and not the others?
#
# Let all vectors be one unit vector $c$, but for small differences at right angles to it: picture $i$ is $c + x_i$ and its caption
# $c + t_i$, where both kinds add up to zero.
#
# **Step 1, the gradient.** As long as all scores are equal, a loss gives each negative the same weight $w$ and the positive
# $-(B - 1)\,w$. The slope for picture $i$ is the sum of the captions' vectors by these weights, $w \sum_j (c + t_j) - Bw\,(c + t_i)$. The
# differences $t_j$ add up to zero, so that the first part is $Bw\,c$; what is left is $-Bw\,t_i$, and $-Bw\,x_i$ for caption $i$.
#
# **Step 2, both sides.** Every pair is seen from two sides, with pictures as queries and with captions, which doubles it. A step of
# size $r$ against the slope makes $x_i + 2Bwr\, t_i$ of $x_i$, and $t_i + 2Bwr\, x_i$ of $t_i$.
#
# **Step 3, sum and difference.** These two have each other on the right. Their sum and their difference have only themselves:
#
# $$ \begin{aligned} x_i + t_i &\;\to\; (1 + 2Bwr)\,(x_i + t_i), \\
#    x_i - t_i &\;\to\; (1 - 2Bwr)\,(x_i - t_i) \end{aligned} $$ (eq-modes)
#
# for sums over queries and directions; for means $2B$ becomes 1. Nothing moves where all differences are zero: collapse is stationary
# for every loss. But what a picture and its caption have in common grows at compound interest, and what separates them dies out.
# Triplet has $w = 1$, NT-Xent $1/(B\tau)$, SmoothAP $1/(\tau (B + 1)^2)$. Triplet-SH has no such $w$: all its weight is on the negative
# that is ahead by a hair, the vector of an unrelated pair. What will be left of the growth?

# %% tags=["hide-input"]
rng = torch.Generator().manual_seed(0)
unit = torch.nn.functional.normalize
centre = unit(torch.randn(64, generator=rng, dtype=torch.float64), dim=0)


def around():
    """128 unit vectors that differ from the centre by small amounts."""
    apart = torch.randn(B, 64, generator=rng, dtype=torch.float64)
    return unit(centre + 1e-4 * (apart - (apart @ centre)[:, None] * centre), dim=1)


def shared_and_separate(x, t):
    """x + t and x - t, without their means and what lies along the centre."""
    x, t = (p - p.mean(0) - ((p - p.mean(0)) @ centre)[:, None] * centre for p in (x, t))
    return x + t, x - t


start = around(), around()

# %%
def growth(loss, r):
    """By how much a step multiplies both, less 1, over r."""
    x, t = (p.clone().requires_grad_() for p in start)
    loss(unit(x, dim=1) @ unit(t, dim=1).T, eye).backward()
    x, t = (unit(p - r * p.grad, dim=1).detach() for p in (x, t))
    both = zip(shared_and_separate(x, t), shared_and_separate(*start), strict=True)
    return [float(((new * old).sum() / (old * old).sum() - 1) / r) for new, old in both]


foretold = {Triplet(): 2 * B, NTXent(): 1 / (B * 0.1),
            SmoothAP(): 1 / (0.01 * (B + 1) ** 2), TripletSH(): None}
grown = {loss: growth(loss, 1e-4 if loss.queries == "sum" else 0.1)
         for loss in foretold}

# %% tags=["remove-input"]
paper.styled(pd.DataFrame([{"loss": loss.label, "foretold": f"± {rate:.4g}" if rate else "none",
                            "in common": f"{grown[loss][0]:+.4g}", "apart": f"{grown[loss][1]:+.4g}"}
                           for loss, rate in foretold.items()]),
             "Growth in one step, per unit of its size, from scores that are all but equal.", name="modes")

# %% [markdown]
# Where Triplet multiplies what a pair shares by 1 + 256 r, Triplet-SH has half a percent of that growth. A start with all negatives does what
# Triplet-SH cannot: `icrlib.train(..., loss="triplet_sh", warmup=500)`. (Our runs take their steps with Adam, which divides the size of
# $w$ out. It cannot supply a direction that is not there.)

# %% tags=["hide-input"]
# checked by machine
for loss, rate in foretold.items():
    assert rate is None or np.allclose(grown[loss], [rate, -rate], rtol=1e-4)
shared = {loss.label: both[0] for loss, both in grown.items()}
check("Triplet multiplies what a pair shares by 1 + 256 r", f"+ {shared['Triplet']:.0f} r", also="1")
check("Triplet-SH has half a percent of that growth.", 0.003 < shared["Triplet-SH"] / shared["Triplet"] < 0.007)

# %% [markdown]
# ## How to see it
#
# Not by the loss: look at the **spread** of the scores, their standard deviation in a batch. `icrlib.metrics.diagnose` reports it, and
# every record holds it from the first evaluation on. It should be tiny as long as the loss is flat.

# %% tags=["remove-input"] mystnb={"image": {"alt": "Two panels over the updates of Triplet-SH, three draws each with and without a start with all negatives. Above, the training loss: without the start it lies on the dotted constant for hundreds of updates; with it, it is below from the first update with this loss. Below, the spread of scores: without the start it begins near a thousandth and rises late, with it it begins near a tenth."}, "figure": {"name": "fig-plateau", "caption": "Triplet-SH at the rate 0.003, three draws: at once (solid), and after 500 updates with all negatives (dashed; the losses of the start itself are on another scale and left out). Above: the training loss, dotted 2Bα. Below: the spread of the scores in a batch, tiny as long as the loss is flat."}}
fig, axes = plt.subplots(2, 1, figsize=(6.4, 4.6), sharex=True)
for group, style, name in ((cold, "-", "at once"), (warm, "--", "after all negatives")):
    for n, record in enumerate(group):
        points = [p for p in record["log"] if p[0] > record["config"]["warmup"]]
        line = {"color": plots.COLOURS["triplet_sh"], "ls": style, "lw": 1.2, "label": None if n else name}
        axes[0].plot(*np.array(points).T, **line)
        axes[1].plot(*zip(*((e["update"], e["diagnose"]["spread"]) for e in record["history"]), strict=True), **line)
low, high = ([r["history"][0]["diagnose"]["spread"] for r in group] for group in (cold, warm))
assert 10 * max(low) < min(high)
axes[0].axhline(plateau, color="black", ls=":")
axes[0].set(ylim=(0, 1.5 * plateau), ylabel="training loss")
axes[1].set(yscale="log", xlabel="updates", ylabel="spread of the scores")
axes[0].legend(fontsize="small");

# %% [markdown]
# Does the plateau matter in the end? The start costs updates that the loss itself does not get, and the plateau costs updates, too. So
# look at the trials at other rates, and at how long each lay on its constant:

# %%
trials = (runs("scenes", lr=[0.001, 0.003, 0.01], warmup=500, updates=3000, **SH)
          + runs("scenes", lr=[0.001, 0.003], warmup=0, updates=3000, **SH))


def on_plateau(record):
    """% of the logged losses of Triplet-SH itself within 2 % of the constant."""
    log = np.array([value for update, value in record["log"]
                    if update > record["config"]["warmup"]])
    return 100 * float((abs(log / plateau - 1) < 0.02).mean())


table = pd.DataFrame([
    {"rate": f"{lr:g}", "all negatives first": start or "–",
     "losses on the plateau, %": span(map(on_plateau, group)),
     "val. rsum": span(group.values("chosen.val_rsum"))}
    for (lr, start), group in sorted(trials.by("lr", "warmup").items())])
paper.styled(table, "Lowest to highest of three draws; 3,000 updates.", name="plateau")

# %% [markdown]
# At 0.003 waiting and the start end alike, at 0.01 nothing but the start left the plateau (above, "rate 0.01"), and lowering the rate to
# 0.001 does not shorten it. These are three draws of a search.
#
# ## What clipping does to whom
#
# Before each update a gradient that is longer than 2 is cut to that length, as VSE++'s code does. That is one number for all losses,
# though their gradients are not of one size: Triplet and Triplet-SH *sum* over pairs and directions, NT-Xent and SmoothAP take *means*.
# So clipping should act on the first two most of the time, and on the others hardly ever. Ten draws of each, at its own rate
# ({doc}`../reproduce/settings`):

# %%
four = runs("scenes", method="vse++", loss=["triplet", "triplet_sh", "ntxent", "smoothap"],
            seed=range(10), updates=3000, at="searched")
lines, cut = [], {}
for name, group in four.by("loss").items():
    entries = [entry for record in group for entry in record["history"]]
    cut[name] = 100 * np.mean([entry["clipped"] for entry in entries])
    norms = np.quantile([entry["gradient_norm"] for entry in entries], (0.5, 0, 1))
    middle, low, high = (f"{x:,.0f}" if x > 9 else f"{x:.2g}" for x in norms)
    lines.append({"loss": plots.label(name), "median norm": middle,
                  "lowest to highest": f"{low} to {high}",
                  "updates clipped, %": f"{cut[name]:.0f}"})
paper.styled(pd.DataFrame(lines), "Norm of the gradient before clipping, at evaluations; "
             "share of all updates that were cut to a norm of 2.", name="clipping")

# %% [markdown]
# A gradient that is cut keeps its direction and loses its size: every step of Triplet enters Adam with the length 2, a large violation
# no less than a small one. Clipping is not the same thing for different losses, and {numref}`Chapter {number} <ch-losses>` shows two
# losses of which it decides, at one rate, which is ahead.
#
# ## What we found
#
# - **A loss that lies on its constant** (2Bα = 51.2 for Triplet-SH) belongs to a model whose scores are all alike.
# - **Collapse is stationary for every loss.** Triplet multiplies what a pair shares by 1 + 256 r in a step of size r; Triplet-SH has half a
#   percent of that growth.
# - **At a moderate rate the plateau ends by itself**; on three draws of a search waiting was 4.1 rsum better than a start with all
#   negatives.
# - **Clipping at 2.0** cuts every update of Triplet, 83 % of Triplet-SH's, 6 % of NT-Xent's and none of SmoothAP's.

# %% tags=["hide-input"]
# checked by machine
check("(2Bα = 51.2 for Triplet-SH)", f"2Bα = {plateau:.1f}")
check("waiting was 4.1 rsum better than a start with all negatives.", f"was {gain:.1f} rsum")
check("cuts every update of Triplet, 83 % of Triplet-SH's, 6 % of NT-Xent's and none of SmoothAP's.",
      cut["triplet"] == 100, f"{cut['triplet_sh']:.0f} % of Triplet-SH's", f"{cut['ntxent']:.0f} % of NT-Xent's",
      cut["smoothap"] == 0)
check("Clipping at 2.0", all(r["config"]["grad_clip"] == 2.0 for r in four), also="2.0")

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} Your constant
# :label: ex-constant
# ````
#
# You train NT-Xent with $\tau = 0.1$ on batches of 512 pairs. At which loss does a collapsed model sit? Put the number
# in place of the dots. (The temperature may or may not matter.)

# %%
mine = ...

# %% tags=["hide-input"]
def check_constant(value):
    """Passes for the loss of NT-Xent when all scores of a 512 x 512 batch are equal."""
    if value is ...:
        return "your turn"
    expected = NTXent(tau=0.1).collapsed(torch.eye(512, dtype=torch.bool))
    assert abs(value - expected) < 1e-3, f"not yet: got {value}; with equal scores every candidate has probability 1/512"
    return "right"


check_constant(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-constant
# :class: dropdown
# ````
#
# Equal scores give every one of the 512 candidates the same probability, at any temperature: $\ln 512$.

# %%
check_constant(np.log(512))

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise} An open one
# :label: ex-your-plateau
#
# Your training has stood still for three hundred updates at a number that you do not know. Which three quantities would you print, in
# which order, before you touch the learning rate, and what would each have to be for you to go on waiting?
# ````
#
# Next: {numref}`Chapter {number} <ch-losses>` judges the four losses once their plateaus are over.
