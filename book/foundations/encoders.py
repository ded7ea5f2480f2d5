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
# # VSE++ step by step: from a picture and a caption to a score
#
# **What you will be able to do:** write both encoders of VSE++ in a few lines of torch; say what each normalisation is
# for; take the right state of a GRU; and tell a frozen network from one that only looks frozen. **Time:** under a
# minute on one core. **You need:** {doc}`task`.

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
import copy
from collections import Counter

import matplotlib.pyplot as plt
import pandas as pd
import torch
from IPython.display import Markdown
from torch import nn

import icrlib
from icrlib import chapter, metrics, paper, plots
from icrlib.data.backbones import import_torchvision, with_batch_norm
from icrlib.data.scenes.backbone import load_backbone
from icrlib.data.text import Vocabulary, tokenize
from icrlib.models import VSE
from icrlib.models.parts.gru import last_states
from icrlib.sampling import Sampler

smoke = chapter.start(smoke)
BOTH, LAST, FIRST, NONE = (plots.COLOURS[n] for n in ("ntxent", "triplet_sh", "smoothap", "bow"))
data = icrlib.load_dataset("scenes", smoke=smoke)
run = icrlib.train(data, "vse++", loss="ntxent", updates=300, lr=0.001, smoke=smoke, progress=False)
model, split = run.model.double(), data.test  # float64, so that two ways of computing must agree

# %% [markdown]
# Take the features of one picture of `scenes`, the drawn pictures of this book, and make them twice as large. Does the
# score of its caption change? VSE++ {cite:p}`faghri2018vsepp` divides by a length twice on the picture's side, once
# before its only matrix and once after. We train one model with both of these normalisations (with the loss NT-Xent of
# {doc}`task`) and then let it score one pair with none, one or both of them.


# %% tags=["hide-input"]
def unit(x):
    """Every row divided by its length."""
    return x / x.norm(dim=1, keepdim=True)


feature = split.features[:1].double()
own = int((split.image_of == 0).nonzero()[0])
numbers, lengths = data.vocabulary.encode([split.captions[own]])
with torch.no_grad():
    caption = model.encode_captions(numbers, lengths)[0]
    factors = torch.logspace(-2.5, 1, 71, dtype=torch.float64)[:, None]
    x = feature * factors
    curves = {"both": unit(model.project(unit(x))), "only the last": unit(model.project(x)),
              "only the first": model.project(unit(x)), "none": model.project(x)}
    curves = {name: vectors @ caption for name, vectors in curves.items()}

# %% [markdown]
# Dividing by a length takes a factor out, so with the first normalisation the score should be level. With the last
# alone it should be nearly level: a bias is added after the matrix and does not grow with the features, so it should
# show where the factor is small. Without both the score should grow with the factor.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Score of one pair against the factor on the features, from a three-hundredth to ten. With both normalisations and with the first alone: flat. With the last alone: level from a factor of a tenth on, and lower for the smallest factors. With none: a rising curve that leaves the frame before factor one."}, "figure": {"name": "fig-scale", "caption": "One pair, one model that was trained with both normalisations; the picture's features times a factor. Both: the score stays. The first alone: it stays, too, and is lower here, since it is no cosine and the picture's vector is shorter than 1. The last alone: it stays unless the factor is small. None: it grows with the factor."}}
fig, ax = plt.subplots(figsize=(6.4, 3.3))
styles = {"both": (BOTH, "-"), "only the last": (LAST, "--"), "only the first": (FIRST, "-."), "none": (NONE, ":")}
for name, (colour, dashes) in styles.items():
    ax.plot(factors[:, 0], curves[name], color=colour, ls=dashes, lw=2.4, label=name)
top = 1.25 * float(max(curves["both"][0], curves["only the first"][0]))
ax.set(xscale="log", ylim=(0, max(top, 1.0)), xlabel="factor on the picture's features", ylabel="score")
ax.set_xticks([0.01, 0.1, 1, 10], ["0.01", "0.1", "1", "10"])
ax.legend(title="normalised:", loc="upper left", bbox_to_anchor=(1, 1))
at_one, at_tenth = 50, 30  # rows of factor 1 and 0.1: 20 a factor of ten, from 10 ** -2.5
for name in ("both", "only the first"):  # what caption and alt text say
    assert (curves[name] - curves[name][0]).abs().max() < 1e-9
assert smoke or 0 < curves["only the first"][0] < curves["both"][0]
level = curves["only the last"][at_one]
assert (curves["only the last"][at_tenth:] / level - 1).abs().max() < 0.1
assert smoke or curves["only the last"][0] < 0.9 * level
assert curves["none"][at_one] > ax.get_ylim()[1] and (curves["none"][at_tenth:].diff() > 0).all()

# %% [markdown]
# At a factor of one the last normalisation alone gives nearly the same score as both. So what is the first one for? Let
# us build the model and see. Each step is written out here in a few lines, and then compared with the library.
#
# ## The picture: 64 × 64 pixels to 128 numbers

# %% tags=["hide-input"] mystnb={"image": {"alt": "The picture of the chapter, a few coloured shapes on a plain background, with one of its captions above it."}, "figure": {"name": "fig-pair", "caption": "The pair that we follow: the first picture of the test set and the first of its captions."}}
plots.gallery(split.images[:1], [split.captions[own]], columns=1, size=2.6, wrap=34);

