"""A model and a split in, retrieval measures out; in chunks, on any device."""

from __future__ import annotations

import torch
from torch import Tensor

from icrlib.data.splits import Split
from icrlib.metrics import Ranks, from_ranks, ranks_at
from icrlib.models.base import RetrievalModel
from icrlib.progress import bar as progress_bar
from icrlib.scores import finite

RECALLS = ("r1", "r5", "r10")
WHOLE = 1 << 30  # bytes: up to this size the score matrix is computed once, for both directions
PART = 64 << 20  # bytes of scores that are held at a time beyond it


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
    own, numbers = split.image_of.to(images.device), torch.arange(len(captions), device=images.device)
    described, image = split.relevance.to(images.device).nonzero(as_tuple=True) if relevance else (numbers, own)
    result = _both(images, captions, image, described)
    if split.folds > 1 and not relevance:
        result["folds_1k"] = _folds(images, captions, own, split.folds)
    return result


def _both(images: Tensor, captions: Tensor, image: Tensor, caption: Tensor) -> dict:
    """Measures of both directions, where ``image[t]`` and ``caption[t]`` belong together."""
    if len(images) * len(captions) * images.element_size() <= WHOLE:
        scores = finite(images @ captions.T)
        found = ranks_at(scores, image, caption), ranks_at(scores.T, caption, image)
    else:
        found = _in_parts(images, captions, image, caption), _in_parts(captions, images, caption, image)
    result = {"i2t": from_ranks(found[0]), "t2i": from_ranks(found[1])}
    result["rsum"] = sum(result[side][key] for side in ("i2t", "t2i") for key in RECALLS)
    return result


def _in_parts(queries: Tensor, candidates: Tensor, query: Tensor, candidate: Tensor) -> Ranks:
    """Ranks of all relevant candidates, holding a part of the scores at a time."""
    size = max(1, PART // (4 * len(candidates)))
    order = query.argsort(stable=True)
    query, candidate = query[order], candidate[order]
    ends = torch.bincount(query, minlength=len(queries)).cumsum(0).tolist()
    parts, done = [], 0
    for start in range(0, len(queries), size):
        rows = queries[start : start + size]
        mine = slice(done, done := ends[start + len(rows) - 1])
        parts.append(ranks_at(finite(rows @ candidates.T), query[mine] - start, candidate[mine]))
    return Ranks.join(parts)


def _folds(images: Tensor, captions: Tensor, own: Tensor, folds: int) -> dict:
    parts = []
    for rows in torch.arange(len(images), device=own.device).chunk(folds):
        inside = ((own >= rows[0]) & (own <= rows[-1])).nonzero()[:, 0]
        numbers = torch.arange(len(inside), device=own.device)
        parts.append(_both(images[rows], captions[inside], own[inside] - rows[0], numbers))
    sides = {s: {k: sum(p[s][k] for p in parts) / folds for k in parts[0][s]} for s in ("i2t", "t2i")}
    return sides | {"rsum": sum(p["rsum"] for p in parts) / folds}
