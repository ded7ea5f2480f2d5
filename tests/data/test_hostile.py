"""Whatever a file holds, it is read as it is meant or refused in a line with its name: never a traceback of something
inside."""

from __future__ import annotations

import copy
import json
import shutil
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import icrlib
from icrlib import records
from icrlib.data import karpathy, precomputed
from icrlib.training import checkpoints

from .photos import extract, make

CONTENTS = {
    "empty": lambda good: b"",
    "cut": lambda good: good[: len(good) // 2],
    "other bytes": lambda good: good[:9] + b"\xff\xfe\0" + good[9:],
    "no UTF-8": lambda good: "é".encode("latin-1") * 9,
    "list": lambda good: b"[1]",
    "null": lambda good: b"null",
    "object": lambda good: b"{}",
    "deep": lambda good: b"[" * 100_000,
    "folder": None,
}
ANOTHER = SimpleNamespace(flat=dict, identity=lambda: "another run")
READERS = {
    "photos/dataset_scenes.json": lambda at: karpathy.read(at / "photos"),
    "features/train_ims.npy": lambda at: precomputed.load(at / "features", name="flickr8k", min_count=1),
    "features/dev_caps.txt": lambda at: precomputed.load(at / "features", name="flickr8k", min_count=1),
    "run/record.json": lambda at: records.load(at / "run" / "record.json"),
    "run/model.json": lambda at: icrlib.load_model(at / "run"),
    "run/model.safetensors": lambda at: icrlib.load_model(at / "run"),
    "run/config.json": lambda at: checkpoints._claim(at / "run", ANOTHER),
    "run/checkpoint.pt": lambda at: checkpoints.resume(at / "run", {"model": None}),
}


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A file of each kind as it should be."""
    folder = tmp_path_factory.mktemp("hostile")
    make(folder / "photos", train=4, val=3, test=3)
    extract(folder / "photos", folder / "features")
    data = icrlib.load_dataset("scenes", smoke=True)
    icrlib.train(data, "bow", updates=2, embed_dim=4, batch_size=8, out=folder / "run", progress=False)
    return folder


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("file", READERS)
def test_another_content_is_refused_by_name(good, tmp_path, file, content):
    at = shutil.copytree(good, tmp_path / "at")
    original = (at / file).read_bytes()
    (at / file).unlink()
    if content == "folder":
        (at / file).mkdir()
    else:
        (at / file).write_bytes(CONTENTS[content](original))
    with pytest.raises((ValueError, FileNotFoundError)) as err:
        READERS[file](at)
    assert str((at / file).parent) in str(err.value) and len(str(err.value).splitlines()) == 1


def places(value):
    """Everything in a JSON value that holds others, with each key there."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield value, key
        yield from places(item)


@pytest.mark.parametrize("file", ["photos/dataset_scenes.json", "run/record.json", "run/model.json"])
@settings(max_examples=60)
@given(data=st.data(), odd=st.sampled_from([None, True, -1, 0.5, 10**12, [], {}, "", "../a", "a\nb", "x" * 400]))
def test_json_with_something_odd_in_it_is_read_or_refused(good, file, data, odd):
    original = (good / file).read_text()
    value = json.loads(original)
    inside, key = data.draw(st.sampled_from(list(places(value))))
    inside[key] = copy.copy(odd)
    try:
        (good / file).write_text(json.dumps(value))
        READERS[file](good)
    except ValueError as err:
        assert str((good / file).parent) in str(err)
    finally:
        (good / file).write_text(original)
