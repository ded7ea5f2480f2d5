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
# # Fifteen objectives: a size and a ratio
#
# **What you will be able to do:** read any of GOAL's fifteen objectives off two numbers; say which of its two factors
# decides which; notice a push that turns into a pull. **Time:** under a minute on one core. **You need:** {doc}`goal` and
# {doc}`../gradients/one-picture`.
#
# In {doc}`../gradients/one-picture` twelve losses got the same ten scores, and each had something else to say about
# nine negatives. The fifteen objectives that {doc}`goal` built from three triplet weights $T$ and five pair weights $P$
# get the same ten scores here. Before you look: each is a product of two factors, and each moves the positive and one
# negative only. How many of the fifteen can you tell apart on this row, if a learning rate may be chosen for each?
#
# | $T$ | $T(s_+, s_-)$ |
# | --- | --- |
# | con | 1 if $s_- > s_+ - m$, else 0 |
# | nca | $\sigma(\gamma (s_- - s_+))$ |
# | cir | $\sigma(\gamma [(1 - s_+)^2 + s_-^2 - 1])$ |
#
# | $P$ | $P_+(s_+)$ | $P_-(s_-)$ |
# | --- | --- | --- |
# | con | 1 | 1 |
# | lin | $1 - s_+$ | $s_-$ |
# | sig | $\frac{1}{1 + e^{a (s_+ - \lambda)}}$ | $\frac{1}{1 + e^{-b (s_- - \lambda)}}$ |
# | lin-ms | $(1 - \nu_+)(1 - s_+)$ | $(1 + \nu_-)\, s_-$ |
# | sig-ms | $\frac{1}{\mu_+ + e^{a (s_+ - \lambda)}}$ | $\frac{1}{\mu_- + e^{-b (s_- - \lambda)}}$ |
#
# Here $s_+$ is the score of the positive, $s_-$ that of the hardest negative, $\sigma$ the logistic function, $m = 0.2$
# a margin, $a = 2$, $b = 10$, $\lambda = 0.5$; and $\gamma = 10$ is a sharpness, the inverse of a temperature (GOAL
# prints τ for it, so the argument in the code is called `tau`). $\nu$ and $\mu$ are means over neighbours: with a minus
# over the *relative negatives*, the row's other negatives above the positive less 0.1; with a plus over the *relative
# positives*, the query's other positives below the hardest negative plus 0.1. Where there are none, $\nu = 0$ and $\mu
# = 1$.

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
from icrlib import chapter, paper, plots
from icrlib.agreement import agreement
from icrlib.losses import GradientObjective, by_name, objectives
from icrlib.widgets import frames_slider, live

smoke = chapter.start(smoke)
PUSHED, PULLED = "#b2182b", "#2166ac"  # red is pushed down, blue is pulled up

# %%
scores = [0.60, 0.68, 0.62, 0.56, 0.49, 0.45, 0.37, 0.25, 0.08, -0.12]
row = torch.tensor([scores], dtype=torch.float64)
own = torch.arange(10)[None] == 0  # the first is the positive

# %% tags=["hide-input"] mystnb={"image": {"alt": "Ten dots on a line of scores from minus 0.12 to 0.68. The positive is at 0.60; two of the nine negatives are to its right."}, "figure": {"name": "fig-fifteen-row", "caption": "One query, ten candidates, as before. Blue: the positive. The objectives move the positive and the negative on the far right, and nobody else. lin-ms and sig-ms also read the scores of other negatives, here the two at 0.62 and 0.56."}}
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
# ## How many numbers?
#
# A common factor of all weights of a row is only a learning rate. So divide each row of weights by the pull on its
# positive, as before. The positive then has −1, the hardest negative has the ratio $w_- / w_+$, and all others have zero:
# one number is left. And because $w_+ = T P_+$ and $w_- = T P_-$ share their first factor, $T$ drops out of it. Rows that
# differ only in $T$ should therefore look the same, and of the fifteen at most five should be left.

