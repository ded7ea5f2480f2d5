"""Two sides of runs that may be compared: they differ in the factor and in nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from icrlib.errors import choose
from icrlib.experiments import record_settings as records

if TYPE_CHECKING:
    from icrlib.experiments.named import Runs

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
        *("loss", "loss_options", "batches", "model_options", "eta"),
        *("average", "average_from", "average_times"),
    ),
    "system": (
        *("method", "model_options", "data_options.regions", "loss", "loss_options", "learn_tau", "learn_bias"),
        *("batches", "warmup", "optimiser", "schedule", "drops"),
    ),
    "caption encoder": ("method", "model_options", "loss", "loss_options", "drop_words", "delete_words"),
}


def paired(a: Runs, b: Runs, factors: Sequence[str]) -> tuple[list, list]:
    """Both sides by rising seed, on the draws that both have.

    ``ValueError``, which names what it is: a side of several settings, or with a seed twice; sides that differ in more
    than the factors and what was searched for them, in what was searched for one alone, or in nothing; other data, or
    other numbers of evaluations.
    """
    sides = [side(name, one) for name, one in (("our side", a), ("the other side", b))]
    common = set.intersection(*({records.seed(one) for one in group} for group in sides))
    ours, other = ([one for one in group if records.seed(one) in common] for group in sides)
    if not ours:
        raise ValueError(f"no draw that both sides have: {records.seed(a[0])}, … and {records.seed(b[0])}, …")
    first, second = records.aligned([ours[0], other[0]])
    free = set().union(*(_factor(one, first) for one in factors))
    mine, theirs = (_searched(one) for one in (a, b))
    short = set(map(records.short, free))
    _none_favoured(first, second, mine - short, theirs - short)
    if "loss" in factors and first["loss"] != second["loss"]:
        _both_or_neither(first, second, mine, theirs)
    free |= {name for name in first if records.short(name) in mine | theirs}
    _only_in(" and ".join(factors), first, second, free)
    about_data = any(name.startswith("data") and first.get(name) != second.get(name) for name in free)
    _same_data(ours, other, about_data)
    _same_evaluations([*ours, *other])
    return ours, other


def side(name: str, of: Iterable[Mapping]) -> list[Mapping]:
    """A side by rising seed: one setting, no seed twice, and each run on data of its own, or all on the same."""
    group = sorted(of, key=records.seed)
    if not group:
        raise ValueError(f"no runs on {name}")
    first, *more = records.by_settings(group)
    if more:
        setting = next(name for name, value in more[0].settings.items() if value != first.settings[name])
        each = (f"{one.settings[setting]} ({records.where(one.records[0])})" for one in (first, more[0]))
        raise ValueError(f"runs on {name} differ in {setting}: {' against '.join(each)}; select one of them")
    for before, after in zip(group, group[1:], strict=False):
        if records.seed(before) == records.seed(after):
            both = f"{records.where(before)} and {records.where(after)}"
            raise ValueError(f"seed {records.seed(after)} twice: {both}; leave one of them out")
    draws = {(records.draw(record), records.data_hash(record)) for record in group}
    if 1 < len(draws) < len(group):
        raise ValueError(f"{len(group)} runs on {len(draws)} draws of data: each its own, or all one")
    return group


def _factor(factor: str, settings: Mapping) -> set[str]:
    """The dotted names of a factor's settings."""
    parts = FACTORS.get(factor)
    if parts is None:
        names = {name for name in settings if factor in (name, records.short(name), name.partition(".")[0])}
    else:
        of_stage = ((name, name.removeprefix("start_from.")) for name in settings)  # a first stage goes along
        names = {name for name, bare in of_stage if bare in parts or bare.partition(".")[0] in parts}
    if not names:
        choose(factor, [*FACTORS, *settings], "factor")
    return names | {"data_hash"} if any(name.startswith("data") for name in names) else names


def _only_in(factor: str, first: Mapping, second: Mapping, free: set[str]) -> None:
    differing = [name for name in first if first[name] != second[name]]
    if stray := [name for name in differing if name not in free]:
        each = (f"{name} {first[name]} against {second[name]}" for name in stray)
        raise ValueError(f"the sides differ in more than {factor!r}, and nobody searched it: {'; '.join(each)}")
    if not differing:
        raise ValueError(f"the sides do not differ in {factor!r}, nor in anything else but the seed")


def _searched(side: Runs) -> set[str]:
    """What was searched for a side; with its length also where the rate falls and when it is evaluated."""
    config = side[0]["config"]
    names = set(side.searched.get((config["method"], config["loss"]), ()))
    return names | set(FACTORS["updates"] if "updates" in names else ())


def _none_favoured(first: Mapping, second: Mapping, mine: set, theirs: set) -> None:
    """A setting that was searched for one side alone favours that side, unless the other does without it."""
    for name in first:
        searched = records.short(name) in mine, records.short(name) in theirs
        left = second[name] if searched[0] else first[name]
        if first[name] != second[name] and searched[0] != searched[1] and not records.is_neutral(name, left):
            raise ValueError(f"{name} was searched for one side, and {left} unsearched on the other")


def _both_or_neither(first: Mapping, second: Mapping, mine: set, theirs: set) -> None:
    """The constants of two losses are both as published or both searched; a loss without one has nothing to search."""
    names = {records.short(name) for name in first if name.startswith("loss_options.")}
    searched = [sorted(names & some) for some in (mine, theirs)]
    numbers = [any(isinstance(of.get(f"loss_options.{n}"), float) for n in names) for of in (first, second)]
    if all(numbers) and bool(searched[0]) != bool(searched[1]):
        one = ", ".join(searched[0] or searched[1])
        raise ValueError(f"{one} was searched for one side, and no constant for the other: search both, or neither")


def _same_data(ours: Sequence[Mapping], other: Sequence[Mapping], about_data: bool) -> None:
    for a, b in zip(ours, other, strict=True):
        if records.draw(a) != records.draw(b) or not (about_data or records.data_hash(a) == records.data_hash(b)):
            both = f"{records.where(a)} and {records.where(b)}"
            raise ValueError(f"seed {records.seed(a)} saw other data on the other side: {both}")


def _same_evaluations(group: Sequence[Mapping]) -> None:
    """As many evaluations to choose the best from: the highest of more is higher."""
    numbers = {len(record["history"]): record for record in group if "history" in record}
    if len(numbers) > 1:
        each = " against ".join(f"{number} ({records.where(record)})" for number, record in sorted(numbers.items()))
        raise ValueError(f"unequal numbers of evaluations to choose the best from: {each}")
