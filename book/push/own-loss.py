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
# (ch-own-loss)=
# # A loss of your own, in a dozen lines
#
# A query has one positive and seven negatives, and each loss shares its push among these. Triplet gives a negative that beats the
# positive as much as one that is barely inside the margin. NT-Xent grades them, but never stops: even the last one gets something. Could
# a loss do both, grade *and* stop?

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
from dataclasses import dataclass

import matplotlib.pyplot as plt
import pandas as pd
import torch

import icrlib
from icrlib import chapter, paper, plots
from icrlib.agreement import agreement
from icrlib.experiments import check
from icrlib.losses import LOSSES, GradientObjective, Loss, NTXent, Triplet, goal, integrability

smoke = chapter.start(smoke)
row = [0.60, 0.68, 0.56, 0.52, 0.47, 0.43, 0.31, 0.11]  # the positive comes first
scores = torch.tensor([row], dtype=torch.float64)
positives = torch.arange(8)[None] == 0
margin = 0.2

# %% tags=["remove-input"] mystnb={"image": {"alt": "Three bar charts of how the push is shared among seven negatives with falling scores. Triplet: five equal bars of 20 percent. Quadratic: falling steadily and zero for the last two. NT-Xent: over half to the first, falling steeply, never quite zero."}, "figure": {"name": "fig-own-question", "caption": "Share of the push on each negative, in percent; below the bars the scores of the negatives. The positive has 0.60. Quadratic, the loss of this chapter, grades like NT-Xent and stops like Triplet."}}
wanted = {"triplet": Triplet(margin).weights(scores, positives)[0, 1:],
          "quadratic": torch.relu(margin + scores[0, 1:] - scores[0, 0]),  # the next section derives it
          "ntxent": NTXent().weights(scores, positives)[0, 1:]}
fig, axes = plt.subplots(1, 3, figsize=(9, 2.5), sharey=True)
shares = {name: (100 * w / w.sum()).tolist() for name, w in wanted.items()}
for ax, name in zip(axes, shares, strict=True):
    drawn = ax.bar(range(7), shares[name], color=plots.colour(name))
    ax.bar_label(drawn, ["<1" if 0 < value < 0.5 else f"{value:.0f}" for value in shares[name]], fontsize=9)
    ax.set_xticks(range(7), [f"{s:.2f}"[1:] for s in row[1:]], fontsize=9)
    ax.set_title(plots.label(name), fontsize=11)
axes[0].set_ylabel("% of the push");

# %% [markdown]
# **Yes: half the squared hinge. Its push is the size of the violation, so that the highest negative gets 42 % of it and the two outside
# of the margin nothing.** As a class it is a dozen lines, and one call finds a wrong gradient before it trains.
#
# *You will be able to* turn an idea about weights into a loss of the library, have it checked, and train it · nine minutes to read · a
# minute and a half to run.

# %% tags=["hide-input"]
# checked by machine
check("Its push is the size of the violation, so that the highest negative gets 42 % of it and the two outside of the "
      "margin nothing.", f"gets {shares['quadratic'][0]:.0f} %", shares["quadratic"][5:] == [0, 0])
assert shares["ntxent"][6] > 0 and shares["triplet"][0] == shares["triplet"][4]

# %% [markdown]
# ## The idea, and its weights
#
# Let the push be the violation $v_j = [\alpha + s_j - s_+]_+$. Which loss has this weight? We need a function whose slope is $[x]_+$. It
# is half the squared hinge, so
#
# $$ \ell = \frac12 \sum_{j \in N} [\alpha + s_j - s_+]_+^2. $$ (eq-quadratic)
#
# **Line 1, the square.** For $x > 0$ the slope of $x^2/2$ is $x$, and else it is 0. **Line 2, the inside and the sum.** $x_j = \alpha +
# s_j - s_+$ grows with $s_j$ and falls with $s_+$, and the positive takes part in every term:
#
# $$ w_j = v_j \quad (j \in N), \qquad w_+ = -\sum_{j \in N} v_j. $$ (eq-quadratic-weights)

# %% tags=["nbval-check-output"]
def my_loss(scores):
    return (torch.relu(margin + scores[:, 1:] - scores[:, :1]) ** 2).sum(1) / 2


def my_weights(scores, positives, margin):
    """One positive a row."""
    own = scores[positives][:, None]
    v = torch.relu(margin + scores - own).masked_fill(positives, 0)
    return v - positives * v.sum(1, keepdim=True)


