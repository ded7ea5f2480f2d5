"""Crisscrossed Captions: its files, thresholds against plain loops, and everything that can be wrong with a row."""

from __future__ import annotations

import gzip
import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from icrlib.data import cxc
from icrlib.data.coco import Ids, ids_of
from icrlib.data.judgements import BadJudgements

from .coco_files import COLUMNS, draw_ratings, ids_in, split_and_annotations, write_ratings


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with CxC's test file, its rows as text, and the ids of the split that it rates."""
    folder = tmp_path_factory.mktemp("cxc")
    split, path = split_and_annotations(folder)
    rows = draw_ratings(path)
    write_ratings(folder / "sits_test.csv.gz", rows)
    return folder, rows, ids_of(path, split)


def pairs_of(judged, ids, side):
    """The pairs as ids again, a set."""
    image, caption = getattr(judged, side)
    found = [(ids.captions[c], ids.images[i]) for i, c in zip(image.tolist(), caption.tolist(), strict=True)]
    assert len(set(found)) == len(found)
    return set(found)


def by_hand(rows, threshold, keep=False):
    """The right pairs, row by row."""
    right = set()
    for caption, image, score, method in rows:
        if threshold is None or float(score) >= threshold or (keep and method == "c2i_original"):
            right.add((caption, image))
    return right


@pytest.mark.parametrize("threshold", [None, 0, 2.5, 3, 3.0, 4.0, 5])
@pytest.mark.parametrize("keep", [False, True])
def test_thresholds_as_plain_loops_count(made, threshold, keep):
    folder, rows, ids = made
    assert any(float(score) == 3.0 for _, _, score, _ in rows)  # so that ≥ and > differ
    found = cxc.judgements(cxc.read(folder), ids, threshold=threshold, keep_originals=keep)
    expected = by_hand(rows, threshold, keep)
    assert pairs_of(found, ids, "i2t") == pairs_of(found, ids, "t2i") == expected and found.dropped == 0
    assert (found.images, found.captions) == (len(ids.images), len(ids.captions))


def test_the_default_is_three_and_drops_originals_below_it(made):
    folder, rows, ids = made
    found = pairs_of(cxc.judgements(cxc.read(folder), ids), ids, "i2t")
    low = {(c, i) for c, i, score, method in rows if method == "c2i_original" and float(score) < 3}
    assert found == by_hand(rows, 3.0) and low and not found & low


@settings(max_examples=60)
@given(st.lists(st.floats(0, 5), min_size=12, max_size=12), st.floats(0, 5), st.floats(0, 5), st.booleans())
def test_a_higher_threshold_never_adds_a_pair(scores, first, second, keep):
    low, high = sorted((first, second))
    ids = Ids([1, 2, 3], [10, 11, 12, 13])
    methods = ["c2i_original" if n % 3 == n // 3 % 3 else "c2i_intrasim" for n in range(12)]
    ratings = cxc.Ratings(
        "sits", [10 + n // 3 for n in range(12)], [1 + n % 3 for n in range(12)], np.array(scores), methods, "a file"
    )
    more, less, rated = (
        pairs_of(cxc.judgements(ratings, ids, threshold=t, keep_originals=keep), ids, "t2i") for t in (low, high, None)
    )
    assert less <= more <= rated and len(rated) == 12
    assert more == {
        (10 + n // 3, 1 + n % 3) for n in range(12) if scores[n] >= low or (keep and methods[n] == "c2i_original")
    }


@pytest.mark.parametrize("kind", ["sis", "sts"])
def test_the_other_two_files_are_read(tmp_path, kind):
    rows = [(7, 8, "3.25", "i2i_csim"), (8, 7, "0", "i2i_csim"), (9, 7, "5.0", "c2c_isim")]
    write_ratings(tmp_path / "data" / f"{kind}_val.csv", rows, kind)
    found = cxc.read(tmp_path, kind, "val")
    assert (found.kind, found.first, found.second, found.scores.tolist(), len(found)) == (
        kind,
        [7, 8, 9],
        [8, 7, 7],
        [3.25, 0.0, 5.0],
        3,
    )
    with pytest.raises(ValueError, match=f"need the ratings 'sits'; got '{kind}'"):
        cxc.judgements(found, Ids([7], [8]))


def test_a_file_by_its_name_with_a_byte_order_mark_and_blank_lines(tmp_path):
    path = write_ratings(tmp_path / "mine.csv", [(1, 2, "4", "c2i_original")])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n") + b"\r\n")
    assert cxc.read(path).first == [1]


def test_a_missing_file_says_where_it_is_from(tmp_path):
    with pytest.raises(FileNotFoundError, match="no sits_val.csv or sits_val.csv.gz here; it is in data/ of the rep"):
        cxc.read(tmp_path, part="val")
    for wrong, message in (({"kind": "sit"}, "Did you mean 'sits'"), ({"part": "train"}, "allowed: 'val', 'test'")):
        with pytest.raises(ValueError, match=message):
            cxc.read(tmp_path, **wrong)


GOOD = "COCO_val2014:sentid:7,COCO_val2014_000000000009.jpg,3.5,c2i_intrasim"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("COCO_val2014:sentid:8,COCO_val2014_000000000009.jpg,3.5", "3 columns; wanted 4"),
        (GOOD.replace(":7", ":8") + ",more", "5 columns; wanted 4"),
        (GOOD.replace(":7", ":8").replace("3.5", "high"), "the score 'high' is not a number between 0 and 5"),
        (GOOD.replace(":7", ":8").replace("3.5", ""), "the score '' is not a number"),
        (GOOD.replace(":7", ":8").replace("3.5", "nan"), "the score 'nan' is not a number"),
        (GOOD.replace(":7", ":8").replace("3.5", "5.01"), "the score '5.01' is not a number between 0 and 5"),
        (GOOD.replace(":7", ":8").replace("3.5", "-1"), "the score '-1' is not"),
        (
            GOOD.replace("sentid:7", "sentid:x"),
            "'COCO_val2014:sentid:x' is no caption id; they look like COCO_val2014:s",
        ),
        (GOOD.replace("val2014_", "train2014_"), "'COCO_train2014_000000000009.jpg' is no image id"),
        ("COCO_val2014_000000000009.jpg,COCO_val2014:sentid:8,3.5,c2i_intrasim", "'COCO_val2014_.*' is no caption id"),
        (GOOD.replace("3.5", "1"), "this pair was rated in line 2 already"),
    ],
)
@pytest.mark.parametrize("end", ["csv", "csv.gz"])
def test_a_bad_row_is_named_with_file_and_line(tmp_path, row, message, end):
    text = ",".join([*COLUMNS["sits"], "agg_score", "sampling_method"]) + f"\n{GOOD}\n\n{row}\n{GOOD}\n"
    path = tmp_path / f"sits_test.{end}"
    path.write_bytes(gzip.compress(text.encode()) if end.endswith("gz") else text.encode())
    with pytest.raises(BadJudgements, match=rf"{re.escape(str(path))}, line 4: {message}"):
        cxc.read(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty; wanted 'caption,image,agg_score,sampling_method'"),
        (
            b"image1,image2,agg_score,sampling_method\n",
            "its header is 'image1,image2,agg_score,sampling_method'; wanted",
        ),
        (GOOD.encode(), "its header is 'COCO_val2014:sentid:7"),
        (b"caption,image,agg_score,sampling_method\n", "a header and no row"),
        (b"caption,image,agg_score,sampling_method\n" + GOOD.encode() + b"\n\xff\n", "not a whole CSV file in UTF-8"),
    ],
)
def test_a_file_of_another_kind(tmp_path, content, message):
    (tmp_path / "sits_test.csv").write_bytes(content)
    with pytest.raises(BadJudgements, match=f"sits_test.csv.*{message}"):
        cxc.read(tmp_path)


