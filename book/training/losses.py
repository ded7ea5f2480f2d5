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
# (ch-losses)=
# # Four losses, retried: is it the loss that wins?
#
# {cite:t}`bleeker2022lessons` train two models on two sets of photos, each with four losses. In all four
# blocks of their Table 1 Triplet-SH, the loss that looks at the hardest negative alone, has the highest rsum (the sum of six
# recalls, at most 600). It "should still be the *de facto* choice", they conclude. If it wins because it is the better loss, it
# should go on winning when something else is changed. We train again, on pictures like these, and change one thing at a time.

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
import itertools

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from icrlib import chapter, load_dataset, paper, plots
from icrlib.experiments import check, compare, family, runs

smoke = chapter.start(smoke)

# %% tags=["remove-input"] mystnb={"image": {"alt": "Two drawn pictures of coloured shapes, each with its caption. The same words stand in both captions, in another order."}, "figure": {"name": "fig-swap-twins", "caption": "Two of our test pictures, each with one of its captions. They are swap twins: the same words describe both, in another order."}}
split = load_dataset("scenes", smoke=smoke).test
captions = [0, 5] if smoke else [690, 695]
plots.gallery(split.images[split.image_of[captions]], [split.captions[c] for c in captions], size=1.8, wrap=16);

# %% [markdown]
# **It is not the loss alone. On the same model and data Triplet-SH is 23.1 rsum ahead of NT-Xent with a margin of its own, 8.1 ahead
# with the published margin, and 14.5 behind with that margin and half the updates. On photos no lead is seen.** What
# stays: the plain triplet loss was trained in fifteen conditions, and in none is it ahead of Triplet-SH or of NT-Xent.
#
# *You will be able to* say which comparisons of losses survive, and what to vary · eight minutes to read · ten seconds to run.
#
# ## One comparison
#
# - **Triplet** pushes away all negatives within a margin, **Triplet-SH** the hardest one ({numref}`Chapter {number} <ch-triplet>`).
# - **NT-Xent** pushes all of them, each by its softmax weight at a temperature ({numref}`Chapter {number} <ch-ntxent>`).
# - **SmoothAP** is a smoothed average precision, with a temperature, too ({numref}`Chapter {number} <ch-smoothap>`).
#
# The model here is VSE++, which pools a picture and reads a caption with a GRU ({numref}`Chapter {number} <ch-towers>`). Run $s$
# draws its own data with seed $s$, 1,500 pictures for training and 1,000 for the test, so that data, first weights and batches all
# differ between runs. It takes 3,000 updates with 128 pairs each (SmoothAP: 128 pictures with all five captions); the best
# validation rsum chooses the weights. Learning rates, and for Triplet-SH a warm-up in which all negatives count, were searched for
# each loss on three other draws ({doc}`../reproduce/settings`: that is what `at="searched"` takes).
#
# `runs` reads our records of the runs that it describes; nothing is trained, unless you add `missing="train"` for others.

# %%
ECIR, DRAWS = ["triplet_sh", "smoothap", "ntxent", "triplet"], range(10)
published = runs("scenes", method="vse++", loss=ECIR, seed=DRAWS, updates=3000,
                 at="searched")
lead = compare(published["triplet_sh"], published["ntxent"])
print(lead, f"{lead.word}, n = {lead.n} draws")

# %% [markdown]
# Read: Triplet-SH less NT-Xent is +8.1 rsum, with a 95 % interval from 5.9 to 10.4. All differences on this page are such, the first
# loss less the second, paired by draw. The words are *ahead*, *behind*, *equivalent* (less than 3 rsum apart by a 90 % interval)
# and *undecided*. An interval is for one comparison; *ahead* and *behind* are corrected for all pairs of losses under one condition, six
# at most (Holm's correction), so a pair can be *undecided* where the interval just misses zero.
#
# ## The table, printed and repeated
#
# First the table as ECIR has it, with its second model, VSRN, which sees a picture as a list of regions.

# %% tags=["full-width"]
scenes = published + runs("scenes", method=["vsrn", "bow"], loss=ECIR, seed=DRAWS,
                          at="searched")
