"""Photos and captions in Karpathy's format: one ``dataset*.json[.gz]`` beside a folder of images."""

from __future__ import annotations

import os
import posixpath
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from icrlib import parsing
from icrlib.data.pictures import ENDINGS, BadPicture, open_picture
from icrlib.data.text import plain, tokenize
from icrlib.files import sha256_of
from icrlib.progress import bar

# Images of the splits of Karpathy and Fei-Fei (2015); COCO's train with restval.
PUBLISHED = {
    "flickr8k": {"train": 6_000, "val": 1_000, "test": 1_000},
    "flickr30k": {"train": 29_000, "val": 1_014, "test": 1_000},
    "coco": {"train": 113_287, "val": 5_000, "test": 5_000},
}
FOLDS = {"coco": 5}  # parts of the published test split, over which results are averaged, too
SPLITS = {"train": "train", "restval": "train", "val": "val", "test": "test"}  # COCO: restval joins train
FOLDERS = ("images", "Images", "flickr30k-images", "flickr30k_images", "Flicker8k_Dataset")

LISTED = {
    "type": "object",
    "required": ["images"],
    "properties": {"images": {"type": "array", "minItems": 1, "items": {"type": "object"}}},
}
ID = {"type": ["integer", "string"]}
IMAGE = {
    "type": "object",
    "required": ["filename", "split"],
    "properties": {
        "filename": {"type": "string", "minLength": 1},
        "filepath": {"type": "string"},
        "split": {"enum": list(SPLITS)},
        "imgid": ID,
        "cocoid": ID,
        "sentences": {
            "type": "array",
            "items": {"type": "object", "required": ["raw"], "properties": {"raw": {"type": "string"}}},
        },
    },
}
CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")  # names and ids stand one a line in feature folders, as UTF-8


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


def read(root: str | os.PathLike, *, complete: bool = True) -> dict[str, Photos]:
    """Splits "train", "val" and "test" of the dataset in ``root``; pictures are not opened.

    ``complete=False`` lets splits be empty, for what trains no model. ``FileNotFoundError`` where the JSON or the image
    folder is missing, :class:`BadAnnotations` (a ``ValueError``) where the JSON is cut off, lists no images, leaves a
    split empty, names an image twice, or has an image that is not as the format wants it, by its number.
    """
    splits, problems = _splits(Path(root), complete)
    if problems:
        more = f"; and {len(problems) - 1} more, which `icr data check {root}` lists" if len(problems) > 1 else ""
        raise BadAnnotations(problems[0] + more)
    return splits


def check(root: str | os.PathLike, progress: bool = True) -> tuple[dict[str, dict[str, int]], list[str], list[str]]:
    """Look at everything in ``root``: counts per split, all problems, each with its file, and notes on captions.

    Problems: images that are not as the format wants them, pictures that are missing or cannot be decoded, images
    without caption but in the test split, where they are distractors, captions without a word, names or ids that occur
    twice, empty splits. Copies of a picture are noted. A JSON that is none raises as :func:`read` does.
    """
    splits, problems = _splits(Path(root), complete=True)
    counts, same, notes = {}, defaultdict(list), []
    for name, split in splits.items():
        texts = [text for captions in split.captions for text in captions]
        words = sum(len(tokenize(text)) for text in texts)
        counts[name] = {"images": len(split), "captions": len(texts), "words": words}
        photos = zip(split.files, split.captions, strict=True)
        for file, captions in bar(photos, f"checking {name}", progress, total=len(split)):
            if empty := sum(not plain(text).split() for text in captions):
                problems.append(f"{file}: {empty} captions without a word")
            elif not captions and name != "test":
                problems.append(f"{file}: no caption")
            try:
                open_picture(file)
                same[sha256_of(file)].append((name, file))
            except (BadPicture, FileNotFoundError) as err:
                problems.append(str(err))
        if bare := split.captions.count([]) if name == "test" else 0:
            notes.append(f"{name}: {bare:,} pictures without caption; icr audit counts them as distractors")
    copies = [some for some in same.values() if len({file for _, file in some}) > 1]
    if copies:
        apart = sum(len({name for name, _ in some}) > 1 for some in copies)
        names = " and ".join(str(file) for _, file in copies[0][:2])
        notes.append(f"{len(copies):,} pictures are there more than once, {apart:,} in several splits, such as {names}")
    return counts, problems, notes + _notes_on({name: split.captions for name, split in splits.items()})


