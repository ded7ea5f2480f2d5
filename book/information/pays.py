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

# %% [markdown]
# (ch-pays)=
# # Does keeping the information pay?
#
# In the paper it does, where the decoder's error is held below a bound, and not where it is added to the loss. On our data
# it does beside the weakest baseline only: **constrained LTD is +10.4 rsum ahead with the paper's temperature, +6.8 with twice
# that temperature, and in none of five other conditions can a lead be seen.** (*Rsum* is the sum of six recalls, at most
# 600.) Nor is the order of words kept better. In every row below the same two models are compared: the contrastive loss
# alone (NT-Xent, which the paper calls InfoNCE, if nothing else is said), which is the **baseline**, and the same with a decoder whose error must stay below a bound.

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
import base64

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import HTML
from scipy import stats

from icrlib import chapter, evidence, paper, records
from icrlib.evidence import ltd_rows, ltd_runs, photo_intervals
from icrlib.evidence.sentences import check, greater, number
from icrlib.paper import ltd
from icrlib.studies import lists

smoke = chapter.start(smoke)
OURS = {at.name: at.by_row(records.find) for at in lists("places").LTD if at.name != "eta"}

# %% tags=["remove-cell"]
def of_study(study):
    """{"con": runs of the loss alone, "lag": runs below a bound on the sentence encoder's vectors} of a study."""
    found = records.find(study=study)
    sbert = [r for r in found if r["config"]["auxiliary_options"].get("target") == "sbert"]
    return {"con": [r for r in found if r["config"]["objective"] == "con"],
            "lag": [r for r in sbert if r["config"]["objective"] == "lagrange"]}


CONDITIONS = {"NT-Xent, τ = 0.05 (as in the paper)": OURS["scenes"], "NT-Xent, τ = 0.1": of_study("ltd_tuned"),
              "NT-Xent with batch norms": of_study("ltd_norms"), "NT-Xent, 6,000 pictures": of_study("ltd_more"),
              "NT-Xent, fine-tuned": of_study("ltd_finetune"), "Triplet-SH": OURS["triplet"],
              "photos (Flickr8k)": OURS["photos"]}


def rsum(record):
    return record["test"]["rsum"]


def swap(record):
    return record["test"]["twins"]["swap"]

# %% tags=["remove-cell"]
def less(ours, others, measure=rsum):
    """The mean difference over common draws with its 95 % interval; on photos the test pictures are in it, too."""
    sides = evidence.common_draws({"ours": ours, "others": others})
    if ours[0]["config"]["dataset"] == "flickr8k":
        found = photo_intervals.estimate(*sides.values())
        return ltd_runs.Interval(found.mean, *found.interval(0.95), found.n)
    return ltd_runs.interval(*([measure(r) for r in side] for side in sides.values()))


LEADS = {name: less(of["lag"], of["con"]) for name, of in CONDITIONS.items()}
TWINS = {name: less(of["lag"], of["con"], swap) for name, of in CONDITIONS.items() if "photos" not in name}

# %% tags=["remove-input"] mystnb={"image": {"alt": "Seven rows, each a condition, with a point and an interval for the rsum of constrained LTD less that of its baseline. The first two, with NT-Xent at temperatures 0.05 and 0.1, lie right of zero; the other five contain zero."}, "figure": {"name": "fig-ltd-leads", "caption": "Constrained LTD less its baseline in seven conditions, means with 95 % intervals. Filled: the interval lies above zero."}}
fig, ax = plt.subplots(figsize=(7.2, 3.1))
for row, lead in enumerate(LEADS.values()):
    ax.errorbar(lead.mean, -row, xerr=[[lead.mean - lead.low], [lead.high - lead.mean]], fmt="o", ms=7, capsize=3,
                color="#5e3c99", mfc="#5e3c99" if lead.low > 0 else "white")
ax.axvline(0, color="black", lw=0.8)
ax.set_yticks(-np.arange(len(LEADS)), list(LEADS), fontsize=10)
ax.set_xlabel("rsum less the baseline")
ax.grid(axis="x", alpha=0.3);

