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
# # One model, four losses
#
# **What you will be able to do:** train VSE++ with any of the four losses of ECIR; recognise a collapse, say which
# constant it sits at and why, and leave it; give each loss a learning rate of its own; read a table of recalls with the
# caution it needs. **Time:** half an hour of reading, about a minute and a half on one core.
# **You need:** {doc}`../foundations/task`.
#
# You start a training with the loss that won in the paper, Triplet-SH. You watch it for five hundred updates. This is
# what you see:

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
import inspect
import json
import tempfile
import textwrap
from itertools import product
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Code, Markdown

import icrlib
from icrlib import chapter, evidence, paper, plots, records
from icrlib.losses import LOSSES, NTXent, SmoothAP, Triplet, TripletSH
from icrlib.paper import span
from icrlib.studies import lists
from icrlib.widgets import explorer

smoke = chapter.start(smoke)
NAMES = ["triplet", "triplet_sh", "ntxent", "smoothap"]
MODELS = {"vse++": "VSE++", "bow": "bag of words"}
LABELS = {name: plots.label(name) for name in NAMES}

# %% tags=["remove-cell"]
def of(study, method="vse++"):
    """The runs of a study by loss, on the draws that all four losses have."""
    return evidence.common_draws({name: records.find(study=study, method=method, loss=name) for name in NAMES})


def passes(record):
    """How often a run went through its captions."""
    return record["config"]["updates"] / record["config"]["per_epoch"]


def swap_chosen(record):
    """Swap accuracy on validation data of the weights that the run chose."""
    return next(e["twins"]["swap"] for e in record["history"] if e["update"] == record["chosen"]["update"])


vse, bow = of("ecir"), of("ecir", "bow")
constants = {name: group[0]["config"]["loss_options"] for name, group in vse.items()}
searched = [r for r in records.find(study="tuning") if r["config"]["loss_options"] == constants[r["config"]["loss"]]]
hard = [r for r in searched if r["config"]["loss"] == "triplet_sh" and r["config"]["method"] == "vse++"]

# %% tags=["hide-input"] mystnb={"image": {"alt": "Training loss of Triplet-SH over the first updates of a training, one line for each of three draws of the data. Each falls towards a dotted line, which it reaches after some hundred updates, and lies flat on it."}, "figure": {"name": "fig-flat", "caption": "The first sixth of a training with Triplet-SH at the rate 0.003, one line a draw of the data. The dotted line is a constant that we compute below."}}
cold, warm = ([r for r in hard if r["config"]["lr"] == 0.003 and bool(r["config"]["warmup"]) == kind]
              for kind in (False, True))
batch, margin = cold[0]["config"]["batch_size"], constants["triplet_sh"]["margin"]
plateau = float(TripletSH(margin).collapsed(torch.eye(batch, dtype=torch.bool)))
plt.figure(figsize=(6.4, 3))
for record in cold:
    first = [point for point in record["log"] if point[0] <= 500]
    plt.plot(*np.array(first).T, color=plots.COLOURS["triplet_sh"], lw=1.2)
    assert all(abs(value / plateau - 1) < 0.05 for update, value in first if update > 150)  # as flat as it looks
plt.axhline(plateau, color="black", ls=":")
plt.ylim(0, None)
plt.xlabel("updates")
plt.ylabel("training loss");

# %% [markdown]
# Has it failed? Should you stop it? To answer, we need to know what the loss is doing.
#

# ## The model and the loop
#
# **VSE++** {cite:p}`faghri2018vsepp` is as plain as a retrieval model can be. Image features go through one linear
# layer; a caption goes through a GRU, word by word. Both results are scaled to length one. Here is all of it:

# %% tags=["hide-input"]
parts = (icrlib.models.VSE.__init__, icrlib.models.VSE.encode_images, icrlib.models.VSE.encode_captions)
Code(textwrap.dedent("\n".join(inspect.getsource(part) for part in parts)), language="python")

# %% [markdown]
# The training loop is plain too. It is the library's own source, shown, not copied.

# %% tags=["hide-input"]
Code(inspect.getsource(icrlib.training.fit), language="python")

# %% [markdown]
# The four losses $\ell_q$, for one query $q$ with one positive $+$. Their derivation is a matter of the definitions;
# here are the formulas and what each looks at.
#
# - **Triplet** (ECIR Eqs. 3a–3b): $\sum_{j \in N} [\alpha + s_j - s_+]_+$. It looks at every negative inside the margin.
# - **Triplet-SH** (Eqs. 1–2): $[\alpha + \max_{j \in N} s_j - s_+]_+$. It looks at the hardest negative.
# - **NT-Xent** (Eqs. 4, 11): $-s_+/\tau + \log \sum_{j \in \Omega} e^{s_j / \tau}$. It looks at all negatives, by
#   $e^{s/\tau}$.
# - **SmoothAP** (Eqs. 5–8): $1 - \frac{1}{\lvert P \rvert}\sum_{i \in P} A_i / R_i$. It looks at scores near a
#   positive's own.
#
# Here $s_j$ is the score of candidate $j$ (a cosine), $N$ are the negatives, $P$ the positives, $\Omega$ all candidates,
# $\alpha = 0.2$ the margin, $\tau$ a temperature (0.1 in NT-Xent; 0.01 in SmoothAP), and $A_i$ and $R_i$ are smoothed ranks of
# a positive, among the positives and among all. ECIR is Bleeker and de Rijke {cite:p}`bleeker2022lessons`.

# %% [markdown]
# The first three losses see a batch of 128 (image, caption) pairs. SmoothAP needs queries with several positives, so it
# sees 128 images with all five captions of each, as published. We compare at equal numbers of *updates*; that SmoothAP
# reads five times as many captions meanwhile, and takes longer, is part of the comparison and stands in the next table.
#
# ## A rate for each loss
#
# Can the four be trained with one learning rate? The sizes of their gradients differ by orders of magnitude, since
# Triplet adds up some 32,000 hinges where NT-Xent takes a mean. Adam divides by the gradient's size and so forgives that.
# What it does not forgive is a loss that collapses where another one learns. So we tried rates for each loss on
# *validation data of three draws that no verdict of a ledger is judged on* (seeds 100 to 102; a draw is one set of
# pictures and captions of `scenes`), and for Triplet-SH two starts: at once, or after 500 updates with Triplet, which has
# all negatives.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Best validation rsum over the learning rate on a logarithmic axis, one line a loss, two for Triplet-SH. Each is lowest at 0.001; the bag of words is a grey line."}, "figure": {"name": "fig-rates", "caption": "The search: validation rsum of the best evaluation by learning rate, mean of three draws, bars from the lowest to the highest. Dashed: Triplet-SH after a start with all negatives. Grey: the best of the bag of words."}}
tried = evidence.candidates(searched)
fig, ax = plt.subplots(figsize=(6.4, 3.8))
for name in NAMES:
    for start in sorted({r["config"]["warmup"] for r in searched if r["config"]["loss"] == name}):
        of_one = {}
        for r in searched:
            c = r["config"]
            if (c["method"], c["loss"], c["warmup"]) == ("vse++", name, start):
                of_one.setdefault(c["lr"], []).append(r["chosen"]["val_rsum"])
        rates, values = zip(*sorted(of_one.items()), strict=True)
        mean, low, high = (np.array([read(v) for v in values]) for read in (np.mean, np.min, np.max))
        ax.errorbar(rates, mean, (mean - low, high - mean), color=plots.colour(name), ls="--" if start else "-",
                    marker=plots.marker(name), capsize=3, label=None if start else LABELS[name])
line = tried[tried["method"] == "bow"]["val_rsum"].max()
ax.axhline(line, color=plots.colour("bow"), label="bag of words")
ax.set(xscale="log", xlabel="learning rate", ylabel="validation rsum")
ax.legend(fontsize="small");

# %% tags=["hide-input"]
choices = evidence.choices(searched)
TUNING = {name: choices["vse++", name] for name in NAMES}


def given(name):
    """What a loss was given: from the search, the settings, and the records."""
    c, group = vse[name][0]["config"], vse[name]
    each = batch * (5 if c["batches"] == "images" else 1)
    seconds = np.median([r["wall_seconds"] for r in group])
    return {"loss": LABELS[name], "rate": f"{c['lr']:g}",
            "updates": f"{c['updates']:,}", "captions an update": each,
            "times through the captions": f"{c['updates'] * each / (5 * c['data_options']['train']):.0f}",
            "seconds": f"{seconds:.0f}"}


