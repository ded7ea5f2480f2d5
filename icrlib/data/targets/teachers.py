"""Teachers by name; and those that the caller hands over: any object with ``encode(list of texts)``, such as a
SentenceTransformer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from icrlib.data.splits import Dataset
from icrlib.data.targets.base import Teacher, vectors
from icrlib.data.text import SPECIAL
from icrlib.files import sha256_of
from icrlib.names import Registry

# A teacher is imported at its first use, so that tokenizers and scikit-learn are needed only by those who use them.
TEACHERS = Registry(
    "target",
    {
        "sbert": "icrlib.data.targets.minilm:MiniLM",
        "lsa": "icrlib.data.targets.lsa:LSA",
        "form": "icrlib.data.targets.form:Form",
    },
)
BATCH = 256
SENTENCES = (
    "A man is playing a guitar on stage.",
    "Two dogs run through the snow.",
    "a red ring left of a blue star",
    "a blue ring left of a red star",
    "A train waits at the platform.",
    "There is nothing to see here.",
)
HELD: dict[str, HandedOver] = {}


def teacher(name: str, captions: Sequence[str] | None = None) -> Teacher:
    """The teacher of that name; ``ValueError`` where there is none.

    "sbert" is all-MiniLM-L6-v2, "form" reads captions of ``scenes``, "lsa" is fitted on the training ``captions``,
    which the others do not use. "own-1a2b3c4d" is what :func:`icrlib.data.targets.hold` returned, and
    "package.module:Name" a class that is called without arguments and has ``encode(list of texts)``.
    """
    if name in HELD:
        return HELD[name]
    if str(name).startswith("own-"):
        raise ValueError(
            f"target {name!r} is an object that this process does not know: call icrlib.data.targets.hold(object) first"
        )
    made = TEACHERS.find(name)(**{"captions": captions} if name == "lsa" else {})
    return made if isinstance(made, Teacher) else HandedOver(made)


def for_dataset(data: Dataset, name: str) -> Teacher:
    """The teacher of that name, fitted on the training captions where it learns."""
    return teacher(name, data.train.captions)


def hold(model: object) -> str:
    """Make ``model`` known as a target in this process; returns its name, such as "own-1a2b3c4d".

    ``model.encode(list of n texts)`` gives n vectors of one size: an array, a tensor or a list. The name comes from
    what it answers to six fixed sentences, so the same model has the same name in another process: hold it again there
    before its name is used.
    """
    made = HandedOver(model)
    HELD[made.name] = made
    return made.name


class HandedOver(Teacher):
    """A caller's encoder.

    Its identity is a hash of the cosines between its vectors for :data:`SENTENCES` and of the first one's first
    numbers, rounded to three digits: other machines round the last ones otherwise.
    """

    def __init__(self, model: object) -> None:
        if not callable(getattr(model, "encode", None)):
            raise ValueError(f"a target of your own has a method encode(list of texts); got {type(model).__name__}")
        self.model = model
        answers = F.normalize(self._answers(list(SENTENCES)), dim=1).double()
        cosines = (answers @ answers.T)[tuple(torch.triu_indices(len(answers), len(answers), 1))]
        digits = [round(float(x), 3) + 0.0 for x in [*cosines, *answers[0, :8]]]
        self.size = answers.shape[1]
        self.identity = sha256_of(repr((self.size, digits)))
        self.name = f"own-{self.identity[:8]}"

    def _parts(self, captions: list[str]) -> Iterator[tuple[list[int], Tensor]]:
        for start in range(0, len(captions), BATCH):
            some = captions[start : start + BATCH]
            yield list(range(start, start + len(some))), self._answers(some)

    def _answers(self, captions: list[str]) -> Tensor:
        """The model's answer as (n, d) float32; ``ValueError`` where it is none."""
        answer = self.model.encode(captions)
        try:
            rows = answer.detach().float().cpu().numpy() if isinstance(answer, Tensor) else answer
            values = torch.from_numpy(np.array(rows, np.float32))
        except (TypeError, ValueError) as err:  # texts, or rows of several sizes
            raise ValueError(f"encode of {len(captions)} texts gave no array of numbers ({err})") from err
        if values.ndim != 2 or len(values) != len(captions) or not values.isfinite().all():
            raise ValueError(f"encode of {len(captions)} texts gave {tuple(values.shape)}; wanted finite rows")
        return values


class Sentences:
    """Captions as rows of a table of a teacher's vectors: what a model of whole sentences takes for word numbers.

    Stands where a :class:`icrlib.data.text.Vocabulary` stands; a new caption is a new row of the table.

    ``name``: a teacher that needs no captions to learn from, "sbert" or one's own.
    """

    words = list(SPECIAL)  # there are no words to store with a model

    def __init__(self, name: str) -> None:
        self.teacher = teacher(name)
        self.size = self.teacher.size
        self._row: dict[str, int] = {}
        self._table = torch.zeros(0, self.size)

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, captions: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Rows (C, 1) int64 of the captions' vectors, and lengths (C,), all 1. New ones are computed, or cached."""
        new = [caption for caption in dict.fromkeys(captions) if caption not in self._row]
        if new:
            self._table = torch.cat([self._table.cpu(), vectors(new, self.teacher)])
            self._row |= {caption: len(self._row) + row for row, caption in enumerate(new)}
        rows = torch.tensor([self._row[caption] for caption in captions], dtype=torch.int64)
        return rows[:, None], torch.ones_like(rows)

    def vectors(self, rows: Tensor) -> Tensor:
        """The unit vectors (B, d) of those rows, on the device of ``rows``."""
        self._table = self._table.to(rows.device)
        return self._table[rows]
