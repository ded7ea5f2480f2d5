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
# (ch-errors)=
# # What do the errors look like, and what does a ± contain?
#
# A model is asked with a caption and answers with a wrong picture. Is it wrong? Of our drawn pictures everything is known, so we
# can say which pictures a caption is true of. "A green triangle above a cyan star":

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
import torch

import icrlib
from icrlib import chapter, paper, plots
from icrlib.data.text import tokenize
from icrlib.experiments import check, compare, family, live, runs, search

smoke = chapter.start(smoke)

# %% tags=["remove-input"] mystnb={"image": {"alt": "Four drawn pictures in a row. The caption is true of the first two, which have a green tick, and false of the others, which have a red cross: in the third one triangle and star have changed places, the fourth shows other things."}, "figure": {"name": "fig-four-answers", "caption": "Four pictures that could come first. Recall counts the first as right and the other three as errors."}}
data = icrlib.load_dataset("scenes", seed=0, smoke=smoke)
FOUR = {"own": 78, "true as well": 545, "its twin": 79, "another": 300}
pictures = range(4) if smoke else list(FOUR.values())
plots.gallery(data.test.images[pictures], list(FOUR), frames=[True, True, False, False], columns=4, size=1.7);

# %% [markdown]
# **23 % of the errors that R@1 counts against a VSE++, trained for a short while, are right answers, pictures of which the caption is just
# as true.** (R@1 is the share of captions whose own picture comes first.) Of the rest, what a model gets wrong tells what it has learnt:
# this one binds colours to shapes and does not know where things stand. And the ± that a paper prints holds the luck of its seeds. Other
# test photos and other settings move a result further, and stand in no printed ±.
#
# *You will be able to* sort errors by what is true, tell a limit of the benchmark from one of the model, and say what a printed
# deviation leaves out · eight minutes to read · a minute to run.
#
# ## What comes first
#
# Three short trainings on one draw, here, as you run the page. They cannot say which loss is better; they say *on which queries*
# models of about this quality differ.

# %%
short = {"seed": 0, "lr": 0.01, "evaluate_every": 600, "smoke": smoke, "progress": False}
trained = {
    "VSE++, NT-Xent": icrlib.train(data, "vse++", "ntxent", updates=600, **short),
    "VSE++, Triplet-SH": icrlib.train(
        data, "vse++", "triplet_sh", updates=600, warmup=200, **short),
    "bag of words, NT-Xent": icrlib.train(data, "bow", "ntxent", updates=350, **short)}
split, scores = data.test, {}
for name, run in trained.items():
    images, captions = icrlib.evaluation.embed(run.model, split)
    scores[name] = captions @ images.T  # a caption a row

# %% [markdown]
# A caption's first picture can be its **own**; another of which it is **true as well**, a *false negative* of the benchmark; the
# own picture's **twin**, of which the caption is false by one exchange or one word; or some **other**.

# %%
own, true = split.positives.T, split.relevance  # bool, captions x pictures
# captions that are false of the own picture's twin
asked, first, other, swap = split.twin_questions
twin = torch.zeros_like(own)
twin[asked, other] = True


def what_is_first(s):
    """% of the captions whose first picture is own, true as well, the twin, another."""
    top = s.argmax(1, keepdim=True)
    at = [mask.gather(1, top)[:, 0] for mask in (own, true & ~own, twin)]
    at.append(~(at[0] | at[1] | at[2]))
    return [100 * float(hits.double().mean()) for hits in at]


share = pd.DataFrame({name: what_is_first(s) for name, s in scores.items()}, index=FOUR).T
excused = 100 * share["true as well"] / (100 - share["own"])  # of what R@1 counts as errors

# %% tags=["remove-input"] mystnb={"image": {"alt": "Stacked bars, one a model: the share of captions whose first picture is their own, another that the caption is true of, the twin, or another false one. The bag of words has the largest share of twins."}, "figure": {"name": "fig-first-places", "caption": "What each model puts first. Blue is a right answer; light blue is right, too, but R@1 counts it as an error."}}
fig, ax = plt.subplots(figsize=(6.8, 2.4))
left = np.zeros(3)
for (what, wide), paint in zip(share.items(), ["#08519c", "#9ecae1", "#cb181d", "#d9d9d9"], strict=True):
    ax.barh(share.index, wide, left=left, color=paint, label=what)
    left += wide
