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
# # NT-Xent: a softmax, and what its temperature does
#
# **What you will be able to do:** derive the weights of NT-Xent (also called InfoNCE) and check each line by machine; say
# what the temperature does, down to its two limits; and follow the gradient through the normalisation of the query.
# **Time:** under a minute on one core. **You need:** {doc}`triplet`.
#
# NT-Xent, the *normalised temperature-scaled cross-entropy*, is minus the logarithm of a probability. Take the paper that
# this part of the book follows, ECIR {cite:p}`bleeker2022lessons`. Type the formula that it prints (Eq. 4), and the one
# that its code runs. They differ in one index.

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
import torch
from IPython.display import Markdown

from icrlib import chapter, cocos, plots
from icrlib.agreement import agreement, by_differences
from icrlib.losses import InfoNCE, NTXent, Triplet, TripletSH
from icrlib.widgets import explorer

smoke = chapter.start(smoke)
PUSHED, PULLED = "#b2182b", "#2166ac"  # red is pushed down, blue is pulled up

# %%
S3 = torch.tensor([[0.60, 0.45, 0.10],
                   [0.30, 0.55, 0.50],
                   [0.05, 0.62, 0.40]], dtype=torch.float64)
OWN = torch.eye(3, dtype=torch.bool)


def nt_xent(scores, tau, among):
    """-log of e^(s+/tau) over a sum of e^(s/tau); `among` marks what is summed."""
    total = (scores / tau).exp().mul(among).sum(1)
    return -torch.log((scores.diagonal() / tau).exp() / total)


# %% tags=["nbval-check-output"]
values = {}
for name, among in (("printed", (~OWN).double()), ("run", torch.ones(3, 3))):
    rows, columns = nt_xent(S3, 0.1, among), nt_xent(S3.T, 0.1, among)
    values[name] = float(torch.cat([rows, columns]).mean())
    print(f"{name:8} {values[name]:.4f}")

# %% [markdown]
# The printed one is **negative**. A probability is at most one, so minus its logarithm cannot be below zero. What is
# this number, then? And what would a model do that was trained on it?
#
# ## A sum without the positive
#
# Both formulas, for one query:
#
# $$ \begin{gathered}
# \text{printed:}\; -\log \frac{e^{s_+/\tau}}{\sum_{j \in N} e^{s_j/\tau}}, \\
# \text{run:}\; -\log \frac{e^{s_+/\tau}}{\sum_{j \in \Omega} e^{s_j/\tau}}.
# \end{gathered} $$ (eq-two-denominators)
#
# $N$ are the negatives alone; $\Omega$ are all candidates, the positive among them. With $\Omega$ the fraction is a
# probability $p$. With $N$ it is the *odds* $p / (1 - p)$, and they can be anything above zero. So the printed loss is
# minus the logarithm of odds, and falls below zero as soon as the positive has more than half.
#
# Let us move one score. A query has one positive and seven negatives, and we slide $s_+$ from low to high. As in
# {doc}`triplet`, the **weight** of a candidate is the slope of the loss by its score, $w_j = \partial \ell / \partial s_j$:
# above zero it is pushed down, below zero pulled up, and the *pull* on the positive is $-w_+$. If a loss is to leave a
# good positive alone, its curve should flatten out, and the pull should go towards zero.

# %%
row = [0.60, 0.68, 0.56, 0.52, 0.47, 0.43, 0.31, 0.11]
scores = torch.tensor([row], dtype=torch.float64)
positives = torch.arange(8)[None] == 0
full, printed = NTXent(tau=0.1), NTXent(tau=0.1, denominator="negatives")


def with_positive(s_plus):
    """Our row once for each value of its positive's score."""
    rows = scores.repeat(len(s_plus), 1)
    rows[:, 0] = s_plus
    return rows, positives.expand(len(s_plus), -1)


# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels over the positive's score from 0 to 1. Left: the full loss falls and flattens out above zero, the printed one goes on falling below it. Right: the full loss's pull on the positive fades from nearly ten to below one, the printed one's stays at ten."}, "figure": {"name": "fig-bound", "caption": "What one index does. With the positive in the sum the loss flattens out above zero and its pull fades. Without it, the loss keeps falling and its pull is 1/τ for ever."}}
s_plus = torch.linspace(0, 1, 101, dtype=torch.float64)
fig, (left, right) = plt.subplots(1, 2, figsize=(5.8, 2.8))
for loss, name, style in ((full, "run (Ω)", "-"), (printed, "printed (N)", "--")):
    rows, marks = with_positive(s_plus)
    left.plot(s_plus, loss.per_query(rows, marks), color=plots.COLOURS["ntxent"], ls=style, lw=2.2, label=name)
    right.plot(s_plus, -loss.weights(rows, marks)[:, 0], color=plots.COLOURS["ntxent"], ls=style, lw=2.2)
rows, marks = with_positive(s_plus)
pull = -full.weights(rows, marks)[:, 0]
assert full.per_query(rows, marks).min() > 0 > printed.per_query(rows, marks)[-1] and pull[0] > 9.9 and pull[-1] < 1
assert (printed.weights(rows, marks)[:, 0] + 10).abs().max() < 1e-9
left.axhline(0, color="black", lw=0.8)
left.set(xlabel="positive's score", title="loss")
right.set(xlabel="positive's score", title="pull on the positive", ylim=(-0.5, 11))
left.legend();