# %% [markdown]
# **Step 1, a map.** A convolutional network turns the picture into a grid. Each of its 8 × 8 cells has 256 channels.
# Here the network is the small one of `scenes`. The paper whose runs this book repeats {cite:p}`bleeker2022lessons`,
# from here on **ECIR**, has a ResNet-50 with 2,048 channels. Neither network is trained further.

# %% tags=["nbval-check-output"]
network = load_backbone()
picture = torch.from_numpy(split.images[:1])
grid = network(picture)
print(tuple(picture.shape), "->", tuple(grid.shape))

# %% [markdown]
# **Step 2, one vector.** The mean over the cells. Where a thing was is lost here, but for what the channels say of it.
# These are the features that the dataset holds.

# %%
pooled = grid.mean(dim=(2, 3))
assert torch.allclose(pooled, split.features[:1], rtol=1e-4, atol=1e-5)
assert (pooled >= 0).all()  # the network ends in a ReLU

# %% [markdown]
# **Steps 3 to 5: normalise, project, normalise.** The L2 norm is the length of a vector. Dividing by it leaves the
# direction, a point on the unit sphere:
#
# $$ \begin{aligned} u &= W\,\frac{x}{\lVert x \rVert} + b, \\
#    f(x) &= \frac{u}{\lVert u \rVert}. \end{aligned} $$ (eq-two-norms)
#
# Of the picture's side only $W$ and $b$ are trained.


# %%
def my_images(x):
    u = unit(x) @ model.project.weight.T + model.project.bias
    return unit(u)


features = split.features.double()
with torch.no_grad():
    images = model.encode_images(features)
    assert (my_images(features) - images).abs().max() < 1e-12
assert (images.norm(dim=1) - 1).abs().max() < 1e-12

# %% [markdown]
# ## The caption: words to 128 numbers
#
# **Step 1, tokens.** Lower case, and punctuation marks are words of their own.

# %% tags=["nbval-check-output"]
tokenize("Two dogs, one ball: whose?")

# %% [markdown]
# **Step 2, numbers.** The vocabulary lists four special words and then all words that occur at least four times in the
# training captions. A caption gets `<start>` and `<end>` around it.

# %%
counts = Counter(word for text in data.train.captions for word in tokenize(text))
frequent = [word for word, n in counts.items() if n >= 4]
words = ["<pad>", "<start>", "<end>", "<unk>", *frequent]
assert Vocabulary.build(data.train.captions) == Vocabulary(words) == data.vocabulary
words[:7]

# %% [markdown]
# What is not in the list becomes `<unk>`. The model cannot tell a zebra from a teapot.


# %% tags=["nbval-check-output"]
def my_encode(text):
    return [1, *(words.index(w) if w in words else 3 for w in tokenize(text)), 2]


zebra, teapot = my_encode("a red zebra"), my_encode("a red teapot")
assert zebra == teapot and zebra[3] == 3
for text in split.captions[:200]:
    assert my_encode(text) == data.vocabulary.encode([text])[0][0].tolist()
[words[n] for n in zebra]

# %% [markdown]
# **Step 3, word vectors.** A number picks a row of a table. All rows are trained from scratch.

# %%
row = my_encode(split.captions[own])
vectors = model.embed.weight[row]
assert torch.equal(vectors, model.embed(torch.tensor(row)))

# %% [markdown]
# **Step 4, a GRU** {cite:p}`cho2014gru`. It reads one word after the other and keeps a state $h$, zero before the first
# word. Two gates, numbers between 0 and 1, decide what happens to it:
#
# $$ \begin{aligned} r &= \sigma(W_r e + U_r h), \\ z &= \sigma(W_z e + U_z h), \\
#    n &= \tanh(W_n e + r \odot U_n h), \\ h' &= (1 - z) \odot n + z \odot h. \end{aligned} $$ (eq-gru)
#
# $e$ is the word's vector; $\sigma(a) = 1 / (1 + e^{-a})$ turns each number into one between 0 and 1, $\odot$
# multiplies number by number, and biases are left out here. With $z = 1$ the state stays, with $z = 0$ it becomes the
# candidate $n$. The reset gate $r$ decides how much of the old state the candidate sees. This is torch's variant, which
# applies $r$ after $U_n$; the paper cited applies it before, $U_n (r \odot h)$. torch stacks the three matrices in the
# order $r, z, n$.


# %%
def my_gru(vectors, gru):
    """The state after each word of one caption."""
    h, states = vectors.new_zeros(gru.hidden_size), []
    for e in vectors:
        e_r, e_z, e_n = (gru.weight_ih_l0 @ e + gru.bias_ih_l0).chunk(3)
        h_r, h_z, h_n = (gru.weight_hh_l0 @ h + gru.bias_hh_l0).chunk(3)
        r, z = torch.sigmoid(e_r + h_r), torch.sigmoid(e_z + h_z)
        n = torch.tanh(e_n + r * h_n)
        h = (1 - z) * n + z * h
        states.append(h)
    return torch.stack(states)


