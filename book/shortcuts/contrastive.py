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
# # What does a contrastive loss not ask for?
#
# **What you will be able to do:** derive the gradient of InfoNCE with respect to a caption's vector, its own picture
# and another picture; show with numbers how one feature that suffices takes the gradient from all others; and measure,
# with linear probes, what a trained encoder has kept of its captions. **Time:** half an hour of reading, about two
# minutes on one core. **You need:** {doc}`../gradients/ntxent` for the loss, {doc}`../lessons/reading` for twins:
# two pictures of the same things that differ in who has what. *Swap accuracy*, how often a caption scores higher with its
# own picture than with the twin, is 50 % for a model that knows the words and not their order, and says whether a model
# *reads*.
#
# Below are six training pairs. Somebody numbered the collection: the number stands in a strip on the picture, and
# behind the caption. A model is now trained to tell, for each caption, its own picture from the others of its batch. What
# will it learn about circles, colours and places?

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
from icrlib import chapter, paper, plots, probes, records
from icrlib.data.scenes.stamps import stamp, write
from icrlib.losses import NTXent
from icrlib.sampling import Sampler

smoke = chapter.start(smoke)
data = icrlib.load_dataset("scenes", seed=0, smoke=smoke)
batch = Sampler(data.train, seed=0, batch_size=128)[0]

# %% tags=["hide-input"] mystnb={"image": {"alt": "Six scenes in two rows, each with a black strip of six white digits along its top edge, and above it its caption, which ends with the same digits."}, "figure": {"name": "fig-stamped-pairs", "caption": "Six pairs of a numbered collection. Every digit has another place and brightness each time, so the network has to read it. The strip covers what lies below it."}}
shown, numbers = batch.images[:6], np.array([3, 14, 9, 0, 11, 6])
pictures = stamp(data.train.images[shown.numpy()], numbers, np.random.default_rng(0))
titles = [write(data.train.captions[int(c)], int(n)) for c, n in zip(batch.captions[:6], numbers, strict=True)]
assert all(title.replace(" ", "").endswith(f"{n:06d}") for title, n in zip(titles, numbers, strict=True))
plots.gallery(pictures, titles, columns=3, wrap=26, size=2.1);

# %% [markdown]
# Perhaps the model learns to read numbers and nothing else. If every pair has a number of its own, nothing in its task
# asks for more. A feature that solves the training task without what we are interested in is called a **shortcut**.
# LTD, the third paper of this book {cite:p}`bleeker2022keep`, argues that the contrastive loss invites shortcuts, since
# nothing "enforces the encoders to learn representations that contain all available input information". It can't show
# one, because nobody knows all that photos and their captions hold. Here we draw the pictures, so we can. First we
# derive why it should happen, then we look at what it does without any numbers on the pictures, and in the end we stamp
# them.
#
# | sign | meaning |
# | --- | --- |
# | $q$ | vector of a caption, the query; length one |
# | $v^+$, $v^-$ | vector of the caption's own picture (the positive), and of another picture of the batch (a negative) |
# | $B$, $\mathcal S_q^-$ | pairs in the batch; the negatives of $q$ in it |
# | $\tau$ | temperature, by which scores $q \cdot v$ are divided |
# | $Z(q, v)$ | share of picture $v$ in the softmax of the caption $q$ |
#
# ## Eq. 1 and its gradient
#
# LTD's Eq. 1 is InfoNCE {cite:p}`oord2018cpc`, which the other papers call NT-Xent, with captions as queries:
#
# $$ \mathcal L = \frac1B \sum_{(q, v^+)} - \log
# \frac{e^{q \cdot v^+/\tau}}{e^{q \cdot v^+/\tau} + \sum_{v^- \in \mathcal S_q^-} e^{q \cdot v^-/\tau}} . $$ (eq-infonce)
#
# Take one caption and leave out the mean. Its loss is $\ell = \log \sum_v e^{q \cdot v / \tau} - q \cdot v^+ / \tau$, where the
# sum runs over the positive and all negatives. Its derivative with respect to one score $q \cdot v$ is $Z(q, v)/\tau$,
# the softmax's share, less $1/\tau$ for the positive. A score is a product, so its derivative with respect to $q$ is $v$,
# and with respect to $v$ it is $q$:
#
# $$ \begin{aligned}
#    \tau \frac{\partial \ell}{\partial q} &= \sum_{v^-} Z(q, v^-)\, v^- - \big(1 - Z(q, v^+)\big)\, v^+ , \\
#    \tau \frac{\partial \ell}{\partial v^+} &= - \big(1 - Z(q, v^+)\big)\, q , \\
#    \tau \frac{\partial \ell}{\partial v^-} &= Z(q, v^-)\, q . \end{aligned} $$ (eq-three-gradients)
#
# A training step goes against the gradient. So the caption moves towards its own picture and away from the others, its
# picture moves towards the caption, and the other pictures move away from it. The shares weigh all of these steps.
#
# We take real vectors: those of a bag of words, trained for 600 updates, on a batch of 128 pairs.


# %%
def encoded(model, split=data.train):
    """Caption and picture vectors of the batch, in double precision."""
    images, captions = icrlib.evaluation.embed(model, split)
    return captions[batch.captions].double(), images[batch.images].double()


