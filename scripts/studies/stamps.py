"""A shortcut on purpose: scenes with a number on picture and caption. What does each way of training keep of the rest?

One model for all rows, so that nothing but the objective differs: the encoders of LTD, behind the network of scenes,
which learns from the first update. The teacher of LTD sees the captions with their digits, as released.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from icrlib.studies import Run, study

from .planned import TEST, VAL

DRAWS, BITS = (0, 1), (0, 2, 4)
ETA = 0.05  # the bound that LTD's authors used beside a shortcut
# By name: loss, and what is given beside it. NT-Xent and IFM at the temperature that suits scenes.
ROWS: dict[str, tuple[str, dict]] = {
    "ntxent": ("ntxent", {"tau": 0.1, "objective": "con"}),
    "ifm": ("ifm", {"tau": 0.1, "eps": 0.1, "objective": "con"}),
    "dual": ("ntxent", {"tau": 0.1, "objective": "dual", "target": "sbert"}),
    "lagrange": ("ntxent", {"tau": 0.1, "objective": "lagrange", "target": "sbert", "eta": ETA}),
}


LONGER = 2700  # three times the updates


@study()
def ltd_stamps() -> Iterator[Run]:
    """The whole table on the first draw, then on the second; the ends of the bits first."""
    for seed, bits, row in product(DRAWS, sorted(BITS, key=lambda n: n == 2), ROWS):
        loss, settings = ROWS[row]
        data = {"seed": seed, "bits": bits, "train": 1500, "val": VAL, "test": TEST}
        yield Run("ltd_stamps", "stamps", "ltd", loss, seed, f"bits{bits}-{row}", settings, data)


@study()
def ltd_stamps_longer() -> Iterator[Run]:
    """Three times the updates, the ends of the bits: at 900 the validation rsum still climbs steeply.

    The loss alone and dual LTD on both draws first, then IFM.
    """
    for rows, seed in product((("ntxent", "dual"), ("ifm",)), DRAWS):
        for row, bits in product(rows, (4, 0)):
            loss, settings = ROWS[row]
            data = {"seed": seed, "bits": bits, "train": 1500, "val": VAL, "test": TEST}
            yield Run(
                "ltd_stamps_longer",
                "stamps",
                "ltd",
                loss,
                seed,
                f"bits{bits}-{row}",
                settings | {"updates": LONGER, "evaluate_every": LONGER // 12},
                data,
            )