# %%
with torch.no_grad():
    states = my_gru(vectors, model.gru)
    assert (states - model.gru(vectors[None])[0][0]).abs().max() < 1e-12

# %% [markdown]
# **Step 5, one vector.** The state after the last word, `<end>`, and its direction.

# %%
with torch.no_grad():
    mine = states[-1] / states[-1].norm()
    assert (mine - model.encode_captions(numbers, lengths)[0]).abs().max() < 1e-12

# %% [markdown]
# **The score** is the inner product of the two vectors. All steps with their shapes:

# %%
with torch.no_grad():
    score = images[0] @ mine
    assert abs(score - model(feature, numbers, lengths)[0, 0]) < 1e-12

# %% tags=["hide-input"]
steps = [("picture", picture), ("map", grid), ("mean over cells", pooled), ("projected, unit length", images[:1]),
         ("word numbers", numbers), ("word vectors", vectors[None]), ("states", states[None]),
         ("after <end>, unit length", mine[None])]
table = [{"step": name.replace("<", "&lt;"), "shape": " × ".join(map(str, value.shape))} for name, value in steps]
paper.styled(pd.DataFrame(table), name="encoder-shapes")

# %% [markdown]
# ## What the first normalisation does
#
# Take it out and scale the features by $c$. The matrix scales along. The bias does not:
#
# $$ u = c\,W x + b, \qquad \frac{\text{bias}}{\text{rest}} = \frac{\lVert b \rVert}{c\,\lVert W x \rVert}. $$
#
# For a large $c$ the bias is nothing, for a small one it is everything. At the start of training the bias is zero, and
# then the factor has no effect at all: the last normalisation removes it.

# %%
fresh = VSE(256, words=len(words), embed_dim=128, word_dim=64).double()
assert (fresh.project.bias == 0).all()
with torch.no_grad():
    once, twice = (unit(fresh.project(c * features)) for c in (1, 2))
assert (once - twice).abs().max() < 1e-12

# %% [markdown]
# And in learning? While the bias is zero, and without the first normalisation, a feature twice as long makes $u$ twice
# as long. The gradient of the score by the bias is then *half* as large: the last normalisation divides it by
# $\lVert u \rVert$. The gradient by the matrix stays, since $x$ itself comes in as a factor.


# %% tags=["nbval-check-output"]
def gradients(c, first):
    """Lengths of the gradients of the score by W and by b, for features times c."""
    x = unit(c * feature) if first else c * feature
    score = (unit(fresh.project(x)) @ caption).sum()
    return [g.norm() for g in torch.autograd.grad(score, [*fresh.project.parameters()])]


for first, name in ((False, "only the last"), (True, "both         ")):
    (w1, b1), (w2, b2) = gradients(1, first), gradients(2, first)
    print(f"{name}  matrix x {w2 / w1:.2f}, bias x {b2 / b1:.2f}")

# %% [markdown]
# Does that harm the model? We train it three times, from the same weights and with the same batches: with both
# normalisations; with the last alone; and with the last alone on features a hundred times shorter. (The learning rate
# starts as high as that of the model of the first figure, but here it does not fall to a tenth halfway. So compare the
# three with each other, not with that model.)


# %%
def trained(first, c=1.0, updates=20 if smoke else 300):
    """Train VSE++ with or without the first normalisation, on features times c."""
    torch.manual_seed(0)
    model = VSE(256, words=len(words), embed_dim=128, word_dim=64)
    optimizer, loss = torch.optim.Adam(model.parameters(), lr=0.001), icrlib.losses.NTXent()
    said, stop = data.vocabulary.encode(data.train.captions)
    sampler = Sampler(data.train, seed=0, batch_size=128)
    for batch in (sampler[number] for number in range(updates)):
        x = data.train.features[batch.images]
        pictures = unit(model.project(unit(x) if first else c * x))
        told = model.encode_captions(said[batch.captions], stop[batch.captions])
        optimizer.zero_grad()
        loss(pictures @ told.T, batch.positives).backward()
        optimizer.step()
    return model.double()


cases = {"both": (True, 1.0), "the last": (False, 1.0),
         "the last, features / 100": (False, 0.01)}
models = {name: trained(*case) for name, case in cases.items()}

# %% tags=["hide-input"]
texts, ends = data.vocabulary.encode(split.captions)
learnt = {}
with torch.no_grad():
    for name, (first, c) in cases.items():
        x, layer = unit(features) if first else c * features, models[name].project
        r1 = metrics.from_scores(models[name].encode_captions(texts, ends) @ unit(layer(x)).T, split.positives.T)["r1"]
        rest = (x @ layer.weight.T).norm(dim=1).median()
        learnt[name] = r1, float(layer.bias.norm()), float(layer.bias.norm() / rest)
table = [{"normalised": name, "t2i R@1": f"{r1:.2f}", "‖b‖": f"{bias:.3f}",
          "‖b‖ / rest": f"{share:.3f}"} for name, (r1, bias, share) in learnt.items()]
paper.styled(pd.DataFrame(table), name="first-normalisation")

