"""A ``dataset.json`` in Karpathy's format out of what people have: pictures, and captions in some other form.

Forms: a table (CSV, TSV, Kaggle's and Flickr's own files), COCO's annotations, a text file beside each picture, or a
folder for each class, whose name is the caption.
"""

from __future__ import annotations

import csv
import io
import json
import os
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from icrlib import parsing
from icrlib.data import karpathy
from icrlib.data.pictures import ENDINGS
from icrlib.errors import at_least
from icrlib.files import write_bytes

NAME = "dataset.json"
TEMPLATE = "a photo of a {}"
SHARE, MOST = 0.15, 1_000  # of validation and of test, by default: 8,000 photos give Flickr8k's 1,000 each
SPLITS = ("train", "val", "test")
# What a column is called, the surest name first; a number may follow, caption_1 and caption_2.
IMAGES = (
    *("filename", "file_name", "image_name", "image", "file", "image_file", "filepath", "file_path", "image_path"),
    *("path", "img", "picture", "photo", "image_id", "img_id", "id"),
)
CAPTIONS = ("caption", "captions", "comment", "comments", "sentence", "description", "text", "title", "raw")
DELIMITERS, LINE = (",", "\t", ";", "|"), re.compile(r"\r\n|\r|\n")
NO_CLASS = re.compile(r"(?:.*/)?(?:(?:train|val|valid|validation|dev|test|unlabeled|images)[\d_-]*|[\d\W_]*)", re.I)
ID = karpathy.ID
IMAGE = {"type": "object", "required": ["id", "file_name"], "properties": {"id": ID, "file_name": {"type": "string"}}}
ANNOTATION = {
    "type": "object",
    "required": ["image_id", "caption"],
    "properties": {"image_id": ID, "caption": {"type": "string"}, "id": ID},
}
LISTS = {"images": {"type": "array", "items": IMAGE}, "annotations": {"type": "array", "items": ANNOTATION}}
COCO = {"type": "object", "required": list(LISTS), "properties": LISTS}


@dataclass(frozen=True)
class Caption:
    """A caption as a file has it: the ``name`` of its picture, the ``text``, the ``place``, and COCO's ids."""

    name: str
    text: str
    place: str
    ids: dict = field(default_factory=dict)


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
    out: str | os.PathLike | None = None,
    image: str | None = None,
    caption: str | None = None,
    template: str = TEMPLATE,
    val: float | None = None,
    test: float | None = None,
    seed: int = 0,
    leave_out: bool = False,
    force: bool = False,
) -> Made:
    """Write ``dataset.json`` into ``folder`` (or to ``out``), from ``captions`` or from what lies in the folder.

    ``image``, ``caption``: columns of a table, where their names do not say what they are. ``template``: the caption of
    a class. ``val``, ``test``: shares of the pictures, which ``seed`` draws. ``leave_out``: without pictures that have
    no caption, captions without a word, and captions of pictures that are not there, all of which are refused
    otherwise. ``ValueError`` for these and for a file that is there, unless ``force``; ``FileNotFoundError``.
    """
    folder = Path(folder)
    out = _free(folder, Path(out) if out else folder / NAME, force)
    at_least("seed", seed, 0)
    pictures = _Pictures(folder)
    source, listed = _listed(folder, pictures, [Path(one) for one in captions], image, caption, template)
    captions_of, notes = _matched(f"{folder}, with captions from {source}", pictures, listed, leave_out)
    names = list(captions_of)
    split_of = dict(zip(names, _drawn(folder, len(names), val, test, seed), strict=True))
    entries = [_entry(number, name, split_of[name], captions_of[name]) for number, name in enumerate(names)]
    about = {"captions": source, "seed": seed, "val": val, "test": test}
    content = {"images": entries, "dataset": folder.resolve().name, "made": about}
    write_bytes(out, json.dumps(content, ensure_ascii=False, indent=1).encode())
    parts = {part: [captions_of[name] for name in names if split_of[name] == part] for part in SPLITS}
    counts = {part: (len(some), sum(map(len, some))) for part, some in parts.items()}
    return Made(out, source, counts, notes)