# %% tags=["nbval-check-output"]
rows, marks = with_positive(torch.tensor([0.2, 0.6, 1.0], dtype=torch.float64))
for name, loss in (("printed", printed), ("run", full)):
    value, pull = loss.per_query(rows, marks), -loss.weights(rows, marks)[:, 0]
    value, pull = (v.round(decimals=2).tolist() for v in (value, pull))
    print(f"{name:8} loss {value}  pull {pull}")

# %% [markdown]
# The pull of the printed loss on the positive is $1/\tau$, however high the positive is. In the *scores* the loss has no
# lower bound. (Cosines end at 1 and −1, so there is a floor after all; you will find it in an exercise.)
#
# So what would a model do that was trained on it? It would go on pulling at full strength on positives that are already
# first. That need not be a fault: others train with this loss on purpose, and {doc}`../lessons/beyond` does so, too, and
# asks which of the two is better. For ECIR it is a slip of the pen: the slides of the paper, its Eq. 11 (below) and its
# code have $\Omega$, and further down the formula with $\Omega$ gives the value of the released code, which the printed
# one does not. The slip is in
# {ref}`the errata <erratum-ecir-4>`. From here on, NT-Xent is the loss that was run.
#
# ## The weights, line by line
#
# Take the logarithm apart:
#
# $$ \ell = \underbrace{-\, s_+/\tau}_{\text{line 1}} + \underbrace{\log \sum_{j \in \Omega} e^{s_j/\tau}}_{\text{line 2}}. $$
#
# **Line 1** is linear. Its derivative is $-1/\tau$ at the positive and 0 elsewhere.
#
# **Line 2.** The derivative of a logarithm is one over its inside. The derivative of the inside by $s_j$ is
# $e^{s_j/\tau}/\tau$. Together they are a softmax:
#
# $$ \begin{gathered}
# \frac{\partial}{\partial s_j} \log \sum_{k \in \Omega} e^{s_k/\tau} = \frac{p_j}{\tau}, \\
# p_j = \frac{e^{s_j/\tau}}{\sum_{k \in \Omega} e^{s_k/\tau}}.
# \end{gathered} $$

# %%
tau = 0.1
e = (scores / tau).exp()
p = e / e.sum(1, keepdim=True)
line_2 = p / tau
checked = agreement(line_2, lambda x: (x / tau).exp().sum(1).log(), scores)
assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6
p.round(decimals=3).tolist()[0]

# %% [markdown]
# **Line 3** adds them:
#
# $$ \begin{gathered}
# w_j = \frac{p_j}{\tau} \quad (j \in N), \\
# w_+ = \frac{p_+ - 1}{\tau}.
# \end{gathered} $$ (eq-ntxent-weights)


# %%
def my_weights(scores, positives, tau):
    """One positive a row."""
    e = ((scores - scores.max()) / tau).exp()  # the largest exponent is 0: no overflow
    return (e / e.sum(1, keepdim=True) - positives.double()) / tau


def my_loss(scores, tau=0.1):
    return (scores / tau).logsumexp(1) - scores[:, 0] / tau


w = my_weights(scores, positives, tau)
checked = agreement(w, my_loss, scores)
assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6

# %% [markdown]
# The library's weights are these, for many rows and several temperatures; its version of Eq. 4 is checked as well.

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
rng = torch.Generator().manual_seed(0)
random = torch.rand(30, 30, generator=rng, dtype=torch.float64) * 2 - 1
eye = torch.eye(30, dtype=torch.bool)
for tau in (0.05, 0.1, 0.5, 2.0):
    for s, m in ((scores, positives), (random, eye)):
        w = NTXent(tau=tau).weights(s, m)
        assert (w - my_weights(s, m, tau)).abs().max() < 1e-12
        for kind in ("all", "negatives"):
            loss = NTXent(tau=tau, denominator=kind)
            w = loss.weights(s, m)
            checked = agreement(w, lambda x, f=loss, m=m: f.per_query(x, m), s)
            assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6

# %% [markdown]
# Three things to read off.
#
# - **The weights of a query sum to zero**, because the shares $p$ sum to one. Adding a constant to all scores changes
#   nothing. That is true of the printed loss too.
# - **No negative has weight zero**, unlike in {doc}`triplet`. How many are close to it is a matter of $\tau$.
# - **The pull on the positive is the share it does not have**: $1 - p_+$, over $\tau$. A positive that is safely first
#   is *nearly* left alone. Below are the weights times $\tau$, which are shares, of our row as it is and with its
#   positive at 0.99.

# %% tags=["nbval-check-output"]
for loss in (full, printed):
    assert loss.weights(random, eye).sum(1).abs().max() < 1e-12
    raised, before = loss.per_query(random + 0.3, eye), loss.per_query(random, eye)
    assert (raised - before).abs().max() < 1e-12
safe = with_positive(torch.tensor([0.60, 0.99], dtype=torch.float64))
full.weights(*safe).mul(0.1).round(decimals=3).tolist()

# %% [markdown]
# ## Eq. 11 against Eq. 4
#
# ECIR prints the gradient for the query vector, with $Z$ the sum over $\Omega$:
#
# $$ \frac{\partial \ell}{\partial q} = \Big(1 - \frac{e^{s_+/\tau}}{Z}\Big) \frac{v_+}{\tau}
#    - \sum_{j \in N} \frac{e^{s_j/\tau}}{Z}\, \frac{v_j}{\tau}. $$
#
# By the chain rule and Eq. {eq}`eq-ntxent-weights`, it should be $\sum_j w_j v_j$. Central differences decide, for both
# denominators.

