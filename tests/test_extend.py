"""A new method, loss and auxiliary, each one file that the loop knows nothing of: they go the whole way."""

from __future__ import annotations

import pytest
import torch

import icrlib
from icrlib import evaluation, metrics
from icrlib.training.config import resolve
from icrlib.training.loop import prepare

MODEL, LOSS, BAGS = (f"tests.own_parts:{name}" for name in ("WordByWord", "Squared", "Bags"))


@pytest.fixture(scope="module")
def scenes():
    return icrlib.load_dataset("scenes", train=60, val=24, test=30, progress=False)


def by_hand(model, split):
    """Every image with every caption, one pair at a time."""
    model.eval()
    with torch.no_grad():
        images = [model.encode_images(split.features[i : i + 1]) for i in range(len(split))]
        told = [model.encode_captions(*model.vocabulary.encode([text])) for text in split.captions]
        return torch.stack([torch.stack([model.similarity(i, c)[0, 0] for c in told]) for i in images])


def test_a_similarity_that_is_no_inner_product_goes_the_whole_way(scenes, tmp_path):
    """Train, evaluate, twins, word order, save, load: all from scores, none from vectors."""
    run = icrlib.train(scenes, MODEL, "ntxent", updates=40, evaluate_every=10, out=tmp_path / "run", progress=False)
    assert run.record["config"]["model_options"] == {"size": 6} and run.record["config"]["lr"] != 5e-3  # data before it
    split, expected = scenes.test, by_hand(run.model, scenes.test)
    found = evaluation.scores(run.model, split)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    measured = icrlib.evaluate(run.model, split)
    assert measured["i2t"] == pytest.approx(metrics.from_scores(expected, split.positives))
    assert measured["t2i"] == pytest.approx(metrics.from_scores(expected.T, split.positives.T))
    assert run.record["test"]["rsum"] == pytest.approx(measured["rsum"], abs=1e-3)
    caption, own, other, swap = split.twin_questions
    right = (expected[own, caption] > expected[other, caption]).double()
    assert run.record["test"]["twins"]["swap"] == pytest.approx(100 * float(right[swap].mean()), abs=1e-4)
    assert run.record["test"]["order"]["own"] == 50  # a mean over words knows no order

    loaded = icrlib.load_model(tmp_path / "run", method=MODEL)
    torch.testing.assert_close(evaluation.scores(loaded, split), found)
    with pytest.raises(ValueError, match="names the method 'tests.own_parts:WordByWord'.*hand it over, method="):
        icrlib.load_model(tmp_path / "run")


@pytest.mark.parametrize(
    "options",
    [
        {"objective": "dual", "beta": 0.5},
        {"objective": "lagrange", "eta": 0.4},
        {"objective": "lagrange", "eta": 0.4, "multiplier": "projected"},
    ],
)
def test_an_auxiliary_of_ones_own(tiny, options):
    """It learns, its value is in the history and the log, and its weights are trained with the model's."""
    alone = icrlib.train(tiny, updates=60, progress=False)
    run = icrlib.train(tiny, auxiliary=BAGS, updates=60, progress=False, **options)
    assert run.history[-1]["reconstruction"] < run.history[0]["reconstruction"]
    assert [row[0] for row in run.record["log"]] == [*range(1, 61)]
    assert run.record["log_columns"][:4] == ["update", "loss", "contrastive", "reconstruction"]
    assert run.history[0]["loss"] != alone.history[0]["loss"] and run.record["config"]["auxiliary"] == BAGS
    if options["objective"] == "lagrange":
        assert run.record["log_columns"][4] == "lambda" and run.history[0]["lambda"] != 1
        logged = {row[0]: row[4] for row in run.record["log"]}
        assert logged[run.history[-1]["update"]] == pytest.approx(run.history[-1]["lambda"], abs=1e-6)


def test_the_model_draws_its_weights_before_the_auxiliary(tiny):
    """Runs that differ in the auxiliary start from the same encoders."""
    plain, _ = prepare(tiny, resolve(tiny, "vse++", "ntxent", given={}))
    beside, criterion = prepare(tiny, resolve(tiny, "vse++", "ntxent", given={"auxiliary": BAGS}))
    assert criterion.auxiliary is not None
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), beside.parameters(), strict=True))


def test_the_multiplier_rests_during_the_warm_up_and_starts_at_one(tiny):
    options = {"auxiliary": BAGS, "objective": "lagrange", "eta": 0.4, "warmup": 20, "updates": 40}
    run = icrlib.train(tiny, loss="triplet_sh", evaluate_every=10, progress=False, **options)
    values = [entry["lambda"] for entry in run.history]
    assert values[:2] == [1, 1] and values[2] != 1


def test_one_multiplier_step_an_update_with_the_mean_over_accumulated_batches(tiny):
    options = dict(auxiliary=BAGS, objective="lagrange", eta=0.4, lr=1e-12, evaluate_every=1, progress=False)
    run = icrlib.train(tiny, accumulate=3, updates=1, **options)
    alone = icrlib.train(tiny, updates=3, **options).history  # the same three batches, at a rate that moves nothing
    plain, mean = (sum(entry[name] for entry in alone) / 3 for name in ("contrastive", "reconstruction"))
    assert run.history[0]["contrastive"] == pytest.approx(plain, rel=1e-6)
    assert run.history[0]["reconstruction"] == pytest.approx(mean, rel=1e-6)
    assert run.history[0]["loss"] == pytest.approx(plain + mean / 0.4 - 1, rel=1e-6)
    assert run.history[0]["lambda"] == pytest.approx(1 + 0.005 * (mean / 0.4 - 1), abs=1e-7)


def test_a_name_that_two_have_must_be_spelled_out(tiny):
    """``margin`` is an option of the loss and of this auxiliary."""
    options = dict(loss=LOSS, auxiliary=BAGS, updates=2, progress=False)
    with pytest.raises(ValueError, match="write loss_margin= or auxiliary_margin="):
        icrlib.train(tiny, margin=0.1, **options)
    config = icrlib.train(tiny, loss_margin=0.15, auxiliary_margin=0.25, **options).record["config"]
    assert config["loss_options"]["margin"] == 0.15 and config["auxiliary_options"]["margin"] == 0.25


def test_places_that_lead_nowhere(tiny):
    for place, message in (
        ("tests.own_parts:Nothing", "has no 'Nothing'"),
        ("no_module:Thing", "no module 'no_module'"),
    ):
        for what in ("method", "loss", "auxiliary"):
            with pytest.raises(ValueError, match=message):
                icrlib.train(tiny, **{what: place}, progress=False)