def _free(folder: Path, out: Path, force: bool) -> Path:
    """``out``, if nothing is there that is to stay, and the folder can be read once it is written."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no such folder; give the one with the pictures")
    if os.path.lexists(out) and not force:
        raise ValueError(f"{out} is there already. Move it away, or write over it with --force (force=True)")
    others = [one for one in sorted(folder.glob("dataset*.json*")) if one.name != out.name]
    if others and out.parent.resolve() == folder.resolve():
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
        # A folder's own files come before the folders in it.
        paths = sorted(self.folder.rglob("*"), key=lambda path: [*((1, part) for part in path.parent.parts), (0, path)])
        self.texts: dict[str, Path | None] = {}
        self.loose: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            inside, text = path.relative_to(self.folder), path.with_suffix(".txt")
            hidden = any(part.startswith((".", "__MACOSX")) for part in inside.parts)
            if path.suffix.lower() in ENDINGS and not hidden:
                name = inside.as_posix()
                self.texts[name] = text if text.is_file() else None
                for last in (path.name.casefold(), path.stem.casefold()):
                    self.loose[last].append(name)
        if not self.texts:
            raise ValueError(f"{self.folder}: no pictures here; they end with {', '.join(ENDINGS)}, in capitals, too")

    def find(self, name: str, place: str) -> str | None:
        """The picture that a caption names: its path, or so much of its end as one picture only has; else None.

        Case counts where it tells pictures apart. An ending may be missing, Flickr's "#0" may follow, folders of
        another place may stand in front. ``ValueError`` with the caption's ``place`` for a name that may be two.
        """
        top = os.path.abspath(self.folder).replace("\\", "/") + "/"
        name = posixpath.normpath(name.strip().replace("\\", "/").removeprefix(top))
        for one in (name, re.sub(r"#\d+$", "", name)):
            if one in self.texts:
                return one
            number = karpathy.COCO_2014.fullmatch(posixpath.basename(one))
            wanted = (number[1] if number else one).casefold()
            near = [name for name in self.loose.get(posixpath.basename(wanted), ()) if _meant(name.casefold(), wanted)]
            if len(near) > 1:
                raise ValueError(f"{place}: {name!r} may be {near[0]} or {near[1]}; write its folder, too")
            if near:
                return near[0]
        return None


def _meant(name: str, wanted: str) -> bool:
    """Whether one is the end of the other, folder by folder, with or without the picture's ending."""
    both = (f"/{one}" for one in (name, posixpath.splitext(name)[0]))
    return any(one.endswith(f"/{wanted}") or f"/{wanted}".endswith(one) for one in both)


def _listed(
    folder: Path, pictures: _Pictures, files: Sequence[Path], image: str | None, caption: str | None, template: str
) -> tuple[str, Iterator[Caption]]:
    """Where the captions come from, in words, and they themselves."""
    beside = sum(text is not None for text in pictures.texts.values())
    if beside and not files:
        return f"{beside:,} text files beside pictures, a caption a line", _beside(pictures)
    files = files or _files(folder)
    if files:
        lists = [file.name.lower().removesuffix(".gz").endswith(".json") for file in files]
        each = (
            _annotations(file) if is_list else _table(file, pictures, image, caption)
            for file, is_list in zip(files, lists, strict=True)
        )
        return ", ".join(map(str, files)), (one for captions in each for one in captions)
    classes = {posixpath.dirname(name) for name in pictures.texts}
    if len(classes) < 2 or any(map(NO_CLASS.fullmatch, classes)):
        raise ValueError(
            f"{folder}: no captions found. Name their file with --captions (a table with a column of pictures and one "
            "of captions, or COCO's annotations), put a .txt beside each picture, or pictures of a class into a folder"
        )
    if template.count("{}") != 1:
        raise ValueError(f"a class's caption is a text with one {{}} for its name, {TEMPLATE!r}; got {template!r}")
    return f"the names of {len(classes):,} folders, as {template.replace('{}', '…')!r}", _classes(pictures, template)


