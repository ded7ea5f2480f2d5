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
# (ch-photos)=
# # Your own photos: from a folder to a search
#
# You have a folder of photos, with captions or without. How far is it to a search?

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
import json
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import icrlib
from icrlib import chapter, paper, plots
from icrlib.data import features, karpathy
from icrlib.data.pictures import open_picture
from icrlib.data.scenes import truth
from icrlib.experiments import check, compare, live, runs
from icrlib.search import Album, Index, Own, Trained
from icrlib.search.audit import audit

smoke = chapter.start(smoke)

# %% tags=["remove-cell"]
workplace = tempfile.TemporaryDirectory()  # gone at the end of this page
PHOTOS, FEATURES, RUNS, ALBUM = (Path(workplace.name) / name for name in ("photos", "features", "runs", "album"))
sizes = {"train": 40, "val": 12, "test": 16} if smoke else {"train": 300, "val": 60, "test": 60}
drawn = icrlib.load_dataset("scenes", **sizes, progress=False)
bare = icrlib.load_dataset("scenes", seed=1, train=4, val=4, test=24 if smoke else 84, progress=False).test
entries, files = [], {}
splits = (drawn.train, drawn.val, drawn.test)
for split, row in ((part, row) for part in splits for row in range(len(part))):
    texts = [{"raw": split.captions[int(c)]} for c in (split.image_of == row).nonzero()]
    entries.append({"filename": f"{split.name}-{row:03d}.jpg", "split": split.name, "sentences": texts})
    files[PHOTOS / "images" / entries[-1]["filename"]] = split.images[row]
files |= {ALBUM / f"2024-{1 + row // 12:02d}" / f"IMG_{1000 + row}.jpg": some for row, some in enumerate(bare.images)}
for file, pixels in files.items():
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).resize((96, 96)).save(file, quality=92)
(PHOTOS / "dataset.json").write_text(json.dumps({"images": entries}))


def gallery(files, titles, **options):
    plots.gallery(np.stack([np.asarray(open_picture(file)) for file in files]), titles, **options)

# %% tags=["remove-input"] mystnb={"image": {"alt": "Five small pictures of coloured shapes, each with one caption above it."}, "figure": {"name": "fig-folder", "caption": "Five photos of the folder, each with the first of its captions. They are rendered pictures, saved as JPEG files: so we know later what is true of them."}}
photos = karpathy.read(PHOTOS)["train"]
gallery(photos.files[:5], [texts[0] for texts in photos.captions[:5]], columns=5, size=1.45, wrap=19)

# %% [markdown]
# **With captions it is four commands: check, features, train, search. Without captions it is two, with a model that learnt from other
# people's captions, about other photos.** On 600 photos of Flickr8k that no training had seen, the right one is then among the first ten
# for 64 % of the captions; chance would be 1.7 %. (A favourable case: one collection.) If you
# train, begin with a small model: on 400 photos of Flickr8k a bag of words is ahead of VSE++ by +21.5 [+14.5, +28.6]
# rsum. (A pretrained sentence encoder does better still, {numref}`Chapter {number} <ch-which-loss>`.)
#
# *You will be able to* lay out a folder, find every broken file before you compute, train, search, say how good it is, and search
# an album that nobody has described · eight minutes to read · half a minute to run.
#
# `runs` names runs of ours on real photos, three seeds each, and reads their records (`missing="train"` would train them). The
# difference is the first model less the second, with a 95 % interval.

# %%
other = runs("flickr8k", method="bow", features="album", seed=range(3), at="searched")
few = runs("flickr8k", method=["bow", "vse++"], seed=range(3), at="searched, 400")
lead = compare(few["bow"], few["vse++"], "method")
print(f"among ten: {other.mean('test.t2i.r10'):.0f} %; bag of words less VSE++: {lead}")

# %% tags=["hide-input"]
# checked by machine
TEN = f"{other.mean('test.t2i.r10'):.0f} %"
check("On 600 photos of Flickr8k that no training had seen, the right one is then among the first ten for 64 % of the "
      "captions; chance would be 1.7 %.", TEN, f"{1000 / 600:.1f} %", also="600")
