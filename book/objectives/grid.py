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
# # Fifteen objectives, trained
#
# **What you will be able to do:** read a grid of fifteen results without picking the winner by chance; say what a
# triplet weight and a pair weight each change; find out why one training is slow although its formula is sound.
# **Time:** about a minute on one core. **You need:** {doc}`goal` and {doc}`../lessons/training`.
#
# GOAL {cite:p}`xuan2023dissecting` says: choose a triplet weight $T$, which looks at both the score $s_+$ of the
# positive and the score $s_-$ of the hardest negative, and a pair weight $P$, which looks at one of them at a time;
# train with their product. There are three $T$ (con is 1 inside a margin and 0 outside, nca grows with $s_- - s_+$, cir
# with the distance from the solved point $s_+ = 1$, $s_- = 0$) and five $P$ (con is 1, lin a line in the score, sig a
# sigmoid of it, lin-ms and sig-ms the same with a look at neighbouring scores); the formulas are in {doc}`fifteen`.
# From all its tables the paper concludes that cir × sig-ms is generally the best of the fifteen. con × con has the
# gradient of the loss with one hard negative, Triplet-SH, over which the paper claims the gains of the others. So it is
# the reference here, whatever its place. We trained all fifteen, on five draws of data: the same model, the same number
# of updates, and for each objective the learning rate that suits it best of three. The result is the *rsum*, the sum of
# R@1, R@5 and R@10 in both directions, 600 at most. Here is what came out.

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
import textwrap
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from scipy import stats

import icrlib
from icrlib import chapter, evidence, paper, plots, records
from icrlib.losses import GradientObjective, goal
from icrlib.paper.tables import setting_name

smoke = chapter.start(smoke)

# %% tags=["remove-cell"]
T_NAMES, P_NAMES = list(goal.TRIPLET_WEIGHTS), list(goal.PAIR_WEIGHTS)
NAMES = [f"goal:{t} x {p}" for t in T_NAMES for p in P_NAMES]
CIR = [name for name in NAMES if name.startswith("goal:cir")]


def of(study, convention="paper"):
    """The runs of a study by objective, in one of the two conventions."""
    found = {}
    for r in records.find(study=study):
        if r["config"]["loss_options"]["convention"] == convention:
            found.setdefault(r["config"]["loss"], []).append(r)
    return {name: found[name] for name in NAMES if name in found}


def mean(group, read=lambda test: test["rsum"]):
    return float(np.mean([read(record["test"]) for record in group]))


# %% tags=["remove-cell"]
printed, released = of("goal"), of("goal", "released")
search, search_released = of("goal_tuning"), of("goal_tuning", "released")


def choice(found):
    """{objective: what its search chose}"""
    return {loss: best for (_, loss), best in evidence.choices(r for g in found.values() for r in g).items()}


TUNING, TUNING_RELEASED = choice(search), choice(search_released)
draws = sorted({r["config"]["seed"] for group in printed.values() for r in group})
bow, triplet_sh = ([r for r in records.find(study="ecir", method=method, loss=loss) if r["config"]["seed"] in draws]
                   for method, loss in (("bow", "ntxent"), ("vse++", "triplet_sh")))


def apart(first, second, tuning=TUNING, measure="test.rsum", **more):
    """The mean difference of two groups of runs, paired by draw, with its 95 % interval."""
    return evidence.verdict("a − b", "greater", first, second, tuning=tuning, measure=measure, **more).difference


def text(difference):
    return str(difference).removesuffix(" rsum")


# %% tags=["hide-input"] mystnb={"image": {"alt": "Test rsum of fifteen objectives, one row each, small dots for the draws and a large mark for their mean, with two reference lines."}, "figure": {"name": "fig-grid-fifteen", "caption": "Test rsum of the fifteen objectives on scenes, by the paper's printed formulas. Small dots are draws of data, large marks means; colour is T, marker is P. The objective that the paper recommends is the lowest row."}}
fig, ax = plt.subplots(figsize=(5.8, 4.4))
for row, name in enumerate(printed):
    values = [r["test"]["rsum"] for r in printed[name]]
    ax.plot(values, [row] * len(values), ".", color=plots.colour(name), ms=5, alpha=0.6)
    ax.plot(np.mean(values), row, marker=plots.marker(name), color=plots.colour(name), ms=8)
for name, group, style in (("bow", bow, "--"), ("triplet_sh", triplet_sh, "-")):
    ax.axvline(mean(group), color=plots.colour(name), ls=style, lw=1.2, label=plots.label(name), zorder=0)
ax.set_yticks(range(len(printed)), [plots.label(name) for name in printed], fontsize=11)
ax.invert_yaxis()
ax.set_xlabel("test rsum")
ax.legend(loc="best", fontsize=10);

# %% tags=["hide-input"]
order = sorted(printed, key=lambda name: -mean(printed[name]))
its_place = order.index("goal:cir x sig-ms") + 1
best_here, its_rsum = plots.label(order[0]), mean(printed[order[0]])
span = {t: [mean(printed[f"goal:{t} x {p}"]) for p in P_NAMES] for t in T_NAMES}
ends = {t: f"{min(values):.0f} to {max(values):.0f}" for t, values in span.items()}
assert all(sorted(r["config"]["seed"] for r in group) == draws for group in printed.values()) and len(printed) == 15
Markdown(f"First is **{best_here}** with {its_rsum:.1f}. cir × sig-ms is number **{its_place} of {len(order)}**. With "
         f"T con the means go from {ends['con']}, with T nca from {ends['nca']}, with T cir from {ends['cir']}, which "
         f"is below the bag of words, {mean(bow):.0f}.")

# %% [markdown]
# Two questions, then. Is there a weight that makes a difference? And is the objective on top the paper's?
#
# Three cautions before we start. “Scenes” are drawn pictures; the features are frozen; the caption encoder is a small
# GRU. This is neither MS-COCO nor a fine-tuned network. So we compare *orders* and *signs* with the paper, never levels.
#
# ## A rate for each
#
# {doc}`../lessons/training` showed that one learning rate for all compares nothing. So each objective was tried at three
# rates, on the validation data of one draw that is used for nothing else. One draw is little; it is enough to see which
# of three rates, each three times the last, is out of the question.

# %% tags=["hide-input"]
def tried(group):
    return {r["config"]["lr"]: r["chosen"]["val_rsum"] for r in group}


both_ways = [*((plots.label(n), g) for n, g in search.items()),
             *((f"{plots.label(n)}, released", g) for n, g in search_released.items())]
paper.styled(pd.DataFrame([{"objective": name} | {f"{lr:g}": f"{v:.0f}" for lr, v in sorted(tried(g).items())}
                           for name, g in both_ways]),
             "Best validation rsum of draw 100 by learning rate; 3,000 updates.", name="grid-rates")

