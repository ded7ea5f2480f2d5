"""Crisscrossed Captions: its file, the threshold against a plain loop, COCO's ids, and what can be wrong with each."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from icrlib.data import cxc
from icrlib.judged import evaluate_judged

from ..conftest import make_split

HEAD = "caption,image,agg_score,sampling_method"
GOOD = "COCO_val2014:sentid:7,COCO_val2014_000000000009.jpg,3.5,c2i_intrasim"


def write_annotations(path: Path, images: list[dict]) -> None:
    path.write_text(json.dumps({"images": images}))


def write_ratings(path: Path, rows) -> None:
    """(caption, image, score) rows in CxC's format, ids as it writes them, gzipped."""
    lines = [f"COCO_val2014:sentid:{a},COCO_val2014_{b:012d}.jpg,{score},c2i\n" for a, b, score in rows]
    path.write_bytes(gzip.compress("".join([f"{HEAD}\n", *lines]).encode()))


@pytest.fixture
def made(tmp_path):
    """A test split; its images and captions as ``dataset_coco.json``, beside images of other splits; COCO's ids of its
    rows; and ratings: every caption with its own image, and forty others."""
    split, dice = make_split("test", 30, 3, fewest=2, most=5), np.random.default_rng(3)
    split.captions[:] = [f"{text}, number {n} {'x' * (n % 3)}".strip() for n, text in enumerate(split.captions)]
    images = (10_000 + dice.permutation(30)).tolist()
    captions = (50_000 + dice.permutation(len(split.captions))).tolist()
    entries = [{"cocoid": 5, "split": name, "sentences": []} for name in ("train", "restval", "val")]
    entries += [{"cocoid": number, "split": "test", "sentences": []} for number in images]
    for row, text, number in zip(split.image_of.tolist(), split.captions, captions, strict=True):
        entries[3 + row]["sentences"].append({"raw": text, "sentid": number})
    pairs = {(number, images[row]) for number, row in zip(captions, split.image_of.tolist(), strict=True)}
    pairs |= {(int(dice.choice(captions)), int(dice.choice(images))) for _ in range(40)}
    rows = [(*pair, f"{dice.integers(0, 11) / 2:g}") for pair in sorted(pairs)]
    path, file = tmp_path / "dataset_coco.json", tmp_path / "sits_test.csv.gz"
    write_annotations(path, entries)
    write_ratings(file, rows)
    return SimpleNamespace(
        split=split, path=path, entries=entries, images=images, captions=captions, rows=rows, file=file
    )


@pytest.mark.parametrize("threshold", [0, 3, 5])
def test_the_threshold_as_a_plain_loop_counts(made, threshold):
    """Own pairs below it are not right either, and a score that is just as high is."""
    assert any(float(score) == 3.0 for *_, score in made.rows)
    kept, found = cxc.judgements(made.file, made.path, made.split, threshold)
    pairs = [
        (made.captions[c], made.images[i]) for i, c in zip(found.image.tolist(), found.caption.tolist(), strict=True)
    ]
    assert len(set(pairs)) == len(pairs)
    assert set(pairs) == {(c, i) for c, i, score in made.rows if float(score) >= threshold}
    assert kept.captions == made.split.captions and found.image.dtype == torch.int64


def test_captions_that_nobody_rated_are_no_candidates(made):
    split = made.split
    out = [int((split.image_of == row).nonzero()[0]) for row in (2, 5)]
    write_ratings(made.file, [row for row in made.rows if row[0] not in {made.captions[c] for c in out}])
    kept, found = cxc.judgements(made.file, made.path, split)
    assert kept.captions == [text for c, text in enumerate(split.captions) if c not in out] and len(kept) == len(split)
    measured = evaluate_judged(torch.rand(len(kept), len(kept.captions)), found)
    assert measured["t2i"]["queries"] + measured["t2i"]["left_out"] == len(kept.captions)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (GOOD.replace(":7", ":8").replace("3.5", "high"), "line 3: .*high.* is no row like"),
        (GOOD.replace("sentid:7", "sentid:x"), "line 3"),
        (GOOD.replace("3.5", "1"), "line 3: .*that was there already"),
        (GOOD + ",more", "not a whole CSV file"),
    ],
)
def test_a_bad_row_is_named_with_file_and_line(tmp_path, row, message):
    path = tmp_path / "sits_test.csv"
    path.write_text(f"{HEAD}\n{GOOD}\n{row}\n")
    with pytest.raises(ValueError, match=f"sits_test.csv.*{message}"):
        cxc.read(path)


@pytest.mark.parametrize(
    "content", [None, b"", b"<html>not found</html>", b"\xff\xfe", gzip.compress(b"a,b", mtime=0)[:-4]]
)
def test_a_file_of_another_kind(tmp_path, content):
    for name in ("a.csv", "b.csv.gz"):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=f"{name}.*in data/ of the repository"):
            cxc.read(tmp_path / name)


def test_case_punctuation_and_a_sixth_caption_do_not_count(made):
    """And equal captions of an image get its ids in their order."""
    split = made.split
    first, second = (split.image_of == 4).nonzero()[:2, 0].tolist()
    split.captions[second] = split.captions[first]
    made.entries[7]["sentences"][1]["raw"] = made.entries[7]["sentences"][0]["raw"]
    split.captions[:] = [text.upper().replace(",", " ,") + " ." for text in split.captions]
    for entry in made.entries:
        entry["sentences"].insert(1, {"raw": "one more", "sentid": 9_000_000})
    write_annotations(made.path, made.entries)
    assert cxc.ids_of(made.path, split) == (made.images, made.captions)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda images: images[5].pop("cocoid"), "dataset_coco.json: an image of 'test' has no usable 'cocoid'"),
        (lambda images: images.insert(3, images.pop(4)), "image 0 of the split 'test' has no caption"),
        (lambda images: images.pop(), "image 29 of the split 'test' has no caption"),
    ],
)
def test_annotations_that_do_not_fit(made, change, message):
    change(made.entries)
    write_annotations(made.path, made.entries)
    with pytest.raises(ValueError, match=message):
        cxc.ids_of(made.path, made.split)


def test_ratings_of_another_split(made):
    for other in ([*made.rows, (1, 2, "4")], made.rows[:5]):
        write_ratings(made.file, other)
        with pytest.raises(ValueError, match="about other images and captions than the split 'test'"):
            cxc.judgements(made.file, made.path, made.split)
