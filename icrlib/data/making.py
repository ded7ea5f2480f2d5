"""A ``dataset.json`` in Karpathy's format out of what people have: pictures, and captions in some other form.

Forms: a table (CSV, TSV, Kaggle's and Flickr's own files), COCO's annotations, a text file beside each picture, or a
folder for each class, whose name is the caption.
"""

from __future__ import annotations

import ast
import contextlib
import csv
import io
import json
import os
import posixpath
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from icrlib import parsing
from icrlib.data import karpathy
from icrlib.data.pictures import ENDINGS
from icrlib.data.text import plain
from icrlib.files import write_bytes

NAME = "dataset.json"
SHARE, MOST = 0.15, 1_000  # of validation and of test, by default: 8,000 photos give Flickr8k's 1,000 each
SPLITS = ("train", "val", "test")
# What a column is called, the surest name first; a number may follow, caption_1 and caption_2.
IMAGES = (
    *("filename", "file_name", "image_name", "image", "file", "image_file", "filepath", "file_path", "image_path"),
    *("path", "img", "picture", "photo", "image_id", "img_id", "id"),
)
CAPTIONS = ("caption", "captions", "comment", "comments", "sentence", "description", "text", "title", "raw")
DELIMITERS, LINE = (",", "\t", ";", "|"), re.compile(r"\r\n|\r|\n")
PICTURE = re.compile(rf"(?:{'|'.join(map(re.escape, ENDINGS))})(?:#\d+)?$", re.I)
NO_CLASS = re.compile(r"(?:.*/)?(?:(?:train|val|valid|validation|dev|test|unlabeled|images)[\d_-]*|[\d\W_]*)", re.I)
ID, TEXT = karpathy.ID, {"type": "string"}
LISTS = {"images": {"id": ID, "file_name": TEXT}, "annotations": {"image_id": ID, "caption": TEXT}}
ENTRIES = {what: {"type": "object", "required": [*has], "properties": has} for what, has in LISTS.items()}
COCO = {
    "type": "object",
    "required": [*LISTS],
    "properties": {what: {"type": "array", "items": entry} for what, entry in ENTRIES.items()},
}


class Caption(NamedTuple):
    """A caption as a file has it: the ``name`` of its picture, the ``text``, and the ``place`` where it stands."""

    name: str
    text: str
    place: str


@dataclass(frozen=True)
class Made:
    """What was written: ``path``, where the captions came from, pictures and captions by split, and what to know."""

    path: Path
    source: str
    counts: dict[str, tuple[int, int]]
    notes: list[str]


def make(
    folder: str | os.PathLike,
    captions: Iterable[str | os.PathLike] = (),
    *,
    image: str | None = None,
    caption: str | None = None,
    val: float | None = None,
    test: float | None = None,
    seed: int = 0,
    leave_out: bool = False,
    distractors: bool = False,
    force: bool = False,
) -> Made:
    """Write ``dataset.json`` into ``folder``, from ``captions`` or from what lies in the folder.

    ``image``, ``caption``: columns of a table, where their names do not say what they are. ``val``, ``test``: shares of
    the captioned pictures, or how many, which ``seed`` draws. ``leave_out``: without pictures that have no caption,
    captions without a word, and captions of pictures that are not there, all of which are refused otherwise.
    ``distractors``: pictures without caption join the test split, as further wrong answers of a search. ``ValueError``
    for these and for a file that is there, unless ``force``; ``FileNotFoundError``.
    """
    folder = Path(folder)
    out = _free(folder, force)
    pictures = _Pictures(folder)
    source, listed = _listed(folder, pictures, [Path(one) for one in captions], image, caption)
    what = f"{folder}, with captions from {source}"
    captions_of, notes = _matched(what, pictures, listed, leave_out, distractors)
    names = [name for name, some in captions_of.items() if some]
    drawn = zip(names, _drawn(what, len(names), val, test, seed), strict=True)
    split_of = dict.fromkeys(captions_of, "test") | dict(drawn)
    entries = [_entry(number, name, split_of[name], some) for number, (name, some) in enumerate(captions_of.items())]
    about = {"captions": source, "seed": seed, "val": val, "test": test}
    content = {"images": entries, "dataset": folder.resolve().name, "made": about}
    write_bytes(out, json.dumps(content, ensure_ascii=False, indent=1).encode())
    parts = {part: [len(some) for name, some in captions_of.items() if split_of[name] == part] for part in SPLITS}
    counts = {part: (len(some), sum(some)) for part, some in parts.items()}
    return Made(out, source, counts, notes)