# %% [markdown]
# *You will be able to read a table without deviations, and to ask of a lift what it is a lift over · 12 minutes to read · 1
# minute to run.*

# %% tags=["hide-input"]
# checked by machine
def pair(name):
    return CONDITIONS[name]["lag"], CONDITIONS[name]["con"]


def mean_lead(ours, others):
    return less(ours, others).mean


check("constrained LTD is +10.4 rsum ahead with the paper's temperature, +6.8 with twice that temperature, and in "
      "none of five other conditions can a lead be seen.",
      number("+10.4", mean_lead, *pair("NT-Xent, τ = 0.05 (as in the paper)"), draws=5),
      number("+6.8", mean_lead, *pair("NT-Xent, τ = 0.1"), draws=5))
assert [lead.low > 0 for lead in LEADS.values()] == [True, True, False, False, False, False, False]
assert not any(lead.high < 0 for lead in LEADS.values()) and not any(gap.low > 0 for gap in TWINS.values())

# %% [markdown]
# ## Three things to know before any number
#
# - **Our baseline is below a bag of words.** On 1,500 scenes it has an rsum of 355, where a bag of words has 389, and on
#   pairs of captions with two words exchanged it is right in 54 % of the cases, where guessing has 50 %. By the rule of
#   {numref}`Chapter {number} <ch-reading>` it does not know which words belong together, and a comparison above it is one
#   between models that don't. Half of its recurrent network, as released, answers every caption alike
#   ({numref}`Chapter {number} <ch-errata>`). That does not explain it: with both halves reading, and the same rate, rsum
#   changes by −5.7 [−8.0, −3.4] and swap accuracy by +4.9 points.
# - **The teacher has seen the test.** By its model card the sentence encoder that makes LTD's targets was trained on 317,695
#   pairs of captions of Flickr30k, which is all of Flickr30k but a few, test photos included, and on the training photos of
#   MS-COCO. And what it learnt there is which two captions belong to *one* photo: what retrieval asks.
# - **The rows of ITD do not decode words.** The released softmax runs over the places of a caption and not over the
#   vocabulary ({numref}`Chapter {number} <ch-errata>`).

# %% tags=["hide-input"]
# checked by machine
BAG = [r for r in records.find(study="ecir", method="bow", loss="ntxent") if r["config"]["seed"] < 5]


def both_rsums(weak, bag):
    return [np.mean([rsum(r) for r in group]) for group in (weak, bag)]


check("On 1,500 scenes it has an rsum of 355, where a bag of words has 389, and on pairs of captions with two words "
      "exchanged it is right in 54 % of the cases, where guessing has 50 %.",
      number("355 389", both_rsums, OURS["scenes"]["con"], BAG, draws=5),
      number("54", lambda group: np.mean([swap(r) for r in group]), OURS["scenes"]["con"], draws=5), also="1,500 50")
BOTH = records.find(study="ltd_backward")
check("That does not explain it: with both halves reading, and the same rate, rsum changes by −5.7 [−8.0, −3.4] and swap "
      "accuracy by +4.9 points.",
      number("−5.7 [−8.0, −3.4]", less, BOTH, OURS["scenes"]["con"], draws=5),
      number("+4.9", lambda both, half: np.mean([swap(r) for r in both]) - np.mean([swap(r) for r in half]),
             BOTH, OURS["scenes"]["con"], draws=5))

# %% [markdown]
# ## As printed, and as we ran it
#
# The paper's main table {cite:p}`bleeker2022keep` has five rows a data set: the baseline; a decoder of words (ITD) and a
# decoder of the teacher's vector (LTD), each added as a second loss (*dual*) or held below a bound (*constrained*). Here are
# its numbers beside ours, in rsum. Learning rate and left-out words of ours were chosen for the *baseline* and hold for all
# rows, and each bound is the one that validation chose. So the constrained rows have had a search that the sums have not.

