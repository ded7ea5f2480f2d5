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
# (ch-one-picture)=
# # One picture: every loss on the same scores
#
# Twelve losses get the same ten scores: a positive at 0.60 and nine negatives, two of them ahead of it. Red is pushed down, blue is pulled
# up. A common factor of all weights is only a learning rate, so each row of weights is divided by the pull on its positive. If all losses
# wanted the same thing at different strengths, the panels would look alike.

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
import html

import matplotlib.pyplot as plt
import seaborn as sns
import torch
from IPython.display import HTML

import icrlib
from icrlib import chapter, cocos, plots
from icrlib.agreement import agreement
from icrlib.experiments import check, live, named
from icrlib.losses import LOSSES, Circle, NTXent, SparseNTXent, by_name
from icrlib.widgets import explorer

smoke = chapter.start(smoke)
PUSHED, PULLED = "#b2182b", "#2166ac"  # red is pushed down, blue is pulled up
scores = [0.60, 0.68, 0.62, 0.56, 0.49, 0.45, 0.37, 0.25, 0.08, -0.12]
row = torch.tensor([scores], dtype=torch.float64)
own = torch.arange(10)[None] == 0  # the first is the positive
NAMES = ["triplet", "triplet_sh", "ntxent", "smoothap", "ifm", "dcl", "siglip", "ntxent_sparse",
         "ntxent_hard", "circle", "binomial_deviance", "multi_similarity"]
losses = {name: by_name(name, **({"tau": 0.1} if name == "ifm" else {})) for name in NAMES}  # IFM at NT-Xent's τ

# %% tags=["remove-input"] mystnb={"image": {"alt": "Twelve bar charts of the weights on the same ten candidates, the positive at minus one in each. Triplet pushes five negatives alike. Triplet-SH and hard NT-Xent push only the highest. NT-Xent, IFM and DCL push by the same falling amounts. SmoothAP pushes the negative nearest to the positive and leaves the highest alone. SigLIP's pushes are too small to be seen. The sparse NT-Xent pushes two. Circle and Multi-Similarity push the highest by more than the pull; binomial deviance pushes many."}, "figure": {"name": "fig-one-row", "caption": "Weights of ten candidates, best score at the left after the positive (+), divided by the pull on the positive. Red is pushed down, blue pulled up. (SigLIP's pushes are too small to be seen.)"}}
fig, axes = plt.subplots(3, 4, figsize=(9.6, 4.7), sharex=True, sharey=True)
for ax, (name, loss) in zip(axes.flat, losses.items(), strict=True):
    w = loss.weights(row, own)[0]
    ax.bar(range(10), w / w[0].abs(), color=[PULLED if value < 0 else PUSHED for value in w])
    ax.axhline(0, color="black", lw=0.8)
    ax.set_title(plots.label(name), fontsize=10)
    ax.set_ylim(-1.15, 2.3)
    ax.set_xticks(range(10), ["+", *(f"{s:.2f}".replace("-", "−") for s in scores[1:])], rotation=90, fontsize=8)
fig.supylabel("weight / pull on the positive", fontsize=10);

# %% [markdown]
# **They do not want the same thing. SmoothAP gives the highest negative 0.3 % of its push, and 85 % to the near tie at 0.62. Triplet pushes
# five negatives alike. The other ten push the highest most, with a share between 25 % (binomial deviance) and 100 % (Triplet-SH).**
#
# *You will be able to* say whom a loss pushes, and to compare any two by one number; [a card of each loss](sec-cards) has its formula and
# constants · nine minutes to read · under a minute to run.

# %% tags=["nbval-check-output"]
pushes = {}  # on 0.68, 0.62, 0.56, …, for each unit of pull
for name, loss in losses.items():
    w = loss.weights(row, own)[0]
    pushes[name] = w[1:] / w[0].abs()
top_share = {name: 100 * float(w[0] / w.sum()) for name, w in pushes.items()}
{name: round(share, 1) for name, share in top_share.items()}

