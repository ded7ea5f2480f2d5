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
# (ch-pays)=
# # Does keeping the information pay?
#
# A contrastive loss only asks that a caption's vector finds its picture among those of a batch. What the caption says beyond that
# may be lost. {cite:t}`bleeker2022keep` keep it: a small network, the *decoder*, has to find a *target*, the vector that a
# pretrained sentence encoder makes of the caption, and its error is held below a bound ({numref}`Chapters {number} <ch-target>` and
# {numref}`{number} <ch-constraint>`). Is retrieval better for it? And are these two captions told apart?

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
from scipy import stats

from icrlib import chapter, load_dataset, paper, plots
from icrlib.experiments import check, compare, family, probed, runs
from icrlib.paper import ltd

smoke = chapter.start(smoke)

# %% tags=["remove-input"] mystnb={"image": {"alt": "Two drawn pictures, a disc beside a diamond in both. In one the disc is purple and the diamond green, in the other it is the other way round."}, "figure": {"name": "fig-ltd-twins", "caption": "Two of our test pictures with a caption each. They are swap twins: the same words describe both, in another order."}}
split = load_dataset("scenes", smoke=smoke).test
two = [0, 5] if smoke else [900, 907]
plots.gallery(split.images[split.image_of[two]], [split.captions[one] for one in two], columns=2, size=1.7);

# %% [markdown]
# **In print it pays, by +19.0 rsum on Flickr30k and +12.0 on MS-COCO. On our data a lead is seen in two of eight conditions, both
# with a baseline below a bag of words: it is +10.4 rsum ahead with the paper's temperature, +6.8 with twice that temperature, which
# a correction for eight comparisons would not leave. In the other six none is seen; three of them have three draws or seeds. Swap
# twins are told apart better in none of seven, and a model that reads gains nothing that shows.** (*Rsum* is the sum of six recalls,
# at most 600.)
#
# *You will be able to* read a table without deviations, and to ask what a gain is over · ten minutes to read · twenty seconds to run.
#
# ## One comparison
#
# The *baseline* is trained with the contrastive loss alone, NT-Xent at the paper's temperature of 0.05. **LTD**, the latent target
# decoder, adds the decoder, whose error must stay below a bound $\eta$. `runs` reads our records of such trainings (`missing="train"`
# makes those that we do not have). Each of five runs draws its own *scenes*, 1,500 training and 1,000 test pictures such as these.
# Learning rate and left-out words were searched for the *baseline* and hold for all rows; $\eta$ was searched on a draw that no
# comparison uses ({doc}`../reproduce/settings`: what `at="searched, …"` takes).

# %%
def trained(at="searched, LTD", loss="ntxent", data="scenes", method="ltd", **settings):
    """LTD's two encoders, trained with the loss alone, or with what the settings add."""
    return runs(data, method=method, loss=loss, at=at, **{"seed": range(5)} | settings)


alone, held = trained(), trained("searched, LTD bound")
print(compare(held, alone, "objective"), "at a bound of", held[0]["config"]["eta"])

# %% [markdown]
# Read: that many rsum ahead of the baseline, with a 95 % interval. All differences here are the first less the second, paired by draw.
# A lead is *seen* where the interval lies above zero; none is corrected for how many are shown.
#
# ## Three things to know before any number
#
# - **Our baseline is below a bag of words.** The *bag* adds up word vectors and cannot know their order. It has an rsum of 388.7, the
#   baseline 355.1. And the baseline tells 54.0 % of swap twins apart, where guessing has 50 %. Half of its recurrent network, as
#   released, answers every caption alike ({numref}`Chapter {number} <ch-errata>`). That is not why its rsum is low: with both halves
#   reading, and the same rate, rsum changes by −5.7 [−8.0, −3.4] and swap accuracy by +4.9 [+1.2, +8.6].
# - **The sentence encoder has seen the test.** Its model card says that it was trained on captions of nearly all of Flickr30k, test
#   photos included, and of MS-COCO's training photos. It learnt which captions belong to *one* photo, as retrieval asks.
# - **The paper's decoder of words (ITD) decodes none**, as released ({numref}`Chapter {number} <ch-errata>`). Ours does.

