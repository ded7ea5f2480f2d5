"""Pictures: decoded to RGB whatever they are, or refused by name; then cut and scaled for a network."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from PIL import ExifTags, Image, UnidentifiedImageError
from torch import Tensor

T = TypeVar("T")


# What photos come in, and phones write; an EPS under a photo's name would start Ghostscript. With pillow-heif: HEIF.
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".heic", ".heif")  # in either case
PLAIN = ("L", "RGB", "RGBA", "CMYK")
_WAYS = "FLIP_LEFT_RIGHT ROTATE_180 FLIP_TOP_BOTTOM TRANSPOSE ROTATE_270 TRANSVERSE ROTATE_90"
TURNS = {number: Image.Transpose[way] for number, way in enumerate(_WAYS.split(), 2)}  # what undoes EXIF's orientation
NARROW = 32  # a picture that is longer than so many times its width is cut before it is scaled


class BadPicture(ValueError):
    """A picture file cannot be decoded."""


def open_picture(path: str | os.PathLike, small: int | None = None) -> Image.Image:
    """The picture in RGB, upright; grey (16 bits, too), CMYK, palette and transparent ones are converted.

    ``small``: no side needs more pixels than that. Of the formats in ``FORMATS``, and HEIF where the package
    pillow-heif is there. ``FileNotFoundError`` where it is missing, :class:`BadPicture` (a ``ValueError``) where it is
    cut off, of another format, larger than Pillow thinks safe, or no picture; both name the file.
    """
    path = Path(path)
    try:
        if not path.is_file():
            raise FileNotFoundError(f"{path}: no such picture")
        with Image.open(path, formats=_formats()) as opened:
            if opened.width * opened.height > 2 * Image.MAX_IMAGE_PIXELS:
                raise ValueError(f"{opened.width} x {opened.height} pixels")
            if small and opened.mode in PLAIN:  # at once, before it is copied: a large one takes gigabytes
                opened.thumbnail((small, small))
            opened.load()
            return _eight_bits(_upright(opened)).convert("RGB")
    except FileNotFoundError:
        raise
    except UnidentifiedImageError as err:
        way = f"photos come as {', '.join(_formats())}, and HEIC where pillow-heif is installed"
        raise BadPicture(f"{path}: cannot be decoded (no picture of a known format; {way})") from err
    except Exception as err:  # decoders raise struct.error, KeyError, IndexError, zlib.error, …
        raise BadPicture(f"{path}: cannot be decoded ({err or type(err).__name__}); get it again") from err


@cache
def _formats() -> tuple[str, ...]:
    try:
        import pillow_heif  # teaches Pillow the format of iPhones
    except ImportError:
        return FORMATS
    pillow_heif.register_heif_opener()
    return (*FORMATS, "HEIF")


def _upright(picture: Image.Image) -> Image.Image:
    """Turned as its metadata say; only the orientation is looked at, for any other field may be malformed."""
    try:
        turn = TURNS.get(picture.getexif().get(ExifTags.Base.Orientation))
    except Exception:  # what is called EXIF holds anything
        turn = None
    return picture if turn is None else picture.transpose(turn)


def _eight_bits(picture: Image.Image) -> Image.Image:
    """Grey of 16 bits in 8, where Pillow's own conversion makes everything above 255 white."""
    if picture.mode == "F":
        raise ValueError("its pixels are floating-point numbers, which have no agreed white; save it with 8 bits")
    if picture.mode != "I" and not picture.mode.startswith("I;16"):
        return picture
    values = np.asarray(picture).astype(np.int64).clip(0, 65535)
    if picture.mode != "I" or values.max(initial=0) > 255:
        values = values // 257  # 65535 is white
    return Image.fromarray(values.astype(np.uint8))


def one_ahead(groups: Iterable[T]) -> Iterator[T]:
    """The same groups, each given after the next one was drawn: threads decode that while this one is used."""
    waiting = []
    for group in groups:
        waiting.append(group)
        if len(waiting) == 2:
            yield waiting.pop(0)
    yield from waiting


def squeezed(side: int, mean: tuple, std: tuple, crop: int | None = None, squash: bool = False) -> Callable:
    """Preparation as evaluation does it: the short side to ``side`` (or both, ``squash``), the centre ``crop``."""
    shift, scale = (torch.tensor(v)[:, None, None] for v in (mean, std))

    def prepare(picture: Image.Image) -> Tensor:
        if crop:  # of a very long picture only the middle is used, and scaling the whole would take all memory
            most = NARROW * min(picture.size)
            picture = _centre(picture, min(picture.width, most), min(picture.height, most))
        short = min(picture.size)
        size = (side, side) if squash else tuple(max(side, round(edge * side / short)) for edge in picture.size)
        picture = picture.resize(size, Image.Resampling.BICUBIC if squash else Image.Resampling.BILINEAR)
        return (_pixels(_centre(picture, crop, crop) if crop else picture) - shift) / scale

    return prepare


def _centre(picture: Image.Image, width: int, height: int) -> Image.Image:
    left, top = (picture.width - width) // 2, (picture.height - height) // 2
    return picture.crop((left, top, left + width, top + height))


def random_crop(side: int, mean: tuple, std: tuple) -> Callable[[Image.Image, np.random.Generator], Tensor]:
    """The published crop of training (Faghri et al.; torchvision's ``RandomResizedCrop`` and flip), with its own dice.

    Of 8 to 100 % of the area and 3:4 to 4:3 in shape, scaled to ``side``, and in half of the cases mirrored.
    """
    shift, scale = (torch.tensor(v)[:, None, None] for v in (mean, std))

    def crop(picture: Image.Image, dice: np.random.Generator) -> Tensor:
        left, top, width, height = window(*picture.size, dice)
        picture = picture.crop((left, top, left + width, top + height))
        picture = picture.resize((side, side), Image.Resampling.BILINEAR)
        if dice.random() < 0.5:
            picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return (_pixels(picture) - shift) / scale

    return crop


def window(width: int, height: int, dice: np.random.Generator) -> tuple[int, int, int, int]:
    """Left, top, width and height of a random crop; after ten that do not fit, the largest allowed in the middle."""
    for _ in range(10):
        area = width * height * dice.uniform(0.08, 1)
        ratio = math.exp(dice.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return int(dice.integers(width - w + 1)), int(dice.integers(height - h + 1)), w, h
    w = min(width, max(1, round(height * 4 / 3)))
    h = min(height, max(1, round(width * 4 / 3)))
    return (width - w) // 2, (height - h) // 2, w, h


def _pixels(picture: Image.Image) -> Tensor:
    return torch.from_numpy(np.asarray(picture).copy()).permute(2, 0, 1).float() / 255
