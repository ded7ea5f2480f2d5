"""Schedules, averages and augmentation: each against a slow twin, and each in the loop with VSE++."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import icrlib
from icrlib.data import augment
from icrlib.training import optim
from icrlib.training.average import Average, snapshots
from icrlib.training.config import resolve


def settings(**changes):
    usual = {"schedule": "step", "drops": [50], "updates": 100, "per_epoch": 10, "lr_warmup": 0}
    return SimpleNamespace(**usual | {"restart_lr": None, "finetune_after": None} | changes)


def test_steps_warm_up_and_cosine_of_the_rate():
    assert [optim.factor(u, settings(drops=[3, 5])) for u in range(7)] == pytest.approx([1, 1, 1, 0.1, 0.1, 0.01, 0.01])
    assert [optim.factor(u, settings(lr_warmup=4)) for u in range(5)] == [0.25, 0.5, 0.75, 1, 1]
    cosine = [optim.factor(u, settings(schedule="cosine")) for u in (0, 25, 50, 99)]
    assert cosine == pytest.approx([1, (1 + math.cos(math.pi / 4)) / 2, 0.5, (1 + math.cos(0.99 * math.pi)) / 2])


def test_the_rates_of_ltds_release():
    """RF §6.6: cosine once an epoch over 30, then 2e-5 and a cosine anew; rates of epochs 0, 15, 29, 30, 45, 59."""
    per_epoch = 7
    lengths = {"updates": 60 * per_epoch, "per_epoch": per_epoch, "finetune_after": 30 * per_epoch}
    config = settings(schedule="cosine_epoch", restart_lr=2e-5, **lengths)
    optimiser = SimpleNamespace(param_groups=[{"base": 2e-4}])
    rates = {e: optim.set_rates(optimiser, e * per_epoch + 3, config) for e in (0, 15, 29, 30, 45, 59)}
    assert rates == pytest.approx({0: 2e-4, 15: 1e-4, 29: 5.48e-7, 30: 2e-5, 45: 1e-5, 59: 5.48e-8}, rel=2e-3)
    # The annealing of torch, epoch by epoch.
    torch_rates, made = [], torch.optim.Adam([torch.zeros(1, requires_grad=True)], lr=2e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(made, 30)
    for _ in range(30):
        torch_rates.append(made.param_groups[0]["lr"])
        made.step()
        schedule.step()
    ours = [2e-4 * optim.factor(e * per_epoch, config) for e in range(30)]
    assert ours == pytest.approx(torch_rates, rel=1e-9)


@pytest.mark.parametrize("optimiser", ["adamw", "adamp"])
def test_rules_are_the_packages_own(tiny, optimiser):
    """Two updates of the rule itself give the loop's weights."""
    run = icrlib.train(
        tiny, updates=2, optimiser=optimiser, weight_decay=0.1, lr_update=99, evaluate_every=2, progress=False
    )
    config = resolve(tiny, "vse++", "ntxent", given={"optimiser": optimiser})
    model, criterion = icrlib.training.loop.prepare(tiny, config)
    kind = torch.optim.AdamW if optimiser == "adamw" else __import__("adamp").AdamP
    rule = kind(model.parameters(), lr=0.01, weight_decay=0.1)
    steps = icrlib.training.loop.forward(model, tiny.train, config, 0)
    for _ in range(2):
        rule.zero_grad()
        criterion(next(steps)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        rule.step()
    for name, value in model.state_dict().items():
        torch.testing.assert_close(run.model.state_dict()[name], value, rtol=1e-5, atol=1e-7)


def test_snapshots_where_ltds_release_takes_them():
    """RF §6.7: the two data sets' five updates each."""
    assert sorted(snapshots(4426, 0.9, 5)) == [4048, 4136, 4224, 4312, 4400]
    assert sorted(snapshots(1133, 0.9, 5)) == [1034, 1056, 1078, 1100, 1122]
    with pytest.raises(ValueError, match="too few for 5 snapshots.*average_times="):
        snapshots(59, 0.9, 5)


def test_an_average_is_the_mean_and_training_goes_on_from_it():
    weight = torch.nn.Parameter(torch.zeros(2))
    average = Average([weight], 20, 0.5, 3)
    assert sorted(average.when) == [12, 15, 18]
    seen = []
    for update in range(40):
        weight.data += update + 1.0
        if update % 20 + 1 in average.when:
            seen.append(weight.data.clone())
        average.stepped(update)
        if update % 20 == 19:
            torch.testing.assert_close(weight.data, torch.stack(seen).mean(0))
            seen = []


def test_swa_in_the_loop(tiny):
    """Evaluations at ends of epochs, of the averaged weights; other numbers than without."""
    options = dict(epochs=2, batch_size=8, progress=False, average="swa", average_from=0.5, average_times=3)
    run = icrlib.train(tiny, **options)
    per_epoch = run.record["config"]["per_epoch"]
    assert [e["update"] for e in run.history] == [per_epoch, 2 * per_epoch]
    plain = icrlib.train(tiny, **{k: v for k, v in options.items() if "average" not in k}, evaluate_every=per_epoch)
    assert run.history[0]["val"] != plain.history[0]["val"] or run.history[1]["val"] != plain.history[1]["val"]
    with pytest.raises(ValueError, match="a multiple of"):
        icrlib.train(tiny, **options, evaluate_every=per_epoch + 1)
    with pytest.raises(ValueError, match="updates must be a multiple of"):
        icrlib.train(tiny, **{**options, "epochs": None, "updates": 2 * per_epoch + 1})


@pytest.fixture
def captions():
    lengths = torch.tensor([4, 12, 22, 27, 3])
    numbers = torch.zeros(5, 27, dtype=torch.int64)
    for row, length in enumerate(lengths.tolist()):
        numbers[row, :length] = torch.arange(10, 10 + length) + 100 * row
        numbers[row, 0], numbers[row, length - 1] = 1, 2
    return numbers, lengths


def test_dropped_words(captions):
    """Marks stay, order stays, int(share · words) are gone, and about the right share becomes <unk>."""
    numbers, lengths = captions
    found, left = augment.drop_words(numbers, lengths, 0, 7, unknown=0.0, deleted=0.1)
    assert left.tolist() == [4, 11, 20, 25, 3]  # of 2, 10, 20, 25 and 1 words
    for row in range(5):
        words = found[row, : left[row]].tolist()
        assert words[0] == 1 and words[-1] == 2 and words[1:-1] == sorted(words[1:-1])
        assert set(words) <= set(numbers[row].tolist()) and not found[row, left[row] :].any()
    many, long = numbers[3:4].expand(400, -1), lengths[3:4].expand(400)
    found, _ = augment.drop_words(many, long, 0, 7, unknown=0.1)
    assert abs(float((found[:, 1:26] == 3).float().mean()) - 0.1) < 0.01
    assert (found[:, 0] == 1).all() and (found[:, 26] == 2).all()
    gone = [set(many[0].tolist()) - set(row.tolist()) for row in augment.drop_words(many, long, 0, 7, deleted=0.1)[0]]
    assert all(len(words) == 2 for words in gone) and len(set().union(*gone)) == 25  # any word may go


def test_dice_of_a_batch_are_its_own(captions):
    first, again, other, seed = (
        augment.drop_words(*captions, s, b, unknown=0.5)[0] for s, b in ((0, 1), (0, 1), (0, 2), (1, 1))
    )
    assert torch.equal(first, again) and not torch.equal(first, other) and not torch.equal(first, seed)
    torch.manual_seed(0)
    state = torch.get_rng_state()
    augment.drop_words(*captions, 0, 1, unknown=0.5, deleted=0.2)
    augment.erase(torch.ones(2, 3, 16, 16), 0, 1, 1.0)
    assert torch.equal(state, torch.get_rng_state())


def test_what_is_dropped_does_not_depend_on_the_padding_of_a_batch(captions):
    """The longest caption of all decides what is drawn, whoever shares the batch."""
    numbers, lengths = captions
    chances = {"unknown": 0.5, "deleted": 0.2}
    left = augment.drop_words(numbers, lengths, 0, 7, **chances)[1]
    some, also = augment.drop_words(numbers[:3, :22], lengths[:3], 0, 7, **chances, width=27)
    table = np.random.default_rng((0, 7, 0, 1)).random((2, 3, 27))
    assert also.tolist() == left[:3].tolist() and some.shape == (3, 22)
    kept = augment.drop_words(numbers[:3, :22], lengths[:3], 0, 7, unknown=0.5, width=27)[0]
    inner = (torch.arange(22) > 0) & (torch.arange(22) < lengths[:3, None] - 1)
    assert ((kept == 3) == (inner & torch.from_numpy(table[0, :, :22] < 0.5))).all()


def test_erased_pictures():
    pictures = torch.ones(600, 3, 32, 48)
    found = augment.erase(pictures, 0, 0, 0.2)
    hit = [place for place in range(600) if not found[place].all()]
    assert abs(len(hit) / 600 - 0.2) < 0.05 and pictures.all()
    areas = []
    for place in hit:
        rows, columns = np.nonzero(found[place, 0].numpy() == 0)
        height, width = np.ptp(rows) + 1, np.ptp(columns) + 1
        assert len(rows) == height * width and (found[place] == 0).sum() == 3 * len(rows)  # one rectangle, all colours
        areas.append(height * width / (32 * 48))
    assert min(areas) > 0.01 and max(areas) < 0.36 and abs(np.mean(areas) - 0.175) < 0.04
