"""Which runs a grid has, what each is called, and what a scheduler is asked for.

A run is named by the identity of its resolved configuration (:func:`icrlib.training.config.identity`), which holds the
hash of its data, too. So a default that is given explicitly changes no name, a changed default does, and two cells of a
grid that come to the same configuration are one run. Nothing here needs Snakemake.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

from icrlib import load_dataset, parameters
from icrlib.cli.runs import parse
from icrlib.data.load import DATASETS, DRAWN, has_regions
from icrlib.data.splits import Dataset
from icrlib.errors import choose
from icrlib.files import sha256_of, write_bytes
from icrlib.losses.build import canonical
from icrlib.names import METHODS
from icrlib.records import files, index
from icrlib.studies import Run
from icrlib.training import unread
from icrlib.training.config import resolve

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = ROOT / "book" / "reproduce" / "run.ipynb"
RUNS = ROOT / "runs" / "grid"
USUAL = ("vse++", "bow", "vsrn")  # methods, where nobody names any: those of them that take the features
LOSSES = ("triplet", "triplet_sh", "ntxent", "smoothap")
AXES = {
    "dataset": "DATASET",
    "method": "METHODS",
    "loss": "LOSSES",
    "seed": "SEEDS",
    "features": "FEATURES",
    "root": "PHOTOS",
    "images": "IMAGES",
    "backbone": "BACKBONE",
    "smoke": "SMOKE",
    "record": "KEEP",
}
OURS = ("out", "data_seed", "regions")  # follow from the rest
UNKNOWN_MB, UNKNOWN_MINUTES = 8000, 24 * 60  # what a scheduler is asked for, where nobody says otherwise
PICTURE_THREADS = 4  # that decode photos beside a run on pictures (icrlib.data.crops.Pictures)


@dataclass(frozen=True)
class Grid:
    """What was asked for. ``methods`` None: those that fit the data. ``source``: features=, root=, images=, backbone=.

    ``settings``: texts NAME=VALUE for every run, as ``icr run -p`` takes them. ``tuned``: False for the default
    settings (published constants), True for what a search over all settings chose. ``device``: what the profile sends
    runs to, "cuda", where that may be another machine than this one; None: what this machine has. ``keep``: the folder
    below records/studies that gets each record, too.
    """

    dataset: str
    methods: tuple[str, ...] | None = None
    losses: tuple[str, ...] = LOSSES
    seeds: tuple[int, ...] = (0, 1, 2)
    tuned: tuple[bool, ...] = (False,)
    source: Mapping[str, str] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    smoke: bool = False
    device: str | None = None
    keep: str = ""

    def checked(self) -> Grid:
        """The same with one spelling for each name; ``ValueError`` with "did you mean" for an unknown one."""
        choose(self.dataset, DATASETS, "dataset")
        if self.keep and not re.fullmatch("[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", self.keep):
            raise ValueError(
                f"KEEP={self.keep}: the name of a folder in records/studies, of letters, digits, '_', '-' and '.'"
            )
        for name in (text.partition("=")[0] for text in self.settings):
            if name in (*AXES, *OURS):
                way = f"give {AXES[name]}=" if name in AXES else "it follows from the grid"
                raise ValueError(f"SETTINGS: {name} is no setting of a run here; {way}")
        methods = None if self.methods is None else tuple(METHODS.canonical(name) for name in self.methods)
        source = {
            name: str(Path(value).resolve()) if name in ("features", "root") else value
            for name, value in self.source.items()
        }
        losses = tuple(canonical(name) for name in self.losses)
        return replace(self, methods=methods, losses=losses, source=source)


def planned(grid: Grid, tuning: Callable[[str, str, str], dict] | None = None) -> list[Run]:
    """All runs of a grid in the order seed, method, loss, tuned; each configuration once.

    The data is read for it, for what a run is depends on it: a draw of ``scenes`` takes seconds. ``tuning(dataset,
    method, loss)`` gives the settings of a tuned run. ``ValueError`` or ``FileNotFoundError`` say what does not fit or
    is missing, before anything starts.
    """
    grid = grid.checked()
    made: dict[str, Run] = {}
    sets: dict[tuple, Dataset] = {}
    for seed in grid.seeds:
        for method in grid.methods or _fitting(grid, sets, seed):
            data = _data(grid, sets, seed, method)
            for loss, tuned in product(grid.losses, grid.tuned):
                best = tuning(grid.dataset, method, loss) if tuned else {}
                run = _run(grid, data, method, loss, seed, tuned, best)
                made.setdefault(run.identity, run)
    return list(made.values())


def _run(grid: Grid, data: Dataset, method: str, loss: str, seed: int, tuned: bool, best: dict) -> Run:
    base = {"dataset": grid.dataset, "method": method, "loss": loss, "seed": seed}
    given = best | parse(grid.settings, parameters.declared(NOTEBOOK), NOTEBOOK, base)
    elsewhere = unread.MACHINE if grid.device else ()  # whether that machine has them, this one cannot say
    here = {name: value for name, value in given.items() if name not in elsewhere}
    config = resolve(data, method, loss, seed=seed, smoke=grid.smoke, given=here).flat()
    config |= {"device": grid.device or config["device"]} | unread.of_machine(given)
    return Run(
        grid.keep,
        data.name,
        method,
        config["loss"],
        seed,
        "tuned" if tuned else "",
        given,
        dict(grid.source) | _data_options(grid, method),
        smoke=grid.smoke,
        resolved=config,
    )


def _data_options(grid: Grid, method: str) -> dict:
    return {"regions": True} if has_regions(grid.dataset) and method and _takes_regions(method) else {}


def _takes_regions(method: str) -> bool:
    return METHODS.find(method).takes == "regions"


def _fitting(grid: Grid, sets: dict, seed: int) -> tuple[str, ...]:
    """The methods that take these features; data that is drawn with regions has both kinds."""
    if has_regions(grid.dataset):
        return USUAL
    shape = tuple(_data(grid, sets, seed, None).train.features.shape[1:])
    return tuple(method for method in USUAL if not unread.misfit(method, shape))


def _data(grid: Grid, sets: dict, seed: int, method: str | None) -> Dataset:
    """The data of one seed, read once; checked against what ``method`` takes."""
    options = _data_options(grid, method) | ({"seed": seed} if grid.dataset in DRAWN else dict(grid.source))
    key = tuple(sorted(options.items()))
    if key not in sets:
        sets.clear()  # one at a time in memory: seeds are the outermost loop
        try:
            sets[key] = load_dataset(grid.dataset, smoke=grid.smoke, **options)
        except (ValueError, FileNotFoundError) as err:
            raise type(err)(f"{err}\n{_way_to_data(grid)}") from err
    data = sets[key]
    shape = tuple(data.train.features.shape[1:])  # of pictures, too: a network in the model makes one vector of each
    if wrong := method and unread.misfit(method, shape):
        more = " --regions 4" if _takes_regions(method) else ""
        raise ValueError(
            f"{wrong}. Leave METHODS out for those that fit, or make other features: "
            f"icr features PHOTOS FOLDER{more}, then FEATURES=FOLDER"
        )
    return data


def _way_to_data(grid: Grid) -> str:
    if grid.dataset in DRAWN:
        return f"DATASET={grid.dataset} is drawn here and takes neither FEATURES= nor PHOTOS="
    return (
        f"make reproduce DATASET={grid.dataset} FEATURES=FOLDER takes features, PHOTOS=FOLDER the photos themselves; "
        "icr features PHOTOS FOLDER makes features from photos, icr data check PHOTOS says what is wrong with them. "
        "Where each can be had: the book's page on datasets"
    )


@dataclass
class Plan:
    """``there``: runs with the record that holds them; ``missing``: runs to train; ``notes``: on damaged records."""

    there: list[tuple[Run, Path]]
    missing: list[Run]
    notes: list[str]

    def text(self) -> str:
        count = len(self.there) + len(self.missing)
        lines = [f"{count} runs: {len(self.there)} finished, {len(self.missing)} to train"]
        lines += [f"  finished  {run}: {_short(path)}" for run, path in self.there]
        return "\n".join([*lines, *(f"  to train  {run}: {run.folder}" for run in self.missing), *self.notes])


def plan(runs: Iterable[Run], folder: Path, fresh: bool = False) -> Plan:
    """Sort ``runs`` into those that are there and those to train; ``fresh`` does not count the book's records."""
    damaged: list[str] = []
    known = [] if fresh else index.outlines(damaged=damaged)
    held = {record["identity"]: Path(record["path"]) for record in known if "identity" in record}
    found = Plan([], [], [f"damaged, so counted as missing: {one}; git checkout brings it back" for one in damaged])
    for run in runs:
        own, place = folder / run.folder / "record.json", held.get(run.identity) if run.resolved else run.path
        if own.exists():
            try:
                place = Path(files.load(own)["path"])
            except (ValueError, OSError) as err:
                found.notes.append(f"damaged, so counted as missing: {err}; its run ends again from its checkpoint")
        if place and files.exists(place):
            found.there.append((run, place))
        else:
            found.missing.append(run)
    return found


