"""Photos and captions in Karpathy's format: one ``dataset*.json[.gz]`` beside a folder of images."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from icrlib.progress import bar

# Images of the splits of Karpathy and Fei-Fei (2015); COCO's train with restval.
PUBLISHED = {
    "flickr8k": {"train": 6_000, "val": 1_000, "test": 1_000},
    "flickr30k": {"train": 29_000, "val": 1_014, "test": 1_000},
    "coco": {"train": 113_287, "val": 5_000, "test": 5_000},
}
SPLITS = {"train": "train", "restval": "train", "val": "val", "test": "test"}  # COCO: restval joins train


class BadAnnotations(ValueError):
    """The JSON file is not what a dataset in Karpathy's format has."""


@dataclass
class Photos:
    """One split: ``files``, ``ids`` and ``captions`` (a list of texts) of each image, in the order of the JSON."""

    files: list[Path] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    captions: list[list[str]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.files)


def read(root: str | os.PathLike) -> dict[str, Photos]:
    """Splits "train", "val" and "test" of the dataset in ``root``; pictures are not opened.

    ``FileNotFoundError`` where the JSON or the image folder is missing, :class:`BadAnnotations` (a ``ValueError``)
    where the JSON is cut off, lists no images, leaves a split empty or names an image twice.
    """
    root = Path(root)
    path = _annotations(root)
    folder = _images(root)
    splits = {name: Photos() for name in ("train", "val", "test")}
    for number, entry in enumerate(_entries(path)):
        where = f"{path}, image {number}"
        try:
            file, name = entry["filename"], SPLITS[entry["split"]]
            texts = [sentence["raw"] for sentence in entry["sentences"]]
        except (KeyError, TypeError) as err:
            raise BadAnnotations(
                f"{where}: no usable {err}; an image needs filename, split ({', '.join(SPLITS)}) and sentences with raw"
            ) from err
        # One caption a line is how feature folders keep them, so no caption may hold a line break.
        texts = [" ".join(str(text).split()) for text in texts]
        split = splits[name]
        split.files.append(folder / entry.get("filepath", "") / file)
        split.ids.append(str(entry.get("imgid", entry.get("cocoid", number))))
        split.captions.append(texts)
    _whole(path, splits)
    return splits


def check(root: str | os.PathLike, progress: bool = True) -> tuple[dict[str, dict[str, int]], list[str]]:
    """Look at everything in ``root``: counts per split, and all problems at once, each with its file.

    Problems: pictures that are missing or cannot be decoded, images without caption, captions without a word, names or
    ids that occur twice. An unreadable JSON raises as :func:`read` does.
    """
    from icrlib.data.pictures import BadPicture, open_picture

    counts, problems, seen = {}, [], Counter()
    for name, split in read(root).items():
        texts = [text for captions in split.captions for text in captions]
        counts[name] = {"images": len(split), "captions": len(texts), "words": sum(len(t.split()) for t in texts)}
        for file, captions in zip(split.files, split.captions, strict=True):
            empty = sum(not text.split() for text in captions)
            if empty or not captions:
                problems.append(f"{file}: {f'{empty} captions without a word' if captions else 'no caption'}")
        for file in bar(split.files, f"checking {name}", progress):
            seen[file] += 1
            try:
                open_picture(file)
            except (BadPicture, FileNotFoundError) as err:
                problems.append(str(err))
    problems += [f"{file}: named by {n} images of the JSON" for file, n in seen.items() if n > 1]
    return counts, problems


def entries(place: str | os.PathLike) -> tuple[Path, list[dict]]:
    """The JSON in ``place`` (the file itself, or the folder that holds it) and its list of images, as they stand there.

    For what :func:`read` leaves aside, such as COCO's ids. Errors as there; the pictures may be missing.
    """
    path = Path(place) if Path(place).is_file() else _annotations(Path(place))
    return path, _entries(path)


def _annotations(root: Path) -> Path:
    if not root.is_dir():
        raise FileNotFoundError(f"{root}: no such folder; root= is the one with dataset*.json and the images")
    found = sorted([*root.glob("dataset*.json"), *root.glob("dataset*.json.gz")])
    if len(found) != 1:
        what = ", ".join(p.name for p in found) or "none"
        raise FileNotFoundError(f"{root}: exactly one dataset*.json or dataset*.json.gz is needed here; found {what}")
    return found[0]


def _images(root: Path) -> Path:
    for name in ("images", "Images", "flickr30k-images", "flickr30k_images", "Flicker8k_Dataset", "."):
        folder = root / name
        if folder.is_dir() and (name != "." or any(_pictures(folder))):
            return folder
    # COCO keeps train2014/ and val2014/, which its JSON names for every image.
    if (root / "train2014").is_dir() or (root / "val2014").is_dir():
        return root
    raise FileNotFoundError(f"{root}: no folder images/ here, and no pictures beside the JSON")


def _pictures(folder: Path):
    return (p for end in ("*.jpg", "*.jpeg", "*.png") for p in folder.glob(end))


def _entries(path: Path) -> list[dict]:
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        entries = json.loads(raw.decode("utf-8"))["images"]
    except (OSError, EOFError, UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError) as err:
        raise BadAnnotations(f"{path}: not a whole JSON file in Karpathy's format ({err}); get it again") from err
    if not isinstance(entries, list) or not entries:
        raise BadAnnotations(f"{path}: it lists no images")
    return entries


def _whole(path: Path, splits: dict[str, Photos]) -> None:
    for name, split in splits.items():
        if not len(split):
            raise BadAnnotations(f"{path}: the split {name!r} is empty; training needs train, val and test")
        twice = [id for id, n in Counter(split.ids).items() if n > 1]
        if twice:
            raise BadAnnotations(f"{path}: the id {twice[0]!r} occurs twice in {name!r}; ids must differ")
