"""Commands about runs: start one, look at tables, compare two, see what is going on."""

from __future__ import annotations

import ast
import json
import logging
import sys
from pathlib import Path

import click

from icrlib.errors import choose


@click.command()
@click.argument("what", metavar="NOTEBOOK_OR_ROW")
@click.argument("output", required=False, type=click.Path(path_type=Path))
@click.option("-p", "given", multiple=True, metavar="NAME=VALUE", help="Set a parameter of the notebook; repeatable.")
@click.option("--plan", is_flag=True, help="Say what the run would take, from past records, and stop.")
def run(what: str, output: Path | None, given: tuple[str, ...], plan: bool) -> None:
    """Run a chapter with parameters, or a row of a published table such as ecir/1.3.

    \b
    icr run book/reproduce/run.ipynb -p loss=ntxent -p seed=1
    icr run ecir/1.3 -p features=/data/f30k_precomp -p seed=0
    icr run ecir/1.3 --plan

    OUTPUT is the executed notebook; by default it goes to runs/. Unknown names and bad values are refused.
    """
    import papermill

    notebook, preset = _find(what)
    declared = papermill.inspect_notebook(str(notebook))
    values = preset | parse(given, declared, notebook)
    for name, allowed in _allowed().items():
        if values.get(name):
            choose(values[name], allowed, name)
    if values.get("loss"):
        from icrlib.losses import canonical

        values["loss"] = canonical(values["loss"])
    click.echo("\n".join(f"  {name} = {value!r}" for name, value in sorted(values.items())) or "  default parameters")
    click.echo(_plan(values, declared))
    if plan:
        return
    output = output or Path("runs") / f"{what.removesuffix('.ipynb').replace('/', '-').strip('.-')}.ipynb"
    output.parent.mkdir(parents=True, exist_ok=True)
    logging.getLogger("papermill").setLevel(logging.ERROR)
    try:
        papermill.execute_notebook(
            str(notebook), str(output), values, kernel_name="python3", progress_bar=sys.stderr.isatty(),
            log_output=True, stdout_file=sys.stdout, stderr_file=sys.stderr,
        )  # fmt: skip
    except papermill.PapermillExecutionError as err:
        raise click.ClickException(
            f"{notebook}, cell {err.exec_count}: {err.ename}: {err.evalue}\nAll of it: {output}"
        ) from err
    click.echo(f"executed notebook: {output}")


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


@click.command()
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
def compare(first: Path, second: Path) -> None:
    """Show what differs between two records: settings, versions, test measures."""
    from icrlib import records

    a, b = records.load(first), records.load(second)
    for title, left, right in (("settings", a["config"], b["config"]), ("versions", a["versions"], b["versions"]),
                               ("test", flat(a["test"]), flat(b["test"])), ("cost", _cost(a), _cost(b))):  # fmt: skip
        click.secho(title, bold=True)
        names = [name for name in {**left, **right} if left.get(name) != right.get(name)]
        for name in names:
            x, y = left.get(name), right.get(name)
            number = isinstance(x, (int, float)) and isinstance(y, (int, float)) and not isinstance(x, bool)
            click.echo(f"  {name:24} {_show(x):>14} {_show(y):>14}" + (f" {y - x:>+12.4g}" if number else ""))
        if not names:
            click.echo("  the same")
    for path, record in ((first, a), (second, b)):
        if record["stale"]:
            click.echo(f"{path}: written by an earlier version of the library (code hash differs)")


def parse(given: tuple[str, ...], declared: dict, notebook: Path | str) -> dict:
    """``NAME=VALUE`` texts as a dict, each value of the type of the notebook's default. Strict about both."""
    values = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"-p {text}: write NAME=VALUE")
        choose(name, declared, f"parameter of {notebook}")
        values[name] = _value(name, value, declared[name])
    return values


