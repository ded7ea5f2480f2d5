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
# (ch-claims)=
# # The claims of the papers, one by one
#
# Should you train image-caption retrieval with the triplet loss on the hardest negative? ECIR {cite:p}`bleeker2022lessons`
# says yes, and gives reasons, in 31 sentences. GOAL {cite:p}`xuan2023dissecting` says no, in 21. LTD
# {cite:p}`bleeker2022keep` asks in 37 what such losses throw away. Which of them came out in our runs?

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
from dataclasses import replace

import pandas as pd
from IPython.display import Markdown

from icrlib import chapter, evidence, paper, plots, records
from icrlib.evidence import ledger
from icrlib.evidence.ecir_rows import LossRows
from icrlib.studies import lists, studies

places = lists("places")

smoke = chapter.start(smoke)
claims, own_tables = paper.claims("ecir"), paper.against_own_tables("ecir")
EVIDENCE = {(at.dataset, at.method): evidence.Evidence(at, records.find) for at in places.ECIR}
HERE = [place for place in EVIDENCE if place[0] in ("scenes", "flickr8k") or EVIDENCE[place].verdicts]
DATA = {"scenes": "scenes", "flickr8k": "photos (Flickr8k)", "flickr30k": "Flickr30k", "coco": "MS-COCO"}
alike = {}  # claims that are tested in the same way: {tests as text: ids}
for number, tests in claims["tests"].items():
    if tests:
        alike.setdefault(str(tests), []).append(number)
TESTS = {ids[0]: ids for ids in alike.values()}


# %% tags=["remove-cell"]
def judged(number, place):
    return EVIDENCE[place].judge(claims["tests"][number])


def name_of(place):
    return f"{DATA[place[0]]}, {plots.label(place[1])}"


KINDS = {"as claimed": ledger.YES, "the opposite": ledger.NO, "equivalent": ("equivalent",),
         "undecided": ("undecided",), "not run yet": (ledger.NOT_RUN,)}
counts = {}
for place in EVIDENCE:
    words = [found.word for number in TESTS if (found := judged(number, place))]
    counts[place] = {kind: sum(word in of for word in words) for kind, of in KINDS.items()}
    assert sum(counts[place].values()) == len(words) > 10

# %% tags=["remove-input"]
Markdown("Of ECIR's claims, tests that say the same counted once:\n\n" + "\n".join(
    f"- {name_of(place)}: " + ", ".join(f"**{n}** {kind}" for kind, n in counts[place].items()
                                       if n and kind != "not run yet") + "." for place in HERE
    if EVIDENCE[place].verdicts and sum(counts[place].values()) > counts[place]["not run yet"]))

# %% [markdown]
# *You will be able to look a sentence up, see how it was tested and what came out, and tell a verdict from a number that
# only describes; 5 minutes for one table, under a minute to run, nothing is trained.*
#
# ## How a word is decided
#
# A *claim* is a sentence whose numbers we wrote down, such as "Triplet-SH is ahead of NT-Xent in rsum". Two losses are
# trained alike, each with settings that a search on other data chose for it, and compared run by run: on **scenes** in ten
# draws of the data, on **photos** with three seeds. All claims about one table, one model and one data set are a *family*,
# corrected together (Holm): if there were no difference anywhere, a family would decide anything at all in one case of
# twenty at most.
#
# | Word | What it says |
# | --- | --- |
# | equivalent | the 90 % interval lies within the smallest difference that matters (3 rsum) |
# | reproduced, contradicted | the difference is on the claimed side of zero, on the other; corrected p below 0.05 |
# | undecided | neither; it does not mean that there is no difference |
# | holds, fails | the same two words where the claim is ours: a bag of words is a model that the paper did not have |
# | agrees, does not | the paper's own printed numbers say what its text says; that is no reproduction |
# | computed | follows from formulas; the chapter that is named shows it |
# | not measurable | what was published cannot bear on the sentence, whatever is true |
#
# A claim that says several things at once is as strong as its weakest part; "(1 of 3)" says how many parts have the word.
# Most tests were written when the runs of VSE++ and of the bag of words had been made; only for VSRN and for the papers'
# own data were they written first.
#
# ## ECIR
#
# In the paper's words; [...] is left out by us. A sentence read literally may miss narrowly, and a hedged one ("can be",
# "general observation") may be fair all the same. The differences behind the words are {ref}`below <claims-parts>`.

