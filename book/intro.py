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
# # Which caption belongs to which picture?
#
# You have a thousand pictures and five thousand captions. Someone types a sentence, and you must find the picture.
# Someone shows a picture, and you must find a sentence that is true of it. This is **image-caption retrieval**.
#
# Every method in this book answers with one table of numbers: a score for each picture with each caption. Training
# changes the scores, and a **loss** decides how. So here is the question that the whole book turns around:
#
# > *When a loss looks at a table of scores, which scores does it push, and how hard?*
#
# The picture below is the answer for one small table. Each panel is a different loss looking at the *same* scores.
# They disagree.

# %% tags=["parameters", "remove-cell"]
smoke: bool = False  # a quick try: tiny data, a few updates, no result

# %% tags=["colab-setup", "remove-cell"]
import importlib.util

if importlib.util.find_spec("icrlib") is None:
    raise ModuleNotFoundError(
        "icrlib is missing. In a clone, `make wheel` writes icrlib-0.1.0-py3-none-any.whl; "
        "upload it here, then run %pip install icrlib-0.1.0-py3-none-any.whl"
    )

# %% tags=["hide-input"]
import icrlib
from icrlib import chapter, plots
from icrlib.losses import NTXent, SmoothAP, Triplet, TripletSH

smoke = chapter.start(smoke)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Five panels of four by four cells. The first holds the scores of four images with four captions, with the matching pairs framed on the diagonal. The other four hold the weights that Triplet, Triplet-SH, NT-Xent and SmoothAP put on these scores. Triplet pushes every close negative, Triplet-SH one a row at most, NT-Xent every cell, SmoothAP those that nearly tie with the match."}, "figure": {"name": "fig-one-picture", "caption": "One score matrix, four losses. Rows are images (the queries), columns captions, matching pairs are framed. Red cells are pushed down by a training step, blue cells pulled up."}}
scores, positives = plots.example()
losses = {"triplet": Triplet(), "triplet_sh": TripletSH(), "ntxent": NTXent(), "smoothap": SmoothAP()}
plots.scores_and_weights(scores, positives, losses);

# %% [markdown]
# ## Three papers, three questions
#
# **Which loss?** {cite:t}`bleeker2022lessons` took losses that work well for retrieving images with images (NT-Xent
# {cite:p}`oord2018cpc,chen2020simclr`, SmoothAP {cite:p}`brown2020smoothap`) and tried them on pictures and captions.
# An older loss with one hard negative {cite:p}`faghri2018vsepp` won. They counted how many samples contribute to each
# gradient to explain why. We call this paper **ECIR**.
#
# **Which gradient?** {cite:t}`xuan2023dissecting` turned the question around. Why start from a loss at all? They wrote
# down the weights directly, three choices for the triplet times five for the pair. We call it **GOAL**.
#
# **Which information?** {cite:t}`bleeker2022keep` asked what a caption encoder throws away once it can tell its own
# picture from the others, and made it keep more, under a constraint. We call it **LTD**.
#
# This book implements what they describe and runs it. Where what was printed and what was run differ, it shows both.

# %% [markdown]
# ## What you will be able to do
#
# - Read a loss as a picture: who is pulled, who is pushed, how hard.
# - Derive that picture, and have the machine check your derivation.
# - Train a retrieval model on one core in about a minute, and know what its recall does *not* tell you.
# - Take any row of a published table and run it on your own features.
#
# ## The map
#
# | Chapter | The question it opens with | Time on one core |
# | --- | --- | --- |
# | {doc}`foundations/task` | What exactly is being measured, and what is not? | under a minute |
# | {doc}`foundations/encoders` | What happens between a picture and its score, step by step? | under a minute |
# | {doc}`foundations/your-data` | I have photos and captions: how far is it to a search? | about a minute |
# | {doc}`foundations/pipelines` | Features once, or fresh crops each time: what does it change? | about three minutes |
# | {doc}`gradients/triplet` | One formula, a sum or a maximum: whom do they move? | under a minute |
# | {doc}`gradients/ntxent` | Why is one printed loss negative, and what does the temperature do? | under a minute |
# | {doc}`gradients/smoothap` | How do two wrong signs give one right formula? | under a minute |
# | {doc}`gradients/goal` | Can one train with a gradient that no loss has? | about two minutes |
# | {doc}`gradients/one-picture` | Eight losses, fifteen designed gradients: who agrees with whom? | under a minute |
# | {doc}`objectives/grid` | Fifteen objectives, trained alike: which is best, and is it the paper's? | under a minute |
# | {doc}`lessons/training` | Same model, same data, four losses: what changes? | about three minutes |
# | {doc}`extend/own-loss` | How do I add a loss of my own, and trust it? | about two minutes |
# | {doc}`reproduce/run` | How do I run one experiment, mine or a paper's? | about two minutes |
# | {doc}`appendix/errata` | Which printed equations differ from what was run? | under a minute |
# | {doc}`appendix/notation` | What does this symbol mean, and where is it in the code? | – |
#
# ## The data you need: none
#
# Photos with captions are large, and nobody knows everything that is true of a photo. So the default dataset of this
# book draws its own pictures, **scenes** of coloured shapes, and writes captions for them from a grammar. It is made
# in seconds on your machine. And for every caption it *knows* all the pictures that the caption is true of.
# The same code runs on Flickr8k, Flickr30k and MS-COCO features.
#
# ## How to use this book
#
# **Read it**: these pages need no network and no Python. **Run it**: every page is a notebook in `book/`. Open it in
# JupyterLab (`make lab`) or Colab. **Repeat it**: `make book` executes all chapters from scratch and builds these
# pages; every number comes from a cell or from a record in `records/` that a real run wrote.
#
# You should know Python, a little PyTorch, and what a gradient is. You need no background in retrieval.

# %% tags=["remove-cell"]
assert losses["triplet_sh"].weights(scores, positives).count_nonzero(1).max() <= 2
assert bool((losses["ntxent"].weights(scores, positives) != 0).all())
assert (losses["triplet"].weights(scores, positives).count_nonzero(1) > 2).any()
icrlib.__name__

# %% [markdown]
# Next: {doc}`foundations/task`, where you look at the data and compute the measures by hand.