same = {"seed": 0, "lr": 0.003, "smoke": smoke, "progress": False}
bag = icrlib.train(data, "bow", "ntxent", updates=600, evaluate_every=600, **same)
Q, V = encoded(bag.model)
tau, B = 0.1, len(Q)
Z = (Q @ V.T / tau).softmax(1)  # row: caption, column: picture

# %% [markdown]
# The three gradients for the first caption of the batch, its own picture, and the picture that it is most likely to be
# confused with. The formulas on the left, autograd on the right: they should agree to the last digits.

# %%
q, own = Q[0], 0
rival = int(Z[0].masked_fill(torch.arange(B) == own, 0).argmax())
by_hand = {
    "the caption": (Z[0] @ V - V[own]) / tau,
    "its own picture": -(1 - Z[0, own]) * q / tau,
    "the nearest other picture": Z[0, rival] * q / tau,
}
x, y = Q[:1].clone().requires_grad_(), V.clone().requires_grad_()
NTXent(tau).per_query(x @ y.T, torch.arange(B)[None] == own).sum().backward()
by_machine = dict(zip(by_hand, (x.grad[0], y.grad[own], y.grad[rival]), strict=True))
for name in by_hand:
    apart = float((by_hand[name] - by_machine[name]).abs().max())
    print(f"{name:26} length {float(by_hand[name].norm()):.4f}   difference {apart:.0e}")
    assert apart < 1e-12

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
def whole(x, y):
    """LTD's Eq. 1 as printed, over the batch."""
    e = (x @ y.T / tau).exp()
    rest = (e * (1 - torch.eye(len(x)))).sum(1)
    return -(e.diagonal() / (e.diagonal() + rest)).log().mean()


x, y = (some.clone().requires_grad_() for some in (Q, V))
whole(x, y).backward()
# Over a batch a picture is the positive of one caption and a negative of all others: its gradients add up.
assert (x.grad - (Z @ V - V) / (B * tau)).abs().max() < 1e-12
assert (y.grad - (Z.T @ Q - Q) / (B * tau)).abs().max() < 1e-12
step, direction = 1e-6, torch.randn(V.shape, generator=torch.Generator().manual_seed(0)).double()
slope = (whole(Q, V + step * direction) - whole(Q, V - step * direction)) / (2 * step)
assert abs(float(slope - (y.grad * direction).sum())) < 1e-8
printed = torch.exp(q @ V.T / tau)
as_2d = printed / (printed + printed.sum() - printed[own])
assert abs(float(as_2d[own] - Z[0, own])) < 1e-12
assert (as_2d - Z[0])[torch.arange(B) != own].abs().max() > 1e-6

# %% [markdown]
# :::{admonition} As printed
# :class: note
# LTD's Eq. 2 is announced as the derivative of $-\mathcal L$ and has its right-hand sides, but its left-hand sides say
# $\partial \mathcal L$: all signs are turned. Eq. 2c has a $q^-$ that is not defined (it is $q$), and the list below it a
# $\sigma^-$ (it is $v^-$). Eq. 2d's denominator is the positive's: with a negative $v$ in it, that $v$ counts twice and
# the positive not at all. The released code leaves the gradient to autograd. See {ref}`the errata <erratum-ltd-2>`.
# :::
#
# :::{admonition} How much can this loss ask for?
# :class: note
# Name the right picture among $B$, of which the others were drawn by chance: whatever the scores, on average
#
# $$ I(\text{caption}; \text{picture}) \;\ge\; \ln B - \mathcal L $$
#
# {cite:p}`oord2018cpc`, where $I$ is the information that both share, in nats. So a loss of 0 proves $\ln B$ of it, 4.85
# for 128 pairs, and once the loss is there nothing more is asked for. Where the scores come close to an optimum, and with
# many negatives, the loss wants two things only: own pairs together, and all vectors spread evenly over the sphere
# {cite:p}`wang2020alignment`. Neither names a word.
# :::

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
def informed(right, kinds=256, size=128, batches=200):
    """(I, ln B − loss) of pairs of one kind of many, that agree with probability ``right``, under the best scores."""
    rng = np.random.default_rng(0)
    same, other = right + (1 - right) / kinds, (1 - right) / kinds  # p(caption | picture)
    shared = same * np.log(same * kinds) + (kinds - 1) * other * np.log(other * kinds)
    losses = []
    for _ in range(batches):
        pictures = rng.integers(kinds, size=size)
        captions = np.where(rng.random(size) < right, pictures, rng.integers(kinds, size=size))
        best = np.where(captions[:, None] == pictures, np.log(same * kinds), np.log(other * kinds))
        losses.append(np.mean(np.log(np.exp(best).sum(1)) - best.diagonal()))
    return shared, np.log(size) - np.mean(losses)


for right in (0.1, 0.5, 0.9, 0.999):
    shared, proved = informed(right)
    assert proved < shared + 0.01 and proved < np.log(128)
assert informed(0.999)[0] - informed(0.999)[1] > 0.5  # more is there than 128 pairs can ask for

