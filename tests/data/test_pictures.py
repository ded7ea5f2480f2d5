"""Pictures as cameras, scanners and phones leave them: decoded as they look, or refused by name, never run."""

from __future__ import annotations

import random

import numpy as np
import pytest
from PIL import Image

from icrlib.data import pictures
from icrlib.data.pictures import BadPicture, open_picture


@pytest.mark.parametrize("kind", [np.uint16, np.int32, np.float32])
def test_more_than_8_bits_are_refused_and_not_white(tmp_path, kind):
    """Pillow's own conversion cuts everything above 255."""
    Image.fromarray(np.full((4, 4), 300, kind)).save(tmp_path / "a.tif")
    with pytest.raises(BadPicture, match="a.tif: .*save it with 8"):
        open_picture(tmp_path / "a.tif")


@pytest.mark.parametrize("kind", ["EPS", "PDF", "PPM", "TGA", "ICO", "PCX"])
def test_formats_that_no_photo_comes_in(tmp_path, kind):
    """An EPS starts Ghostscript; under a photo's name, too."""
    Image.new("RGB", (16, 16), (200, 0, 0)).save(tmp_path / "a.out", kind)
    (tmp_path / "a.out").rename(tmp_path / "a.jpg")
    with pytest.raises(BadPicture, match="a.jpg: .*JPEG.*pillow-heif"):
        open_picture(tmp_path / "a.jpg")


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "CMYK", "1"])
def test_pictures_of_every_mode(mode, tmp_path):
    end = ".jpg" if mode == "CMYK" else ".png"
    Image.new("RGB", (20, 10), (200, 30, 40)).convert(mode).save(tmp_path / f"a{end}")
    opened = open_picture(tmp_path / f"a{end}")
    assert opened.mode == "RGB" and opened.size == (20, 10)


def test_pictures_stand_upright(tmp_path):
    """As a camera that was turned by 90 degrees says; and one whose resolution is text, at which turning fails."""
    picture, exif = Image.new("RGB", (30, 10)), Image.Exif()
    exif[0x0112] = 6
    exif[0x0110] = "camera"
    picture.save(tmp_path / "a.jpg", exif=exif)
    assert open_picture(tmp_path / "a.jpg").size == (10, 30)
    content = (tmp_path / "a.jpg").read_bytes()
    order = "little" if b"II*" in content else "big"
    text, bytes_ = (b"".join(n.to_bytes(2, order) for n in field) for field in ((0x0110, 2), (0x011A, 7)))
    (tmp_path / "a.jpg").write_bytes(content.replace(text, bytes_))
    assert open_picture(tmp_path / "a.jpg").size == (30, 10)


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
        raw[dice.randrange(min(len(raw), 300) if number % 2 else len(raw))] ^= dice.randrange(1, 256)
        (tmp_path / "a.jpg").write_bytes(raw[: dice.randrange(len(raw))] if number % 3 == 0 else raw)
        try:
            assert open_picture(tmp_path / "a.jpg").mode == "RGB"
        except BadPicture as err:
            assert "a.jpg: cannot be decoded" in str(err)
