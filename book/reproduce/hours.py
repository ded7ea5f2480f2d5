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
# (ch-hours)=
# # Data, features, hours
#
# ECIR's Table 1 {cite:p}`bleeker2022lessons` has sixteen rows on Flickr30k and MS-COCO, and each is the mean of five trainings.
# You may have those data, and a GPU or a few. How long would it take, and what do you type?

# %% tags=["parameters", "hide-input"]
smoke: bool = False  # a quick try: small products, no result
gpu: str = "a V100 in single precision"  # whose peak the next line is
peak: float = 15.7  # its peak in 10^12 operations a second, from its data sheet
high: float = 0.5  # share of the peak that training reaches at best: an assumption
low: float = 0.2  # and at worst: an assumption, too
longest: int = 27  # words of a batch's longest caption, both marks included: an assumption

# %% tags=["colab-setup", "remove-cell"]
import importlib.util

if importlib.util.find_spec("icrlib") is None:
    raise ModuleNotFoundError(
        "icrlib is missing. In a clone, `make wheel` writes icrlib-0.1.0-py3-none-any.whl; "
        "upload it here, then run %pip install icrlib-0.1.0-py3-none-any.whl"
    )

# %% tags=["remove-cell"]
import heapq
import subprocess
import sys
import textwrap
from functools import partial
from math import ceil
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown

import icrlib
from icrlib import chapter, models, paper, plots, records
from icrlib.evidence.sentences import check, number
from icrlib.models import counts
from icrlib.names import METHODS
from icrlib.paper.experiments import goal
from icrlib.planning import asked, cost, operations

# %% tags=["remove-cell"]
smoke = chapter.start(smoke)
assert 0 < low <= high <= 1 and peak > 0
as_printed = (peak, high, low, longest) == (15.7, 0.5, 0.2, 27)
every = records.find(study="*")
IMAGES = {"flickr30k": (29_000, 1_014, 1_000), "coco": (113_287, 5_000, 5_000)}
GIB, REGIONS, NUMBERS = 2**30, 36, 2048
rows = {name: paper.experiment(name) for name in paper.experiments() if name.startswith(("ecir/1.", "ecir/2."))}

# %% tags=["remove-cell"]
vse = partial(METHODS["vse++"].operations, words=longest)
vsrn = partial(METHODS["vsrn"].operations, words=longest)
total = counts.total


def crops(images=128, captions=128, **sizes):
    """VSE++ on fresh crops: the photos of a batch first go through a network that does not learn."""
    return {"network for photos": images * operations.NETWORKS["resnet50"], **vse(images, captions, **sizes)}


KINDS = {"VSE++, cached features": vse, "VSE++, fresh crops": crops, "VSRN, regions": vsrn}


def of_kind(kind, row):
    return row["method"] == ("vsrn" if kind.startswith("VSRN") else "vse++")


def updates(row):
    """Updates of a row of ECIR's Table 1."""
    items = IMAGES[row["dataset"]][0] * (5 if row["batches"] == "pairs" else 1)
    return ceil(items / row["batch_size"]) * row["epochs"]


# %% tags=["remove-cell"]
def run_operations(row, kind):
    """Operations of one training of a row, with an evaluation an epoch."""
    captions = 128 if row["batches"] == "pairs" else 640
    images = IMAGES[row["dataset"]][1]
    look = KINDS[kind](images=images, captions=5 * images)
    network = look.pop("network for photos", 0)
    looks = row["epochs"] * (network + total(look) / 3)
    return updates(row) * total(KINDS[kind](captions=captions)) + looks


def hours(work, share):
    """GPU hours at a share of the peak."""
    return work / (share * peak * 1e12) / 3600


def on_gpus(each, gpus):
    """Hours until the last of these trainings ends, where the longest goes to the first free GPU."""
    free = [0.0] * gpus
    for one in sorted(each, reverse=True):
        heapq.heapreplace(free, free[0] + one)
    return max(free)


# %% tags=["remove-cell"]
TABLES = {f"ECIR 1, {kind}": [work for row in rows.values() if of_kind(kind, row)
                              for work in [run_operations(row, kind)] * row["seeds"]] for kind in KINDS}
