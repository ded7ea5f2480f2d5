"""The book's figures: colours, scales and what is drawn; on small examples, counted by hand."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from icrlib import plots


def test_every_loss_has_its_own_colour_and_an_unknown_one_is_grey():
    names = ("triplet", "triplet_sh", "ntxent", "smoothap", "ifm", "siglip", "dcl", "ntxent_sparse", "bow")
    found = [plots.colour(name) for name in names]
    assert len(set(found)) == 9 and found == list(plots.COLOURS.values())
    assert len({plots.marker(name) for name in plots.COLOURS}) == 9 and plots.MARKERS.keys() == plots.COLOURS.keys()
    assert plots.colour("mine") == plots.colour("goal:mine x lin") == "#6b6b6b"


def test_matrix_writes_each_number_where_it_stands_and_frames_the_positives():
    _, ax = plt.subplots()
    values, positives = torch.tensor([[0.9, 0.1, 0.2], [0.3, 0.4, 0.5]]), torch.tensor([[1, 0, 0], [0, 0, 1]]).bool()
    plots.matrix(ax, values, positives)
    places = {text.get_text(): tuple(text.get_position()) for text in ax.texts}
    assert places == {f"{values[q, j]:.2f}": (j + 0.5, q + 0.5) for q in range(2) for j in range(3)}
    frames = sorted((int(patch.get_y()), int(patch.get_x())) for patch in ax.patches)  # row, column
    assert frames == [(0, 0), (1, 2)]


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
