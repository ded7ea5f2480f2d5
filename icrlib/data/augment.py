"""What training changes about captions and pictures, drawn from (seed, batch, place): never from a global generator."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

UNKNOWN = 3  # the number of <unk> in icrlib.data.text
WORDS, ERASING, FOILS, FOIL_WORDS = 1, 2, 3, 4  # a stream each
AREA, SHAPE, TRIES = (0.02, 0.33), (0.3, 3.3), 10  # torchvision's RandomErasing


def dice(seed: int, batch: int, stream: int) -> np.random.Generator:
    """The generator of one batch; row ``place`` of what it draws belongs to that place of the batch."""
    # Three words would be the dice of a crop (seed, batch, place), which NumPy reads as if zeros followed.
    return np.random.default_rng((seed, batch, 0, stream))


def drop_words(
    numbers: Tensor,
    lengths: Tensor,
    seed: int,
    batch: int,
    *,
    unknown: float = 0.0,
    deleted: float = 0.0,
    width: int | None = None,
    stream: int = WORDS,
) -> tuple[Tensor, Tensor]:
    """Word numbers (B, L) and lengths (B,) of captions that lost some words; ``<start>`` and ``<end>`` are spared.

    Each word becomes ``<unk>`` with probability ``unknown``; then ``int(deleted · words)`` words, drawn without
    repetition, are left out, which is none in a short caption. As LTD's release, with 0.1 for both (RF §6.8).
    ``width``: of the longest caption of all, which decides what is drawn, so that it is the same in any batch;
    ``stream``: of the dice.
    """
    rng = dice(seed, batch, stream)
    chances = torch.from_numpy(rng.random((2, len(numbers), width or numbers.shape[1])))[..., : numbers.shape[1]]
    place = torch.arange(numbers.shape[1])
    words = (place > 0) & (place < lengths[:, None] - 1)  # between the marks
    numbers = numbers.masked_fill(words & (chances[0] < unknown), UNKNOWN)
    count = (deleted * (lengths - 2).double()).long()
    if not count.any():
        return numbers, lengths
    order = chances[1].masked_fill(~words, 2.0).argsort(1).argsort(1)  # rank of each word's chance; marks come last
    gone = words & (order < count[:, None])
    kept = gone.long().argsort(stable=True, dim=1)  # what stays moves to the front, in its order
    lengths = lengths - count
    return numbers.gather(1, kept).masked_fill(place >= lengths[:, None], 0), lengths


def with_foils(
    captions: tuple[Tensor, Tensor], positives: Tensor, foils: tuple[Tensor, Tensor]
) -> tuple[tuple[Tensor, Tensor], Tensor]:
    """(numbers, lengths), positives: those of a batch with false captions behind its own, columns without a positive.

    ``captions`` and ``foils``: word numbers (M, L) and lengths (M,); ``positives`` bool (B, M).
    """
    width = max(part[0].shape[1] for part in (captions, foils))
    numbers = torch.cat([pad(part[0], (0, width - part[0].shape[1])) for part in (captions, foils)])
    columns = torch.cat([positives, positives.new_zeros(len(positives), len(foils[0]))], 1)
    return (numbers, torch.cat([captions[1], foils[1]])), columns


def erase(pictures: Tensor, seed: int, batch: int, share: float) -> Tensor:
    """Pictures (B, 3, H, W) of which ``share`` lose one rectangle, set to 0 after normalisation (Zhong et al. 2020).

    Of 2 to 33 % of the area and 0.3 to 3.3 in shape, as torchvision draws it: ten tries, else nothing is erased.
    """
    rng, (height, width) = dice(seed, batch, ERASING), pictures.shape[2:]
    pictures = pictures.clone()
    for place in range(len(pictures)):
        hit = rng.random() < share
        area = rng.uniform(*AREA, TRIES) * height * width
        shape = np.exp(rng.uniform(*np.log(SHAPE), TRIES))
        corner = rng.random((2, TRIES))
        tall, wide = np.sqrt(area * shape).round().astype(int), np.sqrt(area / shape).round().astype(int)
        fits = np.flatnonzero((tall < height) & (wide < width) & (tall > 0) & (wide > 0))
        if hit and len(fits):
            k = fits[0]
            top, left = int(corner[0, k] * (height - tall[k] + 1)), int(corner[1, k] * (width - wide[k] + 1))
            pictures[place, :, top : top + tall[k], left : left + wide[k]] = 0
    return pictures