# %%
def normalised(loss, scores=row, positives=own):
    w = loss.weights(scores, positives)
    return w / w[positives].abs()[:, None]


family = objectives()
released = objectives(convention="released")
for objective in [*family.values(), *released.values()]:
    w = objective.weights(row, own)[0]
    assert (w[:2] != 0).all() and (w[2:] == 0).all()  # only the positive and the hardest
ratio = {name: float(normalised(o)[0, 1]) for name, o in family.items()}
for name, value in ratio.items():
    assert abs(value - ratio["goal:con x " + name.split(" x ")[1]]) < 1e-12
different = {round(value, 6) for value in ratio.values()}
print("different ratios among the fifteen:", len(different))

# %% [markdown]
# The table of the ratios has a row for each $T$ and a column for each $P$, once by the paper's equations and once as the
# released code computes them. If the argument is right, the three rows of a panel are equal.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two tables of three triplet weights by five pair weights, as in the paper and as released, with the ratio of push to pull in each cell. All three rows of a table are equal. con has 1.00, lin 1.70, lin-ms 1.85, sig 1.91; sig-ms has 3.76 in the paper and 2.07 as released."}, "figure": {"name": "fig-fifteen", "caption": "Push over pull of the fifteen objectives on our row. The three rows of a panel are equal: the ratio depends on P alone, so there are five of them. The ratios of the release differ in sig-ms only: this row has no relative positives, and the release takes 0 for a mean over nothing. (It has other T con and T cir, too, which no ratio can show.)"}}
pair_names = list(dict.fromkeys(name.split(" x ")[1] for name in family))
ratios = {title: torch.tensor([float(normalised(o)[0, 1]) for o in group.values()]).reshape(3, 5)
          for title, group in {"paper": family, "released": released}.items()}
differ = (ratios["paper"] - ratios["released"]).abs() > 1e-6
assert [pair_names[k] for k in range(5) if differ[:, k].any()] == ["sig-ms"]
fig, axes = plt.subplots(2, 1, figsize=(5.6, 4.6), sharex=True)
for ax, (title, values) in zip(axes, ratios.items(), strict=True):
    sns.heatmap(values.numpy(), ax=ax, cmap="Reds", vmin=0, vmax=4, annot=True, fmt=".2f", cbar=False, linewidths=0.6,
                xticklabels=[f"P {p}" for p in pair_names], yticklabels=["T con", "T nca", "T cir"])
    for text, value in zip(ax.texts, values.flatten().tolist(), strict=True):
        text.set_color("white" if value > 3 else "black")
    ax.set_title(title, fontsize=11)
    ax.tick_params(length=0, labelsize=10)
    ax.tick_params(axis="y", rotation=0)

# %% [markdown]
# The other half is the size, $w_+ = T \cdot P_+$. Both factors enter it, so there could be up to fifteen sizes. We
# count them on our row.

# %% tags=["hide-input", "nbval-check-output"]
sizes = {title: len({round(-float(o.weights(row, own)[0, 0]), 6) for o in group.values()})
         for title, group in {"paper": family, "released": released}.items()}
pulls = {p: float(family[f"goal:con x {p}"].weights(row, own)[0, 0].abs()) for p in pair_names}
assert pulls["lin"] == pulls["lin-ms"] and pulls["sig"] == pulls["sig-ms"]  # no other positive: no relative term
print(f"different sizes among the fifteen: {sizes['paper']} in the paper, {sizes['released']} as released")

# %% [markdown]
# In the paper's convention these are three values of $T$ times three of $P_+$: a row with one positive has no relative
# positives, so lin-ms pulls like lin, and sig-ms like sig. The release takes 0 for an empty mean, which gives sig-ms a
# pull of its own.
#
# How does the size depend on the scores? We look at three situations: all negatives move together, so that the hardest
# has the score we want. The positive stays at 0.60. A factor that pull and push share moves a point along the diagonal
# of the figure; only $P$ can move it off a parallel to the diagonal.


