"""Ask the models of a study on scenes what a linear map can read from them: lines of records/probes.jsonl.

Beside the runs, the vectors that they had to decode (their targets) are asked the same. A model is taken from runs/,
where `make records` left it; one that is not there is trained again, with the settings of its record. Lines that are
there are not made again.
"""

from __future__ import annotations

import json
from pathlib import Path

import click
import torch

import icrlib
from icrlib import probes, records
from icrlib.data.splits import Dataset
from icrlib.data.targets import teacher, vectors
from icrlib.data.targets.teachers import TEACHERS
from icrlib.files import write_bytes
from icrlib.models.base import RetrievalModel
from icrlib.names import handed
from icrlib.progress import bar
from icrlib.records import probed
from icrlib.studies import Run, studies
from icrlib.training.saved import load_model


@click.command(help=__doc__)
@click.argument("study")
def main(study: str) -> None:
    torch.set_num_threads(1)
    runs = [run for run in studies[study].runs() if run.done]
    if not runs:
        raise click.ClickException(f"{study} has no records yet; make records STUDY={study} first")
    if strange := {run.dataset for run in runs} - {"scenes"}:
        raise click.ClickException(
            f"{study} is about {', '.join(sorted(strange))}; probes know what is in a picture of scenes only"
        )
    for run in bar(runs, "probing"):
        record = records.load(run.path)
        data = None
        for about in [{"identity": record["identity"]}, *_targets(record)]:
            if any(about.items() <= line.items() for line in probed.lines()):
                continue
            data = data or icrlib.load_dataset(run.dataset, **run.data)
            keep(about | {"data_hash": record["data_hash"]}, asked(about, run, record, data))


def _targets(record: dict) -> list[dict]:
    """The target of a run on its data, as what a line is about; none for a run that decodes none."""
    name = (record["config"].get("auxiliary_options") or {}).get("target")
    return [{"target": name, "data_hash": record["data_hash"]}] if name else []


def asked(about: dict, run: Run, record: dict, data: Dataset) -> dict:
    """{"caption": {fact: percent right}, …} of a run's model, or of the target's vectors, and chance."""
    again = None
    if "target" in about:
        target = teacher(handed(run.path, "target", about["target"], None, TEACHERS))
        found = {
            name: (None, vectors(getattr(data, name).captions, target, progress=False))
            for name in ("train", "val", "test")
        }
        table = probes.read(found, {name: getattr(data, name) for name in found}, kinds=("caption",))
    else:
        model, again = model_of(run, record, data)
        table = probes.probe(model, data)
    facts = {of: {row.fact: round(row.accuracy, 3) for row in part.itertuples()} for of, part in table.groupby("of")}
    chance = {of: {row.fact: round(row.chance, 3) for row in part.itertuples()} for of, part in table.groupby("of")}
    return {"facts": facts, "chance": chance} | ({"again": again} if again is not None else {})


def model_of(run: Run, record: dict, data: Dataset) -> tuple[RetrievalModel, float | None]:
    """The model that the run left in runs/, which must have the record's test rsum; else one that is trained again in
    runs/again/, with its own test rsum, which another machine may move."""
    place = run.path.relative_to(records.root()).with_suffix("")
    folder, noted = Path("runs") / place, record["test"]["rsum"]
    if not (folder / "model.safetensors").is_file():
        again = icrlib.train(
            data, run.method, run.loss, seed=run.seed, out=Path("runs/again") / place, device="cpu", **run.settings
        )
        return again.model, again.record["test"]["rsum"]
    model = load_model(folder)
    if abs((got := icrlib.evaluate(model, data.test)["rsum"]) - noted) > 0.5:
        raise click.ClickException(
            f"{run.path.name}: this model has a test rsum of {got:.1f}, the record {noted:.1f}; "
            f"remove {folder}, and it is trained again"
        )
    return model, None


def keep(about: dict, found: dict) -> None:
    """Append a line; the file is written whole or not at all."""
    lines = [*probed.lines(), about | found]
    text = "".join(json.dumps(line, ensure_ascii=False, sort_keys=True) + "\n" for line in lines)
    write_bytes(records.root() / probed.LINES, text.encode())


if __name__ == "__main__":
    main()
