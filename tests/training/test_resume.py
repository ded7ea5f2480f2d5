"""A run that was killed ends exactly as one that was not. The killing is real: SIGKILL to another process."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import signal
import zipfile
from pathlib import Path

import pytest
import torch

import icrlib
from icrlib.files import StorageError
from icrlib.training import checkpoints
from tests.killing import exit_code

WORKER = """
import os, sys, signal
from tests.conftest import make_tiny
import icrlib
real, writes = os.replace, 0
def replace(source, target):
    global writes
    writes += str(target).endswith("checkpoint.pt")
    if writes == 3:
        with open(source, "r+b") as f: f.truncate(100)  # half-written beside the good one
        os.kill(os.getpid(), signal.SIGKILL)
    return real(source, target)
os.replace = replace
icrlib.train(make_tiny(), loss="triplet_sh", out=sys.argv[1], progress=False)
"""


def comparable(record: dict) -> dict:
    cost = ("wall_seconds", "seconds_per_epoch", "peak_memory_mb", "path")
    return {key: value for key, value in record.items() if key not in cost}


def same_run(expected, again) -> None:
    """To the bit, but for what it cost."""
    for name, value in expected.model.state_dict().items():
        assert torch.equal(value, again.model.state_dict()[name]), name
    assert comparable(expected.record) == comparable(again.record)


@pytest.fixture
def asked(monkeypatch):
    """Numbers of the batches that were drawn."""
    found, real = [], icrlib.sampling.Sampler.__getitem__
    monkeypatch.setattr(icrlib.sampling.Sampler, "__getitem__", lambda s, u: (found.append(u), real(s, u))[1])
    return found


def test_a_run_killed_in_a_checkpoint_write_ends_bit_identical(tiny, tmp_path, asked):
    """And does not start over: at an evaluation every 3 updates."""
    unbroken = icrlib.train(tiny, loss="triplet_sh", out=tmp_path / "unbroken", progress=False)
    assert exit_code(WORKER, str(tmp_path / "killed")) == -signal.SIGKILL
    assert not (tmp_path / "killed" / "record.json").exists()
    asked.clear()
    same_run(unbroken, icrlib.train(tiny, loss="triplet_sh", out=tmp_path / "killed", progress=False))
    assert (asked[0], asked[-1]) == (6, 39)


def test_a_finished_run_is_returned_and_writes_the_record_that_is_asked_for_later(tiny, tmp_path, monkeypatch):
    run = icrlib.train(tiny, out=tmp_path / "run", progress=False)
    monkeypatch.setattr(icrlib.training.loop, "fit", None)
    path = tmp_path / "records" / "a.json"
    again = icrlib.train(tiny, out=tmp_path / "run", record=path, progress=False)
    assert comparable(again.record) == comparable(run.record) == comparable(icrlib.records.load(path))
    assert icrlib.evaluate(again.model, tiny.test) == icrlib.evaluate(run.model, tiny.test)
    assert json.loads(path.read_text()) == json.loads((tmp_path / "run" / "record.json").read_text())
    with pytest.raises(ValueError, match="this record exists"):
        icrlib.train(tiny, out=tmp_path / "run", record=path, progress=False)
    icrlib.train(tiny, out=tmp_path / "run", record=tmp_path / "run" / "record.json", progress=False)  # it is there
    assert not run.model.training and not again.model.training


def test_a_record_that_cannot_be_written_is_noticed_before_training(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(icrlib.training.loop, "fit", None)
    (tmp_path / "taken").write_text("x")
    with pytest.raises(StorageError, match=r"taken.*cannot be written"):
        icrlib.train(tiny, progress=False, record=tmp_path / "taken" / "a.json")


def test_a_run_that_failed_at_once_leaves_its_folder_free(tiny, tmp_path, monkeypatch):
    """Nothing is lost by it; but a config.json of other origin is nobody's to replace."""
    with monkeypatch.context() as broken:
        broken.setattr(icrlib.training.loop, "fit", lambda *a: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            icrlib.train(tiny, out=tmp_path / "run", updates=2, progress=False)
    run = icrlib.train(tiny, out=tmp_path / "run", updates=2, seed=1, progress=False)
    assert json.loads((tmp_path / "run" / "config.json").read_text())["seed"] == run.record["config"]["seed"] == 1
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.json").write_text('{"model_type": "clip"}')
    with pytest.raises(ValueError, match="holds another run"):
        icrlib.train(tiny, out=tmp_path / "other", updates=2, progress=False)
    assert (tmp_path / "other" / "config.json").read_text() == '{"model_type": "clip"}'
    (tmp_path / "run" / "config.json").write_text("{")
    with pytest.raises(ValueError, match="run holds another run.*config.json"):
        icrlib.train(tiny, out=tmp_path / "run", updates=2, seed=1, progress=False)


def test_another_run_in_the_folder_is_refused(tiny, tmp_path):
    icrlib.train(tiny, out=tmp_path / "run", updates=2, progress=False)
    for kept in ("record.json", "checkpoint.pt"):  # also where one of the two was cleared away
        with pytest.raises(ValueError, match=r"holds another run \(.*seed: 0, now 1\).*another out="):
            icrlib.train(tiny, out=tmp_path / "run", updates=2, seed=1, progress=False)
        (tmp_path / "run" / kept).rename(tmp_path / kept)
        with pytest.raises(ValueError, match="holds another run"):
            icrlib.train(tiny, out=tmp_path / "run", updates=2, seed=1, progress=False)
        (tmp_path / kept).rename(tmp_path / "run" / kept)


def test_a_damaged_checkpoint_is_named(tiny, tmp_path):
    """Cut off, one byte another, pickled code, behind a seal as earlier versions wrote it, or of another program."""
    exit_code(WORKER, str(tmp_path / "run"))
    path = tmp_path / "run" / "checkpoint.pt"
    content = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        weights = max((archive.read(name) for name in archive.namelist() if "/data/" in name), key=len)
    at = content.index(weights) + len(weights) // 2
    flipped = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
    sealed = hashlib.sha256(content).digest() + content
    others = io.BytesIO()
    torch.save({"parts": {}}, others)
    for bad in (content[:1000], flipped, b"\x80\x04.", pickle.dumps(Path), sealed, others.getvalue()):
        path.write_bytes(bad)
        with pytest.raises(ValueError, match=r"checkpoint.pt: .*delete it to start"):
            icrlib.train(tiny, loss="triplet_sh", out=tmp_path / "run", progress=False)
        assert path.read_bytes() == bad


def test_models_round_trip_and_damage_is_named(tiny, tmp_path):
    run = icrlib.train(tiny, updates=3, progress=False)
    folder = run.save(tmp_path / "model")
    loaded = icrlib.load_model(folder)
    assert icrlib.evaluate(loaded, tiny.test) == icrlib.evaluate(run.model, tiny.test)
    weights, other = folder / "model.safetensors", icrlib.train(tiny, updates=3, seed=1, progress=False)
    for bad in (weights.read_bytes()[:-4], (other.save(tmp_path / "other") / "model.safetensors").read_bytes()):
        weights.write_bytes(bad)
        with pytest.raises(ValueError, match="model is damaged.*save or train it again"):
            icrlib.load_model(folder)
    run.model.twin = run.model.project  # tied weights: one memory under two names
    assert (run.save(tmp_path / "tied") / "model.safetensors").is_file()
    with pytest.raises(FileNotFoundError, match="no model.json here"):
        icrlib.load_model(tmp_path)


ALL_PARTS = dict(
    auxiliary="tests.own_parts:Bags",
    objective="lagrange",
    eta=0.4,
    learn_tau=True,
    optimiser="adamp",
    batch_size=8,
    schedule="cosine",
    average="swa",
    average_from=0.5,
    average_times=3,
    drop_words=0.2,
    delete_words=0.2,
    epochs=3,
)
LEARNED = dict(
    loss="siglip", learn_tau=True, learn_bias=True, scale=8.0, bias=-6.0, weight_decay=0.5, optimiser="adamw"
)
ALL_WORKER = """
import json, sys, icrlib
from tests.conftest import make_tiny
from tests.killing import die_in_step
die_in_step(int(sys.argv[2]))
out, given = sys.argv[1], json.loads(sys.argv[3])
icrlib.train(make_tiny(), out=out, progress=False, **given)
"""


@pytest.mark.parametrize(("given", "step"), [(ALL_PARTS, 41), (LEARNED, 27)], ids=["all parts", "SigLIP learned"])
def test_all_parts_survive_a_kill(tiny, tmp_path, asked, given, step):
    """Multiplier, learned scalars, AdamP, averages, dropped words: bit for bit as without a break."""
    pytest.importorskip("adamp")
    unbroken = icrlib.train(tiny, out=tmp_path / "unbroken", progress=False, **given)
    killed = exit_code(ALL_WORKER, str(tmp_path / "killed"), str(step), json.dumps(given))
    assert killed == -signal.SIGKILL and not (tmp_path / "killed" / "record.json").exists()
    asked.clear()
    again = icrlib.train(tiny, out=tmp_path / "killed", progress=False, **given)
    same_run(unbroken, again)
    assert step - 22 < asked[0] < step
    if "learn_bias" in given:
        assert abs(unbroken.history[-1]["bias"] + 6) < 0.3, "20 steps of 0.01 and 20 of 0.001; decay would take 0.6"


def test_torchs_own_generator_goes_on_where_it_was(tmp_path):
    """Nothing of ours throws its dice, but a layer of somebody's own model may, such as dropout."""
    checkpoints.write(tmp_path, {"update": 3}, {})
    expected = torch.rand(5)
    assert checkpoints.resume(tmp_path, {}) == {"update": 3} and torch.equal(torch.rand(5), expected)
