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
# (ch-scores)=
# # A table of scores, and how to judge it
#
# Which of these six pictures does the caption describe?

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
from icrlib import chapter, metrics, plots, widgets
from icrlib.experiments import check, live
from icrlib.losses import NTXent, SmoothAP, Triplet, TripletSH

smoke = chapter.start(smoke)
data = icrlib.load_dataset("scenes", smoke=smoke)

# %% tags=["remove-input"] mystnb={"image": {"alt": "Six small pictures of coloured shapes on plain backgrounds under one caption. More than one of them fits the caption."}, "figure": {"name": "fig-which", "caption": "One caption, six pictures from the test set. More than one of them fits."}}
split = data.test
true_of = split.relevance.sum(1)
# The first short caption that is true of its own picture and of a few others.
short = torch.tensor([len(caption.split()) <= 9 for caption in split.captions])
asked = int(((true_of >= 3) & (true_of <= 6) & short).nonzero()[0])
own_picture = int(split.image_of[asked])
others_true = [int(i) for i in split.relevance[asked].nonzero() if int(i) != own_picture][:2]
others_false = [i for i in range(len(split)) if not split.relevance[asked, i]][:3]
six = sorted([own_picture, *others_true, *others_false], key=lambda row: (row * 7919) % 101)
fig = plots.gallery(split.images[six], [f"picture {n}" for n in range(1, 7)], columns=3)
fig.suptitle(f"“{split.captions[asked]}”");

# %% [markdown]
# It is true of pictures 2, 3 and 6. A benchmark accepts picture 2 alone, because the caption was written for that one.
# **Over all test captions a judge who knows everything that is true, and guesses among the pictures that fit, finds the one that counts
# first for 64.3 of 100.** Between what is *true* and what is *counted* lies much of what one argues about in retrieval.
#
# *You will be able to* compute recall and average precision by hand, say what they do not see, and read a loss as weights on
# a table · eight minutes to read · ten seconds to run.
#
# ## Two encoders, one table
#
# An image encoder and a caption encoder map to unit vectors of one space. The **score** of an image $v$ and a caption $t$ is the
# inner product of their vectors, the cosine of the angle between them:
#
# $$ s_{vt} = \frac{f(v)}{\lVert f(v)\rVert} \cdot \frac{g(t)}{\lVert g(t)\rVert} \in [-1, 1]. $$
#
# All scores of a batch, or of a test set, form a matrix. Retrieval reads it in two directions:
#
# - **image to text (i2t)**: a row is a query; rank the captions in it.
# - **text to image (t2i)**: a column is a query; rank the images in it. We transpose, so that queries are always rows.
#
# For a query $q$ the candidates $\Omega$ split into positives $P$ (they belong to $q$) and negatives $N$ (all others).
# A bool matrix, `positives`, says which is which. A loss needs no other labels.
#
# Our pictures are drawn: `scenes` has 1,500 of them for training, 500 for validation and 1,000 for testing, five captions
# each. A caption mentions only some of what is there, as people do, and of each caption it is known of which pictures it is
# true.

# %% tags=["remove-input"] mystnb={"image": {"alt": "Six pictures of coloured shapes, each with one of its captions above it."}, "figure": {"name": "fig-scenes", "caption": "Six pictures of the training set, each with the first of its five captions."}}
of_six = [int((data.train.image_of == row).nonzero()[0]) for row in range(6)]
plots.gallery(data.train.images[:6], [data.train.captions[c] for c in of_six], columns=3, size=2.1);

# %% [markdown]
# ## Measuring by hand
#
# Three queries and five candidates. The relevant ones are marked in `positives`; the first query has two.

# %%
scores = torch.tensor([[0.9, 0.2, 0.7, 0.4, 0.1],
                       [0.3, 0.8, 0.5, 0.6, 0.2],
                       [0.5, 0.4, 0.1, 0.3, 0.6]]).double()
