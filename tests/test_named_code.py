"""Code that data names never runs: every text of every file that a reader looks at is replaced by the name of a module
that tells when it is imported."""

from __future__ import annotations

import copy
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
import torch

import icrlib
import job
from icrlib import names, parsing, records
from icrlib.data import feature_folder
from icrlib.files import read_sealed, write_sealed
from icrlib.parameters import declared
from icrlib.planning import asked, cost
from icrlib.search.album import Album, of_model
from icrlib.search.encoders import network_of
from icrlib.search.index import Index
from icrlib.training import checkpoints
from tests.data.photos import extract, make
from tests.data.test_hostile import places
from tests.test_cli import icr

PLANTED = "planted_by_a_stranger:Thing"
SIZES = {"updates": 2, "batch_size": 8, "embed_dim": 4, "evaluate_every": 1, "progress": False}


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A module on the path that a file may name; returns whether it has run."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    module = PLANTED.partition(":")[0]
    (folder / f"{module}.py").write_text("import os\nos.environ['PLANTED'] = 'ran'\nThing = int\n")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PLANTED", "")
    yield lambda: os.environ["PLANTED"] == "ran" or module in sys.modules
    sys.modules.pop(module, None)


class Colours:
    """A sentence encoder of a reader's own, of four numbers."""

    def encode(self, texts):
        return np.array([[len(text), text.count("e"), text.count("a"), 1.0] for text in texts])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Photos, features, a run on them, an album, and a run of method `sentence`."""
    folder = tmp_path_factory.mktemp("whole")
    make(folder / "photos", train=6, val=3, test=3)
    extract(folder / "photos", folder / "features")
    data = icrlib.load_dataset("flickr8k", features=folder / "features", min_count=1)
    icrlib.train(data, out=folder / "run", word_dim=4, **SIZES)
    icrlib.train(data, "sentence", out=folder / "said", teacher="tests.test_named_code:Colours", **SIZES)
    (folder / "album").mkdir()
    for file in sorted((folder / "photos" / "images").iterdir())[:4]:
        shutil.copy(file, folder / "album")
    Album(folder / "album").update(of_model(folder / "run", "run", "scenes"), folder / "run", progress=False)
    return folder


@pytest.fixture
def there(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "there")


def edited(value, path, new):
    """A copy with ``new`` at ``path``."""
    value = copy.deepcopy(value)
    inside = value
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = new
    return value


def texts(value):
    """Where a text stands, or nothing; and at the top level also names that are not there."""
    inside = [path for path in places(value) if path]
    for path in inside:
        found = value
        for key in path:
            found = found[key]
        if found is None or isinstance(found, str):
            yield path


def quietly(*uses):
    """Call them; whatever they refuse, they refuse."""
    for use in uses:
        try:
            use()
        except (ValueError, FileNotFoundError, KeyError, TypeError):
            continue


MODEL_OPTIONS = ("backbone", "teacher", "network", "vocabulary", "method")


def model_files(there):
    """model.json of both runs, as anybody could write it."""
    for run in ("run", "said"):
        path = there / run / "model.json"
        about = json.loads(path.read_text())
        more = [("options", name) for name in MODEL_OPTIONS]
        for place in [*texts({k: v for k, v in about.items() if k != "words"}), ("words", 0), *more]:
            new = edited(about, place, PLANTED)
            path.write_text(json.dumps(new))
            yield (
                place,
                [
                    lambda run=run: icrlib.load_model(there / run),
                    lambda run=run: icrlib.load_model(there / run, teacher="tests.test_named_code:Colours"),
                    lambda run=run: of_model(there / run, "run", "scenes").texts(["a dog"]),
                    lambda run=run: Index.of(there / run, there / "features"),
                ],
            )
        path.write_text(json.dumps(about))


def record_files(there):
    path = there / "run" / "record.json"
    whole = json.loads(path.read_text())
    small = {**whole, "history": whole["history"][:1], "log": whole["log"][:1]}
    more = [("config", name) for name in ("auxiliary", "backbone", "target", "teacher")]
    more += [("sources",), ("config", "model_options"), ("config", "auxiliary_options")]
    for place in [*texts(small), *more]:
        path.write_text(json.dumps(edited(small, place, PLANTED)))
        yield (
            place,
            [
                lambda: records.load(path)["config"],
                lambda: checkpoints.state_of(there / "run"),
                lambda: cost.sentence(small["config"], records=list(asked.of_runs(there))),
                lambda: asked.finished(small["config"], asked.of_runs(there)),
                lambda: icr("compare", path, there / "said" / "record.json"),
                lambda: icr("status", there),
                lambda: names.label(str(records.load(path)["config"]["loss"])),
            ],
        )
    path.write_text(json.dumps(whole))


def config_files(there):
    path = there / "run" / "config.json"
    whole = json.loads(path.read_text())
    data = icrlib.load_dataset("flickr8k", features=there / "features", min_count=1)
    for place in texts(whole):
        path.write_text(json.dumps(edited(whole, place, PLANTED)))
        yield (
            place,
            [
                lambda: checkpoints.state_of(there / "run"),
                lambda: icrlib.train(data, out=there / "run", word_dim=4, **SIZES),
            ],
        )
    path.write_text(json.dumps(whole))


def feature_notes(there):
    path = there / "features" / "features.json"
    whole = json.loads(path.read_text())
    for place in [*texts(whole), ("network",), ("method",)]:
        path.write_text(json.dumps(edited(whole, place, PLANTED)))
        yield (
            place,
            [
                lambda: feature_folder.parts(there / "features"),
                lambda: network_of(there / "features", None),
                lambda: icrlib.load_dataset("flickr8k", features=there / "features", min_count=1),
                lambda: icr("search", there / "run", there / "album" / "t0.jpg", "--features", there / "features"),
                lambda: icr("features", there / "photos", there / "features"),
            ],
        )
    path.write_text(json.dumps(whole))


def grid_parameters(there):
    path = there / "parameters.json"
    whole = {
        "parameters": dict.fromkeys(("method", "loss", "auxiliary", "backbone", "target", "teacher", "dataset"), "x"),
        "record": None,
    }
    for place in texts({"parameters": whole["parameters"]}):
        path.write_text(json.dumps(edited(whole, place, PLANTED)))
        (there / "failed.txt").unlink(missing_ok=True)
        yield place, [lambda: job.main(there)]


def notebooks(there):
    path = there / "chapter.ipynb"
    source = f"import {PLANTED.partition(':')[0]}\nloss = __import__('{PLANTED.partition(':')[0]}')\n"
    cell = {"cell_type": "code", "source": source, "metadata": {"tags": ["parameters"]}}
    path.write_text(json.dumps({"cells": [cell]}))
    yield ("cells",), [lambda: declared(path)]


@pytest.mark.parametrize(
    "files",
    [
        model_files,
        record_files,
        config_files,
        feature_notes,
        grid_parameters,
        notebooks,
    ],
)
def test_no_text_of_a_file_is_imported(there, planted, files, monkeypatch):
    monkeypatch.setattr(job, "execute", lambda parameters, output, handle: (int(names.imported(PLANTED) and 0), ""))
    tried = 0
    for place, uses in files(there):
        quietly(*uses)
        assert not planted(), place
        tried += 1
    assert tried


def test_a_checkpoint_is_numbers(there, planted):
    """Pickled code is refused, under the checksum, too; and no text of it is imported."""

    class Code:
        def __reduce__(self):
            return (eval, (f"__import__('{PLANTED.partition(':')[0]}')",))

    path = there / "run" / "checkpoint.pt"
    data = icrlib.load_dataset("flickr8k", features=there / "features", min_count=1)
    (there / "run" / "record.json").unlink()
    state = torch.load(io.BytesIO(read_sealed(path)), weights_only=True)
    for place in texts({"state": {k: v for k, v in state["state"].items() if k != "best"}}):
        buffer = io.BytesIO()
        torch.save(edited(state, place, PLANTED), buffer)
        write_sealed(path, buffer.getvalue())
        quietly(lambda: icrlib.train(data, out=there / "run", word_dim=4, **SIZES))
        (there / "run" / "record.json").unlink(missing_ok=True)
        assert not planted(), place
    for content in (pickle.dumps(Code()), zipped(pickle.dumps(Code()))):
        write_sealed(path, content)
        with pytest.raises(ValueError, match="not a checkpoint of this run"):
            icrlib.train(data, out=there / "run", word_dim=4, **SIZES)
        assert "damaged" in checkpoints.state_of(there / "run") and not planted()


def zipped(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", content)
        archive.writestr("archive/version", "3")
    return buffer.getvalue()


def test_what_is_handed_over_is_used(there, planted):
    """The message names the way, on the command line it is the very command; and that command works."""
    own = "tests.test_named_code:Colours"
    with pytest.raises(names.NotHandedOver, match=f"names the teacher '{own}'.*hand it over, teacher='{own}'"):
        icrlib.load_model(there / "said")
    assert icrlib.load_model(there / "said", teacher=own).options["teacher"] == own
    typed = ["search", there / "said", "a dog", "--features", there / "features"]
    refused = icr(*typed)
    assert refused.exit_code == 1
    again = refused.output.strip().splitlines()[-1].strip()
    assert again == f"icr search {there / 'said'} 'a dog' --features {there / 'features'} --teacher {own}"
    assert icr(*typed, "--teacher", own).exit_code == 0
    other = "planted_by_a_stranger:Thing; rm -rf ~"
    path = there / "said" / "model.json"
    about = json.loads(path.read_text())
    about["options"]["teacher"] = other
    path.write_text(json.dumps(about))
    assert "icr search" not in icr(*typed).output, "what is no name of code is no word of a command"


def test_a_run_goes_on_with_the_callers_names(whole, tmp_path, monkeypatch):
    """A loss of one's own is found by the name that the caller says again; the folder's never counts."""
    data = icrlib.load_dataset("flickr8k", features=whole / "features", min_count=1)
    own = {"loss": "tests.own_parts:Squared", "word_dim": 4, "out": tmp_path / "run"}
    icrlib.train(data, **own, **SIZES)
    (tmp_path / "run" / "record.json").unlink()
    noted = json.loads((tmp_path / "run" / "config.json").read_text())
    (tmp_path / "run" / "config.json").write_text(json.dumps(noted | {"loss": PLANTED}))
    assert icrlib.train(data, **own, **SIZES).record["config"]["loss"] == own["loss"]


def test_one_gate(planted):
    """Whatever a reader forgets: while a file is read, a name becomes code only where it is registered."""
    with names.from_file("x.json"), pytest.raises(names.NotHandedOver, match="x.json"):
        names.LOSSES.find(PLANTED)
    assert not planted()
    with names.from_file("x.json", [PLANTED]):
        assert names.imported(PLANTED) is int
    assert names.imported(PLANTED) is int


IMPORTERS = {  # where a name can become code; each but the gate takes names from this repository only
    "icrlib/names.py",
    "icrlib/cli/main.py",  # COMMANDS
    "icrlib/studies.py",  # scripts/studies, by the names of its files
    "icrlib/data/backbones.py",  # torchvision
}


def test_no_other_place_imports_by_name():
    root = Path(icrlib.__file__).parents[1]
    found = {
        str(path.relative_to(root))
        for path in (root / "icrlib").rglob("*.py")
        if any(word in path.read_text() for word in ("import_module(", "__import__(", "exec(", 'eval("', "eval(f"))
    }
    assert found == IMPORTERS
    assert parsing.__file__ and "eval(" not in Path(parsing.__file__).read_text()
