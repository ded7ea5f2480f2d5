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
# ECIR's Table 1 {cite:p}`bleeker2022lessons` has sixteen rows on Flickr30k and MS-COCO, and each is the mean of five trainings. You
# may have those data, and a GPU or a few. How long would it take, and what do you type?
#
# **By counted operations Table 1 is 528 to 1,319 hours of one V100, 1.4 to 3.5 days on sixteen of them; VSRN's rows are 72 % of it.
# No GPU was timed: we count operations, and assume that training reaches 20 to 50 % of a GPU's peak.** One short run on your own
# GPU is worth more than this page; {ref}`its command <hours-commands>` stands below. For the count of another GPU give its name and peak,
# in 10¹² operations a second: `papermill book/reproduce/hours.ipynb mine.ipynb -p gpu mine -p peak 60`.
#
# *You will be able to* lay out data and features, count what a training takes, and start a table of the papers · ten minutes to
# read · ten seconds to run.

# %% tags=["parameters", "hide-input"]
smoke: bool = False  # a quick try: nothing here is smaller then
gpu: str = "a V100 in single precision"  # whose peak the next line is
peak: float = 15.7  # its peak in 10^12 operations a second, from its data sheet
high: float = 0.5  # share of the peak that training reaches at best: an assumption
low: float = 0.2  # and at worst: an assumption, too
longest: int = 27  # words of a batch's longest caption, to which a GPU fills up all: an assumption

# %% tags=["colab-setup", "remove-cell"]
import importlib.util

if importlib.util.find_spec("icrlib") is None:
    raise ModuleNotFoundError(
        "icrlib is missing. In a clone, `make wheel` writes icrlib-0.1.0-py3-none-any.whl; "
        "upload it here, then run %pip install icrlib-0.1.0-py3-none-any.whl"
    )

# %% tags=["remove-cell"]
import heapq
import statistics
from math import ceil

import pandas as pd
import torch
from torch.utils.flop_counter import FlopCounterMode

from icrlib import chapter, models, paper, plots
from icrlib.data import karpathy
from icrlib.data.backbones import import_torchvision
from icrlib.experiments import check, runs

smoke = chapter.start(smoke)
as_printed = (peak, high, low, longest) == (15.7, 0.5, 0.2, 27)

# %% [markdown]
# ## Counting one update
#
# Multiplying matrices is nearly all of the arithmetic. torch counts the products while an update is really made, here of VSE++ and
# VSRN at the papers' sizes. A batch of two is enough: each image and each caption costs the same, and only the scores grow with
# both. A product of n rows with a × b weights is 2nab operations, and training has three for each one forward.

# %%
def counted(encode, *batch):
    """Operations of each row of a batch, in an update and in a look without gradients."""
    with FlopCounterMode(display=False) as update:
        encode(*batch).sum().backward()
    with FlopCounterMode(display=False) as look, torch.no_grad():
        encode(*batch)
    return {"update": update.get_total_flops() / len(batch[0]),
            "look": look.get_total_flops() / len(batch[0])}


def measured(method, image, words, **size):
    """One image, caption and score of a model; ``image``: the shape of its features."""
    model = models.build(method, image[-1], 8_481, **size)
    numbers = torch.arange(2 * words).view(2, words)
    return {"image": counted(model.encode_images, torch.rand(2, *image)),
            "caption": counted(model.encode_captions, numbers, torch.full((2,), words)),
            "score": 2 * size["embed_dim"],
            "parameters": sum(one.numel() for one in model.parameters())}


PAPERS = {"vse++": measured("vse++", (2048,), longest, embed_dim=1024),
          "vsrn": measured("vsrn", (36, 2048), longest, embed_dim=2048)}

# %% [markdown]
# With *fresh crops*, as ECIR trained VSE++, a photo is cut anew each time that one of its captions comes up, and passes through a
# network that does not learn. Of that only shapes are needed, so it is counted on torch's *meta* device, without numbers.

