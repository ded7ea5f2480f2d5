"""What a situation is, a kind and amount of data, or scenes with one thing changed, and what a row of its plan says.

Which studies hold the runs is said beside the lists of runs, in ``scripts/studies/situations.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from icrlib.names import label
from icrlib.studies import Study

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
