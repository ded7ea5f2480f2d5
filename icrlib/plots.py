"""Every figure that more than one chapter draws, in one style: one colour per loss across the whole book."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from icrlib.names import LOSSES, METHODS, is_baseline, label

_BLIND = sns.color_palette("colorblind").as_hex()  # tells colours apart for colour-blind readers too
GREY = "#6b6b6b"
# Of every loss, and of the baseline, that has its own: by name, in the order of the registries.
_OWN = {name: kind for registry in (LOSSES, METHODS) for name, kind in registry.items() if kind.colour}
COLOURS = {name: kind.colour for name, kind in _OWN.items()}
MARKERS = {name: kind.marker for name, kind in _OWN.items()}
# A designed gradient: colour by its triplet weight, marker by its pair weight.
_BY_TRIPLET = {"con": _BLIND[3], "nca": _BLIND[0], "cir": _BLIND[4]}
_BY_PAIR = {"con": "s", "lin": "o", "sig": "^", "lin-ms": "P", "sig-ms": "X"}
RIGHT, WRONG = _BLIND[2], _BLIND[3]


def style() -> None:
    """Set the book's look; every chapter calls it once."""
    sns.set_theme(style="ticks", context="notebook", palette="colorblind")
    plt.rcParams.update(
        {
            "figure.facecolor": "white",
            "figure.dpi": 110,
            "savefig.dpi": 110,
            "savefig.bbox": "tight",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": "medium",
            "axes.titleweight": "bold",
            "legend.frameon": False,
            "font.size": 11,
            "figure.constrained_layout.use": True,
        }
    )


def colour(name: str) -> str:
    """The colour of a loss, of the baseline or of "goal:T x P" in every figure; grey for one of your own."""
    if name.startswith("goal:"):
        return _BY_TRIPLET.get(name.removeprefix("goal:").partition(" x ")[0], GREY)
    return COLOURS.get(name, GREY)


def marker(name: str) -> str:
    """The marker of a loss, as :func:`colour`."""
    return _BY_PAIR.get(name.partition(" x ")[2], "d") if name.startswith("goal:") else MARKERS.get(name, "d")


def matrix(
    ax: Axes, values: Tensor, positives: Tensor, *, title: str = "", weights: bool = False, limit: float | None = None
) -> None:
    """A score matrix (sequential colours) or a weight matrix (red pushes down, blue pulls up) with positives framed.

    ``limit`` is the weight with the darkest colour (default: the largest here).
    """
    shown = np.asarray(values, dtype=float)
    top = limit or max(abs(shown).max(), 1e-12)
    colours = {"cmap": "RdBu_r", "vmin": -top, "vmax": top} if weights else {"cmap": "Greys", "vmin": -0.2, "vmax": 1}
    sns.heatmap(shown, ax=ax, cbar=False, square=True, **colours)
    dark = abs(shown) > (0.6 * top if weights else 0.45)
    for (row, column), value in np.ndenumerate(shown):
        text = weight_text(value, 2 if shown.shape[1] <= 4 else 1) if weights else f"{value:.2f}"
        colour_of = "white" if dark[row, column] else "black"
        ax.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=10, color=colour_of)
    for row, column in np.argwhere(np.asarray(positives)):
        ax.add_patch(plt.Rectangle((column + 0.04, row + 0.04), 0.92, 0.92, fill=False, lw=2.2, ec="#111111"))
    ax.set(title=title, xticks=[], yticks=[])
    ax.set_xlabel("captions")
    ax.set_ylabel("images")
    sns.despine(ax=ax, left=True, bottom=True)


def example() -> tuple[Tensor, Tensor]:
    """Four images and four captions on which the losses disagree: scores (4, 4) float64 and the mask of own pairs."""
    scores = [[0.60, 0.45, 0.50, 0.10], [0.30, 0.55, 0.50, 0.20], [0.05, 0.62, 0.40, 0.35], [0.10, 0.30, 0.20, 0.70]]
    return torch.tensor(scores, dtype=torch.float64), torch.eye(4, dtype=torch.bool)


def weight_text(value: float, decimals: int) -> str:
    """A weight as a cell shows it; what would round to zero but is not gets its own sign."""
    small = 0 < abs(value) < 0.5 * 10**-decimals
    return "0" if value == 0 else "≈0" if small else f"{value:+.{decimals}f}"


def learning_curves(
    records: Iterable[dict],
    value=lambda entry: entry["val"]["rsum"],
    *,
    ax: Axes | None = None,
    ylabel: str = "validation rsum",
) -> Axes:
    """One thin line a seed and one thick line a mean, for every loss (or baseline) among ``records``."""
    ax = ax or plt.subplots(figsize=(6.4, 3.8))[1]
    groups: dict[str, list[dict]] = {}
    for record in records:
        config = record["config"]
        groups.setdefault(config["method"] if is_baseline(config["method"]) else config["loss"], []).append(record)
    for name, group in groups.items():
        x = [entry["update"] for entry in group[0]["history"]]
        y = np.array([[value(entry) for entry in record["history"]] for record in group])
        ax.plot(x, y.T, color=colour(name), lw=0.8, alpha=0.45)
        ax.plot(x, y.mean(0), color=colour(name), lw=2.2, marker=marker(name), ms=4.5, label=label(name))
    ax.set(xlabel="updates", ylabel=ylabel)
    ax.legend(fontsize="small")
    return ax


def gallery(
    images: np.ndarray,
    titles: Sequence[str] = (),
    *,
    frames: Sequence[bool] | None = None,
    wrap: int = 22,
    columns: int = 6,
    size: float = 1.75,
) -> Figure:
    """A row (or rows) of pictures; ``frames`` draws a right (green, tick) or wrong (red, cross) frame around each."""
    columns = min(columns, len(images))
    rows = -(-len(images) // columns)
    lines = max((len(textwrap.wrap(t, wrap)) for t in titles), default=0)
    fig, axes = plt.subplots(rows, columns, figsize=(size * columns, (size + 0.19 * lines) * rows), squeeze=False)
    for i, ax in enumerate(axes.flat):
        ax.set(xticks=[], yticks=[])
        if i >= len(images):
            ax.axis("off")
            continue
        ax.imshow(images[i], interpolation="nearest")
        if titles:
            ax.set_title(textwrap.fill(titles[i], wrap), fontsize=9.5, fontweight="normal")
        ax.spines[:].set_visible(frames is not None)
        if frames is not None:
            frame = RIGHT if frames[i] else WRONG
            ax.spines[:].set(linewidth=4, color=frame)
            ax.set_xlabel("true" if frames[i] else "false", color=frame, fontweight="bold")
    return fig
