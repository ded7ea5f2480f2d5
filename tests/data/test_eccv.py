"""ECCV Caption's lists: two directions with queries of their own, and what can be wrong with a file."""

from __future__ import annotations

import json

import pytest

from icrlib.data import eccv
from icrlib.data.coco import Ids
from icrlib.data.judgements import BadJudgements

from .coco_files import write_lists

IDS = Ids([101, 102, 103], [11, 12, 13, 14, 15])
I2T = {103: [15, 11], 101: [12]}
T2I = {14: [101, 103, 102], 11: [103]}


@pytest.mark.parametrize(("under", "end"), [("", ".json"), ("data", ".json.gz"), ("eccv_caption/data", ".json")])
@pytest.mark.parametrize("which", ["eccv", "cxc"])
def test_each_direction_has_its_own_pairs(tmp_path, under, end, which):
    write_lists(tmp_path / under, I2T, T2I, which, end)
    found = eccv.judgements(tmp_path, IDS, which=which)
    assert {(IDS.images[i], IDS.captions[c]) for i, c in zip(*(x.tolist() for x in found.i2t), strict=True)} == {
        (image, caption) for image, captions in I2T.items() for caption in captions
    }
    assert {(IDS.images[i], IDS.captions[c]) for i, c in zip(*(x.tolist() for x in found.t2i), strict=True)} == {
        (image, caption) for caption, images in T2I.items() for image in images
    }
    assert found.dropped == 0 and found.name == eccv.NAMES[which]
    assert eccv.captions_of(eccv.read(tmp_path, which)) == {11, 12, 14, 15}


def test_a_part_of_the_split(tmp_path):
    write_lists(tmp_path, I2T, T2I)
    part = Ids([101, 103], [11, 14])
    with pytest.raises(BadJudgements, match=r"image_to_caption.json: 2 of its 3 captions \(ids 12, 15\) are not in"):
        eccv.judgements(tmp_path, part)
    found = eccv.judgements(tmp_path, part, missing="ignore")
    assert [x.tolist() for x in (*found.i2t, *found.t2i)] == [[1], [0], [0, 1, 1], [1, 1, 0]] and found.dropped == 3


def test_missing_files_and_names(tmp_path):
    with pytest.raises(FileNotFoundError, match="no eccv_image_to_caption.json or .*naver-ai/eccv-caption"):
        eccv.read(tmp_path)
    with pytest.raises(ValueError, match="unknown judgements 'coco'; allowed: 'eccv', 'cxc'"):
        eccv.read(tmp_path, "coco")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not a whole JSON file"),
        ('{"11": [10', "not a whole JSON file"),
        ("[]", "not a whole JSON file"),
        ('{"a": [101]}', "not a whole JSON file"),
        ("{}", "it names no query"),
        ('{"11": []}', r"query 11: \[\] is no list of ids"),
        ('{"11": [101], "12": 101}', "query 12: 101 is no list of ids"),
        ('{"11": ["101"]}', "query 11: .* is no list of ids"),
        ('{"11": [101, 101]}', r"query 11: \[101, 101\] is no list of ids, each once"),
    ],
)
def test_a_file_of_another_form(tmp_path, content, message):
    write_lists(tmp_path, I2T, T2I)
    (tmp_path / "eccv_caption_to_image.json").write_text(content)
    with pytest.raises(BadJudgements, match=f"eccv_caption_to_image.json.*{message}"):
        eccv.read(tmp_path)


def test_a_broken_gzip(tmp_path):
    write_lists(tmp_path, I2T, T2I, end=".json.gz")
    path = tmp_path / "eccv_caption_to_image.json.gz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(BadJudgements, match="not a whole JSON file"):
        eccv.read(tmp_path)
    path.write_bytes(json.dumps(T2I).encode())
    with pytest.raises(BadJudgements, match="not a whole JSON file"):
        eccv.read(tmp_path)
