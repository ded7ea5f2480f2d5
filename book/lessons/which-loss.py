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
# # Which loss, which model, for my data?
#
# **What you will be able to do:** pick a model and a loss for your own pictures and captions, with a reason; say what
# it costs, how sure it is and on which data it was seen; and notice where nobody knows. **Time:** half an hour of
# reading, about a minute on one core. **You need:** {doc}`training` for how a claim is judged; {doc}`beyond` for DCL.
#
# The paper that this book began with gives one piece of advice: take Triplet-SH. After {doc}`table1`, {doc}`cocos` and
# {doc}`beyond` you will want to ask back: on which data, with which model, after how many updates? Here is the
# question as a picture. A point is a model trained with a loss; on the horizontal axis stands what it costs, on the
# vertical one the **rsum**, R@1, R@5 and R@10 of both directions added up. On the left the pictures were drawn
# (*scenes*), on the right they are photos (Flickr8k). If one piece of advice were right for everybody, the same colour
# and the same sign would be on top in both.

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
import math
from collections import namedtuple
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Code, Markdown
from scipy import stats

import icrlib
from icrlib import chapter, paper, plots, records
from icrlib.paper import span
from icrlib.sampling import Sampler

smoke = chapter.start(smoke)
NAMES = ["triplet", "triplet_sh", "ntxent", "smoothap", "dcl"]
FOUR, BOTH = NAMES[:4], ("triplet_sh", "ntxent")
LABELS = {name: plots.label(name) for name in NAMES}
MODELS = {"bow": "bag of words", "vse++": "VSE++", "vsrn": "VSRN"}
SIGNS = {"bow": "o", "vse++": "s", "vsrn": "^"}
CONSTANTS = ("tau", "margin")
SHORT, NEAR = 90, 1.25  # seconds; and what counts as the same cost

# %% tags=["remove-cell"]
# Where the runs of a situation are: models, losses, study, the search that chose their settings, runs that are wanted.
Row = namedtuple("Row", "situation models losses study search wanted only", defaults=({},))
PLAN = [Row(f"scenes {size}", tuple(MODELS), NAMES, "sizes", "size_tuning", 3, {"train": size}) for size in (400, 6000)]
PLAN += [Row("scenes 1500", ("bow", "vse++"), FOUR, "ecir", "tuning", 10),
         Row("scenes 1500", ("bow", "vse++"), ["dcl"], "misprint", "tuning", 10),
         Row("scenes 1500", ("vsrn",), FOUR, "vsrn", "vsrn_tuning", 10),
         Row("scenes 1500", ("vsrn",), ["dcl"], "vsrn_dcl", "vsrn_tuning", 3),
         Row("half", ("bow", "vse++"), FOUR, "half", "half_tuning", 5),
         Row("twice", ("vse++",), FOUR, "twice", "tuning", 5),
         *(Row(f"batch {size}", ("vse++",), BOTH, "batches", "batch_tuning", 3, {"batch_size": size})
           for size in (32, 512)),
         Row("photos 400", ("bow", "vse++"), FOUR[1:], "photo_small", "photo_small_tuning", 3),
         Row("photos 6000", ("bow", "vse++"), FOUR, "photo_runs", "photo_tuning", 3),
         Row("photos 6000", ("bow", "vse++"), ["dcl"], "photo_misprint", "photo_tuning", 3),
         Row("regions 6000", ("vsrn",), FOUR, "photo_vsrn", "photo_vsrn_tuning", 3)]
AS_NTXENT = ("misprint", "vsrn_dcl", "photo_misprint")  # DCL with the settings that were searched for NT-Xent
OWN_LISTS = {("photo_runs", "vse++", "smoothap"): ("photo_smoothap_tuning", "photo_smoothap")}
PLACE = {(row.situation, model, loss): row for row in PLAN for model in row.models for loss in row.losses}


@cache
def study(name):
    return records.find(study=name)


# %% tags=["remove-cell"]
def tried(name, model, loss, only):
    """The runs of a study with this model, loss and settings; "train" is a size of the data."""
    return [r for r in study(name) if (r["config"]["method"], r["config"]["loss"]) == (model, loss) and all(
        (r["config"]["data_options"] | r["config"])[key] == value for key, value in only.items())]


def runs_of(situation):
    """{(model, loss): runs} of a situation, no more of them than the study was planned with."""
    found = {}
    for (where, *system), row in PLACE.items():
        if where == situation:
            runs = [r for r in tried(row.study, *system, row.only) if r["config"]["seed"] < row.wanted]
            found |= {tuple(system): sorted(runs, key=lambda r: r["config"]["seed"])} if runs else {}
    return found


