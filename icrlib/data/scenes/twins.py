"""Twin accuracy: does a model read the caption, or only count its words?"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from icrlib.data.scenes.grammar import truth
from icrlib.data.scenes.graph import Scene

FIELDS = ("shape", "colour", "cell", "other")


def questions(split) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What twins ask of a scenes ``split``, T times: caption, its image, that image's twin (T,) int64; is it a swap?

    A caption is asked where it is false of the other twin, both ways round.
    """
    found = []
    for made, twin in enumerate(split.twin_of.tolist()):
        for own, other in ((made, twin), (twin, made)) if twin >= 0 else ():
            for caption in (split.image_of == own).nonzero()[:, 0].tolist():
                if not truth(split.forms[caption], split.graphs[other]):
                    found.append((caption, own, other, split.twin_kind[made] == "swap"))
    caption, own, other, swap = torch.tensor(found, dtype=torch.long).view(-1, 4).unbind(1)
    return caption, own, other, swap.bool()


def field(scene: Scene, twin: Scene) -> str:
    """What tells two twins apart, thing by thing: "shape", "colour" or "cell"; "other" for sizes and fills."""
    pairs = list(zip(scene.things, twin.things, strict=True))
    differ = (name for name in FIELDS[:-1] if any(getattr(one, name) != getattr(other, name) for one, other in pairs))
    return next(differ, FIELDS[-1])


def twin_accuracy(
    split, images: Tensor, captions: Tensor, of_pairs: Callable = lambda images, captions: (images * captions).sum(1)
) -> dict[str, float | int | None]:
    """How often, in percent, a caption scores strictly higher with its own image than with that image's twin.

    ``images`` (N, d) and ``captions`` (C, d): encodings of a scenes ``split``, which ``of_pairs`` compares row by row
    (the inner products of unit vectors). Only captions that are false of the twin count. ``"swap"`` twins are described
    by the same words in another order, ``"attribute"`` twins differ in one attribute or place; ``"swap_n"`` and
    ``"attribute_n"`` count the captions, None stands for none. The same by what was exchanged or changed, where it is
    asked: ``"swap_colour"``, ``"swap_colour_n"``, … (:func:`field`). Chance is 50.
    """
    caption, own, other, swap = split.twin_questions
    score = [of_pairs(images[rows], captions[caption]) if len(rows) else torch.zeros(0) for rows in (own, other)]
    right = (score[0] > score[1]).double().cpu()
    fields = [field(split.graphs[a], split.graphs[b]) for a, b in zip(own.tolist(), other.tolist(), strict=True)]
    result: dict[str, float | int | None] = {}
    for kind, here in (("swap", swap), ("attribute", ~swap)):
        among = {name: here & torch.tensor([one == name for one in fields], dtype=torch.bool) for name in FIELDS}
        parts = {kind: here} | {f"{kind}_{name}": some for name, some in among.items() if some.any()}
        for name, some in parts.items():
            result[name] = 100 * float(right[some].mean()) if some.any() else None
            result[f"{name}_n"] = int(some.sum())
    return result
