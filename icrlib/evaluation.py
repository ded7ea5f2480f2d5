"""A model and a split in, retrieval measures out; in chunks, on any device."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from icrlib.data.splits import Split
from icrlib.metrics import Ranks, from_ranks, ranks
from icrlib.models.base import RetrievalModel
from icrlib.progress import bar as progress_bar

RECALLS = ("r1", "r5", "r10")


@torch.no_grad()
def embed(
    model: RetrievalModel, split: Split, batch_size: int = 512, progress: bool = False
) -> tuple[Tensor, Tensor]:
    """Unit vectors of all images (N, d) and all captions (C, d) of a split, on the model's device."""
    if model.vocabulary is None:
        raise ValueError("this model has no vocabulary yet: icrlib.train sets it, or assign model.vocabulary")
    was_training, device = model.training, model.device
    model.eval()
    words, lengths = model.vocabulary.encode(split.captions)
    # Captions of like length share a batch, so little of it is padding.
    by_length = lengths.argsort(stable=True).split(batch_size)
    with progress_bar(None, f"encoding {split.name}", progress, total=len(split) + len(words)) as bar:
        images = []
        for chunk in split.features.split(batch_size):
            images.append(model.encode_images(chunk.to(device).float()))
            bar.update(len(chunk))
        captions = torch.empty(len(words), images[0].shape[1], device=device)
        for rows in by_length:
            captions[rows.to(device)] = model.encode_captions(
                words[rows].to(device), lengths[rows].to(device)
            )
            bar.update(len(rows))
    model.train(was_training)
    return torch.cat(images), captions


def evaluate(
    model: RetrievalModel,
    split: Split,
    relevance: bool = False,
    batch_size: int = 512,
    progress: bool = False,
) -> dict:
    """Measures of both directions: ``{"i2t": {…}, "t2i": {…}, "rsum": …}``, keys as in :mod:`icrlib.metrics`.

    A caption is relevant to its own image only; with ``relevance=True`` to every image that it truly describes,
    where the split knows that. COCO's test split adds ``"folds_1k"``, the mean of five parts of 1,000 images.
    """
    images, captions = embed(model, split, batch_size, progress)
    return measure(images, captions, split, relevance)


def measure(images: Tensor, captions: Tensor, split: Split, relevance: bool = False) -> dict:
    """:func:`evaluate` for embeddings that are already there: images (N, d), captions (C, d), unit vectors."""
    if relevance and split.relevance is None:
        raise ValueError(
            f"the split {split.name!r} does not know which images a caption describes; relevance=False"
        )
    own = split.image_of.to(images.device)
    table = split.relevance.to(images.device) if relevance else None

    def captions_of(rows: Tensor) -> Tensor:
        return table[:, rows].T if relevance else own[None] == rows[:, None]

    def images_of(rows: Tensor) -> Tensor:
        return (
            table[rows] if relevance else own[rows][:, None] == torch.arange(len(images), device=own.device)
        )

    result = _both(_ranked(images, captions, captions_of), _ranked(captions, images, images_of))
    if split.folds > 1 and not relevance:
        result["folds_1k"] = _folds(images, captions, own, split.folds)
    return result


def _ranked(queries: Tensor, candidates: Tensor, positives_of: Callable[[Tensor], Tensor]) -> Ranks:
    """Ranks of all relevant candidates, holding one chunk of scores (about 64 MB) at a time."""
    chunk = max(1, (64 << 20) // (4 * len(candidates)))
    parts = []
    for rows in torch.arange(len(queries), device=queries.device).split(chunk):
        parts.append(ranks(queries[rows] @ candidates.T, positives_of(rows)))
    return Ranks.join(parts)


def _both(i2t: Ranks, t2i: Ranks) -> dict:
    result = {"i2t": from_ranks(i2t), "t2i": from_ranks(t2i)}
    result["rsum"] = sum(result[side][key] for side in ("i2t", "t2i") for key in RECALLS)
    return result


def _folds(images: Tensor, captions: Tensor, own: Tensor, folds: int) -> dict:
    parts = []
    for rows in torch.arange(len(images), device=own.device).chunk(folds):
        inside = (own >= rows[0]) & (own <= rows[-1])
        mine = own[inside] - rows[0]
        everyone = torch.arange(len(rows), device=own.device)
        i2t = _ranked(images[rows], captions[inside], lambda q, mine=mine: mine[None] == q[:, None])
        t2i = _ranked(
            captions[inside], images[rows], lambda q, mine=mine, all=everyone: mine[q][:, None] == all
        )
        parts.append(_both(i2t, t2i))
    sides = {s: {k: sum(p[s][k] for p in parts) / folds for k in parts[0][s]} for s in ("i2t", "t2i")}
    return sides | {"rsum": sum(p["rsum"] for p in parts) / folds}