def _notes_on(splits: dict[str, list[list[str]]]) -> list[str]:
    """One line for each thing to know, of the captions of each photo by split; the first split is that of training.

    Texts with the same words are equal.
    """
    counts: Counter | None = None
    lines = []
    for name, split in splits.items():
        told = [[tuple(tokenize(text)) for text in captions] for captions in split]
        words = [word for captions in told for text in captions for word in text]
        counts = Counter(words) if counts is None else counts
        if words:
            share = 100 * sum(counts[word] >= 4 for word in words) / len(words)
            lines.append(f"{name}: {share:.1f} % of the words are known (4 times or more in the training captions)")
        photos = Counter(text for captions in told for text in set(captions) if text)
        if several := [n for n in photos.values() if n > 1]:
            lines.append(
                f"{name}: {len(several):,} texts stand with several photos each ({sum(several):,} captions); a search "
                "cannot tell these photos apart: count equal texts as right, -p positives=text -p relevance=text"
            )
    return lines


def entries(place: str | os.PathLike) -> tuple[Path, list[dict]]:
    """The JSON in ``place`` (the file itself, or the folder that holds it) and its list of images, as they stand there.

    For what :func:`read` leaves aside, such as COCO's ids. Errors as there; the pictures may be missing.
    """
    root = Path(place)
    paths = [root] if root.is_file() else sorted([*root.glob("dataset*.json"), *root.glob("dataset*.json.gz")])
    if len(paths) != 1:
        names = ", ".join(path.name for path in paths) or f"none; icr data make {root} writes it"
        raise FileNotFoundError(f"{root}: no folder with exactly one dataset*.json or dataset*.json.gz: {names}")
    try:
        return paths[0], parsing.of_json(paths[0], LISTED, "the file")["images"]
    except parsing.BadFile as err:
        raise BadAnnotations(
            f"{err}. A dataset in Karpathy's format is wanted; get the file again, or make one of captions in another "
            "form with icr data make"
        ) from err


def _splits(root: Path, complete: bool) -> tuple[dict[str, Photos], list[str]]:
    """The splits, and what is wrong with them and with the images that are therefore in none."""
    path, listed = entries(root)
    folder = images(path.parent)
    splits, problems = {name: Photos() for name in ("train", "val", "test")}, []
    for number, entry in enumerate(listed):
        wrong = parsing.misfit(entry, IMAGE, "image") or unusable(entry, number)
        if wrong:
            problems.append(f"image {number}: {wrong.removeprefix('image.')}")
            continue
        split = splits[SPLITS[entry["split"]]]
        split.files.append(folder / _slashes(entry))
        split.ids.append(_id(entry, number))
        # One caption a line is how feature folders keep them, so no caption may hold a line break.
        split.captions.append([one_line(sentence["raw"]) for sentence in entry.get("sentences", [])])
    named = Counter(file for split in splits.values() for file in split.files)
    problems += [f"{file}: named by {n} images of the JSON" for file, n in named.items() if n > 1]
    for name, split in splits.items():
        twice = [id for id, n in Counter(split.ids).items() if n > 1]
        problems += [f"the id {id!r} occurs twice in {name!r}; ids must differ" for id in twice]
        if complete and not any(map(any, split.captions)):
            problems.append(
                f"the split {name!r} {'has no caption' if len(split) else 'is empty'}; training needs all three "
                "(icr data make draws them anew)"
            )
    return splits, [f"{path}, {problem}" for problem in problems]


def unusable(entry: dict, number: int) -> str | None:
    """What no schema says: whether the name is one of a file inside of the folder, and fits a line as the id does."""
    inside = _slashes(entry)
    first = posixpath.normpath(inside).split("/")[0]
    name = _id(entry, number)
    if CONTROL.search(inside):
        return (
            f"filename holds a line break, a control character or no UTF-8; got {inside!r}; rename the file, or, where "
            "the terminal's locale cannot write its letters, set LC_ALL=C.UTF-8"
        )
    if first in ("", ".", "..") or re.fullmatch(r"[A-Za-z]:", first):
        return f"filename must lead to a file inside of the image folder; got {inside!r}"
    if CONTROL.search(name) or not name.strip():
        return f"its id must be one line of text; got {name[:60]!r}"
    return None


def _slashes(entry: dict) -> str:
    """The picture's path below the folder of images; the JSON may have the separators of either system."""
    return posixpath.join(*(entry.get(part, "").replace("\\", "/") for part in ("filepath", "filename")))


def _id(entry: dict, number: int) -> str:
    return str(entry.get("imgid", entry.get("cocoid", number)))


def one_line(caption: str) -> str:
    """A caption without line breaks, control characters and spaces that say nothing."""
    return " ".join(CONTROL.sub(" ", caption).removeprefix(parsing.BOM).split())


def images(root: Path) -> Path:
    """The folder below which the names of the JSON lead: one of its own, or the root; ``FileNotFoundError``."""
    for folder in (root / name for name in FOLDERS):
        if folder.is_dir():
            return folder
    if any(path.suffix.lower() in ENDINGS for path in root.rglob("*")):  # COCO's train2014/, or those of others
        return root
    raise FileNotFoundError(f"{root}: no folder images/ here, and no pictures beside the JSON or in folders there")
