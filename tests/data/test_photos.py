"""From photos to features: Karpathy's format, pictures of every kind, extraction that survives faults."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from filelock import FileLock
from PIL import Image, ImageOps
from tqdm import tqdm

import icrlib
from icrlib.data import backbones, feature_folder, features, karpathy, precomputed
from icrlib.data.pictures import BadPicture, open_picture
from icrlib.files import StorageError
from icrlib.search import Index

from .photos import edit, extract


@pytest.fixture
def root(pristine, tmp_path):
    return Path(shutil.copytree(pristine, tmp_path / "photos"))


def test_splits_and_captions(root):
    found = karpathy.read(root)
    assert {name: len(split) for name, split in found.items()} == {"train": 12, "val": 6, "test": 6}
    assert all(len(captions) == 2 for split in found.values() for captions in split.captions)
    assert found["test"].files[0] == root / "images" / "test0.jpg" and found["train"].ids[0] == "0"
    counts, problems, _ = karpathy.check(root, progress=False)
    assert problems == [] and counts["train"]["captions"] == 24 and counts["val"]["words"] > 12


def test_gzip_and_line_breaks(root):
    edit(root, lambda images: images[0]["sentences"][0].update(raw="a red\n ring "))
    path = root / "dataset_scenes.json"
    (root / "dataset.json.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    assert karpathy.read(root)["train"].captions[0][0] == "a red ring"


class TestAnnotations:
    def refuse(self, root, match, error=karpathy.BadAnnotations):
        with pytest.raises(error, match=match):
            karpathy.read(root)

    def test_cut_off(self, root):
        path = root / "dataset_scenes.json"
        path.write_text(path.read_text()[:900])
        self.refuse(root, "dataset_scenes.json: not a whole JSON file")

    def test_another_encoding(self, root):
        path = root / "dataset_scenes.json"
        path.write_bytes(path.read_text().replace("ring", "Größe").encode("latin-1"))
        edit_bytes = path.read_bytes() + b'{"\xe4": 1}'
        path.write_bytes(edit_bytes)
        self.refuse(root, "dataset_scenes.json, line 1: not UTF-8 text")

    def test_an_empty_split(self, root):
        edit(root, lambda images: [e.update(split="train") for e in images if e["split"] == "val"])
        self.refuse(root, "the split 'val' is empty")

    def test_an_unknown_split_and_a_missing_field(self, root):
        edit(root, lambda images: images[3].update(split="dev"))
        self.refuse(root, "image 3: split must be one of .*got 'dev'")
        edit(root, lambda images: (images[3].update(split="train"), images[5].pop("filename")))
        self.refuse(root, "image 5: image has no filename")

    def test_the_same_id_twice(self, root):
        edit(root, lambda images: images[1].update(imgid=0))
        self.refuse(root, "the id '0' occurs twice in 'train'")

    def test_missing_things(self, root, tmp_path):
        self.refuse(tmp_path / "nowhere", "no such folder", FileNotFoundError)
        shutil.copyfile(root / "dataset_scenes.json", root / "dataset_b.json")
        self.refuse(root, "exactly one dataset.*found dataset_b.json, dataset_scenes.json", FileNotFoundError)
        (root / "dataset_b.json").unlink()
        shutil.rmtree(root / "images")
        self.refuse(root, "no folder images/ here", FileNotFoundError)


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "CMYK", "1", "I;16"])
def test_pictures_of_every_mode(mode, tmp_path):
    end = ".jpg" if mode == "CMYK" else ".png"
    picture = Image.new("RGB", (20, 10), (200, 30, 40)) if mode != "I;16" else Image.new("I;16", (20, 10), 900)
    picture = picture if mode == "I;16" else picture.convert(mode)
    picture.save(tmp_path / f"a{end}")
    opened = open_picture(tmp_path / f"a{end}")
    assert opened.mode == "RGB" and opened.size == (20, 10)


@pytest.mark.parametrize("size", [(1, 1), (1, 300), (9000, 3), (4000, 2500)])
def test_pictures_of_every_size(size, tmp_path):
    Image.new("RGB", size, (10, 200, 30)).save(tmp_path / "a.png")
    network = backbones.load("scenes")
    assert network(network.prepare(open_picture(tmp_path / "a.png"))[None]).shape == (1, 256)


def test_rotated_by_its_camera(tmp_path):
    picture, exif = Image.new("RGB", (30, 10)), Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    picture.save(tmp_path / "a.jpg", exif=exif)
    assert open_picture(tmp_path / "a.jpg").size == (10, 30)


def test_bad_pictures_are_named(root):
    whole = (root / "images" / "val1.jpg").read_bytes()
    (root / "images" / "val1.jpg").write_bytes(whole[: len(whole) // 2])
    (root / "images" / "test2.jpg").write_text("not a picture")
    (root / "images" / "train4.jpg").unlink()
    edit(root, lambda images: images[7]["sentences"][0].update(raw="  "))
    _, problems, _ = karpathy.check(root, progress=False)
    assert len(problems) == 4 and all(
        any(name in p for p in problems) for name in ("val1.jpg", "test2.jpg", "train4.jpg", "train7.jpg")
    )
    with pytest.raises(BadPicture, match=r"val1.jpg: cannot be decoded"):
        open_picture(root / "images" / "val1.jpg")


def test_features_equal_the_networks_own(root, tmp_path):
    data = precomputed.load(extract(root, tmp_path / "f"), name="flickr8k", min_count=1)
    assert (len(data.train), len(data.val), len(data.test)) == (12, 6, 6) and len(data.test.captions) == 12
    network = backbones.load("scenes")
    for row in (0, 5):
        one = network(network.prepare(open_picture(root / "images" / f"test{row}.jpg"))[None])[0]
        torch.testing.assert_close(data.test.features[row].float(), one, rtol=2e-3, atol=2e-3)
        texts = [c for c, i in zip(data.test.captions, data.test.image_of, strict=True) if i == row]
        assert texts == karpathy.read(root)["test"].captions[row]


def test_regions(root, tmp_path):
    data = precomputed.load(extract(root, tmp_path / "f", regions=4), name="flickr8k", min_count=1)
    assert data.val.features.shape == (6, 16, 256)
    pooled = precomputed.load(extract(root, tmp_path / "g"), name="flickr8k", min_count=1).val.features.float()
    torch.testing.assert_close(data.val.features.float().mean(1), pooled, rtol=5e-3, atol=5e-3)


def test_captions_of_any_length(root, tmp_path):
    edit(root, lambda images: images[0]["sentences"].append({"raw": "ring " * 500}))
    edit(root, lambda images: images[1]["sentences"].append({"raw": ""}))
    data = precomputed.load(extract(root, tmp_path / "f"), name="flickr8k", min_count=1)
    assert len(data.train.captions) == 25  # the long one came in, the empty one did not
    assert [int((data.train.image_of == row).sum()) for row in (0, 1, 2)] == [3, 2, 2]
    icrlib.train(data, updates=2, batch_size=8, embed_dim=8, word_dim=8, progress=False)
    edit(root, lambda images: images[1].update(sentences=[{"raw": " "}]))
    data = precomputed.load(extract(root, tmp_path / "g"), name="flickr8k", min_count=1)
    assert len(data.train) == 11 and "1" not in data.train.image_ids
    assert (tmp_path / "g" / "rest_files.txt").read_text().endswith("train1.jpg\n")
    whole = np.load(tmp_path / "f" / "train_ims.npy")
    assert np.array_equal(np.load(tmp_path / "g" / "rest_ims.npy"), whole[1:2])


def test_bad_photos_cost_nothing_but_themselves(root, tmp_path, monkeypatch):
    (root / "images" / "train3.jpg").write_text("broken")
    (root / "images" / "test1.jpg").unlink()
    with pytest.raises(features.BadPhotos, match="2 photos cannot be used") as err:
        extract(root, tmp_path / "f")
    said = str(err.value)
    assert all(word in said for word in ("train3.jpg: cannot be decoded", "test1.jpg: no such picture", "--skip-bad"))
    assert not (tmp_path / "f" / "train_ims.npy").exists()
    asked = []
    monkeypatch.setattr(features, "open_picture", lambda path: asked.append(path) or open_picture(path))
    data = precomputed.load(extract(root, tmp_path / "f", skip_bad=True), name="flickr8k", min_count=1)
    assert asked == [], "what was done was done again"
    assert (len(data.train), len(data.test)) == (11, 5) and len(data.test.captions) == 10
    files = (tmp_path / "f" / "test_files.txt").read_text().split()
    assert [Path(f).name for f in files] == [f"test{i}.jpg" for i in (0, 2, 3, 4, 5)]


def test_a_mended_photo_is_computed_again(root, tmp_path):
    whole = (root / "images" / "val2.jpg").read_bytes()
    (root / "images" / "val2.jpg").write_bytes(b"")
    with pytest.raises(features.BadPhotos, match="val2.jpg"):
        extract(root, tmp_path / "f")
    (root / "images" / "val2.jpg").write_bytes(whole)
    assert np.load(extract(root, tmp_path / "f") / "dev_ims.npy").shape == (6, 256)


def test_a_full_disk(root, tmp_path, monkeypatch):
    """The second part does not fit: the first stays, and the next try needs the rest only."""
    real, written = features.write_arrays, []

    def full(path, content):
        if written:
            raise StorageError(f"{path}: no space left on the device. Free some, or choose another folder")
        written.append(path)
        real(path, content)

    monkeypatch.setattr(features, "write_arrays", full)
    with pytest.raises(StorageError, match="no space left"):
        extract(root, tmp_path / "f")
    monkeypatch.setattr(features, "write_arrays", real)
    assert written[0].is_file()
    assert np.load(extract(root, tmp_path / "f") / "train_ims.npy").shape == (12, 256)


def test_a_damaged_part_is_computed_again(root, tmp_path, monkeypatch):
    monkeypatch.setattr(feature_folder, "replace", lambda *a: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        extract(root, tmp_path / "f")
    part = next((tmp_path / "f" / ".parts").glob("val*"))
    part.write_bytes(part.read_bytes()[:-20])
    monkeypatch.undo()
    again, fresh = (np.load(extract(root, tmp_path / name) / "dev_ims.npy") for name in ("f", "fresh"))
    assert np.array_equal(again, fresh)


def test_two_processes_do_not_share_a_folder(root, tmp_path):
    (tmp_path / "f").mkdir()
    with FileLock(tmp_path / "f" / ".lock"), pytest.raises(ValueError, match="another process is computing features"):
        extract(root, tmp_path / "f")
    assert (extract(root, tmp_path / "f") / "train_ims.npy").is_file()


def test_the_bar_counts_photos(root, tmp_path, monkeypatch):
    """Batch by batch, bad photos too; a part that is there counts from the start."""
    shown = []

    class Counted(tqdm):
        def __init__(self, items, said, wanted, **options):
            assert items is None and wanted
            super().__init__(desc=said, file=io.StringIO(), disable=False, **options)
            self.steps = []
            shown.append(self)

        def update(self, n=1):
            self.steps.append(n)
            return super().update(n)

    monkeypatch.setattr(features, "bar", Counted)
    monkeypatch.setattr(features, "PART", 5)
    monkeypatch.setitem(features.BATCH, "cpu", 2)
    (root / "images" / "train3.jpg").write_text("broken")

    def extract_again():
        shown.clear()
        with pytest.raises(features.BadPhotos, match="1 photos cannot be used"):
            features.extract(root, tmp_path / "f", backbone="scenes", device="cpu")
        assert all(bar.n == bar.total for bar in shown), "every bar ends full"
        return [(bar.total, bar.initial, bar.steps) for bar in shown]

    assert extract_again() == [(12, 0, [2, 2, 1, 2, 2, 1, 2]), (6, 0, [2, 2, 1, 1]), (6, 0, [2, 2, 1, 1])]
    assert extract_again() == [(12, 12, []), (6, 6, []), (6, 6, [])]
    next((tmp_path / "f" / ".parts").glob("train-0000005*")).unlink()
    assert extract_again() == [(12, 7, [2, 2, 1]), (6, 6, []), (6, 6, [])]


@pytest.mark.process
@pytest.mark.slow
def test_a_killed_extraction_goes_on(root, tmp_path):
    """SIGKILL to a real process between two parts; what it had done is not done again, and the result is the same."""
    code = (
        "import sys; from icrlib.data import features as f; f.PART = 2\n"
        "real = f.write_arrays\n"
        "def told(path, content):\n    real(path, content); print('part', flush=True); sys.stdin.readline()\n"
        "f.write_arrays = told\n"
        f"f.extract({str(root)!r}, {str(tmp_path / 'f')!r}, backbone='scenes', progress=False)"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-c", code], **pipes, text=True, bufsize=1)
    for go_on in ("\n", "\n", ""):
        assert process.stdout.readline() == "part\n"
        process.stdin.write(go_on)
    process.kill()
    process.wait()
    kept = list((tmp_path / "f" / ".parts").glob("*.npz"))
    assert len(kept) == 3 and not (tmp_path / "f" / "train_ims.npy").exists()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0 and done.stdout.count("part") == 12 - 3, done.stderr
    whole = np.load(extract(root, tmp_path / "g") / "train_ims.npy")
    np.testing.assert_allclose(np.load(tmp_path / "f" / "train_ims.npy"), whole, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backbone": "resnet5"}, "unknown backbone 'resnet5'.*Did you mean 'resnet50'"),
        ({"regions": -1}, "regions must be 0"),
        ({"backbone": "math:sqrt"}, "sqrt|must return"),
    ],
)
def test_bad_options(root, tmp_path, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        extract(root, tmp_path / "f", **options)


def test_torchvision_networks_make_maps():
    """Without weights: the shapes, and that a frozen network stays frozen."""
    for name, shape in (("resnet50", (1, 2048)), ("vit_b_16", (1, 768))):
        network = backbones._torchvision(name, weights=None)
        network.network.eval()
        picture = network.prepare(Image.new("RGB", (300, 200)))
        assert picture.shape == (3, 224, 224) and network(picture[None]).shape == shape
        assert network(picture[None], 4).shape == (1, 16, shape[1])


def test_the_torchvision_repair_declares_only_on_that_error(monkeypatch):
    calls = []

    def broken(name):
        calls.append(name)
        if len(calls) == 1:
            raise RuntimeError("operator torchvision::nms does not exist")
        return "module"

    monkeypatch.setattr(backbones.importlib, "import_module", broken)
    library = type("Library", (), {"define": lambda self, schema: None})
    monkeypatch.setattr(backbones.torch.library, "Library", lambda *a: library())
    kept = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "torchvision"}
    try:
        assert backbones.import_torchvision() == "module" and len(calls) == 2
    finally:
        sys.modules.update(kept)

    def fails(name):
        calls.append(name)
        raise RuntimeError("other")

    calls.clear()
    monkeypatch.setattr(backbones.importlib, "import_module", fails)
    with pytest.raises(RuntimeError, match="other"):
        backbones.import_torchvision()
    assert len(calls) == 1 and set(kept) <= set(sys.modules)


def network():
    """A reader's network, whose own name is not the one that finds it."""
    made = backbones.load("scenes")
    made.name = "mine"
    return made


