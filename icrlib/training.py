"""Training: one plain loop, checkpoints at every evaluation, and a run that can be killed and goes on."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from tqdm import tqdm

from icrlib import checkpoints, cocos, losses, memory, models, records
from icrlib.config import Config, resolve
from icrlib.data.splits import Dataset
from icrlib.evaluation import embed, evaluate, measure
from icrlib.metrics import diagnose
from icrlib.models.base import RetrievalModel
from icrlib.progress import bar as progress_bar
from icrlib.sampling import Sampler, feed
from icrlib.scores import NonFiniteScores
from icrlib.sources import code_hash


class Diverged(ValueError):
    """The loss or its gradient became NaN or infinite."""


@dataclass
class Run:
    """A finished run: its ``record`` (plain JSON), the best ``model``, and the ``folder`` it was trained in."""

    record: dict
    model: RetrievalModel
    folder: Path | None = None

    @property
    def history(self) -> list[dict]:
        """One entry an evaluation: update, loss, lr, gradient norm, validation measures, COCOS, diagnosis."""
        return self.record["history"]

    def save(self, folder: str | Path) -> Path:
        """Write the model with its vocabulary to ``folder``; :func:`icrlib.load_model` reads it."""
        return checkpoints.save_model(self.model, self.record["config"]["method"], folder)


def train(
    data: Dataset, method: str = "vse++", loss: str = "ntxent", *, seed: int = 0,
    updates: int | None = None, epochs: int | None = None, batch_size: int | None = None, lr: float | None = None,
    lr_update: int | None = None, embed_dim: int | None = None, word_dim: int | None = None, grad_clip: float = 2.0,
    batches: str | None = None, positives: str = "diagonal", warmup: int = 0, evaluate_every: int | None = None,
    precision: str = "float32", accumulate: int = 1,
    batch_norm: str | None = None, finetune_after: int | None = None, finetune_lr: float | None = None,
    device: str = "auto", threads: int = 1, smoke: bool = False, out: str | Path | None = None,
    record: str | Path | None = None, progress: bool = True, **loss_options,
) -> Run:  # fmt: skip
    """Train ``method`` on ``data.train`` with ``loss``, choose the best epoch on ``data.val``, test it once.

    What is left as None comes from ``data.defaults``. ``epochs`` count the sampler's own epochs, ``lr_update`` the
    epochs after which the learning rate falls to a tenth (else once, halfway). ``loss_options``: ``margin=``,
    ``tau=``, …. ``warmup``: first updates with all negatives, a cure for a hardest-negative loss that stays collapsed.
    ``precision="bfloat16"`` (or ``"float16"`` on a GPU): mixed precision in the encoders; scores and losses stay in
    single precision. ``accumulate``: batches per update, each with its own score matrix, their gradients averaged.
    On pictures (``load_dataset(…, images="published")``): ``batch_norm`` of the network inside the model, ``"train"``
    as released or ``"eval"``; ``finetune_after`` that many updates its weights learn, at ``finetune_lr`` (lr / 10).
    ``threads``: CPU threads, one by default because these models are small and results are then exactly repeatable.

    ``out``: a folder for checkpoints. A run that was killed goes on from the last one, and ends as it would have
    without the break, bit for bit; a finished one is returned as it is. ``record``: where to write the run's JSON
    record; never written by a ``smoke`` run (a few updates, to see that things work).

    Raises ``ValueError`` for unknown names and bad values, :class:`Diverged` if the loss stops being finite.
    """
    asked = dict(locals())  # first, while the only names here are the arguments
    config, per_epoch = resolve(data, method, loss, asked)
    images = data.options.get("images", "features")
    code = code_hash(config.dataset, config.method, config.loss, images)  # as it is now, before the run
    if record is not None and Path(record).exists():
        raise ValueError(f"{record}: this record exists, and a record is written once. Choose another path.")
    folder = None if out is None else Path(out)
    memory.keep_freed()
    with checkpoints.claimed(folder, config), _threads(config.threads):
        if folder and (finished := checkpoints.finished(folder)):
            return Run(*finished, folder)
        torch.manual_seed(config.seed)
        model = models.build(
            method, data.train.features.shape[-1], len(data.vocabulary), **config.model_options,
            **config.pictures,
        )
        model.vocabulary = data.vocabulary
        model.to(config.device)
        state = fit(model, data, config, folder, progress)
        model.load_state_dict(state["best"]["model"])
        test = evaluate_test(model, data)
        made = records.build(config, data, state, test, per_epoch, model, code)
        run = Run(made, model, folder)
        if folder:
            run.save(folder)
            records.write(made, folder / "record.json")
    if record is not None and not config.smoke:
        records.write(made, record)
    return run


def fit(model: RetrievalModel, data: Dataset, config: Config, folder: Path | None, progress: bool) -> dict:
    """The loop. Returns its state, in which ``best`` holds the weights with the highest validation rsum."""
    sampler = Sampler(data.train, config.seed, config.batch_size, config.batches, config.positives)
    words, lengths = data.vocabulary.encode(data.train.captions)
    optimiser = torch.optim.Adam(model.parameter_groups(config.lr, config.finetune_lr), lr=config.lr)
    main, first = losses.by_name(config.loss, **config.loss_options), losses.Triplet()
    state = checkpoints.resume(folder, model, optimiser) if folder else None
    state = state or {"update": 0, "history": [], "log": [], "recent": [], "best": None, "seconds": 0.0}
    device = config.device.partition(":")[0]
    scaler = torch.amp.GradScaler(device, enabled=config.precision == "float16")  # does nothing elsewhere
    if state.get("scaler"):
        scaler.load_state_dict(state["scaler"])
    model.train()
    title, left = f"{config.method} {config.loss} seed {config.seed}", range(state["update"], config.updates)
    bar = progress_bar(left, title, progress, initial=state["update"], total=config.updates)
    batches = feed(data.train, sampler, state["update"] * config.accumulate)
    clock = time.perf_counter()
    for update in bar:
        loss = first if update < config.warmup else main
        lr = schedule(update, model, optimiser, config)
        optimiser.zero_grad()
        value = 0.0
        with _explained(update, lr, folder):
            for _ in range(config.accumulate):
                batch, images = next(batches)
                images = images.to(config.device).float()
                numbers = words[batch.captions].to(config.device), lengths[batch.captions].to(config.device)
                with torch.autocast(device, getattr(torch, config.precision), config.precision != "float32"):
                    scores = model(images, *numbers)
                positives = batch.positives.to(config.device)
                part = loss(scores, positives) / config.accumulate
                scaler.scale(part).backward()
                value += part.item()
            scaler.unscale_(optimiser)
            norm = float(torch.nn.utils.clip_grad_norm_(model.parameters(), config.grad_clip))
            _finite(value, norm, scaler)
        scaler.step(optimiser)
        scaler.update()

        state["update"] = update + 1
        state["recent"].append(value)
        if (update + 1) % max(1, config.updates // 150) == 0:
            state["log"].append([update + 1, value])
        if (update + 1) % config.evaluate_every == 0 or update + 1 == config.updates:
            entry = {"update": update + 1, "loss": sum(state["recent"]) / len(state["recent"]), "lr": lr,
                     "gradient_norm": norm, **look(model, data, loss, scores.detach(), positives)}  # fmt: skip
            keep(state, entry, model)
            state["seconds"] += time.perf_counter() - clock
            state["scaler"] = scaler.state_dict()
            if folder:
                checkpoints.write(folder, state, model, optimiser)
            clock = time.perf_counter()
            report(bar, state, loss.collapsed(positives))
    return state


def schedule(update: int, model: RetrievalModel, optimiser: torch.optim.Optimizer, config: Config) -> float:
    """Set what changes with the updates: learning rates, and what learns. Returns the first group's learning rate."""
    for group in optimiser.param_groups:
        group["lr"] = group["base"] * 0.1 ** sum(update >= drop for drop in config.drops)
    if config.finetune_after is not None and update >= config.finetune_after:
        model.finetune()
    return optimiser.param_groups[0]["lr"]