assert all(vse[name][0]["config"][key] == value for name in NAMES for key, value in TUNING[name].items() if value)
paper.styled(pd.DataFrame([given(name) for name in NAMES]),
             "What each loss is given; seconds of one core (median of its runs, two of which ran side by side).",
             name="given")

# %% [markdown]
# These are the defaults of `scenes`; `scripts/choose_defaults.py` makes this choice and writes them down. From here on
# other draws are used, seeds from 0 on: run $s$ draws its own pictures and captions with seed $s$, so that what varies
# between runs is everything that would vary if somebody did it again. Each draw has 1,500 training, 500 validation and
# 1,000 test pictures with five captions each. The rsum is the sum of R@1, R@5 and R@10 in both directions, 600 at most; it
# is lower where more pictures are searched, on the test sets here.
#
# ## One run, live
#
# NT-Xent, seed 0, all defaults; the table says how long this takes.

# %%
data = icrlib.load_dataset("scenes", seed=0, smoke=smoke)
probe = Path(tempfile.mkdtemp()) / "probe.json"  # scores of a batch, for a section below
run = icrlib.train(data, "vse++", "ntxent", seed=0, smoke=smoke, probe=probe,
                   progress=False)
chosen = run.record["chosen"]
print(f"best validation rsum {chosen['val_rsum']:.1f} at update {chosen['update']}")

# %% [markdown]
# The same run is in the book's records. Does it come out the same here?

# %% tags=["hide-input"]
(kept,) = (r["test"] for r in vse["ntxent"] if r["config"]["seed"] == 0)
Markdown(f"Test rsum here **{run.record['test']['rsum']:.1f}**, in the record **{kept['rsum']:.1f}**"
         + (": identical in every number." if kept == run.record["test"] else ". Another machine or another version of "
            "PyTorch rounds differently, and a training amplifies the last digit."))

# %% [markdown]
# ## The plateau, explained
#
# Suppose that a model gives *every* pair the same score. Then $s_j - s_+ = 0$ for all triplets, and each hinge is
# exactly $\alpha$. A batch has $B$ images and $B$ captions as queries, and Triplet-SH adds one hinge for each:
#
# $$ \ell = 2 B \alpha. $$

# %% tags=["hide-input"]
Markdown(f"With B = {batch} and α = {margin} this is **{2 * batch * margin:.1f}**, the dotted line above. "
         "A training log that shows this number shows a model without any difference between scores.")

# %% [markdown]
# Each loss has such a constant, worth knowing for your batch size. The library computes it; for three of the four there
# is a short formula, and the two agree:

# %% tags=["nbval-check-output"]
eye = torch.eye(128, dtype=torch.bool)
B, alpha = 128, 0.2
collapsed = {"2Bα": 2 * B * alpha, "2B(B-1)α": 2 * B * (B - 1) * alpha,
             "ln B": np.log(B)}
computed = [loss.collapsed(eye) for loss in (TripletSH(), Triplet(), NTXent())]
assert np.allclose(computed, list(collapsed.values()), rtol=1e-12)
{name: round(float(value), 3) for name, value in collapsed.items()}

# %% [markdown]
# How does it come there? At first the hardest negative of a row mostly scores above the positive, and then making all
# scores alike lowers the loss. And why does Triplet-SH stay there, but not the others? Let all vectors be one unit vector
# $c$, but for small differences at right angles to it: picture $i$ is $c + x_i$ and its caption $c + t_i$, where both
# kinds add up to zero. As long as all scores are equal, a loss gives each negative the same weight $w$ and the positive
# $-(B - 1)\,w$. So the gradient for picture $i$ is $w \sum_{j \ne i} t_j - (B - 1)\,w\, t_i = -B w\, t_i$. Every pair is
# seen from two sides, and after a step of size $r$ on the vectors
#
# $$ \begin{aligned} x_i + t_i &\;\to\; (1 + 2Bwr)\,(x_i + t_i), \\
#    x_i - t_i &\;\to\; (1 - 2Bwr)\,(x_i - t_i) \end{aligned} $$ (eq-modes)
#
# for sums over queries and directions; for means $2B$ becomes 1. Nothing moves where all differences are zero: collapse
# is stationary. But what a picture and its caption have in common grows, at compound interest, and what separates them
# dies out. Triplet has $w = 1$, NT-Xent $1/(B\tau)$, SmoothAP $1/(\tau (B + 1)^2)$. Triplet-SH has no such $w$: all its
# weight is on the negative that is ahead by a hair, the vector of an unrelated pair. What will be left of the growth?

# %% tags=["hide-input"]
rng = torch.Generator().manual_seed(0)
unit = torch.nn.functional.normalize
centre = unit(torch.randn(64, generator=rng, dtype=torch.float64), dim=0)


def around():
    """128 unit vectors that differ from the centre by small amounts."""
    apart = torch.randn(B, 64, generator=rng, dtype=torch.float64)
    return unit(centre + 1e-4 * (apart - (apart @ centre)[:, None] * centre), dim=1)


def shared_and_separate(x, t):
    """x + t and x - t, without their means and what lies along the centre."""
    x, t = (p - p.mean(0) - ((p - p.mean(0)) @ centre)[:, None] * centre for p in (x, t))
    return x + t, x - t


start = around(), around()

# %%
def growth(loss, r):
    """By how much a step multiplies both, less 1, over r."""
    x, t = (p.clone().requires_grad_() for p in start)
    loss(unit(x, dim=1) @ unit(t, dim=1).T, eye).backward()
    x, t = (unit(p - r * p.grad, dim=1).detach() for p in (x, t))
    both = zip(shared_and_separate(x, t), shared_and_separate(*start), strict=True)
    return [float(((new * old).sum() / (old * old).sum() - 1) / r) for new, old in both]


foretold = {Triplet(): 2 * B, NTXent(): 1 / (B * 0.1),
            SmoothAP(): 1 / (0.01 * (B + 1) ** 2), TripletSH(): None}
grown = {loss: growth(loss, 1e-4 if loss.queries == "sum" else 0.1)
         for loss in foretold}

# %% tags=["hide-input"]
paper.styled(pd.DataFrame([{"loss": loss.label, "foretold": f"± {rate:.4g}" if rate else "none",
                            "in common": f"{grown[loss][0]:+.4g}", "apart": f"{grown[loss][1]:+.4g}"}
                           for loss, rate in foretold.items()]),
             "Growth in one step, per unit of its size, from scores that are all but equal.", name="modes")

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
for loss, rate in foretold.items():
    if rate:
        assert np.allclose(grown[loss], [rate, -rate], rtol=1e-4)
assert 0.003 < grown[TripletSH()][0] / foretold[Triplet()] < 0.007

# %% [markdown]
# Where Triplet doubles what a pair has in common, Triplet-SH adds half a percent to it. So a start with all negatives
# does what Triplet-SH cannot: it pulls the pairs apart from each other. (Our runs take their steps with Adam, which
# divides the size of $w$ out. It cannot supply a direction that is not there.)
#
# Whether scores have collapsed can be measured. Look at their **spread**, the standard deviation in a batch, not
# at the loss. `icrlib.metrics.diagnose` reports it, and every record holds it from the first evaluation (update 250) on.
# It should be tiny as long as the loss is flat, and at no evaluation tiny where a run began with all negatives.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels over the updates of Triplet-SH, three draws each with and without a start with all negatives. Above, the training loss: without the start it lies on the dotted constant for hundreds of updates; with it, it is below from the first update with this loss. Below, the spread of scores: without the start it begins near a thousandth and rises late, with it it begins near a tenth."}, "figure": {"name": "fig-plateau", "caption": "Triplet-SH at the rate 0.003, three draws: at once (solid), and after 500 updates with all negatives (dashed; the losses of the start itself are on another scale and left out). Above: the training loss, dotted 2Bα. Below: the spread of the scores in a batch."}}
fig, axes = plt.subplots(2, 1, figsize=(6.4, 5.8), sharex=True)
for group, style, name in ((cold, "-", "at once"), (warm, "--", "after all negatives")):
    for n, record in enumerate(group):
        points = [p for p in record["log"] if p[0] > record["config"]["warmup"]]
        line = {"color": plots.COLOURS["triplet_sh"], "ls": style, "lw": 1.2, "label": None if n else name}
        axes[0].plot(*np.array(points).T, **line)
        axes[1].plot(*zip(*((e["update"], e["diagnose"]["spread"]) for e in record["history"]), strict=True), **line)
