"""What trained models must show for ``scenes`` to teach what it is meant to: the acceptance that needs training."""

from __future__ import annotations

import pytest

import icrlib
from icrlib.experiments import named, runs


@pytest.mark.slow
def test_a_bag_of_words_knows_attributes_and_no_order():
    """Swap twins at chance, attribute twins well above it: the words suffice for one and not for the other."""
    run = icrlib.train(icrlib.load_dataset("scenes"), "bow", "ntxent", updates=1000, progress=False)
    twins = run.record["test"]["twins"]
    assert twins["swap_n"] > 300 and twins["attribute_n"] > 100 and twins["attribute"] > 80
    assert abs(twins["swap"] - 50) < 4 * 50 / twins["swap_n"] ** 0.5  # four standard errors of a guess


def ecir() -> list[dict]:
    """Scenes' default runs."""
    losses = ["triplet", "triplet_sh", "ntxent", "smoothap"]
    return runs("scenes", method=["bow", "vse++"], loss=losses, seed=range(10), updates=3000)


def test_default_runs_are_neither_trivial_nor_hopeless():
    for record in ecir():
        assert 15 <= record["test"]["t2i"]["r1"] <= 55, record["path"]


def test_defaults_are_what_the_search_chose():
    """The best candidate with the published constant, for each method and loss; nobody typed in another number."""
    data = icrlib.load_dataset("scenes", smoke=True)
    chosen = {pair: best for pair, best in named.searched()["scenes"].best.items() if pair[0] != "vsrn"}
    assert len(chosen) == 8
    for (method, loss), settings in chosen.items():
        defaults = {"warmup": 0} | data.defaults_for(method, loss)
        assert {name: defaults[name] for name in ("lr", "warmup") if name in settings} == {
            name: settings[name] for name in ("lr", "warmup") if name in settings
        }, (method, loss)
