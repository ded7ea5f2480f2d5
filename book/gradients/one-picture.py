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
# # One picture: every loss on the same scores
#
# **What you will be able to do:** say whom a loss pulls and pushes, and how hard; compare any two losses by one number;
# count negatives without a threshold. **Time:** under a minute on one core. **You need:** {doc}`triplet`,
# {doc}`ntxent` and {doc}`smoothap`.
#
# The last three chapters took one loss each. Now eight of them get the same row of scores: ECIR's four, and four from
# metric learning that are often named beside them. *NT-Xent, hardest*, or hard NT-Xent, is NT-Xent with
# the hardest negative alone. *Circle*, *binomial deviance* and *Multi-Similarity* measure scores against fixed
# thresholds, and do so gradually: a positive is pulled harder the lower it scores, a negative is pushed harder the higher
# it scores. Binomial deviance looks at one score at a time. Circle, and the miner that picks the negatives for
# Multi-Similarity, also set them against the positive. Do the eight want different things, or the same thing at
# different strengths?

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
import seaborn as sns
import torch
from IPython.display import Markdown

import icrlib
from icrlib import chapter, cocos, paper, plots
from icrlib.agreement import agreement
from icrlib.losses import Circle, NTXent, by_name
from icrlib.widgets import explorer

smoke = chapter.start(smoke)
PUSHED, PULLED = "#b2182b", "#2166ac"  # red is pushed down, blue is pulled up

# %%
scores = [0.60, 0.68, 0.62, 0.56, 0.49, 0.45, 0.37, 0.25, 0.08, -0.12]
row = torch.tensor([scores], dtype=torch.float64)
own = torch.arange(10)[None] == 0  # the first is the positive
ECIR = ["triplet", "triplet_sh", "ntxent", "smoothap"]
KNOWN = ["ntxent_hard", "circle", "binomial_deviance", "multi_similarity"]
losses = {name: by_name(name) for name in ECIR + KNOWN}

# %% tags=["hide-input"] mystnb={"image": {"alt": "Ten dots on a line of scores from minus 0.12 to 0.68. The positive is at 0.60; two of the nine negatives are to its right."}, "figure": {"name": "fig-row-dots", "caption": "One query, ten candidates. Blue: the positive. Two negatives score higher; a third is close behind."}}
fig, ax = plt.subplots(figsize=(6, 1.7))
ax.scatter(row[~own], torch.zeros(9), s=90, color=PUSHED)
ax.scatter(row[own], [0], s=140, color=PULLED, marker="D")
for j, s in enumerate(scores):
    place = (1.05 if j == 0 else 0.6) if j % 2 or j == 0 else -0.6  # above and below in turn: neighbours are close
    ax.text(s, place, f"{s:.2f}".replace("-", "−"), ha="center", va="center", fontsize=10.5,
            color=PUSHED if j else PULLED)
ax.set(ylim=(-1, 1.4), yticks=[], xlabel="score")
ax.spines["left"].set_visible(False);

# %% [markdown]
# A common factor of all weights is only a learning rate. So we divide each row of weights by the pull on its positive.
# The positive then gets −1 from everybody, and what is left to see is who is pushed. If the losses wanted the same thing
# at different strengths, all eight panels would now look alike. (NT-Xent's temperature is 0.1 on this page.)


# %%
def normalised(loss, scores=row, positives=own):
    w = loss.weights(scores, positives)
    return w / w[positives].abs()[:, None]


