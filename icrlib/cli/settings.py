"""What can be set, and to what: on the command line, in ``icrlib.train`` and as papermill parameters alike."""

from __future__ import annotations

import inspect
import re
import textwrap
from dataclasses import fields

import click

from icrlib.data.load import DATASETS
from icrlib.errors import choose
from icrlib.losses.build import canonical, kind_of
from icrlib.names import AUXILIARIES, LOSSES, METHODS
from icrlib.training.config import published_for
from icrlib.training.options import options_for, usual
from icrlib.training.settings import GROUPS
from icrlib.training.unread import unread


@click.command()
@click.argument("method", default=METHODS.usual)
@click.argument("loss", default=LOSSES.usual)
@click.option("--auxiliary", help="Also the options of this auxiliary.")
@click.option("--dataset", help="What a run on this data takes: it may bring defaults of its own, as scenes does.")
def settings(method: str, loss: str, auxiliary: str | None, dataset: str | None) -> None:
    """List all settings of a run of METHOD with LOSS: name, default, owner, help.

    \b
    icr settings
    icr settings bow triplet_sh --dataset scenes
    """
    owner = ""
    listed = rows(method, loss, auxiliary, dataset)
    width, start = (max(len(row[place]) for row in listed) for place in (1, 2))
    indent = " " * (width + start + 6)
    for row in listed:
        click.echo(f"\n{row[0]}" if row[0] != owner else "", nl=row[0] != owner)
        owner, name, default, about = row
        text = textwrap.fill(about, 110, initial_indent=indent, subsequent_indent=indent).lstrip()
        click.echo(f"  {name:<{width}}  {default:<{start}}  {text}")
    click.echo(f"\nmethods: {', '.join(METHODS)}\nlosses: {', '.join(LOSSES)}, goal:T x P")
    click.echo(f"auxiliaries: {', '.join(AUXILIARIES)}; of your own: package.module:Name")


def rows(method: str, loss: str, auxiliary: str | None, dataset: str | None) -> list[tuple[str, str, str, str]]:
    """(owner, name, default, help) of each setting, by group, and of each option of the parts.

    Defaults are those that a run takes: what the data dictates, else what the method was published with.
    """
    method, loss = METHODS.canonical(method), canonical(loss)
    levels = published_for(METHODS.find(method), loss, dataset or "")
    if dataset is not None:
        levels |= unread(choose(dataset, DATASETS, "dataset"), method).defaults_for(method, loss)
    auxiliary = auxiliary or levels.get("auxiliary")
    options = options_for(method, loss, auxiliary)
    taken = usual(options, levels)
    found = []
    for group in GROUPS:
        for field in fields(group):
            allowed = field.metadata.get("allowed")
            about = field.metadata["help"] + (f" ({', '.join(allowed)})" if allowed else "")
            found.append((group.__name__.lower(), field.name, taken["setting"].get(field.name, field.default), about))
    kinds = {"model": METHODS.find(method), "loss": kind_of(loss)[0]}
    if auxiliary is not None:
        kinds["auxiliary"] = AUXILIARIES.find(auxiliary)
    for owner, kind in kinds.items():
        for name in options.owners[owner]:
            default = taken[owner].get(name, inspect.signature(kind).parameters[name].default)
            found.append((owner, name, default, meaning(kind, name)))
    nothing = (None, inspect.Parameter.empty)
    return [(owner, name, "–" if value in nothing else str(value), about) for owner, name, value, about in found]


GREEK = {"alpha": "α", "tau": "τ", "varepsilon": "ε", "epsilon": "ε", "gamma": "γ", "beta": "β", "lambda": "λ"}


def meaning(kind: type, name: str) -> str:
    """What an option of a model, a loss or an auxiliary means: the sentence of the docstrings that names it."""
    sentences = []
    for one in kind.__mro__:
        text = " ".join((one.__dict__.get("__doc__") or "").split(">>>")[0].split())
        text = re.sub(r"\.\. math::.*?(?=[A-Z][a-z]+ |``|$)", "", text)
        sentences += re.split(r"(?<=[.;])\s+(?=[A-Z`(-])", text)
    # One that explains it, "``name``: …", rather than one that mentions it, however far up it stands.
    for wanted in (rf"^(- |``\w+``, )*``{name}``(, ``\w+``)*:", rf"``{name}(?:``|=)"):
        for sentence in sentences:
            if re.search(wanted, sentence):
                return f"{_readable(sentence)} (option of {kind.__name__})"
    return f"option of {kind.__name__}"


def _readable(text: str) -> str:
    """A sentence of a docstring without the marks of reST and TeX."""
    text = re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("`", "")
    text = re.sub(r"\\([a-z]+)", lambda found: GREEK.get(found[1], found[1]), text)
    return text.strip(" -").rstrip(".;")
