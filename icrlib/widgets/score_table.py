"""The explorable score table: the reader moves a score, and sees at once whom each loss pushes and how hard.

The formulas are those of :mod:`icrlib.losses`, written a second time in a small script, so that a page needs no kernel;
a test moves both beside each other in a browser.
"""

from __future__ import annotations

import base64
import hashlib
import html
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np
from IPython.display import HTML
from PIL import Image
from torch import Tensor

from icrlib.errors import choose
from icrlib.names import LOSSES
from icrlib.plots import colour, label

# In the output itself, so that it looks the same in JupyterLab, Colab and on the page, in light, dark and print.
STYLE = "score-table.css"
SCRIPTS = {"table": "score-table.js", "circle": "score-table-vectors.js", "loop": "score-table-loop.js"}
SYMBOLS = {"tau": "temperature τ", "margin": "margin α"}  # other constants keep their names
SCALE = (0.01, 100.0)  # weights up to the first are shown evenly, beyond it logarithmically, up to the second
THUMBNAIL = 48  # pixels


def explorer(
    scores: Tensor,
    positives: Tensor,
    losses: Mapping[str, object],
    *,
    about: str,
    loss: str | None = None,
    columns: Sequence[str] = (),
    captions: Sequence[str] = (),
    pictures: Sequence = (),
    controls: Mapping[str, Mapping[str, Sequence[float]]] | None = None,
    together: bool = False,
    curve: bool = False,
    selected: tuple[int, int] | None = None,
    tour: Sequence[Mapping] = (),
    invitation: str = "",
) -> HTML:
    """A score table whose scores and losses the reader moves: a table of queries and candidates, or one query's list.

    ``scores`` (Q, M) from -1 to 1 and ``positives`` (Q, M) bool, rows are the queries; with Q = 1 the candidates stand
    below each other, with a bar for each loss. ``losses``: instances by name, such as ``{"ntxent": NTXent()}``; one at
    a time by choice, beginning with ``loss``, or all side by side (``together``, one query only). ``controls``:
    ``{"ntxent": {"tau": [0.01, 0.1, 1.0]}}``, sliders for constants, which begin at the loss's own value.

    ``about`` says what is shown, for screen readers. ``columns`` name the candidates, ``captions`` (M) are written
    above the columns, and ``pictures`` (Q, H, W, 3) uint8 stand as thumbnails before the rows of a table. ``curve``
    draws the weight of the chosen candidate over its score. ``selected`` is chosen first (default: the first match).

    ``tour``: steps, each ``{"text": ..., "loss": name, "set": [(q, j, score)], "selected": (q, j)}`` with any of these
    but the text left out; a step keeps what the steps before it did. ``invitation`` stands there before the first one.

    Mouse, touch and keyboard move it, the address of a page remembers what was moved, no kernel and no network is
    needed, and the same arguments give the same text. ``ValueError`` names what does not fit.
    """
    fits = bool(losses) and scores.ndim == 2 and scores.shape == positives.shape
    fits = fits and bool((abs(scores) <= 1).all() and (positives.any(1) & ~positives.all(1)).all())
    if not fits or ((together or curve) and len(scores) > 1):
        raise ValueError(
            "explorer: give one loss at least and two tables of one shape with scores that are cosines, from -1 to 1; "
            "each row needs a match and a candidate that is none, and together= and curve= are for one query; got "
            f"{tuple(scores.shape)} and {tuple(positives.shape)}"
        )
    names = list(losses)
    preset = {
        "rows": len(scores),
        "scores": [[round(float(s), 2) for s in row] for row in scores],
        "positives": positives.int().tolist(),
        "rowNames": [f"picture {q + 1}" for q in range(len(scores))],
        "columnNames": [*columns] or [f"caption {j + 1}" for j in range(scores.shape[1])],
        "captions": [*captions] or None,
        "pictures": [*map(thumbnail, pictures)] or None,
        "losses": [described(name, one) for name, one in losses.items()],
        "loss": names.index(choose(loss or names[0], names, "loss of the explorer")),
        "controls": [
            control(losses, name, option, values)
            for name, options in (controls or {}).items()
            for option, values in options.items()
        ],
        "together": together,
        "curve": curve,
        "scale": SCALE,
        "selected": list(selected or positives.nonzero()[0].tolist()),
        "tour": [_step(step, names) for step in tour],
        "invitation": invitation,
    }
    return element(
        "table",
        preset,
        about,
        'Framed: the match.<span class="key" style="background:#ca0020"></span> '
        'weight above 0: pushed down<span class="key" style="background:#0571b0"></span> below 0: pulled '
        f"up. All bars have the same scale, −{SCALE[1]:g} to +{SCALE[1]:g}: even up to ±{SCALE[0]:g}, "
        "logarithmic beyond.",
    )


