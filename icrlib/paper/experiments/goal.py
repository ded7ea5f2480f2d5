"""Rows of GOAL's tables as settings of a run, what each would need, and a bound of its cost. None of them was run."""

from __future__ import annotations

import pandas as pd

from icrlib.errors import choose
from icrlib.paper.tables import contents, table

FORM = "goal/TABLE/SETTING/OBJECTIVE"
TABLES = ("2", "3", "4", "5", "6")
OPTIONS = {"margin": 0.2, "tau": 10.0, "alpha": 2.0, "beta": 10.0, "lam": 0.5, "eps": None}
STATED = {
    **dict.fromkeys(("margin", "tau"), "Fig. 2 only"),
    **dict.fromkeys(("alpha", "beta", "lam"), "Fig. 3 only"),
    "eps": "nowhere",
    "seeds": "Sec. 4.1",
    "everything else": "as in the original work",
}
_COCO = "MS-COCO images and captions, Karpathy's split with 5,000 test images"
_FLICKR = "Flickr30k images and captions, 1,000 test images"
_FEATURES = {
    "r152": "ResNet-152 on images",
    "vit": "ViT-base-patch16 on images",
    "wsl": "grid of a network on images",
    "butd": "36 bottom-up regions of 2,048 numbers",
    "xvlm": "X-VLM on images",
}
_WEIGHTS = {
    "r152": "ResNet-152, pre-trained on ImageNet",
    "vit": "ViT-base-patch16, pre-trained; the paper does not say on what",
    "butd": "BERT-base; bottom-up (BUTD) region features of every image",
    "wsl": "BERT-base; the network pre-trained on Instagram (WSL)",
    "xvlm": "X-VLM, pre-trained on 4M images",
}
# A lower bound for VSE++: multiply-adds of the image network alone, at the GPU's peak. Two operations a multiply-add.
MULTIPLY_ADDS = {"r152": 11.51e9, "vit": 17.56e9}  # one image of 224 x 224, as torchvision documents them
CAPTIONS = 113_287 * 5  # of train and restval; VSE++'s code passes the image of each through the network
EPOCHS = 30  # of the frozen step, the default of VSE++'s code
PEAK = 15.7e12  # operations a second of a V100 (SXM2), float32
_NO_BOUND = {
    "butd": "its cost is that of BERT-base, and the length and number of texts in a batch are not stated",
    "wsl": "neither the size of the images nor how much of the network was trained is stated",
    "xvlm": "neither batches nor epochs of the fine-tuning are stated",
}


def rows() -> list[str]:
    """All rows that :func:`experiment` knows: "goal/2/r152_ft" to "goal/6/xvlm/cir x sig-ms"."""
    return [f"goal/{number}/{name}" for number in TABLES for name in table(f"goal/{number}").index]


def experiment(row: str) -> dict:
    """Settings of ``"goal/TABLE/SETTING/OBJECTIVE"``, such as ``"goal/4/vit_ft/cir x sig-ms"``; None: not stated.

    ``margin``, ``tau``, ``alpha``, ``beta`` and ``lam`` are those of the paper's figures, and ``stated`` says so: which
    values were trained with, it does not say. ``needs``: data, weights, GPU, and ``gpu_hours``, a *lower* bound for
    one run with ``gpu_hours_why``, its derivation, or None with the reason. ``status`` is "not run" for all of them.

    Rows of Tables 2 and 6 without an objective ("goal/6/scan") are quoted there from the method's own paper.
    """
    number, place = _parts(row)
    line = table(f"goal/{number}").loc[place]
    setting, quoted = line["setting"], pd.isna(line["objective"])
    about = contents("goal")["settings"].get(setting, {"method": setting, "backbone": None, "image_encoder": None})
    triplet = quoted and about["method"] in ("vse++", "vse_inf")  # quoted rows of these are of their own triplet loss
    both = number == "6"
    return {
        "dataset": "coco",
        "method": about["method"],
        "loss": ("triplet_sh" if triplet else None) if quoted else f"goal:{line['objective']}",
        **(dict.fromkeys(OPTIONS) if quoted else OPTIONS),
        "seeds": None if quoted else 3,
        "setting": setting,
        "backbone": about["backbone"],
        "image_encoder": about["image_encoder"],
        "features": _FEATURES.get(_family(setting)),
        "evaluation": "MS-COCO 5K" + (" and Flickr30k 1K" if both else ""),
        "stated": {} if quoted else STATED,
        "notes": _notes(number, quoted),
        "needs": _needs(setting, both, quoted),
        "status": "not run",
    }


def _parts(row: str) -> tuple[str, str]:
    number, _, place = row.removeprefix("goal/").partition("/")
    choose(number, TABLES, f"table of {row!r}")
    names = list(table(f"goal/{number}").index)
    if place not in names and number in ("3", "4", "5"):  # say which half is wrong, not 30 names
        setting, _, objective = place.partition("/")
        choose(setting, list(dict.fromkeys(name.split("/")[0] for name in names)), f"setting of GOAL's Table {number}")
        choose(objective, [name.split("/")[1] for name in names if name.startswith(f"{setting}/")], "objective")
    return number, choose(place, names, f"row of GOAL's Table {number}")


def _family(setting: str) -> str:
    return setting.removesuffix("_ft")


def _notes(number: str, quoted: bool) -> str:
    if quoted:
        return "quoted in the table from the method's own paper"
    if number == "6":
        return "whether the number is one run or a mean is not said"
    return "mean and standard deviation of three runs; which standard deviation is not said"


def _needs(setting: str, both: bool, quoted: bool) -> dict:
    hours, why = gpu_hours(setting)
    return {
        "data": _COCO + (f"; {_FLICKR}" if both else ""),
        "weights": _WEIGHTS.get(_family(setting)),
        "gpu": None if quoted else "V100 32 GB, as the paper; how many is not said",
        "gpu_hours": hours,
        "gpu_hours_why": why,
    }


def gpu_hours(setting: str) -> tuple[float | None, str]:
    """A lower bound of a V100's hours for one run on MS-COCO and its derivation, or None and the reason."""
    family = _family(setting)
    if family not in MULTIPLY_ADDS:
        return None, _NO_BOUND.get(family, "GOAL did not run it")
    epoch = CAPTIONS * 2 * MULTIPLY_ADDS[family] / PEAK / 3600
    frozen = EPOCHS * epoch
    why = (
        f"at least: {EPOCHS} epochs x {CAPTIONS:,} captions x 2 x {MULTIPLY_ADDS[family] / 1e9:.2f}e9 multiply-adds of "
        f"the image network at {PEAK / 1e12:.1f}e12 operations a second; real runs do not reach that peak"
    )
    if setting == family:
        return round(frozen, 1), why
    tuned = 3 * epoch  # forward, and backward at twice the cost
    why += (
        f"; then {tuned:.1f} hours for each epoch of fine-tuning (forward and backward: three times), of which one is "
        "counted: neither GOAL nor VSE++'s code says how many there were"
    )
    return round(frozen + tuned, 1), why