def look(
    model: RetrievalModel, data: Dataset, loss: losses.Loss, scores: torch.Tensor, positives: torch.Tensor
) -> dict:
    """What an evaluation notes: validation measures, and the last batch's diagnosis and gradient counts."""
    counts = cocos.count_both(loss, scores, positives, convention="exact")
    entry = {"val": evaluate(model, data.val), "diagnose": diagnose(scores, positives), "cocos": counts}
    # The value of a designed gradient's surrogate means nothing; its gap does.
    return entry | ({"gap": loss.gap(scores, positives)} if isinstance(loss, losses.GradientObjective) else {})


def keep(state: dict, entry: dict, model: RetrievalModel) -> None:
    """Append the entry; keep the weights if they are the best so far (the first of equals)."""
    state["history"].append(entry)
    state["recent"] = []
    if state["best"] is None or entry["val"]["rsum"] > state["best"]["rsum"]:
        weights = {name: value.cpu().clone() for name, value in model.state_dict().items()}
        state["best"] = {"update": entry["update"], "rsum": entry["val"]["rsum"], "model": weights}


def report(bar: tqdm, state: dict, collapsed_loss: float) -> None:
    """Show the latest figures; say when a collapse begins and when it is left."""
    entry = state["history"][-1]
    bar.set_postfix(loss=f"{entry['loss']:.3f}", rsum=f"{entry['val']['rsum']:.1f}")
    now = entry["diagnose"]["collapsed"]
    before = len(state["history"]) > 1 and state["history"][-2]["diagnose"]["collapsed"]
    if now and not before and not bar.disable:
        known = "" if math.isnan(collapsed_loss) else f" (collapsed: {collapsed_loss:.1f})"
        tqdm.write(f"update {entry['update']}: loss {entry['loss']:.1f}{known}. {entry['diagnose']['hint']}")
    elif before and not now and not bar.disable:
        tqdm.write(f"update {entry['update']}: the plateau is left, scores differ again")


def evaluate_test(model: RetrievalModel, data: Dataset) -> dict:
    """Test measures, touched once, after the choice; with twin accuracy where the data has twins."""
    images, captions = embed(model, data.test)
    result = measure(images, captions, data.test)
    if hasattr(data.test, "twin_accuracy"):
        result["twins"] = data.test.twin_accuracy(images.cpu(), captions.cpu())
    return result


@contextlib.contextmanager
def _explained(update: int, lr: float, folder: Path | None) -> Iterator[None]:
    try:
        yield
    except NonFiniteScores as err:
        kept = (
            f"The last good checkpoint is kept in {folder}."
            if folder
            else "Give out=FOLDER to keep checkpoints."
        )
        raise Diverged(f"training stopped at update {update + 1} (lr {lr:g}): {err}. {kept} Lower lr=, or look for "
                       "extreme values in the features.") from err  # fmt: skip


def _finite(value: float, norm: float, scaler: torch.amp.GradScaler) -> None:
    # Under loss scaling an overflow is expected now and then: the scaler skips that step and lowers its scale.
    if not (math.isfinite(norm) or scaler.is_enabled()) or not math.isfinite(value):
        raise NonFiniteScores(f"the loss is {value} and its gradient's norm {norm}")


@contextlib.contextmanager
def _threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
