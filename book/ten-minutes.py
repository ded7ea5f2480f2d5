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
# (ch-ten-minutes)=
# # In ten minutes
#
# Three papers compared or designed losses for image-caption retrieval. This is what came out here, a sentence a finding, each with the
# page that shows it. **What a model can read depends on how its score is built. Which loss wins depends on the budget,
# the constants, the model and the data.**

# %% tags=["parameters", "remove-cell"]
smoke: bool = False  # a quick try: the records are read as they are

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

from icrlib import chapter
from icrlib.experiments import check, compare, runs
from icrlib.paper import replay
from icrlib.paper.ltd_curves import EPOCHS, curve

smoke = chapter.start(smoke)

# %% [markdown]
# ## What reads
#
# Two pictures whose things have exchanged their colours have captions of the same words in another order. Which caption belongs to
# which? Five systems, trained with one loss, answer such questions; then again with the facts *told apart*, “a star left of a
# triangle, the first large, the second orange”. Bags add up words, or pairs of neighbours; VSE++ reads with a recurrent network;
# *maxima* take the largest value of each feature, over words and over boxes; the *modular scorer* looks for each thing that is
# mentioned. `runs` reads our records.

# %%
SWAP = "test.twins.swap"  # questions answered, %; guessing has 50
SYSTEMS = {
    "bag of words": {"method": "bow", "at": "searched"},
    "bag of pairs": {"method": "bow", "at": "searched, bag of pairs"},
    "VSE++": {"method": "vse++", "at": "searched"},
    "maxima": {"method": "vse_infty", "at": "searched, maxima", "updates": 1000},
    "modular scorer": {"method": "cmn", "at": "searched, modular"},
}
told = {(name, p): runs("scenes", loss="ntxent", seed=range(5), phrasing=p, **system)
        for name, system in SYSTEMS.items() for p in ("plain", "apart")}

# %% tags=["remove-input"] mystnb={"image": {"alt": "Questions answered by five systems, a filled mark for plain captions and a hollow one for captions told apart. The bag of words is at 50 percent on both. The bag of pairs and VSE++ are near 80 on plain captions and near 50 told apart. Maxima fall from 87 to 64, the modular scorer from about 95 to 89."}, "figure": {"name": "fig-ten-reading", "caption": "Swap twins answered, means of five draws of the data. Filled: plain captions; hollow: the same facts told apart; dotted: guessing."}}
fig, ax = plt.subplots(figsize=(4.8, 2.3))
for row, name in enumerate(SYSTEMS):
    plain, apart = (told[name, phrasing].mean(SWAP) for phrasing in ("plain", "apart"))
    ax.plot([plain, apart], [row, row], color="#999999", lw=1.5, zorder=1)
    ax.plot(plain, row, "o", color="black", ms=8)
    ax.plot(apart, row, "o", mec="black", mfc="white", ms=8)
ax.axvline(50, color="black", ls=":")
ax.set_yticks(range(len(SYSTEMS)), list(SYSTEMS))
ax.set(xlabel="answered, %", xlim=(45, 101), ylim=(len(SYSTEMS) - 0.5, -0.5));

# %% [markdown]
# - Pairs of neighbouring words suffice for most plain questions. Told apart, the bag of pairs and VSE++ are left at 52 %, and the
#   modular scorer answers 89 %. ({numref}`Chapter {number} <ch-reading>`)
# - Maxima keep 64 %; the same model with means in their place guesses. ({numref}`Chapter {number} <ch-pooling>`; longer trainings keep
#   more, {numref}`Chapter {number} <ch-modular>`)
# - Left and right are told by a score that compares two places, and by no two towers of ours. ({numref}`Chapter {number}
#   <ch-modular>`)
# - A head that sees words and regions together reads more than towers where facts are told apart, but not places; on plain
#   captions it buys nothing that shows. ({numref}`Chapter {number} <ch-matching>`)

