"""Files that others wrote: text, and JSON whose form is checked. What is wrong is named, with the file and place."""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

BOM = "\ufeff"
# What needs a closer look, which costs as much as the reading itself: numbers that may be too large, by their exponent
# (a piece of a hash that looks like one is followed by a quote, a number is not) or by twenty digits (searched as
# zeros, for a pattern would try each digit anew), and escapes of halves of characters.
EXPONENT, HALF = re.compile(r"[eE]\+?\d{3,}(?:[\s,\]}]|\Z)"), re.compile(r"\\u[dD]")
AS_ZEROS = bytes.maketrans(b"123456789", b"000000000")


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
        raw = path.read_bytes()
        if path.suffix == ".gz":
            raw = gzip.decompress(raw)
    except FileNotFoundError:
        raise
    except (OSError, EOFError, zlib.error) as err:  # a gzip that is cut off, damaged, or none; a folder
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

    :class:`BadFile` where it is cut off or no JSON, has another form, or holds what no file can: NaN, infinity, numbers
    that no double holds, halves of characters. ``FileNotFoundError`` where it is missing.
    """
    return parsed(text(path), path, schema, name)


def parsed(content: str, path: str | os.PathLike, schema: dict | None = None, name: str = "it") -> object:
    """:func:`of_json` for text that was read already; ``path`` is for the messages."""
    try:
        large = EXPONENT.search(content) or b"0" * 20 in content.encode(errors="replace").translate(AS_ZEROS)
        odd = {"parse_float": _finite, "parse_int": _whole} if large else {}
        found = json.loads(content, parse_constant=_refuse, **odd)
        if HALF.search(content):
            _encodable(found)
    except RecursionError as err:
        raise BadFile(path, "nested too deeply for a file of its kind") from err
    except ValueError as err:  # json.JSONDecodeError is one
        raise BadFile(path, f"not a whole JSON file ({err})") from err
    if schema is not None:
        wrong = misfit(found, schema, name)
        if wrong:
            raise BadFile(path, wrong)
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


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"a number that is too large: {digits[:20]}")
    return number


def _whole(digits: str) -> int:
    if len(digits) > 20:
        raise ValueError(f"a number that is too large: {digits[:20]}…")
    return int(digits)


def _encodable(value: object) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as err:
        near = ascii(err.object[max(0, err.start - 20) : err.end + 20])
        raise ValueError(f"half of a character (a lone surrogate) in {near}") from err
