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
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from icrlib import parsing
from icrlib.data import karpathy
from icrlib.data.captions import shared
from icrlib.data.pictures import ENDINGS
from icrlib.errors import at_least, meant
from icrlib.files import write_bytes

NAME = "dataset.json"
TEMPLATE = "a photo of a {}"
SHARE, MOST = 0.15, 1_000  # of validation and of test, unless told: 8,000 photos give Flickr8k's 1,000 each
SPLITS = ("train", "val", "test")
# What a column is called, the surest name first; a number may follow, caption_1 and caption_2.
IMAGES = (
    *("filename", "file_name", "image_name", "image", "file", "image_file", "filepath", "file_path", "image_path"),
    *("path", "img", "picture", "photo", "image_id", "img_id", "id"),
)
CAPTIONS = ("caption", "captions", "comment", "comments", "sentence", "description", "text", "title", "raw")
DELIMITERS, LINE = (",", "\t", ";", "|"), re.compile(r"\r\n|\r|\n")
TABLES, LIST = (".csv", ".tsv", ".txt", ".token"), ".json"
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
class Said:
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
    otherwise. ``ValueError`` for these, for names that lead out of the folder and for a file that is there, unless
    ``force``; ``FileNotFoundError``.
    """
    folder = Path(folder)
    out = _free(folder, Path(out) if out else folder / NAME, force)
    at_least("seed", seed, 0)
    pictures = _Pictures(folder)
    source, told = _told(folder, pictures, [Path(one) for one in captions], image, caption, template)
    captions_of, left = _matched(folder, pictures, told, source, leave_out)
    names = list(captions_of)
    if len(names) < len(SPLITS):
        raise ValueError(f"{folder}: {len(names)} pictures with captions; train, val and test need one each")
    split_of = dict(zip(names, _drawn(len(names), val, test, seed), strict=True))
    entries = [_entry(number, name, split_of[name], captions_of[name]) for number, name in enumerate(names)]
    about = {"captions": source, "seed": seed, "val": val, "test": test}
    content = {"images": entries, "dataset": folder.resolve().name, "made": about}
    write_bytes(out, json.dumps(content, ensure_ascii=False, indent=1).encode())
    own = {part: [captions_of[name] for name in names if split_of[name] == part] for part in SPLITS}
    counts = {part: (len(some), sum(map(len, some))) for part, some in own.items()}
    texts, several = shared([[one.text for one in some] for some in captions_of.values()])
    if texts:
        left.append(
            f"{texts:,} texts stand with several pictures each ({several:,} captions): count equal texts as right, "
            "-p positives=text -p relevance=text"
        )
    return Made(out, source, counts, left)


def _free(folder: Path, out: Path, force: bool) -> Path:
    """``out``, if nothing is there that is to stay, and the folder can be read once it is written."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no such folder; give the one with the pictures")
    if not re.fullmatch(r"dataset.*\.json", out.name):
        raise ValueError(f"{out}: what reads the folder looks for dataset*.json; choose such a name")
    if out.is_dir():
        raise ValueError(f"{out} is a folder; give the name of a file in it")
    if os.path.lexists(out) and not force:
        raise ValueError(f"{out} is there already. Move it away, or write over it with --force (force=True)")
    others = [one for one in sorted(folder.glob("dataset*.json*")) if one.name != out.name]
    if others and out.parent.resolve() == folder.resolve():
        raise ValueError(f"{others[0]} is there already, and a folder has one dataset*.json only; move it away")
    return out


class _Pictures:
    """The pictures of a folder by their names below its image folder, found by what captions call them."""

    def __init__(self, folder: Path) -> None:
        try:
            self.folder = karpathy.images(folder)
        except FileNotFoundError:
            self.folder = folder
        self.names, self.texts = [], {}  # a text file beside a picture, by the picture's name
        for top, folders, files in os.walk(self.folder, onerror=_raised):
            folders[:] = sorted(name for name in folders if not name.startswith((".", "__MACOSX")))
            beside = {file for file in files if file.endswith(".txt")}
            for file in sorted(files):
                path = Path(top, file)
                if path.suffix.lower() in ENDINGS and not file.startswith("."):
                    name = path.relative_to(self.folder).as_posix()
                    self.names.append(name)
                    self.texts |= {name: path.with_suffix(".txt")} if f"{path.stem}.txt" in beside else {}
        if not self.names:
            raise ValueError(f"{self.folder}: no pictures here; they end with {', '.join(ENDINGS)}, in capitals, too")
        self.whole = set(self.names)
        self.loose: dict[str, list[str]] = defaultdict(list)
        for name in self.names:
            last = posixpath.basename(name).casefold()
            self.loose[last].append(name)
            self.loose[posixpath.splitext(last)[0]].append(name)

    def find(self, said: Said) -> str | None:
        """The picture that a caption names: its path, or so much of its end as one picture only has; else None.

        Case counts where it tells pictures apart. An ending may be missing, Flickr's "#0" may follow, folders of
        another place may stand in front. ``ValueError`` for a name that leads out of the folder, or may be two.
        """
        top = os.path.abspath(self.folder).replace("\\", "/") + "/"
        name = posixpath.normpath(said.name.strip().replace("\\", "/").removeprefix(top))
        if name.split("/")[0] in ("", "..") or re.match(r"[A-Za-z]:", name):
            raise ValueError(f"{said.place}: {said.name!r} leads out of {self.folder}; name a picture in it")
        for one in (name, re.sub(r"#\d+$", "", name)):
            if one in self.whole:
                return one
            number = karpathy.COCO_2014.fullmatch(posixpath.basename(one))
            wanted = (number[1] if number else one).casefold()
            found = [name for name in self.loose.get(posixpath.basename(wanted), ()) if _meant(name.casefold(), wanted)]
            if len(found) > 1:
                raise ValueError(f"{said.place}: {said.name!r} may be {found[0]} or {found[1]}; write its folder, too")
            if found:
                return found[0]
        return None