# %% tags=["remove-input"]
# checked by machine
mean = {key: f"{group.mean(SWAP):.0f} %" for key, group in told.items()}
check("Told apart, the bag of pairs and VSE++ are left at 52 %, and the modular scorer answers 89 %.",
      mean["bag of pairs", "apart"], mean["VSE++", "apart"], f"answers {mean['modular scorer', 'apart']}")
check("Maxima keep 64 %; the same model with means in their place guesses.", mean["maxima", "apart"])

# %% [markdown]
# ## Whom a loss pushes
#
# - A loss reaches a model through one weight for each score of a table, and that can be drawn. Recall on own pairs has a ceiling: other
#   captions are true, too. ({numref}`Chapter {number} <ch-scores>`)
# - Triplet pushes every wrong candidate within its margin, and all alike; Triplet-SH only the highest.
#   ({numref}`Chapter {number} <ch-triplet>`)
# - NT-Xent pushes all, by a softmax. *Whom* and *how hard* are two things, and later losses change one of them.
#   ({numref}`Chapter {number} <ch-ntxent>`)
# - SmoothAP moves near ties and leaves the worst mistake alone. ({numref}`Chapter {number} <ch-smoothap>`)
#
# ## Which loss wins
#
# In ECIR's table Triplet-SH, with one hard negative, wins everywhere. Here is its lead over NT-Xent in rsum, the sum of six recalls
# (at most 600), under five conditions.

# %%
LOSSES = {"loss": ["triplet_sh", "ntxent"]}
scenes, photos = {"seed": range(10)} | LOSSES, {"seed": range(3)} | LOSSES
conditions = {
    "published constants": runs("scenes", at="searched", updates=3000, **scenes),
    "half the updates": runs("scenes", at="searched, half the updates", **scenes),
    "own margin": runs("scenes", at="searched, own constants", **scenes),
    "maxima": runs("scenes", method="vse_infty", at="searched, maxima", **scenes),
    "photos": runs("flickr8k", at="searched", **photos),
}
lead = {name: compare(found["triplet_sh"], found["ntxent"])
        for name, found in conditions.items()}

# %% tags=["remove-input"] mystnb={"image": {"alt": "The lead of Triplet-SH over NT-Xent under five conditions with 95 percent intervals. With published constants it is a little above zero, with half the updates well below, with its own margin well above, on maxima above, on photos below with an interval that holds zero."}, "figure": {"name": "fig-ten-lead", "caption": "Triplet-SH less NT-Xent, test rsum, paired, with 95 % intervals: ten draws of drawn pictures, three trainings on Flickr8k. Right of zero Triplet-SH is ahead."}}
fig, ax = plt.subplots(figsize=(4.8, 2.3))
for row, one in enumerate(lead.values()):
    ax.plot([one.low, one.high], [row, row], color="#0173b2", lw=2)
    ax.plot(one.mean, row, "o", color="#0173b2", ms=7)
ax.axvline(0, color="black", lw=1)
ax.set_yticks(range(len(lead)), list(lead))
ax.set(xlabel="Triplet-SH less NT-Xent, rsum", ylim=(len(lead) - 0.5, -0.5));

# %% [markdown]
# - On one model and the same data the lead goes from −14.5, with half the updates, to +23.1, with a margin of its own.
#   ({numref}`Chapter {number} <ch-losses>`; all settings: {numref}`Chapter {number} <ch-settings>`)
# - A loss that stands still may be waiting: all scores are alike, and at a moderate learning rate they part by themselves.
#   ({numref}`Chapter {number} <ch-plateau>`)
# - How many negatives a loss pushes does not order losses by quality ({numref}`Chapter {number} <ch-counting>`), and half of ECIR's
#   table of such counts for SmoothAP hardly depends on the model ({numref}`Chapter {number} <ch-audit>`).
# - Of eight predictions from weights alone four came true; none says which loss wins. ({numref}`Chapter {number} <ch-foretell>`)
# - The ± of a table holds the seeds only; the test photos and the learning rate move a result more.
#   ({numref}`Chapter {number} <ch-errors>`)
# - On thousands of photos, seen whole, nothing that we trained is ahead of a bag of words. ({numref}`Chapter {number} <ch-which-loss>`)

