"""What a teacher sees, before anything learns from it: does it tell a caption from its opposite, and how far apart are
captions at all?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from torch import Tensor
from torch.nn import functional as F

from icrlib.data.splits import Split
from icrlib.data.targets.base import Teacher, vectors
from icrlib.data.targets.wording import EXCHANGES, exchanged, parse, reworded, turned

PARAPHRASES = {"turned round": turned, "one other word": lambda wording: reworded(wording, 1), "other words": reworded}
COUNT, FLOOR_COUNT = 200, 1000  # captions that are changed, and captions that the floor is taken from
TIE = 1e-6  # in 1 - cos: below it the rounding of float32 decides


def order_sensitivity(captions: Split | Sequence[str], teacher: Teacher, count: int) -> pd.DataFrame:
    """For captions of ``scenes``: is a caption nearer to a paraphrase, or to the same words about other things?

    ``count`` captions of those that name two things or more are drawn. One row for each of them, each
    ``swap`` ("colour", "shape", "size" or "place" of two things exchanged, so that the caption means something else)
    and each ``paraphrase`` ("turned round": "b right of a" for "a left of b", a list backwards; "one other word": the
    first word with a synonym replaced; "other words": all of them) that it allows; ``to_swap`` and ``to_paraphrase``
    are the caption's 1 - cos to the two. A teacher that reads has the second smaller, always; for one that counts words
    the first is 0, but for the article where "orange" moves.
    """
    every = captions.captions if isinstance(captions, Split) else captions
    texts = [text for text in dict.fromkeys(every) if len(parse(text).things) > 1]
    cases = []
    for row in np.random.default_rng(0).permutation(len(texts))[:count]:
        wording = parse(texts[row])
        for swap in EXCHANGES:
            for paraphrase, change in PARAPHRASES.items():
                false, true = exchanged(wording, swap), change(wording)
                if false and true:
                    cases.append((texts[row], swap, false.text, paraphrase, true.text))
    rows = pd.DataFrame(cases, columns=["caption", "swap", "false", "paraphrase", "true"])
    texts = [*rows["caption"], *rows["false"], *rows["true"]]
    own, false, true = F.normalize(vectors(texts, teacher, progress=False).double(), dim=1).chunk(3)
    rows["to_swap"], rows["to_paraphrase"] = 1 - (own * false).sum(1).numpy(), 1 - (own * true).sum(1).numpy()
    return rows


def floor(vectors: Tensor) -> float:
    """Mean 1 - cos of target vectors (C, d), rows of length 1, to the best constant vector.

    That constant is the direction of their mean m, so the value is 1 - ||m||: what a decoder reaches that ignores the
    caption. An η above it asks for nothing.
    """
    return 1 - float(vectors.double().mean(0).norm())


def seen(captions: Split | Sequence[str], teacher: Teacher, count: int = COUNT) -> dict[str, float]:
    """Means of :func:`order_sensitivity` over its rows.

    "swap": 1 - cos to the false caption; for each of PARAPHRASES its own 1 - cos, and as "…, nearer" the percentage of
    captions of which the true one is nearer than the false one.
    """
    rows = order_sensitivity(captions, teacher, count)
    rows["nearer"] = 100.0 * (rows["to_swap"] - rows["to_paraphrase"] > TIE)
    of = rows.groupby("paraphrase")[["to_paraphrase", "nearer"]].mean().abs()  # no -0.0
    return (
        {"swap": abs(float(rows["to_swap"].mean()))}
        | {kind: float(of.loc[kind, "to_paraphrase"]) for kind in PARAPHRASES}
        | {f"{kind}, nearer": float(of.loc[kind, "nearer"]) for kind in PARAPHRASES}
    )


def recorded(name: str) -> dict[str, float]:
    """:func:`seen` of the validation captions of scenes, seed 0, as it was written down, and "floor", what a constant
    answer costs: of "sbert", or "mpnet" (all-mpnet-base-v2, 405 MB), which this library does not read."""
    return json.loads(Path(__file__).with_name("measured.json").read_text(encoding="utf-8"))[name]
