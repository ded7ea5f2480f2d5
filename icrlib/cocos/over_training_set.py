"""Counts over a whole training set, as ECIR's tables have them: every batch counted, then mean and spread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from icrlib.cocos import exact
from icrlib.cocos.count import per_query
from icrlib.losses.base import Loss
from icrlib.progress import bar

# Bytes of one (pairs, candidates) matrix of the batches that are counted at a time: what a CPU's cache holds, and on a
# GPU enough to keep it busy.
TOGETHER_ON_CPU, TOGETHER_ON_GPU = 2 << 20, 128 << 20


def over(loss: Loss, images: Any, captions: Any, batches: Iterable[Any], **options: Any) -> dict[str, dict[str, float]]:
    """Mean over ``batches`` of every number that :func:`icrlib.cocos.count` has, and ``…_std`` beside it, both ways.

    For ECIR's tables its released notebooks pass over the training set once, shuffled, with the model in evaluation
    mode and batches as in training. With the encodings of a split and its sampler that is::

        images, captions = icrlib.evaluation.embed(model, data.train)
        sampler = icrlib.sampling.Sampler(data.train, seed=0, batch_size=128)
        epoch = [sampler[k] for k in range(sampler.per_epoch)]
        icrlib.cocos.over(loss, images, captions, epoch, convention="published")

    and gives ``{"i2t": {"C_q": …, "C_q_std": …, …}, "t2i": …}``. The standard deviation is that of a population. Each
    batch counts alike, as published, the smaller last one too, which alone makes nearly all of the spread that Table 4
    prints for the captions' ``C_0``. Options, and errors, as :func:`per_batch`.
    """
    result: dict[str, dict[str, float]] = {}
    for side, numbers in per_batch(loss, images, captions, batches, **options).items():
        numbers.pop("queries")
        result[side] = {name: float(values.mean()) for name, values in numbers.items()}
        result[side] |= {f"{name}_std": float(values.std(correction=0)) for name, values in numbers.items()}
    return result


@torch.no_grad()
def per_batch(
    loss: Loss,
    images: Any,
    captions: Any,
    batches: Iterable[Any],
    *,
    convention: str,
    eps: float = exact.EPS,
    similarity: Callable[[Any, Any], Tensor] = torch.inner,
    progress: bool = True,
) -> dict[str, dict[str, Tensor]]:
    """Every number of :func:`icrlib.cocos.count` for each of K batches, ``{"i2t": {"C_q": (K,), …}, "t2i": …}``.

    ``images`` (N, d) and ``captions`` (C, d): encodings of the whole set. ``batches``: objects with the rows of their
    ``images`` (B,) and ``captions`` (M,) and the mask ``positives`` (B, M), as ``icrlib.sampling.Sampler`` makes.
    ``similarity(images, captions)`` -> (B, M) scores; with one of your own, encodings may be anything that can be
    indexed by rows. ``"queries"`` is the number of queries of the batch. All float64, on the CPU.

    Batches of equal shape are counted together, as many as fit in a cache, where the loss allows it (its
    ``rows_independent``). ``ValueError`` for no batches, and for what :func:`icrlib.cocos.count` refuses, with a note
    that names the batches that were counted together, from 0.
    """
    parts: dict[str, list[dict[str, Tensor]]] = {"i2t": [], "t2i": []}
    scored = (_scores(batch, images, captions, similarity) for batch in bar(batches, "counting", progress, delay=2))
    number = 0
    for scores, positives in _stacks(scored, loss):
        for side, own in parts.items():
            own.append(_counted(loss, scores, positives, convention, eps, side, number))
        number += len(scores)
    if not number:
        raise ValueError("there are no batches to count: batches is empty, or an iterator that is used up")
    return {side: {name: torch.cat([part[name] for part in own]) for name in own[0]} for side, own in parts.items()}


def _scores(batch: Any, images: Any, captions: Any, similarity: Callable) -> tuple[Tensor, Tensor]:
    """Scores and mask of a batch, (B, M) each."""
    scores = similarity(_pick(images, batch.images), _pick(captions, batch.captions))
    return scores, batch.positives.to(scores.device)


def _pick(encodings: Any, rows: Tensor) -> Any:
    if isinstance(encodings, Tensor):  # several times faster than indexing
        return encodings.index_select(0, rows.to(encodings.device))
    return encodings[rows]


def _stacks(scored: Iterable[tuple[Tensor, Tensor]], loss: Loss) -> Iterator[tuple[Tensor, Tensor]]:
    """Scores and masks of the batches in order, (K, B, M), those that can be counted together in one."""
    alone = not getattr(loss, "rows_independent", False)
    held: list[tuple[Tensor, Tensor]] = []
    for scores, positives in scored:
        budget = TOGETHER_ON_GPU if scores.is_cuda else TOGETHER_ON_CPU
        # A query has a positive at least, so a batch has as many pairs as its longer side, or more.
        room = 1 if alone else budget // (scores.element_size() * max(scores.shape) ** 2)
        if held and (len(held) >= room or scores.shape != held[0][0].shape):
            yield tuple(map(torch.stack, zip(*held, strict=True)))
            held = []
        held.append((scores, positives))
    if held:
        yield tuple(map(torch.stack, zip(*held, strict=True)))


def _counted(
    loss: Loss, scores: Tensor, positives: Tensor, convention: str, eps: float, side: str, first: int
) -> dict[str, Tensor]:
    """Summaries of K stacked batches, whose numbers begin at ``first``; images are the rows of ``scores`` (K, B, M)."""
    rows, mask = scores, positives
    if side == "t2i":
        rows, mask = rows.transpose(1, 2).contiguous(), mask.transpose(1, 2).contiguous()
    try:
        found = exact.summary(per_query(loss, rows, mask, convention, eps, side))
    except ValueError as err:
        err.add_note(f"Rows are those of batches {first} to {first + len(rows) - 1}, {side}, one below the other.")
        raise
    return found | {"queries": torch.full((len(rows),), rows.shape[1], dtype=torch.float64)}
