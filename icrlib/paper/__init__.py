"""What the papers printed, as data; our results in their layout; and the one function that decides a claim."""

from icrlib.paper import goal
from icrlib.paper.cells import span, styled
from icrlib.paper.described import goal_described
from icrlib.paper.evidence import Evidence, Judged, weakest
from icrlib.paper.experiments.rows import experiment, experiments
from icrlib.paper.grids import grid
from icrlib.paper.layout import layout
from icrlib.paper.own_tables import against_own_tables, claims
from icrlib.paper.runs import common_draws
from icrlib.paper.summary import summarise
from icrlib.paper.tables import inconsistencies, table, tables
from icrlib.paper.tuning import by_rate, candidates, choices, tuned_studies
from icrlib.paper.verdicts import Difference, Verdict, family, ledger, verdict

__all__ = [
    "Difference",
    "Evidence",
    "Judged",
    "Verdict",
    "against_own_tables",
    "by_rate",
    "candidates",
    "choices",
    "claims",
    "common_draws",
    "experiment",
    "experiments",
    "family",
    "goal",
    "goal_described",
    "grid",
    "inconsistencies",
    "layout",
    "ledger",
    "span",
    "styled",
    "summarise",
    "table",
    "tables",
    "tuned_studies",
    "verdict",
    "weakest",
]