RUNS = {situation: runs_of(situation) for situation in dict.fromkeys(row.situation for row in PLAN)}


def ready(situation):
    """The models with losses that have all runs that were planned: only these are judged."""
    return [s for s, runs in RUNS[situation].items() if len(runs) == PLACE[situation, *s].wanted]


# %% tags=["remove-cell"]
@cache
def chosen(situation, model, loss):
    """What the search chose for runs, among candidates with their margin or temperature."""
    row, options = PLACE[situation, model, loss], RUNS[situation][model, loss][0]["config"]["loss_options"]
    searched = "ntxent" if row.study in AS_NTXENT else loss
    found = [r for r in tried(row.search, model, searched, row.only)
             if all(r["config"]["loss_options"].get(name) == options.get(name) for name in CONSTANTS)]
    return paper.choices(found)[model, searched]


def mean(situation, system, measure=lambda r: r["test"]["rsum"]):
    return float(np.mean([measure(r) for r in RUNS[situation][system]]))


SPEED = {}
for row in PLAN:
    for r in study(row.study) + study(row.search):
        c, each = r["config"], r["wall_seconds"] / r["config"]["updates"]
        like = c["dataset"], c["method"], c["loss"], c["batch_size"], c["model_options"]["embed_dim"]
        SPEED[like] = min(each, SPEED.get(like, math.inf))


def seconds(situation, system):
    """What a run costs, by the quickest run of its kind: others shared their core, or had slower minutes."""
    c = RUNS[situation][system][0]["config"]
    return c["updates"] * SPEED[c["dataset"], *system, c["batch_size"], c["model_options"]["embed_dim"]]


# %% tags=["remove-cell"]
OF_LOSS = ("loss_options", "learn_tau", "learn_bias", "batches")


def whole(record):
    """A record in which a model with its loss is one thing, so that two of them can be compared; all else must agree."""
    config = record["config"]
    options = config["model_options"] | {"of the loss": {name: config.get(name) for name in OF_LOSS}}
    rest = {name: value for name, value in config.items() if name not in OF_LOSS}
    return record | {"config": rest | {"method": f"{config['method']}, {config['loss']}", "loss": "",
                                       "model_options": options}}


def called(system):
    return f"{MODELS[system[0]]} with {LABELS[system[1]]}"


def versus(situation, ours, other):
    """Is one model with its loss ahead of another, on the draws that both have?"""
    sides = paper.common_draws({s: map(whole, RUNS[situation][s]) for s in (ours, other)})
    tuning = {", ".join(s): chosen(situation, *s) for s in (ours, other)}
    return paper.verdict(f"{called(ours)} beats {called(other)}", "greater", sides[ours], sides[other], factor="method",
                         tuning=tuning, own=True)


# %% tags=["remove-cell"]
def first(situation, systems):
    """The cheapest; of those that cost about the same the one with the highest rsum on validation data."""
    cost = {s: seconds(situation, s) for s in systems}
    near = [s for s in systems if cost[s] <= NEAR * min(cost.values())]
    return max(near, key=lambda s: mean(situation, s, lambda r: r["chosen"]["val_rsum"]))


def climb(situation, systems):
    """From the cheapest to what is decidedly ahead of it, and so on: [(system, {other: verdict on other less it})]."""
    here, rungs, left = first(situation, systems), [], list(systems)
    while True:
        left = [s for s in left if s != here]
        rungs.append((here, paper.family({s: versus(situation, s, here) for s in left})))
        ahead = [s for s, v in rungs[-1][1].items() if v.word == "holds"]
        if not ahead:
            return rungs
        here = first(situation, ahead)


# %% tags=["remove-cell"]
Answer = namedtuple("Answer", "situation system losses models")  # losses: {model: rungs}; models: rungs


@cache
def answer(situation, limit=math.inf):
    """First a loss for each model, then a model, each with the loss that it got; None without runs within the limit."""
    systems = [s for s in ready(situation) if seconds(situation, s) <= limit]
    losses = {m: climb(situation, of) for m in MODELS if (of := [s for s in systems if s[0] == m])}
    if not losses:
        return None
    models = climb(situation, [rungs[-1][0] for rungs in losses.values()])
    return Answer(situation, models[-1][0], losses, models)


