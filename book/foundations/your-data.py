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
# # Your own photos: from a folder to a search
#
# **What you will be able to do:** lay out your photos and captions so that the library reads them; find every broken
# file before you compute; turn the photos into features, train on them, and search in both directions. **Time:** about
# a minute on one core. **You need:** {doc}`task`.

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
import json
import tempfile
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from IPython.display import Markdown
from PIL import Image

import icrlib
from icrlib import chapter, paper, plots
from icrlib.data import Split, Vocabulary, features, karpathy
from icrlib.data.pictures import open_picture
from icrlib.data.scenes import truth
from icrlib.search import Index

smoke = chapter.start(smoke)

# %% [markdown]
# I have a folder of photos and captions. How far is it to a search? No photo can be shipped with this book, so the folder
# of this page is filled with drawn scenes, saved as JPEG files. All that follows is what you would do with real photos.

# %% tags=["hide-input"]
workplace = tempfile.TemporaryDirectory()  # gone at the end of this page
PHOTOS, FEATURES, RUNS = (Path(workplace.name) / name for name in ("photos", "features", "runs"))
sizes = {"train": 40, "val": 12, "test": 16} if smoke else {"train": 300, "val": 60, "test": 60}
drawn = icrlib.load_dataset("scenes", **sizes, progress=False)
(PHOTOS / "images").mkdir(parents=True)
entries = []
for name in sizes:
    split = getattr(drawn, name)
    for row, pixels in enumerate(split.images):
        file = f"{name}-{row:03d}.jpg"
        Image.fromarray(pixels).resize((96, 96)).save(PHOTOS / "images" / file, quality=92)
        texts = [split.captions[int(c)] for c in (split.image_of == row).nonzero()]
        entries.append({"filename": file, "split": name, "imgid": len(entries),
                        "sentences": [{"raw": text} for text in texts]})


def write_json():
    (PHOTOS / "dataset.json").write_text(json.dumps({"images": entries}))


write_json()

# %% [markdown]
# Here are five photos of the folder, each with one of its captions. At the end of this page it answers “a red ring”.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Five small pictures of coloured shapes, each with one caption above it."}, "figure": {"name": "fig-folder", "caption": "Five photos of the folder, each with the first of its captions. They are rendered pictures, saved as JPEG files: so we know later what is true of them."}}
def look(files):
    return np.stack([np.asarray(open_picture(file)) for file in files])


photos = karpathy.read(PHOTOS)["train"]
plots.gallery(look(photos.files[:5]), [texts[0] for texts in photos.captions[:5]], columns=5, size=1.6, wrap=17);

# %% [markdown]
# ## The layout
#
# A folder `photos/` holds `images/` and one `dataset*.json`. The format is Karpathy's
# {cite:p}`karpathy2015alignments`, in which Flickr8k, Flickr30k and COCO are handed around. The file says
# `{"images": [...]}`, with one entry an image:

# %%
print(json.dumps(entries[0], indent=1))

# %% [markdown]
# - `filename`: the picture in `images/`. COCO adds a folder, `filepath`.
# - `split`: train, val or test. COCO's `restval` counts as train.
# - `sentences`: any number of captions, each a text in `raw`.
# - `imgid`: a number of your own, different for every image. You may leave it out.
#
# Decide on the split before you look at any result. Near-copies of a photo belong in the same part: a model that has
# seen one of them in training finds the other too easily.
#
# ## Check before you compute
#
# Real folders are never whole. We plant two faults: a download that was cut off, and a caption without a word.