# %% tags=["remove-cell"]
PAGES = {"Differentiating a rank": ("../push/smoothap", "SmoothAP"), "Errata": ("errata", "Errata"),
         "How many samples does a gradient hear?": ("../training/counting", "the count of samples"),
         "What did the counts count?": ("../training/audit", "the audit"),
         "the chapter on contrastive shortcuts": ("../information/contrastive", "contrastive losses"),
         "the chapter on decoding": ("../information/target", "targets"),
         "the chapter on the constraint": ("../information/constraint", "the constraint")}


def linked(see):
    """Where a computation stands, with a link to the page that it begins with."""
    key = next(name for name in PAGES if see.startswith(name))
    address, name = PAGES[key]
    return f'<a href="{address}.html">{name}</a>{see.removeprefix(key)}'


def by_the_paper(number, claim):
    """What the paper's own tables say, and what its count did instead."""
    if "not measurable as published" in claim["judged"]:
        return f"{evidence.verdict(claim['claim'], 'not measurable')}: {claim['broken']}"
    if number not in own_tables.index:
        return f"computed in {linked(claim['see'])}" if claim["see"] else "–"
    said = f"{own_tables['verdict'][number]} ({own_tables['numbers'][number]})"
    return said + (f". Not measurable {claim['broken']}" if claim["broken"] else "")


# %% tags=["remove-cell"]
def cell_of(number, dataset):
    """What the models say on one data set, a line each."""
    said = {m: judged(number, (d, m)) for d, m in HERE if d == dataset}
    return "<br>".join(f"{plots.label(m)}: {found}" for m, found in said.items()
                       if found and found.word != ledger.NOT_RUN) or "–"


rows = claims.astype(object).to_dict("index")
ecir = pd.DataFrame([{"": f"E{number}", "the paper says": f"“{claim['claim']}” ({claim['place']})"}
                     | {f"on {DATA[d]}": cell_of(number, d) for d in dict.fromkeys(d for d, _ in HERE)}
                     | {"its own tables": by_the_paper(number, claim)} for number, claim in rows.items()])

# %% tags=["remove-input"]
paper.styled(ecir, "ECIR's claims, quoted: scenes with ten draws, photos with three seeds.", name="claims-ecir")

# %% tags=["remove-cell"]
def where(found):
    """The records behind a table, by study, data set, method, loss and seed."""
    seeds = {loss: sorted(r["config"]["seed"] for r in group) for loss, group in found.groups.items()}
    each = "; ".join(f"{loss}/seed{s[0]}.json to seed{s[-1]}.json" for loss, s in seeds.items())
    method = found.place.method.replace("++", "pp")
    return f"studies/{found.place.study.name}/{found.place.dataset}/{method}/, {each}"


def parts_of(place):
    """Each part at one place, as it was asked and decided, and where its records are."""
    found = EVIDENCE[place]
    used = {part: [f"E{n}" for n, ids in TESTS.items() if (one := judged(n, place)) and part in one.parts]
            for part in found.verdicts}
    return [{"claims": " ".join(used[part]), "data": place[0], "model": plots.label(place[1]),
             "difference": found.place.describe(part), "mean": v.difference and v.difference.mean,
             "low": v.difference and v.difference.low, "high": v.difference and v.difference.high, "n": v.n,
             "p, Holm": v.adjusted, "verdict": str(v), "interval": v.basis, "records": where(found)}
            for part, v in found.verdicts.items()]


# %% [markdown]
# **With another budget, without clipping, with own constants.** VSE++ on scenes was trained with half and with twice the
# updates, once without clipping, and with the constant that a search chose for each loss. Described, not judged: what to
# look for is a sign that turns.

# %% tags=["remove-cell"]
OTHERS = {"1,500 updates": ("half", "half_tuning"), "6,000 updates": ("twice", "tuning"),
          "not clipped": ("clipping", "tuning"), "own constants": ("tuned", "tuning")}


OWN = evidence.tuned_studies(records.find(study="tuning"), "ecir", "tuned")


def find(study, **wanted):
    """Runs of a study; "tuned": those with the constant that the search chose, wherever they are."""
    if study == "tuned":
        study = OWN.get((wanted["method"], wanted["loss"]), study)
    return records.find(study=study, **wanted)


WAYS = {"3,000 updates": EVIDENCE["scenes", "vse++"]} | {
    title: evidence.Evidence(LossRows("scenes", "vse++", replace(studies[name], wanted=5), studies[search]), find)
    for title, (name, search) in OTHERS.items()}
