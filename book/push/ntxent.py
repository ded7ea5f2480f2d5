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
# (ch-ntxent)=
# # NT-Xent: whom does a softmax push, and how hard?
#
# NT-Xent, also called InfoNCE, asks for a probability. A softmax turns a query's scores into shares that add up to one, and the loss is
# minus the logarithm of the share $p_+$ of the positive:
#
# $$ \ell = -\log p_+, \qquad p_j = \frac{e^{s_j/\tau}}{\sum_k e^{s_k/\tau}}. $$
#
# The **temperature** $\tau$ is its one constant. Slide it: whom does the loss push, and how hard does it pull the positive?

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
import torch

from icrlib import chapter, plots
from icrlib.agreement import agreement
from icrlib.experiments import check, compare, runs
from icrlib.losses import DCL, IFM, NTXent, SigLIP, Triplet, TripletSH
from icrlib.widgets import explorer, frames_slider, live

smoke = chapter.start(smoke)
row = [0.60, 0.68, 0.56, 0.52, 0.47, 0.43, 0.31, 0.11]  # the positive comes first
scores = torch.tensor([row], dtype=torch.float64)
positives = torch.arange(8)[None] == 0


def n_eff(tau):
    """How many negatives would carry the same weight if they shared it equally."""
    w = NTXent(tau=tau).weights(scores, positives)[~positives]
    return float(w.sum() ** 2 / (w**2).sum())

# %% tags=["remove-cell"]
def draw_shares(tau):
    fig, ax = plt.subplots(figsize=(7, 2.5))
    shares = (tau * NTXent(tau=tau).weights(scores, positives)[0]).tolist()
    drawn = ax.bar(range(8), shares, color=["#b2182b" if value > 0 else "#2166ac" for value in shares])
    ax.bar_label(drawn, [f"{value:+.2f}".replace("-", "−") for value in shares], fontsize=9)
    ax.axhline(0, color="black", lw=0.8)
    ax.set(ylim=(-1.18, 1.18), yticks=(-1, 0, 1), ylabel="weight × τ")
    ax.set_xticks(range(8), [f"{s:.2f}\n{'−' if j else '+'}" for j, s in enumerate(row)], fontsize=9)
    ax.set_title(f"τ = {tau}: {n_eff(tau):.1f} negatives in effect", fontsize=11)
    return fig


TAUS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]
live(draw_shares, TAUS, label="τ")  # with a kernel; the page has the next one

# %% tags=["remove-input"]
frames_slider(draw_shares, TAUS, label="temperature τ", start=3,
              alt=lambda tau: f"NT-Xent's weights on eight scores at temperature {tau}, times the temperature: the "
                              f"push is shared by {n_eff(tau):.1f} negatives in effect; the positive is pulled.")

# %% [markdown]
# **Cold, at τ = 0.01, the highest negative has all of the push; at 1 they share it almost equally, 6.8 of 7 in effect.** Whom a loss
# pushes and how hard are two separate things, and DCL and IFM, which came after NT-Xent, change one without the other. (Red is pushed down,
# blue pulled up. *In effect*: as many as would carry the same weight if they shared it equally.)
#
# *You will be able to* derive these weights, and to say of DCL, IFM and SigLIP what they change · eleven minutes to read · half a
# minute to run.
#
# ## The weights, line by line
#
# Take the logarithm apart. $\Omega$ are all candidates, $N$ the negatives:
#
# $$ \ell = \underbrace{-\, s_+/\tau}_{\text{line 1}} + \underbrace{\log \sum_{j \in \Omega} e^{s_j/\tau}}_{\text{line 2}}. $$
#
# **Line 1** is linear: $-1/\tau$ at the positive, 0 elsewhere. **Line 2:** the derivative of a logarithm is one over its inside, that
# of the inside is $e^{s_j/\tau}/\tau$, and together they are the softmax over $\tau$, $p_j/\tau$. **Line 3** adds them:
#
# $$ w_j = \frac{p_j}{\tau} \quad (j \in N), \qquad w_+ = \frac{p_+ - 1}{\tau}. $$ (eq-ntxent-weights)