# %%
def photo(name):
    """Operations of a network for one photo, forward."""
    with torch.device("meta"), torch.no_grad(), FlopCounterMode(display=False) as counter:
        network = getattr(import_torchvision().models, name)().eval()
        network(torch.empty(1, 3, 224, 224))
    return counter.get_total_flops()


PHOTO = {name: photo(name) for name in ("resnet50", "resnet152", "vit_b_16")}


def work(one, images, captions, network=0, of="update"):
    """Operations of an update, or of a look."""
    scores = (3 if of == "update" else 1) * one["score"] * images * captions
    return images * (network + one["image"][of]) + captions * one["caption"][of] + scores


# %% [markdown]
# What does such a count mean in seconds? Our own runs on scenes (drawn pictures, {numref}`Chapter {number} <ch-scores>`) say it of
# *one CPU core*. `runs` reads the records of trainings that we made (`missing="train"` trains here what is missing, `icr train PAGE` all
# that a page lacks).

# %%
ours = runs("scenes", method=["vse++", "vsrn"], loss=["ntxent", "smoothap"],
            seed=range(10), updates=3000, at="searched")
SCENES = {"vse++": measured("vse++", (256,), 12, embed_dim=128, word_dim=64),
          "vsrn": measured("vsrn", (8, 261), 12, embed_dim=128, word_dim=64)}
rates, lines = {}, []
for (method, loss), group in ours.by("method", "loss").items():
    captions = 640 if loss == "smoothap" else 128  # of 128 images all five
    small = work(SCENES[method], 128, captions)
    seconds = statistics.median(r["wall_seconds"] / r["config"]["updates"] for r in group)
    rates[method, loss] = small / seconds
    lines.append({"an update of": f"{plots.label(method)}, {plots.label(loss)}",
                  "scenes, 10⁹ operations": f"{small / 1e9:.1f}",
                  "a core, measured": f"{1e3 * seconds:.0f} ms",
                  "10⁹ a second": f"{small / seconds / 1e9:.0f}",
                  "papers, 10⁹ operations":
                      f"{work(PAPERS[method], 128, captions) / 1e9:,.0f}"})
paper.styled(pd.DataFrame(lines), "One update: counted, and the median of ten records on a "
             "core, looks included; at the papers' sizes counted only.", name="update")

# %% [markdown]
# A core does 31 to 59 · 10⁹ operations a second, by model and loss. So a count tells a time within a factor of two.
#
# ## From an update to a table
#
# A row's settings say how many updates it has: ECIR trains VSE++ and VSRN for 30 epochs over captions, in batches of 128 pairs, or
# with SmoothAP for 150 epochs over images, 128 of them with all 640 captions.

# %%
KINDS = {"VSE++, cached features": ("vse++", 0), "VSRN, regions": ("vsrn", 0),
         "VSE++, fresh crops": ("vse++", PHOTO["resnet50"])}
rows = [paper.experiment(f"ecir/{data}.{row}") for data in (1, 2) for row in range(1, 9)]


def updates(row):
    images = karpathy.PUBLISHED[row["dataset"]]["train"]
    items = 5 * images if row["batches"] == "pairs" else images
    return ceil(items / row["batch_size"]) * row["epochs"]


def operations(row, network=0):
    """Of one training: its updates, and a look at the validation part each epoch."""
    one, val = PAPERS[row["method"]], karpathy.PUBLISHED[row["dataset"]]["val"]
    update = work(one, 128, 128 if row["batches"] == "pairs" else 640, network)
    return updates(row) * update + row["epochs"] * work(one, val, 5 * val, network, "look")


def hours(count, share):
    """GPU hours at a share of the peak."""
    return count / (share * peak * 1e12) / 3600


# %% tags=["hide-input"]
def ranged(of, *given, form="{:,.1f}"):
    """From the best share of the peak to the worst."""
    return " to ".join(form.format(of(*given, share)) for share in (high, low))


