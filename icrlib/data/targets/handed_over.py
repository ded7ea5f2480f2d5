"""Teachers of the reader's own: any object with ``encode(list of texts)``, such as a SentenceTransformer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from icrlib.data.targets.base import Teacher
from icrlib.files import sha256_of
from icrlib.names import died

BATCH = 256
SENTENCES = (
    "A man is playing a guitar on stage.",
    "Two dogs run through the snow.",
    "a red ring left of a blue star",
    "a blue ring left of a red star",
    "A train waits at the platform.",
    "There is nothing to see here.",
)
HELD: dict[str, Own] = {}


def hold(model: object) -> str:
    """Make ``model`` known as a target in this process; returns its name, such as "own-1a2b3c4d".

    ``model.encode(list of n texts)`` gives n vectors of one size: an array, a tensor or a list. The name comes from
    what it answers to six fixed sentences, so the same model has the same name in another process: hold it again there
    before its name is used.
    """
    made = Own(model)
    HELD[made.name] = made
    return made.name


class Own(Teacher):
    """A caller's own encoder.

    Its identity is a hash of the cosines between its vectors for :data:`SENTENCES` and of the first one's first
    numbers, rounded to three digits: other machines round the last ones otherwise.
    """

    def __init__(self, model: object) -> None:
        if not callable(getattr(model, "encode", None)):
            raise ValueError(f"a target of your own has a method encode(list of texts); got {type(model).__name__}")
        self.model, self.name, self.size = model, "own", 0
        asked = F.normalize(self._call(list(SENTENCES)), dim=1).double()
        if not asked.isfinite().all():
            raise ValueError(f"encode gave NaN or infinity for one of {len(SENTENCES)} plain sentences; mend the model")
        cosines = (asked @ asked.T)[tuple(torch.triu_indices(len(asked), len(asked), 1))]
        digits = [round(float(x), 3) + 0.0 for x in [*cosines, *asked[0, :8]]]
        self.size = asked.shape[1]
        self.identity = sha256_of(repr((self.size, digits)))
        self.name = f"own-{self.identity[:8]}"

    def _parts(self, captions: list[str]) -> Iterator[tuple[list[int], Tensor]]:
        for start in range(0, len(captions), BATCH):
            some = captions[start : start + BATCH]
            yield list(range(start, start + len(some))), self._call(some)

    def _call(self, captions: list[str]) -> Tensor:
        """The model's answer as (n, d) float32; ``ValueError`` says what is wrong with it."""
        try:
            answer = self.model.encode(captions)
        except (Exception, SystemExit) as err:  # somebody's own code
            raise ValueError(f"{self.name}: encode of {len(captions)} texts fails:\n  {died(err)}") from err
        try:
            rows = answer if isinstance(answer, (np.ndarray, Tensor)) else [torch.as_tensor(row) for row in answer]
            found = torch.stack(rows) if isinstance(rows, list) and rows else torch.as_tensor(rows)
            found = found.detach().cpu()
            found = (found if found.layout is torch.strided else found.to_dense()).float()
        except (TypeError, ValueError, RuntimeError) as err:  # None, texts, rows of several sizes, what comes later
            kind = type(answer).__name__
            raise ValueError(f"encode of {len(captions)} texts gave no array of numbers but {kind} ({err})") from err
        if found.ndim != 2 or len(found) != len(captions) or (self.size and found.shape[1] != self.size):
            wanted, got = f"({len(captions)}, {self.size or 'd'})", tuple(found.shape)
            raise ValueError(f"encode of {len(captions)} texts gave numbers of shape {got}; wanted {wanted}")
        return found
