"""Training: one plain loop over batches, and what it looks at on the way."""

from __future__ import annotations

import contextlib
import copy
import math
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from icrlib.auxiliary.base import Criterion, Step
from icrlib.auxiliary.weighing import Fixed, LagrangeMultiplier
from icrlib.cocos.count import count_both
from icrlib.data import augment
from icrlib.data.splits import Dataset, Split
from icrlib.data.text import Words
from icrlib.evaluation import best_ranks, embed, measure, rank, word_order
from icrlib.losses.build import by_name
from icrlib.metrics import diagnose
from icrlib.models.base import RetrievalModel
from icrlib.models.build import build
from icrlib.models.parts.regions import check_lengths
from icrlib.names import AUXILIARIES, METHODS
from icrlib.progress import Report
from icrlib.sampling import Sampler, feed
from icrlib.score_checks import NonFiniteScores
from icrlib.training import checkpoints, optim
from icrlib.training.average import Average
from icrlib.training.config import Config
from icrlib.training.running_log import RunningLog

ORDER = 1000  # captions that an evaluation asks for the order of their words


class Diverged(ValueError):
    """The loss or its gradient became NaN or infinite."""


def prepare(data: Dataset, config: Config) -> tuple[RetrievalModel, Criterion]:
    """Model and criterion before the first update.

    The model draws its weights first: runs that differ in the auxiliary start from the same encoders for each seed.
    """
    torch.manual_seed(config.seed)
    network = {}
    if config.backbone is not None:
        own = copy.deepcopy(data.train.features.backbone.network)  # so that the data's stays as it is
        network = {"network": own, "backbone": config.backbone, "batch_norm": config.batch_norm}
    kind = METHODS.find(config.method)
    check_lengths(kind, data.train.features)
    words = kind.vocabulary_of(data, **config.model_options)
    model = build(config.method, data.train.features.shape[-1], len(words), **config.model_options, **network)
    model.prepare(data)
    auxiliary = weighing = None
    if config.auxiliary is not None:
        auxiliary = AUXILIARIES.find(config.auxiliary)(**config.auxiliary_options)
        auxiliary.prepare(data, model)
        dual = config.objective == "dual"
        weighing = Fixed(config.beta) if dual else LagrangeMultiplier(config.eta, rule=config.multiplier)
    learn = tuple(name for name in ("tau", "bias") if getattr(config, f"learn_{name}"))
    criterion = Criterion(
        by_name(config.loss, **config.loss_options),
        warmup=config.warmup,
        auxiliary=auxiliary,
        weighing=weighing,
        learn=learn,
    )
    return model.to(config.device), criterion.to(config.device)


def fit(
    model: RetrievalModel,
    criterion: Criterion,
    data: Dataset,
    config: Config,
    folder: Path | None = None,
    progress: bool = True,
) -> dict:
    """Train ``model``. Returns the loop's state, in which ``best`` holds the weights with the highest validation rsum.

    Rates and batches are pure functions of the update, so what a checkpoint in ``folder`` needs is this state and that
    of the parts.
    """
    groups = [*model.parameter_groups(config.lr, config.finetune_lr or 0.0), *criterion.parameter_groups(config.lr)]
    weights = [weight for group in groups for weight in group["params"]]
    optimiser = optim.build(groups, config)
    scaler = torch.amp.GradScaler(config.device.partition(":")[0], enabled=config.precision == "float16")
    average = None
    if config.average == "swa":
        average = Average(weights, config.per_epoch, config.average_from, config.average_times)
    parts = {"model": model, "criterion": criterion, "optimiser": optimiser, "scaler": scaler}
    state = checkpoints.resume(folder, parts) or {"update": 0, "history": [], "log": [], "best": None, "seconds": 0.0}
    recent, report = RunningLog(config), Report(config.flat(), state, progress)
    steps = forward(model, data.train, config, state["update"] * config.accumulate)
    model.train()
    clock = time.perf_counter()
    with report as left, explained(recent, folder):
        for update in left:
            recent.start(update, optim.set_rates(optimiser, update, config))
            if config.finetune_after is not None and update >= config.finetune_after:
                model.finetune()
            optimiser.zero_grad()
            for _ in range(config.accumulate):
                step = next(steps)
                value = criterion(step) / config.accumulate
                scaler.scale(value).backward()
                recent.add(value)
            scaler.unscale_(optimiser)
            norm = torch.nn.utils.clip_grad_norm_(weights, config.grad_clip or math.inf)
            scaler.step(optimiser)
            scaler.update()
            recent.end(norm, criterion.stepped(), may_overflow=scaler.is_enabled())
            if average is not None:
                average.stepped(update)

            state["update"] = update + 1
            if (update + 1) % config.evaluate_every == 0 or update + 1 == config.updates:
                entry = recent.summary(state["log"]) | look(model, criterion, data.val, step, config.relevance)
                keep(state, entry, model, config.warmup)
                state["seconds"] += time.perf_counter() - clock
                checkpoints.write(folder, state, parts)
                clock = time.perf_counter()
                report.show(entry)
    return state


