"""Files that others wrote: text, and JSON whose form is checked. What is wrong is named, with the file and place."""

from __future__ import annotations

import gzip
import json
import os
import reprlib
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import fastjsonschema  # without dependencies, and 1 s for the annotations of COCO where jsonschema takes minutes

BOM = "\ufeff"


class BadFile(ValueError):
    """A file holds something else than it should: the message is its name, the line if there is one, and ``why``."""

    def __init__(self, path: str | os.PathLike, why: str, line: int | None = None) -> None:
        super().__init__(f"{path}{'' if line is None else f', line {line}'}: {why}")
        self.why = why


def text(path: str | os.PathLike) -> str:
    """The text of a UTF-8 file, unpacked if its name ends in ``.gz``, without a byte-order mark in front.

    :class:`BadFile` where it is no UTF-8, with the line and byte, or cannot be unpacked; ``FileNotFoundError``.
    """
    try:
        raw = Path(path).read_bytes()
        raw = gzip.decompress(raw) if Path(path).suffix == ".gz" else raw
    except FileNotFoundError:
        raise
    except (OSError, EOFError, zlib.error) as err:  # a folder; a gzip that is cut off, damaged, or none
        raise BadFile(path, f"cannot be read ({err})") from err
    way, begin = "iconv -f {} -t UTF-8 OLD > NEW converts it", raw[:1000]
    marked = begin[:2] in (b"\xff\xfe", b"\xfe\xff")
    if marked or 3 * begin.count(0) > len(begin):  # what Excel calls Unicode text
        kind = "UTF-16" if marked else "UTF-16LE" if begin[1:2] == b"\0" else "UTF-16BE"
        raise BadFile(path, f"not UTF-8 text but UTF-16; {way.format(kind)}")
    if begin[:4] == b"PK\3\4":
        raise BadFile(path, "not text but an archive or a spreadsheet; unpack it, or save the table as CSV in UTF-8")
    try:
        return raw.decode("utf-8").removeprefix(BOM)
    except UnicodeDecodeError as err:
        why = f"not UTF-8 text ({err.reason} at byte {err.start}); if it is Latin-1, {way.format('LATIN1')}"
        raise BadFile(path, why, raw.count(b"\n", 0, err.start) + 1) from err


def lines(path: str | os.PathLike) -> list[str]:
    """The lines of a text file: they end with a line feed, or with a carriage return and a line feed, and nowhere else.

    ``str.splitlines`` also cuts at rarer characters (U+2028, U+0085, …), which would shift every later line. A carriage
    return alone is refused with its line: some programs end a line there and others do not.
    """
    cut = text(path).replace("\r\n", "\n").split("\n")
    for number, line in enumerate(cut, 1):
        if "\r" in line:
            raise BadFile(path, "a carriage return inside of the line; end lines with a line feed", number)
    return cut[:-1] if cut[-1] == "" else cut


def of_json(path: str | os.PathLike, schema: dict | None = None, name: str = "it") -> object:
    """What a JSON file holds, checked against ``schema`` (JSON Schema, draft 7), where ``name`` stands for the whole.

    :class:`BadFile` where it is cut off or no JSON, has another form, or holds NaN or infinity. ``FileNotFoundError``
    where it is missing.
    """
    return parsed(text(path), path, schema, name)


def json_lines(path: str | os.PathLike, schema: dict) -> list:
    """What each line of a file holds, checked as by :func:`of_json`; empty where there is no such file."""
    if not Path(path).is_file():
        return []
    return [parsed(line, path, schema, "the line", number) for number, line in enumerate(lines(path), 1)]


def parsed(
    content: str | bytes, path: str | os.PathLike, schema: dict | None = None, name: str = "it", line: int | None = None
) -> object:
    """:func:`of_json` for text that was read already; ``path`` and ``line`` are for the messages."""
    try:
        value = json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError) as err:  # json.JSONDecodeError is the first, a tower of lists the second
        raise BadFile(path, f"not a whole JSON file ({err})", line) from err
    if schema is not None and (wrong := misfit(value, schema, name)):
        raise BadFile(path, wrong, line)
    return value


def misfit(value: object, schema: dict, name: str = "it") -> str | None:
    """What about ``value`` is not as the JSON Schema says, in a few words; None if nothing is."""
    try:
        _compiled(json.dumps(schema, sort_keys=True))(value, name_prefix=name)
    except fastjsonschema.JsonSchemaValueException as err:
        if err.rule == "required":
            return f"{err.name} has no {', '.join(key for key in err.rule_definition if key not in err.value)}"
        return f"{err.message}; got {reprlib.repr(err.value)}"
    return None


@cache
def _compiled(schema: str) -> Callable[[object], object]:
    return fastjsonschema.compile(json.loads(schema), use_default=False)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number of JSON")