# %% tags=["hide-input"]
rates = {n: c["lr"] for n, c in TUNING.items()} | {f"{n}, released": c["lr"] for n, c in TUNING_RELEASED.items()}
by_rate = {lr: sum(v == lr for v in rates.values()) for lr in sorted(set(rates.values()))}
fallen = [f"{name} at {lr:g}" for name, g in both_ways for lr, v in tried(g).items() if v < 50]
Markdown("Chosen: " + ", ".join(f"{lr:g} for {n}" for lr, n in by_rate.items()) + f" of {len(rates)}. "
         f"{len(fallen)} trials stayed below 50, which is a collapse that was never left.")

# %% [markdown]
# The rate of this book's first edition, 1e-3, is not among the chosen ones. With it, this page said that no objective
# was ahead of a bag of words, which was a finding about the rate. The highest rate of the three is too high for nearly
# all of them, because nothing here shortens the collapse at the start ({doc}`../lessons/training` has such a start, and
# what it costs). Is the grid too coarse to compare with? Four objectives were tried at two more rates. None of them has
# cir as printed, for which a rate between 3e-3 and 1e-2 was not tried.

# %% tags=["hide-input"]
finer = {}
for r in records.find(study="goal_rates"):
    finer.setdefault((r["config"]["loss"], r["config"]["loss_options"]["convention"]), []).append(r)
five = {key: tried(group) | tried((search if key[1] == "paper" else search_released)[key[0]])
        for key, group in finer.items()}
paper.styled(pd.DataFrame([
    {"objective": plots.label(n) + (", released" if c == "released" else "")}
    | {f"{lr:g}": f"{v:.1f}" for lr, v in sorted(values.items())} for (n, c), values in five.items()]),
    "Best validation rsum of draw 100, on a finer grid of rates.", name="grid-finer")

# %% tags=["hide-input"]
gained = {key: max(values.values()) - values[3e-3] for key, values in five.items()}
lead = max(five["goal:con x con", "paper"].values()) - max(max(v.values()) for key, v in five.items()
                                                          if key[0] != "goal:con x con")
assert lead < 3 and tried(search["goal:con x sig"])[3e-3] > max(five["goal:con x con", "paper"].values())
Markdown(f"A better rate among the five gains {min(gained.values()):.1f} to {max(gained.values()):.1f} validation rsum "
         f"over 3e-3. At the best rate of each, con × con is {lead:+.1f} from the best of the other three, which is "
         "less than this book cares about (3 rsum). On this one draw it is not even the first of all: con × sig has "
         f"{tried(search['goal:con x sig'])[3e-3]:.1f} at 3e-3, con × con "
         f"{max(five['goal:con x con', 'paper'].values()):.1f} at its best rate.")

# %% [markdown]
# ## The grid
#
# In the layout of GOAL's Tables 3 and 4: a row for each $P$, a column for each $T$. Mean ± population standard deviation
# over draws. “Swap” is the accuracy on twins that differ in word order only; chance is 50.

# %% tags=["hide-input", "full-width"]
ours = evidence.summarise([record for group in printed.values() for record in group])
paper.grid(ours, ["rsum", "i2t_r1", "t2i_r1", "swap"])

# %% [markdown]
# Beside it, what the paper printed for its nearest setting: VSE++ on a frozen ResNet-152, MS-COCO, 5,000 test images
# (Table 3). All its tables are in {doc}`../reproduce/goal-tables`.

# %% tags=["hide-input", "full-width"]
table_3 = paper.table("goal/3")
frozen = table_3[table_3["setting"] == "r152"]
frozen.attrs = table_3.attrs
paper.grid(frozen)

# %% [markdown]
# ### Is the order the same?
#
# Fifteen objectives in two orders: count the pairs on which they agree, less those on which they do not, as a share of
# all. That is Kendall's K, from −1 to 1. Here it is for each of the paper's six settings, on the sum of R@1 of both
# directions, once with cir as printed, once with cir as its code was released (the formulas differ; see below), and
# once without cir. Our order is that of means over five draws, and close ones may well change places with others.

# %% tags=["hide-input"]
def r1(test):
    return test["i2t"]["r1"] + test["t2i"]["r1"]


def order_of(groups):
    return {name.removeprefix("goal:"): mean(group, r1) for name, group in groups.items()}


cells = paper.goal.cells()
in_paper = {s: part.groupby("objective")["mean"].sum().to_dict() for s, part in cells.groupby("setting", sort=False)}
versions = {"cir as printed": order_of(printed), "cir as released": order_of(printed | released),
            "without cir": order_of({n: g for n, g in printed.items() if n not in CIR})}
K = {(s, version): evidence.verdict("same order", "correlates", here, {name: values[name] for name in here})
     for s, values in in_paper.items() for version, here in versions.items()}
paper.styled(pd.DataFrame([{"the paper's setting": setting_name(s)} | {
    f"K, {version}": f"{K[s, version].tau:+.2f} (p {K[s, version].p:.2f})" for version in versions} for s in in_paper]),
    "Our order against the paper's: 15, 15 and 10 objectives; p by permutation, uncorrected.", name="grid-kendall")

# %% tags=["hide-input"]
among = [stats.kendalltau(*([values[name] for name in versions["cir as printed"]] for values in pair)).statistic
         for pair in combinations(in_paper.values(), 2)]
k_of, p_of = ({v: [getattr(K[s, v], what) for s in in_paper] for v in versions} for what in ("tau", "p"))
Markdown(f"How much should one expect? The paper's own six settings are not in one order either: between two of them "
         f"K is {np.median(among):.2f} in the median ({min(among):.2f} to {max(among):.2f}, {len(among)} pairs). "
         "Between ours and the paper's it is " + "; ".join(
             f"{min(v):+.2f} to {max(v):+.2f} {name}" for name, v in k_of.items())
         + ". With cir as printed and without cir no K can be told from zero (p from "
         f"{min(p_of['cir as printed'] + p_of['without cir']):.2f} to "
         f"{max(p_of['cir as printed'] + p_of['without cir']):.2f}). With cir as released all are below zero, "
         f"{sum(p < 0.05 for p in p_of['cir as released'])} of {len(in_paper)} with p below 0.05: there the order "
         "is, if anything, turned round.")

# %% [markdown]
# ## How they learned
#
# Three things to look for: when each curve leaves the ground, for a training on the hardest negative passes through a
# collapse at its start; the bend at update 1,500, where the learning rate falls to a tenth; and whether the curves of one
# panel, which share a $T$, lie closer together than those of different panels.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Validation rsum over updates in four panels, one for each T and one for cir as released, with curves for the pair weights. A dotted vertical line marks update 1,500."}, "figure": {"name": "fig-grid-curves", "caption": "Validation rsum, one panel for each T, a marker for each P, thin lines one draw each. Dotted: the rate falls to a tenth."}}
panels = {f"T {t}": [r for p in P_NAMES for r in printed[f"goal:{t} x {p}"]] for t in T_NAMES}
panels["T cir, as released"] = [record for group in released.values() for record in group]
fig, axes = plt.subplots(2, 2, figsize=(6.2, 4.7), sharex=True, sharey=True)
for ax, (title, group) in zip(axes.flat, panels.items(), strict=True):
    plots.learning_curves(group, ax=ax).get_legend().remove()
    ax.axvline(group[0]["config"]["drops"][0], color="black", ls=":", lw=1)
    ax.set_title(title, fontsize=11)
    ax.set(xlabel="", ylabel="")
