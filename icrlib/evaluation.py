"""A model and a split in, retrieval measures out: encodings, then scores in blocks, then ranks. On any device."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from icrlib.data.regions import Regions
from icrlib.data.splits import Split
from icrlib.data.text import Words
from icrlib.errors import at_least
from icrlib.metrics import Ranks, from_ranks, ranks_at
from icrlib.models.base import Encodings, RetrievalModel, inner_products, join
from icrlib.models.parts.regions import check_lengths
from icrlib.progress import bar as progress_bar
from icrlib.score_checks import finite

RECALLS = ("r1", "r5", "r10")
WHOLE = 1 << 30  # bytes: up to this size the score matrix is computed once, for both directions
PART = 64 << 20  # bytes of scores that are held at a time beyond it
ROOM = 1 << 22  # numbers that are drawn at once
MATCHED = 1024  # pairs that a matching head sees at once
Similarity = Callable[[Encodings, Encodings], Tensor]


@torch.no_grad()
def embed(
    model: RetrievalModel,
    split: Split,
    batch_size: int = 512,
    progress: bool = False,
    distractors: Tensor | Regions | None = None,
) -> tuple[Encodings, Encodings]:
    """Encodings of all images and all captions of a split, on the model's device: unit vectors (N, d) and (C, d), or
    :class:`icrlib.models.Sequences` where the model makes these. Behind the images those of ``distractors`` (D, …)."""
    if model.vocabulary is None:
        raise ValueError("this model has no vocabulary yet: icrlib.train sets it, or assign model.vocabulary")
    features = [split.features] if distractors is None else [split.features, distractors]
    for some in features:
        check_lengths(type(model), some)
    was_training, device = model.training, model.device
    model.eval()
    words = Words.of(model.vocabulary, split.captions)
    lengths = words.lengths
    # Captions of like length share a batch, so little of it is padding.
    order = lengths.argsort(stable=True)
    with progress_bar(None, f"encoding {split.name}", progress, total=sum(map(len, features)) + len(words)) as bar:
        images, captions = [], []
        for chunk in (chunk for some in features for chunk in some.split(batch_size)):
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
    """Scores (N, C) of encodings that are there already, at most ``at_once`` of them in one call of ``similarity``;
    inner products, which need no room beside their result, in one."""
    plain = getattr(similarity, "__func__", similarity) in (inner_products, RetrievalModel.similarity)
    # All columns in a block if a row of them fits, else a part of one row.
    rows, columns = max(1, at_once // len(captions)), min(len(captions), max(1, at_once))
    if plain or (rows >= len(images) and columns >= len(captions)):
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


def evaluate(
    model: RetrievalModel,
    split: Split,
    relevance: bool | str = False,
    batch_size: int = 512,
    progress: bool = False,
    rerank: int | None = None,
    distractors: Tensor | Regions | None = None,
) -> dict:
    """Measures of both directions: ``{"i2t": {…}, "t2i": {…}, "rsum": …}``, keys as in :mod:`icrlib.metrics`.

    A caption is relevant to its own image only (``False``, ``"own"``); with ``relevance=True`` to every image that it
    truly describes, where the split knows that; with ``"text"`` to every image that has a caption with the same text,
    as labels and templates have it: there a perfect model's R@1 is near 0 by own pairs and 100 by texts. COCO's test
    split adds ``"folds_1k"``, the mean of five parts of 1,000 images, for own pairs. ``rerank=128`` adds
    ``"reranked"``, what the model's matching head makes of so many candidates of each query (:func:`rerank`), where all
    images have captions. ``distractors`` (D, …): features of images that no caption describes, such as
    :func:`icrlib.data.precomputed.distractors` reads; they are candidates of captions beside the split's images.
    """
    at_least("batch_size", batch_size, 1)
    if distractors is not None and rerank is not None:
        raise ValueError("rerank= knows no distractors; leave one of both out")
    if distractors is not None and (len(distractors) == 0 or distractors.shape[-1] != split.features.shape[-1]):
        size = f"{split.features.shape[-1]} numbers, as the split's"
        raise ValueError(f"distractors= are features of one image or more, of {size}; got {tuple(distractors.shape)}")
    images, captions = embed(model, split, batch_size, progress, distractors)
    own, others = images[: len(split)], None if distractors is None else images[len(split) :]
    result = measure(own, captions, split, relevance, model.similarity, model.scores_at_once, others)
    if rerank is not None:
        result["reranked"] = _by_head(model, split, None, rerank, relevance, (own, captions))
    return result


def measure(
    images: Encodings,
    captions: Encodings,
    split: Split,
    relevance: bool | str = False,
    similarity: Similarity = inner_products,
    at_once: int = RetrievalModel.scores_at_once,
    distractors: Encodings | None = None,
) -> dict:
    """:func:`evaluate` for encodings that are there already: images (N, …), captions (C, …), distractors (D, …)."""
    result = _measures(rank(images, captions, split, relevance, similarity, at_once, distractors))
    if split.folds > 1 and relevance in (False, "own"):
        result["folds_1k"] = _folds(images, captions, split, similarity, at_once)
    return result


def rank(
    images: Encodings,
    captions: Encodings,
    split: Split,
    relevance: bool | str = False,
    similarity: Similarity = inner_products,
    at_once: int = RetrievalModel.scores_at_once,
    distractors: Encodings | None = None,
) -> dict[str, Ranks]:
    """Ranks of all relevant candidates, ``{"i2t": …, "t2i": …}``."""
    return _both(images, captions, *_relevant(split, relevance), similarity, at_once, distractors)


def _relevant(split: Split, relevance: bool | str) -> tuple[Tensor, Tensor]:
    """Image and caption (T,) of the pairs that count as right."""
    if relevance in (False, "own"):
        return split.image_of, torch.arange(len(split.captions))
    if relevance == "text":
        return split.pairs_by_text()
    if relevance is not True:
        raise ValueError(f"relevance= is False (own pairs), True (what is true) or 'text'; got {relevance!r}")
    if split.relevance is None:
        raise ValueError(f"the split {split.name!r} does not know which images a caption describes; relevance=False")
    caption, image = split.relevance.nonzero(as_tuple=True)
    return image, caption


def best_ranks(found: Ranks) -> Tensor:
    """(Q,) the rank, from 1, of each query's best relevant candidate."""
    return found.rank[found.k == 0]


