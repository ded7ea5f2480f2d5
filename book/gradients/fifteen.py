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
# (ch-fifteen)=
# # Fifteen, trained: the plain one wins, and why cir is late
#
# GOAL {cite:p}`xuan2023dissecting` trains with a designed gradient: one of three triplet weights (con, nca, cir) times one
# of five pair weights (con, lin, sig, lin-ms, sig-ms; {numref}`Chapter {number} <ch-goal>` has the formulas). It concludes
# that cir × sig-ms is generally the best of the fifteen, and con × con, which is Triplet-SH, the one to beat. We trained
# all fifteen on five draws of drawn scenes: the same model, 3,000 updates, for each the learning rate that suits it best of
# three. Which one wins?
#
# **The plain one wins: con × con has 428.3 rsum, and all 14 others lie below it.** cir × sig-ms is number 12 of 15, 58 rsum
# behind. The five with cir, as the paper prints it, stay below a bag of words (389). Why they are late is the second half
# of this page.

# %% tags=["parameters", "remove-cell"]
smoke: bool = False  # nothing here depends on it

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
from scipy import stats

from icrlib import chapter, evidence, paper, plots, records
from icrlib.evidence.sentences import check, greater, number
from icrlib.losses import GradientObjective, goal

smoke = chapter.start(smoke)
T_NAMES, P_NAMES = list(goal.TRIPLET_WEIGHTS), list(goal.PAIR_WEIGHTS)
NAMES = [f"goal:{t} x {p}" for t in T_NAMES for p in P_NAMES]
CIR = [name for name in NAMES if name.startswith("goal:cir")]


def of(study, convention="paper"):
    """The runs of a study by objective, in one of the two conventions."""
    every = [r for r in records.find(study=study) if r["config"]["loss_options"]["convention"] == convention]
    found = {name: [r for r in every if r["config"]["loss"] == name] for name in NAMES}
    return {name: group for name, group in found.items() if group}


# %% tags=["remove-cell"]
printed, released, small, longer = of("goal"), of("goal", "released"), of("goal_size"), of("goal_longer")
TUNING, TUNING_RELEASED = ({loss: best for (_, loss), best in evidence.choices(
    r for group in of("goal_tuning", c).values() for r in group).items()} for c in ("paper", "released"))
con_con = printed["goal:con x con"]
draws = sorted(r["config"]["seed"] for r in con_con)
bow, triplet_sh = ([r for r in records.find(study="ecir", method=method, loss=loss) if r["config"]["seed"] in draws]
                   for method, loss in (("bow", "ntxent"), ("vse++", "triplet_sh")))
CLIPPED = {n: TUNING[n] | {"grad_clip": 0.02 if "cir" in n else 2.0} for n in NAMES}


def mean(group):
    return float(np.mean([record["test"]["rsum"] for record in group]))


def swap(group):
    return float(np.mean([record["test"]["twins"]["swap"] for record in group]))


def apart(first, second, tuning=TUNING | TUNING_RELEASED, **more):
    """The mean difference of two groups of runs, paired by draw, with its 95 % interval."""
    return evidence.verdict("a − b", "greater", first, second, tuning=tuning, **more).difference


# %% tags=["remove-input"] mystnb={"image": {"alt": "Test rsum of fifteen objectives, one row each, small dots for the draws and a large mark for their mean, with two reference lines. con times con is farthest to the right; the five with cir lie left of the bag of words."}, "figure": {"name": "fig-grid-fifteen", "caption": "Test rsum of the fifteen on scenes, by the paper's printed formulas. Small dots: draws of data; large marks: means. Colour is T, marker is P. The objective that the paper recommends is the lowest row."}}
fig, ax = plt.subplots(figsize=(5.8, 3.7))
for row, name in enumerate(printed):
    values = [r["test"]["rsum"] for r in printed[name]]
    ax.plot(values, [row] * len(values), ".", color=plots.colour(name), ms=5, alpha=0.6)
    ax.plot(np.mean(values), row, marker=plots.marker(name), color=plots.colour(name), ms=7)
for name, group, style in (("bow", bow, "--"), ("triplet_sh", triplet_sh, "-")):
    ax.axvline(mean(group), color=plots.colour(name), ls=style, lw=1.2, label=plots.label(name), zorder=0)