w = my_weights(scores, positives, margin)
checked = agreement(w, my_loss, scores)
assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6
print([round(value, 2) for value in w[0].tolist()])

# %% [markdown]
# ## A dozen lines
#
# Now as a loss of the library. A subclass of `Loss` says two things: `terms`, the loss of each (query, positive) pair, and
# `term_weights`, its derivative by every score of the row. All else follows: several positives, both directions, large batches in
# pieces that fit into memory, and training.

# %%
@dataclass(frozen=True, kw_only=True)
class Quadratic(Loss):
    margin: float = 0.2
    queries: str = "sum"  # as Triplet: summed, not averaged
    directions: str = "sum"

    def violations(self, pairs):
        return pairs.at_negatives(torch.relu(pairs.rows + (self.margin - pairs.own)), 0)

    def terms(self, pairs):
        return self.violations(pairs).square().sum(1) / 2

    def term_weights(self, pairs):
        v = self.violations(pairs)
        return v.scatter(1, pairs.positive[:, None], -v.sum(1, keepdim=True))

# %% [markdown]
# What a loss finds in `pairs`, with $T$ pairs of a query and a positive (as many as queries, if each has one) and $M$ candidates:
#
# | field | shape | what it is |
# | --- | --- | --- |
# | `rows` | $T \times M$ | all scores of the pair's query |
# | `own` | $T \times 1$ | the score of the positive |
# | `positive` | $T$ | its column |
# | `mask`, `negatives` | $T \times M$ | the query's positives, and the others |
# | `at_negatives(x, y)` | $T \times M$ | `x` at the negatives, `y` at all positives |
# | `first_hardest()` | $T \times 1$ | column of the highest negative |
#
# ## Check it before it trains
#
# One function compares the closed form with autograd and with plain differences. We ask it for our row, for forty random queries, and
# for queries with three positives each.

# %%
rng = torch.Generator().manual_seed(0)
random = torch.rand(40, 40, generator=rng, dtype=torch.float64) * 2 - 1
one = torch.eye(40, dtype=torch.bool)
three = one | one.roll(1, 1) | one.roll(5, 1)


def faults(loss, scores, positives):
    return agreement(loss.weights(scores, positives),
                     lambda s: loss.per_query(s, positives), scores)


quadratic = Quadratic(margin=margin)
for s, p in ((scores, positives), (random, one), (random, three)):
    checked = faults(quadratic, s, p)
    assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6
by_hand = my_weights(random, one, margin)
assert (quadratic.weights(random, one) - by_hand).abs().max() < 1e-12

# %% [markdown]
# ### Would it catch a mistake?
#
# A check that never failed proves nothing. So we plant three mistakes: a wrong sign at the positive, a forgotten ½, and the weights of
# Triplet left in place. All three would train without an error message.

# %%
class WrongSign(Quadratic):
    def term_weights(self, pairs):
        v = self.violations(pairs)
        return v.scatter(1, pairs.positive[:, None], v.sum(1, keepdim=True))


class ForgottenHalf(Quadratic):
    def term_weights(self, pairs):
        return 2 * super().term_weights(pairs)


class OldWeights(Quadratic):
    def term_weights(self, pairs):
        return Triplet(self.margin).term_weights(pairs)

# %%
kinds = {"right": Quadratic, "wrong sign": WrongSign, "forgotten ½": ForgottenHalf,
         "weights of Triplet": OldWeights}
off, sums, curl = {}, {}, {}
for name, kind in kinds.items():
    loss = kind(margin=margin)
    off[name] = faults(loss, random, one)["autograd"]
    sums[name] = float(loss.weights(random, one).sum(1).abs().max())
    curl[name] = integrability(loss, "one direction", loops=6, points=8).conservative

# %% tags=["remove-input"]
paper.styled(pd.DataFrame({"term_weights": list(kinds),
                           "off by": [f"{x:.2g}" if x > 1e-10 else "0" for x in off.values()],
                           "largest row sum": [f"{x:.2g}" if x > 1e-10 else "0" for x in sums.values()],
                           "gradient of a loss": ["yes" if x else "no" for x in curl.values()]}),
             "What each check says; off by: largest difference from autograd", name="planted")

# %% [markdown]
# Read the columns from the right. A wrong sign is no gradient of *any* loss: walk around a loop of scores, and you come back with a
# gain. The other two are gradients, but of another loss. The sum of a row of weights is zero where push and pull balance; it, too, finds
# only the wrong sign. The comparison with *your* value alone sees all three. So use `agreement`, always.

