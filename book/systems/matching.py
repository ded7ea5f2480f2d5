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
# (ch-matching)=
# # Two towers propose, one head decides
#
# A tower writes its side down before it knows what it will be compared with. Two vectors are quickly compared, but what one of them
# has not kept no comparison brings back. X-VLM {cite:p}`zeng2022xvlm`, the best row of GOAL's last table, lets its towers only
# *propose*. Of each query's first candidates a **matching head** then sees all words and all regions together, and puts them in a new
# order. Below, for one caption: what our towers propose, and what the head makes of it. What does such a head buy?

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
import matplotlib.pyplot as plt
import pandas as pd
import torch

import icrlib
from icrlib import chapter, evaluation, paper, plots
from icrlib.auxiliary.matching import Matching
from icrlib.data.text import tokenize
from icrlib.experiments import check, compare, runs, search

smoke = chapter.start(smoke)
data = icrlib.load_dataset("scenes", val=200, test=300, regions=True, smoke=smoke)
split = data.test
run = icrlib.train(data, "matching", "ntxent", embed_dim=64, word_dim=64, lr=3e-3, updates=300, evaluate_every=150,
                   optimiser="adam", weight_decay=0.0, smoke=smoke, progress=False)
model = run.model.eval()
with torch.no_grad():
    images, captions = evaluation.embed(model, split)
    scores = model.similarity(images, captions)

# %% tags=["remove-cell"]
def of_head(image, caption):
    """The head's logits (P, 2) of pairs."""
    with torch.no_grad():
        return model.match(images[torch.as_tensor(image)], captions[torch.as_tensor(caption)])


def place(values, image):
    return int((values > values[image]).sum()) + 1


asked, own_of, twin_of, swap = split.twin_questions
for c, own, twin in zip(asked[swap].tolist(), own_of[swap].tolist(), twin_of[swap].tolist(), strict=True):
    if 1 < place(scores[:, c], own) <= 10 or smoke:
        break

# %% tags=["remove-input"] mystnb={"image": {"alt": "Four rows of five drawn pictures. The upper two rows are the ten that the towers propose for a caption, with its own picture framed, not in the first place. The lower two rows are the same ten in the order of the head."}, "figure": {"name": "fig-propose", "caption": "Ten of 300 pictures for one caption, after a minute of training on this page. Upper two rows: the towers' order; lower two: the same ten by the head. Framed: its own picture (green), and that one's swap twin (red), which the same words describe in another order. The caption is the first about a swap twin whose own picture the towers put in places 2 to 10."}}
ten = scores[:, c].topk(10).indices
again = ten[of_head(ten, [c] * 10)[:, 1].argsort(descending=True)]
fig, axes = plt.subplots(4, 5, figsize=(6.0, 5.6))
for n, (ax, row) in enumerate(zip(axes.flat, torch.cat([ten, again]).tolist(), strict=True)):
    ax.imshow(split.images[row], interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    ax.set_title(n % 10 + 1, fontsize=9, pad=2)
    for spine in ax.spines.values():
        spine.set(visible=row in (own, twin), lw=4, color=plots.RIGHT if row == own else plots.WRONG)
for ax, text in ((axes[0, 0], "towers"), (axes[2, 0], "head")):
    ax.set_ylabel(text)
fig.suptitle(f"“{split.captions[c]}”", fontsize=11);

# %% [markdown]
# **ANSWER**
#
# *You will be able to* say what a matching head sees that towers don't, and to read a recall after reranking with its ceiling · nine
# minutes to read · two minutes to run.
#
# ## The head, in steps
#
# The towers are those that pool maxima ({numref}`Chapter {number} <ch-pooling>`): an image has a row of numbers for each region, a
# caption one for each word, and their maxima, at length 1, are what the towers compare. The head gets everything: the pooled vector
# *in front* and all rows behind it. Two *blocks of fusion* follow. In each, every row of the caption
#
# 1. takes a mixture of the caption's rows (attention: a softmax over inner products says how much of which),
# 2. takes a mixture of the image's rows,
# 3. goes through two layers;
#
# each time what comes out is added to what went in. From what has become of the first row two more layers make two numbers, the
# *logits* of "no" and "yes". Here is the first block up to step 2, for the caption above and its own picture.

# %%
@torch.no_grad()
def looks(image, caption):
    """Which regions each row of the caption takes, (1 + words, 1 + regions)."""
    head, block = model.head, model.head.blocks[0]
    words = head.of_words(captions.values[[caption], :captions.lengths[caption]])
    regions = head.of_regions(images.values[[image]])
    none = [torch.zeros(1, 1, x.shape[1], dtype=torch.bool) for x in (words, regions)]
    words = block.norms[0](words + block.words(words, words, none[0]))
    return block.regions.shares(words, regions, none[1])[0][0].mean(0)


pair = pd.DataFrame({name: {
    "the towers' score": float(scores[i, c]), "logit of no": float(of_head([i], [c])[0, 0]),
    "logit of yes": float(of_head([i], [c])[0, 1]),
    "chance of yes": float(of_head([i], [c])[0].softmax(0)[1])}
    for name, i in (("its own picture", own), ("the swap twin", twin))}).T
pair.round(3)

# %% tags=["remove-input"] mystnb={"image": {"alt": "A picture with its numbered regions, and a table of squares: a row for each word of the caption, a column for each region; the darker, the more of that region the word takes."}, "figure": {"name": "fig-looks", "caption": "Left: the picture and its regions; some show a thing, others nothing much. Right: how much of each region each word takes in the first block (mean of four heads; “all” is the pooled vector)."}}
fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), width_ratios=[1, 1.7])
left.imshow(split.images[own], interpolation="nearest")
names = ["all"]
for n, ((x0, y0, x1, y1), thing) in enumerate(zip(split.boxes[own], split.region_of[own].tolist(), strict=True), 1):
    found = split.graphs[own].things[thing] if thing >= 0 else None
    left.add_patch(plt.Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False, lw=1.4 if found else 0.6,
                                 ec="black" if found else "grey", ls="-" if found else ":"))
    names.append(f"{found.colour} {found.shape}" if found else "–")