# %% tags=["hide-input"]
# checked by machine
check("SmoothAP gives the highest negative 0.3 % of its push", f"negative {top_share['smoothap']:.1f} %")
tie = 100 * float(pushes["smoothap"][1] / pushes["smoothap"].sum())
check("and 85 % to the near tie at 0.62.", f"and {tie:.0f} %", also="0.62")
most = [name for name, w in pushes.items() if float(w[0]) > 1.001 * float(w[1:].max())]
check("The other ten push the highest most, with a share between 25 % (binomial deviance) and 100 % (Triplet-SH).",
      f"between {min(top_share[name] for name in most):.0f} % (binomial", f"{top_share['triplet_sh']:.0f} % (Triplet-SH)",
      len(most) == 10, {*NAMES} - {*most} == {"smoothap", "triplet"}, min(most, key=top_share.get) == "binomial_deviance",
      pushes["triplet"].tolist() == [0.2] * 5 + [0] * 4)
for name, loss in losses.items():
    balanced = abs(float(loss.weights(row, own).sum())) < 1e-12
    assert balanced == torch.allclose(loss.weights(row, own), loss.weights(row + 0.3, own))
    assert balanced == (name not in ("siglip", "circle", "binomial_deviance", "multi_similarity"))
assert pushes["ifm"].allclose(pushes["ntxent"]) and pushes["dcl"].allclose(pushes["ntxent"])

# %% [markdown]
# Three questions tell them apart.
#
# - **Who** is pushed? The highest negative alone (Triplet-SH; NT-Xent, hardest), those within a margin (Triplet, Multi-Similarity, the
#   sparse NT-Xent), the near ties (SmoothAP), or all.
# - How is the push **divided**? By a softmax (NT-Xent, IFM, DCL: the same on this row), in equal parts (Triplet), or by the score's
#   distance from a fixed threshold (SigLIP, Circle, binomial deviance, Multi-Similarity).
# - Do push and pull **balance**? Where only *differences* of scores count, a row's weights sum to zero; with a threshold they do not.
#
# Move the highest negative past the positive and back. Which losses change their mind about who is pushed, and which only about how hard?

# %% tags=["remove-input"]
explorer(row, own, losses, curve=True, selected=(0, 1), columns=["positive", *(f"negative {k}" for k in range(1, 10))],
         about="One positive and nine negatives under twelve losses, one at a time; scores can be moved")

# %% [markdown]
# ## Few, and weighed by score: a softmax with zeros
#
# ECIR {cite:p}`bleeker2022lessons` ends with a wish for losses that look at few and hard negatives. Triplet-SH takes one and gives it all;
# NT-Xent takes all and weighs them. What lies between is *NT-Xent, sparse*, this book's answer. Where NT-Xent has a softmax, it has the
# nearest point of the simplex (the *sparsemax* of {cite:t}`martins2016sparsemax`):
#
# $$ p_j = \Big[\frac{s_j}{\tau} - \theta\Big]_+, \qquad w_j = \frac{p_j}{\tau}, \quad w_+ = \frac{p_+ - 1}{\tau}, $$ (eq-sparse)
#
# with the one θ for which the shares add up to one. All candidates whose $s_j/\tau$ is below θ get exactly nothing. That these are the
# weights of a loss has a short proof. Take
#
# $$ \ell = \max_{p} \Big( \sum_j p_j \frac{s_j}{\tau} - \frac12 \sum_j p_j^2 \Big) + \frac12 - \frac{s_+}{\tau} $$
#
# over all shares $p$. Completing the square, the maximum is at the shares nearest to $s/\tau$; and a maximum has the slope of what
# attains it with $p$ held fixed (Danskin's theorem). Once its positive leads by τ a query is done: τ is a margin, too. At τ = 0.2:

# %% tags=["nbval-check-output"]
def sparse_shares(z):
    """Nearest point of the simplex: drop the lowest until all kept are above theta."""
    kept = z.sort(descending=True).values
    while (theta := (kept.sum() - 1) / len(kept)) >= kept[-1]:
        kept = kept[:-1]
    return (z - theta).clamp(min=0)