printed = paper.table("ecir/1").set_index(["dataset", "method", "loss"])["rsum"]
PRINTED = {"Triplet": "Triplet loss", "Triplet-SH": "Triplet loss SH"}
COLUMNS = {"rsum": "test.rsum", "swap": "test.twins.swap"}
rows = [(model, loss) for model in ("vse++", "vsrn") for loss in ECIR]
models, losses = ([plots.label(row[k]) for row in rows] for k in (0, 1))
table = pd.DataFrame(
    {("", "model"): models, ("", "loss"): losses}
    | {("scenes", title): [f"{scenes[row].mean(of):.1f} ± {scenes[row].sd(of, ddof=0):.1f}"
                           for row in rows] for title, of in COLUMNS.items()}
    | {("printed rsum", data): [
        f"{printed[data, model, PRINTED.get(loss, loss)]:.1f}"
        for model, loss in zip(models, losses, strict=True)]
       for data in ("Flickr30k", "MS-COCO")})
paper.styled(table, "Ten draws: mean ± population deviation; in print means of five seeds. "
             "Swap: swap twins told apart, %. Compare orders, not levels.", name="ours")

# %% [markdown]
# With VSE++ the three losses on pairs stand in the printed order: Triplet-SH, NT-Xent, Triplet. SmoothAP, second in print, is last
# on both models; why, with VSE++, is told below. Recall alone does not say what a model knows. So the next figure has, over the
# updates, validation rsum above and the share of swap twins told apart below. The grey line is a **bag of words**, which adds up
# word vectors and cannot know their order: on swap twins it guesses.

# %% tags=["remove-input"] mystnb={"image": {"alt": "Two panels over updates, one colour a loss, thin lines draws and thick lines means. Above, validation rsum. Below, swap accuracy: SmoothAP is well above fifty percent at the first evaluation, the other three rise from fifty within the first half, and the bag of words stays at fifty."}, "figure": {"name": "fig-curves", "caption": "Validation rsum (above) and swap accuracy (below). Thin lines: draws of the data. The bag of words is trained with NT-Xent. The upper axis begins at 300; Triplet-SH begins below it. The learning rate falls to a tenth at update 1,500."}}
shown = [*published, *scenes["bow", "ntxent"]]
fig, axes = plt.subplots(2, 1, figsize=(6.4, 4.8), sharex=True)
plots.learning_curves(shown, ax=axes[0])
plots.learning_curves(shown, lambda entry: entry["twins"]["swap"], ax=axes[1], ylabel="swap accuracy, %")
axes[0].set(xlabel="", ylim=(300, None))
axes[0].legend(loc="lower right", ncols=2, fontsize="small")
axes[1].get_legend().remove()
axes[1].axhline(50, color="black", ls=":");

# %% [markdown]
# All four have left 50 % behind when they are compared. Triplet-SH starts last and is still behind NT-Xent after 1,000 updates: who
# stops both after 1,000 updates sees another winner. SmoothAP, at its published temperature, has its own best at its first evaluation.

# %% tags=["hide-input"]
# checked by machine
curve = {name: np.mean([[e["val"]["rsum"] for e in run["history"]] for run in published[name]], 0) for name in ECIR}
check("Triplet-SH less NT-Xent is +8.1 rsum, with a 95 % interval from 5.9 to 10.4.", f"is {lead.mean:+.1f}",
      f"from {lead.low:.1f} to {lead.high:.1f}", lead.word == "ahead", also="95")
check("With VSE++ the three losses on pairs stand in the printed order: Triplet-SH, NT-Xent, Triplet. SmoothAP, second "
      "in print, is last on both models;",
      *(scenes[m, "smoothap"].mean() < scenes[m, "triplet"].mean() for m in ("vse++", "vsrn")),
      sorted(ECIR, key=lambda loss: -scenes["vse++", loss].mean()) == ["triplet_sh", "ntxent", "triplet", "smoothap"],
      printed["Flickr30k", "VSE++"].rank().tolist() == [1, 4, 2, 3])  # Triplet, Triplet-SH, NT-Xent, SmoothAP
check("All four have left 50 % behind", *(published[name].mean("test.twins.swap") > 60 for name in ECIR), also="50")
check("Triplet-SH starts last and is still behind NT-Xent after 1,000 updates:",
      curve["triplet_sh"][3] < curve["ntxent"][3], min(ECIR, key=lambda n: curve[n][0]) == "triplet_sh", also="1,000")
check("at its published temperature, has its own best at its first evaluation.", curve["smoothap"].argmax() == 0)

