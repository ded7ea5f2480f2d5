"""The book's figures: colours, scales, keys and what is drawn; on small examples, counted by hand."""

from __future__ import annotations

import itertools
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


def texts(ax):
    return [text.get_text() for text in ax.texts]


# Scales


def test_signed_root_keeps_the_sign_and_the_square_brings_it_back():
    x = np.array([-4.0, -0.25, 0.0, 0.01, 9.0])
    assert plots.signed_root(x) == pytest.approx([-2, -0.5, 0, 0.1, 3])
    assert plots.signed_square(plots.signed_root(x)) == pytest.approx(x)
    assert plots.signed_square(np.array([-3.0, 2.0])).tolist() == [-9, 4]


@pytest.mark.parametrize("top", [0.5, 1.0, 40.0])
def test_weight_scale_is_even_about_zero_and_follows_the_root(top):
    norm = plots.weight_scale(top)
    places = np.array([-top, -top / 4, 0, top / 4, top])
    assert np.asarray(norm(places)) == pytest.approx([0, 0.25, 0.5, 0.75, 1])  # a quarter of the top: half the way
    # A twin: signs and roots, number by number.
    for x in (-0.9 * top, -0.01 * top, 0.003 * top, 0.5 * top):
        expected = 0.5 + 0.5 * (1 if x > 0 else -1) * (abs(x) / top) ** 0.5
        assert float(norm(x)) == pytest.approx(expected)
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


def test_weight_key_has_the_ends_and_the_quarters():
    for where in ("below the panels", "in a spare one"):
        fig, axes = plt.subplots(1, 2)
        plots.weight_key(fig, axes if where == "below the panels" else axes[1], plots.weight_scale(4.0))
        fig.canvas.draw()
        key = next(ax for ax in itertools.chain(fig.axes, axes[1].child_axes) if "weight" in ax.get_xlabel())
        assert [tick.get_text() for tick in key.get_xticklabels()] == ["-4", "-1", "0", "+1", "+4"]
        along = key.transAxes.inverted().transform(key.transData.transform([(x, 0) for x in key.get_xticks()]))[:, 0]
        assert along == pytest.approx([0, 0.25, 0.5, 0.75, 1])  # where the scale puts them
        assert "blue pulls up, red pushes down" in key.get_xlabel()


# Colours and markers


def test_every_loss_has_its_own_colour_and_an_unknown_one_is_grey():
    beyond = ("ifm", "siglip", "dcl", "ntxent_sparse")
    shown = [plots.colour(name) for name in ("triplet", "triplet_sh", "ntxent", "smoothap", *beyond, "bow")]
    assert len(set(shown)) == 9 and shown == list(plots.COLOURS.values())
    assert len({plots.marker(name) for name in plots.COLOURS}) == 9 and plots.MARKERS.keys() == plots.COLOURS.keys()
    assert plots.colour("mine") == plots.colour("goal:mine x lin") == "#6b6b6b"
    assert plots.marker("mine") == plots.marker("goal:con x mine") == "d"
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


def test_style_gives_white_figures_without_a_frame():
    plots.style()
    wanted = {"figure.facecolor": "white", "axes.spines.top": False, "axes.spines.right": False}
    assert {name: plt.rcParams[name] for name in wanted} == wanted


# Matrices


@pytest.mark.parametrize(
    "value, decimals, text",
    [
        (0.0, 2, "0"),
        (0.004, 2, "≈0"),
        (-0.004, 2, "≈0"),
        (0.006, 2, "+0.01"),
        (-1.0, 2, "-1.00"),
        (0.04, 1, "≈0"),
        (12.34, 1, "+12.3"),
    ],
)
def test_weight_text(value, decimals, text):
    assert plots.weight_text(value, decimals) == text


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
    assert places == {
        "0.90": (0.5, 0.5),
        "0.10": (1.5, 0.5),
        "0.20": (2.5, 0.5),
        "0.30": (0.5, 1.5),
        "0.40": (1.5, 1.5),
        "0.50": (2.5, 1.5),
    }
    frames = sorted((int(patch.get_y()), int(patch.get_x())) for patch in ax.patches)  # row, column
    assert frames == [(0, 0), (1, 2)]
    assert ax.get_title() == "scores" and (ax.get_xlabel(), ax.get_ylabel()) == ("captions", "images")
    dark = {text.get_text(): text.get_color() for text in ax.texts}
    assert dark["0.90"] == "white" and dark["0.10"] == "black"
    plots.matrix(ax := plt.subplots()[1], values, positives, annotate=False)
    assert texts(ax) == []


