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
from icrlib import chapter, metrics, plots
from icrlib.evidence.sentences import check, number
from icrlib.losses import NTXent, SmoothAP, Triplet, TripletSH
from icrlib.widgets import frames_slider, live

smoke = chapter.start(smoke)
data = icrlib.load_dataset("scenes", smoke=smoke)

# %% tags=["remove-input"] mystnb={"image": {"alt": "Six small pictures of coloured shapes on plain backgrounds under one caption. More than one of them fits the caption."}, "figure": {"name": "fig-which", "caption": "One caption, six pictures from the test set. More than one of them fits."}}
split = data.test
true_of = split.relevance.sum(1)
# The first short caption that is true of its own picture and of a few others.
short = torch.tensor([len(caption.split()) <= 9 for caption in split.captions])
caption = int(((true_of >= 3) & (true_of <= 6) & short).nonzero()[0])
own_picture = int(split.image_of[caption])
others_true = [int(i) for i in split.relevance[caption].nonzero() if int(i) != own_picture][:2]
others_false = [i for i in range(len(split)) if not split.relevance[caption, i]][:3]
shown = sorted([own_picture, *others_true, *others_false], key=lambda row: (row * 7919) % 101)
assert split.relevance[caption, shown].sum() > 1  # more than one fits
fig = plots.gallery(split.images[shown], [f"picture {n}" for n in range(1, 7)], columns=3)
fig.suptitle(f"“{split.captions[caption]}”");

# %% [markdown]
# It is true of pictures 2, 3 and 6. A benchmark accepts picture 2 alone, because the caption was written for that one.
# **So a judge who knows everything that is true, and guesses among the pictures that fit, finds the right one first for 64.3
# of 100 captions.** Between what is *true* and what is *counted* lies much of what one argues about in retrieval.
#
# *You will be able to* compute recall and average precision by hand, say what they do not see, and read a loss as weights on
# a table · eight minutes to read · ten seconds to run.

# %% tags=["hide-input"]
# checked by machine
fits = [place for place, row in enumerate(shown, 1) if split.relevance[caption, row]]
check("It is true of pictures 2, 3 and 6. A benchmark accepts picture 2 alone,",
      number("2 3 6 2", lambda: [*fits, shown.index(own_picture) + 1], live=True))
check("So a judge who knows everything that is true, and guesses among the pictures that fit, finds the right one first "
      "for 64.3 of 100 captions.", number("64.3", lambda: 100 * (1 / true_of.double()).mean(), live=True), also="100")

# %% [markdown]
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
#
# Our pictures are drawn: `scenes` has 1,500 of them for training, 500 for validation and 1,000 for testing, five captions
# each. A caption mentions only some of what is there, as people do, and of each caption it is known of which pictures it is
# true.

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
# The library gives the same numbers, for any mask and in chunks. From here on we use it.

# %% tags=["nbval-check-output"]
result = metrics.from_scores(scores, positives)
assert abs(result["r1"] - recall[1]) < 1e-9 and abs(result["r5"] - recall[5]) < 1e-9
assert abs(result["map"] - mean_ap) < 1e-12 and abs(result["r_precision"] - mean_rp) < 1e-12
{key: round(value, 4) for key, value in result.items()}

# %% [markdown]
# Papers add up six recalls, R@1, R@5 and R@10 of both directions, and call it **rsum** (600 at most). (`map_at_5` is the
# measure of ECIR's released code: a mean over the hits *found* in the first five, not another paper's mAP@5.)

# %% [markdown]
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
# have collapsed to a single value ({numref}`Chapter {number} <ch-losses>`) cannot look like a good one.

