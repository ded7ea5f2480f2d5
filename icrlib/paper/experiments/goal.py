"""What the rows of GOAL's Tables 3 and 4 would cost at least: the paper states too little to run a row as it was."""

from __future__ import annotations

# Of the paper's figures; which values were trained with, it does not say.
OPTIONS = {"margin": 0.2, "tau": 10.0, "alpha": 2.0, "beta": 10.0, "lam": 0.5}
# A lower bound for VSE++: multiply-adds of the image network alone, at the GPU's peak. Two operations a multiply-add.
MULTIPLY_ADDS = {"r152": 11.51e9, "vit": 17.56e9}  # one image of 224 x 224, as torchvision documents them
CAPTIONS = 113_287 * 5  # of train and restval; VSE++'s code passes the image of each through the network
EPOCHS = 30  # of the frozen step, the default of VSE++'s code
PEAK = 15.7e12  # operations a second of a V100 (SXM2), float32


def gpu_hours(setting: str) -> float:
    """A lower bound of the hours of a V100 for one run of VSE++ on MS-COCO; "r152_ft" and "vit_ft" are fine-tuned.

    ``EPOCHS`` epochs of the frozen network; fine-tuned one more, forward and backward, at three times the cost: neither
    GOAL nor VSE++'s code says how many there were.
    """
    family = setting.removesuffix("_ft")
    epoch = CAPTIONS * 2 * MULTIPLY_ADDS[family] / PEAK / 3600
    return round((EPOCHS + 3 * (setting != family)) * epoch, 1)