check("on 400 photos of Flickr8k a bag of words is ahead of VSE++ by +21.5 [+14.5, +28.6] rsum.", str(lead),
      lead.word == "ahead", also="400")

# %% [markdown]
# ## The layout
#
# A folder `photos/` holds `images/` and one `dataset*.json` in the format of {cite:t}`karpathy2015alignments`, in which Flickr8k,
# Flickr30k and COCO are handed around. The file says `{"images": [...]}`, with one entry an image and any number of captions:

# %%
print(json.dumps(entries[0] | {"sentences": entries[0]["sentences"][:1]}, indent=1))

# %% [markdown]
# Decide on the split before you look at any result. Near-copies of a photo belong in the same part: a model that has seen one of
# them in training finds the other too easily. From a CSV of captions, or one folder a class, `icr data make photos/` writes the file;
# with `--distractors`, pictures without caption join the test split.
#
# ## Check before you compute
#
# In real folders some files are broken. We plant two faults, a download that was cut off and a picture under another name. `check`
# opens every picture, reads every caption and lists all faults.

# %%
cut, moved = (PHOTOS / "images" / name for name in ("train-003.jpg", "val-001.jpg"))
content = cut.read_bytes()
cut.write_bytes(content[: len(content) // 2])
elsewhere = moved.rename(moved.with_stem("val-1"))
counts, problems, _ = karpathy.check(PHOTOS, progress=False)
print(*(Path(problem).name for problem in problems), sep="\n")
assert len(problems) == 2
cut.write_bytes(content)  # mended
elsewhere.rename(moved);

# %% [markdown]
# In a shell this is `icr data check photos/`. With `--skip-bad` the features leave such photos out.
#
# ## Features, once
#
# A frozen network sees each photo once. What it says is kept in a folder of arrays, and training never opens a picture again.
# Of the networks, `efficientnet_lite2` is installed and works offline (1,280 numbers a photo); `resnet50`, `resnet152` (2,048) and
# `vit_b_16` (768) are downloaded once. Here a small one is enough that was trained on drawn shapes, `scenes`.

# %%
features.extract(PHOTOS, FEATURES, backbone="scenes", progress=False)
data = icrlib.load_dataset("flickr8k", features=FEATURES)

# %% [markdown]
# The name `flickr8k`, also for your own, says how the folder is laid out, no more. The photos are seen whole; with
# `images="published"` it is ECIR's random crops, one of which may cut away what the caption names.
#
# ## Train
#
# We train a **bag of words**; the loss is NT-Xent, which the library takes where none is named. Nobody can tell the right learning
# rate beforehand, so it gets three, and the *validation* part decides. The test part is for the end: what made a choice cannot
# judge it, too.

# %%
tried = [icrlib.train(data, "bow", lr=lr, updates=300, batch_size=64, embed_dim=64,
                      out=RUNS / f"bow-{lr}", smoke=smoke, progress=False)
         for lr in (0.001, 0.003, 0.01)]
run = max(tried, key=lambda one: max(entry["val"]["rsum"] for entry in one.history))
model = run.save(RUNS / "mine")

# %% [markdown]
# With `out=` a killed run goes on when it is started again. In a shell these steps are three commands, typed in the folder of this
# repository, here with the start that {numref}`Chapter {number} <ch-which-loss>` gives for a few hundred captioned photos: a sentence
# encoder that learnt elsewhere, whose vocabulary has no holes. Each `-p NAME=VALUE` sets a parameter (`icr settings` lists them).
#
# ```bash
# icr data check photos/
# icr features photos/ features/ --backbone efficientnet_lite2
# icr run book/reproduce/run.ipynb -p dataset=flickr8k \
#     -p features=features/ -p method=sentence -p loss=ntxent \
#     -p batch_size=128 -p updates=1200 -p lr=0.003 -p tau=0.1 \
#     -p embed_dim=384 -p caption_norm=True -p out=runs/mine
# ```
#
# ## Search by words, or by a picture
#
# An `Index` is a saved model and a feature folder. Here it holds the test photos, which no training has seen, so that the answers
# can be judged; leave `split="test"` out to search all. We ask for something that is no caption of the folder. Two of the 60 photos
# show it, so at least three of five answers must be wrong: a search always fills its list.

# %% mystnb={"image": {"alt": "The five test pictures that the bag of words ranks first for the query a red ring, with scores. Those that show a red ring are framed as true, the others as false."}, "figure": {"name": "fig-search-text", "caption": "Our query “a red ring” and the five photos that score highest, best first. Frames say whether the photo shows one."}}
index = Index.of(model, FEATURES, split="test")
hits = index.by_text("a red ring")
drawn_as = {f"test-{row:03d}.jpg": graph for row, graph in enumerate(drawn.test.graphs)}
drawn_as |= {f"IMG_{1000 + row}.jpg": graph for row, graph in enumerate(bare.graphs)}


def right(colour, shape, files):
    """For each file whether its picture shows such a thing."""
    form = {"things": [{"shape": shape, "colour": colour}],
            "relation": None, "count": None, "background": None}
    return [truth(form, drawn_as[Path(file).name]) for file in files]


answers = [hit.file for hit in hits]
gallery(answers, [f"{hit.score:.2f}" for hit in hits],
        frames=right("red", "ring", answers), columns=5, size=1.45)

# %% [markdown]
# The wrong answers show something red, or a ring, but not in one thing: in a bag of words each word adds its part to the score,
# whichever thing it fits and wherever it stands. {numref}`Chapter {number} <ch-reading>` trains models that read.
#
# A word that the model has never seen is read as the sign `<unk>`, the same for all of them, so “a red zebra” and “a red violin”
# get the same answers. `warning` names such words, and `icr search` prints it before the answers:

# %%
for query in ("a red ring", "a red zebra"):
    print(query, "\n   ", index.warning(query) or "All words are known.")

# %% [markdown]
# The query may be a picture, too: the captions that score highest come back. Of a real collection these are captions that somebody
# wrote for *other* photos.

# %%
for hit in index.by_picture(index.files[0], top=2):
    print(f"{hit.score:.2f}  {hit.caption}")

# %% [markdown]
# In a shell: `icr search runs/mine "a red ring" --features features/ --html answers.html` also writes a page in which each picture
# links to its file; `photo.jpg` in place of the text is the other direction.
#
# ## How good is it?
#
# A page of nice answers proves nothing. All choices have been made; now, once, an audit: the test photos are encoded anew and
# compared with all captions. Blind choice would have an R@1 of 1.7 %.

# %%
encoder = Trained(run.model, name="bag of words", backbone="scenes")
recalls = audit(encoder, karpathy.read(PHOTOS)["test"], progress=False).recalls()
paper.styled(recalls.map("{:.1f}".format).reset_index(names="what is looked for"),
             "Recalls of the test photos", name="photos-test")

# %% [markdown]
# With 60 photos a recall is uncertain by up to ±13 points. Among thousands of photos all recalls would be far lower; never compare
# recalls over test sets of different sizes. In a shell: `icr audit photos/ --model runs/mine --features features/`.
#
# (sec-album)=
# ## An album that nobody has described
#
# Thousands of photos, folders in folders, and no caption. A search only compares the vector of your words with the vectors of your
# pictures, so a model that learnt from other photos will do. `update` sends every picture through the network and keeps what it makes
# of it in a hidden folder of the album, `.icr`. No picture is touched.

# %%
album = Album(ALBUM)
album.update(encoder, progress=False)
searched = album.index(encoder)
answers = [hit.file for hit in searched.by_text("a red square")]

# %% [markdown]
# If words and pictures meet in one space, the first answers to “a red square” show one:

# %% tags=["remove-input"] mystnb={"image": {"alt": "The five album pictures that rank first for the query a red square, with their names; green frames mark pictures with a red square."}, "figure": {"name": "fig-album-search", "caption": "“A red square”, asked of the album; best answer first. Frames say whether the picture shows one."}}
gallery(answers, [Path(file).name for file in answers], frames=right("red", "square", answers), columns=5, size=1.45)

# %% [markdown]
# They do, but that was a good case. Over twelve kinds of things, each time asked for as many answers as there are right ones:

# %%
kinds = [(colour, shape) for colour in ("red", "blue", "green")
         for shape in ("star", "circle", "square", "triangle")]
n = [sum(right(*kind, searched.files)) for kind in kinds]
found = [searched.by_text(f"a {c} {s}", k or 1) for (c, s), k in zip(kinds, n, strict=True)]
share = [np.mean(right(*kind, [hit.file for hit in some]))
         for kind, some in zip(kinds, found, strict=True)]
blind = np.mean(n) / len(searched)
print(f"right: {100 * np.mean(share):.0f} %; of answers drawn blindly: {100 * blind:.0f} %")

# %% [markdown]
# In a shell, with the model from above, of which the album gets a copy:
#
# ```bash
# icr index album/ --model runs/mine --features features/
# icr search "a red square" --index album/.icr --html answers.html
# icr index album/        # again: only what is new or has changed
# ```
#
# ### What it cannot know, and how to measure that
#
# The 64 % at the top of this page are of photos that are described in the same words as those of the training. On real albums there are
# limits that can be named:
#
# - **Names.** “Anna”, “our old house”: no caption of somebody else's photos knows your people and places.
# - **Text in pictures.** A network for objects sees that there is a sign, not what it says.
# - **Nothing found.** A score is a cosine, not a probability; there is no threshold under which “no such photo” is certain.
#
# What another kind of photos costs *you*, only a test on your own can say: describe a hundred photos of the album, all in the part
# `test`, and audit the model on them.
#
# ### A large model behind the same search
#
# A model that was trained on hundreds of millions of pictures with their texts, such as CLIP {cite:p}`radford2021clip`, knows far
# more words, names of famous places, even writing in pictures. If your queries are about the world at large, take one. (We have
# not compared such a model with ours.) Train your own if your pictures or your words are of a kind that it has not seen.
#
# Any object with `encode_images(pictures)` and `encode_captions(texts)` goes through the same search. Here is one whose whole
# knowledge is three colours:

# %%
class ThreeColours:
    def encode_images(self, pictures):
        """(n, 3): by how much red, green and blue exceed the grey in them."""
        pixels = np.stack([np.asarray(p, np.float32).reshape(-1, 3) for p in pictures])
        return (pixels - pixels.mean(2, keepdims=True)).clip(0).mean(1) + 0.1

    def encode_captions(self, texts):
        return [[0.01 + (c in text) for c in ("red", "green", "blue")] for text in texts]


mine = Own(ThreeColours())
(album.place / "album.npz").unlink()  # begin anew
album.update(mine, progress=False)
for hit in album.index(mine).by_text("something blue", top=3):
    print(*sorted({thing.colour for thing in drawn_as[Path(hit.file).name].things}))

# %% [markdown]
# In a shell, with the class in a file `my_clip.py` in the folder where you type, it is
# `icr index album/ --encoder my_clip:ThreeColours`, then the same option with `icr search` and `icr audit`. For a CLIP of
# `transformers` 4, which this book does not install, the methods return
#
# ```python
# model.get_image_features(**processor(images=pictures, return_tensors="pt"))
# model.get_text_features(**processor(text=texts, return_tensors="pt", padding=True))
# ```
#
# ## What we found
#
# - An album without a caption can be searched with a model that learnt from other people's captions: on 600 photos of Flickr8k the right
#   one is among the first ten for 64 %, in a favourable case.
# - A model of drawn pictures answers 42 % rightly, against 5 % by blind guesses, and words that it never read are named.

# %% tags=["hide-input"]
# checked by machine
check("on 600 photos of Flickr8k the right one is among the first ten for 64 %, in a favourable case.", TEN, also="600")
check("A model of drawn pictures answers 42 % rightly, against 5 % by blind guesses,",
      smoke or abs(np.mean(share) - 0.42) < 0.08, live("5 %", 100 * blind), also="42")
assert smoke or (sum(right("red", "ring", index.files)) == 2 and sum(right("red", "square", answers)) > 2)
assert index.by_text("a red zebra") == index.by_text("a red violin")
workplace.cleanup()

# %% [markdown]
# ## Exercises
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
        assert 1.96 * 0.5 / got**0.5 <= half, f"not yet: {got} photos give more than ±{100 * half:.0f} points"
        assert 1.96 * 0.5 / (got - 1) ** 0.5 > half, f"not yet: fewer than {got} photos give ±{100 * half:.0f} points"
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
# Next: {numref}`Chapter {number} <ch-triplet>` asks whom a loss pushes.
