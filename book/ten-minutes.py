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
# # In ten minutes
#
# **What you will be able to do:** say in five sentences what this book found, and know where to look for the rest.
# **Time:** ten minutes of reading, under a minute on one core. **You need:** nothing.
#
# Somebody types "a dog on a beach", and out of ten thousand photos five should appear that show one. A model can learn
# this from photos with captions. It turns a picture into a list of numbers, a vector, and a caption into another one; the
# more the two vectors point the same way, the higher the **score** of the pair. What it learns is decided by the **loss**,
# a formula that says how wrong the scores of a handful of pictures and captions are. Three papers compared or designed
# such losses. This book takes them apart and runs them again. If you read five pictures of it, read these.

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
import torch
from IPython.display import Markdown

from icrlib import chapter, paper, plots, records
from icrlib.losses import GradientObjective, NTXent, TripletSH
from icrlib.losses.integrability import plane
from icrlib.paper import replay
from icrlib.paper.ltd_curves import EPOCHS, curve

smoke = chapter.start(smoke)
NAMES = ["triplet", "triplet_sh", "ntxent", "smoothap"]
LABELS = {name: plots.label(name) for name in NAMES}

# %% [markdown]
# ## 1. A loss is a choice of whom to push
#
# Four pictures (rows) and four captions (columns); those that belong together are framed. On the left are the scores a
# model gives. Training changes each score a little, and how much, and in which direction, is all that a loss decides.
# Look at the third row: its match has 0.40, and a wrong caption has 0.62. What should happen to the other wrong ones?

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three panels of four by four cells: scores, and the weights that Triplet-SH and NT-Xent put on them. Triplet-SH touches one wrong caption a row and the match, and in the last row nothing; NT-Xent touches every cell, most of all the wrong 0.62 in the third row."}, "figure": {"name": "fig-ten-push", "caption": "One table of scores, two losses. Red is pushed down, blue pulled up; the scale shows the root of a weight. Triplet-SH moves at most one wrong caption a row, NT-Xent all of them."}}
scores, positives = plots.example()
plots.scores_and_weights(scores, positives, {"triplet_sh": TripletSH(), "ntxent": NTXent()});

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
hard, soft = (loss.weights(scores, positives) for loss in (TripletSH(), NTXent()))
assert bool(((hard > 0).sum(1) <= 1).all()) and not hard[3].any()
assert bool((soft != 0).all()) and int(soft.argmax()) == 2 * 4 + 1

# %% [markdown]
# Triplet-SH pushes the highest wrong caption of each row that is not yet safe, and ignores the rest. NT-Xent pushes all of
# them, each by how high it scores beside the others of its row. **All losses of this book are such pictures**, and they
# differ in three things only: who is pushed, how hard, and when it stops. You can move the scores yourself in {doc}`intro`,
# and every loss is taken apart in {doc}`gradients/triplet`, {doc}`gradients/ntxent` and {doc}`gradients/smoothap`.
#
# ## 2. A model can search without reading
#
# The usual measure is recall: is the right caption among the first one, five or ten? Six such numbers, added up, are the
# **rsum**. Below is one training, with a second question asked at each evaluation. There are pairs of pictures whose
# captions have the same words in another order: "a red circle above a blue square", "a blue circle above a red square".
# Does the model know which caption belongs to which? Guessing gives 50 %.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels over the updates of one training. Above, the validation rsum rises within 500 updates, stays flat until about update 2,000, and rises again. Below, the swap accuracy stays at 50 percent until then and climbs with the second rise."}, "figure": {"name": "fig-ten-reading", "caption": "One training on 1,500 drawn pictures (NT-Xent, rate 1e-3). Above: validation rsum; grey: a model that only sums its words. Below: accuracy on pairs that differ in the order of their words; dotted: guessing."}}
def runs(method, **wanted):
    return [r for r in records.find(study="reading", method=method) if r["config"]["data_options"]["train"] == 1500
            and all(r["config"][name] == value for name, value in wanted.items())]


