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
# # What would the papers' own scale take?
#
# **What you will be able to do:** say what data, features, disk and memory ECIR's and GOAL's tables need; count the
# operations of a training without running it, and check the count; turn it into hours on your own GPU, or on a cluster
# of them; and start the grid. **Time:** half an hour of reading, about a minute on one core.
# **You need:** {doc}`run`; {doc}`../foundations/regions` for VSRN. Nothing is downloaded, and no GPU is used.
#
# Everything else in this book was trained on small data. ECIR's Table 1 {cite:p}`bleeker2022lessons` was not: it has
# sixteen rows, on Flickr30k and MS-COCO, and each row is the mean of five trainings. You may have those data, and a GPU
# or a few. Before you start you want to know for how long. Here is what the book's own trainings took.

# %% tags=["parameters"]
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
import inspect
import subprocess
import sys
import textwrap
import time

# %% tags=["remove-cell"]
from functools import partial
from math import ceil
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from torch.utils.flop_counter import FlopCounterMode

import icrlib
from icrlib import chapter, models, paper, plots, records
from icrlib.data.backbones import import_torchvision
from icrlib.data.crops import Pictures
from icrlib.data.splits import Split
from icrlib.losses import NTXent
from icrlib.models import counts
from icrlib.names import METHODS
from icrlib.paper.experiments import goal
from icrlib.planning import asked, cost, operations
from icrlib.sampling import Sampler

# %% tags=["remove-cell"]
smoke = chapter.start(smoke)
assert 0 < low <= high <= 1 and peak > 0
torch.manual_seed(0);

# %% tags=["hide-input"]
every = records.find(study="*")
spent = pd.DataFrame([{"data": r["config"]["dataset"], "method": plots.label(r["config"]["method"]),
                       "dimensions": r["config"]["model_options"]["embed_dim"], "hours": r["wall_seconds"] / 3600,
                       "MB": r["peak_memory_mb"]} for r in every])
core_hours = spent["hours"].sum()
grouped = spent.groupby(["data", "method", "dimensions"], sort=False)
own = grouped.agg(runs=("hours", "size"), hours=("hours", "sum"), minutes=("hours", lambda h: 60 * h.median()),
                  memory=("MB", "max")).reset_index()
paper.styled(pd.DataFrame({"data": own["data"], "method": own["method"], "dimensions": own["dimensions"],
                           "runs": own["runs"], "core-hours": [f"{x:.1f}" for x in own["hours"]],
                           "minutes a run, median": [f"{x:.1f}" for x in own["minutes"]],
                           "memory, at most": [f"{x:,} MB" for x in own["memory"]]}),
             "All records of this book: what their runs took, each on one thread of a CPU.", name="own-cost")

# %% tags=["hide-input"]
rows = {name: paper.experiment(name) for name in paper.experiments() if name.startswith("ecir/1.")
        or name.startswith("ecir/2.")}
trainings = sum(row["seeds"] for row in rows.values())
Markdown(f"Together that is **{core_hours:.1f} core-hours** for {len(every):,} trainings. Table 1 has "
         f"**{trainings} trainings**. Are they weeks on one such core, or years? And how many days on a GPU?")

# %% [markdown]
# ```{admonition} A count, not a measurement
# :class: important
# No GPU has been timed for this book. The hours on this page are counted operations, divided by a speed that *you* put
# in: the peak from your GPU's data sheet, times the share of it that training reaches. That share is an assumption. The
# page takes 20 to 50 %, so its hours are a range, and it says where even the range is doubtful. Change the cell of
# parameters above, or give them on the command line:
# `papermill book/reproduce/paper-scale.ipynb mine.ipynb -p gpu "mine" -p peak 60`. What settles the matter is one short
# run on your GPU; the section on commands says how to make it.
# ```
#
# Four of the numbers above are such choices. The default peak is the one with which GOAL's rows are counted in
# {doc}`goal-tables`: single precision on a V100, the GPU that paper names. The longest caption of a batch matters because
# on a GPU the shorter ones are filled up with padding. 27 words is our guess for captions of about 14; with your data at
# hand, count: `data.vocabulary.encode(captions)[1].max()`, as a mean over batches.
#
# ## Which data, and from where
#
# Nobody may hand you the photos of Flickr30k or MS-COCO but their owners, and the same holds for what was computed from
# them. {doc}`../appendix/datasets` has the terms, the layouts and the traps; this is the short form.
#
# | What | From whom | Terms | For |
# | --- | --- | --- | --- |
# | Flickr30k's photos | University of Illinois at Urbana-Champaign | on request; non-commercial research and education | VSE++, or own features |
# | MS-COCO's photos, 2014 | the COCO Consortium | annotations CC BY 4.0; photos under Flickr's terms | the same; GOAL |
# | `dataset_*.json` | Karpathy and Li, with {cite:t}`karpathy2015alignments` | see there | splits and captions |
# | regions, `*_precomp` | the authors of SCAN; used by {cite:t}`li2019vsrn` | the photos' terms reach further | VSRN |
#
# ECIR trained VSE++ on the photos themselves: each time a caption comes up, its photo is cut to a new random crop, and a
# ResNet-50 that does not learn turns it into one vector ({doc}`../foundations/pipelines`). VSRN got finished features:
# 36 regions of each image with 2,048 numbers each. Links to those files in older releases are dead; SCAN's README names
# the present place. Regions computed anew with another program are other regions: one user who did so on Flickr30k
# [reports lower results](https://github.com/kuanghuei/SCAN/issues/34). If you cannot get these very files,
# `icr features --regions` makes a grid of cells for VSRN, and you should not expect the paper's numbers from it.
#
# The sizes follow from the shapes. A region file in single precision has 4 bytes a number:

# %%
IMAGES = {"flickr30k": (29_000, 1_014, 1_000), "coco": (113_287, 5_000, 5_000)}
GIB, REGIONS, NUMBERS = 2**30, 36, 2048
region_file = {data: n * REGIONS * NUMBERS * 4 / GIB for data, (n, *_) in IMAGES.items()}
print({data: f"{gib:.1f} GiB" for data, gib in region_file.items()})

# %% tags=["hide-input"]
sizes = []
for data, images in IMAGES.items():
    for kind, numbers, each in (("regions, as released", REGIONS * NUMBERS, 4),
                                ("regions, float16", REGIONS * NUMBERS, 2), ("one vector, float16", NUMBERS, 2)):
        gib = [n * numbers * each / GIB for n in (images[0], sum(images))]
        sizes.append({"data": data, "features": kind, "training file": f"{gib[0]:.1f} GiB",
                      "all splits": f"{gib[1]:.1f} GiB"})
assert round(region_file["coco"]) == 31 and round(region_file["flickr30k"]) == 8
paper.styled(pd.DataFrame(sizes), "Disk for features. The command icr features writes float16.", name="disk")

# %% [markdown]
# SCAN's released code loads the 31 GiB of COCO's regions into memory whole, and one user
# [saw 62 GB taken](https://github.com/kuanghuei/SCAN/issues/20). VSRN's code loads them alike, and another user's
# training [ran out of memory](https://github.com/KunpengLi1994/VSRN/issues/19). Here the array stays on disk and is
# *memory-mapped*: the operating system reads what a batch asks for, and keeps in memory what it has room for. All runs
# on one machine share that copy. So 32 GiB of free memory make the disk unnecessary after the first epoch, and less
# memory only costs reading. One thing remains: before a run starts, the files are read through twice, once for the
# checksum that becomes part of the run's identity, and once in search of NaN.
#
# ## One update, counted
#
# How long does a training take? Multiplying matrices is nearly all of its arithmetic, and that can be counted on paper.
# A product of $n$ rows with a matrix of $a \times b$ weights takes $n \cdot a \cdot b$ multiplications and as many
# additions. Training needs three such products: one forward, and two backward, for the gradient of the weights and for
# that of the inputs. The second of these is left out where the inputs are data, which do not learn.

# %%
product = counts.product
print(inspect.getsource(product))

# %% [markdown]
# Take **VSE++** at the paper's size: pairs of a batch $B = 128$, features of 2,048 numbers, word vectors of 300, and
# $d = 1024$ dimensions of the shared space. Three parts multiply:
#
# 1. the linear layer over the image's features, $2048 \times d$. Features are data, so it is two products;
# 2. the GRU over the words {cite:p}`cho2014gru`. It has three gates, so each word meets two matrices:
#    $300 \times 3d$ from its word vector, and $d \times 3d$ from the state that the words before have left;
# 3. the matrix of scores, $B \times B$ inner products of length $d$.
#
# The first state of the GRU is zero and does not learn, so nothing has to be passed back to it: one product fewer.

# %%
vse = partial(METHODS["vse++"].operations, words=longest)
print(inspect.getsource(counts.captions_part), end="\n\n")
print(textwrap.dedent(inspect.getsource(METHODS["vse++"].operations)))
for part, count in vse().items():
    print(f"{part:20} {count / 1e9:6.1f} · 10⁹ operations")

# %% tags=["hide-input"]
total = counts.total


def recurrent(parts):
    """The share of the operations that belongs to recurrences."""
    return sum(n for part, n in parts.items() if part.startswith("recurrence")) / total(parts)


assert recurrent(vse()) > 0.7 and vse()["image layer"] < 0.02 * total(vse())
Markdown(f"Together {total(vse()) / 1e9:.0f} · 10⁹ operations an update. With finished features hardly any of it is "
         f"about images: **{recurrent(vse()):.0%}** is the recurrence over the words, and "
         f"{vse()['words into the GRU'] / total(vse()):.0%} the way of the words into it.")

# %% [markdown]
# **VSRN** works on 36 regions of each image and in $d = 2048$ dimensions. After the linear layer come four blocks of a
# graph convolution: three linear maps of each region ($d \times 3d$), the affinity of each region with each other one,
# the sum that they weigh, and one more linear map ($d \times d$). Then a GRU reads the 36 regions as if they were
# words, and another GRU reads the caption. VSRN as published learns to write captions as well; ECIR's code builds that
# part and does not compute its loss, so it is not in the count.

# %%
vsrn = partial(METHODS["vsrn"].operations, words=longest)
print(textwrap.dedent(inspect.getsource(METHODS["vsrn"].operations)))

# %% [markdown]
# These counts are part of the library, because the estimate at the end of this page and the plan of every grid scale
# the times of past records by them.
#
# Two variants are missing. **SmoothAP** has 128 images and all of their captions in a batch, 640 of them, so its
# captions cost five times as much, and its images the same. And VSE++ **as published** passes every photo of a batch
# through a ResNet-50 first, forward only. We do not have to work that out by hand: on torch's *meta device* a tensor has a
# shape and no numbers, so a network can be run there without computing anything, while torch's own counter of operations
# looks on.

