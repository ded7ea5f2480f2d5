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
# **What you will be able to do:** see at a glance whom a loss pulls and pushes, and how hard; compare any two losses by
# one number; and count negatives without a threshold. **Time:** under a minute on one core. **You need:**
# {doc}`triplet`, {doc}`ntxent`, {doc}`smoothap` and {doc}`goal`.
#
# Eight losses and fifteen designed gradients read the same row of scores. Do they want different things, or the same
# thing at different strengths?

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
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from IPython.display import Markdown

import icrlib
from icrlib import chapter, cocos, paper, plots, verify
from icrlib.losses import LOSSES, NTXent, Triplet, by_name, objectives
from icrlib.widgets import frames_slider, live

smoke = chapter.start(smoke)

# %% [markdown]
# Here is a query. Its positive has score 0.60. Seven negatives follow, two of them above the positive.

# %%
row = torch.tensor([[0.60, 0.68, 0.62, 0.56, 0.50, 0.41, 0.25, -0.05]], dtype=torch.float64)
own = torch.zeros_like(row, dtype=torch.bool)
own[0, 0] = True
losses = {name: by_name(name) for name in LOSSES}

# %% [markdown]
# A common factor of all weights is only a learning rate. So we divide by the pull on the positive: it becomes −1.

# %%
def normalised(loss, scores=row, positives=own):
    w = loss.weights(scores, positives)
    return w / w[positives].abs().max()


# %% tags=["hide-input"] mystnb={"image": {"alt": "Eight small bar charts of the weights that eight losses put on the same eight candidates, scaled so that the positive's pull is minus one. Triplet-SH and hard NT-Xent push one negative only; Triplet pushes five alike; NT-Xent, Circle and Multi-Similarity push mostly the two hardest; binomial deviance pushes by score; SmoothAP pushes those next to the positive."}, "figure": {"name": "fig-one-row", "caption": "One row, eight losses. Blue: the positive, pulled by one. Red: the negatives, pushed. Same row, eight opinions."}}
fig, axes = plt.subplots(4, 2, figsize=(6.8, 7.2), sharex=True)
for ax, (name, loss) in zip(axes.flat, losses.items(), strict=True):
    w = normalised(loss)[0]
    ax.bar(range(8), w, color=["#2166ac" if own[0, j] else "#b2182b" for j in range(8)])
    ax.axhline(0, color="black", lw=0.8)
    ax.set_title(plots.label(name), fontsize=11)
    ax.set_xticks(range(8), [f"{s:.2f}" for s in row[0]], rotation=90, fontsize=9)
for ax in axes[:, 0]:
    ax.set_ylabel("weight")
for ax in axes[-1]:
    ax.set_xlabel("score of the candidate");

# %% [markdown]
# Three questions tell them apart. **Who** is pushed: one negative, those inside a margin, or all? **How hard** is each
# pushed, compared with the others? And do push and pull **balance**? The sum of a row answers the last.

# %% tags=["hide-input"]
def described(loss):
    w = normalised(loss)[0]
    pushed = w[1:]
    n_eff = float(pushed.abs().sum() ** 2 / (pushed**2).sum())
    return {"pushed": int((pushed > 1e-3).sum()), "effective number": f"{n_eff:.2f}",
            "push / pull": f"{float(pushed.sum()):.2f}"}


paper.styled(pd.DataFrame([{"loss": plots.label(name)} | described(loss) for name, loss in losses.items()]),
             "On the row above. Pushed: negatives with more than a thousandth of the pull.", name="one-row")

# %% [markdown]
# Losses of *differences* of scores balance: adding the same number to all scores changes nothing, so their weights sum
# to zero. Binomial deviance, Circle and Multi-Similarity compare scores with fixed thresholds. They need not balance.

# %%
shifted = row + 0.3
for loss in losses.values():
    balanced = abs(float(loss.weights(row, own).sum())) < 1e-9
    unmoved = torch.allclose(loss.weights(row, own), loss.weights(shifted, own))
    assert balanced == unmoved

# %% [markdown]
# ## The book's matrix
#
# The same for four images and four captions. Each weight matrix has its own colour scale; rows are the queries.

# %% tags=["hide-input"] mystnb={"image": {"alt": "A four by four score matrix and the weights of Triplet, Triplet-SH, NT-Xent, SmoothAP, NT-Xent with the hardest negative, Circle, binomial deviance and Multi-Similarity on it."}, "figure": {"name": "fig-all-matrices", "caption": "Scores, and what each of eight losses would do about them. Framed: own pairs. Blue is pulled up, red pushed down."}}
scores, pairs = plots.example()
plots.scores_and_weights(scores, pairs, losses, columns=3);

# %% [markdown]
# ## Fifteen objectives, two numbers each
#
# GOAL's objectives touch the positive and the hardest negative, and nobody else. So each is a point: how hard it pulls,
# $w^+$, and how hard it pushes, $w^-$. On the diagonal both are equal. Move the hardest negative and watch.

