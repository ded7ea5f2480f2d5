"""A batch in pieces is the whole batch: every loss, every model whose encoders look at one row at a time."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

import icrlib
from icrlib import losses
from icrlib.data.regions import Regions
from icrlib.losses import by_name
from icrlib.models.build import build
from icrlib.models.vse import VSE
from icrlib.training.pieces import check_pieces, in_pieces
from tests.training.test_resume import same_run

SIZES = {"feature_dim": 9, "words": 20, "embed_dim": 8, "word_dim": 6}
SHORT = {"updates": 4, "evaluate_every": 2, "batch_size": 10, "progress": False, "embed_dim": 8}


def batch(method: str, images: int = 10, each: int = 1):
    draw = torch.Generator().manual_seed(1)
    shape = (images, 5, 9) if method == "scan" else (images, 9)
    features = torch.rand(*shape, generator=draw, dtype=torch.float64)
    lengths = torch.randint(1, 8, (images * each,), generator=draw)
    return features, torch.randint(4, 20, (images * each, 7), generator=draw), lengths


def gradients(model, loss, features, words, lengths, count):
    """The loss and what it asks of every weight."""
    model.zero_grad()
    images, captions = (
        in_pieces(model.encode_images, count, features),
        in_pieces(model.encode_captions, count, words, lengths),
    )
    own = torch.arange(len(words)) // (len(words) // len(features)) == torch.arange(len(features))[:, None]
    value = loss(model.similarity(images, captions), own)
    value.backward()
    return [value.detach(), *(p.grad.clone() for p in model.parameters() if p.grad is not None)]


@pytest.mark.parametrize("count", [2, 3, 10])
@pytest.mark.parametrize("name", list(losses.LOSSES))
@pytest.mark.parametrize("method", ["vse++", "scan"])
def test_the_whole_batch(method, name, count):
    """Also where the pieces are not of one size; SmoothAP's have several captions an image."""
    torch.manual_seed(0)
    model = build(method, **SIZES).double()
    loss, given = by_name(name), batch(method, each=3 if name == "smoothap" else 1)
    whole, found = (gradients(model, loss, *given, n) for n in (1, count))
    assert len(whole) == len(found) > 4
    for one, other in zip(whole, found, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-10, atol=1e-12)


def test_regions_with_lengths():
    torch.manual_seed(0)
    model, (features, *told) = build("scan", **SIZES).double(), batch("scan")
    given = Regions(features, torch.tensor([5, 1, 2, 3, 4, 5, 1, 2, 2, 3]))
    whole, found = (gradients(model, losses.NTXent(), given, *told, n) for n in (1, 4))
    for one, other in zip(whole, found, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "given",
    [
        {"loss": "triplet_sh", "drop_words": 0.3, "delete_words": 0.2},
        {"loss": "ntxent", "learn_tau": True, "accumulate": 2},
        {"loss": "smoothap", "batches": "images"},
        {"loss": "goal:con x con", "warmup": 1},
        {"method": "ltd", "loss": "ntxent", "objective": "dual", "target": "lsa"},
        {"method": "bow", "loss": "dcl"},
    ],
    ids=str,
)
def test_a_run(tiny, given):
    """In single precision, with what a run throws dice for, an auxiliary and a start."""
    runs = [icrlib.train(tiny, **{"method": "vse++"} | given | SHORT, batch_parts=n) for n in (1, 3)]
    for name, value in runs[0].model.state_dict().items():
        torch.testing.assert_close(runs[1].model.state_dict()[name], value, rtol=1e-4, atol=1e-5)
    assert runs[1].history[0]["loss"] == pytest.approx(runs[0].history[0]["loss"], rel=1e-5)
    assert runs[1].record["config"]["batch_parts"] == 3 and runs[1].record["identity"] != runs[0].record["identity"]