# %%
def counted(network, *inputs):
    """Operations of a forward pass, by torch's counter, on the meta device."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        network(*inputs)
    return counter.get_total_flops()


with torch.device("meta"):
    vision = import_torchvision().models
    one_photo = torch.empty(1, 3, 224, 224)
    through = {name: counted(getattr(vision, name)(weights=None).eval(), one_photo)
               for name in ("resnet50", "resnet152")}
print({name: f"{count / 1e9:.1f} · 10⁹" for name, count in through.items()})

# %% tags=["hide-input"]
def crops(images=128, captions=128, network="resnet50", **sizes):
    """VSE++ on fresh crops: before each update, the photos of the batch go through a network that does not learn."""
    return {"network for photos": images * through[network], **vse(images, captions, **sizes)}


KINDS = {"VSE++, cached features": vse, "VSE++, fresh crops": crops, "VSRN, regions": vsrn}
assert total(crops()) > 4 * total(vse()) and total(vsrn()) > 10 * total(vse())
Markdown(f"So an update on fresh crops is {total(crops()) / 1e12:.2f} · 10¹² operations, "
         f"**{total(crops()) / total(vse()):.0f} times** one on cached features, and VSRN's is "
         f"{total(vsrn()) / 1e12:.2f} · 10¹², **{total(vsrn()) / total(vse()):.0f} times**.")

# %% [markdown]
# How do the operations divide among the parts? The figure shows it for all three and for both kinds of batches. Expect
# the network for photos to outweigh everything else where there is one, and the graph to be the largest part of VSRN.
# Watch the hatched parts: a recurrence has to wait for its own last step, which will matter for the hours.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Six horizontal bars, each divided into the parts of an update and labelled with its operations. VSE++ on cached features is mostly recurrence, hatched. VSE++ on fresh crops is mostly the network for photos, in grey. VSRN on pairs is mostly graph blocks, and its recurrences are about a fifth. With batches of images the recurrences of VSRN and of VSE++ on fresh crops have a larger share, and VSRN's graph blocks less than half."}, "figure": {"name": "fig-parts", "caption": "Where the operations of one update go, at the papers' sizes; to the right, how many there are. Hatched: recurrences, whose steps wait for one another. “Images”: 128 images with all 640 captions, as SmoothAP has them; else 128 pairs."}}
GROUPS = {"network for photos": ("#c4c4c4", "", ["network for photos"]),
          "graph blocks": ("#4c5a67", "", ["four graph blocks"]),
          "image layer, inputs of GRUs, scores":
              ("#8d9db0", "", ["image layer", "regions into the GRU", "words into the GRU", "scores"]),
          "recurrences": ("#f0d9a8", "///", ["recurrence, regions", "recurrence, words"])}
bars = {f"{kind}{mode}": parts(captions=n) for kind, parts in KINDS.items()
        for mode, n in (("", 128), ("; images", 640))}
fig, ax = plt.subplots(figsize=(6.4, 4.2))
left = np.zeros(len(bars))
for name, (colour, hatch, members) in GROUPS.items():
    width = np.array([sum(p.get(m, 0) for m in members) / total(p) for p in bars.values()])
    ax.barh(range(len(bars)), 100 * width, left=100 * left, color=colour, hatch=hatch, label=name, ec="black", lw=0.4)
    left += width
for place, parts in enumerate(bars.values()):
    ax.text(101, place, f"{total(parts) / 1e12:.2f} · 10¹²", va="center", fontsize=10)
ax.set_yticks(range(len(bars)), [name.replace(", ", "\n") for name in bars], fontsize=10)
ax.invert_yaxis()
ax.set(xlim=(0, 100), xlabel="share of the operations, %")
fig.legend(*ax.get_legend_handles_labels(), fontsize=10, ncols=2, loc="outside upper center")
assert np.allclose(left, 1);

# %% tags=["hide-input"]
share = {name: recurrent(parts) for name, parts in bars.items()}
assert share["VSE++, cached features"] > 0.7 > 0.4 > share["VSRN, regions"] > 0.2 > share["VSE++, fresh crops"]
graph = {mode: bars[f"VSRN, regions{mode}"]["four graph blocks"] / total(bars[f"VSRN, regions{mode}"])
         for mode in ("", "; images")}
assert graph[""] > 0.5 > graph["; images"] > share["VSRN, regions; images"]
Markdown(f"The hatched share is {share['VSE++, cached features']:.0%} for VSE++ on cached features, "
         f"{share['VSRN, regions']:.0%} for VSRN, and {share['VSE++, fresh crops']:.0%} where photos go through a "
         f"network first. In image mode it grows, to {share['VSRN, regions; images']:.0%} for VSRN, whose graph falls "
         f"from {graph['']:.0%} to {graph['; images']:.0%}.")

# %% [markdown]
# ## Is the count right?
#
# A formula that nobody checks is a guess. The independent count is torch's: we build the real models at their full size
# on the meta device, run an update forward and backward as a GPU does it, and let the counter add up every product.

# %%
def update_on_meta(method, d, images=128, captions=128, words=longest):
    """(operations, bytes kept for the backward pass, parameters) of an update."""
    kept = {}

    def keep(tensor):
        kept[tensor.untyped_storage()._cdata] = tensor.untyped_storage()
        return tensor

    with torch.device("meta"):
        model = models.build(method, 2048, 8_481, embed_dim=d)
        shape = (images, 2048) if method == "vse++" else (images, REGIONS, 2048)
        features = torch.empty(shape)
        numbers = torch.zeros(captions, words, dtype=torch.long)
    own = {p.untyped_storage()._cdata for p in model.parameters()}
    hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
    with FlopCounterMode(display=False) as counter, hooks:
        v = model.project(features)
        v = v if method == "vse++" else model.reader(model.graph(v))[1][0]
        t = model.gru(model.embed(numbers))[0][:, -1]
        (v @ t.T).sum().backward()
    held = sum(storage.nbytes() for name, storage in kept.items() if name not in own)
    return counter.get_total_flops(), held, sum(p.numel() for p in model.parameters())


# %%
SIZES = {"vse++": (vse, 1024), "vsrn": (vsrn, 2048)}
on_meta = {method: update_on_meta(method, d) for method, (_, d) in SIZES.items()}
for method, (formula, _) in SIZES.items():
    print(f"{method:6} by torch {on_meta[method][0]:,}, by hand {total(formula()):,}")

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
assert all(on_meta[method][0] == total(formula()) for method, (formula, _) in SIZES.items())
odd = {"images": 6, "captions": 10, "words": 5}  # other sizes, and not as many captions as images
assert update_on_meta("vse++", 48, **odd)[0] == total(vse(embed_dim=48, **odd))
assert update_on_meta("vsrn", 48, **odd)[0] == total(vsrn(embed_dim=48, **odd))
assert abs(through["resnet152"] / (2 * goal.MULTIPLY_ADDS["r152"]) - 1) < 0.01  # what torchvision documents
for method, (_, d) in SIZES.items():  # the sizes are those of the rows
    assert METHODS.find(method).published["*"]["embed_dim"] == d
    assert {r["embed_dim"] for r in rows.values() if r["method"] == method} == {d}
assert {r["batch_size"] for r in rows.values()} == {128} and {r["word_dim"] for r in rows.values()} == {300}

# %% [markdown]
# The two agree to the last operation. What neither of them counts: the norms, gates and softmaxes, which are few
# operations; the optimiser, which has to read and write every weight; and the waiting for memory. Those are in the share
# of the peak that we assume.
#
# ## How many updates
#
# An epoch of pairs is one pass over the captions of the training set, five for each image. An epoch of images is a fifth
# of that, so ECIR gave SmoothAP five times as many epochs. The settings come from the rows as the authors' job files ran
# them; `icrlib.paper.experiment("ecir/2.8")` shows one. Its name is that of the row in Table 1: 1.1 to 1.8 are on
# Flickr30k and 2.1 to 2.8 on MS-COCO, of each the first four VSE++ and the others VSRN.

# %%
def updates(row):
    """Updates of a row of ECIR's Table 1."""
    items = IMAGES[row["dataset"]][0] * (5 if row["batches"] == "pairs" else 1)
    return ceil(items / row["batch_size"]) * row["epochs"]