# %%
rng = torch.Generator().manual_seed(2)
V = torch.randn(8, 6, generator=rng, dtype=torch.float64)
V = V / V.norm(dim=1, keepdim=True)
q = V[0] + 0.8 * V[1] + 0.5 * V[2]
q = (q / q.norm())[None]
p = torch.softmax(q @ V.T / 0.1, 1)[0]
eq_11 = (1 - p[0]) * V[0] / 0.1 - p[1:] @ V[1:] / 0.1

# %% tags=["nbval-check-output"]
slope = {name: by_differences(lambda x, f=loss: f.per_query(x @ V.T, positives), q)[0]
         for name, loss in (("run", full), ("printed", printed))}
assert (slope["run"] + eq_11).abs().max() < 1e-7
for name, gradient in slope.items():
    plus, minus = ((gradient + sign * eq_11).abs().max() for sign in (1, -1))
    print(f"Eq. 4 as {name:8} differences + Eq. 11: {plus:.4f}   - Eq. 11: {minus:.4f}")

# %% [markdown]
# Eq. 11 is **minus** the gradient of the loss with $\Omega$. It is the gradient of Eq. 4 as printed in neither sign:
# there, the factor of $v_+$ would be $1/\tau$. So two equations of one paper contradict each other, and the code takes
# the side of Eq. 11. The sign is {ref}`in the errata <erratum-ecir-11>`.
#
# ## Both directions
#
# The loss of a batch of $B$ pairs is a mean over its $2B$ queries: half the mean over images plus half the mean over
# captions. So a pair's gradient is divided by $2B$. Triplet sums instead. We ran the released code on the opening
# matrix:

# %%
released_value = 0.9393834751
released = torch.tensor([[-0.3967075010, 0.4836893802, 0.0311524669],
                         [0.1597546441, -1.8534728964, 1.8009788168],
                         [0.0114683568, 2.4884053136, -2.7252685809]], dtype=torch.float64)

# %% tags=["nbval-check-output"]
value, gradient = float(full(S3, OWN)), full.score_gradient(S3, OWN)
assert abs(value - released_value) < 1e-9 and (gradient - released).abs().max() < 1e-9
images, captions = full.per_query(S3, OWN), full.per_query(S3.T, OWN)
assert abs(value - float(torch.cat([images, captions]).mean())) < 1e-12
assert abs(float(printed(S3, OWN)) - values["printed"]) < 1e-12
x = S3.clone().requires_grad_()
full(x, OWN).backward()
assert (x.grad - gradient).abs().max() < 1e-10
print(f"{value:.4f} = half of {images.mean():.4f} + half of {captions.mean():.4f}")
print("printed:", f"{float(printed(S3, OWN)):.4f}", " pull on each positive:",
      round(-float(printed.score_gradient(S3, OWN)[0, 0]), 4))

# %% [markdown]
# The figure shows the scores and below them both gradients, in one colour scale. (A cell adds what two queries say of
# one score, an image and a caption, over $2B$; so a row need not sum to zero.) As run, the pair that is well ahead (the
# first) should be pulled least.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Three matrices of three images and three captions: scores, the gradient of the loss that was run, and the gradient of the printed one. The printed loss pulls all three positives by 3.33; the other pulls them by 0.40, 1.85 and 2.73."}, "figure": {"name": "fig-ntxent-s3", "caption": "The gradient of the batch loss, both directions. As run, the pair that is well ahead (first row) is pulled least. As printed, all three are pulled alike. Colours go by the root of a weight, so that small ones can be seen. Framed: own pairs."}}
pulls = [-loss.score_gradient(S3, OWN).diagonal() for loss in (full, printed)]
assert [round(float(x), 2) for x in pulls[0]] == [0.40, 1.85, 2.73] and (pulls[1] - 10 / 3).abs().max() < 1e-9
norm = plots.weight_scale(float(pulls[1].max()))
fig, axes = plt.subplots(2, 2, figsize=(5.2, 5.2))
plots.matrix(axes[0, 0], S3, OWN, title="scores s")
for ax, loss, name in zip(axes[1], (full, printed), ("as run", "as printed"), strict=True):
    plots.matrix(ax, loss.score_gradient(S3, OWN), OWN, title=name, weights=True, norm=norm)
axes[0, 1].axis("off")
plots.weight_key(fig, axes[0, 1], norm)

# %% [markdown]
# ## The temperature
#
# Slide $\tau$ below, from 0.01 to 1, and watch how many bars there are and how long they get: the weights carry a
# factor $1/\tau$, and their shares $p_j$ change with it. To the left, at a low (*cold*) temperature, one negative
# should be left; to the right, at a high (*hot*) one, all should be alike. Beside NT-Xent stands Triplet-SH with a
# margin of 0, which pushes the highest negative if it is ahead of the positive. At which $\tau$ do you begin to take
# the one for the other, but for a factor? The last line counts how many negatives take part in effect (defined further
# down).

# %% tags=["hide-input"]
def effective(tau):
    """How many negatives would carry the same weight if they shared it equally."""
    w = NTXent(tau=tau).weights(scores, positives)[~positives]
    return float(w.abs().sum() ** 2 / (w**2).sum())


def alike(tau):
    """The share of the push that the hardest negative gets."""
    w = NTXent(tau=tau).weights(scores, positives)[~positives]
    return float(w.max() / w.sum())


def pulled(tau):
    """The pull on the positive as a share of 1/tau, which is 1 - p."""
    return float(-tau * NTXent(tau=tau).weights(scores, positives)[positives])


TAUS = [0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0]
explorer(scores, positives, {"ntxent": NTXent(), "triplet_sh": TripletSH(margin=0.0)}, together=True, curve=True,
         columns=["the positive", *(f"negative {k}" for k in range(1, 8))], controls={"ntxent": {"tau": TAUS}},
         selected=(0, 1), about="One positive and seven negatives under NT-Xent; the temperature can be moved")