# %% tags=["remove-cell"]
KINDS = {"con": "baseline", "itd_dual": "dual ITD", "itd_lag": "constrained ITD", "dual": "dual LTD",
         "lag": "constrained LTD"}
PRINTED = {"Flickr30k": "Flickr30k", "MS-COCO": "COCO"}


def spread(dataset):
    """Standard deviation of rsum between seeds, pooled over ECIR's rows of a data set, and its degrees of freedom."""
    population = paper.table("ecir/1").query("dataset == @dataset")["rsum_std"]  # of five runs a row
    return float(np.sqrt((population**2).mean() * 5 / 4)), 4 * len(population)


def band(dataset):
    """How far four single runs may be from a fifth in rsum with nothing but the seed between them, 19 times of 20."""
    s, df = spread(dataset)
    return float(stats.t.ppf(1 - 0.05 / (2 * 4), df) * np.sqrt(2) * s)


def gap(kind, place, base="con"):
    """A printed row's rsum less that of another."""
    return float(ltd.gaps(kind, base, places=[place]).iloc[0])


BASE = {place: float(ltd.rows().loc[ltd.ROWS[place]["con"], "rsum"]) for place in PRINTED}
GAPS = {place: {kind: gap(kind, place) for kind in KINDS if kind != "con"} for place in PRINTED}

# %% tags=["remove-input"]
def printed_line(kind):
    """A row of the paper and of ours: the baselines as they are, the others less the baseline."""
    line = {"row": KINDS[kind]} | {f"{short}, printed": f"{BASE[place]:.1f}" if kind == "con" else
                                   f"{GAPS[place][kind]:+.1f}" for place, short in PRINTED.items()}
    runs, base = OURS["scenes"][kind], OURS["scenes"]["con"]
    found = less(runs, base)
    return line | {"scenes, n": str(len(runs)), "scenes": f"{np.mean([rsum(r) for r in runs]):.1f}" if kind == "con" else
                   f"{found.mean:+.1f} [{found.low:+.1f}, {found.high:+.1f}]"}


paper.styled(pd.DataFrame(map(printed_line, KINDS)),
             "Rsum of the baseline, and of the other rows less the baseline. Printed: "
             "one run a row. Scenes: paired by draw, 95 % intervals.", name="ltd-printed")

# %% tags=["remove-input"]
every = pd.concat([paper.table(f"ltd/{k}").assign(table=k) for k in (1, 2, 3)])
trained = pd.concat([evidence.summarise(runs).assign(place=place, row=ltd_rows.TITLES[row], runs=len(runs))
                  for place, rows in OURS.items() for row, runs in rows.items()])
links = [f'<a download="{name}.csv" href="data:text/csv;base64,'
         f'{base64.b64encode(table.to_csv().encode()).decode()}">{text}</a>' for name, table, text in (
             ("ltd-printed", every, "all rows of the paper's three tables"),
             ("ltd-runs", trained, "all rows of our runs"))]
HTML(f"<p>As CSV: {' · '.join(links)}.</p>")

# %% [markdown]
# How far are two runs apart that differ in nothing but the seed? The paper prints no deviation. The authors' earlier one,
# ECIR, trained similar models on the same data five times a row {cite:p}`bleeker2022lessons`. Pooled over its rows of a data
# set, its deviations give one $s$. The difference of two single runs has the variance $2 s^2$, and four rows are compared
# with one baseline, so the band that should hold all four gaps at once, 19 times of 20, is
#
# $$ \pm\, t_{1 - 0.05/(2 \cdot 4)}\, \sqrt{2}\, s , $$ (eq-two-runs)
#
# with Student's quantile $t$. It is ±7.9 rsum on Flickr30k and ±5.2 on MS-COCO. The lead of constrained LTD, +19.0 and
# +12.0, is more than twice that, and so is an unlikely work of the seed. Dual LTD lies inside, on both. On scenes
# all bounds help, the one on the words (with a proper softmax) and one on the caption's logical form as well, and no sum
# does.

