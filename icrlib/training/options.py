"""Whose option is a name: of the settings, of the model, of the loss or of the auxiliary?"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from icrlib.errors import meant
from icrlib.losses.build import options_of as loss_options_of
from icrlib.models.build import options_of as model_options_of
from icrlib.names import AUXILIARIES, LOSSES, METHODS
from icrlib.training.settings import SETTINGS, checked

NOT_OPTIONS = ("triplet_weight", "pair_weight")  # they are the name


@dataclass(frozen=True)
class Options:
    """Flat names by owner: "setting", "model", "loss", "auxiliary".

    A name that two of them have must be spelled out, such as ``loss_margin`` or ``model_margin``.
    """

    owners: dict[str, list[str]]

    def place(self, name: str, more: Iterable[str] = ()) -> tuple[str, str]:
        """(owner, name) of a flat or spelled-out name; ``ValueError`` for unknown and ambiguous ones.

        ``more``: what else the reader may have meant.
        """
        having = [owner for owner, names in self.owners.items() if name in names]
        if len(having) == 1:
            return having[0], name
        if having:
            forms = " or ".join(f"{owner}_{name}=" for owner in having)
            raise ValueError(f"{name}= is an option of the {' and of the '.join(having)}; write {forms}")
        owner, _, rest = name.partition("_")
        if rest in self.owners.get(owner, ()):
            return owner, rest
        known = [*more, *(option for names in self.owners.values() for option in names)]
        helped = {setting: field.metadata["help"] for setting, field in SETTINGS.items()}
        others = [f"of the {owner}: {', '.join(self.owners[owner]) or 'none'}" for owner in [*self.owners][1:]]
        raise ValueError(
            f"unknown option {name!r}.{meant(name, known, helped)} Options {'; '.join(others)}. "
            "`icr settings` lists the settings"
        )


def options_for(method: str, loss: str, auxiliary: str | None = None) -> Options:
    """All names that a run of these parts takes, with their owners."""
    of_loss = [name for name in loss_options_of(loss) if name not in NOT_OPTIONS]
    extra = [] if auxiliary is None else list(inspect.signature(AUXILIARIES.find(auxiliary)).parameters)
    return Options({"setting": [*SETTINGS], "model": model_options_of(method), "loss": of_loss, "auxiliary": extra})


def of_others(known: Iterable[str]) -> list[str]:
    """Options of all losses and models that are not among the ``known`` ones, by name."""
    every = {option for loss in LOSSES for option in loss_options_of(loss)}
    every |= {option for method in METHODS for option in model_options_of(method)}
    return sorted(every - {*known, *NOT_OPTIONS})


def given(options: Options, values: Mapping) -> dict[str, dict]:
    """What a person gave, by owner, each setting checked; ``ValueError`` for a name that nobody takes."""
    found: dict[str, dict] = {owner: {} for owner in options.owners}
    for spelled, value in values.items():
        owner, name = options.place(spelled)
        if name in found[owner]:
            raise ValueError(f"{name} of the {owner} is given twice; say it once, in the object or beside it")
        found[owner][name] = checked(name, value) if owner == "setting" else value
    return found


def usual(options: Options, values: Mapping) -> dict[str, dict]:
    """Defaults of data or method, by the first owner that takes each; what nobody here takes is left out."""
    found: dict[str, dict] = {owner: {} for owner in options.owners}
    for name, value in values.items():
        if owner := next((owner for owner, names in options.owners.items() if name in names), None):
            found[owner][name] = checked(name, value) if owner == "setting" else value
    return found