# %% [markdown]
# ## Seventeen conditions
#
# Now one thing at a time. "Own constants" are a margin or a temperature that was searched for the model and loss, like the rate; VSRN has
# those of VSE++. "Maxima" is a third model, which takes the largest value over the GRU's states and over regions, and tells swap twins
# after a hundred updates ({numref}`Chapter {number} <ch-pooling>`); it gets 600. If the printed order were one of losses, all points of a
# panel in the figure below would lie right of zero.

# %%
def trained(at="searched", method="vse++", loss=ECIR, seed=DRAWS, **changed):
    return runs("scenes", method=method, loss=loss, seed=seed, at=at, **changed)


PAIRWISE = ["triplet_sh", "ntxent", "triplet"]
half = trained("searched, half the updates")
conditions = {
    "VSE++, published constants": published,
    "half the updates": half,
    "twice the updates": trained(seed=range(5), updates=6000),
    "not clipped": trained(seed=range(5), grad_clip=0.0),
    "own constants": trained("searched, own constants"),
    "own constants, half the updates": trained(
        "searched, half the updates, own margin", loss="triplet_sh") + half["ntxent"],
    "own constants, 6,000 pictures": trained("searched, 6000", loss=PAIRWISE[:2]),
    "bag of words": scenes["bow"],
    "bag of words, own constants": trained("searched, own constants", "bow"),
    "VSRN": scenes["vsrn"],
    "VSRN, own constants": trained("searched, borrowed constants", "vsrn", seed=range(3)),
}
for also in ("", ", own constants"):
    conditions[f"maxima{also}"] = trained(f"searched, maxima{also}", "vse_infty", PAIRWISE)

# %%
for method, losses in {"vse++": PAIRWISE, "bow": ECIR}.items():
    for also in ("", ", own constants"):
        conditions[f"photos, {plots.label(method)}{also}"] = runs(
            "flickr8k", method=method, loss=losses, seed=range(3), at=f"searched{also}")


def all_pairs(found):
    """Each loss less each that the paper prints below it, tested together."""
    pairs = itertools.combinations(found.by("loss").items(), 2)
    return family({(a, b): compare(x, y) for (a, x), (b, y) in pairs})


signs = {name: all_pairs(found) for name, found in conditions.items()}

# %% tags=["remove-input"] mystnb={"image": {"alt": "Four panels of intervals, one line for each of seventeen conditions. Triplet-SH less NT-Xent lies on both sides of zero; Triplet-SH less Triplet and NT-Xent less Triplet lie right of zero or around it; SmoothAP less NT-Xent lies left of zero or around it."}, "figure": {"name": "fig-conditions", "caption": "Differences of test rsum, the loss first that is ahead in the printed table of VSE++, with 95 % intervals. In colour: decided, in the colour of the loss ahead; hollow: undecided; square: equivalent. Lines without a model's name are VSE++. Ten draws; five for twice and not clipped, three for VSRN's own constants and on photos. Only the panel Triplet-SH − NT-Xent has decided points on both sides."}}
PANELS = [("triplet_sh", "ntxent"), ("triplet_sh", "triplet"), ("ntxent", "triplet"), ("smoothap", "ntxent")]
fig, axes = plt.subplots(1, 4, figsize=(7.6, 4.8), sharey=True, sharex=True)
for ax, (a, b) in zip(axes, PANELS, strict=True):
    for y, found in enumerate(signs.values()):
        if one := found.get((a, b)):
            decided = one.word in ("ahead", "behind")
            colour = plots.colour(a if one.mean > 0 else b) if decided else "0.45"
            ax.errorbar(one.mean, y, xerr=one.high - one.mean, color=colour, lw=1.2, ms=4.5,
                        marker="s" if one.word == "equivalent" else "o", mfc=colour if decided else "white")
    ax.axvline(0, color="black", lw=0.8)
    ax.set(xlim=(-72, 66), xticks=[-50, 0, 50], ylim=(len(signs) - 0.5, -0.5))
    ax.set_title(f"{plots.label(a)}\n− {plots.label(b)}", fontsize=9.5)
axes[0].set_yticks(range(len(signs)), signs, fontsize=8)
fig.supxlabel("test rsum", fontsize=10);