bags = runs("bow", updates=9000)
(run, *_) = (r for r in runs("vse++", loss="ntxent", lr=1e-3, updates=9000)
             if r["config"]["seed"] in {b["config"]["seed"] for b in bags})
bag = max((b for b in bags if b["config"]["seed"] == run["config"]["seed"]), key=lambda b: b["chosen"]["val_rsum"])
x = [e["update"] for e in run["history"]]
fig, axes = plt.subplots(2, 1, figsize=(6.4, 4.6), sharex=True)
axes[0].plot(x, [e["val"]["rsum"] for e in run["history"]], "o-", ms=3, color=plots.COLOURS["ntxent"])
axes[0].axhline(bag["chosen"]["val_rsum"], color=plots.COLOURS["bow"])
axes[0].set_ylabel("validation rsum")
axes[1].plot(x, [e["twins"]["swap"] for e in run["history"]], "o-", ms=3, color=plots.COLOURS["ntxent"])
axes[1].axhline(50, color="black", ls=":")
axes[1].set(ylabel="order of words, %", xlabel="updates");

# %% tags=["hide-input"]
at = {e["update"]: e for e in run["history"]}
assert abs(at[2000]["val"]["rsum"] - at[500]["val"]["rsum"]) < 15 and at[2000]["twins"]["swap"] < 60
assert at[4000]["val"]["rsum"] > at[2000]["val"]["rsum"] + 15 and at[4000]["twins"]["swap"] > 65
assert at[2000]["val"]["rsum"] < bag["chosen"]["val_rsum"] < at[4000]["val"]["rsum"]
flat = [e["val"]["rsum"] for update, e in at.items() if 500 <= update <= 2000]
Markdown(f"From update 500 to 2,000 the recall hardly moves ({min(flat):.0f} to {max(flat):.0f}). It is near that of a "
         f"model that only sums its words ({bag['chosen']['val_rsum']:.0f}), which finds pictures well enough, and the "
         f"order of words is hardly better than a guess ({at[2000]['twins']['swap']:.0f} %). A comparison of losses that "
         "stops there compares bags of words. In the next two thousand updates the model begins to read "
         f"({at[4000]['twins']['swap']:.0f} %), and its recall goes up to {at[4000]['val']['rsum']:.0f}.")

# %% [markdown]
# When this happens depends on the rate, the budget and the loss; {doc}`lessons/reading` follows it, and
# {doc}`lessons/training` and {doc}`lessons/table1` compare the losses on models that do read.
#
# ## 3. Fewer negatives do not make a better loss
#
# The first paper counts how many wrong captions of a batch still change anything, loss by loss, and concludes that those
# losses retrieve best that listen to few. It counts those above a threshold; the next picture has a count without one, the
# number of wrong captions that would share the push equally. If few are best as a rule, the points should fall from left
# to right.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Test rsum over the effective number of negatives on a logarithmic axis, a small point a run and a large one a mean, one colour a loss. Triplet-SH stands far left, NT-Xent far right and as high or higher than the others."}, "figure": {"name": "fig-ten-count", "caption": "One model, VSE++, on ten random data sets of drawn pictures, published constants, rates searched: how many negatives share a query's push (image to text), and the test rsum. Small points: single data sets; large: means."}}
def effective(record):
    """How many negatives share the push on a picture's captions, when the run had its best weights."""
    chosen = next(e for e in record["history"] if e["update"] == record["chosen"]["update"])
    return chosen["cocos"]["i2t"]["n_eff"]


groups = paper.common_draws({name: records.find(study="ecir", method="vse++", loss=name) for name in NAMES})
fig, ax = plt.subplots(figsize=(6.4, 3.4))
for name, group in groups.items():
    look = {"color": plots.colour(name), "marker": plots.marker(name), "ls": ""}
    here = [effective(r) for r in group], [r["test"]["rsum"] for r in group]
    ax.plot(*here, ms=4, alpha=0.4, **look)
    ax.plot(*map(np.mean, here), ms=10, mec="black", label=LABELS[name], **look)