some = ("ecir/1.1", "ecir/1.4", "ecir/2.1", "ecir/2.4")
for name in some:
    row = rows[name]
    print(f"{name}: {row['loss']:8} {row['epochs']:3} epochs, {updates(row):,} updates")

# %% tags=["remove-cell"]
def as_sampled(data, batches):
    """Updates in an epoch, as the library's sampler says it for a training set of this size."""
    n = IMAGES[data][0]
    split = Split("train", torch.zeros(n, 1), [""] * (5 * n), torch.arange(n).repeat_interleave(5), [""] * n)
    return Sampler(split, 0, 128, batches).per_epoch


epoch = {(data, batches): as_sampled(data, batches) for data in IMAGES for batches in ("pairs", "images")}
for row in rows.values():
    published = METHODS.find(row["method"]).published["*"]
    assert updates(row) == epoch[row["dataset"], row["batches"]] * row["epochs"]
    assert row["epochs"] == published["epochs"] * (5 if row["batches"] == "images" else 1)
assert IMAGES["coco"][0] * 5 == goal.CAPTIONS

# %% [markdown]
# Between epochs the model is evaluated on the validation images, forward only. That is about a third of the products
# (of the image layer, half), and all of the network for photos, which goes forward only in training, too. We add one
# evaluation an epoch, as `make reproduce` makes them. (ECIR's VSRN was evaluated every 500 updates as well.)

# %%
def run_operations(row, kind):
    """Operations of one training of a row, with its evaluations."""
    captions = 128 if row["batches"] == "pairs" else 640
    images = IMAGES[row["dataset"]][1]
    look = KINDS[kind](images=images, captions=5 * images)
    network = look.pop("network for photos", 0)
    looks = row["epochs"] * (network + total(look) / 3)
    return updates(row) * total(KINDS[kind](captions=captions)) + looks


def hours(work, share):
    """GPU hours at a share of the peak."""
    return work / (share * peak * 1e12) / 3600


# %% [markdown]
# ## Hours
#
# Here is one training of each kind. Triplet, Triplet-SH and NT-Xent differ only in what they do with the 128 × 128
# scores, so they share a line, “on pairs”.

# %% tags=["hide-input"]
def of_kind(kind, row):
    return row["method"] == ("vsrn" if kind.startswith("VSRN") else "vse++")


def span(value):
    """A range of hours, or days where they are many."""
    best, worst = hours(value, high), hours(value, low)
    if best > 72:
        return f"{best / 24:,.1f} to {worst / 24:,.1f} days"
    return f"{best:.1f} to {worst:.1f} h" if best < 10 else f"{best:,.0f} to {worst:,.0f} h"