def told(situation, rungs, name=called):
    """Why the last rung: whom it passed, whom it left behind, and from whom it could not be told apart."""
    here, last = rungs[-1]
    steps = zip(rungs, rungs[1:], strict=False)
    said = [f"ahead of {name(below)} by {tests[there].difference}" for (below, tests), (there, _) in steps]
    behind = [f"{name(s)} {v.difference}" for s, v in last.items() if v.word == "fails"]
    said += ["behind it: " + ", ".join(behind)] if behind else []
    cost = {s: seconds(situation, s) for s, v in last.items() if v.word != "fails"}
    if cost:
        each = (f"{name(s)} ({last[s].difference}, {'too small to matter, ' if last[s].word == 'equivalent' else ''}"
                f"{value:.0f} s)" for s, value in cost.items())
        mine = seconds(situation, here)
        why = (f"take the cheaper, {name(here)} ({mine:.0f} s)" if min(cost.values()) > NEAR * mine else
               f"none is cheaper by a quarter than {name(here)} ({mine:.0f} s), which is kept")
        said.append(f"no measured difference to {', '.join(each)}: {why}")
    return "; ".join(said) or "nothing else to compare it with has been run"


# %% tags=["remove-cell"]
def interval(values):
    """Half of the 95 % t-interval of a mean."""
    return float(stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5)


def spot(ax, situation, system, **more):
    """One model with one loss: what it costs, and its mean test rsum with an interval."""
    values = [r["test"]["rsum"] for r in RUNS[situation][system]]
    ax.errorbar(seconds(situation, system), np.mean(values), interval(values), color=plots.colour(system[1]),
                marker=SIGNS[system[0]], ls="", capsize=3, ms=7, **more)


def key(ax, **more):
    """Colours are losses, signs are models."""
    lines = [plt.Line2D([], [], color=plots.colour(n), marker="o", ls="", label=LABELS[n]) for n in NAMES]
    lines += [plt.Line2D([], [], color="black", mfc="white", marker=SIGNS[m], ls="", label=MODELS[m]) for m in MODELS]
    ax.legend(handles=lines, fontsize="small", **more)


# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels, drawn scenes on the left and photos on the right. A point for each model with each loss: seconds of training on a logarithmic axis, test rsum upwards. Squares are VSE++, circles the bag of words, triangles VSRN; the colour is the loss."}, "figure": {"name": "fig-two-places", "caption": "What a training costs and what comes out, for every model with every loss that has all its runs: on 1,500 drawn scenes (left) and 6,000 photos (right). Bars: 95 % intervals of the mean over draws of the data (left) or seeds (right)."}}
fig, axes = plt.subplots(1, 2, figsize=(8.6, 4))
for ax, (situation, title) in zip(axes, {"scenes 1500": "1,500 drawn scenes", "photos 6000": "6,000 photos"}.items(),
                                  strict=True):
    for system in ready(situation):
        spot(ax, situation, system)
    ax.set(xscale="log", xlabel="seconds of one core", title=title)
    ax.xaxis.set_major_formatter("{x:g}")
axes[0].set_ylabel("test rsum")
key(fig, ncols=4, loc="outside lower center")

# %% tags=["hide-input"]
def top(situation):
    """The systems by falling mean."""
    return sorted(ready(situation), key=lambda s: -mean(situation, s))


tops = {title: top(situation) for title, situation in {"drawn scenes": "scenes 1500", "photos": "photos 6000"}.items()}
first_of = "; ".join(f"on {title} {called(found[0])}" for title, found in tops.items() if found)
same_top = len({found[0] for found in tops.values() if found}) == 1
Markdown(f"The highest mean has {first_of}. " + ("It is the same in both places, so far. " if same_top else
         "They are not the same. ") + "But a mean is no decision, and the dearest point is no recommendation. "
         "**What would have to be true of your data for you to pay for the dearer one, and how would you know?**")

# %% [markdown]
# ## How a recommendation is made here
#
# A table of recommendations is worth as much as the rule that filled it. Ours is written down before any run is looked
# at, and the page applies it; nobody picks a row by eye. It says: **start cheap, and pay more only for a verdict.**
#
# 1. Take the cheapest candidate. What a training costs is measured in seconds of one core, by the quickest run of its
#    kind, because runs that share a machine disturb each other's clocks. Candidates within a quarter of the cheapest
#    cost the same; of these take the one with the highest rsum on *validation* data.
# 2. Compare every other candidate with it, on the test sets of the same draws of data. A comparison is decided as
#    everywhere in this book: a 95 % interval on one side of zero, after Holm's correction for all comparisons of this
#    step; "equivalent" if the difference is surely below 3 rsum.
# 3. If nothing is decidedly ahead, stop: **no measured difference, take the cheaper.** Otherwise move to the cheapest
#    of those that are ahead, and go back to step 2.
#
# This is done twice: first for the losses of each model, then for the models, each with the loss that it got. Nobody
# has a say before all its runs are there. The rule leans to the cheap side on purpose. With three draws a difference
# must be large to be decided (an exercise below computes how large), so "no measured difference" often means that we
# have not looked often enough; and then paying more would be a bet.
#
# Here is the rule at work, for the losses of the two or three models on 1,500 scenes. Each line is one step.

