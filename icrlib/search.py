"""Search with a trained model: photos by words, captions by a picture. Exact, one matrix product a query."""

from __future__ import annotations

import base64
import html
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from icrlib.checkpoints import load_model
from icrlib.data import precomputed
from icrlib.evaluation import embed
from icrlib.files import write_bytes
from icrlib.models import OnPictures, RetrievalModel


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
    """Unit vectors of photos and captions: ``images`` (N, d), ``captions`` (C, d) float32, with texts and files."""

    def __init__(self, model: RetrievalModel, images: Tensor, captions: Tensor, texts: list[str], files: list[str],
                 image_of: Tensor, folder: Path | None = None) -> None:  # fmt: skip
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
    def of_photos(cls, model: str | Path | RetrievalModel, root: str | Path, split: str = "test") -> Index:
        """Embed one split of the photos in ``root`` with a model that takes pictures (``images="published"``)."""
        from icrlib.data import photos

        model = model if isinstance(model, RetrievalModel) else load_model(model)
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
            numbers, lengths = self.model.vocabulary.encode([query])
            vector = self.model.encode_captions(numbers.to(self.model.device), lengths.to(self.model.device))[0].cpu()
        return [Hit(rank, score, self.texts[self.first[row]], self.files[row])
                for rank, score, row in best(self.images, vector, top)]  # fmt: skip

    def by_picture(self, path: str | Path, top: int = 5, backbone: str | None = None) -> list[Hit]:
        """The captions that score highest for a picture.

        It goes first through the network of the features: the model's own, or the one that the folder notes, or
        ``backbone``.
        """
        import json

        from icrlib.data import backbones
        from icrlib.data.pictures import open_picture

        about = self.folder / "features.json" if self.folder else None
        inside = self.model.options.get("backbone")
        backbone = backbone or inside
        if backbone is None:
            if about is None or not about.is_file():
                raise ValueError("nobody noted which network made these features; name it with backbone=")
            backbone = json.loads(about.read_text())["backbone"]
        network = backbones.load(backbone)
        with torch.no_grad():
            picture = network.prepare(open_picture(path))[None]
            features = picture if inside else network(picture)
            vector = self.model.encode_images(features.to(self.model.device))[0].cpu()
        return [Hit(rank, score, self.texts[row]) for rank, score, row in best(self.captions, vector, top)]

    def save(self, folder: str | Path) -> Path:
        """Write ``images.npy``, ``captions.npy`` (float32) and their names, ``images.txt``, ``captions.txt``."""
        folder = Path(folder)
        for name, vectors, lines in (("images", self.images, self.files), ("captions", self.captions, self.texts)):
            buffer = io.BytesIO()
            np.save(buffer, vectors.numpy(), allow_pickle=False)
            write_bytes(folder / f"{name}.npy", buffer.getvalue())
            write_bytes(folder / f"{name}.txt", ("\n".join(lines) + "\n").encode())
        return folder


def best(vectors: Tensor, query: Tensor, top: int) -> list[tuple[int, float, int]]:
    """(rank, score, row) of the ``top`` rows of ``vectors`` (N, d) with the highest product with ``query`` (d,)."""
    if top < 1:
        raise ValueError(f"top must be at least 1; got {top}")
    found = torch.mv(vectors, query).topk(min(top, len(vectors)))
    return [(rank, score, row) for rank, (score, row) in
            enumerate(zip(found.values.tolist(), found.indices.tolist(), strict=True), 1)]  # fmt: skip


def write_page(path: str | Path, query: str, hits: list[Hit]) -> None:
    """The hits as one HTML page with the pictures in it."""
    cells = "".join(f"<figure>{hit._repr_html_()}</figure>" for hit in hits)
    style = "body{font-family:sans-serif;margin:1rem}figure{display:inline-block;width:200px;margin:.5rem;" \
            "vertical-align:top;font-size:.85rem}img{width:100%;display:block}"  # fmt: skip
    shown = html.escape(Path(query).name if Path(query).is_file() else query)
    page = f'<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">' \
           f"<title>{shown}</title><style>{style}</style><h1>{shown}</h1>{cells}"  # fmt: skip
    write_bytes(path, page.encode())


def _picture(file: str) -> str:
    from icrlib.data.pictures import open_picture

    picture, buffer = open_picture(file), io.BytesIO()
    picture.thumbnail((320, 320))
    picture.save(buffer, "JPEG", quality=85)
    data = base64.b64encode(buffer.getvalue()).decode()
    return f'<img src="data:image/jpeg;base64,{data}" alt="{html.escape(Path(file).name, quote=True)}">'
