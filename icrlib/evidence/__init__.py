"""What our runs allow one to say: comparisons that are fair, the one function that decides a claim, and the ledgers."""

from icrlib.evidence.goal_claims import describe_goal
from icrlib.evidence.ledger import Evidence, Judged, weakest
from icrlib.evidence.record_settings import common_draws
from icrlib.evidence.summary import summarise
from icrlib.evidence.tuning import by_rate, candidates, choices, tuned_studies
from icrlib.evidence.verdicts import Difference, Verdict, family, tabulate, verdict

__all__ = [
    "Difference",
    "Evidence",
    "Judged",
    "Verdict",
    "by_rate",
    "candidates",
    "choices",
    "common_draws",
    "describe_goal",
    "family",
    "summarise",
    "tabulate",
    "tuned_studies",
    "verdict",
    "weakest",
]
