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
# order. Below, a small one after a short training on this page. What does such a head buy?

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
from torch.utils.flop_counter import FlopCounterMode

import icrlib
from icrlib import chapter, evaluation, paper, plots
from icrlib.auxiliary.matching import Matching
from icrlib.data.text import tokenize
from icrlib.experiments import check, compare, runs

smoke = chapter.start(smoke)

# %% tags=["live"]
data = icrlib.load_dataset("scenes", val=100, test=300, regions=True, smoke=smoke)
run = icrlib.train(data, method="matching", loss="ntxent", embed_dim=64, word_dim=64,
                   lr=3e-3, batch_size=64, tau=0.1, learn_tau=False, denominator="all",
                   positives="diagonal", optimiser="adam", weight_decay=0.0,
                   updates=300, evaluate_every=300, smoke=smoke, progress=False)

# %% tags=["remove-cell"]
split, model = data.test, run.model
with torch.no_grad():
    images, captions = evaluation.embed(model, split)
    scores = model.similarity(images, captions)


def of_head(image, caption):
    """The head's logits (P, 2) of pairs."""
    with torch.no_grad():
        return model.match(images[torch.as_tensor(image)], captions[torch.as_tensor(caption)])


behind = (scores > scores[split.image_of, range(len(split.captions))]).sum(0)  # pictures before a caption's own
shown = next(c for c in split.twin_questions[0][split.twin_questions[3]].tolist() if smoke or 0 < behind[c] < 10)

# %% tags=["remove-input"] mystnb={"image": {"alt": "Four rows of five drawn pictures. The upper two rows are the ten that the towers propose for a caption, with its own picture framed. The lower two rows are the same ten in the order of the head."}, "figure": {"name": "fig-propose", "caption": "Ten of 300 pictures for one caption, after a short training on this page. Upper two rows: the towers' order; lower two: the same ten by the head. Framed: the picture that the caption was written for. It is the first caption about a swap twin for which the towers do not put that picture first."}}
ten = scores[:, shown].topk(10).indices
again = ten[of_head(ten, [shown] * 10)[:, 1].argsort(descending=True)]
fig, axes = plt.subplots(4, 5, figsize=(6.0, 5.6))
for n, (ax, row) in enumerate(zip(axes.flat, torch.cat([ten, again]).tolist(), strict=True)):
    ax.imshow(split.images[row], interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    ax.set_title(n % 10 + 1, fontsize=9, pad=2)
    for spine in ax.spines.values():
        spine.set(visible=row == split.image_of[shown], lw=4, color=plots.RIGHT)
for ax, text in ((axes[0, 0], "towers"), (axes[2, 0], "head")):
    ax.set_ylabel(text)
fig.suptitle(f"“{split.captions[shown]}”", fontsize=11);

# %% [markdown]
# **With the facts told apart, “a star left of a triangle, the first large, the second orange”, the head says in 70 % which of two pictures
# is meant that have exchanged something, and towers twice as wide in 64 %: +6.2 [+3.6, +8.8] points.** It is the shapes that it tells
# better. Recall does not follow: whether it rises or falls is undecided. And on plain captions the head buys nothing that shows.
#
# *You will be able to* say what a matching head sees that towers don't, and to read a recall after reranking with its ceiling · nine
# minutes to read · half a minute to run.
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
# *logits* of "no" and "yes". Here is the first block up to step 2, for “a diamond and a large striped orange hoop” and its own picture,
# and what comes of it in the end.

# %%
c, own, twin = (0, 0, 1) if smoke else (42, 8, 7)


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
    "the towers' score": scores[i, c], "logit of no": logits[0], "logit of yes": logits[1],
    "chance of yes": logits.softmax(0)[1]} for name, i in
    (("its own picture", own), ("the swap twin", twin)) for logits in of_head([i], [c])}).T
print(pair.astype(float).round(2).to_string())

# %% tags=["remove-input"] mystnb={"image": {"alt": "A picture with its numbered regions, and a table of squares: a row for each word of the caption, a column for each region; the darker, the more of that region the word takes."}, "figure": {"name": "fig-looks", "caption": "Left: the picture and its regions; some show a thing, others nothing much. Right: how much of each region each word takes in the first block (mean of four heads; “all” is the pooled vector)."}}
fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), width_ratios=[1, 1.7])
left.imshow(split.images[own], interpolation="nearest")
names = ["all"]
for (x0, y0, x1, y1), thing in zip(split.boxes[own], split.region_of[own].tolist(), strict=True):
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
# The towers fixed their vectors before they met. Here each word chooses its own regions, for this picture. In the swap twin the diamond
# and the hoop have exchanged their colours: a row can take the orange region as “orange”, but not with the same shape. How sure is the
# head, and how sure were the towers?
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