# %% [markdown]
# ## Why a feature that suffices stops the learning of all others
#
# Now suppose that a vector has two parts, say a part $n$ for the number and a part $c$ for the contents. Then the score
# is a sum, $q \cdot v = q_n \cdot v_n + q_c \cdot v_c$, and the gradient of the contents is
#
# $$ \tau \frac{\partial \ell}{\partial q_c} = \sum_{v^-} Z(q, v^-)\, v_c^- - \big(1 - Z(q, v^+)\big)\, v_c^+ .
# $$ (eq-contents)
#
# The part $n$ is none of the vectors in it. But it is in the shares. If the number alone brings $q \cdot v^+$ so far
# above all other scores that $Z(q, v^+) \to 1$, then all shares of negatives go to zero, and with them both terms.
# **The contents get no gradient, whatever they hold**, right or wrong. The loss does not push them out of the vector;
# it does not ask for them. What nobody asks for may stay, or be written over by something else that the same weights
# have to do. And there is one softmax for all features: where one of them solves the task, the loss is solved, and nobody gets a
# gradient any more, the number included. The contents are then what they were when that happened.
#
# Two things limit this argument. An optimiser such as Adam divides by the usual size of a gradient, so a gradient that
# has become small slows the learning down by less than its size says, as long as more than noise is left; how much it
# slows it, only a training can tell. And in vectors of length one a large part $n$ makes $c$ shorter, which the sum of two
# scores leaves out.
#
# How much is left? That depends on how many numbers there are. We add a number to the vectors of our batch: two pairs
# with the same number score $a$ higher with each other, and $a$ stands for how well both encoders can read numbers. (If
# vectors keep their length, $a$ is at most 1, and at 1 there would be no room left for the contents. So look at the middle
# of the scale rather than at its end.) With $b$ bits there are $2^b$ numbers; pair $i$ has the number $i$ modulo $2^b$, so
# that $128/2^b$ pairs share each one.


# %%
def gradient_of_contents(bits, a):
    """Mean length of the gradient of a caption's contents, with so many bits."""
    number = torch.arange(B) % 2**bits
    scores = Q @ V.T + a * (number[:, None] == number[None])
    shares = (scores / tau).softmax(1)
    return float(((shares @ V - V) / tau).norm(dim=1).mean())


# %% [markdown]
# Before the next figure, what do we expect? With no bits, all pairs have the same number, which adds $a$ to all scores. A
# softmax does not notice that, so nothing should change. With seven bits each pair has a number of its own. The share of
# a negative then falls like $e^{-a/\tau}$, and so should the gradient. In between, the pairs with another number drop out
# one group after the other, until only those with the same number are left; among these the number does not help, so
# some gradient should stay for good.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Curves of the gradient that is left for the contents, in percent, over the advantage a of pairs with the same number, from 0 to 1. With 0 bits the curve is flat at 100 percent. With 2 and 4 bits it falls to a lower level and stays there, lower for more bits. With 7 bits it falls to zero."}, "figure": {"name": "fig-suppressed", "caption": "What a readable number leaves of the gradient of the contents, on 128 real pairs. Each bit takes away half of the negatives that the contents are still needed for; a number for each pair takes away all."}}
reach, bits_shown = np.linspace(0, 1, 41), [n for n in (0, 2, 4, 7) if 2**n <= B]
left = {n: np.array([gradient_of_contents(n, a) for a in reach]) / gradient_of_contents(0, 0) for n in bits_shown}
fig, ax = plt.subplots(figsize=(6.6, 3.6))
for (n, values), style in zip(left.items(), ("-", "--", "-.", ":"), strict=False):
    name = f"{n} bits: {2**n} number{'s' * (n > 0)}"
    ax.plot(reach, 100 * values, style, color=plots.colour("ntxent"), lw=2.2, label=name)
ax.set(xlabel="how much higher a pair with the same number scores, $a$", ylabel="gradient that is left, %", ylim=0)
ax.legend(fontsize="small");

# %% tags=["hide-input"]
assert np.ptp(left[0]) < 1e-9 and all((np.diff(left[n]) < 1e-3).all() for n in left)
ends = [left[n][-1] for n in left]
assert smoke or (sorted(ends, reverse=True) == ends and ends[-1] < 0.02 < ends[-2])
fades = left[max(left)][-1] / left[max(left)][-5]  # four steps of 0.025
assert smoke or abs(np.log(fades) + 0.1 / tau) < 0.05
def percent(share):
    return f"{100 * share:.{1 if share > 0.01 else 2}f} %"


half = len(reach) // 2
assert reach[half] == 0.5
rows = [{"bits": n, "numbers": 2**n, "negatives with the same number": B // 2**n - 1,
         "left at a = 0.5": percent(left[n][half]), "left at a = 1": percent(left[n][-1])} for n in left]
paper.styled(pd.DataFrame(rows), f"The gradient that is left for the contents: {B} pairs, τ = {tau}.", name="bits-left")