# %% tags=["hide-input"]
r1s, lengths_b, shares = zip(*learnt.values(), strict=True)
apart_r1, rest_ratio = max(r1s) - min(r1s), max(shares) / min(shares)
# What the next paragraph says: recalls alike; a bias that Adam moves in spite of its small gradient; other shares.
assert smoke or (apart_r1 < 2 and lengths_b[1] > lengths_b[0] / 2 and shares[1] < shares[0] < shares[2])
longer = (lengths_b[1] / shares[1]) / (lengths_b[0] / shares[0])  # of Wx, against that of the model with both
Markdown(f"The recalls lie within **{apart_r1:.2f}** points of each other (one caption is {100 / len(ends):.2f}), "
         f"though the bias weighs up to **{rest_ratio:.0f} times** as much in one model as in another. With the last "
         f"normalisation alone the bias has grown to a length of {lengths_b[1]:.3f}, with both to {lengths_b[0]:.3f}; "
         f"its share is smaller all the same, as the rest, Wx, is {longer:.0f} times as long.")

# %% [markdown]
# So the recalls do not suffer here, and the smaller gradient has not kept the bias short. A likely reason, not tested,
# is that Adam divides the gradient of each parameter by its own usual size, which takes out a constant factor; with
# plain gradient descent we would expect a shorter bias. What the length of the features decides is the bias's *share*
# of $u$.
#
# That share matters if features differ in length from picture to picture. Here they do, and the length means something.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels over the number of things in a picture, two to five. Left: the length of the pooled features rises. Right: the ratio of bias to the rest falls without the first normalisation and is nearly level with it."}, "figure": {"name": "fig-norm-things", "caption": "Left: the length of a feature vector grows with the number of things. Right: without the first normalisation, the bias would weigh less for crowded pictures. Each curve is divided by its own median at two things, so how far apart the two are is not seen here. Bars: middle half."}}
things = torch.tensor([len(graph.things) for graph in split.graphs])
size = features.norm(dim=1)
bias, matrix = model.project.bias.detach().norm(), model.project.weight.detach()
inputs = {"both": unit(features), "only the last": features}
share = {name: bias / (x @ matrix.T).norm(dim=1) for name, x in inputs.items()}
fig, (left, right) = plt.subplots(1, 2, figsize=(7, 3))


def spread(ax, values, colour, marker, name, shift=0.0):
    q = torch.tensor([0.25, 0.5, 0.75], dtype=torch.float64)
    lo, mid, hi = torch.stack([values[things == k].quantile(q) for k in range(2, 6)]).T
    at = [k + shift for k in range(2, 6)]
    ax.errorbar(at, mid, [mid - lo, hi - mid], color=colour, marker=marker, lw=2, label=name)


spread(left, size, NONE, "o", None)
left.set(ylabel="length of the features")
for shift, marker, (name, values) in zip((-0.06, 0.06), "os", share.items(), strict=True):
    spread(right, values / values[things == 2].median(), styles[name][0], marker, name, shift)
right.set(ylabel="bias over the rest", ylim=(0.6, 1.25))
right.legend(title="normalised:", loc="lower left", fontsize=9, title_fontsize=9)
for ax in (left, right):
    ax.set(xlabel="things in the picture", xticks=range(2, 6))

# %% tags=["hide-input"]
def middle(values, k):
    return float(values[things == k].median())


def rising(values):
    return all(middle(values, k) < middle(values, k + 1) for k in range(2, 5))


together = float(torch.corrcoef(torch.stack([size, things.double()]))[0, 1])
falls = {name: 100 * (1 - middle(values, 5) / middle(values, 2)) for name, values in share.items()}
off = max(100 * abs(middle(share["both"], k) / middle(share["both"], 2) - 1) for k in range(3, 6))
two, five = middle(size, 2), middle(size, 5)
smaller = float(share["both"].median() / share["only the last"].median())
assert smoke or (rising(size) and rising(-share["only the last"]))  # as caption and alt text say
assert smoke or off < falls["only the last"] / 3
Markdown(f"Length and number of things: correlation **{together:.2f}**; from two things to five the median length "
         f"grows from {two:.1f} to {five:.1f}, by a factor of {five / two:.2f}. Without the first normalisation the "
         f"bias would be **{smaller:.0f} times** smaller beside the rest (which the figure does not show), and "
         f"{falls['only the last']:.0f} % less for five things than for two; with it no median differs by more than "
         f"{off:.0f} % from that of two things.")

# %% [markdown]
# That is what the first one is for. The *last* normalisation makes the score a cosine. The *first* one decides how much
# the bias weighs, and makes it weigh about the same for all pictures. Is that worth much? We take it out of the model
# of the first figure, which was trained with both.

# %% tags=["hide-input"]
with torch.no_grad():
    captions = model.encode_captions(texts, ends)
    without = unit(model.project(features))
    t2i = {name: metrics.from_scores(captions @ v.T, split.positives.T)["r1"]
           for name, v in (("both", images), ("last", without))}
longest, b_share = float(size.max() / size.min()), float(share["both"].median())
assert smoke or (abs(t2i["both"] - t2i["last"]) < 1 and b_share < 0.25)  # a small bias, hardly an effect
Markdown(f"Text-to-image R@1 with both: **{t2i['both']:.1f}**. Without the first: **{t2i['last']:.1f}**. Hardly an "
         f"effect: even with both, the bias is only {100 * b_share:.0f} % of the rest, and the longest features are "
         f"{longest:.1f} times as long as the shortest.")