lines = []
for kind in KINDS:
    for data in IMAGES:
        for batches, losses in (("pairs", "on pairs"), ("images", "SmoothAP")):
            row = next(r for r in rows.values() if of_kind(kind, r) and (r["dataset"], r["batches"]) == (data, batches))
            work = run_operations(row, kind)
            lines.append({"training": kind, "data": data, "loss": losses, "one training": span(work),
                          "updates": f"{updates(row):,}", "10¹⁵ operations": f"{work / 1e15:.0f}"})
paper.styled(pd.DataFrame(lines), f"One training on {gpu}, at {low:.0%} to {high:.0%} of {peak:g} · 10¹² operations a "
             "second. Counted, not measured.", name="one-training")

# %% [markdown]
# ### What a recurrence does to the share
#
# Is 20 to 50 % a fair range? Large products of matrices keep a GPU busy. The graph blocks of VSRN multiply
# 128 × 36 = 4,608 rows at once, and all of them are known beforehand. A recurrence has 128 rows at a time, one for each
# caption, and step $t$ cannot start before step $t - 1$ has ended: forward along the caption and backward again. So its
# products are small, each has to fetch the whole weight matrix for only 128 rows, and between two of them the GPU waits.
# How much slower that is depends on the GPU and its library, and we have not measured it. What can be said is what it
# would do. Suppose that the recurrent products run $k$ times as slowly as the others. If $f$ is their share of the
# operations, an update takes $1 + f (k - 1)$ times as long. The last column counts the steps that wait for the one
# before: one a word of the longest caption, and for VSRN one a region, forward and again backward.

# %% tags=["hide-input"]
def stretched(f, k):
    return 1 + f * (k - 1)


waits = {kind: 2 * (longest + REGIONS * (kind == "VSRN, regions")) for kind in KINDS}
paper.styled(pd.DataFrame([
    {"training": kind, "share f": f"{share[kind]:.0%}"}
    | {f"k = {k}": f"{stretched(share[kind], k):.1f} ×" for k in (2, 4, 8)}
    | {"steps that wait": waits[kind]} for kind in KINDS]),
    "How much longer an update takes if recurrent products run k times as slowly; batches of pairs.", name="recurrence")

# %% tags=["hide-input"]
slow = {kind: high / stretched(share[kind], 4) for kind in KINDS}
assert 2 * slow["VSE++, cached features"] < high < 2 * slow["VSRN, regions"] < 2 * slow["VSE++, fresh crops"]
side = {kind: "inside the range" if value >= low else "below the range" for kind, value in slow.items()}
Markdown(f"So if everything else ran at {high:.0%} of the peak and recurrences at a quarter of that, VSRN would reach "
         f"{slow['VSRN, regions']:.0%} in all, {side['VSRN, regions']}. VSE++ on cached features would reach "
         f"{slow['VSE++, cached features']:.0%}, {side['VSE++, cached features']}. Most of its operations are "
         "in the recurrence, so **take its line with more doubt than the others**.")

# %% [markdown]
# ### Reading
#
# A GPU that computes fast has to be fed fast. An update of VSRN reads 128 × 36 × 2,048 numbers, and one on fresh crops
# opens 128 photos, decodes them and cuts them. How much is that a second?

# %% tags=["hide-input"]
DECODING = inspect.signature(Pictures).parameters["workers"].default
pace = {kind: [share_ * peak * 1e12 / total(parts()) for share_ in (low, high)] for kind, parts in KINDS.items()}
read = [128 * REGIONS * NUMBERS * 4 * rate / 1e6 for rate in pace["VSRN, regions"]]
photos = [128 * rate for rate in pace["VSE++, fresh crops"]]
Markdown(f"VSRN's regions: {read[0]:.0f} to {read[1]:.0f} MB a second for each GPU, at random places of the file. "
         "Compare that with your disk; where memory holds the file, the disk does not matter. Fresh crops: "
         f"**{photos[0]:.0f} to {photos[1]:.0f} photos a second**, to be decoded by CPU cores beside each GPU. A run "
         f"here decodes with {DECODING} threads, so that is {photos[0] / DECODING:.0f} to {photos[1] / DECODING:.0f} "
         "photos a second for each of them, and more cores (`THREADS=`) do not change it. Where they do fewer, they "
         "set the pace and not the GPU. Count before you believe the hours of that line: `icr features`, which decodes "
         "with as many, shows its rate from the first batch on.")

# %% [markdown]
# ### A whole table, on one GPU and on many
#
# The trainings of a table do not depend on each other, so they can run side by side; but one training is not divided
# among GPUs here. Then N GPUs take at least an N-th of the sum, and never less than the longest training. In between we
# let each training, the longest first, go to the GPU that is free first.

# %%
def on_gpus(each, gpus):
    """Hours until the last of these trainings ends."""
    free = [0.0] * gpus
    for one in sorted(each, reverse=True):
        heapq.heapreplace(free, free[0] + one)
    return max(free)


# %% [markdown]
# ECIR's Tables 2 to 4 need no training of their own. They count COCOS on the trained models, which is one pass over the
# training set, forward only. GOAL {cite:p}`xuan2023dissecting` trains fifteen objectives three times on MS-COCO; its
# Tables 3 and 4 use VSE++ on a frozen or a fine-tuned network for photos. For these `icrlib.paper.experiment` has the
# time of one training at the full peak, from the network for photos alone. We divide it by the share. How many epochs
# GOAL trained is not printed; the count takes the default of VSE++'s code.

# %% tags=["hide-input"]
TABLES = {f"ECIR Table 1, {kind}": [work for row in rows.values() if of_kind(kind, row)
                                    for work in [run_operations(row, kind)] * row["seeds"]] for kind in KINDS}