# %%
FIVE, SWAP = {"loss": "ntxent", "seed": range(5)}, "test.twins.swap"
both = trained(backward="start")  # both halves of the network read
bag = runs("scenes", method="bow", at="searched", **FIVE)
pairs = runs("scenes", method="bow", at="searched, bag of pairs", **FIVE)
vse = runs("scenes", method="vse++", at="searched", **FIVE)
beside = {"LTD's baseline": alone, "both halves reading": both, "LTD below its bound": held,
          "bag of words": bag, "bag of words and pairs": pairs, "VSE++": vse}
pd.DataFrame({name: {"rsum": found.mean(), "swap twins, %": found.mean(SWAP)}
              for name, found in beside.items()}).T.round(1)

# %% tags=["hide-input"]
# checked by machine
check("It has an rsum of 388.7, the baseline 355.1.", f"of {bag.mean():.1f}", f"baseline {alone.mean():.1f}",
      min(vse.mean(), pairs.mean()) > bag.mean() + 30)
check("the baseline tells 54.0 % of swap twins apart, where guessing has 50 %", f"{alone.mean(SWAP):.1f} %", also="50")
check("rsum changes by −5.7 [−8.0, −3.4] and swap accuracy by +4.9 [+1.2, +8.6]",
      *(f"by {compare(both, alone, 'backward', of)}" for of in ("test.rsum", SWAP)))

# %% [markdown]
# VSE++ (at a temperature of 0.1) and a bag that also holds pairs of neighbours are far above both. So LTD's rows compare models that
# don't know which words belong together.
#
# ## As printed, and as we ran it
#
# In the paper's tables the decoder's error is added to the loss (*dual*) or held below a bound (*constrained*). **ITD** decodes the
# caption's words instead. *The target itself* trains no encoder of captions: it takes the sentence encoder's vector and a small trained
# head. Our bounds were searched; the weight of the sums, 1 as in the paper, was not. The table says by how much each row is ahead
# of its baseline. Printed rows are one run each; ours on Flickr8k are of three seeds, and their intervals allow for other test photos.

# %%
SBERT = {"auxiliary": "latent", "target": "sbert"}  # the sentence encoder's vector
SUM, BOUND = {"objective": "dual"}, {"objective": "lagrange"} | SBERT
WORDS = {"auxiliary": "tokens", "decoder_words": 64, "softmax": "vocabulary"}
PHOTOS = {"data": "flickr8k", "seed": range(3)}  # one training set, three seeds
head = runs("flickr8k", method="sentence", loss="ntxent", seed=range(3), at="searched, LTD")
words = runs("flickr8k", method="bow", loss="ntxent", seed=range(3), at="searched")
ours = {"scenes": {"con": alone, "lag": held, "dual": trained(**SUM, **SBERT),
                   "itd_dual": trained(**SUM, **WORDS),
                   "itd_lag": trained("searched, LTD bound words")},
        "Flickr8k": {"con": trained(**PHOTOS), "dual": trained(**PHOTOS, **SUM, **SBERT),
                     "lag": trained("searched, LTD bound", **PHOTOS), "tuned": head}}
ROWS = {"itd_dual": "dual ITD", "itd_lag": "constrained ITD", "dual": "dual LTD",
        "lag": "constrained LTD", "tuned": "target itself"}
gaps = pd.DataFrame({row: ltd.gaps(row, "con").droplevel(1) for row in ROWS})
gaps = gaps.loc[["Flickr30k", "MS-COCO"]].T  # as printed
less = {place: {row: compare(of[row], of["con"], ("objective", "caption encoder"))
                for row in of if row != "con"} for place, of in ours.items()}
table = gaps.map("{:+.1f}".format).add_suffix(", printed").join(
    pd.DataFrame(less).add_suffix(", ours")).fillna("–").astype(str).rename(ROWS)
paper.styled(table.reset_index(names="row"), name="ltd-printed")

# %% [markdown]
# How far are two runs apart that differ in nothing but the seed? The paper prints no deviation. The authors' earlier paper trained
# similar models on the same data five times a row {cite:p}`bleeker2022lessons`. Pooled over its rows of a data set, its deviations
# give one $s$. The difference of two single runs has the variance $2 s^2$, and four rows, all but the target itself, are compared
# with one baseline, so the band that should hold all four gaps at once, 19 times of 20, is
#
# $$ \pm\, t_{1 - 0.05/(2 \cdot 4)}\, \sqrt{2}\, s , $$ (eq-two-runs)
#
# with Student's quantile $t$ (the first exercise computes it). It is ±7.9 rsum on Flickr30k and ±5.2 on MS-COCO. The lead of
# constrained LTD is more than twice this band on both, so chance between seeds hardly explains it. Dual LTD lies inside, on both.
# On scenes both bounds help and no sum visibly does. ITD below its bound, behind in print, is +7.3 [+3.4, +11.3] ahead, with the
# softmax mended.

