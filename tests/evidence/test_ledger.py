"""Claims judged by whatever runs there are: too few, enough, each kind of part; on made-up records."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from icrlib import paper
from icrlib.evidence import ledger, measures
from icrlib.evidence.ecir_rows import LOSSES
from icrlib.evidence.ledger import Evidence, weakest
from icrlib.paper import ecir, ltd
from icrlib.paper.claims import _COUNTS, WAYS
from icrlib.studies import Unfinished, lists, studies

from .made import finder as of
from .made import record

# What a made-up run of each loss has: rsum (and the recalls with it), effective negatives, share without a gradient.
RSUM = {"triplet": 300.0, "triplet_sh": 350.0, "ntxent": 340.0, "smoothap": 345.0}
HEARD = {"triplet": 7.0, "triplet_sh": 1.0, "ntxent": 10.0, "smoothap": 1.3}
NOISE = np.random.default_rng(3).normal(size=(len(LOSSES), 20))
places = lists("places")
VSRN = places.of_model("scenes", "vsrn")
CLAIMS = paper.claims("ecir")


def made(loss, seed, method="vsrn", *, rsum=None, heard=None, silent=95.0, dataset="scenes"):
    """A run whose chosen evaluation is its first; 128 queries, ``silent`` % of them without a gradient."""
    noise = NOISE[LOSSES.index(loss), seed]
    total = (rsum or RSUM)[loss] + noise
    result = record(loss, seed, total, method=method, dataset=dataset)
    none = round(1.28 * silent)
    count = {"C_q": 2.0, "C_B": 2.0 * (128 - none), "C_0": float(none), "n_eff": (heard or HEARD)[loss] + noise / 50}
    result["history"][0]["cocos"] = {"i2t": count, "t2i": count}
    result["chosen"] = {"update": result["history"][0]["update"], "val_rsum": total}
    for side in ("i2t", "t2i"):
        result["test"][side] |= {"average_recall": total / 6, "map_at_5": total / 600}
    return result


def every(seeds=10, losses=LOSSES, method="vsrn", **more):
    return [made(loss, seed, method, **more) for loss in losses for seed in range(seeds)]


def judge(result, number):
    return result.judge(CLAIMS["tests"][number])


def test_a_claim_is_as_strong_as_its_weakest_part():
    """One part against it decides; then one that is missing, one undecided, one too small."""
    order = ("contradicted", None, "undecided", "equivalent", "reproduced")
    for words in itertools.chain(*(itertools.product(order, repeat=n) for n in (1, 2, 3, 4))):
        strength = min(words, key=order.index)
        assert weakest(dict(enumerate(words))) == (strength or "not run yet"), words
    assert weakest({1: "holds", 2: "fails"}) == "fails" and weakest({1: "holds", 2: "holds"}) == "holds"
    assert weakest({1: "undecided (n = 2)", 2: "equivalent"}) == "undecided (n = 2)"


def test_without_runs_everything_waits_and_the_command_is_named():
    result = Evidence(VSRN, of([]))
    assert result.verdicts == {} and result.missing == dict.fromkeys(LOSSES, 0)
    assert str(judge(result, 1)) == "not run yet" and judge(result, 1).missing == LOSSES
    assert judge(result, 3).missing == ("triplet_sh", "ntxent")
    assert judge(result, 18) is None and judge(result, 11) is None  # about VSE++; a matter of formulas
    assert VSRN.command(result.missing) == ("make records STUDY=vsrn_tuning", "make records STUDY=vsrn")


def test_a_loss_has_a_say_with_all_its_runs_only():
    assert Evidence(VSRN, of(every(9))).missing == dict.fromkeys(LOSSES, 9)
    result = Evidence(VSRN, of(every(10, LOSSES[:3]) + every(9, LOSSES[3:])))
    assert result.missing == {"smoothap": 9} and set(result.groups) == set(LOSSES[:3])
    assert judge(result, 3).word == "reproduced" and judge(result, 5).word == judge(result, 7).word == "not run yet"
    assert not any("smoothap" in part for part in result.verdicts)
    bags = Evidence(places.of_model("scenes", "bow"), of(every(method="bow")))
    assert judge(bags, 2).word == "holds" and judge(bags, 22).word == "fails"  # a claim of ours


def test_words_are_those_of_the_textbook_in_one_family_a_table():
    """Every p of the recalls by scipy's paired t-test, and Holm's correction written out."""
    result = Evidence(VSRN, of(every()))
    numbers = {
        "rsum": lambda r: r["test"]["rsum"],
        "i2t": lambda r: r["test"]["i2t"]["average_recall"],
        "t2i": lambda r: r["test"]["t2i"]["average_recall"],
        "map": lambda r: 100 * r["test"]["i2t"]["map_at_5"],
    }
    alone = {}
    for part in result.verdicts:
        name, first, _, second = part.split()
        if name in numbers:
            ours, other = ([numbers[name](made(loss, seed)) for seed in range(10)] for loss in (first, second))
            alone[part] = stats.ttest_rel(ours, other).pvalue
    assert len(alone) == 6 + 3 + 3 + 3  # rsum, both directions, mAP@5
    for part, p in alone.items():
        below = [q for q in alone.values() if q <= p]
        holm = max(min(1, (len(alone) - k) * q) for k, q in enumerate(sorted(below)))
        assert result.verdicts[part].adjusted == pytest.approx(holm, rel=1e-6), part
    assert [str(judge(result, n)) for n in (1, 5, 6)] == ["reproduced (6 of 6)", "reproduced", "reproduced (3 of 3)"]


def test_the_smallest_difference_of_a_recall_is_a_sixth_of_that_of_the_rsum():
    close = Evidence(VSRN, of(every(rsum=RSUM | {"smoothap": 349.0})))
    assert close.verdicts["rsum triplet_sh > smoothap"].word == "equivalent"
    assert close.verdicts["i2t triplet_sh > smoothap"].word == "equivalent"
    apart = Evidence(VSRN, of(every(rsum=RSUM | {"smoothap": 345.8})))
    assert apart.verdicts["i2t triplet_sh > smoothap"].word == "reproduced"
    assert judge(close, 7).word == "equivalent" and str(judge(close, 7)) == "equivalent (1 of 3)"


@pytest.mark.parametrize(
    "heard, rsum, says",
    [
        (HEARD, RSUM | {"ntxent": 290.0}, "reproduced (6 of 6)"),
        (HEARD, RSUM, "contradicted (1 of 6)"),  # NT-Xent hears most and is ahead of Triplet
        ({loss: -n for loss, n in HEARD.items()}, RSUM | {"ntxent": 290.0}, "contradicted (6 of 6)"),
        (HEARD | {"ntxent": 7.0}, RSUM | {"ntxent": 290.0}, "undecided (1 of 6)"),
    ],
    ids=["all six", "one against", "turned", "one tied"],
)
def test_the_rule_that_fewer_is_better(heard, rsum, says):
    assert str(judge(Evidence(VSRN, of(every(heard=heard, rsum=rsum))), 22)) == says


def test_counts_are_read_at_the_chosen_evaluation():
    run = made("smoothap", 0, silent=25.0)
    later = {"C_q": 0.0, "C_B": 0.0, "C_0": 77.0, "n_eff": 0.0}
    run["history"][1]["cocos"] = {"i2t": later, "t2i": later}
    assert measures.silent(run, "t2i") == 25.0
    run["chosen"]["update"] = run["history"][1]["update"]
    assert measures.silent(run, "t2i") == 100.0
    much, little = (Evidence(VSRN, of(every(silent=share))) for share in (95.0, 5.0))
    assert [judge(much, n).word for n in (23, 24)] == ["reproduced", "contradicted"]
    assert [judge(little, n).word for n in (23, 24)] == ["contradicted", "reproduced"]
    assert judge(much, 14).word == "contradicted" and judge(much, 20).word == "reproduced"  # 7 and 1.3 against 1


def test_runs_that_differ_in_more_than_the_loss_are_refused():
    runs = every()
    for run in runs[20:30]:  # NT-Xent's
        run["config"]["updates"] = 1500
    with pytest.raises(ValueError, match="updates"):
        Evidence(VSRN, of(runs))


def test_every_part_is_one_that_can_be_decided():
    for number, tests in CLAIMS["tests"].items():
        for method, parts in (tests or {}).items():
            assert method in ("*", "vse++", "vsrn", "bow")
            for part in set(parts) - {"rule", "map best"}:
                name, first, sign, second = part.split()
                assert name in measures.MEASURES and first in LOSSES, (number, part)
                assert sign in ledger.KINDS and (second in LOSSES or math.isfinite(float(second))), (number, part)
    assert VSRN.describe("rsum triplet_sh > ntxent") == "Triplet-SH − NT-Xent, rsum"
    assert VSRN.describe("heard_t2i smoothap = 1") == "SmoothAP, negatives heard t2i, less 1 (equal)"


def test_commands_and_numbers_of_runs_are_those_of_the_studies(monkeypatch):
    """A list of `make records` makes the runs that a place waits for, and as many as it waits for."""
    monkeypatch.setattr(lists().flickr8k, "searched", lambda study, losses: list(losses))  # with its search finished
    for at in places.ECIR:
        for loss in LOSSES:
            commands = [c for c in at.command([loss]) if c.startswith("make records")]
            names = [c.split("STUDY=")[1].split()[0] for c in commands]
            if not names:
                assert at.command([loss])[0].startswith(f"icr train reproduce/tables -p dataset={at.dataset} ")
                continue
            assert set(names) <= set(studies) and ("FEATURES=" in commands[0]) == (at.dataset != "scenes")
            try:
                planned = [run for run in studies[names[-1]].runs() if (run.method, run.loss) == (at.method, loss)]
            except Unfinished:  # the search that it waits for
                continue
            assert {(run.study, run.dataset) for run in planned} == {(at.study.name, at.dataset)}
            assert len({run.seed for run in planned}) == at.wanted


def test_the_search_counts_with_the_constants_of_the_runs_alone():
    """Of rates beside other temperatures another may be the best one; the runs that are judged have none of these."""
    searched = []
    for tau, lr, rsum in ((0.1, 0.001, 300.0), (0.1, 0.003, 320.0), (0.05, 0.01, 400.0)):
        one = record("ntxent", 100, method="vsrn", lr=lr, loss_options={"tau": tau})
        searched.append(one | {"chosen": {"update": 250, "val_rsum": rsum}})

    def find(study, **wanted):
        return searched if study == "vsrn_tuning" else of(every())(study, **wanted)

    assert Evidence(VSRN, find).tuning == {"ntxent": {"lr": 0.003}}


def test_ecirs_claims_against_its_own_tables():
    """Counted by hand in Table 1 and the reference facts; and cell by cell for the first."""
    words = paper.against_own_tables("ecir")["verdict"].to_dict()
    assert {n for n, word in words.items() if word != "agrees with its table"} == {4, 22, 26, 27, 31}
    assert [words[n].removeprefix("does not: ") for n in (4, 22, 27)] == ["7 of 8", "18 of 24", "2 of 4"]
    printed, ahead = paper.table("ecir/1"), 0
    for _, rows in printed.groupby(["dataset", "method"]):
        (hardest,) = rows[rows["loss"] == "Triplet loss SH"][ecir.RECALLS].to_numpy()
        ahead += int((hardest > rows[ecir.RECALLS].to_numpy()).sum())
    assert ecir.COUNTS[1]()[:2] == (ahead, 72) == (72, 72)


def test_claims_say_how_they_are_judged():
    """By tables where they are counted, by records where parts are tested, by computation where a page has it."""
    for name, count, tables in (("ecir", 31, ecir.COUNTS), ("ltd", 37, ltd.COUNTS), ("goal", 21, _COUNTS)):
        judged = paper.claims(name)["judged"].str.split(", ")
        assert list(judged.index) == list(range(1, count + 1)) and set(judged.explode()) <= set(WAYS)
        assert set(tables) == {number for number, ways in judged.items() if "paper tables" in ways}
    for claims in (CLAIMS, paper.claims("ltd")):
        for number, row in claims.to_dict("index").items():
            assert row["broken"] or "not measurable as published" not in row["judged"], number
            assert row["see"] or row["tests"] or "computation" not in row["judged"], number
            if claims is CLAIMS or number != 4:  # L4: a chapter judges it
                assert ("records" in row["judged"]) == bool(row["tests"]), number
            if claims is CLAIMS and (row["asked"] or "").startswith("as E"):
                same = int(row["asked"].split(";")[0].removeprefix("as E"))
                assert row["tests"] == CLAIMS["tests"][same], number
