"""What a teacher sees, before anything learns from it: does it tell a caption from its opposite, and how far apart are
captions at all?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor
from torch.nn import functional as F

from icrlib.data.splits import Split
from icrlib.data.targets.base import Teacher, vectors
from icrlib.data.targets.wording import EXCHANGES, exchanged, parse, reworded, turned

PARAPHRASES = {"one other word": lambda wording: reworded(wording, 1), "other words": reworded, "turned round": turned}
CHANGES = {kind: lambda wording, kind=kind: exchanged(wording, kind) for kind in EXCHANGES} | PARAPHRASES
TIE = 1e-6  # in 1 - cos: below it the rounding of float32 decides


def order_sensitivity(
    captions: Split | Sequence[str], teacher: Teacher, *, count: int = 500, seed: int = 0, progress: bool = True
) -> list[dict]:
    """For captions of ``scenes``: is a caption nearer to a paraphrase, or to the same words about other things?

    ``count`` captions of those that name two things or more are drawn with ``seed``. One row for each ``swap``
    ("colour", "shape", "size" or "place" of two things exchanged, so that the caption means something else) and
    ``paraphrase`` ("one other word": the first word with a synonym replaced; "other words": all of them; "turned
    round": "b right of a" for "a left of b", a list backwards). A row has ``n`` captions that allow both; ``to_swap``
    and ``to_paraphrase``, the mean 1 - cos; ``accuracy``, the percentage of captions whose paraphrase is nearer;
    ``tied``, the percentage where both are equally near (within 1e-6). None stands for no caption. A teacher that reads
    has accuracy 100; one that counts words has ``to_swap`` 0, but for the article where "orange" moves.
    """
    every = captions.captions if isinstance(captions, Split) else captions
    texts = [text for text in dict.fromkeys(every) if len(parse(text).things) > 1]
    texts = [texts[i] for i in np.random.default_rng(seed).permutation(len(texts))[:count]]
    changed = {
        kind: {text: made.text for text in texts if (made := change(parse(text))) is not None}
        for kind, change in CHANGES.items()
    }
    every = list(dict.fromkeys([*texts, *(text for texts in changed.values() for text in texts.values())]))
    vector = dict(zip(every, F.normalize(vectors(every, teacher, progress).double(), dim=1), strict=True))

    def far(text: str, kind: str) -> float:
        return 1 - float(vector[text] @ vector[changed[kind][text]])

    rows = []
    for swap in EXCHANGES:
        for paraphrase in PARAPHRASES:
            both = [text for text in texts if text in changed[swap] and text in changed[paraphrase]]
            costs = np.array([(far(text, swap), far(text, paraphrase)) for text in both]).reshape(-1, 2)
            rows.append({"teacher": teacher.name, "swap": swap, "paraphrase": paraphrase} | _row(costs))
    return rows


def _row(costs: np.ndarray) -> dict:
    """(n, 2) costs of swap and paraphrase -> what a row says of them."""
    if not len(costs):
        return {"n": 0, "to_swap": None, "to_paraphrase": None, "accuracy": None, "tied": None}
    ahead = costs[:, 0] - costs[:, 1]
    return {
        "n": len(costs),
        "to_swap": float(costs[:, 0].mean()),
        "to_paraphrase": float(costs[:, 1].mean()),
        "accuracy": 100 * float((ahead > TIE).mean()),
        "tied": 100 * float((abs(ahead) <= TIE).mean()),
    }


def floor(vectors: Tensor) -> float:
    """Mean 1 - cos of target vectors (C, d), rows of length 1, to the best constant vector.

    That constant is the direction of their mean m, so the value is 1 - ||m||: what a decoder reaches that ignores the
    caption. An η above it asks for nothing.
    """
    return 1 - float(vectors.double().mean(0).norm())
