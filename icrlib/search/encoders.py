"""What turns queries and pictures into vectors: a model that was trained here, or an object of the reader's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from icrlib.data import backbones, precomputed
from icrlib.data.pictures import open_picture
from icrlib.data.regions import Regions
from icrlib.data.text import tokenize
from icrlib.models.base import Encodings, RetrievalModel, inner_products, join
from icrlib.models.on_pictures import OnPictures
from icrlib.models.parts.regions import check_lengths
from icrlib.names import died, handed

TOGETHER = 8  # pictures that an encoder gets at once: as 8-bit RGB those of a phone take up to 150 MB each


class Trained:
    """A model of this library, in evaluation mode, with the network that made the features it was trained on.

    ``backbone``: a name of :func:`icrlib.data.backbones.load`, which only pictures need; ``regions``: the cells a side
    where the model takes regions. A model that was trained on pictures brings its network along.
    """

    def __init__(
        self, model: RetrievalModel, name: str = "", backbone: str | None = None, regions: int = 0, key: str = ""
    ) -> None:
        self.model, self.name, self.regions = model.eval(), name, regions
        self.on_pictures = isinstance(model, OnPictures)
        self.backbone = model.options["backbone"] if self.on_pictures else backbone
        self.similarity, self.at_once = model.similarity, model.scores_at_once
        # What a network that learnt makes of pictures belongs to the model; what a frozen one makes, to that one.
        self.key = key or f"{self.backbone} {regions}"
        self._network: backbones.Backbone | None = None

    @torch.no_grad()
    def texts(self, texts: Sequence[str]) -> Encodings:
        """Captions or queries (M) to their encodings."""
        words, lengths = self.model.vocabulary.encode(list(texts))
        return self.model.encode_captions(words.to(self.model.device), lengths.to(self.model.device))

    @torch.no_grad()
    def pictures(self, files: Sequence[str | Path]) -> np.ndarray:
        """Pictures to what an album keeps of them: features, float16 as ``icr features`` keeps them, or encodings.

        One at a time, so that a picture's numbers do not hang on which others are new. ``ValueError`` where nobody
        named the network.
        """
        network = self._loaded()
        pictures = (network.prepare(open_picture(file))[None].to(self.model.device) for file in files)
        if self.on_pictures:
            return np.concatenate([self.model.encode_images(picture).cpu().numpy() for picture in pictures])
        rows = [network(picture, self.regions).cpu().numpy() for picture in pictures]
        return np.concatenate(rows).astype(np.float16)

    def ready(self) -> None:
        """``ValueError`` for a network that nobody named, or whose features the model does not take."""
        if not self.on_pictures and bool(self.regions) != (self.model.takes == "regions"):
            raise ValueError(
                f"the model takes features of another kind ({self.model.takes}); use those of its training"
            )
        self._check_size(self._loaded().channels(), f"the network {self.backbone!r} makes")

    def _check_size(self, size: int, source: str) -> None:
        if size != (expected := self.model.options["feature_dim"]):
            raise ValueError(
                f"{source} {size} numbers of a picture, but the model was trained on {expected}; use the features, or "
                "the network (--backbone), of its training"
            )

    def _loaded(self) -> backbones.Backbone:
        if self.backbone is None:
            raise ValueError(
                "nobody noted which network made this model's features; name it with backbone= (--backbone)"
            )
        if self._network is None:
            self._network = backbones.load(self.backbone, str(self.model.device))
        return self._network

    @torch.no_grad()
    def finish(self, stored: np.ndarray | Regions) -> Encodings:
        """What :meth:`pictures` made, or a feature folder holds, to encodings of images."""
        values = stored if isinstance(stored, Regions) else torch.from_numpy(np.ascontiguousarray(stored))
        check_lengths(type(self.model), values)
        if self.on_pictures:
            return values
        self._check_size(values.shape[-1], "the features hold")
        return join([self.model.encode_images(part.float().to(self.model.device)).cpu() for part in values.split(512)])

    def unknown(self, query: str) -> list[str]:
        """Words of the query that no training caption taught the model, as they were typed, each once."""
        known = getattr(self.model.vocabulary, "number", None)
        if known is None:
            return []  # a sentence encoder reads pieces of words
        return list(dict.fromkeys(word for word in tokenize(query) if word not in known))


class Own:
    """Any object with ``encode_captions(list of texts)`` and ``encode_images(list of PIL pictures)``, such as a CLIP.

    Both return arrays or tensors (n, D), whose rows are scaled to length 1. Who only searches needs the first alone.
    """

    at_once = RetrievalModel.scores_at_once

    def __init__(self, encoder: object, name: str = "") -> None:
        self.encoder, self.name = encoder, name or type(encoder).__name__
        self.key = f"encoder {self.name}"
        self._has("encode_captions")

    def _has(self, method: str) -> None:
        if not callable(getattr(self.encoder, method, None)):
            raise ValueError(
                f"{self.name} has no {method}; an encoder of your own needs encode_captions(list of texts), and "
                "encode_images(list of pictures) to encode pictures"
            )

    def ready(self) -> None:
        """``ValueError`` where the object cannot encode pictures."""
        self._has("encode_images")

    def similarity(self, images: Tensor, captions: Tensor) -> Tensor:
        """Inner products; ``ValueError`` where a picture and a text do not have equally many numbers."""
        if images.shape[-1] != captions.shape[-1]:
            raise ValueError(
                f"{self.name}: {images.shape[-1]} numbers of a picture, but {captions.shape[-1]} of a text"
            )
        return inner_products(images, captions)

    def texts(self, texts: Sequence[str]) -> Tensor:
        return _answers(self.encoder.encode_captions, list(texts), f"{self.name}.encode_captions")

    def pictures(self, files: Sequence[str | Path]) -> np.ndarray:
        """Pictures to vectors (n, D), float32, all in one call."""
        self.ready()
        pictures = [open_picture(file) for file in files]
        return _answers(self.encoder.encode_images, pictures, f"{self.name}.encode_images").numpy()

    def finish(self, stored: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(stored, np.float32))

    def unknown(self, query: str) -> list[str]:
        return []


def network_of(folder: Path | None, backbone: str | None) -> tuple[str | None, int]:
    """The network and the regions of the features in ``folder``: as the caller names it, else as the folder notes."""
    noted = (precomputed.noted(folder) if folder else None) or {}
    if backbone is None and noted:
        backbone = handed(folder / precomputed.MARK, "backbone", noted["backbone"], None, backbones.NAMES)
    return backbone, noted.get("regions", 0)


def _answers(method: Callable, inputs: list, source: str) -> Tensor:
    """What somebody's own encoder makes of ``inputs``, (n, D) float32 of length 1; ``ValueError`` where it cannot."""
    try:
        answer = method(inputs)
        values = answer.detach().cpu() if isinstance(answer, Tensor) else torch.from_numpy(np.array(answer))
    except (Exception, SystemExit) as err:  # foreign code runs
        raise ValueError(f"{source}: {died(err)}") from err
    if values.ndim != 2 or len(values) != len(inputs):
        raise ValueError(f"{source}: got shape {tuple(values.shape)}; it must be ({len(inputs)}, D), a row for each")
    values = values.double()
    bad = ~values.isfinite().all(1) | (values == 0).all(1)
    if bad.any():
        raise ValueError(f"{source}: row {int(bad.nonzero()[0])} holds NaN, infinity or only zeros")
    return (values / values.norm(dim=1, keepdim=True)).float()


Encoder = Trained | Own


def encoded(encoder: Encoder, texts: Sequence[str]) -> Encodings:
    """Encodings of many captions (M), on the CPU."""
    return join([encoder.texts(texts[first : first + 512]).cpu() for first in range(0, len(texts), 512)])