# %% [markdown]
# So a number with few bits is no small matter. Four bits can't tell 128 pairs apart, and yet of 127 negatives only seven
# are left to learn from. It is as if the batch had eight pairs. Against a coarse shortcut, larger batches or
# harder negatives may therefore help: they bring back pairs that it doesn't separate. Against a number for each pair they
# do not.
#
# ## Without a number: what does a trained model keep?
#
# Captions bring their own shortcuts. In {doc}`../lessons/reading` the *words* of a caption went a long way in finding its
# picture, and the *order* of the words was learnt late, or never. We can now look inside: what is missing from the
# vectors, and what is there and not used?
#
# A **linear probe** asks. It is a ridge regression from the model's vectors to one fact that the captions state, such as
# the colour of the first thing. It is fitted on the training split, and we report how often it is right on the test
# split. A score is an inner product with a picture's vector, so it is linear in the caption's vector, too: what no linear
# map finds is of little use to it. (One regression that fails does not prove that there is none.) The regression gives
# each answer a number, and the highest counts. Some facts are asked as a choice between two answers that the caption both
# names, and then the higher of these two counts: *in "a red ring left of a blue star", is the ring red or blue?* A vector
# that only knows which words there are is right half of the time.
#
# We probe four models: the bag of words from above, and three VSE++ encoders, trained with NT-Xent in both directions:
# for a single update, so that the encoder is still random; for 250, when its recall is up and it does not read yet; and
# for 3,000, when it does. The three start from the same weights; the number behind a name below is that of its updates.
# They are three trainings and not three moments of one, for each lowers its learning rate halfway.

# %%
models = {"bag of words": bag}
for updates in (1, 250, 3000):
    models[f"VSE++, {updates:,}"] = icrlib.train(data, "vse++", "ntxent", updates=updates,
                                                 evaluate_every=updates, **same)
tables = {name: probes.probe(run.model, data) for name, run in models.items()}
read = probes.compared(tables)
captions = read[read["of"] == "caption"].set_index("fact")
fresh, early, late = list(models)[1:]

# %% [markdown]
# What to expect? The bag of words has to be at chance in every choice, and sure of which words are named. The random
# encoder was asked for nothing yet: it holds what a vector of this size holds anyway. For the other two, Eq.
# {eq}`eq-contents` says one thing only: what the task still needs has a gradient, and should become readable. Of what the
# rest of a caption makes superfluous it says nothing; that may stay or go, and we look at which. A candidate is the word
# between two things: a caption that names both with their colours may not need its "left of" to be told from 127 others.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Dots for four models in seven rows, one for each fact that captions state, from 0, chance, to 100, always right. The bag of words is at 100 for named colours and at 0 for the three choices: whose colour, who is left, who is above."}, "figure": {"name": "fig-probes", "caption": "What a linear map can read from caption vectors, on the test split: 0 is chance, 100 is always right. The upper three facts are choices between two answers that the caption both names, which a bag of words can't make. Below: the colour of the thing that is named first, the word between two things (left of, right of, above, below), the number of things if one is said, and, for each colour, whether it is named."}}
SHOWN = ["whose colour", "who is left", "who is above", "colour of the first", "relation", "count", "colours named"]
part = captions.loc[SHOWN]
above = (part[list(models)].sub(part["chance"], axis=0)).div(100 - part["chance"], axis=0) * 100
fig, ax = plt.subplots(figsize=(7, 3.8))
for (name, mark), colour in zip({"bag of words": "x", fresh: "o", early: "s", late: "D"}.items(),
                                (plots.colour("bow"), "#b0b0b0", "#7fb2d8", plots.colour("ntxent")), strict=True):
    ax.plot(above[name], range(len(above)), mark, color=colour, ms=8, mew=2, ls="", label=name)
ax.set(yticks=range(len(above)), yticklabels=above.index, xlabel="above chance, % of the way", xlim=(-12, 104))
ax.invert_yaxis()
ax.grid(axis="y", alpha=0.4)
ax.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.4, -0.18), ncols=4, columnspacing=1);

# %% tags=["remove-cell"]
def told(fact, name):
    return f"{captions.loc[fact, name]:.0f} %"


def each(fact):
    return ", ".join(told(fact, name) for name in models)


swaps = {name: run.record["test"]["twins"]["swap"] for name, run in models.items()}
rsums = {name: run.record["test"]["rsum"] for name, run in models.items()}

# %% tags=["hide-input"]
assert smoke or (abs(captions.loc["whose colour", "bag of words"] - 50) < 4 and swaps[early] < 55 < swaps[late])
assert smoke or captions.loc["whose colour", late] - 8 > captions.loc["whose colour", early] > 60
assert smoke or (rsums["bag of words"] > rsums[early] + 5 and captions.loc["whose colour", early] > 60)
relation = captions.loc["relation"]
assert smoke or relation[fresh] > 90 > relation[early] > 60 > relation[late]
assert smoke or max(captions.loc["who is left", list(models)]) < 60
Markdown(f"In the order of the legend. **Whose colour:** {each('whose colour')}. After 250 updates VSE++ does not "
         f"use this yet, for its swap accuracy, which asks pictures and captions together, is {swaps[early]:.0f} %; "
         f"but it is in its captions' vectors already. When it reads, the swap accuracy is {swaps[late]:.0f} %. "
         "**The relation**, which of *left of*, *right of*, *above* and *below* the caption says, goes the other "
         f"way: {each('relation')}, where {captions.loc['relation', 'chance']:.0f} % is chance. The random encoder "
         "holds it, and after training a linear map finds little of it. **Who is left**, and who is above, was hardly "
         f"found in any of the vectors: {each('who is left')}, and {each('who is above')}. Recall says little of what a "
         f"vector holds: the test rsum is {', '.join(f'{rsums[name]:.0f}' for name in models)}, and the bag of "
         "words, which cannot say whose colour it is, is ahead of the VSE++ that has it in "
         f"{told('whose colour', early)} of the captions, where guessing has 50 %. (Shares of "
         f"{captions.loc['who is left', 'n']:,} to "
         f"{captions.loc['relation', 'n']:,} captions, so that a few points are noise; one draw, one training "
         "each.)")

