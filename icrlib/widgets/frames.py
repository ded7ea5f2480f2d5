"""Sliders that work with a kernel and without one: in JupyterLab, in Colab and on a page opened from disk."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
from IPython.display import HTML
from matplotlib.figure import Figure

# Works on its own element only (no ids are looked up): a page may hold many sliders, and Jupyter may show
# one twice. All frames are decoded before the first move, so that dragging does not flicker.
_SCRIPT = """(function(script){var box=script.parentNode,range=box.querySelector('input'),
image=box.querySelector('img'),output=box.querySelector('output'),
data=JSON.parse(box.querySelector('script[type="application/json"]').textContent),
frames=data.png.map(function(png){var i=new Image();i.src=png;
if(i.decode)i.decode().catch(function(){});return i;});
function show(){var i=+range.value;image.src=frames[i].src;image.alt=data.alt[i];
output.textContent=data.value[i];
range.setAttribute('aria-valuetext',data.value[i]);}
range.addEventListener('input',show);range.addEventListener('change',show);show();})(document.currentScript);"""

# In the output itself, so that the slider looks the same in JupyterLab, Colab and on the page.
_STYLE = """<style>.frames-slider{max-width:100%}
.frames-slider .frames-control{display:flex;flex-wrap:wrap;align-items:center;gap:.25rem .75rem;
margin-bottom:.5rem}
.frames-slider input[type=range]{flex:1 1 12rem;min-width:0;max-width:24rem;height:2rem;
accent-color:#0173b2;cursor:pointer}
.frames-slider input[type=range]:focus-visible{outline:3px solid #de8f05;outline-offset:2px}
.frames-slider output{min-width:4em;font-variant-numeric:tabular-nums;font-weight:600}
.frames-slider img{display:block;max-width:100%;height:auto;background:#fff}</style>"""


def frames_slider(
    draw: Callable[[Any], Figure],
    values: Sequence[Any],
    *,
    label: str,
    alt: Callable[[Any], str],
    start: int = 0,
    dpi: int = 80,
) -> HTML:
    """A slider over figures that are drawn beforehand, one frame a value (5 to 15 kB each).

    ``draw(value)`` returns a new figure, which is closed here; all should have one size. ``str(value)`` is
    shown beside the slider. ``label`` says what is moved, with its unit, and ``alt(value)`` what the frame
    shows, in words: screen readers read both. ``start`` is the index of the frame that is shown first
    (the printed book shows the middle one), ``dpi`` the resolution. Mouse, touch and arrow keys move it,
    no kernel is needed, and the same input gives the same text. ``ValueError`` for no values, a start that
    is none of them, or empty words.

    >>> frames_slider(lambda tau: plots.softmax(tau), [0.05, 0.1, 0.5], label="temperature",
    ...               alt=lambda tau: f"Softmax weights at temperature {tau}")  # doctest: +SKIP
    """
    values = list(values)
    if not values:
        raise ValueError("frames_slider: got no values; give at least one.")
    if not 0 <= start < len(values):
        raise ValueError(f"frames_slider: start is {start}; allowed: 0 to {len(values) - 1}.")
    descriptions = [alt(value) for value in values]
    if not all(text.strip() for text in (label, *descriptions)):
        raise ValueError("frames_slider: label and alt(value) must say something for every value.")
    frames = [_png(draw(value), dpi) for value in values]
    data = {"png": frames, "alt": descriptions, "value": [str(value) for value in values]}
    # "</" would end the script element; in JSON, "<\/" means the same.
    text = json.dumps(data).replace("</", "<\\/")
    uid = "frames-" + hashlib.sha256((label + text).encode()).hexdigest()[:12]
    first = {key: html.escape(data[key][start], quote=True) for key in data}
    return HTML(
        f'<div class="frames-slider" role="group" aria-label="{html.escape(label, quote=True)}">{_STYLE}'
        f'<div class="frames-control"><label for="{uid}">{html.escape(label)}</label>'
        f'<input type="range" id="{uid}" min="0" max="{len(values) - 1}" step="1" value="{start}"'
        f' autocomplete="off" aria-valuetext="{first["value"]}">'
        f'<output for="{uid}" aria-live="polite">{first["value"]}</output></div>'
        f'<img src="{first["png"]}" alt="{first["alt"]}">'
        f'<script type="application/json">{text}</script><script>{_SCRIPT}</script></div>'
    )


def _png(figure: Figure, dpi: int) -> str:
    """The figure as a data address, without Matplotlib's version in it, so that the bytes stay the same."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi, metadata={"Software": None})
    plt.close(figure)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def live(draw: Callable[[Any], Figure], values: Sequence[Any], *, label: str) -> None:
    """A slider that calls ``draw(value)`` anew at each move, where somebody has this notebook open.

    Elsewhere, in a notebook that papermill or nbclient runs, nothing happens: no one could move it, and the messages
    of a widget without a page can leave the runner waiting for ever. :func:`frames_slider` serves the page.
    """
    if watched():
        from ipywidgets import SelectionSlider, interact

        interact(lambda value: plt.show(draw(value)), value=SelectionSlider(options=list(values), description=label))


def watched() -> bool:
    """Whether a front end shows this kernel's output: Jupyter names its session, VS Code and Colab leave their mark."""
    return any(name in os.environ for name in ("JPY_SESSION_NAME", "VSCODE_PID")) or "google.colab" in sys.modules