ax.set_yticks(range(len(printed)), [plots.label(name) for name in printed], fontsize=9.5)
ax.invert_yaxis()
ax.set_xlabel("test rsum (the sum of six recalls, 600 at most)")
ax.legend(loc="best", fontsize=10);

# %% [markdown]
# *You will be able to read a table of fifteen rows without picking the winner by chance, and to find out why a training is
# slow although its formula is sound · 12 minutes to read · under a minute to run. You need {numref}`Chapter {number} <ch-goal>`.*

# %% tags=["hide-input"]
# checked by machine
def place(name, *groups):
    """Number of an objective in falling order of mean rsum."""
    return 1 + sum(mean(group) > mean(groups[NAMES.index(name)]) for group in groups)


check("The plain one wins: con × con has 428.3 rsum, and all 14 others lie below it.",
      number("428.3", mean, con_con, draws=5),
      number("14", lambda first, *others: sum(apart(one, first).high < 0 for one in others),
             con_con, *[printed[n] for n in NAMES[1:]], draws=5))
check("cir × sig-ms is number 12 of 15, 58 rsum behind.",
      number("12", lambda *groups: place("goal:cir x sig-ms", *groups), *printed.values(), draws=5),
      number("58", lambda a, b: mean(a) - mean(b), con_con, printed["goal:cir x sig-ms"], draws=5), also="15")
check("The five with cir, as the paper prints it, stay below a bag of words (389).",
      *[greater(mean, bow, printed[n], draws=5) for n in CIR], number("389", mean, bow, draws=5))

# %% [markdown]
# ## What the paper printed
#
# GOAL trains the fifteen in six settings on MS-COCO and prints R@1 in both directions, each a mean of three runs. Here are
# its 180 numbers, as gains over con × con.

# %% tags=["hide-input"] mystnb={"image": {"alt": "A heat map with a row for each of fifteen objectives and a column for each of twelve printed results. Colour is the gain in R@1 over con times con. A dot marks the best cell of each column; the dots are spread over several rows."}, "figure": {"name": "fig-gains", "caption": "R@1 of each objective less that of con × con (Triplet-SH), as printed in GOAL's Tables 3 to 5. VSE++ on a frozen or fine-tuned (“tuned”) ResNet-152 or ViT, then VSE∞ on two kinds of features; “i” is image to text, “t” text to image. A dot marks the best of a column."}}
OBJECTIVES = [name.removeprefix("goal:") for name in NAMES]
wide = paper.goal.cells().pivot(index="objective", columns=["setting", "direction"], values="mean").loc[OBJECTIVES]
wide = wide[[(setting, side) for setting in paper.goal.SETTINGS for side in paper.goal.SIDES]]
gain = wide - wide.loc[paper.goal.BASELINE]
fig, ax = plt.subplots(figsize=(6.2, 5.6))
limit = float(gain.abs().max().max())
shown = ax.imshow(gain, cmap="RdBu", vmin=-limit, vmax=limit, aspect="auto")
lines, columns = np.nonzero((wide == wide.max()).to_numpy())
ax.plot(columns, lines, "o", color="black", mec="white", mew=1, ms=7)
ax.set_yticks(range(15), [plots.label(name) for name in NAMES], fontsize=11)
SHORT = {"r152": "R152", "r152_ft": "R152, tuned", "vit": "ViT", "vit_ft": "ViT, tuned", "butd": "BUTD", "wsl": "WSL"}
names = [f"{SHORT[setting]}, {side[0]}" for setting, side in wide.columns]
ax.set_xticks(range(12), names, rotation=60, ha="right", rotation_mode="anchor", fontsize=11)
fig.colorbar(shown, location="top", aspect=30, label="R@1 over con × con");

# %% [markdown]
# Nearly everything is above con × con. But cir × sig-ms is best in 5 of 12 columns only. Its mean gain of 2.28 is the
# highest, and nca × sig-ms follows with 2.20. Is a lead of 0.08 large? Ask first what one gets for nothing: let fifteen
# objectives be equally good, train each once, and take the best.

# %% tags=["nbval-check-output"]
rng = np.random.default_rng(0)
best_of_fifteen = rng.standard_normal((400_000, 15)).max(axis=1).mean()
print(f"the best of 15 equal ones is {best_of_fifteen:.2f} standard deviations ahead")