def forward(model: RetrievalModel, split: Split, config: Config, start: int) -> Iterator[Step]:
    """Batches from number ``start`` on, on their way through the model."""
    sampler = Sampler(split, config.seed, config.batch_size, config.batches, config.positives)
    words = Words.of(model.vocabulary, split.captions)
    where, kind = config.device.partition(":")[0], getattr(torch, config.precision)
    for number, (batch, images) in enumerate(feed(split, sampler, start), start):
        told, positives = caption_words(words, batch.captions, number, config), batch.positives
        if config.negatives == "foils":
            false = Words.of(
                model.vocabulary, split.foils(batch.captions, augment.dice(config.seed, number, augment.FOILS))
            )
            false = caption_words(false, torch.arange(len(false)), number, config, augment.FOIL_WORDS)
            told, positives = augment.with_foils(told, positives, false)
        if config.erase:
            images = augment.erase(images, config.seed, number, config.erase)
        images, told = images.to(config.device).float(), [part.to(config.device) for part in told]
        with torch.autocast(where, kind, config.precision != "float32"):
            encoded = model.encode_images(images), model.encode_captions(*told)
            scores = model.similarity(*encoded)
        yield Step(number // config.accumulate, batch, *told, *encoded, scores, positives.to(config.device))


def caption_words(
    words: Words, rows: Tensor, number: int, config: Config, stream: int = augment.WORDS
) -> tuple[Tensor, Tensor]:
    """The words of a batch's captions as the model is to see them; ``stream``: of the dice that leave words out."""
    numbers, lengths = words[rows], words.lengths[rows]
    if not (config.drop_words or config.delete_words):
        return numbers, lengths
    chances = {"unknown": config.drop_words, "deleted": config.delete_words}
    return augment.drop_words(numbers, lengths, config.seed, number, width=words.width, stream=stream, **chances)


@contextlib.contextmanager
def explained(recent: RunningLog, folder: Path | None) -> Iterator[None]:
    """Say where training stopped, and what to do, if the numbers are no numbers any more."""
    try:
        yield
    except NonFiniteScores as err:
        there = folder and (folder / checkpoints.CHECKPOINT).exists()
        kept = f"The last good checkpoint is kept in {folder}." if there else "No checkpoint yet; out= keeps them."
        raise Diverged(
            f"training stopped at update {recent.update + 1} (lr {recent.rate:g}): {err}. {kept} Lower lr=, "
            "or look for extreme values in the features."
        ) from err


def look(model: RetrievalModel, criterion: Criterion, val: Split, step: Step, relevance: str = "own") -> dict:
    """What an evaluation notes: measures, twins or word order of ``val``; diagnosis and counts of the last batch."""
    loss, scores = criterion.loss_at(step.update), step.scores.detach().float()
    encoded = embed(model, val)
    entry = {"val": measure(*encoded, val, relevance, model.similarity, model.scores_at_once)}
    if hasattr(val, "twin_accuracy"):
        entry["twins"] = val.twin_accuracy(*encoded, model.similarity_of_pairs)
    else:
        entry["order"] = word_order(model, val, encoded, ORDER)
    entry["diagnose"] = diagnose(scores, step.positives)
    entry["cocos"] = count_both(loss, scores, step.positives)
    return entry | criterion.notes() | loss.notes(scores, step.positives)


def keep(state: dict, entry: dict, model: RetrievalModel, start: int = 0) -> None:
    """Append the entry; keep the weights if they are the best so far (the first of equals). Those of the first
    ``start`` updates are no candidates: until its end another loss is trained."""
    state["history"].append(entry)
    if entry["update"] > start and (state["best"] is None or entry["val"]["rsum"] > state["best"]["rsum"]):
        weights = {name: value.cpu().clone() for name, value in model.state_dict().items()}
        state["best"] = {"update": entry["update"], "rsum": entry["val"]["rsum"], "model": weights}


def test(model: RetrievalModel, data: Dataset, relevance: str = "own") -> dict:
    """Test measures, touched once, after the choice: recalls, what the order of words does, twins where there are any.

    Where the data is fixed, the ranks of all queries, too, so that its sampling error can be told from the records.
    """
    split, encoded = data.test, embed(model, data.test)
    result = measure(*encoded, split, relevance, model.similarity, model.scores_at_once)
    result["order"] = word_order(model, split, encoded)
    if hasattr(split, "twin_accuracy"):
        result["twins"] = split.twin_accuracy(*encoded, model.similarity_of_pairs)
    if not data.drawn:
        found = rank(*encoded, split, relevance, model.similarity, model.scores_at_once)
        result["ranks"] = {side: best_ranks(ranks).tolist() for side, ranks in found.items()}
    return result