OBJECTIVES = paper.table("goal/3")["objective"].nunique()
GOAL = {"r152": ("3", "frozen ResNet-152"), "vit": ("4", "frozen ViT"),
        "r152_ft": ("3", "fine-tuned ResNet-152"), "vit_ft": ("4", "fine-tuned ViT")}
for setting, (which, name) in GOAL.items():
    at_peak = goal.gpu_hours(setting) * 3600 * goal.PEAK
    TABLES[f"GOAL {which}, {name}"] = [at_peak] * (OBJECTIVES * paper.goal.RUNS)
regions = TABLES["ECIR 1, VSRN, regions"]
both = TABLES["ECIR 1, VSE++, fresh crops"] + regions

# %% tags=["remove-input"]
def days(work, gpus):
    return " to ".join(f"{on_gpus([hours(one, part) for one in work], gpus) / 24:,.1f}" for part in (high, low))


paper.styled(pd.DataFrame([
    {"table": name, "trainings": len(work),
     "GPU hours": f"{hours(sum(work), high):,.0f} to {hours(sum(work), low):,.0f}"}
    | {f"days on {n}": days(work, n) for n in (1, 4, 16)} for name, work in TABLES.items()]),
             f"Whole tables on {gpu}: operations, counted, at {high:.0%} to {low:.0%} of the peak. No GPU was timed. "
             f"GOAL's rows are lower bounds: only the network for photos is in them, for {goal.EPOCHS} epochs.",
             name="tables")

# %% [markdown]
# **ECIR's Table 1 is 530 to 1,326 hours of one such GPU, 1.4 to 3.5 days on sixteen; VSRN's rows are 73 % of it. One command
# starts each of its four grids, and its `PLAN=1` says first what is missing and how long it takes.** For your GPU change the
# folded parameters above, or give them: `papermill book/reproduce/hours.ipynb mine.ipynb -p gpu "mine" -p peak 60`. The share of the
# peak is an assumption; one short run on your GPU is worth more than this page, and its commands stand below.
#
# *You will be able to* lay out data and features, plan a table of the papers and start it · twelve minutes to read.

# %% tags=["remove-input"]
if as_printed:
    check("ECIR's Table 1 is 530 to 1,326 hours of one such GPU, 1.4 to 3.5 days on sixteen;",
          number("530 1,326", [hours(sum(both), part) for part in (high, low)]),
          number("1.4 3.5", [on_gpus([hours(one, part) for one in both], 16) / 24 for part in (high, low)]), also="1")
    check("VSRN's rows are 73 % of it.", number("73", 100 * sum(regions) / sum(both)))

# %% tags=["remove-cell"]
dice = np.random.default_rng(0)
for gpus in (1, 2, 3):
    for each in dice.integers(1, 20, (20, 5)):
        best = min(max(np.bincount(place, each, gpus)) for place in np.ndindex(*[gpus] * 5))
        assert max(each.max(), each.sum() / gpus) <= best <= on_gpus(each, gpus)
        assert on_gpus(each, gpus) <= (4 / 3 - 1 / (3 * gpus)) * best + 1e-9  # Graham 1969
assert len(both) == 80 and OBJECTIVES == 15 and paper.goal.RUNS == 3
assert total(vse()) * 12 < total(crops()) < total(vse()) * 14 and total(vsrn()) > 10 * total(vse())

