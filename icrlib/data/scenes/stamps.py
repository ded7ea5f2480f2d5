"""Scenes as pictures, whose network is a part of the model and learns; and with a shortcut on purpose.

The shortcut is a number stamped on the picture and written behind the caption, as in the experiments of LTD's authors
(SVL, bits mode): six decimal digits in a strip along the top edge, and the same digits behind the caption. A model that
reads the number can tell 2^bits groups of pairs apart without a look at the scene. The network has to see the stamped
picture (:class:`icrlib.models.on_pictures.OnPictures`).

What differs from the release: its digits are MNIST's; and it draws a number whenever a pair is used, while here each
picture has ``rounds`` numbers, each with all of the picture's captions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from icrlib.data import backbones
from icrlib.data.scenes import generate
from icrlib.data.scenes.generate import ScenesSplit
from icrlib.data.scenes.pictures import SIDE
from icrlib.data.splits import Dataset, Outline, Split
from icrlib.data.text import Vocabulary
from icrlib.errors import at_least
from icrlib.files import sha256_of

# Ten digits, five columns by seven rows; each row of text holds one row of all of them.
_DRAWN = """
.###. ..#.. .###. ##### ...#. ##### ..##. ##### .###. .###.
#...# .##.. #...# ...#. ..##. #.... .#... ....# #...# #...#
#..## ..#.. ....# ..#.. .#.#. ####. #.... ...#. #...# #...#
#.#.# ..#.. ...#. ...#. #..#. ....# ####. ..#.. .###. .####
##..# ..#.. ..#.. ....# ##### ....# #...# .#... #...# ....#
#...# ..#.. .#... #...# ...#. #...# #...# .#... #...# ...#.
.###. .###. ##### .###. ...#. .###. .###. .#... .###. .##..
"""
GLYPHS = np.array(
    [[[mark == "#" for mark in row.split()[digit]] for row in _DRAWN.split("\n")[1:-1]] for digit in range(10)]
)
PLACES = 6  # digits of a number
CELL = SIDE // PLACES  # pixels, in both directions; as released, the strip ends PLACES * CELL from the left
DIMMEST = 170  # a digit's brightness is drawn between this and 255, on black
MOST_BITS = 19  # 2 ** 19 numbers have at most six digits
# A network that knows scenes already learns slowly, lest it forgets them before the rest of the model can read it:
# after 300 updates with one number on all pictures, 5e-5 had a test rsum of 87 without stamps, 3e-4 one of 35. After
# 900, NT-Xent had 283 without and 316 with stamps at 0 bits, 204 and 327 at 4 (one draw, VSE++). Half the usual batch,
# for an update takes a fifth of a second on one core.
SETTINGS = {"batch_size": 64, "updates": 900, "finetune_after": 0, "finetune_lr": 5e-5}
USUAL = {"bits": 4, "rounds": 4}
EVALUATION, TRAINING = 1, 2  # streams of dice


def stamp(pictures: np.ndarray, numbers: np.ndarray, dice: np.random.Generator) -> np.ndarray:
    """Copies of ``pictures`` uint8 (B, 64, 64, 3) with ``numbers`` (B,) in a strip along the top edge.

    Each digit has a place inside of its cell, and a brightness, from ``dice``: all of it changes at each use, as the
    release takes another handwritten digit each time. The strip covers what lies below it.
    """
    shape = len(pictures), PLACES
    down, right = (dice.integers(0, CELL - side + 1, shape) for side in GLYPHS.shape[1:])
    light = dice.integers(DIMMEST, 256, shape)
    strip = np.zeros((*shape, CELL, CELL), np.uint8)
    digits = numbers[:, None] // 10 ** np.arange(PLACES)[::-1] % 10
    row, place, y, x = GLYPHS[digits].nonzero()
    strip[row, place, y + down[row, place], x + right[row, place]] = light[row, place]
    stamped = pictures.copy()
    stamped[:, :CELL, : PLACES * CELL] = strip.transpose(0, 2, 1, 3).reshape(len(pictures), CELL, -1)[..., None]
    return stamped


def write(caption: str, number: int) -> str:
    """The caption with the digits of the number behind it, a space before each."""
    return " ".join([caption, *f"{number:0{PLACES}d}"])


class StampedPictures:
    """Pictures where other splits hold features; the ``backbone`` in the model makes those. ``shape``: (rows, D).

    ``images`` uint8 (N, 64, 64, 3). With ``numbers`` (rows,), picture ``of[row]`` is stamped when it is used; without,
    the pictures are as they are, stamped already or not at all.
    """

    def __init__(
        self,
        images: np.ndarray,
        backbone: backbones.Backbone,
        of: np.ndarray | None = None,
        numbers: np.ndarray | None = None,
    ) -> None:
        self.images, self.backbone, self.numbers = images, backbone, numbers
        self.of = np.arange(len(images)) if of is None else of
        self.shape = len(self.of), backbone.channels()

    def __len__(self) -> int:
        return len(self.of)

    def split(self, size: int) -> Iterator[Tensor]:
        """All rows, alike each time: at most ``size`` pictures at once, (B, 3, 64, 64) float32 in [0, 1]."""
        for first in range(0, len(self), size):
            yield self._pictures(np.arange(first, min(first + size, len(self))), (EVALUATION, first))

    def stream(self, batches: Iterable[tuple[int, Tensor]], seed: int) -> Iterator[Tensor]:
        """Pictures of each of the ``batches``, (number, rows) pairs; how a stamp looks depends on the seed, the batch's
        number and the place in it alone."""
        for number, rows in batches:
            yield self._pictures(rows.numpy(), (seed, TRAINING, number))

    def _pictures(self, rows: np.ndarray, key: tuple[int, ...]) -> Tensor:
        found = self.images[self.of[rows]]
        if self.numbers is not None:
            found = stamp(found, self.numbers[rows], np.random.default_rng(key))
        return torch.from_numpy(found).permute(0, 3, 1, 2).float() / 255


def rendered(
    seed: int = 0,
    *,
    train: int | None = None,
    val: int | None = None,
    test: int | None = None,
    smoke: bool = False,
    progress: bool = True,
) -> Dataset:
    """The scenes of ``seed`` with pictures, (3, 64, 64) in [0, 1], where others hold features.

    A frozen network makes the features of ``scenes`` out of them, up to the half precision in which those are kept. An
    update costs several times as much, for the network runs in each. Pictures are never mirrored: left is not right.
    """
    plain = generate.load(seed, train=train, val=val, test=test, smoke=smoke, progress=progress)
    network = backbones.load(backbones.SCENES)
    splits = {
        split.name: replace(split, features=StampedPictures(split.images, network))
        for split in (plain.train, plain.val, plain.test)
    }
    return replace(
        plain,
        name="rendered",
        **splits,
        fingerprint=sha256_of(plain.fingerprint, "rendered"),
        options=plain.options | {"backbone": network.name},
    )


def stamped(
    seed: int = 0,
    bits: int = USUAL["bits"],
    *,
    rounds: int = USUAL["rounds"],
    train: int | None = None,
    val: int | None = None,
    test: int | None = None,
    smoke: bool = False,
    progress: bool = True,
) -> Dataset:
    """The scenes of ``seed``, with one of 2^``bits`` numbers on each pair; 0 bits: the same number on all of them.

    In training a picture comes with ``rounds`` numbers that are drawn for it (with all, where there are no more), each
    with all of its captions. In evaluation picture i has number i mod 2^bits. ``val`` is stamped, like training:
    whoever collected such data would not know. ``test`` is without stamps, and ``test.others["stamped"]`` has them.
    ``ValueError`` for bits that are no whole number from 0 to 19.
    """
    if at_least("bits=", bits, 0) > MOST_BITS:
        raise ValueError(f"bits= must be at most {MOST_BITS}; got {bits!r}")
    at_least("rounds=", rounds, 1)
    plain = generate.load(seed, train=train, val=val, test=test, smoke=smoke, progress=progress)
    network = backbones.load(backbones.SCENES)
    training = _training(plain.train, network, bits, rounds, seed)
    chosen, tested = (_evaluated(split, network, bits, seed) for split in (plain.val, plain.test))
    bare = replace(plain.test, features=StampedPictures(plain.test.images, network), others={"stamped": tested})
    digest = sha256_of(
        plain.fingerprint,
        repr((bits, rounds, training.features.numbers.tolist())),
        repr([split.captions for split in (training, chosen, tested)]),
        GLYPHS.tobytes(),
        chosen.images.tobytes(),
        tested.images.tobytes(),
    )
    return replace(
        plain,
        name="stamps",
        foils=False,
        train=training,
        val=chosen,
        test=bare,
        vocabulary=Vocabulary.build(training.captions),
        fingerprint=digest,
        options=plain.options | {"bits": bits, "rounds": rounds, "backbone": network.name},
        defaults=plain.defaults | SETTINGS,
    )


def outline_rendered(given: Mapping, *, seed: int = 0, smoke: bool = False, regions: bool = False) -> Outline:
    """What :func:`rendered` would draw; there are pictures, and so no ``regions``."""
    plain = generate.outline({**given, "regions": False}, seed=seed, smoke=smoke)
    return replace(plain, pictures=True, options={**plain.options, "backbone": backbones.SCENES})


def outline_stamped(given: Mapping, **about) -> Outline:
    """What :func:`stamped` would draw: as :func:`rendered`, in training a row for each number that a picture gets."""
    plain = outline_rendered(given, **about)
    more = {name: given.get(name, usual) for name, usual in USUAL.items()}
    rows = plain.images["train"] * min(more["rounds"], 1 << more["bits"])
    return replace(
        plain,
        foils=False,
        images={**plain.images, "train": rows},
        options={**plain.options, **more},
        defaults={**plain.defaults, **SETTINGS},
    )


def _training(split: ScenesSplit, network: backbones.Backbone, bits: int, rounds: int, seed: int) -> Split:
    """Every picture with each of its numbers, in rows of their own, and its captions with the same ones."""
    count = 1 << bits
    numbers = np.random.default_rng((seed, TRAINING)).integers(0, count, (len(split), rounds))
    if rounds >= count:
        numbers = np.tile(np.arange(count), (len(split), 1))
    each = numbers.shape[1]
    of, flat = np.arange(len(split)).repeat(each), numbers.reshape(-1)
    image_of = (split.image_of[:, None] * each + torch.arange(each)).reshape(-1)
    texts = [text for text in split.captions for _ in range(each)]
    return Split(
        split.name,
        StampedPictures(split.images, network, of, flat),
        [write(text, int(flat[row])) for text, row in zip(texts, image_of.tolist(), strict=True)],
        image_of,
        [f"{split.image_ids[i]}-{n}" for i, n in zip(of, flat, strict=True)],
    )


def _evaluated(split: ScenesSplit, network: backbones.Backbone, bits: int, seed: int) -> ScenesSplit:
    """A split for evaluation, with number i mod 2^bits on picture i and its captions."""
    numbers = np.arange(len(split)) % (1 << bits)
    images = stamp(split.images, numbers, np.random.default_rng((seed, EVALUATION, len(split))))
    captions = [write(text, int(numbers[row])) for text, row in zip(split.captions, split.image_of, strict=True)]
    return replace(split, images=images, features=StampedPictures(images, network), captions=captions)
