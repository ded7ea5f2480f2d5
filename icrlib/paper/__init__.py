"""What the papers printed, as data: tables, claims, curves, rows as settings of a run; and the layout of a table."""

from icrlib.paper import goal
from icrlib.paper.cells import downloads, span, styled
from icrlib.paper.claims import against_own_tables, claims
from icrlib.paper.experiments.rows import experiment, experiments
from icrlib.paper.grids import grid
from icrlib.paper.layout import layout
from icrlib.paper.tables import inconsistencies, table, tables

__all__ = [
    "against_own_tables",
    "claims",
    "downloads",
    "experiment",
    "experiments",
    "goal",
    "grid",
    "inconsistencies",
    "layout",
    "span",
    "styled",
    "table",
    "tables",
]