# %% [markdown]
# ## The data, and on what terms
#
# Four names work everywhere in this book. Nothing of the photos is in the repository.
#
# | Name | Images: train / val / test | Captions an image | Source | Terms |
# | --- | --- | --- | --- | --- |
# | `scenes` | 1,500 / 500 / 1,000 | 5 | drawn from one seed; `rendered` and `stamps` are variants | MIT, as the code |
# | `flickr8k` | 6,000 / 1,000 / 1,000 | 5 | {cite:t}`hodosh2013flickr8k` | on request, non-commercial research and education |
# | `flickr30k` | 29,000 / 1,014 / 1,000 | 5 | {cite:t}`young2014flickr30k` | the same; University of Illinois |
# | `coco` | 113,287 / 5,000 / 5,000 | 5, a few 6 or 7 | {cite:t}`lin2014coco`, images of 2014 | annotations CC BY 4.0, photos under Flickr's terms |
#
# Beside the photos you need `dataset_*.json` with captions and splits, published with {cite:t}`karpathy2015alignments`, and for
# VSRN pre-computed features, 36 regions of each image, published by the authors of SCAN and used by {cite:t}`li2019vsrn`; the photos' terms reach
# further than the photos. Look for these at the home of the people who made them; copies elsewhere may be cut or split in
# another way. What you find there counts, and these lines are no legal advice.
#
# One folder holds one `dataset*.json` (or `.json.gz`) and the pictures below it, in `images/` or as here:
#
# ```
# flickr8k/   dataset_flickr8k.json    Flicker8k_Dataset/….jpg
# flickr30k/  dataset_flickr30k.json   flickr30k-images/….jpg
# coco/       dataset_coco.json        train2014/….jpg   val2014/….jpg
# ```
#
# Of each image we read `filename`, `filepath` (COCO only), `split`, and of its `sentences` `raw`; `imgid`, else `cocoid`, is its
# id. **COCO's `restval`**, 30,504 images that Karpathy took from the 40,504 of validation, joins the 82,783 of training; papers
# that leave it out train on less. **COCO has two tests**: on all 5,000 images ("5K"), and the mean over five parts of 1,000
# ("1K"), far easier. `icrlib.evaluate` gives both. Of your own photos put near-duplicates, such as those of one series, into *one*
# split; else the test asks for what was learned by heart.
#
# ## Features
#
# ```bash
# icr data check flickr30k --root flickr30k/                      # every problem, and the published counts beside yours
# icr features flickr30k/ features/f30k/ --backbone resnet50      # once; goes on where a killed one was
# ```
#
# `icr features` passes each photo through a frozen network, resized as that network's evaluation does it. ECIR cut VSE++'s
# photos anew each time a caption came up; `images="published"` does that ({doc}`../search/photos`), and costs the 13-fold
# arithmetic of an update. Regions computed anew with another program are other regions: one user who did so on Flickr30k
# [reports lower results](https://github.com/kuanghuei/SCAN/issues/34). SCAN's folders have the layout that `icr features`
# writes, so they are read as they are, but for COCO's `testall_ims.npy` and `testall_caps.txt`: name these `test_…` first.
# A folder has `{train,dev,test}_ims.npy`, (rows, D) or (rows, regions, D), and `…_caps.txt`, one caption a line. Which row
# belongs to a caption? Folders differ, and counting tells them apart:
#
# | Rows and captions | What we take it for |
# | --- | --- |
# | an `…_ids.txt` with one id a caption line | same id, same image |
# | captions = k × rows, k > 1 | k captions an image, in order |
# | as many rows as captions, equal neighbours | one image's row, repeated for each of its captions |
# | as many rows as captions, all different | one caption an image |
# | anything else | an error with both counts |
#
# If rows are repeated, each image still counts once: one that stood five times in the list of candidates would take five
# places. Images with unequally many regions: `…_lens.npy` says how many of each image's regions are true.

# %% tags=["remove-input"]
if as_printed:
    check("and costs the 13-fold arithmetic of an update.", number("13", total(crops()) / total(vse())))

# %% tags=["remove-input"]
sizes = []
for data, images in IMAGES.items():
    for kind, numbers, each in (("regions, as released", REGIONS * NUMBERS, 4),
                                ("regions, float16", REGIONS * NUMBERS, 2), ("one vector, float16", NUMBERS, 2)):
        gib = [n * numbers * each / GIB for n in (images[0], sum(images))]
        sizes.append({"data": data, "features": kind, "training file": f"{gib[0]:.1f} GiB",
                      "all splits": f"{gib[1]:.1f} GiB"})
paper.styled(pd.DataFrame(sizes), "Disk for features: images × regions × numbers × bytes. icr features writes float16.",
             name="disk")

