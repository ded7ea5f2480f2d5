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
# # What do people train with today?
#
# **What you will be able to do:** derive the weights of five losses that came after, or beside, the four that ECIR
# compares (Triplet, Triplet-SH, NT-Xent and SmoothAP); say of each whom it pulls and pushes, and how hard; and read a
# comparison of their trained models. **Time:** half an hour of reading, about a minute and a half on one core. **You
# need:** {doc}`../gradients/ntxent` and {doc}`cocos`.
#
# In {doc}`../gradients/ntxent` we met a misprint. Eq. 4 of the paper that this book calls ECIR
# {cite:p}`bleeker2022lessons` leaves the positive out of NT-Xent's denominator. The pull on the positive of the loss
# that is printed there does not fade, however high the positive scores. ECIR trained with the other formula. But this
# one has been published, too, as the *decoupled contrastive loss*, DCL {cite:p}`yeh2022decoupled`, and people train
# with it on purpose. Here are both on one row of scores, once with the positive at 0.60 and once at 1.00:

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
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown

import icrlib
from icrlib import chapter, cocos, evidence, paper, plots, records
from icrlib.agreement import agreement
from icrlib.evidence import ltd_runs
from icrlib.losses import DCL, IFM, NTXent, SigLIP, SparseNTXent, Triplet, TripletSH
from icrlib.sampling import Sampler

smoke = chapter.start(smoke)
PUSHED, PULLED = "#b2182b", "#2166ac"  # red is pushed down, blue is pulled up

# %% tags=["nbval-check-output"]
row = torch.tensor([[0.60, 0.68, 0.62, 0.56, 0.49, 0.45, 0.37, 0.25, 0.08, -0.12]]).double()
own = torch.arange(10)[None] == 0  # the first is the positive
high = row.clone()
high[0, 0] = 1.0
eq_4 = NTXent(denominator="negatives")
for name, loss in (("NT-Xent", NTXent()), ("Eq. 4", eq_4), ("DCL", DCL())):
    pulls = [-float(loss.weights(x, own)[0, 0]) for x in (row, high)]
    print(f"{name:8} pull at 0.60: {pulls[0]:5.2f}   at 1.00: {pulls[1]:5.2f}")

# %% [markdown]
# So was the misprint the better formula? And what of the wish with which ECIR ends, for losses "that only take one, or a
# limited number of, hard negative(s) into account"? This page puts five losses beside NT-Xent:
#
# | loss | what it changes about NT-Xent | its constants besides τ |
# | --- | --- | --- |
# | NT-Xent, learned τ {cite:p}`radford2021clip` | the temperature is learned with the model, as CLIP does | where τ starts |
# | DCL {cite:p}`yeh2022decoupled` | the positive is left out of the denominator | none |
# | IFM {cite:p}`robinson2021shortcut` | it is averaged with itself on scores that are made harder | ε, how much harder |
# | SigLIP {cite:p}`zhai2023siglip` | each pair gets a yes-or-no question of its own | scale $t$, bias $b$ |
# | NT-Xent, sparse (ours) | easy negatives get a share of exactly zero | none |
#
# The last one is this book's answer to ECIR's wish. Its shares are the *sparsemax* {cite:p}`martins2016sparsemax`, which
# is known from elsewhere. We derive the weights of each loss, look at all of them on the scores of one trained model,
# and then at models that were trained with them. The signs:
#
# | sign | meaning |
# | --- | --- |
# | $s_j$, $s_+$ | score (cosine) of the query with candidate $j$, and with its positive; $N$ are the negatives |
# | $\tau$ | temperature, by which scores are divided; $t = 1/\tau$ is called scale |
# | $w_j = \partial \ell / \partial s_j$ | weight of a candidate: positive pushes it down, negative pulls it up |
# | $\sigma(x) = 1/(1 + e^{-x})$ | the sigmoid, which is the slope of $\log(1 + e^x)$ |
# | $u$, $q_j$ | lead of the negatives; share of a negative among the negatives (next section) |
#
# ## Who is pushed, and how hard: two separate things
#
# NT-Xent is usually read as one softmax over all candidates. Split off the positive, and it falls into two parts that the
# new losses treat one by one. Take the *soft maximum* of the negatives, and by how much it leads over the positive, in
# temperatures:
#
# $$ u = \log \sum_{j \in N} e^{s_j/\tau} - \frac{s_+}{\tau}, \qquad
#    \frac{\partial u}{\partial s_j} = \frac{q_j}{\tau}, \quad \frac{\partial u}{\partial s_+} = -\frac1\tau, \qquad
#    q_j = \frac{e^{s_j/\tau}}{\sum_{k \in N} e^{s_k/\tau}}. $$ (eq-lead)
#
# NT-Xent is $-\log \big( e^{s_+/\tau} / (e^{s_+/\tau} + \sum_N e^{s_j/\tau}) \big) = \log(1 + e^u)$. Any loss that is a
# function $f$ of $u$ has, by the chain rule, the weights
#
# $$ w_j = \frac{f'(u)}{\tau}\, q_j \quad (j \in N), \qquad w_+ = -\frac{f'(u)}{\tau}. $$ (eq-hard-who)
#
# The shares $q_j$ say **who** is pushed: they add up to one and don't know the positive. The slope $f'(u)$ says **how
# hard**: one number for the whole query, for pull and push alike. Three of our losses are such functions:
#
# | loss | $f(u)$ | how hard, $f'(u)$ |
# | --- | --- | --- |
# | NT-Xent | $\log(1 + e^u)$ | $\sigma(u)$, which is $1 - p_+$, what the positive lacks of the whole softmax |
# | DCL | $u$ | 1 |
# | IFM | $\frac12 \log(1 + e^u) + \frac12 \log(1 + e^{u + 2\varepsilon/\tau})$ | $\frac12 \sigma(u) + \frac12 \sigma(u + 2\varepsilon/\tau)$ |
#
# So **these three agree about whom to push**, and differ only in how hard. We check that: the two factors, multiplied,
# against autograd of the library's losses. IFM's published start is τ = 0.07; on this page it has NT-Xent's 0.1, so that
# nothing else differs.


# %%
def lead_and_shares(scores, own, tau=0.1):
    """u (Q,) and q (Q, M), with q = 0 at the positive."""
    negatives = (scores / tau).masked_fill(own, -torch.inf)
    return negatives.logsumexp(1) - scores[own] / tau, negatives.softmax(1)


# %% tags=["nbval-check-output"]
u, q = lead_and_shares(row, own)
hard = {NTXent(): torch.sigmoid(u), DCL(): u**0,
        IFM(tau=0.1, eps=0.1): (torch.sigmoid(u) + torch.sigmoid(u + 2 * 0.1 / 0.1)) / 2}
for loss, slope in hard.items():
    w = slope[:, None] / 0.1 * (q - own.double())
    checked = agreement(w, lambda x, f=loss: f.per_query(x, own), row)
    assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6
    who = w[0, 1:5].div(-w[0, 0]).numpy().round(3)
    print(f"{loss.label:8} how hard: {float(slope):.3f}   who: {who} …")

# %% [markdown]
# Now slide the positive. Triplet-SH looks at the hardest negative only, so the axis of the next figure is by how much the
# positive leads over that one. A soft maximum of $n$ equal negatives is $\tau \ln n$ above the hardest, so NT-Xent must
# be drawn for some $n$: the more negatives are near, the longer it holds on. Triplet-SH with a margin of 0.2 is on until
# the lead is 0.2, and then off.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Curves over the positive's lead over the hardest negative, from minus 0.4 to 0.9. DCL stays at one. NT-Xent falls from one to zero, through one half at a lead of 0 with one negative, of 0.23 with ten, and of 0.48 with 127. IFM with ten negatives falls later than NT-Xent with ten. Triplet-SH drops from one to zero at 0.2."}, "figure": {"name": "fig-how-hard", "caption": "How hard: the common factor of all weights of a query, over the lead of its positive over the hardest negative, with 1, 10 and 127 equal negatives (NT-Xent) and with 10 (IFM, ε = 0.1). NT-Xent lets go of a query once its positive is ahead of all together. IFM lets go with one half there and with the other half 2ε later; DCL never does. Temperature 0.1."}}
ahead = torch.linspace(-0.4, 0.9, 261, dtype=torch.float64)


def share_of_pull(lead, n, eps=0.0, tau=0.1):
    """σ(u), with u from the lead over the hardest of n equal negatives."""
    return torch.sigmoid((2 * eps - lead) / tau + np.log(n))


fig, ax = plt.subplots(figsize=(6.8, 3.6))
for n, style in ((1, ":"), (10, "-"), (127, "--")):
    ax.plot(ahead, share_of_pull(ahead, n), color=plots.colour("ntxent"), lw=2.2, ls=style, label=f"NT-Xent, n = {n}")