# %% tags=["hide-input"]
# checked by machine
check("The comparison with *your* value alone sees all three.", off["right"] < 1e-10,
      [x > 0.1 for x in off.values()] == [False, True, True, True], list(curl.values()) == [True, False, True, True],
      [name for name, total in sums.items() if total > 1e-10] == ["wrong sign"])

# %% [markdown]
# ## What it promises, as tests
#
# Say what your loss should do, and have it tested on random scores.

# %%
w = quadratic.weights(random, one)
# Only differences of scores matter: rows sum to zero, and a shift changes nothing.
assert w.sum(1).abs().max() < 1e-12
assert (quadratic.weights(random + 0.3, one) - w).abs().max() < 1e-12
# A satisfied triplet is silent.
solved = (random.diagonal()[:, None] - random >= margin) & ~one
assert (w[solved] == 0).all() and (w[~solved & ~one] > 0).all()
# The order of the candidates and of the queries does not matter.
p = torch.randperm(40, generator=rng)
assert (quadratic.weights(random[:, p], one[:, p]) - w[:, p]).abs().max() < 1e-12
assert torch.equal(quadratic.weights(random[p], one[p]), w[p])
# A larger violation gets a larger push. (Triplet would fail here.)
order = random[0, 1:].argsort()
pushes = [v[0, 1:][order] for v in (w, Triplet(margin).weights(random, one))]
assert [bool((x[x > 0].diff() > 0).all()) for x in pushes] == [True, False]

# %% [markdown]
# One more number before training: the loss of a model that gives every pair the same score, at which a curve may stand for long
# ({numref}`Chapter {number} <ch-plateau>`). Each violation is then $\alpha$, and a batch of $B$ pairs has $B (B - 1)$ terms of
# $\alpha^2 / 2$ in each direction, so $\ell = B (B - 1)\, \alpha^2$.

# %% tags=["nbval-check-output"]
B, pairs128 = 128, torch.eye(128, dtype=torch.bool)
constant = quadratic.collapsed(pairs128)
assert abs(constant - B * (B - 1) * margin**2) < 1e-9
print(round(constant, 2))

# %% [markdown]
# This number finds what `agreement`, which looks at slopes, cannot. Suppose that `terms`, and `terms` only, forgets to leave out the
# positive's own column. Its hinge is $\alpha + s_+ - s_+ = \alpha$, whatever the scores are: the value is too large by $\alpha^2/2$ for
# each query, and a constant has no slope. The model trains as it should, but the printed loss never reaches zero.

# %% tags=["nbval-check-output"]
class OwnColumn(Quadratic):
    def terms(self, pairs):
        return torch.relu(pairs.rows + (self.margin - pairs.own)).square().sum(1) / 2


forgetful = OwnColumn(margin=margin)
assert max(faults(forgetful, random, one).values()) < 1e-6  # agreement passes
print(f"{forgetful.collapsed(pairs128):.2f}, not {constant:.2f}")

# %% [markdown]
# ## Train it
#
# `icrlib.train` finds a loss by its name in `LOSSES`. The record of a run names the loss and its options, and nothing in it shows that a
# formula was changed: if you change yours, change its name.

# %% tags=["live"]
LOSSES["quadratic"] = Quadratic
data = icrlib.load_dataset("scenes", smoke=smoke)
updates = 20 if smoke else 400
budget = {"updates": updates, "evaluate_every": updates, "seed": 0, "progress": False}
short = {name: icrlib.train(data, loss=name, **budget) for name in ("triplet", "quadratic")}
for name, run in short.items():
    print(f"{plots.label(name):10} test rsum {run.record['test']['rsum']:.1f}")
del LOSSES["quadratic"]  # nothing leaks out of this page

