"""The book's studies as lists of runs: what `make records STUDY=…` trains, in the order in which it matters."""

from . import (
    beyond,
    decision,
    ecir,
    flickr8k,
    foretold,
    ladder,
    ltd,
    objectives,
    pairs,
    photo_ltd,
    reading,
    regions,
    stamps,
)
from .ecir import CONSTANTS
from .flickr8k import PHOTO_UPDATES
from .planned import ECIR, TEST, UPDATES, VAL, chosen

__all__ = [
    "CONSTANTS",
    "ECIR",
    "PHOTO_UPDATES",
    "TEST",
    "UPDATES",
    "VAL",
    "beyond",
    "chosen",
    "decision",
    "ecir",
    "flickr8k",
    "foretold",
    "ladder",
    "ltd",
    "objectives",
    "pairs",
    "photo_ltd",
    "reading",
    "regions",
    "stamps",
]