# %% tags=["hide-input"]
def steps(situation, found):
    """The steps of the losses of each model, and of the models, as rows of a table."""
    questions = {f"loss for {MODELS[m]}": rungs for m, rungs in found.losses.items()} | {"model": found.models}
    for question, rungs in questions.items():
        for here, tests in rungs:
            ahead = [called(s) for s, v in tests.items() if v.word == "holds"]
            unclear = sum(v.word in ("undecided", "equivalent") for v in tests.values())
            yield {"question": question, "stand at": f"{called(here)}, {seconds(situation, here):.0f} s",
                   "compared": f"{len(tests)}", "decidedly ahead": ", ".join(ahead) or "none",
                   "not told apart": f"{unclear}"}


paper.styled(pd.DataFrame(steps("scenes 1500", answer("scenes 1500"))), "The rule, step by step, on 1,500 scenes, with "
             "no limit on the time. A question ends at the line where none is ahead.", name="steps")

# %% tags=["hide-input"]
def sentence(situation, limit=math.inf):
    """The answer of a situation in one sentence."""
    found = answer(situation, limit)
    if found is None:
        return "not run yet"
    loss = told(situation, found.losses[found.system[0]], lambda s: LABELS[s[1]])
    return f"**{called(found.system)}**. Its loss: {loss}. The model: {told(situation, found.models)}."


Markdown(f"So on 1,500 scenes the rule ends at {sentence('scenes 1500')}")

# %% [markdown]
# ## How many pictures do you have?
#
# We train on 400, 1,500 and 6,000 scenes and on 400 and 6,000 photos, always with a rate (and on photos with word
# dropout and a start) that was searched for this model, this loss and this amount on data of its own. The number of
# updates is the same for all sizes of scenes, 3,000, and the test set is the same, so that the numbers of one panel may
# be compared. What should one expect? More pictures should help everybody. They should help most the model that has
# most to learn from them: a bag of words has one vector a word and little else, and a word is soon known. A recurrent
# encoder has to learn what order means, and {doc}`reading` showed that with few pictures it takes longer before it does.
# About the losses: with few pictures many captions of a batch belong to the same picture, or are true of it, and a loss
# with one hard negative is the one most likely to pick such a caption.

# %% tags=["hide-input"] mystnb={"image": {"alt": "A panel for each model, with test rsum over the number of training pictures on a logarithmic axis, one line a loss, with intervals. Where a size has not been run there is no point."}, "figure": {"name": "fig-amount", "caption": "Test rsum on scenes by the number of training pictures, one line a loss, with 95 % intervals over draws. A point is drawn for whatever has at least two runs; only complete groups are judged."}}
SIZES = {kind: [int(name.split()[1]) for name in RUNS if name.split()[0] == kind] for kind in ("scenes", "photos")}


def lines(ax, kind, model, loss):
    points = []
    for size in sorted(SIZES[kind]):
        values = [r["test"]["rsum"] for r in RUNS[f"{kind} {size}"].get((model, loss), [])]
        points += [(size, np.mean(values), interval(values))] if len(values) > 1 else []
    if points:
        ax.errorbar(*zip(*points, strict=True), color=plots.colour(loss), marker=plots.marker(loss), capsize=3)


fig, axes = plt.subplots(1, 3, figsize=(8.6, 3.8), sharey=True)
for ax, model in zip(axes, MODELS, strict=True):
    for loss in NAMES:
        lines(ax, "scenes", model, loss)
    ax.set(xscale="log", title=MODELS[model], xlabel="training scenes", xlim=(300, 8000))
    ax.set_xticks(sorted(SIZES["scenes"]), [f"{size:,}" for size in sorted(SIZES["scenes"])])
    ax.xaxis.minorticks_off()
axes[0].set_ylabel("test rsum")
fig.legend(handles=[plt.Line2D([], [], color=plots.colour(n), marker=plots.marker(n), label=LABELS[n]) for n in NAMES],
           fontsize="small", ncols=5, loc="outside lower center");

# %% tags=["hide-input"]
def gains(kind):
    """What the largest amount has more than the smallest, for each model: the losses that have both."""
    few, many = (f"{kind} {size}" for size in (min(SIZES[kind]), max(SIZES[kind])))
    found = {m: [mean(many, s) - mean(few, s) for s in ready(few) if s[0] == m and s in ready(many)] for m in MODELS}
    return {m: values for m, values in found.items() if values}


