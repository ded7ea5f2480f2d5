"""Search with a trained model: photos by words, captions by a picture. Exact: every candidate gets its score."""

from __future__ import annotations

import base64
import html
import io
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from icrlib.data import backbones, photos, precomputed
from icrlib.data.pictures import open_picture
from icrlib.evaluation import all_scores, embed
from icrlib.files import write_bytes
from icrlib.models.base import Encodings, RetrievalModel, Sequences
from icrlib.models.on_pictures import OnPictures
from icrlib.training.saved import handed, load_model


@dataclass(frozen=True)
class Hit:
    """One answer: its ``rank`` from 1, the cosine ``score``, a ``caption``, and the photo's ``file`` if it is one."""

    rank: int
    score: float
    caption: str
    file: str = ""

    def _repr_html_(self) -> str:
        return f"{_picture(self.file) if self.file else ''}{self.rank}. {self.score:.3f} {html.escape(self.caption)}"


class Index:
    """Encodings of photos and captions, with texts and files; the model's similarity compares them with a query.

    ``images`` (N, …) and ``captions`` (C, …): unit vectors, or :class:`icrlib.models.Sequences`.
    """

    def __init__(
        self, model: RetrievalModel, images: Encodings, captions: Encodings, texts: list[str], files: list[str],
        image_of: Tensor, folder: Path | None = None,
    ) -> None:  # fmt: skip
        self.model, self.images, self.captions, self.folder = model, images, captions, folder
        self.texts, self.files = texts, files
        self.first = {int(image): number for number, image in reversed(list(enumerate(image_of.tolist())))}

    @classmethod
    def of(cls, model: str | Path | RetrievalModel, features: str | Path, split: str = "test") -> Index:
        """Embed one split of a feature folder (written by ``icr features``, or in that layout) with a saved model.

        ``ValueError`` where the features are not of the size that the model was trained on.
        """
        folder = Path(features)
        data = getattr(precomputed.load(folder, name="photos"), split)
        model = model if isinstance(model, RetrievalModel) else load_model(model)
        wanted = model.options["feature_dim"]
        if data.features.shape[-1] != wanted:
            raise ValueError(
                f"{folder}: features of size {data.features.shape[-1]}, but the model was trained on {wanted}; "
                "use the features (or the backbone) of its training"
            )
        images, captions = embed(model, data)
        listed = folder / f"{precomputed.PARTS[split]}_files.txt"
        files = listed.read_text(encoding="utf-8").splitlines() if listed.is_file() else list(data.image_ids)
        return cls(model, images.cpu(), captions.cpu(), data.captions, files, data.image_of, folder)

    @classmethod
    def of_photos(
        cls, model: str | Path | RetrievalModel, root: str | Path, split: str = "test", backbone: str | None = None
    ) -> Index:
        """Embed one split of the photos in ``root`` with a model that takes pictures (``images="published"``).

        ``backbone``: a network of your own, "package.module:function", which a saved model only notes.
        """
        model = model if isinstance(model, RetrievalModel) else load_model(model, backbone=backbone)
        if not isinstance(model, OnPictures):
            raise ValueError("this model was trained on finished features; search in a feature folder, features=")
        data = getattr(photos.load(root, name="photos", images="published", backbone=model.options["backbone"]), split)
        images, captions = embed(model, data)
        files = [str(file) for file in data.features.files]
        return cls(model, images.cpu(), captions.cpu(), data.captions, files, data.image_of)

    def by_text(self, query: str, top: int = 5) -> list[Hit]:
        """The photos that score highest for a text; words that the model never saw count as unknown."""
        if not query.split():
            raise ValueError("the query has no word; say what you look for")
        with torch.no_grad():
            told = (part.to(self.model.device) for part in self.model.vocabulary.encode([query]))
            caption = self.model.encode_captions(*told)
            scores = all_scores(self.images.to(self.model.device), caption, self.model.similarity,
                                self.model.scores_at_once)[:, 0]  # fmt: skip
        return [Hit(rank, score, self.texts[self.first[row]], self.files[row])
                for rank, score, row in best(scores, top)]  # fmt: skip

    def by_picture(self, path: str | Path, top: int = 5, backbone: str | None = None) -> list[Hit]:
        """The captions that score highest for a picture.

        It goes first through the network of the features: the model's own, or the one that the folder notes, or
        ``backbone``.
        """
        inside = self.model.options.get("backbone")
        backbone = backbone or inside or self._noted()
        network = backbones.load(backbone)
        with torch.no_grad():
            picture = network.prepare(open_picture(path))[None]
            features = picture if inside else network(picture)
            image = self.model.encode_images(features.to(self.model.device))
            scores = all_scores(image, self.captions.to(self.model.device), self.model.similarity,
                                self.model.scores_at_once)[0]  # fmt: skip
        return [Hit(rank, score, self.texts[row]) for rank, score, row in best(scores, top)]

    def _noted(self) -> str:
        """The network that the feature folder names, if it is one of the library's."""
        about = self.folder / "features.json" if self.folder else None
        if about is None or not about.is_file():
            raise ValueError("nobody noted which network made these features; name it with backbone=")
        noted = json.loads(about.read_text(encoding="utf-8"))["backbone"]
        return handed(about, "backbone", noted, None, backbones.NAMES)

    def save(self, folder: str | Path) -> Path:
        """Write ``images.npy``, ``captions.npy`` (float32) and their names, ``images.txt``, ``captions.txt``.

        Encodings of varying length are padded with 0; their lengths are in ``images_lengths.npy`` and so on.
        """
        folder = Path(folder)
        for name, encodings, lines in (("images", self.images, self.files), ("captions", self.captions, self.texts)):
            several = isinstance(encodings, Sequences)
            _write_array(folder / f"{name}.npy", encodings.values if several else encodings)
            if several:
                _write_array(folder / f"{name}_lengths.npy", encodings.lengths)
            write_bytes(folder / f"{name}.txt", ("\n".join(lines) + "\n").encode())
        return folder


