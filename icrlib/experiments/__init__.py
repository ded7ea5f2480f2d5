"""What our runs allow one to say: runs by what they are, searches, fair comparisons, and sentences that are checked."""

# Imported at once, so that `search`, `compare` and `check` are the functions and not the modules of these names.
from icrlib.experiments.check import Untrue, check, live
from icrlib.experiments.compare import Comparison, Family, compare, family, order
from icrlib.experiments.named import Missing, Runs, runs
from icrlib.experiments.published import published
from icrlib.experiments.search import Search, search

__all__ = [
    "Comparison",
    "Family",
    "Missing",
    "Runs",
    "Search",
    "Untrue",
    "check",
    "compare",
    "family",
    "live",
    "order",
    "published",
    "runs",
    "search",
]
