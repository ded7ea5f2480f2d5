"""Signs by condition: one function, one word where candidates tie, and the same words as the ledger of claims."""

import numpy as np
import pytest

from icrlib import evidence, records
from icrlib.evidence.conditions import FIRST, OPEN, PAIRS, SECOND, SMALL, Condition, signs, table
from icrlib.studies import lists

from .made import record

BOOK = lists("conditions")
CONDITIONS = (*BOOK.ON_VSE, *BOOK.ELSEWHERE)
PAIR = ("triplet_sh", "ntxent")


def made(loss, rsums, **config):
    """Records of a loss on the bag of words, run s on its own draw of the data."""
    return [record(loss, s, float(x), method="bow", **config) for s, x in enumerate(rsums)]


def store(**studies):
    """A stand-in for records.find on made-up studies."""

    def find(study, **wanted):
        return [r for r in studies.get(study, []) if all(r["config"][k] == v for k, v in wanted.items())]

    return find


BASE = np.array([400.0, 402.0, 399.0, 401.0])
WOBBLE = np.array([0.3, -0.2, 0.1, -0.2])
HERE = Condition("here", "bow", ("one",))


def test_a_sign_has_a_word_and_what_is_left_possible():
    find = store(one=made("triplet_sh", BASE + 9 + WOBBLE) + made("ntxent", BASE) + made("triplet", BASE + 1 + WOBBLE))
    result = signs(HERE, find)
    assert set(result) == {PAIR, ("triplet_sh", "triplet"), ("ntxent", "triplet")}
    assert [result[pair].word for pair in (PAIR, ("ntxent", "triplet"))] == [FIRST, SMALL]
    half = 3.182446 * WOBBLE.std(ddof=1) / 2  # t with 3 degrees of freedom, by hand
    assert str(result[PAIR]) == f"+9.0 ± {half:.1f}" and str(result["ntxent", "triplet"]) == f"−1.0 ± {half:.1f} ="


def test_candidates_within_a_searchs_error_have_to_agree():
    tied = Condition("tied", "bow", ("one",), instead={"triplet_sh": ("one", "other")})
    one = made("triplet_sh", BASE + 9 + WOBBLE) + made("ntxent", BASE)
    for gap, word in ((7, FIRST), (-7, OPEN), (0, OPEN)):
        other = made("triplet_sh", BASE + gap + WOBBLE, lr=0.3, warmup=5)
        result = signs(tied, store(one=one, other=other))[PAIR]
        assert result.word == word and len(result.verdicts) == 2
        assert str(result).count("±") == 2 and result.difference.mean == pytest.approx(9)
    assert signs(tied, store(one=one))[PAIR].word == FIRST  # the other has not been run


def test_a_study_with_several_constants_of_a_loss():
    """Only those that are asked for; all of a loss that none are asked for."""
    runs = made("triplet_sh", BASE) + made("ntxent", BASE - 9 + WOBBLE, loss_options={"tau": 0.1})
    runs += made("ntxent", BASE + 9 + WOBBLE, loss_options={"tau": 0.05})
    for tau, word in ((0.1, FIRST), (0.05, SECOND), (0.2, None)):
        result = signs(Condition("here", "bow", ("one",), constants={"ntxent": {"tau": tau}}), store(one=runs))
        assert (result[PAIR].word if PAIR in result else None) == word


def test_only_shared_draws_and_enough_of_them():
    ten = made("ntxent", np.tile(BASE, 3)[:10])
    assert signs(HERE, store(one=made("triplet_sh", BASE - 9 + WOBBLE) + ten))[PAIR].n == 4
    assert signs(HERE, store(one=made("triplet_sh", BASE - 9 + WOBBLE) + ten))[PAIR].word == SECOND
    assert signs(HERE, store(one=made("triplet_sh", BASE[:2]) + ten)) == {}
    row = table([HERE], store(one=made("triplet_sh", BASE + 9 + WOBBLE) + ten), [PAIR, PAIRS[1]]).iloc[0]
    assert row["n"] == "4" and list(row)[3] == "–"


@pytest.mark.slow
def test_the_words_are_those_of_the_ledger():
    """At published constants the claims page judges the same pairs, in larger families."""
    words = {FIRST: {"reproduced", "holds"}, SECOND: {"contradicted", "fails"}, SMALL: {"equivalent"}}
    words[OPEN] = {"undecided"}
    for title, dataset, model in (("published constants", "scenes", "vse++"), ("bag of words", "scenes", "bow")):
        (condition,) = (one for one in CONDITIONS if one.title == title)
        ledger = evidence.Evidence(lists("places").of_model(dataset, model), records.find).verdicts
        for (a, b), sign in signs(condition, records.find).items():
            assert ledger[f"rsum {a} > {b}"].word in words[sign.word], (title, a, b)


def test_every_condition_has_its_studies():
    for one in CONDITIONS:
        named = {*one.studies, *(study for studies in one.instead.values() for study in studies)}
        assert all(records.find(study=study) for study in named), one.title
    assert len({one.title for one in CONDITIONS}) == len(CONDITIONS) and PAIRS[0] == PAIR
