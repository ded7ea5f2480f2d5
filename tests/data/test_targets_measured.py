"""What is written down about sentence encoders is what they see."""

import json

import numpy as np
import pytest

import icrlib
from icrlib.data.targets import measured, mpnet, teacher
from icrlib.data.targets.encoder import NoSentenceEncoder
from icrlib.data.targets.order_sensitivity import order_sensitivity
from measure_teachers import FILE


def compare(found, name):
    """Another processor may turn the near tie of a caption, worth up to 0.7 points; a distance it hardly moves."""
    for key, value in measured.recorded(name).items():
        assert found[key] == pytest.approx(value, abs=0.7 if key.endswith("nearer") else 5e-5), key


@pytest.mark.slow
def test_what_is_written_of_the_small_encoder_is_measured_again():
    """So the file that also speaks of the large one was made by this code, on these captions."""
    data = icrlib.load_dataset("scenes", seed=0)
    compare(measured.measured(data, teacher("sbert")), "sbert")


@pytest.mark.slow
def test_the_large_encoder_too_where_it_is_there():
    try:
        mpnet.unpacked()
    except NoSentenceEncoder as err:
        pytest.skip(str(err))
    compare(measured.measured(icrlib.load_dataset("scenes", seed=0), teacher("mpnet")), "mpnet")


def test_means_weigh_each_exchange_by_its_captions():
    data = icrlib.load_dataset("scenes", train=300, val=20, test=20)
    lsa = teacher("lsa", captions=data.train.captions)
    found, rows = measured.seen(data.train, lsa, 60), order_sensitivity(data.train, lsa, count=60, progress=False)
    for kind in measured.TRUE:
        said = [row for row in rows if row["paraphrase"] == kind and row["n"]]
        assert len({row["n"] for row in said}) > 1  # or equal weights would do
        every = np.repeat([row["accuracy"] for row in said], [row["n"] for row in said])
        assert found[f"{kind}, nearer"] == pytest.approx(every.mean())
    assert found["swap"] >= 0


def test_the_file_has_both_and_nothing_else():
    keys = {"swap", "floor", *measured.TRUE, *(f"{kind}, nearer" for kind in measured.TRUE)}
    there = json.loads(FILE.read_text(encoding="utf-8"))
    assert set(there) == {"sbert", "mpnet"} and all(set(one) == keys for one in there.values())