# %% tags=["hide-input"]
cold, warm = NTXent(tau=0.01).weights(scores, positives)[0], NTXent(tau=1.0).weights(scores, positives)[0]
assert cold[1] > 0.99 * 100 and float(cold[2:].max()) < 0.01 and warm[1:].max() < 2 * warm[1:].min()
Markdown(f"At τ = 0.01 one negative has all the weight, {float(cold[1]):.0f} of it, for 1/τ is 100. At τ = 1 the largest "
         f"weight of a negative is {float(warm[1:].max() / warm[1:].min()):.1f} times the smallest, and "
         f"{effective(1.0):.1f} of the seven negatives take part in effect; at 0.1 there are {effective(0.1):.1f}. The "
         "curve under the bars says why: the hotter, the less a score has to do with who is pushed. And when could one "
         f"take NT-Xent for Triplet-SH? At τ = 0.03 the hardest negative has {100 * alike(0.03):.0f} % of the push, at "
         f"0.05 {100 * alike(0.05):.0f} %, at 0.1 {100 * alike(0.1):.0f} %. (The whole push is the pull on the positive, "
         f"and that is not yet 1/τ either: {100 * pulled(0.03):.0f} % of it at 0.03, {100 * pulled(0.1):.0f} % at 0.1.)")

# %% [markdown]
# ### Cold
#
# As $\tau \to 0$ the softmax gives everything to the largest score. Here that is a negative, at 0.68. It gets all the
# push, and the positive all the pull. If the positive is first, nothing happens at all. Ties apart, that is a rule that
# we know:
#
# $$ \begin{gathered}
# \tau w \to w \text{ of Triplet-SH with margin } 0, \\
# \tau \ell \to \big[\max_{j \in N} s_j - s_+\big]_+.
# \end{gathered} $$
#
# Below is the largest difference between the two sides of the first line, at $\tau$ = 0.1, 0.03, 0.01 and 0.001: first
# for our row, then with its positive at 0.72, ahead of all.

# %% tags=["nbval-check-output"]
hinge = TripletSH(margin=0.0)
ahead = scores.clone()
ahead[0, 0] = 0.72


def apart(tau, s, other):
    """How far tau times the weights of NT-Xent are from other weights."""
    return float((tau * NTXent(tau=tau).weights(s, positives) - other).abs().max())


for s in (scores, ahead):
    target = hinge.weights(s, positives)
    distance = [apart(tau, s, target) for tau in (0.1, 0.03, 0.01, 0.001)]
    assert distance == sorted(distance, reverse=True) and distance[-1] < 1e-12
    cold = 0.001 * NTXent(tau=0.001).per_query(s, positives)
    assert (cold - hinge.per_query(s, positives)).abs().max() < 1e-12
    print([round(d, 4) for d in distance])

# %% [markdown]
# Mind the word *margin*. In the limit NT-Xent stops as soon as the positive is first. Triplet-SH goes on until it is
# first by its margin $\alpha$. At a temperature above zero NT-Xent has no such edge, but $\tau$ plays a similar part: a
# positive that is $m$ ahead of $n$ negatives of one score has $1 - p_+ = 1 / (1 + e^{m/\tau} / n)$. So how many $\tau$ it
# must be ahead depends on how many negatives compete with it.

# %% tags=["hide-input"]
def ahead_by(n, left=0.1):
    """How far ahead of n negatives of one score the pull on the positive is a share `left` of 1/tau, in units of tau."""
    return float(torch.log(torch.tensor(n * (1 / left - 1), dtype=torch.float64)))


for n in (1, 7, 127):
    row_of = torch.zeros(1, n + 1, dtype=torch.float64)
    row_of[0, 0] = 0.1 * ahead_by(n)
    assert abs(float(full.weights(row_of, torch.arange(n + 1)[None] == 0)[0, 0]) + 1) < 1e-9  # a tenth of 1/tau = 10
Markdown(f"For the pull to fall to a tenth of 1/τ the positive must be {ahead_by(1):.1f} τ ahead of one negative, "
         f"{ahead_by(7):.1f} τ of seven alike, and {ahead_by(127):.1f} τ of 127 alike.")

# %% [markdown]
# ### Hot
#
# As $\tau \to \infty$ all candidates get the same share. With $M$ candidates
#
# $$ \begin{gathered}
# \tau w_j \to \frac1M \quad (j \in N), \\
# \tau w_+ \to \frac1M - 1,
# \end{gathered} $$
#
# which is Triplet with a margin so large that everyone is active, divided by $M$. The weights themselves vanish as
# $1/\tau$. Again the largest difference, at $\tau$ = 0.1, 1, 10 and 1000:

# %% tags=["nbval-check-output"]
all_alike = Triplet(margin=10.0).weights(scores, positives) / 8
distance = [apart(tau, scores, all_alike) for tau in (0.1, 1.0, 10.0, 1000.0)]
assert distance == sorted(distance, reverse=True) and distance[-1] < 1e-3
[round(d, 4) for d in distance]

# %% [markdown]
# So NT-Xent lies between two losses of the last chapter: hardest only, and all alike.
#
# ### How many negatives count?
#
# The **effective number of negatives** (the last line of the figure above) makes this one number:
#
# $$ n_\text{eff} = \Big(\sum_{j \in N} \lvert w_j \rvert\Big)^2 \Big/ \sum_{j \in N} w_j^2. $$
#
# It is 1 if one negative has all the weight, and $|N|$ if all have the same. Here is its mean over the image queries of
# 128 made-up pairs of random vectors, over all temperatures from cold to hot; from the two limits above we expect it to
# start at 1 and to end at 127. In between it depends on how far the scores of the negatives spread, so a trained model
# has other numbers; {doc}`../lessons/cocos` counts on trained ones.