positives = torch.tensor([[1, 0, 0, 1, 0],
                          [0, 0, 1, 0, 0],
                          [0, 0, 0, 0, 1]]).bool()

# %% [markdown]
# The **rank** of a relevant candidate is its place in the list of candidates sorted by falling score. We count: one,
# plus everything that scores higher. (What ties should do is settled below.)

# %%
ranks = [sorted(1 + int((s > s[own]).sum()) for own in relevant.nonzero())
         for s, relevant in zip(scores, positives, strict=True)]
ranks

# %% [markdown]
# **R@k** asks: is there a relevant candidate among the first $k$? It is the percentage of queries for which the *best* rank is at most $k$.
# It does not care how many relevant candidates were found. **Average precision** looks at all of them. At the rank of the $l$-th one,
# precision is $l$ over that rank; AP is the mean of these. **R-precision** is the precision among the first $|P|$. Both are averaged over
# queries (*mAP* is the mean of AP). For the first query AP is (1/1 + 2/3)/2 = 0.83:

# %%
recall = {k: 100 * sum(min(r) <= k for r in ranks) / len(ranks) for k in (1, 5, 10)}
ap = [sum(place / rank for place, rank in enumerate(r, 1)) / len(r) for r in ranks]
r_precision = [sum(rank <= len(r) for rank in r) / len(r) for r in ranks]
recall, round(sum(ap) / 3, 4), sum(r_precision) / 3

# %% [markdown]
# The library gives the same numbers, for any mask and in chunks. From here on we use it.

# %% tags=["nbval-check-output"]
{key: round(value, 4) for key, value in metrics.from_scores(scores, positives).items()}

# %% [markdown]
# Papers add up six recalls, R@1, R@5 and R@10 of both directions, and call it **rsum** (600 at most). (`map_at_5` is the
# measure of ECIR's released code: a mean over the hits *found* in the first five, not another paper's mAP@5.)
#
# ## A model that says nothing
#
# What should a model get that gives every pair the same score? Candidates that tie have no order. Counting only those
# *strictly* higher puts every relevant candidate at rank 1.

# %%
nothing = torch.zeros(3, 5)
[metrics.from_scores(nothing, positives, ties=ties)["r1"]
 for ties in ("optimistic", "pessimistic")]

# %% [markdown]
# 100 with ties in its favour, 0 with ties against it. Our default counts ties against the model, so that one whose scores
# have collapsed to a single value ({numref}`Chapter {number} <ch-plateau>`) cannot look like a good one.
#
# ## What recall does not see
#
# Of how many test pictures is a test caption true? `split.relevance` knows. A judge who finds exactly these pictures can only guess
# which of them is the caption's own: with three that fit, one guess in three is right.

# %%
true_of = split.relevance.sum(1).double()  # pictures, for each caption
alone, ceiling = 100 * (true_of == 1).double().mean(), 100 * (1 / true_of).mean()
print(f"{alone:.0f} % are true of one picture; the judge's R@1 is {ceiling:.1f}")

# %% tags=["remove-input"] mystnb={"image": {"alt": "Histogram: for how many of the test pictures each test caption is true. About half of the captions fit exactly one picture, most others two to eight, a few more than thirty."}, "figure": {"name": "fig-false-negatives", "caption": "Most benchmarks count one picture per caption. Here the others that fit are known: each is a false negative. They are no rarity: more than half of the captions have one."}}
plt.figure(figsize=(6, 2.6))
bins = [edge for edge in (1, 2, 3, 5, 9, 17, 33, 65, 129, 257) if edge <= 2 * int(true_of.max())]
share = [100 * ((true_of >= lo) & (true_of < hi)).float().mean().item() for lo, hi in zip(bins, bins[1:], strict=False)]
names = [f"{lo}" if hi == lo + 1 else f"{lo}–{hi - 1}" for lo, hi in zip(bins, bins[1:], strict=False)]
plt.bar(names, share, color="#6b6b6b")
plt.gca().set(xlabel="test pictures that the caption is true of", ylabel="% of captions");