# %% [markdown]
# So on these data the first normalisation is a detail, and nothing is lost without it. Features whose lengths differ
# more would make the bias weigh more in some pictures than in others.
#
# ## Padding: which state is the last one?
#
# Captions of a batch differ in length. The shorter ones are filled with `<pad>`, number 0. But `<pad>` has a vector as
# every word has, and the GRU goes on reading. The state that we want is the one after `<end>`; the last *column* is
# another one.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Cosine between the right caption vector and the state in the last column, against the number of padding columns from 0 to 16. It starts at 1 and its median falls with each column."}, "figure": {"name": "fig-padding", "caption": "The same captions, filled up with more and more padding. The state after its end sign stays; the state in the last column drifts away. Median and middle half of the first 200 test captions that have at most eight tokens, start and end sign counted."}}
some = (ends <= 8).nonzero()[:200, 0]
assert smoke or len(some) == 200  # as the caption says
with torch.no_grad():
    filled = torch.zeros(len(some), 24, dtype=torch.int64)
    filled[:, : texts.shape[1]] = texts[some]
    everywhere = unit(model.gru(model.embed(filled))[0].flatten(0, 1)).view(len(some), 24, -1)
    after = torch.stack([(everywhere[torch.arange(len(some)), ends[some] - 1 + p] * captions[some]).sum(1)
                         for p in range(17)])
assert (after[0] - 1).abs().max() < 1e-12
assert smoke or (after.median(1).values.diff() < 0).all()
fig, ax = plt.subplots(figsize=(6.2, 3))
ax.fill_between(range(17), after.quantile(0.25, 1), after.quantile(0.75, 1), color=LAST, alpha=0.25, lw=0)
ax.plot(range(17), after.median(1).values, "o-", color=LAST, lw=2, ms=5, label="state in the last column")
ax.axhline(1, color=BOTH, lw=2.4, ls="--", label="state after <end>")
bottom = min(0, float(after.quantile(0.25, 1).min())) - 0.05
ax.set(xlabel="columns of padding", ylabel="cosine with\nthe right vector", ylim=(bottom, 1.08))
ax.legend(loc="upper right", bbox_to_anchor=(1, 0.93));

# %% [markdown]
# One caption, many vectors: which one it gets would depend on the other captions of its batch. In code, right and
# wrong differ by an index. Row $i$ needs column `lengths[i] - 1`.

# %%
with torch.no_grad():
    states = model.gru(model.embed(texts))[0]  # (captions, columns, 128)
    right = states[torch.arange(len(texts)), ends - 1]
    wrong = states[:, -1]
assert (unit(right) - captions).abs().max() < 1e-12

# %% tags=["hide-input"]
bad = metrics.from_scores(unit(wrong) @ images.T, split.positives.T)["r1"]
Markdown(f"Text-to-image R@1: **{t2i['both']:.1f}** with the state after `<end>`, **{bad:.1f}** with the last column.")

# %% [markdown]
# This model was trained with the right state and only read wrongly in the test; one that is also trained with the last
# column could adapt, which was not tried. Nothing warns you: the shapes are right. A sign that all is well: `<pad>`
# gets no gradient, so its row of the table never moves.

# %%
model.zero_grad()
batch, stops = texts[:64], ends[:64]
(model.encode_captions(batch, stops) @ images[0]).sum().backward()
assert (model.embed.weight.grad[0] == 0).all()
model.zero_grad()
(model.gru(model.embed(batch))[0][:, -1] @ images[0]).sum().backward()
assert model.embed.weight.grad[0].norm() > 0  # the last column: padding has a say

# %% [markdown]
# ## The library's GRU on a CPU
#
# Padding is work for nothing. torch has `pack_padded_sequence` for that. On a CPU the library does its own:
# sort the captions, the longest first, and let the batch shrink as captions end. And since a vocabulary is small, it
# meets the input matrix once, not once a word.


# %%
def shrinking(gru, embed, numbers, lengths):
    order = lengths.argsort(descending=True)
    numbers, lengths = numbers[order], lengths[order]
    table = embed.weight @ gru.weight_ih_l0.T + gru.bias_ih_l0  # the whole vocabulary, once
    h = table.new_zeros(len(numbers), gru.hidden_size)
    for step in range(int(lengths[0])):
        k = int((lengths > step).sum())  # captions that are still running
        e = table[numbers[:k, step]].chunk(3, 1)
        u = (h[:k] @ gru.weight_hh_l0.T + gru.bias_hh_l0).chunk(3, 1)
        r, z = torch.sigmoid(e[0] + u[0]), torch.sigmoid(e[1] + u[1])
        n = torch.tanh(e[2] + r * u[2])
        h = torch.cat([(1 - z) * n + z * h[:k], h[k:]])
    return h[order.argsort()]


# %% [markdown]
# Three ways, one result, up to rounding.