def _free(folder: Path, force: bool) -> Path:
    """Where to write, if nothing is there that is to stay, and the folder can be read once it is written."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no such folder; give the one with the pictures")
    out = folder / NAME
    if os.path.lexists(out) and not force:
        raise ValueError(f"{out} is there already. Move it away, or write over it with --force (force=True)")
    if others := [one for one in sorted(folder.glob("dataset*.json*")) if one.name != NAME]:
        raise ValueError(f"{others[0]} is there already, and a folder has one dataset*.json only; move it away")
    return out


class _Pictures:
    """The pictures of a folder by their names below its image folder, found by what captions call them.

    ``texts``: of each picture the text file beside it, or None.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self.folder = karpathy.images(folder)
        except FileNotFoundError:
            self.folder = folder
        paths = sorted(self.folder.rglob("*"), key=lambda path: (path.parent, path))  # own files, then folders
        self.texts: dict[str, Path | None] = {}
        self.loose: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            inside = path.relative_to(self.folder)
            hidden = any(part.startswith((".", "__MACOSX")) for part in inside.parts)
            if path.suffix.lower() in ENDINGS and not hidden:
                name, texts = inside.as_posix(), (path.with_suffix(end) for end in (".txt", ".TXT"))
                odd = "a backslash, which the format takes for a folder; rename it" if "\\" in name else None
                if odd := odd or karpathy.unusable({"filename": name}, 0):
                    raise ValueError(f"{self.folder}, {name!r}: {odd}")
                self.texts[name] = next((text for text in texts if text.is_file()), None)
                for last in (_folded(path.name), _folded(path.stem)):
                    self.loose[last].append(name)
        if not self.texts:
            raise ValueError(f"{self.folder}: no pictures here; they end with {', '.join(ENDINGS)}, in capitals, too")

    def find(self, name: str, place: str) -> str | None:
        """The picture that a caption names: its path, or so much of its end as one picture only has; else None.

        Case counts where it tells pictures apart; how accents are composed does not. An ending may be missing, Flickr's
        "#0" may follow, folders of another place may stand in front. ``ValueError`` with the caption's ``place`` for a
        name that may be two.
        """
        top = os.path.abspath(self.folder).replace("\\", "/") + "/"
        name = posixpath.normpath(name.strip().replace("\\", "/").removeprefix(top))
        for one in (name, re.sub(r"#\d+$", "", name)):
            if one in self.texts:
                return one
            wanted = _folded(one)
            near = [name for name in self.loose.get(posixpath.basename(wanted), ()) if _meant(_folded(name), wanted)]
            if len(near) > 1:
                raise ValueError(f"{place}: {name!r} may be {near[0]} or {near[1]}; write its folder, too")
            if near:
                return near[0]
        return None


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _meant(name: str, wanted: str) -> bool:
    """Whether one is the end of the other, folder by folder, with or without the picture's ending."""
    both = (f"/{one}" for one in (name, posixpath.splitext(name)[0]))
    return any(one.endswith(f"/{wanted}") or f"/{wanted}".endswith(one) for one in both)


def _listed(
    folder: Path, pictures: _Pictures, files: Sequence[Path], image: str | None, caption: str | None
) -> tuple[str, Iterator[Caption]]:
    """Where the captions come from, in words, and they themselves."""
    beside = sum(text is not None for text in pictures.texts.values())
    if beside and not files:
        return f"{beside:,} text files beside pictures, a caption a line", _beside(pictures)
    if files := files or _files(folder):
        each = (
            _annotations(file)
            if re.search(r"\.json(\.gz)?$", file.name, re.I)
            else _table(file, pictures, image, caption)
            for file in files
        )
        return ", ".join(map(str, files)), (one for captions in each for one in captions)
    classes = {posixpath.dirname(name) for name in pictures.texts}
    if len(classes) < 2 or any(map(NO_CLASS.fullmatch, classes)):
        raise ValueError(
            f"{folder}: no captions found. Name their file with --captions (a table with a column of pictures and one "
            "of captions, or COCO's annotations), put a .txt beside each picture, or pictures of a class into a folder"
        )
    return f"the names of {len(classes):,} folders, as 'a photo of a …'", _classes(pictures)


def _files(folder: Path) -> list[Path]:
    """The one file that looks like captions, or those of COCO's parts."""
    form = re.compile(r"(?!\.|dataset.*\.json).*\.(csv|tsv|token|json)|(captions|results).*\.txt", re.I)
    files = [file for file in sorted(folder.iterdir()) if form.fullmatch(file.name)]
    if len(files) > 1:
        raise ValueError(f"{folder}: {', '.join(file.name for file in files)}: say which has captions, with --captions")
    return files or sorted((folder / "annotations").glob("captions_*.json"))