# %% [markdown]
# Less than half of the captions, 46 %, fit one picture alone. Now a model, the simplest there is: a **bag of words**, which adds up
# a vector for each word of the caption. It trains in a few seconds.

# %%
run = icrlib.train(data, "bow", updates=400, smoke=smoke, progress=False)
judged = {"own pairs": icrlib.evaluate(run.model, split),
          "all that is true": icrlib.evaluate(run.model, split, relevance=True)}
columns = {"r1": "R@1", "r10": "R@10", "r_precision": "R-prec.", "map": "mAP"}
table = pd.DataFrame({name: result["t2i"] for name, result in judged.items()}).T
table[list(columns)].rename(columns=columns).map("{:.2f}".format)

# %% tags=["hide-input"]
# checked by machine
if not smoke:
    fits = [place for place, row in enumerate(six, 1) if split.relevance[asked, row]]
    check("It is true of pictures 2, 3 and 6. A benchmark accepts picture 2 alone,", "{}, {} and {}".format(*fits),
          f"accepts picture {six.index(own_picture) + 1}")
    check("a judge who knows everything that is true, and guesses among the pictures that fit, finds the one that counts "
          "first for 64.3 of 100.", f"{ceiling:.1f}", also="100")
    check("Less than half of the captions, 46 %, fit one picture alone.", f"{alone:.0f} %")

# %% [markdown]
# Same model, same scores, two ideas of what is right (recalls in percent, the other two between 0 and 1). Here is the first
# caption whose own picture comes behind another of which it is just as true.

# %% tags=["remove-input"] mystnb={"image": {"alt": "The five test pictures that a bag-of-words model ranks first for one caption. Green frames mark pictures that the caption is true of, red ones those it is false of."}, "figure": {"name": "fig-top5", "caption": "The five pictures that the model puts first for one caption, framed by the truth. The benchmark accepts the caption's own picture only, and calls the first place wrong."}}
images, captions = icrlib.evaluation.embed(run.model, split)
found, five = (captions @ images.T).topk(5)  # scores and rows, captions x 5
best_true = split.relevance.gather(1, five)[:, 0] & (five[:, 0] != split.image_of)
cases = (best_true & (five == split.image_of[:, None]).any(1)).nonzero().flatten().tolist()
one = cases[0] if cases else asked
rows, true = five[one], split.relevance[one, five[one]].tolist()
titles = [f"{s:.2f}" + " (its own)" * int(row == split.image_of[one]) for s, row in zip(found[one], rows, strict=True)]
fig = plots.gallery(split.images[rows.numpy()], titles, frames=true, columns=3, size=2.15)
fig.suptitle(f"“{split.captions[one]}”", fontsize=12);

# %% [markdown]
# ## What a loss does with the table
#
# A loss reads a score matrix and answers with **weights**: $w_j = \partial \ell / \partial s_j$, one for each score. A training step
# pushes a score with a positive weight down and one with a negative weight up. All else, the encoders and their thousands of
# parameters, follows by the chain rule. The next part of the book is about these weights. Two things about them need no formula.
#
# **A loss pushes true pairs, too.** A training batch knows own pairs only: any other caption is a negative, also if it is true. We
# draw twenty batches of 128 training pairs and ask how much of each loss's push falls on captions that are true of the picture.
# Negatives that are true are rare; but a trained model scores them high, and losses look at what scores high.

# %%
def first_captions(split):  # of each picture
    return torch.cat([(split.image_of == n).nonzero()[0] for n in range(len(split))])


