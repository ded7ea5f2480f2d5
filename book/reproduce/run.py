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
# (ch-run)=
# # One experiment, yours to set
#
# How good is one configuration, and how sure can you be that you ran what you meant to?
#
# **You set parameters in one cell. The page trains with them, tests once, at the weights that validation chose, and prints every
# setting that the run had, those that you left open included. As it stands it is VSE++ with NT-Xent on drawn scenes. Its result is
# one sample, and a comparison takes several seeds of each side.**
#
# *You will be able to* run any experiment of this book, or a row of a published table on your own features · 5 minutes to read · half a
# minute to run. You need {doc}`../training/losses`.
#
# Run this notebook as it is, change its cell of parameters, or set them from the command line:
#
# ```bash
# papermill book/reproduce/run.ipynb out.ipynb -p loss smoothap -p seed 1
# papermill book/reproduce/run.ipynb out.ipynb \
#     -p dataset flickr8k -p features path/to/f8k_precomp \
#     -p loss ntxent -p embed_dim 256 -p lr 0.001 -p epochs 15 -p seed 1
# ```
#
# With `root` the photos themselves are read. By default a frozen network makes one vector of each photo before the
# training begins, and these vectors are kept. With `-p images published` nothing is kept: whenever a caption comes up,
# its photo is cropped anew and passes through the network again ({doc}`../search/photos`):
#
# ```bash
# papermill book/reproduce/run.ipynb out.ipynb \
#     -p dataset flickr30k -p root path/to/flickr30k -p images published
# ```
#
# papermill passes on every name that it is given, and warns of those that the cell below does not list. Some of them
# are settings of a run, which are then used; a misspelt name is used by nothing, and the run goes on without it.
# `icr run` tells the two apart: it refuses a name that nothing takes, and says beforehand what the run will take:
#
# ```bash
# icr run book/reproduce/run.ipynb -p loss=ntxnt  # did you mean 'ntxent'?
# icr run ecir/1.3 -p features=path/to/f30k --plan
# ```
#
# `ecir/1.3` is a row of ECIR's Table 1: the first number is the data, 1 for Flickr30k and 2 for MS-COCO, and the second
# is the row, 1 to 4 for VSE++ and 5 to 8 for VSRN. `icrlib.paper.experiments()` lists all names, also of LTD's rows
# (`ltd/1.1`, with `-p root=… -p images=published`). Rows that the library cannot train as they were are refused with the reason. Of GOAL's rows the paper
# states too little to run them as they were; {doc}`tables` comes closest.
#
# `loss` may also be `ntxent_hard`, `ntxent_sparse`, `dcl`, `ifm`, `siglip`, `circle`, `multi_similarity`,
# `binomial_deviance` or `alignment` ({doc}`../push/one-picture` has a card of each), or a loss of your own,
# `package.module:Name`; or one of GOAL's objectives, `goal:T x P`, with the blanks: T is `con`, `nca` or `cir`, and P is
# `con`, `lin`, `sig`, `lin-ms` or `sig-ms` ({doc}`../gradients/goal`).

# %% tags=["parameters"]
dataset: str = "scenes"  # scenes, rendered, stamps, flickr8k, flickr30k or coco
data_seed: int = None  # which draw of scenes; None: the seed, so that each run has its own
features: str = ""  # folder of pre-computed features; not for scenes
root: str = ""  # or folder of photos with dataset*.json; not for scenes
images: str = "cached"  # of photos: cached (features once) or published (fresh crops)
backbone: str = "resnet50"  # of photos: the network that sees them
regions: bool = False  # of scenes: features of boxes, as vsrn takes
method: str = "vse++"  # vse++, bow, vsrn, vse_infty, cmn, matching, ltd, sentence
loss: str = "ntxent"  # triplet, triplet_sh, ntxent, smoothap, or another named above
seed: int = 0  # one seed fixes initial weights and batches
embed_dim: int = None  # dimensions of the shared space
margin: float = None  # margin of the triplet losses
tau: float = None  # temperature of ntxent and smoothap, sharpness of goal objectives
updates: int = None  # number of updates
epochs: int = None  # or epochs of the sampler instead of updates
lr: float = None  # learning rate
lr_update: int = None  # every so many epochs the rate falls to a tenth; None: once, halfway
warmup: int = None  # first updates with all negatives (Triplet), against a collapse
batch_size: int = None  # pairs in a batch, or images
finetune_after: int = None  # updates after which the network inside the model learns, too
precision: str = None  # of encoders and scores; losses stay in single precision
device: str = None  # auto, cpu, cuda or cuda:1
out: str = ""  # run folder; a killed run goes on from there
record: str = ""  # where to write the record, once
smoke: bool = False  # a quick try: tiny data, a few updates, no result