def _beside(pictures: _Pictures) -> Iterator[Caption]:
    for name, path in pictures.texts.items():
        lines = list(enumerate(parsing.lines(path), 1)) if path else []
        filled = [(number, line) for number, line in lines if line.strip()] or lines[:1]
        yield from (Caption(name, line, f"{path}, line {number}") for number, line in filled)


def _classes(pictures: _Pictures) -> Iterator[Caption]:
    for name in pictures.texts:
        word = re.sub(r"[\s_-]+", " ", posixpath.basename(posixpath.dirname(name))).strip()
        article = "an" if word[:1].lower() in "aeiou" else "a"
        yield Caption(name, f"a photo of {article} {word}", str(pictures.folder / name))


def _annotations(file: Path) -> Iterator[Caption]:
    content = parsing.of_json(file)
    if wrong := parsing.misfit(content, COCO, "the file"):
        way = "COCO's annotations of captions are wanted, captions_….json; Karpathy's are read as they are"
        raise parsing.BadFile(file, f"{wrong}. {way}")
    images = {(entry["id"], entry["file_name"]) for entry in content["images"]}
    for what, values in zip(("id", "file_name"), zip(*images, strict=True), strict=False):
        if twice := [value for value, count in Counter(values).items() if count > 1]:
            raise parsing.BadFile(file, f"several images have the {what} {twice[0]!r}: whose captions are whose?")
    names = dict(images)
    for number, one in enumerate(content["annotations"]):
        name = names.get(one["image_id"], f"id {one['image_id']}")
        yield Caption(name, one["caption"], f"{file}, annotation {number}")


def _table(file: Path, pictures: _Pictures, image: str | None, caption: str | None) -> Iterator[Caption]:
    text = parsing.text(file)
    delimiter, at, columns, width, headed = _columns(file, text, pictures, image, caption)
    for number, row in _rows(file, text, delimiter)[headed:]:
        while len(row) > width and not row[-1].strip():  # as Excel fills rows up
            row.pop()
        if len(row) > width and columns == [width - 1]:  # a caption with commas that nobody quoted
            row = [*row[: width - 1], delimiter.join(row[width - 1 :])]
        if len(row) != width:
            why = f"{len(row)} columns where the first line has {width}; a cell with {delimiter!r} in it needs quotes"
            raise parsing.BadFile(file, why, number)
        lines = [line.partition(delimiter)[0].strip() for cell in row for line in LINE.split(cell)[1:]]
        if any(line in pictures.texts for line in lines):
            raise parsing.BadFile(file, "a cell holds other pictures' lines; is a quotation mark left open?", number)
        cells = [row[column] for column in columns]
        filled = [cell for cell in cells if cell.strip()] or cells[:1]
        yield from (Caption(row[at], one, f"{file}, line {number}") for cell in filled for one in _several(cell))


def _several(cell: str) -> list[str]:
    """The captions of a cell: one, or a list of them as JSON or Python writes it, which some tables hold."""
    for read in (json.loads, ast.literal_eval):
        with contextlib.suppress(ValueError, SyntaxError):
            texts = read(cell) if cell.startswith("[") else [cell]
            if all(isinstance(text, str | None) for text in texts):
                return [text for text in texts if text is not None]
    return [cell]


def _rows(file: Path, text: str, delimiter: str) -> list[tuple[int, list[str]]]:
    """Rows that hold anything, each with the line where it begins. Between tabs quotes may stand that never close."""
    rows, begun = [], 1
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            rows.append((begun, row))
            begun = reader.line_num + 1
    except csv.Error as err:
        if delimiter != "\t":
            raise parsing.BadFile(file, f"no row of a table ({err}); is a quotation mark left open?", begun) from err
        rows = [(number, line.split(delimiter)) for number, line in enumerate(LINE.split(text), 1)]
    return [(number, row) for number, row in rows if any(cell.strip() for cell in row)]


