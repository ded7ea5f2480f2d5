"""What all lists of runs are made of: one planned run, the register of the studies, and what a search chose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click

from icrlib import evidence, records

VAL, TEST = 500, 1000
RATES, UPDATES, WARMUP = (1e-3, 3e-3, 1e-2), 3000, 500
ECIR = ("triplet", "triplet_sh", "ntxent", "smoothap")
# Draws of data on which settings are chosen; no claim is judged on them.
TUNING_DRAWS, CLAIM_DRAWS, FEWER_DRAWS = (100, 101, 102), tuple(range(10)), tuple(range(5))
STUDIES: dict[str, Callable[[], Iterator[Planned]]] = {}


def registered(plan: Callable[[], Iterator[Planned]]) -> Callable[[], Iterator[Planned]]:
    """Register the runs that ``plan`` lists as the study of its name."""
    STUDIES[plan.__name__] = plan
    return plan


@dataclass(frozen=True)
class Planned:
    """One run: ``data`` options of its data set, its parts, and the ``settings`` that are given; ``tag``: its name.

    ``photos``: it is trained on so many of the training photos only (:func:`studies.flickr8k.fewer`); None: on all.
    """

    study: str
    dataset: str
    method: str
    loss: str
    seed: int
    tag: str
    settings: dict = field(default_factory=dict)
    data: dict = field(default_factory=dict)
    photos: int | None = None

    @property
    def path(self) -> Path:
        return records.path_for(self.dataset, self.method, self.loss, self.seed, self.tag, self.study)


def scenes(study: str, method: str, loss: str, seed: int, tag: str, settings: dict, train: int = 1500) -> Planned:
    """A run on its own draw of scenes: data, weights and batches follow from one seed; VSRN sees boxes."""
    data = {"seed": seed, "train": train, "val": VAL, "test": TEST} | ({"regions": True} if method == "vsrn" else {})
    return Planned(study, "scenes", method, loss, seed, tag, settings, data)


def sized(method: str) -> dict:
    """The sizes of a model on scenes, given explicitly where a search is to outlast other defaults."""
    return {"embed_dim": 128} | ({"word_dim": 64} if method != "bow" else {})


def chosen(study: str, method: str, loss: str, among: dict | None = None, **fixed: object) -> dict:
    """What a search chose for a method and a loss; ``fixed``: among candidates with these options of the loss only.

    ``among``: among runs with these settings only, such as ``{"batch_size": 32}``; "train" is a size of the data.
    """
    found = [
        record
        for record in records.find(study=study, method=method, loss=loss)
        if all(record["config"]["loss_options"][name] == value for name, value in fixed.items())
        and all(
            (record["config"] | record["config"]["data_options"])[name] == value
            for name, value in (among or {}).items()
        )
    ]
    if not found:
        return {}
    best = evidence.choices(found)[method, loss]
    winner = next(
        config
        for config in (record["config"] for record in found)
        if (config | config["loss_options"] | config["model_options"]).items() >= best.items()
    )
    # All that the winner was given, and not only what the search moved: a start that all candidates shared counts, too.
    return {name: value for name, value in winner.get("asked", {}).items() if name != "device"} | best


def search_of(dataset: str, method: str, loss: str) -> tuple[str, str] | None:
    """The list of candidates for a method and a loss on a data set, and the study that their records are in."""
    for name in ("tuning", "photo_tuning", "photo_smoothap_tuning"):
        for run in STUDIES[name]():
            if (run.dataset, run.method, run.loss) == (dataset, method, loss):
                return name, run.study
    return None


def best(runs: Iterable[Planned], tag: str = "") -> Planned:
    """Of finished runs whose tags begin with ``tag``, the one with the highest validation rsum."""
    tried = [run for run in runs if run.tag.startswith(tag)]
    return max(tried, key=validation)


def validation(run: Planned) -> float:
    """The validation rsum of a finished run, at its chosen evaluation."""
    return records.load(run.path)["chosen"]["val_rsum"]


def missing(study: str) -> Counter[str]:
    """How many runs of a study have no record, by loss."""
    return Counter(run.loss for run in STUDIES[study]() if not run.path.exists())


def complete(study: str) -> None:
    """Refuse to go on from a search that is not finished: the best of what is there may not be the best."""
    if left := missing(study).total():
        raise click.ClickException(f"{left} runs of the search are missing; make records STUDY={study} first")


def searched(study: str, losses: Iterable[str]) -> list[str]:
    """Those of ``losses`` whose own search is finished; says which are not, and refuses where none is."""
    left = missing(study)
    found = [loss for loss in losses if not left[loss]]
    if not found:
        complete(study)
    if waiting := [loss for loss in losses if left[loss]]:
        click.echo(
            f"left out, since their search is not finished: {', '.join(waiting)}; make records STUDY={study} first",
            err=True,
        )
    return found


def finished(study: str) -> bool:
    """Whether a search is finished; says so if not. For lists of which a part can be trained before it is."""
    if left := missing(study).total():
        click.echo(f"the rest waits for {left} runs of a search; make records STUDY={study} first", err=True)
    return not left
