"""A model and a split in, retrieval measures out: encodings, then scores in blocks, then ranks. On any device."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from icrlib.data.splits import Split
from icrlib.metrics import Ranks, from_ranks, ranks_at
from icrlib.models.base import Encodings, RetrievalModel, inner_products, join
from icrlib.progress import bar as progress_bar
from icrlib.score_checks import finite

RECALLS = ("r1", "r5", "r10")
WHOLE = 1 << 30  # bytes: up to this size the score matrix is computed once, for both directions
PART = 64 << 20  # bytes of scores that are held at a time beyond it
Similarity = Callable[[Encodings, Encodings], Tensor]


@torch.no_grad()
def embed(
    model: RetrievalModel, split: Split, batch_size: int = 512, progress: bool = False
) -> tuple[Encodings, Encodings]:
    """Encodings of all images and all captions of a split, on the model's device: unit vectors (N, d) and (C, d), or
    :class:`icrlib.models.Sequences` where the model makes these."""
    if model.vocabulary is None:
        raise ValueError("this model has no vocabulary yet: icrlib.train sets it, or assign model.vocabulary")
    was_training, device = model.training, model.device
    model.eval()
    words, lengths = model.vocabulary.encode(split.captions)
    # Captions of like length share a batch, so little of it is padding.
    order = lengths.argsort(stable=True)
    with progress_bar(None, f"encoding {split.name}", progress, total=len(split) + len(words)) as bar:
        images, captions = [], []
        for chunk in split.features.split(batch_size):
            images.append(model.encode_images(chunk.to(device).float()))
            bar.update(len(chunk))
        for rows in order.split(batch_size):
            captions.append(model.encode_captions(words[rows].to(device), lengths[rows].to(device)))
            bar.update(len(rows))
    model.train(was_training)
    return join(images), join(captions)[order.argsort().to(device)]


def scores(model: RetrievalModel, split: Split, batch_size: int = 512, progress: bool = False) -> Tensor:
    """The score matrix (N, C) of a split: every image with every caption, filled in blocks. On the model's device."""
    images, captions = embed(model, split, batch_size, progress)
    return all_scores(images, captions, model.similarity, model.scores_at_once, progress)


@torch.no_grad()
def all_scores(
    images: Encodings,
    captions: Encodings,
    similarity: Similarity = inner_products,
    at_once: int = RetrievalModel.scores_at_once,
    progress: bool = False,
) -> Tensor:
    """Scores (N, C) of encodings that are there already, at most ``at_once`` of them in one call of ``similarity``."""
    rows, columns = _block(len(images), len(captions), at_once)
    if rows >= len(images) and columns >= len(captions):
        return similarity(images, captions)
    made = None
    starts = range(0, len(images), rows)
    for top in progress_bar(starts, "scores", progress and len(starts) > 1):
        for left in range(0, len(captions), columns):
            part = similarity(images[top : top + rows], captions[left : left + columns])
            if made is None:
                made = part.new_empty(len(images), len(captions))
            made[top : top + len(part), left : left + part.shape[1]] = part
    return made


