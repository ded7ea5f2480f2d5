"""Where the runs of a situation are: a situation is a kind and amount of data, or scenes with one thing changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from icrlib.evidence.tuning import tuned_studies
from icrlib.names import label
from icrlib.studies import Study, studies

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

LENGTHS_SEARCHED = ("photos 6000", "scenes 400")  # situations in which lengths of the schedule were searched
SCHEDULE = ("updates", "evaluate_every", "drops")  # what a length consists of
# On photos rates were searched first, then constants, then lengths.
ONE_BY_ONE = ("photo_tuning", "photo_constants", "photo_short")
# Sentence encoders stand beside the rule; the first list of a situation makes the runs that are wanted.
OF_SENTENCES = {"photos 400": ("photo_few_sentences",), "photos 6000": ("photo_ltd", "photo_ltd_more")}
# Studies that only tell what an update costs.
ALSO_PRICED = (
    "beyond",
    "beyond_tuning",
    "photo_ltd_tuning",
    "photo_ltd",
    "photo_few_sentences_tuning",
    "photo_few_sentences",
)


def name_of(system: tuple[str, str]) -> str:
    """A model and a loss as text: "a bag of words with NT-Xent"."""
    return f"{'a ' * (system[0] == 'bow')}{MODELS[system[0]]} with {label(system[1])}"


@dataclass(frozen=True)
class Row:
    """Runs of a situation: ``study`` holds them, ``searches`` chose their settings, one after another.

    ``only`` are settings that pick these runs out of their study; "train" is a size of the data. ``as_loss``: the loss
    whose search they took over. ``own_length``: each system has a length of schedule of its own.
    """

    situation: str
    models: Sequence[str]
    losses: Sequence[str]
    study: Study
    searches: tuple[str, ...]
    only: Mapping = field(default_factory=dict)
    as_loss: str = ""
    own_length: bool = False

    @property
    def wanted(self) -> int:
        """How many seeds."""
        return self.study.wanted


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

    def row(situation: str, models: Sequence[str], losses: Sequence[str], name: str, *searches: str, **more) -> Row:
        return Row(situation, models, losses, studies[name], searches, **more)

    def of_size(size: int, model: str, loss: str) -> Row:
        if size == 400 and (model, loss) in few:
            return row("scenes 400", (model,), [loss], "few", "few_tuning", own_length=True)
        of = "vsrn_" * (model == "vsrn")
        return row(f"scenes {size}", (model,), [loss], f"{of}sizes", f"{of}size_tuning", only={"train": size})

    def of_photos(model: str, loss: str) -> Row:
        name = photos.get((model, loss), "photo_misprint" if loss == "dcl" else "photo_runs")
        searches = ONE_BY_ONE[: {"photo_own": 2, "photo_length": 3}.get(name, 1)]
        as_loss = "ntxent" if loss == "dcl" and name != "photo_own" else ""
        own_length = name == "photo_length"
        return row("photos 6000", (model,), [loss], name, *searches, as_loss=as_loss, own_length=own_length)

    return [
        *(of_size(size, m, name) for size in (400, 6000) for m in (*both, "vsrn") for name in LOSSES),
        *(row("scenes 1500", (m,), [name], own.get((m, name), "tuned"), "tuning") for m in both for name in FOUR),
        row("scenes 1500", both, ["dcl"], "misprint", "tuning", as_loss="ntxent"),
        row("scenes 1500", ("vsrn",), LOSSES, "vsrn_sizes", "vsrn_size_tuning", only={"train": 1500}),
        row("published", both, FOUR, "ecir", "tuning"),
        row("half", both, FOUR, "half", "half_tuning"),
        row("twice", ("vse++",), FOUR, "twice", "tuning"),
        *(row(f"batch {n}", ("vse++",), BOTH, "batches", "batch_tuning", only={"batch_size": n}) for n in (32, 512)),
        row("photos 400", ("bow",), FOUR[1:], "photo_small_own", "photo_small_edges"),
        row("photos 400", ("vse++",), BOTH, "photo_small_own", "photo_small_edges"),
        *(of_photos(m, name) for m in both for name in FOUR),
        *(of_photos(m, "dcl") for m in both),
        row("without", ("vse++",), BOTH, "false_negatives", "size_tuning", only={"train": 400}),
        row("regions 6000", ("vsrn",), FOUR, "photo_vsrn", "photo_vsrn_tuning"),
    ]
