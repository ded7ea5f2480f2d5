"""Pictures that are opened anew whenever they are needed, in training each time with another crop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from icrlib.data.backbones import Backbone
from icrlib.data.pictures import open_picture

AT_ONCE = 64  # pictures that an evaluation holds in memory


class Pictures:
    """The images of a split as files, where other splits hold features; a network in the model makes those.

    ``shape`` is that of the features, (N, D), for the network's D channels. Iterating over :meth:`split` opens the
    pictures as evaluation wants them; :meth:`stream` as training does.
    """

    def __init__(self, files: list[Path], backbone: Backbone, workers: int = 4) -> None:
        if backbone.crop is None:
            raise ValueError(
                f"the backbone {backbone.name!r} says nothing about training crops; give it crop=, or use "
                "images='cached'"
            )
        self.files, self.backbone, self.workers = files, backbone, workers
        self.shape = (len(files), backbone.channels())

    def __len__(self) -> int:
        return len(self.files)

    def split(self, size: int) -> Iterator[Tensor]:
        """All pictures, prepared alike each time: (at most ``size``, 3, H, W) float32, the next ones decoded ahead."""
        size = min(size, AT_ONCE)
        return self._decoded([(file, None) for file in self.files[i : i + size]] for i in range(0, len(self), size))

    def stream(self, batches: Iterable[tuple[int, Tensor]], seed: int) -> Iterator[Tensor]:
        """Pictures (B, 3, H, W) of each of the ``batches``, (number, rows) pairs; the next ones are decoded ahead.

        A crop depends on the seed, the batch's number and the place in it alone: an image that comes twice in a batch
        has two crops, as published, and a run that was killed goes on with the same ones.
        """
        return self._decoded(
            [(self.files[row], (seed, number, place)) for place, row in enumerate(rows.tolist())]
            for number, rows in batches
        )

    def _decoded(self, groups: Iterable[list[tuple]]) -> Iterator[Tensor]:
        """The pictures of each group of (file, dice of its crop, or None); threads decode the next group meanwhile."""
        with ThreadPoolExecutor(self.workers) as pool:
            waiting: list = []
            for group in groups:
                waiting.append([pool.submit(self._prepared, *one) for one in group])
                if len(waiting) == 2:
                    yield torch.stack([job.result() for job in waiting.pop(0)])
            for jobs in waiting:
                yield torch.stack([job.result() for job in jobs])

    def _prepared(self, file: Path, key: tuple[int, int, int] | None) -> Tensor:
        picture = open_picture(file)
        return self.backbone.crop(picture, np.random.default_rng(key)) if key else self.backbone.prepare(picture)
