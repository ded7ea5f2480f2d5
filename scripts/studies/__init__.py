"""The book's studies as lists of runs: what `make records STUDY=…` trains, in the order in which it matters."""

from studies import beyond, decision, ecir, flickr8k, ltd, objectives, photo_ltd, reading, regions, stamps
from studies.ecir import CONSTANTS
from studies.flickr8k import PHOTO_UPDATES
from studies.planned import ECIR, STUDIES, TEST, UPDATES, VAL, Planned, chosen, complete, search_of
from studies.reading import hopeless

__all__ = [
    "CONSTANTS",
    "ECIR",
    "PHOTO_UPDATES",
    "STUDIES",
    "TEST",
    "UPDATES",
    "VAL",
    "Planned",
    "beyond",
    "chosen",
    "complete",
    "decision",
    "ecir",
    "flickr8k",
    "hopeless",
    "ltd",
    "objectives",
    "photo_ltd",
    "reading",
    "regions",
    "search_of",
    "stamps",
]
