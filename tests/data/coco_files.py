"""Small files in the formats of COCO's annotations, CxC and ECCV Caption, and the splits that they are about."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np

from icrlib.data.splits import Split

from ..conftest import make_split
from .photos import edit

COLUMNS = {"sits": ("caption", "image"), "sis": ("image1", "image2"), "sts": ("caption1", "caption2")}


def number_photos(folder: Path) -> dict[str, tuple[list[int], list[list[int]]]]:
    """Give the images and sentences of a folder of photos COCO's ids; returns them by split, in the JSON's order."""
    ids: dict[str, tuple[list[int], list[list[int]]]] = {}

    def change(images):
        for number, entry in enumerate(images):
            entry["cocoid"] = 1000 + 7 * number
            for place, sentence in enumerate(entry["sentences"]):
                sentence["sentid"] = 90_000 - 11 * number - place
            part = ids.setdefault({"restval": "train"}.get(entry["split"], entry["split"]), ([], []))
            part[0].append(entry["cocoid"])
            part[1].append([sentence["sentid"] for sentence in entry["sentences"]])

    edit(folder, change)
    return ids


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


def write_ratings(path: Path, rows, kind: str = "sits") -> Path:
    """The rows in CxC's format, ids as it writes them; gzipped where the name ends in .gz."""
    shapes = {"caption": "COCO_val2014:sentid:{}", "image": "COCO_val2014_{:012d}.jpg"}
    first, second = (shapes[column.rstrip("12")] for column in COLUMNS[kind])
    lines = [",".join([*COLUMNS[kind], "agg_score", "sampling_method"])]
    lines += [f"{first.format(a)},{second.format(b)},{score},{method}" for a, b, score, method in rows]
    text = "\n".join(lines) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def write_lists(folder: Path, i2t: dict, t2i: dict, which: str = "eccv", end: str = ".json") -> Path:
    """Two files of ECCV Caption in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lists in (("image_to_caption", i2t), ("caption_to_image", t2i)):
        raw = json.dumps({str(query): answers for query, answers in lists.items()}).encode()
        (folder / f"{which}_{name}{end}").write_bytes(gzip.compress(raw) if end.endswith(".gz") else raw)
    return folder
