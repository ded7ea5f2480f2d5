"""The parameters that a notebook declares, and settings out of texts; read without what runs notebooks, which takes
seconds to import.

A parameter is a line ``name = value`` or ``name: type = value`` of the cell with the tag "parameters", with its help as
a comment behind it.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

from icrlib import parsing
from icrlib.training.options import options_for
from icrlib.training.settings import SETTINGS, checked

CELL = {
    "type": "object",
    "required": ["source"],
    "properties": {
        "cell_type": {"enum": ["code", "markdown", "raw"]},
        "source": {"type": ["string", "array"], "items": {"type": "string"}},
        "metadata": {"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}}}},
    },
}
FORM = {
    "type": "object",
    "required": ["cells"],
    "properties": {"cells": {"type": "array", "items": CELL}},
}


def declared(notebook: Path | str) -> dict[str, dict[str, str]]:
    """``default`` (as it is written), ``type`` ("" where none is given) and ``help`` of each parameter, by name.

    Empty for a notebook without such a cell; ``ValueError`` where it is no notebook, or the cell no Python.
    """
    cells = parsing.of_json(notebook, FORM, "the notebook")["cells"]
    tagged = [cell for cell in cells if "parameters" in cell.get("metadata", {}).get("tags", ())]
    if not tagged:
        return {}
    source = "".join(tagged[0]["source"])
    try:
        lines = ast.parse(source).body
    except (SyntaxError, ValueError) as err:
        raise ValueError(f"{notebook}: its cell of parameters is no Python ({err})") from err
    found = {}
    for line in lines:
        if not isinstance(line, (ast.Assign, ast.AnnAssign)) or line.value is None:
            continue
        target = line.target if isinstance(line, ast.AnnAssign) else line.targets[0]
        if isinstance(target, ast.Name):
            behind = source.splitlines()[line.end_lineno - 1].encode()[line.end_col_offset :].decode()
            found[target.id] = {
                "default": ast.get_source_segment(source, line.value),
                "type": ast.unparse(line.annotation).strip("'") if isinstance(line, ast.AnnAssign) else "",
                "help": behind.strip().removeprefix("#").strip(),
            }
    return found


def default(about: dict[str, str]) -> Any:
    """The value that a parameter has where nobody gives one; None where that is computed."""
    try:
        return ast.literal_eval(about["default"])
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def read_value(value: str) -> Any:
    """A value as typed: JSON where it is that, Python's True, False and None too, else the text itself."""
    if re.fullmatch(r"[-+]?[0-9]{25,}", value):
        raise ValueError(f"{value[:20]}…: a whole number of {len(value)} digits, which nothing here takes")
    try:
        return json.loads({"True": "true", "False": "false", "None": "null"}.get(value, value), parse_constant=str)
    except (ValueError, RecursionError):
        return value


def value_of(name: str, given: Any, about: dict[str, str]) -> Any:
    """What somebody gave for a parameter, a text or a value, as of the type that it is declared with; ``about`` as of
    :func:`declared`. ``ValueError`` says what was got and what is wanted."""
    usual = default(about)
    kind = about["type"] or type(usual).__name__
    value = read_value(given) if isinstance(given, str) else given
    if kind == "NoneType":  # neither a type nor a value says what is wanted
        return value
    wanted = {"int": int, "float": (int, float), "bool": bool, "str": str}.get(kind, type(usual))
    if wanted is str and value is not None and not isinstance(value, str):
        value = str(given)
    if value is None and usual is None:
        return None
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        told = f"parameter {name}: {given!r} is not of type {kind}; default: {usual!r}"
        raise ValueError("; ".join([told, *filter(None, [about["help"]])]))
    return value


def parsed(name: str, value: str, method: str, loss: str, auxiliary: str | None = None) -> Any:
    """The value of ``name`` out of a text, of the kind that the setting wants; options of parts are read as JSON."""
    owner, plain = options_for(method, loss, auxiliary).place(name)
    read = read_value(value)
    if owner != "setting" or read is None:
        return read
    kind = SETTINGS[plain].metadata["kind"]
    if kind is str:
        read = value
    wrong = isinstance(read, bool) != (kind is bool) or not isinstance(read, (int, float) if kind is float else kind)
    if wrong:
        told = SETTINGS[plain].metadata["help"]
        raise ValueError(f"parameter {name}: {value!r} is not of type {kind.__name__}; {told}")
    return checked(plain, read)