# %% tags=["hide-input"]
# checked by machine
band = {place: stats.t.ppf(1 - 0.05 / 8, 4 * len(rows)) * np.sqrt(2 * np.mean(rows**2) * 5 / 4)  # five runs a row
        for place, rows in paper.table("ecir/1").groupby("dataset")["rsum_std"]}
check("by +19.0 rsum on Flickr30k and +12.0 on MS-COCO", *(f"{gaps.at['lag', place]:+.1f}" for place in gaps))
check("It is ±7.9 rsum on Flickr30k and ±5.2 on MS-COCO.", *(f"±{band[place]:.1f}" for place in gaps),
      all(gaps.at["lag", place] > 2 * band[place] > 2 * abs(gaps.at["dual", place]) for place in gaps))
check("ITD below its bound, behind in print, is +7.3 [+3.4, +11.3] ahead", f"is {less['scenes']['itd_lag']}",
      [row for row, one in less["scenes"].items() if one.low > 0] == ["lag", "itd_lag"])

# %% [markdown]
# ## What the bound did
#
# An answer that is the same for every caption costs 0.34 on scenes, so that a bound of 0.3 asks for little. The multiplier λ, the price
# of the error, rises while the bound is broken and falls below it. If keeping information helps, a lower bound should help more.

# %%
bounds = trained(**BOUND, eta=[0.05, 0.1, 0.2, 0.3]).by("eta")
by_bound = {eta: compare(found, alone, "objective") for eta, found in bounds.items()}
prices = {eta: pd.DataFrame([{row[0]: row[-1] for row in run["log"]} for run in found]).T
          for eta, found in bounds.items()}  # λ by update, a column a run
zero_from = {eta: price.eq(0).idxmax() for eta, price in prices.items()}

# %% tags=["hide-input"] mystnb={"image": {"alt": "Left: the multiplier over 3,000 updates for four bounds. At 0.05 it still rises at the end, to ten; at 0.1, 0.2 and 0.3 it rises, falls to zero and stays there. Right: rsum less the baseline for the four bounds; the interval of 0.1 alone lies above zero."}, "figure": {"name": "fig-ltd-bounds", "caption": "Left: λ in one training a bound. Where the bound can be kept, λ comes to zero and does not return. Right: rsum less the baseline, five draws. Filled, at 0.1 only: the interval lies above zero."}}
fig, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.7))
for k, (eta, one) in enumerate(by_bound.items()):
    left.plot(prices[eta][0], color=f"C{k}", label=f"η = {eta}")
    right.errorbar(k, one.mean, one.high - one.mean, fmt="o", color=f"C{k}", mfc=f"C{k}" if one.low > 0 else "white")
left.set(xlabel="updates", ylabel="λ")
left.legend(fontsize=9)
right.axhline(0, color="black", lw=0.8)
right.set(xlabel="bound η", ylabel="rsum less the baseline", xticks=range(4), xticklabels=by_bound);

# %% [markdown]
# It does not. At the lowest bound λ climbs to the end, and the lead is +3.1 [−1.1, +7.3]. At 0.2 and 0.3 no lead is
# seen, either. At 0.1, the bound that the search chose, λ reaches zero for good between updates 2,260 and 2,340, at 0.2 between 820
# and 920. From there the loss is the baseline's, and the bound is kept by itself.

# %% tags=["hide-input"]
# checked by machine
check("for every caption costs 0.34 on scenes", f"costs {held[0]['auxiliary']['floor']:.2f}")
check("λ climbs to the end, and the lead is +3.1 [−1.1, +7.3]", f"is {by_bound[0.05]}",
      prices[0.05].idxmax().min() > 2e3)
check("At 0.1, the bound that the search chose, λ reaches zero for good between updates 2,260 and 2,340, at 0.2 between "
      "820 and 920.", f"At {held[0]['config']['eta']}", *(
          f"{text} {zero_from[eta].min():,} and {zero_from[eta].max():,}"
          for eta, text in ((0.1, "updates"), (0.2, "0.2 between"))),
      not any(prices[eta].loc[2340:].any(axis=None) for eta in (0.1, 0.2, 0.3)))

