"""Twin accuracy."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from icrlib.data.scenes import twins
from icrlib.data.scenes.grammar import truth
from icrlib.data.scenes.graph import Scene, Thing


def naive(images, captions, split) -> dict:
    """Slow twin: every ordered pair of images, every caption, straight from the definition."""
    hits, twin_of, image_of = {"swap": [], "attribute": []}, split.twin_of.tolist(), split.image_of.tolist()
    names = {"shape": "shape", "colour": "colour", "cell": "cell", "size": "other", "fill": "other"}
    for own, one in enumerate(split.graphs):
        for other, another in enumerate(split.graphs):
            if twin_of[own] != other and twin_of[other] != own:
                continue
            kind = split.twin_kind[max(own, other)]
            pairs = list(zip(one.things, another.things, strict=True))
            (what,) = {names[k] for k in names for a, b in pairs if getattr(a, k) != getattr(b, k)}
            for caption, form in enumerate(split.forms):
                if image_of[caption] == own and truth(form, one) and not truth(form, another):
                    right = float(images[own] @ captions[caption]) > float(images[other] @ captions[caption])
                    for name in (kind, f"{kind}_{what}"):
                        hits.setdefault(name, []).append(right)
    return {
        key: value
        for kind, some in hits.items()
        for key, value in ((kind, 100 * np.mean(some) if some else None), (f"{kind}_n", len(some)))
    }


def test_against_the_slow_twin(drawn):
    generator = torch.Generator().manual_seed(0)
    images, captions = (torch.randn(n, 8, generator=generator, dtype=torch.double) for n in (500, 2500))
    assert drawn.twin_accuracy(images, captions) == pytest.approx(naive(images, captions, drawn))


def test_truth_as_score_is_always_right_and_its_opposite_and_ties_never(drawn):
    images, true = torch.eye(500).double(), drawn.relevance.double()
    accuracy = drawn.twin_accuracy(images, true)
    assert accuracy["swap"] == accuracy["attribute"] == 100 and accuracy["swap_n"] > 20 and accuracy["attribute_n"] > 20
    for never in (-true, torch.ones_like(true)):
        accuracy = drawn.twin_accuracy(images, never)
        assert accuracy["swap"] == accuracy["attribute"] == 0


@pytest.mark.parametrize("twin_of", [-1, 0])
def test_no_twin_or_no_telling_caption_is_none_not_nan(twin_of):
    scene = Scene("dark", (Thing("ring", "red", "small", "plain", 0), Thing("bar", "blue", "small", "plain", 5)))
    form = {"things": [{"shape": "ring"}], "relation": None, "count": None, "background": None}
    alone = SimpleNamespace(graphs=[scene, scene], forms=[form, form], image_of=torch.arange(2))
    alone.twin_of, alone.twin_kind = torch.tensor([-1, twin_of]), ["", "swap"]
    alone.twin_questions = twins.questions(alone)
    nothing = {"swap": None, "swap_n": 0, "attribute": None, "attribute_n": 0}
    assert twins.twin_accuracy(alone, torch.rand(2, 3), torch.rand(2, 3)) == nothing