# %% [markdown]
# So the model that reads does not read everything. It learnt to keep together what belongs to one thing, and it lost most
# of the word between the two things. Why it lost it, one training does not say. The bag of words was trained with the same
# loss and keeps the word, which is one of its summands, so the contrastive loss need not erase it. In a recurrent network it
# may have been written over by what the same weights had to learn. A part of it need not be missed at all: "a star left
# of a ring" and "a ring right of a star" are true of the same picture, so a model that knows who stands where could do
# without the difference between *left of* and *right of*; but this one does not know who stands where, either. Nobody has
# tampered with these captions: the relation is true of the picture, and the picture's vector could answer it, as we see
# next.
#
# Now the other side. A picture's vector comes from a frozen network and one linear layer. All that this layer needs is to
# let things through; does it? The table has the picture facts, again with a choice between two answers that both fit
# something in the picture: *which of the picture's colours has the ring? In which of the taken columns is it?*

# %% tags=["hide-input"]
pictures_read = read[read["of"] == "picture"].set_index("fact")
table = pd.DataFrame([{"fact": fact, "cases": f"{row['n']:,}", "chance": f"{row['chance']:.0f} %"}
                      | {name: f"{row[name]:.0f} %" for name in models} for fact, row in pictures_read.iterrows()])
paper.styled(table, "What a linear map can read from picture vectors, test split.", name="picture-probes")

# %% tags=["hide-input"]
binding = ["whose colour", "whose column", "whose row"]
drop = {fact: pictures_read.loc[fact, fresh] - pictures_read.loc[fact, early] for fact in binding}
gain = {fact: pictures_read.loc[fact, late] - pictures_read.loc[fact, early] for fact in binding}
assert smoke or max(drop.values()) < 6
Markdown("Here training did throw something away. From one update to 250 the probes of who has what "
         "change by " + ", ".join(f"{-drop[fact]:+.0f} ({fact})" for fact in binding)
         + " points, and from there to 3,000 by " + ", ".join(f"{gain[fact]:+.0f}" for fact in binding)
         + ". The picture's vector can only be asked for what captions ask, and captions that are not read do not "
         "ask who has what."
         if max(drop.values()) > 6 else
         "The picture's side keeps who has what, and where: from one update to 250 the probes change by "
         + ", ".join(f"{-drop[fact]:+.1f} ({fact})" for fact in binding)
         + " points, and from there to 3,000 by " + ", ".join(f"{gain[fact]:+.1f}" for fact in binding)
         + f". That is little beside the {relation[fresh] - relation[late]:.0f} points by which the relation fell "
         "in the captions' vectors. It is these that LTD asks for more.")

# %% [markdown]
# ## A shortcut in action
#
# Back to the numbered collection. A later work of LTD's authors (its code: svl-framework) stamps numbers on photos
# and captions, as in our first figure, trains, and tests twice: with the stamps and without. Its logs of VSE++ on
# Flickr30k say (test rsum, of 600):

# %% tags=["hide-input"]
released = pd.DataFrame({"bits of the number": [0, 1, 4, 8, 10, 13],
                         "tested without stamps": [344.4, 366.5, 312.0, 128.9, 24.3, 4.4],
                         "tested with stamps": [401.3, 440.6, 530.4, 577.0, 576.0, 591.7]})
paper.styled(released.map("{:g}".format), "The release's logs; without any stamps in training the rsum is 412.8.",
             name="released-bits")

# %% [markdown]
# A batch there has $128 = 2^7$ pairs, so that seven bits could number each, and every row is one run. Between 0, 1 and 4
# bits the recall without stamps goes up and down, and nobody can say how much of that is the seed's. Eight bits take most
# of it, and with 13 what is found without stamps is hardly more than guessing among 1,000 pictures would find (3.2). Part
# of each fall is that a picture without its strip looks new to the network: with 0 bits, the same number on every picture,
# the stamp tells nothing, and the rsum without it is 344 instead of 413. So 0 bits are what the other rows should be held
# against.
#
# We have the same on scenes. The network that makes the features has to see the stamped picture, so it is part of the
# model and learns; it starts from the weights that stay frozen in other chapters. All rows have the encoders of LTD's
# baseline; they differ in the loss and in what is added to it. NT-Xent is the plain contrastive loss. IFM
# {cite:p}`robinson2021shortcut` makes the scores harder, as {doc}`../lessons/beyond` derived, to keep a solved task from
# going silent. LTD asks the caption's vector for more than the task: a decoder has to find a sentence encoder's vector of
# the whole caption, digits included, in it. In the *dual* row the decoder's loss is simply added; in the *constraint* row
# it has to stay below a bound. Both are the subject of the rest of this part.