SINGLE = {number: claims["tests"][number]["*"][0] for number in (2, 3, 5, 27)}


def in_way(title, part):
    """The difference with its interval and n; None where this was not run."""
    v = WAYS[title].verdicts.get(part)
    return v and (v.difference.mean, f"{str(v.difference).removesuffix(' rsum')}, n = {v.n}")


# %% tags=["remove-input"]
elsewhere = {number: {title: in_way(title, part) for title in WAYS} for number, part in SINGLE.items()}
turned = [f"E{number} ({title})" for number, row in elsewhere.items() for title, found in row.items()
          if found and row["3,000 updates"] and found[0] * row["3,000 updates"][0] < 0]
Markdown(f"With the other sign: {', '.join(turned) or 'none'}." + (
    " So a verdict above on such a claim is one about this budget, or about clipping, and not about the loss as such."
    if turned else ""))

# %% [markdown]
# **Few negatives or all.** E26 is about a number of negatives, but four losses differ in more than that. What would test it
# is one loss that pushes all negatives or a few: NT-Xent and its sparse form ({numref}`Chapter {number} <ch-ntxent>`).

# %% tags=["remove-input"]
def within_one_loss():
    """NT-Xent, sparse, less NT-Xent in test rsum, on the draws of both; None before there are five."""
    both = evidence.common_draws({loss: records.find(study=study, dataset="scenes", method="vse++", loss=loss)
                                  for loss, study in (("ntxent_sparse", "beyond"), ("ntxent", "ecir"))})
    if len(both["ntxent"]) < 5:
        return None
    tuning = {loss: {"lr": group[0]["config"]["lr"]} for loss, group in both.items()}
    return evidence.verdict("few negatives or all", "greater", both["ntxent_sparse"], both["ntxent"], tuning=tuning)


within = within_one_loss()
sparse_text = "It has no runs yet: `make records STUDY=beyond_tuning`, then `make records STUDY=beyond`." if (
    within is None) else (f"Sparse less full, VSE++ on scenes: {within.difference}, {within.n} draws. Five draws "
                          "describe; this is no verdict.")
Markdown(sparse_text)

# %% [markdown]
# ## GOAL
#
# In our words. What follows from formulas is shown in {numref}`Chapter {number} <ch-goal>`, the paper's own tables in
# {numref}`Chapter {number} <ch-fifteen>`. Five draws of each objective, on frozen features of scenes, *describe*: the last
# column counts 95 % intervals of paired differences in R@1, and decides nothing.

# %% tags=["remove-input"]
every, search = ([r for r in records.find(study=study) if r["config"]["loss_options"]["convention"] == "paper"]
                 for study in ("goal", "goal_tuning"))
goal_claims, goal_tables = paper.claims("goal"), paper.against_own_tables("goal")
goal_runs = evidence.describe_goal(every, search, records.find(study="ecir", method="vse++", loss="triplet_sh"))
lines = []
for number, claim in goal_claims.iterrows():
    ours = ": ".join(goal_runs[number]) if number in goal_runs else "–"
    if not goal_runs and "records" in claim["judged"]:
        ours = "not run yet: <code>make records STUDY=goal_tuning</code>, then <code>make records STUDY=goal</code>"
    alone = {"computation": "computed", "not measurable here": "not measurable here"}.get(claim["judged"], "–")
    own = goal_tables["verdict"].get(number, alone)
    lines.append({"": f"G{number}", "GOAL says": f"{claim['claim']} ({claim['place']})",
                  "its own tables or formulas": own, "our records": ours})
paper.styled(pd.DataFrame(lines).map(lambda text: text.replace(" x ", " × ")),
             "GOAL's claims. Our records: scenes, frozen features, five draws.", name="claims-goal")

# %% [markdown]
# ## LTD
#
# In our words. LTD gives the caption encoder a second task: a decoder finds in the caption's vector the vector that a
# sentence encoder, the *teacher*, has for it (LTD), or the words (ITD). The *reconstruction loss* is added with a fixed
# weight (*dual*), or held below a bound $\eta$ (*constrained*); the *baseline* has none. Beside its tables the release has
# the recorded curves of six trainings on MS-COCO, one run each. Our runs on scenes have five draws a row and no word; those
# on photos three seeds, judged. Where several bounds were run, the one that validation prefers stands for the row. As far
# as we know the teacher has seen most captions of the photos.