# %%
def my_weights(scores, positives, tau):
    """One positive a row."""
    e = ((scores - scores.max()) / tau).exp()  # the largest exponent is 0: no overflow
    return (e / e.sum(1, keepdim=True) - positives.double()) / tau


tau = 0.1
line_2 = torch.softmax(scores / tau, 1) / tau
line_3 = my_weights(scores, positives, tau)
for line, f in ((line_2, lambda x: (x / tau).logsumexp(1)),
                (line_3, lambda x: (x / tau).logsumexp(1) - x[:, 0] / tau)):
    checked = agreement(line, f, scores)
    assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6
line_3[0].round(decimals=2).tolist()

# %% [markdown]
# - The weights of a query sum to zero, because the shares sum to one. Only differences of scores matter.
# - No negative has weight zero, unlike in {numref}`Chapter {number} <ch-triplet>`. How many come close is a matter of τ.
# - The pull on the positive is what its share lacks, $1 - p_+$, over τ. A positive that is safely first is *nearly* left alone, and its
#   negatives with it.
#
# The loss of a batch of $B$ pairs is half the mean over images plus half the mean over captions, so that a query's weights are divided
# by $2B$; Triplet sums instead. With several positives, as of an image with five captions, the library takes the mean over them and
# leaves the others out of each sum: kept in, a positive with more than its part of the softmax would be pushed down.
#
# ## Two limits that we know
#
# As $\tau \to 0$ the softmax gives everything to the largest score: $\tau w$ tends to the weights of Triplet-SH with a margin of 0. As
# $\tau \to \infty$ all $M$ candidates get $1/M$, and $\tau w$ tends to the weights of Triplet with everyone active, divided by $M$. So
# NT-Xent lies between the two losses of the last chapter. Here is the largest difference from each, at four temperatures:

# %% tags=["nbval-check-output"]
hardest = TripletSH(margin=0.0).weights(scores, positives)
everyone = Triplet(margin=10.0).weights(scores, positives) / 8
for name, limit, taus in (("hardest only", hardest, (0.1, 0.03, 0.01, 0.001)),
                          ("all alike", everyone, (0.1, 1.0, 10.0, 1000.0))):
    apart = [float((tau * NTXent(tau=tau).weights(scores, positives) - limit).abs().max())
             for tau in taus]
    assert apart == sorted(apart, reverse=True) and apart[-1] < 1e-3
    print(f"{name:12}", dict(zip(taus, (round(x, 4) for x in apart), strict=True)))

# %% [markdown]
# Mind the margin of 0. Cold NT-Xent stops as soon as the positive is first; Triplet-SH goes on until it is first by α.

# %% tags=["hide-input"]
# checked by machine
cold, warm = (NTXent(tau=tau).weights(scores, positives)[0] for tau in (0.01, 1.0))
check("Cold, at τ = 0.01, the highest negative has all of the push; at 1 they share it almost equally, 6.8 of 7 in "
      "effect.", f"equally, {n_eff(1.0):.1f} of", cold[1] > 0.99 * cold[1:].sum(), warm[1:].max() < 2 * warm[1:].min(),
      also="0.01 1 7")
rng = torch.Generator().manual_seed(0)
random, eye = torch.rand(30, 30, generator=rng, dtype=torch.float64) * 2 - 1, torch.eye(30, dtype=torch.bool)
for tau in (0.05, 0.1, 2.0):
    assert (NTXent(tau=tau).weights(random, eye) - my_weights(random, eye, tau)).abs().max() < 1e-10
both = torch.cat([NTXent().per_query(random, eye), NTXent().per_query(random.T, eye)])
assert abs(float(NTXent()(random, eye) - both.mean())) < 1e-12

