"""Losses on a score matrix and a mask of positives: ``per_query``, closed-form ``weights``, ``__call__``."""

from __future__ import annotations

from dataclasses import fields

from icrlib.errors import choose
from icrlib.losses.base import Loss, Pairs
from icrlib.losses.ntxent import InfoNCE, NTXent
from icrlib.losses.smoothap import SmoothAP
from icrlib.losses.triplet import Triplet, TripletSH
from icrlib.scores import NonFiniteScores

__all__ = [
    "LOSSES",
    "InfoNCE",
    "Loss",
    "NTXent",
    "NonFiniteScores",
    "Pairs",
    "SmoothAP",
    "Triplet",
    "TripletSH",
    "by_name",
]

LOSSES = {"triplet": Triplet, "triplet_sh": TripletSH, "ntxent": NTXent, "smoothap": SmoothAP}
ALIASES = {"infonce": "ntxent"}


def by_name(name: str, **options) -> Loss:
    """The loss called ``name`` with its published defaults, changed by ``options`` (``margin``, ``tau``, …)."""
    name = ALIASES.get(name, name)
    kind = LOSSES[choose(name, LOSSES, "loss")]
    allowed = [field.name for field in fields(kind)]
    for option in options:
        choose(option, allowed, f"option of {kind.__name__}")
    return kind(**options)
