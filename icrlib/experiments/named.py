"""Runs by what they are: data set, model, loss, seed and settings. What that resolves to names their records."""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from icrlib import records
from icrlib.data.load import DRAWN, load_dataset
from icrlib.errors import choose
from icrlib.experiments import keys, photo_intervals, record_settings, store
from icrlib.experiments.intervals import Estimate, over_pairs
from icrlib.names import METHODS
from icrlib.training.run import train

Pair = tuple[str, str]  # a model and a loss
skipped: list[dict] = []  # arguments of the runs that missing="skip" left out; `icr train PAGE` clears and reads it


class Chosen(NamedTuple):
    """What :func:`runs` takes as ``at=``: settings for each model and loss, and the names of those that were moved."""

    best: Mapping[Pair, dict]
    moved: Mapping[Pair, set[str]]


class Missing(LookupError):
    """Runs that no record is of. ``wanted``: each as the arguments of :func:`runs` that name it alone."""

    def __init__(self, wanted: list[dict], of: int) -> None:
        self.wanted = wanted
        first = ", ".join(f"{name} {value}" for name, value in wanted[0].items())
        super().__init__(
            f"{len(wanted)} of {of} runs have no record, the first: {first}. `icr train PAGE` trains all that a page "
            'lacks, and runs(..., missing="train") these, here'
        )


class Runs(Sequence):
    """Records of runs. ``runs[0]`` is the first; ``runs["ntxent"]`` and ``runs["vse++", "ntxent"]`` are those of a loss
    and a model, and :meth:`only` those of any setting.

    ``given``: the settings that each was named with, by key. ``searched``: {(method, loss): names of settings that a
    search moved}, which :func:`icrlib.compare` lets differ.
    """

    def __init__(self, records: Iterable[Mapping], given: Mapping | None = None, searched: Mapping | None = None):
        self.records = list({record["key"]: record for record in records}.values())
        self.given, self.searched = dict(given or {}), dict(searched or {})

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        groups = self.by("method", "loss").items()
        return f"Runs({', '.join(f'{m} with {loss}: {len(group)}' for (m, loss), group in groups)})"

    def __getitem__(self, which):
        if isinstance(which, (int, slice)):
            return self.records[which]
        names = which if isinstance(which, tuple) else (which,)
        chosen = [r for r in self if set(names) <= {r["config"]["method"], r["config"]["loss"]}]
        if not chosen:
            pairs = sorted({(r["config"]["method"], r["config"]["loss"]) for r in self})
            raise KeyError(f"no runs with {' and '.join(names)}; these are of {pairs}")
        return self._of(chosen)

    def __add__(self, other: Runs) -> Runs:
        pairs = self.searched | other.searched
        both = {pair: self.searched.get(pair, set()) | other.searched.get(pair, set()) for pair in pairs}
        return Runs([*self, *other], self.given | other.given, both)

    def only(self, **values) -> Runs:
        """The runs with these settings; a list or a range as a value stands for any of it."""
        return self._of(r for r in self if all(setting(r, name) in listed(value) for name, value in values.items()))

    def by(self, *names: str) -> dict:
        """{value: runs} of a setting, or {(value, value): runs} of several, in the order in which they come."""
        groups: dict = {}
        for record in self:
            values = tuple(setting(record, name) for name in names)
            groups.setdefault(values[0] if len(names) == 1 else values, []).append(record)
        return {value: self._of(group) for value, group in groups.items()}

    def values(self, of: str | Callable = "test.rsum") -> np.ndarray:
        """A number of each run, by rising seed, (n,). ``of``: a path into the record, or a function of it."""
        return np.array([record_settings.measured(r, of) for r in sorted(self, key=record_settings.seed)])

    def mean(self, of: str | Callable = "test.rsum") -> float:
        """Mean over runs that differ in their seed only; ``ValueError`` for others: it would be no mean of anything."""
        self._one_setting()
        return float(self.values(of).mean())

    def sd(self, of: str | Callable = "test.rsum", ddof: int = 1) -> float:
        """Standard deviation over seeds; with ``ddof=0`` divided by n, as the papers print it."""
        self._one_setting()
        return float(self.values(of).std(ddof=ddof))

    def estimate(self, of: str | Callable = "test.rsum") -> Estimate:
        """The mean with its standard error: over draws of data, or of photos over seeds and test photos."""
        self._one_setting()
        if photo_intervals.applies(self.records, of):
            return photo_intervals.estimate(self.records, 0.0, of)
        return over_pairs(self.values(of), 0.0)

    def command(self, folder: str = "FOLDER") -> str:
        """What trains one of these runs on the command line; photos' features lie in ``folder``."""
        self._one_setting()
        config, given = self[0]["config"], dict(self.given[self[0]["key"]])
        seed, draw, regions = config["seed"], config["data_seed"], config["data_options"].get("regions")
        more = {"regions": regions or None, "seed": seed or None, "data_seed": draw if draw != seed else None}
        more |= {} if config["dataset"] in DRAWN else {"regions": None, "features": folder}
        parts = {name: config[name] for name in ("dataset", "method", "loss")}
        given = {name: value for name, value in (parts | given | more).items() if value is not None}
        given |= {"start_from": "FIRST_STAGE"} if "start_from" in given else {}
        return "icr run book/reproduce/run.ipynb " + " ".join(f"-p {shlex.quote(f'{n}={v}')}" for n, v in given.items())

    def _of(self, chosen: Iterable[Mapping]) -> Runs:
        return Runs(chosen, self.given, self.searched)

    def _one_setting(self) -> None:
        groups = record_settings.by_settings(self.records)
        if len(groups) != 1:
            first, *more = (group.settings for group in groups) if groups else [{}]
            names = [name for name in first if any(one[name] != first[name] for one in more)]
            raise ValueError(f"runs of {len(groups)} settings ({', '.join(names)}), where one is wanted; use only(...)")


