"""Whatever a file holds, it is read as it is meant or refused with its name: never a traceback of something inside."""

from __future__ import annotations

import copy
import io
import json
import os

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import icrlib
from icrlib import records
from icrlib.data import feature_folder, karpathy, precomputed
from icrlib.training import checkpoints

from .photos import make

ODD = (
    st.none()
    | st.booleans()
    | st.integers(-5, 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.just([])
    | st.just({})
    | st.sampled_from(
        [
            "",
            "..",
            "/",
            "a\nb",
            "\u2028",
            "train",
            "dev",
            "x" * 400,
            "a\0b",
            [["raw"]],
            -1,
            {"raw": 3},
            [{"raw": None}],
            [{"raw": "a dog"}],
            [{}],
            "\ufeff",
        ]
    )
    | st.text(max_size=6)
)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), min_size=1, max_size=20)


def places(value, path=()):
    """Where something stands in a JSON value."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from places(item, (*path, number))


def changed(value, data, how_often=2):
    """A copy with some places replaced or taken out."""
    value = copy.deepcopy(value)
    for _ in range(data.draw(st.integers(1, how_often))):
        path = data.draw(st.sampled_from(sorted(places(value), key=repr)))
        if not path:
            return data.draw(ODD)
        inside = value
        for key in path[:-1]:
            inside = inside[key]
        if data.draw(st.booleans()):
            inside[path[-1]] = copy.deepcopy(data.draw(ODD))  # the next change may go inside of it
        else:
            del inside[path[-1]]
    return value


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return make(tmp_path_factory.mktemp("hostile") / "photos", train=4, val=3, test=3)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    data = icrlib.load_dataset("scenes", smoke=True)
    return icrlib.train(data, "bow", updates=2, embed_dim=4, batch_size=8, out=folder / "run", progress=False)


@settings(max_examples=100)
@given(data=st.data())
def test_annotations(root, data):
    path = root / "dataset_scenes.json"
    whole = path.read_bytes()
    try:
        path.write_text(json.dumps(changed(json.loads(whole), data)))
        for look in (karpathy.read, lambda place: karpathy.check(place, progress=False)):
            try:
                look(root)
            except karpathy.BadAnnotations as err:
                assert "dataset_scenes.json" in str(err)
    finally:
        path.write_bytes(whole)


@settings(max_examples=100)
@given(raw=st.binary(max_size=80) | st.integers(0, 900), gz=st.booleans())
def test_annotations_that_are_cut_off_or_none(tmp_path, root, raw, gz):
    place = tmp_path / "p"
    (place / "images").mkdir(parents=True, exist_ok=True)
    for old in place.glob("dataset*"):
        old.unlink()
    whole = (root / "dataset_scenes.json").read_bytes()
    path = place / ("dataset.json.gz" if gz else "dataset.json")
    path.write_bytes(whole[:raw] if isinstance(raw, int) else raw)
    with pytest.raises(karpathy.BadAnnotations, match="dataset.json"):
        karpathy.read(place)


ARRAYS = st.tuples(
    st.lists(st.integers(0, 5), max_size=4),
    st.sampled_from(["float16", "float32", "float64", "int64", "U3", "bool", "O"]),
    st.sampled_from(["whole", "cut", "npz", "nan", "negative", "text", "big"]),
)


def stored(shape, kind, damage):
    array = np.full(shape, "x" if kind == "U3" else 1, dtype=kind)
    if damage == "nan" and kind.startswith("float") and array.size:
        array.flat[0] = np.nan
    buffer = io.BytesIO()
    (np.savez if damage == "npz" else np.save)(buffer, array)
    raw = buffer.getvalue()
    if damage == "negative":
        raw = raw.replace(b"'shape': (", b"'shape': (-", 1)
    if damage == "big":
        raw = raw.replace(b"'shape': (", b"'shape': (9999", 1)
    return {"cut": raw[: len(raw) // 2], "text": b"1 2 3\n"}.get(damage, raw)


@settings(max_examples=100)
@given(
    arrays=st.tuples(ARRAYS, ARRAYS, ARRAYS),
    lines=st.lists(TEXT | st.just(" "), max_size=10),
    ids=st.booleans(),
    end=st.sampled_from(["\n", "\r\n", "\r", ""]),
)
def test_feature_folders(tmp_path, arrays, lines, ids, end):
    folder = tmp_path / "f"
    folder.mkdir(exist_ok=True)
    for part, array in zip(("train", "dev", "test"), arrays, strict=True):
        (folder / f"{part}_ims.npy").write_bytes(stored(*array))
        (folder / f"{part}_caps.txt").write_bytes((end or "\n").join(lines).encode() + end.encode())
        (folder / f"{part}_ids.txt").unlink(missing_ok=True)
        if ids:
            (folder / f"{part}_ids.txt").write_bytes("\n".join(lines).encode())
    for load in (lambda: precomputed.load(folder, name="flickr8k", min_count=1), lambda: feature_folder.parts(folder)):
        try:
            load()
        except ValueError as err:
            assert str(folder) in str(err) or "no word occurs" in str(err) or "split" in str(err)


@settings(max_examples=100)
@given(captions=st.lists(TEXT.filter(lambda text: text.split()), min_size=2, max_size=8))
@example(captions=["\xad", "\xad"])  # soft hyphens alone are no word
def test_captions_come_back_as_they_were_written(tmp_path, captions):
    folder = tmp_path / "f"
    folder.mkdir(exist_ok=True)
    for part in ("train", "dev", "test"):
        np.save(folder / f"{part}_ims.npy", np.arange(len(captions) * 3, dtype=np.float32).reshape(-1, 3))
        (folder / f"{part}_caps.txt").write_text("\n".join(captions) + "\n", encoding="utf-8", newline="\n")
    try:
        found = precomputed.load(folder, name="flickr8k", min_count=1).test.captions
    except ValueError as err:
        assert "no word occurs" in str(err)  # punctuation that the tokenizer drops
        return
    assert found == [captions[0].removeprefix("\ufeff"), *captions[1:]]


@settings(max_examples=100)
@given(names=st.lists(TEXT, min_size=4, max_size=4, unique=True))
@example(names=["0", ".", "00", "000"])  # the folder itself is no file in it
def test_names_of_files_stay_with_their_photos(tmp_path, names):
    """Any name that a file can have is read, or refused with its number; through the JSON and the list of files."""
    place = tmp_path / "p"
    (place / "images").mkdir(parents=True, exist_ok=True)
    parts = ("train", "train", "val", "test")
    images = [
        {"filename": name, "split": part, "imgid": number, "sentences": [{"raw": "a dog"}]}
        for number, (name, part) in enumerate(zip(names, parts, strict=True))
    ]
    (place / "dataset.json").write_text(json.dumps({"images": images}))
    try:
        splits = karpathy.read(place)
    except karpathy.BadAnnotations as err:
        assert ", image " in str(err)
        return
    inside = place / "images"
    for photo in (file for split in splits.values() for file in split.files):
        assert os.path.normpath(photo).startswith(f"{inside}{os.sep}"), "no name leads out of the folder"
    folder = tmp_path / "f"
    folder.mkdir(exist_ok=True)
    # Equal rows, one caption each, would count as one photo's (layout 3 of precomputed.assign).
    rows = {name: np.arange(2 * len(split), dtype=np.float16).reshape(-1, 2) for name, split in splits.items()}
    found = {name: (np.arange(len(split)), rows[name]) for name, split in splits.items()}
    feature_folder.replace(folder, splits, found, {"backbone": "scenes", "key": "k"})
    listed = [file for part in feature_folder.parts(folder) for file in part.files]
    assert listed == [str(file) for split in splits.values() for file in split.files]


@settings(max_examples=100)
@given(data=st.data())
def test_records_and_notes_of_runs(run, tmp_path, data):
    for name, look in (("record.json", records.load), ("config.json", lambda path: checkpoints.state_of(path.parent))):
        place = tmp_path / "r"
        place.mkdir(exist_ok=True)
        for old in place.iterdir():
            old.unlink()
        value = json.loads((run.folder / name).read_text())
        value = {key: value[key] for key in list(value)[:6]} if name == "record.json" else value
        (place / name).write_text(json.dumps(changed(value, data)))
        try:
            look(place / name)
        except ValueError as err:
            assert name in str(err)
