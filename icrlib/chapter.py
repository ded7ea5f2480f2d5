"""What every chapter does first: look the same, and know whether this is a smoke run."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from icrlib.data.load import more_options
from icrlib.devices import keep_freed
from icrlib.experiments.check import SMOKE
from icrlib.parameters import parsed, read_value, value_of
from icrlib.training.options import of_others, options_for

SWITCH = {"type": "bool", "default": "False", "help": "true or false"}


def start(smoke: bool = False) -> bool:
    """Set the book's figure style and keep freed memory; return whether to run at smoke scale.

    That is the parameter, be it the text "false" as papermill hands it over, or ``ICR_SMOKE=1``. A smoke run says so in
    the output, so that its figures are never taken for results.
    """
    from icrlib import plots  # with matplotlib, which the other functions here do without

    plots.style()
    keep_freed()
    warnings.filterwarnings("ignore", message="IProgress not found")
    smoke = value_of("smoke", smoke, SWITCH) or os.environ.get("ICR_SMOKE", "") not in ("", "0")
    SMOKE.run = smoke
    if smoke:
        print("smoke run: tiny data and a few updates, to see that everything works; its numbers mean nothing")
    return smoke


def parameters(names: dict[str, Any]) -> None:
    """Each declared parameter of a notebook (``globals()``), ``name: type = value``, as its type: papermill hands over
    numbers and texts as they are typed. As ``icr run`` reads them; ``ValueError`` for what is none."""
    for name, kind in names.get("__annotations__", {}).items():
        if names.get(name) is not None:
            names[name] = value_of(name, names[name], {"type": kind.__name__, "default": "None", "help": ""})


def near(got: Any, wanted: Any, off: float = 1e-4) -> bool:
    """The one tolerance of self-checks: do numbers, lists, arrays or tensors agree as far as single precision does?

    That is to ``off`` of the largest number that is wanted, and in shape.
    """
    got, wanted = (np.asarray(x.detach().cpu() if hasattr(x, "detach") else x, dtype=float) for x in (got, wanted))
    if got.shape != wanted.shape:
        return False
    return bool(np.abs(got - wanted).max(initial=0) <= off * np.abs(wanted).max(initial=0) + 1e-7)


def data_options(names: Mapping[str, Any], dataset: str) -> dict[str, Any]:
    """Which of a notebook's ``names`` (``globals()``) are options of a data set, and set: ``load_dataset`` takes them.

    Those that stand in the parameters cell of book/reproduce/run anyway are not among them.
    """
    given = {name: names[name] for name in more_options(dataset) if names.get(name) is not None}
    return {name: read_value(value) if isinstance(value, str) else value for name, value in given.items()}


def settings(names: Mapping[str, Any], method: str, loss: str) -> dict[str, Any]:
    """Which of a notebook's ``names`` (``globals()``) are settings of a run, and not None: ``icrlib.train`` takes them.

    So papermill may set any setting, and any option of the method, the loss and the auxiliary, by its name.
    ``ValueError`` for an option of another loss or model, such as ``tau`` with a triplet loss, as of ``icrlib.train``.
    """
    owners = options_for(method, loss, names.get("auxiliary"))
    known = [name for having in owners.owners.values() for name in having]
    spelled = [f"{owner}_{name}" for owner, having in owners.owners.items() for name in having]
    for name in of_others(known):
        if type(names.get(name)) in (bool, int, float, str):  # a name of the notebook's own is rarely a plain value
            owners.place(name)
    given = {name: names[name] for name in dict.fromkeys(known + spelled) if names.get(name) is not None}
    return {name: parsed(name, v, owners) if isinstance(v, str) else v for name, v in given.items()}
