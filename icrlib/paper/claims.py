"""A paper's claims as data, and what its own printed tables say to those that they can judge."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from icrlib.errors import choose
from icrlib.paper import ecir, goal, ltd

PAPERS = ("goal", "ecir", "ltd")
# GOAL's Table 2 holds con x con against what the original work printed for the triplet loss.
CITED = {"goal": (3,), "ecir": (), "ltd": ()}
Count = tuple[int, int, str]  # how often the claim's statement is true, of how many, and the numbers in words


def claims(paper: str = "goal") -> pd.DataFrame:
    """A paper's claims, ECIR's quoted, the others in our words: claim, place (section, equation, table), ``judged``.

    ``judged``, how it can be: "records" (runs of ours), "paper tables" and "recorded curves" (see
    :func:`against_own_tables`), "computation" (formulas and code), "not measurable here" or "not measurable as
    published" (what was published did not measure what the claim is about); several are separated by commas. Index:
    id. ECIR's and LTD's also have ``asked``, how the records are asked, ``tests``, which parts that are (see
    ``icrlib.experiments.ledger``), ECIR's by method ("*": all others), LTD's by list of runs, ``broken``, what was
    measured instead, and ``see``, where a computation stands (a link). None where there is none.
    """
    path = Path(__file__).with_name(f"{choose(paper, PAPERS, 'paper with claims')}_claims.json")
    rows = json.loads(path.read_text(encoding="utf-8"))
    found = pd.DataFrame([row | {"judged": ", ".join(row["judged"])} for row in rows], dtype=object).set_index("id")
    return found.where(found.notna(), None)


def against_own_tables(paper: str = "goal") -> pd.DataFrame:
    """Claims against the printed tables of the same paper: claim, place, verdict, numbers.

    ``verdict``: "agrees with its table" (of the training curves that LTD's release holds: "its curves") if every
    printed pair of numbers says what the claim says, else "does not: 5 of 12", which is how many do. It is about
    printed means, whatever their deviation, and no run of ours stands behind it: a claim that agrees with its table is
    *not reproduced*. Where a table compares its runs with numbers that other work printed, it cannot tell whether two
    ways of training are the same; the verdict says so.
    """
    rows = claims(paper)
    rows = rows.loc[rows["judged"].str.contains("paper tables|recorded curves"), ["claim", "place"]]
    counts = [_OF[paper][number]() for number in rows.index]
    words = [
        _word(true, of, number in CITED[paper], "curves" if paper == "ltd" and number in ltd.CURVES else "table")
        for number, (true, of, _) in zip(rows.index, counts, strict=True)
    ]
    return rows.assign(verdict=words, numbers=[text for *_, text in counts])


def _word(true: int, of: int, cited: bool, source: str) -> str:
    if cited:
        return f"cannot tell: {true} of {of} within its ± of cited numbers"
    return f"agrees with its {source}" if true == of else f"does not: {true:,} of {of:,}"


def _not_optimal() -> Count:
    best = goal.best_cells(goal.BASELINE)
    return int((~best["is_best"]).sum()), len(best), f"con x con is up to {best['below'].max():.1f} below the best cell"


def _same_as_triplet() -> Count:
    found = goal.verification()
    off = [f"{r.setting} {r.direction} {r.difference:+.1f}" for r in found.itertuples() if not r.within]
    own = goal.against_grid()
    own = own[own["table"] == "2"]
    text = f"beyond its ±: {', '.join(off) or 'none'}; {(~own['possible']).sum()} of {len(own)} differ from Tables 3-5"
    return int(found["within"].sum()), len(found), text


def _pairs(found: pd.DataFrame) -> Count:
    """Better cells of a comparison, all weights together."""
    each = ", ".join(
        f"{name} {row.better}" + (f" (ties: {row.ties})" if row.ties else "")
        for name, row in zip(found.index, found.itertuples(), strict=True)
    )
    return int(found["better"].sum()), int(found["of"].sum()), f"better, of {found['of'].iloc[0]} each: {each}"


def _known_beat_triplet() -> Count:
    found = goal.known_losses()
    found = found[found["setting"].isin(goal.FROZEN + goal.FINE_TUNED) & (found["objective"] != goal.BASELINE)]
    true = found["over_triplet"] > 0
    off = [f"{r.loss} {r.over_triplet:+.1f} ({r.setting} {r.direction})" for r in found[~true].itertuples()]
    return int(true.sum()), len(found), f"not above triplet: {', '.join(off) or 'none'}"


def _ms_best_known() -> Count:
    found = goal.known_losses()
    found = found[found["setting"].isin(goal.FINE_TUNED)]
    top = {place: part for place, part in found[found["best_known"]].groupby(["setting", "direction"], sort=False)}
    cells = goal.cells().set_index(["setting", "direction", "objective"])["mean"]
    true, notes = 0, []
    for place, part in top.items():
        better = max(cells[(*place, f"{t} x sig-ms")] for t in ("nca", "cir")) > cells[(*place, "con x sig-ms")]
        true += bool("MS loss" in set(part["loss"]) and better)
        if part["loss"].tolist() != ["MS loss"]:
            notes.append(f"{' '.join(place)}: {' and '.join(part['loss'])}")
    return true, len(top), "MS is best known (or jointly) and beaten; not best alone in " + ("; ".join(notes) or "none")


def _same_pattern() -> Count:
    p, p_of, _ = _pairs(goal.compare("P", goal.VSE_INF))
    t, t_of, _ = _pairs(goal.compare("T", goal.VSE_INF))
    return p + t, p_of + t_of, f"P above P con {p} of {p_of}, T above T con {t} of {t_of}"


def _named_gains() -> Count:
    found = goal.gains()
    own = found.dropna(subset="over_own")
    smaller = int((own["over_own"] < own["table_6"]).sum())
    text = f"against published baselines; smaller against its own con x con in {smaller} of {len(own)}"
    return int(found["agrees"].sum()), len(found), text


def _state_of_the_art() -> Count:
    found = goal.xvlm()
    up, down = int((found["difference"] > 0).sum()), int((found["difference"] < 0).sum())
    text = f"best or joint best measures; against X-VLM {up} rise, {len(found) - up - down} stay, {down} fall"
    return int(found["is_best"].sum()), len(found), text


def _generally_best() -> Count:
    best, order = goal.best_cells(), goal.ranking()
    text = f"best or joint best columns; highest mean gain: {order.index[0]} {order['gain'].iloc[0]:+.2f}"
    return int(best["is_best"].sum()), len(best), text


_COUNTS: dict[int, Callable[[], Count]] = {
    1: _not_optimal,
    3: _same_as_triplet,
    11: lambda: _pairs(goal.compare("P", goal.FROZEN + goal.FINE_TUNED)),
    12: lambda: _pairs(goal.compare("T", goal.FINE_TUNED)),
    13: _known_beat_triplet,
    14: _ms_best_known,
    15: _same_pattern,
    16: _named_gains,
    17: _state_of_the_art,
    18: _generally_best,
}
_OF = {"goal": _COUNTS, "ecir": ecir.COUNTS, "ltd": ltd.COUNTS | ltd.CURVES}
