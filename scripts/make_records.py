"""Train the runs of a study whose records are missing, and write each record when it is done.

Without a study it lists all. Where a study waits for a search, what is missing there is trained first. A killed run
goes on from its last checkpoint in runs/. Existing records are never touched. Several of these commands may run side by
side: each run is trained by one of them.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import click
import torch

import icrlib
from icrlib import devices, records
from icrlib.errors import choose
from icrlib.experiments import missing
from icrlib.studies import Run, Unfinished, studies

RUNS = Path("runs")


@click.command(help=__doc__)
@click.argument("study", required=False)
@click.option("--features", type=click.Path(path_type=Path, exists=True), help="Features of a study on photos.")
@click.option("--plan", is_flag=True, help="Say how many runs are missing and what they would cost; start nothing.")
@click.option("--loss", "losses", multiple=True, help="Only the runs with this loss; may be given several times.")
@click.option("--jobs", type=click.IntRange(1, 1000), default=1, help="Runs at a time, each in one thread.")
def main(study: str | None, features: Path | None, plan: bool, losses: tuple[str, ...], jobs: int) -> None:
    if study is None:
        if features or plan or losses:
            raise click.UsageError(
                "--features, --plan and --loss are about one study; name it (STUDY=name for make), "
                "or leave them out for the list of all"
            )
        return overview()
    left = 0
    try:
        choose(study, studies, "study")
        listed = {run.loss for run in studies[study].runs()} if losses else set()
        if strange := set(losses) - listed:
            raise click.ClickException(
                f"{study} has no runs with {', '.join(sorted(strange))}; it has {', '.join(sorted(listed))}"
            )
        for one, runs in studies[study].todo(losses):
            left += len(runs)
            if plan:
                click.echo(f"{one.name}: {expected(runs, features)}")
            else:
                train_all(runs, features, jobs)
    except ValueError as err:
        if not (isinstance(err, Unfinished) and left):
            raise click.ClickException(str(err)) from err
        click.echo(f"{study}: waits for what is missing there; {err}")
    if plan and not left:
        click.echo(f"{study}: {expected([], features)}")


# What make was called with comes through the environment, so that no shell reads it.
for _parameter in main.params:
    _parameter.envvar = f"RECORDS_{_parameter.opts[0].lstrip('-').upper()}"


def overview() -> None:
    """One line a study: its name, its records, and what it asks. (Which are missing takes long to find.)"""
    wide = max(map(len, studies))
    for name, one in ((name, studies[name]) for name in studies):
        there = sum(1 for _ in (records.root() / "studies" / name).rglob("*.json"))
        click.echo(f"{name:{wide}} {there:5} records  {one.question}")
    click.echo("\nSTUDY=name trains what is missing of one; PLAN=1 only says how much that is and what it takes.")


def expected(runs: list[Run], features: Path | None) -> str:
    """How many runs are missing, and how long they take, by the median of like records."""
    times = [missing.seconds_of(run.on(features).configuration()) for run in runs]
    return f"{len(runs)} runs are missing, {missing.total(times)}"


def train_all(runs: list[Run], features: Path | None, jobs: int) -> None:
    """One run after the other here, or so many at a time in processes of their own."""
    if jobs == 1:
        one_thread()
        for run in runs:
            train(run, features)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), one_thread, max_tasks_per_child=1) as pool:
        for _ in pool.map(partial(train, features=features), runs):
            pass


def one_thread() -> None:
    devices.keep_freed()
    torch.set_num_threads(1)


def train(run: Run, features: Path | None) -> None:
    """One run, unless its record is there by now, its study leaves it out, or another process is at it."""
    if run.done or (run.study in studies and studies[run.study].leaves_out(run)):
        return
    own = run.on(features)
    data = icrlib.load_dataset(run.dataset, **own.data)
    try:
        made = icrlib.train(
            data,
            run.method,
            run.loss,
            seed=run.seed,
            out=RUNS / run.folder,
            record=run.path,
            **own.settings,
        )
    except ValueError as err:
        if not run.done and "another process" not in str(err):  # done: by another, while the data were drawn here
            raise
        click.echo(f"{run.folder}: another process {'has made it' if run.done else 'is at it'}")
        return
    best = made.record["test"]
    twins = f", swap twins {best['twins']['swap']:.1f} %" if "twins" in best else ""
    click.echo(f"{run.folder}: test rsum {best['rsum']:.1f}{twins}, {made.record['wall_seconds']:.0f} s")


if __name__ == "__main__":
    main()
