"""How many regions images have: the files that say it, each fault of them, rows of zeros, and who else reads them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import icrlib
from icrlib.data import precomputed
from icrlib.data.regions import Regions
from icrlib.files import sha256_of
from tests.data import regions


def load(folder, **options):
    return icrlib.load_dataset("flickr8k", features=folder, min_count=1, **options)


def test_what_is_taken_is_cut_to_its_longest_image():
    values, lengths = torch.arange(24.0).reshape(4, 3, 2), torch.tensor([1, 3, 2, 1])
    whole = Regions(values, lengths)
    some = whole[torch.tensor([3, 2, 3])]
    assert torch.equal(some.values, values[[3, 2, 3], :2]) and some.lengths.tolist() == [1, 2, 1]
    parts = [(part.shape, part.lengths.tolist()) for part in whole.split(3)]
    assert parts == [((3, 3, 2), [1, 3, 2]), ((1, 1, 2), [1])]
    assert len(whole[:0]) == 0 and whole.to("cpu").float().values.dtype == torch.float32


def test_lengths_belong_to_what_the_data_is(tmp_path):
    """Regions without padding are the question that they were before lengths were known."""
    plain, padded = load(regions.make(tmp_path / "a", said=False, junk=1.0)), load(regions.make(tmp_path / "b"))
    files = [f"{part}_{end}" for part in ("train", "dev", "test") for end in ("ims.npy", "caps.txt")]
    options = {"vocabulary": "train", "min_count": 1, "smoke": False}
    assert plain.fingerprint == sha256_of(*(sha256_of(tmp_path / "a" / file) for file in files), repr(options))
    assert isinstance(plain.train.features, torch.Tensor) and padded.fingerprint != plain.fingerprint
    np.save(tmp_path / "b" / "dev_lens.npy", regions.lengths(4)[::-1])
    assert load(tmp_path / "b").fingerprint != padded.fingerprint


def test_parts_may_be_padded_as_far_as_each_needs(tmp_path):
    regions.make(tmp_path)
    np.save(tmp_path / "dev_ims.npy", np.load(regions.make(tmp_path / "wide", most=7) / "dev_ims.npy"))
    assert load(tmp_path).val.features.shape == (4, 7, 6)
    for part in regions.PARTS:
        (tmp_path / f"{part}_lens.npy").unlink()
        np.save(tmp_path / f"{part}_ims.npy", 1 + np.load(tmp_path / f"{part}_ims.npy"))
    with pytest.raises(ValueError, match="different sizes"):
        load(tmp_path)


def test_rows_repeated_for_captions(tmp_path):
    """A row a caption, as SCAN's folders have it: equal rows with other lengths are other images."""
    regions.make(tmp_path)
    for part, images in regions.PARTS.items():
        lengths = regions.lengths(images)
        array = np.load(tmp_path / f"{part}_ims.npy")
        np.save(tmp_path / f"{part}_ims.npy", array.repeat(5, 0))
        np.save(tmp_path / f"{part}_lens.npy", lengths.repeat(5))
    data = load(tmp_path)
    assert len(data.train) == 12 and data.train.features.lengths.tolist() == regions.lengths(12).tolist()
    assert data.train.image_of.tolist() == np.arange(12).repeat(5).tolist()


@pytest.mark.parametrize("lengths", [[1, 1, 1], [1, 0, 2, 1], [1, 2, 5, 1], [1.0, 2, 3, 4], [[1]] * 4])
def test_a_bad_file_of_lengths_is_one_line(tmp_path, lengths):
    np.save(regions.make(tmp_path) / "dev_lens.npy", np.array(lengths))
    with pytest.raises(ValueError, match="dev_lens.npy: .*save one whole number") as err:
        load(tmp_path)
    assert len(str(err.value).splitlines()) == 1


def test_all_parts_have_lengths_or_none(tmp_path):
    (regions.make(tmp_path) / "train_lens.npy").unlink()
    for look in (load, precomputed.parts):
        with pytest.raises(FileNotFoundError, match="missing train_lens.npy"):
            look(tmp_path)


def test_rows_of_zeros_are_refused_with_the_way_out(tmp_path):
    folder = regions.make(tmp_path, said=False)
    with pytest.raises(ValueError, match="train_ims.npy: row 0 ends in a region of zeros; .*train_lens.npy"):
        load(folder)
    (folder / "features.json").write_text('{"backbone": "", "key": ""}')  # cells of our own may be zeros
    assert load(folder).train.features.shape == (12, 4, 6)


def test_fewer_photos_keep_their_lengths(tmp_path):
    folder = regions.make(tmp_path)
    data, some = load(folder), load(folder, train=5)
    rows = np.sort(np.random.default_rng(100).choice(12, 5, replace=False))
    assert some.train.features.lengths.tolist() == data.train.features.lengths[rows].tolist()
    assert some.test.features.lengths.tolist() == data.test.features.lengths.tolist()
    assert some.fingerprint != data.fingerprint


def test_a_search_reads_them(tmp_path):
    """Of a split, and of photos without captions, too."""
    folder = regions.make(tmp_path)
    np.save(folder / "rest_ims.npy", np.ones((3, 4, 6), np.float32))
    np.save(folder / "rest_lens.npy", np.array([4, 1, 2]))
    (folder / "rest_files.txt").write_text("a\nb\nc\n")
    found = precomputed.parts(folder)
    assert [part.features.lengths.tolist() for part in found][-1] == [4, 1, 2]
    assert [len(part.features) for part in found] == [12, 4, 5, 3]
    (folder / "rest_lens.npy").unlink()
    with pytest.raises(FileNotFoundError, match="missing rest_lens.npy"):
        precomputed.parts(folder)