lines = []
for kind, (method, network) in KINDS.items():
    for batches, losses in (("pairs", "on pairs"), ("images", "SmoothAP")):
        of = {row["dataset"]: row for row in rows if (row["method"], row["batches"]) == (method, batches)}
        lines.append({"training": kind, "loss": losses}
                     | {f"{data}: updates": f"{updates(row):,}" for data, row in of.items()}
                     | {f"{data}: GPU hours": ranged(hours, operations(row, network)) for data, row in of.items()})
paper.styled(pd.DataFrame(lines), f"One training on {gpu}: counted, not measured. “On pairs”: Triplet, Triplet-SH and "
             "NT-Xent.", name="one-training")

# %% [markdown]
# Take VSE++ on cached features with most doubt: each step of a recurrence waits for the one before. Fresh crops need cores beside
# the GPU that decode the photos. Of GOAL's Tables 3 and 4 {cite:p}`xuan2023dissecting` the paper states too little to count a row
# whole. We count the network for photos alone: frozen, for 30 epochs of the photo of each caption, a lower bound. In the *second
# stage* it learns, which is three times the arithmetic; for how many epochs is not said, so one is counted.
# Trainings run side by side, one a GPU, the longest first.

# %%
TABLES = {f"ECIR 1, {kind}": [operations(row, network) for row in rows
                              if row["method"] == method for _ in range(row["seeds"])]
          for kind, (method, network) in KINDS.items()}
photos = karpathy.PUBLISHED["coco"]["train"] * 5  # in an epoch: one for each caption
goals = paper.table("goal/3")["objective"].nunique() * paper.goal.RUNS  # trainings each
for table, name, kind in ((3, "resnet152", "ResNet-152"), (4, "vit_b_16", "ViT")):
    TABLES[f"GOAL {table}, frozen {kind}"] = [30 * photos * PHOTO[name]] * goals
    TABLES[f"GOAL {table}, {kind} learns, an epoch"] = [3 * photos * PHOTO[name]] * goals


def on_gpus(each, gpus, share):
    """Days until the last training ends, where the longest begins first."""
    free = [0.0] * gpus
    for one in sorted(each, reverse=True):
        heapq.heapreplace(free, free[0] + hours(one, share) / 24)
    return max(free)


# %% tags=["hide-input"]
paper.styled(pd.DataFrame([
    {"table": name, "trainings": len(each),
     "GPU hours, counted": ranged(hours, sum(each), form="{:,.0f}")}
    | {f"days on {n}": ranged(on_gpus, each, n) for n in (1, 4, 16)} for name, each in TABLES.items()]),
    f"Whole tables on {gpu}: counted, at {high:.0%} to {low:.0%} of the peak, not measured. GOAL's are lower bounds.",
    name="tables")

# %% [markdown]
# What of memory and disk? A weight takes 16 bytes on the GPU in training: itself, its gradient and Adam's two averages. Features as
# released, 36 regions of 2,048 numbers of each photo, stay on disk here and are memory-mapped, so that all runs on a machine share
# one copy; SCAN's code loads them whole, and one user [saw 62 GB taken](https://github.com/kuanghuei/SCAN/issues/20).