# %% [markdown]
# ## What recall does not see
#
# Of how many test pictures is a test caption true? (`split.relevance` knows.)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Histogram: for how many of the test pictures each test caption is true. About half of the captions fit exactly one picture, most others two to eight, a few more than thirty."}, "figure": {"name": "fig-false-negatives", "caption": "Most benchmarks count one picture per caption. Here the others that fit are known: each is a false negative. They are no rarity: more than half of the captions have one."}}
plt.figure(figsize=(6, 3))
bins = [edge for edge in (1, 2, 3, 5, 9, 17, 33, 65, 129, 257) if edge <= 2 * int(true_of.max())]
share = [100 * ((true_of >= lo) & (true_of < hi)).float().mean().item() for lo, hi in zip(bins, bins[1:], strict=False)]
names = [f"{lo}" if hi == lo + 1 else f"{lo}–{hi - 1}" for lo, hi in zip(bins, bins[1:], strict=False)]
plt.bar(names, share, color="#6b6b6b")
plt.xlabel("test pictures that the caption is true of")
plt.ylabel("% of captions");

# %% [markdown]
# Less than half of the captions, 46 %, fit one picture alone. Now a model, the simplest there is: a bag of words. It trains
# in a few seconds.

# %%
run = icrlib.train(data, "bow", updates=400, smoke=smoke, progress=False)
counted = icrlib.evaluate(run.model, split)
true = icrlib.evaluate(run.model, split, relevance=True)
rows = {"own pairs": counted, "all that is true": true}
columns = {"r1": "R@1", "r10": "R@10", "r_precision": "R-prec.", "map": "mAP"}
table = pd.DataFrame({name: r["t2i"] for name, r in rows.items()}).T
table[list(columns)].rename(columns=columns).map("{:.2f}".format)

# %% tags=["remove-input"]
check("Less than half of the captions, 46 %, fit one picture alone.",
      number("46", lambda: 100 * (true_of == 1).double().mean(), live=True))

# %% [markdown]
# Same model, same scores, two ideas of what is right (recalls in percent, the other two between 0 and 1). Here is the first
# caption whose own picture comes behind another of which it is just as true.

# %% tags=["hide-input"] mystnb={"image": {"alt": "The five test pictures that a bag-of-words model ranks first for one caption. Green frames mark pictures that the caption is true of, red ones those it is false of."}, "figure": {"name": "fig-top5", "caption": "The five pictures that the model puts first for one caption, framed by the truth. The benchmark accepts the caption's own picture only, and calls the first place wrong."}}
images, captions = icrlib.evaluation.embed(run.model, split)
five = (captions @ images.T).topk(5).indices  # captions x 5
best_true = split.relevance.gather(1, five)[:, 0] & (five[:, 0] != split.image_of)
cases = (best_true & (five == split.image_of[:, None]).any(1)).nonzero().flatten().tolist()
assert smoke or cases
shown = cases[0] if cases else caption
plots.top_k(split, shown, images @ captions[shown]);

# %% [markdown]
# ## What a loss does with the table
#
# A loss reads a score matrix and answers with **weights**: $w_j = \partial \ell / \partial s_j$, one for each score. A
# training step lowers a score with a positive weight and raises one with a negative weight. All else, the encoders and
# their thousands of parameters, follows from these numbers by the chain rule. The next part of the book is about these
# weights. Two things can be said of them before one knows any formula.
#
# **A loss pushes true pairs, too.** A training batch knows own pairs only: any other caption is a negative, also if it is
# true. We draw twenty batches of 128 training pairs and ask how much of each loss's push falls on captions that are true of
# the picture. True negatives are rare; but a trained model scores them high, and losses look at what scores high.

# %%
losses = {"triplet": Triplet(), "triplet_sh": TripletSH(),
          "ntxent": NTXent(), "smoothap": SmoothAP()}
train = data.train
pictures, texts = icrlib.evaluation.embed(run.model, train)
first_of = torch.tensor(
    [int((train.image_of == row).nonzero()[0]) for row in range(len(train))])
