"""Commands about runs: start one, look at tables, see what is going on."""

from __future__ import annotations

import contextlib
import difflib
import logging
import os
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click

from icrlib import parameters
from icrlib.cli import products, rows
from icrlib.cli.settings import listing
from icrlib.data.load import DATASETS, DRAWN, has_regions, more_options
from icrlib.errors import choose
from icrlib.files import make_folder
from icrlib.losses.build import canonical
from icrlib.names import LOSSES, METHODS
from icrlib.parameters import parsed, read_value
from icrlib.planning import asked, cost, operations
from icrlib.progress import LINES
from icrlib.records.index import outlines
from icrlib.training import checkpoints
from icrlib.training.options import options_for

NOT_SETTINGS = ("dataset", "data_seed", "method", "loss", "seed", "out", "record", "probe", "smoke")
PATIENCE = 3600  # seconds: a process that starts or tells slowly, on a busy machine, is no failure; a dead one is seen


class Killed(click.ClickException):
    """The notebook's process was killed from outside, so trying again makes sense: exit status 75."""

    exit_code = os.EX_TEMPFAIL


class Stopped(click.ClickException):
    """Ctrl-C: the message says what is kept and how to go on; exit status 130, as a shell's own."""

    exit_code = 130

    def show(self, file=None) -> None:
        click.echo(f"\n{self.message}", err=True)


class WithSettings(click.Command):
    """A command whose help ends with all settings of a run; the list is made only when somebody reads it."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write("\nSettings for -p, of VSE++ with NT-Xent (others: `icr settings METHOD LOSS`):\n\n")
        formatter.write(textwrap.indent(listing(METHODS.usual, LOSSES.usual), "  ") + "\n")


@click.command(cls=WithSettings)
@click.argument("what", metavar="NOTEBOOK_OR_ROW")
@click.argument("output", required=False, type=click.Path(path_type=Path))
@click.option("-p", "given", multiple=True, metavar="NAME=VALUE", help="Set a parameter or a setting; repeatable.")
@click.option("--plan", is_flag=True, help="Say what the run would take, from past records, and stop.")
@products.FORCE
def run(what: str, output: Path | None, given: tuple[str, ...], plan: bool, force: bool) -> None:
    """Run a chapter with parameters, or a row of a published table such as ecir/1.3.

    \b
    icr run book/reproduce/run.ipynb -p loss=ntxent -p seed=1
    icr run book/reproduce/run.ipynb -p method=bow -p drop_words=0.1
    icr run ecir/1.3 -p features=/data/f30k_precomp -p seed=0
    icr run ecir/1.3 --plan

    OUTPUT is the executed notebook; by default it goes to runs/, under a name that tells its parameters apart. What
    the same command left there before is replaced, another file only with --force. Unknown names and bad values are
    refused.
    """
    notebook, preset = rows.find(what)
    declared = parameters.declared(notebook)
    values = preset | parse(given, declared, notebook, preset)
    if values.get("dataset"):
        choose(values["dataset"], DATASETS, "dataset")
    if values.get("method"):
        values["method"] = METHODS.canonical(values["method"])
    if values.get("loss"):
        values["loss"] = canonical(values["loss"])
    _refuse_early(values, declared, notebook, plan)
    if preset:
        rows.check_sizes(what, values)
    click.echo("\n".join(f"  {name} = {value!r}" for name, value in sorted(values.items())) or "  default parameters")
    full = {name: parameters.default(about) for name, about in declared.items()} | values
    click.echo(_expected(full))
    if plan:
        return
    _readable(notebook)
    import papermill  # only here: with all that it brings, this takes longer than a plan
    from jupyter_client.kernelspec import NoSuchKernel
    from nbclient.exceptions import DeadKernelError

    output = products.executed(output or Path("runs") / products.default_name(what, values), notebook, values, force)
    make_folder(output.parent)
    for name in ("papermill", "asyncio"):  # a process that is stopped leaves both with a task that fails: told below
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        with _kernels_own_words() as heard, _told(LINES, "lines"):  # which the notebook's process inherits
            papermill.execute_notebook(
                as_it_is(notebook),
                as_it_is(output),
                values,
                kernel_name="python3",
                progress_bar=sys.stderr.isatty(),
                log_output=True,
                stdout_file=sys.stdout,
                stderr_file=sys.stderr,
                start_timeout=PATIENCE,
                iopub_timeout=PATIENCE,
            )
    except KeyboardInterrupt:
        raise Stopped(_kept(values)) from None
    except papermill.PapermillExecutionError as err:
        if err.ename == "KeyboardInterrupt":  # Ctrl-C reaches the notebook's process, too
            raise Stopped(_kept(values)) from None
        raise click.ClickException(
            f"{notebook}, cell {err.exec_count}: {err.ename}: {err.evalue}\nAll of it: {output}"
        ) from err
    except DeadKernelError as err:
        last = f" It said: {heard[-1]}." if heard else ""
        raise Killed(
            f"{notebook}: its process was killed.{last} With -p out=FOLDER the same command goes on from "
            f"there; the notebook so far: {output}"
        ) from err
    except (NoSuchKernel, RuntimeError) as err:
        why = " ".join(str(err).split()) + (f". It said: {heard[-1]}" if heard else "")
        raise click.ClickException(
            f"{notebook}: no process could be started for it ({why}). This makes the kernel python3 of this "
            f"environment: {sys.executable} -m ipykernel install --sys-prefix"
        ) from err
    click.echo(f"executed notebook: {output}")
    if values.get("out"):
        click.echo(_next(values))


def _refuse_early(values: dict, declared: dict, notebook: Path, plan: bool) -> None:
    """``ValueError`` for what would fail, or be dropped, once everything has started: also an option that the notebook
    declares and that the chosen parts do not have, as :func:`icrlib.train` refuses it."""
    if values.get("smoke") and values.get("record"):
        raise ValueError("a smoke run writes no record; leave record= or smoke= out")
    for name in ("features", "root"):
        if values.get(name) and not plan and not Path(values[name]).is_dir():
            raise FileNotFoundError(
                f"{name}={values[name]}: no such folder; --plan says what it would take all the same"
            )
    if not _takes_settings(notebook):
        return
    full = {name: parameters.default(about) for name, about in declared.items()} | values
    owners = options_for(full["method"], full["loss"], full.get("auxiliary"))
    of_data = {*more_options(full["dataset"]), *NOT_SETTINGS, *DATA}
    for name in values:
        if name not in of_data and values[name] is not None:
            owners.place(name)


def as_it_is(path: Path) -> str:
    """A path for papermill, which takes braces in it for places of parameters."""
    return str(path).replace("{", "{{").replace("}", "}}")


def _readable(notebook: Path) -> None:
    """``ValueError`` where no program could run it, which papermill finds out in the middle."""
    import nbformat

    try:
        nbformat.validate(nbformat.read(notebook, as_version=4))
    except Exception as err:  # nbformat has some of its own, and lets others through
        why = str(err).strip().splitlines()[0] if str(err).strip() else type(err).__name__
        raise ValueError(f"{notebook}: not a notebook that can be run ({why})") from err


@contextlib.contextmanager
def _told(name: str, value: str) -> Iterator[None]:
    """A variable of the environment, for the processes that start meanwhile."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name) if before is None else os.environ.update({name: before})