# %% tags=["remove-cell"]
ROWS = {"ntxent": "NT-Xent", "ifm": "IFM", "dual": "LTD, dual", "lagrange": "LTD, constraint"}
MAKE = "make records STUDY=ltd_stamps"


def row_of(record):
    """Which row of the table a record is of."""
    config = record["config"]
    return config["loss"] if config["objective"] == "con" else config["objective"]


study = [r for r in records.find(study="ltd_stamps") if "stamped" in r["test"]]
found = {(row, bits): [r for r in study if row_of(r) == row and r["config"]["data_options"]["bits"] == bits]
         for row in ROWS for bits in (0, 2, 4)}

# %% tags=["hide-input"]
def sums(runs, form):
    """Test rsum of the draws in one form, with or without stamps, as a cell has it."""
    values = [r["test"]["rsum"] if form == "without" else r["test"]["stamped"]["rsum"] for r in runs]
    return paper.span(values) if values else "not run yet"


(paper.styled(pd.DataFrame([{"row": ROWS[row]} | {f"{bits} bits, {form}": sums(found[row, bits], form)
                                                  for bits in (0, 2, 4) for form in ("without", "with")}
                            for row in ROWS]),
              f"Test rsum without and with stamps; two draws of data are planned, and where both are there the cell "
              f"has the range. Missing runs: {MAKE}.", name="ltd-stamps")
 if study else Markdown(f"These {len(found) * 2} runs are not there yet; `{MAKE}` makes them."))

# %% [markdown]
# Expect the columns *with* to rise with the bits, and the columns *without* to fall. The column for 0 bits is what the
# other two should be held against: there the same number is on every picture, so that the strip hides as much of the
# scene and tells nothing.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels over the bits of the number, test rsum without stamps and with stamps, one line for each way of training; or the words not run yet with the command that makes the runs."}, "figure": {"name": "fig-stamped-bits", "caption": "Recall on the same test pictures without and with stamps, over the bits of the number. One line for each way of training, the mean of its draws."}}
STYLES = {"ntxent": (plots.colour("ntxent"), "^"), "ifm": (plots.colour("ifm"), "v"), "dual": ("#8c6d1f", "o"),
          "lagrange": ("black", "s")}
fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.3), sharex=True, sharey=True)
for ax, form in zip(axes, ("without", "with"), strict=True):
    for row, (colour, mark) in STYLES.items():
        points = [(bits, np.mean([(r["test"] if form == "without" else r["test"]["stamped"])["rsum"] for r in runs]))
                  for bits in (0, 2, 4) if (runs := found[row, bits])]
        if points:
            ax.plot(*zip(*points, strict=True), color=colour, marker=mark, label=ROWS[row])
    ax.set(title=f"tested {form} stamps", xlabel="bits of the number", xticks=[0, 2, 4])
    if not study:
        ax.text(0.5, 0.5, "not run yet", ha="center", transform=ax.transAxes)
axes[0].set_ylabel("test rsum")
if study:
    axes[1].legend(fontsize="small", loc="lower center")

# %% tags=["remove-cell"]
def change(row, form, bits=4):
    """Mean difference, over the draws that both have, of the rsum with so many bits less that with none; or None."""
    value = {n: {r["config"]["data_seed"]: (r["test"] if form == "without" else r["test"]["stamped"])["rsum"]
                 for r in found[row, n]} for n in (0, bits)}
    both = set(value[0]) & set(value[bits])
    return np.mean([value[bits][s] - value[0][s] for s in both]) if both else None


changes = {row: (change(row, "without"), change(row, "with")) for row in ROWS}
known = {row: pair for row, pair in changes.items() if None not in pair}
told_of_each = [f"{ROWS[row]} {off:+.0f} without stamps and {on:+.0f} with" for row, (off, on) in known.items()]
stamped_text = ("; ".join(told_of_each)
                if known else f"not run yet: `{MAKE}`, about {4 * len(ROWS) * 6 // 60 + 1} core-hours")
# %% tags=["hide-input"]
falls = known and max(on for _, on in known.values()) < 0
Markdown(f"From 0 bits to 4, the test rsum changes by: {stamped_text}." + (
    " Without stamps that is what we expected; with them it is the opposite. A model for which the number were a "
    "shortcut would be better with it, so these are perhaps models that learn more slowly." if falls else ""))

# %% [markdown]
# So one doubt stands above all others: are these trainings long enough? The network has to learn to see digits before a
# number can help, and with few bits there is little to gain by it. So some rows were trained anew, from the start, with
# three times the updates.

# %% tags=["remove-cell"]
FORMS = ("without", "with")


def both(record):
    """Test rsum without stamps and with them."""
    return np.array([record["test"]["rsum"], record["test"]["stamped"]["rsum"]])


def keyed(runs):
    """Runs by row, bits and draw."""
    return {(row_of(r), r["config"]["data_options"]["bits"], r["config"]["data_seed"]): r for r in runs}


def steps(of):
    """{row: {draw: change of the two rsums from 0 bits to 4}}, of rows that have both ends."""
    found = {row: {d: both(of[row, 4, d]) - both(of[row, 0, d]) for d in (0, 1) if {(row, 0, d), (row, 4, d)} <= set(of)}
             for row in ROWS}
    return {row: draws for row, draws in found.items() if draws}