ax.plot(ahead, torch.ones_like(ahead), color=plots.colour("dcl"), lw=2.4, label="DCL")
both = (share_of_pull(ahead, 10) + share_of_pull(ahead, 10, 0.1)) / 2
ax.plot(ahead, both, color=plots.colour("ifm"), lw=2, label="IFM, n = 10")
ax.step([-0.4, 0.2, 0.9], [1, 0, 0], where="post", color=plots.colour("triplet_sh"), lw=1.4, label="Triplet-SH")
ax.set(xlabel="by how much the positive leads over the hardest negative", ylabel="how hard, $f'$")
ax.legend(fontsize="small");

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
for n in (1, 10, 127):  # against the library: one positive, n equal negatives
    scores = torch.cat([torch.tensor([0.5], dtype=torch.float64), torch.full((n,), 0.2, dtype=torch.float64)])[None]
    mine = torch.arange(n + 1)[None] == 0
    for loss, eps in ((NTXent(), 0.0), (IFM(tau=0.1, eps=0.1), 0.1)):
        drawn = (share_of_pull(torch.tensor(0.3), n) + share_of_pull(torch.tensor(0.3), n, eps)) / 2
        assert abs(float(-0.1 * loss.weights(scores, mine)[0, 0] - drawn)) < 1e-6
    assert abs(float(share_of_pull(torch.tensor(0.1 * np.log(n)), n)) - 0.5) < 1e-6

# %% [markdown]
# **DCL** is the horizontal line. In NT-Xent, a query whose positive is well ahead stops teaching, about its negatives,
# too: the factor $\sigma(u)$ is common to pull and push. Yeh et al. call this the coupling of positive and negatives,
# and take it out. What stays is a query whose weights do not fade, with a pull of $1/\tau$. As a function in code it is
# nothing new,
# `NTXent(denominator="negatives")`, so it has the value of Eq. 4 and no lower bound in the scores. One thing differs from
# the publication: there a query meets each other picture twice, as two views, and both are negatives; here the two views
# are a picture and its caption, and a query's negatives are those of the other kind.

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
printed = NTXent(denominator="negatives")
assert DCL().per_query(row, own).equal(printed.per_query(row, own)) and DCL()(row.T @ row, torch.eye(10) > 0) == printed(
    row.T @ row, torch.eye(10) > 0)
assert DCL().weights(row, own).equal(printed.weights(row, own))
assert float(DCL().per_query(high, own)[0]) < 0 < float(NTXent().per_query(high, own)[0])

# %% [markdown]
# ## IFM: an adversary who moves the scores
#
# Robinson et al. ask which features a contrastive loss leaves unlearned, because others suffice. Their *implicit feature
# modification* lets an adversary move the encodings before the loss is taken: with the query $v$ of length one, the
# positive to $v_+ - \varepsilon v$ and each negative to $v_j + \varepsilon v$, which raises the loss the most. The scores
# become $s_+ - \varepsilon$ and $s_j + \varepsilon$. A softmax does not notice a constant on all of its scores, so the
# positive is $2\varepsilon$ lower and that is all: the loss with an adversary is NT-Xent with a **margin**, and $u$
# becomes $u + 2\varepsilon/\tau$. The released code averages it with the loss without an adversary. In vectors:

# %%
rng = torch.Generator().manual_seed(5)
V = torch.nn.functional.normalize(torch.randn(11, 6, generator=rng).double(), dim=1)
query, candidates, eps = V[0], V[1:], 0.1
moved = candidates + eps * query * torch.where(own[0], -1, 1)[:, None]
with_adversary = NTXent().per_query((moved @ query)[None], own)
without = NTXent().per_query((candidates @ query)[None], own)
ifm = IFM(tau=0.1, eps=eps).per_query((candidates @ query)[None], own)
assert abs(float(ifm - (with_adversary + without) / 2)) < 1e-12

# %% [markdown]
# A margin should remind you of Triplet-SH. How near are the two? IFM has two constants, and so two limits.
#
# - **Cold**, $\tau \to 0$ at a fixed ε. The soft maximum becomes the maximum, and τ times the adversary's loss tends
#   to $[2\varepsilon + \max_j s_j - s_+]_+$: Triplet-SH with a margin of $2\varepsilon$. With ε = 0.1, IFM's default,
#   that is the margin of VSE++. The other half tends to Triplet-SH with no margin, so τ times IFM tends to the mean
#   of the two.
# - **A large ε** at a fixed τ. Then $\sigma(u + 2\varepsilon/\tau) \to 1$, and the adversary's loss has the weights of
#   *DCL*. So IFM tends to the mean of NT-Xent and DCL, with soft shares, and not to a loss with one negative.
#
# By machine, on our row, where the hinge is 0.2 + 0.68 − 0.60:

# %% tags=["nbval-check-output"]
for tau in (0.1, 0.03, 0.01, 0.001):
    loss = IFM(tau=tau, eps=0.1)
    adversary = tau * (2 * loss.per_query(row, own) - NTXent(tau=tau).per_query(row, own))
    print(f"tau {tau:<6} tau times the adversary's loss: {float(adversary):.4f}")
print("Triplet-SH, margin 0.2:", round(float(TripletSH(margin=0.2).per_query(row, own)), 4))

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
cold = 1e-4 * IFM(tau=1e-4, eps=0.1).weights(row, own)
assert (cold - (TripletSH(0.2).weights(row, own) + TripletSH(0.0).weights(row, own)) / 2).abs().max() < 1e-9
large = IFM(tau=0.1, eps=5.0).weights(high, own)
assert (large - (NTXent().weights(high, own) + DCL().weights(high, own)) / 2).abs().max() < 1e-9
inside = high.clone()
inside[0, 0] = 0.75  # ahead of all by less than 2 eps: one half of cold IFM is still on, the other is done
half = 1e-4 * IFM(tau=1e-4, eps=0.1).weights(inside, own)
assert abs(float(half[0, 0]) + 0.5) < 1e-9 and abs(float(half[0, 1]) - 0.5) < 1e-9 and not half[0, 2:].abs().max() > 1e-9

# %% [markdown]
# So IFM lies between two families of this book: it has NT-Xent's shares and Triplet-SH's margin, and on the way
# from a warm to a cold temperature it goes from one to the other.
#
# ## A temperature that is learned
#
# CLIP learns the scale $t = 1/\tau$ with the model; what the optimiser moves is $\log t$, in CLIP, SigLIP and here. Which
# temperature does the loss want? With $p$ the softmax over all candidates,
#
# $$ \ell = \log \sum_{j} e^{t s_j} - t s_+, \qquad
#    \frac{\partial \ell}{\partial t} = \sum_j p_j s_j - s_+ . $$ (eq-learned-scale)
#
# The first term is the score that the softmax *expects*, the second the one that is true. If the positive scores higher
# than expected, the scale rises: colder, more certain. If it scores lower, the scale falls. The slope of the slope is
# the variance of the scores under $p$, never negative, so a batch has at most one best temperature, at which the
# positives score on average what the softmax expects of them. If all positives are first, there is none, and the scale
# rises without end; CLIP stops it at 100. Nor is there one if the positives score no higher than the mean candidate.

# %%
t = torch.tensor(10.0, dtype=torch.float64, requires_grad=True)
((t * row).logsumexp(1) - t * row[:, 0]).sum().backward()
expected = ((10 * row).softmax(1) * row).sum()
assert abs(float(t.grad) - float(expected - row[0, 0])) < 1e-12

# %% [markdown]
# For a picture of that we need scores that a model gives. As in {doc}`cocos` we train the bag of words for 600 updates
# with NT-Xent at τ = 0.1, and take the first batch of an epoch, 128 pictures with one caption each. Beside it stands the
# same batch scored by a new model, after a single update.

# %%
data = icrlib.load_dataset("scenes", seed=0, smoke=smoke)
short = {"seed": 0, "lr": 0.003, "smoke": smoke, "progress": False}
batch = Sampler(data.train, seed=0, batch_size=128)[0]


def scores_of(model):
    images, captions = icrlib.evaluation.embed(model, data.train)
    return images[batch.images].double() @ captions[batch.captions].double().T


new = scores_of(icrlib.train(data, "bow", "ntxent", updates=1, **short).model)
trained = scores_of(icrlib.train(data, "bow", "ntxent", updates=600,
                                 evaluate_every=600, **short).model)
eye = torch.eye(len(new), dtype=torch.bool)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Left: the loss of a batch over the temperature, on a logarithmic axis, for a new and a trained model; the trained model's has a minimum at a low temperature, marked, and 0.1 is marked as well. Right: for each query of the trained batch the slope by the scale over the positive's lead; queries whose positive leads lie below zero, as do many whose positive is somewhat behind; those far behind lie above."}, "figure": {"name": "fig-learned-tau", "caption": "Which temperature does a batch want? Left: NT-Xent's loss over τ, for scores of a new and of a trained model; dot: the minimum. Right: what each query of the trained batch asks for at τ = 0.1. Below zero: colder."}}
grid = torch.logspace(-2, 1, 121, dtype=torch.float64)
over_tau = {name: torch.stack([NTXent(tau=float(x)).per_query(s, eye).mean() for x in grid])
            for name, s in (("new", new), ("trained", trained))}
asks = ((trained / 0.1).softmax(1) * trained).sum(1) - trained.diagonal()
leads = -0.1 * lead_and_shares(trained, eye)[0]
fig, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.3))
for (name, values), style in zip(over_tau.items(), ("--", "-"), strict=True):
    left.plot(grid, values, color=plots.colour("ntxent"), ls=style, lw=2, label=name)
    left.plot(grid[values.argmin()], values.min(), "o", color=plots.colour("ntxent"))
