"""Where the runs of a situation are: a situation is a kind and amount of data, or scenes with one thing changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

from icrlib.evidence.tuning import tuned_studies
from icrlib.names import label

LOSSES = ("triplet", "triplet_sh", "ntxent", "smoothap", "dcl")
FOUR = LOSSES[:4]  # ECIR's
BOTH = ("triplet_sh", "ntxent")  # where an axis has two losses only
MODELS = {"bow": "bag of words", "vse++": "VSE++", "vsrn": "VSRN"}

# The situations that get advice, and how all of them are called.
KINDS = {
    "photos 400": "few photos (400)",
    "photos 6000": "many photos (6,000)",
    "scenes 400": "few drawn pictures (400)",
    "scenes 1500": "drawn pictures (1,500)",
    "scenes 6000": "many drawn pictures (6,000)",
}
TITLES = {
    "photos 400": "400 photos",
    "photos 6000": "6,000 photos",
    "scenes 400": "400 scenes",
    "scenes 1500": "1,500 scenes",
    "scenes 6000": "6,000 scenes",
    "regions 6000": "6,000 photos as regions",
    "published": "1,500 scenes, published constants",
    "half": "1,500 scenes, half the updates",
    "twice": "1,500 scenes, twice the updates",
    "without": "400 scenes, own captions no negatives",
    "batch 32": "scenes, batches of 32",
    "batch 512": "scenes, batches of 512",
}

# Runs with a length of schedule of their own, in situations where lengths were searched.
OWN_LENGTH, LENGTHS_SEARCHED = ("photo_length", "few"), ("photos 6000", "scenes 400")
# DCL runs with the settings that were searched for NT-Xent.
AS_NTXENT = ("misprint", "photo_misprint", "photo_length")
# On photos rates were searched first, then constants, then lengths of the schedule; this is what a length consists of.
ONE_BY_ONE = ("photo_tuning", "photo_constants", "photo_short")
SCHEDULE = ("updates", "evaluate_every", "drops")
# Runs that are made by another list than the rest of their study: {(study, model, loss): (search, runs)}.
OWN_LISTS = {("photo_runs", "vse++", "smoothap"): ("photo_smoothap_tuning", "photo_smoothap")}


def name_of(system: tuple[str, str]) -> str:
    """A model and a loss as text: "a bag of words with NT-Xent"."""
    return f"{'a ' * (system[0] == 'bow')}{MODELS[system[0]]} with {label(system[1])}"


class Row(NamedTuple):
    """Runs of a situation: ``study`` holds them, ``search`` what chose their settings; ``wanted`` is how many seeds.

    ``only`` are settings that pick these runs out of their study; "train" is a size of the data.
    """

    situation: str
    models: Sequence[str]
    losses: Sequence[str]
    study: str
    search: str
    wanted: int
    only: dict = {}  # noqa: RUF012 (a named tuple's default, never written to)


def _replaced(study: Callable[[str], list[dict]], *names: str) -> dict[tuple[str, str], str]:
    """{(model, loss): the last of these studies that has all three runs of it}."""
    return {
        key: name
        for name in names
        for key, number in Counter((r["config"]["method"], r["config"]["loss"]) for r in study(name)).items()
        if number > 2
    }


def plan(study: Callable[[str], list[dict]]) -> list[Row]:
    """All rows. ``study(name)`` gives the records of a study: some losses have runs with constants of their own."""
    own = tuned_studies(study("tuning"))  # with a margin or temperature that a search chose, if not the published one
    # Photos: with a length of schedule of its own, or else with a constant of its own, where that came out best.
    photos = _replaced(study, "photo_own", "photo_length")
    few = _replaced(study, "few")  # 400 scenes: with a shorter schedule, where that came out best
    both = ("bow", "vse++")
    sizes = [
        Row(f"scenes {size}", (m,), [name], f"{of}sizes", f"{of}size_tuning", 3, {"train": size})
        if size > 400 or (m, name) not in few
        else Row("scenes 400", (m,), [name], "few", "few_tuning", 3)
        for size in (400, 6000)
        for m, of in (*product(both, [""]), ("vsrn", "vsrn_"))
        for name in LOSSES
    ]
    usual = [Row("scenes 1500", (m,), [name], own.get((m, name), "tuned"), "tuning", 10) for m in both for name in FOUR]
    systems = [*((m, name) for m in both for name in FOUR), *((m, "dcl") for m in both)]
    many = [
        Row(
            "photos 6000",
            (m,),
            [name],
            photos.get((m, name), "photo_misprint" if name == "dcl" else "photo_runs"),
            "photo_tuning",
            3,
        )
        for m, name in systems
    ]
    return [
        *sizes,
        *usual,
        Row("scenes 1500", both, ["dcl"], "misprint", "tuning", 10),
        Row("scenes 1500", ("vsrn",), LOSSES, "vsrn_sizes", "vsrn_size_tuning", 3, {"train": 1500}),
        Row("published", both, FOUR, "ecir", "tuning", 10),
        Row("half", both, FOUR, "half", "half_tuning", 5),
        Row("twice", ("vse++",), FOUR, "twice", "tuning", 5),
        *(
            Row(f"batch {size}", ("vse++",), BOTH, "batches", "batch_tuning", 3, {"batch_size": size})
            for size in (32, 512)
        ),
        Row("photos 400", ("bow",), FOUR[1:], "photo_small_own", "photo_small_edges", 3),
        Row("photos 400", ("vse++",), BOTH, "photo_small_own", "photo_small_edges", 3),
        *many,
        Row("without", ("vse++",), BOTH, "false_negatives", "size_tuning", 3, {"train": 400}),
        Row("regions 6000", ("vsrn",), FOUR, "photo_vsrn", "photo_vsrn_tuning", 3),
    ]
