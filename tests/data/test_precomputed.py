"""Folders of pre-computed features: each layout gives the same splits, each fault is named."""

from __future__ import annotations

import io
import shutil

import numpy as np
import pytest
import torch

import icrlib
from icrlib.data import precomputed
from icrlib.data.precomputed import MARK, assign

PARTS = {"train": 8, "dev": 4, "test": 5}
COLOURS = ["red", "blue", "green", "pink", "grey"]


def features(images, shape=(6,), seed=0):
    return np.random.default_rng(seed).random((images, *shape), dtype=np.float32)


def write(folder, counts=lambda image: 5, shape=(6,), per_caption=False, ids=None, dtype=np.float32):
    """A feature folder; ``ids`` None, "image" (one a row) or "caption" (one a line). Returns what to expect."""
    expected = {}
    folder.mkdir(exist_ok=True)
    for seed, (part, images) in enumerate(PARTS.items()):
        array = features(images, shape, seed).astype(dtype)
        rows = [(f"{part} {COLOURS[c]} dog number{i}", i) for i in range(images) for c in range(counts(i))]
        captions, image_of = ([row[column] for row in rows] for column in (0, 1))
        np.save(folder / f"{part}_ims.npy", array[image_of] if per_caption else array)
        (folder / f"{part}_caps.txt").write_text("\n".join(captions) + "\n", encoding="utf-8")
        names = {"image": range(images), "caption": image_of}.get(ids, [])
        if ids:
            (folder / f"{part}_ids.txt").write_text("".join(f"photo{i}\n" for i in names))
        expected[part] = array, captions, image_of
    return expected


def load(folder, name="flickr8k", **options):
    return icrlib.load_dataset(name, features=folder, **options)


def check(data, expected):
    for split, part in ((data.train, "train"), (data.val, "dev"), (data.test, "test")):
        array, captions, image_of = expected[part]
        assert len(split) == PARTS[part] == len(set(split.image_ids)) and split.folds == 1
        assert np.array_equal(split.features.numpy(), array) and split.captions == captions
        assert split.image_of.dtype == torch.int64 and split.image_of.tolist() == image_of
        rows = torch.arange(PARTS[part])[:, None]
        assert torch.equal(split.positives, rows == torch.tensor(image_of)) and split.relevance is None


def mixed(image):
    return 1 + image % 4


@pytest.mark.parametrize(("dtype", "shape"), [(np.float32, (6,)), (np.float16, (6,)), (np.float16, (3, 4))])
@pytest.mark.parametrize(
    ("counts", "per_caption", "ids"),
    [
        *((mixed, *more) for more in ((False, "caption"), (True, "caption"), (True, None))),
        *((lambda image, n=n: n, per_caption, None) for n in (1, 5) for per_caption in (False, True)),
        (lambda image: 5, False, "image"),
    ],
)
def test_layouts(tmp_path, counts, per_caption, ids, dtype, shape):
    expected = write(tmp_path, counts, shape, per_caption, ids, dtype)
    data = load(tmp_path)
    check(data, expected)
    assert ids != "image" or data.test.image_ids == [f"photo{i}" for i in range(5)]


def test_two_copies_of_a_photo_with_a_caption_each_are_two_images_where_it_is_known(tmp_path):
    """As many rows as captions, neighbours equal: a released layout, or copies of a photo in a folder made here."""
    write(tmp_path, lambda i: 1)
    rows = np.load(tmp_path / "test_ims.npy")
    rows[1] = rows[0]
    np.save(tmp_path / "test_ims.npy", rows)
    assert load(tmp_path).test.image_of.tolist() == [0, 0, *range(1, len(rows) - 1)]
    (tmp_path / MARK).write_text('{"backbone": "", "key": ""}')
    assert load(tmp_path).test.image_of.tolist() == list(range(len(rows)))


def test_ids_that_come_again_later():
    assert assign(2, 5, ["b", "a", "b", "b", "a"], None).tolist() == [0, 1, 0, 0, 1]  # order of first sight
    assert assign(5, 5, ["b", "a", "b", "b", "a"], None).tolist() == [0, 1, 0, 0, 1]  # row of the first caption


def test_vocabulary(tmp_path):
    """Counted in the training captions; "all" counts every file, as the published vocabularies did."""
    write(tmp_path)
    train, everything = load(tmp_path).vocabulary, load(tmp_path, vocabulary="all").vocabulary
    assert {"red", "dog", "train", "number7"} <= set(train.words) and "test" not in train.words
    assert {"red", "dog", "train", "dev", "test"} <= set(everything.words)
    assert load(tmp_path, min_count=9).vocabulary.words[4:] == ["train", "dog"]
    refuse(tmp_path, "no word occurs 99 times .*lower min_count=", min_count=99)


def test_defaults_and_fingerprint(tmp_path):
    write(tmp_path)
    data, before = load(tmp_path), (tmp_path / "train_ims.npy").read_bytes()
    assert data.name == "flickr8k" and data.defaults == {} and data.options["vocabulary"] == "train"
    assert data.fingerprint == load(tmp_path).fingerprint != load(tmp_path, vocabulary="all").fingerprint
    data.train.features[:] = 0
    assert (tmp_path / "train_ims.npy").read_bytes() == before  # features stay on disk and are never written
    text = (tmp_path / "dev_caps.txt").read_text()
    (tmp_path / "dev_caps.txt").write_text(text.replace("red", "ref", 1))
    assert load(tmp_path).fingerprint != data.fingerprint