# %% tags=["hide-input"]
# checked by machine
SH_NT = {name: found["triplet_sh", "ntxent"] for name, found in signs.items()}
FROM_TO = {name: SH_NT[name].mean for name in [*signs][:6]}  # VSE++ on 1,500 scenes
check("Triplet-SH is 23.1 rsum ahead of NT-Xent with a margin of its own, 8.1 ahead with the published margin, and 14.5 "
      "behind with that margin and half the updates.", SH_NT["half the updates"].word == "behind",
      f"is {FROM_TO['own constants']:.1f} rsum ahead", f"{lead.mean:.1f} ahead", f"{-FROM_TO['half the updates']:.1f}",
      SH_NT["own constants"].word == "ahead")
sides = [{one.word for found in signs.values() if (one := found.get(pair))} & {"ahead", "behind"} for pair in PANELS]
check("the plain triplet loss was trained in fifteen conditions, and in none is it ahead of Triplet-SH or of NT-Xent.",
      sum("triplet" in found.by("loss") for found in conditions.values()) == 15, len(signs) == 17,
      sides == [{"ahead", "behind"}, {"ahead"}, {"ahead"}, {"behind"}])

# %% [markdown]
# ## What turns the sign
#
# In the two middle panels every interval that excludes zero lies right of it. In the first there are some on either side.
#
# **Updates.** With half of them NT-Xent leads: Triplet-SH lies on its plateau meanwhile ({numref}`Chapter {number}
# <ch-plateau>`). But that is the published margin. At 0.4 Triplet-SH leads in the short run, too, +4.7 [+0.8, +8.6]. With twice the
# updates it is +3.9 [−2.1, +9.9], undecided in five draws.
#
# **Clipping.** VSE++'s code shortens gradients to length 2. How often does that happen, and what comes of training without? The five
# runs in the figure keep their rates; on one draw of validation data the rates were searched again without the clip.

# %%
share = {name: 100 * np.mean([entry["clipped"] for run in published[name]
                              for entry in run["history"]]) for name in PAIRWISE}
again = runs("scenes", loss=PAIRWISE, seed=100, at="searched, not clipped")
before = runs("scenes", loss=PAIRWISE, seed=100, at="searched")
pd.DataFrame({plots.label(name): {
    "updates clipped, %": share[name],
    "validation rsum, one draw": before[name].mean("chosen.val_rsum"),
    "without the clip": again[name].mean("chosen.val_rsum")}
    for name in PAIRWISE}).round(1)

# %% [markdown]
# The clip touches 83 % of Triplet-SH's updates and 6 % of NT-Xent's. Without it, at the same rate, Triplet-SH less NT-Xent is −43.0
# [−68.8, −17.2], and each of Triplet-SH's five runs is worse than with the clip. A new rate, at the edge of what was tried, and a
# warm-up bring part of that back, but NT-Xent stays 17.2 ahead on that draw.
#
# **Constants.** The published ones were made for other data. What the searches chose instead (published: margins of 0.2,
# temperatures of 0.1 and, for SmoothAP, 0.01):

# %% tags=["full-width"]
def constant(found):  # margin or temperature
    options = found[0]["config"]["loss_options"]
    return f"{options.get('margin', options.get('tau')):g}"


with_pairs = trained("searched, bag of pairs", "bow", "ntxent")
own = conditions["own constants"]
pd.DataFrame({name: {plots.label(loss): constant(found[loss]) for loss in found.by("loss")}
              for name, found in conditions.items() if "own" in name}).T.fillna("–")

# %% [markdown]
# With VSE++ a margin of 0.4 is worth 15.0 rsum to Triplet-SH; NT-Xent's published 0.1 is already the best that was tried. SmoothAP
# gains 34.2 at 0.1 and its mean is last no longer: its place in the table was its temperature. It stays 12.9 behind NT-Xent, with a rate at
# the edge of what was tried, and against Triplet it is undecided, +1.2 [−2.3, +4.7].
#
# **Model.** On a bag of words with own constants Triplet-SH, NT-Xent and SmoothAP are equivalent. On VSRN Triplet-SH less NT-Xent
# is +4.0 [+0.2, +7.7], and NT-Xent less Triplet +4.3 [+0.3, +8.3]; after the correction both are undecided. On maxima Triplet-SH
# leads NT-Xent by +6.3 [+5.0, +7.6], with own constants by +7.0 [+5.7, +8.3]. But there the losses on pairs end within 7.0 rsum of
# each other, at least 49.1 above VSE++'s best. And a bag of words *and neighbouring pairs* of words, with NT-Xent, has 438.0, 18.4
# more than VSE++ with it.
#
# **Data.** With four times the pictures and own constants Triplet-SH leads NT-Xent by +2.0 [+0.4, +3.7]: surely, and by
# little. On photos with VSE++ it is −4.9 [−12.4, +2.5], undecided. The +10.5 [+2.0, +18.9] of Triplet-SH over Triplet is decided
# among the three pairs here, but not among all that {doc}`../reference/claims` tests on these photos: take it as undecided. (On
# photos an interval allows for three seeds and for other test photos, not for other training photos.)