# %% tags=["injected-parameters"]
# of the run on this page, a third of the default; papermill puts here what you set
updates = 1000

# %% tags=["colab-setup", "remove-cell"]
import importlib.util

if importlib.util.find_spec("icrlib") is None:
    raise ModuleNotFoundError(
        "icrlib is missing. In a clone, `make wheel` writes icrlib-0.1.0-py3-none-any.whl; "
        "upload it here, then run %pip install icrlib-0.1.0-py3-none-any.whl"
    )

# %% tags=["hide-input"]
import json

import pandas as pd
import torch
from IPython.display import Markdown

import icrlib
from icrlib import chapter, evaluation, plots

chapter.parameters(globals())
smoke = chapter.start(smoke)

# %% [markdown]
# ## The data

# %%
source = {"regions": True} if regions else {}
if dataset in icrlib.data.DRAWN:
    source["seed"] = seed if data_seed is None else data_seed
if features or dataset not in icrlib.data.DRAWN:
    source["features"] = features or None
if root:
    source |= {"root": root, "images": images, "backbone": backbone}
more = chapter.data_options(globals(), dataset)
data = icrlib.load_dataset(dataset, smoke=smoke, **source, **more)
splits = (data.train, data.val, data.test)
sizes = {s.name: {"images": len(s), "captions": len(s.captions)} for s in splits}
pd.DataFrame(sizes).T

# %% [markdown]
# ## The run
#
# Parameters left as `None` take the defaults of the data: for `scenes` a small model that trains in a minute or two, for
# the others what ECIR's code ran. `chapter.settings` collects those that are set, also settings that only
# `icr settings` lists and options of the data, such as `min_count`, the times that a word must occur to be known. With `out` set,
# checkpoints go there, and starting again continues.

# %%
chosen = chapter.settings(globals(), method, loss)
run = icrlib.train(data, method, loss, seed=seed, smoke=smoke,
                   out=out or None, record=record or None, **chosen)

# %% [markdown]
# ## What was run
#
# This is the configuration after all defaults were filled in. It is part of the record, with the hash of the data.
# `icr settings` explains the settings among its names. Of the others, `drops` are the updates at which the rate falls,
# `per_epoch` is the number of updates in an epoch, and `asked` repeats what was asked for beyond the defaults;
# `objective` is `con` where the loss has no second task beside it.

# %% tags=["hide-output"]
shown = {k: v for k, v in run.record["config"].items() if not k.startswith("data_")}
Markdown(f"```json\n{json.dumps(shown, indent=1)}\n```")

# %% tags=["hide-input"] mystnb={"image": {"alt": "Validation rsum after each evaluation of this run."}, "figure": {"name": "fig-run-curve", "caption": "Validation rsum during this run. The weights at the highest point are the ones that are tested."}}
plots.learning_curves([run.record]);

# %% tags=["hide-input"]
best, cost = run.record["chosen"], run.record
Markdown(f"Best validation rsum **{best['val_rsum']:.1f}** at update {best['update']:,}. The run took "
         f"{cost['seconds_per_epoch']:.1f} seconds an epoch on {cost['threads']} thread and at most "
         f"{cost['peak_memory_mb']:,} MB of memory.")

# %% [markdown]
# ## The result
#
# Test data was touched once, after the choice. Recalls are in percent: of how many queries a right answer is
# among the first 1, 5 or 10.

# %% tags=["full-width"]
tested = run.record["test"]["rsum"]
print(f"test rsum {tested:.1f} with the weights of update {best['update']:,} "
      f"(validation rsum {best['val_rsum']:.1f})")
if second := run.record["test"].get("reranked"):  # -p rerank=128, with a matching head
    print(evaluation.two_stages(second))
sides = {"image to text": "i2t", "text to image": "t2i"}
pd.DataFrame({name: run.record["test"][side] for name, side in sides.items()}).T.round(1)

# %% tags=["hide-input"]
looks = [entry["val"]["rsum"] for entry in run.record["history"]]
harder = " More candidates make a search harder, so its recalls are lower." if len(data.test) > len(data.val) else ""
Markdown(f"The two numbers are not of equally hard searches: a test caption has {len(data.test):,} images to choose "
         f"from, a validation caption {len(data.val):,}.{harder} That the best of {len(looks)} evaluations was taken "
         "flatters the validation rsum as well; for comparison, the last one, which was not chosen for its rsum, had "
         f"{looks[-1]:.1f}.")

