"""Where the runs of a situation are, for the decision page (``icrlib.evidence.decision``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from icrlib.evidence.decision.plan import BOTH, FOUR, LOSSES, Row
from icrlib.evidence.of_studies import tuned_studies
from icrlib.studies import studies

from .flickr8k import PHOTO_SEED
from .planned import TUNING_DRAWS

# On photos rates were searched first, then constants, then lengths.
ONE_BY_ONE = ("photo_tuning", "photo_constants", "photo_short")
# Sentence encoders stand beside the rule; the first list of a situation makes the runs that are wanted.
OF_SENTENCES = {"photos 400": ("photo_few_sentences",), "photos 6000": ("photo_ltd", "photo_ltd_more")}
# Settings are chosen on these draws of data and seeds; no run on them counts in a comparison.
CHOSEN_ON = frozenset((*TUNING_DRAWS, PHOTO_SEED))
# Studies that only tell what an update costs.
ALSO_PRICED = (
    "word_pairs",
    "beyond",
    "beyond_tuning",
    "photo_ltd_tuning",
    "photo_ltd",
    "photo_few_sentences_tuning",
    "photo_few_sentences",
)


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
    # With a margin or temperature that a search chose, if that is not the published one.
    own = tuned_studies()
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
        row("scenes 1500", ("vsrn",), FOUR, "vsrn", "vsrn_tuning"),
        row(
            "scenes 1500", ("vsrn",), ["dcl"], "vsrn_sizes", "vsrn_size_tuning", as_loss="ntxent", only={"train": 1500}
        ),
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
