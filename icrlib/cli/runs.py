"""``icr run``: a chapter or a row of a published table, with parameters."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from icrlib import parameters
from icrlib.data.load import DRAWN, USUAL, more_options
from icrlib.errors import choose
from icrlib.experiments import missing, store
from icrlib.experiments.published import check_sizes, published
from icrlib.files import make_folder, sha256_of
from icrlib.names import LOSSES, METHODS
from icrlib.progress import LINES
from icrlib.records.folder import PACKAGE
from icrlib.training import unread
from icrlib.training.options import options_for

# Seconds: a process that starts or answers slowly, on a busy machine, is no failure; a dead one is seen.
PATIENCE = 3600
DATA = ("features", "root", "images", "backbone", "regions")
RUN = ("dataset", "method", "loss", "seed", "data_seed", "smoke", "out", "record")  # what is no setting of it


@click.command()
@click.argument("what", metavar="NOTEBOOK_OR_ROW")
@click.argument("output", required=False, type=click.Path(path_type=Path))
@click.option("-p", "given", multiple=True, metavar="NAME=VALUE", help="Set a parameter or a setting; repeatable.")
@click.option("--plan", is_flag=True, help="Check the parameters, say what the run would take, and stop.")
@click.option("--force", is_flag=True, help="Write over OUTPUT.")
def run(what: str, output: Path | None, given: tuple[str, ...], plan: bool, force: bool) -> None:
    """Run a chapter with parameters, or a row of a published table such as ecir/1.3.

    \b
    icr run book/reproduce/run.ipynb -p loss=ntxent -p seed=1
    icr run book/reproduce/run.ipynb -p method=bow -p drop_words=0.1
    icr run ecir/1.3 -p features=/data/f30k_precomp -p seed=0
    icr run ecir/1.3 --plan

    OUTPUT is the executed notebook; by default it goes to runs/, under a name that tells its parameters apart, and over
    what the same command left there. An OUTPUT that exists is written over with --force only. Unknown names and bad
    values are refused; `icr settings METHOD LOSS` lists what -p sets.
    """
    notebook, preset = find(what)
    declared = parameters.declared(notebook)
    values = preset | parse(given, declared, notebook, preset)
    if preset and values.get("features"):
        check_sizes(values["dataset"], values["features"])
    click.echo("\n".join(f"  {name} = {value!r}" for name, value in sorted(values.items())) or "  default parameters")
    if _takes_settings(notebook):
        click.echo(expected({name: parameters.default(about) for name, about in declared.items()} | values))
    if plan:
        return
    output = place_of(output, what, values, force)
    # Given nothing, papermill would leave the page the values of its own run.
    execute(notebook, output, values or {name: False for name in declared if name == "smoke"})
    click.echo(f"executed notebook: {output}")
    if values.get("out"):
        click.echo(f"model and record: {values['out']}")


def find(what: str) -> tuple[Path, dict]:
    """The notebook to run, and the parameters that a row of a published table presets."""
    if Path(what).suffix == ".ipynb":
        return Path(what), {}
    preset = published(what)
    del preset["seed"]  # one run is one of them, by default the first
    return PACKAGE.parent / "book" / "reproduce" / "run.ipynb", preset  # in the book's checkout, not in the wheel


def expected(values: Mapping) -> str:
    """What the run of a notebook with these parameters would take; ``ValueError`` for values that no run takes."""
    dataset = values.get("dataset") or USUAL
    more = more_options(dataset)
    source = [*(["regions"] if dataset in DRAWN else DATA), *more]
    config, data = unread.configuration(
        dataset,
        values.get("method") or METHODS.usual,
        values.get("loss") or LOSSES.usual,
        seed=values.get("seed") or 0,
        data_seed=values.get("data_seed"),
        smoke=bool(values.get("smoke")),
        source={name: values[name] for name in source if name in values},
        given={name: value for name, value in values.items() if name not in (*DATA, *RUN, *more) and value is not None},
    )
    if wrong := unread.misfit(config["method"], tuple(data.train.features.shape[1:])):
        raise ValueError(f"{wrong}; `icr features` makes both kinds of photos, and -p regions=true draws regions")
    seconds, key = missing.seconds(config), store.key_of(config)
    time = "of unknown length, for no record is like it" if seconds is None else f"about {seconds / 60:.1f} minutes"
    record = store.load(store.place_of(config["dataset"], config["method"], config["loss"], key))
    known = f"\nits record is there already: {record['path']}" if record else ""
    return f"plan: {config['updates']:,} updates, {time}{known}"


def place_of(output: Path | None, what: str, values: dict, force: bool) -> Path:
    """Where the executed notebook goes: ``output``, where nothing is lost by it, else a name in runs/ that tells runs
    with other parameters apart, run-9f86d081.ipynb."""
    if output is None:
        stem = what.removesuffix(".ipynb").replace("/", "-").strip(".-")
        output = Path("runs") / f"{stem}-{sha256_of(json.dumps(values, sort_keys=True))[:8]}.ipynb"
    elif output.exists() and not force:
        raise ValueError(f"{output} exists; choose another name, or write over it with --force")
    make_folder(output.parent)
    return output


def execute(notebook: Path, output: Path, values: dict) -> None:
    """Let papermill run the notebook; what it raises says how to go on."""
    import papermill  # only here: this takes longer than to refuse a name
    from nbclient.exceptions import DeadKernelError

    for name in ("papermill", "asyncio"):  # a process that is stopped leaves both with a task that fails: said below
        logging.getLogger(name).setLevel(logging.CRITICAL)
    os.environ[LINES] = "lines"  # which the notebook's process inherits
    out = values.get("out")
    kept = f"the last evaluation is kept in {out}" if out else "nothing of this run is kept, without -p out=FOLDER"
    again = "With it the same command goes on where it was (--force, if OUTPUT is named)"
    stopped = KeyboardInterrupt(f"stopped; {kept}. {again}")
    try:
        papermill.execute_notebook(
            notebook,
            output,
            values,
            kernel_name="python3",
            extra_arguments=["--log-level=CRITICAL"],  # of the kernel itself: what cells write arrives by another way
            progress_bar=sys.stderr.isatty(),
            log_output=True,
            stdout_file=sys.stdout,
            stderr_file=sys.stderr,
            start_timeout=PATIENCE,
            iopub_timeout=PATIENCE,
        )
    except KeyboardInterrupt:
        raise stopped from None
    except papermill.PapermillExecutionError as err:
        if err.ename == "KeyboardInterrupt":  # Ctrl-C reaches the notebook's process, too
            raise stopped from None
        where = f"{notebook}, cell {err.exec_count}"
        raise click.ClickException(f"{where}: {err.ename}: {err.evalue}\nAll of it: {output}") from err
    except DeadKernelError as err:
        raise click.ClickException(
            f"{notebook}: its process was killed; {kept}. The notebook so far: {output}"
        ) from err


def parse(given: tuple[str, ...], declared: dict, notebook: Path | str, preset: dict | None = None) -> dict:
    """``NAME=VALUE`` texts as a dict, each value of the type that its name asks for. Strict about both.

    Names are the notebook's own parameters; where it hands all settings on to a run, those count, too.
    """
    texts = parameters.pairs(given)
    own = [name for name in texts if name in declared]
    others = [name for name in texts if name not in declared]
    values = {name: parameters.value_of(name, texts[name], declared[name]) for name in own}
    if others and not _takes_settings(notebook):
        choose(others[0], declared, f"parameter of {notebook}")
    elif others:
        full = {name: parameters.default(about) for name, about in declared.items()} | (preset or {}) | values
        of_data = more_options(full["dataset"])
        options = options_for(full["method"], full["loss"], texts.get("auxiliary", full.get("auxiliary")))
        for name in others:
            if name in of_data:
                values[name] = parameters.read_value(texts[name])
            else:
                options.place(name, more=[*declared, *of_data])
                values[name] = parameters.parsed(name, texts[name], options)
    return values


def _takes_settings(notebook: Path | str) -> bool:
    """Whether the notebook hands every setting on to a run, as book/reproduce/run does."""
    return "chapter.settings(globals()" in Path(notebook).read_text(encoding="utf-8")
