"""How many regions images have: the files that say it, each fault of them, rows of zeros, and who else reads them."""

from __future__ import annotations

import io
import logging
import os
import pickle

import numpy as np
import pytest
import torch

import icrlib
from icrlib.data import feature_folder, karpathy
from icrlib.data.fewer import fewer
from icrlib.data.regions import Regions
from icrlib.files import sha256_of
from tests.data import regions
from tests.test_cli import icr

CHECK = ("data", "check")


def load(folder, **options):
    return icrlib.load_dataset("flickr8k", features=folder, min_count=1, **options)


def bytes_of(array, **options) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def test_lengths_come_with_the_regions(tmp_path):
    data = load(regions.make(tmp_path))
    for split, images in ((data.train, 12), (data.val, 4), (data.test, 5)):
        assert isinstance(split.features, Regions) and split.features.shape == (images, 4, 6)
        assert split.features.lengths.tolist() == regions.lengths(images).tolist()
        assert split.features.lengths.dtype == torch.int64
    assert repr(data.train) == "Split('train': 12 images of 4 x 6 numbers, 60 captions)"


def test_what_is_taken_is_cut_to_its_longest_image():
    values, lengths = torch.arange(24.0).reshape(4, 3, 2), torch.tensor([1, 3, 2, 1])
    whole = Regions(values, lengths)
    some = whole[torch.tensor([3, 2, 3])]
    assert torch.equal(some.values, values[[3, 2, 3], :2]) and some.lengths.tolist() == [1, 2, 1]
    assert [(part.shape, part.lengths.tolist()) for part in whole.split(3)] == [
        ((3, 3, 2), [1, 3, 2]),
        ((1, 1, 2), [1]),
    ]
    assert len(whole[:0]) == 0 and whole.to("cpu").float().dtype == torch.float32


def test_lengths_belong_to_what_the_data_is(tmp_path):
    """Regions without padding are the question that they were before lengths were known."""
    plain, padded = load(regions.make(tmp_path / "a", said=False, junk=1.0)), load(regions.make(tmp_path / "b"))
    files = [f"{part}_{end}" for part in ("train", "dev", "test") for end in ("ims.npy", "caps.txt")]
    options = {"vocabulary": "train", "min_count": 1, "smoke": False}
    assert plain.fingerprint == sha256_of(*(sha256_of(tmp_path / "a" / file) for file in files), repr(options))
    assert isinstance(plain.train.features, torch.Tensor) and padded.fingerprint != plain.fingerprint
    np.save(tmp_path / "b" / "dev_lens.npy", regions.lengths(4)[::-1])
    assert load(tmp_path / "b").fingerprint != padded.fingerprint


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.uint64])
def test_every_kind_of_whole_number(tmp_path, kind):
    np.save(regions.make(tmp_path) / "test_lens.npy", regions.lengths(5).astype(kind))
    assert load(tmp_path).test.features.lengths.tolist() == [1, 2, 3, 4, 1]


def test_parts_may_be_padded_as_far_as_each_needs(tmp_path):
    regions.make(tmp_path)
    np.save(tmp_path / "dev_ims.npy", np.load(regions.make(tmp_path / "wide", most=7) / "dev_ims.npy"))
    assert load(tmp_path).val.features.shape == (4, 7, 6)
    for part in regions.PARTS:
        (tmp_path / f"{part}_lens.npy").unlink()
        np.save(tmp_path / f"{part}_ims.npy", 1 + np.load(tmp_path / f"{part}_ims.npy"))
    with pytest.raises(ValueError, match=r"different sizes an image .*train_ims.npy: 4 x 6, dev_ims.npy: 7 x 6"):
        load(tmp_path)


def test_rows_repeated_for_captions(tmp_path):
    """A row a caption, as SCAN's folders have it: equal rows with other lengths are other images."""
    regions.make(tmp_path)
    for part, images in regions.PARTS.items():
        lengths = regions.lengths(images)
        array = np.ones((images, 4, 6), np.float32)
        np.save(tmp_path / f"{part}_ims.npy", array.repeat(5, 0))
        np.save(tmp_path / f"{part}_lens.npy", lengths.repeat(5))
    data = load(tmp_path)
    assert len(data.train) == 12 and data.train.features.lengths.tolist() == regions.lengths(12).tolist()
    assert data.train.image_of.tolist() == np.arange(12).repeat(5).tolist()


def test_smoke_keeps_the_lengths_of_what_it_keeps(tmp_path):
    folder = regions.make(tmp_path)
    np.save(folder / "train_ims.npy", np.arange(250 * 24, dtype=np.float32).reshape(250, 4, 6))
    np.save(folder / "train_lens.npy", regions.lengths(250))
    (folder / "train_caps.txt").write_text("".join(f"dog {i}\n" for i in range(250)))
    assert load(folder, smoke=True).train.features.lengths.tolist() == regions.lengths(200).tolist()