@contextlib.contextmanager
def _kernels_own_words() -> Iterator[list[str]]:
    """Keep off the terminal what the notebook's process itself writes to its standard error; its lines at the end.

    What cells write arrives by another way. The process inherits file 2, so that leads to a file while it starts.
    """
    heard: list[str] = []
    sys.stderr.flush()
    terminal, before = os.dup(2), sys.stderr
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        with os.fdopen(terminal, "w", closefd=False) as shown:
            sys.stderr = shown if before is sys.__stderr__ else before  # a test's own stays
            try:
                yield heard
            finally:
                sys.stderr = before
                os.dup2(terminal, 2)
                os.close(terminal)
                file.seek(0)
                heard += [line for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]


def _kept(values: dict) -> str:
    out = values.get("out")
    if out:
        return f"stopped; the last evaluation is kept in {out}, and the same command goes on from there"
    return "stopped; nothing of this run is kept. With -p out=FOLDER the same command goes on where it was"


def _next(values: dict) -> str:
    """What a run left and what one does with it."""
    out = Path(values["out"])
    told = [f"model: {out}"] + ([f"record: {out / 'record.json'}"] if (out / "record.json").is_file() else [])
    if values.get("features"):
        told.append(f'search it: icr search {out} "a dog on a beach" --features {values["features"]}')
    elif values.get("images") == "published":
        told.append(f"make a folder of pictures searchable: icr index {values['root']} --model {out}")
    return "\n".join(told)


DATA = ("features", "root", "images", "backbone", "regions")  # what of a notebook's parameters is about the data