# %%
with torch.no_grad():
    packed = nn.utils.rnn.pack_padded_sequence(
        model.embed(texts), ends, batch_first=True, enforce_sorted=False)
    torchs = model.gru(packed)[1][0]  # h_n: each caption's own last state
    ours = last_states(model.gru, model.embed, texts, ends)
    short = shrinking(model.gru, model.embed, texts, ends)
assert (ours - torchs).abs().max() < 1e-12 and (short - torchs).abs().max() < 1e-12

# %% tags=["hide-input"]
all_words, all_ends = data.vocabulary.encode(data.train.captions)
order = torch.randperm(len(all_ends), generator=torch.Generator().manual_seed(0))
batches = [all_ends[part] for part in order.split(128)]
cells = sum(len(part) * int(part.max()) for part in batches)
used = int(all_ends.sum())
a_batch = used / len(batches)
steps_avoided = 100 * (1 - used / cells)
Markdown(f"One epoch of `scenes` in shuffled batches of 128: {cells:,} steps with padding, {used:,} without. "
         f"**{steps_avoided:.0f} %** of the steps are avoided. A batch has {a_batch:,.0f} words, and the vocabulary "
         f"has **{len(words)}**: so many products with the input matrix are enough.")

# %% [markdown]
# That second saving turns round when the vocabulary has more entries than the batch has words. These are counts of
# products, not times; what is faster depends on the machine.
#
# ## How large is it as published?
#
# ECIR runs VSE++ with 2,048 features, word vectors of 300 and a space of 1,024. Shapes give the numbers of parameters:
# a matrix and a bias for the projection, three input matrices, three state matrices and six biases for the GRU.

# %% tags=["nbval-check-output"]
D, e, d = 2048, 300, 1024
projection = D * d + d
gru = 3 * (e * d + d * d + 2 * d)
published = VSE(feature_dim=D, words=1, embed_dim=d, word_dim=e)
assert projection == sum(p.numel() for p in published.project.parameters()) == 2_098_176
assert gru == sum(p.numel() for p in published.gru.parameters()) == 4_073_472
assert published.embed.weight.numel() == e  # and so many for each word of the vocabulary
print(f"projection {projection:,}; GRU {gru:,}; embeddings {e} a word")

# %% tags=["hide-input"]
with torch.device("meta"):
    resnet = import_torchvision().models.resnet50(weights=None)
norms = [layer for layer in resnet.modules() if isinstance(layer, nn.BatchNorm2d)]
fixed = sum(p.numel() for name, p in resnet.named_parameters() if not name.startswith("fc."))
running = sum(2 * layer.num_features for layer in norms)
Markdown(f"Below it lies a ResNet-50 with **{fixed:,}** parameters, all frozen; it is left out of the count above. "
         f"It has **{len(norms)}** batch norm layers, and they hold **{running:,}** numbers that are no parameters.")

# %% [markdown]
# ## Frozen, and yet it moves
#
# ECIR's release freezes the *parameters* of the ResNet. It also puts the whole image encoder into `train()` mode before
# each step. A batch norm layer does two things there that have nothing to do with parameters:
#
# - it normalises with the mean and the variance of *this batch*, not with those it has stored;
# - it moves the stored ones a tenth of the way to those of the batch. `eval()` uses the stored ones.
#
# Can that matter? We need a trained network with batch norm. Ours had it in training, and it was folded into the
# convolutions. `with_batch_norm` puts it back: each layer gets the statistics of the training pictures, and weights
# that undo them, so that in `eval()` nothing changes.

# %%
pictures = torch.from_numpy(data.train.images)
bn = with_batch_norm(network, pictures[:500])
watched = torch.from_numpy(split.images[:25])
before = bn(watched).mean((2, 3))
assert torch.allclose(before, split.features[:25], rtol=1e-3, atol=1e-3)
assert not any(p.requires_grad for p in bn.parameters())

# %% [markdown]
# First: in `train()` mode the features of a picture depend on its company.


# %%
def apart(a, b):
    """One minus the cosine, row by row."""
    return 1 - (unit(a) * unit(b)).sum(1)


def beside(others, training):
    network = copy.deepcopy(bn).train(training)
    return network(torch.cat([watched[:1], others])).mean((2, 3))[:1]


for training in (True, False):
    first, second = pictures[:31], pictures[31:62]
    company = apart(beside(first, training), beside(second, training))
    assert company > 1e-5 if training else company < 1e-6


# %% [markdown]
# Then: the drift. In ECIR's training, pictures come as random crops; the statistics that our network has stored come
# from whole pictures. We feed 30 batches of 32 crops, or of 32 whole pictures. Nothing is trained. After each batch we
# go to `eval()` and look at 25 fixed test pictures.


# %%
def crops(pictures, rng):
    """Random squares of each picture, enlarged to its size."""
    out = []
    for p in pictures.permute(0, 3, 1, 2).float():
        side = int(torch.randint(24, 65, (1,), generator=rng))
        y, x = torch.randint(0, 65 - side, (2,), generator=rng).tolist()
        part = p[None, :, y:y + side, x:x + side]
        out.append(nn.functional.interpolate(part, (64, 64), mode="bilinear"))
    return torch.cat(out).permute(0, 2, 3, 1)