# %% tags=["remove-cell"]
ltd_claims, ltd_tables = paper.claims("ltd"), paper.against_own_tables("ltd")
LTD = {at.name: evidence.Evidence(at, records.find) for at in places.LTD}
stamped = records.find(study="ltd_stamps")


def by_ltd(number, claim):
    """What LTD's own tables or recorded curves say, and what they measured instead."""
    own = [f"{ltd_tables['verdict'][number]} ({ltd_tables['numbers'][number]})"] if number in ltd_tables.index else []
    if "not measurable as published" in claim["judged"]:
        own.append(f"{evidence.verdict(claim['claim'], 'not measurable')}: {claim['broken']}")
    elif claim["broken"]:
        own.append(f"But {claim['broken']}")
    if claim["see"]:
        own.append(f"See {linked(claim['see'])}")
    return ". ".join(own) or "–"


# %% tags=["remove-cell"]
ltd_alike = {}
for number, tests in ltd_claims["tests"].items():
    if tests:
        ltd_alike.setdefault(str(tests), []).append(number)
LTD_TESTS = {ids[0]: ids for ids in ltd_alike.values()}


def ltd_said(number, name):
    """What the runs of a place say to a claim, part by part; empty where the claim is not about it."""
    at = LTD[name]
    found = at.judge(ltd_claims["tests"][number])
    if found is None or found.word == ledger.NOT_RUN:
        return ""
    word = {part: f" ({word})" if at.place.decides else "" for part, word in found.parts.items()}
    return "<br>".join(f"{at.place.describe(part)}: {at.result(part)}{word[part]}" for part in found.parts)


def ltd_cell(number, names):
    return "<br>".join(filter(None, (ltd_said(number, name) for name in names))) or "–"


# %% tags=["remove-input"]
ltd_rows = ltd_claims.astype(object).to_dict("index")
paper.styled(pd.DataFrame([{"": f"L{number}", "LTD says": f"{claim['claim']} ({claim['place']})",
                            "on scenes": ltd_cell(number, ("scenes", "triplet", "eta")),
                            "on photos (Flickr8k)": ltd_cell(number, ("photos",)),
                            "its own tables and curves": by_ltd(number, claim)}
                           for number, claim in ltd_rows.items()]), "LTD's claims.", name="claims-ltd")

# %% tags=["remove-cell"]
every_part = pd.DataFrame([row for place in EVIDENCE for row in parts_of(place)]).round(4)
ways = pd.DataFrame([{"claim": f"E{number}: {places.ECIR[0].describe(SINGLE[number])}"} | {
    title: found[1] if found else "" for title, found in row.items()} for number, row in elsewhere.items()])
asked = pd.DataFrame([{"claim": f"{letter}{n}", "tested as": claim["asked"]} for letter, these in
                      (("E", claims), ("L", ltd_claims)) for n, claim in these.iterrows()])

# %% [markdown]
# (claims-parts)=
# ## Every part, with its records
#
# Each difference that was judged, with its interval, n, p and records; the four single differences with other budgets; and
# how each sentence was put into numbers. As CSV files, made when this page ran:

# %% tags=["remove-input"]
paper.downloads({"claims, all parts": every_part, "claims, other budgets": ways, "claims, how tested": asked})

# %% [markdown]
# ## What we found

# %% tags=["remove-cell"]
SH_NT, BEST = "rsum triplet_sh > ntxent", 7
models = [place for place in EVIDENCE if EVIDENCE[place].verdicts]
ready = [place for place in models if judged(BEST, place).word != ledger.NOT_RUN]
as_claimed = [name_of(place) for place in ready if judged(BEST, place).word in ledger.YES]
rule = {place: found for place in models if (found := judged(22, place)).word != ledger.NOT_RUN}
against = [place for place, found in rule.items() if found.word in ledger.NO]
lost = sorted(n for n, claim in claims.iterrows() if "not measurable as published" in claim["judged"])
disagreeing = [n for n, word in ltd_tables["verdict"].items() if word.startswith("does not")]
by_photos = {n: found.word for n, tests in ltd_claims["tests"].items() if (found := LTD["photos"].judge(tests))}
decided = {kind: sum(word in of for word in by_photos.values()) for kind, of in KINDS.items()}