def test_limit_is_the_weight_with_the_darkest_colour():
    _, axes = plt.subplots(1, 3)
    values, nobody = torch.tensor([[-1.0, 0.5]]), torch.zeros(1, 2, dtype=torch.bool)
    for ax, limit in zip(axes, (None, 4.0, 0.5), strict=True):
        plots.matrix(ax, values, nobody, weights=True, limit=limit)
    assert [ax.collections[0].get_clim() for ax in axes] == [(-1, 1), (-4, 4), (-0.5, 0.5)]
    assert [[text.get_color() for text in ax.texts] for ax in axes] == [
        ["white", "black"],
        ["black", "black"],
        ["white", "white"],
    ]


def test_scores_and_weights_shows_the_losses_weights_in_one_scale():
    scores, positives = plots.example()
    losses = {"triplet": Triplet(), "smoothap": SmoothAP()}
    fig = plots.scores_and_weights(scores, positives, losses)
    panels = [ax for ax in fig.axes if ax.get_title()]
    assert [ax.get_title() for ax in panels] == ["scores s", "weights of Triplet", "weights of SmoothAP"]
    for ax, loss in zip(panels[1:], losses.values(), strict=True):
        shown = np.asarray(ax.collections[0].get_array()).reshape(4, 4)
        assert shown == pytest.approx(loss.weights(scores, positives).numpy())
    largest = max(float(loss.weights(scores, positives).abs().max()) for loss in losses.values())
    assert [ax.collections[0].get_clim() for ax in panels[1:]] == [(-largest, largest)] * 2
    assert panels[1].title.get_color() == plots.COLOURS["triplet"]


def test_relative_divides_each_loss_by_its_mean_pull():
    scores, positives = plots.example()
    fig = plots.scores_and_weights(scores, positives, {"smoothap": SmoothAP()}, relative=True, limit=3.0)
    panel = next(ax for ax in fig.axes if "SmoothAP" in ax.get_title())
    shown = np.asarray(panel.collections[0].get_array()).reshape(4, 4)
    weights = SmoothAP().weights(scores, positives).numpy()
    pull = sum(abs(weights[k, k]) for k in range(4)) / 4
    assert shown == pytest.approx(weights / pull) and np.abs(np.diag(shown)).mean() == pytest.approx(1)
    assert panel.collections[0].get_clim() == (-3, 3)


# Curves and pictures


def record(loss, values, method="vse++"):
    history = [{"update": 10 * (k + 1), "val": {"rsum": value}} for k, value in enumerate(values)]
    return {"config": {"method": method, "loss": loss}, "history": history}


def test_learning_curves_one_thick_mean_a_loss_and_one_thin_line_a_seed():
    words = record("triplet", [0, 0], "bow")
    runs = [record("ntxent", [1, 2]), record("ntxent", [3, 6]), record("triplet", [5, 5]), words]
    ax = plots.learning_curves(runs, ylabel="rsum")
    thick = {line.get_label(): line for line in ax.lines if line.get_linewidth() > 2}
    assert list(thick) == ["NT-Xent", "Triplet", "bag of words"]  # a baseline is one group, whatever its loss
    assert thick["NT-Xent"].get_ydata().tolist() == [2, 4] and thick["NT-Xent"].get_xdata().tolist() == [10, 20]
    assert thick["bag of words"].get_color() == plots.COLOURS["bow"]
    thin = [line for line in ax.lines if line.get_linewidth() < 1]
    assert sorted(line.get_ydata().tolist() for line in thin) == [[0, 0], [1, 2], [3, 6], [5, 5]]
    assert ax.get_ylabel() == "rsum"


def test_learning_curves_of_another_value_into_a_given_panel():
    _, ax = plt.subplots()
    assert plots.learning_curves([record("ntxent", [1, 2])], lambda entry: -entry["update"], ax=ax) is ax
    assert ax.lines[-1].get_ydata().tolist() == [-10, -20]


def test_gallery_frames_say_true_and_false_and_spare_places_are_empty():
    pictures = np.zeros((3, 4, 4, 3), dtype=np.uint8)
    fig = plots.gallery(pictures, ["one", "two", "three"], frames=[True, False, True], columns=2)
    assert len(fig.axes) == 4 and [ax.axison for ax in fig.axes] == [True, True, True, False]
    assert [ax.get_title() for ax in fig.axes] == ["one", "two", "three", ""]
    assert [ax.get_xlabel() for ax in fig.axes] == ["true", "false", "true", ""]
    edges = [ax.spines["left"].get_edgecolor() for ax in fig.axes[:3]]
    assert [colors.same_color(edge, plots.RIGHT) for edge in edges] == [True, False, True]
    assert colors.same_color(edges[1], plots.WRONG)
    plain = plots.gallery(pictures)
    assert len(plain.axes) == 3 and not plain.axes[0].spines["left"].get_visible()


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
    four = plots.top_k(split, 0, torch.tensor([0.3, 0.1, 0.5, 0.4]), k=4)
    assert four.axes[0].get_gridspec().ncols == 3 and not four.axes[4].axison  # a fourth begins a second row
