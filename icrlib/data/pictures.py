"""Pictures: decoded to RGB whatever they are, or refused by name; then cut and scaled for a network."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps, UnidentifiedImageError
from torch import Tensor

# What photos come in, and phones write; an EPS under a photo's name would start Ghostscript. With pillow-heif: HEIF.
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".heic", ".heif")  # in either case
PLAIN = ("L", "RGB", "RGBA", "CMYK")


class BadPicture(ValueError):
    """A picture file cannot be decoded."""


def open_picture(path: str | os.PathLike, small: int | None = None) -> Image.Image:
    """The picture in RGB, upright; grey, CMYK, palette and transparent ones are converted.

    ``small``: no side needs more pixels than that. Of the formats in ``FORMATS``, and HEIF where the package
    pillow-heif is there. ``FileNotFoundError`` where it is missing, :class:`BadPicture` (a ``ValueError``) where it is
    cut off, of another format, larger than Pillow thinks safe, or no picture; both name the file.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such picture")
    try:
        with Image.open(path, formats=_formats()) as opened:
            if opened.width * opened.height > 2 * Image.MAX_IMAGE_PIXELS:
                raise ValueError(f"{opened.width} x {opened.height} pixels")
            if small and opened.mode in PLAIN:  # at once, before it is copied: a large one takes gigabytes
                opened.thumbnail((small, small))
            if opened.mode == "F" or opened.mode.startswith("I"):  # Pillow would make everything above 255 white
                raise ValueError("its pixels have more than 8 bits; save it with 8")
            opened.load()
            upright = opened
            with contextlib.suppress(Exception):  # what is called EXIF holds anything
                upright = ImageOps.exif_transpose(opened)
            return upright.convert("RGB")
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


def squeezed(side: int, mean: tuple, std: tuple, crop: int | None = None, squash: bool = False) -> Callable:
    """Preparation as evaluation does it: the short side to ``side`` (or both, ``squash``), the centre ``crop``."""

    def prepare(picture: Image.Image) -> Tensor:
        short = min(picture.size)
        size = (side, side) if squash else tuple(max(side, round(edge * side / short)) for edge in picture.size)
        picture = picture.resize(size, Image.Resampling.BICUBIC if squash else Image.Resampling.BILINEAR)
        if crop:
            left, top = (picture.width - crop) // 2, (picture.height - crop) // 2
            picture = picture.crop((left, top, left + crop, top + crop))
        return _normalised(picture, mean, std)

    return prepare


def random_crop(side: int, mean: tuple, std: tuple) -> Callable[[Image.Image, np.random.Generator], Tensor]:
    """The published crop of training (Faghri et al.; torchvision's ``RandomResizedCrop`` and flip), with its own dice.

    Of 8 to 100 % of the area and 3:4 to 4:3 in shape, scaled to ``side``, and in half of the cases mirrored.
    """

    def crop(picture: Image.Image, dice: np.random.Generator) -> Tensor:
        left, top, width, height = window(*picture.size, dice)
        picture = picture.crop((left, top, left + width, top + height))
        picture = picture.resize((side, side), Image.Resampling.BILINEAR)
        if dice.random() < 0.5:
            picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return _normalised(picture, mean, std)

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


def _normalised(picture: Image.Image, mean: tuple, std: tuple) -> Tensor:
    shift, scale = (torch.tensor(values)[:, None, None] for values in (mean, std))
    return (torch.from_numpy(np.asarray(picture).copy()).permute(2, 0, 1).float() / 255 - shift) / scale