def test_a_run_encodes_no_more_than_a_piece(tiny, monkeypatch):
    """Both encoders, there and back."""
    rows = {"images": [], "captions": []}
    for name, seen in rows.items():
        plain = getattr(VSE, f"encode_{name}")

        def spy(self, given, *more, plain=plain, seen=seen):
            seen.extend([len(given)] * self.training)
            return plain(self, given, *more)

        monkeypatch.setattr(VSE, f"encode_{name}", spy)
    icrlib.train(tiny, "vse++", "ntxent", batch_parts=3, **SHORT)
    assert rows == dict.fromkeys(rows, 4 * [4, 4, 2, 2, 4, 4]) or rows == dict.fromkeys(rows, 4 * [4, 4, 2, 4, 4, 2])


def test_the_second_time_throws_the_same_dice():
    """An encoder with dropout: what goes back belongs to what went there."""

    class Dropping(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(9, 9, dtype=torch.float64)

        def forward(self, rows):
            return torch.nn.functional.dropout(self.layer(rows), 0.5)

    found = []
    for plainly in (True, False):
        torch.manual_seed(0)
        model, rows = Dropping(), torch.rand(12, 9, dtype=torch.float64)
        out = torch.cat([model(part) for part in rows.split(4)]) if plainly else in_pieces(model, 3, rows)
        (out**3).sum().backward()
        found.append((out.detach(), model.layer.weight.grad))
    for one, other in zip(*found, strict=True):
        assert torch.equal(one, other)


def test_a_run_in_pieces_goes_on_where_it_was_killed(tiny, tmp_path, monkeypatch):
    given = {"method": "vse++", "loss": "ntxent", "drop_words": 0.2, "batch_parts": 4} | SHORT
    whole = icrlib.train(tiny, **given, out=tmp_path / "whole")
    calls, plain = [], icrlib.training.loop.look

    def cut(*some):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return plain(*some)

    with monkeypatch.context() as patch:
        patch.setattr(icrlib.training.loop, "look", cut)
        with pytest.raises(KeyboardInterrupt):
            icrlib.train(tiny, **given, out=tmp_path / "cut")
    same_run(whole, icrlib.train(tiny, **given, out=tmp_path / "cut"))


def test_what_is_refused(tiny):
    with pytest.raises(ValueError, match=r"batch_parts=11 are more pieces than batch_size=10 has rows"):
        icrlib.train(tiny, "vse++", "ntxent", batch_parts=11, **SHORT)
    with pytest.raises(ValueError, match="batch_parts must be a whole number of at least 1; got 0"):
        icrlib.train(tiny, "vse++", "ntxent", batch_parts=0, **SHORT)
    model = build("vse_infty", **SIZES).train()
    check_pieces(model, 1, 10)
    with pytest.raises(
        ValueError, match=r"batch_parts=2: batch normalisation \(.*statistics of a piece.*a method without"
    ):
        check_pieces(model, 2, 10)
    check_pieces(model.eval(), 2, 10)


MEMORY = """
import resource, sys, torch, icrlib
from icrlib.losses import NTXent
from icrlib.models.build import build
from icrlib.models.vse import VSE
from icrlib.training.pieces import in_pieces
torch.set_num_threads(1)
rows, count = map(int, sys.argv[1:])
model = build("vse++", feature_dim=64, words=100, embed_dim=128, word_dim=64)
def update():
    images = in_pieces(model.encode_images, count, torch.rand(rows, 64))
    captions = in_pieces(model.encode_captions, count, torch.randint(4, 100, (rows, 30)), torch.full((rows,), 30))
    NTXent()(images @ captions.T, torch.eye(rows, dtype=torch.bool)).backward()
build_up = build("vse++", feature_dim=64, words=100, embed_dim=128, word_dim=64)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
update()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


@pytest.mark.process
def test_the_memory_of_one_piece():
    """Peak of a process: 2,048 pairs in eight pieces, beside 256 pairs at once."""

    def peak(*words):
        said = subprocess.run(
            [sys.executable, "-c", MEMORY, *map(str, words)], capture_output=True, text=True, check=True
        )
        return float(said.stdout)

    matrices = 8 * 2048**2 * 4
    assert peak(2048, 8) < 1.2 * peak(256, 1) + matrices < peak(2048, 1)
