"""Ask the models of runs on scenes what a linear map can read from them: lines of records/probes.jsonl.

KEYS name the runs, as a page has them: `[run["key"] for run in runs("scenes", ...)]`. Beside a run, the vectors that it
had to decode (its target) are asked the same. A model is taken from runs/, where `icr train PAGE` left it; one that is
not there is trained again, with the settings of its record. Lines that are there are not made again.
"""

from __future__ import annotations

import json

import click
import torch

import icrlib
from icrlib import probes, records
from icrlib.data.splits import Dataset
from icrlib.data.targets import teacher, vectors
from icrlib.data.targets.teachers import TEACHERS
from icrlib.experiments import probed, store
from icrlib.experiments.named import train_one
from icrlib.files import write_bytes
from icrlib.models.base import RetrievalModel
from icrlib.names import handed
from icrlib.progress import bar


@click.command(help=__doc__)
@click.argument("keys", nargs=-1, required=True)
def main(keys: tuple[str, ...]) -> None:
    torch.set_num_threads(1)
    runs = [recorded(key) for key in keys]
    if strange := {run["config"]["dataset"] for run in runs} - {"scenes"}:
        raise click.ClickException(
            f"of {', '.join(sorted(strange))} nobody knows what is in a picture; probes are for scenes"
        )
    for run in bar(runs, "probing"):
        data = None
        for about in [{"key": run["key"]}, *_targets(run)]:
            if any(about.items() <= line.items() for line in probed.lines()):
                continue
            data = data or icrlib.load_dataset("scenes", **run["config"]["data_options"])
            keep(about | {"data_hash": run["data_hash"]}, found(about, run, data))


def recorded(key: str) -> dict:
    """The book's or a reader's record of the run with this key."""
    of_book = (path for path in records.below() if path.stem == key)
    path = next(of_book, None) or next(store.trained().rglob(f"{key}/record.json"), None)
    if path is None:
        raise click.ClickException(f"no record has the key {key!r}; `icr train PAGE` makes those that a page names")
    return records.load(path) | {"key": key}


def _targets(run: dict) -> list[dict]:
    """The target of a run on its data, as what a line is about; none for a run that decodes none."""
    name = (run["config"].get("auxiliary_options") or {}).get("target")
    return [{"target": name, "data_hash": run["data_hash"]}] if name else []


def found(about: dict, run: dict, data: Dataset) -> dict:
    """{"caption": {fact: percent right}, …} of a run's model, or of the target's vectors, and chance."""
    again = None
    if "target" in about:
        target = teacher(handed(run["path"], "target", about["target"], None, TEACHERS))
        splits = {name: getattr(data, name) for name in ("train", "val", "test")}
        of = {name: (None, vectors(split.captions, target, progress=False)) for name, split in splits.items()}
        table = probes.read(of, splits, kinds=("caption",))
    else:
        model, again = model_of(run, data)
        table = probes.probe(model, data)
    facts = {of: {row.fact: round(row.accuracy, 3) for row in part.itertuples()} for of, part in table.groupby("of")}
    chance = {of: {row.fact: round(row.chance, 3) for row in part.itertuples()} for of, part in table.groupby("of")}
    return {"facts": facts, "chance": chance} | ({"again": again} if again is not None else {})


def model_of(run: dict, data: Dataset) -> tuple[RetrievalModel, float | None]:
    """The model that the run left in runs/, which must have the record's test rsum; else one that is trained again in
    runs/again/, with its own test rsum, which another machine may move."""
    config, noted = run["config"], run["test"]["rsum"]
    place = store.place_of("scenes", config["method"], config["loss"], run["key"])
    if not (store.trained() / place / "model.safetensors").is_file():
        if config.get("start_from"):
            raise click.ClickException(f"{run['key']}: a second stage, whose first nobody kept; train both anew")
        folder = store.trained() / "again" / place
        named = {name: config[name] for name in ("dataset", "method", "loss", "seed", "data_seed")}
        options = {name: value for name, value in config["data_options"].items() if name != "seed"}
        train_one(named | options | config["asked"] | {"device": "cpu"}, folder)
        return icrlib.load_model(folder), records.load(folder / "record.json")["test"]["rsum"]
    model = icrlib.load_model(store.trained() / place)
    if abs((got := icrlib.evaluate(model, data.test)["rsum"]) - noted) > 0.5:
        raise click.ClickException(
            f"{run['key']}: this model has a test rsum of {got:.1f}, the record {noted:.1f}; "
            f"remove {store.trained() / place}, and it is trained again"
        )
    return model, None


def keep(about: dict, found: dict) -> None:
    """Append a line; the file is written whole or not at all."""
    lines = [*probed.lines(), about | found]
    text = "".join(json.dumps(line, ensure_ascii=False, sort_keys=True) + "\n" for line in lines)
    write_bytes(records.root() / probed.LINES, text.encode())


if __name__ == "__main__":
    main()