def _columns(
    file: Path, text: str, pictures: _Pictures, image: str | None, caption: str | None
) -> tuple[str, int, list[int], int, bool]:
    """Delimiter, column of pictures, columns of captions, number of columns, and whether there is a header."""
    line = LINE.split(text.strip("\r\n"), maxsplit=1)[0][: csv.field_size_limit() - 1]
    rows = {by: next(csv.reader([line], delimiter=by)) for by in DELIMITERS if by in line}
    heads = {by: [cell.strip(' "') for cell in row] for by, row in rows.items()}
    for by, head in heads.items():
        names, texts = _named(head, image, IMAGES), _named(head, caption, CAPTIONS)
        if names and (columns := [column for column in texts if column != names[0]]):
            return by, names[0], columns, len(head), True
    if image is None and caption is None:
        for by, head in heads.items():  # no header, as Flickr8k's own file: captions come last, behind numbers at most
            at = [place for place, cell in enumerate(head[:-1]) if PICTURE.search(cell)] or [
                place for place, cell in enumerate(head[:-1]) if pictures.find(cell, f"{file}, line 1") is not None
            ]
            if len(at) == 1 and not re.search(r"[^\d\s]", "".join(head[at[0] + 1 : -1])):
                return by, at[0], [len(head) - 1], len(head), False
    head = ", ".join(map(repr, max(heads.values(), key=len, default=[line])))  # one cell, in an empty file
    way = "name them with --image and --caption, or, where no line has their names, in a first line, image,caption"
    what = f"no {image or 'pictures'} and {caption or 'captions'} among its columns, {head[:200]}"
    raise parsing.BadFile(file, f"{what}; {way}", 1)


def _named(head: list[str], name: str | None, usual: Sequence[str]) -> list[int]:
    """The columns of that name, or of the surest usual one with or without numbers behind it."""
    head, name = ([re.sub(r"[\s-]+", "_", cell.strip().casefold()) for cell in row] for row in (head, [name or ""]))
    forms = [re.escape(name[0])] if name[0] else [rf"{one}_?\d*" for one in usual]
    columns = ([place for place, cell in enumerate(head) if re.fullmatch(form, cell)] for form in forms)
    return next(filter(None, columns), [])


def _matched(
    what: str, pictures: _Pictures, listed: Iterable[Caption], leave_out: bool, distractors: bool
) -> tuple[dict[str, list[str]], list[str]]:
    """The captions of each picture that has any, by name; and what is left out, or refused."""
    captions_of: dict[str, list[str]] = {name: [] for name in pictures.texts}
    lost, empty, named, notes = [], [], {}, []
    for one in listed:
        name, text = pictures.find(one.name, one.place), karpathy.one_line(one.text)
        folder = posixpath.dirname(posixpath.normpath(_folded(one.name.strip().replace("\\", "/"))))
        first = named[name] = named.get(name) or folder
        if name is None:
            lost.append(one)
        elif folder and not _meant(first, folder):
            raise ValueError(f"{one.place}: {name} gets captions of {first}/ and of {folder}/; give the folder above")
        elif not plain(text).split():
            empty.append(one)
        else:
            captions_of[name].append(text)
    bare = [name for name, captions in captions_of.items() if not captions]
    if bare and distractors:
        notes.append(f"test: {len(bare):,} pictures without caption, as distractors")
    wrong = [
        (lost, "captions name no picture, such as {0.name!r} ({0.place})"),
        (empty, "captions have no word, such as that of {0.name!r} ({0.place})"),
        ([] if distractors else bare, "pictures have no caption, such as {0!r}"),
    ]
    lines = [f"{len(some):,} {text.format(some[0])}" for some, text in wrong if some]
    if lines and not leave_out:
        raise ValueError(f"{what}: {'; '.join(lines)}. Mend this, or leave these out with --leave-out")
    kept = set(bare if distractors else ())
    captions_of = {name: captions for name, captions in captions_of.items() if captions or name in kept}
    return captions_of, [*notes, *(f"left out: {line}" for line in lines)]


def _drawn(what: str, count: int, val: float | None, test: float | None, seed: int) -> list[str]:
    """The split of each of so many pictures."""
    sizes = {}
    for part, share in (("val", val), ("test", test)):
        share = min(MOST, max(min(2, count // 3), round(SHARE * count))) if share is None else share
        if not isinstance(share, (int, float)) or not (0 < share < 1 or share >= 1 and share % 1 == 0):
            raise ValueError(f"--{part} is a share of the pictures, such as 0.1, or a number, as 500; got {share!r}")
        sizes[part] = int(share) if share >= 1 else max(1, round(share * count))
    if sum(sizes.values()) >= count:
        raise ValueError(f"{what}: of {count} captioned pictures, {sizes} for val and test: none left to train on")
    parts = np.array(["val"] * sizes["val"] + ["test"] * sizes["test"] + ["train"] * (count - sum(sizes.values())))
    return parts[np.random.default_rng(seed).permutation(count).argsort()].tolist()


def _entry(number: int, name: str, split: str, captions: list[str]) -> dict:
    place, file = posixpath.split(name)
    entry = {"filename": file, "split": split, "imgid": number, "sentences": [{"raw": text} for text in captions]}
    return {"filepath": place} | entry if place else entry
