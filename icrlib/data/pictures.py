"""Pictures from disk: decoded to RGB whatever they are, or refused by name."""

from __future__ import annotations

import os
from pathlib import Path

from PIL import Image, ImageOps, UnidentifiedImageError


class BadPicture(ValueError):
    """A picture file cannot be decoded."""


def open_picture(path: str | os.PathLike) -> Image.Image:
    """The picture in RGB, upright; grey, CMYK, palette and transparent ones are converted.

    ``FileNotFoundError`` where it is missing, :class:`BadPicture` (a ``ValueError``) where it is cut off or no picture;
    both name the file.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such picture")
    try:
        with Image.open(path) as opened:
            opened.load()
            upright = ImageOps.exif_transpose(opened)
            return upright.convert("RGB")
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError) as err:
        raise BadPicture(f"{path}: cannot be decoded ({err}); get it again") from err