# %%
weights = 16 * PAPERS["vsrn"]["parameters"] / 1e9
regions = 36 * 2048 * 4 * karpathy.PUBLISHED["coco"]["train"] / 2**30
print(f"VSRN's weights: {weights:.1f} GB; COCO's training regions: {regions:.1f} GiB")

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
# VSRN features of 36 regions of each image, published by the authors of SCAN and used by {cite:t}`li2019vsrn`; the photos' terms
# reach them, too. Look at the home of the people who made them; copies elsewhere may be split in another way. These lines are no
# legal advice.
#
# One folder holds one `dataset*.json` (or `.json.gz`) and the pictures below it, in `images/` or where they came: `Flicker8k_Dataset/`,
# `flickr30k-images/`, or COCO's `train2014/` and `val2014/`.
#
# **COCO's `restval`**, 30,504 images that Karpathy took from the 40,504 of validation, joins the 82,783 of training; papers that
# leave it out train on less. **COCO has two tests**: on all 5,000 images ("5K"), and the mean over five parts of 1,000 ("1K"), far
# easier. `icrlib.evaluate` gives both. Of your own photos put near-duplicates into *one* split; else the test asks for what was
# learned by heart.
#
# ## Features
#
# ```bash
# icr data check flickr30k --root flickr30k/  # every problem at once
# icr features flickr30k/ features/f30k/ --backbone resnet50
# ```
#
# `icr features` passes each photo through a frozen network, resized as that network's evaluation does it, and writes half
# precision. Fresh crops are `images="published"` ({doc}`../search/photos`).
# Regions computed anew with another program are other regions: one user who did so on Flickr30k [reports lower
# results](https://github.com/kuanghuei/SCAN/issues/34). SCAN's folders have the layout that `icr features` writes, so they are read
# as they are, but for COCO's `testall_ims.npy` and `testall_caps.txt`: name these `test_…` first. A folder has
# `{train,dev,test}_ims.npy`, (rows, D) or (rows, regions, D), and `…_caps.txt`, one caption a line. Which row belongs to a caption?
# Folders differ, and counting tells them apart:
#
# - an `…_ids.txt` with one id a caption line: same id, same image;
# - captions = k × rows, k > 1: k captions an image, in order;
# - as many rows as captions: where neighbours are equal, an image's row repeated, and it still counts once; else a caption an image;
# - anything else: an error with both counts. Unequally many regions: `…_lens.npy` says how many of each image's are true.
#
# The vocabulary holds four marks and each word that occurs four times (`min_count=4`) in the *training* captions. Those that VSRN's
# authors ship counted the test captions, too: 8,590 words on Flickr30k, 11,755 on COCO; `vocabulary="all"` repeats that.
#
# (hours-commands)=
# ## The commands
#
# First one short run on *your* machine, of the kind that you want many of:
#
# ```bash
# icr run book/reproduce/run.ipynb -p dataset=coco -p features=coco_precomp \
#     -p method=vsrn -p loss=ntxent -p updates=1000 -p out=runs/short
# ```
#
# Its `runs/short/record.json` says `wall_seconds`; divided by the 1,000 updates and times those of the table above, that is what one
# training takes, or a little more, for a short run evaluates more often. Then a table, or a row. ECIR's rows of VSE++ cut photos
# anew and so need them; on features they go without. GOAL gives too few settings for its rows; the last lines come closest to both stages
# of Table 3, with ECIR's settings of VSE++ and the constants of GOAL's figures. (`vit_b_16` is Table 4's network. A second stage takes a
# tenth of the rate by itself, the 0.00002 that VSE++'s author [gives](https://github.com/fartashf/vsepp/issues/18) for such a network.)
#
# ```bash
# icr train reproduce/tables -p dataset=coco -p features=coco_precomp --plan
# icr run ecir/2.7 -p features=coco_precomp -p seed=0 --plan
# icr run ecir/1.3 -p root=flickr30k -p images=published -p backbone=resnet50
# icr run book/reproduce/run.ipynb -p dataset=coco -p root=coco -p images=published \
#     -p backbone=resnet152 -p "loss=goal:cir x sig-ms" -p out=runs/first
# icr run book/reproduce/run.ipynb -p dataset=coco -p root=coco -p images=published \
#     -p backbone=resnet152 -p "loss=goal:cir x sig-ms" -p epochs=1 -p start_from=runs/first
# ```
#
# Without `--plan` they train. `icr train` adds what is missing; `--profile gpu` or `--profile slurm` hands the runs to one machine's GPU
# or to a cluster. What is killed goes on from its checkpoint when the same command is given again. The profile asks a cluster for a
# day and 8 GB a run. VSRN on MS-COCO may take longer by the count above: copy `workflow/profiles/slurm`, say `runtime: 3600`
# (minutes) below its `train:`, and give the copy's folder as the profile.
#
# `--plan` takes the median of our records of the same data, model and loss, update for update; where there is none it guesses
# nothing.
#
# **CxC.** COCO's test counts one image as right for a caption. Crisscrossed Captions (Google LLC, {cite:t}`parekh2021crisscrossed`)
# asked people about others; {func}`icrlib.data.cxc.judgements` reads its `sits_test.csv`, and `icrlib.judged.evaluate_judged` asks
# by it. The release fixes no threshold; we take 3, as {cite:t}`chun2022eccv` do, by which 35,585 pairs are right.
#
# ## What we found
#
# - ECIR's Table 1 is 528 to 1,319 GPU hours on a V100, by counted operations and an assumed share of its peak.
# - GOAL's frozen rows cost more, 1,574 to 3,934 hours for the networks for photos alone, through which each caption's photo passes.
# - Fresh crops are the price of VSE++: on cached features an update of pairs is 14 times less arithmetic.
# - Memory is no obstacle: VSRN's weights take 1.8 GB on the GPU in training, and 31.1 GiB of COCO's training regions stay on disk.