def _files(folder: Path) -> list[Path]:
    """The one file that looks like captions, or those of COCO's parts."""
    files = [
        file
        for file in sorted(folder.iterdir())
        if re.fullmatch(r"(?!\.|dataset.*\.json).*\.(csv|tsv|token|json)|(captions|results).*\.txt", file.name, re.I)
    ]
    if len(files) > 1:
        raise ValueError(f"{folder}: {', '.join(file.name for file in files)}: say which has captions, with --captions")
    return files or sorted((folder / "annotations").glob("captions_*.json"))


def _beside(pictures: _Pictures) -> Iterator[Caption]:
    for name, path in pictures.texts.items():
        lines = list(enumerate(parsing.lines(path), 1)) if path else []
        filled = [(number, line) for number, line in lines if line.strip()] or lines[:1]
        yield from (Caption(name, line, f"{path}, line {number}") for number, line in filled)


def _classes(pictures: _Pictures, template: str) -> Iterator[Caption]:
    for name in pictures.texts:
        word = " ".join(re.split(r"[\s_-]+", posixpath.basename(posixpath.dirname(name)))).strip()
        before = re.sub(r"\b([aA]) (?=\{\})", r"\1n ", template) if word[:1].lower() in "aeiou" else template
        yield Caption(name, before.replace("{}", word), str(pictures.folder / name))


def _annotations(file: Path) -> Iterator[Caption]:
    content = parsing.of_json(file)
    if wrong := parsing.misfit(content, COCO, "the file"):
        raise parsing.BadFile(
            file,
            f"{wrong}. COCO's annotations of captions are wanted, captions_….json; Karpathy's are read as they are",
        )
    names = {entry["id"]: entry["file_name"] for entry in content["images"]}
    for number, one in enumerate(content["annotations"]):
        key = one["image_id"]
        ids = {"cocoid": key} | ({"sentid": one["id"]} if "id" in one else {})
        yield Caption(names.get(key, f"id {key}"), one["caption"], f"{file}, annotation {number}", ids)


def _table(file: Path, pictures: _Pictures, image: str | None, caption: str | None) -> Iterator[Caption]:
    text = parsing.text(file)
    delimiter, at, columns, width, headed = _columns(file, text, pictures, image, caption)
    for number, row in _rows(file, text, delimiter)[headed:]:
        if len(row) < width:
            raise parsing.BadFile(file, f"{len(row)} columns where the first line has {width}", number)
        if columns[-1] == width - 1:  # a caption with commas that nobody quoted
            row = [*row[: width - 1], delimiter.join(row[width - 1 :])]
        cells = [row[column] for column in columns]
        filled = [cell for cell in cells if cell.strip()] or cells[:1]
        yield from (Caption(row[at], one, f"{file}, line {number}") for cell in filled for one in _several(cell))


def _several(cell: str) -> list[str]:
    """The captions of a cell: one, or a list of them as JSON, which some tables hold."""
    try:
        texts = json.loads(cell) if cell.startswith('["') else [cell]
    except ValueError:
        return [cell]
    return [text for text in texts if isinstance(text, str)]


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
    line = LINE.split(text.strip("\r\n"), maxsplit=1)[0]
    heads = {by: [cell.strip(' "') for cell in line.split(by)] for by in DELIMITERS if by in line}
    for by, head in heads.items():
        names, texts = _named(head, image, IMAGES), _named(head, caption, CAPTIONS)
        if names and (columns := [column for column in texts if column != names[0]]):
            return by, names[0], columns, len(head), True
    if image is None and caption is None:
        for by, head in heads.items():  # no header, as Flickr8k's own file: captions come last
            for at, cell in enumerate(head[:-1]):
                if pictures.find(cell, f"{file}, line 1") is not None:
                    return by, at, [len(head) - 1], len(head), False
    head = ", ".join(map(repr, max(heads.values(), key=len, default=[line])))  # one cell, in an empty file
    way = f"name the columns of pictures and captions with --image and --caption; its first line has {head[:200]}"
    raise parsing.BadFile(file, f"no {image or 'pictures'} and {caption or 'captions'} among its columns; {way}", 1)


