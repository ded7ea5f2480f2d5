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
# # The task: a table of scores, and how to judge it
#
# **What you will be able to do:** compute R@k, mAP and R-precision by hand; say what they do not see; and read a score
# matrix together with the weights that a loss puts on it. **Time:** under a minute on one core. **You need:** nothing
# beyond {doc}`../intro`.

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
import matplotlib.pyplot as plt
import pandas as pd
import torch
from IPython.display import Markdown

import icrlib
from icrlib import chapter, metrics, plots
from icrlib.losses import NTXent, SmoothAP, Triplet, TripletSH
from icrlib.widgets import frames_slider, live

smoke = chapter.start(smoke)
data = icrlib.load_dataset("scenes", smoke=smoke)

# %% [markdown]
# Look at the six pictures below and at the caption above them. Which picture does it describe?

# %% tags=["hide-input"] mystnb={"image": {"alt": "Six small pictures of coloured shapes on plain backgrounds under one caption. More than one of them fits the caption."}, "figure": {"name": "fig-which", "caption": "One caption, six pictures from the test set. More than one of them fits."}}
split = data.test
true_of = split.relevance.sum(1)
# The first short caption that is true of its own picture and of a few others.
short = torch.tensor([len(caption.split()) <= 9 for caption in split.captions])
caption = int(((true_of >= 3) & (true_of <= 6) & short).nonzero()[0])
own = int(split.image_of[caption])
others_true = [int(i) for i in split.relevance[caption].nonzero() if int(i) != own][:2]
others_false = [i for i in range(len(split)) if not split.relevance[caption, i]][:3]
shown = sorted([own, *others_true, *others_false], key=lambda row: (row * 7919) % 101)
assert split.relevance[caption, shown].sum() > 1  # more than one fits
fig = plots.gallery(split.images[shown], [f"picture {n}" for n in range(1, 7)], columns=3)
fig.suptitle(f"“{split.captions[caption]}”");

# %% tags=["hide-input"]
fits = [n for n, row in enumerate(shown, 1) if split.relevance[caption, row]]
counted = shown.index(own) + 1
Markdown(f"The caption is true of pictures **{', '.join(map(str, fits))}**. The benchmark accepts picture "
         f"**{counted}** alone, because the caption was written for that one.")

# %% [markdown]
# That gap between *true* and *counted* runs through this chapter. First, the task itself.
#
# ## Two encoders, one table
#
# An image encoder and a caption encoder map to unit vectors of one space. The **score** of an image $v$ and a caption
# $t$ is the inner product of their vectors, the cosine of the angle between them:
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

# %% [markdown]
# ## The pictures and their captions
#
# `scenes` has five captions for each picture. Each mentions only some of what is there, as people do.

# %% tags=["hide-input"]
Markdown(f"{len(data.train):,} training images, {len(data.val):,} for validation, {len(data.test):,} for testing; "
         f"{len(split.captions) / len(split):.0f} captions each, {len(data.vocabulary)} words in the vocabulary.")

# %% tags=["hide-input"] mystnb={"image": {"alt": "Six pictures of coloured shapes, each with one of its captions above it."}, "figure": {"name": "fig-scenes", "caption": "Six pictures of the training set, each with the first of its five captions."}}
first = [int((data.train.image_of == row).nonzero()[0]) for row in range(6)]
plots.gallery(data.train.images[:6], [data.train.captions[c] for c in first], columns=3, size=2.1);

# %% [markdown]
# ## Measuring by hand
#
# Three queries and five candidates. The relevant ones are marked in `positives`; the first query has two.

# %%
scores = torch.tensor([[0.9, 0.2, 0.7, 0.4, 0.1],
                       [0.3, 0.8, 0.5, 0.6, 0.2],
                       [0.5, 0.4, 0.1, 0.3, 0.6]], dtype=torch.float64)
positives = torch.tensor([[1, 0, 0, 1, 0],
                          [0, 0, 1, 0, 0],
                          [0, 0, 0, 0, 1]]).bool()