ax.set(xlabel="% of the captions: first comes …")
ax.invert_yaxis()
ax.legend(fontsize="small", ncols=4, loc="lower center", bbox_to_anchor=(0.4, 1));

# %% [markdown]
# The two losses differ little. The bag of words puts a twin first about twice as often.
#
# ## Are long captions easier?
#
# A long caption says more. But it is also true of fewer pictures, and a benchmark that accepts one picture punishes a short
# caption for being true of many. If length helped by itself, R@1 should rise whichever pictures are accepted.

# %%
length = np.array([len(tokenize(text)) for text in split.captions])
LENGTHS = {"5-7": (5, 7), "8": (8, 8), "9": (9, 9), "10-12": (10, 12), "13+": (13, 99)}


def r1_by_length(s, accepted):
    hits = accepted.gather(1, s.argmax(1, keepdim=True))[:, 0].numpy()
    return [100 * hits[(length >= a) & (length <= b)].mean() for a, b in LENGTHS.values()]


curves = {title: {name: r1_by_length(s, mask) for name, s in scores.items()}
          for title, mask in (("own picture", own), ("any true picture", true))}

# %% tags=["remove-input"] mystnb={"image": {"alt": "Two panels over the number of words of a caption, one line a model. Above, R@1 as counted rises steeply. Below, with every true picture accepted, it is at first higher, falls a little and rises again only for the longest captions."}, "figure": {"name": "fig-length", "caption": "R@1 of captions by their number of words: as the benchmark counts it (above), and with every picture accepted that the caption is true of (below)."}}
LOOKS = dict(zip(scores, map(plots.colour, ("ntxent", "triplet_sh", "bow")), strict=True))
fig, axes = plt.subplots(2, 1, figsize=(6, 4.8), sharex=True, sharey=True)
for ax, (title, lines) in zip(axes, curves.items(), strict=True):
    for name, line in lines.items():
        ax.plot(list(LENGTHS), line, "o-", color=LOOKS[name], label=name)
    ax.set(title=title, ylabel="R@1, %")
axes[1].set(xlabel="words", ylim=(0, None))
fig.legend(*axes[0].get_legend_handles_labels(), fontsize="small", ncols=3, loc="outside lower center");

# %% [markdown]
# As counted, R@1 of VSE++ with NT-Xent rises by 35 points from the shortest captions to the longest; with every true picture
# accepted, by 6.5. Most of what looks like the ease of long captions is the benchmark's idea of a right answer.

# %% tags=["hide-input"]
# checked by machine
READER = "VSE++, NT-Xent"
rise = [curve[READER][-1] - curve[READER][0] for curve in curves.values()]
check("23 % of the errors that R@1 counts against a VSE++, trained for a short while, are right answers",
      live("23 % of", excused[READER]), also="1")
*pair, of_bag = share["its twin"]
check("The bag of words puts a twin first about twice as often.", smoke or of_bag > 1.5 * max(pair))
check("As counted, R@1 of VSE++ with NT-Xent rises by 35 points from the shortest captions to the longest; with every "
      "true picture accepted, by 6.5.", live("by 35 points", rise[0]), live("by 6.5.", rise[1]), also="1")
assert smoke or all(abs(run.record["test"]["t2i"]["r1"] - share["own"][name]) < 1e-6 for name, run in trained.items())

# %% [markdown]
# ## It binds, and does not place
#
# A **twin question** asks directly: does a caption score higher with its own picture than with the twin, of which it is false?
# Which answers are right depends on what differs: two things have exchanged their colours, their shapes or their places, or one
# thing stands elsewhere, or has another attribute.

# %%
def difference(a, b):
    """What differs between two scenes, whose things are in the same order."""
    return {name for x, y in zip(a.things, b.things, strict=True)
            for name in ("shape", "colour", "size", "fill", "cell")
            if getattr(x, name) != getattr(y, name)}