# %% [markdown]
# ## Who is pushed, and how hard: two separate things
#
# Split off the positive. Take the soft maximum of the negatives, and by how much it leads over the positive, in temperatures:
#
# $$ \begin{aligned} u &= \log \sum_{j \in N} e^{s_j/\tau} - \frac{s_+}{\tau}, \qquad q_j = \frac{e^{s_j/\tau}}{\sum_{k \in N} e^{s_k/\tau}}, \\
#    \frac{\partial u}{\partial s_j} &= \frac{q_j}{\tau}, \qquad \frac{\partial u}{\partial s_+} = -\frac1\tau. \end{aligned} $$ (eq-lead)
#
# NT-Xent is $\log(1 + e^u)$. Any loss that is a function $f$ of $u$ has, by the chain rule, the weights
#
# $$ w_j = \frac{f'(u)}{\tau}\, q_j \quad (j \in N), \qquad w_+ = -\frac{f'(u)}{\tau}. $$ (eq-hard-who)
#
# The shares $q_j$ say **who** is pushed: they add up to one and do not know the positive. The slope $f'(u)$ says **how hard**: one
# number for the whole query, for pull and push alike. Two later losses change $f$ alone:
#
# | loss | $f(u)$ | how hard, $f'(u)$ |
# | --- | --- | --- |
# | NT-Xent | $\log(1 + e^u)$ | $\sigma(u) = 1 - p_+$ |
# | DCL {cite:p}`yeh2022decoupled` | $u$ | 1 |
# | IFM {cite:p}`robinson2021shortcut` | $\frac12 \log(1 + e^u) + \frac12 \log(1 + e^{u + 2\varepsilon/\tau})$ | $\frac12 \sigma(u) + \frac12 \sigma(u + 2\varepsilon/\tau)$ |
#
# with the sigmoid $\sigma(x) = 1/(1 + e^{-x})$. So **these three agree about whom to push**. The two factors, multiplied, against
# autograd of the library's losses, all at τ = 0.1:

# %% tags=["nbval-check-output"]
def lead_and_shares(scores, own, tau=0.1):
    """u (Q,) and q (Q, M), with q = 0 at the positive."""
    negatives = (scores / tau).masked_fill(own, -torch.inf)
    return negatives.logsumexp(1) - scores[own] / tau, negatives.softmax(1)


u, q = lead_and_shares(scores, positives)
hard = {NTXent(): torch.sigmoid(u), DCL(): u**0,
        IFM(tau=0.1, eps=0.1): (torch.sigmoid(u) + torch.sigmoid(u + 2 * 0.1 / 0.1)) / 2}
for loss, slope in hard.items():
    w = slope[:, None] / 0.1 * (q - positives.double())
    checked = agreement(w, lambda x, f=loss: f.per_query(x, positives), scores)
    assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6
    who = w[0, 1:5].div(-w[0, 0]).numpy().round(3)
    print(f"{loss.label:8} how hard: {float(slope):.3f}   who: {who} …")

# %% [markdown]
# Now let the positive pull ahead. When does each loss let go of the query? The soft maximum of $n$ equal negatives lies $\tau \ln n$
# above each of them, so NT-Xent must hold on longer the more negatives are near. Its pull has fallen to a tenth of $1/\tau$ where
# $\sigma(u) = \frac1{10}$, that is $u = -\ln 9$, a lead of $\tau \ln 9n$:

# %% tags=["nbval-check-output"]
leads = {n: round(float(np.log(9 * n)), 1) for n in (1, 10, 127)}
print(leads)

# %% [markdown]
# The positive must lead by 2.2 τ over one negative, and by 7.0 τ over 127 alike. Triplet-SH is on until the lead is its margin, and
# then off.