WHOLE = "save one whole number for each row of the features, how many regions it has"
FAULTS = {
    "too few": (bytes_of(np.ones(3, int)), "3 lengths for 4 rows of features"),
    "too many": (bytes_of(np.ones(40, int)), "40 lengths for 4 rows of features"),
    "zero": (bytes_of(np.array([1, 0, 2, 1])), "row 1 says 0, and an image has 1 to 4 regions"),
    "too long": (bytes_of(np.array([1, 2, 5, 1])), "row 2 says 5, and"),
    "far too long": (bytes_of(np.array([1, 2, 3, 2**63], np.uint64)), "row 3 says 9223372036854775808, and"),
    "negative": (bytes_of(np.array([-1, 0, 2, 1])), "row 0 says -1, and"),
    "float": (bytes_of(np.array([1.0, 2, 3, 4])), r"float64 \(4,\); save"),
    "NaN": (bytes_of(np.array([1, np.nan, 3, 4])), r"float64 \(4,\); save"),
    "truth": (bytes_of(np.array([True] * 4)), r"bool \(4,\); save"),
    "text": (bytes_of(np.array(list("1234"))), r"<U1 \(4,\); save"),
    "a column": (bytes_of(np.ones((4, 1), int)), r"int64 \(4, 1\); save"),
    "one number": (bytes_of(np.int64(4)), r"int64 \(\); save"),
    "objects": (bytes_of(np.array([1, 2, 3, None]), allow_pickle=True), "not a whole .npy array"),
    "a pickle": (pickle.dumps([1, 2, 3, 4]), "not a whole .npy array"),
    "empty": (b"", "not a whole .npy array"),
    "cut off": (bytes_of(np.ones(4, int))[:-3], "not a whole .npy array"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bad_file_of_lengths_is_one_line(tmp_path, fault):
    content, message = FAULTS[fault]
    (regions.make(tmp_path) / "dev_lens.npy").write_bytes(content)
    with pytest.raises(ValueError, match=f"dev_lens.npy: {message}") as err:
        load(tmp_path)
    assert len(str(err.value).splitlines()) == 1 and WHOLE in str(err.value)
    result = icr(*CHECK, str(tmp_path))
    assert result.exit_code == 1 and f"problem: {err.value}" in result.output and "1 problems" in result.output


@pytest.mark.parametrize(
    "make", [os.mkfifo, os.mkdir, lambda at: os.symlink("nowhere", at)], ids=["pipe", "folder", "link"]
)
def test_what_is_no_file_is_no_missing_file(tmp_path, make):
    """It is not waited for, nor are rows of zeros taken for regions because of it."""
    path = regions.make(tmp_path) / "test_lens.npy"
    path.unlink()
    make(path)
    with pytest.raises((ValueError, FileNotFoundError), match=r"test_lens.npy"):
        load(tmp_path)
    with pytest.raises(ValueError, match=r"test_lens.npy: no file, but a folder, a pipe or a link to nothing"):
        feature_folder.parts(tmp_path, "test")
    assert icr(*CHECK, str(tmp_path)).exit_code == 1


def test_a_link_to_a_file_is_followed(tmp_path):
    path = regions.make(tmp_path / "f") / "test_lens.npy"
    path.rename(tmp_path / "elsewhere.npy")
    path.symlink_to(tmp_path / "elsewhere.npy")
    assert load(tmp_path / "f").test.features.lengths.tolist() == [1, 2, 3, 4, 1]


def test_all_parts_have_lengths_or_none(tmp_path):
    (regions.make(tmp_path) / "train_lens.npy").unlink()
    with pytest.raises(FileNotFoundError, match=r"missing train_lens.npy\. A feature folder holds .*test_lens.npy"):
        load(tmp_path)
    with pytest.raises(
        FileNotFoundError, match="missing train_lens.npy; lengths of regions stand beside all parts or none"
    ):
        feature_folder.parts(tmp_path)
    result = icr(*CHECK, str(tmp_path))
    assert result.exit_code == 1 and f"problem: {tmp_path / 'train_lens.npy'}: missing" in result.output


def test_lengths_of_pooled_features_are_refused(tmp_path):
    regions.make(tmp_path)
    for part, images in regions.PARTS.items():
        np.save(tmp_path / f"{part}_ims.npy", np.ones((images, 6), np.float32))
    with pytest.raises(ValueError, match=r"train_lens.npy: lengths of features \(12, 6\), which are no regions"):
        load(tmp_path)


def test_rows_of_zeros_are_named_once(tmp_path, caplog):
    """How many images have them, and the way out; with lengths, or without such rows, nothing is said."""
    folder = regions.make(tmp_path / "f", said=False)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            load(folder)
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        f"{folder / f'{part}_ims.npy'}: {zeros} of {images} images end in rows of zeros, which are taken for padding "
        f"(1 to 4 regions an image); if that is wrong, save how many regions each has as {part}_lens.npy"
        for part, zeros, images in (("train", 9, 12), ("dev", 3, 4), ("test", 4, 5))
    ]
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        load(regions.make(tmp_path / "said"))
        load(regions.make(tmp_path / "none", said=False, junk=1.0))
    assert not caplog.records


def test_any_padding_gives_equal_results(tmp_path):
    """Two rows of zeros more, or lengths that say so: the same training and the same answers, for each model."""
    folders = [regions.make(tmp_path / "zeros", said=False), regions.make(tmp_path / "said")]
    folders.append(regions.make(tmp_path / "wide", said=False, most=6))
    for part in regions.PARTS:
        narrow, wide = (np.load(folder / f"{part}_ims.npy") for folder in (folders[0], folders[2]))
        wide[:] = 0
        wide[:, :4] = narrow
        np.save(folders[2] / f"{part}_ims.npy", wide)
    data = [load(folder) for folder in folders]
    assert len({one.fingerprint for one in data}) == 3
    for method, options in (("vsrn", {}), ("vse_infty", {}), ("cmn", {"places": "boxes"})):
        given = options | {"updates": 3, "evaluate_every": 1, "batch_size": 4, "embed_dim": 8, "word_dim": 4}
        runs = [icrlib.train(one, method, "ntxent", progress=False, **given).history for one in data]
        for history in runs[1:]:
            assert [entry["loss"] for entry in history] == pytest.approx([entry["loss"] for entry in runs[0]], rel=1e-5)


def test_check_names_rows_of_zeros_and_the_way_out(tmp_path, caplog):
    folder = regions.make(tmp_path, said=False)
    array = np.load(folder / "dev_ims.npy")
    array[:, 0] = 0  # that is no end: such a row stays a region
    np.save(folder / "dev_ims.npy", array)
    result = icr(*CHECK, str(folder))
    assert result.exit_code == 0 and "no problems" in result.output, "they may be meant"
    assert "train        12 images        60 captions" in result.output
    assert (
        "train_ims.npy: 9 of 12 images end in rows of zeros" in result.output and "as train_lens.npy" in result.output
    )
    assert "dev_ims.npy: 3 of 4 images" in result.output and not caplog.records
    for part, images in regions.PARTS.items():
        np.save(folder / f"{part}_lens.npy", regions.lengths(images))
    result = icr(*CHECK, "flickr8k", str(folder))
    assert result.exit_code == 0 and "rows of zeros" not in result.output
    assert "train: 1 to 4 regions an image, 30 in all" in result.output
    assert "(published: 6,000 images)" in result.output and "% of the words are known" in result.output


def test_check_lists_every_problem_of_features(tmp_path):
    folder = regions.make(tmp_path)
    (folder / "dev_caps.txt").unlink()
    np.save(folder / "test_ims.npy", np.full((5, 4, 6), np.nan, np.float32))
    (folder / "train_ims.npy").write_bytes(bytes_of(np.array([np.ones((2, 6)), 1], object), allow_pickle=True))
    result = icr(*CHECK, str(folder))
    assert result.exit_code == 1 and "3 problems" in result.output
    for what in ("dev_caps.txt: missing", "test_ims.npy: row 0 holds NaN", "train_ims.npy: an array of Python objects"):
        assert what in result.output


def test_fewer_photos_keep_their_lengths(tmp_path):
    some = load(fewer(regions.make(tmp_path / "f"), 5, tmp_path / "less"))
    whole = load(tmp_path / "f")
    for row, regions_ in enumerate(some.train.features.values):
        same = [i for i, other in enumerate(whole.train.features.values) if torch.equal(regions_, other)]
        assert whole.train.features.lengths[same].tolist() == [int(some.train.features.lengths[row])]
    assert some.test.features.lengths.tolist() == whole.test.features.lengths.tolist()


def test_a_search_reads_them(tmp_path):
    """Of a split, and of photos without captions, too."""
    folder = regions.make(tmp_path)
    np.save(folder / "rest_ims.npy", np.ones((3, 4, 6), np.float32))
    np.save(folder / "rest_lens.npy", np.array([4, 1, 2]))
    (folder / "rest_files.txt").write_text("a\nb\nc\n")
    found = feature_folder.parts(folder)
    assert [part.features.lengths.tolist() for part in found][-1] == [4, 1, 2]
    assert [len(part.features) for part in found] == [12, 4, 5, 3]
    (folder / "rest_lens.npy").unlink()
    with pytest.raises(FileNotFoundError, match="missing rest_lens.npy"):
        feature_folder.parts(folder)


def test_features_written_over_others_lose_their_lengths(tmp_path):
    folder = regions.make(tmp_path)
    photos = karpathy.Photos(["1.jpg"], ["1"], [["a dog"]])
    feature_folder.write_part(folder, "train", photos, np.array([0]), np.ones((1, 4, 6), np.float32))
    feature_folder.write_part(folder, "dev", photos, np.zeros(0, int), np.zeros((0, 1)))
    assert not (folder / "train_lens.npy").exists() and not (folder / "dev_lens.npy").exists()
