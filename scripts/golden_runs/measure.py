"""One golden run, and what is seen of it from outside: torch's own hooks, so that the training is told nothing.

A run of 60 updates is evaluated after 30 and broken off after 33, and goes on from its checkpoint as a killed one does.
So a fault in resuming shows in every one of them.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import tempfile
import traceback
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import nn, optim
from torch.nn.modules.module import register_module_forward_hook
from torch.optim.optimizer import register_optimizer_step_pre_hook

import icrlib
from icrlib.auxiliary.base import Criterion
from icrlib.data.load import DRAWN
from icrlib.data.splits import Dataset
from icrlib.names import from_file
from icrlib.records import goldens
from icrlib.training.settings import NEUTRAL

UPDATES, LOOK, BREAK = 60, 30, 33
AT = (0, 1, 2, 3, 5, 8, 12, 20, 36, 59)  # updates, counted from 0, whose numbers are kept
MOVED = 5  # after so many updates: how far the weights have moved from their start
NOISE = 2e-7  # of a gradient's root mean square: about what other orders of summing float32 do
NOT_KEPT = ("device", "threads", "asked", "data_hash", "per_epoch", "seed", "data_seed")
PHOTOS = {"train": (200, 7), "dev": (40, 8), "test": (20, 9)}  # images and seed of each part of the stand-in


class Broken(Exception):
    """A run was broken off on purpose."""


def one_thread() -> None:
    """A process as golden runs want it; the environment says what a measuring of the spread wants otherwise."""
    torch.set_num_threads(int(os.environ.get("GOLDEN_THREADS", "1")))
    torch.backends.mkldnn.enabled = os.environ.get("GOLDEN_ONEDNN", "1") == "1"


def attempt(asked: Mapping) -> dict | list[str]:
    """:func:`measured`, or the lines of the error with which the run failed."""
    try:
        return measured(asked)
    except Exception:  # whatever a change did to a run, the others are still repeated
        return ["it failed", *traceback.format_exc().strip().splitlines()[-6:]]


def measured(asked: Mapping) -> dict:
    """``identity``, ``config`` and ``values`` (as :func:`icrlib.records.goldens.read` has them) of what was asked for:
    ``dataset``, ``data`` (its options), ``method``, ``loss``, ``seed``, ``settings``."""
    os.environ["TQDM_DISABLE"] = "1"  # the bars of its encoders; that of the runs has begun
    data = loaded(asked["dataset"], tuple(sorted(asked["data"].items())))
    watch = Watch()
    with tempfile.TemporaryDirectory(prefix="golden-") as folder, watch.looking(), from_file(goldens.path()):
        options = {
            "seed": asked["seed"],
            "out": folder,
            "progress": False,
            "device": "cpu",
            "threads": torch.get_num_threads(),
        } | dict(asked["settings"])
        with contextlib.suppress(Broken):
            icrlib.train(data, asked["method"], asked["loss"], **options)
            raise RuntimeError(f"the run was to be broken off after {BREAK} updates")
        run = icrlib.train(data, asked["method"], asked["loss"], **options)
    record = run.record
    kept = {name: value for name, value in record["config"].items() if name not in NOT_KEPT}
    values = watch.values(run.model) | noted(record)
    return {
        "identity": record["identity"],
        "config": {name: value for name, value in kept.items() if value != NEUTRAL.get(name, ...)},
        "values": {name: [shorter(name, value) for value in row] for name, row in values.items()},
    }


def shorter(name: str, value: float) -> float:
    """Seven digits of a number; fewer of those that jump with a rank anyway (``icrlib.records.goldens.FLIPS``)."""
    digits = 4 if name.endswith(".map") else 6 if name.endswith(".count") else 7
    return float(f"{value:.{digits}g}")


class Watch:
    """Losses, norms of gradients, rates and weights of a training, at the moments ``AT``."""

    def __init__(self) -> None:
        self.update, self.broken, self.weights = -1, False, {}
        self.rows: dict[str, dict[int, float]] = defaultdict(dict)
        self.noise = int(os.environ.get("GOLDEN_NOISE", "0"))

    @contextlib.contextmanager
    def looking(self) -> Iterator[None]:
        """Look at every criterion, every step of an optimiser and every clipped gradient meanwhile."""
        clip = nn.utils.clip_grad_norm_

        def clipped(*args, **options):
            norm = clip(*args, **options)
            self.note("norm", float(norm))
            return norm

        hooks = [register_module_forward_hook(self.loss), register_optimizer_step_pre_hook(self.step)]
        nn.utils.clip_grad_norm_ = clipped
        try:
            yield
        finally:
            nn.utils.clip_grad_norm_ = clip
            for hook in hooks:
                hook.remove()

    def note(self, name: str, value: float) -> None:
        if self.update in AT:
            self.rows[name][self.update] = value

    def loss(self, module: nn.Module, args: tuple, value: object) -> None:
        """After a criterion's forward pass."""
        if not isinstance(module, Criterion) or not module.training:
            return
        if args[0].update == BREAK and not self.broken:
            self.broken = True
            raise Broken
        self.update = args[0].update
        self.note("loss", value.item())

    def step(self, optimiser: optim.Optimizer, *_: object) -> None:
        """Before an optimiser's step: gradients as it gets them, and weights before it moves them."""
        params = [p for group in optimiser.param_groups for p in group["params"]]
        grads = [p.grad for p in params if p.grad is not None]
        self.note("stepped", math.sqrt(sum(g.double().square().sum().item() for g in grads)))
        for place, group in enumerate(optimiser.param_groups):
            self.note(f"rate.{place}", group["lr"])
        if self.update == 0:
            self.weights["start"] = [p.detach().clone() for p in params]
        if self.update == MOVED:
            self.weights["moved"] = [
                (p.detach() - s).norm().item() for p, s in zip(params, self.weights["start"], strict=True)
            ]
        if self.update == UPDATES - 1:
            self.weights["end"] = [p.norm().item() for p in params]
            self.weights["ids"] = [id(p) for p in params]
        if self.noise:
            generator = torch.Generator().manual_seed(1000 * self.noise + self.update)
            for g in grads:
                g += NOISE * g.square().mean().sqrt() * torch.randn(g.shape, generator=generator)

    def values(self, model: nn.Module) -> dict[str, list[float]]:
        """What was seen, weights by module: norms at the start and before the last update, and how far they had moved
        after a few."""
        rows = {name: [row[at] for at in AT] for name, row in self.rows.items()}
        rates = {name: row for name, row in rows.items() if name.startswith("rate")}
        rows = {name: row for name, row in rows.items() if name not in rates}
        rows |= {name: row for name, row in rates.items() if row != rates.get("rate.0") or name == "rate.0"}
        names = {id(p): name for name, p in model.named_parameters()}
        parts: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
        start = [p.norm().item() for p in self.weights["start"]]
        for one, *norms in zip(self.weights["ids"], start, self.weights["moved"], self.weights["end"], strict=True):
            part = names.get(one, "criterion.").rpartition(".")[0]
            part = part.partition(".")[0] if part.startswith("network") else part
            parts[f"weights.{part}"] = [
                had + norm**2 for had, norm in zip(parts[f"weights.{part}"], norms, strict=True)
            ]
        return rows | {name: [math.sqrt(norm) for norm in row] for name, row in parts.items()}