def test_coco_is_cut_in_five_parts(tmp_path):
    write(tmp_path, lambda i: 1)
    np.save(tmp_path / "test_ims.npy", features(5000))
    (tmp_path / "test_caps.txt").write_text("a dog\n" * 5000)
    assert load(tmp_path, "coco").test.folds == 5 and load(tmp_path, "flickr30k").test.folds == 1
    assert load(tmp_path, "coco").val.folds == 1


def test_smoke_keeps_the_first_images_with_their_captions(tmp_path, monkeypatch):
    monkeypatch.setattr(precomputed, "SMOKE", 5)
    array, captions, image_of = write(tmp_path, mixed, ids="caption")["train"]
    train = load(tmp_path, smoke=True, min_count=1).train
    assert len(train) == 5 and train.captions == captions[: image_of.index(5)]
    assert np.array_equal(train.features.numpy(), array[:5])


@pytest.mark.parametrize("ids", [None, "caption"])
def test_fewer_training_images(tmp_path, ids):
    """The data of a folder with these images alone: drawn once, for everybody, and named like that folder."""
    expected = write(tmp_path / "all", mixed if ids else lambda image: 5, ids=ids)
    data, again = (load(tmp_path / "all", train=3, min_count=1) for _ in range(2))
    rows = sorted(np.random.default_rng(100).choice(8, 3, replace=False).tolist())
    array, captions, image_of = expected["train"]
    kept = [(caption, image) for caption, image in zip(captions, image_of, strict=True) if image in rows]
    assert np.array_equal(data.train.features.numpy(), array[rows])
    assert data.train.captions == [caption for caption, _ in kept]
    assert data.train.image_of.tolist() == [rows.index(image) for _, image in kept]
    assert data.test.captions == expected["test"][1] and len(data.val) == 4
    shutil.copytree(tmp_path / "all", tmp_path / "some")
    np.save(tmp_path / "some" / "train_ims.npy", array[rows])
    (tmp_path / "some" / "train_caps.txt").write_text("".join(f"{caption}\n" for caption, _ in kept))
    if ids:
        (tmp_path / "some" / "train_ids.txt").write_text("".join(f"photo{image}\n" for _, image in kept))
    folder = load(tmp_path / "some", min_count=1)
    assert folder.fingerprint == data.fingerprint == again.fingerprint and folder.options == data.options
    for count in (0, 9, 2.5):
        refuse(tmp_path / "all", "train", train=count)


# Faults: each names the file, and what is wrong with it.


def refuse(folder, match, error=ValueError, **options):
    with pytest.raises(error, match=match):
        load(folder, **options)


@pytest.mark.parametrize(
    ("name", "options", "word"),
    [
        ("flicker8k", {"features": "."}, "Did you mean 'flickr8k'"),
        ("coco", {}, "coco.*root=FOLDER"),
        ("coco", {"features": ".", "vocabulary": "al"}, "vocabulary"),
        ("coco", {"features": ".", "min_cuont": 2}, "min_cuont.*Did you mean 'min_count'"),
        ("scenes", {"trian": 10}, "scenes"),
        ("scenes", {"features": "."}, "features="),
    ],
)
def test_unknown_names_and_options(name, options, word):
    with pytest.raises(ValueError, match=word):
        icrlib.load_dataset(name, **options)


def test_a_missing_file(tmp_path):
    write(tmp_path)
    (tmp_path / "dev_caps.txt").unlink()
    refuse(tmp_path, "missing dev_caps.txt", FileNotFoundError)


def whole(array) -> bytes:
    """The .npy file of an array."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("ids", "file", "content", "word"),
    [
        (None, "train_ims.npy", whole(features(8))[:200], ""),
        (None, "dev_ims.npy", whole(np.array([{"a": 1}] * 4, dtype=object)), "padded"),  # never unpickled
        *((None, "dev_ims.npy", whole(np.zeros(size, np.float32)), "rows, D") for size in (4, (4, 2, 2, 2), (0, 6))),
        *((None, "dev_ims.npy", whole(np.zeros((4, 6), kind)), "float32") for kind in (np.float64, np.int64)),
        (None, "train_ims.npy", whole(features(7)), "7 feature rows and 40 captions"),
        ("caption", "dev_ims.npy", whole(features(3)), "ids name 4 images"),
        ("caption", "dev_ids.txt", b"photo0\nphoto1\n", "2 ids"),
        (None, "dev_caps.txt", b"", "0 captions"),
        *((None, "dev_caps.txt", ("a café\n" * 20).encode(kind), "iconv -f") for kind in ("latin-1", "utf-16")),
        *((None, "dev_caps.txt", b"a\n" * 6 + line + b"\na\n", "line 7") for line in (b"", b"   ", b"\t")),
        *((None, "test_ims.npy", whole(features(5) * value), "row 0") for value in (np.nan, np.inf)),
    ],
)
def test_a_faulty_file_is_named(tmp_path, ids, file, content, word):
    write(tmp_path, ids=ids)
    (tmp_path / file).write_bytes(content)
    refuse(tmp_path, f"{file}.*{word}|part '{file.split('_')[0]}'.*{word}")
