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
# Here is one small table that you can move: four pictures, four captions, sixteen scores. Row by row, a picture asks for
# its caption, and its own caption, the **match**, is framed. The last row is solved: 0.70 is far ahead. In the third row
# the order is wrong: a foreign caption scores 0.62, the match only 0.40. (No model gave these scores. They were chosen
# so that every row is a case of its own.)
#
# The small number under a score is what a loss does to it, its **weight**: the slope of the loss as this score grows.
# Training goes down the slope. So a score with a weight above zero (red) is pushed down, one with a weight below zero
# (blue) is pulled up, and with a score of weight zero the loss does nothing. The darker the colour, the harder the push or the pull. One
# would expect losses made for the same task to agree at least on the third row. Choose one loss after the other and
# see; drag a score to the side, or choose it and move the slider; or let the tour of five steps show you round.

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
import icrlib
from icrlib import chapter, plots
from icrlib.losses import NTXent, SmoothAP, Triplet, TripletSH
from icrlib.widgets import explorer

smoke = chapter.start(smoke)
scores, positives = plots.example()
losses = {"triplet": Triplet(), "triplet_sh": TripletSH(), "ntxent": NTXent(), "smoothap": SmoothAP()}
gallery = icrlib.load_dataset("scenes", seed=0, train=400).test  # small: only its test pictures are shown
OURS, THEIRS = [0, 5, 2, 9], [3, 29, 10, 47]  # pictures, and a caption of each

# %% tags=["hide-input"]
TOUR = [
    {"loss": "triplet", "selected": (2, 2), "text": "Triplet. The third picture asks for its caption, but caption 2 "
     "scores higher than the match, and caption 4 comes within 0.2 of it. Both are pushed down with weight 1, and the "
     "match is pulled up once for each."},
    {"loss": "triplet_sh", "selected": (2, 3), "text": "Triplet-SH looks at the highest wrong caption of a row and at no "
     "other. Caption 2 is pushed as before; caption 4, though as close as before, is left alone."},
    {"loss": "ntxent", "selected": (2, 1), "text": "NT-Xent pushes every wrong caption of every row, the more the higher "
     "it scores. Caption 2 in the third row gets the largest weight of the whole table."},
    {"loss": "smoothap", "selected": (2, 1), "text": "SmoothAP leaves caption 2 alone, the worst mistake of the table: "
     "it looks only where the match and another score nearly tie. It pushes caption 4 instead."},
    {"loss": "smoothap", "set": [(2, 1, 0.4)], "selected": (2, 1), "text": "When caption 2 has fallen to 0.40 and ties "
     "with the match, SmoothAP pushes it harder than any of the others do. Now move the scores yourself."},
]
explorer(scores, positives, losses, about="Four pictures, four captions, and the weights of four losses", tour=TOUR,
         captions=[gallery.captions[k] for k in THEIRS], pictures=gallery.images[OURS], selected=(2, 1),
         invitation="Four losses look at the same scores. Whom does each of them push?")

# %% [markdown]
# Below are the four at once, at the scores from which you started. All panels have one scale, so that they can be
# compared (a scale of roots, in which small weights can be seen: the colours are not quite those of the table above).
# These are the weights of pictures that look for captions. A training adds those of captions that look for pictures.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Five panels of four by four cells. The first holds the scores of four images with four captions, with the matching pairs framed on the diagonal. The other four hold the weights that Triplet, Triplet-SH, NT-Xent and SmoothAP put on these scores, in one colour scale. Triplet pushes every caption that scores above its row's match less 0.2, Triplet-SH one a row at most, NT-Xent every one, hardest the 0.62 of the third row. SmoothAP pushes only those within 0.05 of the match, and not the 0.62."}, "figure": {"name": "fig-one-picture", "caption": "One score matrix, four losses. Rows are images (the queries), columns captions, matching pairs are framed. Red cells are pushed down by a training step, blue cells pulled up; one colour scale, which shows the root of a weight so that small ones are seen. They disagree on the worst mistake, the 0.62: NT-Xent pushes it harder than any other wrong caption, SmoothAP leaves it alone."}}
plots.scores_and_weights(scores, positives, losses);