# %% [markdown]
# The **rank** of a relevant candidate is its place in the list of candidates sorted by falling score. We count: one,
# plus everything that scores higher. (What ties should do is settled below.)

# %%
ranks = []
for s, relevant in zip(scores.tolist(), positives.tolist(), strict=True):
    own = [s[i] for i, yes in enumerate(relevant) if yes]
    ranks.append(sorted(1 + sum(other > mine for other in s) for mine in own))
ranks

# %% [markdown]
# **R@k** asks: is there a relevant candidate among the first $k$? It is the percentage of queries for which the *best*
# rank is at most $k$. It does not care how many relevant candidates were found.

# %%
recall = {k: 100 * sum(min(r) <= k for r in ranks) / len(ranks) for k in (1, 5, 10)}
recall

# %% [markdown]
# **Average precision** looks at all relevant candidates. At the rank of the $l$-th one, precision is $l$ over that
# rank; AP is the mean of these. **R-precision** is the precision among the first $|P|$. Both are averaged over queries.

# %%
ap = [sum(place / rank for place, rank in enumerate(r, 1)) / len(r) for r in ranks]
r_precision = [sum(rank <= len(r) for rank in r) / len(r) for r in ranks]
mean_ap, mean_rp = sum(ap) / len(ap), sum(r_precision) / len(r_precision)
round(mean_ap, 4), round(mean_rp, 4)

# %% [markdown]
# The library gives the same numbers, for any mask and in chunks, and three more: the mean of the three recalls, the median
# of the best ranks, and `map_at_5`, which is explained below. From here on we use it.

# %% tags=["nbval-check-output"]
result = metrics.from_scores(scores, positives)
assert abs(result["r1"] - recall[1]) < 1e-9 and abs(result["r5"] - recall[5]) < 1e-9
assert abs(result["map"] - mean_ap) < 1e-12 and abs(result["r_precision"] - mean_rp) < 1e-12
{key: round(value, 4) for key, value in result.items()}

# %% [markdown]
# Papers add up six recalls, R@1, R@5 and R@10 of both directions, and call it **rsum** (600 at most). `map_at_5`
# needs care, because it follows the released code of ECIR. It averages over the hits *found* in the first five, so one
# hit at rank 1 gives 1.0 even if four other captions were missed. Never compare it with another paper's mAP@5.

# %% [markdown]
# ## A model that says nothing
#
# What should a model get that gives every pair the same score? Candidates that tie have no order. Counting only those
# *strictly* higher puts every relevant candidate at rank 1.

# %% tags=["hide-input"]
nothing = torch.zeros(3, 5)
optimistic = metrics.from_scores(nothing, positives, ties="optimistic")["r1"]
pessimistic = metrics.from_scores(nothing, positives)["r1"]
Markdown(f"R@1 with ties in our favour: **{optimistic:.0f}**. With ties against us: **{pessimistic:.0f}**.")

# %% [markdown]
# Our default counts ties against the model, so that equal scores earn nothing: not 100, and not what a random order would
# get either, which exercise 3 works out. A model whose scores have collapsed to one value, as you will see in
# {doc}`../lessons/training`, then cannot look like a good one.

# %% [markdown]
# ## What recall does not see
#
# For `scenes` the truth of every caption for every picture is known: `split.relevance`. How many pictures does a
# caption fit?

# %% tags=["hide-input"] mystnb={"image": {"alt": "Histogram: for how many of the test pictures each test caption is true. About half of the captions fit exactly one picture, most others two to eight, a few more than thirty."}, "figure": {"name": "fig-false-negatives", "caption": "Most benchmarks count one picture per caption. Here the others that fit are known: each is a false negative. They are no rarity: more than half of the captions have one."}}
plt.figure(figsize=(6, 3))
bins = [edge for edge in (1, 2, 3, 5, 9, 17, 33, 65, 129, 257) if edge <= 2 * int(true_of.max())]
share = [100 * ((true_of >= lo) & (true_of < hi)).float().mean().item() for lo, hi in zip(bins, bins[1:], strict=False)]
names = [f"{lo}" if hi == lo + 1 else f"{lo}–{hi - 1}" for lo, hi in zip(bins, bins[1:], strict=False)]
plt.bar(names, share, color="#6b6b6b")
plt.xlabel("test pictures that the caption is true of")
plt.ylabel("% of captions");