# %% [markdown]
# **The best of fifteen equal ones leads by 1.74 standard deviations of a run.** The paper's deviations are mostly .1 to .5,
# so the gains over con × con are more than that, and the order among the leaders is not: of the twelve columns cir × sig-ms is
# clearly different from nca × sig-ms in one.
#
# The paper also prints some of its cells twice, in Tables 2 and 6. 7 of 12 differ, and three of these cannot be the same runs:
# con × con on BUTD, image to text, is 58.3 in one table and 58.9 in the other. And Table 2 cannot show that training by
# con × con is training by Triplet-SH, since it takes the second number from other people's code. Here both are trained by
# one loop from the same start, and all 5 pairs of runs agree in every test number.

# %% tags=["hide-input"]
def t_between(column, first, second, n=3):
    """t of the difference of two printed cells; a printed deviation of .0 counts as .05, its rounding."""
    cells = paper.goal.cells().set_index(["setting", "direction", "objective"])
    (a, s), (b, r) = (cells.loc[(*column, name), ["mean", "std"]] for name in (first, second))
    return (a - b) / ((max(s, 0.05) ** 2 + max(r, 0.05) ** 2) / (n - 1)) ** 0.5


best, ranks, twice = paper.goal.best_cells(), paper.goal.ranking(), paper.goal.against_grid()
differ = twice[twice["difference"] != 0]
clear = sum(abs(t_between(c, ranks.index[0], ranks.index[1])) > stats.t.ppf(0.975, 4) for c in wide.columns)
assert clear == 1 and (~differ["possible"]).sum() == 3 and (gain.iloc[1:] > 0).to_numpy().mean() > 0.9
check("But cir × sig-ms is best in 5 of 12 columns only.", number("5 12", lambda: (best["is_best"].sum(), len(best))))
check("Its mean gain of 2.28 is the highest, and nca × sig-ms follows with 2.20.",
      number("2.28 2.20", lambda: ranks["gain"].iloc[:2]))
check("The best of fifteen equal ones leads by 1.74 standard deviations of a run.", number("1.74", best_of_fifteen))
check("7 of 12 differ,", number("7 12", lambda: (len(differ), len(twice))))
check("all 5 pairs of runs agree in every test number.", number("5", lambda a, b: sum(
    x["test"] == y["test"] for x in a for y in b if x["config"]["seed"] == y["config"]["seed"]),
    con_con, triplet_sh, draws=5))
ours = {"Ours, as printed": printed, "Ours, cir as released": released}
ours = {name: evidence.summarise(r for g in groups.values() for r in g) for name, groups in ours.items()}
tables = {f"GOAL, Table {n}": paper.layout(paper.table(f"goal/{n}"), "plain") for n in range(1, 7)}
metrics = ["rsum", "i2t_r1", "t2i_r1", "swap"]
paper.downloads(tables | {name: paper.grid(group, metrics, style="plain") for name, group in ours.items()})

# %% [markdown]
# Above: every table of the paper in its layout, and ours in the same, as CSV files.
#
# ## Ours
#
# These are drawn pictures, frozen features and a small GRU, so signs and orders can be compared with the paper, levels can
# not. Of the rates 0.001, 0.003 and 0.01, tried on a draw that is used for nothing else, 0.003 was best for every
# objective. The released code writes cir with −½ in the bracket instead of the printed −1, so cir was trained in both versions.

# %% tags=["hide-input"]
def cell(group):
    return f"{mean(group):.1f} ± {np.std([r['test']['rsum'] for r in group]):.1f}"


assert {c["lr"] for c in [*TUNING.values(), *TUNING_RELEASED.values()]} == {0.003}
paper.styled(pd.DataFrame([{"P": p} | {f"T {t}": cell(printed[f"goal:{t} x {p}"]) for t in T_NAMES}
                           | {"T cir, released": cell(released[f"goal:cir x {p}"])} for p in P_NAMES]),
             "Test rsum, mean ± population deviation of five draws.", name="grid-rsum")

# %% [markdown]
# The claim is that the four other pair weights improve on P con, and in the paper's tables they do in 135 of 144
# comparisons. Here they cost a little: at T con and T nca by 4.1 to 9.8 rsum, each of the eight with its whole interval
# below zero. All four let go of a positive that is already close. A small model on frozen features may never have
# positives so close that this pays; that reason is a guess. The whole order is not the paper's either: Kendall's K with its
# six settings lies between −0.23 and +0.04. And as released cir is near the others, −4.0 to −9.3 from con with the same P.