OBJECTIVES = paper.table("goal/3")["objective"].nunique()
GOAL = {"r152": ("3", "frozen ResNet-152"), "vit": ("4", "frozen ViT"),
        "r152_ft": ("3", "fine-tuned ResNet-152"), "vit_ft": ("4", "fine-tuned ViT")}
for setting, (number, name) in GOAL.items():
    at_peak = paper.experiment(f"goal/{number}/{setting}/con x con")["needs"]["gpu_hours"] * 3600 * goal.PEAK
    TABLES[f"GOAL Table {number}, {name}"] = [at_peak] * (OBJECTIVES * paper.goal.RUNS)


def days(work, gpus):
    return " to ".join(f"{on_gpus([hours(one, part) for one in work], gpus) / 24:,.1f}" for part in (high, low))


paper.styled(pd.DataFrame([
    {"table": name.replace(" Table ", " "), "GPU hours": f"{hours(sum(work), high):,.0f} to {hours(sum(work), low):,.0f}"}
    | {f"days on {n}": days(work, n) for n in (1, 4, 16)} | {"trainings": len(work)} for name, work in TABLES.items()]),
             f"Whole tables on {gpu}, counted and not measured. GOAL's rows are lower bounds: only the network for "
             f"photos is in them, for {goal.EPOCHS} epochs. A fine-tuned training has its frozen one in it, and one "
             "epoch more.", name="tables")

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
def exhaustive(each, gpus):
    """The best of all ways to spread a few trainings."""
    return min(max(np.bincount(place, each, gpus)) for place in np.ndindex(*[gpus] * len(each)))


dice = np.random.default_rng(0)
for gpus in (1, 2, 3):
    for each in dice.integers(1, 20, (20, 5)):
        best, found = exhaustive(each, gpus), on_gpus(each, gpus)
        assert max(each.max(), each.sum() / gpus) <= best <= found
        assert found <= (4 / 3 - 1 / (3 * gpus)) * best + 1e-9  # Graham 1969
assert on_gpus([3, 2], 5) == 3 and on_gpus([2, 3, 4], 1) == 9
assert trainings == sum(len(TABLES[f"ECIR Table 1, {kind}"]) for kind in ("VSE++, fresh crops", "VSRN, regions")) == 80
assert OBJECTIVES == 15 and paper.goal.RUNS == 3 and "vse_inf" not in METHODS  # Table 5's method is not here

# %% [markdown]
# Where does it stop paying to add GPUs? Expect the days to halve with every doubling at first, and in the end a floor,
# which is the longest training of the table. GOAL's trainings are equally long, so they go in rounds, and its line falls
# in steps: 16 GPUs need three rounds for 45 trainings, and so do 20.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Days over the number of GPUs, both axes logarithmic, a band for each of four tables. ECIR's three fall along nearly straight lines and level off, at the length of the longest training of the table, before there is a GPU for each training. GOAL's falls as they do at first, then in steps, and levels off when each training has a GPU."}, "figure": {"name": "fig-gpus", "caption": "Days until a table is trained, over the number of GPUs. Bands: from the best to the worst assumed share of the peak; line: their geometric mean. Each levels off at its longest training."}}
COUNTS = [1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 64, 96, 128]
SHOWN = {"GOAL Table 3, frozen ResNet-152": "GOAL, frozen ResNet-152", "ECIR Table 1, VSRN, regions": "ECIR, VSRN",
         "ECIR Table 1, VSE++, fresh crops": "ECIR, VSE++ on crops",
         "ECIR Table 1, VSE++, cached features": "ECIR, VSE++ on cached features"}
fig, ax = plt.subplots(figsize=(6, 4.2))
shades = ["#a6761d", "#1b7f79", "#777777", "black"]
for (name, label), colour, mark in zip(SHOWN.items(), shades, "oP^D", strict=True):
    best, worst = ([on_gpus([hours(one, part) for one in TABLES[name]], n) / 24 for n in COUNTS] for part in (high, low))
    ax.fill_between(COUNTS, best, worst, color=colour, alpha=0.25, lw=0)
    ax.plot(COUNTS, np.sqrt(np.multiply(best, worst)), color=colour, marker=mark, ms=5, label=label)
    assert np.isclose(best[-1], hours(max(TABLES[name]), high) / 24)  # the floor of the text
ax.set(xscale="log", yscale="log", xlabel="GPUs", ylabel="days")
ax.set_xticks([1, 4, 16, 64, 128], ["1", "4", "16", "64", "128"])
ax.xaxis.minorticks_off()
ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
ax.legend(fontsize="small", loc="upper right");

# %% tags=["hide-input"]
regions = TABLES["ECIR Table 1, VSRN, regions"]
enough = next(n for n in range(1, 41) if on_gpus(regions, n) == max(regions))
coco_smooth = run_operations(rows["ecir/2.8"], "VSRN, regions")
assert max(regions) == coco_smooth and enough < len(regions)
assert all(on_gpus(TABLES[name], 32) == max(TABLES[name]) for name in SHOWN if name.startswith("ECIR"))
equal = TABLES["GOAL Table 3, frozen ResNet-152"]
assert on_gpus(equal, len(equal) - 1) > on_gpus(equal, len(equal)) == max(equal)  # the steps of GOAL's line
Markdown(f"VSRN's {len(regions)} trainings stop gaining at {enough} GPUs: by then they wait for the last SmoothAP "
         f"training on MS-COCO, {span(coco_smooth)}. More GPUs would not end the table sooner; fewer updates or faster "
         "GPUs would.")

