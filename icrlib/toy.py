"""A constrained problem in one dimension whose multiplier a reader can wind up: with a kernel and without one.

Minimise :math:`L_{con}(θ) = a θ^2/2` under :math:`L_{rec}(θ) = floor + b (θ - 1)^2 \\le η`. One may think of θ as how
much of a caption an encoder keeps: the contrastive loss would rather keep nothing (θ = 0), the reconstruction
everything (θ = 1), and not even then does it fall below its floor.
"""

from __future__ import annotations

import hashlib
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
RULES = {"published": "published: only λ is clipped", "projected": "projected: x is put back"}
LABELS = {"eta": "bound η", "lr": "learning rate of λ", "momentum": "momentum of λ (and dampening)"}
SCRIPT = "wind-up.js"

# In the output itself, so that it looks the same in JupyterLab, Colab and on the page, in light, dark and print.
_STYLE = """<style>.wind-up{--lambda:#0173b2;--raw:#b35c00;--rec:#00775a;--asleep:#d55e00;max-width:760px;margin:0}
html[data-theme="dark"] .wind-up,body[data-jp-theme-light="false"] .wind-up{
--lambda:#56b4e9;--raw:#f0a850;--rec:#3fcfa5}
html[data-theme="dark"] .bd-content div.cell_output .text_html:not(:has(table.dataframe)):has(.wind-up){
background:none;padding:0;color:var(--pst-color-text-base)}
.wind-up .controls{display:grid;grid-template-columns:repeat(auto-fit,minmax(15rem,1fr));gap:.35rem 1.5rem}
.wind-up label,.wind-up legend{font-size:.9rem}.wind-up label b{font-variant-numeric:tabular-nums}
.wind-up input[type=range]{display:block;width:100%;min-width:0;height:2rem;margin:0;
accent-color:#0173b2;cursor:pointer}
.wind-up fieldset{border:0;margin:0;padding:0;min-width:0}
.wind-up fieldset label{display:block;padding:.25rem 0;cursor:pointer}
.wind-up input:focus-visible,.wind-up button:focus-visible{outline:3px solid #de8f05;outline-offset:2px}
.wind-up button{font:inherit;min-height:2.25rem;padding:.2rem 1rem;color:inherit;background:none;border:1px solid;
border-radius:.3rem;cursor:pointer}
.wind-up p{margin:.4rem 0;font-size:.9rem}.wind-up svg{display:block;width:100%;height:auto;color:inherit}
.wind-up svg text{font:12px sans-serif;fill:currentColor}.wind-up svg .title{font-weight:600}
.wind-up .axis{stroke:currentColor;fill:none}.wind-up .level{stroke:currentColor;stroke-dasharray:2 4;fill:none}
.wind-up polyline{fill:none;stroke-width:2}.wind-up polyline.lambda{stroke:var(--lambda);stroke-width:3.5}
.wind-up polyline.raw{stroke:var(--raw);stroke-dasharray:6 3}
.wind-up polyline.reconstruction{stroke:var(--rec);stroke-width:2.5}
.wind-up .dot.lambda{fill:var(--lambda)}.wind-up .dot.raw{fill:var(--raw)}.wind-up .dot.reconstruction{fill:var(--rec)}
.wind-up rect.off{fill:currentColor;opacity:.07}.wind-up rect.asleep{fill:var(--asleep);opacity:.22}
.wind-up .key{display:inline-block;width:1em;height:1em;vertical-align:-.15em;border-radius:2px;position:relative}
.wind-up .key.off{background:currentColor;opacity:.15}.wind-up .key.asleep{background:#d55e00;opacity:.35}
@media print{.wind-up .controls,.wind-up button{display:none}}</style>"""


def wind_up(eta: float = 0.3, lr: float = 0.005, momentum: float = 0.9, rule: str = "published") -> HTML:
    """The problem with sliders for η, learning rate and momentum of λ, a choice of the rule, and a cursor over steps.

    The arguments say where the sliders start; each is one of ``CHOICES``, and the rule one of ``RULES``, else a
    ``ValueError``. The script computes the run anew at each move, by the rule of :class:`icrlib.LagrangeMultiplier`
    with dampening equal to momentum; it needs no kernel and asks nothing of any other machine. The same arguments give
    the same text. An element keeps its last run as ``element.windUp``, for tests.
    """
    given = {"eta": eta, "lr": lr, "momentum": momentum}
    for name, value in given.items():
        if value not in CHOICES[name]:
            raise ValueError(f"{name} must be one of {CHOICES[name]}, where its slider can stand; got {value!r}")
    if rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(map(repr, RULES))}; got {rule!r}")
    uid = "wind-up-" + hashlib.sha256(json.dumps([given, rule]).encode()).hexdigest()[:6]
    ranges = "".join(
        _range(uid, name, LABELS[name], CHOICES[name].index(value), len(CHOICES[name]) - 1)
        for name, value in given.items()
    )
    cursor = _range(uid, "step", "look at step", PROBLEM["steps"], PROBLEM["steps"], PROBLEM["steps"] // 300)
    radios = "".join(
        f'<label><input type="radio" name="{uid}" value="{name}"{" checked" if name == rule else ""} '
        f'autocomplete="off"> {html.escape(text)}</label>'
        for name, text in RULES.items()
    )
    preset = json.dumps({"problem": PROBLEM, **CHOICES})
    return HTML(
        f'<div class="wind-up" role="group" aria-label="A multiplier that winds up">{_STYLE}'
        f'<div class="controls">{ranges}<fieldset><legend>rule of λ</legend>{radios}</fieldset></div>'
        '<p data-say="summary" aria-live="polite">This picture is drawn by a script, which has not run here.</p>'
        '<svg role="img" data-panel="multiplier"></svg><svg role="img" data-panel="reconstruction"></svg>'
        '<p><span class="key off"></span> λ is 0 and the constraint holds &ensp; <span class="key asleep"></span> '
        "λ is 0 although the constraint is violated</p>"
        f'<div class="controls">{cursor}<div><button type="button" data-say="play">Play</button></div></div>'
        '<p data-say="now"></p>'
        f'<script type="application/json">{preset}</script><script>{static(SCRIPT)}</script></div>'
    )


def _range(uid: str, name: str, label: str, value: int, last: int, step: int = 1) -> str:
    """A labelled slider; what it stands at is shown behind its label."""
    return (
        f'<div><label for="{uid}-{name}">{label}: <b data-say="{name}"></b></label><input type="range" '
        f'id="{uid}-{name}" data-control="{name}" min="0" max="{last}" step="{step}" value="{value}" '
        'autocomplete="off"></div>'
    )