def explorer_on_circle(
    pictures: Sequence[float], captions: Sequence[float], losses: Mapping[str, object], *, about: str
) -> HTML:
    """Pairs as points on a circle, one circle a loss, which the losses' gradients move: play, step, drag, start again.

    ``pictures`` and ``captions``: angles in degrees, equally many, those at the same place belong together; a score is
    the cosine between two points. Each loss descends on its own value, both directions reduced as it is called, at a
    rate that lets its first step move one point by four degrees. Dragging a point in one circle moves it in all and
    begins anew. ``about``: as for :func:`explorer`.
    """
    preset = {
        "angles": {"pictures": [*map(float, pictures)], "captions": [*map(float, captions)]},
        "losses": [described(name, one) for name, one in losses.items()],
    }
    return element(
        "circle",
        preset,
        about,
        "Squares: pictures. Discs: captions; equal numbers belong together. "
        "Arrows: the next step, drawn as the root of its length.",
    )


def described(key: str, loss: object) -> dict:
    """What the script needs to know of a loss; ``ValueError`` for one whose formula it does not have."""
    kinds = {LOSSES[name]: name for name in LOSSES}
    options = {f.name: getattr(loss, f.name) for f in fields(loss)}  # type: ignore[arg-type]
    reduced = {name: options.pop(name) for name in ("queries", "directions")}
    name = "goal" if "triplet_weight" in options else kinds.get(type(loss))
    if name is None or options.pop("convention", "paper") != "paper":
        raise ValueError(
            f"explorer: no formula for {loss!r}; there is one for {', '.join(kinds.values())} and for "
            "objectives of GOAL as printed"
        )
    shown = f"{options['triplet_weight']} × {options['pair_weight']}" if name == "goal" else label(key)
    return {"key": key, "name": name, "label": shown, "colour": colour(key), "options": options, **reduced}


def control(losses: Mapping[str, object], name: str, option: str, values: Sequence[float]) -> dict:
    """A slider for a constant of a loss; ``ValueError`` if the loss lacks it, or stands at none of the values."""
    loss = losses[choose(name, losses, "loss with controls")]
    own = getattr(loss, choose(option, [f.name for f in fields(loss)], f"option of {name}"))  # type: ignore[arg-type]
    if own not in values:
        raise ValueError(f"explorer: {option} of {name} is {own}, which is none of the slider's values {list(values)}")
    text = f"{SYMBOLS.get(option, option)} of {label(name)}" if len(losses) > 1 else SYMBOLS.get(option, option)
    return {"loss": name, "option": option, "values": list(values), "at": list(values).index(own), "label": text}


def thumbnail(picture: np.ndarray | Tensor) -> str:
    """A (H, W, 3) picture of uint8 as a small PNG in a data address."""
    image = Image.fromarray(np.asarray(picture))
    buffer = io.BytesIO()
    image.resize((THUMBNAIL, THUMBNAIL), Image.Resampling.LANCZOS).quantize(64).save(buffer, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def script(kind: str) -> str:
    """The scripts of a kind of explorable, one behind the other: formulas, what is drawn, and what sets it up."""
    return "\n".join(map(static, ("score-table-formulas.js", SCRIPTS[kind], "score-table-start.js")))


def static(name: str) -> str:
    """A file of ``book/_static``."""
    return (static_folder() / name).read_text(encoding="utf-8")


def static_folder() -> Path:
    """``book/_static`` of the checkout, else the copy that the installed package carries."""
    package = Path(__file__).parents[1]
    checkout = package.parent / "book" / "_static"
    return checkout if (checkout / STYLE).is_file() else package / "_static"


def _step(step: Mapping, names: Sequence[str]) -> dict:
    found = dict(step)
    if "loss" in found:
        found["loss"] = names.index(choose(found["loss"], names, "loss of a step"))
    return found


def element(kind: str, preset: dict, about: str, key: str) -> HTML:
    """The HTML of an explorable: places that its script fills, the ``preset``, a ``key`` below, style and scripts."""
    text = json.dumps(preset, ensure_ascii=False).replace("</", "<\\/")  # "</" would end the script element
    uid = ("loop-" if kind == "loop" else "scores-") + hashlib.sha256(text.encode()).hexdigest()[:6]
    return HTML(
        f'<div class="score-table" id="{uid}" data-kind="{kind}" role="group" '
        f'aria-label="{html.escape(about, quote=True)}">'
        f"<style>{static(STYLE)}</style>"
        '<div class="tour" data-part="tour"></div><div class="losses" data-part="losses"></div>'
        '<div class="controls" data-part="controls"></div><div data-part="view"></div>'
        '<p data-say="summary" aria-live="polite">This is drawn by a script, which has not run here.</p>'
        '<div class="buttons" data-part="buttons"></div>'
        f"<p>{key}</p>"
        f'<script type="application/json">{text}</script><script>{script(kind)}</script></div>'
    )