p = sparse_shares(row[0] / 0.2)
w = ((p - own[0].double()) / 0.2)[None]
checked = agreement(w, lambda x: SparseNTXent(tau=0.2).per_query(x, own), row)
assert checked["autograd"] < 1e-10 and checked["differences"] < 1e-4
print("shares: ", p.numpy().round(3))
print("softmax:", (row[0] / 0.2).softmax(0).numpy().round(3))

# %% [markdown]
# ## How many negatives take part?
#
# The effective number of negatives ({numref}`Chapter {number} <ch-scores>`) says how many would share the push equally. It needs no
# threshold, where a count of weights above a threshold depends on a loss's scale. Multiply NT-Xent by 100, and by a hundredth; only the
# learning rate changes:

# %% tags=["nbval-check-output"]
w = NTXent().weights(row, own)
for factor in (0.01, 1, 100):
    part = (factor * w)[~own]
    n_eff = float(part.sum() ** 2 / (part**2).sum())
    print(f"times {factor}: above 0.01: {int((part > 0.01).sum())}, effective {n_eff:.2f}")

# %% [markdown]
# Now on the scores of a model. We train a bag of words with NT-Xent for a few seconds and score 128 test images with one caption each, by
# the new model (one update) and the trained one (400). As scores move apart, fewer negatives should take part, although nobody changed a
# loss.

# %% tags=["live"]
data = icrlib.load_dataset("scenes", smoke=smoke)
split = data.test
first = [int((split.image_of == n).nonzero()[0]) for n in range(min(128, len(split)))]


def batch(updates):
    run = icrlib.train(data, "bow", "ntxent", updates=updates, smoke=smoke, progress=False)
    images, captions = icrlib.evaluation.embed(run.model, split)
    return (images[: len(first)] @ captions[first].T).double()


new, trained = batch(1), batch(400)
eye = torch.eye(len(first), dtype=torch.bool)
measured = {name: [cocos.count(loss, s, eye, convention="exact")["n_eff"]
                   for s in (new, trained)]
            for name, loss in losses.items()}

# %% tags=["live", "remove-input"] mystnb={"image": {"alt": "For each of twelve losses two dots on a logarithmic axis from 1 to 127, the effective number of negatives on the new and on the trained model. It falls for all but the two that look at one negative; Triplet has most at first, binomial deviance most after training."}, "figure": {"name": "fig-effective", "caption": "Effective number of negatives of 127, images as queries, mean over queries that push: on a new model (open) and on a trained one (filled). It falls for every loss that looks at more than one."}}
fig, ax = plt.subplots(figsize=(7, 3.6))
for place, (name, (before, after)) in enumerate(measured.items()):
    ax.plot([before, after], [place, place], color=plots.colour(name), lw=1.5)
    ax.plot(before, place, "o", mfc="white", mec=plots.colour(name), ms=7)
    ax.plot(after, place, "o", color=plots.colour(name), ms=7)
ax.set(xscale="log", xlabel="effective number of negatives", ylim=(11.6, -0.6))
ax.set_yticks(range(12), [plots.label(name) for name in measured], fontsize=10)
ax.set_xticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"]);

# %% [markdown]
# NT-Xent fell from 94 to 8.6, Triplet from 126 to 11: how many take part is a matter of the scores as much as of the loss.
#
# ## Who agrees with whom?
#
# Lay the weights of a batch out as one long vector: the direction in which a loss would move the scores if each could move by itself. The
# cosine between two such vectors says how alike two losses are; a learning rate does not change it.

# %% tags=["live"]
vectors = torch.stack([loss.weights(trained, eye).flatten() for loss in losses.values()])
vectors /= vectors.norm(dim=1, keepdim=True)
alike = vectors @ vectors.T


def cosine(a, b):
    return float(alike[NAMES.index(a), NAMES.index(b)])