marks = [plt.Line2D([], [], color="#555555", marker=plots.marker(f"goal:con x {p}"), label=f"P {p}") for p in P_NAMES]
axes[0, 0].legend(handles=marks, loc="lower right", fontsize=9.5)
fig.supxlabel("updates", fontsize=11)
fig.supylabel("validation rsum", fontsize=11);

# %% tags=["hide-input"]
def val_at(group, update):
    return float(np.mean([e["val"]["rsum"] for r in group for e in r["history"] if e["update"] == update]))


at_500, at_1500, at_last = ({title: val_at(group, u) for title, group in panels.items()} for u in (500, 1500, 3000))
within = [max(found) - min(found) for groups in (printed, released) for t in T_NAMES
          if (found := [val_at(g, 3000) for n, g in groups.items() if n.startswith(f"goal:{t}")])]
rest = [title for title in panels if title != "T cir"]
assert at_500["T cir"] < 150 < min(at_500[title] for title in rest)
assert max(at_last[title] for title in rest) - min(at_last[title] for title in rest) < max(within)
Markdown("At update 500 the mean of a panel is " + ", ".join(f"{v:.0f} with {title}" for title, v in at_500.items())
         + ": cir as printed is still near the ground. From update 1,500 to the end it gains "
         f"{at_last['T cir'] - at_1500['T cir']:.0f}, and the others {min(at_last[n] - at_1500[n] for n in rest):.0f} "
         f"to {max(at_last[n] - at_1500[n] for n in rest):.0f}. At the end the five P of a panel lie "
         f"{min(within):.0f} to {max(within):.0f} apart. The means of con, nca and cir as released differ by no more "
         f"than that ({max(at_last[n] for n in rest) - min(at_last[n] for n in rest):.0f}); only cir as printed lies "
         f"apart, {min(at_last[n] for n in rest) - at_last['T cir']:.0f} below the nearest of them.")

# %% [markdown]
# ### The same gradient twice
#
# con × con has the gradient of Triplet-SH. GOAL's Table 2 compares the two by setting its own con × con beside the number
# that the *original work* printed for the triplet loss. Those two rows come from two codes, so they can be close, not
# equal. Here both are trained by one loop, from the same weights on the same batches: they should be the same run.

# %% tags=["hide-input"]
con_con = printed["goal:con x con"]
partner = {r["config"]["seed"]: r for r in triplet_sh}
pairs = [(a, partner[a["config"]["seed"]]) for a in con_con]
same = [a["test"] == b["test"] for a, b in pairs]
steps = [abs(x["val"]["rsum"] - y["val"]["rsum"])
         for a, b in pairs for x, y in zip(a["history"], b["history"], strict=True)]
settings = {(r["config"]["lr"], r["config"]["warmup"], r["config"]["updates"]) for pair in pairs for r in pair}
assert len(settings) == 1  # one rate, one start, one length
Markdown(f"Of {len(pairs)} pairs of runs, **{sum(same)}** agree in every test number. Over {len(steps)} evaluations on "
         f"the way, validation rsum differs by at most {max(steps):.1f}. Test rsum, con × con less Triplet-SH, by draw: "
         + ", ".join(f"{a['test']['rsum'] - b['test']['rsum']:+.1f}" for a, b in pairs) + ".")

# %% [markdown]
# (On another machine they may differ: the two add the same numbers in another order, and a training amplifies the last
# digit.) So it is not training *by weights* that sets cir apart.
#
# ## Why cir is late
#
# Look at the gap first, the mean of $s_- - s_+$ over a batch. As long as it is above zero, the hardest negative is on
# average closer than the positive.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels over updates. Left, the mean gap between hardest negative and positive: all start just above zero. con, nca and cir as released leave zero between updates 500 and 1,000 and end below minus 0.1; cir as printed stays at zero until about update 1,250 and ends near minus 0.02. Right, the spread of the scores on a logarithmic axis: all begin near 0.002. con, nca and cir as released rise to 0.05 and more by update 1,000, nca with P con after the lowest point of all at update 500. cir as printed is near 0.001 until update 1,000 and ends at 0.06 to 0.08."}, "figure": {"name": "fig-grid-gap", "caption": "Left: the gap of a batch, for each query. Right: the spread of its scores. Mean of the draws; colours and markers as before; dashed: cir as released. Dotted: the rate falls."}}
def curve(group, read):
    return [entry["update"] for entry in group[0]["history"]], np.mean(
        [[read(entry) for entry in record["history"]] for record in group], axis=0)


fig, axes = plt.subplots(1, 2, figsize=(8.4, 3.6))
for style, groups in (("-", printed), ("--", released)):
    for name, group in groups.items():
        queries = 2 * group[0]["config"]["batch_size"]
        line = {"color": plots.colour(name), "lw": 1.2, "marker": plots.marker(name), "ms": 3.5, "ls": style}
        axes[0].plot(*curve(group, lambda entry, queries=queries: entry["gap"] / queries), **line)
        axes[1].plot(*curve(group, lambda entry: entry["diagnose"]["spread"]), **line)
for t in T_NAMES:
    axes[0].plot([], [], color=plots.colour(f"goal:{t} x con"), lw=3, label=f"T {t}")
axes[0].axhline(0, color="black", lw=0.8)
axes[1].set(yscale="log", ylabel="spread of the scores", xlabel="updates")
axes[0].set(xlabel="updates", ylabel="mean of $s_- - s_+$")
for ax in axes:
    ax.axvline(con_con[0]["config"]["drops"][0], color="black", ls=":", lw=1)
axes[0].legend(fontsize=10);

# %% [markdown]
# A gap near zero together with a tiny spread is a collapse: all scores are nearly the same. All objectives pass through
# it. nca × con goes deepest, at update 500, and has left it by 1,000; cir as printed stays in it longest. But it does
# not stand still. Compare validation rsum and spread of one run:

