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
# # Which caption belongs to which picture?
#
# Somebody types a sentence, and you must find the picture among thousands; or a sentence that is true of a picture. This is **image-caption
# retrieval**. A model gives each picture with each caption a score, and the highest wins. **What such a score can read in a caption
# depends on how it is built. Which loss wins depends on the budget, the constants, the model and the data.** All that a **loss** does is
# to answer one question:
#
# > *When a loss looks at a table of scores, which scores does it push, and how hard?*
#
# Here is one that you can move. A row is a picture that asks for its caption; its own, the **match**, is framed. In the third row the order
# is wrong: a foreign caption has 0.62, the match 0.40. The small number under a score is its **weight**: above zero (red) the score is
# pushed down, below zero (blue) pulled up. One would expect losses for the same task to agree on the third row. Choose one after the other.

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
gallery = icrlib.load_dataset("scenes", seed=0).test
OURS, THEIRS = [0, 5, 2, 9], [3, 29, 10, 47]  # pictures, and a caption of each

# %% tags=["remove-input"]
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
# **They disagree on the worst mistake.** NT-Xent pushes the 0.62 harder than any other wrong caption, Triplet as hard as one below the
# match, Triplet-SH pushes it alone in its row, and SmoothAP ignores it, because a gap of 0.22 is too wide for it. This book takes such
# choices apart, trains with each, and asks what the weights foretell.

# %% tags=["remove-input"]
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
# - **Which loss?** {cite:t}`bleeker2022lessons` tried two losses that had done well elsewhere, NT-Xent and SmoothAP, on pictures and
#   captions. An older one with one hard negative, Triplet-SH {cite:p}`faghri2018vsepp`, stayed ahead of both. We call the paper **ECIR**.
# - **Which gradient?** {cite:t}`xuan2023dissecting` left the loss out and wrote the weights down directly: **GOAL**.
# - **Which information?** {cite:t}`bleeker2022keep` asked what a caption encoder throws away once it can tell its own picture from
#   the others, and made it keep more, under a constraint: **LTD**.
#
# This book runs what they describe. Where what was printed and what was run differ, it shows both. And it asks a fourth question, **what
# reads?** Which models know which words belong together?
#
# ## Five ways through
#
# - **Ten minutes**: {numref}`Chapter {number} <ch-ten-minutes>` has what was found, a sentence a finding.
# - **You have photos**: {numref}`Chapter {number} <ch-photos>` goes from a folder to a search, with captions or without;
#   {numref}`Chapter {number} <ch-which-loss>` says what to train.
# - **You want to understand losses**: the parts *Whom does a loss push?* and *What training shows*, beginning with
#   {numref}`Chapter {number} <ch-triplet>`.
# - **You build models**: the part *Systems*, beginning with {numref}`Chapter {number} <ch-reading>`.
# - **You came for one of the papers**: {numref}`Chapter {number} <ch-losses>` (ECIR), {numref}`Chapter {number} <ch-goal>` (GOAL),
#   {numref}`Chapter {number} <ch-pays>` (LTD); {numref}`Chapter {number} <ch-claims>` goes through their claims one by one.
#
# ## What you need
#
# No data: the default data set draws its own pictures, **scenes** of coloured shapes, writes captions for them, and *knows* of which
# pictures each caption is true. The same code runs on Flickr8k, Flickr30k and MS-COCO. No GPU: a model trains on one core in one to
# five minutes. Some Python, a little PyTorch, and what a gradient is; no background in retrieval.
#
# These pages work offline. Every page is a notebook in `book/`: exercises are done in JupyterLab (`make lab`) or Colab. `make book`
# executes all of it; the numbers of a result come from a cell, or from a record in `records/` that a run wrote.

# %% [markdown]
# Next: {numref}`Chapter {number} <ch-ten-minutes>`.