spread = {name: [r["history"][0]["diagnose"]["spread"] for r in group] for name, group in (("c", cold), ("w", warm))}
assert 10 * max(spread["c"]) < min(spread["w"])
axes[0].axhline(plateau, color="black", ls=":")
axes[0].set(ylim=(0, 1.5 * plateau), ylabel="training loss")
axes[1].set(yscale="log", xlabel="updates", ylabel="spread of the scores")
axes[0].legend(fontsize="small");

# %% [markdown]
# The sharp dips are the last batches of an epoch: they hold fewer pairs, and this loss is a sum over pairs.
#
# Does it matter in the end? The start costs updates that the loss itself does not get, and the plateau costs updates, too.
# Here are all trials with Triplet-SH at 3,000 updates, on the three draws of the search.

# %% tags=["hide-input"]
def share_on_plateau(record, within=0.02):
    """Share of the logged losses of Triplet-SH itself that lie within 2 % of the collapsed value."""
    values = np.array([value for update, value in record["log"] if update > record["config"]["warmup"]])
    return 100 * float((abs(values / plateau - 1) < within).mean())


groups = {}
for r in hard:
    groups.setdefault((r["config"]["lr"], r["config"]["warmup"]), []).append(r)
paper.styled(pd.DataFrame([
    {"rate": f"{lr:g}", "all negatives first": start or "–",
     "losses on the plateau, %": span([share_on_plateau(r) for r in group]),
     "val. rsum": span([r["chosen"]["val_rsum"] for r in group]),
     "val. swap, %": span([swap_chosen(r) for r in group])}
    for (lr, start), group in sorted(groups.items())
]), "Triplet-SH, lowest to highest of three draws; 3,000 updates.", name="plateau")

# %% tags=["hide-input"]
pairs = {r["config"]["seed"]: r for r in warm}
ahead = [r["chosen"]["val_rsum"] - pairs[r["config"]["seed"]]["chosen"]["val_rsum"] for r in cold]
ahead_test = [r["test"]["rsum"] - pairs[r["config"]["seed"]]["test"]["rsum"] for r in cold]
assert min(ahead_test) > 0 and np.mean(ahead) > 0  # the sentence below says "higher"
assert all(r["chosen"]["val_rsum"] < 100 for r in records.find(study="half_tuning", method="vse++", loss="triplet_sh")
           if r["config"]["lr"] >= 0.01 and not r["config"]["warmup"])  # and "never leaves it"
Markdown(f"At the rate 0.003 the plateau ends by itself, and the runs that went through it end *higher* than those that "
         f"were spared it: by {np.mean(ahead):+.1f} rsum on validation data, {span(ahead_test)} on the tests of "
         "these three draws (explored, not judged: three draws, no interval). At 0.01 no run without the "
         "start left the plateau within 1,500 updates. Lowering the rate to 0.001 did not shorten it. So with many "
         "updates and a moderate rate, wait; with few updates or a high rate, start with all negatives: "
         "`icrlib.train(..., loss=\"triplet_sh\", warmup=500)`.")

# %% [markdown]
# ## What clipping does to whom
#
# Before each update a gradient that is longer than 2 is cut to that length, as VSE++'s code does. That is one number for all losses, though
# their gradients are not of one size: Triplet and Triplet-SH *sum* over pairs and directions, as published, NT-Xent and
# SmoothAP take *means*. So we should expect that clipping acts on the first two most of the time, and on the others
# hardly ever, but for Triplet-SH on its plateau, where the gradient is small.

# %% tags=["hide-input"]
def clipping(name):
    entries = [entry for record in vse[name] for entry in record["history"]]
    norms = np.array([e["gradient_norm"] for e in entries])
    low, middle, high = (f"{x:,.0f}" if x > 9 else f"{x:.2g}" for x in np.quantile(norms, (0, 0.5, 1)))
    return {"loss": LABELS[name], "median norm": middle, "lowest to highest": f"{low} to {high}",
            "updates clipped, %": f"{100 * np.mean([e['clipped'] for e in entries]):.0f}"}


shares = {name: np.mean([e["clipped"] for r in vse[name] for e in r["history"]]) for name in NAMES}
assert shares["triplet"] > 0.9 > shares["triplet_sh"] > 0.5 > 0.2 > max(shares["ntxent"], shares["smoothap"])
paper.styled(pd.DataFrame(map(clipping, NAMES)),
             "Norm of the gradient before clipping, at evaluations; share of all updates that were cut to a norm "
             "of 2.",
             name="clipping")

# %% [markdown]
# A gradient that is cut keeps its direction and loses its size. Every step of Triplet enters Adam with the length 2, a
# large violation no less than a small one, while NT-Xent's and SmoothAP's steps keep their relative lengths. So clipping
# is not the same thing for different losses. Whether it decides their order is tried below.
#
# ## Learning curves
#
# Four losses, each on the same draws. Recall alone does not say whether a model reads, so the lower panel shows the
# accuracy on swap twins: pairs of pictures that are described by the same words in another order. A bag of words guesses
# there. {doc}`reading` shows what a comparison looks like that is made before the lower curves rise.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels over updates, one colour a loss, thin lines draws and thick lines means. Above, validation rsum. Below, swap accuracy: SmoothAP is well above fifty percent at the first evaluation, the other three rise from fifty within the first half, and the bag of words stays at fifty."}, "figure": {"name": "fig-curves", "caption": "Validation rsum (above) and swap accuracy (below). Thin lines: draws of the data. The bag of words is trained with NT-Xent. The upper axis begins at 300; Triplet-SH begins below it. The learning rate falls to a tenth halfway, at update 1,500."}}
everything = [record for name in NAMES for record in vse[name]]
bags = bow["ntxent"]
fig, axes = plt.subplots(2, 1, figsize=(6.4, 6.4), sharex=True)
plots.learning_curves([*everything, *bags], ax=axes[0])
plots.learning_curves([*everything, *bags], lambda entry: entry["twins"]["swap"], ax=axes[1], ylabel="swap accuracy, %")
axes[0].set_xlabel("")
axes[0].set_ylim(300, None)
axes[1].get_legend().remove()
axes[1].axhline(50, color="black", ls=":")
assert {tuple(r["config"]["drops"]) for r in everything} == {(1500,)}
assert {r["config"]["loss"] for r in [*everything, *bags] if r["history"][0]["val"]["rsum"] < 300} == {"triplet_sh"}

# %% tags=["hide-input"]
lowest = {name: min(map(swap_chosen, vse[name])) for name in NAMES}
assert min(lowest.values()) > 60 > 56 > max(map(swap_chosen, bags))
Markdown(f"Of the weights that are chosen, the lowest swap accuracy among {len(bags)} draws is "
         + ", ".join(f"{value:.0f} % for {LABELS[name]}" for name, value in lowest.items())
         + f"; for the bag of words trained with NT-Xent the highest is {max(map(swap_chosen, bags)):.0f} %. So all "
         "four have begun to read before they are compared.")

# %% [markdown]
# ## The table
#
# In the layout of ECIR's Table 1, without its averages, and with two columns that the paper does not have: twin accuracy, the share of captions for which
# the right one of two twin pictures scores higher, for swap twins and for attribute twins, which differ in one word.
# Each loss was also trained on a bag of words, a model that sums its word vectors and cannot know their order.

# %% tags=["hide-input", "full-width"]
def as_in_ecir(name, runs, of):
    """Means of runs in the layout of ECIR's Table 1, but without average recalls; each row names its model."""
    table = evidence.summarise(runs)
    (n,) = set(table["n"])
    table["loss"] = table["loss"].str.partition(" (")[0]  # the rates stand in the table of the search
    table["method"] = table["method"].map(MODELS)
    table = table.drop(columns=["n", *(column for column in table if "average_recall" in column)])
    table.attrs = {"name": name, "caption": f"mean ± population standard deviation over {n} {of}"}
    return paper.layout(table)


as_in_ecir("ours", [*everything, *(record for name in NAMES for record in bow[name])], "draws of the data")

# %% [markdown]
# For comparison, what the paper printed for VSE++ on Flickr30k. Other data, other sizes: compare the *order* only.

# %% tags=["hide-input", "full-width"]
printed = paper.table("ecir/1")
printed = printed[(printed["dataset"] == "Flickr30k") & (printed["method"] == "VSE++")]
paper.layout(printed)

# %% [markdown]
# ## Which of ECIR's claims hold here?
#
# The paper's table puts Triplet-SH first, then SmoothAP, NT-Xent and Triplet: six claims, each a difference between two
# losses, paired by draw. One function decides: a 95 % t-interval of the mean difference, entirely on one side of zero,
# after Holm's correction for all claims about recall that {doc}`../appendix/claims` tests on the same runs (there are more
# of them than the six here: either direction alone, mAP@5); *equivalent* if the whole 90 % interval lies within 3 rsum of zero;
# or else *undecided*. The p shown is Holm's, the intervals are not corrected, and what the choice of the rates may have cost
# is in neither. The paper spoke of VSE++; whether the same six statements hold for a bag of words is a question of ours.