# %% tags=["hide-input"]
# checked by machine
check("It is ±7.9 rsum on Flickr30k and ±5.2 on MS-COCO.", number("7.9 5.2", [band(place) for place in PRINTED]))
check("The lead of constrained LTD, +19.0 and +12.0, is more than twice that, and so is an unlikely work of the seed.",
      number("+19.0 +12.0", [GAPS[place]["lag"] for place in PRINTED]))
assert all(GAPS[place]["lag"] > 2 * band(place) and abs(GAPS[place]["dual"]) < band(place) for place in PRINTED)
SIDE = {row: less(runs, OURS["scenes"]["con"]) for row, runs in OURS["scenes"].items() if row != "con"}
assert all(SIDE[row].low > 0 for row in ("lag", "itd_lag", "form_lag"))
assert not any(SIDE[row].low > 0 for row in ("dual", "itd_dual", "form_dual"))

# %% [markdown]
# ## A lift can be about its baseline
#
# The paper's largest number stands in its second table. On Flickr30k the triplet loss alone reaches an rsum of 205, and
# constrained LTD lifts it by 219. On MS-COCO, with the same code, the lift is 11. The authors call the first baseline
# unexpectedly low and have no explanation. A lift of two hundred says first of all something about what is lifted.
#
# The same holds for our +10.4. The paper's temperature need not be the best one for scenes, and at twice that temperature
# the baseline *alone* gains +17.8 [+14.4, +21.2], more than any of our rows above it. Batch norms behind the two encoders give it
# +18.1. So we moved the baseline, and trained both sides again.

# %% tags=["hide-input"]
paper.styled(pd.DataFrame([{
    "condition": name, "rsum less the baseline": f"{lead.mean:+.1f} [{lead.low:+.1f}, {lead.high:+.1f}]",
    "swap accuracy less the baseline": f"{TWINS[name].mean:+.1f} [{TWINS[name].low:+.1f}, {TWINS[name].high:+.1f}]"
    if name in TWINS else "–", "n": lead.n, "baseline": f"{np.mean([rsum(r) for r in CONDITIONS[name]['con']]):.1f}"}
    for name, lead in LEADS.items()]), "Constrained LTD less its baseline, paired, with 95 % intervals. Swap accuracy: a "
    "caption against the same with two words exchanged, in points. On photos three seeds, test photos in the interval.",
    name="ltd-conditions")

# %% [markdown]
# With ten draws and batch norms nothing is left: −2.7 [−9.1, +3.8]. Beside Triplet-SH, the best baseline with
# 1,500 scenes, the interval ends at +3.9. With 6,000 pictures, and where the image network learns as well, three draws leave
# the question open. On photos the lead is +2.4 [−5.3, +10.1], and the +19.0 that was printed for Flickr30k lies outside.
# (Those are other photos, five times as many, with a network that learns.)
#
# And the order of words, the kind of information that could be lost? In none of six conditions is swap accuracy
# higher, and in four the whole interval lies below zero. {numref}`Chapter {number} <ch-target>` has a reason: the
# teacher hardly charges for it. Whatever helps beside the weak baseline, it is not this information.

# %% tags=["hide-input"]
# checked by machine
lift = {place: gap("triplet_lag", place, "triplet") for place in PRINTED}
check("On Flickr30k the triplet loss alone reaches an rsum of 205, and constrained LTD lifts it by 219.",
      number("205 219", [ltd.rows().loc["3.1.1", "rsum"], lift["Flickr30k"]]))
check("On MS-COCO, with the same code, the lift is 11.", number("11", lift["MS-COCO"]))
bases = {name: of["con"] for name, of in CONDITIONS.items()}
first, warm, normed = list(bases.values())[:3]
check("The paper's temperature need not be the best one for scenes, and at twice that temperature the baseline alone "
      "gains +17.8 [+14.4, +21.2], more than any of our rows above it.",
      number("+17.8 [+14.4, +21.2]", less, warm, first, draws=5))
