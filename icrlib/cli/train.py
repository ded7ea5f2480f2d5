"""``icr train PAGE``: the runs that a page names and nobody has trained; ``icr keep``: make them the book's."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from icrlib.experiments import keys, missing, named, store
from icrlib.files import write_bytes
from icrlib.parameters import pairs, read_value
from icrlib.progress import bar

ROOT = store.trained().parent


@click.command()
@click.argument("page", type=click.Path(path_type=Path))
@click.option("-p", "given", multiple=True, metavar="NAME=VALUE", help="Set a parameter of the page; repeatable.")
@click.option("--plan", is_flag=True, help="Only say how many runs are missing, and how long they take.")
@click.option("--features", type=click.Path(path_type=Path), help="Where the features of photos lie.")
@click.option(
    "--profile",
    metavar="NAME",
    help="Train by Snakemake: local (two at a time), gpu, slurm, or a folder with a profile of your own.",
)
def train(page: Path, given: tuple[str, ...], plan: bool, features: Path | None, profile: str | None) -> None:
    """Train the runs that PAGE names and no record is of, such as book/training/losses.py (or training/losses).

    \b
    icr train reproduce/tables -p dataset=flickr30k -p features=/data/f30k_precomp --plan

    They land in runs/, where the page finds them. Killed and started again, this goes on where it was. Runs that
    depend on a search are known when the search is finished, so a page may take several rounds.
    """
    before: list[str] = []
    of_book, values = ROOT / "book" / f"{page}.py", {name: read_value(text) for name, text in pairs(given).items()}
    page = of_book if of_book.is_file() else page
    while wanted := missing.wanted_by(page, values):
        click.echo(missing.plan(wanted))
        these = [keys.key(one) for one in wanted]
        if plan:
            return
        if these == before:
            raise click.ClickException(f"{page}: the same runs are missing as before; see {store.trained()} for why")
        if profile:
            _by_snakemake(wanted, features, profile)
        else:
            for one in bar(wanted, "runs"):
                named.train_one(one, keys.folder(one), features)
        before = these
    click.echo(f"{page}: no run is missing")


@click.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path, exists=True, file_okay=False))
def keep(folder: Path | None) -> None:
    """Copy the records of finished runs below FOLDER (default: runs/) to records/, for the book to show.

    A run that the book has is left alone: the first record of it counts.
    """
    new = store.keep(folder)
    click.echo("\n".join([*map(str, new), f"{len(new)} new records"]))


def _by_snakemake(wanted: Sequence[dict], features: Path | None, profile: str) -> None:
    """One round: each run is the notebook that a reader would start, with its parameters."""
    flow = ROOT / "workflow"
    place = Path(profile) if Path(profile).is_dir() else flow / "profiles" / profile
    commands = {}
    for one in wanted:
        if keys.stages_before(one):  # the next round's
            continue
        folder = keys.folder(one)
        given = {n: value for n, value in keys.for_training(one).items() if value is not None} | {"out": str(folder)}
        given |= {"features": str(features.resolve())} if features else {}
        words = [word for name, value in given.items() for word in ("-p", f"{name}={value}")]
        notebook = [str(ROOT / "book" / "reproduce" / "run.ipynb"), str(folder / "run.ipynb"), "--force"]
        commands[str(folder)] = shlex.join([sys.executable, "-m", "icrlib", "run", *notebook, *words])
    listed = store.trained() / "missing.json"
    write_bytes(listed, json.dumps(commands, indent=1).encode())
    snakemake = [sys.executable, "-m", "snakemake", "--snakefile", str(flow / "Snakefile")]
    options = ["--directory", str(store.trained()), "--config", f"plan={listed}", "--workflow-profile", str(place)]
    if subprocess.run([*snakemake, *options]).returncode:
        raise click.ClickException("not all runs were trained; what was finished is kept, and the same command goes on")
