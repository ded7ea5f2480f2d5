"""Folders of pre-computed image features and captions, in the layout that SCAN and VSRN use."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import torch

from icrlib import parsing
from icrlib.data.cache import array_of
from icrlib.data.karpathy import FOLDS, PUBLISHED
from icrlib.data.splits import Dataset, Split
from icrlib.data.text import SPECIAL, Vocabulary
from icrlib.errors import choose
from icrlib.files import sha256_of
from icrlib.progress import bar

PARTS = {"train": "train", "val": "dev", "test": "test"}
MARK = "features.json"  # what made the folder; written first and last, so that a folder half made is known
UNFINISHED = "unfinished"


def load(
    folder: str | os.PathLike,
    *,
    name: str,
    vocabulary: str = "train",
    min_count: int = 4,
    smoke: bool = False,
) -> Dataset:
    """Read ``{train,dev,test}_ims.npy`` and ``…_caps.txt`` (one caption a line) from ``folder``.

    Features are (rows, D) pooled or (rows, R, D) regions, float16 or float32; they stay on disk and are
    read as they are used. Which image a caption belongs to follows from the counts: see :func:`assign`.
    ``vocabulary="train"`` builds it from the training captions, ``"all"`` from all three files, as the
    published vocabularies were. ``smoke`` keeps the first 200 images of each split.
    """
    choose(vocabulary, ("train", "all"), "vocabulary")
    folder = Path(folder)
    wanted = [f"{part}_{end}" for part in PARTS.values() for end in ("ims.npy", "caps.txt")]
    missing = [file for file in wanted if not (folder / file).is_file()]
    if missing:
        raise FileNotFoundError(f"{folder}: missing {', '.join(missing)}. A feature folder holds {', '.join(wanted)}")
    finished(folder)
    splits = {name_: read_split(folder, name_, part, 200 if smoke else None) for name_, part in PARTS.items()}
    sizes = {f"{part}_ims.npy": tuple(splits[name_].features.shape[1:]) for name_, part in PARTS.items()}
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{file}: {' x '.join(map(str, size))}" for file, size in sizes.items())
        raise ValueError(
            f"{folder}: features of different sizes an image ({told}); all three files must come from the same network"
        )
    digest = [sha256_of(folder / file) for file in bar(wanted, "checking files", not _small(folder, wanted))]
    options = {"vocabulary": vocabulary, "min_count": min_count, "smoke": smoke}
    return dataset(name, splits, digest, options)


def dataset(name: str, splits: dict[str, Split], digest: list[str], options: dict) -> Dataset:
    """The splits as a dataset with its vocabulary; ``digest``: hashes of its files."""
    if len(splits["test"]) == PUBLISHED.get(name, {}).get("test"):
        splits["test"].folds = FOLDS.get(name, 1)
    seen = splits.values() if options["vocabulary"] == "all" else [splits["train"]]
    words = Vocabulary.build((c for split in seen for c in split.captions), options["min_count"])
    if len(words) == len(SPECIAL):
        raise ValueError(
            f"no word occurs {options['min_count']} times in the captions that the vocabulary is made of, "
            "so every word would be unknown; take min_count=1, or more captions"
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


def read_split(folder: Path, name: str, part: str, keep: int | None = None) -> Split:
    """One part of a folder, "dev" as the split "val"; ``keep``: its first images only."""
    captions = parsing.lines(folder / f"{part}_caps.txt")
    for line, caption in enumerate(captions, 1):
        if not caption.strip():
            raise ValueError(f"{folder / f'{part}_caps.txt'}, line {line}: an empty caption; remove it or write one")
    array = read_array(folder / f"{part}_ims.npy")
    ids_file = folder / f"{part}_ids.txt"
    ids = parsing.lines(ids_file) if ids_file.is_file() else None
    if ids is not None and len(ids) not in (len(array), len(captions)):
        raise ValueError(
            f"{ids_file}: {len(ids)} ids for {len(array)} feature rows and {len(captions)} captions; "
            "one a row or one a caption, or remove the file"
        )
    # A folder that says what made it repeats no row: two equal ones are two copies of a photo, each with its caption.
    same = _repeats(array) if len(array) == len(captions) and not (folder / MARK).is_file() else None
    try:
        row_of = assign(len(array), len(captions), ids, same)
    except ValueError as err:
        raise ValueError(f"{folder}, part {part!r}: {err}") from err
    used, image_of = np.unique(row_of, return_inverse=True)
    named = ids is not None and len(ids) == len(array)
    names = [ids[row] if named else f"{part}-{row}" for row in used]
    features = torch.from_numpy(array if len(used) == len(array) else array[used])
    image_of = torch.from_numpy(image_of.astype(np.int64))
    if keep is not None:
        features, names, inside = features[:keep], names[:keep], image_of < keep
        captions = [c for c, ok in zip(captions, inside.tolist(), strict=True) if ok]
        image_of = image_of[inside]
    return Split(name, features, captions, image_of, names)


def finished(folder: Path) -> None:
    """Refuse a folder whose making was cut off: what it holds may be of two runs."""
    if (folder / MARK).is_file() and parsing.of_json(folder / MARK, {"type": "object"}, MARK).get(UNFINISHED):
        raise ValueError(
            f"{folder}: the features here are unfinished, and may be half those of an earlier run; finish "
            f"them with the same command, icr features PHOTOS {folder}"
        )


def read_array(path: Path) -> np.ndarray:
    """The array on disk, mapped privately (writes never reach the file); checked for shape, type and NaN."""
    array = array_of(path, "copy or compute the file again", mmap_mode="c")
    if array.ndim not in (2, 3) or array.dtype not in (np.float16, np.float32) or 0 in array.shape:
        raise ValueError(f"{path}: {array.dtype} {array.shape}; wanted float16 or float32, (rows, D) or (rows, R, D)")
    chunk = max(1, (64 << 20) // array[0].nbytes)
    starts = range(0, len(array), chunk)
    for start in bar(starts, f"reading {path.name}", len(starts) >= 20):
        bad = ~np.isfinite(array[start : start + chunk]).reshape(len(array[start : start + chunk]), -1).all(1)
        if bad.any():
            raise ValueError(f"{path}: row {start + int(bad.argmax())} holds NaN or infinity; compute it again")
    return array


def _repeats(array: np.ndarray) -> np.ndarray:
    return np.array([False, *((array[i] == array[i - 1]).all() for i in range(1, len(array)))])


def _small(folder: Path, files: list[str]) -> bool:
    return sum((folder / file).stat().st_size for file in files) < 1 << 30
