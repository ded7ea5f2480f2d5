"""Which loss and model for which data: where the runs are, the rule that chooses, and what is said of it."""

from icrlib.evidence.decision import sentences
from icrlib.evidence.decision.advice import alike, in_short, undecided_share
from icrlib.evidence.decision.commands import command, list_missing, settings_of
from icrlib.evidence.decision.plan import BOTH, FOUR, KINDS, LOSSES, MODELS, TITLES, name_of
from icrlib.evidence.decision.rule import CONSTANTS, Answer, Decision, narrow, steps_up, validation, whole

__all__ = [
    "BOTH",
    "CONSTANTS",
    "FOUR",
    "KINDS",
    "LOSSES",
    "MODELS",
    "TITLES",
    "Answer",
    "Decision",
    "alike",
    "command",
    "in_short",
    "list_missing",
    "name_of",
    "narrow",
    "sentences",
    "settings_of",
    "steps_up",
    "undecided_share",
    "validation",
    "whole",
]