def _named(head: list[str], name: str | None, usual: Sequence[str]) -> list[int]:
    """The columns of that name, or of the surest usual one with or without numbers behind it."""
    plain = [_plain(cell) for cell in head]
    forms = [rf"{one}_?\d*" for one in usual] if name is None else [re.escape(_plain(name))]
    columns = ([place for place, cell in enumerate(plain) if re.fullmatch(form, cell)] for form in forms)
    return next(filter(None, columns), [])


def _plain(name: str) -> str:
    return re.sub(r"[\s-]+", "_", name.strip().casefold())


def _matched(
    what: str, pictures: _Pictures, listed: Iterable[Caption], leave_out: bool
) -> tuple[dict[str, list[Caption]], list[str]]:
    """The captions of each picture that has any, by name; and what is left out, or refused."""
    captions_of: dict[str, list[Caption]] = {name: [] for name in pictures.texts}
    lost, empty, named = [], [], set()
    for one in listed:
        name, text = pictures.find(one.name, one.place), karpathy.one_line(one.text)
        named.add(name)
        if name is None:
            lost.append(one)
        elif not text:
            empty.append(one)
        else:
            captions_of[name].append(replace(one, text=text))
    bare = [name for name in captions_of if name not in named]
    wrong = []
    if lost:
        wrong.append(f"{len(lost):,} captions name no picture, such as {lost[0].name!r} ({lost[0].place})")
    if empty:
        wrong.append(f"{len(empty):,} captions have no word, such as that of {empty[0].name!r} ({empty[0].place})")
    if bare:
        wrong.append(f"{len(bare):,} pictures have no caption, such as {bare[0]!r}")
    if wrong and not leave_out:
        raise ValueError(f"{what}: {'; '.join(wrong)}. Mend this, or leave these out with --leave-out")
    captions_of = {name: captions for name, captions in captions_of.items() if captions}
    for number, name in enumerate(captions_of):
        if odd := karpathy.unusable({"filename": name}, number):
            raise ValueError(f"{what}: {odd}")
    return captions_of, [f"left out: {one}" for one in wrong]


def _drawn(folder: Path, count: int, val: float | None, test: float | None, seed: int) -> list[str]:
    """The split of each of so many pictures."""
    sizes = {}
    for part, share in (("val", val), ("test", test)):
        if share is not None and not 0 < share < 1:
            raise ValueError(f"--{part} is a share of the pictures between 0 and 1, such as 0.1; got {share}")
        sizes[part] = max(1, min(MOST, round(SHARE * count)) if share is None else round(share * count))
    if sum(sizes.values()) >= count:
        raise ValueError(f"{folder}: of {count} captioned pictures, {sizes} for val and test: none left to train on")
    parts = np.array(["val"] * sizes["val"] + ["test"] * sizes["test"] + ["train"] * (count - sum(sizes.values())))
    return parts[np.random.default_rng(seed).permutation(count).argsort()].tolist()


def _entry(number: int, name: str, split: str, captions: list[Caption]) -> dict:
    place, file = posixpath.split(name)
    known = captions[0].ids.get("cocoid")
    return (
        ({"filepath": place} if place else {})
        | {"filename": file, "split": split, "imgid": number}
        | ({"cocoid": known} if known is not None else {})
        | {"sentences": [{"raw": one.text} | {k: v for k, v in one.ids.items() if k == "sentid"} for one in captions]}
    )