# %% tags=["hide-input"]
# checked by machine
def effects(*groups):
    """Mean gains of four P over P con, for groups in the order of P_NAMES, T by T."""
    sets = [groups[k : k + 5] for k in range(0, len(groups), 5)]
    return [apart(one, first) for first, *others in sets for one in others]


def ends(*groups):
    """The largest and the smallest of these means."""
    means = [d.mean for d in effects(*groups)]
    return max(means), min(means)


def r1(group):
    return np.mean([r["test"]["i2t"]["r1"] + r["test"]["t2i"]["r1"] for r in group])


def kendall(*groups):
    """Lowest and highest K of our order with the paper's six, on the sum of R@1 of both directions."""
    here = [r1(group) for group in groups]
    found = [stats.kendalltau(here, wide[s].sum(axis=1)).statistic for s in paper.goal.SETTINGS]
    return min(found), max(found)


# %% tags=["remove-cell"]
on_P = paper.goal.compare("P")
check("in the paper's tables they do in 135 of 144 comparisons.",
      number("135 144", lambda: (on_P["better"].sum(), on_P["of"].sum())))
FIRST = [printed[n] for n in NAMES[:10]]
check("at T con and T nca by 4.1 to 9.8 rsum, each of the eight with its whole interval below zero.",
      number("-4.1 -9.8", ends, *FIRST, draws=5),
      number("8", lambda *g: sum(d.high < 0 for d in effects(*g)), *FIRST, draws=5))
check("Kendall's K with its six settings lies between −0.23 and +0.04.",
      number("-0.23 +0.04", kendall, *printed.values(), draws=5))
RELEASED = [g for n in CIR for g in (released[n], printed[n.replace("cir", "con")])]
check("as released cir is near the others, −4.0 to −9.3 from con with the same P.",
      number("-4.0 -9.3", lambda *g: (max(found := [apart(*g[k : k + 2]).mean for k in range(0, 10, 2)]), min(found)),
             *RELEASED, draws=5))

# %% [markdown]
# ## Why cir is late
#
# Every training here begins with a collapse: all scores become nearly equal, and then they come apart
# ({numref}`Chapter {number} <ch-losses>`). Look when each triplet weight leaves the ground.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Validation rsum over updates, one line for each triplet weight, the mean over pair weights and draws. con, nca and cir as released rise above 340 by update 500. cir as printed is near 110 then and ends about 45 below the others."}, "figure": {"name": "fig-grid-curves", "caption": "Validation rsum, mean over the five P and five draws. Dotted: the learning rate falls to a tenth. cir as printed leaves the ground last, and the fall comes before it has caught up."}}
fig, ax = plt.subplots(figsize=(6.2, 3.1))
for t, groups, style in (*((t, printed, "-") for t in T_NAMES), ("cir", released, "--")):
    runs = [r["history"] for p in P_NAMES for r in groups[f"goal:{t} x {p}"]]
    label = f"T {t}" + (", as printed" if t == "cir" and style == "-" else ", as released" if style == "--" else "")
    ax.plot([e["update"] for e in runs[0]], np.mean([[e["val"]["rsum"] for e in h] for h in runs], axis=0), style,
            color=plots.colour(f"goal:{t} x con"), marker="o", ms=3.5, label=label)
ax.axvline(con_con[0]["config"]["drops"][0], color="black", ls=":", lw=1)
ax.set(xlabel="updates", ylabel="validation rsum", ylim=(0, None))
ax.legend(fontsize=10, loc="lower right");

# %% [markdown]
# What is $T$ when all scores are the same, $s_+ = s_- = s$?
#
# $$ \begin{aligned} T^\text{con} &= 1, \qquad T^\text{nca} = \tfrac12, \\
#    T^\text{cir}_\text{printed} &= \sigma\big(2 \gamma\, s (s - 1)\big), \\
#    T^\text{cir}_\text{released} &= \sigma\big(2 \gamma\, s (s - 1) + \tfrac{\gamma}{2}\big) \end{aligned} $$
#
# with the sharpness $\gamma = 10$. A training begins with scores near 0. Where does the collapse carry them?