def drift(prepare, training):
    network, rng = copy.deepcopy(bn), torch.Generator().manual_seed(0)
    moved = [torch.zeros(len(watched))]
    for _ in range(30):
        chosen = pictures[torch.randint(len(pictures), (32,), generator=rng)]
        network.train(training)(prepare(chosen, rng))
        moved.append(apart(network.eval()(watched).mean((2, 3)), before))
    for new, old in zip(network.parameters(), bn.parameters(), strict=True):
        assert torch.equal(new, old)  # no parameter has changed
    return network, torch.stack(moved)


# %%
drifted, cropped = drift(crops, training=True)
_, whole = drift(lambda chosen, rng: chosen, training=True)
_, still = drift(crops, training=False)
assert still.abs().max() < 1e-5 and cropped[-1].median() > still[-1].max()
assert smoke or cropped[-1].median() > 5 * whole.median(1).values.max()

# %% tags=["hide-input"] mystnb={"image": {"alt": "How far the features of fixed pictures move over 30 batches. With crops in train mode the curve climbs away from zero; with whole pictures it stays close to zero; in eval mode it is zero."}, "figure": {"name": "fig-drift", "caption": "Features of 25 fixed pictures, compared with themselves before (median; band: middle half). No parameter changes. In train() mode they move all the same: little with whole pictures, from which the stored statistics come, and far more with crops."}}
fig, ax = plt.subplots(figsize=(6.4, 3.2))
lines = [("crops, train()", cropped, LAST, "-"), ("whole pictures, train()", whole, FIRST, "-."),
         ("crops, eval()", still, BOTH, "--")]
for name, moved, colour, dashes in lines:
    ax.plot(moved.median(1).values, color=colour, ls=dashes, lw=2.4, label=name)
    ax.fill_between(range(31), moved.quantile(0.25, 1), moved.quantile(0.75, 1), color=colour, alpha=0.2, lw=0)
ax.set(xlabel="batches fed", ylabel="1 − cosine with before", xlim=(0, 30))
ax.legend(loc="upper left");

# %% [markdown]
# So `train()` lets the features move, but by itself it moves them little: nearly all of the movement comes from the
# change from whole pictures to crops. How much is it? We compare it with the nearest other test picture, and ask the
# trained model, which knows the old features, to search with the new ones. (One minus the cosine grows with the square
# of the distance between two points on the unit sphere.)

# %% tags=["hide-input"]
others = 1 - unit(before) @ unit(split.features).T
others.fill_diagonal_(9)  # the picture itself
nearest = float(others.min(1).values.median())
with torch.no_grad():
    moved = torch.cat([drifted(p).mean((2, 3)) for p in torch.from_numpy(split.images).split(100)])
    drifted_r1 = metrics.from_scores(captions @ model.encode_images(moved.double()).T, split.positives.T)["r1"]
path, path_whole = float(cropped[-1].median()), float(whole[-1].median())
assert smoke or path > 10 * path_whole  # "nearly all"
Markdown(f"After 30 batches of crops one minus the cosine with before is **{path:.3f}**, after as many of whole "
         f"pictures {path_whole:.3f}, and with the nearest of the other {len(split) - 1:,} test pictures it is "
         f"{nearest:.3f} (medians). Taken as distances, the crops moved the features by "
         f"{100 * (path / nearest)**0.5:.0f} % of the distance to that picture. Text-to-image R@1 goes from "
         f"{t2i['both']:.1f} to **{drifted_r1:.1f}** with this one random sequence of crops.")

# %% tags=["hide-input"]
left_over = 100 * 0.9**30
Markdown(f"A stored statistic keeps nine tenths at each batch. After 30 batches **{left_over:.0f} %** of what it was "
         "is left. ECIR's runs on Flickr30k take 33,990 steps.")

# %% [markdown]
# In the release the projection is trained while this happens, so it can adapt, and `eval()` uses the statistics of
# the last few dozen training batches. It is no error in a result, but it is not what "frozen" says, and two runs do
# not have the same image features. In this book features are computed once, in `eval()` mode, without crops: they are
# frozen in both senses. {doc}`pipelines` trains both ways and compares. How far ECIR's
# ResNet-50 moved, with larger batches and photos, cannot be read off our small network.
#
# ## What we found

# %% tags=["hide-input"]
Markdown(f"""
- VSE++ is small: a projection for the picture, a table and a GRU for the words. Each step fits in a line or two.
- The last normalisation makes scores cosines. The first sets the weight of the bias; without it the bias would weigh
  {falls['only the last']:.0f} % less for five things than for two. Trained without it, the model found as much
  (R@1 {learnt['the last'][0]:.2f} against {learnt['both'][0]:.2f}, one seed).
- The caption's vector is the state after its `<end>`. Where a model that was trained with it is read at the last column
  in the test, R@1 falls from {t2i['both']:.1f} to {bad:.1f}, without any error message.
- Sorting and shrinking give the same numbers and avoid {steps_avoided:.0f} % of the steps on `scenes`.
- As published, without the ResNet: {projection + gru:,} parameters and {e} a word.
- Frozen parameters are not a frozen network: with batch norm in `train()`, 30 batches of crops moved the features by
  {path:.3f} (one minus the cosine), 30 of whole pictures, as in the stored statistics, by {path_whole:.3f}.
""")

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} The state after the last word
# :label: ex-last-state
# ````
#
# A GRU has returned `states` of shape (B, L, d) for a padded batch; `lengths` has shape (B,) and counts `<start>` and
# `<end>`. Return the (B, d) states after `<end>`: `mine = lambda states, lengths: ...`.