# %%
def situation(hardest):
    """The row, with its negatives moved so that the highest is at `hardest`."""
    moved = row - row[0, 1] + hardest
    return torch.where(own, row, moved)


def pull_and_push(hardest, group=family):
    w = [o.weights(situation(hardest), own)[0, :2] for o in group.values()]
    return torch.stack(w) * torch.tensor([-1.0, 1.0])  # w+ and w-


# %% tags=["hide-input"] mystnb={"image": {"alt": "Three panels, easy, hard and violated, with pull to the right and push up, both logarithmic. Along the diagonal lie points of equal pull and push. In the easy panel only nca and cir are there, far down; in the violated panel all are near the upper right, cir lowest."}, "figure": {"name": "fig-size-ratio", "caption": "Pull and push of the fifteen. T moves a point along the diagonal; P moves it along and across. Colour: T; marker: P. T con is zero in the first panel, so its five are missing there. In the first two panels the second-highest negative, 0.06 below the highest, is not above the positive less 0.1. So there are no relative negatives: lin-ms falls on lin, and the crosses of sig-ms hide the triangles of sig."}}
SITUATIONS = {"easy": 0.3, "hard": 0.55, "violated": 0.8}
fig, axes = plt.subplots(1, 3, figsize=(7, 3.5), sharex=True, sharey=True)
for ax, (title, s) in zip(axes, SITUATIONS.items(), strict=True):
    ax.plot([1e-5, 10], [1e-5, 10], color="#bbbbbb", lw=1, zorder=0)
    for name, (plus, minus) in zip(family, pull_and_push(s).tolist(), strict=True):
        if plus > 0:
            ax.plot(plus, minus, plots.marker(name), color=plots.colour(name), ms=7, alpha=0.75)
    ax.set(xscale="log", yscale="log", xlim=(1e-5, 10), ylim=(1e-5, 10), aspect="equal")
    ax.set_title(f"{title}, $s_-$ = {s}", fontsize=10.5)
    ax.set_xticks([1e-4, 1e-2, 1], ["0.0001", "0.01", "1"], fontsize=9.5)
    ax.set_yticks([1e-4, 1e-2, 1], ["0.0001", "0.01", "1"], fontsize=9.5)
    ax.minorticks_off()
keys = [plt.Line2D([], [], marker=plots.marker(f"goal:con x {p}"), color="#555555", ls="", label=p)
        for p in ("con", "lin", "sig", "lin-ms", "sig-ms")]
keys += [plt.Line2D([], [], lw=4, color=plots.colour(f"goal:{t} x con"), label=f"T {t}")
         for t in ("con", "nca", "cir")]
axes[0].set_ylabel("push $w_-$")
axes[1].set_xlabel("pull $w_+$")
fig.legend(handles=keys, ncol=4, loc="outside lower center", fontsize=10);

# %% tags=["hide-input"]
T = {(t, name): float(pull_and_push(s)[list(family).index(f"goal:{t} x con"), 0])
     for t in ("con", "nca", "cir") for name, s in SITUATIONS.items()}
paper.styled(pd.DataFrame([
    {"situation": name} | {f"T {t}": f"{T[t, name]:.4f}" for t in ("con", "nca", "cir")} for name in SITUATIONS]),
    "The triplet weight T, as in GOAL's equations: m = 0.2, sharpness γ = 10.", name="situations")

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
at_each = {title: dict(zip(family, pull_and_push(s), strict=True)) for title, s in SITUATIONS.items()}
for title in ("easy", "hard"):
    assert all(torch.allclose(at_each[title][f"goal:{t} x {p}"], at_each[title][f"goal:{t} x {p}-ms"])
               for t in ("con", "nca", "cir") for p in ("lin", "sig"))
