"""The loop: it learns, chooses by validation, stops in words, and refuses what it cannot do before it starts."""

from __future__ import annotations

import json

import pytest
import torch

import icrlib
from icrlib import losses
from icrlib.progress import Report
from icrlib.training import Diverged
from icrlib.training.config import resolve
from icrlib.training.loop import keep
from tests.conftest import make_split


@pytest.mark.parametrize("loss", list(losses.LOSSES))
@pytest.mark.parametrize("method", ["vse++", "bow"])
def test_every_loss_learns(tiny, method, loss):
    run = icrlib.train(tiny, method, loss, progress=False, updates=400)
    first, last = run.history[0]["val"]["rsum"], run.record["chosen"]["val_rsum"]
    chance = 2 * 100 * (1 + 5 + 10) / 20
    assert last > 1.3 * chance and last >= first
    assert json.loads(json.dumps(run.record)) == run.record  # plain JSON, no NaN


@pytest.mark.parametrize("accumulate", [1, 2])
def test_one_step_is_what_it_says(tiny, accumulate):
    """Two updates of plain PyTorch, written out here, give the loop's weights: of two batches the mean counts."""
    options = {"accumulate": accumulate, "updates": 2, "evaluate_every": 2, "progress": False, "lr": 0.01}
    run = icrlib.train(tiny, loss="ntxent", **options)
    torch.manual_seed(0)
    model = icrlib.models.build("vse++", 12, len(tiny.vocabulary), embed_dim=8, word_dim=6)
    words, lengths = tiny.vocabulary.encode(tiny.train.captions)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    sampler, means = icrlib.sampling.Sampler(tiny.train, 0, 16), []
    for update, lr in enumerate((0.01, 0.001)):  # the learning rate falls to a tenth halfway
        optimiser.param_groups[0]["lr"] = lr
        optimiser.zero_grad()
        values = []
        for number in range(accumulate * update, accumulate * (update + 1)):
            batch = sampler[number]
            scores = model(tiny.train.features[batch.images], words[batch.captions], lengths[batch.captions])
            same = torch.arange(len(scores))
            both = [torch.nn.functional.cross_entropy(s / 0.1, same) for s in (scores, scores.T)]
            values.append(sum(both) / 2)
        means.append(sum(values) / accumulate)
        means[-1].backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        optimiser.step()
    assert run.history[0]["loss"] == pytest.approx(float(sum(means).detach()) / 2, rel=1e-5)
    for name, value in model.state_dict().items():
        torch.testing.assert_close(run.model.state_dict()[name], value, rtol=1e-4, atol=1e-6)
    assert run.record["updates_per_epoch"] == sampler.per_epoch // accumulate


def test_warmup_uses_all_negatives_first(tiny):
    """For as long as it lasts it is a training with Triplet, and then it is another one."""
    budget = {"updates": 20, "evaluate_every": 10, "progress": False}
    plain = icrlib.train(tiny, loss="triplet", **budget).history
    warm = icrlib.train(tiny, loss="triplet_sh", warmup=10, **budget).history
    alike = [[(entry["loss"], entry["val"]) for entry in history] for history in (plain, warm)]
    assert alike[0][0] == alike[1][0] and alike[0][1] != alike[1][1]


def test_a_collapse_is_named_and_so_is_its_end(capsys, monkeypatch):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    scores, eye = torch.zeros(16, 16), torch.eye(16, dtype=torch.bool)
    entry = {"update": 1, "loss": 6.4, "val": {"rsum": 1.0}, "diagnose": icrlib.metrics.diagnose(scores, eye)}
    state = {"update": 0, "history": [entry]}
    report = Report({"method": "vse++", "loss": "triplet_sh", "seed": 0, "updates": 3}, state)
    report.show(entry)
    state["history"].append(entry | {"diagnose": icrlib.metrics.diagnose(torch.eye(16), eye)})
    report.show(state["history"][1])
    said = "".join(capsys.readouterr())
    assert "warmup=500" in said and "plateau is left" in said


def test_a_non_finite_loss_stops_with_the_last_checkpoint_kept(tiny, tmp_path, monkeypatch):
    real = losses.NTXent.__call__
    calls = {"n": 0}

    def poisoned(self, scores, positives):
        calls["n"] += scores.requires_grad  # the loop's calls alone
        return real(self, scores, positives) * (float("nan") if calls["n"] == 15 else 1.0)

    monkeypatch.setattr(losses.NTXent, "__call__", poisoned)
    with pytest.raises(Diverged, match="update 15 .* kept in"):
        icrlib.train(tiny, out=tmp_path / "run", progress=False)
    calls["n"] = 14
    with pytest.raises(Diverged, match="No checkpoint yet"):
        icrlib.train(tiny, out=tmp_path / "other", progress=False)
    monkeypatch.undo()
    assert icrlib.train(tiny, out=tmp_path / "run", progress=False).record["chosen"]  # it goes on from update 12


