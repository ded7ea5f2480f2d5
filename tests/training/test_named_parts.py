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


def same(one, other):
    """The same run, but for how it was asked for."""
    ours, theirs = (run.record["config"] for run in (one, other))
    assert {**ours, "asked": 0} == {**theirs, "asked": 0} and identity(ours) == identity(theirs)
    assert one.record["history"][-1]["loss"] == other.record["history"][-1]["loss"]


@pytest.mark.parametrize(
    "given, name, options",
    [
        (TripletSH(margin=0.3), "triplet_sh", {"margin": 0.3}),
        (TripletSH, "triplet_sh", {}),
        (icrlib.losses.NTXent(tau=0.05, denominator="negatives"), "ntxent", {"tau": 0.05, "denominator": "negatives"}),
        (GradientObjective("cir", "lin", margin=0.1), "goal:cir x lin", {"margin": 0.1}),
        (Squared(margin=0.1), "tests.own_parts:Squared", {"margin": 0.1}),
        (Squared, "tests.own_parts:Squared", {}),
    ],
)
def test_a_loss(tiny, given, name, options):
    same(icrlib.train(tiny, loss=given, **FEW), icrlib.train(tiny, loss=name, **options, **FEW))


@pytest.mark.parametrize(
    "given, name, options",
    [
        (BagOfWords, "bow", {}),
        (BagOfWords(12, 20, embed_dim=6), "bow", {"embed_dim": 6}),
        (VSE(12, 99, embed_dim=6, word_dim=5), "vse++", {"embed_dim": 6, "word_dim": 5}),
        (WordByWord(12, 5, size=3), "tests.own_parts:WordByWord", {"size": 3}),
    ],
)
def test_a_method(tiny, given, name, options):
    same(icrlib.train(tiny, given, **FEW), icrlib.train(tiny, name, **options, **FEW))


def test_an_auxiliary(tiny):
    for given, name, options in (
        (LatentTarget("lsa", hidden=7), "latent", {"target": "lsa", "hidden": 7}),
        (Bags, "tests.own_parts:Bags", {}),
    ):
        same(
            icrlib.train(tiny, auxiliary=given, beta=0.5, **FEW),
            icrlib.train(tiny, auxiliary=name, beta=0.5, **options, **FEW),
        )


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
    assert (
        repr(tiny.train)
        == f"Split('train': {len(tiny.train)} images of 12 numbers, {len(tiny.train.captions)} captions)"
    )
    assert len(repr(tiny).splitlines()) == 4 and "test" in repr(tiny) and "words" in repr(tiny)
    run = icrlib.train(tiny, **FEW)
    assert len(repr(run)) < 300 and f"rsum {run.record['test']['rsum']:.1f}" in repr(run)