easy, violated = at_each["easy"], at_each["violated"]
assert all((float(v[0]) == 0) == name.startswith("goal:con") for name, v in easy.items())
assert max(float(v.max()) for v in easy.values()) < 0.05 < 2 * min(float(v.min()) for v in violated.values())
assert min(violated, key=lambda name: float(violated[name][0])).startswith("goal:cir")

# %% [markdown]
# Now slide the hardest negative. Each line is one objective, its pull to the left and its push to the right. Sizes span
# many powers of ten, so the axis is logarithmic but for the piece around zero. A bar of the push that goes to the left is
# an *attraction*: the negative is drawn nearer.

# %% tags=["hide-input", "remove-output"]
def draw_fifteen(hardest):
    plus, minus = pull_and_push(hardest).T
    assert plus.max() < 1.1 and minus.max() < 5
    # a power of ten is as wide on the left as on the right: 7.8 and 10.8 are the lengths of the two axes in powers of ten
    fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.9), sharey=True, width_ratios=(7.8, 10.8))
    axes[0].barh(range(15), -plus, color=PULLED)
    axes[1].barh(range(15), minus, color=[PULLED if value < 0 else PUSHED for value in minus])
    for line in (plus == 0).nonzero().flatten().tolist():
        axes[1].text(2e-6, line, "silent", fontsize=8.5, va="center", color="#555555")
    for ax in axes:
        ax.set_xscale("symlog", linthresh=1e-6, linscale=0.4)
        ax.axvline(0, color="black", lw=0.8)
    ticks = [1e-4, 1e-2, 1]
    axes[0].set(xlim=(-8, 1e-6), title="pull on the positive")
    axes[0].set_xticks([-x for x in ticks[::-1]] + [0], ["1", "0.01", "0.0001", "0"], fontsize=9)
    axes[1].set(xlim=(-1e-3, 8), title="push on the negative")
    axes[1].set_xticks([-1e-4, 0, *ticks], ["−0.0001", "0", "0.0001", "0.01", "1"], fontsize=9)
    axes[0].set_yticks(range(15), [plots.label(name) for name in family], fontsize=9)
    axes[0].invert_yaxis()
    fig.suptitle(f"$s_+$ = 0.60, $s_-$ = {hardest:.2f}", fontsize=11)
    return fig


hardest = [-0.2, 0.1, 0.3, 0.45, 0.6, 0.7, 0.8, 0.9]
live(draw_fifteen, hardest, label="s₋")  # with a kernel; the page has the next one

# %% [markdown]
# Expect the five with T con to be silent until the negative is inside the margin, above 0.40; the others get very weak,
# but none of them is ever silent.


# %% tags=["hide-input"]
def said(s):
    plus, minus = pull_and_push(s).T
    strongest = list(family)[int(minus.argmax())]
    return (f"Hardest negative at {s}. {int((plus == 0).sum())} of 15 objectives are silent, "
            f"{int((minus < 0).sum())} attract the negative; the largest push is {float(minus.max()):.2g}, "
            f"by {plots.label(strongest)}.")


assert all(((pull_and_push(s)[:, 0] == 0).sum() == 5) == (s < 0.4) for s in hardest)  # con × anything, outside the margin
assert all(int((pull_and_push(s)[:, 0] > 1e-6).sum()) >= 10 for s in hardest)  # no frame is empty
frames_slider(draw_fifteen, hardest, label="hardest negative s₋", start=4, alt=said)

