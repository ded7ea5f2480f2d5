"""The script behind records/zero_shot.jsonl: what it computes, and what it wrote down."""

from __future__ import annotations

import base64
import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import zero_shot
from icrlib import records
from icrlib.data.splits import Split


def split(images=12, each=2):
    captions = [f"caption {number}" for number in range(images * each)]
    owner = torch.arange(images * each) // each
    return Split("test", torch.zeros(images, 1), captions, owner, [str(row) for row in range(images)])


def test_recalls_of_scores_that_are_there():
    one = split()
    found = torch.rand(12, 24, generator=torch.Generator().manual_seed(0))
    right = [int((found[:, c] > found[c // 2, c]).sum()) for c in range(24)]
    assert zero_shot.judged(found, one)["t2i"]["r5"] == pytest.approx(100 * np.mean([place < 5 for place in right]))


@pytest.mark.parametrize("sign", zero_shot.SIGNS)
def test_signs_leave_a_photo_out(sign):
    """A photo that is not there is in no mean, no spread and no place: as if the row had never been."""
    found = torch.rand(14, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    gone = found.clone()
    gone[[2, 5, 13], [0, 1, 2]] = torch.nan
    for column, row in enumerate((2, 5, 13)):
        rest = np.delete(found[:, column].numpy(), row)
        top = sorted(rest, reverse=True)
        wanted = {
            "best": top[0],
            "best above the mean of the album": top[0] - rest.mean(),
            "best above the mean, in spreads": (top[0] - rest.mean()) / rest.std(),
            "best above the second": top[0] - top[1],
            "best above the next nine": top[0] - np.mean(top[1:10]),
        }
        assert float(zero_shot._sign(sign, gone)[column]) == pytest.approx(wanted[sign])


def test_a_perfect_model_is_caught_when_its_photos_are_gone():
    part = split()
    data = SimpleNamespace(val=part, test=part)
    found = torch.rand(12, 24, generator=torch.Generator().manual_seed(2)) / 10
    found[part.image_of, torch.arange(24)] = 1 + torch.rand(24, generator=torch.Generator().manual_seed(3))
    line = zero_shot.silence(0, None, [{"val": found, "test": found}], data)
    assert line["signs"]["best"]["caught"] == 100 and line["signs"]["best"]["false alarms"] <= 13


def test_what_was_written_down():
    lines = [json.loads(line) for line in (records.root() / zero_shot.LINES).read_text().splitlines()]
    alone = next(line for line in lines if line["kind"] == "ladder" and not line["photos"])
    ranks = {side: np.frombuffer(base64.b64decode(raw), "<u2") for side, raw in alone["test"]["ranks"].items()}
    assert {side: len(some) for side, some in ranks.items()} == {"i2t": 1000, "t2i": 5000}
    again = sum(100 * (some <= cut).mean() for some in ranks.values() for cut in (1, 5, 10))
    assert again == pytest.approx(alone["test"]["rsum"])
    names = {(line["names"], line["classes"]): line["val_rsum"] for line in lines if line["kind"] == "names"}
    assert max(names, key=names.get) == ("wordnet", 1000), "what the encoder takes is what was best"
    inner = {f"{weight:g}": weight for weight in zero_shot.WEIGHTS[1:-1]}
    for line in lines:
        if line["kind"] == "ladder" and line["photos"]:
            assert inner[max(line["val_rsum"], key=line["val_rsum"].get)] == line["weight"], "not at an edge"
    signs = [sign for line in lines if line["kind"] == "silence" for sign in line["signs"].values()]
    assert len(signs) == 25
    assert max(sign["caught, best possible"] for sign in signs) < 15, "so that no page says that nothing stands out"