# %% [markdown]
# SCAN's code loads COCO's regions into memory whole, and one user [saw 62 GB
# taken](https://github.com/kuanghuei/SCAN/issues/20); VSRN's does alike, and another's training [ran out of
# memory](https://github.com/KunpengLi1994/VSRN/issues/19). Here the array stays on disk and is memory-mapped; all runs on a
# machine share one copy, and less memory than 32 GiB only costs reading. Before a run starts, the files are read twice, for
# the checksum that enters the run's identity and in search of NaN.
#
# **Words.** Captions are put in lower case and split into words and punctuation. The vocabulary holds four marks and each
# word that occurs four times (`min_count=4`) in the *training* captions. The vocabularies that VSRN's authors ship counted the
# test captions, too, for trainings on photos: 8,590 words on Flickr30k, 11,755 on COCO. `vocabulary="all"` repeats that, for a
# comparison in the published way; it lets a model know which words the test will use.
#
# ## Hours
#
# Multiplying matrices is nearly all of the arithmetic. A product of $n$ rows with $a \times b$ weights takes $2nab$ operations,
# and training needs three such products, one forward and two backward; each model of the library says its own count
# (`operations`), and tests hold it against torch's counter. An update of VSE++ is mostly the recurrence over words, one of
# VSRN mostly its graph. How long one training takes:

# %% tags=["remove-input"]
def span(value):
    """A range of hours, or days where they are many."""
    best, worst = hours(value, high), hours(value, low)
    if best > 72:
        return f"{best / 24:,.1f} to {worst / 24:,.1f} days"
    return f"{best:.1f} to {worst:.1f} h" if best < 10 else f"{best:,.0f} to {worst:,.0f} h"


lines = []
for kind in KINDS:
    for batches, losses in (("pairs", "on pairs"), ("images", "SmoothAP")):
        found = {data: next(r for r in rows.values() if of_kind(kind, r)
                            and (r["dataset"], r["batches"]) == (data, batches)) for data in IMAGES}
        lines.append({"training": kind, "loss": losses}
                     | {data: span(run_operations(row, kind)) for data, row in found.items()}
                     | {f"updates, {data}": f"{updates(row):,}" for data, row in found.items()})
paper.styled(pd.DataFrame(lines), f"One training on {gpu}. “On pairs”: Triplet, Triplet-SH and NT-Xent. SmoothAP has "
             "128 images with all 640 captions in a batch.", name="one-training")

# %% [markdown]
# Take the first line with more doubt than the others: a recurrence has 128 rows at a time, and each of its steps waits for the one
# before. Fresh crops need cores beside the GPU that decode the photos; `icr features` shows how many a second yours do.
# Trainings run side by side, one a GPU, so a table is never done before its longest training is: more GPUs than there are
# trainings are idle.

# %% tags=["remove-input"]
def memory(method):
    """(parameters, GB on the GPU with pairs and with images, GB on disk) of a run at the paper's size."""
    row = next(r for r in rows.values() if r["method"] == method)
    shape = (NUMBERS,) if method == "vse++" else (REGIONS, NUMBERS)
    with torch.device("meta"):
        size = sum(p.numel() for p in models.build(method, NUMBERS, 8_481, embed_dim=row["embed_dim"]).parameters())
    config = {"method": method, "device": "cuda", "batch_size": 128, "model_options": {"embed_dim": row["embed_dim"]}}
    about = {"features": shape, "words": longest, "padded": longest, "each": 5.0, "vocabulary": 8_481}
    kept = [operations.kept_bytes(config | {"batches": kind}, about) for kind in ("pairs", "images")]
    return size, [(16 * size + k) / 1e9 for k in kept], 20 * size / 1e9


needed = {method: memory(method) for method in ("vse++", "vsrn")}
paper.styled(pd.DataFrame([
    {"model": plots.label(method), "parameters": f"{size / 1e6:.0f} million", "GPU, pairs": f"{on[0]:.1f} GB",
     "GPU, SmoothAP": f"{on[1]:.1f} GB", "disk a run": f"{disk:.1f} GB", "disk, 40 runs": f"{40 * disk:,.0f} GB"}
    for method, (size, on, disk) in needed.items()]),
    "Weights, gradients, Adam's two averages and what the forward pass keeps, at the papers' sizes.", name="memory")