def noted(record: Mapping) -> dict[str, list[float]]:
    """What the record says of both evaluations and of the test."""
    looks = record["history"]
    found = {}
    for side in ("i2t", "t2i"):
        found[f"{side}.map"] = [*(look["val"][side]["map"] for look in looks), record["test"][side]["map"]]
        counts = [look["cocos"][side] for look in looks]
        found[f"{side}.count"] = [each[name] for each in counts for name in ("C_q", "C_0")]
        found[f"{side}.n_eff"] = [each["n_eff"] for each in counts]
    found["diagnose"] = [look["diagnose"][name] for look in looks for name in ("spread", "positive", "negative")]
    if "reranked" in record["test"]:
        found["reranked.map"] = [record["test"]["reranked"][side]["map"] for side in ("i2t", "t2i")]
    for name in ("lambda", "tau", "bias", "latent", "tokens", "reconstruction", "matching", "contrastive"):
        if name in looks[0]:
            found[name] = [look[name] for look in looks]
    if "twins" in looks[0]:
        found["twins.share"] = [look["twins"][kind] for look in looks for kind in ("swap", "attribute")]
    if record["test"]["order"]["n"]:
        found["order.share"] = [record["test"]["order"][name] for name in ("own", "other")]
    return found


@cache
def loaded(dataset: str, options: tuple) -> Dataset:
    """The data of golden runs, each once a process: small draws, and a stand-in for a folder of features."""
    given = dict(options)
    if dataset in DRAWN:
        return icrlib.load_dataset(dataset, progress=False, **given)
    folder = Path(tempfile.mkdtemp(prefix="golden-features-"))
    regions = given.pop("regions", False)
    for part, (images, seed) in PHOTOS.items():
        features, captions = stand_in(images, seed, regions)
        np.save(folder / f"{part}_ims.npy", features)
        (folder / f"{part}_caps.txt").write_text("\n".join(captions) + "\n")
    return icrlib.load_dataset(dataset, features=folder, **given)


WORDS = """dog child man woman ball grass water red blue black white small big runs sits jumps plays holds looks on
with over near in a the two young field street beach hat shirt snow tree bike""".split()  # noqa: SIM905


def stand_in(images: int, seed: int, regions: bool) -> tuple[np.ndarray, list[str]]:
    """Features (images, 64) float16, or (images, 6, 64), and five captions each; whole numbers, so alike everywhere.

    An image's features are a sum over the words that it is about, and its captions name some of these.
    """
    meaning = np.random.default_rng(5).integers(-8, 9, (len(WORDS), 64))
    draws = np.random.default_rng(seed)
    features, captions = [], []
    for _ in range(images):
        about = draws.choice(len(WORDS), 12, replace=False)
        rows = meaning[about].reshape(6, 2, 64).sum(1)
        features.append(rows if regions else rows.sum(0))
        captions += [" ".join(WORDS[w] for w in draws.choice(about, draws.integers(5, 10))) for _ in range(5)]
    return np.stack(features).astype(np.float16) / 16, captions


if __name__ == "__main__":
    one_thread()
    requests = json.loads(Path(sys.argv[1]).read_text())
    Path(sys.argv[2]).write_text(json.dumps([measured(one) for one in requests]))
