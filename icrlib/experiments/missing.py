"""Runs that a page lacks: which they are, and how long they take."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

import jupytext

from icrlib import records
from icrlib.experiments import keys, store
from icrlib.experiments.named import Missing

LIKE = 9  # so many records of the same model and loss say how long one more takes


def wanted_by(page: str | Path) -> list[dict]:
    """The runs that a page names and no record is of, as far as they can be known now: for ``icr train PAGE``.

    The page's code is executed cell by cell, and goes on behind a cell that lacks something, so that all independent
    gaps are seen at once. What waits for a search is seen when this is called again after the search was trained.
    Cells with the tag "live" train for show, and are left out. ``page``: a notebook, or its text form.
    """
    space, wanted = {"__name__": "__main__"}, {}
    for code in _cells(Path(page)):
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # what the page prints is not asked for
                exec(compile(code, str(page), "exec"), space)
        except Missing as err:
            wanted |= {keys.key(one): one for one in err.wanted}
        except Exception as err:  # what rests upon a gap; without one, the page itself is at fault
            if not wanted:
                raise ValueError(f"{page}: no run is missing, but a cell failed ({type(err).__name__}: {err})") from err
    return list(wanted.values())


def seconds(one: Mapping) -> float | None:
    """How long one run takes, named as for ``icrlib.runs``; None where no record is like it."""
    return seconds_of(keys.resolved(one))


def seconds_of(config: Mapping) -> float | None:
    """How long a run of a configuration takes: the median of like records, update for update; None without any."""
    place = store.place_of(config["dataset"], config["method"], config["loss"], "").as_posix()
    like = [records.load(path) for path in store.below(place)[:LIKE]]
    rates = [record["wall_seconds"] / record["config"]["updates"] for record in like if "wall_seconds" in record]
    return median(rates) * config["updates"] if rates else None


def plan(wanted: Sequence[Mapping]) -> str:
    """How many runs are missing, and how long they take: a sentence."""
    return f"{len(wanted)} runs to train: {total([seconds(one) for one in wanted])}"


def total(times: Sequence[float | None]) -> str:
    """Seconds, or None where nobody knows, added up in words."""
    known = [time for time in times if time is not None]
    if times and not known:
        return "of unknown length, for no record is like them"
    rest, hours = len(times) - len(known), sum(known) / 3600
    unknown = f", and of {rest} nobody knows, for no record is like them" if rest else ""
    return f"about {f'{hours:.1f} core-hours' if hours >= 1 else f'{60 * hours:.1f} core-minutes'}{unknown}"


def _cells(page: Path) -> Iterator[str]:
    """The code of a page that names runs, without magics and without what trains for show."""
    if not page.is_file():
        raise FileNotFoundError(f"{page}: no such page; give a notebook or its .py, such as book/training/losses.py")
    for cell in jupytext.read(page).cells:
        if cell.cell_type == "code" and "live" not in cell.metadata.get("tags", []):
            yield "\n".join(line for line in cell.source.splitlines() if not line.startswith(("%", "!")))