# %% [markdown]
# They disagree, and three chapters explain the four panels:
#
# - **Triplet** pushes every caption that comes closer to the match than a margin of 0.2, each with weight 1, and pulls
#   the match once for each of them. The solved row has no weight at all.
# - **Triplet-SH** does the same with the highest of these captions only.
# - **NT-Xent** pushes every wrong caption, the more the higher it scores. Its largest weights lie on the wrong order of
#   the third row.
# - **SmoothAP** looks only where the match and another score nearly tie. How nearly, is set by a temperature; at the
#   published one, 0.01, a gap of 0.05 is seen and one of 0.10, as in the first row, is not. That the third row has 0.62
#   above 0.40 is the worst mistake in this table, and SmoothAP ignores it, because a gap of 0.22 is too wide. It pushes
#   the 0.35 instead, which is behind the match already, but close; and with a smaller weight than the equally close one
#   of the second row, because in the third the match is already behind another caption, and lower places count less.
#
# How far a loss looks and how hard it pulls are choices that somebody made. This book takes them apart, counts what they
# touch, and trains with each.

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
weights = {name: loss.weights(scores, positives) for name, loss in losses.items()}
match = scores[positives][:, None]
inside = (match - scores < 0.2) & ~positives
assert float(scores[2, 1]) == 0.62 and float(scores[2, 2]) == 0.40  # the worst mistake: the order is wrong, by most
assert int((scores - match).argmax()) == 2 * 4 + 1
assert bool(((weights["triplet"] > 0) == inside).all()) and set(weights["triplet"][inside].tolist()) == {1.0}
assert bool((weights["triplet"][positives] == -inside.sum(1)).all()) and not inside[3].any()
assert bool(((weights["triplet_sh"] > 0).sum(1) == inside.any(1)).all())
assert bool((weights["triplet_sh"] > 0)[2, 1]) and bool((weights["ntxent"] != 0).all())
assert int(weights["ntxent"].argmax()) == 2 * 4 + 1 and int(weights["ntxent"].argmin()) == 2 * 4 + 2
seen = weights["smoothap"].abs() > 0.01  # SmoothAP: near ties only
assert bool(((seen & ~positives) == ((scores - match).abs() < 0.051) & ~positives).all()) and bool(seen[2, 3])
assert float(weights["smoothap"][2, 1]) < 1e-6 and losses["smoothap"].tau == 0.01 and not seen[0].any()
# The tour: who is pushed in the third row, by whom, and what happens at 0.40.
assert bool(inside[2, 1] and inside[2, 3]) and float(weights["triplet_sh"][2, 3]) == 0
nearer = scores.clone()
nearer[2, 1] = 0.4
pushes = {name: float(loss.weights(nearer, positives)[2, 1]) for name, loss in losses.items()}
assert max(pushes, key=pushes.get) == "smoothap"
# Each caption is true of its own picture and of no other picture of the gallery.
truth = gallery.relevance[THEIRS]
assert bool((truth.sum(1) == 1).all()) and bool(truth[range(4), OURS].all())

# %% [markdown]
# ## Three papers, three questions
#
# **Which loss?** {cite:t}`bleeker2022lessons` took two losses that had done well elsewhere and tried them on pictures
# and captions: NT-Xent, which comes from learning representations without labels
# {cite:p}`oord2018cpc,chen2020simclr`, and SmoothAP, which comes from retrieving images with images
# {cite:p}`brown2020smoothap`. In their tables an older loss with one hard negative, Triplet-SH
# {cite:p}`faghri2018vsepp`, stayed ahead of both. To explain why, they counted how many samples contribute to each
# gradient. We call this paper **ECIR**, after the conference where it appeared.
#
# **Which gradient?** {cite:t}`xuan2023dissecting` turned the question around. Why start from a loss at all? They wrote
# down the weights directly, three choices for the triplet times five for the pair. We call it **GOAL**.
#
# **Which information?** {cite:t}`bleeker2022keep` asked what a caption encoder throws away once it can tell its own
# picture from the others, and made it keep more, under a constraint. We call it **LTD**.
#
# This book implements what the three papers describe and runs it. Where what was printed and what was run differ, it
# shows both. Not all runs for LTD's tables are finished; its pages say which are missing.

