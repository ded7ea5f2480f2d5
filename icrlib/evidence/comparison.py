"""Two groups of runs that may be compared: they differ in the claimed factor and in nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from icrlib.errors import choose
from icrlib.evidence import record_settings as runs

Record = Mapping
# What a factor consists of. A loss is its name, its own constants, which of them are learned, and how its batches are
# made; a method may take the same pictures as regions; twice the updates have their drops and evaluations at other
# updates. LTD's three: what is minimised beside the loss; the loss with what LTD's release changed along with it; and
# what a caption's vector comes from. A system: a model with its loss, the start without which that loss collapses, and
# the recipe that the method publishes. Any other setting is a factor by its name.
FACTORS = {
    "loss": ("loss", "loss_options", "learn_tau", "learn_bias", "batches"),
    "method": ("method", "model_options", "data_options.regions"),
    "auxiliary": ("auxiliary", "auxiliary_options"),
    "updates": ("updates", "epochs", "drops", "evaluate_every"),
    "objective": ("objective", "auxiliary", "auxiliary_options", "beta", "eta", "multiplier"),
    "criterion": (
        "loss",
        "loss_options",
        "batches",
        "model_options",
        "eta",
        "average",
        "average_from",
        "average_times",
    ),
    "system": (
        *("method", "model_options", "data_options.regions", "loss", "loss_options", "learn_tau", "learn_bias"),
        *("batches", "warmup", "optimiser", "schedule", "drops"),
    ),
    "caption encoder": ("method", "model_options", "loss", "loss_options", "drop_words", "delete_words"),
}


def paired(
    claim: str, ours: Sequence[Record], other: Sequence[Record], factor: str = "loss", tuning: Mapping | None = None
) -> tuple[list[Record], list[Record]]:
    """Both groups by rising seed, after everything is checked that a fair comparison needs.

    Refused with ``ValueError``: runs on one side that differ in more than the seed; a seed twice; seeds that only one
    side has; sides that differ in a setting outside of ``factor``, which includes updates, schedule and the updates at
    which a model is chosen; sides that do not differ in the factor; pairs that saw other data; draws of data of which
    some, but not all, are the same; unequal numbers of evaluations.

    ``tuning``: ``{"ntxent": {"lr": 0.003, "tau": 0.1}, "triplet_sh": {"lr": 0.001, "warmup": 500}}``, what a search
    chose for each loss (each value of ``factor``). Exactly these settings may differ too, and each side must have what
    was chosen for it; a setting that is named for the other side only must be off.
    """
    ours, other = (side(claim, name, group) for name, group in (("our side", ours), ("the other side", other)))
    seeds = [list(map(runs.seed, group)) for group in (ours, other)]
    if seeds[0] != seeds[1]:
        raise ValueError(f"{claim!r}: seeds do not match: {seeds[0]} against {seeds[1]}; pair runs by seed")
    first, second = runs.aligned([ours[0], other[0]])
    free = factor_names(claim, factor, first)
    tuned = _tuned(claim, (first, second), factor, free, tuning) if tuning is not None else set()
    only_in(claim, factor, first, second, free | tuned)
    about_data = any(name.startswith("data") and first.get(name) != second.get(name) for name in free)
    same_data(claim, ours, other, about_data)
    same_evaluations(claim, [*ours, *other])
    return ours, other


def alone(claim: str, ours: Sequence[Record]) -> list[Record]:
    """One group by rising seed, for a comparison with a fixed number; refuses what :func:`paired` does of one side."""
    ours = side(claim, "our side", ours)
    _draws(claim, ours)
    return ours


def side(claim: str, name: str, records: Iterable[Record]) -> list[Record]:
    """A side by rising seed: one setting, and no seed twice."""
    records = sorted(records, key=runs.seed)
    if not records:
        raise ValueError(f"{claim!r}: no runs on {name}; icrlib.records.find(...) found none")
    first, *more = runs.by_settings(records)
    if more:
        setting = next(name for name, value in more[0].settings.items() if value != first.settings[name])
        here, there = (
            f"{runs.as_text(group.settings[setting])} ({runs.where(group.records[0])})" for group in (first, more[0])
        )
        raise ValueError(
            f"{claim!r}: runs on {name} differ in {setting}: {here} against {there}; a side is one setting with "
            "several seeds, so select one of them"
        )
    for before, after in zip(records, records[1:], strict=False):
        if runs.seed(before) == runs.seed(after):
            raise ValueError(
                f"{claim!r}: seed {runs.seed(after)} twice: {runs.where(before)} and {runs.where(after)}; "
                "leave one of them out"
            )
    return records


def factor_names(claim: str, factor: str, settings: Mapping) -> set[str]:
    """The dotted names of a factor's settings."""
    parts = FACTORS.get(factor)
    if parts is None:
        found = {name for name in settings if factor in (name, runs.short(name), name.partition(".")[0])}
    else:
        found = {name for name in settings if name in parts or name.partition(".")[0] in parts}
    if not found:
        choose(factor, [*FACTORS, *settings], f"factor of {claim!r}")
    return found | {"data_hash"} if any(name.startswith("data") for name in found) else found