# %% tags=["live"]
rows = {}
for top in (1, 2, 5, 20):
    found = evaluation.rerank(model, split, scores, top, encoded=(images, captions))
    rows[top] = {"ceiling": found["ceiling"]["t2i"], "R@1": found["t2i"]["r1"],
                 "R@10": found["t2i"]["r10"], "pairs judged": top * len(split.captions)}
pd.DataFrame(rows).T.rename_axis("k").round(1).map("{:,g}".format)

# %% [markdown]
# (In percent, for captions as queries.) With $k = 1$ nothing can change. The ceiling then rises to nearly 100 %, and R@1 stays far below
# it. Each further candidate is one more chance to be wrong, for the head does not remember how far behind the towers put it. After so
# short a training it may even lose what the towers had.
#
# ## What the head buys
#
# The next trainings are longer, with 128 pairs a batch and 1,000 test pictures. `runs` says which are meant and reads our records of
# them (`missing="train"` makes what has none). A head makes the model larger, so its control is towers alone (maxima), *twice* as
# wide. First the rates, on validation data of three draws that no comparison uses:

# %%
LONGER = {"loss": "ntxent", "embed_dim": 64, "word_dim": 64, "drop_words": 0.0, "tau": 0.1,
          "denominator": "all", "optimiser": "adam", "weight_decay": 0.0, "updates": 1000}
BOTH = LONGER | {"method": "matching", "learn_tau": False, "positives": "diagonal"}
WIDE = LONGER | {"method": "vse_infty", "embed_dim": 128, "pool": "max",
                 "padding": "masked", "drop_regions": 0.0, "delete_words": 0.0}
tried = runs("scenes", seed=range(100, 103), lr=[1e-3, 3e-3, 1e-2], rerank=16, **BOTH)
print(pd.DataFrame({f"rate {lr:g}": {
    "validation rsum, towers": found.mean("chosen.val_rsum"),
    "validation rsum, head": found.mean("chosen.val_reranked_rsum")}
    for lr, found in tried.by("lr").items()}).round(1).to_string())

# %% [markdown]
# **A flaw of the training:** the weights that are kept are the best by the towers' recall; nothing looks at the head. At 0.01, where the
# towers do as well, the head says of every pair what it said at the start, “one in three”. So the head's rate is 0.003; that of the wide
# towers, 0.01, was searched on three draws, too.
#
# Captions are put in two ways: *plain*, each colour before its shape; and told *apart*, first the things and then what each of them is,
# “a star left of a triangle, the first large, the second orange” ({numref}`Chapter {number} <ch-reading>`). Who tells *swap twins* from
# each other, told apart, by what their two things have exchanged?

# %%
heads = {p: runs("scenes", lr=3e-3, rerank=128, phrasing=p, seed=range(5), **BOTH)
         for p in ("plain", "apart")}
wides = {p: runs("scenes", lr=1e-2, phrasing=p, seed=range(5), **WIDE) for p in heads}
head, wide = heads["apart"], wides["apart"]
TWINS = {"swap twins": "swap", "colours": "swap_colour", "shapes": "swap_shape",
         "places": "swap_cell"}


def last(of):
    def value(run):  # a number of a test, after the head where there is one
        test = run["test"].get("reranked", run["test"])
        return test["rsum"] if of == "rsum" else test["twins"][of]
    return value


def ahead(of, told="apart"):
    """The head less towers twice as wide, paired by draw."""
    factors = "system", "auxiliary", "objective", "rerank", "lr"
    return compare(heads[told], wides[told], factors, last(of))


pd.DataFrame({title: {
    "the head, %": head.mean(last(of)), "its towers, %": head.mean(f"test.twins.{of}"),
    "twice as wide, %": wide.mean(last(of)), "the head less these": str(ahead(of))}
    for title, of in TWINS.items()}).T.map(lambda x: x if type(x) is str else f"{x:.1f}")