# %% tags=["hide-input"]
attracted = {s: int((pull_and_push(s)[:, 1] < 0).sum()) for s in hardest}
largest_attraction = float(-pull_and_push(-0.2)[:, 1].min())
assert [s for s, count in attracted.items() if count] == [-0.2]
high = {t: float(pull_and_push(0.9)[list(family).index(f"goal:{t} x con"), 0]) for t in ("nca", "cir")}
strong = [name for name in family if pull_and_push(-0.2)[list(family).index(name), 1] < 0]
assert set(strong) == {f"goal:{t} x {p}" for t in ("nca", "cir") for p in ("lin", "lin-ms")}
low = torch.tensor([-0.2], dtype=torch.float64)
drawn = -float(family["goal:con x lin"].on_plane(low, low)[1])
Markdown(f"At s₋ = −0.2, **{attracted[-0.2]}** objectives *attract* the negative: those of T nca and T cir with P "
         "lin or lin-ms, whose P₋ has the sign of s₋. (T con is zero there.) The attraction is weak, "
         f"{largest_attraction:.5f} at most, but only because the positive stays at 0.60, which makes T small. If the "
         f"positive were at −0.2, too, con × lin would attract the negative with {drawn:.1f}. At s₋ = 0.9 T nca is "
         f"{high['nca']:.2f} and T cir **{high['cir']:.2f}**.")

# %% [markdown]
# ## Whom are they like?
#
# Two numbers a row say all about an objective, but a batch has many rows. Lay the weights of a whole batch out as one
# long vector, as in {doc}`../gradients/one-picture`: the cosine between two such vectors says how alike two steps are,
# whatever their length. Four of the fifteen join the first eight of the twelve losses. What should one expect? con ×
# con has Triplet-SH's gradient and nca × con, up to a factor, the hardest-negative NT-Xent's, so each of these two
# cosines must be 1. The others move the same two scores of a row, so they should be closer to those two losses than to
# any that moves many negatives. The batch is a real one: a bag of words, trained for a few seconds, 128 test pictures
# with one caption each.

# %%
data = icrlib.load_dataset("scenes", smoke=smoke)
split = data.test
first = [int((split.image_of == n).nonzero()[0]) for n in range(min(128, len(split)))]
run = icrlib.train(data, "bow", updates=400, smoke=smoke, progress=False)
images, captions = icrlib.evaluation.embed(run.model, split)
batch = (images[: len(first)] @ captions[first].T).double()
eye = torch.eye(len(first), dtype=torch.bool)
print(f"{len(first)} pictures with a caption each")

# %% tags=["remove-cell"]
EIGHT = ["triplet", "triplet_sh", "ntxent", "smoothap", "ntxent_hard", "circle", "binomial_deviance", "multi_similarity"]
picked = ("goal:con x con", "goal:nca x con", "goal:cir x lin", "goal:cir x sig-ms")
compared = {name: by_name(name) for name in EIGHT} | {name: family[name] for name in picked}
names = list(compared)
vectors = [loss.weights(batch, eye).flatten() for loss in compared.values()]
unit = torch.stack([v / v.norm() for v in vectors])
alike = unit @ unit.T
at = {name: place for place, name in enumerate(names)}
for a, b in (("triplet_sh", "goal:con x con"), ("ntxent_hard", "goal:nca x con")):
    assert abs(float(alike[at[a], at[b]]) - 1) < 1e-12  # the same gradient, up to a factor

# %% tags=["hide-input"] mystnb={"image": {"alt": "Heat map of cosines between the weights of twelve losses and objectives, in hundredths, ordered by their likeness to Triplet-SH."}, "figure": {"name": "fig-fifteen-agreement", "caption": "Cosine between weights on the same trained batch, in hundredths. Ordered by likeness to Triplet-SH. 100: the same step but for its length."}}
order = alike[at["triplet_sh"]].argsort(descending=True, stable=True)
ticks = [plots.label(names[k]) for k in order]
values = 100 * alike[order][:, order].numpy()
fig, ax = plt.subplots(figsize=(6, 5.4))
sns.heatmap(values, ax=ax, cmap="Blues", vmin=0, vmax=100, annot=True, fmt=".0f",
            annot_kws={"size": 11}, cbar=False, xticklabels=ticks, yticklabels=ticks)
for text, value in zip(ax.texts, values.flat, strict=True):
    text.set_color("white" if value > 72 else "black")
ax.tick_params(length=0, labelsize=10.5)
plt.setp(ax.get_xticklabels(), rotation=55, ha="right", rotation_mode="anchor");