rng = torch.Generator().manual_seed(0)
push = dict.fromkeys(losses, 0.0)  # all of it, and the part on true captions
push_on_true = dict.fromkeys(losses, 0.0)
true_pairs = 0
for _ in range(20):
    drawn = torch.randperm(len(train), generator=rng)[:128]
    batch = (pictures[drawn] @ texts[first_of[drawn]].T).double()
    diagonal = torch.eye(len(drawn), dtype=torch.bool)
    also_true = train.relevance[first_of[drawn]][:, drawn].T & ~diagonal
    true_pairs += int(also_true.sum())
    for name, loss in losses.items():
        weights = loss.weights(batch, diagonal).clamp(min=0)
        push[name] += float(weights.sum())
        push_on_true[name] += float(weights[also_true].sum())

# %% tags=["hide-input"]
rare = true_pairs / (20 * int((~diagonal).sum()))
on_true = {plots.label(name): push_on_true[name] / push[name] for name in losses}
pd.DataFrame({"of all negatives": rare} | on_true, index=["are true"]).map("{:.1%}".format)

# %% [markdown]
# Of the negatives 0.3 % are true of their picture, and they draw 3 to 10 % of the push. A loss that looks for hard negatives
# finds captions that are hard because they are true, and the batch cannot tell it so.

# %% tags=["remove-input"]
check("Of the negatives 0.3 % are true of their picture, and they draw 3 to 10 % of the push.",
      number("0.3 3 10", lambda: (100 * rare, round(100 * min(on_true.values())), round(100 * max(on_true.values()))),
             live=True))

# %% [markdown]
# **A loss spreads its push over few negatives or many**, and that can be counted. With $w_j$ the weights of the negatives of a
# query,
#
# $$ n_\text{eff} = \frac{(\sum_j w_j)^2}{\sum_j w_j^2} $$
#
# is the number of negatives that would carry the same weight if they shared it equally. NT-Xent weighs a negative in
# proportion to $e^{s/\tau}$, with a temperature $\tau$. Move the slider: at a low temperature only the highest score of a
# row should be pushed, at a high one all alike. (Six test pictures that the model confuses. The panel shows $\tau w$, because
# the weights themselves carry a factor $1/\tau$.)

# %% tags=["remove-cell"]
first = torch.tensor([int((split.image_of == row).nonzero()[0]) for row in range(len(split))])
of_firsts = (images @ captions[first].T).double()
alike = of_firsts[0].argsort(descending=True).tolist()
rows = [0, *[other for other in alike if other != 0][:5]]  # a picture, and those whose captions score highest with it
small, own_pairs = of_firsts[rows][:, rows], torch.eye(6, dtype=torch.bool)

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
# - Retrieval is ranking the rows of a table of scores; R@k looks at the best-placed positive alone.
# - How ties count decides whether a model that gives all pairs one score gets 100 or 0.
# - A recall on own pairs has a ceiling below 100: a judge who knows all that is true reaches 64.3.
# - 0.3 % of a batch's negatives are true, and they draw 3 to 10 % of a loss's push.

# %% tags=["remove-input"]
check("How ties count decides whether a model that gives all pairs one score gets 100 or 0.",
      number("100 0", lambda: [metrics.from_scores(nothing, positives, ties=ties)["r1"]
                               for ties in ("optimistic", "pessimistic")]))
check("A recall on own pairs has a ceiling below 100: a judge who knows all that is true reaches 64.3.",
      number("64.3", lambda: 100 * (1 / true_of.double()).mean(), live=True), also="100")
check("0.3 % of a batch's negatives are true, and they draw 3 to 10 % of a loss's push.",
      number("0.3 3 10", lambda: (100 * rare, round(100 * min(on_true.values())), round(100 * max(on_true.values()))),
             live=True))

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
# Next: {numref}`Chapter {number} <ch-towers>` follows a picture and a caption to their score, step by step. In a hurry?
# {numref}`Chapter {number} <ch-triplet>` derives the first of these weights, line by line.
