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
# (ch-modular)=
# # Can a score tell left from right, and which part of it does?
#
# Two towers write a caption and a picture down as one vector each, and compare the vectors. Nothing in that comparison knows that
# "left of" asks about two things and where they stand. The **modular scorer** is built like the sentence {cite:p}`hu2017modeling`:
# two *mentions* look for their things among the picture's regions, and a *relation* judges the offset between the two places. It is
# trained on captions and whole pictures only.

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
import torch.nn.functional as F

import icrlib
from icrlib import chapter, plots
from icrlib.data.text import tokenize
from icrlib.experiments import check, compare, runs

smoke = chapter.start(smoke)
data = icrlib.load_dataset("scenes", val=200, test=500, regions=True, smoke=smoke)
split = data.test

# %% tags=["remove-input"] mystnb={"image": {"alt": "Two drawn pictures of the same two discs, a large blue one and a small striped orange one, under one caption, a blue circle left of a striped orange disc. In the left picture that is so; in the right one the two have exchanged their places."}, "figure": {"name": "fig-place-twins", "caption": "One caption and two of our test pictures, which are *swap twins* of the third kind: the two things have exchanged their places. (Of the other kinds they have exchanged their colours, or their shapes.) Does the caption score higher with its own picture? Guessing answers 50 %."}}
c, images = (90, [18, 17]) if not smoke else (0, [0, 1])
plots.gallery(split.images[images], [split.captions[c], "the same caption"], frames=[True, False], wrap=26, size=2.0);

# %% [markdown]
# **It can, and the relation does it: the scorer answers 87 % of the questions in which two things have exchanged their places, and
# 51 % without its relation.** Whose colour and whose shape it is, the two mentions alone tell. Where a caption tells colours apart
# from their shapes, the mentions still do; the relation still tells places at a lower learning rate, 83 % of them, and hardly at the
# rate that recall on plain captions had chosen, 57 %. VSE++ and the towers on boxes guess places, or nearly do.
#
# *You will be able to* say what a score of mentions and a relation computes, which part tells what, and how to see whether they find
# what they should · ten minutes to read · half a minute to run.
#
# ## A score that is built like the sentence
#
# The scorer fixes what is looked for. A learned query for each module gathers the states of some words (of a network that reads the
# caption in both directions) into a vector: mentions $m_1, m_2$ and a relation $q$. Each mention finds its region $r$ softly, by
# **attention**, and so a place $p$, the mean of the regions' centres $c_r$:
#
# $$w = \mathrm{softmax}_r(e^{\kappa}\, r \cdot m_k), \qquad s_k = \sum_r w_r\, r \cdot m_k, \qquad p_k = \sum_r w_r c_r .$$
#
# The relation sees nothing but the offset of the two places, through a small network $f$:
#
# $$\text{score} = \tfrac12\bigl(a\,(u_1 s_1 + u_2 s_2) + b\, g\, \cos(q, f(p_1 - p_2))\bigr).$$
#
# The numbers $\kappa$, $a$ and $b$ are learned. How much each mention counts ($u$) and whether a relation is meant at all ($g$) the
# caption says itself. Nobody tells the modules what a subject is: the loss is NT-Xent on whole pictures and captions.
#
# `runs` says which runs are meant and reads our records of them (with `missing="train"` it trains those that have none). Run $s$
# draws its own 1,500 training and 1,000 test pictures with seed $s$, each of eight regions with their boxes. The learning rate was
# searched on three other draws with plain captions ({doc}`../reproduce/settings`; `at="searched, modular"` takes it).

# %%
PLACES = "test.twins.swap_cell"  # swap twins whose things have exchanged their places, %


def modular(seed=range(5), **part):
    return runs("scenes", method="cmn", loss="ntxent", seed=seed, updates=1000,
                at="searched, modular", **part)


print("places told, %:", modular().values(PLACES).round())