# %% tags=["hide-input"]
twins = run.record["test"].get("twins")
Markdown("Twins are two pictures that differ in little: swap twins are described by the same words in another order, "
         "attribute twins differ in one property or one place. The right one of the two scores higher for "
         f"**{twins['swap']:.1f} %** of the captions on swap twins and **{twins['attribute']:.1f} %** on attribute "
         "twins (chance is 50 %)."
         if twins and None not in twins.values()
         else "There are no twins among these pictures, so nobody knows whether word order was used.")

# %% [markdown]
# ## What we found
#
# One run is one sample. Before you compare two configurations, run several seeds of each; `icrlib.compare` says what the
# differences can carry.
#
# ## Exercises
#
# ````{exercise-start} Which number may be reported?
# :label: ex-run-report
# ````
#
# A run was evaluated five times, on validation and (by curiosity) on test data:
# `val = [310, 352, 371, 366, 369]` and `test = [301, 349, 358, 361, 364]`. Which test rsum is reported? `mine = ...`

# %%
mine = ...

# %% tags=["hide-input"]
def check_report(value):
    """Passes for the test result of the weights that validation chose."""
    if value is ...:
        return "your turn"
    val, test = [310, 352, 371, 366, 369], [301, 349, 358, 361, 364]
    assert value != max(test), "not yet: the test data would have chosen the weights and then praised its own choice"
    assert value not in val, "not yet: validation chose, so it is the number that flatters"
    assert value == test[val.index(max(val))], "not yet: which weights are kept?"
    return "right"


check_report(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-run-report
# :class: dropdown
# ````
#
# Validation is best at the third evaluation, so the third weights are tested: 358. The later 364 exists only for one who
# looked.

# %%
check_report(358)

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} Epochs and updates
# :label: ex-run-updates
# ````
#
# `flickr8k` has 6,000 training photos with five captions each. For Triplet, Triplet-SH and NT-Xent an epoch is every
# *caption* once, with its photo, in batches of 128, the last one being smaller. How many updates are `-p epochs 15`? `mine = ...`

# %%
mine = ...

# %% tags=["hide-input"]
def check_updates(value):
    """Passes for the number of updates of fifteen epochs over all captions."""
    if value is ...:
        return "your turn"
    batches = -(-6000 * 5 // 128)
    assert value != 15 * -(-6000 // 128), "not yet: that would be one caption a photo and epoch"
    assert value != 15 * (batches - 1), "not yet: the last, smaller batch is a step, too"
    assert value == 15 * batches, f"not yet: {value:,} would be {value / 15:,.1f} batches an epoch"
    return "right"


check_updates(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-run-updates
# :class: dropdown
# ````
#
# 30,000 / 128 is 234.4, so 235 batches an epoch and 3,525 updates. Two settings with equal epochs and unequal batches have
# unequal numbers of steps: compare by updates.

# %%
check_updates(15 * 235)

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} Two configurations, three seeds
# :label: ex-run-seeds
# ````
#
# Configuration A has the test rsums `[402.1, 395.4, 409.0]` with the seeds 0, 1 and 2, B has `[398.0, 392.3, 404.1]`. On
# scenes a seed fixes the draw of the data, so the runs are paired. Give the mean of A less B, and the half width of its
# 95 % interval: `mine = (mean, half)`. Student's quantile for three pairs is 4.303.

# %%
mine = ...

# %% tags=["hide-input"]
def check_seeds(value):
    """Passes for the paired difference and the half width of its interval."""
    if value is ...:
        return "your turn"
    a, b = torch.tensor([402.1, 395.4, 409.0]), torch.tensor([398.0, 392.3, 404.1])
    mean, half = float((a - b).mean()), 4.303 * float((a - b).std()) / 3**0.5
    unpaired = 2.776 * float(((a.var() + b.var()) / 3) ** 0.5)
    assert value[0] > 0, "not yet: A less B"
    assert abs(value[1] - unpaired) > 0.1, "not yet: the draws differ more than A and B do; take differences first"
    assert max(abs(value[0] - mean), abs(value[1] - half)) < 0.02, f"not yet: ({mean:.2f}, …); n − 1 in the deviation"
    return "right"


check_seeds(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-run-seeds
# :class: dropdown
# ````
#
# The differences are 4.1, 3.1 and 4.9: their mean is 4.03 and their deviation 0.90, so ±2.24. The interval leaves out
# zero. As if unpaired, with four degrees of freedom and the quantile 2.776, it would be ±14.4 and say nothing, because
# the draws themselves lie up to fourteen points apart.

# %%
check_seeds((4.03, 2.24))

# %% [markdown]
# ````{solution-end}
# ````
#
# Next: {numref}`Chapter {number} <ch-settings>` tells which settings the runs of this book have, and how they were found.
