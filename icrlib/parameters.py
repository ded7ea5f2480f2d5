"""The parameters that a notebook declares, and settings out of texts, each as the type that it is declared with.

A parameter is a line ``name = value`` or ``name: type = value`` of the cell with the tag "parameters", with its help as
a comment behind it.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from icrlib.training.options import Options
from icrlib.training.settings import SETTINGS, checked

TYPES = {"int": int, "float": float, "bool": bool, "str": str}


def declared(notebook: Path | str) -> dict[str, dict[str, str]]:
    """``default`` (as it is written), ``type`` ("" where none is given) and ``help`` of each parameter, by name.

    Empty for a notebook without such a cell; ``ValueError`` for what is no notebook.
    """
    import nbformat  # only here: a chapter, which reads its own parameters, need not wait for them
    import papermill

    try:
        nbformat.validate(nbformat.read(notebook, as_version=4))
        found = papermill.inspect_notebook(str(notebook))
    except OSError:
        raise
    except Exception as err:  # nbformat has some of its own, and lets others through
        why = (str(err).strip() or type(err).__name__).splitlines()[0]
        raise ValueError(f"{notebook}: not a notebook that can be run ({why})") from err
    types = {name: about["inferred_type_name"].strip("'\" ") for name, about in found.items()}
    return {
        name: {"default": about["default"], "type": types[name].replace("None", ""), "help": about["help"]}
        for name, about in found.items()
    }


def pairs(given: Iterable[str]) -> dict[str, str]:
    """``NAME=VALUE`` texts, as ``-p`` takes them, as a dictionary of texts."""
    if wrong := [text for text in given if "=" not in text]:
        raise ValueError(f"-p {wrong[0]}: write NAME=VALUE")
    return {name: value for name, _, value in (text.partition("=") for text in given)}


def default(about: dict[str, str]) -> Any:
    """The value that a parameter has where nobody gives one; None where that is computed."""
    try:
        return ast.literal_eval(about["default"])
    except (ValueError, SyntaxError):
        return None


def read_value(text: str) -> Any:
    """A value as typed: JSON where it is that, Python's True, False and None too, else the text itself."""
    try:
        return json.loads({"True": "true", "False": "false", "None": "null"}.get(text, text), parse_constant=str)
    except (ValueError, RecursionError):
        return text


def value_of(name: str, given: Any, about: dict[str, str]) -> Any:
    """What somebody gave for a parameter, a text or a value, as of the type that it is declared with; ``about`` as of
    :func:`declared`. ``ValueError`` says what was got and what is wanted."""
    usual = default(about)
    kind = TYPES.get(about["type"], None if usual is None else type(usual))
    value = read_value(given) if isinstance(given, str) else given
    if kind is None or (value is None and usual is None):
        return value
    if kind is str and value is not None:
        return value if isinstance(value, str) else str(given)
    if not isinstance(value, (int, float) if kind is float else kind) or isinstance(value, bool) != (kind is bool):
        more = about["help"] and f"; {about['help']}"
        raise ValueError(f"parameter {name}: {given!r} is not of type {kind.__name__}{more}")
    return value


def parsed(name: str, given: str, options: Options) -> Any:
    """The value of ``name`` out of a text, as the setting wants it; options of parts are read as JSON."""
    owner, plain = options.place(name)
    value = read_value(given)
    if owner != "setting" or value is None:
        return value
    return checked(plain, given if SETTINGS[plain].metadata["kind"] is str else value)