ax.set(xscale="log", xlabel="negatives in effect", ylabel="test rsum", xticks=[1, 2, 5, 10], xticklabels=[1, 2, 5, 10])
ax.minorticks_off()
ax.legend(fontsize="small");

# %% tags=["hide-input"]
few, many = (float(np.mean([effective(r) for r in groups[name]])) for name in ("triplet_sh", "ntxent"))
best = {name: float(np.mean([r["test"]["rsum"] for r in group])) for name, group in groups.items()}
assert many > 4 * few and best["ntxent"] > max(best["triplet"], best["smoothap"]) + 10
own = {name: float(np.mean([r["test"]["rsum"] for r in records.find(study="tuned", method="vse++", loss=name)] or
                           [best[name]])) for name in NAMES}  # a margin or a temperature of its own, if that is better
order = sorted(best, key=best.get, reverse=True)
assert set(order[:2]) == {"triplet_sh", "ntxent"} and min(own[order[0]], own[order[1]]) > max(map(own.get, order[2:])) + 5
Markdown("They do not. The loss that hears one negative and the loss that hears most are the first two "
         + f"(Triplet-SH, {few:.1f} in effect: {best['triplet_sh']:.0f}; NT-Xent, {many:.0f}: {best['ntxent']:.0f}), and "
         f"those between are behind (Triplet {best['triplet']:.0f}, SmoothAP {best['smoothap']:.0f}). Each loss had a "
         "learning rate of its own here. With a margin or a temperature of its own, too, they have "
         + ", ".join(f"{own[name]:.0f} ({LABELS[name]})" for name in order)
         + ": the two at the ends are still ahead. Four losses prove no law, but they are enough to break one.")

# %% [markdown]
# Some of the printed counts also counted something else than the text says: {doc}`lessons/cocos` and
# {doc}`lessons/audit`. How many it hears does not decide how good a loss is. What to choose instead, for your amount of
# data and your time, is worked out in {doc}`lessons/which-loss`.
#
# ## 4. One can train with a gradient that no loss has
#
# The second paper leaves the loss out and writes down directly how hard a pair pulls and pushes. Now take the two scores of
# a triplet, the match's and the worst rival's, as a place on a map, and walk once around a small square. Back at the
# start a loss has the value that it had before. Two designed gradients take the walk. Both act on triplets inside a margin;
# con × con moves both scores by 1, con × lin each by how far it is from where it should be. Do both come home?

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two staircases over three walks around a square. con times con returns to zero after each; con times lin ends 0.08 higher each time."}, "figure": {"name": "fig-ten-loop", "caption": "Three times around the same square in the plane of the two scores. con × con, which is the gradient of Triplet-SH, comes home. con × lin has 0.08 left over each time: there is no loss whose gradient it is."}}
def walk(objective, times=3, steps=400):
    """What is gathered on the way around the square from (.3, .1) to (.7, .5), so many times."""
    corners = torch.tensor([[0.3, 0.1], [0.7, 0.1], [0.7, 0.5], [0.3, 0.5]], dtype=torch.float64)
    sides = zip(corners, corners.roll(-1, 0), strict=True)
    part = (torch.arange(steps, dtype=torch.float64)[:, None] + 0.5) / steps
    sums = [(plane(objective)(a + part * (b - a)) * (b - a) / steps).sum(1) for a, b in sides]
    return torch.cat(sums * times).cumsum(0)


plt.figure(figsize=(6.4, 2.8))
left_over = {}
for pair, colour in (("con", plots.COLOURS["triplet_sh"]), ("lin", plots.COLOURS["ntxent"])):
    height = walk(GradientObjective("con", pair))
    left_over[pair] = float(height[-1]) / 3
    plt.plot(torch.linspace(0, 3, len(height)), height, color=colour, label=f"con × {pair}")