def amount_told(kind, what):
    found, (few, many) = gains(kind), (min(SIZES[kind]), max(SIZES[kind]))
    if not found:
        return f"For {what} the two ends, {few:,} and {many:,}, have not both been run yet, so that nothing is said of them."
    order = sorted(found, key=lambda m: -np.mean(found[m]))
    return (f"From {few:,} to {many:,} {what} the mean rsum changes by "
            + "; ".join(f"{span(found[m])} with {MODELS[m]}" for m in order) + ", depending on the loss"
            + (f". {MODELS[order[0]]} gains most." if len(order) > 1 else "."))


Markdown(amount_told("scenes", "scenes") + " " + amount_told("photos", "photos"))

# %% [markdown]
# And what does the rule make of it? One line for each amount. Remember that scenes and photos are not two sizes of one
# thing: **for photos, photos decide.** The scenes can be turned where photos cannot, and they tell whether a model
# reads; but whoever has photos should read the lines of the photos.

# %% tags=["remove-cell"]
TITLES = {"photos 400": "400 photos", "photos 6000": "6,000 photos", "scenes 400": "400 scenes",
          "scenes 1500": "1,500 scenes", "scenes 6000": "6,000 scenes", "regions 6000": "6,000 photos as regions",
          "half": "1,500 scenes, half the updates", "twice": "1,500 scenes, twice the updates",
          "batch 32": "scenes, batches of 32", "batch 512": "scenes, batches of 512"}


def commands(row, model, loss):
    """What to type for runs that are missing: the search first, if nothing of it has been run."""
    search, runs = OWN_LISTS.get((row.study, model, loss), (row.search, row.study))
    searched = tried(row.search, model, "ntxent" if row.study in AS_NTXENT else loss, row.only)
    names = [runs] if searched else [search, runs]
    return tuple(f"make records STUDY={name}" + (" FEATURES=folder" if name.startswith("photo") else "") for name in names)


def missing(*situations):
    """{commands: what they make} for all systems of some situations that lack runs."""
    found = {}
    for (situation, *system), row in PLACE.items():
        have = len(RUNS[situation].get(tuple(system), ()))
        if situation in situations and have < row.wanted:
            found.setdefault(commands(row, *system), []).append((situation, *system, have, row.wanted))
    return found


# %% tags=["remove-cell"]
def lacks(*situations):
    """What is missing, as a list in Markdown; empty if nothing is."""
    found = []
    for typed, systems in missing(*situations).items():
        by_place = {}
        for situation, model, loss, have, wanted in systems:
            by_place.setdefault((situation, model), []).append(f"{LABELS[loss]} {have} of {wanted}")
        what = "; ".join(f"{TITLES[situation]}, {MODELS[model]}: {', '.join(each)}"
                         for (situation, model), each in by_place.items())
        found.append(f"- {what}. " + ", then ".join(f"`{command}`" for command in typed))
    return "\n".join(found)


def to_be_run(*situations):
    found = lacks(*situations)
    return Markdown("Runs that are missing, and the commands that make them (`PLAN=1` behind one says what it would "
                    f"take):\n\n{found}" if found else "No run is missing here.")


def by_model(situation):
    """A row of the table of amounts: the loss of each model, and the model."""
    found = answer(situation)
    return {"trained on": TITLES[situation]} | {
        MODELS[m]: LABELS[found.losses[m][-1][0][1]] if found and m in found.losses else "–" for m in MODELS} | {
        "the rule ends at": called(found.system) if found else "not run yet"}


# %% tags=["hide-input"]
amounts = [name for name in TITLES if name.split()[0] in SIZES]
paper.styled(pd.DataFrame(map(by_model, amounts)), "The loss that the rule ends at for each model, and the model that it "
             "ends at. A dash: the runs are not complete.", name="amounts")

# %% tags=["hide-input"]
to_be_run(*amounts)

# %% [markdown]
# One column needs a word. VSRN sees a picture as regions. On scenes these are boxes of the same pictures that the other
# models see. On Flickr8k they are other features than the pooled ones of VSE++ and the bag of words, sixteen cells of a
# grid, in another folder; there a difference to VSE++ would be one of features as much as of models. So the rule
# compares VSRN's losses on photos with each other, and VSRN with nobody:

# %% tags=["hide-input"]
regions = answer("regions 6000")
Markdown(f"On photos as regions: {told('regions 6000', regions.losses['vsrn'])}.") if regions else to_be_run("regions 6000")
