"""Golden runs: does today's code still do what it did when the records were made?

A golden is a training of a few dozen updates on tiny data, asked for as a user would ask, with what was seen of it: one
line of ``records/goldens.jsonl``. ``scripts/goldens.py`` makes and repeats them; here is the file, and the comparison.
A file that moved, another name, a faster way with other last digits is not seen. What is seen is a mistake, or a new
behaviour: then the ``behaviour`` of the part rises (:mod:`icrlib.training.behaviour`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from icrlib import parsing
from icrlib.files import write_bytes
from icrlib.records.folder import root

NAME = "goldens.jsonl"
# What may differ: so many times the spread that was measured (other vector units, two threads, other kernels, noise of
# the last digit in every gradient), and never less than so much of the value itself.
TIMES, LEAST = 10.0, 3e-6
FLIPS = {"map": 0.006, "share": 2.0, "count": 0.012}  # one query more or less, of what is counted in queries
FIELDS = ("name", "asked", "identity", "config", "values", "spread")


def path() -> Path:
    """Where the book's goldens are."""
    return root() / NAME


def read(place: Path | None = None) -> list[dict]:
    """The goldens: ``name``; ``asked``, what the run was asked for; ``identity`` and ``config``, what that came to;
    ``values`` {what: numbers}; ``spread`` {what: how far each number moves with rounding alone}.

    ``ValueError`` naming a damaged line, ``FileNotFoundError`` where there is no file.
    """
    place, found = place or path(), []
    for number, line in enumerate(parsing.lines(place), 1):
        try:
            golden = parsing.parsed(line, place, {"type": "object"}, "the line")
            if missing := [name for name in FIELDS if name not in golden]:
                raise ValueError(f"without {', '.join(missing)}")
        except (ValueError, TypeError) as err:
            raise ValueError(f"{place}, line {number}: not a golden run ({err}); get the file again") from err
        found.append(golden)
    return found


def write(found: Iterable[Mapping], place: Path | None = None) -> None:
    """Write the goldens, one a line, sorted by name."""
    lines = [
        json.dumps(golden, ensure_ascii=False, separators=(",", ":"))
        for golden in sorted(found, key=lambda golden: golden["name"])
    ]
    write_bytes(place or path(), "".join(f"{line}\n" for line in lines).encode())


def spread(values: Mapping[str, list[float]], others: Iterable[Mapping[str, list[float]]]) -> dict[str, list[float]]:
    """How far each number moved in ``others``, the same run with other rounding: two digits, never less than before it
    in the same row, for what rounding has moved once stays moved."""
    others, found = list(others), {}
    for name, row in values.items():
        far, most = [], 0.0
        for place, value in enumerate(row):
            apart = [abs(other[name][place] - value) for other in others]
            most = max([most, *apart]) if name in SERIES else max(apart, default=0.0)
            far.append(float(f"{most:.2g}"))
        if any(TIMES * moved > least for moved, least in zip(far, _least(name, row), strict=True)):
            found[name] = far
    return found


SERIES = ("loss", "norm", "stepped")  # rows in time


def _least(name: str, row: list[float]) -> list[float]:
    """What each number may differ by, whatever was measured."""
    flips = next((size for end, size in FLIPS.items() if name.endswith(end)), 0.0)
    return [max(LEAST * abs(value), flips) for value in row]


def allowed(golden: Mapping, name: str) -> list[float]:
    """How far each number of a row may be from the golden's."""
    row = golden["values"][name]
    far = golden["spread"].get(name, [0.0] * len(row))
    return [TIMES * moved + least for moved, least in zip(far, _least(name, row), strict=True)]


def differences(golden: Mapping, values: Mapping[str, list[float]], config: Mapping) -> list[str]:
    """Sentences on what of a repeated run is not as the golden has it; none where today's code does the same."""
    found = [
        f"{name} is {_short(config.get(name))}, and was {_short(golden['config'].get(name))}"
        for name in {**golden["config"], **config}
        if golden["config"].get(name) != config.get(name)
    ]
    for name in [name for name in {**golden["values"], **values} if name not in values or name not in golden["values"]]:
        found.append(f"{name} is {'not seen any more' if name not in values else 'new'}")
    for name, row in golden["values"].items():
        now = values.get(name)
        if now is None:
            continue
        if len(now) != len(row):
            found.append(f"{name} has {len(now)} numbers, and had {len(row)}")
            continue
        for place, (was, new, far) in enumerate(zip(row, now, allowed(golden, name), strict=True)):
            if not math.isfinite(new) or abs(new - was) > far:
                found.append(f"{name}[{place}] is {new:.8g}, and was {was:.8g} ({far:.1g} is rounding)")
                break  # the rest of the row follows from it
    return found


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) < 60 else text[:57] + "…"