# %% tags=["hide-input"]
slow = min((r for name in CIR for r in printed[name]), key=lambda r: r["history"][-1]["diagnose"]["spread"])
at = [e for e in slow["history"] if e["update"] % 500 == 0]
paper.styled(pd.DataFrame([{"": what} | {str(e["update"]): read(e) for e in at} for what, read in (
    ("spread of the scores", lambda e: f"{e['diagnose']['spread']:.5f}"),
    ("validation rsum", lambda e: f"{e['val']['rsum']:.0f}"),
    ("swap accuracy", lambda e: f"{e['twins']['swap']:.0f}"))]),
    f"{plots.label(slow['config']['loss'])} as printed, draw {slow['config']['seed']}: the run that ends with the "
    "smallest spread of all.", name="grid-slow")

# %% [markdown]
# Its scores hardly differ, and yet it ranks (though not by the order of words: swap stays at chance), because recall
# asks only which score is higher. So a tiny spread says that the scores are close together, not that nothing is learnt.
# What does it lack, then: time, or length of step? We know what each $T$ is when $s_+ = s_- = s$:
#
# $$ \begin{aligned} T^\text{con} &= 1, \qquad T^\text{nca} = \tfrac12, \\
#    T^\text{cir}_\text{printed} &= \sigma\big(2 \gamma\, s (s - 1)\big), \\
#    T^\text{cir}_\text{released} &= \sigma\big(2 \gamma\, s (s - 1) + \tfrac{\gamma}{2}\big), \end{aligned} $$
#
# where $\gamma = 10$ is GOAL's sharpness, which the paper calls $\tau$ (a temperature is $1/\gamma$).

# %% tags=["nbval-check-output"]
s = torch.linspace(0, 1, 101, dtype=torch.float64)
on_diagonal = {}
for convention, half in (("paper", 0.0), ("released", 0.5)):
    objective = GradientObjective("cir", "con", convention=convention)
    on_diagonal[convention] = objective.on_plane(s, s)[0]
    formula = torch.sigmoid(10 * (2 * s * (s - 1) + half))
    assert (on_diagonal[convention] - formula).abs().max() < 1e-12
    print(f"{convention:8}: T cir at s = 0, .25, .5:",
          *(f"{v:.4f}" for v in on_diagonal[convention][[0, 25, 50]].tolist()))

# %% tags=["hide-input"] mystnb={"image": {"alt": "T at equal scores over that score, logarithmic. con is flat at one, nca flat at one half, cir as printed dips below one hundredth in the middle, cir as released stays at or above one half. Dots of the runs of cir as printed lie at the bottom of the dip, between 0.38 and 0.5, but for one on its slope at 0.14."}, "figure": {"name": "fig-grid-diagonal", "caption": "What is left of T when all scores are the same. Dots: where the runs of cir as printed stood at their first evaluation, by the mean score of their positives."}}
fig, ax = plt.subplots(figsize=(6.4, 3.4))
ax.plot(s, torch.ones_like(s), color=plots.colour("goal:con x con"), label="con")
ax.plot(s, torch.full_like(s, 0.5), color=plots.colour("goal:nca x con"), label="nca")
ax.plot(s, on_diagonal["released"], "--", color=plots.colour("goal:cir x con"), label="cir, as released")
ax.plot(s, on_diagonal["paper"], color=plots.colour("goal:cir x con"), label="cir, as printed")
stood = torch.tensor([r["history"][0]["diagnose"]["positive"] for name in CIR for r in printed[name]]).double()
T_stood = GradientObjective("cir", "con").on_plane(stood, stood)[0]
ax.plot(stood, T_stood, "o", color="black", ms=4.5, zorder=3)
ax.set(yscale="log", ylim=(0.004, 1.5), xlabel="the one score s", ylabel="T(s, s)")
ax.legend(fontsize=10, loc="center", bbox_to_anchor=(0.5, 0.56))
bottom = (stood > 0.37) & (stood < 0.51)
assert int((~bottom).sum()) == 1 and 0.13 < float(stood[~bottom]) < 0.15 and float(T_stood[bottom].max()) < 0.01

# %% [markdown]
# A training begins with scores near 0, where $T^\text{cir}$ as printed is a half. Within the first 250 updates the
# collapse carries them, in all runs but one, to between 0.38 and 0.5, and there $T^\text{cir}$ is nearly at its
# smallest, below a hundredth. With the released $-\tfrac12$ in the bracket it is smallest there, too, but that is a
# half.
#
# ### But Adam does not see the size of a gradient
#
# An objection. We train with Adam {cite:p}`kingma2015adam`, which divides a gradient by its own size. A small $T$ is
# then no reason to be late. Look at the size *over time*.

# %% tags=["hide-input"]
MOMENTS = (250, 500, 1000, 3000)


def lengths(name, group, note=""):
    """Gradient lengths of a group at four updates, and the share of updates clipped before the first of them."""
    entries = [{e["update"]: e for e in r["history"]} for r in group]
    row = {"mean of the draws": plots.label(name) + note}
    row |= {f"at {u}": f"{np.mean([e[u]['gradient_norm'] for e in entries]):.3g}" for u in MOMENTS}
    return row | {"clipped, first 250": f"{100 * np.mean([e[250]['clipped'] for e in entries]):.1f} %"}


rows = [(n, printed[n], "") for n in ("goal:con x con", "goal:nca x con", "goal:cir x con", "goal:cir x lin")]
rows.append(("goal:cir x con", released["goal:cir x con"], ", released"))
paper.styled(pd.DataFrame([lengths(*row) for row in rows]),
             "Length of the gradient at four updates, before it is clipped to 2.", name="grid-sizes")

# %% tags=["hide-input"]
mean_lengths = {name: np.mean([[e["gradient_norm"] for e in r["history"]] for r in printed[name]], axis=0)
                for name in ("goal:con x con", "goal:nca x con", "goal:cir x con", "goal:cir x lin")}
below_2 = {plots.label(name): 2 / mean_lengths[name] for name in CIR if name in mean_lengths}
for name in ("goal:con x con", "goal:nca x con"):
    assert (mean_lengths[name][3:] > 2).all() and mean_lengths[name][1] < 1
Markdown("With con and nca the gradient is shorter than 2 inside the collapse (update 500) and longer from update "
         "1,000 on, where clipping gives it a constant length. With cir as printed only the very first updates are "
         "clipped (there the scores lie near 0, where T is a half). At the twelve evaluations its mean length is "
         "below 2 by a factor of " + " and ".join(f"{v.min():.0f} to {v.max():.0f} "
         f"({name})" for name, v in below_2.items()) + ".")

# %% [markdown]
# And Adam *remembers*: it divides by the root of an average over about a thousand updates. Let a gradient that always
# points the same way have the recorded lengths. How long are Adam's steps?

# %%
def adam_steps(sizes, b1=0.9, b2=0.999):
    """Steps over the learning rate, for gradients of one direction."""
    m = v = 0.0
    steps = []
    for t, size in enumerate(sizes, 1):
        m, v = b1 * m + (1 - b1) * size, b2 * v + (1 - b2) * size**2
        steps.append(m / (1 - b1**t) / (v / (1 - b2**t)) ** 0.5)
    return np.array(steps)