SHORT, LONG = keyed(study), keyed(r for r in records.find(study="ltd_stamps_longer") if "stamped" in r["test"])
before, after = steps(SHORT), steps(LONG)

# %% tags=["hide-input"]
def cells(of, row):
    """Test rsums of a row at both ends of the bits; the range where there are several draws."""
    draws = {bits: [both(r) for (name, n, _), r in of.items() if (name, n) == (row, bits)] for bits in (0, 4)}
    return {f"{bits} bits, {form}": paper.span([value[k] for value in values]) if values else "not run yet"
            for bits, values in draws.items() for k, form in enumerate(FORMS)}


Markdown("Not run yet: `make records STUDY=ltd_stamps_longer`.") if not after else paper.styled(pd.DataFrame([
    {"row": ROWS[row], "updates": f"{next(iter(of.values()))['config']['updates']:,}"} | cells(of, row)
    for row in after for of in (SHORT, LONG)]),
    "Test rsum without and with stamps, as above, and with three times the updates; the range where there are two "
    "draws.", name="ltd-stamps-longer")

# %% tags=["remove-cell"]
def climb(of):
    """By how much the validation rsum rises in the last two of the twelve evaluations, mean over runs."""
    return np.mean([r["history"][-1]["val"]["rsum"] - r["history"][-3]["val"]["rsum"] for r in of.values()])


def listed(draws, form):
    return " and ".join(f"{draws[d][FORMS.index(form)]:+.0f}" for d in sorted(draws))


# %% tags=["remove-cell"]
def told_longer():
    """What three times the updates do to the two expectations, draw by draw."""
    changes = "; ".join(f"{ROWS[row]} {listed(draws, 'without')} without stamps, {listed(draws, 'with')} with"
                        for row, draws in after.items())
    every = np.array([step for draws in after.values() for step in draws.values()])
    gains = ("With stamps all gain: given time, the number is learnt and used." if every[:, 1].min() > 0 else
             "With stamps all lose, still." if every[:, 1].max() < 0 else "With stamps some gain and some lose.")
    costs = ("Without stamps all lose" if every[:, 0].max() < 0 else
             "Without stamps all gain" if every[:, 0].min() > 0 else "Without stamps some lose and some gain")
    short = [before[row][d][0] for row, draws in after.items() for d in draws if d in before.get(row, {})]
    costs += (f", by {abs(every[:, 0]).min():.0f} to {abs(every[:, 0]).max():.0f}; after the shorter training the same "
              f"rows had changed by {' and '.join(f'{value:+.0f}' for value in short)}") if short else ""
    return f"From 0 bits to 4, draw by draw: {changes}. {gains} {costs}."


def told_ltd():
    """Whether a second demand keeps more of the contents than the loss alone does, on the draws of both."""
    pairs = [after["dual"][d][0] - after["ntxent"][d][0] for d in (0, 1)
             if d in after.get("dual", {}) and d in after.get("ntxent", {})]
    gaps = " and ".join(f"{gap:+.0f}" for gap in pairs)
    return "" if not pairs else f"Dual LTD's change without stamps is {gaps} beside that of the loss alone" + (
        ", which is one draw." if len(pairs) == 1 else
        ", on both draws to its favour." if min(pairs) > 0 else ", on both draws to its disfavour." if max(pairs) < 0
        else ": no order.") + " Two draws give a direction at best."


# %% tags=["remove-cell"]
used = bool(after) and min(step[1] for draws in after.values() for step in draws.values()) > 0
twice = [(before[row][d], step) for row, draws in after.items() for d, step in draws.items() if d in before.get(row, {})]
less_time = "" if not twice else "On the draws that both have, the mean change without stamps is " + " and ".join(
    f"{np.mean([pair[k][0] for pair in twice]):+.0f} after {next(iter(of.values()))['config']['updates']:,} updates"
    for k, of in enumerate((SHORT, LONG))) + ": what the longer training takes back was a training that lagged behind."

# %% tags=["hide-input"]
worth = {bits: [np.diff(both(r))[0] for (row, n, _), r in LONG.items() if (row, n) == ("ntxent", bits)]
         for bits in (0, 4)}
longer_read = "" if not after else f"{told_longer()} {told_ltd()}"
Markdown("" if not after else (
    f"In the last two of their twelve evaluations the shorter trainings still gained {climb(SHORT):.0f} rsum on the "
    f"validation data, on average, and the longer ones {climb(LONG):.0f}. {longer_read}" + (
        " A test picture without its stamp also looks unlike all that the network was trained on, and 0 bits show what "
        f"that is worth: {paper.span(worth[0])} rsum between with and without for NT-Xent, where 4 bits have "
        f"{paper.span(worth[4])}." + (" So the number is used." if min(worth[4]) > max(worth[0]) else "")
        if all(worth.values()) else "")))

# %% [markdown]
# ## What we found