# %% [markdown]
# The two with P con are as expected. cir × lin is not: it is nearest to Triplet. And cir × sig-ms is nearest to hard
# NT-Xent, but Triplet-SH comes only behind Multi-Similarity and Circle. What did the expectation forget? A batch has
# two kinds of differences in it. *Within* a row a loss divides its weight over the candidates, and that is what all
# pictures so far have shown. But *between* rows it also decides how much a row counts, by the size of $T$ times $P$. So
# take the two apart. If every row is scaled to the same length first, the cosine compares only the division within
# rows; if each row is replaced by its length, it compares only how much the rows count.

# %% tags=["remove-cell"]
def cosine(a, b):
    return float((a * b).sum() / (a.norm() * b.norm()))


def apart(one, other):
    """Cosine of the weights of a batch: whole, with rows of equal length, and of the lengths of rows alone."""
    a, b = compared[one].weights(batch, eye), compared[other].weights(batch, eye)
    rows_a, rows_b = a.norm(dim=1), b.norm(dim=1)
    both = (rows_a > 0) & (rows_b > 0)
    equal = cosine(a[both] / rows_a[both, None], b[both] / rows_b[both, None])
    return cosine(a, b), equal, cosine(rows_a, rows_b)


# %% tags=["hide-input"]
told = {(name, other): apart(name, other) for name in picked[2:] for other in EIGHT}
paper.styled(pd.DataFrame([
    {"beside": plots.label(other)} | {f"{plots.label(name)}: {what}": f"{told[name, other][k]:.2f}"
                                      for name in picked[2:] for k, what in enumerate(("whole", "within", "between"))}
    for other in EIGHT]), "Cosines of two objectives with eight losses on one trained batch. Within: each row scaled "
    "to the same length, only rows that both move. Between: lengths of the rows only.", name="within-between")

# %% tags=["hide-input"]
parts = ("whole", "within", "between")
ends = {name: {what: max(EIGHT, key=lambda other, k=k, n=name: told[n, other][k]) for k, what in enumerate(parts)}
        for name in picked[2:]}


def carriers(name):
    """The least number of rows that hold half of the sum of all lengths."""
    lengths = compared[name].weights(batch, eye).norm(dim=1).sort(descending=True).values
    return 1 + int((lengths.cumsum(0) < lengths.sum() / 2).sum())


half = {name: carriers(name) for name in ("goal:cir x lin", "goal:cir x sig-ms", "triplet", "triplet_sh")}
by_within = {name: sorted(EIGHT, key=lambda other, n=name: -told[n, other][1]) for name in picked[2:]}
fourth, fifth = ([told[name, ranked[k]][1] for name, ranked in by_within.items()] for k in (3, 4))
only_ratio = cosine(torch.tensor([1.0, 1.0]), torch.tensor([1.0, ratio["goal:cir x lin"]]))
Markdown(" ".join(f"Within its rows {plots.label(name)} is nearest to {plots.label(of['within'])}, between rows to "
                  f"{plots.label(of['between'])}, and on the whole to {plots.label(of['whole'])}."
                  for name, of in ends.items())
         + " Within rows both are near to four losses: Circle, Multi-Similarity, Triplet-SH and hard NT-Xent, with "
         f"cosines of {min(fourth):.2f} and more; with the four others it is {max(fifth):.2f} at most. That the two "
         "losses of one negative are not the nearest comes from the ratio. It is all that can differ between two rows "
         f"of weights on the same two candidates: ratios of 1 and {ratio['goal:cir x lin']:.1f} have a cosine of "
         f"{only_ratio:.3f}.")

# %% tags=["hide-input"]
own_score, hardest_score = batch.diagonal(), batch.masked_fill(eye, -torch.inf).amax(1)
top_T = set(family["goal:cir x con"].weights(batch, eye).norm(dim=1).topk(min(10, len(batch))).indices.tolist())
top_lead = set((hardest_score - own_score).topk(min(10, len(batch))).indices.tolist())
apart_from = [float(family["goal:cir x con"].on_plane(*torch.tensor([[a], [b]], dtype=torch.float64))[0])
              for a, b in ((0.95, 0.95), (0.2, 0.4))]
