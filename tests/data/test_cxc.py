"""Crisscrossed Captions: its file, the threshold against a plain loop, COCO's ids, and what can be wrong with each."""

from __future__ import annotations

import gzip

import pytest
import torch

from icrlib.data import cxc
from icrlib.data.splits import Split
from icrlib.judged import evaluate_judged

from .coco_files import change_annotations, draw_ratings, ids_in, split_and_annotations, write_ratings


@pytest.fixture
def made(tmp_path):
    """A split, its annotations, the rows of a file of ratings as text, and that file."""
    split, path = split_and_annotations(tmp_path)
    rows = draw_ratings(path)
    return split, path, rows, write_ratings(tmp_path / "sits_test.csv.gz", rows)


@pytest.mark.parametrize("threshold", [0, 2.5, 3, 4.0, 5])
def test_the_threshold_as_a_plain_loop_counts(made, threshold):
    """Own pairs below it are not right either, and a score that is just as high is."""
    split, path, rows, file = made
    assert any(float(score) == 3.0 for _, _, score, _ in rows)
    kept, found = cxc.judgements(file, path, split, threshold)
    images, captions = ids_in(path)
    for image, caption in (found.i2t, found.t2i):
        pairs = [(captions[c], images[i]) for i, c in zip(image.tolist(), caption.tolist(), strict=True)]
        assert len(set(pairs)) == len(pairs)
        assert set(pairs) == {(c, i) for c, i, score, _ in rows if float(score) >= threshold}
    assert kept.captions == split.captions and image.dtype == torch.int64


def test_captions_that_nobody_rated_are_no_candidates(made):
    split, path, rows, file = made
    captions = ids_in(path)[1]
    out = [int((split.image_of == row).nonzero()[0]) for row in (2, 5)]
    write_ratings(file, [row for row in rows if row[0] not in {captions[c] for c in out}])
    kept, found = cxc.judgements(file, path, split)
    assert kept.captions == [text for c, text in enumerate(split.captions) if c not in out] and len(kept) == len(split)
    measured = evaluate_judged(torch.rand(len(kept), len(kept.captions)), kept, found)
    assert measured["t2i"]["queries"] + measured["t2i"]["left_out"] == len(kept.captions)


HEAD = "caption,image,agg_score,sampling_method"
GOOD = "COCO_val2014:sentid:7,COCO_val2014_000000000009.jpg,3.5,c2i_intrasim"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (GOOD.replace(":7", ":8").replace("3.5", "high"), "line 3: .*high.* is no row like"),
        (GOOD.replace(":7", ":8").replace("3.5", "5.01"), "line 3"),
        (GOOD.replace(":7", ":8").replace("3.5", "nan"), "line 3"),
        (GOOD.replace("sentid:7", "sentid:x"), "line 3"),
        (GOOD.replace("val2014_", "train2014_"), "line 3"),
        (GOOD.replace("3.5", "1"), "line 3: .*each pair once"),
        (GOOD + ",more", "not a whole CSV file"),
    ],
)
def test_a_bad_row_is_named_with_file_and_line(tmp_path, row, message):
    path = tmp_path / "sits_test.csv"
    path.write_text(f"{HEAD}\n{GOOD}\n{row}\n")
    with pytest.raises(ValueError, match=f"sits_test.csv.*{message}"):
        cxc.read(path)


@pytest.mark.parametrize("content", [b"", b"<html>not found</html>", HEAD.encode(), GOOD.encode(), b"\xff\xfe"])
def test_a_file_of_another_kind(tmp_path, content):
    for name, raw in (("a.csv", content), ("b.csv.gz", content), ("c.csv.gz", gzip.compress(content)[:-4])):
        (tmp_path / name).write_bytes(raw)
        with pytest.raises(ValueError, match=name):
            cxc.read(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="no such file; sits_test.csv is in data/ of the rep"):
        cxc.read(tmp_path / "sits_val.csv")


def test_case_punctuation_and_a_sixth_caption_do_not_count(made):
    split, path, *_ = made
    expected = ids_in(path)
    plain = [text.upper().replace(",", " ,") + " ." for text in split.captions]
    more = {"raw": "one more", "sentid": 9_000_000}
    change_annotations(path, lambda images: [entry["sentences"].insert(1, more) for entry in images])
    assert cxc.ids_of(path, Split("test", split.features, plain, split.image_of, split.image_ids)) == expected


def test_equal_captions_of_one_image_get_its_ids_in_their_order(made):
    split, path, *_ = made
    first, second = (split.image_of == 4).nonzero()[:2, 0].tolist()
    split.captions[second] = split.captions[first]
    change_annotations(path, lambda images: images[7]["sentences"][1].update(raw=images[7]["sentences"][0]["raw"]))
    assert cxc.ids_of(path, split) == ids_in(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda images: images[5].pop("cocoid"), "image 2 of the split 'test': no usable 'cocoid'"),
        (lambda images: images[5]["sentences"][0].update(sentid=None), "image 2 of the split 'test': no usable"),
        (lambda images: images.insert(3, images.pop(4)), "image 0 of the split 'test' has no caption"),
        (lambda images: images[9].update(cocoid=images[3]["cocoid"]), "belongs to 2 rows of the split"),
        (lambda images: images.pop(), "29 images of the split 'test', which has 30"),
    ],
)
def test_annotations_that_do_not_fit(made, change, message):
    split, path, *_ = made
    change_annotations(path, change)
    with pytest.raises(ValueError, match=message):
        cxc.ids_of(path, split)


def test_ratings_of_another_split_and_thresholds_that_are_none(made):
    split, path, rows, file = made
    for threshold in (-0.1, 5.1, float("nan"), "3", True):
        with pytest.raises(ValueError, match="threshold must be a number between 0 and 5"):
            cxc.judgements(file, path, split, threshold)
    write_ratings(file, [*rows, (1, 2, "4", "c2i_intrasim")])
    with pytest.raises(ValueError, match=r"1 of its images \(id 2\), 1 of its captions \(id 1\) are not in the split"):
        cxc.judgements(file, path, split)
    write_ratings(file, rows[:5])
    with pytest.raises(ValueError, match="images have no rated caption"):
        cxc.judgements(file, path, split)