# %% [markdown]
# ## And on one CPU core?
#
# Now the other end, and this one is measured. Below are real updates of the library on one thread, at the paper's size
# for VSE++ and at $d = 512$ for VSRN, with random features and random captions of about 14 words. Beside it: how fast
# the same core multiplies two large matrices, which is about as fast as it can. On a CPU the library computes no padding,
# so the operations are counted anew while it runs; the seconds are those that the core spent on it.

# %% tags=["hide-input"]
def live_update(method, d, batch):
    """(operations, seconds) of an update with Adam, the second of two; time that other programs took does not count."""
    model = models.build(method, 2048, 8_481, embed_dim=d)
    loss, own = NTXent(), torch.eye(batch, dtype=torch.bool)
    lengths = (torch.randn(batch) * 4 + 14).round().clamp(4, 40).long()
    numbers = torch.randint(4, 8_481, (batch, int(lengths.max())))
    features = torch.rand(batch, 2048) if method == "vse++" else torch.rand(batch, REGIONS, 2048)
    optimiser = torch.optim.Adam(model.parameters())

    def update():
        optimiser.zero_grad()
        loss(model(features, numbers, lengths), own).backward()
        optimiser.step()

    with FlopCounterMode(display=False) as counter:
        update()
    start = time.process_time()
    update()
    return counter.get_total_flops(), time.process_time() - start


# %% tags=["remove-cell"]
def plain_speed(n):
    """Operations a second of one large product."""
    a, b = torch.rand(n, n), torch.rand(n, n)
    torch.mm(a, b)
    start = time.process_time()
    for _ in range(3):
        torch.mm(a, b)
    return 3 * 2 * n**3 / (time.process_time() - start)


# %%
torch.set_num_threads(1)
core = plain_speed(256 if smoke else 2048)
live = {"vse++": live_update("vse++", 64 if smoke else 1024, 16 if smoke else 128),
        "vsrn": live_update("vsrn", 64 if smoke else 512, 4 if smoke else 32)}

# %% tags=["hide-input"]
speed = {method: work / seconds for method, (work, seconds) in live.items()}
size = {"vse++": "VSE++, d = 1024, 128 pairs", "vsrn": "VSRN, d = 512, 32 pairs"}
paper.styled(pd.DataFrame([{"update": size[method], "10⁹ operations": f"{work / 1e9:.0f}", "seconds": f"{seconds:.2f}",
                            "10⁹ a second": f"{work / seconds / 1e9:.0f}",
                            "of one large product": f"{work / seconds / core:.0%}"}
                           for method, (work, seconds) in live.items()]),
             f"Measured on one thread when this page was made; a large product ran at {core / 1e9:.0f} · 10⁹ "
             "operations a second.", name="cpu")

# %% tags=["hide-input"]
def on_the_core(kind):
    """Core-seconds of the trainings of ECIR's Table 1 at the speed of the live updates."""
    return sum(TABLES[f"ECIR Table 1, {kind}"]) / speed["vsrn" if kind.startswith("VSRN") else "vse++"]


one_vse = live["vse++"][1] * updates(rows["ecir/1.3"]) / 3600
years = {kind: on_the_core(kind) / 3600 / 24 / 365 for kind in KINDS}
table_1 = years["VSE++, fresh crops"] + years["VSRN, regions"]
factor = float(f"{table_1 * 365 * 24 / core_hours:.2g}")
Markdown(f"One training of VSE++ on Flickr30k's cached features would take about **{one_vse:,.0f} hours** of this "
         f"core. The whole of Table 1, with fresh crops and regions, would take about **{table_1:.1f} years**, in the "
         f"order of {factor:,.0f} times what all trainings of this book took. (Here captions are counted with their "
         "padding, VSRN with d = 2048 as if it ran at the speed measured with d = 512, and the ResNet at that of "
         "VSE++'s other products.)")

# %% [markdown]
# That is the answer to the question of the beginning, and the reason why this book trains on scenes, which were made so
# that a model of 128 dimensions can be compared with another in a minute.
#
# ## Memory and room for the runs
#
# On the GPU lie the weights, their gradients, Adam's two averages of them {cite:p}`kingma2015adam`, and whatever the
# forward pass keeps for the backward pass. The first four are 4 bytes for each parameter in single precision, so 16
# together. The last was counted above, on the meta device, as autograd keeps it; a GPU's own GRU keeps other things, but of
# the same order. On disk each run leaves a checkpoint, the best weights and the model.

# %% tags=["hide-input"]
in_images = {method: update_on_meta(method, d, captions=640) for method, (_, d) in SIZES.items()}
assert all(in_images[method][0] == total(formula(captions=640)) for method, (formula, _) in SIZES.items())
room, need = [], {}
for method, (_, kept, parameters) in on_meta.items():
    runs = sum(row["seeds"] for row in rows.values() if row["method"] == method)
    folder, more = parameters * 4 * 5 / 1e9, in_images[method][1]  # the first as `icrlib.planning.cost` estimates it
    need[method] = [(16 * parameters + extra) / 1e9 for extra in (kept, more)]
    room.append({"model": plots.label(method), "parameters": f"{parameters / 1e6:.0f} million",
                 "weights to Adam": f"{parameters * 16 / 1e9:.1f} GB", "kept, pairs": f"{kept / 1e9:.1f} GB",
                 "kept, images": f"{more / 1e9:.1f} GB", "disk a run": f"{folder:.1f} GB",
                 f"disk for {runs} runs": f"{runs * folder:,.0f} GB"})