left.axvline(0.1, color="black", lw=0.8)
left.set(xscale="log", ylim=(0, 8), xlabel="temperature τ", ylabel="loss of the batch")
left.legend(fontsize="small")
right.plot(leads, asks, marker=plots.marker("ntxent"), ls="", ms=4, color=plots.colour("ntxent"), alpha=0.7)
right.axhline(0, color="black", lw=0.8)
right.set(xlabel="by how much the positive leads", ylabel="slope by the scale t");

# %% tags=["hide-input"]
best_tau, at_first = (float(grid[over_tau[name].argmin()]) for name in ("trained", "new"))
colder, behind = int((asks < 0).sum()), int(((asks < 0) & (leads < 0)).sum())
assert smoke or (best_tau < 0.1 < at_first and colder > 64 and behind > 10 and (asks[leads > 0] < 0).all())
Markdown(f"On the trained scores the best temperature is {best_tau:.3f}, on the new ones {at_first:.2f}. Of {len(asks)} "
         f"queries {colder} ask for a colder one than 0.1. In {behind} of these the positive is behind the soft "
         "maximum of the negatives; but it scores higher than expected, and that is all that counts. These are "
         "queries of the training set, which the model has learned to answer. A temperature that is learned with the "
         "model is pulled towards what the *training* scores ask for; the trained ones ask for a colder one than the new "
         "ones.")

# %% [markdown]
# ## SigLIP: no competition
#
# A softmax makes candidates compete: what one gains in share, others lose. SigLIP asks of each pair on its own whether
# it matches, a logistic regression with one input, the score:
#
# $$ \begin{aligned} \ell &= \log(1 + e^{-(t s_+ + b)}) + \sum_{j \in N} \log(1 + e^{t s_j + b}), \\
#    w_+ &= -t\, \sigma(-t s_+ - b), \qquad w_j = t\, \sigma(t s_j + b). \end{aligned} $$ (eq-siglip)
#
# The weights follow at once, since σ is the slope of $\log(1 + e^x)$. A score is compared with a fixed threshold, $-b/t$,
# and with no other score. Published, $t$ starts at 10 and $b$ at −10, and both are learned. To see what "no competition"
# means, raise the highest negative of our row from 0.68 to 0.78, and look at the weight of the *next* one.

# %% tags=["nbval-check-output"]
raised = row.clone()
raised[0, 1] = 0.78
for loss in (NTXent(), SparseNTXent(), SigLIP()):
    w = [loss.weights(x, own) for x in (row, raised)]
    checked = agreement(w[0], lambda x, f=loss: f.per_query(x, own), row)
    assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-4
    print(f"{loss.label:16} next negative: {w[0][0, 2]:.3f} -> {w[1][0, 2]:.3f}"
          f"   sum of all weights: {round(float(w[0].sum()), 3) + 0.0:.3f}")

# %% [markdown]
# Under SigLIP the weight of the next negative stays as it was. Nor do push and pull balance: the weights of a query add
# up to something else than zero, so that it matters how high all scores are, not only how they differ.
#
# Still, the difference is smaller than it looks. Far below the threshold $\sigma(x)$ is nearly $e^x$, so a negative's
# weight is $t\, e^b e^{t s_j}$: within one query, the shares of NT-Xent's softmax at $\tau = 1/t$. What is gone is the
# denominator, that is, the factor that says how hard the query as a whole may push.
#
# That raises a question of numbers. A batch of $B$ pairs has $B$ matches and $B(B - 1)$ others. Without a bias, a new
# model, whose scores are near zero, would be pushed by each of the others with $t/2$, and pulled by one. The bias of −10
# answers "no" to everything. Here are the sums for the new model above, a mean over its queries:

# %% tags=["hide-input"]
sums = {}
for bias in (0.0, -5.0, -10.0):
    w = SigLIP(bias=bias).weights(new, eye)
    sums[bias] = float(w[~eye].sum() / len(w)), float(-w.diagonal().mean()), float((w[~eye] > 0.01).double().mean())
paper.styled(pd.DataFrame([{"bias": f"{bias:g}", "sum of the pushes": f"{push:.2f}", "pull": f"{pull:.2f}",
                            "negatives with a weight above 0.01": f"{100 * loud:.0f} %"}
                           for bias, (push, pull, loud) in sums.items()]),
             f"SigLIP with t = 10 on a new model's scores, {len(eye)} pairs.", name="bias")

# %% tags=["hide-input"]
even = -np.log(len(eye) - 1)
tail = SigLIP().weights(trained, eye).masked_fill(eye, 0)
unlike = (tail / tail.sum(1, keepdim=True) - lead_and_shares(trained, eye)[1]).abs().max()
assert smoke or unlike < 0.1  # within a query SigLIP shares out nearly as NT-Xent does
assert sums[-10.0][2] == 0 and sums[0.0][0] > 20 * sums[0.0][1] and sums[-10.0][0] < 0.1 * sums[-10.0][1]
assert smoke or 0.5 < sums[-5.0][0] / sums[-5.0][1] < 2
Markdown(f"With a bias of 0 the negatives push {sums[0.0][0] / sums[0.0][1]:.0f} times as hard as the positive pulls. "
         f"With −10 each of them is below 0.01 at first, from where ECIR counts a sample as heard, though none is zero, "
         "and the pull is "
         f"{sums[-10.0][1]:.1f}: such a gradient draws pairs together, and hardly anything apart, until scores are high "
         "enough for the negatives to be heard. "
         "While all scores are zero, push and pull are even at a bias of −ln(B − 1), where each pair is said to "
         f"match with a chance of one in B, as is true. For {len(eye)} pairs that is −{-even:.1f}. The published "
         f"−10 is even for {1 + np.exp(10):,.0f} pairs.")

# %% [markdown]
# The next figure shows push and pull on the axis of the score. Expect a threshold at $-b/t$, to the left of which a
# negative is let go, and to the right of which a positive is.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels over the score from minus 0.5 to 1. Left, the push on a negative: sigmoids that rise from zero to ten, at 0.5 for a bias of minus 5 and only at 1 for minus 10. Right, the pull on a positive: the same curves falling from ten."}, "figure": {"name": "fig-siglip", "caption": "SigLIP's weights on the axis of the score, t = 10. At a bias of −10 the threshold is the highest score there is, so that a positive is never done and a negative hardly begins; learning t and b moves the threshold."}}
s = torch.linspace(-0.5, 1, 151, dtype=torch.float64)
fig, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3), sharey=True)
for bias, style in ((-5.0, "--"), (-10.0, "-")):
    pair = torch.stack([s, s], 1)
    w = SigLIP(bias=bias).weights(pair, torch.tensor([[True, False]]).expand(len(s), 2))
    left.plot(s, w[:, 1], color=plots.colour("siglip"), lw=2.2, ls=style, label=f"b = −{-bias:g}")
    right.plot(s, -w[:, 0], color=plots.colour("siglip"), lw=2.2, ls=style)
    at_threshold = int(s.sub(-bias / 10).abs().argmin())
    assert (w[at_threshold].abs() - 5).abs().max() < 1e-6  # half of t there
left.set(xlabel="score of a negative", title="push")
right.set(xlabel="score of the positive", title="pull")
left.legend();

# %% [markdown]
# ## Few and informative: a softmax with zeros
#
# Back to ECIR's wish. Triplet-SH takes one negative and gives it all. It jumps when another one becomes the highest, and
# while a model is collapsed and all scores are equal it follows whichever is first by chance ({doc}`training`).
# NT-Xent takes all and weighs them by their score. What lies between: **few, and weighed by score**. Where NT-Xent turns
# scores into shares by a softmax, put the *nearest point of the simplex*, that is, the shares $p_j \ge 0$, adding up to
# one, with the smallest distance $\sum_j (p_j - s_j/\tau)^2$ from the scores:
#
# $$ p_j = \Big[\frac{s_j}{\tau} - \theta\Big]_+, \qquad w_j = \frac{p_j}{\tau}, \quad w_+ = \frac{p_+ - 1}{\tau} . $$ (eq-sparse)
#
# θ is the one number for which the shares add up to one. All candidates whose $s_j/\tau$ is below θ get nothing. That
# these weights are the gradient of a loss has a short proof. Consider
#
# $$ \ell = \max_{p} \Big( \sum_j p_j \frac{s_j}{\tau} - \frac12 \sum_j p_j^2 \Big) + \frac12 - \frac{s_+}{\tau} $$
#
# over all shares $p$. Completing the square, its maximum is at the nearest point above; and a maximum has the slope of
# what attains it with $p$ held fixed (Danskin's theorem), which is $p_j/\tau$, less $1/\tau$ for the positive. It is zero
# if the positive has a share of one, which is so if it leads all others by τ. So τ is a margin, too; we set it to 0.2.

# %% tags=["nbval-check-output"]
def sparse_shares(z):
    """Nearest point of the simplex: drop the lowest until all kept are above theta."""
    kept = z.sort(descending=True).values
    while (theta := (kept.sum() - 1) / len(kept)) >= kept[-1]:
        kept = kept[:-1]
    return (z - theta).clamp(min=0)


