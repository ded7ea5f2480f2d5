"""What a notebook shows of a split: three of its pictures, with their captions."""

from __future__ import annotations

import base64
import html
import io
from typing import Any

SHOWN, SIDE = 3, 160  # pictures, and their longer side in pixels


def table(split: Any) -> str:
    """The first pictures of a split and their captions as a small table; captions alone where there are no pictures."""
    rows = [_row(split, row) for row in range(min(SHOWN, len(split)))]
    return f"<table>{''.join(rows)}</table>"


def _row(split: Any, row: int) -> str:
    captions = [split.captions[caption] for caption in (split.image_of == row).nonzero()[:5, 0].tolist()]
    text, name = "<br>".join(map(html.escape, captions)), html.escape(split.image_ids[row])
    return f"<tr><td>{_image(split.picture(row))}</td><td>{name}</td><td style='text-align:left'>{text}</td></tr>"


def _image(picture: Any) -> str:
    """A picture as an image inside of the page; nothing for one that is not there or cannot be decoded."""
    from PIL import Image

    from icrlib.data.pictures import BadPicture, open_picture

    if picture is None:
        return ""
    try:
        small = Image.fromarray(picture) if hasattr(picture, "shape") else open_picture(picture)
    except (BadPicture, OSError):
        return ""
    small.thumbnail((SIDE, SIDE))
    buffer = io.BytesIO()
    small.save(buffer, "PNG")
    return f'<img alt="" src="data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}">'