assert max(lead.mean for lead in SIDE.values()) < less(warm, first).mean
check("Batch norms behind the two encoders give it +18.1.", number("+18.1", mean_lead, normed, first))
check("With ten draws and batch norms nothing is left: −2.7 [−9.1, +3.8].",
      number("-2.7 [-9.1, +3.8]", less, *pair("NT-Xent with batch norms"), draws=10))
check("Beside Triplet-SH, the best baseline with 1,500 scenes, the interval ends at +3.9.",
      number("+3.9", lambda *two: less(*two).high, *pair("Triplet-SH"), draws=5), also="1,500")
check("On photos the lead is +2.4 [−5.3, +10.1], and the +19.0 that was printed for Flickr30k lies outside.",
      number("+2.4 [-5.3, +10.1]", less, *pair("photos (Flickr8k)"), draws=3), number("+19.0", GAPS["Flickr30k"]["lag"]))
assert sum(gap_.high < 0 for gap_ in TWINS.values()) == 4 and len(TWINS) == 6
assert GAPS["Flickr30k"]["lag"] > LEADS["photos (Flickr8k)"].high and [d.n for d in LEADS.values()].count(3) == 3

# %% [markdown]
# ## Does a ready-made sentence encoder save one of your own?
#
# The last rows of the paper's second table ask something practical. Take the teacher's vector *as* the caption's vector, with
# a small head that is trained. The paper prints that this does not reach an encoder trained from scratch: −45 on Flickr30k
# and −22 on MS-COCO. On the 6,000 photos of Flickr8k the sign depends on the encoder. The tuned sentence vectors are +47.6
# ahead of LTD's baseline with the better temperature, and −18.8 behind a bag of words. So the sentence is about baselines,
# again. (The paper's third table, which holds the baseline against the numbers that VSE++ printed, says as much: it is
# 8 rsum below.)

# %% tags=["hide-input"]
# checked by machine
tuned = records.find(study="photo_ltd_more", method="sentence")
scratch = records.find(study="photo_ltd_more", method="ltd")
words = records.find(study="photo_length", method="bow", loss="dcl")
check("The paper prints that this does not reach an encoder trained from scratch: −45 on Flickr30k and −22 on MS-COCO.",
      number("-45 -22", [gap("tuned", place) for place in PRINTED]))
check("The tuned sentence vectors are +47.6 ahead of LTD's baseline with the better temperature, and −18.8 behind a "
      "bag of words.", number("+47.6", mean_lead, tuned, scratch, draws=3),
      number("-18.8", mean_lead, tuned, words, draws=3))
table3 = paper.table("ltd/3")[ltd.RECALLS].astype(float)
check("The paper's third table, which holds the baseline against the numbers that VSE++ printed, says as much: it is "
      "8 rsum below.", number("8", (table3.loc["vse++"] - table3.loc["ours"]).sum()))

# %% [markdown]
# ## What we found
#
# - As printed, LTD pays as a constraint, by +19.0 and +12.0 rsum, and as a sum not visibly.
# - On scenes it pays by +10.4 beside the paper's baseline, which is below a bag of words, and by +6.8 at twice the
#   temperature.
# - Beside batch norms the lead is −2.7 [−9.1, +3.8], and beside Triplet-SH, on photos, with more pictures or an image
#   network that learns no lead can be seen; three of these have three runs only and exclude little.
# - The order of words is kept better nowhere, and in four of six conditions worse.
# - What LTD does for a strong encoder that knows which words belong together has been asked beside Triplet-SH only.

# %% tags=["hide-input"]
# checked by machine
check("As printed, LTD pays as a constraint, by +19.0 and +12.0 rsum, and as a sum not visibly.",
      number("+19.0 +12.0", [GAPS[place]["lag"] for place in PRINTED]))
check("On scenes it pays by +10.4 beside the paper's baseline, which is below a bag of words, and by +6.8 at twice the "
      "temperature.", number("+10.4", mean_lead, *pair("NT-Xent, τ = 0.05 (as in the paper)"), draws=5),
      number("+6.8", mean_lead, *pair("NT-Xent, τ = 0.1"), draws=5),
      greater(lambda group: np.mean([rsum(r) for r in group]), BAG, OURS["scenes"]["con"], draws=5))