# %% [markdown]
# ## Take a part out
#
# Now one part is missing at a time. *Places, not offsets*: the network $f$ sees $p_1$ and $p_2$ themselves, from which it could work
# the offset out. *A mean, not attention*: every region has the same weight. Each variant is trained on **plain** captions, "a big
# striped star left of a little orange triangle", and on the same facts **told apart**, "a star left of a triangle, the first large
# striped, the second small orange", where no neighbours tell what belongs together ({numref}`Chapter {number} <ch-reading>`).
#
# Then false captions. **Foils** are captions of the same words in a false order, one for each caption of a batch, as further negatives:
# close to the test's own question, and possible only where somebody knows what is false. And the two towers that read best, which pool
# maxima over words and over regions ({numref}`Chapter {number} <ch-pooling>`), with the same help. All have a rate of 0.01, the best on
# plain captions for the whole scorer and (at 600 updates) for the towers; one row has a third of it.

# %%
def towers(seed=range(5), **more):
    return runs("scenes", method="vse_infty", loss="ntxent", seed=seed,
                at="searched, maxima", **{"updates": 1000} | more)


def less(a, b, factor="relation", of=PLACES):
    return str(compare(a, b, factor, of))


WHOLE, NONE, SLOW = "the whole scorer", "without its relation", "a third of the rate"
PARTS = {WHOLE: {}, NONE: {"relation": "none"}, "a mean, not attention": {"find": "mean"},
         "places, not offsets": {"relation": "places"}}
FOILS = {"phrasing": "apart", "negatives": "foils"}

# %%
plain = {name: modular(**part) for name, part in PARTS.items()}
apart = {name: modular(**part, phrasing="apart") for name, part in PARTS.items()}
plain["two towers"], apart["two towers"] = towers(), towers(phrasing="apart")
apart[SLOW] = modular(lr=3e-3, phrasing="apart")
apart["… nor a second mention"] = modular(range(3), mentions=1, relation="none",
                                          phrasing="apart")
apart["the whole, with foils"] = modular(**FOILS)
apart["two towers, with foils"] = towers(**FOILS)

# %% tags=["remove-input"] mystnb={"image": {"alt": "Four panels, rsum and the share of swap twins answered by colour, shape and place, with a row for each variant of the scorer. Colours and shapes are near 97 percent for all variants with attention; places are at 87 percent for the whole scorer on plain captions, at 90 for the whole with foils and 83 at a third of the rate on captions told apart, between 48 and 63 for all others."}, "figure": {"name": "fig-parts", "caption": "What each variant has of rsum (the sum of six recalls, 600 at most) and of each kind of swap twins. Filled: plain captions; hollow: told apart. Small dots: draws; lines: 95 % intervals of the mean over five draws (three without a second mention). Dotted: guessing."}}
RSUM, COLOURS, SHAPES = "test.rsum", "test.twins.swap_colour", "test.twins.swap_shape"
KINDS = {"rsum": RSUM, "colours, %": COLOURS, "shapes, %": SHAPES, "places, %": PLACES}
ORDER = [WHOLE, SLOW, NONE, "… nor a second mention", "places, not offsets", "a mean, not attention",
         "the whole, with foils", "two towers", "two towers, with foils"]
fig, axes = plt.subplots(1, 4, figsize=(6.8, 4.8), sharey=True, width_ratios=[1.1, 1, 1, 1])
for ax, (title, of) in zip(axes, KINDS.items(), strict=True):
    for y, name in enumerate(ORDER):
        for told, shift, fill in ((plain, -0.15, True), (apart, 0.15, False)):
            if one := told.get(name):
                colour = "#d55e00" if "tower" in name else "#0072b2"
                low, high = one.estimate(of).interval(0.95)
                ax.plot(one.values(of), [y + shift] * len(one), ".", color=colour, ms=3, alpha=0.5)
                ax.plot([low, high], [y + shift] * 2, color=colour, lw=1.2)
                ax.plot(one.mean(of), y + shift, "o", color=colour, ms=5.5, mfc=colour if fill else "white")
    ax.set_title(title, fontsize=10)
    if of != "test.rsum":
        ax.axvline(50, color="black", ls=":", lw=1)
        ax.set(xlim=(35, 106), xticks=[50, 100])
axes[0].set_yticks(range(len(ORDER)), ORDER, fontsize=9)
axes[0].set(ylim=(len(ORDER) - 0.5, -0.5), xlim=(170, 550), xticks=[200, 500]);