def runs(dataset: str, *, method="vse++", loss="ntxent", seed=0, at=None, missing: str = "error", **settings) -> Runs:
    """The runs of all combinations of what is given as a list or a range, each by its record.

    ``settings``: those of :func:`icrlib.train` and options of the data (``train=6000``); what is left out is as there.
    Of drawn data, run s draws its own with its seed, unless ``data_seed=`` is given. ``at``: each model and loss is
    taken at what was chosen for it, unless a setting is given: by a :class:`icrlib.experiments.Search`, in {(method,
    loss): settings}, or on the page of settings (``"searched"``, or ``"searched, NAME"`` for another of its searches).
    Photos: ``train=400``, ``regions=True``, ``features="album"`` name what the records know; your own are
    ``features=folder``, or with fresh crops ``root=folder, images="published"``.

    ``start_from={"dataset": "scenes", "updates": 3000}``: these runs are second stages (:func:`icrlib.train`), of first
    ones with these settings, and with their own method, loss and seed.

    Where records are missing: :class:`Missing` says how many (``missing="error"``); or they are trained here, one after
    the other, each going on from its checkpoint if the kernel was killed (``"train"``); or left out (``"skip"``), where
    ``icr train PAGE`` trains them nevertheless.
    ``ValueError`` for a name or a value that no run takes.
    """
    if missing not in ("error", "train", "skip"):
        raise ValueError(f'missing={missing!r} must be "error", "train" or "skip"')
    best, moved = _chosen(at, dataset)
    axes = {"method": method, "loss": loss, **settings, "seed": seed}
    kept, given, lacking = [], {}, []
    for values in itertools.product(*map(listed, axes.values())):
        one = dict(zip(axes, values, strict=True))
        if best and (one["method"], one["loss"]) not in best:
            raise ValueError(f"nothing was chosen for {one['method']} with {one['loss']}; only for {sorted(best)}")
        one = {"dataset": dataset} | best.get((one["method"], one["loss"]), {}) | one
        record = _record(one, missing == "train")
        if record is None:
            lacking.append(one)
            continue
        kept.append(record)
        given[record["key"]] = {name: value for name, value in one.items() if name not in keys.NAMES}
    if lacking and missing != "skip":
        raise Missing(lacking, len(lacking) + len(kept))
    skipped.extend(lacking)
    return Runs(kept, given, moved)


