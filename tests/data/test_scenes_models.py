"""What trained models must show for ``scenes`` to teach what it is meant to: the acceptance that needs training."""

from __future__ import annotations

import pytest
import torch

import icrlib
from icrlib import records


@pytest.mark.slow
def test_a_bag_of_words_knows_attributes_and_no_order():
    """Swap twins at chance, attribute twins well above it: the words suffice for one and not for the other."""
    run = icrlib.train(icrlib.load_dataset("scenes"), "bow", "ntxent", updates=1000, progress=False)
    twins = run.record["test"]["twins"]
    assert 45 <= twins["swap"] <= 55 and twins["attribute"] > 80
    assert twins["swap_n"] > 300 and twins["attribute_n"] > 100


def test_nt_xent_finds_the_task_neither_trivial_nor_hopeless():
    """From the book's records, whose newest are re-run by tests/test_records.py."""
    found = records.find(dataset="scenes", method="vse++", loss="ntxent")
    assert len(found) >= 3
    assert all(20 <= record["test"]["t2i"]["r1"] <= 55 for record in found)


def test_word_order_of_a_caption_cannot_reach_a_bag():
    data = icrlib.load_dataset("scenes", smoke=True, cache=False)
    run = icrlib.train(data, "bow", "ntxent", smoke=True, progress=False)
    words, lengths = data.vocabulary.encode(["a red ring left of a blue square", "a blue ring left of a red square"])
    both = run.model.encode_captions(words, lengths)
    assert torch.allclose(both[0], both[1], atol=1e-6)
