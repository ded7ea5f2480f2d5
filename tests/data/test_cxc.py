"""Crisscrossed Captions: its file, the threshold against a plain loop, COCO's ids, and what can be wrong with each."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from icrlib.data import cxc
from icrlib.data.splits import Split
from icrlib.judged import evaluate_judged

from ..conftest import make_split


def split_and_annotations(folder: Path, images: int = 30) -> tuple[Split, Path]:
    """A test split, and its images and captions as ``dataset_coco.json``, beside images of other splits."""
    split = make_split("test", images, 3, fewest=2, most=5)
    split.captions[:] = [f"{text}, number {n} {'x' * (n % 3)}".strip() for n, text in enumerate(split.captions)]
    order = np.random.default_rng(3).permutation(10_000).tolist()
    entries = [{"cocoid": 5, "split": name, "sentences": []} for name in ("train", "restval", "val")]
    for row in range(images):
        own = (split.image_of == row).nonzero()[:, 0].tolist()
        sentences = [{"raw": split.captions[c], "sentid": 50_000 + order[1000 + c]} for c in own]
        entries.append({"cocoid": 10_000 + order[row], "split": "test", "sentences": sentences})
    path = folder / "dataset_coco.json"
    path.write_text(json.dumps({"images": entries}))
    return split, path


def change_annotations(path: Path, change) -> None:
    """Apply ``change`` to the list of images in the JSON."""
    content = json.loads(path.read_text())
    change(content["images"])
    path.write_text(json.dumps(content))


def ids_in(path: Path, part: str = "test") -> tuple[list[int], list[int]]:
    """Image and sentence ids of a split, read by plain loops."""
    images, captions = [], []
    for entry in json.loads(path.read_text())["images"]:
        if entry["split"] == part:
            images.append(entry["cocoid"])
            captions += [sentence["sentid"] for sentence in entry["sentences"]]
    return images, captions


def draw_ratings(path: Path, seed: int = 0, more: int = 40) -> list[tuple[int, int, str, str]]:
    """(caption, image, score, method) rows: every caption with its own image, and ``more`` others."""
    dice = np.random.default_rng(seed)
    entries = [e for e in json.loads(path.read_text())["images"] if e["split"] == "test"]
    own = {(sentence["sentid"], entry["cocoid"]) for entry in entries for sentence in entry["sentences"]}
    images, captions = ids_in(path)
    pairs = own | {(int(dice.choice(captions)), int(dice.choice(images))) for _ in range(more)}
    return [(*pair, f"{dice.integers(0, 11) / 2:g}", "c2i") for pair in sorted(pairs)]


def write_ratings(path: Path, rows) -> Path:
    """The rows in CxC's format, ids as it writes them; gzipped where the name ends in .gz."""
    lines = ["caption,image,agg_score,sampling_method"]
    lines += [f"COCO_val2014:sentid:{a},COCO_val2014_{b:012d}.jpg,{score},{method}" for a, b, score, method in rows]
    text = "\n".join(lines) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.fixture
def made(tmp_path):
    """A split, its annotations, the rows of a file of ratings as text, and that file."""
    split, path = split_and_annotations(tmp_path)
    rows = draw_ratings(path)
    return split, path, rows, write_ratings(tmp_path / "sits_test.csv.gz", rows)


@pytest.mark.parametrize("threshold", [0, 3, 5])
def test_the_threshold_as_a_plain_loop_counts(made, threshold):
    """Own pairs below it are not right either, and a score that is just as high is."""
    split, path, rows, file = made
    assert any(float(score) == 3.0 for _, _, score, _ in rows)
    kept, found = cxc.judgements(file, path, split, threshold)
    images, captions = ids_in(path)
    pairs = [(captions[c], images[i]) for i, c in zip(found.image.tolist(), found.caption.tolist(), strict=True)]
    assert len(set(pairs)) == len(pairs)
    assert set(pairs) == {(c, i) for c, i, score, _ in rows if float(score) >= threshold}
    assert kept.captions == split.captions and found.image.dtype == torch.int64


def test_captions_that_nobody_rated_are_no_candidates(made):
    split, path, rows, file = made
    captions = ids_in(path)[1]
    out = [int((split.image_of == row).nonzero()[0]) for row in (2, 5)]
    write_ratings(file, [row for row in rows if row[0] not in {captions[c] for c in out}])
    kept, found = cxc.judgements(file, path, split)
    assert kept.captions == [text for c, text in enumerate(split.captions) if c not in out] and len(kept) == len(split)
    measured = evaluate_judged(torch.rand(len(kept), len(kept.captions)), found)
    assert measured["t2i"]["queries"] + measured["t2i"]["left_out"] == len(kept.captions)


HEAD = "caption,image,agg_score,sampling_method"
GOOD = "COCO_val2014:sentid:7,COCO_val2014_000000000009.jpg,3.5,c2i_intrasim"


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


@pytest.mark.parametrize("content", [b"", b"<html>not found</html>", b"\xff\xfe"])
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
        (lambda images: images[5].pop("cocoid"), "dataset_coco.json: an image of 'test' has no usable 'cocoid'"),
        (lambda images: images.insert(3, images.pop(4)), "image 0 of the split 'test' has no caption"),
        (lambda images: images.pop(), "image 29 of the split 'test' has no caption"),
    ],
)
def test_annotations_that_do_not_fit(made, change, message):
    split, path, *_ = made
    change_annotations(path, change)
    with pytest.raises(ValueError, match=message):
        cxc.ids_of(path, split)


def test_ratings_of_another_split(made):
    split, path, rows, file = made
    for other in ([*rows, (1, 2, "4", "c2i_intrasim")], rows[:5]):
        write_ratings(file, other)
        with pytest.raises(ValueError, match="about other images and captions than the split 'test'"):
            cxc.judgements(file, path, split)