# %%
rng = torch.Generator().manual_seed(1)
images = torch.randn(128, 16, generator=rng, dtype=torch.float64)
noise = torch.randn(128, 16, generator=rng, dtype=torch.float64)
images, captions = (v / v.norm(dim=1, keepdim=True) for v in (images, images + noise))
batch, pairs = images @ captions.T, torch.eye(128, dtype=torch.bool)


def n_eff(tau):
    share = torch.softmax((batch / tau).masked_fill(pairs, -torch.inf), 1)  # of the push
    return float((1 / (share**2).sum(1)).mean())


for tau in (0.05, 0.1, 1.0):
    counted = cocos.count(NTXent(tau=tau), batch, pairs, convention="exact")
    assert abs(counted["n_eff"] - n_eff(tau)) < 1e-9

# %% tags=["hide-input"] mystnb={"image": {"alt": "The effective number of negatives over the temperature, both axes logarithmic: one at the left, 127 at the right, rising in between. Marks at 0.05 and 0.1."}, "figure": {"name": "fig-n-eff", "caption": "Effective number of negatives over the temperature, for a batch of 128 random pairs. It rises from one to all 127. Marked are the temperatures that LTD and ECIR use; the numbers there are those of this batch and not of their models."}}
grid = torch.logspace(-2.7, 1, 60, dtype=torch.float64).tolist()
assert n_eff(grid[0]) < 1.2 and n_eff(grid[-1]) > 126 and 1.2 < n_eff(0.05) < n_eff(0.1) < 100
fig, ax = plt.subplots(figsize=(5, 3))
ax.plot(grid, [n_eff(tau) for tau in grid], color=plots.COLOURS["ntxent"], lw=2.2)
for tau, name in ((0.05, "LTD"), (0.1, "ECIR")):
    ax.plot([tau], [n_eff(tau)], "o", color="black", ms=6)
    ax.annotate(f"{name}, τ = {tau}", (tau, n_eff(tau)), (8, -12), textcoords="offset points", fontsize=10.5)
ax.set(xscale="log", yscale="log", xlabel="temperature τ", ylabel="effective negatives")
ax.set_xticks([0.01, 0.1, 1, 10], ["0.01", "0.1", "1", "10"])
ax.set_yticks([1, 10, 100], ["1", "10", "100"]);

# %% tags=["hide-input"]
shares = {tau: cocos.count(NTXent(tau=tau), batch, pairs, convention="definition")["C_neg"] for tau in (0.05, 0.1, 1.0)}
assert abs(shares[0.1] - n_eff(0.1)) < 0.5 and n_eff(1.0) > 5 * shares[1.0]
Markdown(f"At τ = 0.1 a query of this batch pushes **{n_eff(0.1):.1f}** effective negatives of 127; at τ = 0.05, "
         f"**{n_eff(0.05):.1f}**. The number needs no threshold. ECIR counts the shares above 0.01 instead: "
         f"{shares[0.1]:.1f} at τ = 0.1 and {shares[0.05]:.1f} at 0.05. The two numbers measure different things, and "
         f"that they nearly agree at 0.1 is a coincidence. At τ = 1, where every negative is pushed nearly alike, "
         f"{n_eff(1.0):.1f} take part in effect, but only {shares[1.0]:.1f} have a share above 0.01, since 127 equal "
         "shares are below it.")

# %% [markdown]
# ## Several positives
#
# An image may have five captions in its batch. The formulas have one positive. The library takes the mean over a query's
# positives, and for each of them leaves the *others* out of the sum. Why leave them out? Look at what they would get.

# %%
pair = scores.clone()
pair[0, 1] = 0.80
two = torch.arange(8)[None] < 2  # 0.60 and 0.80 are both positives
mean = torch.zeros_like(pair)
for keep in ([0, *range(2, 8)], [1, *range(2, 8)]):
    mean[:, keep] += my_weights(pair[:, keep], torch.arange(7)[None] == 0, 0.1) / 2

weights = full.weights(pair, two)
assert (weights - mean).abs().max() < 1e-12
checked = agreement(weights, lambda x: full.per_query(x, two), pair)
assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6

# %% tags=["nbval-check-output"]
one, other = torch.arange(8)[None] == 0, torch.arange(8)[None] == 1
kept_in = (my_weights(pair, one, 0.1) + my_weights(pair, other, 0.1)) / 2
p = torch.softmax(pair / 0.1, 1)
assert (kept_in[two] - (2 * p[two] - 1) / (2 * 0.1)).abs().max() < 1e-12
assert kept_in[0, 1] > 0 > weights[0, 1]
for name, w in (("left out", weights), ("kept in", kept_in)):
    print(f"{name:8}", w[0, :2].round(decimals=3).tolist())

# %% [markdown]
# If they were kept in, each positive would be a negative of the other. With two positives the weight of one is then
# $(2 p_i - 1) / 2\tau$. As soon as its share passes one half, it is pushed *down*.
#
# ## InfoNCE in LTD
#
# LTD {cite:p}`bleeker2022keep` calls its loss InfoNCE {cite:p}`oord2018cpc`. Its Eq. 1 has the positive and the
# negatives in the denominator. It is the same loss, at $\tau = 0.05$, and in the code also half and half over the two
# directions. So the library has one class for both names.

