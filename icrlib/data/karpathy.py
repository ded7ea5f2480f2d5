"""Photos and captions in Karpathy's format: one ``dataset*.json[.gz]`` beside a folder of images."""

from __future__ import annotations

import os
import posixpath
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from icrlib import parsing
from icrlib.data.captions import told, words_of
from icrlib.data.pictures import ENDINGS
from icrlib.progress import bar

# Images of the splits of Karpathy and Fei-Fei (2015); COCO's train with restval.
PUBLISHED = {
    "flickr8k": {"train": 6_000, "val": 1_000, "test": 1_000},
    "flickr30k": {"train": 29_000, "val": 1_014, "test": 1_000},
    "coco": {"train": 113_287, "val": 5_000, "test": 5_000},
}
FOLDS = {"coco": 5}  # parts of the published test split, over which results are averaged, too
SPLITS = {"train": "train", "restval": "train", "val": "val", "test": "test"}  # COCO: restval joins train

WHOLE = {
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
COCO_2014 = re.compile(r"COCO_(?:train|val)2014_(\d{12}\.jpg)")  # 2017 has the same pictures, by number
LONGEST = 255  # bytes that file systems give a name


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


def read(root: str | os.PathLike, *, whole: bool = True) -> dict[str, Photos]:
    """Splits "train", "val" and "test" of the dataset in ``root``; pictures are not opened.

    ``whole=False`` lets splits be empty, for what trains no model. ``FileNotFoundError`` where the JSON or the image
    folder is missing, :class:`BadAnnotations` (a ``ValueError``) where the JSON is cut off, lists no images, leaves a
    split empty, names an image twice, or has an image that is not as the format wants it, by its number.
    """
    splits, problems, path = _splits(Path(root))
    problems += _missing(splits) if whole else []
    if problems:
        more = f"; and {len(problems) - 1} more, which `icr data check {root}` lists" if len(problems) > 1 else ""
        raise BadAnnotations(f"{path}, {problems[0]}{more}")
    return splits


def check(root: str | os.PathLike, progress: bool = True) -> tuple[dict[str, dict[str, int]], list[str], list[str]]:
    """Look at everything in ``root``: counts per split, all problems, each with its file, and notes on captions.

    Problems: images that are not as the format wants them, pictures that are missing or cannot be decoded, images
    without caption, captions without a word, names or ids that occur twice, empty splits. A JSON that is none raises as
    :func:`read` does.
    """
    from icrlib.data.pictures import BadPicture, open_picture

    splits, wrong, path = _splits(Path(root))
    counts, seen = {}, Counter()
    problems = [f"{path}, {problem}" for problem in wrong + _missing(splits)]
    for name, split in splits.items():
        texts = [text for captions in split.captions for text in captions]
        counts[name] = {"images": len(split), "captions": len(texts), "words": words_of(texts).total()}
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
    return counts, problems, told({name: split.captions for name, split in splits.items()})


def entries(place: str | os.PathLike) -> tuple[Path, list[dict]]:
    """The JSON in ``place`` (the file itself, or the folder that holds it) and its list of images, as they stand there.

    For what :func:`read` leaves aside, such as COCO's ids. Errors as there; the pictures may be missing.
    """
    path = Path(place) if Path(place).is_file() else _annotations(Path(place))
    return path, _entries(path)


def _splits(root: Path) -> tuple[dict[str, Photos], list[str], Path]:
    """The splits, what is wrong with the images that are not in them, and the JSON's path."""
    path = _annotations(root)
    folder = images(root)
    splits, problems = {name: Photos() for name in ("train", "val", "test")}, []
    for number, entry in enumerate(_entries(path)):
        wrong = parsing.misfit(entry, IMAGE, "image") or unusable(entry, number)
        if wrong:
            problems.append(f"image {number}: {wrong.removeprefix('image.')}")
            continue
        split = splits[SPLITS[entry["split"]]]
        split.files.append(_file(folder, entry))
        split.ids.append(_id(entry, number))
        # One caption a line is how feature folders keep them, so no caption may hold a line break.
        split.captions.append([one_line(sentence["raw"]) for sentence in entry.get("sentences", [])])
    for name, split in splits.items():
        twice = [id for id, n in Counter(split.ids).items() if n > 1]
        problems += [f"the id {id!r} occurs twice in {name!r}; ids must differ" for id in twice]
    return splits, problems, path


def unusable(entry: dict, number: int) -> str | None:
    """What no schema says: whether the names can be those of files inside of the folder, and stand in one line."""
    inside = posixpath.join(_slashes(entry.get("filepath", "")), _slashes(entry["filename"]))
    steps = posixpath.normpath(inside).split("/")
    for name in ("filepath", "filename"):
        if CONTROL.search(entry.get(name, "")):
            return f"{name} holds a line break, a control character or no UTF-8; got {entry[name]!r}; rename the file"
    if steps[0] in ("", ".", "..") or re.match(r"[A-Za-z]:", steps[0]):
        return f"filename must lead to a file inside of the image folder; got {inside!r}"
    longest = max(steps, key=lambda step: len(step.encode()))
    if len(longest.encode()) > LONGEST:
        return f"filename must have at most {LONGEST} bytes; got {len(longest.encode())}: {longest[:40]!r}…"
    name = _id(entry, number)
    if CONTROL.search(name) or not name.strip() or len(name) > LONGEST:
        return f"its id must be one line of at most {LONGEST} characters; got {name[:60]!r}"
    return None


def _file(folder: Path, entry: dict) -> Path:
    """Where the picture is, with the separators of either system; COCO's of 2014 also where 2017 put them."""
    file = folder / _slashes(entry.get("filepath", "")) / _slashes(entry["filename"])
    number = COCO_2014.fullmatch(file.name)
    if number and not file.is_file():
        places = (folder / part / number[1] for part in ("train2017", "val2017"))
        return next((place for place in places if place.is_file()), file)
    return file


def _slashes(name: str) -> str:
    return name.replace("\\", "/")


def _id(entry: dict, number: int) -> str:
    return str(entry.get("imgid", entry.get("cocoid", number)))


def one_line(caption: str) -> str:
    """A caption without line breaks, control characters and spaces that say nothing."""
    return " ".join(CONTROL.sub(" ", caption).removeprefix(parsing.BOM).split())


def _missing(splits: dict[str, Photos]) -> list[str]:
    return [
        f"the split {name!r} is empty; training needs train, val and test (icr data make draws them anew)"
        for name, split in splits.items()
        if not len(split)
    ]


def _annotations(root: Path) -> Path:
    if not root.is_dir():
        raise FileNotFoundError(f"{root}: no such folder; root= is the one with dataset*.json and the images")
    found = sorted([*root.glob("dataset*.json"), *root.glob("dataset*.json.gz")])
    if len(found) != 1:
        what = ", ".join(p.name for p in found) or "none"
        raise FileNotFoundError(
            f"{root}: exactly one dataset*.json or dataset*.json.gz is needed here; found {what}"
            + ("" if found else f". From captions in another form, icr data make {root} writes it")
        )
    return found[0]


def images(root: Path) -> Path:
    """The folder below which the names of the JSON lead; ``FileNotFoundError``."""
    for name in ("images", "Images", "flickr30k-images", "flickr30k_images", "Flicker8k_Dataset", "."):
        folder = root / name
        if folder.is_dir() and (name != "." or any(_pictures(folder))):
            return folder
    # COCO keeps train2014/ and val2014/, which its JSON names for every image, or the same pictures in those of 2017.
    coco = any((root / f"{part}{year}").is_dir() for part in ("train", "val") for year in (2014, 2017))
    if coco or any(any(_pictures(Path(top))) for top, _, _ in os.walk(root)):  # or others keep folders of their own
        return root
    raise FileNotFoundError(f"{root}: no folder images/ here, and no pictures beside the JSON or in folders there")


def _pictures(folder: Path):
    return (p for p in folder.iterdir() if p.suffix.lower() in ENDINGS)


def _entries(path: Path) -> list[dict]:
    try:
        return parsing.of_json(path, WHOLE, "the file")["images"]
    except parsing.BadFile as err:
        raise BadAnnotations(
            f"{err}. A dataset in Karpathy's format is wanted; get the file again, or make one of captions in another "
            "form with icr data make"
        ) from err