# %%
mine = ...

# %% tags=["hide-input"]
def check_last_state(value):
    """Passes for states[i, lengths[i] - 1] of each caption i."""
    if value is ...:
        return "your turn"
    rng = torch.Generator().manual_seed(4)
    states, lengths = torch.randn(3, 5, 3, generator=rng), torch.tensor([4, 2, 3])
    got = torch.as_tensor(value(states, lengths))
    assert got.shape == (3, 3), f"not yet: shape {tuple(got.shape)}; one state a caption is wanted, (3, 3)"
    assert not torch.equal(got, states[:, -1]), "not yet: the last column is padding for each of these captions"
    late = torch.equal(got, states[torch.arange(3), lengths])
    assert not late, "not yet: one too late; columns are counted from 0"
    wanted = torch.stack([row[n - 1] for row, n in zip(states, lengths.tolist(), strict=True)])
    assert torch.equal(got, wanted), "not yet: row i needs its own column, and no other row's"
    return "right"


check_last_state(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-last-state
# :class: dropdown
# ````
#
# Two indices run together: caption 0 with its column, caption 1 with its own. `states[:, lengths - 1]` would give every
# row all columns, (B, B, d).

# %%
check_last_state(lambda states, lengths: states[torch.arange(len(states)), lengths - 1])

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} Through the normalisation
# :label: ex-norm-gradient
# ````
#
# `U` holds a vector $u$ a row, (B, d), before the last normalisation; `c` is a unit caption vector, (d,). The score of
# a row is $s = c \cdot u / \lVert u \rVert$. Write $\partial s / \partial u$ for each row, (B, d):
# `mine = lambda U, c: ...`.

# %%
mine = ...

# %% tags=["hide-input"]
def check_norm_gradient(value):
    """Passes for (c - s u/|u|) / |u| of each row."""
    if value is ...:
        return "your turn"
    rng = torch.Generator().manual_seed(9)
    for scale in (1.0, 3.0):
        U = (scale * torch.randn(4, 4, generator=rng, dtype=torch.float64)).requires_grad_()
        c = torch.randn(4, generator=rng, dtype=torch.float64)
        c = c / c.norm()
        wanted = torch.autograd.grad((U @ c / U.norm(dim=1)).sum(), U)[0]
        got = torch.as_tensor(value(U.detach(), c)).double()
        assert got.shape == wanted.shape, f"not yet: shape {tuple(got.shape)}; wanted {tuple(wanted.shape)}"
        turned = chapter.near(got, -wanted)
        assert not turned, "not yet: minus the gradient; a small step along it must raise the score"
        along = (got * U.detach()).sum(1).abs().max()
        assert along < 1e-4, "not yet: making a row longer changes nothing, so the gradient is perpendicular to it"
        assert chapter.near(got, wanted), "not yet: the direction may be right; check its length"
    return "right"


check_norm_gradient(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-norm-gradient
# :class: dropdown
# ````
#
# With $f = u / \lVert u \rVert$: $\partial s / \partial u = (c - s f) / \lVert u \rVert$. It is the part of the caption
# that is perpendicular to the image, and the division is why long features give the bias a small gradient.


# %%
def solution(U, c):
    size = U.norm(dim=1, keepdim=True)
    f = U / size
    return (c - (f @ c)[:, None] * f) / size


check_norm_gradient(solution)

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} Which axis?
# :label: ex-which-axis
# ````
#
# Some models see a picture as regions: `x` has shape (images, regions, features). Give every *region* length 1:
# `mine = lambda x: ...`. For pooled features, (images, features), axis 1 was right.

# %%
mine = ...

# %% tags=["hide-input"]
def check_which_axis(value):
    """Passes for a norm over the last axis."""
    if value is ...:
        return "your turn"
    x = torch.randn(4, 4, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    got = torch.as_tensor(value(x))
    assert got.shape == x.shape, f"not yet: shape {tuple(got.shape)}; wanted {tuple(x.shape)}"
    across = chapter.near(got, x / x.norm(dim=1, keepdim=True))
    assert not across, "not yet: that is each feature across the regions; no region has length 1"
    assert not chapter.near(got, -x / x.norm(dim=2, keepdim=True)), "not yet: a length is positive; the sign is wrong"
    assert chapter.near(got, x / x.norm(dim=2, keepdim=True)), "not yet: each region's own length, over its features"
    return "right"


check_which_axis(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-which-axis
# :class: dropdown
# ````
#
# Count from the end: features are the last axis. The released code of VSRN {cite:p}`li2019vsrn` has 1 in this place,
# and so normalises each feature across the regions. Shapes do not complain.

# %%
check_which_axis(lambda x: x / x.norm(dim=-1, keepdim=True))

# %% [markdown]
# ````{solution-end}
# ````
#
# Next: {doc}`regions` builds a model that takes a picture as a list of regions.