# %% tags=["hide-input"] mystnb={"image": {"alt": "T at equal scores over that score, logarithmic. con is flat at one, nca flat at one half, cir as printed dips below one hundredth in the middle, cir as released stays at or above one half. Dots of the runs of cir as printed lie at the bottom of the dip, between 0.38 and 0.5, but for one on its slope at 0.14."}, "figure": {"name": "fig-grid-diagonal", "caption": "What is left of T when all scores are the same. Dots: where the runs of cir as printed stood at update 250, by the mean score of their positives. All but one stand at the bottom of the dip."}}
s = torch.linspace(0, 1, 101, dtype=torch.float64)
fig, ax = plt.subplots(figsize=(6.4, 3.2))
for t, convention, style in (*((t, "paper", "-") for t in T_NAMES), ("cir", "released", "--")):
    name = t + (f", as {'printed' if convention == 'paper' else convention}" if t == "cir" else "")
    T = GradientObjective(t, "con", margin=0.2, convention=convention).on_plane(s, s)[0].expand_as(s)
    ax.plot(s, T, style, color=plots.colour(f"goal:{t} x con"), label=name)
stood = torch.tensor([r["history"][0]["diagnose"]["positive"] for name in CIR for r in printed[name]]).double()
T_stood = GradientObjective("cir", "con").on_plane(stood, stood)[0]
ax.plot(stood, T_stood, "o", color="black", ms=4.5, zorder=3)
ax.set(yscale="log", ylim=(0.004, 1.5), xlabel="the one score s", ylabel="T(s, s)")
ax.legend(fontsize=10, loc="center", bbox_to_anchor=(0.5, 0.56))
bottom = (stood > 0.37) & (stood < 0.51)
assert int((~bottom).sum()) == 1 and float(T_stood[bottom].max()) < 0.01

# %% [markdown]
# Into the middle, where $T^\text{cir}$ as printed is below a hundredth, and so are its gradients. As released it is at
# least a half everywhere.
#
# ### But Adam does not see the size of a gradient
#
# Adam {cite:p}`kingma2015adam` divides a gradient by its own size, so a small $T$ alone is no reason to be late. But it
# divides by the root of an *average over about a thousand updates*, and the first gradients, near $s = 0$, are long. Let a
# gradient that always points the same way have the lengths that our runs recorded, and follow Adam's steps:

# %%
def adam_steps(sizes, b1=0.9, b2=0.999):
    """Steps over the learning rate, for gradients of one direction."""
    m = v = 0.0
    steps = []
    for t, size in enumerate(sizes, 1):
        m, v = b1 * m + (1 - b1) * size, b2 * v + (1 - b2) * size**2
        steps.append(m / (1 - b1**t) / (v / (1 - b2**t)) ** 0.5)
    return np.array(steps)


def recorded(group):
    """Lengths as Adam got them: 2 while clipped at first, then each recorded one."""
    h = [r["history"] for r in group]
    first = round(250 * np.mean([e[0]["clipped"] for e in h]))
    norms = np.array([[e["gradient_norm"] for e in run] for run in h]).mean(axis=0)
    after = np.minimum(2.0, norms)
    return np.concatenate([[2.0] * first, np.repeat(after, 250)[first:]])


# %% tags=["hide-input"] mystnb={"image": {"alt": "Adam's step as a share of the learning rate over 3,000 updates. For con times lin it stays near one. For cir times lin as printed it falls below 0.4 after the first updates and reaches one only after update 2,000, behind the dotted line at 1,500."}, "figure": {"name": "fig-grid-adam", "caption": "Adam's steps for the recorded lengths of the gradient, as a share of the learning rate. Dotted: the rate falls. cir's first gradients are clipped at 2, the later ones are a hundred times shorter, and Adam remembers the first."}}
steps = {f"{t} × lin": adam_steps(recorded(printed[f"goal:{t} x lin"])) for t in ("con", "cir")}
x = torch.zeros(1, dtype=torch.float64, requires_grad=True)
adam, own = torch.optim.Adam([x], lr=1.0), []
for size in recorded(printed["goal:cir x lin"])[:1500]:  # PyTorch's own Adam does the same
    before, x.grad = x.item(), torch.tensor([size], dtype=torch.float64)
    adam.step()
    own.append(before - x.item())
