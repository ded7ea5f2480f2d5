"""The replay of a multiplier's rule, against the library's own multiplier, and over LTD's records (RF §6b)."""

from __future__ import annotations

import numpy as np
import pytest

from icrlib import LagrangeMultiplier
from icrlib.paper import ltd_curves, replay

LATER = ltd_curves.constrained("tmlr")


@pytest.fixture(scope="module")
def agreements():
    return {rule: {run: replay.agreement("tmlr", run, rule) for run in LATER} for rule in replay.RULES}


@pytest.mark.parametrize("rule", replay.RULES)
def test_every_step_is_the_librarys(rule):
    """Losses that drive λ below its lower bound, up again, and beyond the upper one."""
    losses = np.repeat([0.05, 0.6, 100.0], (500, 200, 60)) + 0.02 * np.random.default_rng(3).normal(size=760)
    multiplier = LagrangeMultiplier(0.2, rule=rule)
    ours, expected = replay.replay(losses, 0.2, rule), []
    for loss in losses:
        multiplier.step(loss)
        expected.append((float(multiplier.value), float(multiplier.raw)))
    np.testing.assert_allclose(np.stack(ours, 1), expected, rtol=0, atol=1e-10)
    assert (ours.value.min(), ours.value.max()) == (0, 100)
    assert (ours.raw < 0).any() == (ours.raw > 100).any() == (rule == "published")


def test_the_published_rule_explains_the_later_record(agreements):
    for run, result in agreements["published"].items():
        assert result.correlation >= 0.999, (run, result)
        assert abs(result.zero - result.zero_recorded) <= 0.02, (run, result)
    assert agreements["published"]["lag_0.2"].zero_recorded == pytest.approx(0.948, abs=5e-4)


def test_a_projected_rule_does_not(agreements):
    result = agreements["projected"]
    assert result["lag_0.2"].zero == pytest.approx(0.20, abs=0.005) and result["lag_0.2"].correlation < 0.5
    assert result["lag_0.25"].zero < 0.25 and result["lag_0.25"].correlation < 0.5
    for run in ("lag_0.05", "lag_0.1"):  # where λ never comes to 0, the two rules agree: no evidence either way
        assert result[run].correlation == pytest.approx(agreements["published"][run].correlation, abs=1e-9)


@pytest.mark.parametrize("record", ltd_curves.RECORDS)
def test_the_first_recorded_step_is_undamped_and_starts_at_one(record):
    for run, eta in ltd_curves.constrained(record).items():
        recorded, loss = (ltd_curves.curve(record, run, name).values[:1] for name in ("lambda", "reconstruction"))
        expected = replay.replay(loss, eta).value[0]
        damped = 1 + 0.1 * (expected - 1)
        assert abs(recorded - expected) < 6e-6 and abs(recorded - damped) > 1e-2


def test_between_two_records_the_loss_is_a_straight_line():
    steps, values = ltd_curves.curve("tmlr", "lag_0.2", "reconstruction")
    losses = replay.every_step("tmlr", "lag_0.2")
    assert len(losses) == 265_535 and np.array_equal(losses[steps], values)
    assert losses[25] == pytest.approx(0.75 * values[0] + 0.25 * values[1])
    assert losses[4413] == pytest.approx((values[44] + values[45]) / 2)  # the last gap of an epoch is 26 steps


def test_the_record_is_whole_and_in_order():
    """Counts and ends by RF §6b and the releases' own rule of logging; and that a caller cannot change it."""
    steps = ltd_curves.curve("release", "baseline", "contrastive").steps
    assert len(steps) == 2700 and steps[-1] == 265_534 and set(np.diff(steps)) == {100, 26}
    assert len(ltd_curves.curve("old", "lag_0.1", "lambda").values) == 2696
    ends = {"baseline": 322.14, "dual": 324.35}
    ends |= {"lag_0.05": 314.06, "lag_0.1": 319.90, "lag_0.2": 332.04, "lag_0.3": 323.64}
    for run, end in ends.items():
        steps, values = ltd_curves.curve("release", run, "rsum")
        assert values[-1] == pytest.approx(end, abs=0.005) and (np.diff(values) >= 0).all() and steps[-1] == 265_560
    assert list(ltd_curves.constrained("tmlr").values()) == [0.05, 0.1, 0.15, 0.2, 0.25]
    values[:] = 0
    assert ltd_curves.curve("release", "lag_0.3", "rsum").values[-1] > 300
    values = ltd_curves.curve("release", "lag_0.05", "lambda").values
    assert values[:3].tolist() == [1.09786, 8.17664, 13.6995] and values.max() == 100.0  # six digits were recorded