losses = [Triplet(), TripletSH(), NTXent(), SmoothAP()]
train, rng = data.train, torch.Generator().manual_seed(0)
pictures, texts = icrlib.evaluation.embed(run.model, train)
first_of, true_pairs = first_captions(train), 0
push = {loss.label: torch.zeros(2).double() for loss in losses}  # all, and on true captions
for _ in range(20):
    drawn = torch.randperm(len(train), generator=rng)[:128]
    batch = (pictures[drawn] @ texts[first_of[drawn]].T).double()
    diagonal = torch.eye(len(drawn), dtype=torch.bool)
    also_true = train.relevance[first_of[drawn]][:, drawn].T & ~diagonal
    true_pairs += int(also_true.sum())
    for loss in losses:
        weights = loss.weights(batch, diagonal).clamp(min=0)
        push[loss.label] += torch.stack([weights.sum(), weights[also_true].sum()])
rare = true_pairs / (20 * int((~diagonal).sum()))
on_true = {name: float(part / whole) for name, (whole, part) in push.items()}
pd.DataFrame({"of all negatives": rare} | on_true, index=["are true"]).map("{:.1%}".format)

# %% [markdown]
# Of the negatives 0.3 % are true of their picture, and they draw 3 to 10 % of the push. A loss that looks for hard negatives
# finds captions that are hard because they are true, and the batch cannot tell it so.
#
# **A loss spreads its push over few negatives or many**, and that can be counted. With $w_j$ the weights of the negatives of a
# query,
#
# $$ n_\text{eff} = \frac{(\sum_j w_j)^2}{\sum_j w_j^2} $$
#
# is the number of negatives that would carry the same weight if they shared it equally, the **effective number of negatives**.
# Three with the weights 1, 1 and 1 count as 9/3 = 3; with 2, 1 and 1 as 16/6 = 2.7; with 1, 0 and 0 as one.
#
# NT-Xent weighs a negative in proportion to $e^{s/\tau}$, with a temperature $\tau$. At a low temperature only the highest score
# of a row should be pushed, at a high one all alike. We take the first test picture and the five others whose captions score
# highest with it.

# %%
of_firsts = (images @ captions[first_captions(split)].T).double()
alike = of_firsts[0].argsort(descending=True).tolist()
rows = [0, *[other for other in alike if other != 0][:5]]
small, own_pairs = of_firsts[rows][:, rows], torch.eye(6, dtype=torch.bool)


def effective_negatives(loss):
    """Mean over the queries of the six pictures."""
    w = loss.weights(small, own_pairs).masked_fill(own_pairs, 0)
    return float((w.sum(1) ** 2 / (w**2).sum(1)).mean())


taus = [0.01, 0.03, 0.1, 0.3, 1.0]
{tau: round(effective_negatives(NTXent(tau=tau)), 2) for tau in taus}

# %% [markdown]
# As $\tau$ falls, NT-Xent looks at ever fewer negatives; as it rises, at all five alike. Move the slider to see whom it pushes
# (the right panel shows $\tau w$, because the weights themselves carry a factor $1/\tau$):

# %% tags=["hide-input"]
def draw_temperature(tau):
    fig, (left, right) = plt.subplots(1, 2, figsize=(7, 3.4))
    plots.matrix(left, small, own_pairs, title="scores s")
    weights = NTXent(tau=tau).weights(small, own_pairs)
    title = f"τ·w, τ = {tau}: n_eff {effective_negatives(NTXent(tau=tau)):.1f}"
    plots.matrix(right, weights * tau, own_pairs, title=title, weights=True, limit=1.0)
    return fig


widgets.live(draw_temperature, taus, label="τ")  # where somebody has the notebook open; the page has the next one
widgets.frames_slider(
    draw_temperature, taus, label="temperature τ", start=2,
    alt=lambda tau: f"Scores, and tau times the weights of NT-Xent at temperature {tau}. The five negatives of a row "
                    f"count like {effective_negatives(NTXent(tau=tau)):.1f} that share equally.")