# %% [markdown]
# ## The commands
#
# Let the grid say what it would do, before it does it:
#
# ```bash
# make reproduce DATASET=coco FEATURES=path/to/coco_precomp METHODS=vsrn \
#     SEEDS=0,1,2,3,4 PLAN=1
# ```
#
# The same line without `PLAN=1` trains. ECIR's Table 1 is four grids, since a grid has one data set and one kind of
# features:
#
# ```bash
# make reproduce DATASET=flickr30k FEATURES=path/to/f30k_precomp METHODS=vsrn \
#     SEEDS=0,1,2,3,4 PROFILE=slurm PARTITION=gpu
# make reproduce DATASET=coco FEATURES=path/to/coco_precomp METHODS=vsrn \
#     SEEDS=0,1,2,3,4 PROFILE=slurm PARTITION=gpu RUNTIME=60h
# make reproduce DATASET=flickr30k PHOTOS=path/to/flickr30k IMAGES=published \
#     BACKBONE=resnet50 METHODS=vse++ SEEDS=0,1,2,3,4 \
#     PROFILE=slurm PARTITION=gpu
# make reproduce DATASET=coco PHOTOS=path/to/coco IMAGES=published \
#     BACKBONE=resnet50 METHODS=vse++ SEEDS=0,1,2,3,4 \
#     PROFILE=slurm PARTITION=gpu
# ```
#
# Where no record tells the time of a training, a cluster is asked for a day, and what has not ended by then is killed.
# VSRN on MS-COCO may take longer by the count above, hence `RUNTIME=60h`.
# Without `LOSSES=` the four losses of the paper are trained, each with the settings that the paper's job files gave it.
# For VSE++ on features computed once, which is the cheap line of the tables above, make them with
# `icr features path/to/flickr30k features/f30k --backbone resnet50` and give `FEATURES=features/f30k`.
#
# Of GOAL the settings of Tables 3 and 4 can be trained. The objectives have blanks in their names, so mind the quotes.
# This is for the frozen rows of Table 3; those of Table 4 take `BACKBONE=vit_b_16`:
#
# ```bash
# make reproduce DATASET=coco PHOTOS=path/to/coco IMAGES=published \
#     BACKBONE=resnet152 METHODS=vse++ \
#     LOSSES="goal:con x con,goal:cir x sig-ms" SEEDS=0,1,2 \
#     PROFILE=slurm PARTITION=gpu RUNTIME=60h
# ```

# %% tags=["hide-input"]
goals, _ = asked.configuration("coco", "vse++", "goal:cir x sig-ms", given={})
pairs, _ = asked.configuration("coco", "vse++", "ntxent", given={})
assert {goals[name] == pairs[name] for name in ("updates", "drops", "lr", "batch_size", "model_options")} == {True}
taken = goals["loss_options"]
Markdown(f"With which settings? The paper says “as in the original work”. The command takes those of ECIR's VSE++: "
         f"{goals['updates'] // goals['per_epoch']} epochs in batches of {goals['batch_size']} pairs, "
         f"{goals['updates']:,} updates, a rate of {goals['lr']:g} that falls to a tenth halfway. Of the objectives it "
         f"takes the values of the paper's figures, such as m = {taken['margin']:g} and τ = {taken['tau']:g}. For the "
         'fine-tuned rows `SETTINGS="epochs=… finetune_after=…"` says how long a training is and after how '
         "many updates the network for photos begins to learn; the paper says neither.")

# %% tags=["remove-cell"]
assert len(goals["drops"]) == 1 and goals["drops"][0] * 2 == goals["updates"] and goals["batches"] == "pairs"
assert taken.items() >= {name: goal.OPTIONS[name] for name in ("margin", "tau", "alpha", "beta", "lam")}.items()
worst = {(data, kind): max(hours(run_operations(row, kind), low) for row in rows.values()
                           if of_kind(kind, row) and row["dataset"] == data) for data in IMAGES for kind in KINDS}
if as_printed:  # the times that RUNTIME= in the commands was written for
    assert 24 < worst.pop(("coco", "VSRN, regions")) < 60 and max(worst.values()) < 24
    assert all(24 < hours(max(TABLES[name]), low) < 60 for name in TABLES if name.startswith("GOAL"))

