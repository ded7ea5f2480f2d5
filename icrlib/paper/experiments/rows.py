"""All rows of all papers, by name."""

from __future__ import annotations

from icrlib.errors import choose
from icrlib.paper.experiments import ecir, ltd

PAPERS = {"ecir": ecir, "ltd": ltd}


def experiments() -> list[str]:
    """All rows that :func:`experiment` knows."""
    return [row for paper in PAPERS.values() for row in paper.rows()]


def experiment(row: str) -> dict:
    """Settings of one row of a published table.

    ``"ecir/1.1"`` to ``"ecir/2.8"`` are ECIR's Table 1, as the released job files ran it. ``"ltd/1.1"`` to
    ``"ltd/4.2.2"`` are the rows of LTD's Tables 1 and 2, as the released job files ran them.

    Keys are arguments of :func:`icrlib.load_dataset` (``dataset``) and :func:`icrlib.train`, and ``selection``,
    ``seeds`` and ``features``, which say what cannot be said by an argument. Raises ``ValueError`` for an
    unknown row.
    """
    return PAPERS[choose(row, experiments(), "row").partition("/")[0]].experiment(row)
