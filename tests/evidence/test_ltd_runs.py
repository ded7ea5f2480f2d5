"""Records of LTD's objectives: settings, pairs of rules, curves, intervals."""

from __future__ import annotations

import numpy as np
import pytest

from icrlib.evidence import ltd_runs
from ltd_runs import run_of


def test_what_an_objective_does_not_use_is_no_part_of_its_setting():
    assert ltd_runs.setting(run_of("con")) == ("con", None, None, None)
    assert ltd_runs.setting(run_of("dual")) == ("dual", "sbert", None, None)
    assert ltd_runs.setting(run_of("lagrange", rule="projected")) == ("lagrange", "sbert", 0.2, "projected")
    published, other = run_of("dual", aux="tokens"), run_of("dual", aux="tokens")
    other["config"]["auxiliary_options"] = {"softmax": "vocabulary", "decoder_words": 64}
    assert ltd_runs.setting(published).target == "tokens, softmax over time"
    assert ltd_runs.setting(other).target == "tokens" and len(ltd_runs.grouped([published, other])) == 2


def test_runs_are_grouped_and_a_seed_that_comes_twice_is_refused():
    records = [run_of("lagrange", seed=2), run_of("con"), run_of("lagrange", seed=1)]
    result = ltd_runs.grouped(records)
    assert [r["config"]["seed"] for r in result[ltd_runs.Setting("lagrange", "sbert", 0.2, "published")]] == [1, 2]
    with pytest.raises(ValueError, match="one seed"):
        ltd_runs.grouped([*records, run_of("lagrange", seed=1)])


def test_rules_are_paired_by_target_bound_and_draw():
    records = [run_of("lagrange", seed=s) for s in (0, 1, 2)]
    records += [run_of("lagrange", seed=s, rule="projected") for s in (1, 2, 3)]
    records += [run_of("lagrange", eta=0.1), run_of("lagrange", target="form", rule="projected"), run_of("dual")]
    ((key, rules),) = ltd_runs.both_rules(records).items()
    assert key == ("sbert", 0.2)
    assert [[r["config"]["seed"] for r in rules[rule]] for rule in ("published", "projected")] == [[1, 2], [1, 2]]
    assert ltd_runs.both_rules([]) == {}


@pytest.mark.parametrize("objective", ["con", "dual", "lagrange"])
def test_curves_are_the_log_by_column(objective):
    result = ltd_runs.curves(run_of(objective))
    assert np.abs(result["contrastive"] - (5 - 0.05 * np.arange(60))).max() < 1e-9
    assert result["update"][0] == 20 and ("lambda" in result) == (objective == "lagrange")


def test_shares_of_a_constraint_that_sleeps():
    record = run_of("lagrange", losses=[0.1] * 4, rows=4)
    record["log"] = [[20, 1, 1, 0.3, 0.5], [40, 1, 1, 0.3, 0.0], [60, 1, 1, 0.1, 0.0], [80, 1, 1, 0.1, 0.2]]
    assert ltd_runs.asleep(record) == (0.5, 0.25)


def test_intervals_by_hand():
    a, b = [1.0, 2.0, 4.0], [0.5, 1.0, 1.5]
    result = ltd_runs.interval(a, b)
    d = np.subtract(a, b)
    half = 4.302653 * d.std(ddof=1) / 3**0.5
    assert result[:3] == pytest.approx((d.mean(), d.mean() - half, d.mean() + half), abs=1e-5) and result.n == 3
    assert str(ltd_runs.interval([3.0])) == "3.0 (one draw)"
    assert ltd_runs.interval(a).mean == pytest.approx(7 / 3)