# %% tags=["hide-input"]
# checked by machine
def fact(condition, word, a="triplet_sh", b="ntxent"):
    return str(signs[condition][a, b]), signs[condition][a, b].word == word


check("Triplet-SH leads in the short run, too, +4.7 [+0.8, +8.6].", *fact("own constants, half the updates", "ahead"))
check("it is +3.9 [−2.1, +9.9], undecided in five draws.", *fact("twice the updates", "undecided"))
check("Triplet-SH less NT-Xent is −43.0 [−68.8, −17.2], and each of Triplet-SH's five runs is worse than with the "
      "clip.", *fact("not clipped", "behind"),
      (conditions["not clipped"]["triplet_sh"].values() < published["triplet_sh"].values()[:5]).all())
check("against Triplet it is undecided, +1.2 [−2.3, +4.7].", *fact("own constants", "undecided", "smoothap", "triplet"))
check("On VSRN Triplet-SH less NT-Xent is +4.0 [+0.2, +7.7],", *fact("VSRN", "undecided"))
check("NT-Xent less Triplet +4.3 [+0.3, +8.3];", *fact("VSRN", "undecided", "ntxent", "triplet"))
check("Triplet-SH leads NT-Xent by +6.3 [+5.0, +7.6],", *fact("maxima", "ahead"))
check("with own constants by +7.0 [+5.7, +8.3].", *fact("maxima, own constants", "ahead"))
check("Triplet-SH leads NT-Xent by +2.0 [+0.4, +3.7]:", *fact("own constants, 6,000 pictures", "ahead"))
check("it is −4.9 [−12.4, +2.5], undecided.", *fact("photos, VSE++", "undecided"))
check("The +10.5 [+2.0, +18.9] of Triplet-SH over Triplet is decided", *fact("photos, VSE++", "ahead", b="triplet"))
check("On a bag of words with own constants Triplet-SH, NT-Xent and SmoothAP are equivalent.",
      signs["bag of words, own constants"].words == {"equivalent": 3, "ahead": 3})

# %% tags=["remove-input"]
SH, NT, AP = ([found[name].mean() for found in (published, own)] for name in ("triplet_sh", "ntxent", "smoothap"))
quick = [conditions["maxima, own constants"][name].mean() for name in PAIRWISE]
check("The clip touches 83 % of Triplet-SH's updates and 6 % of NT-Xent's.",
      f"{share['triplet_sh']:.0f} % of Triplet-SH's", f"{share['ntxent']:.0f} % of NT-Xent's")
check("NT-Xent stays 17.2 ahead on that draw.",
      f"{again['ntxent'].mean('chosen.val_rsum') - again['triplet_sh'].mean('chosen.val_rsum'):.1f} ahead")
check("a margin of 0.4 is worth 15.0 rsum to Triplet-SH; NT-Xent's published 0.1", f"of {constant(own['triplet_sh'])}",
      f"{SH[1] - SH[0]:.1f} rsum", f"published {constant(own['ntxent'])}")
check("SmoothAP gains 34.2 at 0.1 and its mean is last no longer:", f"{AP[1] - AP[0]:.1f} at {constant(own['smoothap'])}")
check("It stays 12.9 behind NT-Xent,", f"{NT[1] - AP[1]:.1f} {signs['own constants']['smoothap', 'ntxent'].word}")
check("the losses on pairs end within 7.0 rsum of each other, at least 49.1 above VSE++'s best.",
      f"{max(quick) - min(quick):.1f} rsum", f"least {min(quick) - SH[1]:.1f}")