# %% [markdown]
# ## What we found
#
# - Retrieval is ranking the rows of a table of scores; R@k looks at the best-placed positive alone.
# - How ties count decides whether a model that gives all pairs one score gets 100 or 0.
# - R@1 on own pairs has a low ceiling: a judge who knows all that is true reaches 64.3.
# - 0.3 % of a batch's negatives are true, and under a trained bag of words they draw 3 to 10 % of a loss's push.
# - How many negatives share a push is one number, n_eff: here 1.1 at τ = 0.01 and 4.9 of five at τ = 1.

# %% tags=["hide-input"]
# checked by machine
best, worst = (metrics.from_scores(nothing, positives, ties=ties)["r1"] for ties in ("optimistic", "pessimistic"))
check("whether a model that gives all pairs one score gets 100 or 0.", f"{best:.0f} or {worst:.0f}")
check("a judge who knows all that is true reaches 64.3.", live("64.3", ceiling))
push_of = live("3 to 10 %", 100 * min(on_true.values()), 100 * max(on_true.values()))
check("Of the negatives 0.3 % are true of their picture, and they draw 3 to 10 % of the push.",
      live("0.3 %", 100 * rare), push_of)
check("0.3 % of a batch's negatives are true, and under a trained bag of words they draw 3 to 10 % of a loss's push.",
      live("0.3 %", 100 * rare), push_of)
spread = [effective_negatives(NTXent(tau=tau)) for tau in taus]
check("here 1.1 at τ = 0.01 and 4.9 of five at τ = 1.", live("1.1", spread[0]), live("4.9", spread[-1]), also="0.01 1")

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} A hit rate is not a recall
# :label: ex-hit-rate
# ````
#
# In information retrieval, "recall at k" is the share of a query's relevant candidates found among the first $k$. Write
# it for the ranks of the first query above, at $k = 2$, and put it in place of the dots.

# %%
mine = ...

# %% tags=["hide-input"]
def check_recall(value):
    """Passes for the share of relevant candidates of query 0 found in its first two."""
    if value is ...:
        return "your turn"
    order = scores[0].argsort(descending=True)[:2]
    expected = float(positives[0, order].sum() / positives[0].sum())
    assert abs(value - expected) < 1e-9, f"not yet: got {value}; a hit rate is 1.0 here, a recall counts both positives"
    return "right"


check_recall(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-hit-rate
# :class: dropdown
# ````
#
# The first query has two relevant candidates, at ranks 1 and 3.

# %%
check_recall(sum(rank <= 2 for rank in ranks[0]) / len(ranks[0]))

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} What does guessing reach?
# :label: ex-guess
# ````
#
# A model that knows nothing is made to guess: it puts the $N$ candidates in a random order, and one of them is right. Which
# R@10, in percent, does it have on average? `mine = lambda N: ...`; mind small galleries.

# %%
mine = ...

# %% tags=["hide-input"]
def check_guess(value):
    """Passes for the expected R@10 of a random order of N candidates."""
    if value is ...:
        return "your turn"
    for N in (1000, 100, 10, 5):
        got, expected = float(value(N)), 100 * min(10, N) / N
        assert got <= 100, f"not yet: {got:.0f} % of the queries for N = {N}; nobody finds more than all"
        assert abs(got - expected) < 1e-9, f"not yet: for N = {N} you have {got:.3g} %, and not {expected:.3g} %"
    return "right"


check_guess(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-guess
# :class: dropdown
# ````
#
# The right one is equally likely at each of the $N$ places, and ten of them count, or all if there are fewer.

# %%
check_guess(lambda N: 100 * min(10, N) / N)

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise} An open one
# :label: ex-true-of-three
#
# A caption of a test set is true of three pictures of the gallery, and the files of the test set name one of them. A model finds the
# three at the ranks 1, 2 and 3. What can its R@1 be, and what does that say about the model? Suppose that you may spend an afternoon
# on the test set: what would you do with it, and which of the numbers of this page would you still print?
# ````
#
# Next: {numref}`Chapter {number} <ch-towers>` follows a picture and a caption to their score, step by step. In a hurry?
# {numref}`Chapter {number} <ch-triplet>` derives the first of these weights, line by line.
