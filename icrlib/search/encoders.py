"""What turns queries and pictures into vectors: a model that was trained here, or an object of the reader's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.nn.functional import normalize

from icrlib.data import backbones, feature_folder
from icrlib.data.pictures import open_picture
from icrlib.data.regions import Regions
from icrlib.data.text import tokenize
from icrlib.models.base import Encodings, RetrievalModel, inner_products, join
from icrlib.models.on_pictures import OnPictures
from icrlib.models.parts.regions import check_lengths
from icrlib.names import died, handed

PIXELS = 1 << 26  # of the pictures that an encoder of somebody's own gets at once, as 8-bit RGB: 200 MB


class Encoder(Protocol):
    """``name`` for people; ``key``: what the vectors of pictures depend on, so that an album knows its own."""

    name: str
    key: str
    at_once: int

    def ready(self) -> None: ...

    def texts(self, texts: Sequence[str]) -> Encodings: ...

    def pictures(self, files: Sequence[str | Path]) -> np.ndarray: ...

    def finish(self, found: np.ndarray) -> Encodings: ...

    def similarity(self, images: Encodings, captions: Encodings) -> Tensor: ...

    def unknown(self, query: str) -> list[str]: ...


class Trained:
    """A model of this library, in evaluation mode, with the network that made the features it was trained on.

    ``backbone``: a name of :func:`icrlib.data.backbones.load`, which only pictures need; ``regions``: the cells a side
    where the model takes regions. A model that was trained on pictures brings its network along.
    """

    def __init__(
        self, model: RetrievalModel, name: str = "", backbone: str | None = None, regions: int = 0, key: str = ""
    ) -> None:
        self.model, self.name, self.regions = model.eval(), name, regions
        self.inside = isinstance(model, OnPictures)
        self.backbone = model.options["backbone"] if self.inside else backbone
        self.similarity, self.at_once = model.similarity, model.scores_at_once
        # What a network that learnt makes of pictures belongs to the model; what a frozen one makes, to that one.
        self.key = key or f"{self.backbone} {regions}"
        self._network: backbones.Backbone | None = None

    @torch.no_grad()
    def texts(self, texts: Sequence[str]) -> Encodings:
        """Captions or queries (M) to their encodings."""
        told = (part.to(self.model.device) for part in self.model.vocabulary.encode(list(texts)))
        return self.model.encode_captions(*told)

    @torch.no_grad()
    def pictures(self, files: Sequence[str | Path]) -> np.ndarray:
        """Pictures to what an album keeps of them: features, float16 as ``icr features`` keeps them, or encodings.

        One at a time, so that a picture's numbers do not hang on which others are new. :class:`ValueError` where nobody
        named the network.
        """
        network, rows = self._loaded(), []
        for file in files:
            picture = network.prepare(open_picture(file))[None].to(self.model.device)
            if self.inside:
                rows.append(self.model.encode_images(picture).cpu().numpy())
            else:
                rows.append(network(picture, self.regions).cpu().numpy().astype(np.float16))
        return np.concatenate(rows)

    def ready(self) -> None:
        """``ValueError`` for what would stop :meth:`pictures` or :meth:`finish` at the first picture."""
        found, wanted = self._loaded().channels(), self.model.options["feature_dim"]
        if found != wanted:
            raise ValueError(
                f"the network {self.backbone!r} makes {found} numbers of a picture, but the model was "
                f"trained on {wanted}; name the network of its training with --backbone"
            )

    def _loaded(self) -> backbones.Backbone:
        if self.backbone is None:
            raise ValueError(
                "nobody noted which network made the features that this model was trained on; name it "
                "with backbone= (--backbone)"
            )
        if self._network is None:
            self._network = backbones.load(self.backbone, str(self.model.device))
        return self._network

    @torch.no_grad()
    def finish(self, found: np.ndarray | Regions) -> Encodings:
        """What :meth:`pictures` made, or a feature folder holds, to encodings of images."""
        values = found if isinstance(found, Regions) else torch.from_numpy(np.ascontiguousarray(found))
        check_lengths(type(self.model), values)
        if self.inside:
            return values
        wanted = self.model.options["feature_dim"]
        if values.shape[-1] != wanted:
            raise ValueError(
                f"features of size {values.shape[-1]}, but the model was trained on {wanted}; use the "
                "features (or the backbone) of its training"
            )
        return join([self.model.encode_images(part.float().to(self.model.device)).cpu() for part in values.split(512)])

    def unknown(self, query: str) -> list[str]:
        """Words of the query that no training caption taught the model, as they were typed, each once."""
        known = getattr(self.model.vocabulary, "number", None)
        if known is None:
            return []  # a sentence encoder reads pieces of words
        return list(dict.fromkeys(word for word in tokenize(query) if word not in known))


class Own:
    """Any object with ``encode_captions(list of texts)``, a CLIP of the reader's own for instance.

    Where pictures are to be encoded it has ``encode_images(list of PIL pictures)``, too. Both return arrays or tensors
    (n, D), whose rows are scaled to length 1.
    """

    at_once = RetrievalModel.scores_at_once

    def __init__(self, encoder: object, name: str = "") -> None:
        if not callable(getattr(encoder, "encode_captions", None)):
            raise ValueError(
                f"{name or type(encoder).__name__} has no encode_captions(list of texts); an encoder of "
                "your own needs that, and encode_images(list of pictures) to encode pictures"
            )
        self.encoder, self.name = encoder, name or type(encoder).__name__
        self.key = f"encoder {self.name}"
        self.similarity = inner_products

    def texts(self, texts: Sequence[str]) -> Tensor:
        return called(self.encoder.encode_captions, list(texts), f"{self.name}.encode_captions")

    def ready(self) -> None:
        """``ValueError`` where the object cannot encode pictures."""
        if not callable(getattr(self.encoder, "encode_images", None)):
            raise ValueError(
                f"{self.name} has no encode_images(list of pictures); give the vectors of the pictures as "
                "a file, --embeddings"
            )

    def pictures(self, files: Sequence[str | Path]) -> np.ndarray:
        """Pictures to vectors (n, D), float32: all in one call, unless they are large (``PIXELS``)."""
        self.ready()
        source = f"{self.name}.encode_images"
        found = [called(self.encoder.encode_images, some, source).numpy() for some in _groups(files)]
        if len(sizes := sorted({rows.shape[1] for rows in found})) > 1:
            raise ValueError(f"{source}: gives pictures {' and '.join(map(str, sizes))} numbers; wanted equally many")
        return np.concatenate(found)

    def finish(self, found: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(found, np.float32))

    def unknown(self, query: str) -> list[str]:
        return []


def _groups(files: Sequence[str | Path]) -> Iterator[list[Image.Image]]:
    """Pictures, opened, as many at a time as ``PIXELS`` allow; one at least."""
    some, total = [], 0
    for file in files:
        picture = open_picture(file)
        size = picture.width * picture.height
        if some and total + size > PIXELS:
            yield some
            some, total = [], 0
        some.append(picture)
        total += size
    yield some


def network_of(folder: Path | None, backbone: str | None) -> tuple[str, int]:
    """The network and the regions of the features in ``folder``: as the caller names it, else as the folder notes."""
    noted = feature_folder.noted(folder) if folder else None
    if backbone is None and noted is None:
        where = f"{folder}: " if folder else ""
        raise ValueError(f"{where}nobody noted which network made these features; name it with backbone= (--backbone)")
    name = backbone or handed(folder / feature_folder.MARK, "backbone", noted["backbone"], None, backbones.NAMES)
    return name, (noted or {}).get("regions", 0)


def unit(found: object, rows: int, source: str) -> Tensor:
    """Vectors (rows, D) of somebody else's as float32 of length 1; ``ValueError`` where they are none."""
    try:
        if isinstance(found, Tensor):
            found = found.detach().cpu()
            values = found.to_dense() if found.layout is not torch.strided else found
        else:
            values = torch.from_numpy(np.array(found))
    except (TypeError, ValueError, RuntimeError) as err:  # texts, lists of several lengths, what comes later
        raise ValueError(f"{source}: no array of numbers but {type(found).__name__} ({err})") from err
    if values.ndim != 2 or len(values) != rows or not values.shape[1] or not values.dtype.is_floating_point:
        raise ValueError(
            f"{source}: got {tuple(values.shape)} of {values.dtype}; wanted ({rows}, D) floating-point "
            "numbers, a row for each"
        )
    values = values.double()
    bad = ~values.isfinite().all(1) | (values == 0).all(1)
    if bad.any():
        raise ValueError(f"{source}: row {int(bad.nonzero()[0])} holds NaN, infinity or only zeros")
    values = values / values.abs().amax(1, keepdim=True)  # a length of 1e-20 or 1e25 is one, too
    return normalize(values, dim=1).float()


def called(work: Callable, given: list, source: str) -> Tensor:
    """What somebody's own encoder answers, as :func:`unit` vectors; ``ValueError`` says what it died of."""
    try:
        found = work(given)
    except (Exception, SystemExit) as err:
        raise ValueError(f"{source}: {died(err)}") from err
    return unit(found, len(given), source)