def recorded(group):
    """Lengths as Adam got them: 2 while clipped at first, then each recorded one."""
    h = [r["history"] for r in group]
    first = round(250 * np.mean([e[0]["clipped"] for e in h]))
    after = [min(2.0, np.mean([e[k]["gradient_norm"] for e in h]))
             for k in range(len(h[0]))]
    return np.concatenate([[2.0] * first, np.repeat(after, 250)[first:]])


# %%
short, full = (adam_steps(recorded(printed[f"goal:{t} x lin"])) for t in ("cir", "con"))
# PyTorch's own Adam does the same:
x = torch.zeros(1, dtype=torch.float64, requires_grad=True)
adam, own = torch.optim.Adam([x], lr=1.0), []
for size in recorded(printed["goal:cir x lin"]):
    before, x.grad = x.item(), torch.tensor([size], dtype=torch.float64)
    adam.step()
    own.append(before - x.item())
assert np.allclose(short, own, rtol=1e-4)

# %% tags=["hide-input"]
assert (short[:2] > 0.9).all() and (short[2:2000] < 0.9).all()
Markdown("Steps of cir × lin as printed, as a share of the learning rate: " + ", ".join(
    f"{short[t - 1]:.2f} at update {t:,}" for t in (100, 250, 500, 1000, 1500, 3000)) + f". With con × lin they are "
    f"{full[249]:.2f} at update 250. Up to update 1,500, where the rate falls, cir × lin has gone "
    f"{100 * short[:1500].sum() / full[:1500].sum():.0f} % of the way that con × lin went. "
    "So Adam makes up for a gradient that is always small. For one that has *become* small it does so only slowly, "
    "as it forgets the long ones and the lengths grow again: after the first two updates the steps stay below nine "
    f"tenths until update {1 + np.where(short < 0.9)[0].max():,}, and by then the rate has fallen.")

# %% [markdown]
# A toy in one direction is an argument, not a proof. If it is right, two things should help: not to let the first
# gradients in, and time.
#
# ### Clipping shorter
#
# For Adam, a gradient clipped to 0.02 is as good as one a hundred times as long clipped to 2: only ratios count. So
# clip the same cir at 0.02. Nothing else changes, and its lengths stay within a factor of ten from the first update on.
# That takes away two things at once, the long first gradients and most of the later shrinking; a run clipped at 0.02
# for its first updates only would tell which of them counts, and was not made. Nor was con clipped at 0.02. Here is a
# live run with P lin, half as long as the others: 1,500 updates, and its rate falls at 1,000.

# %%
data = icrlib.load_dataset("scenes", seed=0, smoke=smoke)
run = icrlib.train(data, "vse++", "goal:cir x lin", seed=0, grad_clip=0.02, updates=1500,
                   lr_update=1000, evaluate_every=250, smoke=smoke, progress=False,
                   **TUNING["goal:cir x lin"])

# %% tags=["hide-input"]
def of_draw(group, seed=0):
    return next(r for r in group if r["config"]["seed"] == seed)["history"]


def row_of(text, entries):
    entries = [e for e in entries if e["update"] in (250, 500, 1000, 1500)]
    return {"draw 0": text} | {f"spread, {e['update']}": f"{e['diagnose']['spread']:.4f}" for e in entries} | {
        "validation rsum, last": f"{entries[-1]['val']['rsum']:.0f}" if entries else "–"}


rows = [row_of("cir × lin, clipped at 2", of_draw(printed["goal:cir x lin"])),
        row_of("cir × lin, clipped at 0.02", run.history),
        row_of("con × lin, clipped at 2", of_draw(printed["goal:con x lin"]))]
paper.styled(pd.DataFrame(rows).fillna("–"), "Three trainings up to update 1,500. Up to 1,000 they differ in clipping "
             "or in T only; at 1,500 the run clipped at 0.02 is at its end, with a lower rate since 1,000, and the "
             "other two are in the middle.", "grid-hundred")

# %% [markdown]
# What does a $T$ look at? Here is one caption of the test set with its own picture and the picture that the live run
# finds closest among the others, its hardest negative; and what each $T$ makes of those two scores. It is the caption
# whose two scores are nearest to each other, so that T nca is a half by this choice.

# %% tags=["hide-input"] mystnb={"image": {"alt": "A caption with its own picture and the hardest negative picture, which looks much like it, each with its score."}, "figure": {"name": "fig-grid-triplet", "caption": "A triplet: one test caption (above), its own picture (left), and the other picture that scores highest for it (right)."}}
split = data.test
images, captions = icrlib.evaluation.embed(run.model, split)
scores = captions @ images.T
own = scores[torch.arange(len(scores)), split.image_of].clone()
scores[torch.arange(len(scores)), split.image_of] = -1
hard = scores.max(1)
near = (hard.values - own).abs()
near[split.relevance[torch.arange(len(scores)), hard.indices]] = 9  # of that picture the caption would be true, too
query = int(near.argmin())
pair = [int(split.image_of[query]), int(hard.indices[query])]
assert split.relevance[query, pair].tolist() == [True, False]
s_plus, s_minus = float(own[query]), float(hard.values[query])
fig = plots.gallery(split.images[pair], [f"$s_+$ = {s_plus:.3f}", f"$s_-$ = {s_minus:.3f}"], frames=[True, False],
                    size=2.4)
fig.suptitle(textwrap.fill(f"“{split.captions[query]}”", 46), fontsize=11);

# %% tags=["hide-input"]
at_them = {f"T {t}" + note: float(GradientObjective(t, "con", convention=c).on_plane(
    *(torch.tensor([x], dtype=torch.float64) for x in (s_plus, s_minus)))[0])
    for t, c, note in (("con", "paper", ""), ("nca", "paper", ""), ("cir", "paper", " as printed"),
                       ("cir", "released", " as released"))}
Markdown(f"“{split.captions[query]}” — " + ", ".join(f"{name} {value:.3f}" for name, value in at_them.items())
         + ". con asks only whether the negative is within the margin, nca how much closer it is, and cir how far the "
         "two are, together, from where they should be: s₊ = 1 and s₋ = 0.")

# %% [markdown]
# And all five pair weights on five draws, from the records. On the left what clipping at 0.02 adds to cir as printed, on
# the right what is then missing to con with the same $P$.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels with five rows, one for each pair weight, each with a mean difference in test rsum and its interval. Left: cir clipped at 0.02 less cir clipped at 2. Right: cir clipped at 0.02 less con, with cir clipped at 2 less con in grey."}, "figure": {"name": "fig-grid-size", "caption": "Test rsum, paired by draw, mean and 95 % interval, n = 5. Left: cir as printed, clipped at 0.02 less clipped at 2. Right: against con with the same P, clipped at 0.02 (colour) and at 2 (grey)."}}
small = of("goal_size")
helped = {p: apart(small[f"goal:cir x {p}"], printed[f"goal:cir x {p}"], None, factor="grad_clip") for p in P_NAMES}
before = {p: apart(printed[f"goal:cir x {p}"], printed[f"goal:con x {p}"]) for p in P_NAMES}
lr_con = {f"goal:{t} x {p}": TUNING[f"goal:{t} x {p}"] | {"grad_clip": 0.02 if t == "cir" else 2.0}
          for t in ("cir", "con") for p in P_NAMES}
