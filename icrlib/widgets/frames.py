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

from icrlib.widgets.score_table import static


def frames_slider(
    draw: Callable[[Any], Figure], values: Sequence[Any], *, label: str, alt: Callable[[Any], str], start: int = 0
) -> HTML:
    """A slider over figures that are drawn beforehand, one frame a value (5 to 15 kB each).

    ``draw(value)`` returns a new figure, which is closed here; all should have one size. ``str(value)`` is
    shown beside the slider. ``label`` says what is moved, with its unit, and ``alt(value)`` what the frame
    shows, in words: screen readers read both. ``start`` is the index of the frame that is shown first
    (the printed book shows the middle one). Mouse, touch and arrow keys move it, no kernel is needed, and
    the same input gives the same text.
    """
    frames = [_png(draw(value)) for value in values]
    data = {"png": frames, "alt": [alt(value) for value in values], "value": [str(value) for value in values]}
    # "</" would end the script element; in JSON, "<\/" means the same.
    text = json.dumps(data).replace("</", "<\\/")
    uid = "frames-" + hashlib.sha256((label + text).encode()).hexdigest()[:12]
    first = {key: html.escape(data[key][start], quote=True) for key in data}
    return HTML(
        f'<div class="frames-slider" role="group" aria-label="{html.escape(label, quote=True)}">'
        f"<style>{static('frames-slider.css')}</style>"
        f'<div class="frames-control"><label for="{uid}">{html.escape(label)}</label>'
        f'<input type="range" id="{uid}" min="0" max="{len(values) - 1}" step="1" value="{start}"'
        f' autocomplete="off" aria-valuetext="{first["value"]}">'
        f'<output for="{uid}" aria-live="polite">{first["value"]}</output></div>'
        f'<img src="{first["png"]}" alt="{first["alt"]}">'
        f'<script type="application/json">{text}</script><script>{static("frames-slider.js")}</script></div>'
    )


def _png(figure: Figure) -> str:
    """The figure as a data address, without Matplotlib's version in it, so that the bytes stay the same."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=80, metadata={"Software": None})
    plt.close(figure)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def live(draw: Callable[[Any], Figure], values: Sequence[Any], *, label: str) -> None:
    """A slider that calls ``draw(value)`` anew at each move, where somebody has this notebook open: Jupyter names its
    session, VS Code and Colab leave their mark.

    Elsewhere, in a notebook that papermill or nbclient runs, nothing happens: no one could move it, and the messages
    of a widget without a page can leave the runner waiting for ever. :func:`frames_slider` serves the page.
    """
    if any(name in os.environ for name in ("JPY_SESSION_NAME", "VSCODE_PID")) or "google.colab" in sys.modules:
        from ipywidgets import SelectionSlider, interact

        interact(lambda value: plt.show(draw(value)), value=SelectionSlider(options=list(values), description=label))
