"""What can be set, and to what: on the command line, in ``icrlib.train`` and as papermill parameters alike."""

from __future__ import annotations

import inspect
import re
import textwrap
from dataclasses import Field, fields
from typing import Any

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
    click.echo(listing(method, loss, auxiliary, dataset))


def listing(method: str, loss: str, auxiliary: str | None = None, dataset: str | None = None) -> str:
    """The list as text; settings first, by group, then the options of the parts, and what parts there are.

    Defaults are those that a run takes: what the data dictates, else what the method was published with.
    """
    method, loss = METHODS.canonical(method), canonical(loss)
    levels = published_for(METHODS.find(method), loss, dataset or "")
    if dataset is not None:
        levels |= unread(choose(dataset, DATASETS, "dataset"), method).defaults_for(method, loss)
    auxiliary = auxiliary or levels.get("auxiliary")
    options = options_for(method, loss, auxiliary)
    owners, taken = options.owners, usual(options, levels)
    rows = [
        (
            group.__name__.lower(),
            field.name,
            _shown(taken["setting"].get(field.name, field.default)),
            _help(field),
        )
        for group in GROUPS
        for field in fields(group)
    ]
    kinds = {"model": METHODS.find(method), "loss": kind_of(loss)[0]}
    if auxiliary is not None:
        kinds["auxiliary"] = AUXILIARIES.find(auxiliary)
    for owner, kind in kinds.items():
        parameters = inspect.signature(kind).parameters
        rows += [
            (owner, name, _shown(taken[owner].get(name, parameters[name].default)), meaning(kind, name))
            for name in owners[owner]
        ]
    width, start = max(len(row[1]) for row in rows), max(len(row[2]) for row in rows)
    lines, last = [], ""
    for owner, name, default, told in rows:
        if owner != last:
            lines += ["", f"{owner}"]
            last = owner
        indent = " " * (width + start + 6)
        text = textwrap.fill(told, 110, initial_indent=indent, subsequent_indent=indent).lstrip()
        lines.append(f"  {name:<{width}}  {default:<{start}}  {text}")
    return "\n".join([*lines, "", *_parts()]).lstrip("\n")


GREEK = {"alpha": "α", "tau": "τ", "varepsilon": "ε", "epsilon": "ε", "gamma": "γ", "beta": "β", "lambda": "λ"}


def meaning(kind: type, name: str) -> str:
    """What an option of a model, a loss or an auxiliary means: the sentence of the docstrings that names it."""
    told = []
    for one in kind.__mro__:
        text = " ".join((one.__dict__.get("__doc__") or "").split(">>>")[0].split())
        text = re.sub(r"\.\. math::.*?(?=[A-Z][a-z]+ |``|$)", "", text)
        told += re.split(r"(?<=[.;])\s+(?=[A-Z`(-])", text)
    # One that explains it, "``name``: …", rather than one that mentions it, however far up it stands.
    for wanted in (rf"^(- |``\w+``, )*``{name}``(, ``\w+``)*:", rf"``{name}(?:``|=)"):
        for sentence in told:
            if re.search(wanted, sentence):
                return f"{_readable(sentence)} (option of {kind.__name__})"
    return f"option of {kind.__name__}"


def _readable(text: str) -> str:
    """A sentence of a docstring without the marks of reST and TeX."""
    text = re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("`", "")
    text = re.sub(r"\\([a-z]+)", lambda found: GREEK.get(found[1], found[1]), text)
    return text.strip(" -").rstrip(".;")


def _parts() -> list[str]:
    return [
        f"methods: {', '.join(METHODS)}",
        f"losses: {', '.join(LOSSES)}, goal:T x P",
        f"auxiliaries: {', '.join(AUXILIARIES) or 'none yet'}; of your own: package.module:Name",
    ]


def _help(setting: Field) -> str:
    about = setting.metadata
    return about["help"] + (f" ({', '.join(about['allowed'])})" if "allowed" in about else "")


def _shown(default: Any) -> str:
    return "–" if default is None or default is inspect.Parameter.empty else str(default)