# %% tags=["live", "remove-input"] mystnb={"image": {"alt": "Heat map of cosines between the weights of twelve losses, in hundredths, ordered by their likeness to Triplet-SH."}, "figure": {"name": "fig-agreement", "caption": "Cosine between weights on the same trained batch, in hundredths, ordered by likeness to Triplet-SH. 100: the same direction in the space of scores, whatever its length."}}
order = alike[NAMES.index("triplet_sh")].argsort(descending=True, stable=True)
ticks = [plots.label(NAMES[k]) for k in order]
values = 100 * alike[order][:, order].numpy()
fig, ax = plt.subplots(figsize=(6, 5.2))
sns.heatmap(values, ax=ax, cmap="Blues", vmin=0, vmax=100, annot=True, fmt=".0f",
            annot_kws={"size": 11}, cbar=False, xticklabels=ticks, yticklabels=ticks)
ax.tick_params(length=0, labelsize=10.5)
plt.setp(ax.get_xticklabels(), rotation=55, ha="right", rotation_mode="anchor");

# %% [markdown]
# On this batch the least alike are Triplet and SmoothAP, at 0.18. SmoothAP is far from everybody: its nearest is Triplet-SH, at 0.49. IFM
# and DCL, which had NT-Xent's weights on one row, have 0.99 and 0.96 with it on a batch, because they give its queries other shares of the
# whole pull.

# %% tags=["live", "hide-input"]
# checked by machine
check("NT-Xent fell from 94 to 8.6", live("from 94 to 8.6", *measured["ntxent"]))
check("Triplet from 126 to 11:", live("from 126 to 11", *measured["triplet"]),
      smoke or all(after < before for before, after in measured.values() if before > 1))
check("On this batch the least alike are Triplet and SmoothAP, at 0.18.", live("at 0.18", cosine("triplet", "smoothap")),
      smoke or cosine("triplet", "smoothap") < float(alike.min()) + 0.03)
nearest = max(set(NAMES) - {"smoothap"}, key=lambda name: cosine("smoothap", name))
check("SmoothAP is far from everybody: its nearest is Triplet-SH, at 0.49.",
      live("at 0.49", cosine("smoothap", "triplet_sh")), smoke or nearest == "triplet_sh")
check("have 0.99 and 0.96 with it on a batch",
      live("have 0.99 and 0.96 with", cosine("ntxent", "ifm"), cosine("ntxent", "dcl")))

# %% [markdown]
# (sec-cards)=
# ## A card of each loss
#
# One query with one positive; $s_h$ is the highest negative, $u$ and $q_j$ are the lead of the negatives and their shares
# ({eq}`eq-lead`). Unless a card says otherwise, $w_+ = -\sum_j w_j$, and a batch is one of pairs. *Found here*: what a search on
# validation data chose with VSE++ on scenes, each loss's own constants alone ({doc}`../reproduce/settings`).

# %%
found = {}  # what was moved, as it came out best; of NT-Xent at a fixed temperature
for name in ("beyond", "own constants"):
    best, moved = named.searched()[f"scenes, {name}"]
    for pair in (pair for pair in best if pair[0] == "vse++"):
        found[pair[1]] = {k: v for k, v in best[pair].items() if k in moved[pair]}

# %% tags=["remove-cell"]
LEAD, HERE = r"\frac{1}{\tau}", "one-picture"
SPARSE = r"\max_p \big(\sum_j p_j \tfrac{s_j}{\tau} - \tfrac12 \sum_j p_j^2\big) + \tfrac12 - \tfrac{s_+}{\tau}"
FORMULAS = {  # the loss, its weights, the page that derives it
    "triplet": (r"\sum_j [\alpha - s_+ + s_j]_+", r"w_j = 1[s_+ - s_j < \alpha]", "triplet"),
    "triplet_sh": (r"[\alpha - s_+ + s_h]_+", r"w_h = 1[s_+ - s_h < \alpha]", "triplet"),
    "ntxent": (r"\log(1 + e^u)", rf"w_j = {LEAD} \sigma(u)\, q_j", "ntxent"),
    "dcl": (r"u", rf"w_j = {LEAD} q_j", "ntxent"),
    "ifm": (r"\tfrac12 \log(1 + e^u) + \tfrac12 \log(1 + e^{u + 2\varepsilon/\tau})",
            r"w_j = \frac{1}{2\tau} [\sigma(u) + \sigma(u + 2\varepsilon/\tau)]\, q_j", "ntxent"),
    "ntxent_sparse": (SPARSE, rf"w_j = {LEAD} [s_j/\tau - \theta]_+", HERE),
    "ntxent_hard": (r"\log(1 + e^{(s_h - s_+)/\tau})", rf"w_h = {LEAD} \sigma((s_h - s_+)/\tau)", HERE),
    "smoothap": (r"\frac{1}{|P|} \sum_i C_i / R_i", r"w_j = \frac{1}{|P|} \sum_i A_i\, u_{ij}", "smoothap"),
}

