"""Faults planted in a copy of the library's source, one at a time: the golden runs are to see each of them.

Each is small: one part in a thousand of a constant or an initial range, another order of draws, an entry of a mask, an
update of a schedule. Run as a program: imports what is heavy once, then forks a process for each fault, in which the
library is imported with that one line changed; prints a line of JSON a fault. Nothing is written to any file.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Fault:
    """``file`` of icrlib/, whose first ``old`` becomes ``new``; ``golden``: the run that is to see it."""

    file: str
    old: str
    new: str
    golden: str


FAULTS = (
    # Constants of losses
    Fault(
        "losses/triplet.py",
        "relu(pairs.rows + (self.margin",
        "relu(pairs.rows + (1.001 * self.margin",
        "scenes/vse++/triplet",
    ),
    Fault(
        "losses/triplet.py",
        "relu(hardest + (self.margin",
        "relu(hardest + (1.001 * self.margin",
        "scenes/vse++/triplet_sh",
    ),
    Fault(
        "losses/ntxent.py",
        "pairs.own / self.tau)[:, 0]",
        "pairs.own / (1.001 * self.tau))[:, 0]",
        "scenes/vse++/ntxent",
    ),
    Fault(
        "losses/ntxent.py",
        "leave_out(pairs.rows / self.tau",
        "leave_out(pairs.rows / (self.tau * 1.001)",
        "scenes/bow/dcl",
    ),
    Fault("losses/smoothap.py", "mul_(1 / self.tau)", "mul_(1.001 / self.tau)", "scenes/bow/smoothap"),
    Fault("losses/ifm.py", "softplus(lead + 2 * self.eps", "softplus(lead + 2.002 * self.eps", "scenes/vse++/ifm"),
    Fault(
        "losses/siglip.py",
        "self.scale * pairs.rows + self.bias), 0).sum(1)",
        "self.scale * pairs.rows + 1.001 * self.bias), 0).sum(1)",
        "scenes/vse++/siglip/bias",
    ),
    Fault("losses/sparse.py", "offers - shares / 2", "offers - shares / 2.002", "scenes/vse++/ntxent_sparse"),
    Fault("losses/alignment.py", "1 - pairs.own[:, 0]", "1 - 1.001 * pairs.own[:, 0]", "unused/alignment"),
    Fault("losses/known.py", "margin: float = 0.4", "margin: float = 0.4004", "unused/circle"),
    Fault(
        "losses/known.py",
        "softplus(self.beta * (pairs.rows - self.lam))",
        "softplus(1.001 * self.beta * (pairs.rows - self.lam))",
        "unused/binomial",
    ),
    Fault(
        "losses/known.py",
        "softplus((hardest - pairs.own) / self.tau)",
        "softplus((hardest - pairs.own) / self.tau / 1.001)",
        "unused/ntxent_hard",
    ),
    Fault(
        "losses/goal.py",
        "torch.exp(o.alpha * (s - o.lam))",
        "torch.exp(1.001 * o.alpha * (s - o.lam))",
        "scenes/vse++/goal:cir x sig",
    ),
    Fault("losses/goal.py", "(1 + nu) * s", "(1.001 + nu) * s", "scenes/vse++/goal:nca x lin"),
    Fault(
        "losses/goal.py",
        "torch.sigmoid(o.tau * (negative - positive))",
        "torch.sigmoid(1.001 * o.tau * (negative - positive))",
        "scenes/vse++/goal:nca x con",
    ),
    Fault("losses/goal.py", "0.5 if o.convention", "0.5005 if o.convention", "scenes/vse++/goal:cir x sig-ms"),
    # Masks
    Fault(
        "losses/base.py",
        "scatter(1, self.positive[:, None], False)",
        "scatter(1, self.positive[:, None], True)",
        "scenes/vse++/ntxent/positives=image",
    ),
    Fault(
        "sampling.py",
        "images[None] == images[:, None])",
        "torch.eye(len(rows), dtype=torch.bool))",
        "scenes/vse++/ntxent/positives=image",
    ),
    Fault(
        "sampling.py",
        "self.image_of[captions][None] == rows[:, None]",
        "self.image_of[captions][None] == rows[:, None].roll(1, 0)",
        "scenes/bow/smoothap",
    ),
    # Order of draws
    Fault("sampling.py", "default_rng([self.seed, epoch])", "default_rng([epoch, self.seed])", "scenes/bow/ntxent"),
    Fault("sampling.py", "(rest >= 2)", "(rest >= 200)", "scenes/bow/triplet"),
    Fault(
        "data/augment.py",
        "default_rng((seed, batch, 0, stream))",
        "default_rng((seed, batch, 1, stream))",
        "flickr8k/ltd/ntxent",
    ),
    Fault("data/augment.py", "chances[0] < unknown", "chances[0] < 1.001 * unknown", "flickr8k/ltd/ntxent"),
    Fault("data/augment.py", "(deleted * (lengths - 2)", "(1.001 * deleted * (lengths - 1)", "flickr8k/ltd/ntxent"),
    # Initial ranges
    Fault("models/vse.py", "weight, -0.1, 0.1)", "weight, -0.1001, 0.1001)", "scenes/vse++/ntxent"),
    Fault("models/bow.py", "-0.1, 0.1)", "-0.1001, 0.1001)", "scenes/bow/ntxent"),
    Fault(
        "models/base.py", "xavier_uniform_(layer.weight)", "xavier_uniform_(layer.weight, 1.001)", "scenes/bow/ntxent"
    ),
    Fault(
        "models/ltd.py", "xavier_uniform_(layer.weight)", "xavier_uniform_(layer.weight, 1.001)", "scenes/ltd/ntxent"
    ),
    Fault(
        "models/parts/graph.py", "zeros_(self.norm.weight)", "constant_(self.norm.weight, 0.001)", "scenes/vsrn/ntxent"
    ),
    Fault(
        "auxiliary/latent.py",
        "xavier_uniform_(layer.weight)",
        "xavier_uniform_(layer.weight, 1.001)",
        "scenes/ltd/ntxent/latent",
    ),
    # Models
    Fault("models/parts/gru.py", "to_c = (1 - z)", "to_c = (1.001 - z)", "scenes/vse++/ntxent"),
    Fault("models/vsrn.py", "values.pow(2).sum(axis", "1.001 * values.pow(2).sum(axis", "unused/vsrn"),
    Fault(
        "models/vse.py", "self.project(F.normalize(features, dim=1))", "self.project(features)", "scenes/vse++/triplet"
    ),
    # Auxiliaries and their weight
    Fault("auxiliary/tokens.py", "/ len(numbers)", "/ (1.001 * len(numbers))", "scenes/ltd/ntxent/tokens"),
    Fault("auxiliary/weighing.py", "lr: float = 5e-3", "lr: float = 5.005e-3", "scenes/ltd/ntxent/latent"),
    Fault("auxiliary/weighing.py", "momentum: float = 0.9", "momentum: float = 0.9009", "scenes/ltd/ntxent/latent"),
    Fault("auxiliary/weighing.py", "(value / self.eta - 1)", "(value / self.eta - 1.001)", "unused/projected"),
    Fault("auxiliary/base.py", "step.update < self.warmup", "step.update <= self.warmup", "scenes/vse++/triplet_sh"),
    Fault("auxiliary/base.py", "-math.log(loss.tau)", "-1.001 * math.log(loss.tau)", "scenes/vse++/siglip"),
    # Optimisers, schedules, averaging
    Fault("training/optim.py", "0.1 ** sum(update >= drop", "0.1 ** sum(update > drop", "scenes/bow/triplet"),
    Fault(
        "training/optim.py",
        "math.cos(math.pi * share)) / 2",
        "math.cos(math.pi * share)) / 2.002",
        "flickr8k/sentence/ntxent",
    ),
    Fault(
        "training/optim.py", "(update + 1) / config.lr_warmup", "(update + 1.02) / config.lr_warmup", "unused/averaging"
    ),
    Fault(
        "training/optim.py",
        '"weight_decay": config.weight_decay',
        '"weight_decay": 1.001 * config.weight_decay',
        "unused/averaging",
    ),
    Fault("training/average.py", "1 / self.count)", "1.001 / self.count)", "unused/averaging"),
    Fault(
        "training/loop.py", "config.grad_clip or math.inf", "1.001 * config.grad_clip or math.inf", "scenes/bow/triplet"
    ),
    Fault(
        "training/loop.py", "update >= config.finetune_after", "update > config.finetune_after", "rendered/ltd/ntxent"
    ),
    # Resuming, and what an evaluation sees
    Fault(
        "training/loop.py", "feed(split, sampler, start)", "feed(split, sampler, start + (start > 0))", "scenes/bow/dcl"
    ),
    Fault(
        "training/checkpoints.py",
        "for name, part in parts.items():",
        'for name, part in [p for p in parts.items() if p[0] != "optimiser"]:',
        "scenes/bow/dcl",
    ),
    Fault("cocos/exact.py", "above(weights, eps)", "above(weights, 1.001 * eps)", "scenes/bow/smoothap"),
    Fault("data/augment.py", "UNKNOWN = 3", "UNKNOWN = 2", "flickr8k/ltd/ntxent"),
)
# Another way to the same numbers, up to their last digits: nobody is to see it.
HARMLESS = (
    Fault("models/base.py", "images @ captions.T", "(captions @ images.T).T", "scenes/vse++/ntxent"),
    Fault("losses/ntxent.py", "pairs.rows / self.tau", "pairs.rows * (1 / self.tau)", "scenes/bow/ntxent"),
)


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
