"""A folder of photos in Karpathy's format, rendered from scenes: what the tests of the photo path work on."""

from __future__ import annotations

import json
from pathlib import Path

from PIL import Image

from icrlib.data import features, scenes


def make(folder: Path, train: int = 12, val: int = 6, test: int = 6) -> Path:
    """JPEG pictures of scenes and their captions, two of five each; returns ``folder``."""
    data = scenes.load(train=train, val=val, test=test)
    (folder / "images").mkdir(parents=True)
    entries, number = [], 0
    for name in ("train", "val", "test"):
        split = getattr(data, name)
        for row in range(len(split)):
            file = f"{name}{row}.jpg"
            Image.fromarray(split.images[row]).resize((96, 80)).save(folder / "images" / file, quality=92)
            texts = [split.captions[int(c)] for c in (split.image_of == row).nonzero()[:2]]
            sentences = [{"raw": text, "tokens": text.split()} for text in texts]
            # COCO's restval joins train.
            shown = "restval" if name == "train" and row % 3 == 0 else name
            entries.append({"filename": file, "split": shown, "imgid": number, "sentences": sentences})
            number += 1
    (folder / "dataset_scenes.json").write_text(json.dumps({"images": entries, "dataset": "scenes"}))
    return folder


def extract(root: Path, folder: Path, backbone: str = "scenes", **options) -> Path:
    """Their features, by the network of scenes unless another is named."""
    return features.extract(root, folder, backbone=backbone, progress=False, **options)


def edit(folder: Path, change) -> None:
    """Apply ``change`` to the list of images in the JSON."""
    path = folder / "dataset_scenes.json"
    content = json.loads(path.read_text())
    change(content["images"])
    path.write_text(json.dumps(content))
