"""Which loss and model for which data: where the runs are, the rule that chooses, and what is said of it."""

from icrlib.evidence.decision import sentences
from icrlib.evidence.decision.advice import SHORT, TIMES, advice, by_model, in_short, steps
from icrlib.evidence.decision.commands import command, list_missing, settings_of
from icrlib.evidence.decision.plan import BOTH, FOUR, KINDS, LOSSES, MODELS, TITLES, name_of
from icrlib.evidence.decision.rule import CONSTANTS, Answer, Decision, narrow, steps_up, validation, whole
from icrlib.evidence.decision.words import alike, bare, by_loss, explain, narrow_steps, sentence, undecided_share

__all__ = [
    "BOTH",
    "CONSTANTS",
    "FOUR",
    "KINDS",
    "LOSSES",
    "MODELS",
    "SHORT",
    "TIMES",
    "TITLES",
    "Answer",
    "Decision",
    "advice",
    "alike",
    "bare",
    "by_loss",
    "by_model",
    "command",
    "explain",
    "in_short",
    "list_missing",
    "name_of",
    "narrow",
    "narrow_steps",
    "sentence",
    "sentences",
    "settings_of",
    "steps",
    "steps_up",
    "undecided_share",
    "validation",
    "whole",
]