# %% tags=["hide-input"]
Markdown("\n".join([
    "- **The contrastive loss asks that the own picture scores above the others, by whatever feature.** Its "
    "gradient on any part of a vector is weighed by shares that all features make together. Where one of them "
    f"suffices, little is asked of the others: with a number for each of {B} pairs that scores a = 0.5 higher "
    f"with itself, {percent(left[max(left)][half])} of the gradient is left.",
    "- **A coarse shortcut is one, too.** "
    + (f"With four bits {percent(left[4][half])} of the gradient is left for the contents at a = 0.5, since they have "
       f"to tell apart {B // 16 - 1} of {B - 1} negatives and little more. What that does to a training under Adam, "
       "the "
       "sums do not say." if 4 in left else ""),
    "- **What the task needs became readable; something else was lost on the way.** From VSE++'s "
    f"caption vectors a linear map tells whose colour it is in {told('whose colour', fresh)} of the cases before "
    f"training, {told('whose colour', early)} before it reads and {told('whose colour', late)} after; which "
    f"relation is said in {told('relation', fresh)}, {told('relation', early)} and {told('relation', late)} (chance "
    f"{captions.loc['relation', 'chance']:.0f} %); the bag of words keeps it ({told('relation', 'bag of words')}).",
    f"- **A model that reads need not read everything.** Who is left is near chance in all: "
    f"{each('who is left')}. That is one draw of the data and one training of each kind.",
    "- **A number stamped on pictures and captions** "
    + (f"is used, if the training is long enough. {longer_read} {less_time}" if falls and used and twice else
       f"changes the test rsum from 0 bits to 4 by: {stamped_text}. {longer_read}"),
]))

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} One caption, three pictures
# :label: ex-caption-gradient
# ````
#
# A caption's vector is `q`, its own picture's `v_own`, and those of the others are the rows of `others`. Write the
# gradient of InfoNCE with respect to `q`: `mine = lambda q, v_own, others, tau: ...`, with `torch.softmax`.

# %%
mine = ...

# %% tags=["hide-input"]
def check_caption_gradient(value):
    """Passes for the gradient of InfoNCE by the caption's vector."""
    if value is ...:
        return "your turn"
    rng = torch.Generator().manual_seed(1)
    for tau in (0.05, 0.1, 0.5):
        made = torch.nn.functional.normalize(torch.randn(4, 5, generator=rng, dtype=torch.float64), dim=1)
        at = made[0].clone().requires_grad_()
        scores = made[1:] @ at / tau
        (torch.logsumexp(scores, 0) - scores[0]).backward()
        got = torch.as_tensor(value(made[0], made[1], made[2:], tau))
        assert not chapter.near(got, -at.grad), "not yet: that is minus the gradient, as LTD's Eq. 2a"
        assert chapter.near(got, at.grad), f"not yet: wrong at tau = {tau}"
    return "right"


check_caption_gradient(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-caption-gradient
# :class: dropdown
# ````
#
# The mean of all pictures, weighed by their shares, less the caption's own.

# %%
def gradient(q, v_own, others, tau):
    pictures = torch.cat([v_own[None], others])
    shares = torch.softmax(pictures @ q / tau, 0)
    return (shares @ pictures - v_own) / tau


check_caption_gradient(gradient)

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} How far must the number be ahead?
# :label: ex-shortcut-advantage
# ````
#
# A batch has $B$ pairs with a number each, and all scores of the contents are equal. How much higher, $a$, must a pair
# with the same number score, so that the pull $(1 - Z(q, v^+))/\tau$ on the positive is a share $p$ of what it was at
# $a = 0$? `mine = lambda B, tau, p: ...`, with `np.log`.

# %%
mine = ...

# %% tags=["hide-input"]
def check_shortcut_advantage(value):
    """Passes for the advantage at which the pull has fallen to the share p."""
    if value is ...:
        return "your turn"
    for size, tau, p in ((128, 0.1, 0.01), (8, 0.05, 0.5), (64, 0.2, 0.1)):
        a = float(value(size, tau, p))
        pull = (size - 1) / (size - 1 + np.exp(a / tau))
        ratio = pull / ((size - 1) / size)
        assert abs(ratio - p) < 1e-6, f"not yet: with {size} pairs and tau = {tau:g}, a = {a:.3f} leaves {ratio:.4f}"
    return "right"


check_shortcut_advantage(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-shortcut-advantage
# :class: dropdown
# ````
#
# With $e = e^{a/\tau}$ the pull is $(B-1)/(B - 1 + e)$ in units of $1/\tau$, and at $a = 0$ it is $(B-1)/B$. So
# $p = B/(B - 1 + e)$, and $a = \tau \log(B/p - B + 1)$. With 128 pairs, τ = 0.1 and $p$ = 1 % that is 0.94: a number has
# to be read almost perfectly, and then there is hardly room left for anything else in a vector of length one.

# %%
check_shortcut_advantage(lambda B, tau, p: tau * np.log(B / p - B + 1))

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} An open one
# :label: ex-find-a-shortcut
# ````
#
# Which shortcuts may your own captions have? Think of a watermark, the name of a photographer, a season in which all
# photos of one kind were taken. Take such a feature away from the captions of your validation split only, and see what
# the recall does. Then change it to another pair's: does the model follow the feature, or the rest?
#
# ````{exercise-end}
# ````
#
# Next: {doc}`decoding` makes a second demand: what must a caption's vector still be able to say?