# %% [markdown]
# A difference here is *a* less *b*, paired by draw, with its uncorrected 95 % interval; if that holds zero, it is undecided.
#
# - **The relation tells places.** The whole scorer less the one without its relation is +36.1 [+16.4, +55.8] points on places, and
#   +29.0 [+14.7, +43.3] rsum. Without it the score sees only what a region looks like, so it has to guess. Whether it must be the
#   *offset* is less sure: less the one that sees both places it is +24.6 [−2.1, +51.2], undecided.
# - **Two mentions tell colours and shapes.** Without the relation both stay above 96 %, plain and told apart. A single mention can
#   find one thing only: told apart, at the same rate, the second is worth +290.5 [+264.2, +316.9] rsum.
# - **Attention finds.** With a mean in its place, at the same rate, the rsum changes by −210.5 [−225.7, −195.3] on plain captions; told
#   apart, all three kinds are guessed.
# - **Told apart, the rate decides.** At 0.01 the relation does next to nothing: the whole scorer less the one without it is −0.7
#   [−3.5, +2.0] rsum, and +3.6 [−0.5, +7.8] points on places. At 0.003 the scorer answers 83.2 % of them, in single draws 59 to 99:
#   +26.2 [+5.9, +46.4] points more than at 0.01. Recall does not show that, with −3.9 [−25.9, +18.2] rsum, and it was recall that chose
#   the rate. Foils help at 0.01, too: +32.7 [+22.3, +43.0] points.
# - **Two towers do not get there.** Foils are worth +4.3 [−0.6, +9.2] points on places to them, and leave them at 55.7 %.

# %% tags=["hide-input"]
# checked by machine
MEAN, WITH_FOILS, TOWERS = apart["a mean, not attention"], apart["the whole, with foils"], apart["two towers, with foils"]
check("87 % of the questions in which two things have exchanged their places, and 51 % without its relation.",
      f"{plain[WHOLE].mean(PLACES):.0f} % of", f"{plain[NONE].mean(PLACES):.0f} % without")
check("at a lower learning rate, 83 % of them, and hardly at the rate that recall on plain captions had chosen, 57 %.",
      f"{apart[SLOW].mean(PLACES):.0f} % of", f"{apart[WHOLE].mean(PLACES):.0f} %.")
check("+36.1 [+16.4, +55.8] points on places, and +29.0 [+14.7, +43.3] rsum.", less(plain[WHOLE], plain[NONE]),
      less(plain[WHOLE], plain[NONE], of=RSUM))
check("+24.6 [−2.1, +51.2], undecided.", less(plain[WHOLE], plain["places, not offsets"]))
check("Without the relation both stay above 96 %, plain and told apart.",
      *(told[NONE].mean(of) > 96 for told in (plain, apart) for of in (COLOURS, SHAPES)), also="96")
check("the rsum changes by −210.5 [−225.7, −195.3] on plain captions; told apart, all three kinds are guessed.",
      less(plain["a mean, not attention"], plain[WHOLE], "find", RSUM),
      *(abs(MEAN.mean(of) - 50) < 3 for of in (COLOURS, SHAPES, PLACES)))
check("−0.7 [−3.5, +2.0] rsum, and +3.6 [−0.5, +7.8] points on places.", less(apart[WHOLE], apart[NONE]),
      less(apart[WHOLE], apart[NONE], of=RSUM))
check("+290.5 [+264.2, +316.9] rsum.", less(apart[NONE], apart["… nor a second mention"], "mentions", RSUM))
check("Foils are worth +4.3 [−0.6, +9.2] points on places to them, and leave them at 55.7 %.",
      less(TOWERS, apart["two towers"], "negatives"), f"{TOWERS.mean(PLACES):.1f} %")

# %% [markdown]
# ## 400 pictures and 6,000
#
# Do more pictures do what foils do? Three draws each, as many updates as before; two towers, told apart, get 4,000:

# %%
few, many = ([modular(range(3), train=n, **PARTS[name]) for name in (WHOLE, NONE)]
             for n in (400, 6000))
for n, (full, none) in {400: few, 6000: many}.items():
    print(f"{n:,}: rsum {full.mean(RSUM):.1f}, places {full.values(PLACES).round()}; less",
          f"without relation {less(full, none, of=RSUM)} rsum, places {less(full, none)}")