# %% tags=["nbval-check-output"]
def ltd_eq_1(s, tau):
    """As printed: e^(s+/tau) over itself plus the negatives; the positive comes first."""
    own, others = (s[:, 0] / tau).exp(), (s[:, 1:] / tau).exp().sum(1)
    return -torch.log(own / (own + others))


assert InfoNCE is NTXent
first = (torch.arange(30) == 0).expand(30, 30)
assert (ltd_eq_1(random, 0.05) - InfoNCE(0.05).per_query(random, first)).abs().max() < 1e-9
print(f"on the 3 × 3 matrix: {float(InfoNCE(tau=0.05)(S3, OWN)):.4f}")

# %% [markdown]
# LTD's Eq. 2 gives the gradient. It is announced as the derivative of $-\mathcal L$ and labelled
# $\partial \mathcal L / \partial q$. Its Eq. 2d defines the share of *any* candidate as
#
# $$ Z(q, v) = \frac{e^{q \cdot v/\tau}}{e^{q \cdot v/\tau} + \sum_{N} e^{q \cdot v_j/\tau}}. $$
#
# For the positive this is the softmax. For a negative it counts $v$ twice and misses $v_+$. We compare both readings.

# %% tags=["nbval-check-output"]
TAU = 0.05
e = torch.exp(V @ q[0] / TAU)
share = {"softmax": e / e.sum(), "Eq. 2d": e / (e + e[1:].sum())}
slope = by_differences(lambda x: InfoNCE(TAU).per_query(x @ V.T, positives), q)[0]
for name, Z in share.items():
    eq_2a = ((1 - Z[0]) * V[0] - Z[1:] @ V[1:]) / TAU
    print(f"{name:8} sum of shares {float(Z.sum()):.4f}, differences + Eq. 2a: "
          f"{float((slope + eq_2a).abs().max()):.4f}")

# %% [markdown]
# With the softmax, Eq. 2a is minus the gradient, as announced and not as labelled. With the printed $Z$ the weights no
# longer sum to zero. Details are in {ref}`the errata <erratum-ltd-2>`. The code leaves the gradient to autograd.
#
# ## The query that is not normalised
#
# An encoder returns some vector $x$; the score is $s_j = q \cdot v_j$ with $q = x / \lVert x \rVert$. What does $x$
# feel? Differentiate one score. By the quotient rule, with $\partial \lVert x \rVert / \partial x = q$:
#
# $$ \frac{\partial s_j}{\partial x} = \frac{v_j}{\lVert x \rVert} - \frac{(x \cdot v_j)\, q}{\lVert x \rVert^2}
#    = \frac{v_j - s_j\, q}{\lVert x \rVert}. $$


# %%
def slope_of_score(x, v):
    q = x / x.norm(dim=1, keepdim=True)
    return (v - (q @ v)[:, None] * q) / x.norm(dim=1, keepdim=True)


x = 2.5 * q
for v in V:
    checked = agreement(slope_of_score(x, v), lambda x, v=v: x @ v / x.norm(dim=1), x)
    assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6

# %% [markdown]
# Multiply by $w_j$ and add up:
#
# $$ \frac{\partial \ell}{\partial x} = \frac{1}{\lVert x \rVert} \big(I - q q^\top\big) \sum_j w_j v_j. $$


# %%
def through_norm(x, weights, V):
    q = x / x.norm()
    raw = weights @ V
    return (raw - (raw @ q) * q) / x.norm()


def loss_of(x):
    return full.per_query((x / x.norm(dim=1, keepdim=True)) @ V.T, positives)


weights = full.weights(q @ V.T, positives)[0]
gradient = through_norm(x[0], weights, V)
checked = agreement(gradient[None], loss_of, x)
assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-6

# %% [markdown]
# Compare it with Eq. 11, which stops at the sum (and turns its sign). Two things are new.

# %% tags=["nbval-check-output"]
twice = through_norm(2 * x[0], weights, V)
raw = weights @ V
assert abs(float(gradient @ x[0])) < 1e-12 and (gradient - 2 * twice).abs().max() < 1e-12
assert abs(float(raw @ q[0] - weights @ (V @ q[0]))) < 1e-12
before, after = float(raw @ q[0]), abs(float(gradient @ q[0]))
print(f"part along q: before {before:+.4f}, after {after:.4f}")
print(f"length for x and 2x: {float(gradient.norm()):.4f}, {float(twice.norm()):.4f}")

# %% [markdown]
# - The part along $q$ is gone. It was $\sum_j w_j s_j$, the mean score under $p$ minus $s_+$, over $\tau$.
# - The rest is divided by $\lVert x \rVert$. Under plain gradient descent a vector twice as long takes a step half as
#   long, and turns by about a quarter of the angle. (Adam divides the length of a step out again, so this need not hold
#   there.)
#
# How much does it matter? Take $\lVert x \rVert = 1$. With its part along $q$ removed, a candidate's pull or push has
# the length $\lvert w_j \rvert \sqrt{1 - s_j^2}$, because that is the length of $v_j - s_j q$. The root is largest, 1,
# where query and candidate are at a right angle. It is zero at *both* poles: where the query points at the candidate,
# and where it points exactly away from it. At the far pole all directions lead back to the candidate alike, so that
# none is preferred.

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
for j, v in enumerate(V):
    s = q[0] @ v
    assert abs(float((v - s * q[0]).norm()) - float((1 - s**2).sqrt())) < 1e-12
    felt = weights[j] * (v - s * q[0])
    assert abs(float(felt.norm()) - float(weights[j].abs() * (1 - s**2).sqrt())) < 1e-12