check("has 438.0, 18.4 more than VSE++ with it.", *(f"{with_pairs.values().mean() - x:.1f}" for x in (0, NT[0])))

# %% [markdown]
# ## One more condition, one more loss
#
# A condition of your own is one cell. Here are 400 pictures, with own constants, in three draws; and DCL, which is NT-Xent without
# the positive in its denominator, at NT-Xent's rate and temperature.

# %%
fewer = runs("scenes", loss=["triplet_sh", "ntxent"], seed=range(3), at="searched, 400")
dcl = runs("scenes", loss="dcl", lr=3e-3, tau=0.1, updates=3000, seed=DRAWS)
print("400 pictures:", compare(fewer["triplet_sh"], fewer["ntxent"]))
print("DCL less NT-Xent:", compare(dcl, published["ntxent"]))

# %% [markdown]
# Three draws decide nothing as small as the first. On ten DCL leads NT-Xent by +13.8 [+12.3, +15.3]. For a weaker clip copy
# the lines of `fewer` and put `at="searched", grad_clip=4.0, missing="train"` in the place of its last argument: six
# runs of one to two minutes each; with `seed=range(10)`, twenty.
#
# ## What we found
#
# - With VSE++ the three losses on pairs stand in the printed order: Triplet-SH, NT-Xent, Triplet.
# - Triplet-SH's lead over NT-Xent is one of conditions: on the same model and data it goes from 43.0 behind, without the
#   clip and at the same rate, to 23.1 ahead, with a margin of its own.
# - SmoothAP's last place is its temperature: with its own, against Triplet it is undecided, +1.2 [−2.3, +4.7].
# - On photos no lead of Triplet-SH over NT-Xent is seen; NT-Xent is +15.4 [+7.6, +23.2] ahead of Triplet.
# - The model matters more than the loss: with maxima over words and regions the losses on pairs end within 7.0 rsum of each other, at
#   least 49.1 above VSE++'s best.

# %% tags=["hide-input"]
# checked by machine
check("On ten DCL leads NT-Xent by +13.8 [+12.3, +15.3].", len(DRAWS) == 10, f"by {compare(dcl, published['ntxent'])}")
check("it goes from 43.0 behind, without the clip and at the same rate, to 23.1 ahead, with a margin of its own.",
      f"from {-min(FROM_TO.values()):.1f} behind", f"to {max(FROM_TO.values()):.1f} ahead",
      [side(FROM_TO, key=FROM_TO.get) for side in (min, max)] == ["not clipped", "own constants"])
check("NT-Xent is +15.4 [+7.6, +23.2] ahead of Triplet.", *fact("photos, VSE++", "ahead", "ntxent", "triplet"))
check("On photos no lead of Triplet-SH over NT-Xent is seen;", all(x.mean < 0 for n, x in SH_NT.items() if "photos" in n))

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} Which evaluation counts?
# :label: ex-selected
# ````
#
# `history` is a list of triples (update, validation rsum, test rsum), one for each evaluation. Write the test rsum that
# a table may print: `mine = lambda history: ...`. If two evaluations are equally good, the earlier one counts.

# %%
mine = ...

# %% tags=["hide-input"]
def check_selected(value):
    """Passes for the test rsum at the best validation rsum, the first of equals."""
    if value is ...:
        return "your turn"
    history = [(500, 300.0, 290.0), (1000, 340.0, 311.0), (1500, 340.0, 335.0), (2000, 320.0, 350.0)]
    wrong = {350.0: "test data choose nothing", 340.0: "a validation rsum", 335.0: "of equals the earlier counts"}
    got = value(history)
    assert got == 311.0, f"not yet: {wrong.get(got, got)}"
    assert value(history[:3]) == 311.0 and value([(1, 1.0, 2.0)]) == 2.0
    return "right"


check_selected(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-selected
# :class: dropdown
# ````
#
# `max` keeps the first of equals.

# %%
check_selected(lambda history: max(history, key=lambda entry: entry[1])[2])

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise} An open one
# :label: ex-fifth-loss
#
# Somebody's fifth loss is 3 rsum above NT-Xent, with three seeds each, on one data set, at the learning rate that was best for
# NT-Xent. List what you would run before you believe it, in which order, and after which outcome you would stop.
# ````
#
# Next: {numref}`Chapter {number} <ch-errors>` looks at what the errors of these models look like.