# %% tags=["remove-cell"]
CLAIMS = [("triplet_sh", "ntxent"), ("triplet_sh", "triplet"), ("ntxent", "triplet"), ("triplet_sh", "smoothap"),
          ("smoothap", "ntxent"), ("smoothap", "triplet")]  # the six pairs, in the paper's direction
on_paper = printed.set_index("loss")["rsum"]
ON_PAPER = dict(zip(NAMES, ["Triplet loss", "Triplet loss SH", "NT-Xent", "SmoothAP"], strict=True))


def judged(dataset, method):
    """ECIR's claims about the rsum of one model, as the ledger of claims has judged them."""
    found = evidence.Evidence(lists("places").of_model(dataset, method), records.find).verdicts
    return {(a, b): found[part] for a, b in CLAIMS if (part := f"rsum {a} > {b}") in found}


def claim_rows(found, model, in_paper=True):
    """A table's rows, with what the paper printed on Flickr30k if it had the model."""
    return [{"claim": f"{LABELS[a]} beats {LABELS[b]}, {model}", "ours": str(v.difference), "verdict": v,
             "paper": f"{on_paper[ON_PAPER[a]]:.1f} against {on_paper[ON_PAPER[b]]:.1f}" if in_paper else "–"}
            for (a, b), v in found.items()]


# %% tags=["hide-input"]
verdicts, of_bags = judged("scenes", "vse++"), judged("scenes", "bow")
paper.styled(evidence.tabulate(claim_rows(verdicts, "VSE++") + claim_rows(of_bags, "bag of words", False)),
             name="claims")

# %% [markdown]
# The two verdicts against SmoothAP are verdicts on how it was trained here: with its published temperature, at a rate that
# ties with its neighbour in the search and lies at the edge of the grid, for 250 passes through the captions, while its
# recall is highest early. So before anything is said about the loss itself, its temperature has to be searched.
#
# ## With a constant of its own
#
# A margin of 0.2, or a temperature of 0.01, was published for other data and other models. What is right depends on how the
# scores are spread: a margin says by how much a positive has to be ahead, and SmoothAP's temperature says how near two
# scores must be before their order counts as open ({doc}`../gradients/smoothap`). So the search went on, on the same three
# draws: for each loss two more constants, with the rates and starts from above; and where the best was the largest, one
# beyond it, at the rates that had been near the best. A loss whose constant does not matter would have a flat line in the next figure, and one whose published constant
# fits would have its top there.

# %% tags=["remove-cell"]
OWN = {"triplet": "margin", "triplet_sh": "margin", "ntxent": "tau", "smoothap": "tau"}
whole = records.find(study="tuning")
FULL = evidence.choices(whole)
PLACE_OF = evidence.tuned_studies(whole, "ecir", "tuned")


def by_constant(method, name):
    """The highest mean validation rsum over rates and starts, by the loss's constant: a series."""
    tried = evidence.candidates([r for r in whole if (r["config"]["method"], r["config"]["loss"]) == (method, name)])
    return tried.groupby(OWN[name])["val_rsum"].max()


def own_constant(method):
    """Of each loss the runs with what the whole search chose; those above where it chose the published constant."""
    return evidence.common_draws({name: records.find(study=PLACE_OF[method, name], method=method, loss=name)
                                  for name in NAMES})


tuned = {"vse++": own_constant("vse++"), "bow": own_constant("bow")}

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels of validation rsum, the upper one over the margin, the lower one over the temperature. Solid lines for VSE++, dashed for the bag of words. Each line has its top inside the range that was tried; the ring, at the published constant, is far below the top for SmoothAP and below it for the two triplet losses."}, "figure": {"name": "fig-constants", "caption": "Best validation rsum over rates and starts, by the loss's constant; means of the three draws of the search. Solid: VSE++; dashed: bag of words. Rings: the published constants."}}
fig, axes = plt.subplots(2, 1, figsize=(6.4, 6.4), sharey=True)
for ax, group, letter in zip(axes, (NAMES[:2], NAMES[2:]), ("margin α", "temperature τ"), strict=True):
    for (m, ls), name in product((("vse++", "-"), ("bow", "--")), group):
        found = by_constant(m, name)
        ax.plot(found.index, found, ls, marker="o", ms=3.5, color=plots.colour(name),
                label=LABELS[name] if m == "vse++" else None)
        ax.plot(constants[name][OWN[name]], found[constants[name][OWN[name]]], "o", ms=10, mfc="none",
                color=plots.colour(name))
    ax.set(xscale="log", xlabel=letter)
    ticks = sorted({value for name in group for value in by_constant("vse++", name).index})
    ax.set_xticks(ticks, [f"{value:g}" for value in ticks])
    ax.minorticks_off()
    ax.set_ylabel("validation rsum")
    ax.legend(fontsize="small")

# %% tags=["remove-cell"]
def chosen_text(m, name):
    """What the whole search chose, in a few characters."""
    best = FULL[m, name]
    sign = {"margin": "α", "tau": "τ"}[OWN[name]]
    start = f", start of {best['warmup']}" if best.get("warmup") else ""
    return f"{sign} {best[OWN[name]]:g}, rate {best['lr']:g}{start}"


own_means = {(m, name): [np.mean([r["test"]["rsum"] for r in group[name]]) for group in (published, tuned[m])]
             for m, published in (("vse++", vse), ("bow", bow)) for name in NAMES}
lost = {(m, name): found.max() - found[constants[name][OWN[name]]]  # by the published constant
        for m in MODELS for name in NAMES for found in [by_constant(m, name)]}
beyond = by_constant("vse++", "triplet_sh")
flat = beyond.iloc[-1] - beyond.max()
worth_most = {m: max(NAMES, key=lambda name: lost[m, name]) for m in MODELS}
by_seed = {key: {r["config"]["seed"]: r["test"]["rsum"] for r in group if r["config"]["loss_options"].get(
    "tau") == FULL["vse++", name]["tau"]} for key, name, group in (
        ("early", "smoothap", records.find(study="early", method="vse++", loss="smoothap")),
        ("late", "smoothap", tuned["vse++"]["smoothap"]), ("NT-Xent", "ntxent", tuned["vse++"]["ntxent"]))}
early = {key: evidence.verdict(f"SmoothAP on a fifth of the updates, less {key}", "greater", by_seed["early"],
                               by_seed[key], own=True, unit="rsum").difference for key in ("late", "NT-Xent")}
assert early["NT-Xent"].high < 0 and early["late"].high < 10

# %% tags=["hide-input"]
Markdown("The published constant is the best that was tried for "
         + " and ".join(LABELS[name] for name in NAMES
                        if not any(lost[m, name] for m in MODELS))
         + " only. Most is lost by it for "
         + " and ".join(f"{'the ' * (m == 'bow')}{MODELS[m]} with {LABELS[name]} ({lost[m, name]:.0f})"
                        for m, name in worth_most.items())
         + f". No top lies at the edge of what was tried, but from {FULL['vse++', 'triplet_sh']['margin']:g} up the "
         f"margin of Triplet-SH hardly matters (its next one has {flat:+.1f}), and between SmoothAP's values, "
         "threefold apart, a better one may lie. Its best rate is the highest that was tried, and its best evaluation an "
         "early one. So it was searched again on a fifth of the updates, with evaluations as many and rates up to 0.03: "
         f"on ten draws that is {early['late']} from what it had, and {early['NT-Xent']} from NT-Xent. Neither edge is "
         "why it comes last.")

# %% [markdown]
# What the whole search chose was then trained on the ten draws:

# %% tags=["hide-input"]
paper.styled(pd.DataFrame([{"model": MODELS[m], "loss": LABELS[name], "chosen": chosen_text(m, name),
                            "published constant": f"{was:.1f}", "own constant": f"{now:.1f}"}
                           for (m, name), (was, now) in own_means.items()]),
             "Mean test rsum of ten draws. Where the published constant was chosen, the runs are the same.",
             name="own-means")

# %% [markdown]
# Are the six claims as they were? Each loss has its own constant, rate and start now, and six claims about one model are
# a family.

# %% tags=["hide-input"]
before = {"vse++": verdicts, "bow": of_bags}
with_own = {m: evidence.family({(a, b): evidence.verdict(
    f"{LABELS[a]} beats {LABELS[b]}", "greater", tuned[m][a], tuned[m][b], own=m == "bow",
    tuning={name: FULL[m, name] for name in NAMES}) for a, b in CLAIMS}) for m in MODELS}