# %% tags=["hide-input"]
alone = 100 * (true_of == 1).float().mean()
assert smoke or (45 < alone < 60 and ((true_of > 1) & (true_of < 9)).sum() > (true_of > 8).sum() and true_of.max() > 30)
best_r1 = 100 * (1 / true_of.double()).mean()
Markdown(f"Only **{alone:.0f} %** of the captions fit one picture alone. A judge who knows all that is true, but cannot "
         "tell for which of the fitting pictures a caption was written, has to guess among them. On own pairs such a "
         f"judge reaches a text-to-image R@1 of **{best_r1:.1f}** on average. (A model can get further only if a caption "
         "hints at its own picture by more than its truth, for instance because the picture shows nothing else.)")

# %% [markdown]
# Let us see it on a model. We train the simplest one there is: a bag of words. It takes a few seconds.

# %%
run = icrlib.train(data, "bow", updates=400, smoke=smoke, progress=False)
counted = icrlib.evaluate(run.model, split)
true = icrlib.evaluate(run.model, split, relevance=True)
rows = {"own pairs": counted, "all that is true": true}
columns = {"r1": "R@1", "r10": "R@10", "r_precision": "R-prec.", "map": "mAP"}
table = pd.DataFrame({name: r["t2i"] for name, r in rows.items()}).T
table[list(columns)].rename(columns=columns).map("{:.2f}".format)

# %% [markdown]
# (Recalls are in percent, the two others between 0 and 1.) Same model, same scores, two ideas of what is right, because a recall
# on own pairs counts some right answers as wrong. Here is such a case, the first caption of the test set whose own picture
# comes behind another one of which it is just as true. The frames say what is true.

# %% tags=["hide-input"] mystnb={"image": {"alt": "The five test pictures that a bag-of-words model ranks first for one caption. Green frames mark pictures that the caption is true of, red ones those it is false of."}, "figure": {"name": "fig-top5", "caption": "The five pictures that the model puts first for one caption, framed by the truth. The benchmark accepts the caption's own picture only, and calls the first place wrong."}}
images, captions = icrlib.evaluation.embed(run.model, split)
five = (captions @ images.T).topk(5).indices  # captions x 5
best_true = split.relevance.gather(1, five)[:, 0] & (five[:, 0] != split.image_of)
cases = (best_true & (five == split.image_of[:, None]).any(1)).nonzero().flatten().tolist()
assert smoke or cases
shown = cases[0] if cases else caption
plots.top_k(split, shown, images @ captions[shown]);

# %% [markdown]
# ## The picture that we come back to
#
# A loss reads a score matrix and answers with **weights**: $w_j = \partial \ell / \partial s_j$, one for each score. A
# training step lowers a score with a positive weight and raises one with a negative weight. All else, the encoders and
# their thousands of parameters, follows from these numbers by the chain rule.
#
# To see four losses disagree we need pictures that are easily confused. Between six pictures taken at random most scores
# are low, and the losses with a margin have nothing to do in most rows. So we take one test picture and the five others
# whose captions our model finds most like it. (`images` and `captions` are the unit vectors of the test set.)

# %%
losses = {"triplet": Triplet(), "triplet_sh": TripletSH(),
          "ntxent": NTXent(), "smoothap": SmoothAP()}
own_pairs = torch.eye(6, dtype=torch.bool)
first = torch.tensor(
    [int((split.image_of == row).nonzero()[0]) for row in range(len(split))])
