"""What of a list of runs is there, what is missing, and what that will take: for every way of training a list.

A run is an :class:`icrlib.studies.Run`. One of a study is there where its record lies; one of a grid, whose data was
read, where any record has its identity.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from icrlib import parsing
from icrlib.planning import asked, cost
from icrlib.records import files, index
from icrlib.records.folder import PACKAGE
from icrlib.training.config import identity

ROOT = PACKAGE.parent


@dataclass
class Plan:
    """``there``: runs with the record that holds them. ``missing``: runs to train, with what they are expected to cost.

    ``why``: of those whose cost nobody knows, by folder, the reason. ``notes``: what is worth saying about damaged
    records, and folders of other runs.
    """

    there: list[tuple[Any, Path]]
    missing: list[tuple[Any, cost.Cost | None]]
    notes: list[str]
    why: dict[str, str] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Core-seconds that past records suggest for the missing runs whose kind they know."""
        return sum(found.seconds for _, found in self.missing if found)

    def text(self, jobs: int = 1) -> str:
        """The plan as people read it; ``jobs``: runs at a time."""
        count, hours = len(self.there) + len(self.missing), self.seconds / 3600
        unknown = sum(found is None for _, found in self.missing)
        scaled = sum(found is not None and not found.exact for _, found in self.missing)
        lines = [f"{count} runs: {len(self.there)} finished, {len(self.missing)} to train"]
        if unknown < len(self.missing):
            notes = [f"{n} of {what}" for n, what in ((scaled, "them scaled"), (unknown, "unknown length")) if n]
            lines[0] += f", about {hours:.2f} core-hours as past records suggest"
            lines[0] += f" ({', '.join(notes)})" if notes else ""
            known = [found.seconds for _, found in self.missing if found]
            lines[0] += f"; {jobs} at a time: about {cost.until_done(known, jobs) / 60:.0f} minutes" if jobs > 1 else ""
        elif unknown:
            lines[0] += ", all of unknown length"
        lines += [f"  finished  {run}: {short(path)}" for run, path in self.there]
        lines += [f"  to train  {run}: {run.folder}{self._told(run, found)}" for run, found in self.missing]
        return "\n".join([*lines, *self.notes])

    def _told(self, run: Any, found: cost.Cost | None) -> str:
        if found is None:
            return f", of unknown length: {self.why.get(run.folder, 'there is no record of its kind')}"
        note = f", {found.scaled}" if found.scaled else ""
        return f", about {found.seconds / 60:.1f} minutes and {found.memory_mb} MB{note}"


def plan(runs: Iterable, folder: Path, fresh: bool = False) -> Plan:
    """Sort ``runs`` into those that are there and those to train, each in a place of its own below ``folder``.

    ``fresh`` does not count the book's records. A damaged record counts as missing, and is named. Times come from the
    book's records, and for a grid also from what else was trained in ``folder``.
    """
    runs, damaged = list(runs), []
    known = index.outlines(damaged=damaged)
    held = {} if fresh else {record["identity"]: Path(record["path"]) for record in known if "identity" in record}
    known += asked.of_runs(folder) if any(run.resolved for run in runs) else []
    found = Plan([], [], [f"{_MISSING}{one}; git checkout brings it back" for one in damaged])
    for run in runs:
        own, place = folder / run.folder / "record.json", held.get(run.identity) if run.resolved else run.path
        if own.exists():
            try:
                place = Path(files.load(own)["path"])
            except (ValueError, OSError) as err:
                found.notes.append(f"{_MISSING}{err}; its run ends again from its checkpoint")
        if place and files.exists(place):
            found.there.append((run, place))
            continue
        config, sizes = run.configuration()
        found.notes += _foreign(own.parent, config)
        found.missing.append((run, cost.estimate(config, known, sizes)))
        if found.missing[-1][1] is None:
            found.why[run.folder] = cost.unknown(config, known, sizes)
    return found


_MISSING = "damaged, so counted as missing: "


def _foreign(folder: Path, config: dict) -> list[str]:
    """A line about a run's folder in which another configuration left its files: training there would be refused."""
    form = {"type": "object", "required": ["identity"]}
    try:
        theirs = parsing.of_json(folder / "config.json", form)
    except FileNotFoundError:
        return []
    except (ValueError, OSError):
        theirs = {"identity": "that cannot be read"}
    ours = config | {"data_hash": config.get("data_hash") or theirs.get("data_hash")}
    if theirs["identity"] == (config.get("identity") or identity(ours)):
        return []
    return [
        f"{short(folder)} holds another run ({theirs['identity']}), so this one cannot be trained there; move it away "
        f"or delete it (rm -r {folder}), then the same command trains it"
    ]


def short(path: Path) -> str:
    """A path below the checkout as one types it there."""
    path = Path(path).resolve()
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