# %% tags=["hide-input"]
# checked by machine
ecir = TABLES["ECIR 1, VSE++, fresh crops"] + TABLES["ECIR 1, VSRN, regions"]
frozen = [one for name, each in TABLES.items() if "frozen" in name for one in each]
total, goal = (ranged(hours, sum(each), form="{:,.0f}") for each in (ecir, frozen))
vse = PAPERS["vse++"]
times = f"{work(vse, 128, 128, PHOTO['resnet50']) / work(vse, 128, 128):.0f} times"
check("A core does 31 to 59 · 10⁹ operations a second, by model and loss.",
      f"{min(rates.values()) / 1e9:.0f} to {max(rates.values()) / 1e9:.0f} · 10⁹", also="10⁹")
if as_printed:
    check("By counted operations Table 1 is 528 to 1,319 hours of one V100, 1.4 to 3.5 days on sixteen of them; "
          "VSRN's rows are 72 % of it.", f"Table 1 is {total} hours",
          f"{ranged(on_gpus, ecir, 16)} days on sixteen",
          f"{100 * sum(TABLES['ECIR 1, VSRN, regions']) / sum(ecir):.0f} % of it", len(ecir) == 80)
    check("ECIR's Table 1 is 528 to 1,319 GPU hours on a V100,", f"is {total} GPU hours")
    check("GOAL's frozen rows cost more, 1,574 to 3,934 hours for the networks for photos alone,", f"{goal} hours")
    check("on cached features an update of pairs is 14 times less arithmetic.", times)
    check("VSRN's weights take 1.8 GB on the GPU in training, and 31.1 GiB of COCO's training regions stay on disk.",
          f"{weights:.1f} GB", f"{regions:.1f} GiB")

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} A GRU by hand
# :label: ex-gru-operations
# ````
#
# A GRU reads `captions` captions of `words` words each; word vectors have `inputs` numbers and the state has `d`. How many
# operations is the *forward* pass? A multiplication and an addition count as two, and the zero state at the beginning is multiplied
# like any other: `mine = lambda captions, words, inputs, d: ...`.

# %%
mine = ...

# %% tags=["hide-input"]
def check_gru(value):
    """Passes for what torch counts in the forward pass of its own GRU."""
    if value is ...:
        return "your turn"
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
# Which share of its peak does *your* machine reach? Make a short run of VSE++ on scenes with `-p updates=200`, and divide its
# operations by its `wall_seconds`. Does the share rise with `embed_dim`, the size of the products?
#
# ````{exercise-end}
# ````
#
# Next: {numref}`Chapter {number} <ch-errata>`.