scores_of_firsts = (images @ captions[first].T).double()


def crowd(row):
    """A picture, and the five others whose first captions score highest with it."""
    by_score = scores_of_firsts[row].argsort(descending=True).tolist()
    return [row, *[other for other in by_score if other != row][:5]]


# %% tags=["hide-input"]
def busy(groups):
    """In how many percent of their rows Triplet has a weight."""
    weights = [losses["triplet"].weights(scores_of_firsts[g][:, g], own_pairs) for g in groups]
    return 100 * float(torch.stack([(w > 0).any(1).float().mean() for w in weights]).mean())


rng = torch.Generator().manual_seed(0)
at_random = busy([torch.randperm(len(split), generator=rng)[:6] for _ in range(200)])
confused = busy([crowd(row) for row in range(min(200, len(split)))])
assert smoke or at_random < 30 < 70 < confused
Markdown(f"In 200 groups taken at random Triplet acts in {at_random:.0f} % of the rows; in groups of pictures that are "
         f"easily confused, around each of the first 200 test pictures, in {confused:.0f} %.")

# %% [markdown]
# There is such a group for every test picture. We pick one on which the losses disagree: the first in which Triplet pushes
# several captions in one row and none in another, while SmoothAP rests in a row where Triplet acts.


# %% tags=["hide-input"] mystnb={"image": {"alt": "Six similar pictures of coloured shapes, each with its caption above it."}, "figure": {"name": "fig-crowd", "caption": "The six pictures whose scores follow, each with its first caption. Pictures 2 to 6 are those whose first captions the model scores highest with picture 1."}}
def pushed(rows, name, least=0.0):
    """How many captions each of the six pictures pushes."""
    return (losses[name].weights(scores_of_firsts[rows][:, rows], own_pairs) > least).sum(1)


def telling(rows):
    """Triplet pushes several in one row and none in another; SmoothAP rests in a row where Triplet acts."""
    several, near = pushed(rows, "triplet"), pushed(rows, "smoothap", 0.05)
    return bool((several > 1).any() and (several == 0).any() and ((near == 0) & (several > 0)).any())


found = [rows for rows in map(crowd, range(len(split))) if telling(rows)]
assert smoke or found
rows = found[0] if found else crowd(0)
small = scores_of_firsts[rows][:, rows]
titles = [f"{n}: {split.captions[c]}" for n, c in enumerate(first[rows], 1)]
plots.gallery(split.images[rows], titles, columns=3, size=2.1);

# %% [markdown]
# Now the scores of these six with the six captions, and what each loss would do about them. One would expect little to be
# done where the own caption is far ahead of all others, and different answers where several captions come close. All
# weights have one colour scale.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Five panels of six by six cells: the scores of six test images with six captions, and the weights that Triplet, Triplet-SH, NT-Xent and SmoothAP put on them, in one colour scale. Triplet pushes all captions within the margin, Triplet-SH at most one in a row, NT-Xent every caption, and SmoothAP rests in a row where Triplet acts."}, "figure": {"name": "fig-weights", "caption": "Scores of a real model, and what each loss would do about them. Images look for captions; margin 0.2, τ = 0.1 (NT-Xent) and 0.01 (SmoothAP). Framed: own pairs. Red is pushed down, blue pulled up, in one scale (of the root, so that small weights are seen). Triplet pushes all that come within its margin, Triplet-SH the hardest of them only; a row that is solved is left alone by both."}}
plots.scores_and_weights(small, own_pairs, losses);

# %% tags=["hide-input"]
several, single = pushed(rows, "triplet"), pushed(rows, "triplet_sh")
assert torch.equal(single, (several > 0).long())  # the same rows act, with one negative each
assert bool((losses["ntxent"].weights(small, own_pairs)[~own_pairs] > 0).all())
for loss in losses.values():  # all push wrong captions only, and pull the own one only
    assert bool((loss.weights(small, own_pairs) * (1 - 2.0 * own_pairs) >= 0).all())