@pytest.fixture
def published():
    """Resolved settings on photos with five captions, and the updates of an epoch."""
    train = make_split("train", 300, 0, fewest=5, most=5)
    data = icrlib.data.Dataset("flickr30k", train, train, train, icrlib.data.Vocabulary.build(train.captions, 1), "0")
    return lambda loss="ntxent", **given: resolve(data, "vse++", loss, given=given)


def test_the_published_schedule(published):
    """30 epochs of pairs, a tenth after 15; SmoothAP: images for captions-per-image times as many epochs."""
    config, smooth = published(), published("smoothap")
    assert config.per_epoch == 12 and config.updates == 30 * 12 and config.drops == [15 * 12]
    assert (config.lr, config.batch_size, config.grad_clip) == (2e-4, 128, 2.0)
    assert config.model_options == {"embed_dim": 1024, "word_dim": 300}
    assert smooth.per_epoch == 3 and smooth.updates == 150 * 3 and smooth.drops == [75 * 3]
    assert smooth.batches == "images" and published(epochs=30, lr_update=10).drops == [120, 240]
    assert [published(epochs=n).drops for n in (1, 15)] == [[6], [90]], "halfway, of odd numbers of epochs, too"


def test_the_best_weights_are_tested_not_the_last(tiny, tmp_path):
    """A run whose best evaluation is not its last: that one is chosen, tested and handed back."""
    for seed in range(6):  # at such a rate it is chance, and the processor's rounding, which evaluation is the best
        run = icrlib.train(
            tiny, loss="triplet", seed=seed, updates=160, evaluate_every=10, lr_update=99, lr=0.3, progress=False
        )
        sums = [entry["val"]["rsum"] for entry in run.history]
        if max(sums) > sums[-1]:
            break
    assert max(sums) > sums[-1], "this run must get worse in the end to show anything"
    assert run.record["chosen"] == {"update": run.history[sums.index(max(sums))]["update"], "val_rsum": max(sums)}
    assert icrlib.evaluate(run.model, tiny.test)["rsum"] == pytest.approx(run.record["test"]["rsum"], abs=1e-4)
    assert icrlib.evaluate(run.model, tiny.val)["rsum"] == pytest.approx(max(sums), abs=1e-4)
    icrlib.train(tiny, updates=2, out=tmp_path / "other", progress=False)
    with pytest.raises(ValueError, match="is of another run"):
        run.save(tmp_path / "other")


def test_of_equal_evaluations_the_first_is_kept(tiny):
    model = icrlib.models.build("bow", 12, 20, embed_dim=4)
    state = {"history": [], "best": None}
    for update in (10, 20, 30):
        keep(state, {"update": update, "val": {"rsum": 50.0 if update < 30 else 49.0}}, model)
    assert state["best"]["update"] == 10
    for update in (10, 20, 30, 40):  # the start's own are of another loss
        keep(state, {"update": update, "val": {"rsum": 90.0 - update}}, model, start=20)
    assert state["best"]["update"] == 30


def test_bfloat16_learns_about_as_well(tiny):
    exact, mixed = (icrlib.train(tiny, updates=80, precision=p, progress=False) for p in ("float32", "bfloat16"))
    assert mixed.history[0]["loss"] == pytest.approx(exact.history[0]["loss"], rel=0.05)
    assert mixed.history[0]["loss"] != exact.history[0]["loss"]
    assert mixed.record["chosen"]["val_rsum"] > 0.8 * exact.record["chosen"]["val_rsum"]
    assert all(value.dtype == torch.float32 for value in mixed.model.state_dict().values())


def test_a_designed_gradient_logs_its_gap(tiny):
    run = icrlib.train(tiny, loss="goal:cir x lin", convention="released", updates=40, progress=False)
    gaps = [entry["gap"] for entry in run.history]
    assert run.record["config"]["loss"] == "goal:cir x lin" and run.record["config"]["asked"] == {
        "updates": 40,
        "convention": "released",
    }
    assert gaps[-1] < gaps[0]
    assert "gap" not in icrlib.train(tiny, updates=4, progress=False).history[0]