# %% tags=["hide-input"] mystnb={"image": {"alt": "Eight bar charts of the weights on the same ten candidates, the positive at minus one in each. Triplet pushes five negatives alike. Triplet-SH and hard NT-Xent push only the highest. NT-Xent pushes by falling amounts. SmoothAP pushes the negative nearest to the positive and leaves the highest alone. Circle and Multi-Similarity push the highest by more than the pull; binomial deviance pushes many."}, "figure": {"name": "fig-one-row", "caption": "Weights per candidate, scaled so that the positive's pull is −1. SmoothAP all but leaves the highest negative alone. Three losses push more than they pull."}}
def bars(panels, height):
    """Two columns of bar charts, one a loss: the weights of the row's candidates."""
    fig, axes = plt.subplots(len(panels) // 2, 2, figsize=(6.2, height), sharex=True, sharey=True)
    for ax, (name, loss) in zip(axes.flat, panels.items(), strict=True):
        w = normalised(loss)[0]
        ax.bar(range(10), w, color=[PULLED if value < 0 else PUSHED for value in w])
        ax.axhline(0, color="black", lw=0.8)
        ax.set_title(plots.label(name), fontsize=11)
        ax.set_ylim(-1.15, 2.3)  # one scale for all the losses of this page
        ax.set_xticks(range(10), [f"{s:.2f}".replace("-", "−") for s in scores], rotation=90, fontsize=10)
    fig.supylabel("weight / pull on the positive", fontsize=11)
    fig.supxlabel("score of the candidate", fontsize=11)


pushes = {name: normalised(loss)[0, 1:] for name, loss in losses.items()}  # on 0.68, 0.62, 0.56, …
assert len(set(pushes["triplet"][:5].tolist())) == 1 and not pushes["triplet"][5:].any()
assert all(int((pushes[name] > 0).sum()) == 1 and pushes[name][0] > 0 for name in ("triplet_sh", "ntxent_hard"))
assert bool((pushes["ntxent"].diff() < 0).all()) and int(pushes["smoothap"].argmax()) == 1
assert pushes["smoothap"][0] < 0.02 and min(pushes["circle"][0], pushes["multi_similarity"][0]) > 1
assert int((pushes["binomial_deviance"] > 0.1).sum()) >= 5
bars(losses, height=6.6);

# %% [markdown]
# The bars hold for these ten scores. Here are the same ten under your hands, with the weights as they are and not
# divided. Take one loss after the other and move the highest negative past the positive and back: which losses change
# their mind about who is pushed, and which only about how hard?

# %% tags=["hide-input"]
TEN = ["the positive", *(f"negative {k}" for k in range(1, 10))]
explorer(row, own, losses, columns=TEN, curve=True, selected=(0, 1),
         about="One positive and nine negatives under eight losses, one at a time; scores can be moved")

# %% [markdown]
# Three questions tell them apart. **Who** is pushed? How is the push **divided**? And do push and pull **balance**?

# %% tags=["hide-input"]
def described(loss):
    pushed = normalised(loss)[0, 1:]
    return {"most pushed": f"{scores[1 + int(pushed.argmax())]:.2f}",
            "its share": f"{100 * float(pushed.max() / pushed.sum()):.0f} %",
            "push / pull": f"{float(pushed.sum()):.2f}"}


table = {plots.label(name): described(loss) for name, loss in losses.items()}
paper.styled(pd.DataFrame([{"loss": name} | line for name, line in table.items()]),
             "Most pushed: its score. Share: its part of the whole push.", name="one-row")

# %% tags=["hide-input"]
others = [name for name, line in table.items() if line["most pushed"] != "0.68"]
assert all(float(line["push / pull"]) > 0.995 for line in table.values())
uneven = [name for name, line in table.items() if abs(float(line["push / pull"]) - 1) > 0.005]
assert others == ["SmoothAP"] and len(uneven) == 3
part = {name: int(line["its share"].removesuffix(" %")) for name, line in table.items() if name not in others}
least, all_of_it = min(part, key=part.get), [name for name, share in part.items() if share == 100]
Markdown(f"So they do not just differ in strength. Who: **{', '.join(others)}** pushes the near tie, and the other "
         f"{len(part)} push the highest negative most. How divided: among these {len(part)} its share of the push runs "
         f"from **{part[least]} %** ({least}) to **100 %** ({'; '.join(all_of_it)}). Balance: "
         f"**{', '.join(uneven)}** push and pull by different amounts.")

# %% [markdown]
# Why do some balance? Suppose a loss looks at *differences* of scores only. Then adding a constant to all scores
# changes nothing: its slope along $(1, \dots, 1)$, which is $\sum_j w_j$, is zero. The other three have fixed thresholds
# in their formulas, so that a common shift of all scores changes their weights.

# %%
for loss in losses.values():
    w = loss.weights(row, own)
    balanced = abs(float(w.sum())) < 1e-12
    assert balanced == torch.allclose(w, loss.weights(row + 0.3, own))

# %% [markdown]
# Four more losses, which people train with today or which this book designed, get the same row: IFM, DCL, SigLIP and a
# sparse NT-Xent ({doc}`../lessons/beyond` derives them). IFM and DCL have NT-Xent's temperature of 0.1 here and divide
# their push by the same softmax, so two of the panels should look like NT-Xent's above; one has exact zeros; and one
# should pull far more than it pushes.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Four bar charts of weights on the same ten candidates, the positive at minus one. IFM and DCL push by falling amounts, exactly alike. SigLIP's pushes are too small to be seen. The sparse NT-Xent pushes the two highest negatives and gives all others exactly zero."}, "figure": {"name": "fig-one-row-today", "caption": "The same row under four later losses, temperature 0.1 for IFM and DCL, as NT-Xent's. The scales are those of the figure before. Scaled to equal pull, IFM and DCL have NT-Xent's weights on this row. SigLIP at its published bias pulls far more than it pushes: its pushes are too small to be seen on this scale. The sparse loss pushes two negatives."}}
today = {"ifm": by_name("ifm", tau=0.1), "dcl": by_name("dcl"), "siglip": by_name("siglip"),
         "ntxent_sparse": by_name("ntxent_sparse")}
pushes |= {name: normalised(loss)[0, 1:] for name, loss in today.items()}
assert all((pushes[name] - pushes["ntxent"]).abs().max() < 1e-12 for name in ("ifm", "dcl"))
assert int((pushes["ntxent_sparse"] > 0).sum()) == 2 and 0 < float(pushes["siglip"].max()) < 0.05
assert max(float(push.max()) for push in pushes.values()) < 2.3  # no bar leaves its panel
bars(today, height=3.8);

# %% [markdown]
# ## The book's matrix
#
# Four images, four captions; rows are the queries. A learning rate belongs to a whole batch, not to a query. So here each
# loss is divided by the mean of its four pulls, and the eight matrices of the next two figures share one colour scale.
# First the four losses of ECIR {cite:p}`bleeker2022lessons`. What to look for: the third row, the only one whose order
# is wrong, and the last, where the match is ahead by more than the margin.

# %% tags=["hide-input"] mystnb={"image": {"alt": "A four by four score matrix and the weights of Triplet, Triplet-SH, NT-Xent and SmoothAP on it. The last row is solved: Triplet and Triplet-SH leave it alone."}, "figure": {"name": "fig-matrices-ecir", "caption": "Losses of differences, each divided by its mean pull. Framed: own pairs. Colours follow the root of a weight. Every row sums to zero. The margin makes the last row silent in the two triplet losses. NT-Xent spends most on the third row, SmoothAP on the second."}}
S4, EYE4 = plots.example()
SCALE = {"relative": True, "limit": 4.0}
plots.scores_and_weights(S4, EYE4, {name: losses[name] for name in ECIR}, **SCALE);

# %% [markdown]
# In the third row a caption at 0.62 is ahead of the match at 0.40. Triplet, Triplet-SH and NT-Xent push it down. SmoothAP
# all but leaves it alone and pushes the caption at 0.35, which nearly ties with the match and is in the right place.
#
# And the four from metric learning, three of which we just saw pushing more than they pull.

# %% tags=["hide-input"] mystnb={"image": {"alt": "The same score matrix and the weights of NT-Xent with the hardest negative, Circle, binomial deviance and Multi-Similarity on it."}, "figure": {"name": "fig-matrices-known", "caption": "The hardest-negative NT-Xent still balances, the other three do not. Multi-Similarity's miner drops the last row, and the first, where the gap is just its ε of 0.1. Same scale and colours as in the figure before."}}
plots.scores_and_weights(S4, EYE4, {name: losses[name] for name in KNOWN}, **SCALE);

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
on_four = {name: loss.weights(S4, EYE4) for name, loss in losses.items()}
spent = {name: w.diagonal().abs() / w.diagonal().abs().sum() for name, w in on_four.items()}  # each row's share
assert int(spent["ntxent"].argmax()) == 2 and int(spent["smoothap"].argmax()) == 1
assert all(on_four[name][2, 1] >= on_four[name][2, 3] > -1e-12 for name in ("triplet", "triplet_sh", "ntxent"))
assert on_four["smoothap"][2, 1] < 0.01 * on_four["smoothap"][2, 3]  # the third row
assert (S4.argmax(1) == torch.arange(4)).tolist() == [True, True, False, True]
assert max(float(w.abs().max() / w.diagonal().abs().mean()) for w in on_four.values()) < 4
sums = {name: float(w.sum(1).abs().max()) for name, w in on_four.items()}
assert all((sums[name] < 1e-12) == (plots.label(name) not in uneven) for name in losses)
silent = {name: (loss.weights(S4, EYE4) == 0).all(1).nonzero().flatten().tolist()
          for name, loss in losses.items()}
assert silent["triplet"] == silent["triplet_sh"] == [3]
assert silent["multi_similarity"] == [0, 3]  # the miner wants a gap *below* 0.1
assert sum(map(len, silent.values())) == 4  # nobody else is silent

# %% [markdown]
# ## How many negatives take part?
#
# ECIR counts the candidates whose weight is above a threshold, $\epsilon = 0.01$ (COCOS, {doc}`../lessons/cocos`); here
# we count the negatives only. A threshold needs a scale, and losses have none in common. Triplet adds up, binomial
# deviance takes a mean over negatives, NT-Xent has a factor $1/\tau$. The **effective number** of negatives needs no
# threshold:
#
# $$ n_\text{eff} = \Big(\sum_{j \in N} |w_j|\Big)^2 \Big/ \sum_{j \in N} w_j^2. $$ (eq-n-eff)
#
# With $k$ equal weights it is $k$. If one weight has it all, it is 1.


# %%
def effective(w, positives):
    """One number a query that pushes anybody."""
    w = w.masked_fill(positives, 0).abs()
    w = w[w.amax(1) > 0]
    w = w / w.amax(1, keepdim=True)  # tiny weights would vanish when squared
    return w.sum(1) ** 2 / (w**2).sum(1)


for k in (1, 3, 9):
    equal = torch.tensor([[-1.0] + [0.2] * k + [0.0] * (9 - k)], dtype=torch.float64)
    assert abs(float(effective(equal, own)) - k) < 1e-12

# %% [markdown]
# Now multiply NT-Xent by 100, and by a hundredth. Only the learning rate changes.

# %% tags=["nbval-check-output"]
w = NTXent().weights(row, own)
for factor in (0.01, 1, 100):
    counted = int(((factor * w)[~own].abs() > 0.01).sum())  # negatives
    n_eff = float(effective(factor * w, own))
    print(f"times {factor}: above 0.01: {counted}, effective {n_eff:.4f}")

# %% [markdown]
# On the scores of a model, then. We train a bag of words with NT-Xent for a few seconds, with one seed, and score 128
# test images with one caption each. The model is new (one update) or trained (400).

# %%
data = icrlib.load_dataset("scenes", smoke=smoke)
split = data.test
first = [int((split.image_of == n).nonzero()[0]) for n in range(min(128, len(split)))]


def batch(updates):
    run = icrlib.train(data, "bow", updates=updates, smoke=smoke, progress=False)
    images, captions = icrlib.evaluation.embed(run.model, split)
    return (images[: len(first)] @ captions[first].T).double()


new, trained = batch(1), batch(400)
eye = torch.eye(len(first), dtype=torch.bool)

# %%
def in_batch(loss, s):
    w = loss.weights(s, eye)
    n_eff = float(effective(w, eye).mean())
    library = cocos.count(loss, s, eye, convention="exact")
    assert abs(n_eff - library["n_eff"]) < 1e-9
    counted, silent = ((w.abs() > 0.01) & ~eye).sum(1), (w == 0).all(1)
    return n_eff, float(counted.double().mean()), float(silent.double().mean())


compared = losses | today
measured = {name: (in_batch(loss, new), in_batch(loss, trained))
            for name, loss in compared.items()}

# %% tags=["hide-input"]
paper.styled(pd.DataFrame([
    {"loss": plots.label(name), "effective new": f"{a[0]:.1f}", "trained": f"{b[0]:.1f}",
     "above ε new": f"{a[1]:.1f}", "trained ": f"{b[1]:.1f}",
     "silent new": f"{100 * a[2]:.0f} %", "trained  ": f"{100 * b[2]:.0f} %"}
    for name, (a, b) in measured.items()
]), f"Images as queries, {len(eye)} pairs. Effective: the effective number of negatives, mean over the queries "
    "that push. Above ε: negatives with a weight over 0.01, mean over all queries. Silent: all weights are exactly zero.",
    name="effective")

# %% tags=["hide-input"]
bd, nt = measured["binomial_deviance"], measured["ntxent"]
assert smoke or (bd[1][1] > bd[0][1] and bd[1][0] < bd[0][0])
fell = [name for name, (a, b) in measured.items() if b[0] < a[0] - 0.05]
rose = [name for name, (a, b) in measured.items() if b[0] > a[0] + 0.05]
spread = [float(s[~eye].std()) for s in (new, trained)]
one = [name for name, (a, b) in measured.items() if a[0] == b[0] == 1]
Markdown(f"Nobody changed a loss, yet the effective number fell for **{len(fell)}** of {len(measured)} and rose for "
         f"{len(rose)}; {len(one)} look at one negative by design. NT-Xent went from {nt[0][0]:.0f} to "
         f"**{nt[1][0]:.1f}**. A likely reason, not tested by itself, is that the scores moved apart: the standard "
         f"deviation of the negatives went from {spread[0]:.3f} to {spread[1]:.3f}.")

# %% tags=["hide-input"]
up = [plots.label(name) for name, (a, b) in measured.items() if b[1] > a[1] + 0.05 and name != "binomial_deviance"]
assert smoke or (up == ["Multi-Similarity", "SigLIP"] and new[~eye].max() < 0.5)  # their lowest threshold
Markdown(f"The threshold tells another story. For binomial deviance it counts **{bd[0][1]:.1f}** negatives on the new "
         f"model and {bd[1][1]:.1f} on the trained one, where the effective number went the other way, from "
         f"{bd[0][0]:.0f} to {bd[1][0]:.1f}. The count also rises for {' and '.join(up)}. These losses measure scores "
         "against a fixed threshold. On the new model all negatives score below it, so their weights are small; "
         "binomial "
         "deviance divides them by the number of negatives as well.")

# %% [markdown]
# Between one negative and all of them NT-Xent has a dial, the temperature. The effective number should rise with it all
# the way. A count above a threshold cannot: hot weights have the factor $1/\tau$, and fall below any $\epsilon$. At the
# cold end the counts are below 1, because they are means over all queries: where the positive is ahead by many times
# $\tau$, not one negative has a weight above $\epsilon$.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Over the temperature, from 0.002 to 10, the effective number of negatives of NT-Xent rises from one to all. Two dashed curves count weights above 0.01 and above 0.1: they rise, and fall to zero at high temperatures."}, "figure": {"name": "fig-dial", "caption": "NT-Xent on the trained scores. The vertical axis is linear up to 1 and logarithmic above. The effective number goes from the one of Triplet-SH to all. The counts fall back to none: hot weights are many and small."}}
taus = torch.logspace(-2.7, 1, 36, dtype=torch.float64).tolist()
by_tau = [NTXent(tau=tau).weights(trained, eye) for tau in taus]
fig, ax = plt.subplots(figsize=(6.4, 3.4))
curve = [float(effective(w, eye).mean()) for w in by_tau]
ax.plot(taus, curve, color=plots.COLOURS["ntxent"], lw=2.5, label="effective number")
for eps, style in ((0.01, "--"), (0.1, ":")):
    above = [float((w.masked_fill(eye, 0) > eps).sum(1).double().mean()) for w in by_tau]
    ax.plot(taus, above, color="black", lw=1.5, ls=style, label=f"count, ε = {eps}")
    assert above[-1] == 0 < max(above)
assert smoke or (curve == sorted(curve) and curve[0] < 1.5 and curve[-1] > 0.99 * (len(eye) - 1))
unheard = (by_tau[0].masked_fill(eye, 0) <= 0.01).all(1)  # at the cold end
lead = trained.diagonal() - trained.masked_fill(eye, -1).amax(1)
assert smoke or (unheard.any() and lead[unheard].min() > 5 * taus[0])
ax.axhline(1, color=plots.COLOURS["triplet_sh"], lw=1)
ax.text(10, 1.1, "Triplet-SH", color=plots.COLOURS["triplet_sh"], fontsize=10, ha="right")
ax.set(xscale="log", yscale="symlog", ylim=(0, 260), xlabel="temperature τ", ylabel="negatives")
ax.set_xticks([0.01, 0.1, 1, 10], ["0.01", "0.1", "1", "10"])
ax.set_yticks([0, 1, 10, 100], ["0", "1", "10", "100"])
ax.legend(fontsize=10, loc="upper left");

# %%
cold, hot = NTXent(tau=1e-4).weights(trained, eye), NTXent(tau=1e3).weights(trained, eye)
assert smoke or abs(float(effective(cold, eye).mean()) - 1) < 0.05
assert float(effective(hot, eye).mean()) > 0.999 * (len(eye) - 1)

# %% [markdown]
# ## Who agrees with whom?
#
# Lay the weights of a batch out as one long vector: the direction in which a loss would move the scores if each could
# move by itself. The cosine between two such vectors says how alike two losses are. A learning rate does not change it.

# %%
def cosines(s):
    vectors = [loss.weights(s, eye).flatten() for loss in compared.values()]
    unit = torch.stack([v / v.norm() for v in vectors])
    return unit @ unit.T


names = list(compared)
alike, at_first = cosines(trained), cosines(new)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Heat map of cosines between the weights of twelve losses, in hundredths, ordered by their likeness to Triplet-SH."}, "figure": {"name": "fig-agreement", "caption": "Cosine between weights on the same trained batch, in hundredths. Ordered by likeness to Triplet-SH. 100: the same direction in the space of scores, whatever its length."}}
order = alike[names.index("triplet_sh")].argsort(descending=True, stable=True)
ticks = [plots.label(names[k]) for k in order]
values = 100 * alike[order][:, order].numpy()
fig, ax = plt.subplots(figsize=(6, 5.4))
sns.heatmap(values, ax=ax, cmap="Blues", vmin=0, vmax=100, annot=True, fmt=".0f",
            annot_kws={"size": 11}, cbar=False, xticklabels=ticks, yticklabels=ticks)
for text, value in zip(ax.texts, values.flat, strict=True):
    text.set_color("white" if value > 72 else "black")
ax.tick_params(length=0, labelsize=10.5)
plt.setp(ax.get_xticklabels(), rotation=55, ha="right", rotation_mode="anchor");

# %% tags=["hide-input"]
def groups(matrix, above):
    """Losses joined by a chain of cosines above a bound, by their places in ``names``."""
    left, found = set(range(len(matrix))), []
    while left:
        group, new_ones = set(), {min(left)}
        while new_ones:
            group |= new_ones
            new_ones = {j for i in new_ones for j in left if matrix[i, j] > above} - group
        left -= group
        found.append(sorted(group))
    return found


def listed(places):
    return "; ".join(plots.label(names[k]) for k in places)


found = groups(alike, 0.9)
low = min((float(alike[i, j]), plots.label(names[i]), plots.label(names[j])) for i in range(12) for j in range(i))
mean_new, mean_trained = (float((m.sum() - m.trace()) / (12 * 11)) for m in (at_first, alike))
Markdown("\n".join([
    "Joined by chains of cosines above 0.9:", "", *[f"- {listed(group)}" for group in found if len(group) > 1],
    f"- each alone: {listed(group[0] for group in found if len(group) == 1)}", "",
    f"Farthest apart: **{low[1]}** and **{low[2]}**, {low[0]:.2f}. The mean over all pairs is {mean_new:.2f} on the "
    f"new model and {mean_trained:.2f} on the trained one."]))

# %% tags=["hide-input"]
most = max(found, key=len)
rest = [k for k in range(12) if k not in most]
inside, outside = alike[most][:, most], alike[rest][:, most]
near = plots.label(names[rest[int(outside.amax(1).argmax())]])
split_at = (c for c in sorted(inside.flatten().tolist()) if len(max(groups(alike, c), key=len)) < len(most))
bound = next(split_at, 1.0)
parts = [group for group in groups(alike, bound) if set(group) <= set(most)]
assert smoke or (len(most) == 9 and 0.85 < float(outside.max()) < 0.9 < bound < 0.95)
Markdown("These groups depend on the bound. In a chain each loss is like the next one, and two of the "
         f"{len(most)} are as far apart as {float(inside.min()):.2f}. {near} is left out by "
         f"{0.9 - float(outside.max()):.2f}: its largest cosine with one of them is {float(outside.max()):.2f}. From a "
         f"bound of {bound:.3f} on, the {len(most)} fall into {len(parts)} groups:\n\n"
         + "\n".join(f"- {listed(group)}" for group in parts))

# %% tags=["hide-input"]
same = [normalised(compared[name], trained, eye) for name in ("ntxent", "ifm", "dcl")]
assert max(float((w - same[0]).abs().max()) for w in same[1:]) < 1e-9  # each query's push is divided as NT-Xent's
beside = {name: float(alike[names.index("ntxent"), names.index(name)]) for name in ("ifm", "dcl")}
assert smoke or max(beside.values()) < 0.999
Markdown(f"IFM and DCL, which had NT-Xent's weights on one row, have cosines of {beside['ifm']:.2f} and "
         f"{beside['dcl']:.2f} with it here. Within each query they still divide the push as NT-Xent does, but they "
         "give "
         "the queries of a batch other shares of the whole pull.")

# %% [markdown]
# ## Every weight of this page, checked
#
# Closed form against autograd, and against differences of the *value*. The first must hold for all. The second holds
# where the gradient is the derivative of the value that the loss returns.

# %%
point = 0.9 * S4 + 0.013  # off every hinge
checked = {}
everyone = losses | today | {"circle (detach=False)": Circle(detach=False)}
for name, loss in everyone.items():
    for s, mask in ((point, EYE4), (row, own)):
        found = agreement(
            loss.weights(s, mask), lambda x, f=loss, p=mask: f.per_query(x, p), s)
        assert found["autograd"] < 1e-10
        checked[name] = max(checked.get(name, 0), found["differences"])
derivative = {name for name, gap in checked.items() if gap < 1e-6}
assert set(losses) - derivative == {"circle"} and "circle (detach=False)" in derivative
assert set(today) <= derivative

# %% tags=["hide-input"]
pace = checked["circle"], checked["circle (detach=False)"]
Markdown(f"All {len(checked)} agree with autograd to 1e-10, and {len(derivative)} with differences of their values to "
         "1e-6. The one that does not is Circle as published. It multiplies each score by a factor, its *pace*, "
         "that is "
         "larger the farther the score is from where it should be, and holds this pace constant while it takes the "
         f"slope: the relative gap is {pace[0]:.1g}, and {pace[1]:.0e} with the full gradient.")

# %% [markdown]
# So Circle is trained with a gradient that is not the derivative of its value. {doc}`../objectives/goal` goes further: it
# writes down gradients without a loss.
#
# ## What we found

# %% tags=["hide-input"]
Markdown("\n".join([
    f"- Not the same thing at different strengths: {', '.join(others)} all but leaves the highest negative of our "
    f"row alone; the others give it from {part[least]} % to 100 % of their push.",
    f"- {', '.join(uneven)} do not balance push and pull. The other {8 - len(uneven)} do.",
    f"- In this run, a bag of words trained with NT-Xent, the effective number of negatives fell for {len(fell)} of "
    f"{len(measured)} losses; NT-Xent's went from {nt[0][0]:.0f} to {nt[1][0]:.1f}.",
    f"- On one batch the least alike are {low[1]} and {low[2]}, at a cosine of {low[0]:.2f}.",
    "- A count above a threshold depends on a loss's scale. The effective number does not.",
]))

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} Half and half
# :label: ex-half
# ````
#
# A loss pushes one negative with weight 0.5 and two others with 0.25 each. What is its effective number of negatives?

