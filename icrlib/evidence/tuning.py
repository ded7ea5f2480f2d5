"""What a search over settings chose: on validation data, and on draws on which no claim is judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean
from typing import TYPE_CHECKING

from icrlib.evidence import record_settings as runs

if TYPE_CHECKING:  # imported where a table is made: a list of runs asks for ``choices``, and need not wait for it
    import pandas as pd

SCORES = ("n", "val_rsum", "val_swap", "val_swap_min")
NEVER = ("drops", "evaluate_every")  # they follow from the number of updates
CONSTANTS = ("margin", "tau")  # what a loss of ECIR has of its own; the published ones are those of its rows 1.1 to 1.4


def candidates(records: Iterable[Mapping]) -> pd.DataFrame:
    """One row for each setting that a search tried, best first within a method and a loss.

    Columns: method, loss, the settings that the search moved within that method and loss (None elsewhere), ``n``
    draws, ``val_rsum`` (mean over draws of the best evaluation's, which is what a run itself chooses by; of a run with
    a start, the best after it, for within it another loss is trained), and where the
    data has twins ``val_swap`` and ``val_swap_min``: swap accuracy on validation data of those same weights, mean and
    lowest. Test numbers are not looked at.

    Raises ``ValueError`` where candidates of one loss were tried on different draws: the best of them might only have
    had the easier ones.
    """
    import pandas as pd

    rows = [row for rows in _searched(records).values() for row in rows]
    frame = pd.DataFrame(rows, dtype=object)  # an int stays one, beside losses without the setting
    frame = frame.where(frame.notna(), None)
    first, last = ["method", "loss"], list(SCORES)
    return frame[first + [c for c in frame if c not in first + last] + [c for c in last if c in frame]]


def by_rate(records: Iterable[Mapping]) -> pd.DataFrame:
    """A search as a table: validation rsum, a column for each learning rate, NaN where that was not tried.

    Rows are what else the search moved, indexed by method, loss and the settings' names; a setting that was not moved
    for a loss is 0 there, which is how it stands in its runs if that is off (word dropout, a start).
    """
    rows = candidates(records)
    index = [name for name in rows if name not in ("lr", *SCORES)]
    table = (
        rows.fillna({name: 0 for name in index})
        .infer_objects()
        .pivot(index=index, columns="lr", values="val_rsum")
        .astype(float)
    )
    return table[sorted(table)]


def choices(records: Iterable[Mapping]) -> dict[tuple[str, str], dict[str, object]]:
    """``{("vse++", "ntxent"): {"lr": 0.01, "tau": 0.1}, …}``: of each method and loss the settings that came out best.

    The highest mean of validation rsum wins; settings that the search did not move are not named. With the method
    fixed, ``{loss: chosen}`` is what :func:`icrlib.evidence.verdict` takes as ``tuning=``.
    """
    names = ("method", "loss", *SCORES)
    return {
        key: {name: value for name, value in rows[0].items() if name not in names}
        for key, rows in _searched(records).items()
    }


def tuned_studies(records: Iterable[Mapping], published: str, own: str) -> dict[tuple[str, str], str]:
    """In which of two studies the runs with a loss's own constant are: ``{("vse++", "ntxent"): published, …}``.

    ``records`` are those of the search over rates, starts and constants. Where it chose another margin or temperature
    than ECIR's, the loss was trained again, study ``own``. Where the published constant came out best, that would have
    been the same runs once more: they are those of the study ``published``.

    A method and a loss are named only if their search is finished, that is, has the published constant and at least two
    others, all settings on the same draws; nothing is chosen before that. Without records nothing is named.
    """
    from icrlib.paper.experiments.rows import experiment

    theirs_of = {row["loss"]: row for row in (experiment(f"ecir/1.{number}") for number in range(1, 5))}
    records, found = list(records), {}
    for (method, loss), group in (_grouped(records) if records else {}).items():
        name = next(name for name in CONSTANTS if name in theirs_of[loss])
        theirs, values = theirs_of[loss][name], {record["config"]["loss_options"][name] for record in group}
        if theirs in values and len(values) > 2 and len(_seeds(_tried(group)[1].values())) == 1:
            found[method, loss] = published if choices(group)[method, loss][name] == theirs else own
    return found


def _searched(records: Iterable[Mapping]) -> dict[tuple[str, str], list[dict[str, object]]]:
    """Of each method and loss the settings tried, as rows, the best first."""
    found = {}
    for (method, loss), group in _grouped(records).items():
        moved, tried = _tried(group)
        same_draws(method, loss, tried.values())
        rows = [
            {"method": method, "loss": loss}
            | {runs.short(n): v for n, v in zip(moved, values, strict=True)}
            | _scores(group)
            for values, group in tried.items()
        ]
        found[method, loss] = sorted(rows, key=lambda row: -row["val_rsum"])
    return found


def _grouped(records: Iterable[Mapping]) -> dict[tuple[str, str], list[Mapping]]:
    found: dict[tuple[str, str], list[Mapping]] = {}
    for record in records:
        found.setdefault((record["config"]["method"], record["config"]["loss"]), []).append(record)
    if not found:
        raise ValueError("no records to choose from; icrlib.records.find(...) found none")
    return found


def _tried(group: Sequence[Mapping]) -> tuple[list[str], dict[tuple, list[Mapping]]]:
    """The names of the settings that were moved within a group, and the runs by the values of these."""
    found = runs.by_settings(group)
    first = found[0].settings
    moved = [name for name in first if any(one.settings[name] != first[name] for one in found)]
    moved = [name for name in moved if runs.short(name) not in NEVER]
    tried: dict[tuple, list[Mapping]] = {}
    for one in found:
        tried.setdefault(tuple(one.settings[name] for name in moved), []).extend(one.records)
    return moved, tried


def _seeds(tried: Iterable[Sequence[Mapping]]) -> set[tuple[int, ...]]:
    """On which draws settings were tried: one element where all were tried on the same."""
    return {tuple(sorted(map(runs.seed, found))) for found in tried}


def same_draws(method: str, loss: str, tried: Iterable[Sequence[Mapping]]) -> None:
    seeds = _seeds(tried)
    if len(seeds) > 1:
        each = " and ".join(str(list(one)) for one in sorted(seeds))
        raise ValueError(
            f"settings of {method} with {loss} were tried on different draws, {each}: not comparable; "
            "train the missing ones, or leave the incomplete settings out"
        )


def after_start(record: Mapping) -> float:
    """The best validation rsum of a run's own loss: within its start, all negatives count, and that is another loss.

    On 400 photos the setting of Triplet-SH with the highest of all evaluations had it in its start, where Triplet was
    trained. A run without any evaluation after its start counts with what it has.
    """
    start = record["config"].get("warmup", 0)
    if record["chosen"]["update"] > start:
        return record["chosen"]["val_rsum"]
    later = [entry["val"]["rsum"] for entry in record["history"] if entry["update"] > start]
    return max(later, default=record["chosen"]["val_rsum"])


def _scores(found: Sequence[Mapping]) -> dict[str, float]:
    row = {"n": len(found), "val_rsum": mean(map(after_start, found))}
    swaps = [
        entry["twins"]["swap"]
        for record in found
        for entry in record["history"]
        if entry["update"] == record["chosen"]["update"] and "twins" in entry
    ]
    return row | ({"val_swap": mean(swaps), "val_swap_min": min(swaps)} if swaps else {})