p = sparse_shares(row[0] / 0.2)
w = (p - own[0].double()) / 0.2
print("shares: ", p.numpy().round(3))
print("softmax:", (row[0] / 0.2).softmax(0).numpy().round(3))
checked = agreement(w[None], lambda x: SparseNTXent(tau=0.2).per_query(x, own), row)
assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-4

# %% [markdown]
# The zeros are exact. In {doc}`cocos` every count needed a threshold, because NT-Xent's small weights never vanish. Here
# the count of what is heard is the count of what is not zero, and it hardly matters which small ε one takes:

# %% tags=["hide-input"]
def heard(loss, s, eps):
    return float((loss.weights(s, eye)[~eye] > eps).double().sum() / len(s))


thresholds = (1e-6, 1e-3, 0.01, 0.1)
counted = {loss.label: [heard(loss, trained, eps) for eps in thresholds] for loss in (NTXent(), SparseNTXent())}
nonzero = float((SparseNTXent().weights(trained, eye)[~eye] != 0).double().sum() / len(eye))
assert smoke or np.ptp(counted["NT-Xent, sparse"]) < 0.1 * nonzero < 0.1 * counted["NT-Xent"][2]
assert smoke or counted["NT-Xent"][0] > 5 * counted["NT-Xent"][3]
paper.styled(pd.DataFrame([{"loss": name} | {f"ε = {eps:g}": f"{x:.1f}" for eps, x in zip(thresholds, found, strict=True)}
                           for name, found in counted.items()]),
             f"Negatives of a query with a weight above ε, mean over the trained batch. Sparse, above 0: {nonzero:.1f}.",
             name="thresholds")

# %% [markdown]
# ## All of them on the same scenes
#
# Six pictures and captions of the trained batch: a query, and five of its negatives from the nearest to the farthest.

# %% tags=["remove-cell"]
def six_of(query, places=(0, 1, 4, 20, -1)):
    """The query's row and five others, by rising distance of their captions from its picture."""
    others = batch.images != batch.images[query]
    order = [int(k) for k in trained[query].argsort(descending=True) if others[k]]
    return torch.tensor([query, *(order[min(place, len(order) - 1)] for place in places)])


TODAY = {"ntxent": NTXent(), "ifm": IFM(tau=0.1), "dcl": DCL(), "siglip": SigLIP(), "ntxent_sparse": SparseNTXent()}
six = torch.eye(6, dtype=torch.bool)


def telling(rows):
    """Shows the first row what the text says: a sparse row, some of whose negatives count?"""
    w = SparseNTXent().weights(trained[rows][:, rows], six)
    return len(set(rows.tolist())) == 6 and int((w[0, 1:] > 0).sum()) == 2 and bool((w == 0).all(1).any())


query = next((k for k in range(len(trained)) if telling(six_of(k))), 0)
rows = six_of(query)
assert smoke or telling(rows)
S6 = trained[rows][:, rows]

# %% tags=["hide-input"] mystnb={"image": {"alt": "Six scenes of the training set side by side, each with its caption above it and the caption's score with the first picture. The first is the query, the others are its negatives by falling score."}, "figure": {"name": "fig-beyond-scenes", "caption": "The query's picture, and five others whose captions are its negatives. The score is that of the caption above with the first picture."}}
titles = [f"{data.train.captions[int(batch.captions[k])]}: {trained[query, k]:.2f}" for k in rows]
plots.gallery(data.train.images[batch.images[rows].numpy()], titles, columns=6, wrap=17);

# %% [markdown]
# All six are queries now. Each loss is divided by the mean of its six pulls, since a common factor is only a learning
# rate. NT-Xent, IFM and DCL should share out each row's push in the same way, and give the rows different strengths.
# SigLIP's rows need not balance. The sparse loss should have white cells, and rows that are white altogether.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Six matrices of six pictures and six captions: the scores, and the weights of NT-Xent, IFM, DCL, SigLIP and the sparse NT-Xent, with the positives framed on the diagonal. DCL pulls all positives alike. The sparse loss has exact zeros in most cells and at least one empty row."}, "figure": {"name": "fig-beyond-matrices", "caption": "Five losses on the same scores; rows are queries. NT-Xent, IFM and DCL divide a row alike, and differ in how much each row gets: DCL gives all the same. The sparse loss leaves most cells at exactly zero."}}
on_six = {name: loss.weights(S6, six) for name, loss in TODAY.items()}
who = {name: w.masked_fill(six, 0) / w.masked_fill(six, 0).sum(1, keepdim=True) for name, w in on_six.items()}
assert all((who[name] - who["ntxent"]).abs().max() < 1e-9 for name in ("ifm", "dcl"))
assert np.ptp(on_six["dcl"].diagonal().numpy()) < 1e-9 and np.ptp(on_six["ntxent"].diagonal().numpy()) > 0.1
assert smoke or (on_six["ntxent_sparse"] == 0).double().mean() > 0.5
plots.scores_and_weights(S6, six, TODAY, columns=2, relative=True);

# %% [markdown]
# How many samples does each gradient hear? We count on the whole batch of 128, new and trained, with the tools of
# {doc}`cocos`: $n_\text{eff}$, the number of negatives that carry the push in effect (over queries with a gradient), and
# the queries that hear nothing at all. Triplet and Triplet-SH, with a margin of 0.2, stand there for comparison.

# %% tags=["hide-input"]
everyone = {"triplet": Triplet(), "triplet_sh": TripletSH()} | TODAY
counts = {name: [cocos.count(loss, s, eye, convention="exact") for s in (new, trained)]
          for name, loss in everyone.items()}
silent = {name: [100 * float((loss.weights(s, eye) == 0).all(1).double().mean()) for s in (new, trained)]
          for name, loss in everyone.items()}