# %%
mine = ...

# %% tags=["hide-input"]
def check_effective(value):
    """Passes for the effective number of weights 0.5, 0.25, 0.25."""
    if value is ...:
        return "your turn"
    w = torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64)
    expected = float(w.sum() ** 2 / (w**2).sum())
    assert abs(value - expected) < 1e-3, f"not yet: got {value}; it lies between 1 and 3, and is not their plain number"
    return "right"


check_effective(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-half
# :class: dropdown
# ````
#
# The sum is 1, the sum of squares $0.25 + 2 \cdot 0.0625 = 0.375$.

# %%
check_effective(1 / 0.375)

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} A loss of your own
# :label: ex-balance
# ````
#
# Write the weights of $\ell = \log(1 + e^{s_- - s_+})$ for scores $(s_+, s_-)$ as a function of a tensor of two numbers
# that returns a tensor of two. Mind who is pulled.

# %%
mine = ...

# %% tags=["hide-input"]
def check_softplus_weights(value):
    """Passes for a function with the gradient of log(1 + exp(s- - s+))."""
    if value is ...:
        return "your turn"
    for point in ([0.3, 0.5], [0.9, -0.2]):
        s = torch.tensor(point, dtype=torch.float64, requires_grad=True)
        torch.nn.functional.softplus(s[1] - s[0]).backward()
        got = torch.as_tensor(value(s.detach()), dtype=torch.float64)
        assert not torch.allclose(got, -s.grad), "not yet: the signs are turned around; the positive is pulled up"
        assert torch.allclose(got, s.grad), f"not yet: at {point} the gradient is another one"
    return "right"