# %% [markdown]
# **It is the shapes.** Of exchanged shapes the head tells +15.4 [+9.2, +21.5] points more than towers twice as wide, which tell 56 %; of
# exchanged colours, of which those tell three in four, +2.1 [−4.7, +8.8], undecided. A word's row can ask what “the second” is, take
# the region that fits, and bring it to the first row, which a maximum over rows does not. (Learned weights, VSE∞, tell 70 % of the shapes,
# with draws far apart: {numref}`Chapter {number} <ch-reading>`. Maxima of another size come there, too, with four times the updates:
# {numref}`Chapter {number} <ch-modular>`.) **Places neither tells**, although each region holds its box. In all, of swap twins the head answers 69.8 % and its own towers 59.8 %.
#
# **Recall does not follow.** The head less towers twice as wide is −14.6 [−38.9, +9.8] rsum, and less its own towers +0.4 [−21.6, +22.5]:
# on some draws reordering 128 candidates loses more than it wins. (Five draws; one rate.)
#
# **On plain captions the head buys nothing that shows.** There neighbours give the answer away, and of swap twins it tells 87.1 %, towers
# twice as wide 87.3 %: −0.2 [−3.2, +2.8]. Its rsum is −15.6 [−38.3, +7.2] from theirs, and +0.0 [−22.8, +22.8] from its own towers'.

# %% tags=["hide-input"]
# checked by machine
rise = {p: str(compare(one, 0.0, of=lambda run: last("rsum")(run) - run["test"]["rsum"])) for p, one in heads.items()}
check("of swap twins it tells 87.1 %, towers twice as wide 87.3 %: −0.2 [−3.2, +2.8].",
      *(f"{side['plain'].mean(last('swap')):.1f} %" for side in (heads, wides)), str(ahead("swap", "plain")),
      ahead("swap", "plain").word == "undecided")
check("Its rsum is −15.6 [−38.3, +7.2] from theirs, and +0.0 [−22.8, +22.8] from its own towers'.",
      str(ahead("rsum", "plain")), rise["plain"], ahead("rsum", "plain").word == "undecided")
check("the head says in 70 % which of two pictures is meant that have exchanged something, and towers twice as wide in "
      "64 %: +6.2 [+3.6, +8.8] points.", f"in {head.mean(last('swap')):.0f} %", f"in {wide.mean(last('swap')):.0f} %",
      str(ahead("swap")), ahead("swap").word == "ahead")
check("the head tells +15.4 [+9.2, +21.5] points more than towers twice as wide, which tell 56 %;",
      str(ahead("swap_shape")), ahead("swap_shape").word == "ahead", f"tell {wide.mean(last('swap_shape')):.0f} %")
check("of which those tell three in four, +2.1 [−4.7, +8.8], undecided.", str(ahead("swap_colour")),
      ahead("swap_colour").word == "undecided", abs(wide.mean(last("swap_colour")) - 75) < 4)
check("Places neither tells, although each region holds its box.", *(abs(one.mean(last("swap_cell")) - 50) < 8
                                                                  for one in (head, wide)))
check("of swap twins the head answers 69.8 % and its own towers 59.8 %.", f"answers {head.mean(last('swap')):.1f} %",
      f"towers {head.mean('test.twins.swap'):.1f} %")
check("The head less towers twice as wide is −14.6 [−38.9, +9.8] rsum, and less its own towers +0.4 [−21.6, "
      "+22.5]:", str(ahead("rsum")), rise["apart"],
      ahead("rsum").word == "undecided")

# %% [markdown]
# ## GOAL in the place of the contrastive term
#
# The head has a term of its own, so the towers' loss can be another. When GOAL fine-tunes X-VLM, it puts its gradient cir × sig-ms
# ({numref}`Chapter {number} <ch-goal>`) in the place of the contrastive term. What that changed in its Table 6, and beside it what a
# head changed here:

# %%
AT = [f"{side}_r{k}" for side in ("i2t", "t2i") for k in (1, 5, 10)]
changes = paper.goal.xvlm().set_index("metric")["difference"]
table = {f"{name}: cir × sig-ms less X-VLM": [changes[f"{key}_{m}"] for m in AT]
         for key, name in (("coco", "MS-COCO"), ("f30k", "Flickr30k"))}
table["Scenes told apart: the head less its towers"] = [
    head.mean(f"test.reranked.{m}") - head.mean(f"test.{m}")
    for m in (m.replace("_", ".") for m in AT)]
pd.DataFrame(table, index=[m.replace("_r", ", R@") for m in AT]).T.round(1) + 0.0  # no −0.0

# %% [markdown]
# (i2t: pictures are the queries; t2i: captions are.) Of the twelve printed measures 7 rise, 2 stay and 3 fall, by −0.3 to +1.0. No
# deviation is printed, and X-VLM was tried with no other objective. On VSE∞ (BUTD), where no head decides, the same table has +4.9 and
# +2.0 R@1 on MS-COCO. That is as one would expect: behind a head the towers only have to get the right one among the first 256.
#
# ## What it costs
#
# The towers' vectors are made once, and a product of 64 numbers compares a pair. The head reads each pair anew: with $k = 128$ our
# 1,000 pictures and 5,000 captions ask about 768,000 pairs, X-VLM on Flickr30k as many, and with 256 on MS-COCO 7,680,000.