rows = [{"claim": f"{v.claim}, {MODELS[m]}", "paper": str(before[m][pair].difference).removesuffix(" rsum"),
         "ours": str(v.difference).removesuffix(" rsum"), "verdict": v}
        for m in MODELS for pair, v in with_own[m].items()]
paper.styled(evidence.tabulate(rows).rename(columns={"paper": "published constants", "ours": "own constants"}),
             "Differences in test rsum, with 95 % intervals; verdict and p are about own constants. (Equivalent: "
             "by the 90 % interval.)", name="own-claims")

# %% tags=["hide-input"]
other_words = [f"{v.claim} ({MODELS[m]}: {before[m][pair].word}, then {v.word})"
               for m in MODELS for pair, v in with_own[m].items() if v.word != before[m][pair].word]
first_best = {r["chosen"]["update"] for r in tuned["vse++"]["smoothap"]}
cut = {name: 100 * np.mean([e["clipped"] for r in tuned["vse++"][name] for e in r["history"]]) for name in NAMES}
last_gap = evidence.verdict(
    "SmoothAP beats Triplet by its last weights, validation data", "greater", tuned["vse++"]["smoothap"],
    tuned["vse++"]["triplet"], measure=lambda r: r["history"][-1]["val"]["rsum"], unit="rsum",
    tuning={name: FULL["vse++", name] for name in NAMES}).difference
Markdown(f"Another verdict than at published constants: {'; '.join(other_words) or 'none'}. Two things have to be "
         "kept in mind. All these runs clip the gradient, which on VSE++ cuts so many of the updates: "
         + ", ".join(f"{LABELS[name]} {share:.0f} %" for name, share in cut.items())
         + ". And SmoothAP's best evaluation on "
         f"VSE++ is at update {paper.span(first_best)} in all {len(tuned['vse++']['smoothap'])} runs, before the "
         "rate falls: its schedule does not fit it. By its last weights it is behind Triplet on validation data, "
         f"{last_gap}.")

# %% [markdown]
# ## What the recalls hide
#
# Here are two pairs of swap twins from the test set, each with one caption of its first picture. Read it word by word: it
# is true of one picture and false of the other. Each of its words describes both pictures, so a bag of words cannot see why.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two rows, each a pair of pictures in which two things have exchanged a property or their places. One caption stands above both pictures of a row; it is true of the left one only. The model's score is written above each picture."}, "figure": {"name": "fig-twins", "caption": "Two pairs of swap twins, one in each row, with one caption of the left picture, and the scores that the model trained above gives."}}
split = data.test
images, captions = icrlib.evaluation.embed(run.model, split)
asked, own, other, swap = split.twin_questions
questions = [k for k in range(len(asked)) if swap[k] and " of " in split.captions[int(asked[k])]]
two = [questions[0], next(k for k in questions if own[k] != own[questions[0]])]
both = [(int(asked[k]), int(row)) for k in two for row in (own[k], other[k])]
titles = [f"{split.captions[c]}: score {float(images[i] @ captions[c]):.3f}" for c, i in both]
true = [bool(split.relevance[c, i]) for c, i in both]
assert true == [True, False] * 2
plots.gallery(split.images[[i for c, i in both]], titles, frames=true, columns=2, size=2.8, wrap=36);

# %% [markdown]
# Does the caption score higher with its own picture? Over the whole test set, a model that knows which words belong
# together must answer more than half of such questions, and should have a higher recall than a bag of words trained with
# the same loss. These are claims of ours, not of a paper; the rule is the same.

# %% tags=["hide-input"]
def both_models(name):
    """Runs of the two models on the draws that both have."""
    return evidence.common_draws({"vse++": vse[name], "bow": bow[name]}).values()


reads = evidence.family({name: evidence.verdict(
    f"{LABELS[name]} knows which words belong together (swap > 50 %)", "greater", vse[name], 50,
    measure="test.twins.swap", own=True) for name in NAMES})
worth = evidence.family({name: evidence.verdict(
    f"{LABELS[name]}: VSE++ beats the bag of words", "greater", *both_models(name), factor="method", own=True,
    tuning={method: choices[method, name] for method in ("vse++", "bow")}) for name in NAMES})
rows = [{"claim": v.claim, "ours": str(v.difference), "verdict": v}
        for v in (*reads.values(), *worth.values())]
paper.styled(evidence.tabulate(rows).drop(columns="paper"), name="order")

# %% [markdown]
# ## Would it hold elsewhere?
#
# A verdict that another budget overturns is a verdict about budgets, and one that a constant of the loop overturns is one
# about that constant. So runs were done again in three other ways. With *half* the updates, 1,500, everything was done
# once more: the search for rates and starts (250 updates) on the three tuning draws, and then the runs. With *twice* the
# updates, 6,000, the rates are those chosen for 3,000. And once nothing was *clipped*. The rate always falls halfway.
# Does the order of the losses stay?

# %% tags=["remove-cell"]
def all_of(study):
    """The runs of a study by loss; none of a loss that has not got its five draws yet."""
    found = {name: records.find(study=study, method="vse++", loss=name) for name in NAMES}
    return {name: group if len(group) >= 5 else [] for name, group in found.items()}


HALF = {name: evidence.choices(records.find(study="half_tuning"))["vse++", name] for name in NAMES}
COLUMNS = {"3,000 updates": (vse, TUNING), "1,500 updates": (all_of("half"), HALF),
           "6,000 updates": (all_of("twice"), TUNING), "not clipped": (all_of("clipping"), TUNING)}


def on(runs, draws):
    return {name: [r for r in group if r["config"]["seed"] in draws] for name, group in runs.items()}


NUMBER = {title: set.intersection(*({r["config"]["seed"] for r in group} for group in runs.values() if group))
          for title, (runs, _) in COLUMNS.items()}
COLUMNS = {title: (on(runs, NUMBER[title]), tuning) for title, (runs, tuning) in COLUMNS.items()}
SHARED = set.intersection(*NUMBER.values())  # draws of all columns, for what is said across them
HERE, SHORT, LONG, UNCLIPPED = COLUMNS

# %% tags=["remove-cell"]
def apart(title, a, b):
    """Test rsum of one loss less another's in one of the columns; None without runs."""
    runs, tuning = COLUMNS[title]
    return runs[a] and runs[b] and evidence.verdict(f"{LABELS[a]} − {LABELS[b]}", "greater", runs[a], runs[b],
                                                    tuning=tuning).difference


# %% tags=["hide-input"]
budgets = {pair: {title: d for title in COLUMNS if (d := apart(title, *pair))} for pair in CLAIMS}
paper.styled(pd.DataFrame([{"difference": f"{LABELS[a]} − {LABELS[b]}"} | {
    f"{title}, n = {len(NUMBER[title])}": str(found.get(title, "–")).removesuffix(" rsum") for title in COLUMNS}
    for (a, b), found in budgets.items()]),
    "Test rsum on n draws, paired, with 95 % intervals; described, not judged. Rates at 1,500 updates: "
    + ", ".join(f"{LABELS[n]} {h['lr']:g}" + (f" after {h['warmup']} with all negatives" if h.get("warmup") else "")
                for n, h in HALF.items()) + ". A dash: not run.", name="half")

# %% tags=["hide-input"]
turned = {title: [f"{LABELS[a]} − {LABELS[b]}" for (a, b), found in budgets.items()
                  if title in found and found[title].mean * found[HERE].mean < 0] for title in (SHORT, LONG, UNCLIPPED)}
means = {title: {name: np.mean([r["test"]["rsum"] for r in group])
                 for name, group in on(runs, SHARED).items() if group}
         for title, (runs, _) in COLUMNS.items()}
Markdown("Differences with the other sign: " + "; ".join(
    f"{title}: {', '.join(found) if found else 'none'}" for title, found in turned.items())
    + f". Mean test rsum on the {len(SHARED)} draws of all: "
    + "; ".join(f"{title}: " + ", ".join(f"{LABELS[n]} {v:.0f}" for n, v in found.items())
                for title, found in means.items()) + ".")

# %% tags=["hide-input"]
half_own = records.find(study="half_own")
own_sh = {"margin": FULL["vse++", "triplet_sh"]["margin"]} | evidence.choices(
    records.find(study="half_own_tuning")).get(("vse++", "triplet_sh"), {})
