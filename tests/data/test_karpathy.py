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
    counts, problems, _ = karpathy.check(root, progress=False)
    assert problems == [] and counts["train"]["captions"] == 24 and counts["val"]["words"] > 12


def test_gzip_and_line_breaks(root):
    edit(root, lambda images: images[0]["sentences"][0].update(raw="a red\n ring "))
    path = root / "dataset_scenes.json"
    (root / "dataset.json.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    assert karpathy.read(root)["train"].captions[0][0] == "a red ring"


@pytest.mark.parametrize(
    "change, what",
    [
        (lambda image: image.update(filename="a\nb.jpg"), "line break"),
        (lambda image: image.update(filename="../../etc/passwd"), "inside"),
        (lambda image: image.update(filename="/etc/passwd"), "inside"),
        (lambda image: image.update(filepath="..\\.."), "inside"),
        (lambda image: image.pop("filename"), "filename"),
        (lambda image: image.update(imgid="a\rb"), "id"),
        (lambda image: image.update(imgid=[1]), "imgid"),
        (lambda image: image["sentences"][0].update(raw=None), "raw"),
        (lambda image: image["sentences"][0].update(raw=["a", "b"]), "raw"),
        (lambda image: image.update(sentences={"raw": "a"}), "sentences"),
        (lambda image: image.update(split="dev"), "split"),
    ],
)
def test_a_fault_is_named_with_its_image(root, change, what):
    """By what reads and by what lists all faults alike."""
    edit(root, lambda images: change(images[3]))
    with pytest.raises(karpathy.BadAnnotations, match=rf"dataset_scenes.json, image 3: .*{what}"):
        karpathy.read(root)
    assert any("dataset_scenes.json, image 3: " in problem for problem in karpathy.check(root, progress=False)[1])


@pytest.mark.parametrize(
    "change, what",
    [
        (lambda images: [image.update(split="train") for image in images if image["split"] == "val"], "'val' is empty"),
        (lambda images: images[1].update(imgid=0), "'0' occurs twice"),
        (lambda images: images.clear(), "images"),
    ],
)
def test_a_fault_of_the_whole(root, change, what):
    edit(root, change)
    with pytest.raises(karpathy.BadAnnotations, match=f"dataset_scenes.json.*{what}"):
        karpathy.read(root)


def test_files_that_are_no_annotations(root, tmp_path):
    path = root / "dataset_scenes.json"
    whole = path.read_bytes()
    for content in (whole[:900], whole + b'{"\xe4": 1}', b"[]"):
        path.write_bytes(content)
        with pytest.raises(karpathy.BadAnnotations, match="dataset_scenes.json.*icr data make"):
            karpathy.read(root)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        karpathy.read(tmp_path / "nowhere")
    shutil.copyfile(path, root / "dataset_b.json")
    with pytest.raises(FileNotFoundError, match="exactly one"):
        karpathy.read(root)
    (root / "dataset_b.json").unlink()
    path.write_bytes(whole)
    shutil.rmtree(root / "images")
    with pytest.raises(FileNotFoundError, match="images"):
        karpathy.read(root)


def test_check_opens_every_picture(root):
    whole = (root / "images" / "val1.jpg").read_bytes()
    (root / "images" / "val1.jpg").write_bytes(whole[: len(whole) // 2])
    (root / "images" / "test2.jpg").write_text("not a picture")
    (root / "images" / "train4.jpg").unlink()
    edit(root, lambda images: images[7]["sentences"][0].update(raw="  "))
    edit(root, lambda images: images[8].update(sentences=[]))
    _, problems, _ = karpathy.check(root, progress=False)
    assert len(problems) == 5
    for name in ("val1.jpg", "test2.jpg", "train4.jpg", "train7.jpg", "train8.jpg"):
        assert any(name in problem for problem in problems)


def test_names_as_other_systems_write_them(tmp_path):
    """Separators of Windows, endings in capitals, and COCO's pictures of 2014 in the folders of 2017."""
    one = [{"filename": "a\\b.JPG", "split": "train", "imgid": 0, "sentences": [{"raw": "a dog"}]}]
    (tmp_path / "dataset.json").write_text(json.dumps({"images": one}))
    (tmp_path / "c.JPG").touch()  # pictures beside the JSON
    assert karpathy.read(tmp_path, complete=False)["train"].files == [tmp_path / "a" / "b.JPG"]
    name = "COCO_val2014_000000000042.jpg"
    coco = [{"filepath": "val2014", "filename": name, "split": "test", "cocoid": 42, "sentences": [{"raw": "a cat"}]}]
    place = tmp_path / "coco"
    (place / "train2017").mkdir(parents=True)
    (place / "dataset.json").write_text(json.dumps({"images": coco}))
    (place / "train2017" / "000000000041.jpg").touch()
    assert karpathy.read(place, complete=False)["test"].files == [place / "val2014" / name]
    (place / "train2017" / "000000000042.jpg").touch()
    assert karpathy.read(place, complete=False)["test"].files == [place / "train2017" / "000000000042.jpg"]
