"""What to type: for runs that are missing, and to train what is recommended."""

from __future__ import annotations

from collections.abc import Mapping

from icrlib.evidence.decision.plan import MODELS, TITLES, Row, name_of
from icrlib.evidence.decision.rule import CONSTANTS, Decision, System
from icrlib.studies import studies

PHOTOS = {"dataset": "flickr8k", "features": "FOLDER"}
Lacking = dict[tuple[str, ...], dict[str, dict[System, tuple[int, int]]]]


def _commands(decision: Decision, row: Row, model: str, loss: str) -> tuple[str, ...]:
    """What makes a row's runs: the search first, unless it has runs of this loss and some run shows it is finished."""
    apart = row.study.apart.get((model, loss))  # a list of its own makes these runs
    runs = studies[apart] if apart else row.study
    search = studies[runs.search[0] if apart else row.searches[0]]
    started = decision.tried(row.study.name, model, loss, row.only) if apart else decision.study(row.study.name)
    searched = decision.tried(search.name, model, "ntxent" if loss == "dcl" else loss, row.only)
    return tuple(
        command for one in ([runs] if started and searched else [search, runs]) for command in one.command(search=False)
    )


def missing(decision: Decision, *situations: str) -> Lacking:
    """{commands: {situation: {(model, loss): (runs there, wanted)}}} of what lacks runs."""
    found: Lacking = {}
    for (situation, *system), row in decision.place.items():
        have = len(decision.runs[situation].get(tuple(system), ()))
        if situation in situations and have < row.wanted:
            place = found.setdefault(_commands(decision, row, *system), {}).setdefault(situation, {})
            place[tuple(system)] = have, row.wanted
    return found


def list_missing(decision: Decision, *situations: str) -> str:
    """What is missing, as a list in Markdown; empty if nothing is."""
    found = []
    for typed, places in missing(decision, *situations).items():
        what = []
        for situation, systems in places.items():
            have, wanted = (sum(numbers) for numbers in zip(*systems.values(), strict=True))
            names = (
                [name_of(s) for s in systems]
                if len(systems) < 3
                else [f"{MODELS[m]} with {len(of)} losses" for m in MODELS if (of := [s for s in systems if s[0] == m])]
            )
            what.append(f"{TITLES[situation]} ({', '.join(names)}): {have} of {wanted} runs")
        found.append(f"- {'; '.join(what)}. " + ", then ".join(f"`{command}`" for command in typed))
    return "\n".join(found)


def settings_of(decision: Decision, situation: str, system: System) -> dict:
    """The settings of a recommended run that are not the same for all, by name."""
    return settings(decision.runs[situation][system][0])


def settings(record: Mapping) -> dict:
    """The settings of a run that are not the same for all of its method, by name."""
    c = record["config"]
    options = {name: value for name, value in c["loss_options"].items() if name in CONSTANTS}
    own = {name: c[name] for name in ("batch_size", "updates", "lr")} | options
    own |= {name: c[name] for name in ("warmup", "drop_words") if c.get(name)}
    return own | {
        name: value for name, value in c["model_options"].items() if name in ("embed_dim", "word_dim", "caption_norm")
    }


def command(decision: Decision, situation: str, system: System) -> str:
    """The command that trains a system as its runs were trained; for photos FOLDER stands for the features."""
    kind, size = situation.split()
    source = {"dataset": "scenes", "train": size} if kind == "scenes" else PHOTOS
    source = source | ({"regions": True} if kind == "scenes" and system[0] == "vsrn" else {})
    return typed(
        source
        | dict(zip(("method", "loss"), system, strict=True))
        | {"seed": 0}
        | settings_of(decision, situation, system)
    )


def typed(told: Mapping) -> str:
    """The command of a run with these parameters."""
    return "icr run book/do/run.ipynb " + " ".join(f"-p {name}={value}" for name, value in told.items())
