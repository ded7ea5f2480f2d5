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

from icrlib import chapter, evidence, plots, records
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
# Four pictures (rows) and four captions (columns); those that belong together, the matches, are framed. The first panel
# has scores such as a model could give; these were chosen by hand. Training changes each score a little, and how much,
# and in which direction, is what a loss decides. Look at the third row: its match has 0.40, and a wrong caption has 0.62.
# What should happen to the other wrong ones?

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three panels of four by four cells: scores, and the weights that Triplet-SH and NT-Xent put on them. Triplet-SH touches one wrong caption and the match in three rows, and in the last row nothing; NT-Xent touches every cell, most of all the wrong 0.62 in the third row."}, "figure": {"name": "fig-ten-push", "caption": "One table of scores, two losses. Red is pushed down, blue pulled up; the scale shows the root of a weight. Triplet-SH moves at most one wrong caption a row, NT-Xent all of them."}}
scores, positives = plots.example()
plots.scores_and_weights(scores, positives, {"triplet_sh": TripletSH(), "ntxent": NTXent()});

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
hard, soft = (loss.weights(scores, positives) for loss in (TripletSH(), NTXent()))
assert bool(((hard > 0).sum(1) == torch.tensor([1, 1, 1, 0])).all()) and not hard[3].any() and TripletSH().margin == 0.2
assert bool((soft != 0).all()) and int(soft.argmax()) == 2 * 4 + 1

# %% [markdown]
# Triplet-SH pushes the highest wrong caption of a row, if it is less than 0.2 behind the match, and ignores the rest.
# NT-Xent pushes all of them, each by how high it scores beside the others of its row. **Every loss on scores can be drawn
# like this**: the picture says who is pushed, how hard, and when the loss stops. You can move the scores yourself in
# {doc}`intro`, and the losses of the first paper are taken apart in {doc}`gradients/triplet`, {doc}`gradients/ntxent` and
# {doc}`gradients/smoothap`.
#
# ## 2. A model can search without reading
#
# The usual measure is recall: for which percentage of the pictures is a right caption among the first one, five or ten,
# and for which percentage of the captions the right picture? These six numbers, added up, are the **rsum**, 600 at most.
# Below is one training, with a second question asked at each evaluation. There are pairs of pictures whose captions have
# the same words in another order: "a red circle above a blue square", "a blue circle above a red square". Does the model
# know which caption belongs to which? Guessing gives 50 %.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels over the updates of one training. Above, the validation rsum is flat from update 500, the first that is shown, to about 2,000; then it rises, crosses the line of the model that sums its words, and is flat again from 4,000. Below, the swap accuracy is near 50 percent until about 1,500, climbs to above 70 at 4,000, and hardly moves after that."}, "figure": {"name": "fig-ten-reading", "caption": "One training on 1,500 drawn pictures (NT-Xent, learning rate 1e-3). Above: validation rsum; grey: the best of a model that only sums its words. Below: accuracy on pairs that differ in the order of their words; dotted: guessing. In this run both are flat until about update 2,000, and then both rise."}}
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
(faster,) = runs("vse++", loss="ntxent", lr=1e-2, updates=9000, seed=run["config"]["seed"])
early = {e["update"]: e for e in faster["history"]}[500]["twins"]["swap"]
assert early > 65
pairs = np.mean([r["test"]["twins"]["swap"] for r in records.find(study="word_pairs")
                 if r["config"]["model_options"]["ngrams"] == 2])
assert pairs > 75
Markdown(f"From update 500 to 2,000 the recall hardly moves ({min(flat):.0f} to {max(flat):.0f}). It is not even that of "
         f"a model that only sums its words ({bag['chosen']['val_rsum']:.0f}), and the order of words is hardly better "
         f"than a guess ({at[2000]['twins']['swap']:.0f} %). Yet the model finds pictures. A comparison of losses that "
         "stops there compares models that make next to no use of the order of words. In the next two thousand updates "
         f"this model learns which words belong together ({at[4000]['twins']['swap']:.0f} %), and its recall goes up "
         f"to {at[4000]['val']['rsum']:.0f}. It is one run, shown because at its low rate the two phases lie apart: "
         f"with ten times the rate the same loss has {early:.0f} % by update 500. No more than that is shown: a bag of "
         f"words that also has *pairs* of neighbours, and reads nothing, answers {pairs:.0f} % of such questions.")

