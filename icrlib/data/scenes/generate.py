"""The ``scenes`` dataset: drawn from one seed in seconds, then kept in the cache."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from icrlib.data.cache import cached
from icrlib.data.scenes import backbone, twins
from icrlib.data.scenes.grammar import CAPTIONS_PER_IMAGE, PHRASINGS, caption, false_forms, label, truth_matrix
from icrlib.data.scenes.graph import Scene, pick, sample, twin
from icrlib.data.scenes.pictures import regions as draw_regions
from icrlib.data.scenes.pictures import render
from icrlib.data.splits import Dataset, Outline, Split
from icrlib.data.text import Vocabulary
from icrlib.errors import at_least, choose
from icrlib.files import cache_dir, sha256_of
from icrlib.progress import bar

# Sizes and settings are data: what a study finds to be good changes them, and no code.
ABOUT = json.loads(Path(__file__).with_name("defaults.json").read_text(encoding="utf-8"))
SMOKE_SIZES = {"train": 160, "val": 40, "test": 80}
TWIN_SHARE = 0.5


@dataclass(repr=False)
class ScenesSplit(Split):
    """A split that knows everything about its pictures.

    ``images`` uint8 (N, 64, 64, 3); ``graphs`` N scenes; ``forms`` C logical forms; ``twin_of`` (N,) int64, the
    picture that this one is a twin of, or -1; ``twin_kind`` "swap", "attribute" or ""; ``boxes`` uint8 (N, R, 4), x0,
    y0, x1, y1 in pixels; ``region_of`` int64 (N, R), which thing of the graph each box holds, -1 for a distractor;
    ``phrasing`` of its captions; ``others``: the same split in other forms, by name.
    """

    images: np.ndarray = field(kw_only=True)
    graphs: list[Scene] = field(kw_only=True)
    forms: list[dict] = field(kw_only=True)
    twin_of: Tensor = field(kw_only=True)
    twin_kind: list[str] = field(kw_only=True)
    boxes: np.ndarray = field(kw_only=True)
    region_of: Tensor = field(kw_only=True)
    phrasing: str = field(default="plain", kw_only=True)
    others: dict[str, Split] = field(default_factory=dict, kw_only=True)
    _false: dict[int, list[dict]] = field(default_factory=dict, init=False)

    def foils(self, rows: Tensor, dice: np.random.Generator) -> list[str]:
        """For each of the captions ``rows`` (M,) a false one of the same words, drawn by the ``dice``."""
        for row in rows.tolist():
            if row not in self._false:
                self._false[row] = false_forms(self.forms[row], self.graphs[int(self.image_of[row])])
        return [PHRASINGS[self.phrasing](pick(dice, self._false[row]), dice) for row in rows.tolist()]

    @cached_property
    def relevance(self) -> Tensor:
        """Which captions are true of which images, bool (C, N)."""
        return torch.from_numpy(truth_matrix(self.forms, self.graphs))

    @cached_property
    def twin_field(self) -> list[str]:
        """Of each twin what was exchanged or changed: "shape", "colour", "cell" or "other"; "" of what is no twin."""
        pairs = zip(self.graphs, self.twin_of.tolist(), strict=True)
        return [twins.field(self.graphs[twin], scene) if twin >= 0 else "" for scene, twin in pairs]

    twin_questions = cached_property(twins.questions)
    twin_accuracy = twins.twin_accuracy


def load(
    seed: int = 0,
    *,
    train: int | None = None,
    val: int | None = None,
    test: int | None = None,
    regions: bool = False,
    phrasing: str = "plain",
    smoke: bool = False,
    progress: bool = True,
) -> Dataset:
    """Draw the dataset, or read it from the cache.

    ``train``, ``val``, ``test``: images in each split (None: as defaults.json has it), five captions each; the size of
    one does not change another. ``regions``: features (N, 8, 261) of boxes instead of one pooled vector (N, 256).
    ``smoke``: small splits.
    ``phrasing="apart"``: the same pictures, forms and twins, but captions that name the things first and then tell what
    each of them is (:func:`icrlib.data.scenes.grammar.told_apart`). ``"label"``: of each caption no more than colour
    and shape of its first thing, so that many pictures share a text (:func:`icrlib.data.scenes.grammar.label`).
    A damaged cache file is named and drawn anew; a cache that cannot be written is named and done without.
    """
    at_least("seed=", seed, 0)
    choose(phrasing, PHRASINGS, "phrasing")
    given = {name: size for name, size in (("train", train), ("val", val), ("test", test)) if size is not None}
    about = outline(given | {"regions": regions, "phrasing": phrasing}, seed=seed, smoke=smoke)
    sizes = about.images
    for name, size in sizes.items():
        at_least(f"{name}=", size, 2)
    key = json.dumps({"seed": seed, **sizes, "regions": regions}, sort_keys=True)
    code = [Path(__file__).with_name(f"{name}.py") for name in ("graph", "pictures", "grammar", "generate", "backbone")]
    path = cache_dir() / "scenes" / f"{sha256_of(key, *code, backbone.WEIGHTS)[:16]}.npz"
    stored = cached(path, lambda: _draw(seed, sizes, regions, progress))
    splits = {name: _split(name, stored) for name in sizes}
    if phrasing != "plain":
        streams = np.random.SeedSequence(seed).spawn(len(splits))
        splits = {name: _phrased(splits[name], phrasing, stream) for name, stream in zip(splits, streams, strict=True)}
    return Dataset(
        "scenes",
        **splits,
        vocabulary=Vocabulary.build(splits["train"].captions),
        fingerprint=fingerprint(splits.values()),
        drawn=True,
        **{name: getattr(about, name) for name in ("options", "defaults", "tuned", "foils")},
    )


def outline(given: Mapping, *, seed: int = 0, smoke: bool = False, regions: bool = False) -> Outline:
    """What :func:`load` would draw if it were ``given`` these options; ``regions`` where these leave that open."""
    sizes = dict(SMOKE_SIZES) if smoke else {name: given.get(name, size) for name, size in ABOUT["sizes"].items()}
    regions = bool(given.get("regions", regions))
    # Plain captions are how things were before there were others, and have no name.
    named = {"phrasing": given["phrasing"]} if given.get("phrasing", "plain") != "plain" else {}
    return Outline(
        sizes,
        (8, 261) if regions else (256,),
        options={"seed": given.get("seed", seed), **sizes, "regions": regions} | named,
        defaults=ABOUT["settings"],
        tuned=ABOUT["tuned"],
        foils=True,
    )


def _phrased(split: ScenesSplit, phrasing: str, stream: np.random.SeedSequence) -> ScenesSplit:
    """The same split with other captions, from dice of their own: nothing else is drawn by them."""
    dice = np.random.default_rng(stream.spawn(1)[0])
    forms = [label(form) for form in split.forms] if phrasing == "label" else split.forms
    return replace(split, captions=[PHRASINGS[phrasing](form, dice) for form in forms], forms=forms, phrasing=phrasing)


def fingerprint(splits) -> str:
    """SHA-256 over pictures, captions, forms and pairs, and the backbone's weights; the same on every machine."""
    parts: list = []
    for split in splits:
        parts += [split.images.tobytes(), json.dumps([split.captions, split.forms, split.image_of.tolist()])]
    return sha256_of(*parts, backbone.WEIGHTS)