def only_in(claim: str, factor: str, first: Mapping, second: Mapping, free: set[str]) -> None:
    differing = [name for name in first if first[name] != second[name]]
    stray = [name for name in differing if name not in free]
    if stray:
        each = "; ".join(f"{name} {runs.as_text(first[name])} against {runs.as_text(second[name])}" for name in stray)
        raise ValueError(
            f"{claim!r}: the sides differ in more than {factor!r}: {each}. Compare runs that differ in "
            "the claimed factor only, or hand in tuning= with what was chosen for each"
        )
    if not differing:
        raise ValueError(f"{claim!r}: the sides do not differ in {factor!r}, nor in anything else but the seed")


def _tuned(claim: str, sides: Sequence[Mapping], factor: str, free: set[str], tuning: Mapping) -> set[str]:
    """Names of the tuned settings, after each side was seen to have what the tuning chose for it."""
    if factor not in sides[0]:
        raise ValueError(f"{claim!r}: tuning= chooses for each value of 'loss' or 'method', not for {factor!r}")
    chosen = []
    for settings in sides:
        if settings[factor] not in tuning:
            raise ValueError(f"{claim!r}: tuning has no choice for {settings[factor]!r}; it has {sorted(tuning)}")
        chosen.append({_full(claim, name, settings): value for name, value in tuning[settings[factor]].items()})
    names = {name for one in chosen for name in one}
    for settings, wanted in zip(sides, chosen, strict=True):
        for name in sorted(names):
            value, named = settings[name], name in wanted
            right = value == runs.frozen(wanted[name]) if named else name in free or runs.is_neutral(name, value)
            if not right and not (named and runs.is_neutral(name, value) and runs.is_neutral(name, wanted[name])):
                said = runs.as_text(wanted[name]) if named else "nothing"
                raise ValueError(
                    f"{claim!r}: {name} is {runs.as_text(value)} on the side of {settings[factor]!r}, but "
                    f"the tuning chose {said} for it"
                )
    return names


def _full(claim: str, name: str, settings: Mapping) -> str:
    """ "loss_options.tau" of "tau"."""
    found = [full for full in settings if name in (full, runs.short(full))]
    if len(found) != 1:
        choose(name, list(settings), f"tuned setting of {claim!r}")
    return found[0] if len(found) == 1 else name


def _draws(claim: str, side: Sequence[Record]) -> None:
    draws = {(runs.draw(record), runs.data_hash(record)) for record in side}
    if 1 < len(draws) < len(side):
        raise ValueError(
            f"{claim!r}: {len(side)} runs on {len(draws)} draws of data; either each run has its own "
            "draw, or all share one"
        )


def same_data(claim: str, ours: Sequence[Record], other: Sequence[Record], about_data: bool) -> None:
    _draws(claim, ours)
    _draws(claim, other)
    for a, b in zip(ours, other, strict=True):
        if runs.draw(a) != runs.draw(b) or not (about_data or runs.data_hash(a) == runs.data_hash(b)):
            raise ValueError(
                f"{claim!r}: seed {runs.seed(a)} saw other data on the other side: {runs.where(a)} and "
                f"{runs.where(b)}; pairs share their draw of data"
            )


def same_evaluations(claim: str, records: Sequence[Record]) -> None:
    """As many evaluations to choose the best from: the highest of more is higher."""
    numbers = {len(record["history"]): record for record in records if "history" in record}
    if len(numbers) > 1:
        each = " against ".join(f"{number} ({runs.where(record)})" for number, record in sorted(numbers.items()))
        raise ValueError(f"{claim!r}: unequal numbers of evaluations to choose the best from: {each}")
