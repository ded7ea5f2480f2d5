"""Faults planted in a copy of the library's source, one at a time: the golden runs are to see each of them.

They stand in planted.txt. Each is small: one part in a thousand of a constant or an initial range, another order of
draws, an entry of a mask, an update of a schedule. Run as a program: imports what is heavy once, then forks a process
for each fault, in which the library is imported with that one line changed; prints a line of JSON a fault. Nothing is
written to any file.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Fault:
    """``file`` of icrlib/, whose first ``old`` becomes ``new``; ``golden``: the run that is to see it."""

    golden: str
    file: str
    old: str
    new: str


def read() -> tuple[tuple[Fault, ...], tuple[Fault, ...]]:
    """The faults, and the harmless changes behind them. A line: run | file | source, changed as a word diff shows it,
    [-out-]{+in+}."""
    found: tuple[list, list] = [], []
    kind = 0
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            kind = int(line.startswith("# Harmless"))
            continue
        golden, file, change = (part.strip() for part in line.split(" | "))
        old = re.sub(r"\[-(.*?)-\]", r"\1", re.sub(r"\{\+.*?\+\}", "", change))
        new = re.sub(r"\{\+(.*?)\+\}", r"\1", re.sub(r"\[-.*?-\]", "", change))
        found[kind].append(Fault(golden, file, old, new))
    return tuple(found[0]), tuple(found[1])


FAULTS, HARMLESS = read()


class Patched(importlib.machinery.SourceFileLoader):
    """Loads a module of the library with one line changed."""

    def __init__(self, fault: Fault, name: str, path: str) -> None:
        super().__init__(name, path)
        self.fault = fault

    def get_code(self, fullname: str):
        source = Path(self.path).read_text(encoding="utf-8")
        if self.fault.old not in source:
            raise LookupError(f"{self.fault.file} has no {self.fault.old!r} any more: plant this fault elsewhere")
        return compile(source.replace(self.fault.old, self.fault.new, 1), self.path, "exec")


class Planter(importlib.abc.MetaPathFinder):
    """Hands out the module in which the fault is planted."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.module = "icrlib." + fault.file.removesuffix(".py").replace("/", ".")

    def find_spec(self, fullname: str, path: object, target: object = None):
        if fullname != self.module:
            return None
        where = str(ROOT / "icrlib" / self.fault.file)
        return importlib.machinery.ModuleSpec(fullname, Patched(self.fault, fullname, where), origin=where)


def seen(fault: Fault) -> dict:
    """What the golden run says of the library with the fault: run in a process that has not imported the library."""
    sys.meta_path.insert(0, Planter(fault))
    from golden_runs import measure
    from icrlib.records import goldens

    measure.one_thread()
    (golden,) = [one for one in goldens.read() if one["name"] == fault.golden] or [
        next(one for one in goldens.read() if one["name"].startswith(fault.golden))
    ]
    found = measure.attempt(golden["asked"])
    told = found if isinstance(found, list) else goldens.differences(golden, found["values"], found["config"])
    return {"file": fault.file, "old": fault.old, "new": fault.new, "golden": golden["name"], "seen": told[:3]}


def main() -> None:
    """Faults as numbers of FAULTS + HARMLESS in the arguments, all where there are none."""
    import nltk.tokenize  # noqa: F401  what is heavy and not ours, once
    import pandas  # noqa: F401
    import scipy.stats  # noqa: F401
    import torch  # noqa: F401

    sys.path[:0] = [str(ROOT / "scripts"), str(ROOT)]
    faults = FAULTS + HARMLESS
    for number in map(int, sys.argv[1:]) if len(sys.argv) > 1 else range(len(faults)):
        sys.stdout.flush()
        if child := os.fork():
            _, status = os.waitpid(child, 0)
            if status:
                sys.exit(f"the process of fault {number} ended with {status}")
            continue
        print(json.dumps(seen(faults[number])), flush=True)
        os._exit(0)


if __name__ == "__main__":
    main()
