"""Who is who in COCO: the ids that annotations give to the images and captions of a split."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from icrlib.data.judgements import BadJudgements
from icrlib.data.karpathy import SPLITS, BadAnnotations, entries
from icrlib.data.splits import Split
from icrlib.errors import choose

NUMBER = re.compile(r"COCO_\w+?_(\d{12})\.\w+")
MISSING = ("refuse", "ignore")
SPLIT_OF_ITS_OWN = (
    "Such a file is about one of Karpathy's splits of COCO, val or test: take the file and the "
    "annotations of the split that you evaluate"
)


@dataclass(frozen=True)
class Ids:
    """COCO's numbers for the rows of a split: ``images`` N image ids, ``captions`` C sentence ids, all different."""

    images: list[int]
    captions: list[int]

    def __post_init__(self) -> None:
        for what, ids in (("image", self.images), ("sentence", self.captions)):
            number, count = max(Counter(ids).items(), key=lambda item: item[1], default=(0, 0))
            if count > 1:
                raise BadAnnotations(f"the {what} id {number} belongs to {count} rows of the split; ids must differ")

    def keep(self, split: Split, captions: Collection[int]) -> tuple[Split, Ids]:
        """The split with those captions only whose sentence ids are among ``captions``, and its ids.

        Some of COCO's images have six or seven captions, and CxC rated five of each: the others are in no list of
        right answers, so as candidates they would count as wrong even for their own image. :class:`BadJudgements`
        where an image is left without any.
        """
        rows = [row for row, number in enumerate(self.captions) if number in captions]
        alone = sorted(set(range(len(split))) - set(split.image_of[rows].tolist()))
        if alone:
            raise BadJudgements(
                f"{len(alone):,} of the split's {len(split):,} images have no caption that was judged, "
                f"first COCO's image {self.images[alone[0]]}. {SPLIT_OF_ITS_OWN}"
            )
        kept = Split(
            split.name, split.features, [split.captions[row] for row in rows], split.image_of[rows], split.image_ids
        )
        return kept, Ids(self.images, [self.captions[row] for row in rows])

    def place(
        self, images: Sequence[int], captions: Sequence[int], source: str, missing: str = "refuse"
    ) -> tuple[Tensor, Tensor, np.ndarray]:
        """Rows of pairs that are given by their ids: image (K,), caption (K,), and the bool mask (T,) of the K kept.

        ``missing="refuse"``: ids that are not in the split are a :class:`BadJudgements` that counts them and names
        some; ``"ignore"`` drops their pairs, for a part of a split. Nothing left is an error always.
        """
        choose(missing, MISSING, "missing")
        rows, lost = [], []
        for what, wanted, known in (("images", images, self.images), ("captions", captions, self.captions)):
            row_of = {number: row for row, number in enumerate(known)}
            rows.append(np.array([row_of.get(number, -1) for number in wanted], dtype=np.int64))
            absent = sorted(set(wanted) - set(row_of))
            if absent:
                shown = ", ".join(map(str, absent[:3])) + (", …" if len(absent) > 3 else "")
                lost.append(f"{len(absent):,} of its {len(set(wanted)):,} {what} (ids {shown})")
        kept = (rows[0] >= 0) & (rows[1] >= 0)
        if lost and (missing == "refuse" or not kept.any()):
            way = (
                'If the split is meant to be a part of it, say missing="ignore" (--ignore-missing)'
                if kept.any()
                else "No pair is left"
            )
            raise BadJudgements(
                f"{source}: {' and '.join(lost)} are not in this split of {len(self.images):,} images "
                f"and {len(self.captions):,} captions. {SPLIT_OF_ITS_OWN}. {way}."
            )
        return torch.from_numpy(rows[0][kept]), torch.from_numpy(rows[1][kept]), kept


def ids_of(annotations: str | os.PathLike, split: Split, part: str | None = None) -> Ids:
    """COCO's ids for the rows of ``split``, out of Karpathy's JSON (``annotations``: the file, or its folder).

    Folders of features keep no COCO ids, so rows are found by what the captions say. In the order of the JSON, which
    is that of ``icr features`` and of photos, captions are only checked; in any other order an image is the one that
    has all of its row's captions. Case, punctuation and spacing do not count. ``part``: "val" or "test", by default
    the split's name. :class:`icrlib.data.karpathy.BadAnnotations` (a ``ValueError``) where ids are missing in the JSON,
    or captions stand under no image, or under several.
    """
    part = choose(part or split.name, sorted(set(SPLITS.values())), "split")
    path, listed = entries(annotations)
    known = [
        _known(f"{path}, image {number}", entry)
        for number, entry in enumerate(listed)
        if isinstance(entry, dict) and SPLITS.get(entry.get("split")) == part
    ]
    told: list[list[str]] = [[] for _ in range(len(split))]
    for row, text in zip(split.image_of.tolist(), split.captions, strict=True):
        told[row].append(_plain(text))
    texts = [Counter(text for text, _ in sentences) for _, sentences in known]
    in_order = len(told) <= len(known) and all(Counter(own) <= texts[row] for row, own in enumerate(told))
    places = list(range(len(told))) if in_order else _by_captions(told, texts, path, part)
    free = []  # of each row the sentence ids by text: two equal captions of an image get its ids in their order
    for place in places:
        by_text = defaultdict(list)
        for text, number in known[place][1]:
            by_text[text].append(number)
        free.append(by_text)
    rows = zip(split.image_of.tolist(), split.captions, strict=True)
    return Ids([known[place][0] for place in places], [free[row][_plain(text)].pop(0) for row, text in rows])


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _known(where: str, entry: dict) -> tuple[int, list[tuple[str, int]]]:
    """The image id of an entry, and its sentences as (text, id)."""
    named = NUMBER.fullmatch(Path(str(entry.get("filename", ""))).name)
    image = entry.get("cocoid", int(named[1]) if named else None)
    try:
        sentences = [(_plain(str(sentence["raw"])), sentence["sentid"]) for sentence in entry["sentences"]]
    except (KeyError, TypeError) as err:
        raise BadAnnotations(f"{where}: no usable {err}; COCO's sentences have raw and sentid") from err
    if not all(isinstance(number, int) for number in (image, *(number for _, number in sentences))):
        raise BadAnnotations(
            f"{where}: no COCO id; dataset_coco.json has a whole number as cocoid of each image and "
            "as sentid of each sentence"
        )
    return image, sentences


def _by_captions(told: list[list[str]], texts: list[Counter], path: Path, part: str) -> list[int]:
    """The place in the JSON of each row: where all of its captions stand."""
    having = defaultdict(set)
    for place, own in enumerate(texts):
        for text in own:
            having[text].add(place)
    found = [
        [place for place in sorted(set.intersection(*(having[text] for text in own))) if Counter(own) <= texts[place]]
        for own in told
    ]
    for count, wrong in (
        ("no", [row for row, places in enumerate(found) if not places]),
        ("more than one", [row for row, places in enumerate(found) if len(places) > 1]),
    ):
        if wrong:
            raise BadAnnotations(
                f"{path}: {len(wrong):,} of the split's {len(told):,} images have captions that "
                f"stand under {count} {part} image there, first row {wrong[0]} "
                f"({told[wrong[0]][0]!r}); take the annotations that the features were made from, "
                "in their order"
            )
    return [places[0] for places in found]
