"""What is written down about sentence encoders is what they see."""

import numpy as np
import pytest

import icrlib
from icrlib.data.targets import measured, teacher
from icrlib.data.targets.order_sensitivity import order_sensitivity


@pytest.mark.slow
def test_what_is_written_of_the_small_encoder_is_measured_again():
    """Another processor may turn the near tie of a caption, worth up to 0.7 points; a distance it hardly moves."""
    found = measured.measured(icrlib.load_dataset("scenes", seed=0), teacher("sbert"))
    for key, value in measured.recorded("sbert").items():
        assert found[key] == pytest.approx(value, abs=0.7 if key.endswith("nearer") else 5e-5), key
    assert set(measured.recorded("mpnet")) == set(found)


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