def _block(images: int, captions: int, at_once: int) -> tuple[int, int]:
    """Rows and columns of a block: all columns if a row of them fits, else a part of one row."""
    return max(1, at_once // captions), min(captions, max(1, at_once))


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
    return measure(images, captions, split, relevance, model.similarity, model.scores_at_once)


def measure(
    images: Encodings,
    captions: Encodings,
    split: Split,
    relevance: bool = False,
    similarity: Similarity = inner_products,
    at_once: int = RetrievalModel.scores_at_once,
) -> dict:
    """:func:`evaluate` for encodings that are there already: images (N, …), captions (C, …)."""
    found = rank(images, captions, split, relevance, similarity, at_once)
    result = _measures(found)
    if split.folds > 1 and not relevance:
        result["folds_1k"] = _folds(images, captions, split, similarity, at_once)
    return result


def rank(
    images: Encodings,
    captions: Encodings,
    split: Split,
    relevance: bool = False,
    similarity: Similarity = inner_products,
    at_once: int = RetrievalModel.scores_at_once,
) -> dict[str, Ranks]:
    """Ranks of all relevant candidates, ``{"i2t": …, "t2i": …}``."""
    if relevance and split.relevance is None:
        raise ValueError(f"the split {split.name!r} does not know which images a caption describes; relevance=False")
    own, numbers = split.image_of, torch.arange(len(captions))
    caption, image = split.relevance.nonzero(as_tuple=True) if relevance else (numbers, own)
    return _both(images, captions, image, caption, similarity, at_once)


def best_ranks(found: Ranks) -> Tensor:
    """(Q,) the rank, from 1, of each query's best relevant candidate."""
    return found.rank[found.k == 0]


def _measures(found: dict[str, Ranks]) -> dict:
    result = {side: from_ranks(ranks) for side, ranks in found.items()}
    return result | {"rsum": sum(result[side][key] for side in ("i2t", "t2i") for key in RECALLS)}


def _both(
    images: Encodings, captions: Encodings, image: Tensor, caption: Tensor, similarity: Similarity, at_once: int
) -> dict[str, Ranks]:
    """Ranks in both directions, where ``image[t]`` and ``caption[t]`` belong together."""
    if len(images) * len(captions) * 4 <= WHOLE:
        matrix = finite(all_scores(images, captions, similarity, at_once))
        image, caption = image.to(matrix.device), caption.to(matrix.device)
        return {"i2t": ranks_at(matrix, image, caption), "t2i": ranks_at(matrix.T, caption, image)}

    def turned(some: Encodings, others: Encodings) -> Tensor:
        return similarity(others, some).T

    def of_images(rows: slice) -> Tensor:
        return finite(all_scores(images[rows], captions, similarity, at_once))

    def of_captions(rows: slice) -> Tensor:
        return finite(all_scores(captions[rows], images, turned, at_once))

    shape = len(images), len(captions)
    return {
        "i2t": ranks_in_parts(of_images, image, caption, *shape),
        "t2i": ranks_in_parts(of_captions, caption, image, *shape[::-1]),
    }


def ranks_in_parts(
    scores: Callable[[slice], Tensor], query: Tensor, candidate: Tensor, queries: int, candidates: int
) -> Ranks:
    """Ranks of all relevant pairs, ``query`` and ``candidate`` (T,), holding a part of the ``scores`` of queries with
    all candidates at a time."""
    order = query.argsort(stable=True)
    query, candidate = query[order], candidate[order]
    ends = torch.bincount(query, minlength=queries).cumsum(0).tolist()
    parts, done, size = [], 0, max(1, PART // (4 * candidates))
    for start in range(0, queries, size):
        rows = slice(start, min(start + size, queries))
        mine = slice(done, done := ends[rows.stop - 1])
        matrix = scores(rows)
        where = matrix.device
        parts.append(ranks_at(matrix, (query[mine] - start).to(where), candidate[mine].to(where)))
    return Ranks.join(parts)


def _folds(images: Encodings, captions: Encodings, split: Split, similarity: Similarity, at_once: int) -> dict:
    parts, own = [], split.image_of
    for rows in torch.arange(len(images)).chunk(split.folds):
        inside = ((own >= rows[0]) & (own <= rows[-1])).nonzero()[:, 0]
        numbers = torch.arange(len(inside))
        image = own[inside] - rows[0]
        parts.append(_measures(_both(images[rows], captions[inside], image, numbers, similarity, at_once)))
    sides = {s: {k: sum(p[s][k] for p in parts) / split.folds for k in parts[0][s]} for s in ("i2t", "t2i")}
    return sides | {"rsum": sum(p["rsum"] for p in parts) / split.folds}


@torch.no_grad()
def word_order(
    model: RetrievalModel,
    split: Split,
    encoded: tuple[Encodings, Encodings] | None = None,
    most: int | None = None,
    seed: int = 0,
) -> dict:
    """Does the order of the words count? Each caption against the same words in another order, drawn from ``seed``.

    ``"own"``: how often, in percent, an image scores higher with its caption than with the reordered one.
    ``"other"``: the same with a random other image, which says how often a caption is liked better only because it
    reads as captions do. ``"gain"``: own minus other, what the order tells about *this* image. ``"n"``: captions asked;
    those without two different words are not. A score counts as equal, and half, within 1e-6: a bag of words has 50.
    ``encoded``: what :func:`embed` gives, if it is there; ``most``: ask so many captions, drawn from ``seed``.
    """
    dice, was_training, device = np.random.default_rng([seed, len(split.captions)]), model.training, model.device
    model.eval()
    words, lengths = model.vocabulary.encode(split.captions)
    turned, asked = reordered(words, lengths, dice)
    asked = asked[torch.from_numpy(dice.permutation(len(asked))[:most])]
    images, captions = encoded or embed(model, split)
    own = split.image_of[asked]
    other = (own + torch.from_numpy(dice.integers(1, max(2, len(split)), len(asked)))) % len(split)
    better: dict[str, list[Tensor]] = {"own": [], "other": []}
    for rows in lengths[asked].argsort(stable=True).split(512):
        some = asked[rows]
        mixed = model.encode_captions(turned[some].to(device), lengths[some].to(device))
        for name, image in (("own", own[rows]), ("other", other[rows])):
            shown = images[image]
            gap = model.similarity_of_pairs(shown, captions[some]) - model.similarity_of_pairs(shown, mixed)
            better[name].append(((gap > 1e-6).double() + (gap >= -1e-6).double()) / 2)
    model.train(was_training)
    if not len(asked):
        return {"own": None, "other": None, "gain": None, "n": 0}
    found = {name: 100 * float(torch.cat(parts).mean()) for name, parts in better.items()}
    return found | {"gain": found["own"] - found["other"], "n": len(asked)}


def reordered(words: Tensor, lengths: Tensor, dice: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Word numbers (C, L) with the words between the marks in another order, and the rows (T,) where that is another
    caption: of ten draws the first that differs counts."""
    place = torch.arange(words.shape[1])
    inner = (place > 0) & (place < lengths[:, None] - 1)
    turned = words.clone()
    for _ in range(10):
        same = (turned == words).all(1)
        if not same.any():
            break
        keys = torch.from_numpy(dice.random(words.shape))
        keys = torch.where(inner, keys, place.double() + 2).masked_fill(place == 0, -1.0)  # marks and padding stay
        turned[same] = words.gather(1, keys.argsort(1))[same]
    return turned, (turned != words).any(1).nonzero()[:, 0]