assert np.allclose(steps["cir × lin"][:1500], own, rtol=1e-4)
fig, ax = plt.subplots(figsize=(6.4, 2.7))
for (name, values), t in zip(steps.items(), ("con", "cir"), strict=True):
    ax.plot(range(1, 3001), values, color=plots.colour(f"goal:{t} x con"), label=name)
ax.axvline(1500, color="black", ls=":", lw=1)
ax.set(xlabel="updates", ylabel="step over rate", ylim=(0, 1.5))
ax.legend(fontsize=10, loc="upper left");

# %% [markdown]
# Up to update 1,500, where the rate falls, cir × lin has gone 17 % of the way that con × lin went. Adam makes up for a
# gradient that is always small, but only slowly for one that has *become* small. One direction is an argument and no
# proof. If it is right, two things should help: not to let the long first gradients in, and time.
#
# ### Two predictions
#
# **Clip shorter.** For Adam only ratios of lengths count. Clipped at 0.02 instead of 2, cir's lengths stay within a factor of
# ten from the first update on. (This also takes away most of the later shrinking; which of the two counts was not tried.)

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two panels with five rows, one for each pair weight, each with a mean difference in test rsum and its interval. Left: cir clipped at 0.02 less cir clipped at 2, all right of zero. Right: cir clipped at 0.02 less con, between minus 20 and minus 10, with cir clipped at 2 less con in grey, near minus 50 and below."}, "figure": {"name": "fig-grid-size", "caption": "Test rsum, paired by draw, mean and 95 % interval of five draws. Left: what clipping at 0.02 adds to cir as printed. Right: what is then missing to con with the same P (colour), and what was missing before (grey)."}}
def interval(ax, row, d, color, marker):
    ax.plot([d.low, d.high], [row, row], color=color, lw=2)
    ax.plot(d.mean, row, marker=marker, color=color, ms=8)


fig, axes = plt.subplots(1, 2, figsize=(7.2, 2.8), sharey=True)
for row, p in enumerate(P_NAMES):
    name, con = f"goal:cir x {p}", printed[f"goal:con x {p}"]
    look = plots.colour(name), plots.marker(name)
    interval(axes[0], row, apart(small[name], printed[name], None, factor="grad_clip"), *look)
    interval(axes[1], row - 0.12, apart(printed[name], con), "#999999", look[1])
    interval(axes[1], row + 0.12, apart(small[name], con, CLIPPED), *look)
for ax, title in zip(axes, ("clipped shorter, less as before", "less con"), strict=True):
    ax.axvline(0, color="black", lw=0.8)
    ax.set_title(title, fontsize=11)
axes[0].set_yticks(range(5), [f"P {p}" for p in P_NAMES])
axes[0].set_ylim(4.45, -0.45)
fig.supxlabel("difference in test rsum", fontsize=11);

# %% [markdown]
# **Wait.** Everything as printed, three times as long (9,000 updates, the rate falls at 4,500), with P lin, on three draws:

# %% tags=["hide-input"]
few = {r["config"]["seed"] for r in longer["goal:cir x lin"]}
SHORT_RUNS = {t: [r for r in printed[f"goal:{t} x lin"] if r["config"]["seed"] in few] for t in ("cir", "con")}
LONG_RUNS = {t: longer[f"goal:{t} x lin"] for t in ("cir", "con")}
rows = [{"updates": f"{g['cir'][0]['config']['updates']:,}",
         "cir less con": str(apart(g["cir"], g["con"])).removesuffix(" rsum"), "cir × lin": f"{mean(g['cir']):.1f}",
         "con × lin": f"{mean(g['con']):.1f}", "swap, cir": f"{swap(g['cir']):.0f} %", "con": f"{swap(g['con']):.0f} %"}
        for g in (SHORT_RUNS, LONG_RUNS)]
paper.styled(pd.DataFrame(rows), "Test rsum and swap accuracy (chance is 50 %), mean of three draws; the difference with "
             "its 95 % interval.", name="grid-longer")

