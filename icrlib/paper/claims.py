"""A paper's claims as data, and what its own printed tables say to those that they can judge."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from icrlib.errors import choose
from icrlib.paper import ecir, goal, ltd

COUNTS = {"goal": goal.COUNTS, "ecir": ecir.COUNTS, "ltd": ltd.COUNTS | ltd.CURVES}
CITED = ("goal", 3)  # GOAL's Table 2 holds con x con against what the original work printed for the triplet loss


def claims(paper: str = "goal") -> pd.DataFrame:
    """A paper's claims, ECIR's quoted, the others in our words: claim, place (section, equation, table), ``judged``.

    ``judged``, how it can be: "records" (runs of ours), "paper tables" and "recorded curves" (see
    :func:`against_own_tables`), "computation" (formulas and code), "not measurable here" or "not measurable as
    published" (what was published did not measure what the claim is about); several are separated by commas. Index:
    id. ECIR's and LTD's also have ``asked``, how the records are asked, ``tests``, which parts that are (see
    ``icrlib.experiments.ledger``), ECIR's by method ("*": all others), LTD's by list of runs, ``broken``, what was
    measured instead, and ``see``, where a computation stands (a link). None where there is none.
    """
    path = Path(__file__).with_name(f"{choose(paper, COUNTS, 'paper with claims')}_claims.json")
    rows = json.loads(path.read_text(encoding="utf-8"))
    found = pd.DataFrame([row | {"judged": ", ".join(row["judged"])} for row in rows], dtype=object).set_index("id")
    return found.where(found.notna(), None)


def against_own_tables(paper: str = "goal") -> pd.DataFrame:
    """Claims against the printed tables of the same paper: claim, place, verdict, of ECIR and LTD the numbers in words.

    ``verdict``: "agrees with its table" (of the training curves that LTD's release holds: "its curves") if every
    printed pair of numbers says what the claim says, else "does not: 5 of 12", which is how many do. It is about
    printed means, whatever their deviation, and no run of ours stands behind it: a claim that agrees with its table is
    *not reproduced*. Where a table compares its runs with numbers that other work printed, it cannot tell whether two
    ways of training are the same; the verdict says so.
    """
    rows = claims(paper)
    rows = rows.loc[rows["judged"].str.contains("paper tables|recorded curves"), ["claim", "place"]]
    counts = {number: COUNTS[paper][number]() for number in rows.index}
    rows["verdict"] = [_word(true, of, paper, number) for number, (true, of, *_) in counts.items()]
    return rows if paper == "goal" else rows.assign(numbers=[text for *_, text in counts.values()])


def _word(true: int, of: int, paper: str, number: int) -> str:
    if (paper, number) == CITED:
        return f"cannot tell: {true} of {of} within its ± of cited numbers"
    source = "curves" if paper == "ltd" and number in ltd.CURVES else "table"
    return f"agrees with its {source}" if true == of else f"does not: {true:,} of {of:,}"