after = {p: apart(small[f"goal:cir x {p}"], printed[f"goal:con x {p}"], lr_con) for p in P_NAMES}


def interval(ax, row, d, color, marker, **more):
    ax.plot([d.low, d.high], [row, row], color=color, lw=2)
    ax.plot(d.mean, row, marker=marker, color=color, ms=8, **more)


fig, axes = plt.subplots(1, 2, figsize=(7.2, 3), sharey=True)
for row, p in enumerate(P_NAMES):
    name = f"goal:cir x {p}"
    interval(axes[0], row, helped[p], plots.colour(name), plots.marker(name))
    interval(axes[1], row - 0.12, before[p], "#999999", plots.marker(name))
    interval(axes[1], row + 0.12, after[p], plots.colour(name), plots.marker(name))
for ax, title in zip(axes, ("clipped shorter, less as before", "less con"), strict=True):
    ax.axvline(0, color="black", lw=0.8)
    ax.set_title(title, fontsize=11)
axes[0].set_yticks(range(5), [f"P {p}" for p in P_NAMES])
axes[0].set_ylim(4.45, -0.45)  # from the top, with room for the marks at both ends
fig.supxlabel("difference in test rsum", fontsize=11);

# %% [markdown]
# ### Time
#
# The other way: leave everything as printed, and train three times as long (9,000 updates, the rate falls at 4,500), with
# P lin, on three draws. What is the difference between cir and con then?

# %% tags=["hide-input"]
longer = of("goal_longer")
few = {r["config"]["seed"] for r in longer["goal:cir x lin"]}
at_3000 = {t: [r for r in printed[f"goal:{t} x lin"] if r["config"]["seed"] in few] for t in ("cir", "con")}


def swap_of(group):
    return mean(group, lambda test: test["twins"]["swap"])


rows = [{"updates": f"{group['cir'][0]['config']['updates']:,}", "cir × lin": f"{mean(group['cir']):.1f}",
         "swap": f"{swap_of(group['cir']):.0f} %", "con × lin": f"{mean(group['con']):.1f}",
         "swap ": f"{swap_of(group['con']):.0f} %", "cir less con": text(apart(group["cir"], group["con"]))}
        for group in (at_3000, {t: longer[f"goal:{t} x lin"] for t in ("cir", "con")})]
paper.styled(pd.DataFrame(rows), "Test rsum and swap accuracy, mean of three draws; difference with its 95 % interval.",
             name="grid-longer")

# %% tags=["hide-input"]
def by_seed(group):
    return {r["config"]["seed"]: r["test"]["rsum"] for r in group}


long_gap, short_gap = (apart(g["cir"], g["con"])
                       for g in ({t: longer[f"goal:{t} x lin"] for t in ("cir", "con")}, at_3000))
catching = evidence.verdict("cir at 9,000 less con at 3,000", "greater", by_seed(longer["goal:cir x lin"]),
                            by_seed(at_3000["con"]), unit="rsum").difference
con_loses = mean(at_3000["con"]) - mean(longer["goal:con x lin"])
assert long_gap.low < 0 < long_gap.high and catching.high < 0
Markdown(f"With three draws the interval at 9,000 contains zero: whether cir is still behind con is undecided. Of the "
         f"{long_gap.mean - short_gap.mean:.0f} rsum by which the difference shrank, {con_loses:.0f} are what con lost "
         f"by the longer training. From con after 3,000 updates cir after 9,000 differs by {text(catching)}. In swap "
         "accuracy it is no longer near chance.")

# %% [markdown]
# ### As printed against as released
#
# The released code has the shift, and the weight at a collapse is a half or more. For P con, lin and sig the shift is all
# that differs. For the two -ms the release also takes other neighbours ({doc}`goal`).

# %% tags=["hide-input"]
shift = {}
for name in CIR:  # the rate was searched for in each convention, so it belongs to what is compared
    one, other = ({r["config"]["seed"]: r["test"]["rsum"] for r in g[name]} for g in (released, printed))
    shift[name] = evidence.verdict(name, "greater", one, other, unit="rsum").difference
rows = [{"objective": plots.label(name), "printed": f"{mean(printed[name]):.1f}",
         "released": f"{mean(released[name]):.1f}", "released less printed": text(shift[name]),
         "released less con": text(apart(released[name], printed[name.replace("cir", "con")],
                                        TUNING | TUNING_RELEASED))} for name in CIR]
paper.styled(pd.DataFrame(rows), "Test rsum of cir in both conventions, five draws.", "grid-shift")

# %% tags=["hide-input"]
column = frozen.groupby("T")["i2t_r1"].mean()
on_T, on_P = paper.goal.compare("T"), paper.goal.compare("P")
assert on_T.loc["cir", "worst"] > -2
Markdown("In the paper T cir is nowhere far behind. In the table above, T con, nca and cir have a mean R@1 of "
         f"{column['con']:.1f}, {column['nca']:.1f} and {column['cir']:.1f} from image to text; over all its tables "
         f"T cir is better than T con in {on_T.loc['cir', 'better']} of {on_T.loc['cir', 'of']} comparisons, and "
         f"worse by {-on_T.loc['cir', 'worst']:.1f} at most. As its code was released cir is near the others here, "
         "too; as it is printed it is late. Which of the two the paper's runs were made with, neither the paper nor "
         "the release says.")

# %% [markdown]
# ## Does P matter? Does T?
#
# The claim is GOAL's: the four other $P$ improve on con, at each $T$. In a batch of pairs no query has a second positive.
# Then the positive side of the two -ms is *the same* as that of lin and sig; only the push differs. By machine:

# %%
rng = torch.Generator().manual_seed(0)
S = torch.rand(32, 32, generator=rng, dtype=torch.float64)
own_pairs = torch.eye(32, dtype=torch.bool)
for t in T_NAMES:
    for relative in ("lin", "sig"):
        a, b = (GradientObjective(t, p).weights(S, own_pairs)
                for p in (relative, f"{relative}-ms"))
        assert torch.equal(a.diagonal(), b.diagonal()) and not torch.equal(a, b)