# %% [markdown]
# Both predictions hold. With three times the updates whether cir is still behind is undecided, and it now reads: its
# accuracy on twins that differ in word order has risen from chance to con's. Clipped shorter it is still 10 to 20 rsum
# behind con; why is not known.
#
# ## What we found
#
# - **The plain one wins here.** con × con has 428.3 rsum; cir × sig-ms, which the paper recommends, is 58 behind as
#   printed and 18 as released.
# - **A best of fifteen proves little.** Fifteen equal objectives give a winner that leads by 1.74 deviations for nothing,
#   and the paper's winner is best in 5 of its 12 columns.
# - **No pair weight paid.** At T con and T nca all four cost 4.1 to 9.8 rsum. That is one small model on frozen features.
# - **cir as printed is late, not wrong.** At equal scores its weight falls below a hundredth, and Adam remembers longer
#   gradients. With P lin it is 52 rsum behind con; clipped at 0.02 instead of 2, it is 10 behind.

# %% tags=["hide-input"]
# checked by machine
RECOMMENDED = printed["goal:cir x sig-ms"], released["goal:cir x sig-ms"]
check("con × con has 428.3 rsum; cir × sig-ms, which the paper recommends, is 58 behind as printed and 18 as released.",
      number("428.3", mean, con_con, draws=5),
      *[number(text, lambda a, b: -apart(b, a).mean, con_con, g, draws=5)
        for text, g in zip(("58", "18"), RECOMMENDED, strict=True)])
check("Fifteen equal objectives give a winner that leads by 1.74 deviations for nothing, and the paper's winner is best "
      "in 5 of its 12 columns.", number("1.74 5 12", lambda: (best_of_fifteen, best["is_best"].sum(), len(best))))
check("At T con and T nca all four cost 4.1 to 9.8 rsum.",
      number("-4.1 -9.8", ends, *FIRST, draws=5))
CON, CIR_LIN, CUT = printed["goal:con x lin"], printed["goal:cir x lin"], small["goal:cir x lin"]
check("With P lin it is 52 rsum behind con; clipped at 0.02 instead of 2, it is 10 behind.",
      number("52", lambda a, b: -apart(b, a).mean, CON, CIR_LIN, draws=5),
      number("10", lambda a, b: -apart(b, a, CLIPPED).mean, CON, CUT, draws=5), also="0.02 2")
check("Up to update 1,500, where the rate falls, cir × lin has gone 17 % of the way that con × lin went.", number(
    "17", lambda cir, con: 100 * np.divide(*[adam_steps(recorded(g))[:1500].sum() for g in (cir, con)]),
    CIR_LIN, CON, draws=5), also="1,500")
check("Clipped shorter it is still 10 to 20 rsum behind con", number("10 20", lambda *g: (
    min(found := [-apart(*g[k : k + 2], CLIPPED).mean for k in range(0, 10, 2)]), max(found)),
    *[g for n in CIR for g in (small[n], printed[n.replace("cir", "con")])], off=0.6, draws=5))

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} The paired difference
# :label: ex-grid-paired
# ````
#
# Write `mine(first, second)`: from two dicts `{draw: number}`, return the mean of first minus second, paired by draw, and
# the half width of its 95 % t-interval. For five draws the factor on the standard error is 2.7764. The dicts may be in
# different orders.

# %%
mine = ...

# %% tags=["hide-input"]
def check_paired(value):
    """Passes for the mean paired difference and the half width of its interval."""
    if value is ...:
        return "your turn"
    from icrlib import evidence

    first = {0: 416.0, 1: 421.0, 2: 419.5, 3: 417.0, 4: 423.5}
    second = {2: 412.0, 0: 413.0, 4: 418.0, 1: 411.5, 3: 416.0}
    expected = evidence.verdict("first is greater", "greater", first, second).difference
    got, half = value(first, second)
    assert abs(got + expected.mean) > 1e-6, "not yet: that is second minus first; a gain would look like a loss"
    assert abs(got - expected.mean) < 1e-6, f"not yet: the mean difference is {expected.mean:.3f}, not {got:.3f}"
    width = (expected.high - expected.low) / 2
    assert abs(half - width) < 1e-3, (
        f"not yet: half the interval is {width:.3f}, not {half:.3f}; pair by draw, divide by n − 1, then by √n")
    return "right"