kind = []
for a, b, swapped in zip(first.tolist(), other.tolist(), swap.tolist(), strict=True):
    differs = "+".join(sorted(difference(split.graphs[a], split.graphs[b])))
    place = "a thing elsewhere" if differs == "cell" else "another attribute"
    kind.append(f"{differs.replace('cell', 'place')}s exchanged" if swapped else place)
right = pd.DataFrame({
    name: 100.0 * (s[asked, first] > s[asked, other]) for name, s in scores.items()})
answered = right.groupby(kind).mean()
shown = answered.set_axis(["NT-Xent", "Triplet-SH", "bag of words"], axis=1)
shown.assign(questions=pd.Series(kind).value_counts()).round().astype(int)

# %% [markdown]
# (Percent right; the first two are VSE++; guessing gives 50.) Which colour belongs to which shape this VSE++ tells in 68 to 76 % of the
# questions, from one pooled vector. Of "left of" and "above" it has learnt nothing that helps: where places are exchanged it guesses, as
# the bag of words does. Whether that is *reading* is another question: a bag of *pairs* of words tells colours and shapes, too
# ({numref}`Chapter {number} <ch-reading>`).
#
# Is the answer missing from what the model is given, the picture's frozen features, a mean over a map that forgets where things were? Take
# the pictures with exactly one thing of a colour, at a side, and let a **linear probe**, a ridge regression on training pictures, read from
# the *features* at which side it is. VSE++ has one linear layer behind them: what the probe can read, it could pass on.

# %%
def the_only(part, colour, rule):
    """Features of the pictures with one thing of this colour, and the rule's answers."""
    answers = {}
    for k, graph in enumerate(part.graphs):
        things = [thing for thing in graph.things if thing.colour == colour]
        if len(things) == 1 and (answer := rule(things[0])) is not None:
            answers[k] = answer
    features = torch.as_tensor(part.features)[list(answers)].double()
    return features, torch.tensor(list(answers.values()))

# %%
def probed(colour, rule, penalty=1.0):
    """% of the test pictures that a ridge regression on the pooled features gets right."""
    (x, y), (u, z) = (the_only(part, colour, rule) for part in (data.train, data.test))
    mean, scale = x.mean(0), x.std(0) + 1e-6
    x, u = (x - mean) / scale, (u - mean) / scale
    wanted = torch.nn.functional.one_hot(y, 2).double()
    weights = torch.linalg.solve(
        x.T @ x + penalty * len(x) * torch.eye(x.shape[1]), x.T @ (wanted - wanted.mean(0)))
    return 100 * float(((u @ weights + wanted.mean(0)).argmax(1) == z).double().mean())


colours = sorted({thing.colour for graph in data.train.graphs for thing in graph.things})
RULES = {"left or right": lambda thing: {0: 0, 2: 1}.get(thing.column),
         "up or down": lambda thing: {0: 0, 2: 1}.get(thing.row)}
read = {what: np.mean([probed(colour, rule) for colour in colours[:1 if smoke else None]])
        for what, rule in RULES.items()}
print({what: f"{value:.1f} %" for what, value in read.items()})

# %% [markdown]
# The guess was wrong: the features tell where the thing is in 98 % of the cases. So the place was there to be taken. Whether VSE++ passes
# it on to its own vector we have not probed; the twin questions say that its scores do not use it. Perhaps nobody asks: a contrastive loss
# learns what tells a caption's own picture from the *others in its batch*, and few of these may differ in a place alone. That is a guess,
# too. What kind of similarity learns places is the question of {numref}`Chapter {number} <ch-modular>`.

# %% tags=["hide-input"]
# checked by machine
bound = [answered.get(READER, {}).get(f"{what}s exchanged", np.nan) for what in ("colour", "shape")]
placed = answered.get(READER, {}).get("places exchanged", np.nan)
check("tells in 68 to 76 % of the questions", live("68 to 76 % of", *bound), smoke or abs(placed - 50) < 8)
check("the features tell where the thing is in 98 % of the cases.", live("98 % of", np.mean(list(read.values()))))