def best(scores: Tensor, top: int) -> list[tuple[int, float, int]]:
    """(rank, score, place) of the ``top`` highest of ``scores`` (N,)."""
    if top < 1:
        raise ValueError(f"top must be at least 1; got {top}")
    found = scores.topk(min(top, len(scores)))
    return [(rank, score, row) for rank, (score, row) in
            enumerate(zip(found.values.tolist(), found.indices.tolist(), strict=True), 1)]  # fmt: skip


def _write_array(path: Path, values: Tensor) -> None:
    buffer = io.BytesIO()
    np.save(buffer, values.cpu().numpy(), allow_pickle=False)
    write_bytes(path, buffer.getvalue())


MARK = '<meta name="generator" content="icr search">'


def is_page(text: str) -> bool:
    """Whether a file's text is what :func:`write_page` wrote."""
    return MARK in text[:200]


def write_page(path: str | Path, query: str, hits: list[Hit]) -> None:
    """The hits as one HTML page with the pictures in it."""
    cells = "".join(f"<figure>{hit._repr_html_()}</figure>" for hit in hits)
    style = "body{font-family:sans-serif;margin:1rem}figure{display:inline-block;width:200px;margin:.5rem;" \
            "vertical-align:top;font-size:.85rem}img{width:100%;display:block}"  # fmt: skip
    shown = html.escape(Path(query).name if Path(query).is_file() else query)
    page = f'<!doctype html><meta charset="utf-8">{MARK}<meta name="viewport" content="width=device-width">' \
           f"<title>{shown}</title><style>{style}</style><h1>{shown}</h1>{cells}"  # fmt: skip
    write_bytes(path, page.encode())


def _picture(file: str) -> str:
    picture, buffer = open_picture(file), io.BytesIO()
    picture.thumbnail((320, 320))
    picture.save(buffer, "JPEG", quality=85)
    data = base64.b64encode(buffer.getvalue()).decode()
    return f'<img src="data:image/jpeg;base64,{data}" alt="{html.escape(Path(file).name, quote=True)}">'
