"""A folder of features that asks: how well does a model that was trained on some photos search others' photos?

FEATURES is a folder of features with _files.txt (such as Flickr8k's), PHOTOS a folder of photos with captions, some of
which may be among those of FEATURES. Into FOLDER go the training and validation photos of FEATURES without those of
PHOTOS, and as test photos all of PHOTOS, whose features are computed from the pictures, as `icr index` computes them.
--as-there takes the test rows from FEATURES instead: the same photos prepared as the training photos were.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import click
import numpy as np

from icrlib.data import feature_folder, features, karpathy
from icrlib.data.precomputed import PARTS
from icrlib.files import make_folder

FOLDER = click.Path(path_type=Path)


@click.command(help=__doc__)
@click.argument("source", metavar="FEATURES", type=FOLDER)
@click.argument("photos", type=FOLDER)
@click.argument("folder", type=FOLDER)
@click.option("--backbone", default="efficientnet_lite2", show_default=True, help="The network that made FEATURES.")
@click.option("--as-there", is_flag=True, help="Test rows of FEATURES instead of features of the pictures.")
def main(source: Path, photos: Path, folder: Path, backbone: str, as_there: bool) -> None:
    if make_folder(folder) and any(folder.iterdir()):
        raise click.ClickException(f"{folder} is not empty; name another folder")
    captions = {
        file.name: texts
        for split in karpathy.read(photos).values()
        for file, texts in zip(split.files, split.captions, strict=True)
    }
    known = {name: feature_folder.parts(source, name)[0] for name in PARTS}
    for name in ("train", "val"):
        part = known[name]
        kept = np.array([row for row, file in enumerate(part.files) if Path(file).name not in captions], dtype=int)
        own = [[] for _ in part.files]
        for text, row in zip(part.captions, part.image_of.tolist(), strict=True):
            own[row].append(text)
        listed = karpathy.Photos(part.files, part.files, own)
        feature_folder.write_part(folder, PARTS[name], listed, kept, part.features[kept])
        click.echo(f"{name}: {len(kept):,} of {len(part.files):,} photos")
    if as_there:
        rows = {Path(file).name: part.features[row] for part in known.values() for row, file in enumerate(part.files)}
    else:
        with tempfile.TemporaryDirectory() as place:
            made = features.extract(photos, Path(place) / "f", backbone=backbone)
            rows = {
                Path(file).name: part.features[row].copy()
                for part in feature_folder.parts(made)
                for row, file in enumerate(part.files)
            }
    names = list(captions)
    listed = karpathy.Photos(names, names, list(captions.values()))
    feature_folder.write_part(folder, "test", listed, np.arange(len(names)), np.stack([rows[name] for name in names]))
    click.echo(f"test: {len(captions):,} photos of {photos}")


if __name__ == "__main__":
    main()
