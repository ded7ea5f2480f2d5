"""Every figure that more than one chapter draws, in one style: one colour per loss across the whole book."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
import torch
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import FuncNorm
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


def signed_root(x: np.ndarray) -> np.ndarray:
    """The root of the size, with the sign: draws out what is near zero, so that small weights beside large are seen."""
    return np.sign(x) * np.sqrt(np.abs(x))


def signed_square(x: np.ndarray) -> np.ndarray:
    """The inverse of :func:`signed_root`."""
    return np.sign(x) * np.square(x)


def weight_scale(top: float) -> FuncNorm:
    """One colour scale for the weights of several losses, from -``top`` to ``top``, by :func:`signed_root`."""
    return FuncNorm((signed_root, signed_square), vmin=-top, vmax=top)


def weight_key(fig: Figure, where: Axes | np.ndarray, norm: FuncNorm) -> None:
    """The colour key of :func:`weight_scale`: below the axes of an array, or in the place of one spare axes."""
    spare = isinstance(where, Axes)
    room = {"cax": where.inset_axes((0.05, 0.55, 0.9, 0.06))} if spare else {"ax": where, "aspect": 40}
    key = fig.colorbar(ScalarMappable(norm, "RdBu_r"), orientation="horizontal", **room)
    ticks = [share * norm.vmax for share in (-1, -0.25, 0, 0.25, 1)]
    key.set_ticks(ticks, labels=[f"{tick:+.2g}" if tick else "0" for tick in ticks])
    key.set_label("weight: blue pulls up, red pushes down", fontsize=10)
    key.outline.set_visible(False)
    key.minorticks_off()


def matrix(
    ax: Axes,
    values: Tensor,
    positives: Tensor,
    *,
    title: str = "",
    weights: bool = False,
    annotate: bool = True,
    limit: float | None = None,
    norm: FuncNorm | None = None,
) -> None:
    """A score matrix (sequential colours) or a weight matrix (red pushes down, blue pulls up) with positives framed.

    ``limit`` is the weight with the darkest colour (default: the largest here). ``norm``, from :func:`weight_scale`,
    gives the colours of weights instead; panels that are compared share one.
    """
    shown = np.asarray(values, dtype=float)
    if weights and norm is not None:
        sns.heatmap(shown, ax=ax, cmap="RdBu_r", norm=norm, cbar=False, square=True)
    elif weights:
        top = limit or max(abs(shown).max(), 1e-12)
        sns.heatmap(shown, ax=ax, cmap="RdBu_r", center=0, vmin=-top, vmax=top, cbar=False, square=True)
    else:
        sns.heatmap(shown, ax=ax, cmap="Greys", vmin=-0.2, vmax=1, cbar=False, square=True)
    if annotate:
        if norm is None:
            dark = abs(shown) > (0.6 * (limit or max(abs(shown).max(), 1e-12)) if weights else 0.45)
        else:
            dark = abs(2 * np.asarray(norm(shown)) - 1) > 0.6
        for (row, column), value in np.ndenumerate(shown):
            text = weight_text(value, 2 if shown.shape[1] <= 4 else 1) if weights else f"{value:.2f}"
            ax.text(
                column + 0.5,
                row + 0.5,
                text,
                ha="center",
                va="center",
                fontsize=10,
                color="white" if dark[row, column] else "black",
            )
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


def scores_and_weights(
    scores: Tensor,
    positives: Tensor,
    losses: Mapping[str, object],
    columns: int = 2,
    *,
    relative: bool = False,
    limit: float | None = None,
) -> Figure:
    """The picture that the book comes back to: a score matrix, and the weights that each loss puts on it.

    Rows are the queries. ``losses`` maps a name to a loss. All weights have one colour scale
    (:func:`weight_scale`) with a key; ``limit`` is its end (default: the largest weight that is shown).
    ``relative`` divides the weights of each loss by the mean pull on its positives: a common factor of all weights
    is a matter of the learning rate.
    """
    weights = {name: loss.weights(scores, positives) for name, loss in losses.items()}
    if relative:
        weights = {name: w / w[positives].abs().mean() for name, w in weights.items()}
    norm = weight_scale(limit or max(float(w.abs().max()) for w in weights.values()))
    rows = -(-(len(losses) + 1) // columns)
    size = (2.9 * columns, (0.9 + 2.3 * scores.shape[0] / scores.shape[1]) * rows)
    fig, axes = plt.subplots(rows, columns, figsize=size, squeeze=False)
    cells = iter(axes.flat)
    matrix(next(cells), scores, positives, title="scores s")
    for name, values in weights.items():
        ax = next(cells)
        matrix(ax, values, positives, title=f"weights of {label(name)}", weights=True, norm=norm)
        ax.title.set_color(colour(name) if name in COLOURS else "black")
    spare = list(cells)
    for ax in spare:
        ax.axis("off")
    weight_key(fig, spare[0] if spare else axes, norm)
    return fig


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
        for spine in ax.spines.values():
            spine.set(
                visible=frames is not None,
                linewidth=4,
                color=RIGHT if frames is not None and frames[i] else WRONG,
            )
        if frames is not None:
            ax.set_xlabel("true" if frames[i] else "false", color=RIGHT if frames[i] else WRONG, fontweight="bold")
    return fig


def top_k(split, caption: int, scores: Tensor, k: int = 5) -> Figure:
    """The ``k`` images of ``split`` that score highest for a caption; framed by whether the caption is true of them.

    ``scores`` (N,): the caption's similarity to every image. The caption's own image is marked in its title.
    """
    best = torch.as_tensor(scores).topk(k)
    own, true = int(split.image_of[caption]), split.relevance[caption]
    titles = [
        f"{value:.2f}" + (" (its own)" if int(row) == own else "")
        for value, row in zip(best.values.tolist(), best.indices, strict=True)
    ]
    # Three in a row, so that they can be told apart on a phone.
    fig = gallery(split.images[best.indices.numpy()], titles, frames=true[best.indices].tolist(), columns=3, size=2.15)
    fig.suptitle(textwrap.fill(f"“{split.captions[caption]}”", 62), fontsize=12)
    return fig