# %% [markdown]
# If the claim carries over, everything in the next figure lies to the right of zero.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three panels, one for each T. In each, four rows for the pair weights with the mean difference in test rsum to P con and its interval; a vertical line at zero."}, "figure": {"name": "fig-grid-p-effect", "caption": "What each P adds to P con, in test rsum: mean of the paired differences and 95 % interval, five draws. All panels have one scale but that of cir. GOAL's claim is that all lie to the right of zero."}}
P_effect = {(t, p): apart(printed[f"goal:{t} x {p}"], printed[f"goal:{t} x con"]) for t in T_NAMES for p in P_NAMES[1:]}
T_effect = {(t, p): apart(printed[f"goal:{t} x {p}"], printed[f"goal:con x {p}"]) for t in T_NAMES[1:] for p in P_NAMES}
P_released = {p: apart(released[f"goal:cir x {p}"], released["goal:cir x con"], TUNING_RELEASED) for p in P_NAMES[1:]}
fig, axes = plt.subplots(1, 3, figsize=(7.2, 3), sharey=True)
for ax, t in zip(axes, T_NAMES, strict=True):
    for row, p in enumerate(P_NAMES[1:]):
        name = f"goal:{t} x {p}"
        interval(ax, row, P_effect[t, p], plots.colour(name), plots.marker(name))
    ax.axvline(0, color="black", lw=0.8)
    ax.set_title(f"T {t}", fontsize=11)
axes[1].sharex(axes[0])
axes[0].set_yticks(range(4), [f"P {p}" for p in P_NAMES[1:]])
axes[0].invert_yaxis()
fig.supxlabel("difference to P con in test rsum", fontsize=11);

# %% tags=["hide-input"]
rows = [{"": f"T {t}"} | {f"P {p}": text(P_effect[t, p]) for p in P_NAMES[1:]} for t in T_NAMES]
rows.append({"": "T cir, released"} | {f"P {p}": text(P_released[p]) for p in P_NAMES[1:]})
paper.styled(pd.DataFrame(rows), "P against P con at each T: mean difference and 95 % interval.", "grid-p")

# %% tags=["hide-input"]
rows = [{"": f"T {t}"} | {f"P {p}": text(T_effect[t, p]) for p in P_NAMES} for t in T_NAMES[1:]]
paper.styled(pd.DataFrame(rows), "T against T con at each P: mean difference and 95 % interval.", "grid-t")

# %% [markdown]
# Read the intervals with care. Five draws *describe*: the factor on the standard error is 2.8, the intervals are not
# corrected for their number, and where nothing is true, one in twenty lies beside zero by chance. The rate of each
# objective was chosen on a single draw, and that uncertainty is in none of them. A difference below 3 rsum is one that
# this book does not care about.
#
# ## What we found

# %% tags=["remove-cell"]
to_con = {name: apart(printed[name], con_con) for name in NAMES if name != "goal:con x con"}
trained = {name: d for name, d in to_con.items() if name not in CIR}
below = {p: [P_effect[t, p] for t in ("con", "nca")] for p in P_NAMES[1:]}
lost = [d.mean for found in below.values() for d in found]
on_val = [apart(printed[f"goal:{t} x {p}"], printed[f"goal:{t} x con"], measure="chosen.val_rsum").mean
          for t in ("con", "nca") for p in P_NAMES[1:]]
nca = [T_effect["nca", p] for p in P_NAMES]
spread_out = [r["test"]["rsum"] for r in printed["goal:cir x con"]]
to_con_released = [apart(released[n], printed[n.replace("cir", "con")], TUNING | TUNING_RELEASED) for n in CIR]


def ends_of(values):
    return f"{min(values):+.1f} to {max(values):+.1f}"

# %% tags=["hide-input"]
Markdown("\n".join([
    f"- **The plain hardest negative is on top.** con × con, which is Triplet-SH run by run, has {mean(con_con):.1f}; "
    f"of the 14 others {sum(d.high < 0 for d in to_con.values())} lie below it with their whole interval, none above. "
    f"The objective that GOAL recommends lies {-to_con['goal:cir x sig-ms'].mean:.0f} rsum below as printed and "
    f"{-apart(released['goal:cir x sig-ms'], con_con, TUNING | TUNING_RELEASED).mean:.0f} as released.",
    "- **The pair weight costs a little here.** At T con and nca the four other P differ from P con by "
    f"{ends_of(lost)} rsum on the tests, and by {ends_of(on_val)} on the validation pictures; at T cir as released by "
    f"{ends_of([d.mean for d in P_released.values()])} on the tests. At T cir as printed all four intervals contain "
    f"zero. They are wide because cir × con goes from {min(spread_out):.0f} to {max(spread_out):.0f} between draws. In "
    f"the paper's tables the four are better than P con in {on_P['better'].sum()} of {on_P['of'].sum()} comparisons. "
    "All four let go of a positive that is already close, and a small model on frozen features may never have "
    "positives so close that letting go pays. That reason is a guess.",
    f"- **The triplet weight nca differs from con with the same P by {ends_of([d.mean for d in nca])} rsum;** "
    f"{sum(d.low < 0 < d.high for d in nca)} of its {len(nca)} intervals contain zero.",
]))