def _raised(err: OSError) -> None:
    raise err


def _meant(name: str, wanted: str) -> bool:
    """Whether one is the end of the other, folder by folder, with or without the picture's ending."""
    both = (f"/{one}" for one in (name, posixpath.splitext(name)[0]))
    return any(one.endswith(f"/{wanted}") or f"/{wanted}".endswith(one) for one in both)


def _told(
    folder: Path, pictures: _Pictures, files: Sequence[Path], image: str | None, caption: str | None, template: str
) -> tuple[str, Iterator[Said]]:
    """Where the captions come from, in words, and they themselves."""
    beside = bool(pictures.texts) and not files
    files = files or ([] if beside else _files(folder))
    lists = [file for file in files if file.name.lower().removesuffix(".gz").endswith(LIST)]
    if (image or caption) and len(lists) == len(files):
        raise ValueError(f"{folder}: --image and --caption name columns, and the captions are in no table here")
    if template != TEMPLATE and (beside or files):
        raise ValueError(f"{folder}: --template is for folders of classes, and there are captions here")
    if beside:
        return f"{len(pictures.texts):,} text files beside pictures, a caption a line", _beside(pictures)
    if files:
        each = (_annotations(file) if file in lists else _table(file, pictures, image, caption) for file in files)
        return ", ".join(map(str, files)), (said for told in each for said in told)
    classes = sorted({posixpath.dirname(name) for name in pictures.names})
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
    there = sorted(file for file in folder.iterdir() if file.suffix.lower() in (*TABLES, LIST))
    coco = sorted((folder / "annotations").glob("captions_*.json")) if (folder / "annotations").is_dir() else []
    found = [
        file
        for file in there
        if not file.name.startswith(".")
        and not re.fullmatch(r"dataset.*\.json", file.name)
        and (file.suffix.lower() != ".txt" or re.match("captions|results", file.name, re.I))
    ]
    if coco and not found:
        return coco
    if len(found) > 1:
        raise ValueError(f"{folder}: {', '.join(file.name for file in found)}: say which has captions, with --captions")
    return found


def _beside(pictures: _Pictures) -> Iterator[Said]:
    for name, path in pictures.texts.items():
        lines = [(number, line) for number, line in enumerate(parsing.lines(path), 1) if line.strip()]
        yield from (Said(name, line, f"{path}, line {number}") for number, line in lines or [(1, "")])


def _classes(pictures: _Pictures, template: str) -> Iterator[Said]:
    for name in pictures.names:
        word = " ".join(re.split(r"[\s_-]+", posixpath.basename(posixpath.dirname(name)))).strip()
        before = re.sub(r"\b([aA]) (?=\{\})", r"\1n ", template) if word[:1].lower() in "aeiou" else template
        yield Said(name, before.replace("{}", word), str(pictures.folder / name))


def _annotations(file: Path) -> Iterator[Said]:
    content = parsing.of_json(file)
    if isinstance(content, dict) and "images" in content and "annotations" not in content:
        raise parsing.BadFile(file, "no annotations of COCO; if it is Karpathy's format, it is read as it is")
    if wrong := parsing.misfit(content, COCO, "the file"):
        raise parsing.BadFile(file, f"{wrong}. COCO's annotations of captions are wanted, captions_….json")
    names = {entry["id"]: entry["file_name"] for entry in content["images"]}
    for number, one in enumerate(content["annotations"]):
        key = one["image_id"]
        ids = {"cocoid": key} | ({"sentid": one["id"]} if "id" in one else {})
        yield Said(names.get(key, f"id {key}"), one["caption"], f"{file}, annotation {number}", ids)


def _table(file: Path, pictures: _Pictures, image: str | None, caption: str | None) -> Iterator[Said]:
    text = parsing.text(file)
    delimiter, at, columns, width, headed = _columns(file, text, pictures, image, caption)
    for number, row in _rows(file, text, delimiter)[headed:]:
        if len(row) < width:
            raise parsing.BadFile(file, f"{len(row)} columns where the first line has {width}", number)
        if columns[-1] == width - 1 and len(row) > width:  # a caption with commas that nobody quoted
            row = [*row[: width - 1], delimiter.join(row[width - 1 :])]
        told = [row[column] for column in columns]
        filled = [cell for cell in told if cell.strip()] or told[:1]
        yield from (Said(row[at], one, f"{file}, line {number}") for cell in filled for one in _several(cell, file))