# %% [markdown]
# It trains, and that is all that this shows: one seed, 400 updates of the usual 3,000, a rate chosen for Triplet, and its published margin.
# For a result, give the class a home: put it into `icrlib/losses/quadratic.py`, name it in `LOSSES` of `icrlib/names.py`, and compare
# several seeds. The runs of Triplet are already there; yours are trained where they are named. `compare` refuses runs that differ in more
# than the loss, so both have the rate that was chosen for Triplet:
#
# ```python
# both = {"seed": range(3), "lr": 0.003, "updates": 3000}
# theirs = icrlib.runs("scenes", loss="triplet", margin=0.2, **both)
# ours = icrlib.runs("scenes", loss="quadratic", missing="train", **both)
# print(icrlib.compare(ours, theirs))
# ```
#
# Better still, choose rate and margin on validation data for both losses, with the same number of tries ({doc}`../reproduce/settings`
# shows how).
#
# ## The other way: design the gradient
#
# {numref}`Chapter {number} <ch-goal>` builds weights for the positive and the hardest negative as a triplet weight, which looks at both
# scores, times a pair weight, which looks at one. There our idea is one line: the triplet weight is the violation. In it `p` and `n` are
# the two scores, and `o` is the objective with its constants. The pair weight `con` is 1; `lin` is $1 - s_+$ for the positive and $s_-$
# for the negative. With `con` the design is the gradient of our loss with the hardest negative alone. With `lin` it is that of no loss:

# %% tags=["nbval-check-output"]
goal.TRIPLET_WEIGHTS["violation"] = lambda o, p, n: torch.relu(o.margin + n - p)
for pair_weight in ("con", "lin"):
    report = integrability(GradientObjective("violation", pair_weight, margin=margin))
    print(f"violation x {pair_weight}: gradient {report.conservative}")
designed = GradientObjective("violation", "con", margin=margin).weights(random, one)
del goal.TRIPLET_WEIGHTS["violation"]

# %% [markdown]
# Which way to take? A loss has a value that you can watch and that a formula for the weights can be checked against. A designed gradient
# is one line, without a value to check it against: you can look at its weights, and `integrability` says whether any loss has them, but
# neither says whether they are the ones that you meant.

# %% tags=["hide-input"]
# checked by machine
hardest = torch.where(one, -torch.inf, random).argmax(1, keepdim=True)
alone = by_hand.gather(1, hardest)
assert (designed - torch.zeros_like(random).scatter(1, hardest, alone) + alone * one).abs().max() < 1e-12

# %% [markdown]
# ## What we found
#
# - **A loss is two methods.** Its weights can be checked against its value, so do it before the first training.
# - **Being a gradient of some loss is not enough**: twice the weights, or Triplet's, are gradients as well. On forty random queries a
#   wrong sign was off by up to 85.4, a forgotten ½ by up to 42.7.
# - **A short training shows that a loss trains.** Whether it is better takes several seeds, and constants of its own.

# %% tags=["hide-input"]
# checked by machine
check("a wrong sign was off by up to 85.4, a forgotten ½ by up to 42.7.",
      f"off by up to {off['wrong sign']:.1f}", f"½ by up to {off['forgotten ½']:.1f}")

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} Five weights
# :label: ex-own-weights
# ````
#
# A query has the scores `[0.42, 0.55, 0.30, 0.10, 0.28]`; the second is its positive. The margin is 0.3. Give the five weights of
# Quadratic as a tensor or a list.

# %%
mine = ...

# %% tags=["hide-input"]
def check_own_weights(value):
    """Passes for the weights of the squared hinge on this row."""
    if value is ...:
        return "your turn"
    value = torch.as_tensor(value, dtype=torch.float64)
    s = torch.tensor([0.42, 0.55, 0.30, 0.10, 0.28], dtype=torch.float64).requires_grad_()
    loss = (torch.relu(0.3 + s[[0, 2, 3, 4]] - s[1]) ** 2).sum() / 2
    expected = torch.autograd.grad(loss, s)[0]
    assert value.shape == (5,), f"not yet: five weights are needed, got shape {tuple(value.shape)}"
    assert value[1] < 0, "not yet: a higher positive must lower the loss, so its weight is below zero"
    assert value[3] == 0, "not yet: 0.10 is outside of the margin"
    assert abs(float(value.sum())) < 1e-4, "not yet: the positive balances all pushes; the row sums to zero"
    assert chapter.near(value, expected), "not yet: the push is the size of the violation"
    return "right"


check_own_weights(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-own-weights
# :class: dropdown
# ````
#
# The violations are 0.3 + 0.42 − 0.55 = 0.17, then 0.05, nothing, and 0.03. The positive gets minus their sum.

# %%
check_own_weights([0.17, -0.25, 0.05, 0, 0.03])

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise} An open one
# :label: ex-own-idea
#
# Which wish of yours does no loss of {numref}`Chapter {number} <ch-one-picture>` grant? Write it as weights first, on one row, then look
# for a loss that has them. If `integrability` says that there is none, which of your wishes would you give up?
# ````
#
# Next: {numref}`Chapter {number} <ch-plateau>` asks what a loss that lies flat says.
