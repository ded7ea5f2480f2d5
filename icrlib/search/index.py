"""An index: encodings of images, with the files they are of, and what is asked of them. Exact: everything is scored."""

from __future__ import annotations

import base64
import html
import io
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from icrlib.data import feature_folder, photos
from icrlib.data.cache import write_array
from icrlib.data.pictures import open_picture
from icrlib.data.splits import Split
from icrlib.errors import choose
from icrlib.evaluation import all_scores, embed
from icrlib.files import write_bytes
from icrlib.models.base import Encodings, RetrievalModel, Sequences, inner_products, join
from icrlib.models.on_pictures import OnPictures
from icrlib.search.encoders import Encoder, Trained, network_of
from icrlib.training.saved import load_model

SPLITS = ("all", "train", "val", "test")


@dataclass(frozen=True)
class Hit:
    """One answer: its ``rank`` from 1, the cosine ``score``, a ``caption``, and the photo's ``file`` if it is one.

    ``row``: its place in the index.
    """

    rank: int
    score: float
    caption: str
    file: str = ""
    row: int = field(default=-1, compare=False)

    def _repr_html_(self) -> str:
        return f"{picture(self.file) if self.file else ''}{self.rank}. {self.score:.3f} {html.escape(self.caption)}"


class Index:
    """Encodings of ``images`` (N) with their ``files``; the encoder's similarity compares them with a query.

    Where there are captions, ``captions`` (C) are their encodings, ``texts`` what they say and ``image_of`` (C,) the
    image of each. ``notes``: what to say of an image that has no caption, by its row. Encodings: unit vectors, or
    :class:`icrlib.models.Sequences`.
    """

    def __init__(
        self,
        encoder: Encoder,
        images: Encodings,
        files: list[str],
        *,
        captions: Encodings | None = None,
        texts: list[str] | None = None,
        image_of: Tensor | None = None,
        folder: Path | None = None,
        notes: dict[int, str] | None = None,
    ) -> None:
        if len(files) != len(images):
            raise ValueError(
                f"{folder or 'the index'}: {len(files)} file names for {len(images)} images; one of the "
                "two was cut off or added to. Make them again"
            )
        self.encoder, self.images, self.captions, self.folder = encoder, images, captions, folder
        self.files, self.texts, self.notes = files, texts or [], notes or {}
        owners = [] if image_of is None else image_of.tolist()
        self.first = {image: number for number, image in reversed(list(enumerate(owners)))}

    def __len__(self) -> int:
        return len(self.images)

    @property
    def model(self) -> RetrievalModel:
        """The model behind it, where it is one of this library's."""
        return self.encoder.model

    @classmethod
    def of(cls, model: str | Path | RetrievalModel, features: str | Path, split: str = "all") -> Index:
        """Embed a feature folder (written by ``icr features``, or in that layout) with a saved model.

        ``split``: "train", "val" or "test" for a part of it. Photos without captions belong to no split and to "all".
        ``ValueError`` where the features are not of the size that the model was trained on.
        """
        choose(split, SPLITS, "split")
        folder, trained = Path(features), _trained(model)
        found = feature_folder.parts(folder, None if split == "all" else split)
        try:
            images = join([trained.finish(part.features) for part in found])
        except ValueError as err:
            raise ValueError(f"{folder}: {err}") from err
        texts = [text for part in found for text in part.captions]
        starts = np.cumsum([0, *(len(part.files) for part in found)])
        owners = [part.image_of + start for part, start in zip(found, starts, strict=False)]
        return cls(
            trained,
            images,
            [file for part in found for file in part.files],
            captions=_read(trained, texts),
            texts=texts,
            image_of=torch.from_numpy(np.concatenate(owners)),
            folder=folder,
        )

    @classmethod
    def of_split(cls, model: RetrievalModel, split: Split) -> Index:
        """Embed a split that is in memory already; its image ids stand for files."""
        return cls._of_splits(model, [split], list(split.image_ids))

    @classmethod
    def of_photos(
        cls, model: str | Path | RetrievalModel, root: str | Path, split: str = "all", **own: str | None
    ) -> Index:
        """Embed the photos in ``root`` with a model that takes pictures (``images="published"``).

        ``own``: a ``backbone``, ``method`` or ``teacher`` of your own, which a saved model only notes.
        """
        choose(split, SPLITS, "split")
        model = model if isinstance(model, RetrievalModel) else load_model(model, **own)
        if not isinstance(model, OnPictures):
            raise ValueError("this model was trained on finished features; search in a feature folder, features=")
        data = photos.load(root, name="photos", images="published", backbone=model.options["backbone"], min_count=1)
        some = [getattr(data, name) for name in (SPLITS[1:] if split == "all" else (split,))]
        return cls._of_splits(model, some, [str(file) for part in some for file in part.features.files])

    @classmethod
    def _of_splits(cls, model: RetrievalModel, splits: list[Split], files: list[str]) -> Index:
        made = [embed(model, part, progress=len(part) > 200) for part in splits]
        starts = np.cumsum([0, *map(len, splits)]).tolist()
        return cls(
            Trained(model),
            join([images.cpu() for images, _ in made]),
            files,
            captions=join([captions.cpu() for _, captions in made]),
            texts=[text for part in splits for text in part.captions],
            image_of=torch.cat([part.image_of + start for part, start in zip(splits, starts, strict=False)]),
        )

    def by_text(self, query: str, top: int = 5) -> list[Hit]:
        """The photos that score highest for a text; words that the model never saw count as unknown."""
        if not query.split():
            raise ValueError("the query has no word; say what you look for")
        asked = self.encoder.texts([query])
        if isinstance(asked, Tensor) and isinstance(self.images, Tensor) and asked.shape[1:] != self.images.shape[1:]:
            raise ValueError(
                f"{self.encoder.name} makes {asked.shape[1]} numbers of a query, and the index holds "
                f"{self.images.shape[1]} of each picture: it was made by something else; index the pictures again"
            )
        return self._photos(self._scores(self.images, asked)[:, 0], top)

    def by_picture(self, path: str | Path, top: int = 5, backbone: str | None = None) -> list[Hit]:
        """The captions that score highest for a picture; the photos most like it, where the index has no captions.

        It goes first through the network of the features: the model's own, or the one that the folder notes, or
        ``backbone``.
        """
        image = self._through(backbone).finish(self._through(backbone).pictures([path]))
        if self.captions is None:
            return self._photos(self._alike(image), top)
        scores = self._scores(image, self.captions)[0]
        return [Hit(rank, score, self.texts[row]) for rank, score, row in best(scores, top)]

    def unknown(self, query: str) -> list[str]:
        """Words of the query that the model has never read."""
        return self.encoder.unknown(query)

    def save(self, folder: str | Path) -> Path:
        """Write ``images.npy``, ``captions.npy`` (float32) and their names, ``images.txt``, ``captions.txt``.

        Encodings of varying length are padded with 0; their lengths are in ``images_lengths.npy`` and so on.
        """
        folder = Path(folder)
        some = [("images", self.images, self.files)]
        some += [("captions", self.captions, self.texts)] if self.captions is not None else []
        for name, encodings, lines in some:
            several = isinstance(encodings, Sequences)
            write_array(folder / f"{name}.npy", (encodings.values if several else encodings).cpu().numpy())
            if several:
                write_array(folder / f"{name}_lengths.npy", encodings.lengths.cpu().numpy())
            write_bytes(folder / f"{name}.txt", ("\n".join(lines) + "\n").encode())
        return folder

    def _scores(self, images: Encodings, captions: Encodings) -> Tensor:
        device = captions.device if isinstance(captions, Tensor) else captions.values.device
        return all_scores(images.to(device), captions.to(device), self.encoder.similarity, self.encoder.at_once).cpu()

    def _alike(self, image: Encodings) -> Tensor:
        if isinstance(self.images, Sequences):
            raise ValueError(
                "this model encodes an image as several vectors and compares them with words only; photos "
                "like a photo need one vector an image"
            )
        return inner_products(self.images, image.cpu())[:, 0]

    def _photos(self, scores: Tensor, top: int) -> list[Hit]:
        said = {row: self.texts[caption] for row, caption in self.first.items()} if self.first else self.notes
        return [Hit(rank, score, said.get(row, ""), self.files[row], row) for rank, score, row in best(scores, top)]

    def _through(self, backbone: str | None) -> Encoder:
        """The encoder with a network for pictures: the one it has, else ``backbone``, else what the folder notes."""
        if not isinstance(self.encoder, Trained) or self.encoder.backbone:
            return self.encoder
        self.encoder = Trained(self.encoder.model, self.encoder.name, *network_of(self.folder, backbone))
        return self.encoder


