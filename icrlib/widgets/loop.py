"""A walk around a rectangle in the plane of two scores: what a designed gradient gathers on it, moved by the reader."""

from __future__ import annotations

from collections.abc import Sequence

from IPython.display import HTML

from icrlib.errors import choose
from icrlib.plots import colour
from icrlib.widgets.score_table import described, element

TRIPLET, PAIR = ("con", "nca", "cir"), ("con", "lin", "sig")
GAMMAS, MARGINS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0), (0.0, 0.1, 0.2, 0.3, 0.4)
SQUARE = (0.3, 0.1, 0.7, 0.5)  # lower left and upper right corner at the beginning: s+, s−, s+, s−


def loop_explorer(objective: object, *, about: str) -> HTML:
    """The plane of a positive's and a negative's score, with a rectangle to walk around; beside it, what is gathered.

    ``objective``: a :class:`icrlib.losses.GradientObjective`, from which the reader begins; each triplet weight may be
    chosen with each pair weight. The rectangle and its corners can be dragged or moved by the arrow keys; "Once more
    around" adds laps, so that what is left over builds a staircase. The objective's γ and margin must be steps of the
    two sliders. The walk sums (∂ℓ/∂s+, ∂ℓ/∂s−) · step against the clock, 250 steps a side, by the rule of the midpoint
    (GOAL Eq. 2's weights). ``about``: as for :func:`icrlib.widgets.explorer`. ``ValueError`` for weights of as-released
    objectives, for a constant that its slider lacks.
    """
    options = described("goal", objective)["options"]
    what = "weight (with one negative lin-ms is lin, and sig-ms is sig)"
    choice = [choose(options.pop("triplet_weight"), TRIPLET, what), choose(options.pop("pair_weight"), PAIR, what)]
    sliders = [
        _slider(options, "tau", GAMMAS, "sharpness γ", ("nca", "cir")),
        _slider(options, "margin", MARGINS, "margin m", ("con",)),
    ]
    weights = [{"title": "triplet weight", "names": TRIPLET}, {"title": "pair weight", "names": PAIR}]
    preset = {
        "choice": choice,
        "options": options,
        "sliders": sliders,
        "square": SQUARE,
        "colour": colour("triplet_sh"),
        "weights": weights,
    }
    return element(
        "loop",
        preset,
        about,
        "Arrows: uphill, the way in which the “loss” would grow; the shade says how "
        "steeply. The walk begins at the lower left corner and goes against the clock.",
    )


def _slider(options: dict, name: str, values: Sequence[float], label: str, of: Sequence[str]) -> dict:
    own = options.pop(name)
    if own not in values:
        raise ValueError(f"loop_explorer: {label} of the objective is {own}, none of the slider's {list(values)}")
    return {"option": name, "values": list(values), "at": list(values).index(own), "label": label, "of": list(of)}