# %% [markdown]
# ## What you will be able to do
#
# - Read a loss as a picture: who is pulled, who is pushed, how hard.
# - Derive that picture, and have the machine check your derivation.
# - Train a retrieval model on one core in about a minute, and know what its recall does *not* tell you.
# - Take a row of ECIR's or GOAL's tables and run it on your own features.
#
# ## The map
#
# | Chapter | The question it opens with | Time on one core |
# | --- | --- | --- |
# | {doc}`ten-minutes` | What did this book find, in five pictures? | under a minute |
# | {doc}`foundations/task` | What exactly is being measured, and what is not? | under a minute |
# | {doc}`foundations/encoders` | What happens between a picture and its score, step by step? | under a minute |
# | {doc}`foundations/regions` | Which of the things is red? What can a model do with regions? | about a minute |
# | {doc}`foundations/your-data` | I have photos and captions: how far is it to a search? | about a minute |
# | {doc}`foundations/albums` | Can an album be searched that nobody has described? | under a minute |
# | {doc}`foundations/pipelines` | Features once, or fresh crops each time: what does it change? | about three minutes |
# | {doc}`gradients/triplet` | One formula, a sum or a maximum: whom do they move? | under a minute |
# | {doc}`gradients/ntxent` | What does the temperature of a softmax do, and why is one printed loss negative? | under a minute |
# | {doc}`gradients/smoothap` | How does one differentiate a rank, and find a wrong sign? | under a minute |
# | {doc}`gradients/one-picture` | Twelve losses on the same scores: whom do they push, and who agrees with whom? | under a minute |
# | {doc}`lessons/training` | Same model, same data, four losses: what changes? | a minute and a half |
# | {doc}`lessons/reading` | When does a model begin to read its captions, and what does it pay? | a minute and a half |
# | {doc}`lessons/table1` | A table has a winner: is it one anywhere else, and what does its ± contain? | about a minute |
# | {doc}`lessons/cocos` | How many negatives does each loss listen to, and does it matter? | about a minute |
# | {doc}`lessons/audit` | What did the printed counts count, and which conclusions remain? | about a minute |
# | {doc}`lessons/beyond` | What do people train with today, and how do those losses differ from these? | about two minutes |
# | {doc}`lessons/which-loss` | Which loss, which model, for my data and my time? | about a minute |
# | {doc}`objectives/goal` | Can one train with a gradient that no loss has? | under a minute |
# | {doc}`objectives/fifteen` | How many numbers does it take to tell fifteen objectives apart? | under a minute |
# | {doc}`objectives/integrate` | Which designed gradients have a loss, and which have the one they are named after? | about a minute |
# | {doc}`objectives/grid` | Fifteen objectives, each at its own rate: which is best, and is it the paper's? | about a minute |
# | {doc}`shortcuts/contrastive` | A number is stamped on every pair: what is learned beside it? | a minute and a half |
# | {doc}`shortcuts/decoding` | What must a caption's vector still be able to say? | about a minute |
# | {doc}`shortcuts/constraint` | Why does a constraint switch itself off? | under a minute |
# | {doc}`shortcuts/tables` | Does keeping the caption's information pay? | about a minute |
# | {doc}`extend/own-loss` | How do I add a loss of my own, and trust it? | a minute and a half |
# | {doc}`reproduce/run` | How do I run one experiment, mine or a paper's? | about a minute and a half |
# | {doc}`reproduce/paper-scale` | What would the papers' own scale take, in hours and gigabytes? | about a minute |
# | {doc}`reproduce/goal-tables` | Do a paper's printed numbers say what its text says? | under a minute |
# | {doc}`appendix/errata` | Which printed equations differ from what was run? | under a minute |
# | {doc}`appendix/claims` | Which sentence of a paper came out here, on which data? | under a minute |
# | {doc}`appendix/notation` | What does this symbol mean, and where is it in the code? | nothing to run |
# | {doc}`appendix/glossary` | What does this word mean, and which chapter introduces it? | nothing to run |
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
# pages; the numbers of a result come from a cell, or from a record in `records/` that a real run wrote.
#
# You should know Python, a little PyTorch, and what a gradient is. You need no background in retrieval.

# %% [markdown]
# Next: {doc}`ten-minutes` for those who will not read more; or at once {doc}`foundations/task`, where you look at the data
# and compute the measures by hand.