# %% tags=["remove-cell"]
FORMULAS |= {
    "siglip": (r"\log(1 + e^{-ts_+ - b}) + \sum_j \log(1 + e^{ts_j + b})",
               r"w_j = t\, \sigma(ts_j + b),\ w_+ = -t\, \sigma(-ts_+ - b)", "ntxent"),
    "circle": (r"\log\big(1 + e^{-\gamma a_+ (s_+ - 1 + m)} \sum_j e^{\gamma a_j (s_j - m)}\big)",
               r"w_j = \gamma a_j\, \sigma(v)\, r_j,\ w_+ = -\gamma a_+ \sigma(v)", HERE),
    "binomial_deviance": (
        r"\log(1 + e^{-\alpha(s_+ - \lambda)}) + \frac{1}{|N|} \sum_j \log(1 + e^{\beta(s_j - \lambda)})",
        r"w_j = \tfrac{\beta}{|N|} \sigma(\beta(s_j - \lambda)),\ w_+ = -\alpha\, \sigma(-\alpha(s_+ - \lambda))", HERE),
    "multi_similarity": (
        r"\tfrac1\alpha \log(1 + e^{-\alpha(s_+ - \lambda)}) + \tfrac1\beta \log(1 + \sum_j e^{\beta(s_j - \lambda)})",
        r"w_j = \frac{e^{\beta(s_j - \lambda)}}{1 + \sum_k e^{\beta(s_k - \lambda)}},\ "
        r"w_+ = -\sigma(-\alpha(s_+ - \lambda))", HERE),
    "alignment": (r"1 - s_+", r"w_+ = -1,\ w_j = 0", "../information/pays"),
    "goal:con x con": (r"\text{none for most } T \times P", r"w_h = T\, P_-,\ w_+ = -T\, P_+", "../gradients/goal"),
}
REMARKS = {"ifm": "in this page's figures at τ = 0.1",
           "circle": "a, m, r: pace, margin, softmax of the exponents; the paces are held fixed for the slope",
           "multi_similarity": "j: negatives that the miner keeps, those above the positive less ε",
           "goal:con x con": "T × P: a triplet weight and a pair weight, 15 as published"}

# %% tags=["remove-cell"]
SKIPPED = {"queries", "directions", "memory_budget", "negatives", "denominator", "detach", "scaled", "convention"}
SYMBOL = {"margin": "α", "tau": "τ", "eps": "ε", "scale": "t", "bias": "b", "alpha": "α", "beta": "β", "lam": "λ",
          "gamma": "γ"}


def told(constants, name):
    symbols = SYMBOL | {"circle": {"margin": "m"}, "goal:con x con": {"tau": "γ", "margin": "margin"}}.get(name, {})
    return ", ".join(f"{symbols[k]} = {v:g}".replace("-", "−") for k, v in constants.items() if k in symbols)