# %% [markdown]
# ## What a ± contains
#
# ECIR {cite:p}`bleeker2022lessons` ran each row of its Table 1 five times and prints mean and standard deviation. Five runs on one
# training set, judged on one test set, vary in their seeds only. Somebody who asked with 1,000 other photos, or trained on 29,000
# others, would see another spread. We can measure each part on our own runs. (`runs` reads our records of the runs that it
# describes; `missing="train"` would train them here.)

# %%
LOSSES = ["triplet", "triplet_sh", "ntxent", "smoothap"]
of_photos = {"seed": range(3), "at": "searched"}
photos = (runs("flickr8k", method="vse++", loss=LOSSES[:3], **of_photos)
          + runs("flickr8k", method="bow", loss=LOSSES, **of_photos))
photos = photos.by("method", "loss").values()
drawn = runs("scenes", method=["vse++", "bow", "vsrn"], loss=LOSSES, seed=range(10),
             updates=3000, at="searched")
printed = paper.table("ecir/1")

seeds = [group.sd() for group in photos]
# what the bootstrap over test photos adds to the seeds' part of the squared error
sampled = [(group.estimate().se ** 2 - sd**2 / len(group)) ** 0.5
           for group, sd in zip(photos, seeds, strict=True)]
spreads = {  # standard deviation of a row's rsum
    "ECIR, 16 rows: five seeds": printed["rsum_std"] * (5 / 4) ** 0.5,
    "Flickr8k, 7 rows: three seeds": seeds,
    "the same: the test photos": sampled,
    "scenes, 12 rows: all is drawn anew":
        [group.sd() for group in drawn.by("method", "loss").values()]}
pd.DataFrame({what: {"smallest": min(sds), "largest": max(sds)}
              for what, sds in spreads.items()}).T.round(1)

# %% [markdown]
# The printed ± is as large as that of seeds on our photos. That of the choice of the test photos, which is in no printed ±, is larger than
# any of them: 5.4 to 5.5. (Two losses that are asked about the same photos share a part of it.) And **settings** are in no ± at all. How
# far does one move a result, and how far apart are two losses of one model and data set in print?

# %%
hard = {"method": "vse++", "loss": "triplet_sh", "margin": 0.2, "updates": 3000,
        "seed": range(100, 103)}
rates = search(runs("scenes", lr=[1e-3, 3e-3, 1e-2], warmup=500, **hard),
               runs("scenes", lr=[1e-3, 3e-3], warmup=0, **hard))
moved = rates.by("lr")["vse++", "triplet_sh"]
apart = [abs(a - b) for _, of in printed.groupby(["dataset", "method"])["rsum"]
         for a, b in itertools.combinations(of, 2)]
lead = family({loss: compare(drawn["vsrn", loss], drawn["vse++", loss], "method")
               for loss in LOSSES})
print("validation rsum by rate:", {lr: round(rsum, 1) for lr, rsum in moved.items()})
print("VSRN less VSE++:", *(f"{loss} {one}" for loss, one in lead.items()))

# %% [markdown]
# From the worst to the best of three learning rates, each with the better of two starts, VSE++ with Triplet-SH moves by 36 rsum on
# validation pictures; 16 of the 24 differences that the paper prints between two losses are smaller. So the one order that stands is that
# of models: VSRN is ahead of VSE++ with every loss, on paper and on ten draws of scenes, here by 35 to 59 rsum (each difference paired by
# draw; words corrected for the four). What happens to the order of the losses is told in {numref}`Chapter {number} <ch-losses>`.
#
# ## What we found
#
# - Of R@1's errors 23 % are right answers, and most of the ease of long captions is the benchmark's.
# - In this run VSE++ binds colours to shapes (68 to 76 %) and guesses about places, though the frozen features that it is given hold them
#   (98 %).
# - The ± of a table holds the seeds. The choice of the test photos has a standard deviation of 5.4 to 5.5 rsum; from the worst to the best
#   of three learning rates it was 36.

# %% tags=["hide-input"]
# checked by machine
mean = printed.groupby(["method", "dataset", "loss"])["rsum"].mean()
on_paper = (mean["VSRN"] > mean["VSE++"]).tolist()
width = max(moved.values()) - min(moved.values())
FROM_TO = f"{min(sampled):.1f} to {max(sampled):.1f}"
check("That of the choice of the test photos, which is in no printed ±, is larger than any of them: 5.4 to 5.5.",
      f"them: {FROM_TO}", min(sampled) > max(spreads["ECIR, 16 rows: five seeds"]))
