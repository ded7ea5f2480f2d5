"""Time two things side by side, and write the table."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import click
import torch

once = False  # call everything once, cold: no figures, but a bench that runs


@dataclass
class Row:
    """``ours`` and ``theirs`` in seconds (the medians of several calls). ``goal``: what the ratio should reach."""

    what: str
    ours: float
    theirs: float
    against: str
    goal: str = ""
    higher_is_better: bool = True

    @property
    def ratio(self) -> float:
        """How many times faster ours is; or, for a price, how many times what it is compared with."""
        return self.theirs / self.ours if self.higher_is_better else self.ours / self.theirs


def seconds(call: Callable[[], object], repeats: int = 7) -> float:
    """Median wall time of ``call`` after one call to warm up; fewer repeats for slow ones."""
    return race([call], repeats)[0]


def race(calls: list[Callable[[], object]], repeats: int = 7) -> list[float]:
    """Median wall time of each; the calls take turns, so that a busy machine slows all of them alike."""
    times: list[list[float]] = [[] for _ in calls]
    for call in () if once else calls:
        call()
    for _ in range(1 if once else repeats):
        for call, own in zip(calls, times, strict=True):
            _wait()
            start = time.perf_counter()
            call()
            _wait()
            own.append(time.perf_counter() - start)
        if sum(map(sum, times)) > 60:
            break
    return [statistics.median(own) for own in times]


def compare(what: str, ours: Callable, theirs: Callable, against: str, repeats: int = 7, **options) -> Row:
    """One row of a table: both timed in turns."""
    return Row(what, *race([ours, theirs], repeats), against, **options)


def show(title: str, rows: list[Row]) -> None:
    """Print the rows as they are known."""
    click.echo(f"\n{title}")
    width = max(len(row.what) for row in rows)
    for row in rows:
        word = "times faster than" if row.higher_is_better else "times the cost of"
        click.echo(
            f"  {row.what:<{width}}  {row.ours * 1e3:9.1f} ms  {row.ratio:8.2f} {word} {row.against} "
            f"({row.theirs * 1e3:.1f} ms)" + (f"  [{row.goal}]" if row.goal else "")
        )


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
