"""The book's figures: colours, scales and what is drawn; on small examples, counted by hand."""

from __future__ import annotations

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib import colors

from icrlib import plots
from icrlib.losses import LOSSES, SmoothAP, Triplet, objectives


@pytest.fixture(autouse=True)
def _no_figure_stays():
    before = dict(plt.rcParams)
    yield
    plt.close("all")
    plt.rcParams.update(before)


@pytest.mark.parametrize("top", [0.5, 40.0])
def test_weight_scale_is_even_about_zero_and_follows_the_root(top):
    norm = plots.weight_scale(top)
    places = np.array([-top, -top / 4, 0, top / 4, top])
    assert np.asarray(norm(places)) == pytest.approx([0, 0.25, 0.5, 0.75, 1])  # a quarter of the top: half the way
    for x in (-0.9 * top, -0.01 * top, 0.003 * top, 0.5 * top):
        assert float(norm(x)) == pytest.approx(0.5 + 0.5 * (1 if x > 0 else -1) * (abs(x) / top) ** 0.5)
    assert np.asarray(norm.inverse(norm(places))) == pytest.approx(places)


def test_one_scale_for_two_matrices_gives_equal_weights_equal_colours():
    fig, axes = plt.subplots(1, 2)
    norm, eye = plots.weight_scale(8.0), torch.eye(2, dtype=torch.bool)
    small, large = torch.tensor([[-1.0, 0.5], [0.5, -1.0]]), torch.tensor([[-8.0, 0.5], [8.0, -1.0]])
    for ax, values in zip(axes, (small, large), strict=True):
        plots.matrix(ax, values, eye, weights=True, norm=norm)
    fig.canvas.draw()
    first, second = (ax.collections[0].get_facecolors() for ax in axes)
    assert first[1] == pytest.approx(second[1]) and first[3] == pytest.approx(second[3])
    assert not np.allclose(first[0], second[0])
    blue, red = second[0], second[2]  # pulled up, pushed down
    assert blue[2] > blue[0] and red[0] > red[2]


def test_every_loss_has_its_own_colour_and_an_unknown_one_is_grey():
    names = ("triplet", "triplet_sh", "ntxent", "smoothap", "ifm", "siglip", "dcl", "ntxent_sparse", "bow")
    found = [plots.colour(name) for name in names]
    assert len(set(found)) == 9 and found == list(plots.COLOURS.values())
    assert len({plots.marker(name) for name in plots.COLOURS}) == 9 and plots.MARKERS.keys() == plots.COLOURS.keys()
    assert plots.colour("mine") == plots.colour("goal:mine x lin") == "#6b6b6b"
    assert all(colors.is_color_like(plots.colour(name)) for name in LOSSES)


def test_an_objective_has_the_colour_of_its_triplet_weight_and_the_marker_of_its_pair_weight():
    by_T, by_P = {}, {}
    for name in objectives():
        T, P = name.removeprefix("goal:").split(" x ")
        by_T.setdefault(T, set()).add(plots.colour(name))
        by_P.setdefault(P, set()).add(plots.marker(name))
    for groups, n in ((by_T, 3), (by_P, 5)):
        assert len(groups) == n and all(len(group) == 1 for group in groups.values())
        assert len(set().union(*groups.values())) == n


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


@pytest.mark.parametrize("relative", [False, True])
def test_scores_and_weights_shows_the_losses_weights_in_one_scale(relative):
    """Relative ones are divided by each loss's mean pull on a match."""
    scores, positives = plots.example()
    losses = {"triplet": Triplet(), "smoothap": SmoothAP()}
    panels = [
        ax for ax in plots.scores_and_weights(scores, positives, losses, relative=relative).axes if ax.get_title()
    ]
    assert panels[0].get_title() == "scores s" and "SmoothAP" in panels[2].get_title()
    wanted = [loss.weights(scores, positives) for loss in losses.values()]
    if relative:
        wanted = [weights / weights.diagonal().abs().mean() for weights in wanted]
    for ax, weights in zip(panels[1:], wanted, strict=True):
        assert np.asarray(ax.collections[0].get_array()).reshape(4, 4) == pytest.approx(weights.numpy())
    largest = max(float(weights.abs().max()) for weights in wanted)
    assert [ax.collections[0].get_clim() for ax in panels[1:]] == [pytest.approx((-largest, largest))] * 2


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


def test_top_k_orders_by_score_marks_its_own_and_frames_by_truth():
    split = SimpleNamespace(
        images=np.arange(4 * 12, dtype=np.uint8).reshape(4, 2, 2, 3),
        captions=["a ring", "a box"],
        image_of=torch.tensor([3, 0]),
        relevance=torch.tensor([[1, 0, 0, 1], [1, 0, 0, 0]]).bool(),
    )
    fig = plots.top_k(split, 0, torch.tensor([0.3, 0.1, 0.5, 0.4]), k=3)
    assert [ax.get_title() for ax in fig.axes] == ["0.50", "0.40 (its own)", "0.30"]
    assert [ax.get_xlabel() for ax in fig.axes] == ["false", "true", "true"]
    assert [int(ax.images[0].get_array()[0, 0, 0]) // 12 for ax in fig.axes] == [2, 3, 0]
    assert "a ring" in fig.get_suptitle()