def _several(cell: str, file: Path) -> list[str]:
    """The captions of a cell: one, or a list of them as JSON, which some tables hold."""
    try:
        found = parsing.parsed(cell, file) if cell.startswith('["') else cell
    except parsing.BadFile:
        return [cell]
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else [cell]


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
        found = [_named(head, image, IMAGES), _named(head, caption, CAPTIONS)]
        if all(found) and (told := [column for column in found[1] if column != found[0][0]]):
            return by, found[0][0], told, len(head), True
    if image is None and caption is None:
        for by, head in heads.items():  # no header, as Flickr8k's own file: captions come last
            for at, cell in enumerate(head[:-1]):
                if pictures.find(Said(cell, "", f"{file}, line 1")) is not None:
                    return by, at, [len(head) - 1], len(head), False
    head = max(heads.values(), key=len, default=[line])  # which an empty file has, too
    lacks = not _named(head, image, IMAGES)
    own, option, what = (image, "--image", "pictures") if lacks else (caption, "--caption", "captions")
    shown = ", ".join(repr(cell.strip()[:30]) for cell in head[:8])
    why = f"no column {own!r}" if own else f"no column of {what} known by its name; name it with {option}"
    raise parsing.BadFile(file, f"{why}; its first line has {shown}.{meant(own, head) if own else ''}", 1)


def _named(head: list[str], own: str | None, usual: Sequence[str]) -> list[int]:
    """The columns of that name, or of the surest usual one with or without numbers behind it."""
    names = [re.sub(r"[\s-]+", "_", cell.strip().casefold()) for cell in head]
    if own is not None:
        wanted = re.sub(r"[\s-]+", "_", own.strip().casefold())
        return [place for place, name in enumerate(names) if name == wanted]
    for one in usual:
        if found := [place for place, name in enumerate(names) if re.fullmatch(rf"{one}_?\d*", name)]:
            return found
    return []


def _matched(
    folder: Path, pictures: _Pictures, told: Iterable[Said], source: str, leave_out: bool
) -> tuple[dict[str, list[Said]], list[str]]:
    """The captions of each picture that has any, by name; and what is left out, or refused."""
    found: dict[str, list[Said]] = {name: [] for name in pictures.names}
    lost, empty, asked = [], [], set()
    for said in told:
        name, text = pictures.find(said), karpathy.one_line(said.text)
        if name is None:
            lost.append(said)
        elif not text:
            empty.append(said)
        else:
            found[name].append(Said(name, text, said.place, said.ids))
        asked.add(name)
    bare = [name for name in found if name not in asked]
    found = {name: own for name, own in found.items() if own}
    wrong = []
    if lost:
        wrong.append(f"{len(lost):,} captions name no picture, such as {lost[0].name!r} ({lost[0].place})")
    if empty:
        wrong.append(f"{len(empty):,} captions have no word, such as that of {empty[0].name!r} ({empty[0].place})")
    if bare:
        wrong.append(f"{len(bare):,} pictures have no caption, such as {bare[0]!r}")
    if wrong and not leave_out:
        raise ValueError(
            f"{folder}, with captions from {source}: {'; '.join(wrong)}. Mend this, or leave these out with --leave-out"
        )
    for number, name in enumerate(found):
        if odd := karpathy.unusable({"filename": name}, number):
            raise ValueError(f"{folder}: {odd}")
    return found, [f"left out: {one}" for one in wrong]


def _drawn(count: int, val: float | None, test: float | None, seed: int) -> list[str]:
    """The split of each of so many pictures."""
    sizes = {}
    for part, share in (("val", val), ("test", test)):
        if share is not None and not 0 < share < 1:
            raise ValueError(f"--{part} is a share of the pictures between 0 and 1, such as 0.1; got {share}")
        wanted = min(MOST, round(SHARE * count)) if share is None else round(share * count)
        sizes[part] = max(1, wanted)
    if sum(sizes.values()) >= count:
        raise ValueError(f"of {count} pictures, {sizes['val']} in val, {sizes['test']} in test: none left to train on")
    parts = np.array(["train"] * count, dtype=object)
    order = np.random.default_rng(seed).permutation(count)
    parts[order[: sizes["val"]]] = "val"
    parts[order[sizes["val"] : sum(sizes.values())]] = "test"
    return parts.tolist()


def _entry(number: int, name: str, split: str, own: list[Said]) -> dict:
    place, file = posixpath.split(name)
    known = own[0].ids.get("cocoid")
    return (
        ({"filepath": place} if place else {})
        | {"filename": file, "split": split, "imgid": number}
        | ({"cocoid": known} if known is not None else {})
        | {"sentences": [{"raw": one.text} | {k: v for k, v in one.ids.items() if k == "sentid"} for one in own]}
    )