# %% tags=["remove-input"]
# checked by machine
check("On one model and the same data the lead goes from −14.5, with half the updates, to +23.1, with a margin of its "
      "own.", f"from {lead['half the updates'].mean:.1f}", f"to {lead['own margin'].mean:+.1f}")

# %% [markdown]
# ## Gradients without a loss
#
# - Pulls and pushes can be written down directly. Three of GOAL's fifteen designs belong to a loss, and one can train with the others
#   all the same. ({numref}`Chapter {number} <ch-goal>`)
# - It has not paid here: the best of the fifteen is the plain one, which is Triplet-SH. ({numref}`Chapter {number} <ch-fifteen>`)
#
# ## What is thrown away
#
# - A contrastive loss asks for whatever tells pairs apart, and then for nothing else. ({numref}`Chapter {number} <ch-contrastive>`)
# - LTD asks a caption's vector for a *target*. For its teacher a false sentence with two words exchanged is on average nearer than a true
#   one with another word. ({numref}`Chapter {number} <ch-target>`)
# - Its constraint can be asleep. An error should stay below a bound, and a price λ rises while it does not. Here is a run by the authors:

# %% tags=["remove-input"] mystnb={"image": {"alt": "Two panels over 60 epochs. Above, the mean reconstruction loss of each epoch against the dotted bound of 0.3: below it from epoch 2 to about 13, above it until 36, then close to it. Below, the price: above zero in the first two epochs, a little at three later ones, and else zero; the epochs in which it is zero although the bound is broken are shaded."}, "figure": {"name": "fig-ten-asleep", "caption": "The authors' run on MS-COCO with the bound 0.3: error of each epoch (above), and the highest price λ of each epoch (below). Shaded: the bound is broken, by more than two standard errors, and λ is 0 in every batch that was recorded, one in a hundred."}}
per_batch = curve("release", "lag_0.3", "reconstruction")[1].reshape(EPOCHS, -1)
price = curve("release", "lag_0.3", "lambda").values.reshape(EPOCHS, -1).max(1)
error, slack = per_batch.mean(1), 2 * per_batch.std(1, ddof=1) / per_batch.shape[1] ** 0.5
asleep = (error > 0.3 + slack) & (price <= replay.ZERO)
fig, axes = plt.subplots(2, 1, figsize=(5.2, 3.4), sharex=True)
axes[0].plot(np.arange(EPOCHS) + 1, error, color="#00775a")
axes[0].axhline(0.3, color="black", ls=":")
axes[0].set(ylabel="error", ylim=(0.2, 0.4))
axes[1].plot(np.arange(EPOCHS) + 1, price, color="#0173b2")
axes[1].set(ylabel="price λ", xlabel="epoch", yscale="symlog", ylim=(-0.2, 12))
axes[1].set_yticks([0, 1, 10], ["0", "1", "10"])
for ax in axes:
    for k in np.flatnonzero(asleep):
        ax.axvspan(k + 0.5, k + 1.5, color="#d55e00", alpha=0.15, lw=0)

# %% [markdown]
# - In 24 of 60 epochs the bound is broken and the price stays at zero. The program keeps a raw number that runs far below zero, and has
#   to come back first. ({numref}`Chapter {number} <ch-constraint>`)
# - Keeping the information pays in print. On our data a lead is seen in two of eight conditions.
#   ({numref}`Chapter {number} <ch-pays>`)
#
# Every claim of the papers, and what our runs say to it: {numref}`Chapter {number} <ch-claims>`. Slips in print, in code, and our own:
# {numref}`Chapter {number} <ch-errata>`.

# %% tags=["remove-input"]
# checked by machine
check("In 24 of 60 epochs the bound is broken and the price stays at zero.", f"In {asleep.sum()} of {EPOCHS} epochs")

# %% [markdown]
# Next: {numref}`Chapter {number} <ch-scores>`, where you look at the data and compute the measures by hand.
