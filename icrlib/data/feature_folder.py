"""A folder of features that we made: what it says of its making, and how it is written so that it is never half two.

The layout is that of SCAN and VSRN: ``{train,dev,test}_ims.npy``, ``_caps.txt``, ``_ids.txt``, ``_files.txt``. Photos
without a caption, which no training uses and a search finds, stand in ``rest_ims.npy``, with their ids and files.
Folders of others may have ``_lens.npy``, too (:func:`icrlib.data.precomputed.load`).
``features.json`` says what the folder was made from. It is written before all other files, as unfinished, and again at
the end.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from icrlib import parsing
from icrlib.data.cache import write_array
from icrlib.data.karpathy import Photos
from icrlib.data.precomputed import (
    MARK,
    PARTS,
    REST,
    UNFINISHED,
    distractors,
    finished,
    lengths_wanted,
    read_split,
)
from icrlib.data.regions import Regions
from icrlib.files import write_bytes

ABOUT = {
    "type": "object",
    "required": ["backbone", "key"],
    "properties": {
        "backbone": {"type": "string"},
        "key": {"type": "string"},
        "regions": {"type": "integer"},
        "left_out": {"type": "integer"},
        "photos": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
}


class OtherFeatures(ValueError):
    """The folder holds features of other photos, captions or another network."""


def noted(folder: str | os.PathLike) -> dict | None:
    """What ``features.json`` in ``folder`` says of its making; None where there is none.

    :class:`icrlib.parsing.BadFile` (a ``ValueError``) where it is damaged.
    """
    path = Path(folder) / MARK
    return parsing.of_json(path, ABOUT, MARK) if path.is_file() else None


def ready(folder: Path, key: str, skip_bad: bool) -> bool:
    """Whether the folder is finished, with as many photos left out as allowed, or is still to be filled.

    :class:`OtherFeatures` where it holds features that were not made with this ``key``: they are not written over.
    """
    about = noted(folder)
    if about is None and not any(folder.glob("*_ims.npy")):
        return False
    if about is None or about["key"] != key:
        raise OtherFeatures(
            f"{folder} holds features of other photos, captions or another network. Choose another folder, or remove it"
        )
    complete = all((folder / f"{part}_ims.npy").is_file() for part in about.get("photos", PARTS.values()))
    return complete and not about.get(UNFINISHED) and (skip_bad or not about.get("left_out"))


def replace(
    folder: Path, splits: dict[str, Photos], features_of: dict[str, tuple[np.ndarray, np.ndarray]], about: dict
) -> None:
    """Write all files, from the mark that says "unfinished" to the one that does not.

    ``features_of``: of each split the numbers of the photos that are kept, and their features. Whatever ends this in
    between leaves a folder that is refused by name, and finished by the same command.
    """
    write_bytes(folder / MARK, json.dumps(about | {UNFINISHED: True}, indent=1).encode())
    rest, left, photos = Photos(), [], {}
    for name, (kept, features) in features_of.items():
        split = splits[name]
        captioned = np.array([any(text.split() for text in split.captions[i]) for i in kept], dtype=bool)
        _write_part(folder, PARTS[name], split, kept[captioned], features[captioned])
        photos[PARTS[name]] = int(captioned.sum())
        for i in kept[~captioned]:
            rest.files.append(split.files[i])
            rest.ids.append(split.ids[i])
            rest.captions.append([])
        left.append(features[~captioned])
    _write_part(folder, REST, rest, np.arange(len(rest)), np.concatenate(left))
    photos = {part: count for part, count in (photos | {REST: len(rest)}).items() if count}
    write_bytes(folder / MARK, json.dumps(about | {"photos": photos}, indent=1).encode())


def _write_part(folder: Path, part: str, split: Photos, kept: np.ndarray, features: np.ndarray) -> None:
    """The files of one split, or none where no photo is left in it.

    Each image's captions stand together; ids, one a caption line, say whose they are. Without captions: one an image.
    """
    if not len(kept):
        return
    lines = [(split.ids[i], text) for i in kept for text in split.captions[i] if text.split()]
    write_array(folder / f"{part}_ims.npy", features)
    texts = {
        "files": [str(split.files[i]) for i in kept],
        "ids": [i for i, _ in lines] or [split.ids[i] for i in kept],
        "caps": [text for _, text in lines],
    }
    for end, some in texts.items():
        if some:
            write_bytes(folder / f"{part}_{end}.txt", ("\n".join(some) + "\n").encode())


@dataclass(frozen=True)
class Part:
    """What a search needs of a part: ``features`` (N, …), the N ``files``, and ``captions`` with their images' rows."""

    features: np.ndarray | Regions
    files: list[str]
    captions: list[str]
    image_of: np.ndarray


def parts(folder: str | os.PathLike, split: str | None = None) -> list[Part]:
    """The parts of a feature folder of any origin, in the order train, val, test and photos without captions.

    ``split``: only that one. A folder need not have all of them, as training does. ``FileNotFoundError`` where there is
    none, ``ValueError`` for what :func:`icrlib.data.precomputed.load` refuses.
    """
    folder = Path(folder)
    finished(folder)
    wanted = {split: PARTS[split]} if split else {**PARTS, REST: REST}
    present = {name: part for name, part in wanted.items() if (folder / f"{part}_ims.npy").is_file()}
    missing = [file for file in lengths_wanted(folder, present.values()) if not os.path.lexists(folder / file)]
    if missing or not present:
        missing = missing or [f"{part}_ims.npy" for part in wanted.values()]
        raise FileNotFoundError(
            f"{folder}: missing {', '.join(missing)}; a feature folder has features of one part at least, and lengths "
            "of regions beside all of them or none"
        )
    return [_part(folder, name, part) for name, part in present.items()]


def _part(folder: Path, name: str, part: str) -> Part:
    listed = folder / f"{part}_files.txt"
    files = parsing.lines(listed) if listed.is_file() else None
    if part == REST:
        features = distractors(folder)
        features = features if isinstance(features, Regions) else features.numpy()
        made = Part(features, files or [], [], np.zeros(0, np.int64))
    else:
        split = read_split(folder, name, part)
        features = split.features if isinstance(split.features, Regions) else split.features.numpy()
        files = files if files is not None else list(split.image_ids)
        made = Part(features, files, split.captions, split.image_of.numpy())
    if len(made.files) != len(made.features):
        raise ValueError(
            f"{listed}: {len(made.files)} file names for {len(made.features)} images, so nobody knows "
            "which name is whose; make the folder again with icr features"
        )
    return made