def _expected(values: dict) -> str:
    """What the run of a notebook with these parameters would take, and whether it was made already."""
    from icrlib.chapter import settings

    if not {"dataset", "loss"} <= set(values):
        return "plan: past records tell of trainings only, and this notebook does not say of which data and loss it is"
    method, loss = values.get("method") or METHODS.usual, values["loss"]
    more = {name: values[name] for name in more_options(values["dataset"]) if values.get(name) is not None}
    source = {name: values[name] for name in DATA if values.get(name)} | more
    if values["dataset"] in DRAWN:
        source = {"regions": bool(values.get("regions")), "seed": values.get("data_seed")} | more
    config, sizes = asked.configuration(
        values["dataset"],
        method,
        loss,
        seed=values.get("seed") or 0,
        smoke=bool(values.get("smoke")),
        source=source,
        given=settings(values, method, loss),
    )
    if wrong := operations.misfit(config["method"], sizes["features"]):
        raise ValueError(f"{wrong}. {_way_to_features(config)}")
    known = [*outlines(), *asked.of_runs(Path("runs"))]
    there = asked.finished(config, known)
    kept = f"\nits record is there already: {there['path']}" if there else ""
    return _about_data(values, config) + cost.sentence(config, sizes, known, cost.AROUND) + kept


def _way_to_features(config: dict) -> str:
    """How features of the kind that the method takes are had."""
    regions = operations.takes(config["method"]) == "regions"
    if has_regions(config["dataset"]):
        return "Add -p regions=true" if regions else "Leave regions= out"
    if config["dataset"] in DRAWN:
        return "Take -p dataset=scenes -p regions=true, or another method"
    return (
        "icr features PHOTOS FOLDER"
        + (" --regions 4" if regions else "")
        + f" makes {'regions' if regions else 'one vector an image'} of photos; then give -p features=FOLDER"
    )


def _about_data(values: dict, config: dict) -> str:
    """How many updates an epoch has, and where that is from."""
    if values["dataset"] in DRAWN:
        return ""
    given = [values[name] for name in ("features", "root") if values.get(name)]
    gone = [folder for folder in given if not Path(folder).is_dir()]
    why = f", for {gone[0]} is not there" if gone else ""
    source = "as the data set was published" + why if gone or not given else f"by {given[-1]}"
    return f"plan: {config['per_epoch']:,} updates an epoch, {source}\n"


@click.command()
@click.argument("table", required=False)
def tables(table: str | None) -> None:
    """Print a published table, such as ecir/1; without a name, list them."""
    from icrlib import paper

    if table is None:
        for name in paper.tables():
            click.echo(f"{name}  {paper.table(name).attrs['caption']}")
        return
    click.echo(paper.layout(paper.table(table), style="plain").to_string())


def parse(given: tuple[str, ...], declared: dict, notebook: Path | str, preset: dict | None = None) -> dict:
    """``NAME=VALUE`` texts as a dict, each value of the type that its name asks for. Strict about both.

    Names are the notebook's own parameters; where it hands all settings on to a run, those count, too.
    """
    pairs = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"-p {text}: write NAME=VALUE")
        pairs[name] = value
    values = {
        name: parameters.value_of(name, value, declared[name]) for name, value in pairs.items() if name in declared
    }
    others = {name: value for name, value in pairs.items() if name not in declared}
    if not others:
        return values
    if not _takes_settings(notebook):
        choose(next(iter(others)), declared, f"parameter of {notebook}")
    full = {name: parameters.default(about) for name, about in declared.items()} | (preset or {}) | values
    for name in [name for name in others if name in more_options(full["dataset"])]:
        values[name] = read_value(others.pop(name))
    parts = full["method"], full["loss"], others.get("auxiliary")
    owners = options_for(*parts)
    for name, value in others.items():
        known = [*declared, *more_options(full["dataset"]), *(n for names in owners.owners.values() for n in names)]
        meant = "_" not in name or difflib.get_close_matches(name, more_options(full["dataset"]), n=1)
        if meant and not any(name in names for names in owners.owners.values()):
            choose(name, known, f"parameter of {notebook}")
        values[name] = parsed(name, value, *parts)
    return values


def _takes_settings(notebook: Path | str) -> bool:
    """Whether the notebook hands every setting on to a run, as book/reproduce/run does."""
    return "chapter.settings(globals()" in Path(notebook).read_text(encoding="utf-8")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path("runs"))
def status(folder: Path) -> None:
    """List the runs below FOLDER (default: runs): finished, under way or interrupted, and how far they are."""
    found = checkpoints.runs_below(folder)
    if not found:
        click.echo(f"{folder}: no runs here; `icr run … -p out=FOLDER` makes one")
    width = max((len(str(path.relative_to(folder))) for path in found), default=0)
    for path in found:
        click.echo(f"  {str(path.relative_to(folder)):<{width}}  {checkpoints.state_of(path)}")