def test_a_network_of_ones_own_is_noted_but_never_imported_from_a_file(root, tmp_path, readers_own):
    """What is noted is the name that was asked for; who searches with a picture hands the network over again."""
    folder = extract(root, tmp_path / "f", readers_own)
    data = icrlib.load_dataset("flickr8k", features=folder, min_count=1)
    run = icrlib.train(data, "bow", updates=2, batch_size=8, embed_dim=8, progress=False)
    index = Index.of(run.model, folder)
    with pytest.raises(ValueError, match="names the backbone 'readers_own:network'.*hand it over, backbone="):
        index.by_picture(root / "images" / "test0.jpg", top=3)
    hits = index.by_picture(root / "images" / "test0.jpg", top=3, backbone=readers_own)
    assert [hit.rank for hit in hits] == [1, 2, 3]


def test_a_part_without_any_good_photo(root, tmp_path, monkeypatch):
    monkeypatch.setattr(features, "PART", 2)
    for number in (0, 1):
        (root / "images" / f"train{number}.jpg").write_text("broken")
    assert np.load(extract(root, tmp_path / "f", skip_bad=True) / "train_ims.npy").shape == (10, 256)
    for number in range(6):
        (root / "images" / f"val{number}.jpg").write_text("broken")
    with pytest.raises(features.BadPhotos, match="no usable photo is left in 'val'"):
        extract(root, tmp_path / "g", skip_bad=True)
    with pytest.raises(ValueError, match="workers must be a whole number of at least 1; got 0"):
        extract(root, tmp_path / "g", workers=0)


