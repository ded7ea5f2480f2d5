"""Karpathy's format: splits and captions as they stand there, and each fault by its image's number."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from icrlib.data import karpathy

from .photos import edit


@pytest.fixture
def root(pristine, tmp_path):
    return Path(shutil.copytree(pristine, tmp_path / "photos"))


def test_splits_and_captions(root):
    splits = karpathy.read(root)
    assert {name: len(split) for name, split in splits.items()} == {"train": 12, "val": 6, "test": 6}
    assert all(len(captions) == 2 for split in splits.values() for captions in split.captions)
    assert splits["test"].files[0] == root / "images" / "test0.jpg" and splits["train"].ids[0] == "0"
    counts, problems, notes = karpathy.check(root, progress=False)
    assert problems == [] and counts["train"]["captions"] == 24 and counts["val"]["words"] > 12
    assert not any("more than once" in note for note in notes)


def test_gzip_and_line_breaks(root):
    edit(root, lambda images: images[0]["sentences"][0].update(raw="a red\n ring "))
    path = root / "dataset_scenes.json"
    (root / "dataset.json.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    assert karpathy.read(root)["train"].captions[0][0] == "a red ring"


IMAGE = "image 3: .*"


@pytest.mark.parametrize(
    "change, what",
    [
        (lambda images: images[3].update(filename="a\nb.jpg"), f"{IMAGE}line break"),
        (lambda images: images[3].update(filename="\udce9.jpg"), f"{IMAGE}LC_ALL"),
        (lambda images: images[3].update(filename="../../etc/passwd"), f"{IMAGE}inside"),
        *((lambda i, name=name: i[3].update(filename=name), f"{IMAGE}inside") for name in ("/etc/x", "C:\\a.jpg", ".")),
        (lambda images: images[3].update(filepath="..\\.."), f"{IMAGE}inside"),
        (lambda images: images[3].pop("filename"), f"{IMAGE}filename"),
        (lambda images: images[3].update(imgid="a\rb"), f"{IMAGE}id"),
        (lambda images: images[3].update(imgid=[1]), f"{IMAGE}imgid"),
        (lambda images: images[3]["sentences"][0].update(raw=None), f"{IMAGE}raw"),
        (lambda images: images[3].update(sentences={"raw": "a"}), f"{IMAGE}sentences"),
        (lambda images: images[3].update(split="dev"), f"{IMAGE}split"),
        (lambda images: [image.update(split="train") for image in images if image["split"] == "val"], "'val' is empty"),
        (lambda images: images[1].update(imgid=0), "'0' occurs twice"),
        (lambda images: images[-1].update(filename=images[0]["filename"]), "named by 2 images"),
    ],
)
def test_a_fault_is_named(root, change, what):
    """By what reads and by what lists all faults alike."""
    edit(root, change)
    with pytest.raises(karpathy.BadAnnotations, match=f"dataset_scenes.json, .*{what}"):
        karpathy.read(root)
    assert any("dataset_scenes.json, " in problem for problem in karpathy.check(root, progress=False)[1])


def test_files_that_are_no_annotations(root, tmp_path):
    shutil.move(root / "images", tmp_path / "images")
    with pytest.raises(FileNotFoundError, match="images"):
        karpathy.read(root)
    path = root / "dataset_scenes.json"
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(karpathy.BadAnnotations, match="dataset_scenes.json.*icr data make"):
        karpathy.read(root)
    shutil.copyfile(path, root / "dataset_b.json")
    with pytest.raises(FileNotFoundError, match="exactly one"):
        karpathy.read(root)


def test_check_opens_every_picture(root):
    """And notes copies; a picture of the test split without caption is a distractor."""
    images = root / "images"
    (images / "val1.jpg").write_bytes((images / "val1.jpg").read_bytes()[:900])
    (images / "test2.jpg").write_text("not a picture")
    (images / "train4.jpg").unlink()
    for one, other in (("train1", "train2"), ("train3", "test3")):
        shutil.copy(images / f"{one}.jpg", images / f"{other}.jpg")

    def change(entries):
        entries[7]["sentences"][0].update(raw=" \xad")
        entries[8].update(sentences=[])
        entries[-1].update(sentences=[])

    edit(root, change)
    _, problems, notes = karpathy.check(root, progress=False)
    assert len(problems) == 5
    for name in ("val1", "test2", "train4", "train7", "train8"):
        assert any(f"{name}.jpg" in problem for problem in problems)
    assert "test: 1 pictures without caption" in notes[0]
    assert "2 pictures are there more than once, 1 in several splits" in notes[1] and "train1.jpg" in notes[1]


def test_names_as_other_systems_write_them(tmp_path):
    """Separators of Windows, endings in capitals, and pictures beside the JSON."""
    one = [{"filename": "a\\b.JPG", "split": "train", "imgid": 0, "sentences": [{"raw": "a dog"}]}]
    (tmp_path / "dataset.json").write_text(json.dumps({"images": one}))
    (tmp_path / "c.JPG").touch()
    assert karpathy.read(tmp_path, complete=False)["train"].files == [tmp_path / "a" / "b.JPG"]


@pytest.mark.parametrize(
    ("splits", "notes"),
    [
        (
            {"train": [["a dog"]] * 4, "val": [["a dog runs"], ["two dogs"]], "test": []},
            ["train: 100.0 %", "train: 1 texts stand with several photos each (4 captions)", "val: 40.0 %"],
        ),
        (
            {"train": [["A dog.", "a cat"], ["a dog ."], ["a cow", "a cow"]]},
            ["train: 41.7 %", "train: 1 texts stand with several photos each (2 captions)"],
        ),
        ({"train": [["a dog"]] * 2, "val": [["A  dog", "a cow"]]}, ["train: 0.0 %", "train: 1 texts", "val: 0"]),
    ],
)
def test_notes_on_captions(splits, notes):
    """Words known, and texts that come again: the same words are the same text; twice at one photo is not shared."""
    found = karpathy._notes_on(splits)
    assert len(found) == len(notes)
    assert all(line.startswith(note) for line, note in zip(found, notes, strict=True)), found