check_paired(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-grid-paired
# :class: dropdown
# ````

# %%
def paired(first, second):
    d = np.array([first[draw] - second[draw] for draw in first])
    return d.mean(), 2.7764 * d.std(ddof=1) / len(d) ** 0.5


check_paired(paired)

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} The gradient of cir × lin, with any shift
# :label: ex-grid-cir
# ````
#
# Write `mine(p, n, gamma, k)`: the gradient of cir × lin with respect to $s_+$ (`p`) and $s_-$ (`n`), as a pair of tensors,
# where $T = \sigma(\gamma [(1 - s_+)^2 + s_-^2 - k])$. As printed $k = 1$, as released $k = \tfrac12$.

# %%
mine = ...

# %% tags=["hide-input"]
def check_cir_lin(value):
    """Passes for the gradient of cir x lin by (s+, s-), for any sharpness and shift."""
    if value is ...:
        return "your turn"
    x = torch.tensor([[0.6, 0.5], [0.5, 0.5], [0.3, 0.8]], dtype=torch.float64, requires_grad=True)
    for gamma, k in ((10.0, 1.0), (10.0, 0.5), (3.0, 1.0)):
        squared = (1 - x[:, 0]) ** 2 + x[:, 1] ** 2
        potential = torch.nn.functional.softplus(gamma * (squared - k), threshold=60) / (2 * gamma)
        by_plus, by_minus = torch.autograd.grad(potential.sum(), x)[0].T
        got_plus, got_minus = value(*x.detach().T, gamma, k)
        assert (got_plus < 0).all(), "not yet: descent subtracts; so that s+ rises, its gradient must be below zero"
        assert (got_minus > 0).all(), "not yet: a higher negative must raise the loss"
        near = (got_plus - by_plus).abs().max() < 1e-9 and (got_minus - by_minus).abs().max() < 1e-9
        assert near, f"not yet: at γ = {gamma:g}, k = {k:g} it differs; T looks at both scores, P at one"
    return "right"


check_cir_lin(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-grid-cir
# :class: dropdown
# ````
#
# $-T\,(1 - s_+)$ and $T\, s_-$. This is one of the three that have a loss, so the check can take its derivative.

# %%
def cir_lin(p, n, gamma, k):
    T = torch.sigmoid(gamma * ((1 - p) ** 2 + n**2 - k))
    return -T * (1 - p), T * n


check_cir_lin(cir_lin)

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} What ± does a cell need?
# :label: ex-goal-interval
# ````
#
# A cell says $53.7 \pm 0.5$: the mean of `n` runs and, let us suppose, their *population* standard deviation. Write
# `mine(std, n)`, the half width of the 95 % interval of the mean. `scipy.stats.t.ppf(0.975, n - 1)` is Student's
# quantile.

# %%
mine = ...

# %% tags=["hide-input"]
def check_half_width(value):
    """Passes for the half width of a mean's interval from a population deviation."""
    if value is ...:
        return "your turn"
    from scipy import stats

    for runs in ([50.0, 51.0, 52.5], [3.0, 4.0, 4.5, 7.0, 1.0]):
        n, std = len(runs), float(np.std(runs))
        unbiased = np.std(runs, ddof=1) / n**0.5
        low, high = stats.t.interval(0.95, n - 1, loc=0, scale=unbiased)
        got, expected = value(std, n), (high - low) / 2
        normal = 1.96 * unbiased
        assert abs(got - normal) > 1e-3, f"not yet: with {n} runs the normal distribution's 1.96 is too small"
        assert abs(got - expected) < 1e-3, f"not yet: {expected:.3f}, not {got:.3f}; is the deviation the population's?"
    return "right"


check_half_width(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-goal-interval
# :class: dropdown
# ````
#
# The unbiased deviation is $s \sqrt{n / (n - 1)}$, the mean's $s / \sqrt{n - 1}$. With three runs, that times 4.30 is
# three times the printed deviation: $53.7 \pm 0.5$ says no more than 52.2 to 55.2.

# %%
check_half_width(lambda std, n: stats.t.ppf(0.975, n - 1) * std / (n - 1) ** 0.5)

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} An open one
# :label: ex-grid-open
# ````
#
# The grid compares fifteen objectives on five draws, each at its own rate. Choose the two rows that you find most
# surprising, and write down which third explanation, beside "T matters" and "P matters", would produce them. Which run
# would tell it from the other two, and what would it cost?
#
# ````{exercise-end}
# ````
#
# Next: {numref}`Chapter {number} <ch-contrastive>` asks what a contrastive loss does *not* make a model learn.
