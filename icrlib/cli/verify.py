"""Run records again after a change of code: did it move anything?"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib.metadata import version

from icrlib import devices
from icrlib.data.load import DRAWN, load_dataset
from icrlib.records import ledger, sources
from icrlib.records.files import find
from icrlib.training.run import train
from icrlib.training.settings import SETTINGS

COST = (
    "wall_seconds",
    "seconds_per_epoch",
    "peak_memory_mb",
    "device",
    "versions",
    "threads",
    "sources",
    "path",
    "stale",
)


def verify(sample: int, folders: dict[str, list[str]], dry_run: bool, say: Callable[[str], None]) -> int:
    """Exit status: 0 if nothing is stale (any more), 1 if something differs or could not be run again."""
    stale = [record for record in find(study="*") if record["stale"] and "sources" in record]
    say(f"{len(stale)} of {len(find(study='*'))} records list a source that differs now")
    if not stale:
        return 0
    for file in sorted({file for record in stale for file in record["stale"]}):
        say(f"  {file}: {sum(file in record['stale'] for record in stale)} records")
    usable = _usable(stale, folders, say)
    chosen = _sample(usable, sample)
    hours = sum(record["wall_seconds"] for record in chosen) / 3600
    say(f"{len(chosen)} of them to run again, about {hours:.1f} core-hours")
    if dry_run or not chosen:
        return 1
    lines = []
    for record in chosen:
        differs = differences(record, again(record, folders))
        say(f"{record['path']}: " + (f"differs in {', '.join(differs[:5])}" if differs else "bit-identical"))
        if differs:
            return 1
    for file, old in sorted({(file, record["sources"][file]) for record in stale for file in record["stale"]}):
        ran = [r["identity"] for r in chosen if r["sources"].get(file) == old]
        lines.append(
            {
                "file": file,
                "old": old,
                "new": sources.now(file),
                "records": ran,
                "torch": version("torch"),
                "device": devices.describe("cpu"),
            }
        )
    if any(line["new"] is None or not line["records"] for line in lines):
        gone = ", ".join(line["file"] for line in lines if line["new"] is None or not line["records"])
        say(f"nothing noted: {gone} is gone, or no record that lists it was run again")
        return 1
    ledger.append(lines)
    say(f"noted {len(lines)} equivalences in {ledger.path()}")
    return 0


def _usable(stale: list[dict], folders: dict[str, list[str]], say: Callable[[str], None]) -> list[dict]:
    """The records that can be run again here: the same processor, the same PyTorch, and their data are at hand."""
    here = {**devices.describe("cpu"), "torch": version("torch")}
    same = [record for record in stale if record["device"] | {"torch": record["versions"]["torch"]} == here]
    if len(same) < len(stale):
        say(
            f"{len(stale) - len(same)} were made on another machine than {', '.join(here.values())}; bit-identity can "
            "only be told on the same kind"
        )
    usable = [record for record in same if _data(record, folders) is not None]
    if len(usable) < len(same):
        say(f"{len(same) - len(usable)} were trained on other photos than are in the folders of --dataset")
    return usable


def _sample(stale: list[dict], size: int) -> list[dict]:
    """The quickest ``size`` records of each (data set, method, loss, auxiliary, old sources)."""
    groups: dict[tuple, list[dict]] = {}
    for record in stale:
        config = record["config"]
        key = (
            *(config.get(name) for name in ("dataset", "method", "loss", "auxiliary")),
            *sorted(record["sources"].items()),
        )
        groups.setdefault(key, []).append(record)
    return [record for group in groups.values() for record in sorted(group, key=lambda r: r["wall_seconds"])[:size]]


def again(record: dict, folders: dict[str, list[str]]) -> dict:
    """The record that the same run leaves now."""
    config = record["config"]
    where = _data(record, folders)
    data = load_dataset(config["dataset"], **({"features": where} if where else {}), **config["data_options"])
    return train(data, config["method"], config["loss"], seed=config["seed"], **as_given(config)).record


def _data(record: dict, folders: dict[str, list[str]]) -> str | None:
    """The folder that holds the record's data, "" for drawn data; None where no folder has the same photos."""
    config = record["config"]
    if config["dataset"] in DRAWN:
        return ""
    if config["dataset"] not in folders:
        raise ValueError(f"{record['path']}: say where its features are, --dataset {config['dataset']}=FOLDER")
    hashes = {
        folder: _fingerprint(config["dataset"], folder, json.dumps(config["data_options"], sort_keys=True))
        for folder in folders[config["dataset"]]
    }
    return next((folder for folder, found in hashes.items() if found == record["data_hash"]), None)


@cache
def _fingerprint(dataset: str, folder: str, options: str) -> str:
    return load_dataset(dataset, features=folder, **json.loads(options)).fingerprint


def as_given(config: dict) -> dict:
    """Settings and options that make this very run, whatever the defaults are by now."""
    budget = ("updates", "epochs", "lr_update")
    values = {name: config[name] for name in SETTINGS if config.get(name) is not None and name not in budget}
    usual = config["schedule"] != "step" or config["drops"] == [config["updates"] // 2]
    if usual and "epochs" not in config["asked"]:
        values["updates"] = config["updates"]
    else:
        values |= {name: config["asked"][name] for name in budget if name in config["asked"]}
    owned = {owner: config[f"{owner}_options"] for owner in ("model", "loss", "auxiliary")}
    shared = {name for options in owned.values() for name in options}  # a setting of such a name must be spelled out
    values = {f"setting_{name}" if name in shared else name: value for name, value in values.items()}
    return values | {f"{owner}_{name}": value for owner, options in owned.items() for name, value in options.items()}


def differences(first: dict, second: dict, prefix: str = "") -> list[str]:
    """Keys in which two records differ, cost and machine aside; config counts by its identity."""
    left, right = ({k: v for k, v in r.items() if k not in (*COST, "config")} for r in (first, second))
    return [f"{prefix}{key}" for key in {**left, **right} if left.get(key) != right.get(key)]
