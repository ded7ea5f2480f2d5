"""Progress: bars that are on by default, off where the caller or ``TQDM_DISABLE=1`` says so, and a training's news."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from tqdm.auto import tqdm


def bar(items, description: str, shown: bool = True, **options) -> tqdm:
    """A tqdm bar over ``items`` (or ``None`` with ``total=``)."""
    # tqdm's notebook bar does not read the variable itself.
    shown = shown and os.environ.get("TQDM_DISABLE", "") in ("", "0")
    return tqdm(items, desc=description, disable=not shown, **options)


LINES = "ICR_PROGRESS"  # set to "lines" by `icr run`: a bar in a notebook is not seen by who runs it in a shell


class Report:
    """A training's bar over the updates that are left, with the latest figures, and a word when a collapse begins or
    ends. ``config``: a run's settings; ``state``: the loop's, with the update that it starts from.

    With ``ICR_PROGRESS=lines`` in the environment a line at each evaluation instead.
    """

    def __init__(self, config: Mapping, state: Mapping, shown: bool = True) -> None:
        title = f"{config['method']} {config['loss']} seed {config['seed']}"
        done, wanted = state["update"], config["updates"]
        self.lines = shown and os.environ.get(LINES) == "lines"
        self.done, self.wanted, self.began = done, wanted, time.monotonic()
        self.bar = bar(range(done, wanted), title, shown and not self.lines, initial=done, total=wanted)
        if self.lines:
            print(f"{title}: {wanted - done:,} updates" + (f", going on at {done:,}" if done else ""), flush=True)
        self.history = state["history"]

    def __enter__(self) -> tqdm:
        return self.bar

    def __exit__(self, *_: object) -> None:
        self.bar.close()

    def show(self, entry: Mapping) -> None:
        """The latest entry of the history."""
        self.bar.set_postfix(loss=f"{entry['loss']:.3f}", rsum=f"{entry['val']['rsum']:.1f}")
        if self.lines:
            past = time.monotonic() - self.began
            left = past / max(1, entry["update"] - self.done) * (self.wanted - entry["update"])
            print(
                f"  update {entry['update']:>6,} of {self.wanted:,}  loss {entry['loss']:8.3f}  validation rsum "
                f"{entry['val']['rsum']:5.1f}  {tqdm.format_interval(left)} left",
                flush=True,
            )
        now = entry["diagnose"]["collapsed"]
        before = len(self.history) > 1 and self.history[-2]["diagnose"]["collapsed"]
        if now and not before and not self.bar.disable:
            tqdm.write(f"update {entry['update']}: loss {entry['loss']:.1f}. {entry['diagnose']['hint']}")
        elif before and not now and not self.bar.disable:
            tqdm.write(f"update {entry['update']}: the plateau is left, scores differ again")
