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

SCRIPTS = ("score-table-formulas.js", "score-table.js")
SYMBOLS = {"tau": "temperature τ", "margin": "margin α", "eps": "ε", "scale": "scale t", "bias": "bias b", "gamma": "γ",
           "alpha": "α", "beta": "β", "lam": "λ"}  # fmt: skip
SCALE = (0.01, 100.0)  # weights up to the first are shown evenly, beyond it logarithmically, up to the second
THUMBNAIL = 48  # pixels

# In the output itself, so that it looks the same in JupyterLab, Colab and on the page, in light, dark and print.
_STYLE = """<style>.score-table{max-width:760px;margin:0;font-size:.9rem}
html[data-theme="dark"] .bd-content div.cell_output .text_html:not(:has(table.dataframe)):has(.score-table){
background:none;padding:0;color:var(--pst-color-text-base)}
.score-table .losses,.score-table .buttons{display:flex;flex-wrap:wrap;gap:.35rem 1rem;border:0;margin:.4rem 0;padding:0}
.score-table .losses label{cursor:pointer;min-height:2rem;display:inline-flex;align-items:center;gap:.35rem}
.score-table .dot{display:inline-block;width:.8em;height:.8em;border-radius:50%}
.score-table .controls{display:grid;grid-template-columns:repeat(auto-fit,minmax(14rem,1fr));gap:.2rem 1.5rem}
.score-table input[type=range]{display:block;width:100%;min-width:0;height:2rem;margin:0;accent-color:#0173b2;
cursor:pointer}.score-table input:focus-visible,.score-table button:focus-visible{outline:3px solid #de8f05;
outline-offset:2px}.score-table .buttons button{font:inherit;min-height:2.25rem;padding:.2rem 1rem;color:inherit;
background:none;border:1px solid;border-radius:.3rem;cursor:pointer}.score-table .buttons button:disabled{opacity:.4}
.score-table .tour{border-left:4px solid #0173b2;padding:.1rem .8rem;margin:.4rem 0}.score-table .tour:empty{display:none}
.score-table p{margin:.4rem 0}.score-table .scroll{overflow-x:auto}
.score-table table{border-collapse:separate;border-spacing:3px;table-layout:fixed!important;width:100%;margin:0}
.score-table td,.score-table th{padding:0!important;border:0;background:none;text-align:center;vertical-align:middle;
font-weight:400;font-size:.72rem;line-height:1.2;color:inherit;overflow-wrap:anywhere}
.score-table tbody th{width:3.6rem;vertical-align:middle}.score-table thead th{vertical-align:bottom}.score-table thead b{display:block}.score-table th:first-child{width:3.6rem}
.score-table img{width:3rem;height:3rem;image-rendering:auto;border-radius:4px;margin:0;filter:none}
.score-table .cell{display:block;width:100%;min-height:3.1rem;font:inherit;color:inherit;border:1px solid #8888;
border-radius:5px;padding:.1rem;cursor:ew-resize;touch-action:pan-y;user-select:none}
.score-table .cell b,.score-table .cell span{display:block;font-variant-numeric:tabular-nums}
.score-table .cell b{font-size:1.05rem;font-weight:500}.score-table .cell span{font-size:.75rem}
.score-table .own{border:3px solid currentColor}.score-table .cell.selected{outline:2px dashed #de8f05;outline-offset:1px}
.score-table .list{display:flex;flex-direction:column;gap:2px}.score-table .query{display:flex;align-items:center;gap:.6rem}
.score-table .item{display:grid;grid-template-columns:minmax(8rem,1.1fr) minmax(6rem,1fr) minmax(7rem,1.6fr);
gap:0 .7rem;align-items:center;border:1px solid transparent;border-radius:5px;padding:0 .4rem}
.score-table .item.own{border:2px solid currentColor}.score-table .item.selected{background:#de8f0522}
.score-table .item label b{font-variant-numeric:tabular-nums;float:right}
.score-table .heads{font-size:.78rem;order:0}.score-table .bars{display:flex;gap:.5rem}
.score-table .bars>*{flex:1 1 0;min-width:0;text-align:center}
.score-table .bar{position:relative;height:1.5rem;border-left:0;background:linear-gradient(#8886,#8886) center/1px 100% no-repeat}
.score-table .bar i{position:absolute;top:.2rem;bottom:.2rem}.score-table .bar b{position:absolute;font-size:.75rem;
font-weight:500;font-variant-numeric:tabular-nums;line-height:1.5rem;padding:0 .2rem}
.score-table .sum{font-size:.8rem;font-variant-numeric:tabular-nums}
.score-table svg{display:block;width:100%;height:auto;color:inherit}.score-table svg text{font:12px sans-serif;
fill:currentColor}.score-table svg .title{font-weight:600}.score-table .axis{stroke:currentColor;fill:none}
.score-table .level{stroke:currentColor;stroke-dasharray:2 4;fill:none}.score-table polyline{fill:none;stroke-width:2.5}
.score-table .key{display:inline-block;width:1em;height:1em;vertical-align:-.15em;border-radius:2px;margin-left:.6em}
@media(max-width:520px){.score-table .item{grid-template-columns:1fr 1fr}.score-table .item>.bars{grid-column:1/-1}
.score-table .heads>span:nth-child(-n+2){display:none}.score-table .sum>span:first-child{grid-column:1/-1}
.score-table .sum>span:nth-child(2){display:none}}
@media print{.score-table .buttons,.score-table .controls,.score-table .tour,.score-table .one,
.score-table input[type=range]{display:none}}</style>"""


