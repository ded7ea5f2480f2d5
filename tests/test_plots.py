"""The book's figures: colours, scales and what is drawn; on small examples, counted by hand."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib import colors

from icrlib import plots
from icrlib.losses import LOSSES


@pytest.fixture(autouse=True)
def _no_figure_stays():
    before = dict(plt.rcParams)
    yield
    plt.close("all")
    plt.rcParams.update(before)


def test_every_loss_has_its_own_colour_and_an_unknown_one_is_grey():
    names = ("triplet", "triplet_sh", "ntxent", "smoothap", "ifm", "siglip", "dcl", "ntxent_sparse", "bow")
    found = [plots.colour(name) for name in names]
    assert len(set(found)) == 9 and found == list(plots.COLOURS.values())
    assert len({plots.marker(name) for name in plots.COLOURS}) == 9 and plots.MARKERS.keys() == plots.COLOURS.keys()
    assert plots.colour("mine") == plots.colour("goal:mine x lin") == "#6b6b6b"
    assert all(colors.is_color_like(plots.colour(name)) for name in LOSSES)


def test_example_is_what_the_book_says_of_it():
    scores, positives = plots.example()
    assert scores.shape == positives.shape == (4, 4) and scores.dtype == torch.float64
    assert torch.equal(positives, torch.eye(4).bool())
    own = scores.diagonal()[:, None]
    ahead = ((scores > own) & ~positives).nonzero().tolist()
    assert ahead == [[2, 1]]  # one wrong order, in the third row
    assert float((own - scores).masked_fill(positives, 9)[3].min()) > 0.2  # the last row is solved


def test_matrix_writes_each_number_where_it_stands_and_frames_the_positives():
    _, ax = plt.subplots()
    values, positives = torch.tensor([[0.9, 0.1, 0.2], [0.3, 0.4, 0.5]]), torch.tensor([[1, 0, 0], [0, 0, 1]]).bool()
    plots.matrix(ax, values, positives, title="scores")
    places = {text.get_text(): tuple(text.get_position()) for text in ax.texts}
    assert places == {f"{values[q, j]:.2f}": (j + 0.5, q + 0.5) for q in range(2) for j in range(3)}
    frames = sorted((int(patch.get_y()), int(patch.get_x())) for patch in ax.patches)  # row, column
    assert frames == [(0, 0), (1, 2)]
    assert ax.get_title() == "scores" and (ax.get_xlabel(), ax.get_ylabel()) == ("captions", "images")
    dark = {text.get_text(): text.get_color() for text in ax.texts}
    assert dark["0.90"] == "white" and dark["0.10"] == "black"


def test_weights_are_blue_where_they_pull_up_and_red_where_they_push_down():
    """As dark at ``limit`` in one matrix as in another."""
    fig, axes = plt.subplots(1, 2)
    for ax, top in zip(axes, (1.0, 8.0), strict=True):
        values = torch.tensor([[-1.0, 0.5], [top, -1.0]])
        plots.matrix(ax, values, torch.eye(2, dtype=torch.bool), weights=True, limit=8.0)
    fig.canvas.draw()
    small, large = (ax.collections[0].get_facecolors() for ax in axes)
    assert small[1] == pytest.approx(large[1]) and not np.allclose(small[2], large[2])
    blue, red = large[0], large[2]
    assert blue[2] > blue[0] and red[0] > red[2]


def test_learning_curves_one_thick_mean_a_loss_and_one_thin_line_a_seed():
    def record(loss, values, method="vse++"):
        history = [{"update": 10 * (k + 1), "val": {"rsum": value}} for k, value in enumerate(values)]
        return {"config": {"method": method, "loss": loss}, "history": history}

    runs = [record("ntxent", [1, 2]), record("ntxent", [3, 6]), record("triplet", [5, 5])]
    ax = plots.learning_curves([*runs, record("triplet", [0, 0], "bow")], ylabel="rsum")
    thick = {line.get_label(): line for line in ax.lines if line.get_linewidth() > 2}
    assert list(thick) == ["NT-Xent", "Triplet", "bag of words"]  # a baseline is one group, whatever its loss
    assert thick["NT-Xent"].get_ydata().tolist() == [2, 4] and thick["NT-Xent"].get_xdata().tolist() == [10, 20]
    assert thick["bag of words"].get_color() == plots.COLOURS["bow"]
    thin = [line for line in ax.lines if line.get_linewidth() < 1]
    assert sorted(line.get_ydata().tolist() for line in thin) == [[0, 0], [1, 2], [3, 6], [5, 5]]
    assert plots.learning_curves(runs[:1], lambda entry: -entry["update"], ax=ax) is ax
    assert ax.lines[-1].get_ydata().tolist() == [-10, -20]


def test_gallery_frames_say_true_and_false_and_spare_places_are_empty():
    pictures = np.zeros((3, 4, 4, 3), dtype=np.uint8)
    fig = plots.gallery(pictures, ["one", "two", "three"], frames=[True, False, True], columns=2)
    assert [ax.axison for ax in fig.axes] == [True, True, True, False]
    assert [ax.get_title() for ax in fig.axes] == ["one", "two", "three", ""]
    assert [ax.get_xlabel() for ax in fig.axes] == ["true", "false", "true", ""]
    edges = [ax.spines["left"].get_edgecolor() for ax in fig.axes[:3]]
    assert [colors.same_color(edge, plots.RIGHT) for edge in edges] == [True, False, True]