# %% tags=["remove-input"] mystnb={"image": {"alt": "Curves over the positive's lead over the hardest negative, from minus 0.4 to 0.9. DCL stays at one. NT-Xent falls from one to zero, through one half at a lead of 0 with one negative, of 0.23 with ten, and of 0.48 with 127. IFM with ten negatives falls later than NT-Xent with ten. Triplet-SH drops from one to zero at 0.2."}, "figure": {"name": "fig-how-hard", "caption": "How hard: the common factor of all weights of a query, with 1, 10 and 127 equal negatives (NT-Xent) and with 10 (IFM, ε = 0.1); τ = 0.1. NT-Xent lets go once the positive is ahead of all together. IFM lets go with one half there and with the other half 2ε later; DCL never does."}}
ahead = torch.linspace(-0.4, 0.9, 261, dtype=torch.float64)[:, None]
fig, ax = plt.subplots(figsize=(6.8, 3.4))
for name, loss, n, style in (("ntxent", NTXent(), 1, ":"), ("ntxent", NTXent(), 10, "-"), ("ntxent", NTXent(), 127, "--"),
                             ("dcl", DCL(), 1, "-"), ("ifm", IFM(tau=0.1), 10, "-"), ("triplet_sh", TripletSH(), 1, "-")):
    own = torch.arange(n + 1).expand(261, -1) == 0
    pull = -loss.weights(ahead * own, own)[:, 0] * getattr(loss, "tau", 1)
    label = plots.label(name) + (f", n = {n}" if name in ("ntxent", "ifm") else "")
    ax.plot(ahead, pull, color=plots.colour(name), ls=style, lw=2, label=label)
ax.set(xlabel="by how much the positive leads over the hardest negative", ylabel="how hard, $f'$")
ax.legend(fontsize="small");

# %% [markdown]
# **DCL**, the *decoupled contrastive loss*, is the horizontal line. In NT-Xent a query whose positive is well ahead hardly teaches any more,
# not about its negatives either, since $\sigma(u)$ is common to pull and push; DCL takes this coupling out. As code it is NT-Xent with the
# positive left out of the sum, so it has no lower bound in the scores.
#
# **IFM**, *implicit feature modification*, lets an adversary move the encodings before the loss is taken: the positive's score falls by
# ε, each negative's rises by ε. A softmax ignores a constant on all its scores, so what remains is a **margin** of $2\varepsilon$; the
# loss is averaged with NT-Xent.
#
# Move the positive below, from last to first and beyond. The proportions of the red weights stay (long bars are logarithmic).

# %% tags=["remove-input"]
explorer(scores, positives, {"ntxent": NTXent(), "ifm": IFM(tau=0.1), "dcl": DCL()}, together=True, curve=True,
         columns=["the positive", *(f"negative {k}" for k in range(1, 8))], controls={"ntxent": {"tau": TAUS}},
         selected=(0, 0), about="One positive and seven negatives under NT-Xent, IFM and DCL; scores can be moved")

# %% tags=["hide-input"]
# checked by machine
for s in (scores, torch.where(positives, 0.95, scores)):  # last, and first
    push = [loss.weights(s, positives)[0, 1:] for loss in (NTXent(), IFM(tau=0.1), DCL())]
    assert all((w / w.sum() - push[0] / push[0].sum()).abs().max() < 1e-9 for w in push)
assert DCL().weights(scores, positives).equal(NTXent(denominator="negatives").weights(scores, positives))

# %% [markdown]
# ````{admonition} As printed
# :class: note
#
# ECIR's Eq. 4 {cite:p}`bleeker2022lessons` prints NT-Xent's sum over the negatives alone, which is DCL. Its slides, its gradient (Eq.
# 11) and its code have the positive in it, and that is what was trained ({ref}`the errata <erratum-ecir-4>`). Models trained with both
# are compared in {numref}`Chapter {number} <ch-losses>`.
# ````
#
# ## SigLIP: nobody competes
#
# In a softmax, what one candidate gains in share others lose. SigLIP {cite:p}`zhai2023siglip` asks of each pair on its own whether it
# matches: a logistic regression with one input, the score.
#
# $$ \begin{aligned} \ell &= \log(1 + e^{-(t s_+ + b)}) + \sum_{j \in N} \log(1 + e^{t s_j + b}), \\
#    w_+ &= -t\, \sigma(-t s_+ - b), \qquad w_j = t\, \sigma(t s_j + b). \end{aligned} $$ (eq-siglip)
#
# A score is compared with a fixed threshold, $-b/t$, and with no other score. Published, $t$ starts at 10 and $b$ at −10, and both are
# learned. Raise the highest negative of our row from 0.68 to 0.78 and look at the weight of the *next* one:

# %% tags=["nbval-check-output"]
raised = torch.where(torch.arange(8) == 1, 0.78, scores)
for loss in (NTXent(), DCL(), SigLIP()):
    w = [loss.weights(x, positives) for x in (scores, raised)]
    print(f"{loss.label:8} next negative: {w[0][0, 2]:.3f} -> {w[1][0, 2]:.3f}"
          f"   sum of all weights: {round(float(w[0].sum()), 3) + 0.0:.3f}")

# %% [markdown]
# Under SigLIP it stays, and push and pull need not balance: how high all scores are matters, not only how they differ. Far below the
# threshold $\sigma(x)$ is nearly $e^x$, so that within one query SigLIP still divides the push like a softmax; what is gone is the
# factor that says how hard the whole query may push.
#
# The bias sets that number. A new model scores everything near 0, and in a batch of 128 pairs a query has 127 negatives. How many times as
# hard as its positive pulls do they push?

# %% tags=["nbval-check-output"]
new, own = torch.zeros(1, 128, dtype=torch.float64), torch.arange(128)[None] == 0
w = SigLIP(bias=0.0).weights(new, own)[0]
ratio, even = float(w[1:].sum() / -w[0]), -np.log(127)
print(f"bias 0: {ratio:.0f} times, even: {even:.1f}; -10: for {1 + np.exp(10):,.0f} pairs")

# %% [markdown]
# With a bias of 0 they push 127 times as hard as the positive pulls. Push and pull are even at a bias of $-\ln(B - 1)$, where each pair
# is said to match with a chance of one in $B$: for 128 pairs that is −4.8. The published −10 is even for 22,027.
#
# ## A temperature that is learned
#
# CLIP {cite:p}`radford2021clip` learns the scale $t = 1/\tau$ with the model. Which one does the loss want?
#
# $$ \ell = \log \sum_{j} e^{t s_j} - t s_+, \qquad
#    \frac{\partial \ell}{\partial t} = \sum_j p_j s_j - s_+ . $$ (eq-learned-scale)
#
# The first term is the score that the softmax *expects*, the second the true one. If the positive scores higher than expected, the
# scale rises: colder, more certain. If all positives are first it rises without end, and CLIP stops it at 100. So a learned temperature
# follows the *training* scores, which the model has learned to answer. Does it hurt? `runs` names trainings by what they are and reads
# our records of them (`missing="train"` would train them here): VSE++ on drawn scenes, each of five draws with its own training and
# test pictures, at the learning rates of {doc}`../reproduce/settings`; one learns τ from 0.05 on, the other keeps 0.1.

# %%
VSE = {"method": "vse++", "loss": "ntxent", "seed": range(5), "updates": 3000}
learned = runs("scenes", at="searched, beyond", **VSE)
fixed = runs("scenes", at="searched", **VSE)
tau_at_end = learned.mean(lambda record: record["history"][-1]["tau"])
gap = compare(learned, fixed, ("learn_tau", "tau"))
print(f"at the end τ = {tau_at_end:.3f}; rsum learned less fixed, paired by draw: {gap}")

# %% [markdown]
# Learned, τ ends at 0.015, and test rsum (the sum of six recalls, 600 at most) is lower than with a fixed 0.1 by 42.4, 95 % interval
# 37.5 to 47.2.
#
# ## What we found
#
# - **Whom and how hard are two things.** NT-Xent, DCL and IFM push the same negatives in the same proportions, and differ in one number
#   for each query. NT-Xent pushes ever less for a query whose positive leads, IFM begins later, DCL never does.
# - **NT-Xent's weights are a softmax less one for the positive, over τ.** Cold, it is Triplet-SH without a margin; hot, it is Triplet
#   with everyone active.
# - **SigLIP compares each score with a threshold alone**, and its bias decides the balance: without one, 127 negatives push a new model
#   127 times as hard as its positive pulls.
# - **A learned temperature follows what training scores ask for.** On five draws of VSE++ it ended at 0.015, with 42.4 rsum less than a
#   fixed 0.1.

