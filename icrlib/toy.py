"""A constrained problem in one dimension whose multiplier a reader can wind up: with a kernel and without one.

Minimise :math:`L_{con}(θ) = a θ^2/2` under :math:`L_{rec}(θ) = floor + b (θ - 1)^2 \\le η`. One may think of θ as how
much of a caption an encoder keeps: the contrastive loss would rather keep nothing (θ = 0), the reconstruction
everything (θ = 1), and not even then does it fall below its floor.
"""

from __future__ import annotations

import html
import json

from IPython.display import HTML

from icrlib.widgets.score_table import static

# As in the record of LTD's runs: the reconstruction starts near 1 and cannot fall below 0.09.
PROBLEM = {
    "a": 0.2,
    "b": 0.3,
    "floor": 0.09,
    "start": -0.75,
    "descent": 1e-3,
    "init": 1.0,
    "low": 0.0,
    "high": 100.0,
    "steps": 30_000,
}
CHOICES = {
    "eta": [round(0.05 + 0.01 * k, 2) for k in range(36)],
    "lr": [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1],
    "momentum": [0, 0.5, 0.9, 0.99, 0.999],
}
START = {"eta": 0.3, "lr": 0.005, "momentum": 0.9}
RULES = {"published": "published: only λ is clipped", "projected": "projected: x is put back"}
LABELS = {"eta": "bound η", "lr": "learning rate of λ", "momentum": "momentum of λ (and dampening)"}
SCRIPT, STYLE = "wind-up.js", "wind-up.css"


def wind_up() -> HTML:
    """The problem with sliders for η, learning rate and momentum of λ, a choice of the rule, and a cursor over steps.

    They start at :data:`START` and the published rule. The script computes the run anew at each move, by the rule of
    :class:`icrlib.LagrangeMultiplier` with dampening equal to momentum; it needs no kernel and asks nothing of any
    other machine. An element keeps its last run as ``element.windUp``, for tests.
    """
    ranges = "".join(
        _range(name, LABELS[name], CHOICES[name].index(value), len(CHOICES[name]) - 1) for name, value in START.items()
    )
    cursor = _range("step", "look at step", PROBLEM["steps"], PROBLEM["steps"], PROBLEM["steps"] // 300)
    radios = "".join(
        f'<label><input type="radio" name="wind-up" value="{name}"{" checked" if name == "published" else ""} '
        f'autocomplete="off"> {html.escape(text)}</label>'
        for name, text in RULES.items()
    )
    preset = json.dumps({"problem": PROBLEM, **CHOICES})
    return HTML(
        f'<div class="wind-up" role="group" aria-label="A multiplier that winds up"><style>{static(STYLE)}</style>'
        f'<div class="controls">{ranges}<fieldset><legend>rule of λ</legend>{radios}</fieldset></div>'
        '<p data-say="summary" aria-live="polite">This picture is drawn by a script, which has not run here.</p>'
        '<svg role="img" data-panel="multiplier"></svg><svg role="img" data-panel="reconstruction"></svg>'
        '<p><span class="key off"></span> λ is 0 and the constraint holds &ensp; <span class="key asleep"></span> '
        "λ is 0 although the constraint is violated</p>"
        f'<div class="controls">{cursor}<div><button type="button" data-say="play">Play</button></div></div>'
        '<p data-say="now"></p>'
        f'<script type="application/json">{preset}</script><script>{static(SCRIPT)}</script></div>'
    )


def _range(name: str, label: str, value: int, last: int, step: int = 1) -> str:
    """A labelled slider; what it stands at is shown behind its label."""
    return (
        f'<div><label for="wind-up-{name}">{label}: <b data-say="{name}"></b></label><input type="range" '
        f'id="wind-up-{name}" data-control="{name}" min="0" max="{last}" step="{step}" value="{value}" '
        'autocomplete="off"></div>'
    )
