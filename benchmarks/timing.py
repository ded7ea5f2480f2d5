"""Time two things side by side, in turns, so that a busy machine slows both alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import click
import torch

once = False  # call everything once, cold: no figures, but a bench that runs


class Row(NamedTuple):
    """``ours`` and ``theirs`` in seconds. ``price``: the ratio is what ours costs, not how many times faster it is."""

    what: str
    ours: float
    theirs: float
    against: str
    goal: str
    price: bool = False

    def __str__(self) -> str:
        ratio = self.ours / self.theirs if self.price else self.theirs / self.ours
        words = "times the cost of" if self.price else "times faster than"
        times = f"{self.ours * 1e3:9.1f} ms  {ratio:8.2f} {words} {self.against} ({self.theirs * 1e3:.1f} ms)"
        return f"  {self.what:<42}{times}  [{self.goal}]"


def race(calls: list[Callable[[], object]], repeats: int = 7) -> list[float]:
    """Median wall seconds of each call, after one to warm up; fewer repeats for slow ones."""
    times: list[list[float]] = [[] for _ in calls]
    for call in () if once else calls:
        call()
    for _ in range(1 if once else repeats):
        for call, seconds in zip(calls, times, strict=True):
            _wait()
            start = time.perf_counter()
            call()
            _wait()
            seconds.append(time.perf_counter() - start)
        if sum(map(sum, times)) > 60:
            break
    return [statistics.median(seconds) for seconds in times]


def compare(what: str, ours: Callable, theirs: Callable, against: str, goal: str, price: bool = False) -> Row:
    """One row of a table: both timed in turns."""
    return Row(what, *race([ours, theirs]), against, goal, price)


def show(title: str, rows: list[Row]) -> None:
    """Print a table."""
    click.echo("\n".join([f"\n{title}", *map(str, rows)]))


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