# %% tags=["hide-input"]
# checked by machine
check("The positive must lead by 2.2 τ over one negative, and by 7.0 τ over 127 alike.", f"by {leads[1]} τ over one",
      f"by {leads[127]} τ over", also="127")
check("With a bias of 0 they push 127 times as hard as the positive pulls.", f"push {ratio:.0f} times", also="0")
check("for 128 pairs that is −4.8. The published −10 is even for 22,027.", f"is {even:.1f}", f"for {1 + np.exp(10):,.0f}",
      f"published {SigLIP().bias:.0f}", abs(float(SigLIP(bias=even).weights(new, own).sum())) < 1e-9, also="128")
check("Learned, τ ends at 0.015, and test rsum (the sum of six recalls, 600 at most) is lower than with a fixed 0.1 by "
      "42.4, 95 % interval 37.5 to 47.2.", f"ends at {tau_at_end:.3f}", f"by {-gap.mean:.1f}",
      f"{-gap.high:.1f} to {-gap.low:.1f}", also="600 0.1 95")
check("without one, 127 negatives push a new model 127 times as hard as its positive pulls.",
      f"{ratio:.0f} times", also="127")
check("On five draws of VSE++ it ended at 0.015, with 42.4 rsum less than a fixed 0.1.", f"at {tau_at_end:.3f}",
      f"{-gap.mean:.1f} rsum less", gap.n == 5, also="0.1")
t = torch.tensor(10.0, dtype=torch.float64, requires_grad=True)
((t * scores).logsumexp(1) - t * scores[:, 0]).sum().backward()
assert abs(float(t.grad - (((10 * scores).softmax(1) * scores).sum() - scores[0, 0]))) < 1e-12

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} The weights, as a function
# :label: ex-ntxent-weights
# ````
#
# Write the weights of NT-Xent for one row: `mine = lambda scores, positive, tau: ...`. `scores` is a vector, `positive` the index of
# its one positive. Use `torch.softmax`, but neither the library nor autograd.

# %%
mine = ...

# %% tags=["hide-input"]
def check_ntxent_weights(value):
    """Passes for (softmax - 1[positive]) / tau."""
    if value is ...:
        return "your turn"
    for positive, tau in ((0, 0.1), (3, 0.05), (1, 0.5)):
        scores = torch.rand(6, generator=torch.Generator().manual_seed(positive), dtype=torch.float64)
        got = torch.as_tensor(value(scores.clone(), positive, tau), dtype=torch.float64)
        right = NTXent(tau=tau).weights(scores[None], torch.arange(6)[None] == positive)[0]
        assert got.shape == (6,), f"not yet: six weights are needed, got shape {tuple(got.shape)}"
        assert not torch.allclose(got, -right), "not yet: every sign is turned around; descent must lower the negatives"
        assert not torch.allclose(got, right * tau), "not yet: 1/tau is missing"
        assert torch.allclose(got, right, atol=1e-9), "not yet: (share - 1 for the positive) / tau"
    return "right"


check_ntxent_weights(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-ntxent-weights
# :class: dropdown
# ````
#
# The softmax, minus one at the positive, over $\tau$.

# %%
check_ntxent_weights(
    lambda s, i, tau: (torch.softmax(s / tau, 0) - torch.eye(len(s))[i]) / tau)

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise} An open one
# :label: ex-own-factor
#
# DCL never lets go of a query, NT-Xent lets go once its positive leads. By Eq. {eq}`eq-hard-who` you may choose any factor $f'(u)$.
# Which one would you like to see: one that gives up queries whose positive is hopelessly far behind, because their caption may be
# wrong? Integrate it, so that it is the slope of a loss; write the loss as in {doc}`own-loss`; and train it beside NT-Xent. Before you
# start, write down on which queries of a batch the two will differ.
# ````
#
# Next: {numref}`Chapter {number} <ch-smoothap>` asks for the rank itself.