def _trained(model: str | Path | RetrievalModel) -> Trained:
    if isinstance(model, RetrievalModel):
        return Trained(model)
    return Trained(load_model(model), Path(model).name)


def _read(trained: Trained, texts: list[str]) -> Encodings | None:
    """Encodings of captions, those of like length together, so that little of a batch is padding."""
    if not texts:
        return None
    order = sorted(range(len(texts)), key=lambda row: len(texts[row].split()))
    parts = [
        trained.texts([texts[row] for row in order[first : first + 512]]).cpu() for first in range(0, len(order), 512)
    ]
    return join(parts)[torch.tensor(order).argsort()]


def best(scores: Tensor, top: int) -> list[tuple[int, float, int]]:
    """(rank, score, place) of the ``top`` highest of ``scores`` (N,)."""
    if top < 1:
        raise ValueError(f"top must be at least 1; got {top}")
    found = scores.topk(min(top, len(scores)))
    return [
        (rank, score, row)
        for rank, (score, row) in enumerate(zip(found.values.tolist(), found.indices.tolist(), strict=True), 1)
    ]


def picture(file: str | Path, side: int = 320) -> str:
    """A photo as a small HTML image that needs no other file."""
    small, buffer = open_picture(file, 2 * side), io.BytesIO()
    small.thumbnail((side, side))
    small.save(buffer, "JPEG", quality=85)
    data = base64.b64encode(buffer.getvalue()).decode()
    return f'<img src="data:image/jpeg;base64,{data}" alt="{html.escape(Path(file).name, quote=True)}">'


def names_picture(query: str) -> bool:
    """Whether a query is the path of a file; a long or odd text is none, and no error."""
    try:
        return Path(query).is_file()
    except (OSError, ValueError):
        return False


def plain(text: str) -> str:
    """A caption or file name for a terminal: what would move the cursor or colour the screen is shown as a mark."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