# %% [markdown]
# ## A lift can be about its baseline
#
# With Triplet-SH, the triplet loss on the hardest negative, the printed baseline on Flickr30k has an rsum of 205, and constrained
# LTD lifts it by 219. On MS-COCO, with the same code, the lift is 11. The authors call the first baseline unexpectedly low and do
# not explain it. A large lift may say more of a low baseline than of what was added. Is our +10.4 of that kind? We move the
# baseline and train both sides anew.

# %%
def pair(at="searched, LTD", loss="ntxent", eta=0.1, **settings):
    """(below the bound, alone) in one condition."""
    return trained(at, loss, **BOUND, eta=eta, **settings), trained(at, loss, **settings)


BIG = {"train": 6000, "updates": 12000, "evaluate_every": 1000, "seed": range(3)}
NET = {"data": "rendered", "seed": range(3), "batch_size": 64, "updates": 1800,
       "evaluate_every": 150, "schedule": "cosine", "finetune_after": 900,
       "finetune_lr": 5e-5, "restart_lr": 3e-4}  # then the image network, too
READS = "searched, maxima, own constants"
CONDITIONS = {"τ = 0.05, as in print": pair(), "τ = 0.1": pair("searched, LTD, warmer"),
              "batch norms": pair("searched, LTD norms", seed=range(10)),
              "Triplet-SH": pair("searched, LTD Triplet-SH", "triplet_sh", eta=0.2),
              "6,000 pictures": pair(**BIG), "network learns": pair("scenes, LTD", **NET),
              "maxima": pair(READS, eta=0.3, method="vse_infty"),
              "photos (Flickr8k)": pair(eta=0.4, **PHOTOS)}
leads = {name: compare(*two, "objective") for name, two in CONDITIONS.items()}
twins = {name: compare(*two, "objective", SWAP) for name, two in [*CONDITIONS.items()][:-1]}
warmer = compare(CONDITIONS["τ = 0.1"][1], alone, "tau")  # what the baseline gains
tight = {what: [compare(trained(READS, **how, method="vse_infty"), CONDITIONS["maxima"][1],
                        ("objective", "auxiliary"), of) for of in ("test.rsum", SWAP)]
         for what, how in {"bound": BOUND | {"eta": 0.1}, "sum": SUM | SBERT}.items()}
normed = compare(CONDITIONS["batch norms"][1], alone, "head_norm")

# %% tags=["hide-input"] mystnb={"image": {"alt": "Left: eight rows, each a condition, with the rsum of constrained LTD less that of its baseline. The first two, NT-Xent at temperatures 0.05 and 0.1, lie right of zero; the other six contain zero. Right: the same for swap twins; no interval lies right of zero, and four lie left of it."}, "figure": {"name": "fig-ltd-leads", "caption": "Constrained LTD less its baseline in eight conditions (NT-Xent at 0.05 where nothing else is said), each with the baseline's rsum. Left: rsum is ahead in the first two. Right: swap twins, in points, are ahead nowhere. Filled: the interval excludes zero."}}
fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.2), sharey=True, width_ratios=[3, 2])
for ax, found, unit in zip(axes, (leads, twins), ("rsum", "swap accuracy"), strict=True):
    for row, x in enumerate(found.values()):
        ax.errorbar(x.mean, -row, xerr=x.high - x.mean, fmt="o", c="indigo", mfc=["indigo", "white"][x.low < 0 < x.high])
    ax.axvline(0, color="black", lw=0.8)
    ax.set_xlabel(f"{unit} less the baseline", fontsize=10)
axes[0].set_yticks(-np.arange(8), [f"{name}: {two[1].mean():.0f}" for name, two in CONDITIONS.items()], fontsize=10);