# %% [markdown]
# When this happens depends on the rate, the budget and the loss; {doc}`lessons/reading` follows it, and
# {doc}`lessons/training` and {doc}`lessons/table1` compare the losses on models that have come that far.
#
# ## 3. The number of negatives does not order the losses
#
# The first paper counts how many wrong captions (negatives) of a batch still change anything, loss by loss, and concludes
# that a loss should listen to one or a few, and to hard ones. (It sees an exception itself: on the model used here, its
# NT-Xent hears more than its Triplet and is ahead.) It counts those above a threshold; the next picture has a count
# without one, the number of wrong captions that would share the push equally. If few are best as a rule, the points
# should fall from left to right. Above, each loss has its published margin or temperature; below, the one that a search
# found for it.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels with the test rsum over the effective number of negatives on a logarithmic axis, a small point a run and a large one a mean, one colour a loss. Above, Triplet-SH stands far left and highest, NT-Xent far right and second, Triplet and SmoothAP between them and lower. Below, Triplet-SH is where it was and higher, NT-Xent unchanged and second; Triplet has moved to the right, close to NT-Xent and below it, and SmoothAP to the far right and up."}, "figure": {"name": "fig-ten-count", "caption": "One model, VSE++, on ten random data sets of drawn pictures: how many negatives share a query's push (image to text), and the test rsum. Above: published margins and temperatures; below: searched ones. Learning rates are searched in both. Small points: single data sets; large: means. In neither panel do the losses stand in the order of their numbers."}}
def effective(record):
    """How many negatives share the push on a picture's captions, when the run had its best weights."""
    chosen = next(e for e in record["history"] if e["update"] == record["chosen"]["update"])
    return chosen["cocos"]["i2t"]["n_eff"]


# Published constants that came out best were not run twice.
place = evidence.tuned_studies(records.find(study="tuning"), "ecir", "tuned")
groups, own = (evidence.common_draws({n: records.find(study=study[n], method="vse++", loss=n) for n in NAMES})
               for study in (dict.fromkeys(NAMES, "ecir"), {name: place["vse++", name] for name in NAMES}))
fig, axes = plt.subplots(2, 1, figsize=(6.4, 5.6), sharex=True, sharey=True)
for ax, these, title in zip(axes, (groups, own), ("published constants", "searched constants"), strict=True):
    for name, group in these.items():
        look = {"color": plots.colour(name), "marker": plots.marker(name), "ls": ""}
        here = [effective(r) for r in group], [r["test"]["rsum"] for r in group]
        ax.plot(*here, ms=4, alpha=0.4, **look)
        ax.plot(*map(np.mean, here), ms=10, mec="black", label=LABELS[name], **look)
    ax.set(xscale="log", ylabel="test rsum", title=title)
    ax.minorticks_off()
axes[1].set(xlabel="negatives in effect", xticks=(ticks := [1, 2, 5, 10, 20, 50]), xticklabels=ticks)
axes[0].legend(fontsize="small");

# %% tags=["hide-input"]
rsums = [{n: np.array([r["test"]["rsum"] for r in g]) for n, g in these.items()} for these in (groups, own)]
as_published, searched = ({n: (float(np.mean([effective(r) for r in group])), float(rsum[n].mean()))
                           for n, group in these.items()} for these, rsum in zip((groups, own), rsums, strict=True))
leads = [evidence.intervals.over_pairs(rsum["ntxent"], rsum["triplet"], "draws of data").interval(0.95) for rsum in rsums]
assert min(low for low, _ in leads) > 0 and place["vse++", "ntxent"] == "ecir"
for means in (as_published, searched):
    assert sorted(NAMES, key=lambda n: -means[n][1])[:2] == ["triplet_sh", "ntxent"]
for name in ("triplet", "smoothap"):
    assert as_published[name][0] < as_published["ntxent"][0]
    assert searched[name][0] > 3 * as_published[name][0] and searched[name][1] > as_published[name][1] + 5


def told(means, name):
    return f"{LABELS[name]} ({means[name][0]:.0f} in effect) has {means[name][1]:.0f}"