check("Beside batch norms the lead is −2.7 [−9.1, +3.8], and beside Triplet-SH, on photos, with more pictures or an "
      "image network that learns no lead can be seen; three of these have three runs only and exclude little.",
      number("-2.7 [-9.1, +3.8]", less, *pair("NT-Xent with batch norms"), draws=10))

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} Two runs
# :label: ex-ltd-two-runs
# ````
#
# Write `mine(stds, n, m)`: from the *population* standard deviations of several rows, `n` runs each, the band of
# {eq}`eq-two-runs` for `m` single runs that are compared with one more. `scipy.stats.t.ppf` is Student's quantile.

# %%
mine = ...

# %% tags=["hide-input"]
def check_two_runs(value):
    """Passes for the band of several single runs around one."""
    from scipy import stats

    if value is ...:
        return "your turn"
    for stds, n, m in (([1.0], 5, 1), ([0.9, 1.6, 1.3, 1.7], 5, 4), ([2.0, 4.0], 3, 2)):
        sample = [s**2 * n / (n - 1) for s in stds]
        right = stats.t.ppf(1 - 0.025 / m, (n - 1) * len(stds)) * (2 * sum(sample) / len(sample)) ** 0.5
        got = float(value(list(stds), n, m))
        assert abs(got - right) < 1e-6, f"not yet: for {stds}, n = {n}, m = {m} it is {right:.3f}, not {got:.3f}"
    return "right"


check_two_runs(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-ltd-two-runs
# :class: dropdown
# ````
#
# Variances are averaged, not deviations; a population's variance times $n/(n-1)$ is the unbiased one; and there are
# $n - 1$ degrees of freedom a row. With `m` comparisons each may be wrong only 0.05/m of the time.

# %%
def solution(stds, n, m):
    variance = np.mean(np.square(stds)) * n / (n - 1)
    return stats.t.ppf(1 - 0.05 / (2 * m), (n - 1) * len(stds)) * np.sqrt(2 * variance)


check_two_runs(solution)

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} How many draws?
# :label: ex-ltd-draws
# ````
#
# Differences between two models scatter over draws of the data with the standard deviation `sd`. Write `mine(sd, lead)`: the
# smallest number of draws, two or more, at which half the width of the 95 % interval, $t_{0.975, n-1}\, sd / \sqrt{n}$, is
# below `lead`. How many does it take to see a lead of 3 where `sd` is 9, as with batch norms?

# %%
mine = ...

# %% tags=["hide-input"]
def check_draws(value):
    """Passes for the smallest number of draws whose interval is narrower than a lead."""
    from scipy import stats

    if value is ...:
        return "your turn"
    for sd, lead in ((9, 3), (2.4, 10.4), (7, 6.8), (1, 50)):
        right = next(n for n in range(2, 10_000) if stats.t.ppf(0.975, n - 1) * sd / n**0.5 < lead)
        got = int(value(sd, lead))
        assert got == right, f"not yet: for sd = {sd} and a lead of {lead} it is not {got}"
    return "right"


check_draws(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-ltd-draws
# :class: dropdown
# ````
#
# Try one number after the other, since Student's quantile depends on it, too. For a lead of 3 it takes 38 draws.

# %%
def solution(sd, lead):
    n = 2
    while stats.t.ppf(0.975, n - 1) * sd / n**0.5 >= lead:
        n += 1
    return n


assert solution(9, 3) == 38
check_draws(solution)

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} An open one
# :label: ex-ltd-stranger
# ````
#
# How large is the part of constrained LTD's lead that is due to a teacher that has seen the test photos? Think of a
# teacher that has not, of a data set that the teacher has not seen, and of a shuffled teacher, whose vectors belong to
# other captions. Which of the three would you run first, and which result would convince you that the lead is LTD's own?
#
# ````{exercise-end}
# ````
#
# Next: {numref}`Chapter {number} <ch-run>` runs one experiment of your own.
