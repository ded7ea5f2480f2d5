"""Small files in the formats of COCO's annotations and CxC, and the splits that they are about."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np

from icrlib.data.splits import Split

from ..conftest import make_split


def split_and_annotations(folder: Path, images: int = 30, seed: int = 3) -> tuple[Split, Path]:
    """A test split, and its images and captions as ``dataset_coco.json``, beside images of other splits."""
    split = make_split("test", images, seed, fewest=2, most=5)
    split.captions[:] = [f"{text}, number {n} {'x' * (n % 3)}".strip() for n, text in enumerate(split.captions)]
    order = np.random.default_rng(seed).permutation(10_000)
    entries = [
        {
            "filename": "COCO_val2014_000000000005.jpg",
            "cocoid": 5,
            "split": name,
            "sentences": [{"raw": "a red ring", "sentid": 5}],
        }
        for name in ("train", "restval", "val")
    ]
    for row in range(images):
        number = 10_000 + int(order[row])
        own = (split.image_of == row).nonzero()[:, 0].tolist()
        entries.append(
            {
                "filename": f"COCO_val2014_{number:012d}.jpg",
                "cocoid": number,
                "split": "test",
                "sentences": [{"raw": split.captions[c], "sentid": 50_000 + int(order[1000 + c])} for c in own],
            }
        )
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
    """(caption, image, score, method) rows: every caption with its own image, and ``more`` others, shuffled."""
    dice, rows = np.random.default_rng(seed), []
    entries = [e for e in json.loads(path.read_text())["images"] if e["split"] == "test"]
    own = {(sentence["sentid"], entry["cocoid"]) for entry in entries for sentence in entry["sentences"]}
    images, captions = ids_in(path)
    others = {(int(dice.choice(captions)), int(dice.choice(images))) for _ in range(more)} - own
    for pairs, low, method in ((own, 2.0, "c2i_original"), (others, 0.0, "c2i_intrasim")):
        for caption, image in sorted(pairs):
            score = round(float(dice.uniform(low, 5)), int(dice.integers(0, 3)))  # whole numbers, too
            rows.append((caption, image, f"{score:g}", method))
    return [rows[n] for n in dice.permutation(len(rows))]


def write_ratings(path: Path, rows) -> Path:
    """The rows in CxC's format, ids as it writes them; gzipped where the name ends in .gz."""
    lines = ["caption,image,agg_score,sampling_method"]
    lines += [f"COCO_val2014:sentid:{a},COCO_val2014_{b:012d}.jpg,{score},{method}" for a, b, score, method in rows]
    text = "\n".join(lines) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path