def _measures(found: dict[str, Ranks]) -> dict:
    result = {side: from_ranks(ranks) for side, ranks in found.items()}
    return result | {"rsum": sum(result[side][key] for side in ("i2t", "t2i") for key in RECALLS)}


def _both(
    images: Encodings,
    captions: Encodings,
    image: Tensor,
    caption: Tensor,
    similarity: Similarity,
    at_once: int,
    distractors: Encodings | None = None,
) -> dict[str, Ranks]:
    """Ranks in both directions, where ``image[t]`` and ``caption[t]`` belong together."""
    every = images if distractors is None else join([images, distractors])
    if len(every) * len(captions) * 4 <= WHOLE:
        matrix = finite(all_scores(every, captions, similarity, at_once))
        image, caption = image.to(matrix.device), caption.to(matrix.device)
        return {"i2t": ranks_at(matrix[: len(images)], image, caption), "t2i": ranks_at(matrix.T, caption, image)}

    def turned(some: Encodings, others: Encodings) -> Tensor:
        return similarity(others, some).T

    def of_images(rows: slice) -> Tensor:
        return finite(all_scores(images[rows], captions, similarity, at_once))

    def of_captions(rows: slice) -> Tensor:
        return finite(all_scores(captions[rows], every, turned, at_once))

    return {
        "i2t": ranks_in_parts(of_images, image, caption, len(images), len(captions)),
        "t2i": ranks_in_parts(of_captions, caption, image, len(captions), len(every)),
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


@torch.no_grad()
def rerank(
    model: RetrievalModel,
    split: Split,
    scores: Tensor | None = None,
    top: int = 128,
    relevance: bool | str = False,
    encoded: tuple[Encodings, Encodings] | None = None,
) -> dict:
    """Two stages: of each query the ``top`` candidates by the first stage's ``scores`` (N, C) are put in the order of
    the matching head's logit, and stay before all others, which keep theirs.

    Measures as :func:`evaluate` gives them, of the two stages together; ``"top"``; and ``"ceiling"``: percent of
    queries that have a right candidate among the ``top``, for both directions. A better head cannot find more. Of data
    with twins ``"twins"``, judged by the head. R@1, R@5 and R@10 are X-VLM's (FS S4), which gives all other candidates
    one score below. ``scores`` and ``encoded`` (what :func:`embed` gives): if they are there already.
    """
    if model.match is None:
        raise ValueError(
            f"rerank asks a matching head, and {type(model).__name__} has none (no match); take a model of "
            "method='matching', or measure without it"
        )
    images, captions = encoded or embed(model, split)
    if scores is None:
        scores = all_scores(images, captions, model.similarity, model.scores_at_once)
    was_training, top = model.training, at_least("rerank", top, 1)
    model.eval()
    image, caption = (part.to(scores.device) for part in _relevant(split, relevance))

    def of_images(rows: slice) -> Tensor:
        return _two_stages(scores, rows, top, lambda query, found: matches(model, images[query], captions[found]))

    def of_captions(rows: slice) -> Tensor:
        return _two_stages(scores.T, rows, top, lambda query, found: matches(model, images[found], captions[query]))

    found = {
        "i2t": ranks_in_parts(of_images, image, caption, *scores.shape),
        "t2i": ranks_in_parts(of_captions, caption, image, *scores.shape[::-1]),
    }
    # The first `top` are before all others, so a right one is among them exactly where the best has such a rank.
    ceiling = {side: 100 * float((best_ranks(ranks) <= top).double().mean()) for side, ranks in found.items()}
    result = _measures(found) | {"top": top, "ceiling": ceiling}
    if hasattr(split, "twin_accuracy"):
        result["twins"] = split.twin_accuracy(images, captions, lambda *pairs: matches(model, *pairs))
    model.train(was_training)
    return result


_by_head = rerank  # evaluate has an option of that name


def two_stages(found: dict) -> str:
    """What :func:`rerank` found, in words, with the ceiling that the first stage leaves it."""
    most = found["ceiling"]
    return (
        f"the first {found['top']:,} reranked by the head: rsum {found['rsum']:.1f} (a right one is among them for "
        f"{most['i2t']:.1f} % of the images and {most['t2i']:.1f} % of the captions; no reranking has higher recalls)"
    )


def matches(model: RetrievalModel, images: Encodings, captions: Encodings) -> Tensor:
    """What the matching head says of image p and caption p, (P,): its logit of yes alone, as X-VLM ranks by it."""
    parts = zip(images.split(MATCHED), captions.split(MATCHED), strict=True)
    return torch.cat([model.match(*some)[:, 1] for some in parts])


def _two_stages(scores: Tensor, rows: slice, top: int, judge: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Scores of both stages for some ``rows`` of queries: what ``judge`` says of the first ``top``, above the rest."""
    first = finite(scores[rows].double())
    best = first.topk(min(top, first.shape[1])).indices
    query = torch.arange(rows.start, rows.stop, device=best.device)[:, None].expand_as(best)
    parts = zip(query.flatten().split(MATCHED), best.flatten().split(MATCHED), strict=True)
    logits = finite(torch.cat([judge(*part) for part in parts]).double().view_as(best))
    return first.scatter(1, best, logits - logits.min() + first.max() + 1)


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
    turned, asked = reordered(Words.of(model.vocabulary, split.captions), dice)
    lengths = turned.lengths
    asked = asked[torch.from_numpy(dice.permutation(len(asked))[:most])]
    if not len(asked) or getattr(model.vocabulary, "longest", 1) > 1:  # tags; runs of words, which would only be moved
        model.train(was_training)
        return {"own": None, "other": None, "gain": None, "n": 0}
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
    found = {name: 100 * float(torch.cat(parts).mean()) for name, parts in better.items()}
    return found | {"gain": found["own"] - found["other"], "n": len(asked)}


def reordered(words: Words, dice: np.random.Generator) -> tuple[Words, Tensor]:
    """The words of each caption between its marks in another order, and the rows (T,) where that is another caption:
    of ten draws the first that differs counts."""
    turned, same = Words(words.numbers.clone(), words.lengths), torch.ones(len(words), dtype=torch.bool)
    for _ in range(10):
        if not same.any():
            break
        # So many rows at once that one long caption makes no table as wide as itself for all.
        for rows in torch.arange(len(words)).split(max(1, ROOM // max(1, words.width))):
            _shuffle(words, turned, same, rows, torch.from_numpy(dice.random((len(rows), words.width))))
    return turned, (~same).nonzero()[:, 0]


def _shuffle(words: Words, turned: Words, same: Tensor, rows: Tensor, keys: Tensor) -> None:
    """Those of ``rows`` that are still the ``same`` in the order of their ``keys`` (B, L); marks and padding stay."""
    places, inside = words.places(rows)
    before, place = words[rows], torch.arange(places.shape[1])
    inner = (place > 0) & (place < words.lengths[rows][:, None] - 1)
    keys = torch.where(inner, keys[:, : len(place)], place.double() + 2).masked_fill(place == 0, -1.0)
    after, use = before.gather(1, keys.argsort(1)), same[rows]
    turned.numbers[places[inside & use[:, None]]] = after[inside & use[:, None]]
    same[rows] = use & (after == before).all(1)
