"""Runs that a page lacks: which they are, and how long they take."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from statistics import median

import jupytext

from icrlib import records
from icrlib.errors import choose
from icrlib.experiments import keys, named, store
from icrlib.experiments.named import Missing

LIKE = 9  # so many records of the same model and loss say how long one more takes


def wanted_by(page: str | Path, given: Mapping[str, object] | None = None) -> list[dict]:
    """The runs that a page names and no record is of, as far as they can be known now: for ``icr train PAGE``.

    The page's code is executed cell by cell, and goes on behind a cell that lacks something, so that all independent
    gaps are seen at once. What waits for a search is seen when this is called again after the search was trained.
    Cells with the tag "live" train for show, and are left out. ``page``: a notebook, or its text form. ``given``:
    values for its parameters, as papermill would set them; ``ValueError`` for a name that their cell does not declare.
    """
    space, wanted, gap = {"__name__": "__main__"}, {}, False
    named.skipped.clear()
    for code, tags in _cells(Path(page), given or {}):
        if "live" in tags:
            gap = True
            continue
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # what the page prints is not asked for
                exec(compile(code, str(page), "exec", dont_inherit=True), space)
        except Missing as err:
            wanted |= {keys.key(one): one for one in err.wanted}
            gap = True
        except Exception as err:  # what rests upon a gap; without one, the page itself is at fault
            if not gap:
                raise ValueError(f"{page}: a cell failed, and for no gap ({type(err).__name__}: {err})") from err
        if "parameters" in tags:
            for name in given or {}:
                choose(name, space.get("__annotations__", {}), f"parameter of {page}")
            space |= given or {}
    runs = [*wanted.values(), *named.skipped]
    return list({keys.key(each): each for one in runs for each in (*keys.stages_before(one), one)}.values())


def seconds(config: Mapping) -> float | None:
    """How long a run of this configuration takes: the median of records of the same model, in size too, update for
    update; None without."""
    place = store.place_of(config["dataset"], config["method"], config["loss"], "").as_posix()
    every = map(records.load, records.below(place))
    like = islice((r for r in every if _size(r["config"]) == _size(config) and "wall_seconds" in r), LIKE)
    rates = [record["wall_seconds"] / record["config"]["updates"] for record in like]
    return median(rates) * config["updates"] if rates else None


def _size(config: Mapping) -> tuple:
    return config["model_options"], config["batch_size"], config["backbone"]


def plan(wanted: Sequence[Mapping]) -> str:
    """How many runs are missing, and how long they take: a sentence."""
    known = [time for one in wanted if (time := seconds(keys.resolved(one))) is not None]
    if not known:
        return f"{len(wanted)} runs to train: of unknown length, for no record is of models of their size"
    hours, unknown = sum(known) / 3600, len(wanted) - len(known)
    length = f"{hours:.1f} core-hours" if hours >= 1 else f"{60 * hours:.1f} core-minutes"
    return f"{len(wanted)} runs to train: about {length}" + (f", and {unknown} of unknown length" if unknown else "")


def _cells(page: Path, given: Mapping) -> Iterator[tuple[str, list[str]]]:
    """The code of each cell of a page, without magics, and its tags."""
    cells = [
        (cell.source, cell.metadata.get("tags", [])) for cell in jupytext.read(page).cells if cell.cell_type == "code"
    ]
    if given and not any("parameters" in tags for _, tags in cells):
        raise ValueError(f"{page}: no cell of parameters, so that it takes no {', '.join(given)}")
    for source, tags in cells:
        yield "\n".join(line for line in source.splitlines() if not line.startswith(("%", "!"))), tags