spread, near = pushed(rows, "ntxent", 0.05), pushed(rows, "smoothap", 0.05)
assert smoke or (int(small[0].argmin()) == 0 and near[0] == 0 and several[5] == 0 and spread[5] > 0)
Markdown(f"Row by row, Triplet pushes {several.tolist()} captions and Triplet-SH {single.tolist()}. By more than "
         f"0.05 NT-Xent pushes {spread.tolist()} and SmoothAP {near.tolist()}; and NT-Xent pushes all others a little. "
         + ("" if smoke else f"In the last row, where the two with a margin rest, NT-Xent still pushes {int(spread[5])} "
            "by more than 0.05. In the first row all five others score above the own caption, by "
            f"{float(small[0, 1:].min() - small[0, 0]):.2f} to {float(small[0].max() - small[0, 0]):.2f}, and there "
            "SmoothAP, for which these gaps are too wide, does next to nothing."))

# %% [markdown]
# Where they act, all four push wrong captions down and pull the own one up; beyond that they differ. Triplet gives the same
# weight to every negative inside the margin; Triplet-SH takes the hardest one; NT-Xent spreads its weight in proportion to
# $e^{s/\tau}$; SmoothAP acts only where the match and another score are so close that a small step could change their order.
#
# What they have in common is a danger. A training batch knows own pairs only: any other caption is a negative, also if
# it is true. We draw twenty batches of 128 training pairs and ask how much of each loss's push falls on captions that
# are true of the picture.

# %%
train = data.train
images, captions = icrlib.evaluation.embed(run.model, train)
first_of = torch.tensor(
    [int((train.image_of == row).nonzero()[0]) for row in range(len(train))])
rng = torch.Generator().manual_seed(0)
push = dict.fromkeys(losses, 0.0)  # all of it, and the part on true captions
push_on_true = dict.fromkeys(losses, 0.0)
true_pairs = 0
for _ in range(20):
    drawn = torch.randperm(len(train), generator=rng)[:128]
    batch = (images[drawn] @ captions[first_of[drawn]].T).double()
    diagonal = torch.eye(len(drawn), dtype=torch.bool)
    also_true = train.relevance[first_of[drawn]][:, drawn].T & ~diagonal
    true_pairs += int(also_true.sum())
    for name, loss in losses.items():
        weights = loss.weights(batch, diagonal).clamp(min=0)
        push[name] += float(weights.sum())
        push_on_true[name] += float(weights[also_true].sum())

# %% tags=["hide-input"]
rare = true_pairs / (20 * int((~diagonal).sum()))
on_true = {name: push_on_true[name] / push[name] for name in losses}
assert smoke or min(on_true.values()) > 3 * rare
told = ", ".join(f"{plots.label(name)} {share:.0%}" for name, share in on_true.items())
Markdown(f"Only **{rare:.1%}** of the negatives in these batches are true of the picture. But a trained model scores "
         f"them high, so they draw far more than their part of the push: {told}. The rest, "
         f"{1 - max(on_true.values()):.0%} at the least, falls on captions that are false.")

# %% [markdown]
# So a loss that looks for hard negatives also finds captions that are hard because they are true. No loss of this chapter
# can know better, since the batch does not tell it. (These are the weights of images that look for captions.)
#
# Back to the six pictures. How far NT-Xent spreads depends on its temperature $\tau$. It can be counted: with $w_j$ the
# weights of the negatives of a query, $n_\text{eff} = (\sum_j w_j)^2 / \sum_j w_j^2$ is the number of negatives that
# would carry the same weight if they shared it equally. Move the slider, and watch the red cells: at a low temperature
# only the highest in a row should be left, or none where the own caption is ahead; at a high one all should look alike.
# (The panel shows $\tau w$, because the weights themselves carry a factor $1/\tau$.)