sooner = len(half_own) == 10 and evidence.verdict(
    "Triplet-SH beats NT-Xent with half the updates, own constants", "greater", half_own,
    records.find(study="half", method="vse++", loss="ntxent"),
    tuning={"triplet_sh": own_sh, "ntxent": HALF["ntxent"]}).difference
late = evidence.verdict(
    "Triplet-SH with 3,000 updates beats NT-Xent with 1,500", "greater",
    {r["config"]["seed"]: r["test"]["rsum"] for r in tuned["vse++"]["triplet_sh"]},
    {r["config"]["seed"]: r["test"]["rsum"] for r in records.find(study="half", method="vse++", loss="ntxent")},
    unit="rsum").difference
Markdown("All this is at published constants. With Triplet-SH's own margin and 1,500 updates (rates searched anew), "
         f"Triplet-SH less NT-Xent is {sooner or 'not run yet'}; and with 3,000 for Triplet-SH and 1,500 for "
         f"NT-Xent, each at what is best for it, {late} (ten draws).")

# %% [markdown]
# The rates without the clip are those that were chosen with it. Would others help, or, for Triplet-SH, a start with all
# negatives? On the validation pictures of one draw of the search, each of the three losses was tried at four rates
# without the clip.

# %% tags=["hide-input"]
one_draw = [r for r in searched if (r["config"]["method"], r["config"]["seed"]) == ("vse++", 100)]
free = evidence.by_rate(records.find(study="clipping_rates")).loc["vse++"]
clipped = evidence.by_rate(one_draw).loc["vse++"].reindex(index=free.index, columns=free.columns)
tied, freest = (rows.max(axis=1).groupby("loss").max() for rows in (clipped, free))
paper.styled(pd.DataFrame([{"loss": LABELS[name] + (f", start of {start}" if start else "")}
                           | {f"{lr:g}": " / ".join("–" if np.isnan(v) else f"{v:.0f}" for v in (
                               row[lr], clipped.loc[(name, start), lr])) for lr in free}
                           for (name, start), row in sorted(free.iterrows(), key=lambda one: NAMES.index(one[0][0]))]),
             "Best validation rsum of draw 100 by learning rate, without / with clipping. A dash: not tried.",
             name="unclipped-rates")

# %% [markdown]
# ## And on photos?
#
# Scenes are drawn. Does the order of the losses hold on photos that people took and described? Here is Flickr8k
# {cite:p}`hodosh2013flickr8k`: 6,000 training photos, pooled features of an EfficientNet-Lite2, a space of 256
# dimensions, 3,600 updates, which is fifteen passes through the captions (77 for SmoothAP, which takes all five of a
# photo at once); the rate falls halfway. The photos are not part of this book; the records of the runs are. Settings
# were searched for as before, on the validation photos and with a seed that is used for nothing else: the rate,
# Triplet-SH's start, and *word dropout*, for which a fifth or two fifths of the words of a training caption are replaced
# by the sign for an unknown word.

# %% tags=["remove-cell"]
searched_photos = records.find(study="photo_tuning")
PHOTOS = {m: {name: found for name in NAMES if (found := records.find(study="photo_runs", method=m, loss=name))}
          for m in MODELS}
PHOTO_CHOICES = evidence.choices(searched_photos)
PHOTO_TUNING = {m: {name: PHOTO_CHOICES[m, name] for name in PHOTOS[m]} for m in MODELS}
assert all(r["config"][key] == value for m, groups in PHOTOS.items() for name, group in groups.items()
           for r in group for key, value in PHOTO_TUNING[m][name].items())

# %% tags=["hide-input"]
searches = evidence.by_rate(searched_photos)
paper.styled(pd.DataFrame([
    {"model": MODELS[m], "loss": LABELS[name], "dropped, %": f"{100 * drop:.0f}", "start": f"{start}" if start else "–"}
    | {f"{lr:g}": "–" if np.isnan(v) else f"{v:.1f}" for lr, v in row.items()}
    for (m, name, drop, start), row in sorted(searches.iterrows(), key=lambda one: (
        list(MODELS).index(one[0][0]), NAMES.index(one[0][1]), one[0][2:]))]),
    "The search on Flickr8k: best validation rsum by learning rate, one seed. Dropped: share of words made unknown. "
    "Start: updates with all negatives. A dash: not tried.", name="photo-search")

# %% [markdown]
# And the runs, on the 1,000 test photos:

# %% tags=["hide-input", "full-width"]
as_in_ecir("ours-photos", [r for groups in PHOTOS.values() for group in groups.values() for r in group], "seeds")

# %% tags=["hide-input"]
lacking = [f"{LABELS[name]} on {MODELS[m]}" for m in MODELS for name in NAMES if name not in PHOTOS[m]]
Markdown((f"Not trained on photos: {', '.join(lacking)}, which takes five times as long. " if lacking else "")
         + "Every row has the same number of updates and of evaluations to choose from.")

# %% [markdown]
# The same claims, and whether VSE++ is ahead of the bag of words. On photos the training set is given, so the interval
# is made of two things: the seeds, and which photos happen to be in the test set (a bootstrap over them, from the ranks
# in the records). Another training set, or another gallery to search in, is not in it.

# %% tags=["hide-input"]
of_photos = judged("flickr8k", "vse++")
photo_worth = evidence.family({name: evidence.verdict(
    f"{LABELS[name]}: VSE++ beats the bag of words", "greater", PHOTOS["vse++"][name], PHOTOS["bow"][name],
    factor="method", own=True, tuning={m: PHOTO_TUNING[m][name] for m in MODELS}) for name in PHOTOS["vse++"]})
rows = [{"claim": v.claim, "paper": "–", "ours": str(v.difference), "verdict": v} for v in photo_worth.values()]
paper.styled(evidence.tabulate(claim_rows(of_photos, "VSE++") + rows), name="photo-claims")

# %% [markdown]
# Would other budgets say something else? NT-Xent was searched with ten passes, too, and what was chosen is run once more
# with thirty, one seed each, judged on the validation photos; NT-Xent on VSE++ there also with three fifths of the words
# dropped, since it had chosen the most that was tried.

# %% tags=["hide-input"]
def best_of(study, m, name):
    """The best validation rsum of a study, and the word dropout that it had; a dash without runs."""
    found = records.find(study=study, method=m, loss=name)
    best = max(found, key=lambda r: r["chosen"]["val_rsum"], default=None)
    return f"{best['chosen']['val_rsum']:.1f} ({100 * best['config']['drop_words']:.0f} %)" if best else "–"


spans = {"ten passes": "photo_words", "fifteen": "photo_tuning", "thirty": "photo_longer"}
budget = {(m, name): {title: best_of(study, m, name) for title, study in spans.items()}
          for m in MODELS for name in ("ntxent", "triplet_sh")}
paper.styled(pd.DataFrame([{"model": MODELS[m], "loss": LABELS[name]} | row for (m, name), row in budget.items()]),
             "Best validation rsum on Flickr8k by passes through the captions, one seed, and the share of words "
             "dropped in that run. A dash: not run.", name="photo-budgets")

# %% [markdown]
# Flickr8k has no twins. But a caption can be held against its own words in another order: does the true order score
# higher with its own photo? A model might merely prefer natural sentences, with whatever picture, so the same pairs are
# also scored with other photos; what counts is the gain over that.

# %% tags=["hide-input"]
orders = {(m, name): [r["test"]["order"] for r in found] for m in MODELS for name, found in PHOTOS[m].items()}
assert all(o["gain"] == 0 for (m, _), found in orders.items() if m == "bow" for o in found)
paper.styled(pd.DataFrame([{"loss": LABELS[name]} | {
    title: f"{np.mean([o[key] for o in found]):.1f} %" for title, key in (
        ("own photo", "own"), ("another photo", "other"))} | {
    "gain": f"{np.mean([o['gain'] for o in found]):+.1f}"} for (m, name), found in orders.items() if m == "vse++"]),
    "VSE++: captions whose true order of words scores higher than a random one, mean of the seeds. A bag of words "
    "has 50 % and no gain, by construction.", name="photo-order")

# %% [markdown]
# ## What a retrieval looks like
#
# One caption of the test set and the five pictures that score highest, framed by the truth. We chose a caption that is
# true of more than one of the five. The benchmark counts one picture as right, the one that it was written for.