longer = [towers(range(3), updates=4000, **of)
          for of in ({"phrasing": "apart"}, {"train": 6000, **FOILS})]
print(*(f"{k} {[round(one.mean(of), 1) for one in longer]}" for k, of in KINDS.items()))

# %% [markdown]
# **The relation pays with few pictures and with many.** With 400 the relation is worth +37.7 [+9.4, +66.1] rsum, and 63 to 76 % of the places
# are told. With 6,000 it is +20.4 [+14.2, +26.6]; two of three draws have 95 % of the places or more, and one has 63, as it had
# with 1,500: more pictures did not mend that start. (On three draws places are undecided at both sizes.) With four times the
# updates two towers tell 82 % of the colours and 71 of the shapes, with foils and 6,000 pictures 88 and 80; of places 50 and 57 %.

# %% [markdown]
# ## Is its attention right?
#
# In drawn pictures the truth is known. So train the scorer here, briefly, and look. (Another start or processor may find another way.)

# %% tags=["live"]
run = icrlib.train(data, "cmn", "ntxent", seed=5, mentions=2, embed_dim=64, word_dim=64,
                   lr=3e-3, updates=150, evaluate_every=150, progress=False, smoke=smoke)
model = run.model


@torch.no_grad()
def modules(captions):
    """Of captions (M): each module's weights of words (M, 3, L) and its vector (M, 3, d),
    each mention's weights of regions (M, 2, N) and its place (M, 2, 2)."""
    words, lengths = data.vocabulary.encode([split.captions[c] for c in captions])
    images = model.encode_images(split.features[split.image_of[captions]])
    told = model.encode_captions(words, lengths)
    return model.words_of(words, lengths), told.values[..., :-1], *model.found(images, told)


@torch.no_grad()
def asked_for(relation):
    """cos(q, f(p1 − p2)) for mention 1 at any place around mention 2."""
    side = torch.linspace(-0.8, 0.8, 41)
    offsets = torch.stack(torch.meshgrid(side, side, indexing="xy"), -1)
    judged = model.offset(model.seen(offsets, torch.zeros_like(offsets)))
    return F.normalize(judged, dim=-1) @ relation

# %% tags=["live", "remove-input"] mystnb={"image": {"alt": "Two rows, a test caption each. Left the picture: an orange box lies on the thing named first and a blue box on the second, with an arrow from one to the other. Middle: mention 1 takes the words of the first thing, mention 2 those of the second. Right: a map of offsets, blue on the side that the caption names, with a dot in the blue."}, "figure": {"name": "fig-parse", "caption": "What the modules make of two test captions, chosen for clear weights. Left: the regions with the weight of mention 1 (orange) and mention 2 (blue); the arrow leads from place to place. Middle: from which words each module takes its vector (dark: most). Right: the offset that the relation asks for; the cross is mention 2, blue is where mention 1 fits, the dot is where it is."}}
shown = (515, 1043) if not smoke else (0, 1)
words, vectors, shares, places = modules(list(shown))
fig, axes = plt.subplots(2, 3, figsize=(7.2, 5.2), width_ratios=[1, 1.5, 1])
for n, ((left, middle, right), c) in enumerate(zip(axes, shown, strict=True)):
    left.imshow(split.images[int(split.image_of[c])])
    boxes = split.boxes[int(split.image_of[c])].astype(int)
    for (x0, y0, x1, y1), share in zip(boxes, shares[n].T.tolist(), strict=True):
        for weight, colour in zip(share, ("#d55e00", "#0072b2"), strict=True):
            left.add_patch(plt.Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False, ec=colour, lw=3 * weight))
    left.annotate("", *reversed(64 * places[n].numpy() - 0.5), arrowprops=dict(arrowstyle="-|>", color="black", lw=1.5))
    text = ["(start)", *tokenize(split.captions[c]), "(end)"]
    middle.imshow(words[n, :, : len(text)], cmap="Greys", vmin=0, aspect="auto")
    middle.set_yticks(range(3), ["mention 1", "mention 2", "relation"], fontsize=9.5)
    middle.set_xticks(range(len(text)), text, rotation=60, ha="right", fontsize=9.5)
    right.imshow(asked_for(vectors[n, 2]), cmap="RdBu", vmin=-1, vmax=1, extent=(-0.8, 0.8, 0.8, -0.8))
    right.plot(0, 0, "k+", ms=9)
    right.plot(*(places[n, 0] - places[n, 1]).tolist(), "ko", ms=5)
    for ax in (left, right):
        ax.set(xticks=[], yticks=[])