left.set(xticks=[], yticks=[])
table = looks(own, c)
right.imshow(table, cmap="Blues", vmin=0, aspect="auto")
right.set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize=9)
words = ["all", "(start)", *tokenize(split.captions[c]), "(end)"]
right.set_yticks(range(len(words)), words, fontsize=9);

# %% [markdown]
# TEXT on looks.
#
# ## Hard pairs
#
# What is the head trained on? A random wrong picture is wrong at a glance, and would teach it nothing. So wrong pairs are drawn
# from the batch by how likely the *towers* hold them to be right: a softmax of the scores at a temperature of 0.07, plus
# $10^{-5}$, and zero for what belongs together. Our example of four images (rows) and captions (columns):

# %%
S4, own4 = plots.example()
steps = {"score": S4[0], "softmax at 0.07": (S4[0] / 0.07).softmax(0)}
steps["own ones out"] = (steps["softmax at 0.07"] + 1e-5).masked_fill(own4[0], 0)
steps["chance"] = steps["own ones out"] / steps["own ones out"].sum()
assert torch.allclose(steps["chance"], Matching().chances(S4, own4)[0])
pd.DataFrame(steps, index=[f"caption {n}" for n in range(1, 5)]).T.round(4)

# %% [markdown]
# For the first image the third caption is drawn in 67 % of the updates, the second in 33 %, and the fourth in 2 of 1,000. Each batch
# of $B$ pairs gives $3B$ to the head: its own ones, a drawn image for each caption, a drawn caption for each image. The head learns by
# cross-entropy; no gradient goes through the draw. Towers and head are trained together, with NT-Xent on the scores plus the head's
# term.
#
# ## The ceiling
#
# The head asks about the first $k$ candidates only. What the towers did not put among them it cannot find: the share of queries with
# a right candidate among the first $k$ is a **ceiling** for each recall after reranking.

# %%
rows = {}
for top in (1, 2, 5, 10, 30):
    found = evaluation.rerank(model, split, scores, top, encoded=(images, captions))
    rows[top] = {"ceiling": found["ceiling"]["t2i"], "R@1": found["t2i"]["r1"],
                 "R@10": found["t2i"]["r10"], "pairs judged": top * len(split.captions)}
pd.DataFrame(rows).T.rename_axis("k").round(1)

# %% [markdown]
# ## What the head buys
#
# Each run draws its own *scenes*, 1,500 training and 1,000 test pictures such as these with five captions each. `runs` says which
# trainings are meant and reads our records of them (`missing="train"` makes what has none). First the learning rate, on validation data of three
# draws that no comparison uses, for the whole system and for its towers alone:

# %%
SIZES = {"embed_dim": 64, "word_dim": 64, "drop_words": 0.0, "optimiser": "adam",
         "weight_decay": 0.0, "updates": 1000}
BOTH = SIZES | {"method": "matching", "learn_tau": False, "positives": "diagonal"}
TOWERS = SIZES | {"method": "vse_infty", "pool": "max", "padding": "masked",
                  "drop_regions": 0.0, "delete_words": 0.0}
TERM = {"tau": 0.1, "denominator": "all"}  # NT-Xent as on the other pages
rates = search(
    runs("scenes", lr=[1e-3, 3e-3, 1e-2], seed=range(100, 103), rerank=16, **BOTH | TERM),
    runs("scenes", lr=[3e-3, 1e-2, 3e-2], seed=range(100, 103), **TOWERS | TERM))
rates.table.round(1)

# %%
systems = {}
for phrasing in ("plain", "apart"):
    five = {"seed": range(5), "phrasing": phrasing}
    systems[phrasing] = {
        "alone": runs("scenes", lr=1e-2, **TOWERS | TERM | five),
        "both": runs("scenes", lr=3e-3, rerank=128, **BOTH | TERM | five)}