# %% [markdown]
# At twice the temperature the baseline *alone* gains +17.8 [+14.4, +21.2], and with batch norms behind its encoders +18.1 [+7.1,
# +29.1]. That is more than any of our rows on scenes is ahead. At twice the temperature LTD then adds +6.8 [+2.2, +11.4], and that
# would not survive a correction for eight comparisons (Holm's); the +10.4 would. With ten draws and batch norms nothing is left:
# −2.7 [−9.1, +3.8].
#
# Beside Triplet-SH, the best baseline with 1,500 pictures, LTD is +0.5 [−3.0, +3.9] ahead. With 6,000 pictures, and where the image network
# learns as well, three draws leave the question open. On photos the lead is +2.4 [−5.3, +10.1], and the +19.0 that was printed for
# Flickr30k lies outside. (Those are other photos, five times as many, and the network learns.)
#
# None of these models knows which words belong together. *Maxima* do ({numref}`Chapter {number} <ch-pooling>`): on these draws they
# tell by themselves 86.1 % of swap twins apart, with an rsum of 493.0. Of four bounds the loosest was best on draw 100, 0.3, where λ ends at zero:
# +1.0 [−3.4, +5.3]. At 0.1 they are −5.3 [−8.1, −2.5] behind; as a sum, −0.6 [−2.3, +1.1], LTD changes nothing. The twins move in no case.
#
# And could one leave the caption encoder out and take the sentence encoder's vectors? As printed, the target itself is 45 rsum
# behind on Flickr30k and 22 on MS-COCO. On Flickr8k it is +39.7 [+30.0, +49.4] ahead of LTD's baseline, and −23.4 [−32.8, −14.1]
# behind a bag of words.

# %% tags=["hide-input"]
# checked by machine
first, second, *others = leads.values()
check("it is +10.4 rsum ahead with the paper's temperature, +6.8 with twice that temperature", f"is {first.mean:+.1f}",
      f"{second.mean:+.1f} with", min(first.low, second.low) > 0, CONDITIONS["τ = 0.1"][1].mean() < bag.mean())
check("In the other six none is seen", len(others) == 6, all(x.low < 0 < x.high for x in others))
check("an rsum of 205, and constrained LTD lifts it by 219. On MS-COCO, with the same code, the lift is 11",
      f"of {ltd.rows().at['3.1.1', 'rsum']:.0f}", *map("{:.0f}".format, ltd.gaps("triplet_lag", "triplet")))
check("gains +17.8 [+14.4, +21.2], and with batch norms behind its encoders +18.1 [+7.1, +29.1]", f"gains {warmer}",
      f"encoders {normed}", max(one.mean for one in less["scenes"].values()) < warmer.mean)
check("LTD then adds +6.8 [+2.2, +11.4], and that would not survive a correction for eight comparisons (Holm's); the "
      "+10.4 would", f"adds {second}", f"the {first.mean:+.1f}", family(leads).with_word("ahead") == [*leads][:1])
check("With ten draws and batch norms nothing is left: −2.7 [−9.1, +3.8].", f"left: {others[0]}", others[0].n == 10)
check("with 1,500 pictures, LTD is +0.5 [−3.0, +3.9] ahead.", f"is {others[1]} ahead", also="1,500")
check("the lead is +2.4 [−5.3, +10.1], and the +19.0 that was printed for Flickr30k lies outside", f"is {others[-1]}",
      f"the {gaps.at['lag', 'Flickr30k']:+.1f}", others[-1].high < gaps.at["lag", "Flickr30k"])
check("45 rsum behind on Flickr30k and 22 on MS-COCO", *map("{:.0f}".format, -gaps.loc["tuned"]))
check("is +39.7 [+30.0, +49.4] ahead of LTD's baseline, and −23.4 [−32.8, −14.1] behind a bag of words",
      f"is {less['Flickr8k']['tuned']}", f"and {compare(head, words, 'system')}")

# %% [markdown]
# ## Is more kept?
#
# Swap twins ask the similarity who has which colour. In four of seven conditions the order of words is kept worse. Does the vector itself
# know? A *probe*, a linear map, was trained to read sixteen facts from it (6,000 pictures, three draws). Four are below.

# %%
kept = CONDITIONS["6,000 pictures"]
read = probed.of_runs([*kept[0], *kept[1]])
by_run = read["runs"]  # percent right, by fact and run
more = {fact: compare(*kept, "objective", lambda r, of=fact: by_run.at[of, r["key"]])
        for fact in ("colours named", "relation", "who is above", "whose colour")}
percent = {"guessing": read["chance"], "target itself": read["targets"]["sbert"],
           "baseline": by_run[[run["key"] for run in kept[1]]]}
share = pd.DataFrame({name: of.mean(axis=1).round() for name, of in percent.items()})
share.join(pd.Series(more, name="LTD less the baseline").map(str), how="right")