# %% [markdown]
# From which words does each mention take its vector, where does it look, and does the dot lie in the blue, as the caption means?
#
# Now count, over the test captions with a relation whose descriptions fit one thing each: on which region has a mention most of its weight?
# Mention 1 may find the first thing and mention 2 the other, or the other way round; a score that knows the subject keeps to one.

# %% tags=["live"]
def two_things(c):
    """Which things of the picture a caption relates, if each description fits only one."""
    form, things = split.forms[c], split.graphs[int(split.image_of[c])].things
    fit = [[n for n, thing in enumerate(things)
            if all(getattr(thing, what) == value for what, value in told.items())]
           for told in form["things"]]
    return sum(fit, []) if form["relation"] and list(map(len, fit)) == [1, 1] else None


asked = [c for c in range(len(split.captions)) if two_things(c)]
named = torch.tensor([two_things(c) for c in asked])
region = modules(asked)[2].argmax(2)  # of mention 1 and mention 2
thing = split.region_of[split.image_of[asked]].gather(1, region)
known = (thing[..., None] == named[:, None]).any(2)
looks = {"a named thing": known, "another thing": ~known & (thing >= 0),
         "both on one region": region[:, 0] == region[:, 1],
         "both things, mention 1 on the first": (thing == named).all(1),
         "both things, mention 2 on the first": (thing == named.flip(1)).all(1)}
looks = {name: 100 * float(hits.float().mean()) for name, hits in looks.items()}
places = {"places told": run.record["test"]["twins"]["swap_cell"]}
pd.Series(looks | places, name="%").round(1).to_frame()

# %% [markdown]
# Hardly ever does a mention look at a thing that is not named; where it misses, it is on a random box. In about half of the captions both
# things are found, always in one order: enough, it seems, for a question that asks only which of two captions scores higher.

# %% [markdown]
# ## Twenty starts
#
# No term of the loss asks for either order, and the start decides. Here are twenty trainings of twice the length on plain captions, ten
# starts on each of two draws of the data. Of ten we keep the one with the highest validation rsum.

# %%
tens = [runs("scenes", method="cmn", loss="ntxent", seed=range(10), data_seed=draw,
             mentions=2, places="boxes", embed_dim=64, word_dim=64, lr=3e-3, updates=300)
        for draw in (0, 101)]
kept_of = [max(ten, key=lambda run: run["chosen"]["val_rsum"]) for ten in tens]
for ten, one in zip(tens, kept_of, strict=True):
    print("places told, %:", *np.sort(ten.values(PLACES)).round().astype(int),
          "| kept:", round(one["test"]["twins"]["swap_cell"]))

# %% [markdown]
# We see: of twenty starts 9 answer more than 90 % of the place twins, and 8 fewer than 70 %. **Validation recall finds good ones**:
# on both draws the kept one answers at least 98 %. So train several starts and keep that one. Each run above was one start, so the
# long intervals of places hold other starts, too. Told apart at 0.01, five of five starts guess or nearly do; nobody knows why.

# %% tags=["hide-input"]
# checked by machine
told = np.concatenate([ten.values(PLACES) for ten in tens])
check("of twenty starts 9 answer more than 90 % of the place twins", f"starts {(told > 90).sum()}", also="90")
check("and 8 fewer than 70 %.", f"{(told < 70).sum()} fewer", also="70")
check("on both draws the kept one answers at least 98 %.",
      f"{np.floor(min(run['test']['twins']['swap_cell'] for run in kept_of)):.0f} %")
check("At 0.003 the scorer answers 83.2 % of them, in single draws 59 to 99: +26.2 [+5.9, +46.4] points more than at "
      "0.01.", f"answers {apart[SLOW].mean(PLACES):.1f} %", less(apart[SLOW], apart[WHOLE], "lr"),
      "draws {:.0f} to {:.0f}".format(*np.sort(apart[SLOW].values(PLACES))[[0, -1]]), also="0.003 0.01")
