"""A folder of features that we made: what it says of its making, and how it is written so that it is never half two.

The layout is that of SCAN and VSRN: ``{train,dev,test}_ims.npy``, ``_caps.txt``, ``_ids.txt``, ``_files.txt``. Photos
without a caption, which no training uses and a search finds, stand in ``rest_ims.npy``, with their ids and files.
Folders of others may have ``_lens.npy``, too (:func:`icrlib.data.precomputed.load`).
``features.json`` says what the folder was made from. It is written before anything else is written over, as unfinished,
and again at the end.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from icrlib import parsing
from icrlib.data import karpathy
from icrlib.data.cache import write_array
from icrlib.data.captions import told, words_of
from icrlib.data.precomputed import (
    MARK,
    PARTS,
    UNFINISHED,
    check_alike,
    finished,
    lengths_wanted,
    read_features,
    read_split,
)
from icrlib.data.regions import Regions
from icrlib.data.splits import Split
from icrlib.files import write_bytes

REST = "rest"  # the files of photos without a caption
ENDS = ("ims.npy", "caps.txt", "ids.txt", "files.txt")
NOTHING = np.zeros(0, np.int64), np.zeros((0, 1), np.float16)
ORIGIN = ("root", "place", "backbone", "regions")  # what two features of the same photos have in common
ABOUT = {
    "type": "object",
    "required": ["backbone", "key"],
    "properties": {
        "backbone": {"type": "string"},
        "key": {"type": "string"},
        "root": {"type": "string"},
        "place": {"type": "string"},
        "regions": {"type": "integer"},
        "left_out": {"type": "integer"},
        "photos": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
}


def noted(folder: str | os.PathLike) -> dict | None:
    """What ``features.json`` in ``folder`` says of its making; None where there is none.

    :class:`icrlib.parsing.BadFile` (a ``ValueError``) where it is damaged.
    """
    path = Path(folder) / MARK
    return parsing.of_json(path, ABOUT, MARK) if path.is_file() else None


def done(folder: Path, key: str, skip_bad: bool) -> bool:
    """Whether the folder is finished, with these photos and captions, and with as many photos left out as allowed."""
    try:
        about = noted(folder)
    except parsing.BadFile:
        return False
    if about is None or about.get(UNFINISHED) or about["key"] != key:
        return False
    parts = about.get("photos", PARTS.values())
    there = all((folder / f"{part}_{end}").is_file() for part in parts for end in ("ims.npy", "files.txt"))
    return there and (skip_bad or not about.get("left_out"))


def refuse_others(folder: Path, about: dict) -> None:
    """``ValueError`` where the folder holds features that a work with this note is not a newer state of."""
    try:
        theirs = noted(folder)
    except parsing.BadFile as err:
        what = f"features of unknown origin ({err})"
    else:
        what = _foreign(folder) if theirs is None else _other(theirs, about)
    if what:
        raise ValueError(f"{folder} holds {what}. Choose another folder, or write over them with --force (force=True)")


def _foreign(folder: Path) -> str | None:
    there = [f"{part}_ims.npy" for part in (*PARTS.values(), REST) if (folder / f"{part}_ims.npy").exists()]
    return f"features of unknown origin ({', '.join(there)}, and no {MARK})" if there else None


def _other(theirs: dict, about: dict) -> str | None:
    differs = [name for name in ORIGIN if name in theirs and theirs[name] != about[name]]
    shown = [f"{name}: {theirs[name]!r}, now {about[name]!r}" for name in differs if name != "place"]
    return f"features of other photos or another network ({'; '.join(shown) or 'other photos'})" if differs else None


def replace(
    folder: Path, splits: dict[str, karpathy.Photos], found: dict[str, tuple[np.ndarray, np.ndarray]], about: dict
) -> None:
    """Write all files, from the mark that says "unfinished" to the one that does not.

    ``found``: of each split the numbers of the photos that are kept, and their features. Whatever ends this in between
    leaves a folder that is refused by name, and finished by the same command.
    """
    write_bytes(folder / MARK, json.dumps(about | {UNFINISHED: True}, indent=1).encode())
    rest, left, photos = karpathy.Photos(), [], {}
    for name, part in PARTS.items():
        kept, features = found.get(name, NOTHING)
        captioned = np.array([any(text.split() for text in splits[name].captions[i]) for i in kept], dtype=bool)
        write_part(folder, part, splits[name], kept[captioned], features[captioned])
        photos[part] = int(captioned.sum())
        for i in kept[~captioned]:
            rest.files.append(splits[name].files[i])
            rest.ids.append(splits[name].ids[i])
            rest.captions.append([])
        left += [features[~captioned]] if not captioned.all() else []
    write_part(folder, REST, rest, np.arange(len(rest)), np.concatenate(left) if left else NOTHING[1])
    photos = {part: count for part, count in (photos | {REST: len(rest)}).items() if count}
    write_bytes(folder / MARK, json.dumps(about | {"photos": photos}, indent=1).encode())


def write_part(folder: Path, part: str, split: karpathy.Photos, kept: np.ndarray, features: np.ndarray) -> None:
    """The files of one split, or none where no photo is left in it.

    Each image's captions stand together; ids, one a caption line, say whose they are. Without captions: one an image.
    Lengths of other features that lay there are gone.
    """
    (folder / f"{part}_lens.npy").unlink(missing_ok=True)
    lines = [(split.ids[i], text) for i in kept for text in split.captions[i] if text.split()]
    if not len(kept):
        for end in ENDS:
            (folder / f"{part}_{end}").unlink(missing_ok=True)
        return
    write_array(folder / f"{part}_ims.npy", features)
    texts = {
        "files": [str(split.files[i]) for i in kept],
        "ids": [i for i, _ in lines] or [split.ids[i] for i in kept],
        "caps": [t for _, t in lines],
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
    there = {name: part for name, part in wanted.items() if (folder / f"{part}_ims.npy").is_file()}
    if not there:
        raise FileNotFoundError(
            f"{folder}: missing {', '.join(f'{part}_ims.npy' for part in wanted.values())}; a "
            "feature folder, as icr features makes one, has at least one of them"
        )
    lacking = [file for file in lengths_wanted(folder, there.values()) if not os.path.lexists(folder / file)]
    if lacking:
        raise FileNotFoundError(
            f"{folder}: missing {', '.join(lacking)}; lengths of regions stand beside all parts or none"
        )
    return [_part(folder, name, part) for name, part in there.items()]


def check(folder: Path) -> tuple[dict[str, dict[str, int]], list[str], list[str]]:
    """Counts per split, problems and notes of features to train on, as :func:`icrlib.data.karpathy.check` of photos.

    Notes are about rows of zeros behind regions, how many regions images have, and the captions.
    """
    counts, problems, notes, splits = {}, [], [], {}
    lengths = lengths_wanted(folder, PARTS.values())
    for name, part in PARTS.items():
        wanted = [f"{part}_ims.npy", f"{part}_caps.txt", *(file for file in lengths if file.startswith(part))]
        lacking = [f"{folder / file}: missing" for file in wanted if not os.path.lexists(folder / file)]
        problems += lacking
        if lacking:
            continue
        try:
            splits[part] = split = read_split(folder, name, part, say=notes.append)
        except (ValueError, OSError) as err:
            problems.append(str(err))
            continue
        words = words_of(split.captions).total()
        counts[name] = {"images": len(split), "captions": len(split.captions), "words": words}
        if isinstance(split.features, Regions):
            some = split.features.lengths
            notes.append(f"{name}: {int(some.min())} to {int(some.max())} regions an image, {int(some.sum()):,} in all")
    try:
        finished(folder)
        check_alike(folder, splits)
    except ValueError as err:
        problems.append(str(err))
    captions = {name: _by_image(splits[part]) for name, part in PARTS.items() if part in splits}
    return counts, problems, notes + (told(captions) if "train" in captions else [])


def _by_image(split: Split) -> list[list[str]]:
    found = [[] for _ in range(len(split))]
    for text, image in zip(split.captions, split.image_of.tolist(), strict=True):
        found[image].append(text)
    return found


def _part(folder: Path, name: str, part: str) -> Part:
    listed = folder / f"{part}_files.txt"
    files = parsing.lines(listed) if listed.is_file() else None
    if part == REST:
        array, lengths = read_features(folder, part)
        array = array if lengths is None else Regions(torch.from_numpy(array), torch.from_numpy(lengths))
        found = Part(array, files or [], [], np.zeros(0, np.int64))
    else:
        split = read_split(folder, name, part)
        found = Part(
            split.features if isinstance(split.features, Regions) else split.features.numpy(),
            files if files is not None else list(split.image_ids),
            split.captions,
            split.image_of.numpy(),
        )
    if len(found.files) != len(found.features):
        raise ValueError(
            f"{listed}: {len(found.files)} file names for {len(found.features)} images, so nobody knows "
            "which name is whose; make the folder again with icr features"
        )
    return found