# %% tags=["hide-input"]
family = objectives()


def draw_points(negative):
    """All 15 at s+ = 0.6 and the given hardest negative, without relatives."""
    point = torch.tensor([[0.6]], dtype=torch.float64), torch.tensor([[negative]], dtype=torch.float64)
    fig, ax = plt.subplots(figsize=(4.9, 4.3))
    ax.plot([0, 1], [0, 1], color="#bbbbbb", lw=1, zorder=0)
    for name, objective in family.items():
        plus, minus = objective.on_plane(*point)
        ax.plot(float(plus), float(minus), plots.marker(name), color=plots.colour(name), ms=8, alpha=0.8)
    shown = [("con", "s"), ("lin", "o"), ("sig", "^"), ("lin-ms", "P"), ("sig-ms", "X")]
    handles = [ax.plot([], [], m, color="#555555", ls="", label=f"P {p}")[0] for p, m in shown]
    handles += [ax.plot([], [], "-", lw=4, color=plots.colour(f"goal:{t} x con"), label=f"T {t}")[0]
                for t in ("con", "nca", "cir")]
    ax.legend(handles=handles, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
    ax.set(xlim=(-0.05, 1.05), ylim=(-0.3, 1.05), xlabel="pull on the positive, w+", ylabel="push on the negative, w−",
           title=f"s+ = 0.60, s− = {negative:.2f}")
    return fig


# %% tags=["remove-output"]
negatives = [-0.2, 0.1, 0.3, 0.5, 0.6, 0.7, 0.9]
live(draw_points, negatives, label="s−")  # with a kernel; the page has the next one

# %% tags=["hide-input"]
frames_slider(draw_points, negatives, label="hardest negative s−", start=3,
              alt=lambda s: f"Pull and push of the fifteen objectives at s+ 0.6 and hardest negative {s}")

# %% [markdown]
# Where the triplet is solved, con is silent and nca and cir whisper. Where it is the wrong way round, con and nca shout
# and cir, as printed, still whispers. The pair weights move a point off the diagonal: with lin and a low $s^-$ the pull
# is stronger than the push.
#
# ## How many negatives take part?
#
# ECIR counts candidates whose weight exceeds $\epsilon = 0.01$. But a weight has a scale. Some losses are sums over the
# batch, others means; NT-Xent carries a factor $1/\tau$. Multiply a loss by a hundred, which changes nothing but the
# learning rate, and the count changes. The **effective number** does not:
#
# $$ n_\text{eff} = \Big(\sum_{j \in N} |w_j|\Big)^2 \Big/ \sum_{j \in N} w_j^2. $$

# %% tags=["nbval-check-output"]
class Louder(NTXent):
    """NT-Xent, a hundred times as loud."""

    def term_weights(self, pairs):
        return 100 * super().term_weights(pairs)


for loss in (NTXent(), Louder()):
    counted = cocos.count(loss, row, own, convention="exact", eps=0.01)
    print(f"counted {counted['C_q']:.0f}, effective {counted['n_eff']:.4f}")

# %% [markdown]
# Now on real scores. We train a bag of words for a few seconds and look at 128 test pairs, before and after.

# %%
data = icrlib.load_dataset("scenes", smoke=smoke)
split = data.test
chosen = torch.tensor([int((split.image_of == n).nonzero()[0]) for n in range(min(128, len(split)))])


def batch_scores(updates):
    model = icrlib.train(data, "bow", updates=updates, smoke=smoke, progress=False).model
    images, captions = icrlib.evaluation.embed(model, split)
    return (images[: len(chosen)] @ captions[chosen].T).double()


before, after = batch_scores(1), batch_scores(400)
eye = torch.eye(len(chosen), dtype=torch.bool)

# %% tags=["hide-input"]
def in_batch(loss, s):
    c = cocos.count(loss, s, eye, convention="exact")
    return f"{c['n_eff']:.1f}", f"{100 * (1 - c['C_0'] / len(eye)):.0f} %"


everyone = losses | {name: family[name] for name in ("goal:con x lin", "goal:nca x con", "goal:cir x lin")}
paper.styled(pd.DataFrame([
    {"loss": plots.label(name)} | dict(zip(("negatives, new model", "active, new", "negatives, trained", "active, trained"),
                                           in_batch(loss, before) + in_batch(loss, after), strict=True))
    for name, loss in everyone.items()
]), "Images as queries, 128 pairs. Active: queries with a weight above 0.01. Negatives: effective number, mean.",
    name="effective")

# %% tags=["hide-input"]
first, last = (float(cocos.count(NTXent(), s, eye, convention="exact")["n_eff"]) for s in (before, after))
Markdown(f"NT-Xent starts by pushing **{first:.0f}** of {len(eye) - 1} negatives about alike, and ends with **{last:.1f}**. "
         "Nobody changed the loss. The scores spread, and the softmax follows them.")

# %% [markdown]
# Between one negative and all of them there is one dial, the temperature.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Effective number of negatives of NT-Xent against temperature on a logarithmic axis, on the trained scores: from 1 at the cold end, where it equals Triplet-SH, to nearly all at the hot end. A dashed line marks Triplet."}, "figure": {"name": "fig-dial", "caption": "NT-Xent goes from the hardest negative alone to all of them as its temperature rises. Dashed: Triplet at its published margin."}}
taus = np.geomspace(0.002, 3, 28)
numbers = [cocos.count(NTXent(tau=float(t)), after, eye, convention="exact", eps=0)["n_eff"] for t in taus]
triplet = cocos.count(Triplet(), after, eye, convention="exact")["n_eff"]
plt.figure(figsize=(6.2, 3.3))
plt.loglog(taus, numbers, color=plots.COLOURS["ntxent"], lw=2.5, label="NT-Xent")
plt.axhline(triplet, color=plots.COLOURS["triplet"], ls="--", label="Triplet, α = 0.2")
plt.axhline(1, color=plots.COLOURS["triplet_sh"], ls="--", label="Triplet-SH")
plt.xlabel("temperature τ")
plt.ylabel("effective negatives")
plt.legend();

# %% [markdown]
# ## Who agrees with whom?
#
# Two losses agree as far as their weights on a batch point the same way. The cosine between the two weight matrices says
# it in one number, and does not care about learning rates.

# %%
def direction(loss, s):
    w = loss.score_gradient(s, eye).flatten()
    return w / w.norm()


compared = losses | {n: family[n] for n in ("goal:con x lin", "goal:nca x con", "goal:cir x sig-ms")}
vectors = torch.stack([direction(loss, after) for loss in compared.values()])
alike = vectors @ vectors.T
assert torch.allclose(alike.diagonal(), torch.ones(len(alike)).double())

# %% tags=["hide-input"] mystnb={"image": {"alt": "Heat map of cosines between the weight matrices of eleven losses and objectives on one trained batch, each number written in its cell."}, "figure": {"name": "fig-agreement", "caption": "Cosine between the weights of two losses on the same 128 trained pairs. 1: the same step but for its length."}}
names = [plots.label(name) for name in compared]
plt.figure(figsize=(7, 5.6))
ax = sns.heatmap(alike.numpy(), cmap="Blues", vmin=0, vmax=1, annot=True, fmt=".2f", annot_kws={"size": 9}, cbar=False,
                 xticklabels=names, yticklabels=names)
ax.tick_params(labelsize=9)
plt.setp(ax.get_xticklabels(), rotation=50, ha="right");

# %% tags=["hide-input"]
pairs_of = [(float(alike[i, j]), names[i], names[j]) for i in range(len(names)) for j in range(i)]
close, far = max(pairs_of), min(pairs_of)
start = torch.stack([direction(loss, before) for loss in compared.values()])
mean = [float((m.sum() - len(m)) / (len(m) * (len(m) - 1))) for m in (start @ start.T, alike)]
Markdown(f"Closest: **{close[1]}** and **{close[2]}** ({close[0]:.2f}). Farthest: **{far[1]}** and **{far[2]}** "
         f"({far[0]:.2f}). The mean over all pairs is {mean[0]:.2f} on the new model and {mean[1]:.2f} on the trained one.")

# %% [markdown]
# ## Every weight of this page, checked
#
# Closed form against autograd, and against differences of the values. Two kinds fail the second test, and must: the
# published Circle loss treats its pace as a constant, and a designed gradient has a surrogate whose value means nothing.

# %% tags=["hide-input"]
checked = {}
point = 0.9 * scores + 0.013  # off every hinge
for name, loss in (losses | family).items():
    found = verify.agreement(loss.weights(point, pairs), lambda s, loss=loss: loss.per_query(s, pairs), point)
    assert found["autograd"] < 1e-10
    checked[name] = found["differences"] < 1e-6
fails = [plots.label(name) for name, yes in checked.items() if not yes]
assert "Circle" in fails and all(checked[name] for name in LOSSES if name != "circle")
Markdown(f"All {len(checked)} agree with autograd to 1e-10. {sum(checked.values())} agree with differences of their values "
         f"to 1e-6; the others are Circle and {len(fails) - 1} of the 15 designed gradients.")

# %% [markdown]
# ## What we found

# %% tags=["hide-input"]
Markdown("\n".join([
    "- All agree on the signs. They differ in who is pushed, how the push is shared, and whether it balances the pull.",
    f"- Training changes that without changing the loss: NT-Xent went from {first:.0f} to {last:.1f} effective negatives.",
    f"- On trained scores the closest pair is {close[1]} and {close[2]}; the farthest {far[1]} and {far[2]}.",
    "- A count above a threshold depends on the loudness of a loss. The effective number does not.",
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
check_softplus_weights(lambda s: torch.sigmoid(s[1] - s[0]) * torch.tensor([-1.0, 1.0], dtype=torch.float64))

# %% [markdown]
# ````{solution-end}
# ````
#
# Next: {doc}`../objectives/grid` trains the fifteen.
