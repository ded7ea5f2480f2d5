"""Twin accuracy."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from icrlib.data.scenes import generate, twin_accuracy
from icrlib.data.scenes.grammar import truth, truth_matrix
from icrlib.data.scenes.graph import Scene, Thing


def naive(images, captions, split) -> dict:
    """Slow twin: every ordered pair of images, every caption, straight from the definition."""
    hits = {"swap": [], "attribute": []}
    names = {"shape": "shape", "colour": "colour", "cell": "cell", "size": "other", "fill": "other"}
    for own, one in enumerate(split.graphs):
        for other, another in enumerate(split.graphs):
            if split.twin_of[own] != other and split.twin_of[other] != own:
                continue
            kind = split.twin_kind[max(own, other)]
            pairs = list(zip(one.things, another.things, strict=True))
            (what,) = {names[k] for k in names for a, b in pairs if getattr(a, k) != getattr(b, k)}
            for caption, form in enumerate(split.forms):
                if split.image_of[caption] == own and truth(form, one) and not truth(form, another):
                    right = float(images[own] @ captions[caption]) > float(images[other] @ captions[caption])
                    for name in (kind, f"{kind}_{what}"):
                        hits.setdefault(name, []).append(right)
    return {
        key: value
        for kind, some in hits.items()
        for key, value in ((kind, 100 * np.mean(some) if some else None), (f"{kind}_n", len(some)))
    }


def test_against_the_slow_twin(split):
    generator = torch.Generator().manual_seed(0)
    images, captions = (torch.randn(n, 8, generator=generator, dtype=torch.double) for n in (150, 750))
    assert twin_accuracy(images, captions, split) == pytest.approx(naive(images, captions, split))


def test_truth_as_score_is_always_right_and_its_opposite_always_wrong(split):
    true = torch.from_numpy(truth_matrix(split.forms, split.graphs)).double()
    accuracy = twin_accuracy(torch.eye(150).double(), true, split)
    assert accuracy["swap"] == accuracy["attribute"] == 100 and accuracy["swap_n"] > 20 and accuracy["attribute_n"] > 20
    assert twin_accuracy(torch.eye(150).double(), -true, split)["swap"] == 0


def test_ties_do_not_count_as_right(split):
    accuracy = twin_accuracy(torch.ones(150, 4), torch.ones(750, 4), split)
    assert accuracy["swap"] == accuracy["attribute"] == 0


def test_no_twin_or_no_telling_caption_is_none_not_nan():
    scene = Scene("dark", (Thing("ring", "red", "small", "plain", 0), Thing("bar", "blue", "small", "plain", 5)))
    form = {"things": [{"shape": "ring"}], "relation": None, "count": None, "background": None}
    alone = SimpleNamespace(
        graphs=[scene, scene],
        forms=[form, form],
        image_of=torch.arange(2),
        twin_of=torch.tensor([-1, -1]),
        twin_kind=["", ""],
    )
    nothing = {"swap": None, "swap_n": 0, "attribute": None, "attribute_n": 0}
    assert twin_accuracy(torch.rand(2, 3), torch.rand(2, 3), alone) == nothing
    alone.twin_of, alone.twin_kind = torch.tensor([-1, 0]), ["", "swap"]
    assert twin_accuracy(torch.rand(2, 3), torch.rand(2, 3), alone) == nothing


def test_what_was_exchanged_is_kept_by_the_data():
    """The field that a swap exchanged holds the same values in both pictures, in another order; all others stay."""
    test = generate.load(1, train=2, val=2, test=200, progress=False).test
    for row, (twin, kind, name) in enumerate(zip(test.twin_of.tolist(), test.twin_kind, test.twin_field, strict=True)):
        assert (twin < 0) == (name == "") and (kind != "swap" or name in ("shape", "colour", "cell"))
        if kind == "swap":
            values = [[getattr(thing, name) for thing in test.graphs[n].things] for n in (row, twin)]
            assert values[0] != values[1] and sorted(values[0]) == sorted(values[1])
    made = [what for what in zip(test.twin_kind, test.twin_field, strict=True) if what[0]]
    assert {("swap", "shape"), ("swap", "colour"), ("swap", "cell"), ("attribute", "other")} <= set(made)
