"""A method, a loss, an auxiliary as a name, a class or an object: the same run, or refused with the way out."""

from __future__ import annotations

import pytest
from torch import nn

import icrlib
from icrlib.auxiliary.base import Auxiliary
from icrlib.auxiliary.latent import LatentTarget
from icrlib.losses import GradientObjective, TripletSH
from icrlib.models import VSE
from icrlib.models.bow import BagOfWords
from icrlib.training.config import identity
from tests.own_parts import Bags, Squared, WordByWord

FEW = {"updates": 4, "batch_size": 8, "progress": False}


LOSS, SIZES = "tests.own_parts:Squared", {"embed_dim": 6, "word_dim": 5}
NEGATIVES = {"tau": 0.05, "denominator": "negatives"}


@pytest.mark.parametrize(
    ("what", "given", "name", "options"),
    [
        ("loss", TripletSH(margin=0.3), "triplet_sh", {"margin": 0.3}),
        ("loss", TripletSH, "triplet_sh", {}),
        ("loss", icrlib.losses.NTXent(**NEGATIVES), "ntxent", NEGATIVES),
        ("loss", GradientObjective("cir", "lin", margin=0.1), "goal:cir x lin", {"margin": 0.1}),
        ("loss", Squared(margin=0.1), LOSS, {"margin": 0.1}),
        ("loss", Squared, LOSS, {}),
        ("method", BagOfWords, "bow", {}),
        ("method", BagOfWords(12, 20, embed_dim=6), "bow", {"embed_dim": 6}),
        ("method", VSE(12, 99, **SIZES), "vse++", SIZES),
        ("method", WordByWord(12, 5, size=3), "tests.own_parts:WordByWord", {"size": 3}),
        ("auxiliary", LatentTarget("lsa", hidden=7), "latent", {"target": "lsa", "hidden": 7}),
        ("auxiliary", Bags, "tests.own_parts:Bags", {}),
    ],
)
def test_the_same_run(tiny, what, given, name, options):
    """But for how it was asked for."""
    more = FEW | ({"beta": 0.5} if what == "auxiliary" else {})
    runs = icrlib.train(tiny, **{what: given}, **more), icrlib.train(tiny, **{what: name}, **options, **more)
    ours, theirs = (run.record["config"] for run in runs)
    assert {**ours, "asked": 0} == {**theirs, "asked": 0} and identity(ours) == identity(theirs)
    assert runs[0].history[-1]["loss"] == runs[1].history[-1]["loss"]


class Plain(nn.Module):
    """As a researcher writes one first."""

    def forward(self, images, captions):
        return images @ captions.T


class Forgetful(Auxiliary):
    """Does not keep what it was made with."""

    def __init__(self, size):
        super().__init__()


def local():
    class Local(TripletSH):
        pass

    return Local()


@pytest.mark.parametrize(
    "given, word",
    [
        ({"loss": local()}, "Local"),
        ({"loss": nn.TripletMarginLoss()}, "is no loss"),
        ({"loss": TripletSH(margin=0.3), "margin": 0.2}, "margin"),
        ({"method": Plain()}, "is no method"),
        ({"method": "tests.training.test_named_parts:Plain"}, "is no method"),
        ({"auxiliary": Forgetful(3)}, "size"),
    ],
)
def test_what_is_refused(tiny, given, word):
    with pytest.raises(ValueError, match=word):
        icrlib.train(tiny, **given, **FEW)


def test_a_short_summary(tiny):
    """What an interpreter prints is a few lines, not arrays."""
    run = icrlib.train(tiny, **FEW)
    assert len(repr(tiny).splitlines()) == 4 and f"rsum {run.record['test']['rsum']:.1f}" in repr(run)
    assert len(repr(run)) < 300 and repr(tiny.train) in repr(tiny)
