"""Pictures as cameras, scanners and phones leave them: decoded as they look, or refused by name, never run."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

from icrlib.data import pictures
from icrlib.data.pictures import BadPicture, open_picture


@pytest.mark.parametrize("order", ["I;16", "I;16B", "I"])
def test_grey_of_16_bits_is_not_white(tmp_path, order):
    """Pillow's own conversion cuts everything above 255."""
    values = np.linspace(0, 65535, 256).reshape(16, 16)
    kind = {"I;16": "<u2", "I;16B": ">u2", "I": np.int32}[order]
    end = "png" if order == "I;16" else "tif"
    Image.fromarray(values.astype(kind)).save(tmp_path / f"a.{end}")
    found = np.asarray(open_picture(tmp_path / f"a.{end}")).astype(float)
    assert np.abs(found - values[..., None] / 257).max() <= 1


def test_whole_numbers_up_to_255_are_taken_as_they_are(tmp_path):
    values = np.arange(256, dtype=np.int32).reshape(16, 16)
    Image.fromarray(values).save(tmp_path / "a.tif")
    assert (np.asarray(open_picture(tmp_path / "a.tif"))[..., 0] == values).all()


def test_floating_point_has_no_white(tmp_path):
    Image.fromarray(np.ones((4, 4), np.float32)).save(tmp_path / "a.tif")
    with pytest.raises(BadPicture, match="a.tif: .*floating-point"):
        open_picture(tmp_path / "a.tif")


@pytest.mark.parametrize("kind", ["EPS", "PDF", "PPM", "TGA", "ICO", "PCX"])
def test_formats_that_no_photo_comes_in(tmp_path, kind):
    """An EPS starts Ghostscript; under a photo's name, too."""
    Image.new("RGB", (16, 16), (200, 0, 0)).save(tmp_path / "a.out", kind)
    (tmp_path / "a.out").rename(tmp_path / "a.jpg")
    with pytest.raises(BadPicture, match="a.jpg: .*JPEG.*pillow-heif"):
        open_picture(tmp_path / "a.jpg")


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "CMYK", "1", "I;16"])
def test_pictures_of_every_mode(mode, tmp_path):
    end = ".jpg" if mode == "CMYK" else ".png"
    picture = Image.new("RGB", (20, 10), (200, 30, 40)) if mode != "I;16" else Image.new("I;16", (20, 10), 900)
    picture = picture if mode == "I;16" else picture.convert(mode)
    picture.save(tmp_path / f"a{end}")
    opened = open_picture(tmp_path / f"a{end}")
    assert opened.mode == "RGB" and opened.size == (20, 10)


def test_of_metadata_only_the_orientation_matters(tmp_path):
    """A camera turned by 90 degrees; and a resolution that is text, at which Pillow's own turning fails."""
    picture, exif = Image.new("RGB", (30, 10)), Image.Exif()
    exif[0x0112] = 6
    exif[0x0110] = "camera"
    picture.save(tmp_path / "a.jpg", exif=exif)
    assert open_picture(tmp_path / "a.jpg").size == (10, 30)
    content = (tmp_path / "a.jpg").read_bytes()
    order = "little" if b"II*" in content else "big"
    text, bytes_ = (b"".join(n.to_bytes(2, order) for n in field) for field in ((0x0110, 2), (0x011A, 7)))
    assert content.count(text) == 1
    (tmp_path / "a.jpg").write_bytes(content.replace(text, bytes_))
    with Image.open(tmp_path / "a.jpg") as opened, pytest.raises(TypeError):
        ImageOps.exif_transpose(opened)
    assert open_picture(tmp_path / "a.jpg").size == (10, 30)


@pytest.mark.parametrize("size", [(65000, 1), (9000, 3)])
def test_very_long_pictures_take_little_memory(tmp_path, size, monkeypatch):
    """Their middle is all that is used; scaling the whole would ask for gigabytes."""
    Image.new("RGB", size, (10, 200, 30)).save(tmp_path / "a.png")
    real, sizes = Image.Image.resize, []
    monkeypatch.setattr(Image.Image, "resize", lambda self, to, *more: sizes.append(to) or real(self, to, *more))
    made = pictures.squeezed(256, (0.0,) * 3, (1.0,) * 3, crop=224)(open_picture(tmp_path / "a.png"))
    assert made.shape == (3, 224, 224) and all(width * height < 5_000_000 for width, height in sizes)
    assert torch.allclose(made.mean((1, 2)) * 255, torch.tensor([10.0, 200.0, 30.0]), atol=1)


def test_ordinary_pictures_are_prepared_as_before(tmp_path):
    values = np.random.default_rng(0).integers(0, 255, (90, 120, 3), dtype=np.uint8)
    picture = Image.fromarray(values)
    made = pictures.squeezed(64, (0.0,) * 3, (1.0,) * 3, crop=56)(picture)
    whole = picture.resize((85, 64), Image.Resampling.BILINEAR).crop((14, 4, 70, 60))
    assert np.array_equal((made * 255).round().numpy().transpose(1, 2, 0), np.asarray(whole))


def test_too_many_pixels(tmp_path, monkeypatch):
    Image.new("RGB", (300, 300)).save(tmp_path / "a.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    with pytest.raises(BadPicture, match="a.png: cannot be decoded"):
        open_picture(tmp_path / "a.png")


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF"])
def test_damage_anywhere_is_named(tmp_path, kind):
    """Bytes changed or cut off at random places: a picture, or a BadPicture with the file's name; nothing else."""
    dice = random.Random(kind)
    pixels = np.random.default_rng(1).integers(0, 255, (24, 20, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "whole", kind)
    whole = (tmp_path / "whole").read_bytes()
    for number in range(40):
        raw = bytearray(whole)
        for _ in range(dice.randint(1, 6)):
            raw[dice.randrange(min(len(raw), 300) if number % 2 else len(raw))] = dice.randrange(256)
        (tmp_path / "a.jpg").write_bytes(raw[: dice.randrange(len(raw))] if number % 3 == 0 else raw)
        try:
            assert open_picture(tmp_path / "a.jpg").mode == "RGB"
        except BadPicture as err:
            assert "a.jpg: cannot be decoded" in str(err)