def _value(name: str, text: str, declared: dict):
    default = ast.literal_eval(declared["default"])
    kind = declared["inferred_type_name"].strip("'\" ")
    try:
        value = json.loads({"True": "true", "False": "false", "None": "null"}.get(text, text))
    except json.JSONDecodeError:
        value = text
    wanted = {"int": int, "float": (int, float), "bool": bool, "str": str}.get(kind, type(default))
    if wanted is str and not isinstance(value, str):
        value = text
    if value is None and default is None:
        return None
    wrong_bool = isinstance(value, bool) and wanted is not bool
    if not isinstance(value, wanted) or wrong_bool:
        raise ValueError(f"parameter {name}: {text!r} is not of type {kind}; default: {default!r}; {declared['help']}")
    return value


def _allowed() -> dict[str, list[str]]:
    from icrlib import models
    from icrlib.data import DATASETS

    return {"dataset": list(DATASETS), "method": list(models.METHODS)}


def _find(what: str) -> tuple[Path, dict]:
    """The notebook to run, and the parameters that a row of a table presets."""
    from icrlib import paper, records

    if Path(what).suffix == ".ipynb":
        if not Path(what).is_file():
            raise FileNotFoundError(f"{what}: no such notebook here")
        return Path(what), {}
    experiment = paper.experiment(what)
    notebook = records.PACKAGE.parent / "book" / "reproduce" / "run.ipynb"
    if not notebook.is_file():
        raise FileNotFoundError(
            "rows run through book/reproduce/run.ipynb, which is in the book's checkout, not in the wheel"
        )
    import papermill

    declared = papermill.inspect_notebook(str(notebook))
    return notebook, {name: value for name, value in experiment.items() if name in declared and value is not None}


def _plan(values: dict, declared: dict) -> str:
    """Time, memory and disk of the run as past records suggest."""
    from icrlib import records

    full = {name: ast.literal_eval(about["default"]) for name, about in declared.items()} | values
    known = {name: full[name] for name in ("dataset", "method", "loss") if full.get(name)}
    exact, alike = records.find(**known), {name: known[name] for name in ("method", "loss") if name in known}
    past = exact or records.find(**alike)
    if not past:
        return f"plan: no record of {alike} yet, so its time is unknown; a first run with smoke=True takes seconds"
    record = min(past, key=lambda r: r["wall_seconds"] / r["config"]["updates"])
    each = record["wall_seconds"] / record["config"]["updates"]
    updates = (
        full.get("updates") or (full.get("epochs") or 0) * record["updates_per_epoch"] or record["config"]["updates"]
    )
    disk = record["parameters"] * 4 * 5 / 1e6  # weights, Adam's two moments, the best weights, the saved model
    return (
        f"plan: about {each * updates / 60:.1f} minutes for {updates} updates ({1e3 * each:.0f} ms each on "
        f"{record['device']}, {record['threads']} thread), {record['peak_memory_mb']} MB of memory, about "
        f"{max(disk, 1):.0f} MB on disk; from {Path(record['path']).name}, with its sizes"
        + ("" if exact else f". A guess: that record is of {record['config']['dataset']}; there is none of this data")
    )


def flat(values: dict, prefix: str = "") -> dict:
    """Nested dict to one level, keys joined by dots."""
    out: dict = {}
    for key, value in values.items():
        out |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return out


def _cost(record: dict) -> dict:
    return {name: record[name] for name in ("wall_seconds", "seconds_per_epoch", "peak_memory_mb", "device")}


def _show(value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path("runs"))
def status(folder: Path) -> None:
    """List the runs below FOLDER (default: runs): finished, under way or interrupted, and how far they are."""
    from icrlib import checkpoints

    found = sorted(path.parent for path in folder.rglob("config.json"))
    if not found:
        click.echo(f"{folder}: no runs here; `icr run … -p out=FOLDER` makes one")
    width = max((len(str(path.relative_to(folder))) for path in found), default=0)
    for path in found:
        try:
            state = checkpoints.state_of(path)
        except (ValueError, KeyError, RuntimeError) as err:  # one damaged run must not hide the others
            state = f"damaged: {err}"
        click.echo(f"  {str(path.relative_to(folder)):<{width}}  {state}")