def explorer(
    scores: Tensor, positives: Tensor, losses: Mapping[str, object], *, about: str, loss: str | None = None,
    rows: Sequence[str] = (), columns: Sequence[str] = (), captions: Sequence[str] = (), pictures: Sequence = (),
    query: str = "", controls: Mapping[str, Mapping[str, Sequence[float]]] | None = None, together: bool = False,
    curve: bool = False, selected: tuple[int, int] | None = None, tour: Sequence[Mapping] = (), invitation: str = "",
) -> HTML:  # fmt: skip
    """A score table whose scores and losses the reader moves: a table of queries and candidates, or one query's list.

    ``scores`` (Q, M) from -1 to 1 and ``positives`` (Q, M) bool, rows are the queries; with Q = 1 the candidates stand
    below each other, with a bar for each loss. ``losses``: instances by name, such as ``{"ntxent": NTXent()}``; one at
    a time by choice, beginning with ``loss``, or all side by side (``together``, one query only). ``controls``:
    ``{"ntxent": {"tau": [0.01, 0.1, 1.0]}}``, sliders for constants, which begin at the loss's own value.

    ``about`` says what is shown, for screen readers. ``rows`` and ``columns`` name queries and candidates, ``captions``
    (M) are written above the columns, ``pictures`` (Q, H, W, 3) uint8 are shown as thumbnails, and ``query`` above a
    list. ``curve`` draws the weight of the chosen candidate over its score. ``selected`` is chosen
    first (default: the first match).

    ``tour``: steps, each ``{"text": ..., "loss": name, "set": [(q, j, score)], "selected": (q, j)}`` with any of these
    but the text left out; a step keeps what the steps before it did. ``invitation`` stands there before the first one.

    Mouse, touch and keyboard move it, the address of a page remembers what was moved, no kernel and no network is
    needed, and the same arguments give the same text. ``ValueError`` names what does not fit.
    """
    check(scores, positives, losses, together, curve)
    names = list(losses)
    shape = tuple(scores.shape)
    rows = [*rows] or [f"picture {q + 1}" for q in range(shape[0])]
    columns = [*columns] or [f"caption {j + 1}" for j in range(shape[1])]
    for what, found, wanted in (("rows", rows, shape[0]), ("columns", columns, shape[1]), ("captions", captions, shape[1]),
                                ("pictures", pictures, shape[0])):  # fmt: skip
        if len(found) not in ((wanted,) if what in ("rows", "columns") else (0, wanted)):
            raise ValueError(f"explorer: {len(found)} {what} for scores of {shape[0]} rows and {shape[1]} columns")
    thumbnails = [thumbnail(picture) for picture in pictures]
    preset = {
        "rows": shape[0], "scores": [[round(float(s), 2) for s in row] for row in scores],
        "positives": positives.int().tolist(), "rowNames": rows, "columnNames": columns, "captions": [*captions] or None,
        "pictures": thumbnails if shape[0] > 1 and thumbnails else None,
        "picture": thumbnails[0] if shape[0] == 1 and thumbnails else None,
        "corner": "", "query": query, "losses": [described(name, one) for name, one in losses.items()],
        "loss": names.index(choose(loss or names[0], names, "loss of the explorer")),
        "controls": [control(losses, name, option, values) for name, options in (controls or {}).items()
                     for option, values in options.items()],
        "together": together, "curve": curve, "scale": SCALE,
        "selected": list(selected or positives.nonzero()[0].tolist()),
        "tour": [_step(step, names) for step in tour], "invitation": invitation,
    }  # fmt: skip
    return _element(preset, about)