def test_a_download_that_broke_off(made, tmp_path):
    whole = (made[0] / "sits_test.csv.gz").read_bytes()
    for content in (whole[: len(whole) // 2], b"<html>not found</html>"):
        (tmp_path / "sits_test.csv.gz").write_bytes(content)
        with pytest.raises(BadJudgements, match="sits_test.csv.gz, after line .*not a whole CSV file"):
            cxc.read(tmp_path)


@pytest.mark.parametrize("threshold", [-0.1, 5.1, float("nan"), "3", True, "none"])
def test_thresholds_that_are_none(made, threshold):
    with pytest.raises(ValueError, match="threshold must be a number between 0 and 5, .*got"):
        cxc.judgements(cxc.read(made[0]), made[2], threshold=threshold)


def test_ids_that_are_not_in_the_split(made):
    """A part of the split: refused with counts and names, or its pairs alone; another split: refused always."""
    folder, rows, ids = made
    ratings = cxc.read(folder)
    images, captions = ids_in(folder / "dataset_coco.json")
    part = Ids(ids.images[:20], ids.captions[:25])
    gone_i, gone_c = sorted(set(images) - set(part.images)), sorted(set(captions) - set(part.captions))
    told = (
        rf"sits_test.csv.gz: 10 of its 30 images \(ids {gone_i[0]}, {gone_i[1]}, {gone_i[2]}, …\) and "
        rf"{len(gone_c)} of its {len(captions)} captions \(ids {gone_c[0]}, .*not in this split of 20 images and "
        r"25 captions.*one of Karpathy's splits.*missing=\"ignore\" \(--ignore-missing\)"
    )
    with pytest.raises(BadJudgements, match=told):
        cxc.judgements(ratings, part)
    found = cxc.judgements(ratings, part, missing="ignore")
    right = by_hand(rows, 3.0)
    inside = {(c, i) for c, i in right if c in part.captions and i in part.images}
    assert pairs_of(found, part, "i2t") == inside and found.dropped == len(right) - len(inside) > 0
    with pytest.raises(BadJudgements, match="No pair is left"):
        cxc.judgements(ratings, Ids([1, 2], [3, 4]), missing="ignore")
    with pytest.raises(ValueError, match="unknown missing 'skip'; allowed: 'refuse', 'ignore'"):
        cxc.judgements(ratings, part, missing="skip")


def test_rows_are_int64(made):
    found = cxc.judgements(cxc.read(made[0]), made[2])
    assert all(rows.dtype == torch.int64 for side in (found.i2t, found.t2i) for rows in side)