# %% tags=["hide-input"]
cir_means, cir_swap = [mean(printed[n]) for n in CIR], [swap_of(printed[n]) for n in CIR]
Markdown("\n".join([
    f"- **cir as printed is late.** After 3,000 updates it has {min(cir_means):.0f} to {max(cir_means):.0f} rsum, less "
    f"than the bag of words ({mean(bow):.0f}), and {min(cir_swap):.0f} to {max(cir_swap):.0f} % on swapped twins, "
    f"where chance is 50. From T con with the same P it differs by {ends_of([d.mean for d in before.values()])} rsum; "
    f"clipped at 0.02 instead of 2, by {ends_of([d.mean for d in after.values()])}. With three times the updates, on "
    f"three draws, cir × lin has {swap_of(longer['goal:cir x lin']):.0f} % on the twins and differs from con × lin by "
    f"{text(long_gap)}, where it was {text(short_gap)}. As its code was released, with half in the bracket, cir "
    f"differs from T con with the same P by {ends_of([d.mean for d in to_con_released])}.",
    "- **Something remains.** Clipped at 0.02, cir is below T con with its whole interval at every P. Why these 10 to "
    "20 rsum remain is not known here.",
    f"- **The order is not the paper's:** K between our order and its six is {min(k_of['cir as printed']):+.2f} to "
    f"{max(k_of['cir as printed']):+.2f}, without cir {min(k_of['without cir']):+.2f} to "
    f"{max(k_of['without cir']):+.2f}, and with cir as released {min(k_of['cir as released']):+.2f} to "
    f"{max(k_of['cir as released']):+.2f}. Only among the last are any (three of six) below zero with p below 0.05, "
    "uncorrected. Other data, a smaller model and frozen features are three reasons, not tested, why it need not be.",
]))

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
if not smoke:
    assert set(rates.values()) == {0.003} and order[0] == "goal:con x con"
    assert not any(d.low > 0 for d in to_con.values()) and all(d.high < 0 for n, d in to_con.items() if n in CIR)
    assert max(lost) < 0 and max(on_val) < 0 and np.mean([d.mean for d in nca]) < 0  # "costs a little"
    assert all(d.low > 0 for d in helped.values())  # not to let the first gradients in helps, at each P
    assert min(d.mean for d in after.values()) > max(d.mean for d in before.values())
    assert long_gap.mean > short_gap.mean / 2  # and time does
    kept, cut = ([e["gradient_norm"] for r in g["goal:cir x lin"] for e in r["history"]] for g in (small, printed))
    assert 0.02 / min(kept) < 10 and 50 < 2 / np.median(cut) < 200  # "a factor of ten"
    long = [e["gradient_norm"] for t in ("con", "nca") for r in printed[f"goal:{t} x con"] for e in r["history"]]
    assert np.median(long) > 2
    assert all(d.high < 0 for d in after.values()) and min(d.mean for d in after.values()) > -20  # "10 to 20 remain"
    assert -10.5 < max(d.mean for d in after.values()) < -9.5
    assert all(d.low < 0 < d.high for (t, _), d in P_effect.items() if t == "cir")
    assert sum(p < 0.05 for p in p_of["cir as released"]) == 3  # "three of six"
    assert min(p_of["cir as printed"] + p_of["without cir"]) > 0.1 and max(k_of["cir as released"]) < 0
    low_spread = {n: np.mean([[e["diagnose"]["spread"] for e in r["history"]] for r in g], axis=0)
                  for n, g in printed.items()}
    assert min(low_spread, key=lambda n: low_spread[n].min()) == "goal:nca x con"  # "goes deepest, at update 500"
    assert low_spread["goal:nca x con"].argmin() == 1 and low_spread["goal:nca x con"][3] > 0.05
    assert all(e["twins"]["swap"] < 55 for e in slow["history"])  # "swap stays at chance"
    low = min(e["diagnose"]["spread"] for e in slow["history"])
    assert low < 0.002 and slow["test"]["rsum"] > 200  # "hardly differ, and yet it ranks"
    assert mean(bow) < min(mean(printed[n]) for n in NAMES if n not in CIR)  # all that read are above the bag of words
    assert max(mean(printed[n]) for n in CIR) < mean(bow)

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} The paired difference
# :label: ex-grid-paired
# ````
#
# Write `mine(first, second)`: from two dicts `{draw: number}`, return the mean of first minus second, paired by draw, and
# the half width of its 95 % t-interval. For five draws the factor on the standard error is 2.7764. The dicts may be in
# different orders.

# %%
mine = ...

# %% tags=["hide-input"]
def check_paired(value):
    """Passes for the mean paired difference and the half width of its interval."""
    if value is ...:
        return "your turn"
    from icrlib import evidence

    first = {0: 416.0, 1: 421.0, 2: 419.5, 3: 417.0, 4: 423.5}
    second = {2: 412.0, 0: 413.0, 4: 418.0, 1: 411.5, 3: 416.0}
    expected = evidence.verdict("first is greater", "greater", first, second).difference
    got, half = value(first, second)
    assert abs(got + expected.mean) > 1e-6, "not yet: that is second minus first; a gain would look like a loss"
    assert abs(got - expected.mean) < 1e-6, f"not yet: the mean difference is {expected.mean:.3f}, not {got:.3f}"
    width = (expected.high - expected.low) / 2
    assert abs(half - width) < 1e-3, (
        f"not yet: half the interval is {width:.3f}, not {half:.3f}; pair by draw, divide by n − 1, then by √n")
    return "right"


check_paired(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-grid-paired
# :class: dropdown
# ````

# %%
def paired(first, second):
    d = np.array([first[draw] - second[draw] for draw in first])
    return d.mean(), 2.7764 * d.std(ddof=1) / len(d) ** 0.5


check_paired(paired)

# %% [markdown]
# On the records, at $T$ nca:

# %%
def by_draw(group):
    return {record["config"]["seed"]: record["test"]["rsum"] for record in group}


for p in P_NAMES[1:]:
    gained, half = paired(*(by_draw(printed[f"goal:nca x {q}"]) for q in (p, "con")))
    print(f"P {p:6} over con: {gained:+.1f} ± {half:.1f} rsum")

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} The gradient of cir × lin, with any shift
# :label: ex-grid-cir
# ````
#
# Write `mine(p, n, gamma, k)`: the gradient of cir × lin with respect to $s_+$ (`p`) and $s_-$ (`n`), as a pair of tensors,
# where $T = \sigma(\gamma [(1 - s_+)^2 + s_-^2 - k])$. As printed $k = 1$, as released $k = \tfrac12$.

# %%
mine = ...

# %% tags=["hide-input"]
def check_cir_lin(value):
    """Passes for the gradient of cir x lin by (s+, s-), for any sharpness and shift."""
    if value is ...:
        return "your turn"
    x = torch.tensor([[0.6, 0.5], [0.5, 0.5], [0.3, 0.8]], dtype=torch.float64, requires_grad=True)
    for gamma, k in ((10.0, 1.0), (10.0, 0.5), (3.0, 1.0)):
        squared = (1 - x[:, 0]) ** 2 + x[:, 1] ** 2
        potential = torch.nn.functional.softplus(gamma * (squared - k), threshold=60) / (2 * gamma)
        by_plus, by_minus = torch.autograd.grad(potential.sum(), x)[0].T
        got_plus, got_minus = value(*x.detach().T, gamma, k)
        assert (got_plus < 0).all(), "not yet: descent subtracts; so that s+ rises, its gradient must be below zero"
        assert (got_minus > 0).all(), "not yet: a higher negative must raise the loss"
        near = (got_plus - by_plus).abs().max() < 1e-9 and (got_minus - by_minus).abs().max() < 1e-9
        assert near, f"not yet: at γ = {gamma:g}, k = {k:g} it differs; T looks at both scores, P at one"
    return "right"


check_cir_lin(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-grid-cir
# :class: dropdown
# ````
#
# $-T\,(1 - s_+)$ and $T\, s_-$. This is one of the three that have a loss, so the check can take its derivative.

# %%
def cir_lin(p, n, gamma, k):
    T = torch.sigmoid(gamma * ((1 - p) ** 2 + n**2 - k))
    return -T * (1 - p), T * n


check_cir_lin(cir_lin)

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} An open one
# :label: ex-grid-open
# ````
#
# The grid compares fifteen objectives on five draws, each at its own rate. Choose the two rows that you find most
# surprising, and write down which third explanation, beside "T matters" and "P matters", would produce them. Which run
# would tell it from the other two, and what would it cost?
#
# ````{exercise-end}
# ````
#
# Next: {doc}`../shortcuts/contrastive` asks what a contrastive loss does *not* make a model learn.