check_softplus_weights(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-balance
# :class: dropdown
# ````
#
# Its slope is $\sigma(s_- - s_+)$; the negative gets it with a plus, the positive with a minus.

# %%
pull_push = torch.tensor([-1.0, 1.0], dtype=torch.float64)
check_softplus_weights(lambda s: torch.sigmoid(s[1] - s[0]) * pull_push)

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} Read the picture
# :label: ex-read-twelve
# ````
#
# Look at the bar charts of the eight losses and the four later ones. A negative at 0.62 is a caption that is true of the
# picture, and nobody knows. Which of the twelve would harm it most, that is, give it the largest push for each unit of
# pull on the positive? Answer with its name in the library, a key of `losses | today`.

# %%
mine = ...

# %% tags=["hide-input"]
def check_most_harm(name):
    """Passes for the loss with the largest push on the negative at 0.62, per unit of pull."""
    if name is ...:
        return "your turn"
    from icrlib.losses import by_name

    ten = torch.tensor([[0.60, 0.68, 0.62, 0.56, 0.49, 0.45, 0.37, 0.25, 0.08, -0.12]], dtype=torch.float64)
    harm = {}
    for key in ("triplet", "triplet_sh", "ntxent", "smoothap", "ntxent_hard", "circle", "binomial_deviance",
                "multi_similarity", "ifm", "dcl", "siglip", "ntxent_sparse"):
        w = by_name(key, **({"tau": 0.1} if key == "ifm" else {})).weights(ten, torch.arange(10)[None] == 0)[0]
        harm[key] = float(w[2] / w[0].abs())
    assert name in harm, f"not yet: one of {', '.join(harm)} is wanted"
    assert harm[name] > 0, f"not yet: {name} hears the hardest negative only, the one at 0.68"
    assert harm[name] == max(harm.values()), f"not yet: {name} gives it {harm[name]:.2f}, another one more"
    return "right"


check_most_harm(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-read-twelve
# :class: dropdown
# ````
#
# Binomial deviance: it judges each negative by itself, against a threshold, so that a near tie is pushed almost as hard as
# the positive is pulled. SmoothAP comes next, for another reason: it looks for near ties, and for nothing else.

# %%
print({name: round(float(w[1]), 2) for name, w in pushes.items() if float(w[1]) > 0.3})
check_most_harm("binomial_deviance")

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} An open one
# :label: ex-two-alike
# ````
#
# Two losses have a cosine of 0.95 on one batch. After a thousand updates their models may still differ. Name two reasons
# that the cosine cannot see, and say what you would have to record during a training to see them.
#
# ````{exercise-end}
# ````
#
# Next: {doc}`../lessons/training` trains one model with four of the losses.