Markdown(f"They do not. As published, in test rsum, {told(as_published, 'triplet_sh')} and "
         f"{told(as_published, 'ntxent')}; those between are behind ({told(as_published, 'triplet')}, "
         f"{told(as_published, 'smoothap')}). With a constant of its own, {told(searched, 'triplet')} and "
         f"{told(searched, 'smoothap')}: both hear several times as many as before and retrieve better. "
         f"{told(searched, 'triplet_sh')}; NT-Xent keeps its published temperature. It hears more than Triplet, "
         "above by much and below by little, and is ahead, by {:.0f} to {:.0f} and by {:.0f} to {:.0f} rsum "
         "(95 % intervals). That one hard negative is best of all, the paper's main finding, holds here too; "
         "but that fewer are better than more does not.".format(*leads[0], *leads[1]))

# %% [markdown]
# These are four losses, one model and drawn pictures. The losses differ in more than the number, and SmoothAP's batches hold
# five captions a picture, so that it has more to hear; what makes the difference, the figure cannot say. Some of the
# printed counts also counted something else than the text says: {doc}`lessons/cocos` and {doc}`lessons/audit`. Which loss to
# choose, for your amount of data and your time, is worked out in {doc}`lessons/which-loss`.
#
# ## 4. One can train with a gradient that no loss has
#
# The second paper leaves the loss out and writes down directly how hard a pair pulls and pushes. Now take the two scores of
# a triplet, the match's and the worst rival's, as a place on a map, and walk once around a small square. Back at the
# start a loss has the value that it had before. Two designed gradients take the walk. Both act only where the rival comes
# within a margin of the match, which is so on half of the way. There con × con moves both scores by 1, con × lin each by
# how far it is from where it should be. Do both come home?

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two curves over three walks around a square, flat on the first half of each walk, with a peak in the second half. con times con returns to zero after each walk; con times lin ends each 0.08 higher than the one before."}, "figure": {"name": "fig-ten-loop", "caption": "Three times around the same square in the plane of the two scores. con × con, which is the gradient of Triplet-SH, comes home. con × lin has 0.08 left over each time: no continuous loss has it as its gradient."}}
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
# One does not, and one can train with it all the same. It is no exception: of the fifteen designed gradients, as printed,
# only three are the gradient of a continuous loss. {doc}`objectives/goal` builds them, {doc}`objectives/integrate` finds
# those with a loss, and {doc}`objectives/grid` trains all fifteen on drawn pictures. There con × con, which is Triplet-SH,
# comes out on top; so leaving the loss out is possible, but has not paid on these data.
#
# ## 5. A constraint can be asleep
#
# The third paper wants captions to be *kept*: from a caption's vector one should be able to guess what a sentence encoder
# says about it, with an error below a bound. A price λ is put on breaking the bound, and it rises as long as the bound is
# broken. Here is a run by the paper's authors, with the bound at 0.3. When the error is above the dotted line, the price
# should be going up.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels over 60 epochs. Above, the mean reconstruction loss of each epoch against the dotted bound of 0.3: below it from epoch 2 to about 13, above it until 36, then close to it. Below, the price: above zero in the first two epochs, a little at three later ones, and else zero; the epochs in which it is zero although the bound is broken are shaded."}, "figure": {"name": "fig-ten-asleep", "caption": "The authors' run on MS-COCO with the bound 0.3: error of each epoch (above), and the highest price λ of each epoch (below). Shaded: the bound is broken, by more than two standard errors, and λ is 0 in every batch that was recorded, one in a hundred. (The scale of λ is linear near 0 and logarithmic above.)"}}
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
(awake, *later) = (int(k) for k in np.flatnonzero(price > replay.ZERO) if k > 2)  # counted from 0
assert asleep[awake - 1] and not asleep[awake] and len(later) == 2 and later[1] == later[0] + 1
rest = abs(error[awake:] - 0.3).max()
Markdown(f"In {int(asleep.sum())} of {EPOCHS} epochs the bound is broken and the price stays at zero. The released "
         "program shows why. It keeps a raw number, adds to it while the bound is broken, takes from it while it is "
         "kept, and the price is that number or zero, whichever is more. While the bound was kept, early in training, "
         "the raw number ran far below zero, and it has all that way to come back before the price can rise. In epoch "
         f"{awake + 1} it does, and the mean error falls from {error[awake - 1]:.3f} to {error[awake]:.3f}. From then on "
         f"the error stays within {rest:.3f} of the bound, and in the batches on record the price rises once more, in "
         f"epochs {later[0] + 1} and {later[1] + 1}. Engineers call it wind-up.")

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