# %% tags=["hide-input"] mystnb={"image": {"alt": "The five test pictures that score highest for one caption, each framed green if the caption is true of it and red if not."}, "figure": {"name": "fig-retrieval", "caption": "Top five of the model trained above for one test caption. Of more than one of them the caption is true; the benchmark would count a single one."}}
several = ((split.relevance.sum(1) >= 3) & (split.relevance.sum(1) <= 8)).nonzero().flatten()
right = {int(q): int(split.relevance[q][(images @ captions[q]).topk(5).indices].sum()) for q in several}
query = next((q for q, n in right.items() if 2 <= n <= 4), int(several[0]))
assert smoke or 2 <= right[query] <= 4
plots.top_k(split, query, images @ captions[query]);

# %% [markdown]
# ## One batch, from the first update to the last
#
# While the model above was trained with NT-Xent, the scores of sixteen training pictures with a caption of each were noted
# at thirty moments (the `probe`). Here they are, and you may ask at each moment: what would each of the four losses push
# *now*? Before you play it, guess. At the first moment all scores are alike; which loss has something to say then,
# and to how many captions? And at the end, which of them has fallen silent on most rows, and which never does? Move
# the margins, too: at which margin has Triplet-SH as much to do at the end as at the beginning?

# %% tags=["hide-input"]
moments = [{"update": u, "scores": np.eye(16)} for u in (0, 1)]  # a smoke run writes no probe
if not smoke:
    moments = json.loads(probe.read_text())["moments"]
scores16 = {m["update"]: torch.tensor(m["scores"], dtype=torch.float64).clamp(-1, 1) for m in moments}
own16 = torch.eye(16, dtype=torch.bool)
spread = [float(s.diagonal().mean() - s[~own16].mean()) for s in scores16.values()]
solved = [float((s.diagonal() >= s.max(1).values).double().mean()) for s in scores16.values()]
chapter_losses = {name: LOSSES[name]() for name in NAMES}
of_16 = [data.train.captions[int((data.train.image_of == row).nonzero()[0])] for row in range(16)]
explorer(next(iter(scores16.values())), own16, chapter_losses, loss="triplet", moments=scores16, captions=of_16,
         lines={"match less the others": spread, "rows solved": solved}, pictures=data.train.images[:16],
         controls={name: {"margin": [0.1, 0.2, 0.4, 0.8]} for name in ("triplet", "triplet_sh")},
         about="Scores of sixteen pictures and captions at thirty moments of the training, with the weights of a loss")

# %% tags=["remove-cell"]
def heard(name, moment):
    """Share of the sixteen rows in which a loss still moves something: largest weight above 0.01."""
    weights = chapter_losses[name].weights(list(scores16.values())[moment], own16)
    return float((weights.abs().max(1).values > 0.01).double().mean())


rows_heard = {name: (heard(name, 0), heard(name, -1)) for name in NAMES}
end = list(scores16.values())[-1]
near = [k for k in range(16) if chapter_losses["triplet_sh"].weights(end, own16)[k].abs().max() > 0.01]
hardest = end.masked_fill(own16, -torch.inf).argmax(1)
twin = [int(k) for k in data.train.twin_of[:16]]
of_twin = sum(int(hardest[k]) == twin[k] or twin[int(hardest[k])] == k for k in near)
assert smoke or rows_heard["triplet"][0] == rows_heard["triplet_sh"][0] == rows_heard["ntxent"][0] == 1
assert smoke or (spread[-1] > 0.3 > spread[0] and of_twin > len(near) / 2)

# %% tags=["hide-input"]
Markdown("Rows in which a loss still moves something, at the first moment and at the last: "
         + "; ".join(f"{LABELS[name]} {100 * a:.0f} % and {100 * b:.0f} %" for name, (a, b) in rows_heard.items())
         + ". (At the published constants; a weight counts above 0.01.) At the beginning all scores are alike, so "
         "everybody is within every margin. At the end, which took "
         f"{passes(run.record):.0f} passes over these pictures, {100 * solved[-1]:.0f} % of the rows have their match "
         f"first, and yet Triplet-SH is not done with {len(near)} of the 16. In {of_twin} of these its hardest caption "
         "is that of a *twin*, a picture that differs in one word or in the order of the words. What is left to do is "
         "mostly what is hard to *read*.")

# %% [markdown]
# How long a model gets by without reading, and what makes it begin, is the question of {doc}`reading`.

# %% [markdown]
# ## What we found

# %% tags=["remove-cell"]
def unclipped(name):
    """What taking the clip away adds to a loss's test rsum."""
    runs = COLUMNS[UNCLIPPED][0][name]
    return evidence.verdict(f"{LABELS[name]}, not clipped", "greater", runs, on(vse, NUMBER[UNCLIPPED])[name],
                            factor="grad_clip").difference


d = {pair: v.difference for pair, v in verdicts.items()}
at_best = means[HERE]["triplet_sh"] - means[SHORT]["ntxent"]  # NT-Xent's best budget is the shorter one
assert means[SHORT]["ntxent"] > means[HERE]["ntxent"] > means[LONG]["ntxent"] and NUMBER[SHORT] == NUMBER[HERE]
b = {pair: v.difference for pair, v in of_bags.items()}
sh_nt, _, nt_t, _, ap_nt, ap_t = CLAIMS
n = verdicts[sh_nt].n
turned_by_clip = (
    "- **At the rates chosen with clipping, taking the clip away turns the order.** NT-Xent, whose gradient is "
    f"hardly ever cut, changes by {unclipped('ntxent')}, Triplet-SH by {unclipped('triplet_sh')}, and Triplet by "
    f"{unclipped('triplet')}; Triplet-SH less NT-Xent is {budgets[sh_nt][UNCLIPPED]} then ({len(NUMBER[UNCLIPPED])} "
    "draws). Searched again without the clip, on the validation data of one draw, both Triplets get part of it back, "
    "and NT-Xent stays where it was: "
    f"Triplet {freest['triplet']:.0f} ({tied['triplet']:.0f} with the clip), Triplet-SH {freest['triplet_sh']:.0f} "
    f"({tied['triplet_sh']:.0f}), NT-Xent {freest['ntxent']:.0f} ({tied['ntxent']:.0f}). Both Triplets have their "
    "best at 0.01, the highest rate tried, so more may be to be had.")

# %% tags=["remove-cell"]
def trial(loss, lr, drop, start=0):
    """Validation rsum of a trial of VSE++ on photos."""
    return searches.loc[("vse++", loss, drop, start), lr]


plain_nt, best_nt = trial("ntxent", 1e-3, 0.0), trial("ntxent", 3e-3, 0.4)
sh_without, sh_with = trial("triplet_sh", 1e-3, 0.0), trial("triplet_sh", 3e-3, 0.4, 600)
sh_later = trial("triplet_sh", 1e-3, 0.4, 600)
photo_text = (
    "- **On photos the order is one of settings.** In the search Triplet-SH leads without word dropout, "
    f"{sh_without:.0f} against {trial('ntxent', 3e-3, 0.0):.0f} for NT-Xent on the validation photos, and NT-Xent "
    f"leads with it, {best_nt:.0f}; at a third of the rate and without dropout NT-Xent has {plain_nt:.0f}. For "
    f"Triplet-SH two fifths are as good as none at one rate ({sh_with:.0f}, after a start) and very bad at another "
    f"({sh_later:.0f}). Each with its best, over three seeds, the test has Triplet-SH less NT-Xent at "
    f"{of_photos[sh_nt].difference} ({of_photos[sh_nt].word}), and VSE++ less the bag of words at "
    + "; ".join(f"{LABELS[name]} {v.difference} ({v.word})" for name, v in photo_worth.items())
    + ". Twice the updates did not help NT-Xent on either model, nor did dropping three fifths of the words. "
    "*Undecided* is not *equal*: these intervals are wide, and hold the choice of test photos, but neither another "
    "training set nor what a search finds by luck. VSE++ had seven to nine trials a loss, the bag of words four.")

# %% tags=["remove-cell"]
with_pairs = np.mean([(r["test"]["rsum"], r["test"]["twins"]["swap"]) for r in records.find(study="word_pairs")
                      if r["config"]["model_options"]["ngrams"] == 2], axis=0)
assert smoke or (with_pairs[0] > np.mean([r["test"]["rsum"] for r in vse["triplet_sh"]]) and with_pairs[1] > 75)
near = [own_means["bow", name][1] for name in ("triplet_sh", "ntxent", "smoothap")]
constant_text = (
    f"- **A published constant can decide an order.** At its own temperature, {FULL['vse++', 'smoothap']['tau']:g} "
    f"instead of {constants['smoothap']['tau']:g}, SmoothAP on VSE++ has {own_means['vse++', 'smoothap'][1]:.0f} "
    f"where it had {own_means['vse++', 'smoothap'][0]:.0f}, and with its best, early weights it is no longer shown "
    f"to be last: against Triplet with a margin of its own {with_own['vse++'][ap_t].difference} "
    f"({with_own['vse++'][ap_t].word}). Triplet-SH, with the margin {FULL['vse++', 'triplet_sh']['margin']:g} and "
    "clipped gradients, is ahead of NT-Xent, for which no other temperature was better than the published one, by "
    f"{with_own['vse++'][sh_nt].difference} instead of {d[sh_nt]}. On the bag of words Triplet-SH, NT-Xent and "
    f"SmoothAP then lie within {max(near) - min(near):.1f} of each other.")