Markdown(f"With T cir few rows count: {half['goal:cir x lin']} of the {len(batch)} rows hold half of all length with "
         f"cir × lin, {half['goal:cir x sig-ms']} with cir × sig-ms, but {half['triplet_sh']} with Triplet-SH. T cir "
         "measures how far a row is from the solved point (1, 0), and not how far its negative is ahead: two scores of "
         f"0.95 get {apart_from[0]:.2f}, and a positive at 0.2 with a negative at 0.4 gets {apart_from[1]:.2f}. In "
         "this batch that is nearly the same: of the ten rows with the largest T cir, "
         f"{len(top_T & top_lead)} are among the ten whose negative is farthest ahead. With Triplet few rows count, "
         f"too ({half['triplet']} hold half). A likely reason, not tested, why it is nearest between rows: it weighs "
         "a row by how many of its negatives break the margin, and in the same rows the positive is far from 1.")

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Checked by machine", "code_prompt_hide": "Hide the check"}
if not smoke:
    near = {"circle", "multi_similarity"}
    assert all(set(ranked[:2]) == near for ranked in by_within.values())
    assert all(set(ranked[2:4]) == {"triplet_sh", "ntxent_hard"} for ranked in by_within.values())
    assert min(fourth) > 0.9 > 0.8 > max(fifth)
    for name, nearest in (("goal:cir x lin", "triplet"), ("goal:cir x sig-ms", "ntxent_hard")):
        assert ends[name]["whole"] == nearest and ends[name]["between"] == "triplet"
        assert all(told[name, other][0] > told[name, "triplet_sh"][0] for other in near)
    assert max(half["goal:cir x lin"], half["goal:cir x sig-ms"]) < half["triplet"] < half["triplet_sh"] / 3
    assert len(top_T & top_lead) >= 8  # "nearly the same"

# %% [markdown]
# ## Each objective, checked
#
# Closed form against autograd, and against differences of the *value*. The first must hold for all fifteen. The second
# can hold only where the gradient is the derivative of the value that the code returns, and a designed gradient returns a
# surrogate, a number that was made to have the right slope and nothing else.

# %%
S4, EYE4 = plots.example()
point = 0.9 * S4 + 0.013  # off every hinge
checked = {}
both = family | {f"{name} (released)": o for name, o in released.items()}
for name, loss in both.items():
    for s, mask in ((point, EYE4), (row, own)):
        found = agreement(
            loss.weights(s, mask), lambda x, f=loss, p=mask: f.per_query(x, p), s)
        assert found["autograd"] < 1e-10
        checked[name] = max(checked.get(name, 0), found["differences"])
derivative = {plots.label(name) for name, gap in checked.items() if gap < 1e-6}
print(f"{len(checked)} agree with autograd, and with differences of their values",
      " and ".join(sorted(derivative)))

# %% [markdown]
# Failing the second test does not mean that no loss exists. nca × con fails, and yet γ times its gradient is that of
# hard NT-Xent with the temperature 1/γ. It is the *surrogate* whose value is not that loss. Which of the fifteen have
# one: {doc}`integrate`.

# %%
gamma = 10.0
designed = GradientObjective("nca", "con", tau=gamma).weights(point, EYE4)
known = by_name("ntxent_hard", tau=1 / gamma).weights(point, EYE4)
gap = float((gamma * designed - known).abs().max())
print(f"γ times nca × con, less hard NT-Xent: {gap:.0e} at most")
assert gap < 1e-12

# %% [markdown]
# ## What we found