def _short(path: Path) -> str:
    """A path below the checkout as one types it there."""
    path = Path(path).resolve()
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def write(missing: Iterable[Run], folder: Path = RUNS, given: Mapping[str, int] | None = None) -> Path:
    """Write what each missing run needs into its folder, and the list of them for the Snakefile.

    ``given``: ``mem_mb``, ``runtime`` and ``threads`` of every run, instead of what :func:`needs` says.
    """
    runs = {}
    for run in missing:
        record = str(run.path) if run.study and not run.smoke else None
        about = {"parameters": run.parameters, "record": record}
        write_bytes(folder / run.folder / "parameters.json", json.dumps(about, indent=1).encode())
        runs[run.folder] = needs(run) | (given or {}) | {"grows": "mem_mb" not in (given or {})}
    text = json.dumps(runs, indent=1)
    path = folder / "plans" / f"{sha256_of(text)[:10]}.json"
    write_bytes(path, text.encode())
    return path


def needs(run: Run) -> dict[str, int]:
    """What a scheduler is asked for: threads, MB of memory and minutes."""
    threads = PICTURE_THREADS if run.data.get("images") == "published" else 1
    return {"threads": threads, "mem_mb": UNKNOWN_MB, "runtime": UNKNOWN_MINUTES}


def set_aside(runs: Iterable[Run], folder: Path = RUNS) -> None:
    """Before a start: damaged records out of the way (kept under another name), marks of earlier failures removed."""
    for run in runs:
        own = folder / run.folder
        (own / "failed.txt").unlink(missing_ok=True)
        if (own / "record.json").exists():  # else it would not be missing
            os.replace(own / "record.json", own / "record.json.damaged")