# %%
cut = PHOTOS / "images" / "train-003.jpg"
whole = cut.read_bytes()
cut.write_bytes(whole[: len(whole) // 2])
wordless = next(e for e in entries if e["filename"] == "val-001.jpg")
kept = wordless["sentences"][0]["raw"]
wordless["sentences"][0]["raw"] = "   "
write_json()

# %% [markdown]
# `check` opens every picture and reads every caption. It does not stop at the first fault. It counts, and it lists all
# problems at once.

# %%
counts, problems = karpathy.check(PHOTOS, progress=False)
for problem in problems:
    file, _, what = problem.partition(": ")
    print(f"{Path(file).name}: {what}")
planted = len(problems)
assert planted == 2

# %% [markdown]
# In a shell this is `icr data check photos/`. It ends with status 1 if there is a problem, so a script can stop.
#
# What happens if we go on nevertheless? The features of all sound photos are computed. Then the bad ones are named, and
# nothing half-done is left where a training would read it.

# %%
def compute(**options):
    return features.extract(PHOTOS, FEATURES, backbone="scenes", progress=False, **options)


try:
    compute()
except features.BadPhotos as err:
    said, *named = str(err).splitlines()
    print(said, Path(named[0].partition(": ")[0]).name)
assert not (FEATURES / "train_ims.npy").exists()

# %% [markdown]
# There are two ways out. `skip_bad=True` (`--skip-bad`) leaves such photos out and goes on without them. Captions
# without a word are left out anyway. We take the other way and mend both.

# %%
cut.write_bytes(whole)
wordless["sentences"][0]["raw"] = kept
write_json()
counts, problems = karpathy.check(PHOTOS, progress=False)
assert problems == []

# %% tags=["hide-input"]
table = pd.DataFrame(counts).T
table["words a caption"] = [f"{words / n:.1f}" for words, n in zip(table.pop("words"), table["captions"], strict=True)]
paper.styled(table.reset_index(names="split"), "What the folder holds", name="photos-counts")

# %% [markdown]
# ## Features, once
#
# A frozen network sees each photo once. What it says is kept in a folder of arrays, and training never opens a picture
# again. Which network?
#
# | `backbone` | weights | numbers a photo |
# | --- | --- | --- |
# | `efficientnet_lite2` | come with the environment, offline | 1280 |
# | `resnet50`, `resnet152` | downloaded once, announced | 2048 |
# | `vit_b_16` | downloaded once, announced | 768 |
# | `scenes` | in the library, for drawn shapes only | 256 |
#
# For real photos say `resnet50` or `efficientnet_lite2`. Here the small network is enough: it was trained on such shapes.

# %%
compute()
data = icrlib.load_dataset("flickr8k", features=FEATURES)
print("files:", ", ".join(sorted(p.name for p in FEATURES.glob("train_*"))))
assert len(data.train) == sizes["train"] and data.train.features.shape[1] == 256

# %% [markdown]
# `icrlib.load_dataset("flickr8k", root=PHOTOS, backbone="scenes")` does both in one call, and keeps the features in the
# cache. The name `flickr8k` says how the folder is laid out, no more.
#
# ## Train two models
#
# First the baseline: a **bag of words**, which sees which words a caption has, not their order. Then **VSE++**
# {cite:p}`faghri2018vsepp`, which reads them with a GRU. Both are small here, and so are the batches. Nobody can tell
# the right learning rate for a folder beforehand, so each model gets three, and the *validation* part decides. The test
# part is for the end of this page: what has made a choice cannot judge it as well.


# %%
small = {"embed_dim": 64, "batch_size": 64, "smoke": smoke, "progress": False}
updates, rates = {"bow": 300, "vse++": 600}, (0.001, 0.003, 0.01)
tried = {(method, lr): icrlib.train(data, method, updates=updates[method], lr=lr,
                                    out=RUNS / f"{method}-{lr}", **small)
         for method in updates for lr in rates}


def on_validation(run):
    """The rsum on the validation part by which a run chose its weights."""
    return max(entry["val"]["rsum"] for entry in run.history)


chosen = {m: max(rates, key=lambda lr, m=m: on_validation(tried[m, lr])) for m in updates}
bow, gru = (tried[method, chosen[method]] for method in updates)

# %% tags=["hide-input"]
table = pd.DataFrame([{"model": plots.label(m), **{f"lr {lr:g}": f"{on_validation(tried[m, lr]):.0f}" for lr in rates},
                       "chosen": f"{chosen[m]:g}"} for m in updates])
paper.styled(table, "Validation rsum at three learning rates, one seed", name="photos-rates")

# %% [markdown]
# **Which words?** The vocabulary holds the words that occur at least four times in the training captions, as in the
# published code; every other word is `<unk>`. A small folder has many rare words. Should it keep them, with
# `min_count=1`? A word that was seen once has a vector that one caption has taught. That is for the validation part to
# say, too. We take an eighth of the training photos and the bag of words, with three seeds.


# %%
def first(split, photos):
    """The first photos of a split, with their captions."""
    inside = split.image_of < photos
    texts = [t for t, yes in zip(split.captions, inside.tolist(), strict=True) if yes]
    return Split(split.name, split.features[:photos], texts, split.image_of[inside],
                 split.image_ids[:photos])


def train_on(photos, method, min_count=4, seed=0):
    part = first(data.train, photos)
    fewer = replace(data, train=part, vocabulary=Vocabulary.build(part.captions, min_count))
    return icrlib.train(fewer, method, seed=seed, lr=chosen[method],
                        updates=updates[method], **small)


shares = [len(data.train) // k for k in (8, 4, 2, 1)]
by_count = {n: [on_validation(train_on(shares[0], "bow", n, seed)) for seed in range(3)]
            for n in (1, 4)}

# %% tags=["hide-input"]
kept_words = {n: len(Vocabulary.build(first(data.train, shares[0]).captions, n)) - 4 for n in (1, 4)}  # 4 are no words
all_words, frequent = np.mean(by_count[1]), np.mean(by_count[4])
seeds_apart = max(np.ptp(values) for values in by_count.values())
assert smoke or all_words < frequent + 3  # what the next paragraph rests on: rare words are no gain
Markdown(f"With {shares[0]} photos, `min_count=1` keeps {kept_words[1]} words and reaches a validation rsum of "
         f"**{all_words:.0f}**; `min_count=4` keeps {kept_words[4]} and reaches **{frequent:.0f}** "
         f"(means of three seeds, which by themselves lie up to {seeds_apart:.0f} apart). With all {shares[-1]} photos "
         f"the two give {len(Vocabulary.build(data.train.captions, 1)) - 4} and {len(data.vocabulary) - 4} words.")

# %% [markdown]
# So keeping the rare words is no gain here, and the default stays. People use far more words than these drawn captions;
# if many of yours are rare, try both and let your validation part decide.
#
# With `out=` a run can be killed at any time: features are kept part by part, training at every evaluation, and the same
# command goes on from there. In a shell, all of it so far:
#
# ```bash
# icr data check photos/
# icr features photos/ features/ --backbone efficientnet_lite2
# icr run book/reproduce/run.ipynb -p dataset=flickr8k \
#     -p features=features/ -p method=bow -p embed_dim=64 \
#     -p batch_size=64 -p updates=300 -p lr=0.003 -p out=runs/mine
# ```
#
# ## Search by words
#
# An `Index` is a saved model and one part of a feature folder; we take the test photos, which no training has seen. We
# ask for something that is no caption of the folder. Because the photos are drawn, we can look up what is true.

# %% mystnb={"image": {"alt": "The five test pictures that the bag of words ranks first for the query a red ring, with scores. A green frame marks a picture with a red ring, another frame one without."}, "figure": {"name": "fig-search-text", "caption": "Our query “a red ring” and the five photos that score highest. Frames say whether the photo shows one."}}
index = Index.of(RUNS / f"bow-{chosen['bow']}", FEATURES, split="test")
hits = index.by_text("a red ring")
red_ring = {"things": [{"shape": "ring", "colour": "red"}],
            "relation": None, "count": None, "background": None}
row_of = {file: row for row, file in enumerate(index.files)}
true = [truth(red_ring, drawn.test.graphs[row_of[hit.file]]) for hit in hits]
plots.gallery(look(hit.file for hit in hits), [f"{hit.score:.2f}" for hit in hits],
              frames=true, columns=5, size=1.6);

# %% tags=["hide-input"]
fit = sum(truth(red_ring, scene) for scene in drawn.test.graphs)
Markdown(f"{fit} of the {len(drawn.test.graphs)} test photos show a red ring; **{sum(true)}** of the five answers do. "
         "A search always fills its list: if too few photos fit, others follow.")

# %% [markdown]
# The next query says *where* things are. It is a caption of the test set, and we ask both models.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Two rows of four test pictures: the first answers of the bag of words and of VSE++ to one caption, with scores and frames for true and false."}, "figure": {"name": "fig-search-two", "caption": "One test caption as a query. Upper row: the bag of words. Lower row: VSE++. Frames say what is true; the title marks the photo that the caption was written for."}}
placed = [c for c, text in enumerate(data.test.captions) if " left of " in text and "background" not in text]
caption = next(c for c in placed if 2 <= int(drawn.test.relevance[c].sum()) <= 5)
query, own = data.test.captions[caption], int(data.test.image_of[caption])
assert query == drawn.test.captions[caption]
both = {"bag of words": index, "VSE++": Index.of(RUNS / f"vse++-{chosen['vse++']}", FEATURES, "test")}
found = [(name, row_of[hit.file], hit) for name, i in both.items() for hit in i.by_text(query, top=4)]
titles = [f"{hit.score:.2f}" + (", its own" if row == own else "") for _, row, hit in found]
fig = plots.gallery(look(hit.file for *_, hit in found), titles,
                    frames=[bool(drawn.test.relevance[caption, row]) for _, row, _ in found], columns=4, size=1.6)
fig.suptitle(f"“{query}”", fontsize=11)
for ax, name in zip(fig.axes[::4], both, strict=True):
    ax.set_ylabel(name, fontsize=10);

# %% [markdown]
# Look at scores, not at frames, to see who used the word order. Turn the query around: the bag of words does not notice.

# %%
there, back = "a red ring left of a blue star", "a blue star left of a red ring"
moved = {name: abs(i.by_text(there, 1)[0].score - i.by_text(back, 1)[0].score)
         for name, i in both.items()}
assert moved["bag of words"] < 1e-5
for name, value in moved.items():
    print(f"{name}: best score moves by {value:.3f}")

# %% [markdown]
# What if no word of a query was ever seen? Then all such queries are the same query. Scores are cosines, not
# probabilities, and the first of them does not warn you.

# %%
zebra, violin = (index.by_text(text) for text in ("zebra", "violin"))
assert [h.file for h in zebra] == [h.file for h in violin]
print(f"best score for zebra {zebra[0].score:.2f}, for a red ring {hits[0].score:.2f}")

# %% [markdown]
# So before you show answers, name the words that nobody taught: `index.unknown(query)` lists them, and `icr search` and
# its page say them first.
#
# ## Search by a picture
#
# The other direction. A picture goes through the same network as the photos did (the feature folder remembers which).
# The captions that score highest come back. Of a real collection, these are captions that somebody wrote for *other*
# photos.

# %% tags=["hide-input"]
def true_of(hit, photo):
    return bool(drawn.test.relevance[drawn.test.captions.index(hit.caption), photo])


def with_an_error():
    """The first test photo for which one of the four best captions is false."""
    for photo, file in enumerate(index.files):
        if not all(true_of(hit, photo) for hit in index.by_picture(file, top=4)):
            return photo
    return 0


# %%
number = with_an_error()  # a case where it goes wrong
answers = index.by_picture(index.files[number], top=4)
assert smoke or not all(true_of(hit, number) for hit in answers)

# %% tags=["hide-input"] mystnb={"image": {"alt": "A picture of coloured shapes, and beside it the four captions that score highest, each with its score and marked true or false."}, "figure": {"name": "fig-search-picture", "caption": "A picture as the query, and the captions that the bag of words ranks first. We chose the first test photo that gets a false one."}}
fig, (left, right) = plt.subplots(1, 2, figsize=(6.8, 1.9), width_ratios=(1, 2.9))
left.imshow(look([index.files[number]])[0])
for ax in (left, right):
    ax.axis("off")
for line, hit in enumerate(answers):
    ok = true_of(hit, number)
    right.text(0, 0.87 - 0.25 * line, f"{hit.score:.2f}  {'true' if ok else 'false'}:  {hit.caption}", fontsize=9.5,
               va="center", color=plots.RIGHT if ok else plots.WRONG)

# %% [markdown]
# In a shell: `icr search runs/mine "a red ring" --features features/ --html answers.html`, and with `photo.jpg` in place
# of the text for the other direction.
#
# ## Take it with you
#
# `save` writes the unit vectors and the names. Any program can search them: one matrix product.

# %%
index.save(RUNS / "index")
vectors = np.load(RUNS / "index" / "images.npy")
assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
words, lengths = index.model.vocabulary.encode(["a red ring"])
with torch.no_grad():
    asked = index.model.encode_captions(words, lengths)[0].numpy()
best = np.argsort(-(vectors @ asked))[:5]
assert [index.files[row] for row in best] == [hit.file for hit in hits]

# %% [markdown]
# ## How many photos does a model need?
#
# We train both again on an eighth, a quarter and a half of the training photos, each with the rate that was chosen
# above, and look at the validation part. Beside it stands pure chance.

# %% tags=["hide-input"] mystnb={"image": {"alt": "Validation rsum over the number of training photos for a bag of words and for VSE++, with a dotted line at chance. Both rise; VSE++ starts much lower."}, "figure": {"name": "fig-photos-needed", "caption": "Validation rsum over the number of training photos, one seed. With few photos the model without word order is far ahead."}}
def by_chance(part):
    """Expected rsum of a random order: i2t has some captions to find, t2i one photo."""
    captions, photos = len(part.captions), len(part)
    each = captions // photos
    miss = [np.prod([(captions - each - i) / (captions - i) for i in range(k)]) for k in (1, 5, 10)]
    return 100 * sum(1 - m for m in miss) + 100 * sum(min(1, k / photos) for k in (1, 5, 10))


curve = {method: [on_validation(train_on(n, method)) for n in shares[:-1]] for method in updates}
for method, whole_run in (("bow", bow), ("vse++", gru)):
    curve[method].append(on_validation(whole_run))
chance = by_chance(data.val)
fig, ax = plt.subplots(figsize=(5.6, 3.1))
for method, colour in (("bow", plots.COLOURS["bow"]), ("vse++", plots.COLOURS["ntxent"])):
    ax.plot(shares, curve[method], "o-", color=colour, label=plots.label(method), lw=2.2)
ax.axhline(chance, color="black", ls=":", lw=1)
ax.text(shares[0], chance + 8, "chance", fontsize=10)
ax.set(xlabel="training photos", ylabel="validation rsum", ylim=(0, None), xticks=shares)
ax.legend(fontsize=10, loc="center right");

# %% tags=["hide-input"]
(b0, *_, b1), (g0, *_, g1) = curve["bow"], curve["vse++"]
assert smoke or all(low < high for c in curve.values() for low, high in zip(c, c[1:], strict=False))  # both rise
assert smoke or (b0 - g0 > 30 and b0 - g0 > 2 * abs(b1 - g1))  # far ahead with few photos, and not with all
Markdown(f"With {shares[0]} photos: bag of words **{b0:.0f}**, VSE++ **{g0:.0f}**. With {shares[-1]}: **{b1:.0f}** and "
         f"**{g1:.0f}**. The GRU must learn what words mean *and* how they follow each other from the same few photos.")

# %% [markdown]
# So on a small folder start with the bag of words. Replace it when a model with word order beats it on *your* validation
# part. One seed is one sample: run three before you decide ({doc}`../reproduce/run`). And these photos are drawn. What
# do real ones say?

# %% tags=["hide-input"]
def of_photos(study, method):
    """Test rsums of NT-Xent on Flickr8k's photos, with settings that were searched for the model and the amount."""
    found = icrlib.records.find(study=study, dataset="flickr8k", method=method, loss="ntxent")
    return [r["test"]["rsum"] for r in found if r["config"]["seed"] < 3]


REAL = {n: [of_photos(study, m) for m in updates] for n, study in {400: "photo_small", 6000: "photo_runs"}.items()}
assert all(min(words) > max(order) for words, order in [REAL[400]])  # ahead on each seed
Markdown("On Flickr8k, with NT-Xent and three seeds: " + "; ".join(
    f"trained on {n:,} photos, **{np.mean(words):.0f}** with the bag of words and **{np.mean(order):.0f}** with VSE++"
    for n, (words, order) in REAL.items()) + " (test rsum, of 1,000 photos).")

# %% [markdown]
# Here, too, the bag of words is far ahead with few photos and less so with many. {doc}`../lessons/which-loss` compares
# losses, too, names a start for few and for many photos, and gives the command for it.
#
# ## How good is it?
#
# A page of nice answers proves nothing. All choices have been made; now, once, the recalls on the test part.

# %% tags=["hide-input"]
results = {"bag of words": bow.record["test"], "VSE++": gru.record["test"]}
lines = [{"model": name, "i2t R@1": f"{r['i2t']['r1']:.1f}", "t2i R@1": f"{r['t2i']['r1']:.1f}",
          "rsum": f"{r['rsum']:.0f}"} for name, r in results.items()]
lines.append({"model": "chance", "i2t R@1": "", "t2i R@1": f"{100 / len(data.test):.1f}",
              "rsum": f"{by_chance(data.test):.0f}"})
paper.styled(pd.DataFrame(lines), "Test recalls", name="photos-test")

# %% [markdown]
# These are recalls among a few dozen photos. Among thousands they would be far lower. Never compare recalls over test
# sets of different sizes.
#
# Two warnings for real photos. ImageNet networks know objects, not your colleagues' names. And captions of a hundred
# photos do not cover what people will ask.

# %% tags=["hide-input"]
workplace.cleanup()
assert not PHOTOS.exists()

# %% [markdown]
# ## What we found

# %% tags=["hide-input"]
worth = on_validation(bow) - min(on_validation(tried["bow", lr]) for lr in rates)
Markdown("\n".join([
    "- From a folder to a search it is five calls: check, extract, load, train, search. In a shell it is four.",
    f"- Two faults were planted, {planted} were named before anything was computed.",
    f"- Of five answers to “a red ring”, {sum(true)} were right.",
    f"- Validation rsum with {shares[0]} photos: bag of words {b0:.0f}, VSE++ {g0:.0f}, chance {chance:.0f}. With "
    f"{shares[-1]}: {b1:.0f} and {g1:.0f}.",
    f"- The best of three learning rates was worth {worth:.0f} validation rsum to the bag of words. Keeping rare words "
    f"was no gain: {all_words:.0f} with all, {frequent:.0f} with the frequent ones ({shares[0]} photos).",
]))

# %% [markdown]
# - A search never says “nothing found”. A query of unknown words gets an answer like any other.
# - Recalls over different numbers of photos cannot be compared.
#
# ## Exercises
#
# ````{exercise-start} An entry of your own
# :label: ex-entry
# ````
#
# You add the photo `sunset.jpg` to the training part, with the captions “the sun over the sea” and “an orange sky”. Write
# its entry of the JSON as a dict: `mine = {...}`.

# %%
mine = ...

# %% tags=["hide-input"]
def check_entry(value):
    """Passes for an entry that the library reads as this photo with both captions, in train."""
    if value is ...:
        return "your turn"
    import json
    import tempfile
    from pathlib import Path

    from icrlib.data import karpathy

    others = [{"filename": f"{part}.jpg", "split": part, "sentences": [{"raw": "a"}]} for part in ("val", "test")]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "images").mkdir()
        (Path(folder) / "dataset.json").write_text(json.dumps({"images": [value, *others]}))
        try:
            read = karpathy.read(folder)["train"]
        except karpathy.BadAnnotations as err:
            raise AssertionError(f"not yet: {str(err).partition(', image 0: ')[2] or 'it is not in train'}") from None
    assert [file.name for file in read.files] == ["sunset.jpg"], f"not yet: read as {[f.name for f in read.files]}"
    assert read.captions == [["the sun over the sea", "an orange sky"]], f"not yet: read as {read.captions}"
    return "right"


check_entry(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-entry
# :class: dropdown
# ````
#
# Each caption is an object of its own, with the text in `raw`.

# %%
texts = ["the sun over the sea", "an orange sky"]
check_entry({"filename": "sunset.jpg", "split": "train",
             "sentences": [{"raw": text} for text in texts]})

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} Distances for scores
# :label: ex-distances
# ````
#
# Many programs that store vectors search by *squared Euclidean distance* and return $d^2 = \lVert a - b \rVert^2$. Our
# vectors have length one. Write the function that turns $d^2$ back into the score: `mine = lambda d2: ...`.

# %%
mine = ...

# %% tags=["hide-input"]
def check_distance(value):
    """Passes for the cosine as a function of the squared distance of unit vectors."""
    if value is ...:
        return "your turn"
    rng = torch.Generator().manual_seed(4)
    a, b = torch.nn.functional.normalize(torch.randn(2, 30, 5, generator=rng, dtype=torch.float64), dim=2)
    got, expected = value(((a - b) ** 2).sum(1)), (a * b).sum(1)
    ordered = torch.corrcoef(torch.stack([got, expected]))[0, 1]
    assert ordered > 0, "not yet: a larger distance must give a lower score; look at the sign"
    worst = float((got - expected).abs().max())
    assert worst < 1e-10, f"not yet: off by up to {worst:.2f}; write out the square, and use that lengths are one"
    return "right"


check_distance(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-distances
# :class: dropdown
# ````
#
# $\lVert a - b \rVert^2 = \lVert a \rVert^2 + \lVert b \rVert^2 - 2\, a \cdot b = 2 - 2 s$. Both searches give the same
# order.

# %%
check_distance(lambda d2: 1 - d2 / 2)

# %% [markdown]
# ````{solution-end}
# ````
#
# ````{exercise-start} How many photos for the test?
# :label: ex-how-many-photos
# ````
#
# Recall at 1 on $n$ test photos is a share, and a share $p$ of $n$ independent tries has a standard error of
# $\sqrt{p (1 - p) / n}$. You expect about 50 % and want a 95 % interval (1.96 standard errors to each side) of at most ±10
# points. How many photos do you have to put aside? And for ±5 points? `mine = (n_10, n_5)`.

# %%
mine = ...

# %% tags=["hide-input"]
def check_how_many(value):
    """Passes for the numbers of photos at which the 95 % interval of a share of one half is small enough."""
    if value is ...:
        return "your turn"
    for got, half in zip(value, (0.10, 0.05), strict=True):
        width = 1.96 * 0.5 / got**0.5
        fewer = 1.96 * 0.5 / (got - 1) ** 0.5
        assert width <= half, f"not yet: {got} photos give ±{100 * width:.1f} points, wanted ±{100 * half:.0f}"
        assert fewer > half, f"not yet: fewer than {got} photos are enough for ±{100 * half:.0f} points"
    return "right"


check_how_many(mine)

# %% [markdown]
# ````{exercise-end}
# ````
#
# ````{solution-start} ex-how-many-photos
# :class: dropdown
# ````
#
# $1.96 \cdot 0.5 / \sqrt{n} \leq 0.1$ needs $n \geq 96.04$. Half the width costs four times the photos. Five captions of one
# photo do not count as five tries: they ask for the same photo.

# %%
check_how_many((97, 385))

# %% [markdown]
# ````{solution-end}
# ````
#
# Next: {doc}`albums` searches pictures that have no captions at all.