pulls = {name: (-loss.weights(trained, eye).diagonal()).sort(descending=True).values for name, loss in everyone.items()}
evenness = {name: 100 * float(w[: len(w) // 4].sum() / w.sum()) for name, w in pulls.items()}
paper.styled(pd.DataFrame([{"loss": plots.label(name), "n_eff, new": f"{a['n_eff']:.1f}", "trained": f"{b['n_eff']:.1f}",
                            "silent queries, new": f"{silent[name][0]:.0f} %", "trained ": f"{silent[name][1]:.0f} %",
                            "pull of the hardest quarter": f"{evenness[name]:.0f} %"}
                           for name, (a, b) in counts.items()]),
             "Image to text, one batch of 128. Last column: which part of all pull, on the trained scores, goes to the "
             "quarter of the queries that get the most.", name="counts")

# %% tags=["hide-input"]
after = {name: b["n_eff"] for name, (a, b) in counts.items()}
assert abs(after["ntxent"] - after["dcl"]) < 1e-9 and abs(after["ntxent"] - after["ifm"]) < 1e-9
assert abs(evenness["dcl"] - 25) < 1e-6 or smoke
assert smoke or (evenness["dcl"] < evenness["ifm"] < evenness["ntxent"] < evenness["ntxent_sparse"])
assert smoke or (after["triplet_sh"] == 1 < after["ntxent_sparse"] < 3 < after["ntxent"])
assert silent["triplet"][1] == silent["triplet_sh"][1] == silent["ntxent_sparse"][1] == 100 * float(
    (trained.diagonal() - trained.masked_fill(eye, -2).amax(1) >= 0.2).double().mean())
few, first = (counts["ntxent_sparse"][k]["n_eff"] for k in (1, 0))
equal = cocos.count(SparseNTXent(), torch.full_like(new, 0.5), eye, convention="exact")["n_eff"]
assert abs(equal - (len(eye) - 1)) < 1e-6 and (smoke or few < first < counts["ntxent"][0]["n_eff"])
Markdown(f"NT-Xent, IFM and DCL hear the same {after['ntxent']:.1f} negatives, since they differ in how hard and not in "
         f"whom. What differs is which *queries* do the talking: the hardest quarter has {evenness['ntxent']:.0f} % "
         f"of NT-Xent's pull, {evenness['ifm']:.0f} % of IFM's, and {evenness['dcl']:.0f} % of DCL's. The sparse "
         f"loss hears {first:.1f} negatives on the new scores and {few:.1f} on the trained ones, where "
         f"{silent['ntxent_sparse'][1]:.0f} % of the queries are done. (On the same queries Triplet and "
         "Triplet-SH are silent, and must be: their positive leads all negatives by 0.2, which is the margin of the two "
         "and the τ of the sparse loss.) Were all scores equal, as in a collapse, it "
         f"would hear all {equal:.0f}, like NT-Xent; the more they differ, the nearer it comes to Triplet-SH.")

# %% [markdown]
# ## A model trained with few negatives
#
# These were counts on a model that NT-Xent had trained. Does a model that is trained *with* the sparse loss hear few,
# too, and does it learn from them? The same bag of words, 600 updates, counted at three evaluations.

# %%
run = icrlib.train(data, "bow", "ntxent_sparse", updates=600, evaluate_every=200, **short)
for entry in run.history:
    here = entry["cocos"]["i2t"]
    print(f"update {entry['update']}: n_eff {here['n_eff']:.2f}, "
          f"validation rsum {entry['val']['rsum']:.0f}")

# %% tags=["hide-input"]
first_entry, last_entry = run.history[0], run.history[-1]
seen = [entry["cocos"]["i2t"]["n_eff"] for entry in (first_entry, last_entry)]
assert smoke or 1 < seen[1] < seen[0] < 10
Markdown(f"It hears {seen[0]:.1f} negatives at update {first_entry['update']} and {seen[1]:.1f} at update "
         f"{last_entry['update']}, and reaches a validation rsum of {last_entry['val']['rsum']:.0f}. One short run of a "
         "small model says that the loss trains, and no more.")

# %% [markdown]
# ## Trained on the same grid
#
# Now VSE++ on scenes, as in {doc}`training`: 3,000 updates, the rate falling halfway. Each of the five losses is
# searched on one draw of data on which nothing is claimed, with three learning rates and two or three values of its own
# constant, by validation rsum. What comes out best is then trained on five draws. Triplet-SH and NT-Xent with its τ
# fixed at 0.1 are the runs of {doc}`training` on the same draws, with their own rates, and all batches have 128 pairs.
# One difference should be kept in mind: the τ of NT-Xent and the margin of Triplet-SH are the published ones, and were
# not searched. Results are the *rsum*, which adds R@1, R@5 and R@10 of both directions, and the accuracy on *swap
# twins*, pairs of scenes and captions that differ in who has what (chance is 50 %).

# %% tags=["remove-cell"]
ROWS = {"ntxent": "NT-Xent, learned τ"} | {name: plots.label(name) for name in ("ifm", "siglip", "dcl", "ntxent_sparse")}
SIGNS = {"tau": "τ", "eps": "ε", "scale": "t", "bias": "b"}


def of_study(study, **more):
    """The runs of VSE++ in a study, by loss; only losses that have runs."""
    found = {name: records.find(study=study, dataset="scenes", method="vse++", loss=name, **more)
             for name in ("triplet_sh", *ROWS)}
    return {name: group for name, group in found.items() if group}


def constants(record):
    """"rate 0.003, τ 0.1 learned": what a search can have chosen."""
    config = record["config"]
    options = config["loss_options"]
    given = [f"{SIGNS[name]} {options[name]:g}".replace("-", "−") for name in options if name in SIGNS]
    learned = " (learned from there)" if config["learn_tau"] else " (fixed)" if config["loss"] == "siglip" else ""
    return ", ".join([f"rate {config['lr']:g}", *given]) + learned


# %% tags=["remove-cell"]
def less(group, reference):
    """Test rsum of runs less that of other runs on the same draws, with its 95 % interval; refuses unlike runs."""
    ours, other = (side[0]["config"] for side in (group, reference))
    learned = ours["loss"] == other["loss"]  # then it is the same loss with its τ learned, from where the search chose
    factor, own = ("learn_tau", ("tau",)) if learned else ("loss", ())
    tuning = {c[factor]: {"lr": c["lr"]} | {name: c["loss_options"][name] for name in own} for c in (ours, other)}
    return evidence.verdict("a loss beside NT-Xent", "greater", group, reference, factor=factor, tuning=tuning,
                            unit="").difference


def compared(groups, reference):
    """A row for each loss: (label, records) in ``groups``; ``reference``: NT-Xent's runs, by draw."""
    table = []
    for name, group in groups.items():
        mean = {key: np.mean([value(r) for r in group]) for key, value in {
            "rsum": lambda r: r["test"]["rsum"], "swap": lambda r: r["test"]["twins"]["swap"],
            "seconds": lambda r: r["wall_seconds"]}.items()}
        table.append({"loss": name, "settings": constants(group[0]), "draws": str(len(group)),
                      "rsum": f"{mean['rsum']:.1f}", "swap twins": f"{mean['swap']:.1f} %",
                      "less NT-Xent": "–" if group is reference else str(less(group, reference)),
                      "seconds": f"{mean['seconds']:.0f}"})
    return table


# %% tags=["remove-cell"]
def search_table(groups):
    """Of each loss the best validation rsum at each rate, over its constants, and the best settings."""
    table = []
    for name, group in groups.items():
        best = max(group, key=lambda r: r["chosen"]["val_rsum"])
        rates = {}
        for r in group:
            rates[r["config"]["lr"]] = max(rates.get(r["config"]["lr"], 0.0), r["chosen"]["val_rsum"])
        table.append({"loss": ROWS[name]} | {f"{lr:g}": f"{rates[lr]:.1f}" for lr in sorted(rates)}
                     | {"best": constants(best), "runs": str(len(group))})
    return pd.DataFrame(table).fillna("–")


def missing_said(searched, trained_with):
    """What has not been run yet, and the command that makes it; empty where all five losses have runs."""
    lacking = [label for name, label in ROWS.items() if name not in trained_with]
    if not lacking:
        return ""
    who = "None of the five losses has" if len(lacking) == len(ROWS) else f"{'; '.join(lacking)}: no"
    first = "" if len(searched) == len(ROWS) else "`make records STUDY=beyond_tuning`, the search, and then "
    return f"{who} runs on the five draws yet. This makes them: {first}`make records STUDY=beyond`."


# %% tags=["hide-input"]
searched = {name: group for name, group in of_study("beyond_tuning").items() if name in ROWS}
Markdown("The search has not been run yet, so there is nothing to show of it.") if not searched else paper.styled(
    search_table(searched), "Best validation rsum on the draw of the search, by learning rate, each with the best of the "
    "loss's own constants.", name="beyond-search")

# %% tags=["remove-cell"]
def at_an_end(group):
    """The settings whose best value is the smallest or the largest that was tried, with that value."""
    best = max(group, key=lambda r: r["chosen"]["val_rsum"])["config"]
    tried = {"rate": {r["config"]["lr"] for r in group}} | {
        sign: {r["config"]["loss_options"][name] for r in group}
        for name, sign in SIGNS.items() if all(name in r["config"]["loss_options"] for r in group)}
    chosen = {"rate": best["lr"]} | {sign: best["loss_options"].get(name) for name, sign in SIGNS.items()}
    ends = {sign: {min(values): "smallest", max(values): "largest"} for sign, values in tried.items() if len(values) > 1}
    return [f"{sign} {chosen[sign]:g} (the {ends[sign][chosen[sign]]})".replace("-", "−")
            for sign in ends if chosen[sign] in ends[sign]]


# %% tags=["hide-input"]
edges = {name: found for name, group in searched.items() if name != "siglip" and (found := at_an_end(group))}
Markdown("" if not edges else "Some of the winners lie at an end of what was tried, so that a wider search might have "
         "found better ones: " + "; ".join(f"{ROWS[name]}, {', '.join(found)}" for name, found in edges.items())
         + ". The best SigLIP keeps t and b fixed, where the published one learns both.")

# %% tags=["hide-input"]
made = {name: group for name, group in of_study("beyond").items() if name in ROWS}
base = {name: group for name, group in of_study("ecir").items() if name in ("ntxent", "triplet_sh")}
on_draws = evidence.common_draws(made | {f"{name}, ecir": group for name, group in base.items()}) if made else {}
reference = on_draws.get("ntxent, ecir", [])
shown = {"NT-Xent, τ fixed": reference, "Triplet-SH": on_draws.get("triplet_sh, ecir", [])} | {
    ROWS[name]: on_draws[name] for name in ROWS if name in on_draws}
table = compared(shown, reference) if reference else []
Markdown(missing_said(searched, made)) if not table else paper.styled(
    pd.DataFrame(table), "Test rsum and swap-twin accuracy, means over draws of data; differences are paired by draw, "
    "with 95 % intervals. Five draws are enough to describe, and too few to decide. Seconds: how long a run took while "
    "others ran on the same machine.",
    name="beyond")

# %% tags=["remove-cell"]
def told(shown, reference):
    """The table in words: who lies where, in order of the mean, and which intervals leave zero out."""
    means = {name: np.mean([r["test"]["rsum"] for r in group]) for name, group in shown.items()}
    first, *middle, last = sorted(means, key=means.get, reverse=True)
    within = f"{means[middle[0]] - means[middle[-1]]:.1f}" if middle else "0"
    gaps = {name: less(group, reference) for name, group in shown.items() if group is not reference}
    above = [name for name, d in gaps.items() if d.low is not None and d.low > 0]
    below = [name for name, d in gaps.items() if d.high is not None and d.high < 0]
    return (f"{first} has the highest mean, {last} the lowest; the {len(middle)} others lie within {within} rsum. "
            f"Against NT-Xent with a fixed τ the whole interval lies above zero for {'; '.join(above) or 'no loss'}, "
            f"and below zero for {'; '.join(below) or 'no loss'}. With {len(reference)} draws, {len(gaps)} comparisons "
            "with the same runs and no correction for their number this describes, and does not decide.")

# %% tags=["remove-cell"]
def scalars_told(groups):
    """Where learned temperatures and biases ended, mean over the runs."""
    parts = []
    for name, group in groups.items():
        ends = [r["history"][-1] for r in group if r["config"]["learn_tau"]]
        for key in ("tau", "bias") if ends else ():
            if key in ends[0]:
                parts.append(f"{ROWS[name]}: {SIGNS[key]} {np.mean([e[key] for e in ends]):.3g}")
    return f" Learned scalars ended at: {'; '.join(parts)}." if parts else ""


# %% tags=["hide-input"]
result = told(shown, reference) + scalars_told({n: g for n, g in on_draws.items() if n in ROWS}) if table else ""
result_missing = missing_said(searched, made)
Markdown(" ".join(part for part in (result, result_missing) if part) if table else "So no result is stated here.")

# %% tags=["remove-cell"]
def heard_at_the_end(group):
    """n_eff of the training batches at the last evaluation, both directions, mean over runs."""
    return np.mean([r["history"][-1]["cocos"][way]["n_eff"] for r in group for way in ("i2t", "t2i")])


sparse = on_draws.get("ntxent_sparse", [])
wish = "" if not (sparse and reference) else (
    f"VSE++ trained with the sparse loss (τ = {sparse[0]['config']['loss_options']['tau']:g}) ends at "
    f"{heard_at_the_end(sparse):.1f} negatives a query, where NT-Xent's ends at {heard_at_the_end(reference):.1f}, and "
    f"its test rsum less NT-Xent's is {less(sparse, reference)}")

# %% tags=["hide-input"]
Markdown(f"And ECIR's wish? {wish}. With five draws we cannot tell whether it costs or gains anything to hear so few."
         if wish else "")

# %% [markdown]
# ### Where the learned temperatures go
#
# A learned τ listens to the *training* scores, as we saw, and these get better as long as training lasts. So τ should
# fall in the long run, from wherever it starts; before anything is learnt it may rise first. Is that good for pictures
# that the model has not seen? If it costs recall, the reason can be the *learning* itself, by which the loss changes
# while the model trains, or the *place* where it leads. Two runs tell them apart: NT-Xent with its τ fixed from the
# first update on at about the value where the learned ones end, and at one between. All of this is on the draw of the
# search, at the rate 3e-3, one run each.

# %% tags=["remove-cell"]
on_search = {"method": "vse++", "seed": 100, "lr": 3e-3}
learned = [r for r in records.find(study="beyond_tuning", **on_search) if r["config"]["learn_tau"]]
fixed = sorted([*records.find(study="beyond_cold", loss="ntxent", **on_search),
                *records.find(study="tuning", loss="ntxent", **on_search)],
               key=lambda r: -r["config"]["loss_options"]["tau"])
no_bias = [r for r in records.find(study="beyond_tuning", loss="siglip", **on_search) if not r["config"]["learn_tau"]]


def end_of(record):
    """The temperature at the end: learned, or as it was given."""
    options = record["config"]["loss_options"]
    return record["history"][-1].get("tau", options.get("tau") or 1 / options.get("scale", 1))


def best_of(record):
    return record["chosen"]["val_rsum"]


# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels over updates. Left, learned temperatures on a logarithmic axis: all fall within the first thousand updates. Right, validation rsum of NT-Xent: with the temperature fixed at 0.1 the curve is the highest, and those with a cold one lie far below, the learned ones lowest."}, "figure": {"name": "fig-where-tau-goes", "caption": "Left: learned temperatures (SigLIP's is one over its scale). Right: validation rsum of NT-Xent, its temperature fixed (dashed, named at the end of the line) or learned (solid). The rate falls at update 1,500."}}
fig, (left, right) = plt.subplots(1, 2, figsize=(7.8, 3.6))
for r in learned:
    updates, name = [e["update"] for e in r["history"]], r["config"]["loss"]
    left.plot(updates, [e["tau"] for e in r["history"]], color=plots.colour(name), lw=1.6)
    if name == "ntxent":
        right.plot(updates, [e["val"]["rsum"] for e in r["history"]], color=plots.colour(name), lw=1.6)
for name in ("ntxent", "siglip"):
    left.plot([], [], color=plots.colour(name), label=plots.label(name))
at_end = {end_of(r): r["history"][-1]["val"]["rsum"] for r in fixed}
for r in fixed:
    values = [e["val"]["rsum"] for e in r["history"]]
    right.plot([e["update"] for e in r["history"]], values, color="black", ls="--", lw=1)
    near = [tau for tau, other in at_end.items() if abs(other - values[-1]) < 3]  # these share one line of text
    if end_of(r) == near[0]:
        right.annotate(", ".join(f"{tau:g}" for tau in near), (r["history"][-1]["update"], values[-1]), (4, -4),
                       textcoords="offset points", fontsize=9)
left.set(yscale="log", xlabel="updates", ylabel="temperature τ", yticks=[0.02, 0.04, 0.08])
left.set_yticklabels(["0.02", "0.04", "0.08"])
left.yaxis.minorticks_off()
left.legend(fontsize="small")
right.set(xlabel="updates", ylabel="validation rsum", xlim=(0, 3900));

# %% tags=["hide-input"]
def line_of(record):
    """One row: loss, temperature, bias, and validation rsum."""
    config = record["config"]
    bias = config["loss_options"].get("bias")
    return {"loss": plots.label(config["loss"]), "bias": "–" if bias is None else f"{bias:g}".replace("-", "−"),
            "τ": f"learned, to {end_of(record):.3f}" if config["learn_tau"] else f"{end_of(record):g}, fixed",
            "best val. rsum": f"{best_of(record):.1f}", "at the end": f"{record['history'][-1]['val']['rsum']:.1f}"}


of_both = {name: [r for r in learned if r["config"]["loss"] == name] for name in ("ntxent", "siglip")}
rows = [line_of(r) for r in (*fixed, *of_both["ntxent"], *no_bias, *of_both["siglip"])]
paper.styled(pd.DataFrame(rows), "Fixed and learned temperatures on the draw of the search; rate 3e-3, one run each. The "
             "bias is where SigLIP starts; it is learned where τ is.", name="learned-or-fixed")

# %% tags=["hide-input"]
ends = [end_of(r) for r in learned if r["config"]["loss"] == "ntxent"]
of_nt = [best_of(r) for r in learned if r["config"]["loss"] == "ntxent"]
warm, cold = next(r for r in fixed if end_of(r) == 0.1), min(fixed, key=end_of)
Markdown(f"Both learned temperatures of NT-Xent end near {np.mean(ends):.3f}, though one starts at twice the other. "
         f"Their runs reach {paper.span(of_nt)}, {best_of(warm) - max(of_nt):.0f} rsum and more below the one with τ "
         f"fixed at 0.1 ({best_of(warm):.0f}). With τ fixed at {end_of(cold):g} from the start it is "
         f"{best_of(cold):.0f}. So with one run each {best_of(warm) - best_of(cold):.0f} rsum of a drop of "
         f"{best_of(warm) - max(of_nt):.0f} to {best_of(warm) - min(of_nt):.0f} appear where τ is fixed at its end, too; "
         "the rest may be owed to the way there, or to chance. Why a cold softmax costs recall on new pictures we "
         "did not test; the next section has a hint. Nor "
         "is this a verdict on learning τ where a model sees each pair only a few times; ours sees each caption of a "
         "picture fifty times.")

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
assert all(r["history"][-1]["tau"] < r["history"][0]["tau"] < 0.1 for r in learned)
assert max(ends) - min(ends) < 0.002 and abs(end_of(cold) - np.mean(ends)) < 0.002
assert best_of(warm) - best_of(cold) > 3 * (best_of(cold) - np.mean(of_nt)) > 0  # "most of the loss"
assert best_of(warm) > max(of_nt) + 25 and best_of(no_bias[0]) > 25 + max(
    best_of(r) for r in learned if r["config"]["loss"] == "siglip")
assert {r["config"]["updates"] / r["config"]["per_epoch"] // 1 for r in learned} == {50}

# %% [markdown]
# ### Is the misprint really ahead?
#
# DCL, which ECIR printed by mistake, has the highest mean of that table. Such a result should be doubted, and there are
# reasons: its τ was searched and NT-Xent's was not, five draws raised the question, there is one model, and the
# pictures are drawn. So first: **is NT-Xent only at the wrong temperature?** On the draw of the search both losses were
# trained at five temperatures. There is also something to expect. When does NT-Xent let go of a query? If all $B - 1$
# negatives scored alike, its pull would have fallen to half once the positive leads by $\tau \ln (B - 1)$. In a batch
# of 128 that is
# 0.24 at τ = 0.05, 0.48 at 0.1 and 0.97 at 0.2, of scores that end at 1. So a warm NT-Xent hardly lets go either: the
# warmer, the closer the two should be.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Best validation rsum over the temperature for NT-Xent and DCL, five temperatures each. At 0.05 DCL is far ahead, at 0.1 ahead, at 0.2 the two are together and lower."}, "figure": {"name": "fig-denominators", "caption": "Best validation rsum over the temperature, with the positive in the denominator (NT-Xent) and without (DCL). The draw of the search, rate 3e-3, one run each."}}
over_tau = {"ntxent": {end_of(r): best_of(r) for r in fixed if end_of(r) >= 0.05}}
over_tau["ntxent"] |= {end_of(r): best_of(r) for r in records.find(study="misprint_tau", loss="ntxent")}
over_tau["dcl"] = {end_of(r): best_of(r) for study in ("beyond_tuning", "misprint_tau")
                   for r in records.find(study=study, loss="dcl", **on_search)}
fig, ax = plt.subplots(figsize=(5.2, 3.2))
for name, values in over_tau.items():
    ax.plot(*zip(*sorted(values.items()), strict=True), color=plots.colour(name), marker=plots.marker(name),
            label=plots.label(name))
ax.set(xscale="log", xlabel="temperature τ", ylabel="best validation rsum")
ax.set_xticks(sorted(over_tau["dcl"]), [f"{tau:g}" for tau in sorted(over_tau["dcl"])])
ax.xaxis.minorticks_off()
ax.legend(fontsize="small");

# %% tags=["hide-input"]
peaks = {name: max(values, key=values.get) for name, values in over_tau.items()}
(wider,) = records.find(study="misprint_tau", loss="ifm")
lost = {name: values[peaks[name]] - values[0.05] for name, values in over_tau.items()}
leads_by = {tau: over_tau["dcl"][tau] - over_tau["ntxent"][tau] for tau in sorted(over_tau["dcl"])}
Markdown("DCL less NT-Xent: " + ", ".join(f"{gap:+.1f} at τ = {tau:g}" for tau, gap in leads_by.items())
         + ". The difference shrinks as τ rises, as expected. It is not a matter of one bad temperature: NT-Xent is best "
         f"at {peaks['ntxent']:g} with {over_tau['ntxent'][peaks['ntxent']]:.1f}, DCL at {peaks['dcl']:g} with "
         f"{over_tau['dcl'][peaks['dcl']]:.1f}. Best against best, one draw leaves a lead of "
         f"{over_tau['dcl'][peaks['dcl']] - over_tau['ntxent'][peaks['ntxent']]:.1f}. Here is the hint about cold "
         f"temperatures, too: at 0.05 NT-Xent is {lost['ntxent']:.0f} rsum below its best and DCL {lost['dcl']:.0f}. So "
         "a cold τ costs little where the loss does not let go of a query; that fits letting go as the reason, and is no "
         "test of it. (IFM, whose best ε was the largest "
         f"of its search, has {best_of(wider):.1f} with an ε of {wider['config']['loss_options']['eps']:g}.)")

# %% [markdown]
# **Does it hold on other draws, with another model, on photos?** The following runs of DCL differ from those of NT-Xent
# in {doc}`training` in the denominator and in nothing else: τ is NT-Xent's published 0.1, and rate and word dropout are
# what was searched for NT-Xent. There are ten draws, of which five had not been looked at, the bag of words, and the
# photos of Flickr8k. And since Triplet-SH is ahead of NT-Xent on scenes: is DCL ahead of that, too? With its published
# margin, and with the one that {doc}`training` found for it?

# %% tags=["remove-cell"]
PHOTOS = evidence.choices(records.find(study="photo_tuning"))
OWN_MARGIN = records.find(study="tuned", method="vse++", loss="triplet_sh")


def searched(runs):
    """What the search chose for Triplet-SH among candidates with the margin of these runs."""
    (margin,) = {r["config"]["loss_options"]["margin"] for r in runs}
    found = records.find(study="tuning", method="vse++", loss="triplet_sh")
    return evidence.choices(r for r in found if r["config"]["loss_options"]["margin"] == margin)["vse++", "triplet_sh"]


# %% tags=["remove-cell"]
MODELS = {"vse++": "VSE++", "bow": "the bag of words"}


def dcl_beats(reference, method, photos, **more):
    """The claim that DCL with NT-Xent's settings is ahead of a loss, on scenes or on photos."""
    ours, others = ("photo_misprint", "photo_runs") if photos else ("misprint", "ecir")
    claim = f"DCL beats {plots.label(reference)} on {MODELS[method]}, {'photos' if photos else 'scenes'}"
    return evidence.verdict(claim, "greater", records.find(study=ours, method=method),
                            records.find(study=others, method=method, loss=reference), own=True, **more)


of_nt_xent = {"scenes": {"lr": records.find(study="misprint", method="vse++")[0]["config"]["lr"]},
              "photos": PHOTOS["vse++", "ntxent"]}
published = records.find(study="ecir", method="vse++", loss="triplet_sh")
tuned_for = {"scenes": {"dcl": of_nt_xent["scenes"], "triplet_sh": searched(published)},
             "photos": {"dcl": of_nt_xent["photos"], "triplet_sh": PHOTOS["vse++", "triplet_sh"]}}
asked = {("ntxent", m, photos): dcl_beats("ntxent", m, photos) for m in MODELS for photos in (False, True)}
asked |= {("triplet_sh", "vse++", photos): dcl_beats("triplet_sh", "vse++", photos, tuning=tuned_for[where])
          for photos, where in ((False, "scenes"), (True, "photos"))}
asked["own margin", "vse++", False] = evidence.verdict(
    "DCL beats Triplet-SH with a margin of its own on VSE++, scenes", "greater",
    records.find(study="misprint", method="vse++"), OWN_MARGIN, own=True,
    tuning={"dcl": of_nt_xent["scenes"], "triplet_sh": searched(OWN_MARGIN)})
misprint = evidence.family(asked)

# %% tags=["hide-input"]
paper.styled(evidence.tabulate([{"claim": v.claim, "paper": "–", "ours": str(v.difference), "verdict": v}
                                for v in misprint.values()]).drop(columns="paper"),
             "Test rsum of DCL, with the settings of NT-Xent, less that of another loss; one family, Holm's p.",
             name="misprint")

# %% tags=["remove-cell"]
on_scenes = misprint["ntxent", "vse++", False]
elsewhere = [v for key, v in misprint.items() if key[0] == "ntxent" and key != ("ntxent", "vse++", False)]
both = evidence.common_draws({name: records.find(study=study, method="vse++", loss=name)
                              for name, study in (("dcl", "misprint"), ("ntxent", "ecir"))})
by_draw = {a["config"]["seed"]: a["test"]["rsum"] - b["test"]["rsum"] for a, b in zip(*both.values(), strict=True)}
asked_of = {r["config"]["seed"] for r in records.find(study="beyond", loss="dcl")}

# %% tags=["hide-input"]
new, old = (np.mean([gap for seed, gap in by_draw.items() if (seed in asked_of) == told_before])
            for told_before in (False, True))
photo_gap = misprint["ntxent", "vse++", True].difference
fresh = ltd_runs.interval(*([r["test"]["rsum"] for r in side if r["config"]["seed"] not in asked_of]
                            for side in both.values()))
at_own_tau, margin_too = evidence.common_draws(
    {"dcl": records.find(study="beyond", loss="dcl"), "own": OWN_MARGIN}).values()
evened = ltd_runs.interval(*([r["test"]["rsum"] for r in side] for side in (at_own_tau, margin_too)))
assert abs(fresh.mean - new) < 1e-9 and evened.mean > misprint["own margin", "vse++", False].difference.mean
Markdown(f"With VSE++ on scenes, at τ = 0.1, leaving the positive out of the denominator is worth "
         f"{on_scenes.difference}: {old:+.1f} on the draws that raised the question, {fresh} on the "
         f"{len(by_draw) - len(asked_of)} others. DCL is also ahead of Triplet-SH with its published "
         "margin. But with a margin of its own, "
         f"{OWN_MARGIN[0]['config']['loss_options']['margin']:g}, the difference is "
         f"{misprint['own margin', 'vse++', False].difference} ({misprint['own margin', 'vse++', False].word}). That is "
         "no even match, since the margin was searched and DCL's τ was not: with the τ of DCL's own search, "
         f"{at_own_tau[0]['config']['loss_options']['tau']:g}, the difference on the five draws that have it is "
         f"{evened}. In "
         "the other three settings its mean is above "
         f"NT-Xent's, by {paper.span([v.difference.mean for v in elsewhere], 1)}, but "
         + ("none of them is decided: " if {v.word for v in elsewhere} == {"undecided"} else "not all are decided: ")
         + f"the verdicts are corrected for {len(misprint)} comparisons, the intervals are those of each alone. With "
         f"VSE++ on photos a harm of {-photo_gap.low:.1f} rsum is not excluded, and a gain as large as on scenes is. A "
         "training on scenes goes fifty times through the captions of 1,500 pictures, five each, one on photos fifteen "
         "times through those of 6,000, with two fifths of the words dropped; which of this matters, we did not try.")

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
NO_SETTING = {"asked", "device", "threads"}
for ours, others in (("misprint", "ecir"), ("photo_misprint", "photo_runs")):
    for m in MODELS:
        groups = {loss: records.find(study=study, method=m, loss=loss)
                  for study, loss in ((ours, "dcl"), (others, "ntxent"))}
        for pair in zip(*evidence.common_draws(groups).values(), strict=True):
            one, other = (r["config"] for r in pair)
            assert {k for k in one | other if one.get(k) != other.get(k)} - NO_SETTING == {"loss", "loss_options"}
            assert one["loss_options"] == other["loss_options"] | {"denominator": "negatives"}
assert on_scenes.difference.low > photo_gap.high and photo_gap.low < 0 < min(v.difference.mean for v in elsewhere)
assert misprint["triplet_sh", "vse++", False].difference.low > 0 and min(new, old) > 10
assert leads_by[0.05] > leads_by[0.1] > leads_by[0.2] and peaks["ntxent"] not in (0.05, 0.2)
assert {round(tau * np.log(127), 2) for tau in (0.05, 0.1, 0.2)} == {0.24, 0.48, 0.97}

# %% [markdown]
# ## What we found

# %% tags=["remove-cell"]
own_margin = misprint["own margin", "vse++", False]
told_of_denominators = (
    f"- **With VSE++ on scenes and τ = 0.1 the misprint is better than NT-Xent; elsewhere we cannot tell.** The colder "
    f"τ, the more, on the validation pictures of one draw: {leads_by[0.05]:+.0f} at 0.05, {leads_by[0.2]:+.0f} at 0.2. "
    "DCL with NT-Xent's settings less NT-Xent: "
    + "; ".join(f"{MODELS[m]} on {'photos' if photos else 'scenes'} {v.difference} ({v.word})"
                for (loss, m, photos), v in misprint.items() if loss == "ntxent")
    + ". Less Triplet-SH, VSE++: "
    + "; ".join(f"{'photos' if photos else 'scenes'} {v.difference} ({v.word})"
                for (loss, m, photos), v in misprint.items() if loss == "triplet_sh")
    + f"; and with a margin searched for Triplet-SH, against a τ of DCL that was not, {own_margin.difference} "
    f"({own_margin.word}).")

# %% tags=["hide-input"]
Markdown("\n".join([
    "- **IFM and DCL differ from NT-Xent in one factor.** The three push the same negatives in "
    f"the same proportions, {after['ntxent']:.1f} of them in effect on our trained batch. They differ in how much "
    f"each query gets: the hardest quarter of the queries has {evenness['ntxent']:.0f} % of the pull under NT-Xent, "
    f"{evenness['ifm']:.0f} % under IFM and {evenness['dcl']:.0f} % under DCL.",
    "- **The misprint is a loss that others published.** Eq. 4 as printed is DCL: NT-Xent that never lets go of a query. "
    "It has no lower bound in the scores; cosines, which end at 1 and −1, give it one.",
    "- **IFM lies between NT-Xent and Triplet-SH.** Cold, τ times it becomes the mean of two Triplet-SH, without "
    "a margin and with one of 2ε; with a large ε its weights become the mean of those of NT-Xent and DCL.",
    f"- **SigLIP has no competition, and its bias sets the balance.** Without one, {len(eye) - 1} negatives push a new "
    f"model {sums[0.0][0] / sums[0.0][1]:.0f} times as hard as the positive pulls; at the published bias they are hardly "
    "heard at first.",
    f"- **A temperature that is learned is pulled towards what training scores ask for**: those of our batch, "
    f"{best_tau:.3f}. VSE++ ended at {np.mean(ends):.3f} on the draw of the search, {best_of(warm) - max(of_nt):.0f} "
    f"validation rsum and more below a τ fixed at 0.1; with τ fixed at that end from the start it had "
    f"{best_of(cold):.0f} against {paper.span(of_nt)} (one run each).",
    f"- **Few and weighed by score is possible without a jump.** On the trained batch a query of the sparse loss that "
    f"hears any hears {few:.1f} negatives in effect, and {silent['ntxent_sparse'][1]:.0f} % of the queries are done."
    + (f" {wish}; five draws do not decide whether hearing so few costs anything." if wish else ""),
    f"- **Which one trains the better model?** {result or result_missing}",
    told_of_denominators,
]))

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} How hard does IFM pull?
# :label: ex-ifm-pull
# ````
#
# Write the pull of IFM on the positive, as a positive number, given the lead $u$ of the negatives (Eq.
# {eq}`eq-lead`), the temperature and ε: `mine = lambda u, tau, eps: ...`. Use `torch.sigmoid`; `u` is a tensor.

# %%
mine = ...

# %% tags=["hide-input"]
def check_ifm_pull(value):
    """Passes for the size of IFM's weight on the positive as a function of the lead."""
    if value is ...:
        return "your turn"
    for tau, eps, scores in ((0.1, 0.1, [0.6, 0.5, 0.4]), (0.07, 0.05, [0.2, 0.4, 0.1]), (0.2, 0.3, [0.9, 0.1, 0.0])):
        s = torch.tensor([scores], dtype=torch.float64)
        u = (s[:, 1:] / tau).logsumexp(1) - s[:, 0] / tau
        pull = -IFM(tau=tau, eps=eps).weights(s, torch.tensor([[True, False, False]]))[0, 0]
        got = torch.as_tensor(value(u, tau, eps), dtype=torch.float64)
        assert torch.allclose(got.flatten()[0], pull, atol=1e-9), (
            f"not yet: at u = {float(u):.3f}, τ = {tau}, ε = {eps} the pull is another one")
    return "right"


check_ifm_pull(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-ifm-pull
# :class: dropdown
# ````
#
# The mean of two slopes, the adversary's with a margin of $2\varepsilon$ in units of the score; and $u$ falls by $1/\tau$
# with the positive's score.

# %%
def solution(u, tau, eps):
    return (torch.sigmoid(u) + torch.sigmoid(u + 2 * eps / tau)) / (2 * tau)


check_ifm_pull(solution)

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} A bias for your batch
# :label: ex-even-bias
# ````
#
# All scores of a new model are $c$, and a batch has $B$ pairs. At which bias do the $B - 1$ negatives of a query push
# together as hard as its positive pulls? `mine = lambda batch, t, c: ...`, with `np.log`.

# %%
mine = ...

# %% tags=["hide-input"]
def check_even_bias(value):
    """Passes for the bias at which SigLIP's pushes add up to its pull."""
    if value is ...:
        return "your turn"
    for size, t, c in ((128, 10.0, 0.0), (32, 10.0, 0.3), (4, 5.0, -0.2)):
        bias = float(value(size, t, c))
        scores = torch.full((1, size), c, dtype=torch.float64)
        w = SigLIP(scale=t, bias=bias).weights(scores, torch.arange(size)[None] == 0)
        assert abs(float(w.sum())) < 1e-4 * float(w.abs().max()), (
            f"not yet: with {size} pairs, t = {t:g} and scores of {c:g}, a bias of {bias:.2f} leaves "
            f"{'the pushes' if w.sum() > 0 else 'the pull'} stronger")
    return "right"


check_even_bias(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-even-bias
# :class: dropdown
# ````
#
# With $x = tc + b$ the condition is $(B - 1)\,\sigma(x) = \sigma(-x)$, and $\sigma(-x)/\sigma(x) = e^{-x}$. So
# $x = -\ln(B - 1)$: the model then says of each pair that it matches with a chance of one in $B$, which is the truth.

# %%
check_even_bias(lambda batch, t, c: -np.log(batch - 1) - t * c)

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} Share out by hand
# :label: ex-sparse-row
# ````
#
# A query's positive scores 0.50, its negatives 0.46, 0.40 and 0.20. Write the four weights of the sparse loss with τ
# = 0.2 as a list, the positive's first: `mine = [...]`. (Guess who gets nothing, compute θ from the others, and check
# the guess.)

# %%
mine = ...

# %% tags=["hide-input"]
def check_sparse_row(value):
    """Passes for the sparse loss's weights of the row."""
    if value is ...:
        return "your turn"
    s = torch.tensor([[0.50, 0.46, 0.40, 0.20]], dtype=torch.float64)
    expected = SparseNTXent(tau=0.2).weights(s, torch.tensor([[True, False, False, False]]))[0]
    got = torch.as_tensor([float(x) for x in value], dtype=torch.float64)
    assert got.shape == expected.shape, f"not yet: four numbers are needed, got {len(got)}"
    assert not torch.allclose(got, -expected, atol=5e-3), "not yet: the signs are turned around: it is pulled up"
    assert torch.allclose(got, expected, atol=5e-3), f"not yet: got {[round(x, 2) for x in got.tolist()]}"
    return "right"


check_sparse_row(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-sparse-row
# :class: dropdown
# ````
#
# In temperatures the scores are 2.5, 2.3, 2.0 and 1.0. Without the last one θ = (2.5 + 2.3 + 2.0 − 1)/3 = 1.933,
# below 2.0 and above 1.0, so the guess was right. The shares are 0.567, 0.367, 0.067 and 0; take one off the first
# and divide by 0.2.

# %%
check_sparse_row([-2.1667, 1.8333, 0.3333, 0.0])

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} An open one
# :label: ex-own-factor
# ````
#
# DCL never lets go of a query, NT-Xent lets go once its positive leads. By Eq. {eq}`eq-hard-who` you may choose any
# factor $f'(u)$. Which one would you like to see: one that gives up queries whose positive is hopelessly far behind,
# because their caption may be wrong? Integrate it, so that it is the slope of a loss; write the loss as in
# {doc}`../extend/own-loss`; and train it beside NT-Xent. Before you start, write down on which queries of a batch the
# two will differ.
#
# ````{exercise-end}
# ````
#
# Next: {doc}`which-loss` puts models, losses, amounts of data and budgets into one table, and says where to start.