def searched() -> dict[str, Chosen]:
    """What the page of settings found, ``records/settings.json``: {"scenes": …, "scenes, own constants": …, …}."""
    table = json.loads((records.root() / "settings.json").read_text(encoding="utf-8"))
    return {
        name: Chosen(
            {(row["method"], row["loss"]): row["settings"] for row in rows},
            {(row["method"], row["loss"]): set(row["moved"]) for row in rows},
        )
        for name, rows in table.items()
    }


def setting(record: Mapping, name: str):
    """A setting of a run by its short name: "lr", "tau", "ngrams", "train"; None where it has none of that name."""
    config = record["config"]
    for part in (config, *(config[f"{kind}_options"] for kind in ("loss", "model", "auxiliary", "data"))):
        if name in part:
            return part[name]
    known = (row["options"] for row in keys.photos() if row["fingerprint"] == config["data_hash"])
    return next(known, {}).get(name, METHODS.find(config["method"]).neutral.get(name))


def listed(value) -> list:
    """The values of an axis: a list, a range, or one value."""
    return list(value) if isinstance(value, (list, tuple, range, set)) else [value]


def _chosen(at, dataset: str) -> Chosen:
    if isinstance(at, str):
        name = at.replace("searched", dataset, 1)
        choose(name, table := searched(), "search of the page of settings")
        return table[name]
    best = getattr(at, "best", at) or {}
    return Chosen(best, getattr(at, "moved", None) or {pair: set(settings) for pair, settings in best.items()})


def _record(one: Mapping, train: bool) -> dict | None:
    place = store.place_of(one["dataset"], one["method"], one["loss"], keys.key(one))
    record = store.load(place)
    if record is None and train:
        train_one(one, store.trained() / place)
        record = store.load(place)
    return record


def train_one(one: Mapping, folder: Path, features: str | Path | None = None) -> None:
    """Train one run, named as for :func:`icrlib.runs`, in ``folder``; killed and called again, it goes on.

    Its first stage (``start_from``) is trained before, where that has left no weights here.
    ``features``: the folder of the photos' features. ``ValueError`` where that is needed and not given, or holds other
    photos than the run names.
    """
    for first in keys.stages_before(one):
        train_one(first, keys.folder(first), features)
    source = keys.source_of(one)
    given = {name: value for name, value in keys.for_training(one).items() if name not in (*keys.NAMES, *source)}
    if one["dataset"] in DRAWN:
        regions = {"regions": True} if METHODS.find(one["method"]).takes == "regions" else {}
        draw = one["seed"] if one.get("data_seed") is None else one["data_seed"]
        data = load_dataset(one["dataset"], seed=draw, **regions | source)
    elif source.get("root"):
        data = load_dataset(one["dataset"], **source)
    else:
        data = load_dataset(one["dataset"], **_photos(source, features))
        wanted = keys.resolved(one)["data_hash"]
        if not data.fingerprint.startswith(wanted[:8]):
            raise ValueError(f"{features}: other photos, or features of them, than the page's runs are of")
    train(data, one["method"], one["loss"], seed=one["seed"], out=folder, **given)


def _photos(source: Mapping, features: str | Path | None) -> dict:
    folder = source.get("features", features) if Path(str(source.get("features"))).is_dir() else features
    if folder is None:
        raise ValueError("these runs are of photos: say where their features lie, `icr train PAGE --features FOLDER`")
    return {name: value for name, value in source.items() if name not in ("features", "regions")} | {"features": folder}