# %% tags=["remove-input"]
Markdown("\n".join([
    f"- **That Triplet-SH is the best of the four (E7) comes out as claimed on {len(as_claimed)} of the {len(ready)} "
    f"pairs of data and model where it is judged**: {', '.join(as_claimed) or 'none'}.",
    f"- **That fewer negatives mean a higher score (E22, E26, E31) comes out the other way on {len(against)} of "
    f"{len(rule)}.** The paper's own tables have it in {own_tables['verdict'][22].removeprefix('does not: ')}.",
    f"- **{len(lost)} claims of ECIR were not measurable as published**: {', '.join(f'E{n}' for n in lost)}.",
    f"- **{len(disagreeing)} of the {len(ltd_tables)} claims of LTD that its own tables or curves can judge do not hold "
    f"there throughout.** Of those that our runs on photos judge, {decided['as claimed']} came out as claimed, "
    f"{decided['the opposite']} the other way, {decided['equivalent'] + decided['undecided']} neither.",
]))

# %% tags=["remove-cell"]
assert list(claims.index) == list(range(1, 32)) and len(goal_claims) == 21  # as the opening says
assert len(ltd_claims) == 37 and sum(map(len, LTD_TESTS.values())) == sum(map(bool, ltd_claims["tests"]))
assert sorted(n for ids in TESTS.values() for n in ids) == [n for n, tests in claims["tests"].items() if tests]
assert all(found.place.own == (method == "bow") for (_, method), found in EVIDENCE.items())
assert {n for n, see in claims["see"].items() if see} == {11, 12, 15, 19, 25}

# %% [markdown]
# ## Not run yet
#
# Flickr30k and MS-COCO, the paper's own data, are not part of this book; their commands are in
# {numref}`Chapter {number} <ch-hours>`, and a table above gets a column when records arrive. Beside them:

# %% tags=["remove-input"]
WRAP, waits = "white-space: normal; overflow-wrap: anywhere", []
for place, found in EVIDENCE.items():
    if found.missing and place in HERE:
        there = [f"{plots.label(loss)} {n}" for loss, n in found.missing.items() if n]
        waits.append({"what": name_of(place), "rows": "all four" if len(found.missing) == 4 else ", ".join(
            map(plots.label, found.missing)), "runs there": f"{', '.join(there) or 'none'} of {found.place.wanted}",
            "command": ", then ".join(f'<code style="{WRAP}">{c}</code>' for c in found.place.command(found.missing))})
begun = {name: [f"{at.place.title_of(row)} {n}" for row, n in at.missing.items() if n] for name, at in LTD.items()}
ltd_waits = [{"what": at.place.title, "rows": ", ".join(map(at.place.title_of, at.missing)),
              "runs there": f"{', '.join(begun[at.place.name]) or 'none'} of {at.place.wanted}",
              "command": ", then ".join(f'<code style="{WRAP}">{c}</code>' for c in at.place.commands)}
             for at in LTD.values() if at.missing]
if not stamped:
    ltd_waits.append({"what": "stamps (L4)", "rows": "trainings with a number on picture and caption",
                      "runs there": "none", "command": f'<code style="{WRAP}">{places.STAMPS[0]}</code>'})
waits += ltd_waits
(paper.styled(pd.DataFrame(waits), "Runs that the ledger waits for.", name="claims-missing") if waits
 else Markdown("Nothing: all other runs are there."))

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} As strong as its weakest part
# :label: ex-claims-weakest
# ````
#
# A claim says "in both directions and against all losses". Write `mine(words)`, which takes the words of its parts, a list of
# "reproduced", "contradicted", "undecided" and "equivalent", and returns the word of the claim.

# %%
mine = ...

# %% tags=["hide-input"]
def check_weakest(value):
    """Passes for the word of the weakest part, on all lists of up to three words."""
    from itertools import product

    from icrlib import evidence

    if value is ...:
        return "your turn"
    kinds = ("reproduced", "contradicted", "undecided", "equivalent")
    for words in (words for n in (1, 2, 3) for words in product(kinds, repeat=n)):
        right = evidence.weakest(dict(enumerate(words)))
        got = value(list(words))
        assert got == right, f"not yet: {', '.join(words)} make a claim {right}, not {got}"
    return "right"


check_weakest(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-claims-weakest
# :class: dropdown
# ````
#
# One contradicted part is enough to contradict; to reproduce the claim takes all of them. Between these, a part of which
# nothing is known weighs more than one that makes no difference.

# %%
def weakest_of(words):
    order = ("contradicted", "undecided", "equivalent", "reproduced")
    return min(words, key=order.index)


check_weakest(weakest_of)

# %% [markdown]
# ````{solution-end}
# ````
#
# Next: {numref}`Chapter {number} <ch-words>`.
