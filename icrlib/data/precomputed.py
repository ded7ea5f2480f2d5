"""Folders of pre-computed image features and captions, in the layout that SCAN and VSRN use.

``{train,dev,test}_ims.npy``, ``_caps.txt``, ``_ids.txt``, and where images have unequally many regions ``_lens.npy``.
Those that we make (:mod:`icrlib.data.features`) have ``_files.txt``, too; photos without a caption, which no training
uses and a search finds, in ``rest_ims.npy``, with their ids and files; and ``features.json``, which says what the
folder was made from.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from icrlib import parsing
from icrlib.data.cache import array_bytes, array_of
from icrlib.data.karpathy import FOLDS, PUBLISHED
from icrlib.data.regions import Regions
from icrlib.data.splits import Dataset, Split, draw_images
from icrlib.data.text import SPECIAL, Vocabulary
from icrlib.errors import choose
from icrlib.files import sha256_of
from icrlib.progress import bar

PARTS = {"train": "train", "val": "dev", "test": "test"}
MARK = "features.json"  # what made the folder; written first and last, so that a folder half made is known
UNFINISHED = "unfinished"
REST = "rest"  # the files of photos without a caption
SMOKE = 200  # images of each split that a smoke run sees
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


def load(
    folder: str | os.PathLike,
    *,
    name: str,
    vocabulary: str = "train",
    min_count: int = 4,
    train: int | None = None,
    smoke: bool = False,
) -> Dataset:
    """Read ``{train,dev,test}_ims.npy`` and ``…_caps.txt`` (one caption a line) from ``folder``.

    Features are (rows, D) pooled or (rows, R, D) regions, float16 or float32; they stay on disk and are
    read as they are used. Which image a caption belongs to follows from the counts: see :func:`assign`.
    Where images have unequally many regions, pad them to R, and let ``{train,dev,test}_lens.npy`` say how many each row
    has, (rows,) whole numbers from 1 to R. Without that file, rows of zeros at an image's end are refused.
    ``vocabulary="train"`` builds it from the training captions, ``"all"`` from all three files, as the
    published vocabularies were. ``train``: only so many of the training images, the same ones each time; this is the
    data of a folder that holds them alone, and has its fingerprint. ``smoke`` keeps the first 200 images of each split.
    """
    choose(vocabulary, ("train", "all"), "vocabulary")
    folder = Path(folder)
    wanted = [f"{part}_{end}" for part in PARTS.values() for end in ("ims.npy", "caps.txt")]
    lengths = lengths_wanted(folder, PARTS.values())
    missing = [file for file in (*wanted, *lengths) if not (folder / file).is_file()]
    if missing:
        raise FileNotFoundError(f"{folder}: missing {', '.join(missing)}. A feature folder has {', '.join(wanted)}")
    about = finished(folder)
    splits = {split: read_split(folder, split, part) for split, part in PARTS.items()}
    check_alike(folder, {part: splits[split] for split, part in PARTS.items()})
    content: dict[str, Path | bytes] = {file: folder / file for file in (*wanted, *lengths)}
    if train is not None:
        splits["train"] = splits["train"].images_only(draw_images(len(splits["train"]), train))
        content |= {file: raw for file, raw in _files_of(splits["train"]).items() if file in content}
    large = sum((folder / file).stat().st_size for file in content) > 1 << 30
    digest = [sha256_of(part) for part in bar(content.values(), "checking files", large)]
    options = {"vocabulary": vocabulary, "min_count": min_count, "smoke": smoke}
    if smoke:
        splits = {split: part.images_only(torch.arange(min(SMOKE, len(part)))) for split, part in splits.items()}
    made = dataset(name, splits, digest, options)
    made.defaults = {"places": "cells"} if about.get("regions") else {}  # as icr features makes regions
    return made


def _files_of(split: Split) -> dict[str, bytes]:
    """The files of training data, as a folder with these images alone would hold them."""
    padded = isinstance(split.features, Regions)
    return {
        "train_ims.npy": array_bytes((split.features.values if padded else split.features).numpy()),
        "train_caps.txt": "".join(f"{caption}\n" for caption in split.captions).encode(),
        "train_lens.npy": array_bytes(split.features.lengths.numpy()) if padded else b"",
    }


def check_alike(folder: Path, splits: dict[str, Split]) -> None:
    """``ValueError`` where the features of parts differ in size; padded regions may be as many as each part needs."""
    sizes = {f"{part}_ims.npy": tuple(split.features.shape[1:]) for part, split in splits.items()}
    padded = all(isinstance(split.features, Regions) for split in splits.values())
    if len({size[-1:] if padded else size for size in sizes.values()}) > 1:
        raise ValueError(
            f"{folder}: features of different sizes an image ({sizes}); all files must come from the same network"
        )


def dataset(name: str, splits: dict[str, Split], digest: list[str], options: dict) -> Dataset:
    """The splits as a dataset with its vocabulary; ``digest``: hashes of its files."""
    if len(splits["test"]) == PUBLISHED.get(name, {}).get("test"):
        splits["test"].folds = FOLDS.get(name, 1)
    seen = splits.values() if options["vocabulary"] == "all" else [splits["train"]]
    captions = [caption for split in seen for caption in split.captions]
    words = Vocabulary.build(captions, options["min_count"])
    if len(words) == len(SPECIAL):
        raise ValueError(
            f"no word occurs {options['min_count']} times in the captions that the vocabulary is made of, so every "
            "word would be unknown. Take a lower min_count=, or more captions"
        )
    return Dataset(name, **splits, vocabulary=words, fingerprint=sha256_of(*digest, repr(options)), options=options)


def assign(rows: int, captions: int, ids: list[str] | None, equal_to_previous: np.ndarray | None) -> np.ndarray:
    """The feature row of each caption, ``(captions,)`` int64.

    Four layouts are in use, told apart by counting. (1) One id a caption line: captions with the same id share
    an image, whose row is that of its first caption (rows repeated per caption) or the id's order of first sight.
    (2) ``captions`` is a multiple of ``rows``: that many captions each, in order. (3) As many rows as captions
    and neighbouring rows equal (``equal_to_previous``): a feature row repeated for each of its captions.
    (4) As many rows as captions, all different: one caption an image.
    """
    if ids is not None and len(ids) == captions and (captions != rows or len(set(ids)) < captions):
        first: dict[str, int] = {}
        for line, name in enumerate(ids):
            first.setdefault(name, line if rows == captions else len(first))
        if rows not in (captions, len(first)):
            raise ValueError(f"{rows} feature rows, but the ids name {len(first)} images for {captions} captions")
        return np.array([first[name] for name in ids])
    if rows and captions and captions % rows == 0 and rows != captions:
        return np.arange(captions) // (captions // rows)
    if rows == captions:
        starts = np.arange(rows) if equal_to_previous is None else np.where(equal_to_previous, 0, np.arange(rows))
        return np.maximum.accumulate(starts)
    raise ValueError(
        f"{rows} feature rows and {captions} captions: captions must be a whole multiple of the rows, "
        "or an _ids.txt file must name the image of every caption"
    )


def read_split(folder: Path, name: str, part: str) -> Split:
    """One part of a folder, "dev" as the split "val"."""
    captions = parsing.lines(folder / f"{part}_caps.txt")
    for line, caption in enumerate(captions, 1):
        if not caption.strip():
            raise ValueError(f"{folder / f'{part}_caps.txt'}, line {line}: an empty caption; remove it or write one")
    features = read_features(folder, part)
    images = len(features)
    ids_file = folder / f"{part}_ids.txt"
    ids = parsing.lines(ids_file) if ids_file.is_file() else None
    if ids is not None and len(ids) not in (images, len(captions)):
        raise ValueError(
            f"{ids_file}: {len(ids)} ids for {images} feature rows and {len(captions)} captions; "
            "one a row or one a caption, or remove the file"
        )
    # A folder that says what made it repeats no row: two equal ones are two copies of a photo, each with its caption.
    same = _repeats(features) if images == len(captions) and not (folder / MARK).is_file() else None
    try:
        row_of = assign(images, len(captions), ids, same)
    except ValueError as err:
        raise ValueError(f"{folder}, part {part!r}: {err}") from err
    rows, image_of = np.unique(row_of, return_inverse=True)
    named = ids is not None and len(ids) == images
    names = [ids[row] if named else f"{part}-{row}" for row in rows]
    features = features if len(rows) == images else features[torch.from_numpy(rows)]
    return Split(name, features, captions, torch.from_numpy(image_of.astype(np.int64)), names)


def _repeats(features: torch.Tensor | Regions) -> np.ndarray:
    """Which rows are equal to the one before."""
    array = (features.values if isinstance(features, Regions) else features).numpy()
    same = ((array[i] == array[i - 1]).all() for i in range(1, len(array)))
    return np.array([False, *same])


def noted(folder: str | os.PathLike) -> dict | None:
    """What ``features.json`` in ``folder`` says of its making; None where there is none.

    :class:`icrlib.parsing.BadFile` (a ``ValueError``) where it is damaged.
    """
    path = Path(folder) / MARK
    return parsing.of_json(path, ABOUT, MARK) if path.is_file() else None


def finished(folder: Path) -> dict:
    """What the folder notes of its making, if anything; one whose making was cut off is refused."""
    about = noted(folder) or {}
    if about.get(UNFINISHED):
        raise ValueError(f"{folder}: the features here are unfinished; finish them, icr features PHOTOS {folder}")
    return about


def lengths_wanted(folder: Path, parts: Iterable[str]) -> list[str]:
    """The files that say how many regions images have: of all ``parts``, or of none."""
    files = [f"{part}_lens.npy" for part in parts]
    return files if any(os.path.lexists(folder / file) for file in files) else []


def read_features(folder: Path, part: str) -> torch.Tensor | Regions:
    """The features of a part, (rows, …), with how many regions each image has where a file says so."""
    path, file = folder / f"{part}_ims.npy", folder / f"{part}_lens.npy"
    said = os.path.lexists(file)
    array = _read(path, padded=said or (folder / MARK).is_file())  # cells of our own may be zeros, and are no padding
    if not said:
        return torch.from_numpy(array)
    way = "save one whole number from 1 to R for each row of regions (rows, R, D), or remove it"
    lengths, shape = array_of(file, way), array.shape
    fits = len(shape) == 3 and lengths.shape == shape[:1] and lengths.dtype.kind in "iu"
    if not fits or ((lengths < 1) | (lengths > shape[1])).any():
        raise ValueError(f"{file}: these {lengths.dtype} {lengths.shape} are no lengths of features {shape}; {way}")
    return Regions(torch.from_numpy(array), torch.from_numpy(lengths.astype(np.int64)))


def distractors(folder: str | os.PathLike) -> torch.Tensor | Regions:
    """Features (N, …) of the photos without caption that ``icr features`` put into ``folder``, for
    ``icrlib.evaluate(…, distractors=…)``. ``FileNotFoundError`` where it has none."""
    return read_features(Path(folder), REST)


def _read(path: Path, padded: bool) -> np.ndarray:
    """The array; unless it may be ``padded``, no image of it may end in rows of zeros."""
    way = "copy or compute it again; regions of images that have unequally many are padded with zeros to (rows, R, D)"
    array = array_of(path, way, mmap_mode="c")
    if array.ndim not in (2, 3) or array.dtype not in (np.float16, np.float32) or 0 in array.shape:
        raise ValueError(f"{path}: {array.dtype} {array.shape}; wanted float16 or float32, (rows, D) or (rows, R, D)")
    chunk = max(1, (64 << 20) // array[0].nbytes)
    starts = range(0, len(array), chunk)
    for start in bar(starts, f"reading {path.name}", len(starts) >= 20):
        some = array[start : start + chunk]
        bad = ~np.isfinite(some).reshape(len(some), -1).all(1)
        if bad.any():
            raise ValueError(f"{path}: row {start + int(bad.argmax())} holds NaN or infinity; compute it again")
        if some.ndim == 3 and not padded and (zeros := ~some[:, -1].any(1)).any():
            file = path.name.replace("_ims", "_lens")
            raise ValueError(
                f"{path}: row {start + int(zeros.argmax())} ends in a region of zeros; if that is padding, save how "
                f"many regions each image has as {file}, else how many there are"
            )
    return array


@dataclass(frozen=True)
class Part:
    """What a search needs of a part: ``features`` (N, …), the N ``files``, and ``captions`` with their images' rows."""

    features: torch.Tensor | Regions
    files: list[str]
    captions: list[str]
    image_of: torch.Tensor


def parts(folder: str | os.PathLike, split: str | None = None) -> list[Part]:
    """The parts of a feature folder of any origin, in the order train, val, test and photos without captions.

    ``split``: only that one. A folder need not have all of them, as training does. ``FileNotFoundError`` where there is
    none, ``ValueError`` for what :func:`load` refuses.
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
        made = Part(distractors(folder), files or [], [], torch.zeros(0, dtype=torch.int64))
    else:
        split = read_split(folder, name, part)
        made = Part(split.features, split.image_ids if files is None else files, split.captions, split.image_of)
    if len(made.files) != len(made.features):
        raise ValueError(
            f"{listed}: {len(made.files)} file names for {len(made.features)} images, so nobody knows "
            "which name is whose; make the folder again with icr features"
        )
    return made
