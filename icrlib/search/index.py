"""An index: encodings of images, with the files they are of, and the queries to it. Exact: everything is scored."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torch import Tensor

from icrlib.data import precomputed
from icrlib.data.text import tokenize
from icrlib.errors import choose
from icrlib.evaluation import all_scores
from icrlib.models.base import Encodings, RetrievalModel, Sequences, inner_products, join
from icrlib.search.encoders import Encoder, Trained, encoded, network_of
from icrlib.training.saved import load_model


@dataclass(frozen=True)
class Hit:
    """One answer: its ``rank`` from 1, the cosine ``score``, a ``caption``, and the photo's ``file`` if it is one."""

    rank: int
    score: float
    caption: str
    file: str = ""


class Index:
    """Encodings of ``images`` (N) with their ``files``; the encoder's similarity compares them with a query.

    Where there are captions, ``captions`` (C) are their encodings, ``texts`` what they say and ``image_of`` (C) the
    image of each. Encodings: unit vectors, or :class:`icrlib.models.Sequences`. ``folder``: the features' own.
    """

    def __init__(
        self,
        encoder: Encoder,
        images: Encodings,
        files: list[str],
        captions: Encodings | None = None,
        texts: Sequence[str] = (),
        image_of: Sequence[int] = (),
        folder: Path | None = None,
    ) -> None:
        self.encoder, self.images, self.captions, self.folder = encoder, images, captions, folder
        self.files, self.texts = files, texts
        self.caption_of = dict(zip(reversed(image_of), reversed(texts), strict=True))  # the first of each image

    def __len__(self) -> int:
        return len(self.images)

    @classmethod
    def of(cls, model: str | Path | RetrievalModel, features: str | Path, split: str = "all") -> Index:
        """Embed a feature folder (written by ``icr features``, or in that layout) with a saved model.

        ``split``: "train", "val" or "test" for a part of it. Photos without captions belong to no split and to "all".
        ``ValueError`` where the features are not of the size that the model was trained on.
        """
        choose(split, ("all", "train", "val", "test"), "split")
        is_model = isinstance(model, RetrievalModel)
        encoder = Trained(model) if is_model else Trained(load_model(model), Path(model).name)
        parts = precomputed.parts(features, None if split == "all" else split)
        images = [encoder.finish(part.features) for part in parts]
        texts = [text for part in parts for text in part.captions]
        starts = np.cumsum([0, *map(len, images)])
        image_of = [row for part, start in zip(parts, starts, strict=False) for row in (part.image_of + start).tolist()]
        files = [file for part in parts for file in part.files]
        captions = encoded(encoder, texts) if texts else None
        return cls(encoder, join(images), files, captions, texts, image_of, Path(features))

    def by_text(self, query: str, top: int = 5) -> list[Hit]:
        """The photos that score highest for a text; words that the model never saw count as unknown."""
        if not query.split():
            raise ValueError("the query has no word; say what you look for")
        return self._photos(self._scores(self.images, self.encoder.texts([query]))[:, 0], top)

    def by_picture(self, path: str | Path, top: int = 5, backbone: str | None = None) -> list[Hit]:
        """The captions that score highest for a picture; the photos most like it, where the index has no captions.

        It goes first through the network of the features: the model's own, or the one that the folder notes, or
        ``backbone``.
        """
        if isinstance(self.encoder, Trained) and not self.encoder.backbone:
            self.encoder = Trained(self.encoder.model, self.encoder.name, *network_of(self.folder, backbone))
        image = self.encoder.finish(self.encoder.pictures([path]))
        if self.captions is not None:
            scores = self._scores(image, self.captions)[0]
            return [Hit(rank, score, self.texts[row]) for rank, score, row in _best(scores, top)]
        if isinstance(self.images, Sequences):
            raise ValueError("this model makes several vectors of an image, so photos are compared with words only")
        return self._photos(inner_products(self.images, image.cpu())[:, 0], top)

    def warning(self, query: str) -> str:
        """A sentence about words that the model has never read; empty where it knows all, and for a picture."""
        unknown = [] if os.path.isfile(query) else self.encoder.unknown(query)
        if not unknown:
            return ""
        if set(tokenize(query)) <= set(unknown):
            meaning = "it knows no word of this, so the answers mean nothing."
        else:
            meaning = "the answers go by the other words, and each unknown one is read as the same placeholder."
        return f"The model has never read {', '.join(f'“{word}”' for word in unknown)}: {meaning}"

    def _scores(self, images: Encodings, captions: Encodings) -> Tensor:
        device = captions.device if isinstance(captions, Tensor) else captions.values.device
        return all_scores(images.to(device), captions.to(device), self.encoder.similarity, self.encoder.at_once).cpu()

    def _photos(self, scores: Tensor, top: int) -> list[Hit]:
        best = _best(scores, top)
        return [Hit(rank, score, self.caption_of.get(row, ""), self.files[row]) for rank, score, row in best]


def _best(scores: Tensor, top: int) -> list[tuple[int, float, int]]:
    """(rank, score, place) of the ``top`` highest of ``scores`` (N,)."""
    values, rows = (part.tolist() for part in scores.topk(min(top, len(scores))))
    return list(zip(range(1, len(rows) + 1), values, rows, strict=True))