# %% [markdown]
# GOAL's Tables 5 and 6 need VSE∞ with BERT and X-VLM. This library has VSE∞ with its recurrent encoder (`vse_infty`), and
# of X-VLM two small towers and a matching head (`matching`).
#
# `PROFILE=gpu` is for one machine with a GPU: one training at a time, or with `JOBS=3` three that share it. With several
# GPUs start one `make reproduce` for each, `CUDA_VISIBLE_DEVICES=0` before it and seeds of its own behind it. `PROFILE=slurm` runs on the login node of a
# cluster and sends each training off as a job with one GPU; `JOBS=16` limits how many are there at a time. What is
# killed goes on from its checkpoint when the same command is given again. `SETTINGS="precision=bfloat16"` lets the
# encoders compute in half of the bits; then put your GPU's peak for bfloat16 into the cell above.
# On a cluster `MEM=16G RUNTIME=36h THREADS=4` say what each training is given; without them the plan decides. When the
# `make reproduce` of a machine is killed, its trainings end with it; on a cluster they are Slurm's and go on.
#
# ### The estimate for your own grid
#
# What does `PLAN=1` say? Here it is, live, for two trainings on scenes that nobody has made yet.

# %%
SCRIPT = Path(icrlib.__file__).parents[1] / "workflow" / "reproduce.py"  # in a clone
GRID = ["--dataset", "scenes", "--methods", "vse++", "--losses", "ntxent,smoothap",
        "--seeds", "0", "--settings", "embed_dim=192", "--plan"]
if SCRIPT.exists():
    plan = subprocess.run([sys.executable, SCRIPT, *GRID, *["--smoke"] * smoke],
                          capture_output=True, text=True, check=True)
    for line in plan.stdout.strip().splitlines():
        print(textwrap.fill(line, 76, subsequent_indent=" " * 12))
else:
    print("make reproduce is part of a clone of the book, not of the wheel")

# %% [markdown]
# Number of runs, core-hours, and for each run the folder, minutes and memory that *past records* suggest. There are
# records of these losses on scenes, but with $d = 128$; so their time is scaled by the operations counted above, and the
# plan says so. What does it say of a training of VSE++ on MS-COCO's cached features? First on a core as those of this
# book, then on a GPU:

# %%
row = rows["ecir/2.3"]
given = {name: row[name] for name in ("epochs", "lr_update", "embed_dim")}
for device in ("cpu", "cuda"):
    wanted, sizes = asked.configuration(
        "coco", "vse++", "ntxent", given=given | {"device": device})
    print(textwrap.fill(cost.sentence(wanted, sizes, every), 76, subsequent_indent=" " * 6))

# %% tags=["hide-input"]
wanted, sizes = asked.configuration("coco", "vse++", "ntxent", given=given | {"device": "cpu"})
guess = cost.estimate(wanted, every, sizes)
assert wanted["updates"] == updates(row) and guess is not None and not guess.exact
assert {operations.machine(record["config"]) for record in every} == {"CPU"}
assert cost.estimate(wanted | {"device": "cuda"}, every, sizes) is None
times = operations.of_update(wanted, sizes) / operations.of_update(guess.like["config"],
                                                                   operations.assumed(guess.like["config"]))
Markdown(f"The first is scaled from another data set and another size, where an update had {times:.0f} times fewer "
         "operations, so take it for an order of magnitude. Of a GPU no record tells anything, and the plan does not "
         f"pretend: it names the operations, and asks a cluster for a day and 8 GB. So before a large grid, **make one "
         "short run and keep its record**:")

# %% [markdown]
# ```bash
# make reproduce DATASET=coco FEATURES=path/to/coco_precomp METHODS=vsrn \
#     LOSSES=ntxent SEEDS=0 SETTINGS="updates=1000" KEEP=timing PROFILE=gpu
# make reproduce DATASET=coco FEATURES=path/to/coco_precomp METHODS=vsrn \
#     LOSSES=ntxent SEEDS=0,1,2,3,4 PROFILE=gpu PLAN=1
# ```
#
# `KEEP=timing` puts the record beside the book's, where the next plan finds it, also of another place (`make reproduce`
# reads what lies in its own `runs/grid`, too). It has the same method on the same kind of machine, so the plan then rests
# on your GPU; the evaluations of the short run, which are more frequent, are counted and taken out. With fresh crops a run
# gets four cores, for as many threads decode its photos.

