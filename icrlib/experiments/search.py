"""Searches over settings: what came out best on validation data, and whether anybody looked far enough."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from icrlib.experiments.compare import Comparison
from icrlib.experiments.intervals import over_pairs
from icrlib.experiments.named import Chosen, Pair, Runs, listed, runs, setting
from icrlib.experiments.record_settings import seed
from icrlib.files import write_bytes

FOLLOW = ("evaluate_every", "warmup")  # they go with the updates: no scale on which a better value lies beyond


class Search:
    """Candidates, all of a model and a loss on the same draws.

    ``ranked``: of each model and loss (settings, mean of the best validation rsum over draws), the best first.
    ``best``: {(model, loss): the winner's settings}. ``ValueError`` where two settings were tried on different draws:
    the best might have had the easier ones.
    """

    def __init__(self, candidates: Runs) -> None:
        self.candidates = candidates
        self._tried = {pair: _tried(pair, group) for pair, group in candidates.by("method", "loss").items()}
        self.ranked = {pair: [(s, float(of.mean())) for s, of in rows] for pair, rows in self._tried.items()}

    def __repr__(self) -> str:
        sizes = {pair: len(rows) for pair, rows in self.ranked.items()}
        return f"Search({', '.join(f'{m} with {loss}: {n} settings' for (m, loss), n in sizes.items())})"

    @property
    def best(self) -> dict[Pair, dict]:
        return {pair: rows[0][0] for pair, rows in self.ranked.items()}

    @property
    def moved(self) -> dict[Pair, set[str]]:
        """Names of the settings that were searched: here, or before, where the candidates are at what was chosen."""
        before = self.candidates.searched
        return {
            pair: {name for settings, _ in rows for name in settings if len({s.get(name) for s, _ in rows}) > 1}
            | before.get(pair, set())
            for pair, rows in self.ranked.items()
        }

    def again(self, *, method=None, loss=None, **more) -> Runs:
        """What was chosen, once more: of all models and losses, or of these, with ``more`` given.

        The next link of a chain of searches (``search(rates.again(seed=100, margin=[0.1, 0.4]))``), or the runs that
        are compared (``lengths.again(seed=range(3))``). ``ValueError`` where nothing was chosen.
        """
        dataset = self.candidates[0]["config"]["dataset"]
        groups = [
            runs(dataset, method=m, loss=name, at=self.chosen, **more)
            for m, name in self.best
            if (method is None or m in listed(method)) and (loss is None or name in listed(loss))
        ]
        if not groups:
            which = f"{method or 'any model'} with {loss or 'any loss'}"
            raise ValueError(f"nothing was chosen for {which}; only for {sorted(self.best)}")
        return sum(groups[1:], groups[0])

    @property
    def chosen(self) -> Chosen:
        """What :func:`icrlib.runs` takes as ``at=``."""
        return Chosen(self.best, self.moved)

    @property
    def table(self) -> pd.DataFrame:
        """Validation rsum: a row for each model, loss and what else was moved, a column for each learning rate."""
        frame = pd.DataFrame(
            {"method": m, "loss": loss} | self._with_defaults((m, loss), settings) | {"val": value}
            for (m, loss), ranked in self.ranked.items()
            for settings, value in ranked
        )
        moved = [n for n in frame if n not in ("method", "loss", "lr", "val") and frame[n].nunique(dropna=False) > 1]
        index = ["method", "loss", *moved]
        frame[moved] = frame[moved].astype(object).fillna("–")
        return frame.pivot(index=index, columns="lr", values="val")

    def _with_defaults(self, pair: Pair, settings: Mapping) -> dict:
        """``settings``, and what a run with them had where other candidates were given a value."""
        given = self.candidates.given
        one = next(r for r in self.candidates.by("method", "loss")[pair] if given[r["key"]] == settings)
        return {name: setting(one, name) for name in set().union(*self.moved.values())} | dict(settings)

    @property
    def winners(self) -> pd.DataFrame:
        """A row for each model and loss: what was chosen, and whether anybody looked far enough.

        ``moved``; ``candidates``, how many settings; ``draws``, the seeds of each; ``chosen``; ``val``, its mean of the
        best validation rsum. ``edge``: of which settings the largest or the smallest of several values won, so
        that a better one may lie beyond, and ``gained``: the most that the last step to such an edge brought (rsum; NaN
        where there is none). ``lead``: the winner less the runner-up, paired by draw, with its 95 % interval, and
        ``tied``: does that hold zero? None where there is one draw, or no runner-up.
        """
        rows = {}
        for pair, ranked in self.ranked.items():
            best, edges, lead = ranked[0][0], self._edges(pair), self._lead(pair)
            moved = sorted(self.moved[pair], key=lambda name: (name != "lr", name))
            rows[pair] = {
                "moved": ", ".join(moved),
                "candidates": len(ranked),
                "draws": ", ".join(map(str, sorted(set(map(seed, self.candidates[pair]))))),
                "chosen": ", ".join(f"{n} {_text(best[n])}" for n in moved if n in best and n != "evaluate_every"),
                "val": ranked[0][1],
                "edge": ", ".join(f"{side} {name}" for name, (side, _) in edges.items()),
                "gained": max((gained for _, gained in edges.values()), default=np.nan),
                "lead": str(lead or ""),
                "tied": lead.low <= 0 <= lead.high if lead and lead.n > 1 else None,
            }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["model", "loss"])

    def _edges(self, pair: Pair) -> dict[str, tuple[str, float]]:
        """{setting: (largest or smallest, rsum that the last step gained)}. Nothing is less than none: 0 is no edge."""
        edges = {}
        for name, value in self.best[pair].items():
            values = self.by(name)[pair]
            if name in FOLLOW or len(values) < 2 or not value or not isinstance(value, (int, float)):
                continue
            for side, (last, before) in {"smallest": [*values][:2], "largest": [*values][:-3:-1]}.items():
                if value == last:
                    edges[name] = side, values[last] - values[before]
        return edges

    def _lead(self, pair: Pair) -> Comparison | None:
        if len(self._tried[pair]) < 2:
            return None
        (_, first), (_, second), *_ = self._tried[pair]
        return Comparison(over_pairs(first, second), None)

    def by(self, name: str) -> dict[Pair, dict]:
        """{(model, loss): {value of a setting: the best validation rsum with it}}."""
        values: dict = {}
        for pair, ranked in self.ranked.items():
            for settings, value in reversed(ranked):
                if name in settings:
                    values.setdefault(pair, {})[settings[name]] = value
        return {p: dict(sorted(one.items(), key=lambda of: (of[0] is not None, of[0]))) for p, one in values.items()}


def search(*grids: str | Runs, **settings) -> Search:
    """Candidates, named as for :func:`runs`, or several grids of them: ``search(runs(…), runs(…))``.

    What is best has the highest validation rsum, mean over the draws, of the best evaluation. Test numbers are not
    looked at. ``ValueError`` where settings were tried on different draws.
    """
    first, *more = grids
    candidates = sum(more, first) if isinstance(first, Runs) else runs(first, **settings)
    return Search(candidates)


def _tried(pair: Pair, tried: Runs) -> list[tuple[dict, np.ndarray]]:
    """(settings, best validation rsum by rising seed (n,)) of each candidate, the best mean first."""
    groups: dict[tuple, list] = {}
    for record in tried:
        groups.setdefault(tuple(sorted(tried.given[record["key"]].items())), []).append(record)
    draws = {tuple(sorted(map(seed, group))) for group in groups.values()}
    if len(draws) > 1:
        each = " and ".join(str(list(one)) for one in sorted(draws))
        raise ValueError(f"settings of {pair[0]} with {pair[1]} were tried on different draws, {each}: not comparable")
    rows = [(dict(s), Runs(sorted(group, key=seed)).values("chosen.val_rsum")) for s, group in groups.items()]
    return sorted(rows, key=lambda row: -row[1].mean())


def _text(value) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def write(searches: Mapping[str, Search], path: Path) -> None:
    """Keep what was chosen, for ``at="searched"``: ``{"scenes": rates, "scenes, own constants": constants}``."""
    table = {
        name: [
            {"method": m, "loss": loss, "settings": best, "moved": sorted(one.moved[m, loss])}
            for (m, loss), best in one.best.items()
        ]
        for name, one in searches.items()
    }
    write_bytes(path, (json.dumps(table, indent=1) + "\n").encode())
