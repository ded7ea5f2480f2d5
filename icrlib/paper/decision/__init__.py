"""Which loss and model for which data: where the runs are, the rule that chooses, and what is said of it."""

from icrlib.paper.decision import sentences
from icrlib.paper.decision.advice import SHORT, TIMES, advice, by_model, in_short, steps
from icrlib.paper.decision.commands import command, lacks, settings_of
from icrlib.paper.decision.plan import BOTH, FOUR, KINDS, LOSSES, MODELS, ONE_BY_ONE, OWN_LISTS, TITLES, called
from icrlib.paper.decision.rule import CONSTANTS, NEAR, Answer, Decision, narrow, steps_up, validation, whole
from icrlib.paper.decision.words import alike, bare, by_loss, narrow_steps, sentence, told, undecided_share

__all__ = [
    "Answer",
    "BOTH",
    "CONSTANTS",
    "Decision",
    "FOUR",
    "KINDS",
    "LOSSES",
    "MODELS",
    "NEAR",
    "ONE_BY_ONE",
    "OWN_LISTS",
    "SHORT",
    "TIMES",
    "TITLES",
    "advice",
    "alike",
    "bare",
    "by_loss",
    "by_model",
    "called",
    "command",
    "in_short",
    "lacks",
    "narrow",
    "narrow_steps",
    "sentence",
    "sentences",
    "settings_of",
    "steps",
    "steps_up",
    "told",
    "undecided_share",
    "validation",
    "whole",
]