# %%
def effective_negatives(loss):
    """Mean over the queries of the six pictures."""
    w = loss.weights(small, own_pairs).masked_fill(own_pairs, 0)
    return float((w.sum(1) ** 2 / (w**2).sum(1)).mean())


# %% tags=["remove-output"]
def draw_temperature(tau):
    fig, (left, right) = plt.subplots(1, 2, figsize=(7, 3.4))
    plots.matrix(left, small, own_pairs, title="scores s")
    weights = NTXent(tau=tau).weights(small, own_pairs)
    title = f"τ·w, τ = {tau}: n_eff {effective_negatives(NTXent(tau=tau)):.1f}"
    plots.matrix(right, weights * tau, own_pairs, title=title, weights=True, limit=1.0)
    return fig


taus = [0.01, 0.03, 0.1, 0.3, 1.0]
live(draw_temperature, taus, label="τ")  # with a kernel; the page has the next one

# %% tags=["hide-input"]
frames_slider(draw_temperature, taus, label="temperature τ", start=2,
              alt=lambda tau: f"Scores, and tau times the weights of NT-Xent at temperature {tau}. The five negatives of "
                              f"a row count like {effective_negatives(NTXent(tau=tau)):.1f} that share equally.")

# %% [markdown]
# As $\tau$ falls, NT-Xent looks at ever fewer negatives; as it rises, at all of them alike.

# %%
by_tau = {tau: round(effective_negatives(NTXent(tau=tau)), 2) for tau in taus}
assert list(by_tau.values()) == sorted(by_tau.values())  # grows with the temperature
by_tau

# %% [markdown]
# ## What we found
#
# - Retrieval is ranking rows of a score matrix; R@k looks at the best-placed positive alone.
# - How ties count decides whether a model that gives all pairs the same score gets 0 or 100.
# - Captions that fit several pictures keep the recall on own pairs low, also of a judge who knows all that is true. In a
#   batch they are negatives that score high, so each of the four losses spent a far larger part of its push on true pairs
#   than their number would suggest.
# - A loss acts on a model through its weights on the score matrix, and on the same scores four losses push different
#   captions.

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
# ````{exercise-start} From ranks to recalls
# :label: ex-six-numbers
# ````
#
# Five captions look for their pictures, and the right picture is at the ranks 1, 3, 2, 11 and 6. What are R@1, R@5 and
# R@10, in percent? `mine = (r1, r5, r10)`

# %%
mine = ...

# %% tags=["hide-input"]
def check_recalls(value):
    """Passes for R@1, R@5 and R@10 of five ranks."""
    if value is ...:
        return "your turn"
    ranks = [1, 3, 2, 11, 6]
    expected = tuple(100 * sum(rank <= k for rank in ranks) / len(ranks) for k in (1, 5, 10))
    got = tuple(float(x) for x in value)
    assert max(got) > 1, "not yet: in percent, please, of all five queries"
    late = tuple(100 * sum(rank < k for rank in ranks) / len(ranks) for k in (1, 5, 10))
    assert got != late, "not yet: ranks begin at 1, so a right picture at rank k counts at k"
    assert got == expected, f"not yet: {got}; how many of the five ranks are at most 1, 5 and 10?"
    return "right"


check_recalls(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-six-numbers
# :class: dropdown
# ````
#
# One of five is at rank 1, three are at rank 5 or before it, four at rank 10 or before it.

# %%
check_recalls((20, 60, 80))

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
# ````{exercise-start} An open one
# :label: ex-true-of-three
# ````
#
# A caption of a test set is true of three pictures of the gallery, and the files of the test set name one of them. A
# model finds the three at the ranks 1, 2 and 3. What can its R@1 be, and what does that say about the model? Suppose
# that you may spend an afternoon on the test set: what would you do with it, and which of the numbers of this page
# would you still print?
#
# ````{exercise-end}
# ````
#
# Next: {doc}`encoders` follows a picture and a caption to their score, step by step. In a hurry? {doc}`../gradients/triplet`
# derives the first of these weights, line by line.
