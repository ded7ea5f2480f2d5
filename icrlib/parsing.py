"""Files that others wrote: text, and JSON whose form is checked. What is wrong is named, with the file and place.

There is one way to open them: a plain file as a stream, unpacked where it is packed, with a limit that is named, for an
archive of some megabytes may unpack to any size, and a pipe would be waited for for ever.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import lzma
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import BinaryIO

BOM = "\ufeff"
MOST = 1 << 30  # bytes that a text may have once it is unpacked, for it is held whole
STREAM = 1 << 36  # and what is read piece by piece
# What a damaged, encrypted or unknown archive, or a disk, dies of on the way.
UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError, NotImplementedError)


class NotPlain(ValueError):
    """A name leads to no plain file: to a folder, a pipe, a device."""


class TooLarge(ValueError):
    """A file, or what it unpacks to, is larger than anything of its kind."""


def plain(path: str | os.PathLike) -> Path:
    """``path``, if a plain file is there; else ``FileNotFoundError`` or :class:`NotPlain`."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "a pipe" if stat.S_ISFIFO(mode) else "a device or socket"
        raise NotPlain(f"{path}: cannot be read ({what}, and no file)")
    return Path(path)


def size(count: int) -> str:
    """A number of bytes for people."""
    return f"{count >> 30} GB" if count >= 1 << 30 else f"{count >> 20} MB"


class _Counted(io.RawIOBase):
    """A stream that ends in :class:`TooLarge` behind so many bytes."""

    def __init__(self, inner: BinaryIO, path: Path, most: int) -> None:
        self.inner, self.path, self.most, self.seen = inner, path, most, 0

    def readable(self) -> bool:
        return True

    def readinto(self, into: memoryview) -> int:
        found = self.inner.read(len(into))
        self.seen += len(found)
        if self.seen > self.most:
            raise TooLarge(f"{self.path}: more than {size(self.most)} of content, which nothing of its kind has")
        into[: len(found)] = found
        return len(found)


@contextlib.contextmanager
def opened(path: str | os.PathLike, most: int = MOST, raw: BinaryIO | None = None) -> Iterator[io.BufferedReader]:
    """The content of a file, unpacked where its name ends in .gz, .xz or .zip (of one .txt file), bytes as a stream.

    ``raw``: the file, where it is open already. :class:`NotPlain`, ``FileNotFoundError``; on the way what
    ``UNREADABLE`` lists and :class:`TooLarge`.
    """
    path = plain(path)
    with contextlib.ExitStack() as stack:
        file = raw or stack.enter_context(open(path, "rb"))
        if path.suffix == ".gz":
            file = stack.enter_context(gzip.open(file))
        elif path.suffix == ".xz":
            file = stack.enter_context(lzma.open(file))
        elif path.suffix == ".zip":
            archive = stack.enter_context(zipfile.ZipFile(file))
            names = [name for name in archive.namelist() if name.endswith(".txt")]
            if len(names) != 1:
                raise ValueError(f"{path}: wanted one .txt file in the archive; it holds {archive.namelist()[:5]}")
            file = stack.enter_context(archive.open(names[0]))
        yield io.BufferedReader(_Counted(file, path, most), 1 << 16)


class BadFile(ValueError):
    """A file holds something else than it should: the message is its name, the line if there is one, and ``why``."""

    def __init__(self, path: str | os.PathLike, why: str, line: int | None = None) -> None:
        super().__init__(f"{path}{'' if line is None else f', line {line}'}: {why}")
        self.why = why


def text(path: str | os.PathLike) -> str:
    """The text of a UTF-8 file, unpacked if its name ends in ``.gz``, without a byte-order mark in front.

    :class:`BadFile` where it is no UTF-8, with the line and byte, or cannot be unpacked; ``FileNotFoundError``.
    """
    path = Path(path)
    try:
        with opened(path) as file:
            raw = file.read()
    except FileNotFoundError:
        raise
    except (NotPlain, TooLarge) as err:
        raise BadFile(path, str(err).removeprefix(f"{path}: ")) from err
    except UNREADABLE as err:  # a gzip that is cut off, damaged, or none
        raise BadFile(path, f"cannot be read ({err})") from err
    try:
        return raw.decode("utf-8").removeprefix(BOM)
    except UnicodeDecodeError as err:
        line = raw[: err.start].count(b"\n") + 1
        raise BadFile(
            path,
            f"not UTF-8 text ({err.reason} at byte {err.start}); convert it first, such as with iconv -t UTF-8",
            line,
        ) from err


def lines(path: str | os.PathLike) -> list[str]:
    """The lines of a text file: they end with a line feed, or with a carriage return and a line feed, and nowhere else.

    ``str.splitlines`` also cuts at rarer characters (U+2028, U+0085, …), which would shift every later line. A carriage
    return alone is refused with its line: some programs end a line there and others do not.
    """
    found = text(path).replace("\r\n", "\n").split("\n")
    for number, line in enumerate(found, 1):
        if "\r" in line:
            raise BadFile(path, "a carriage return inside of the line; end lines with a line feed", number)
    return found[:-1] if found[-1] == "" else found


def of_json(path: str | os.PathLike, schema: dict | None = None, name: str = "it") -> object:
    """What a JSON file holds, checked against ``schema`` (JSON Schema, draft 7), where ``name`` stands for the whole.

    :class:`BadFile` where it is cut off or no JSON, has another form, or holds NaN or infinity. ``FileNotFoundError``
    where it is missing.
    """
    return parsed(text(path), path, schema, name)


def parsed(content: str, path: str | os.PathLike, schema: dict | None = None, name: str = "it") -> object:
    """:func:`of_json` for text that was read already; ``path`` is for the messages."""
    try:
        found = json.loads(content, parse_constant=_refuse)
    except RecursionError as err:
        raise BadFile(path, "nested too deeply for a file of its kind") from err
    except ValueError as err:  # json.JSONDecodeError is one
        raise BadFile(path, f"not a whole JSON file ({err})") from err
    if schema is not None:
        wrong = misfit(found, schema, name)
        if wrong:
            raise BadFile(path, wrong)
    return found


def json_lines(path: str | os.PathLike, schema: dict) -> list:
    """What each line of a file holds, checked as by :func:`parsed`; empty where there is no such file."""
    path, found = Path(path), []
    if not path.is_file():
        return found
    for number, line in enumerate(lines(path), 1):
        try:
            found.append(parsed(line, path, schema, "the line"))
        except BadFile as err:
            raise BadFile(path, f"{err.why}; get the file again", number) from err
    return found


def misfit(value: object, schema: dict, name: str = "it") -> str | None:
    """What about ``value`` is not as the JSON Schema says, in a few words; None if nothing is."""
    import fastjsonschema  # without dependencies, and 1 s for the annotations of COCO where jsonschema takes minutes

    try:
        _compiled(json.dumps(schema, sort_keys=True))(value, name_prefix=name)
    except fastjsonschema.JsonSchemaValueException as err:
        if err.rule == "required":
            return f"{err.name} has no {', '.join(key for key in err.rule_definition if key not in err.value)}"
        return f"{err.message}; got {_short(err.value)}"
    except RecursionError:
        return f"{name} is nested too deeply"
    return None


@cache
def _compiled(schema: str) -> Callable[[object], object]:
    import fastjsonschema

    return fastjsonschema.compile(json.loads(schema), use_default=False)


def _short(value: object) -> str:
    try:
        shown = repr(value)
    except (ValueError, RecursionError):  # an integer of more digits than Python prints, or a tower of lists
        return f"a {type(value).__name__}"
    return shown if len(shown) <= 60 else shown[:57] + "…"


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number of JSON")
