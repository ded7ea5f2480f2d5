"""What a place needs to know of a study. To be dropped for :mod:`icrlib.studies`, which has all of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Study:
    """A list of runs under its ``name``, as ``icrlib.studies.Study``."""

    name: str
    search: tuple[str, ...] = ()
    wanted: int = 0
    needs: str = ""
    apart: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    grid: str = ""  # a study that a grid makes, and no list

    def command(self, losses: Iterable[str] = (), method: str = "", search: bool = True) -> tuple[str, ...]:
        """What to type, in this order, to get the runs of a method with these losses; a list apart has its own."""
        losses = set(losses)
        own = {loss: names for (model, loss), names in self.apart.items() if model == method and loss in losses}
        names = (*(self.search if search else ()), self.name) if losses - set(own) or not losses else ()
        if self.grid:
            return (self.grid.format(method=method),) if names else ()
        features = " FEATURES=folder" if self.needs == "features" else ""
        every = dict.fromkeys((*names, *(name for loss in sorted(own) for name in own[loss])))
        return tuple(f"make records STUDY={name}{features}" for name in every)