check("moves by 36 rsum on validation pictures; 16 of the 24 differences that the paper prints between two losses",
      f"by {width:.0f} rsum", f"{sum(d < width for d in apart)} of the {len(apart)} differences")
check("VSRN is ahead of VSE++ with every loss, on paper and on ten draws of scenes, here by 35 to 59 rsum",
      lead.all("ahead"), lead.span("{:.0f} to {:.0f} rsum"), all(one.n == 10 for one in lead.values()), *on_paper)
check("Of R@1's errors 23 % are right answers", live("errors 23 %", excused[READER]), also="1")
check("(68 to 76 %) and guesses about places, though the frozen features that it is given hold them (98 %).",
      live("68 to 76", *bound), live("98", np.mean(list(read.values()))))
check("The choice of the test photos has a standard deviation of 5.4 to 5.5 rsum; from the worst to the best of three "
      "learning rates it was 36.", f"of {FROM_TO}", f"was {width:.0f}")

# %% [markdown]
# ## Exercises
#
# ````{exercise} How many rows?
# :label: ex-how-many-rows
#
# Two unrelated orders of $n$ rows are the same, or one the reverse of the other, in 2 of $n!$ cases. How many rows must a table
# have at least, so that perfect agreement with another table can be decided at 5 %?
# ````
#
# ````{solution} ex-how-many-rows
# :class: dropdown
#
# Four rows have 24 orders, which makes 8.3 %; five have 120, and 2/120 is 1.7 %: five.
# ````
#
# ````{exercise-start} Errors that are none
# :label: ex-excused
# ````
#
# The matrices `scores`, `own` and `true` have a row for each caption and a column for each picture: the scores, the caption's own
# picture (one a row), and all pictures that it is true of, its own included. Of the captions whose own picture is not first, for
# which share, between 0 and 1, is the first picture one that the caption is true of? `mine = lambda scores, own, true: ...`.
# Return 0 if there are no errors.

# %%
mine = ...

# %% tags=["hide-input"]
def check_excused(value):
    """Passes for the share of R@1's errors that are right answers."""
    if value is ...:
        return "your turn"
    rng = torch.Generator().manual_seed(0)
    for rows in (7, 12, 1):
        scores = torch.rand(rows, 5, generator=rng, dtype=torch.float64)
        own = torch.eye(5, dtype=torch.bool)[torch.randint(5, (rows,), generator=rng)]
        true = own | (torch.rand(rows, 5, generator=rng) < 0.4)
        if rows == 1:
            scores[own] = 2.0  # no error at all
        firsts = [max(range(5), key=lambda k: float(row[k])) for row in scores]
        errors = [(q, k) for q, k in enumerate(firsts) if not own[q, k]]
        wanted = sum(bool(true[q, k]) for q, k in errors) / len(errors) if errors else 0.0
        got = float(value(scores.clone(), own.clone(), true.clone()))
        assert abs(got - wanted) < 1e-6, f"not yet: got {got:.3f} where {wanted:.3f} is wanted ({len(errors)} errors)"
    return "right"


check_excused(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-excused
# :class: dropdown
# ````
#
# `gather` looks up, in each mask, the picture that stands first.

# %%
def solution(scores, own, true):
    top = scores.argmax(1, keepdim=True)
    wrong = ~own.gather(1, top)
    right_after_all = wrong & true.gather(1, top)
    return float(right_after_all.sum()) / max(int(wrong.sum()), 1)


check_excused(solution)

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise} An open one
# :label: ex-places
#
# Can a model with regions answer questions about places, if it is asked for them no more often? Train `vsrn` on `scenes` with
# `regions=True`, and ask the twin questions by what was exchanged. Write down first what you expect, and why. Then take away the
# geometry of the boxes, the last five numbers of each region. Which of the numbers, for shape, colour and
# place, should fall?
# ````
#
# Next: {numref}`Chapter {number} <ch-counting>` counts how many samples a gradient hears.
