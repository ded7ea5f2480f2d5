"""Twin accuracy: does a model read the caption, or only count its words?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from icrlib.data.scenes.grammar import truth
from icrlib.data.scenes.graph import Scene

KINDS = ("swap", "attribute")


def telling(
    image_of: Tensor, forms: Sequence[dict], graphs: Sequence[Scene], twin_of: Tensor
) -> Iterator[tuple[int, int, int]]:
    """(caption, its image, the other twin) for every caption that is false of the other twin, both ways round."""
    pairs = [(row, int(twin)) for row, twin in enumerate(twin_of) if twin >= 0]
    captions_of: dict[int, list[int]] = {}
    for caption, row in enumerate(image_of.tolist()):
        captions_of.setdefault(row, []).append(caption)
    for row, twin in (pair for a, b in pairs for pair in ((a, b), (b, a))):
        for caption in captions_of[row]:
            if not truth(forms[caption], graphs[twin]):
                yield caption, row, twin


def twin_accuracy(images: Tensor, captions: Tensor, split) -> dict[str, float | int | None]:
    """How often, in percent, a caption scores strictly higher with its own image than with that image's twin.

    ``images`` (N, d) and ``captions`` (C, d): unit vectors of a scenes ``split``. Only captions that are false of
    the twin count. ``"swap"`` twins are described by the same words in another order, ``"attribute"`` twins differ
    in one attribute or place; ``"swap_n"`` and ``"attribute_n"`` count the captions, None stands for none.
    Chance is 50.
    """
    found = list(telling(split.image_of, split.forms, split.graphs, split.twin_of))
    caption, own, other = torch.tensor(found, dtype=torch.long).view(-1, 3).unbind(1)
    # Either picture of a pair may be the one that was made as the other's twin.
    made = torch.where(split.twin_of[own] == other, own, other)
    score = [(images[rows] * captions[caption]).sum(1) for rows in (own, other)]
    right = (score[0] > score[1]).double()
    result: dict[str, float | int | None] = {}
    for kind in KINDS:
        here = torch.tensor([split.twin_kind[row] == kind for row in made.tolist()], dtype=torch.bool)
        result[kind] = 100 * float(right[here].mean()) if here.any() else None
        result[f"{kind}_n"] = int(here.sum())
    return result