# %% tags=["hide-input"]
assert derivative == {"con × con", "con × con (released)"} or derivative == {"con × con"}
Markdown("\n".join([
    f"- A designed gradient of one negative is one ratio and one size. On our row the fifteen have {len(different)} "
    f"ratios, which P alone decides, and {sizes['paper']} sizes, T times the pull of P.",
    "- T and P₊ together decide how much a row counts beside the others. With T con a row whose negative is outside "
    "the margin does not count at all.",
    "- P lin and lin-ms attract a negative with a score below zero: "
    f"{attracted[-0.2]} of 15 objectives did at −0.2, weakly with the positive at 0.60, and con × lin would with "
    f"{drawn:.1f} if both scores were −0.2.",
    "- In this one batch the objectives with T cir were near to Triplet-SH within rows and far from it on the whole, "
    "because other rows count: "
    + "; ".join(f"{plots.label(name)} has a cosine of {told[name, 'triplet_sh'][1]:.2f} with Triplet-SH within rows, "
                f"and of {told[name, 'triplet_sh'][0]:.2f} on the whole" for name in ends)
    + ". Which rows count is not all either: between rows cir × sig-ms is nearest to Triplet "
    f"({told['goal:cir x sig-ms', 'triplet'][2]:.2f}), and on the whole it has "
    f"{told['goal:cir x sig-ms', 'triplet'][0]:.2f} with it.",
]))

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} Ratio and size
# :label: ex-ratio-size
# ````
#
# On a row with $s_+ = 0.5$ and $s_- = 0.5$ the pair weight lin has $P_+ = 1 - s_+$ and $P_- = s_-$. An objective with
# $T = 0.2$ uses it. What are its ratio $w_- / w_+$ and its size $w_+$? `mine = (ratio, size)`

# %%
mine = ...

# %% tags=["hide-input"]
def check_ratio_size(value):
    """Passes for the ratio and the size of T = 0.2 with lin at 0.5 and 0.5."""
    if value is ...:
        return "your turn"
    ratio, size = value
    assert chapter.near(ratio, 1), "not yet: T is in both weights, so the ratio is that of P_- and P_+ alone"
    assert chapter.near(size, 0.1), f"not yet: the size is T times P_+, and you have {size}"
    return "right"


check_ratio_size(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-ratio-size
# :class: dropdown
# ````
#
# $P_+ = P_- = 0.5$: the ratio is 1, and the size $0.2 \cdot 0.5$.

# %%
check_ratio_size((0.5 / 0.5, 0.2 * 0.5))

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} A margin on the ratio
# :label: ex-lin-turns
# ````
#
# lin attracts a negative whose score is below zero. Write a pair weight for negatives that does what lin does above
# zero and leaves all others alone: `def mine(s): ...`, for a tensor of scores.

# %%
mine = ...

# %% tags=["hide-input"]
def check_no_attraction(value):
    """Passes for lin's weight where it is positive, and zero elsewhere."""
    if value is ...:
        return "your turn"
    s = torch.tensor([-0.9, -0.2, 0.0, 0.3, 1.0], dtype=torch.float64)
    got = torch.as_tensor(value(s), dtype=torch.float64)
    assert got.shape == s.shape, "not yet: a weight for each score is wanted"
    assert not (got < 0).any(), "not yet: somebody is still attracted"
    assert torch.allclose(got[3:], s[3:]), "not yet: above zero it should be lin, the score itself"
    assert not got[:3].any(), "not yet: below zero nobody should be touched"
    return "right"


check_no_attraction(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-lin-turns
# :class: dropdown
# ````

# %%
check_no_attraction(lambda s: s.clamp(min=0))

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} An open one
# :label: ex-fifteen-open
# ````
#
# The ratio $w_- / w_+$ says whether a row is pulled together or pushed apart on the whole. What would a training look
# like whose ratio is 4 on every row, and one whose ratio is a quarter? Think of the mean of all scores, and of two
# captions that belong to no query of the batch. Then say which numbers of a training you would have to record to see
# whether you are right.
#
# ````{exercise-end}
# ````
#
# Next: {doc}`integrate` asks which of the fifteen are the gradient of a loss.