# %% [markdown]
# Two dimensions are enough to see what this does. As in {doc}`triplet`, put the positive at 0° and one negative at 60° on
# a circle, and let the query go all the way around. Both weights have the size $\lvert w_+ \rvert$. And the gradient
# *before* the projection, $w_- v_- + w_+ v_+$, has that length too, since the two candidates are 1 apart. So we expect
# the weight to be more than half of its full size wherever the negative is nearer than the positive, which begins at 30°
# and ends at −150°. What arrives at the query should be another matter.

# %%
two = torch.tensor([[1.0, 0.0], [0.5, 0.75**0.5]], dtype=torch.float64)  # at 0° and 60°
first_of_two = torch.tensor([[True, False]])


def on_circle(degrees):
    """Weight of the positive; its pull, and the whole gradient, as the query feels them."""
    angle = torch.tensor(degrees, dtype=torch.float64).deg2rad()
    at = torch.stack([angle.cos(), angle.sin()])
    w = full.weights((two @ at)[None], first_of_two)[0]
    of_positive = through_norm(at, w * first_of_two[0], two)
    whole = through_norm(at, w, two)
    return float(-w[0]), float(of_positive.norm()), float(whole.norm())


# %% tags=["hide-input"] mystnb={"image": {"alt": "Three curves over the angle of the query from minus 180 to 180 degrees. The weight of the positive is zero near 0 degrees and full, ten, from about 60 to 180 and on to minus 180. The positive's pull on the tangent reaches ten at 90 degrees and is zero at 0 and 180. The whole gradient is zero at 120 degrees, in the middle of the plateau of the weight."}, "figure": {"name": "fig-projection", "caption": "NT-Xent on a circle, positive at 0°, negative at 60°. The weight is nearly full from 60° to 180°. The positive's pull arrives whole at a right angle and not at all at 180°. The whole gradient is zero at 120°, where the query points from the positive to the negative."}}
degrees = [float(d) for d in range(-180, 181)]
weight, pull, whole = zip(*(on_circle(d) for d in degrees), strict=True)
fig, ax = plt.subplots(figsize=(5.4, 3.7))
ax.plot(degrees, weight, color="black", lw=1.8, ls="--", label="weight of the positive")
ax.plot(degrees, pull, color=PULLED, lw=2, ls=":", label="its pull, after projection")
ax.plot(degrees, whole, color=plots.COLOURS["ntxent"], lw=2.4, label="whole gradient, after projection")
for place in (0, 60):
    ax.axvline(place, color="#999999", lw=0.8)
    ax.text(place + 2, 11.9, "positive" if place == 0 else "negative", fontsize=9.5, va="top")
ax.set(xlabel="angle of the query, degrees", ylabel="length", ylim=(-0.3, 12))
ax.set(xticks=range(-180, 181, 60), yticks=range(0, 11, 2))
ax.legend(fontsize=10, loc="lower center", bbox_to_anchor=(0.5, 1));

# %% tags=["hide-input"]
by_angle = dict(zip(degrees, zip(weight, pull, whole, strict=True), strict=True))
Markdown("\n".join([
    f"- At 90°, a right angle to the positive, its pull arrives whole: weight {by_angle[90.0][0]:.1f}, felt "
    f"**{by_angle[90.0][1]:.1f}**. (The negative, 30° away, turns the query the other way, so that "
    f"{by_angle[90.0][2]:.1f} is left of both.)",
    f"- At 180°, opposite to the positive, the weight is still {by_angle[180.0][0]:.1f}, and the pull that is felt "
    f"**{by_angle[180.0][1]:.1f}**. All that moves the query there is the negative: {by_angle[180.0][2]:.1f}.",
    f"- At 120° the weights are full, {by_angle[120.0][0]:.1f}, and the gradient is **{by_angle[120.0][2]:.1f}**. The "
    f"query points along v₋ − v₊. Of the pull alone {by_angle[120.0][1]:.1f} arrive, and as much of the push, in the "
    "opposite direction: what is left of their sum points along q and is projected away.",
]))

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
for w, of_positive, both in by_angle.values():
    assert of_positive <= w + 1e-12 and both <= w + 1e-12  # a projection only shortens
assert by_angle[90.0][1] > 0.999 * by_angle[90.0][0] > 9.9 and by_angle[180.0][1] < 1e-12 and by_angle[0.0][1] < 1e-12
assert by_angle[120.0][0] > 9.9 and by_angle[120.0][2] < 1e-12 and by_angle[0.0][0] < 0.1
assert abs(by_angle[30.0][0] - 5) < 1e-9 and abs(by_angle[-150.0][0] - 5) < 1e-9  # both candidates score alike
assert min(by_angle[float(d)][0] for d in range(60, 181)) > 9.3

# %% [markdown]
# So a weight says how much a *score* should change, not how far the query turns. For one candidate the difference is
# greatest near its poles. For the whole gradient it is greatest near the direction $v_- - v_+$, which is the worst place
# that the query can be in. {doc}`triplet` has the same circle: at the top of its hill the weights are full and the slope is zero.
#
# ## What we found

# %% tags=["hide-input"]
Markdown("\n".join([
    f"- On the 3 × 3 matrix the printed Eq. 4 gives {values['printed']:.4f}, the one that was run {values['run']:.4f}; "
    "so does the released code.",
    "- As printed the pull on a positive is 1/τ however high it is. As run it is (1 − p)/τ, and fades as p nears one.",
    f"- Of seven negatives {effective(0.01):.1f} took part in effect at τ = 0.01, {effective(0.1):.1f} at 0.1, "
    f"{effective(1.0):.1f} at 1.",
    f"- LTD's Eq. 2d has shares that sum to {float(share['Eq. 2d'].sum()):.2f} in our example, where a softmax "
    "sums to one. Its code does not use Eq. 2d.",
    f"- The normalisation took the part {before:+.2f} along q out of the gradient in our example, and left none.",
]))