def draw_split(count: int, rng: np.random.Generator) -> dict:
    """``count`` scenes, about half of them followed by a twin, with pictures, captions and boxes."""
    graphs: list[Scene] = []
    twin_of, kinds = [], []
    while len(graphs) < count:
        graphs.append(sample(rng))
        twin_of.append(-1)
        kinds.append("")
        if rng.random() < TWIN_SHARE and len(graphs) < count:
            made, kind = twin(graphs[-1], rng)
            twin_of.append(len(graphs) - 1)
            graphs.append(made)
            kinds.append(kind)
    images = np.stack([render(scene, rng) for scene in graphs])
    told = [caption(scene, rng) for scene in graphs for _ in range(CAPTIONS_PER_IMAGE)]
    boxes, region_of = (np.stack(part) for part in zip(*(draw_regions(scene, rng) for scene in graphs), strict=True))
    return {
        "images": images,
        "boxes": boxes,
        "region_of": region_of.tolist(),
        "twin_of": twin_of,
        "twin_kind": kinds,
        "graphs": [asdict(scene) for scene in graphs],
        "captions": [t for t, _ in told],
        "forms": [form for _, form in told],
    }


def _draw(seed: int, sizes: dict, regions: bool, progress: bool) -> dict[str, np.ndarray]:
    """All splits as flat arrays, ready for an .npz file; text as UTF-8 JSON."""
    stored = {}
    streams = np.random.SeedSequence(seed).spawn(len(sizes))
    work = zip(sizes.items(), streams, strict=True)
    for (name, size), stream in bar(work, "drawing scenes", progress, total=len(sizes), delay=2):
        drawn = draw_split(size, np.random.default_rng(stream))
        images, boxes = drawn.pop("images"), drawn.pop("boxes")
        stored[f"{name}_images"], stored[f"{name}_boxes"] = images, boxes
        stored[f"{name}_features"] = backbone.features(images, boxes if regions else None)
        stored[f"{name}_text"] = np.frombuffer(json.dumps(drawn).encode(), np.uint8)
    return stored


def _split(name: str, stored: dict[str, np.ndarray]) -> ScenesSplit:
    text = json.loads(stored[f"{name}_text"].tobytes())
    images = stored[f"{name}_images"]
    return ScenesSplit(
        name,
        torch.from_numpy(stored[f"{name}_features"]),
        text["captions"],
        torch.arange(len(text["captions"])) // CAPTIONS_PER_IMAGE,
        [f"{name}-{i}" for i in range(len(images))],
        images=images,
        graphs=[Scene.from_json(g) for g in text["graphs"]],
        forms=text["forms"],
        twin_of=torch.tensor(text["twin_of"]),
        twin_kind=text["twin_kind"],
        boxes=stored[f"{name}_boxes"],
        region_of=torch.tensor(text["region_of"]),
    )
