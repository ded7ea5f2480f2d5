"""Crisscrossed Captions (Parekh et al., 2021): what people said about pairs of COCO's captions and images.

The file is the release's ``data/sits_test.csv`` (or ``sits_val.csv``), or the same gzipped: a header and the rows
``caption, image, agg_score, sampling_method``, the score a mean over raters between 0 and 5. Val and test are
Karpathy's splits of COCO, both out of val2014. It names captions and images by COCO's ids, which Karpathy's
``dataset_coco.json`` tells.
"""

from __future__ import annotations

import os
import re

import pandas as pd
import torch

from icrlib.data.karpathy import SPLITS, BadAnnotations, entries
from icrlib.data.splits import Judgements, Split

COLUMNS = ("caption", "image", "agg_score", "sampling_method")
ID = {"caption": r"COCO_val2014:sentid:(\d+)", "image": r"COCO_val2014_(\d{12})\.jpg"}
SOURCE = "data/ of the repository google-research-datasets/Crisscrossed-Captions"


def read(path: str | os.PathLike) -> pd.DataFrame:
    """The ratings in ``path``: ``caption`` and ``image``, COCO's ids (int64), and ``score``, a row a rated pair.

    ``ValueError`` names the file that cannot be read, and file and line of what is no such row.
    """
    try:
        found = pd.read_csv(path, dtype=str, keep_default_na=False)[[*COLUMNS]]
    except (ValueError, OSError, EOFError, KeyError) as err:  # of pandas, the encoding, gzip; a missing column
        raise ValueError(f"{path}: not a whole CSV file ({' '.join(str(err).split())}); it is in {SOURCE}") from err
    rated = pd.DataFrame({what: found[what].str.extract(f"^{form}$")[0] for what, form in ID.items()})
    rated["score"] = pd.to_numeric(found["agg_score"], errors="coerce")
    wrong = rated.isna().any(axis=1) | rated.duplicated(["caption", "image"])
    if wrong.any():
        line = int(wrong.argmax())
        raise ValueError(
            f"{path}, line {line + 2}: {','.join(found.iloc[line])[:120]!r} is no row like "
            "COCO_val2014:sentid:262300,COCO_val2014_000000369373.jpg,3.5,…, or a pair that was there already"
        )
    return rated.astype({"caption": "int64", "image": "int64"})


def judgements(
    ratings: str | os.PathLike, annotations: str | os.PathLike, split: Split, threshold: float = 3.0
) -> tuple[Split, Judgements]:
    """The pairs with a score of ``threshold`` or more, and the split without the captions that nobody rated, which they
    are about: some of COCO's images have six or seven captions, of which CxC rated five.

    The threshold holds for a caption's own image, too, as naver-ai/eccv-caption reads CxC (3.0; 28 captions of the test
    split have no right image left). ``annotations``: Karpathy's JSON or its folder, in whose order the split is.
    """
    rated = read(ratings)
    images, captions = ids_of(annotations, split)
    rows = [row for row, number in enumerate(captions) if number in set(rated["caption"])]
    alone = len(split) - len(split.image_of[rows].unique())
    if alone or not (set(rated["image"]) <= set(images) and set(rated["caption"]) <= set(captions)):
        raise ValueError(
            f"{ratings} is about other images and captions than the split {split.name!r}, of which {alone:,} images "
            "have no rated caption. Such a file is about Karpathy's val or test split of COCO; take that of the split"
        )
    kept = Split(
        split.name, split.features, [split.captions[row] for row in rows], split.image_of[rows], split.image_ids
    )
    place = {
        "image": {number: row for row, number in enumerate(images)},
        "caption": {captions[row]: new for new, row in enumerate(rows)},
    }
    right = rated[rated["score"] >= threshold]
    image, caption = (torch.tensor([place[what][number] for number in right[what]]).long() for what in place)
    return kept, Judgements(f"CxC ≥ {threshold:g}", kept, image, caption)


def ids_of(annotations: str | os.PathLike, split: Split) -> tuple[list[int], list[int]]:
    """COCO's ids for the rows of ``split``: N image ids and C sentence ids, out of Karpathy's JSON (the file, or its
    folder), which is in the same order as ``icr features`` and the published folders are.

    :class:`icrlib.data.karpathy.BadAnnotations` (a ``ValueError``) where it is not, or ids are missing.
    """
    path, listed = entries(annotations)
    known = [entry for entry in listed if SPLITS.get(entry.get("split")) == split.name]
    try:
        images = [int(entry["cocoid"]) for entry in known]
        free = [[(_plain(one["raw"]), int(one["sentid"])) for one in entry["sentences"]] for entry in known]
    except (KeyError, TypeError, ValueError) as err:
        raise BadAnnotations(f"{path}: an image of {split.name!r} has no usable {err}, as COCO's images have") from err
    captions = []
    for row, text in zip(split.image_of.tolist(), split.captions, strict=True):
        # Equal captions of an image get its ids in their order.
        same = [one for one in free[row] if one[0] == _plain(text)] if row < len(free) else []
        if not same:
            raise BadAnnotations(
                f"{path}: image {row} of the split {split.name!r} has no caption {text[:60]!r} there; take the "
                "annotations that the features were made from, in their order"
            )
        free[row].remove(same[0])
        captions.append(same[0][1])
    return images[: len(split)], captions


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", str(text).lower()))
