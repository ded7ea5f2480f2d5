"""A sentence encoder as caption encoder (LTD Table 2, rows 4.*), beside models that learn their words from captions.

It stands outside the rule: what it learnt before is no training of this book, and on Flickr8k that may include captions
of the test photos (RF §6.9), so that a lead there is no lead on photos of one's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import mean

from icrlib.evidence.decision.commands import PHOTOS, settings, typed
from icrlib.evidence.decision.rule import Decision, System, validation, whole
from icrlib.evidence.of_studies import Verdict, common_draws, verdict
from icrlib.experiments.compare import family
from icrlib.experiments.record_settings import by_settings
from icrlib.studies import lists, studies

SENTENCES = {"fixed": "sentence vectors as they are", "tuned": "a trained head on sentence vectors"}
WANTED = 3
# LTD trains by another recipe than ECIR: two ways of training are compared, each with all that belongs to it.
_RECIPE = ("lr", "drop_words", "delete_words", "warmup", "updates", "evaluate_every", "drops", "schedule", "optimiser")


def of_sentences() -> dict[str, tuple[str, ...]]:
    """{situation: the studies with its sentence encoders}; the first makes the runs that are wanted."""
    return lists("situations").OF_SENTENCES


def frozen(decision: Decision, situation: str) -> dict[str, list[dict]]:
    """{row of :data:`SENTENCES`: its runs}, one for each seed; of several settings those that validation prefers."""
    found = [
        r for study in of_sentences()[situation] for r in decision.study(study) if r["config"]["method"] == "sentence"
    ]
    losses = {"fixed": "alignment", "tuned": "ntxent"}
    groups = {
        row: [
            one.records
            for one in by_settings(r for r in found if r["config"]["loss"] == losses[row])
            if len(one.records) >= WANTED
        ]
        for row in SENTENCES
    }
    best = {row: max(of, key=lambda group: mean(map(validation, group))) for row, of in groups.items() if of}
    return {row: sorted(group, key=lambda r: r["config"]["seed"]) for row, group in best.items()}


def better(groups: dict[str, list[dict]]) -> str:
    """The row with the higher mean rsum on validation data, which stands for the sentence encoder."""
    return max(groups, key=lambda row: mean(map(validation, groups[row])))


def describe(row: str, record: Mapping) -> str:
    """A row in words, with what a search may have chosen for its head."""
    config = record["config"]
    tau = config["loss_options"].get("tau")
    return (
        SENTENCES[row]
        + ", of length 1" * bool(config["model_options"].get("caption_norm"))
        + (f", τ = {tau:g}" if tau else "")
    )


def ends(decision: Decision, situation: str) -> list[System]:
    """Each model that learns its words, with the loss that the rule gives it."""
    found = decision.answer(situation)
    return [rungs[-1][0] for rungs in found.losses.values()] if found else []


def against(decision: Decision, situations: Iterable[str]) -> dict[tuple[str, System], Verdict]:
    """Is the sentence encoder ahead of each model? One family: {(situation, system): verdict}."""
    found = {}
    for situation in situations:
        groups = frozen(decision, situation)
        for system in ends(decision, situation) if groups else ():
            runs = {"sentence": groups[better(groups)], "other": decision.runs[situation][system]}
            sides = common_draws({name: map(whole, of) for name, of in runs.items()})
            tuning = {
                of[0]["config"]["method"]: {name: of[0]["config"][name] for name in _RECIPE} for of in sides.values()
            }
            found[situation, system] = verdict(sides["sentence"], sides["other"], "method", tuning)
    return family(found)


def missing(decision: Decision) -> dict[str, tuple[str, ...]]:
    """{situation: what to type} where a row of :data:`SENTENCES` lacks runs."""
    return {
        situation: studies[first].command()
        for situation, (first, *_) in of_sentences().items()
        if len(frozen(decision, situation)) < len(SENTENCES)
    }


def command(decision: Decision, situation: str) -> str:
    """The command that trains the better row as its runs were trained; FOLDER stands for the features."""
    groups = frozen(decision, situation)
    first = groups[better(groups)][0]
    return typed(PHOTOS | {name: first["config"][name] for name in ("method", "loss")} | {"seed": 0} | settings(first))