def test_names_as_other_systems_write_them(tmp_path):
    """Separators of Windows, endings in capitals, and COCO's pictures of 2014 in the folders of 2017."""
    one = [{"filename": "a\\b.JPG", "split": "train", "imgid": 0, "sentences": [{"raw": "a dog"}]}]
    (tmp_path / "dataset.json").write_text(json.dumps({"images": one}))
    (tmp_path / "c.JPG").touch()  # pictures beside the JSON, endings in capitals
    assert karpathy.read(tmp_path, whole=False)["train"].files == [tmp_path / "a" / "b.JPG"]
    name = "COCO_val2014_000000000042.jpg"
    coco = [{"filepath": "val2014", "filename": name, "split": "test", "cocoid": 42, "sentences": [{"raw": "a cat"}]}]
    place = tmp_path / "coco"
    (place / "train2017").mkdir(parents=True)
    (place / "dataset.json").write_text(json.dumps({"images": coco}))
    assert karpathy.read(place, whole=False)["test"].files == [place / "val2014" / name]
    (place / "train2017" / "000000000042.jpg").touch()
    assert karpathy.read(place, whole=False)["test"].files == [place / "train2017" / "000000000042.jpg"]


def test_of_metadata_only_the_orientation_matters(tmp_path):
    """A resolution that is text: Pillow's own turning writes all fields again, and fails."""
    picture, exif = Image.new("RGB", (30, 10)), Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    exif[0x0110] = "camera"
    picture.save(tmp_path / "a.jpg", exif=exif)
    content = (tmp_path / "a.jpg").read_bytes()
    order = "little" if b"II*" in content else "big"
    text, bytes_ = (b"".join(n.to_bytes(2, order) for n in field) for field in ((0x0110, 2), (0x011A, 7)))
    assert content.count(text) == 1
    (tmp_path / "a.jpg").write_bytes(content.replace(text, bytes_))
    with Image.open(tmp_path / "a.jpg") as opened, pytest.raises(TypeError):
        ImageOps.exif_transpose(opened)
    assert open_picture(tmp_path / "a.jpg").size == (10, 30)