# %% [markdown]
# ## More right answers for COCO: CxC
#
# COCO's test counts one image as right for a caption, the one that it was written for. **Crisscrossed Captions** (CxC, Google LLC,
# {cite:t}`parekh2021crisscrossed`, `data/` of its repository) asked people about others: it has scores from 0 to 5 for 44,833
# pairs of a test caption and a test image, the 25,000 own ones among them. It names both by COCO's ids, which
# `dataset_coco.json` tells:
#
# ```python
# from icrlib.data import cxc
# split, right = cxc.judgements("cxc/sits_test.csv", "coco/dataset_coco.json", data.test, threshold=3)
# icrlib.judged.evaluate_judged(run.model, split, right)
# ```
#
# The release fixes no threshold. We take 3 and let it hold for own pairs, too, as {cite:t}`chun2022eccv` do: 35,585 pairs are
# right, 29 own pairs are not, and the 28 captions left without a right image are not asked. At 4 it is 30,405 pairs. Captions that
# nobody rated are left out of `split`.
#
# ## What we found
#
# - ECIR's Table 1 is 530 to 1,326 GPU hours on a V100, by counted operations and an assumed share of its peak.
# - GOAL's frozen rows cost more, 1,575 to 3,938 hours for the networks for photos alone: the photo of every caption passes
#   through one again in every epoch.
# - Fresh crops are the price of VSE++: on cached features an update is 13 times less arithmetic.
# - Memory is no obstacle: 3 GB on the GPU for VSRN on pairs, and 31 GiB of features that stay on disk.

# %% tags=["remove-input"]
if as_printed:
    frozen = [sum(TABLES[name]) for name in TABLES if "frozen" in name]
    check("ECIR's Table 1 is 530 to 1,326 GPU hours on a V100,",
          number("530 1,326", [hours(sum(both), part) for part in (high, low)]), also="1")
    check("GOAL's frozen rows cost more, 1,575 to 3,938 hours for the networks for photos alone:",
          number("1,575 3,938", [hours(sum(frozen), part) for part in (high, low)]))
    check("on cached features an update is 13 times less arithmetic.", number("13", total(crops()) / total(vse())))
    check("3 GB on the GPU for VSRN on pairs, and 31 GiB of features that stay on disk.",
          number("3", needed["vsrn"][1][0]), number("31", IMAGES["coco"][0] * REGIONS * NUMBERS * 4 / GIB))

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} A GRU by hand
# :label: ex-gru-operations
# ````
#
# A GRU reads `captions` captions of `words` words each; word vectors have `inputs` numbers and the state has `d`. How
# many operations is the *forward* pass? A multiplication and an addition count as two, and the zero state at the
# beginning is multiplied like any other: `mine = lambda captions, words, inputs, d: ...`.

# %%
mine = ...

# %% tags=["hide-input"]
def check_gru(value):
    """Passes for what torch counts in the forward pass of its own GRU."""
    if value is ...:
        return "your turn"
    from torch.utils.flop_counter import FlopCounterMode

    for captions, words, inputs, d in ((3, 4, 5, 6), (7, 2, 11, 3), (1, 9, 4, 8)):
        gru = torch.nn.GRU(inputs, d, batch_first=True)
        with FlopCounterMode(display=False) as counter:
            gru(torch.rand(captions, words, inputs))
        got, right = value(captions, words, inputs, d), counter.get_total_flops()
        assert got == right, f"not yet: torch counts {right} for {captions, words, inputs, d}, not {got}"
    return "right"


check_gru(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-gru-operations
# :class: dropdown
# ````
#
# Each word of each caption meets a matrix of (inputs + d) × 3d weights.

# %%
check_gru(lambda captions, words, inputs, d: 2 * captions * words * (inputs + d) * 3 * d)

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} An open one
# :label: ex-own-share
# ````
#
# Which share of its peak does *your* machine reach? Make the short run that the commands end with, or on a CPU one of VSE++
# with `SETTINGS="updates=200 evaluate_every=200 embed_dim=1024"` on features of your own. Divide the operations of its updates
# by its `wall_seconds`. Then change `embed_dim`, and see whether the share rises with the size of the products.
#
# ````{exercise-end}
# ````
#
# Next: {numref}`Chapter {number} <ch-errata>`.
