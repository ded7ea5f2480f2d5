"""Folders of pre-computed image features and captions, in the layout that SCAN and VSRN use."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import numpy as np
import torch

from icrlib import parsing
from icrlib.data.cache import array_bytes, array_of
from icrlib.data.karpathy import FOLDS, PUBLISHED
from icrlib.data.regions import Regions
from icrlib.data.splits import Dataset, Split, draw_images
from icrlib.data.text import SPECIAL, Vocabulary, tokenize
from icrlib.errors import choose
from icrlib.files import sha256_of
from icrlib.progress import bar

log = logging.getLogger(__name__)
PARTS = {"train": "train", "val": "dev", "test": "test"}
MARK = "features.json"  # what made the folder; written first and last, so that a folder half made is known
UNFINISHED = "unfinished"
REST = "rest"  # the files of photos without a caption
SMOKE = 200  # images of each split that a smoke run sees


@cache
def _warn(text: str) -> None:
    log.warning("%s", text)


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
    has, (rows,) whole numbers from 1 to R. Without that file, rows of zeros at an image's end are taken for padding.
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
    if not lengths and any(isinstance(split.features, Regions) for split in splits.values()):
        options["padding"] = "zeros"  # another question than with all of them as regions
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
        counts = Counter(word for caption in captions for word in tokenize(caption))
        word, most = max(counts.items(), key=lambda item: item[1], default=("", 0))
        raise ValueError(
            f"no word occurs {options['min_count']} times in the captions that the vocabulary is made of, so every "
            f"word would be unknown; {word!r} comes most often, {most} times. Take a lower min_count=, or more captions"
        )
    return Dataset(
        name,
        **splits,
        vocabulary=words,
        fingerprint=sha256_of(*digest, repr(options)),
        options=options,
    )


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


def read_split(folder: Path, name: str, part: str, warn: Callable[[str], object] = _warn) -> Split:
    """One part of a folder, "dev" as the split "val"; ``warn`` hears of rows of zeros behind regions."""
    captions = parsing.lines(folder / f"{part}_caps.txt")
    for line, caption in enumerate(captions, 1):
        if not caption.strip():
            raise ValueError(f"{folder / f'{part}_caps.txt'}, line {line}: an empty caption; remove it or write one")
    array, lengths = read_features(folder, part, warn)
    ids_file = folder / f"{part}_ids.txt"
    ids = parsing.lines(ids_file) if ids_file.is_file() else None
    if ids is not None and len(ids) not in (len(array), len(captions)):
        raise ValueError(
            f"{ids_file}: {len(ids)} ids for {len(array)} feature rows and {len(captions)} captions; "
            "one a row or one a caption, or remove the file"
        )
    # A folder that says what made it repeats no row: two equal ones are two copies of a photo, each with its caption.
    same = _repeats(array, lengths) if len(array) == len(captions) and not (folder / MARK).is_file() else None
    try:
        row_of = assign(len(array), len(captions), ids, same)
    except ValueError as err:
        raise ValueError(f"{folder}, part {part!r}: {err}") from err
    rows, image_of = np.unique(row_of, return_inverse=True)
    named = ids is not None and len(ids) == len(array)
    features = torch.from_numpy(array if len(rows) == len(array) else array[rows])
    if lengths is not None:
        features = Regions(features, torch.from_numpy(lengths[rows]))
    names = [ids[row] if named else f"{part}-{row}" for row in rows]
    return Split(name, features, captions, torch.from_numpy(image_of.astype(np.int64)), names)


def _repeats(array: np.ndarray, lengths: np.ndarray | None) -> np.ndarray:
    """Which rows are equal to the one before."""
    sizes = np.zeros(len(array)) if lengths is None else lengths
    same = ((array[i] == array[i - 1]).all() and sizes[i] == sizes[i - 1] for i in range(1, len(array)))
    return np.array([False, *same])


def finished(folder: Path) -> dict:
    """What the folder notes of its making, if anything; one whose making was cut off is refused."""
    about = parsing.of_json(folder / MARK, {"type": "object"}, MARK) if (folder / MARK).is_file() else {}
    if about.get(UNFINISHED):
        raise ValueError(
            f"{folder}: the features here are unfinished; finish them with the same command, icr features PHOTOS "
            f"{folder}"
        )
    return about


def lengths_wanted(folder: Path, parts: Iterable[str]) -> list[str]:
    """The files that say how many regions images have: of all ``parts``, or of none."""
    files = [f"{part}_lens.npy" for part in parts]
    return files if any(os.path.lexists(folder / file) for file in files) else []


def read_features(
    folder: Path, part: str, warn: Callable[[str], object] = _warn
) -> tuple[np.ndarray, np.ndarray | None]:
    """The features of a part and how many regions each image has, (rows,) int64; None where all are regions.

    Without a file of lengths, rows of zeros at an image's end are taken for padding, and ``warn`` hears of it, by
    default once a process.
    """
    path, file = folder / f"{part}_ims.npy", folder / f"{part}_lens.npy"
    array, lengths = _read(path)
    if os.path.lexists(file):
        return array, read_lengths(file, array.shape)
    if lengths is None or (padded := int((lengths < array.shape[1]).sum())) == 0:
        return array, None
    warn(
        f"{path}: {padded:,} of {len(array):,} images end in rows of zeros, which are taken for padding "
        f"({lengths.min()} to {lengths.max()} regions an image); if that is wrong, save how many regions each has as "
        f"{file.name}"
    )
    return array, lengths


def distractors(folder: str | os.PathLike) -> torch.Tensor | Regions:
    """Features (N, …) of the photos without caption that ``icr features`` put into ``folder``, for
    ``icrlib.evaluate(…, distractors=…)``. ``FileNotFoundError`` where it has none."""
    array, lengths = read_features(Path(folder), REST)
    features = torch.from_numpy(array)
    return features if lengths is None else Regions(features, torch.from_numpy(lengths))


def read_lengths(path: Path, shape: tuple[int, ...]) -> np.ndarray:
    """How many regions each image has, (rows,) int64, for features of this ``shape``; else ``ValueError``."""
    way = "save one whole number from 1 to R for each row of regions (rows, R, D), or remove it"
    lengths = array_of(path, way)
    fits = len(shape) == 3 and lengths.shape == shape[:1] and lengths.dtype.kind in "iu"
    if not fits or ((lengths < 1) | (lengths > shape[1])).any():
        raise ValueError(f"{path}: these {lengths.dtype} {lengths.shape} are no lengths of features {shape}; {way}")
    return lengths.astype(np.int64)


def rows_of(path: Path) -> int:
    """How many rows the array on disk has; nothing else of it is read."""
    return len(array_of(path, "copy or compute the file again", mmap_mode="r"))


def _read(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    """The array; of regions also how many each image has up to the last that is not zeros alone, 1 at least."""
    way = "copy or compute it again; regions of images that have unequally many are padded with zeros to (rows, R, D)"
    array = array_of(path, way, mmap_mode="c")
    if array.ndim not in (2, 3) or array.dtype not in (np.float16, np.float32) or 0 in array.shape:
        raise ValueError(f"{path}: {array.dtype} {array.shape}; wanted float16 or float32, (rows, D) or (rows, R, D)")
    chunk, lengths = max(1, (64 << 20) // array[0].nbytes), []
    starts = range(0, len(array), chunk)
    for start in bar(starts, f"reading {path.name}", len(starts) >= 20):
        some = array[start : start + chunk]
        bad = ~np.isfinite(some).reshape(len(some), -1).all(1)
        if bad.any():
            raise ValueError(f"{path}: row {start + int(bad.argmax())} holds NaN or infinity; compute it again")
        if some.ndim == 3:
            used = some.any(2)
            lengths.append(np.where(used.any(1), used.shape[1] - used[:, ::-1].argmax(1), 1))
    return array, np.concatenate(lengths) if lengths else None
