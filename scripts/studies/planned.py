"""What all lists of runs are made of: sizes and draws that they share, and what a search chose."""

from __future__ import annotations

from collections.abc import Iterable

import click

from icrlib import records
from icrlib.names import METHODS
from icrlib.studies import Run, studies

VAL, TEST = 500, 1000
RATES, UPDATES, WARMUP = (1e-3, 3e-3, 1e-2), 3000, 500
ECIR = ("triplet", "triplet_sh", "ntxent", "smoothap")
# Draws of data on which settings are chosen; no claim is judged on them.
TUNING_DRAWS, CLAIM_DRAWS, FEWER_DRAWS = (100, 101, 102), tuple(range(10)), tuple(range(5))


def scenes(
    study: str, method: str, loss: str, seed: int, tag: str, settings: dict, train: int = 1500, **more: object
) -> Run:
    """A run on its own draw of scenes: data, weights and batches follow from one seed; boxes for what reads regions.

    ``more``: options of the data, such as ``phrasing="apart"``.
    """
    data = {"seed": seed, "train": train, "val": VAL, "test": TEST}
    data |= {"regions": True} if METHODS.find(method).takes == "regions" else {}
    return Run(study, "scenes", method, loss, seed, tag, settings, data | more)


def sized(method: str) -> dict:
    """The sizes of a model on scenes, given explicitly where a search is to outlast other defaults."""
    return {"embed_dim": 128} | ({"word_dim": 64} if method != "bow" else {})


def chosen(study: str | tuple[str, ...], method: str, loss: str, among: dict | None = None, **fixed: object) -> dict:
    """What a search, or several, chose for a method and a loss.

    ``fixed``: among candidates with these options of the loss only. ``among``: among runs with these settings only,
    such as ``{"batch_size": 32}``; "train" is a size of the data, and options of the model count, too.
    """
    found = [
        record
        for name in ((study,) if isinstance(study, str) else study)
        for record in records.outlines(name, method=method, loss=loss)
        if all(record["config"]["loss_options"][name] == value for name, value in fixed.items())
        and all(
            (record["config"] | record["config"]["data_options"] | record["config"]["model_options"])[name] == value
            for name, value in (among or {}).items()
        )
    ]
    if not found:
        return {}
    from icrlib import evidence  # only here: most lists need none of it, nor the second that it takes to import

    best = evidence.choices(found)[method, loss]
    winner = next(
        config
        for config in (record["config"] for record in found)
        if (config | config["loss_options"] | config["model_options"]).items() >= best.items()
    )
    # All that the winner was given, and not only what the search moved: a start that all candidates shared counts, too.
    return {name: value for name, value in winner.get("asked", {}).items() if name != "device"} | best


def best(runs: Iterable[Run], tag: str = "") -> Run:
    """Of finished runs whose tags begin with ``tag``, the one with the highest validation rsum."""
    tried = [run for run in runs if run.tag.startswith(tag)]
    return max(tried, key=validation)


def validation(run: Run) -> float:
    """The validation rsum of a finished run, at its chosen evaluation."""
    return records.load(run.path)["chosen"]["val_rsum"]


def searched(search: str, losses: Iterable[str]) -> list[str]:
    """Those of ``losses`` whose own search is finished; says which are not, and refuses where none is."""
    left = {run.loss for run in studies[search].missing()}
    found = [loss for loss in losses if loss not in left]
    if not found:
        studies[search].ready()
    if waiting := [loss for loss in losses if loss in left]:
        click.echo(
            f"left out, since their search is not finished: {', '.join(waiting)}; make records STUDY={search} first",
            err=True,
        )
    return found


def finished(search: str) -> bool:
    """Whether a search is finished; says so if not. For lists of which a part can be trained before it is."""
    if left := len(studies[search].missing()):
        click.echo(f"the rest waits for {left} runs of a search; make records STUDY={search} first", err=True)
    return not left