# %% [markdown]
# Something *is* kept: the *relation*, the word between two things, is read in +15.5 [+5.8, +25.2] points more. But which thing stands
# on which side stays near guessing. Whose colour it is, which the targets hold in 95 % of the cases, is not kept better, −8.0 [−17.3,
# +1.4]: exchanging two colours hardly moves the target ({numref}`Chapter {number} <ch-target>`).

# %% tags=["hide-input"]
# checked by machine
reading = CONDITIONS["maxima"]
check("they tell by themselves 86.1 % of swap twins apart, with an rsum of 493.0.",
      f"themselves {reading[1].mean(SWAP):.1f} %", f"of {reading[1].mean():.1f}")
check("0.3, where λ ends at zero: +1.0 [−3.4, +5.3].", f"zero: {leads['maxima']}",
      not any(row[-1] for run in reading[0] for row in run["log"] if row[0] > 410), also="0.3")
check("At 0.1 they are −5.3 [−8.1, −2.5] behind; as a sum, −0.6 [−2.3, +1.1], LTD changes nothing.",
      f"are {tight['bound'][0]}", f"sum, {tight['sum'][0]}", tight["sum"][0].word == "equivalent", also="0.1")
check("The twins move in no case.", *(
    of.word == "undecided" for of in (twins["maxima"], *(both[1] for both in tight.values()))))
check("Swap twins are told apart better in none of seven", len(twins) == 7, not any(x.low > 0 for x in twins.values()),
      sum(one.high < 0 for one in twins.values()) == 4)
check("is read in +15.5 [+5.8, +25.2] points more", f"in {more['relation']}")
check("which the targets hold in 95 % of the cases, is not kept better, −8.0 [−17.3, +1.4]",
      f"in {share.at['whose colour', 'target itself']:.0f} %", f"better, {more['whose colour']}")

# %% [markdown]
# ## What we found
#
# - In print it pays, by +19.0 rsum on Flickr30k and +12.0 on MS-COCO. As a second loss with a fixed weight it does not, visibly.
# - On our data a lead is seen in two of eight conditions: it is +10.4 rsum ahead with the paper's temperature, +6.8 with twice that
#   temperature, which a correction for eight comparisons would not leave. Both baselines are below a bag of words, but so are others.
# - Swap twins are told apart better in none of seven. In four of them the order of words is kept worse.
# - To a model that knows which words belong together LTD adds nothing that shows, and a tight bound costs it recall.
#
# ## Exercises
#
# ````{exercise-start} Two runs
# :label: ex-ltd-two-runs
# ````
#
# Write `mine(stds, n, m)`: from the *population* standard deviations of several rows, `n` runs each, the band of {eq}`eq-two-runs` for
# `m` single runs that are compared with one more. `scipy.stats.t.ppf` is Student's quantile.

# %%
mine = ...

# %% tags=["hide-input"]
def check_two_runs(value):
    """Passes for the band of several single runs around one."""
    if value is ...:
        return "your turn"
    for stds, n, m in (([1.0], 5, 1), ([0.9, 1.6, 1.3, 1.7], 5, 4), ([2.0, 4.0], 3, 2)):
        right = stats.t.ppf(1 - 0.025 / m, (n - 1) * len(stds)) * np.sqrt(2 * np.mean(np.square(stds)) * n / (n - 1))
        got = float(value(list(stds), n, m))
        assert abs(got - right) < 1e-6, f"not yet: for {stds}, n = {n}, m = {m} it is {right:.3f}, not {got:.3f}"
    return "right"


check_two_runs(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-ltd-two-runs
# :class: dropdown
# ````
#
# Variances are averaged, not deviations; a population's variance times $n/(n-1)$ is the unbiased one; and there are $n - 1$ degrees of
# freedom a row. With `m` comparisons each may be wrong only 0.05/m of the time.

# %%
check_two_runs(lambda stds, n, m: stats.t.ppf(1 - 0.05 / (2 * m), (n - 1) * len(stds))
               * np.sqrt(2 * np.mean(np.square(stds)) * n / (n - 1)))

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise} An open one
# :label: ex-ltd-stranger
#
# How much of constrained LTD's lead is due to a teacher that has seen the test photos? Think of one that has not, of photos that it has
# not seen, of a shuffled teacher, whose vectors belong to other captions. Which would you run first, and why?
# ````
#
# Next: {numref}`Chapter {number} <ch-run>` runs one experiment of your own.