assert len({tuple(line) for line in room}) == 1  # equally many runs of both
paper.styled(pd.DataFrame(room), "At the paper's sizes, batches of 128, a vocabulary of 8,481 words. Kept: for the "
             "backward pass.", name="memory")

# %% tags=["hide-input"]
assert max(need["vse++"]) < 3 and max(need["vsrn"]) < 12
Markdown(f"So with pairs and with SmoothAP's batches about {need['vse++'][0]:.1f} and {need['vse++'][1]:.1f} GB of GPU "
         f"memory for VSE++, and {need['vsrn'][0]:.1f} and {need['vsrn'][1]:.1f} GB for VSRN. These models need time "
         "rather than memory. What the loss itself compares is not in it, nor, with fresh crops, what the network for "
         "photos needs to run forward.")

# %% [markdown]
# ## The commands
#
# First look at what you have. Then let the grid say what it would do, before it does it:
#
# ```bash
# icr data check path/to/flickr30k   # counts, and all problems at once
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
# (SCAN's folder for COCO calls its test files `testall_…`; give them the names `test_ims.npy` and `test_caps.txt` first.)
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
longest_of = {data: {kind: max(run_operations(row, kind) for row in rows.values()
                               if of_kind(kind, row) and row["dataset"] == data) for kind in KINDS} for data in IMAGES}
if (peak, high, low) == (15.7, 0.5, 0.2):  # the times that RUNTIME= in the commands was written for
    assert all(hours(work, low) < 24 for data in IMAGES for kind, work in longest_of[data].items()
               if (data, kind) != ("coco", "VSRN, regions"))
    assert 24 < hours(longest_of["coco"]["VSRN, regions"], low) < 60
    assert all(24 < hours(max(TABLES[name]), low) < 60 for name in TABLES if name.startswith("GOAL"))

# %% [markdown]
# GOAL's Tables 5 and 6 need methods that this library does not have (VSE∞ with BERT, X-VLM).
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
# ## What we found

# %% tags=["hide-input"]
both = sum(TABLES["ECIR Table 1, VSE++, fresh crops"] + regions)
goal_frozen = sum(TABLES["GOAL Table 3, frozen ResNet-152"] + TABLES["GOAL Table 4, frozen ViT"])
both_16 = on_gpus(TABLES["ECIR Table 1, VSE++, fresh crops"] + regions, 16)
Markdown("\n".join([
    f"- **ECIR's Table 1 is {hours(both, high):,.0f} to {hours(both, low):,.0f} hours of one GPU** ({gpu}), "
    f"{hours(both_16, high) / 24:.1f} to {hours(both_16, low) / 24:.1f} days on sixteen. "
    f"VSRN's rows are {sum(regions) / both:.0%} of it.",
    f"- **GOAL's frozen rows cost more:** {hours(goal_frozen, high):,.0f} to {hours(goal_frozen, low):,.0f} hours for "
    "the networks for photos alone, since the photo of every caption passes through one again in every epoch.",
    f"- **Fresh crops are the price of VSE++.** On cached features an update is {total(crops()) / total(vse()):.0f} "
    "times less arithmetic; what that changes in the result is another question.",
    f"- **Memory is not the obstacle:** {need['vsrn'][0]:.0f} GB on the GPU for VSRN on pairs, and "
    f"{region_file['coco']:.0f} GiB of features that stay on disk.",
    f"- **All hours are counted.** A factor of {high / low:.1f} lies in the assumed share of the peak alone, and "
    "recurrences may widen it. One short run on your GPU is worth more than this page.",
]))

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
assert DECODING == 4 and rows["ecir/2.8"]["epochs"] == 5 * rows["ecir/2.5"]["epochs"] == 150
assert goal_frozen > both > sum(regions) > both / 2 and total(crops()) > 4 * total(vse())
assert 31 <= region_file["coco"] < 31.5 and core_hours > 0

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
# ````{exercise-start} What a faster GPU is worth
# :label: ex-faster-gpu
# ````
#
# You are offered a GPU that multiplies large matrices `times` as fast, but its recurrences, which wait for one another,
# run as fast as before. The recurrences take the share `f` of your *time* today. By which factor does an update get
# faster? `mine = lambda f, times: ...`.

# %%
mine = ...

# %% tags=["hide-input"]
def check_faster(value):
    """Passes for the ratio of old to new time where only a part is sped up (Amdahl 1967)."""
    if value is ...:
        return "your turn"
    for f, times in ((0.5, 2.0), (0.8, 10.0), (0.0, 3.0), (1.0, 7.0), (0.25, 4.0)):
        old, new = f + (1 - f), f + (1 - f) / times
        got = float(value(f, times))
        assert chapter.near(got, old / new), f"not yet: {f} and {times:g} make {old / new:.3f}, not {got:.3f}"
    return "right"


check_faster(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-faster-gpu
# :class: dropdown
# ````
#
# The new time is $f + (1 - f)/\text{times}$ of the old. With $f = 0.8$ not even an infinitely fast one gains more than a
# quarter: $1/0.8 = 1.25$.

# %%
check_faster(lambda f, times: 1 / (f + (1 - f) / times))

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
# by its `wall_seconds`. Then change `embed_dim`, and see whether the share rises with the size of the products. Before
# you start, write down what you expect for $d = 128$, and why.
#
# ````{exercise-end}
# ````
#
# Next: {doc}`goal-tables` goes through a paper's tables, row by row.