assert sooner.low > 0 and with_own["vse++"][sh_nt].difference.low > d[sh_nt].high and max(near) - min(near) < 6
assert own_means["vse++", "smoothap"][1] > own_means["vse++", "smoothap"][0] + 20
assert FULL["vse++", "ntxent"]["tau"] == constants["ntxent"]["tau"] and with_own["vse++"][ap_t].word != "contradicted"
assert all(0 < list(found.index).index(found.idxmax()) < len(found) - 1
           for found in (by_constant(m, name) for m in MODELS for name in NAMES))

# %% tags=["hide-input"]
Markdown("\n".join([
    "- **With 3,000 updates the three losses on pairs come out in ECIR's order on VSE++.** Triplet-SH is ahead of "
    f"NT-Xent by {d[sh_nt]}, and that of Triplet by {d[nt_t]} ({n} draws). **SmoothAP does not keep its place:** "
    f"second in the paper, it is last here, {d[ap_nt]} to NT-Xent and {d[ap_t]} to Triplet, as we trained it: with "
    f"its published temperature and {passes(vse['smoothap'][0]):.0f} passes through the captions.",
    "- **At published constants the order depends on the budget; with the margin found, Triplet-SH leads at "
    "both.** With half the updates, each at its rate, NT-Xent is ahead of Triplet-SH on the same model: "
    f"{budgets[sh_nt][SHORT]} for Triplet-SH less NT-Xent, where the longer runs have "
    f"{budgets[sh_nt][HERE]}, and those with twice the updates {budgets[sh_nt][LONG]}. NT-Xent itself is best with "
    f"1,500; measured against that, Triplet-SH with 3,000 is ahead by {at_best:+.1f} on the mean of shared draws. On "
    f"a bag of words the difference is {b[sh_nt]}, about the 3 rsum below which we call one small. But with the "
    f"margin that the search found, Triplet-SH is ahead with half the updates, too: {sooner}.",
    constant_text,
    turned_by_clip,
    "- **With all four VSE++ knows which words belong together, and with three of them it is ahead of the bag of "
    "words.** Less the bag of words with the same loss: "
    + "; ".join(f"{LABELS[name]} {worth[name].difference}" for name in NAMES) + ". But a bag of words that has pairs of "
    f"neighbours, too, does as well without reading: {with_pairs[0]:.0f} rsum and {with_pairs[1]:.0f} % of swap twins "
    "(in the next chapter).",
    photo_text,
    f"- **A flat loss need not be a dead loss.** At the rate 0.003 Triplet-SH left 2Bα = {plateau:.1f} by itself on "
    "all three draws; at 0.01, tried with 1,500 updates, on none.",
    "- **Recall does not tell whether a caption was read or only its words were counted.** Keep the swap column "
    "and the bag of words beside it.",
]))

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
assert all(d[pair].low > 0 for pair in CLAIMS[:4]) and all(d[pair].high < 0 for pair in (ap_nt, ap_t))
assert {(a, b) for a, b in CLAIMS if on_paper[ON_PAPER[a]] > on_paper[ON_PAPER[b]]} == set(CLAIMS)  # as the paper has it
assert budgets[sh_nt][SHORT].high < 0 < budgets[sh_nt][HERE].mean and b[sh_nt].mean < 0
assert PHOTO_TUNING["vse++"]["ntxent"].items() >= {"lr": 3e-3, "drop_words": 0.4}.items() and best_nt > plain_nt + 10
assert not any(PHOTO_TUNING["vse++"][name].get("drop_words") for name in ("triplet", "triplet_sh"))
assert abs(sh_with - sh_without) < 2 and sh_later < sh_without - 30
assert best_nt > sh_without > trial("ntxent", 3e-3, 0.0)
assert passes(vse["smoothap"][0]) == 250
assert {(name, round(passes(r))) for groups in PHOTOS.values() for name, (r, *_) in groups.items()} == {
    (name, 77 if name == "smoothap" else 15) for name in NAMES}
thirty = {(r["config"]["method"], r["config"]["drop_words"]): r["chosen"]["val_rsum"]
          for r in records.find(study="photo_longer", loss="ntxent")}
assert thirty["vse++", 0.6] < thirty["vse++", 0.4] < best_nt
assert thirty["bow", 0.0] < searches.loc[("bow", "ntxent", 0.0, 0), 1e-3]
tries = searches.count(axis=1).groupby(["method", "loss"]).sum().unstack()[NAMES[:3]]
assert set(tries.loc["bow"]) == {4} and set(tries.loc["vse++"]) == {7, 9}
assert budgets[sh_nt][UNCLIPPED].high < 0 and budgets[sh_nt][LONG].mean > 0
assert freest["ntxent"] > freest["triplet_sh"] > freest["triplet"] and (freest < tied).all()
assert free.idxmax(axis=1)["triplet", 0] == free.idxmax(axis=1)["triplet_sh", 500] == max(free)
assert all(worth[name].difference.low > 0 for name in NAMES[:3]) and worth["smoothap"].difference.mean < 3
assert max(swap_chosen(r) for r in searched if r["config"]["lr"] == 1e-3) < 60  # at 1e-3 nothing chosen reads
last = [r["history"][-1]["twins"]["swap"] for r in vse["smoothap"]]
assert np.mean(last) > np.mean([swap_chosen(r) for r in vse["smoothap"]])
early = [r["chosen"]["update"] for r in vse["smoothap"]]
assert np.median(early) <= 1000 < np.median([r["chosen"]["update"] for r in everything])

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} Your constant
# :label: ex-constant
# ````
#
# You train NT-Xent with $\tau = 0.1$ on batches of 512 pairs. At which loss does a collapsed model sit? Put the number
# in place of the dots. (The temperature may or may not matter.)

# %%
mine = ...

# %% tags=["hide-input"]
def check_constant(value):
    """Passes for the loss of NT-Xent when all scores of a 512 x 512 batch are equal."""
    if value is ...:
        return "your turn"
    expected = NTXent(tau=0.1).collapsed(torch.eye(512, dtype=torch.bool))
    assert abs(value - expected) < 1e-3, f"not yet: got {value}; with equal scores every candidate has probability 1/512"
    return "right"


check_constant(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-constant
# :class: dropdown
# ````
#
# Equal scores give every one of the 512 candidates the same probability, at any temperature: $\ln 512$.

# %%
check_constant(np.log(512))

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} Which evaluation counts?
# :label: ex-selected
# ````
#
# `history` is a list of triples (update, validation rsum, test rsum), one for each evaluation. Write the test rsum that
# a table may print: `mine = lambda history: ...`. If two evaluations are equally good, the earlier one counts.

# %%
mine = ...

# %% tags=["hide-input"]
def check_selected(value):
    """Passes for the test rsum at the best validation rsum, the first of equals."""
    if value is ...:
        return "your turn"
    history = [(500, 300.0, 290.0), (1000, 340.0, 311.0), (1500, 340.0, 335.0), (2000, 320.0, 350.0)]
    got = value(history)
    assert got != 350.0, "not yet: that is the best test rsum, or the last one; test data may choose nothing"
    assert got != 340.0, "not yet: that is a validation rsum"
    assert got != 335.0, "not yet: two are equally good on validation data, and the earlier one counts"
    assert got == 311.0, f"not yet: {got}"
    assert value(history[:3]) == 311.0 and value([(1, 1.0, 2.0)]) == 2.0
    return "right"


check_selected(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-selected
# :class: dropdown
# ````
#
# `max` keeps the first of equals.

# %%
check_selected(lambda history: max(history, key=lambda entry: entry[1])[2])

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} An open one
# :label: ex-fifth-loss
# ````
#
# Somebody shows you a fifth loss. Their table has it at 3 rsum above NT-Xent, three seeds each, on one data set, at the
# learning rate that was best for NT-Xent. List what you would have to run before you believe it, in the order in which
# you would run it, and say after which outcome you would stop.
#
# ````{exercise-end}
# ````
#
# Next: {doc}`reading` asks what these models have not learnt yet, and when they would.
