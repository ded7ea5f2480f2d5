"""A file names registered things only: no name in it is ever imported, no pickle opened. Callers may name their own."""

from __future__ import annotations

import io
import json
import os
import pickle
import shutil
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import icrlib
from icrlib import names, records
from icrlib.search.encoders import network_of
from tests.data.photos import extract, make
from tests.test_cli import icr

PLANTED, OWN = "planted_by_a_stranger:Thing", "tests.test_named_code:Colours"
SIZES = {"updates": 2, "batch_size": 8, "embed_dim": 4, "evaluate_every": 1, "progress": False}


class Colours:
    """A sentence encoder of a reader's own, of four numbers."""

    def encode(self, texts):
        return np.array([[len(text), text.count("e"), text.count("a"), 1.0] for text in texts])


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A module on the path that a file may name; returns whether it has run."""
    (tmp_path / "planted_by_a_stranger.py").write_text("import os\nos.environ['PLANTED'] = 'ran'\nThing = int\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PLANTED", "")
    yield lambda: os.environ["PLANTED"] == "ran" or "planted_by_a_stranger" in sys.modules
    sys.modules.pop("planted_by_a_stranger", None)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Features of photos, a run on them, and a run of method `sentence` with a teacher of one's own."""
    folder = tmp_path_factory.mktemp("made")
    make(folder / "photos", train=6, val=3, test=3)
    extract(folder / "photos", folder / "features")
    data = icrlib.load_dataset("flickr8k", features=folder / "features", min_count=1)
    icrlib.train(data, out=folder / "run", word_dim=4, **SIZES)
    icrlib.train(data, "sentence", out=folder / "own", teacher=OWN, **SIZES)
    return folder


@pytest.fixture
def copied(made, tmp_path):
    return shutil.copytree(made, tmp_path / "copied")


def plant(path: Path, *place: str) -> None:
    content = json.loads(path.read_text())
    inside = content
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = PLANTED
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("file", "place", "read"),
    [
        ("run/model.json", ["method"], lambda at: icrlib.load_model(at / "run")),
        ("run/model.json", ["options", "teacher"], lambda at: icrlib.load_model(at / "run")),
        ("run/model.json", ["options", "backbone"], lambda at: icrlib.load_model(at / "run")),
        ("own/model.json", ["method"], lambda at: icrlib.load_model(at / "own", teacher=OWN)),
        ("features/features.json", ["backbone"], lambda at: network_of(at / "features", None)),
    ],
)
def test_a_file_that_names_code_is_refused(copied, planted, file, place, read):
    plant(copied / file, *place)
    with pytest.raises(ValueError, match=str((copied / file).parent)):
        read(copied)
    assert not planted()


def test_names_in_records_and_notes_are_text(copied, planted):
    """They are read and shown, and never looked up; the run goes on by the names that its caller says."""
    for name in ("method", "loss", "backbone"):
        plant(copied / "run" / "record.json", "config", name)
        plant(copied / "run" / "config.json", name)
    config = records.load(copied / "run" / "record.json")["config"]
    assert config["loss"] == names.label(config["loss"]) == PLANTED and not names.is_baseline(config["method"])
    data = icrlib.load_dataset("flickr8k", features=copied / "features", min_count=1)
    assert icrlib.train(data, out=copied / "run", word_dim=4, **SIZES).model
    assert not planted()


def test_pickled_code_in_a_checkpoint_is_not_run(copied, planted):
    class Code:
        def __reduce__(self):
            return (eval, ("__import__('planted_by_a_stranger')",))

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(Code()))
        archive.writestr("archive/version", "3")
    (copied / "run" / "record.json").unlink()
    data = icrlib.load_dataset("flickr8k", features=copied / "features", min_count=1)
    for content in (pickle.dumps(Code()), buffer.getvalue()):
        (copied / "run" / "checkpoint.pt").write_bytes(content)
        with pytest.raises(ValueError, match="checkpoint.pt: "):
            icrlib.train(data, out=copied / "run", word_dim=4, **SIZES)
        assert not planted()


def test_what_the_caller_hands_over_is_used(copied):
    with pytest.raises(ValueError, match=f"own: .*{OWN}.*teacher="):
        icrlib.load_model(copied / "own")
    assert icrlib.load_model(copied / "own", teacher=OWN).options["teacher"] == OWN
    typed = ["search", copied / "own", "a dog", "--features", copied / "features"]
    refused = icr(*typed)
    assert refused.exit_code == 1 and "--teacher" in refused.output
    assert icr(*typed, "--teacher", OWN).exit_code == 0