plt.xlabel("times around")
plt.ylabel("“loss” gathered")
plt.legend()
assert abs(left_over["con"]) < 1e-9 and abs(left_over["lin"] - 0.08) < 1e-3

# %% [markdown]
# One does not, and one can train with it all the same: of the fifteen designed gradients, as printed, only three are the
# gradient of any loss. {doc}`objectives/goal` builds them, {doc}`objectives/integrate` finds those with a loss, and
# {doc}`objectives/grid` trains all fifteen: on our data the one with the oldest loss behind it, con × con, comes out on top.
#
# ## 5. A constraint can be asleep
#
# The third paper wants captions to be *kept*: from a caption's vector one should be able to guess what a sentence encoder
# says about it, with an error below a bound. A price λ is put on breaking the bound, and it rises as long as the bound is
# broken. Here is a run by the paper's authors, with the bound at 0.3. When the error is above the dotted line, the price
# should be going up.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels over 60 epochs. Above, the mean reconstruction loss of each epoch against the dotted bound of 0.3: below it until about epoch 14, above it until about epoch 36. Below, the price: it is zero nearly all the time; the epochs in which it is zero although the bound is broken are shaded."}, "figure": {"name": "fig-ten-asleep", "caption": "The authors' run on MS-COCO with the bound 0.3: error of each epoch (above), and the highest price λ of each epoch (below). Shaded: the bound is broken, by more than two standard errors, and λ is 0 all the time."}}
per_batch = curve("release", "lag_0.3", "reconstruction")[1].reshape(EPOCHS, -1)
price = curve("release", "lag_0.3", "lambda").values.reshape(EPOCHS, -1).max(1)
error, slack = per_batch.mean(1), 2 * per_batch.std(1, ddof=1) / per_batch.shape[1] ** 0.5
asleep = (error > 0.3 + slack) & (price <= replay.ZERO)
fig, axes = plt.subplots(2, 1, figsize=(6.4, 4.2), sharex=True)
axes[0].plot(np.arange(EPOCHS) + 1, error, color="#00775a")
axes[0].axhline(0.3, color="black", ls=":")
axes[0].set(ylabel="error", ylim=(0.2, 0.4))
axes[1].plot(np.arange(EPOCHS) + 1, price, color="#0173b2")
axes[1].set(ylabel="price λ", xlabel="epoch", yscale="symlog", ylim=(-0.2, 12), yticks=[0, 1, 10], yticklabels=[0, 1, 10])
for ax in axes:
    for k in np.flatnonzero(asleep):
        ax.axvspan(k + 0.5, k + 1.5, color="#d55e00", alpha=0.15, lw=0)
assert asleep.sum() >= 15

# %% tags=["hide-input"]
Markdown(f"In {int(asleep.sum())} of {EPOCHS} epochs the bound is broken and the price does not move. It cannot. The "
         "program keeps a raw number, adds to it while the bound is broken, takes from it while it is kept, and the "
         "price is that number or zero, whichever is more. While the bound was kept, early in training, the raw number "
         "ran far below zero, and it has all that way to come back before the price can rise. Where it does at last, the "
         "error falls at once; and then the same begins anew. Engineers call it wind-up.")

# %% [markdown]
# {doc}`shortcuts/constraint` explains it with a pencil and lets you wind it up; whether the caption's information is kept,
# and whether it pays, is asked in {doc}`shortcuts/contrastive`, {doc}`shortcuts/decoding` and {doc}`shortcuts/tables`.
#
# ## Where to go from here
#
# - *I have photos and want a search*: {doc}`foundations/your-data`, then {doc}`lessons/which-loss`.
# - *I want to understand a loss*: {doc}`foundations/task`, then {doc}`gradients/triplet`, and on from there.
# - *I want to repeat a paper*: {doc}`reproduce/run` and {doc}`appendix/errata`.
# - *I want to know what is true*: {doc}`appendix/claims`, sentence by sentence.
#
# Next: {doc}`foundations/task`, where you look at the data and compute the measures by hand.