def card(name):
    """A loss as HTML: what its class and the records say, beside its formulas."""
    loss, (value, slope, page) = by_name(name), FORMULAS[name]
    constants = {k: v for k, v in vars(loss).items() if k not in SKIPPED and not isinstance(v, str)}
    title, call = ("GOAL, T × P", "goal:T x P") if name.startswith("goal") else (plots.label(name), name)
    batch = ", batches of images with all captions" if loss.batches == "images" else ""
    maths = "".join(f'<div class="math notranslate nohighlight">\\(\\displaystyle {html.escape(x)}\\)</div>'
                    for x in (r"\ell = " + value, slope))
    return (f'<div class="loss-card" id="card-{call.split(":")[0]}"><b>{title}</b> <code>loss="{call}"</code> '
            f'<a href="{page}.html">{"this page" if page == HERE else "derived"}</a>{maths}'
            f"<small>{told(constants, name) or 'no constants'}; {loss.queries} over queries{batch}. Found here: "
            f"{told(found.get(name, {}), name) or 'not searched'}. {REMARKS.get(name, '')}</small></div>")

# %% tags=["remove-input"]
HTML('<div class="loss-cards mathjax_process">' + "".join(map(card, [*LOSSES, "goal:con x con"])) + "</div>")

# %% [markdown]
# Every weight of these cards agrees with autograd, where there is a loss. Differences of the *value* agree, too, but for Circle: as published
# it multiplies each score by a pace and holds it constant while it takes the slope, so that its gradient is not the derivative of its value.
# {numref}`Chapter {number} <ch-goal>` goes further and writes down gradients without a loss.

# %% tags=["hide-input"]
# checked by machine
S4, EYE4 = plots.example()
point, gaps = 0.9 * S4 + 0.013, {}  # off every hinge
for name, loss in (losses | {"alignment": by_name("alignment"), "full": Circle(detach=False)}).items():
    for s, mask in ((point, EYE4), (row, own)):
        gap = agreement(loss.weights(s, mask), lambda x, f=loss, p=mask: f.per_query(x, p), s)
        assert gap["autograd"] < 1e-10
        gaps[name] = max(gaps.get(name, 0), gap["differences"])
assert {name for name, gap in gaps.items() if gap > 1e-6} == {"circle"}

# %% [markdown]
# ## What we found
#
# - **Losses do not ask for the same thing at different strengths.** SmoothAP gives the highest negative 0.3 % of its push, and pushes the
#   near tie; Triplet pushes five alike; the other ten push the highest most.
# - **Four losses compare scores with thresholds, and do not balance push and pull**: SigLIP, Circle, binomial deviance and
#   Multi-Similarity. The others do.
# - **How many negatives take part is a matter of the scores as much as of the loss.** In one short training of a bag of words NT-Xent fell
#   from 94 to 8.6.
# - **Losses point in different directions.** On this batch the least alike are Triplet and SmoothAP, at 0.18.

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} Read the picture
# :label: ex-read-twelve
# ````
#
# Look at the twelve bar charts. A negative at 0.62 is a caption that is true of the picture, and nobody knows. Which of the twelve would
# harm it most, that is, give it the largest push for each unit of pull on the positive? Answer with its name in the library, a key of
# `losses`.

# %%
mine = ...

# %% tags=["hide-input"]
def check_most_harm(name):
    """Passes for the loss with the largest push on the negative at 0.62, per unit of pull."""
    if name is ...:
        return "your turn"
    s = torch.tensor([[0.60, 0.68, 0.62, 0.56, 0.49, 0.45, 0.37, 0.25, 0.08, -0.12]], dtype=torch.float64)
    harm = {}
    for key in set(LOSSES) - {"alignment"}:
        w = by_name(key, **({"tau": 0.1} if key == "ifm" else {})).weights(s, torch.arange(10)[None] == 0)[0]
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
# Binomial deviance: it judges each negative by itself, against a threshold, so that a near tie is pushed almost as hard as the positive is
# pulled. SmoothAP comes next, for another reason: it looks for near ties, and for nothing else.

# %%
print({name: round(float(w[1]), 2) for name, w in pushes.items() if float(w[1]) > 0.3})
check_most_harm("binomial_deviance")

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise} An open one
# :label: ex-two-alike
#
# Two losses have a cosine of 0.95 on one batch. After a thousand updates their models may still differ. Name two reasons that the cosine
# cannot see, and say what you would have to record during a training to see them.
# ````
#
# Next: {numref}`Chapter {number} <ch-own-loss>` adds one more: yours.