# %% [markdown]
# - $w_j = (p_j - 1[j = +])/\tau$, where $p$ is a softmax. The weights of a query sum to zero.
# - For small $\tau$, NT-Xent acts like Triplet-SH with margin 0, for large $\tau$ like Triplet with everyone active, but
#   for a factor.
# - ECIR's Eq. 11 is minus the gradient of the loss as run, and contradicts its Eq. 4.
# - With several positives, the library leaves the others out of the sum, because they would be pushed like negatives.
# - What a query feels of a candidate is $\lvert w_j \rvert \sqrt{1 - s_j^2} / \lVert x \rVert$: the whole weight (over
#   $\lVert x \rVert$) at a right angle, and nothing at either pole.
#
# ## Exercises
#
# ````{exercise-start} The weights, as a function
# :label: ex-ntxent-weights
# ````
#
# Write the weights of NT-Xent for one row: `mine = lambda scores, positive, tau: ...`. `scores` is a vector, `positive`
# the index of its one positive. Use `torch.softmax`, but neither the library nor autograd.

# %%
mine = ...

# %% tags=["hide-input"]
def check_ntxent_weights(value):
    """Passes for (softmax - 1[positive]) / tau."""
    if value is ...:
        return "your turn"
    rng = torch.Generator().manual_seed(7)
    for positive, tau in ((0, 0.1), (3, 0.05), (1, 0.5)):
        scores = torch.rand(6, generator=rng, dtype=torch.float64)
        got = torch.as_tensor(value(scores.clone(), positive, tau), dtype=torch.float64)
        x = scores.clone().requires_grad_()
        (torch.logsumexp(x / tau, 0) - x[positive] / tau).backward()
        assert got.shape == (6,), f"not yet: six weights are needed, got shape {tuple(got.shape)}"
        turned = torch.allclose(got, -x.grad)
        assert not turned, "not yet: every sign is turned around, as in Eq. 11; descent must lower the negatives"
        assert not torch.allclose(got, x.grad * tau), "not yet: 1/tau is missing"
        assert torch.allclose(got, x.grad, atol=1e-9), "not yet: (share - 1 for the positive) / tau"
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
def solution(scores, positive, tau):
    p = torch.softmax(scores / tau, 0)
    p[positive] -= 1
    return p / tau


check_ntxent_weights(solution)

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} Through the norm
# :label: ex-through-norm
# ````
#
# An encoder returned $x$; the score of candidate $j$ is $s_j = x \cdot v_j / \lVert x \rVert$. Given the weights $w$ of
# any loss, write the gradient for $x$: `mine = lambda x, w, V: ...`. `V` holds a candidate a row.

# %%
mine = ...

# %% tags=["hide-input"]
def check_through_norm(value):
    """Passes for (I - q q^T) sum_j w_j v_j / |x|."""
    if value is ...:
        return "your turn"
    rng = torch.Generator().manual_seed(9)
    for length in (1.0, 0.3, 4.0):
        V, w = (torch.randn(*shape, generator=rng, dtype=torch.float64) for shape in ((5, 4), (5,)))
        x = torch.randn(4, generator=rng, dtype=torch.float64)
        x = (length * x / x.norm()).requires_grad_()
        (w @ (V @ x) / x.norm()).backward()
        got = torch.as_tensor(value(x.detach(), w, V), dtype=torch.float64)
        assert got.shape == (4,), f"not yet: a vector like x is needed, got shape {tuple(got.shape)}"
        assert not chapter.near(got, -x.grad), "not yet: minus the gradient; a positive weight adds +v"
        along = abs(float(got @ x.detach()))
        assert along < 1e-4, "not yet: a part along x is left; the projection must take it away, not double it"
        assert chapter.near(got, x.grad), f"not yet: wrong for a vector of length {length}"
    return "right"


check_through_norm(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-through-norm
# :class: dropdown
# ````
#
# Sum, take away the part along $q$, divide by the length.


# %%
def solution(x, w, V):
    q = x / x.norm()
    pull = w @ V
    return (pull - (pull @ q) * q) / x.norm()


check_through_norm(solution)

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} The floor
# :label: ex-floor
# ````
#
# Predict: cosines lie between −1 and 1. How low can the *printed* loss of one query get, with two negatives and
# $\tau = 0.1$?

# %%
mine = ...

# %% tags=["hide-input"]
def check_floor(value):
    """Passes for the printed loss at s+ = 1 and both negatives at -1."""
    if value is ...:
        return "your turn"
    s = torch.tensor([1.0, -1.0, -1.0], dtype=torch.float64) / 0.1
    expected = float(torch.logsumexp(s[1:], 0) - s[0])
    hint = "where do the positive and the two negatives have to be?"
    assert abs(float(value) - expected) < 1e-2, f"not yet: got {float(value):.2f}; {hint}"
    return "right"


check_floor(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-floor
# :class: dropdown
# ````
#
# The positive at 1, both negatives at −1: $-1/\tau + \ln (2 e^{-1/\tau}) = -2/\tau + \ln 2$. The full loss cannot go
# below zero.

# %%
check_floor(-2 / 0.1 + float(torch.log(torch.tensor(2.0))))

# %% [markdown]
# ````{solution-end}
# ````
#
# Next: {doc}`smoothap` asks for the rank itself.