check("Recall does not show that, with −3.9 [−25.9, +18.2] rsum,", less(apart[SLOW], apart[WHOLE], "lr", RSUM))
check("Foils help at 0.01, too: +32.7 [+22.3, +43.0] points.", less(WITH_FOILS, apart[WHOLE], "negatives"), also="0.01")
check("Told apart at 0.01, five of five starts guess or nearly do;", max(apart[WHOLE].values(PLACES)) < 65, also="0.01")
both = [looks[f"both things, mention {k} on the first"] for k in (1, 2)]
check("always in one order", smoke or looks["another thing"] < 5 and min(both) < 15 and 25 < sum(both) < 80)
check("With 400 the relation is worth +37.7 [+9.4, +66.1] rsum, and 63 to 76 % of the places are told.",
      less(*few, of=RSUM), "{:.0f} to {:.0f} %".format(*np.sort(few[0].values(PLACES))[[0, 2]]), also="400")
large = np.sort(many[0].values(PLACES))
check("With 6,000 it is +20.4 [+14.2, +26.6]; two of three draws have 95 % of the places or more, and one has 63,",
      less(*many, of=RSUM), f"{large[1]:.0f} %", f"{large[0]:.0f},",
      round(plain[WHOLE].values(PLACES)[1]) == round(many[0].values(PLACES)[1]), also="6,000")
check("places are undecided at both sizes.", *(compare(*n, "relation", PLACES).word == "undecided" for n in (few, many)))
check("two towers tell 82 % of the colours and 71 of the shapes, with foils and 6,000 pictures 88 and 80; of places 50 "
      "and 57 %.", f"tell {longer[0].mean(COLOURS):.0f} % of the colours and {longer[0].mean(SHAPES):.0f} of",
      f"{longer[1].mean(COLOURS):.0f} and {longer[1].mean(SHAPES):.0f};",
      "places {:.0f} and {:.0f} %.".format(*(one.mean(PLACES) for one in longer)), also="6,000")

# %% [markdown]
# ## What we found
#
# - The relation: the scorer answers 87 % of the questions in which two things have exchanged their places, and 51 % without its relation.
# - The two mentions bind: with attention colours and shapes are told without a relation, too.
# - Told apart, the learning rate decides whether places are told. Recall, which chose the rate, does not show it.
# - The start decides: of twenty starts 9 answer more than 90 % of the place twins. Validation recall finds one of the best.
# - It is built for our captions: no setting follows "the ring between two stars", and searching needs every picture's regions.

# %% [markdown]
# ## Exercises
#
# ````{exercise-start} Find
# :label: ex-find
# ````
#
# Write the module that finds: unit vectors of regions (N, d), their centres (N, 2), a mention (d,) and a sharpness. It returns how
# well the mention fits what it found, and where that is.

# %%
mine = ...  # a function: regions, centres, mention, sharp -> (fit, place)

# %% tags=["hide-input"]
def check_find(find):
    """Passes for the softmax-weighted fit and place."""
    if find is ...:
        return "your turn"
    regions, mention = F.normalize(torch.randn(8, 5), dim=1), F.normalize(torch.randn(5), dim=0)
    centres = torch.rand(8, 2)
    for sharp in (0.0, 5.0, 50.0):
        weights = torch.exp(sharp * (regions @ mention)) / torch.exp(sharp * (regions @ mention)).sum()
        fit, place = find(regions, centres, mention, sharp)
        assert chapter.near(fit, (weights * (regions @ mention)).sum()), f"not yet: the fit, at sharpness {sharp:g}"
        assert chapter.near(place, (weights[:, None] * centres).sum(0)), f"not yet: the place, at sharpness {sharp:g}"
    return "right"


check_find(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-find
# :class: dropdown
# ````
#
# One softmax, used twice. At sharpness 0 nothing is found: the place is the mean of all centres.

# %%
def find(regions, centres, mention, sharp):
    weights = (sharp * regions @ mention).softmax(0)
    return weights @ (regions @ mention), weights @ centres

check_find(find)

# %% [markdown]
# ````{solution-end}
# ````
#
# Next: {numref}`Chapter {number} <ch-matching>` lets two towers propose, and one head decide.