# %%
with FlopCounterMode(display=False) as counter:
    of_head([own], [c])
product = 2 * 64  # of two vectors of 64 numbers
print(f"the head pays {counter.get_total_flops() / product:,.0f} times as much for a pair")

# %% tags=["hide-input"]
# checked by machine
assert smoke or (rows[20]["ceiling"] > 90 and rows[20]["R@1"] < rows[20]["ceiling"] - 20)
of_first = [f"{100 * x:.0f} %" for x in steps["chance"][1:3]]
check("For the first image the third caption is drawn in 67 % of the updates, the second in 33 %, and the fourth in 2 of "
      "1,000.", f"in {of_first[1]} of", f"in {of_first[0]}", f"in {1000 * steps['chance'][3]:.0f} of", also="1,000")
check("Of the twelve printed measures 7 rise, 2 stay and 3 fall, by −0.3 to +1.0.", f"{(changes > 0).sum()} rise",
      f"{(changes == 0).sum()} stay", f"{(changes < 0).sum()} fall", f"{changes.min():+.1f} to {changes.max():+.1f}")
butd = paper.table("goal/6").loc["butd/cir x sig-ms"], paper.table("goal/6").loc["butd"]
check("the same table has +4.9 and +2.0 R@1 on MS-COCO.",
      *(f"{butd[0][f'coco_{side}_r1'] - butd[1][f'coco_{side}_r1']:+.1f}" for side in ("i2t", "t2i")), also="1")
check("our 1,000 pictures and 5,000 captions ask about 768,000 pairs, X-VLM on Flickr30k as many, and with 256 on "
      "MS-COCO 7,680,000.",
      f"about {128 * 6000:,}", f"MS-COCO {256 * 30_000:,}", also="1,000 5,000 30 256")

# %% [markdown]
# ## What we found
#
# - **A head that sees words and regions together reads more than its towers keep.** With the facts told apart it answers 69.8 % of the
#   swap twins, its own towers 59.8 %: it tells whose shape is meant.
# - Recall does not follow: less towers twice as wide it is −14.6 [−38.9, +9.8] rsum, undecided.
# - On plain captions it buys nothing that shows; places neither tells. Reranking cannot pass its ceiling, and can make R@1 worse.

# %% tags=["hide-input"]
# checked by machine
check("it answers 69.8 % of the swap twins, its own towers 59.8 %: it tells whose shape is meant.",
      f"{head.mean(last('swap')):.1f} %", f"{head.mean('test.twins.swap'):.1f} %")
check("less towers twice as wide it is −14.6 [−38.9, +9.8] rsum, undecided.", str(ahead("rsum")))

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} The highest recall
# :label: ex-ceiling
# ````
#
# `ranks` holds, for each query, the place (from 1) in which the towers put its best right candidate. Write `mine(ranks, top, k)`: the
# highest R@k, in percent, that any head can reach which reorders the first `top`. The candidates behind them keep their places.

# %%
mine = ...

# %% tags=["hide-input"]
def check_ceiling(value):
    """Passes for the highest R@k after any reordering of the first `top`."""
    if value is ...:
        return "your turn"
    ranks = torch.tensor([1, 2, 4, 7, 30])
    got = float(value(ranks, 5, 1))
    assert abs(got - 60) < 1e-4, f"not yet: of five queries three have theirs among the first 5; got {got:g}"
    got = float(value(ranks, 5, 10))
    assert abs(got - 80) < 1e-4, f"not yet: the seventh place stays one, and R@10 counts it; got {got:g}"
    return "right"


check_ceiling(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-ceiling
# :class: dropdown
# ````
#
# A right candidate among the first `top` can be moved to any of their places, so to the first. One behind them stays where it is. What
# counts is whether its place is at most the larger of `top` and `k`.

# %%
check_ceiling(
    lambda ranks, top, k: 100 * sum(int(r) <= max(top, k) for r in ranks) / len(ranks))

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise} An open one
# :label: ex-head-only
#
# The head's logit orders the candidates alone; the towers' score is forgotten. Would a sum of both be better? With which weight, and on
# which data would you choose it? Write the comparison with `evaluation.rerank` and `model.match` before you look at a test number.
# ````
#
# Next: {numref}`Chapter {number} <ch-goal>` designs gradients that no loss has.