def check(scores: Tensor, positives: Tensor, losses: Mapping, together: bool, curve: bool) -> None:
    """``ValueError`` for what :func:`explorer` cannot show."""
    if scores.ndim != 2 or scores.shape != positives.shape or min(scores.shape[0], scores.shape[1] - 1) < 1:
        raise ValueError(f"explorer: scores and positives must be two tables of one shape with two columns or more; got "
                         f"{tuple(scores.shape)} and {tuple(positives.shape)}")  # fmt: skip
    if not losses:
        raise ValueError("explorer: give one loss at least, such as {'ntxent': NTXent()}")
    if not bool(((scores >= -1) & (scores <= 1)).all()):
        raise ValueError("explorer: scores are cosines, from -1 to 1")
    if not bool((positives.any(1) & ~positives.all(1)).all()):
        raise ValueError("explorer: each row needs a match and a candidate that is none")
    if (together or curve) and len(scores) > 1:
        raise ValueError("explorer: together= and curve= are for one query; give scores of one row")


def described(key: str, loss: object) -> dict:
    """What the script needs to know of a loss; ``ValueError`` for one whose formula it does not have."""
    kinds = {LOSSES[name]: name for name in LOSSES}
    options = {f.name: getattr(loss, f.name) for f in fields(loss)}  # type: ignore[arg-type]
    reduced = {name: options.pop(name) for name in ("queries", "directions")}
    options.pop("memory_budget")
    name = "goal" if "triplet_weight" in options else kinds.get(type(loss))
    if name is None or options.pop("convention", "paper") != "paper":
        raise ValueError(f"explorer: no formula for {loss!r}; there is one for {', '.join(kinds.values())} and for "
                         "objectives of GOAL as printed")  # fmt: skip
    shown = f"{options['triplet_weight']} × {options['pair_weight']}" if name == "goal" else label(key)
    return {"key": key, "name": name, "label": shown, "colour": colour(key), "options": options, **reduced}


def control(losses: Mapping[str, object], name: str, option: str, values: Sequence[float]) -> dict:
    """A slider for a constant of a loss; ``ValueError`` if the loss does not have it, or stands at none of the values."""
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


def script() -> str:
    """Both scripts, from the checkout, else from the copies that the installed package carries."""
    package = Path(__file__).parents[1]
    folders = (package.parent / "book" / "_static", package / "_static")
    folder = next((one for one in folders if (one / SCRIPTS[0]).is_file()), folders[-1])
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in SCRIPTS)


def _step(step: Mapping, names: Sequence[str]) -> dict:
    found = dict(step)
    if "loss" in found:
        found["loss"] = names.index(choose(found["loss"], names, "loss of a step"))
    return found


def _element(preset: dict, about: str) -> HTML:
    text = json.dumps(preset, ensure_ascii=False).replace("</", "<\\/")  # "</" would end the script element
    uid = "scores-" + hashlib.sha256(text.encode()).hexdigest()[:6]
    ends = f"−{SCALE[1]:g} … 0 … +{SCALE[1]:g}"
    return HTML(
        f'<div class="score-table" id="{uid}" role="group" aria-label="{html.escape(about, quote=True)}">{_STYLE}'
        '<div class="tour" data-part="tour"></div><div class="losses" data-part="losses"></div>'
        '<div class="controls" data-part="controls"></div><div data-part="view"></div>'
        '<p data-say="summary" aria-live="polite">This table is drawn by a script, which has not run here.</p>'
        '<div class="buttons" data-part="buttons"></div>'
        '<p>Framed: the match.<span class="key" style="background:#ca0020"></span> weight above zero: pushed down'
        '<span class="key" style="background:#0571b0"></span> below zero: pulled up. '
        f"The scale of the weights is the same everywhere, {ends}, and logarithmic.</p>"
        f'<script type="application/json">{text}</script><script>{script()}</script></div>'
    )
