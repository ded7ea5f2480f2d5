"""Repeat the golden runs: does today's code still do what it did when the records were made?

Without options all of records/goldens.jsonl; NAMES: only those that contain one of
them ("scenes/bow/ntxent$": that end so). Nothing is written but with
--add (a run for what records hold and no golden covers yet) and --again (a run that is meant to be another one now).
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from golden_runs import cover, measure
from icrlib import progress
from icrlib.records import find, goldens

# The same run with other rounding: what is set before torch is imported, and what afterwards.
VARIANTS = {
    "AVX2": {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"},
    "two threads, without oneDNN": {"GOLDEN_THREADS": "2", "GOLDEN_ONEDNN": "0"},
    "noise": {"GOLDEN_NOISE": "1"},
    "other noise": {"GOLDEN_NOISE": "2"},
}


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--few", is_flag=True, help="Only the dozen of the fast lane.")
@click.option("--jobs", default=1, show_default=True, help="Processes, one thread each.")
@click.option("--add", is_flag=True, help="Make goldens for what records hold and none covers yet.")
@click.option("--again", is_flag=True, help="Make these anew, where they have come to another run than before.")
@click.option("--rounding", is_flag=True, help="Unchanged code on another processor: what differs here is rounding.")
def main(names: tuple[str, ...], few: bool, jobs: int, add: bool, again: bool, rounding: bool) -> None:
    known = goldens.read() if goldens.path().is_file() else []
    if add:
        return write_down(known, [golden for golden in cover.missing(find(study="*"), known)], jobs)
    chosen = [
        g
        for g in known
        if (not names or any(n in g["name"] + "$" for n in names)) and (g["name"] in cover.FEW or not few)
    ]
    if not chosen:
        raise click.ClickException(
            f"no golden run is called {', '.join(names)}; there are {len(known)}: "
            + ", ".join(g["name"] for g in known)
        )
    differing = compared(chosen, jobs)
    if not differing:
        click.echo(f"{len(chosen)} golden runs: all as they were")
        return
    for name, found in differing.items():
        click.echo(f"{name}:\n" + "\n".join(f"  {line}" for line in found[:12]))
    if rounding:
        return widen(known, [g for g in chosen if g["name"] in differing], jobs)
    if again:
        return write_anew(known, {g["name"]: g for g in chosen if g["name"] in differing}, jobs)
    raise click.ClickException(
        f"{len(differing)} of {len(chosen)} golden runs are not as they were. If that is a mistake, mend it. If it is "
        "meant, raise `behaviour` of the part that changed, so that old records no longer answer for it, and then "
        "make goldens AGAIN=1"
    )


def compared(chosen: list[dict], jobs: int) -> dict[str, list[str]]:
    """What differs, by name of the golden."""
    found = {}
    for golden, seen in zip(chosen, repeated(chosen, jobs), strict=True):
        lines = seen if isinstance(seen, list) else goldens.differences(golden, seen["values"], seen["config"])
        if not lines and seen["identity"] != golden["identity"]:
            was, now = golden["identity"], seen["identity"]
            lines = [f"its identity is {now}, and was {was}: the data's hash, or how an identity is made, is another"]
        if lines:
            found[golden["name"]] = lines
    return found


def repeated(chosen: list[dict], jobs: int) -> Iterable[dict | list[str]]:
    """The goldens' runs as they are now, in order: what was seen, or lines that say how they failed."""
    asked = [golden["asked"] for golden in chosen]
    with progress.bar(asked, "golden runs", len(asked) > 2) as left:
        if jobs < 2:
            for one in left:
                yield measure.attempt(one)
            return
        with multiprocessing.get_context("spawn").Pool(jobs, initializer=measure.one_thread) as pool:
            for seen in pool.imap(measure.attempt, asked):
                left.update()
                yield seen


def write_down(known: list[dict], requests: list[dict], jobs: int) -> None:
    """Make goldens of ``requests`` (``name`` and ``asked``), with their spread, and add them to the file."""
    if not requests:
        click.echo(f"the {len(known)} goldens cover all that records hold")
        return
    first = list(repeated(requests, jobs))
    if failed := {one["name"]: seen for one, seen in zip(requests, first, strict=True) if isinstance(seen, list)}:
        raise click.ClickException("\n".join(f"{name}: {' | '.join(lines)}" for name, lines in failed.items()))
    with ThreadPoolExecutor(jobs) as pool:
        others = list(pool.map(lambda variant: measured_with(variant, requests), VARIANTS))
    for place, (request, seen) in enumerate(zip(requests, first, strict=True)):
        far = goldens.spread(seen["values"], [other[place]["values"] for other in others])
        known.append({"name": request["name"], "asked": request["asked"]} | seen | {"spread": far})
    goldens.write(known)
    click.echo(f"{len(requests)} written; {goldens.path()} has {len(known)}, {goldens.path().stat().st_size} bytes")


def write_anew(known: list[dict], changed: dict[str, dict], jobs: int) -> None:
    """Replace goldens whose runs have come to other ones on purpose: their identity tells."""
    requests = list(changed.values())
    now = dict(zip(changed, repeated(requests, jobs), strict=True))
    if same := [
        name for name, seen in now.items() if isinstance(seen, list) or seen["identity"] == changed[name]["identity"]
    ]:
        raise click.ClickException(
            f"these ask for the same run as before and do something else: {', '.join(same)}. Mend that, or raise "
            "`behaviour` of the part that changed; nothing was written"
        )
    write_down([golden for golden in known if golden["name"] not in changed], requests, jobs)


def widen(known: list[dict], differing: list[dict], jobs: int) -> None:
    """Add to the spread of goldens what moves them on this processor. Their first loss and gradient must be the same:
    rounding shows late, a mistake in a constant, an initial range or a mask at once."""
    for golden, seen in zip(differing, repeated(differing, jobs), strict=True):
        was, now = golden["values"], {} if isinstance(seen, list) else seen["values"]
        if {name: len(row) for name, row in was.items()} != {name: len(row) for name, row in now.items()}:
            raise click.ClickException(f"{golden['name']} is another run, not another rounding; nothing was written")
        for name in ("loss", "norm"):
            if name in was and abs(now[name][0] - was[name][0]) > goldens.allowed(golden, name)[0]:
                raise click.ClickException(f"{golden['name']}: its first {name} differs; nothing was written")
        for name, far in goldens.spread(was, [now]).items():
            before = golden["spread"].get(name, [0.0] * len(far))
            golden["spread"][name] = [max(pair) for pair in zip(before, far, strict=True)]
    goldens.write(known)
    click.echo(f"{len(differing)} goldens have the rounding of this processor, too")


def measured_with(variant: str, requests: list[dict]) -> list[dict]:
    """What is seen of the runs in a process of their own with other rounding."""
    click.echo(f"the same with {variant}")
    with tempfile.TemporaryDirectory() as folder:
        asked, seen = Path(folder, "asked.json"), Path(folder, "seen.json")
        asked.write_text(json.dumps([request["asked"] for request in requests]))
        where = {**os.environ, **VARIANTS[variant], "PYTHONPATH": os.pathsep.join(sys.path)}
        subprocess.run([sys.executable, "-m", "golden_runs.measure", asked, seen], check=True, env=where)
        return json.loads(seen.read_text())


if __name__ == "__main__":
    measure.one_thread()
    main()
