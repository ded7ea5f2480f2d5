"""The small frozen CNN that turns pictures into features, as an ImageNet network does for photos.

``scripts/make_backbone.py`` trains it; batch norm is folded into the convolutions, so what is committed is six
convolutions in half precision.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import nn

from icrlib.data.scenes.pictures import SIDE

WIDTHS = (24, 48, 64, 88, 128, 256)
STRIDES = (2, 1, 2, 1, 2, 1)
STRIDE = 8
MAP_SIDE = SIDE // STRIDE
FEATURES = WIDTHS[-1]
WEIGHTS = Path(__file__).with_name("backbone.safetensors")
_BATCH = 100  # fixed, so that two runs on one machine add in the same order


class Backbone(nn.Module):
    """Six 3 x 3 convolutions, stride 8, 256 channels; two coordinate channels beside the three colours.

    ``forward``: uint8 pictures (n, 64, 64, 3) -> float32 map (n, 256, 8, 8), non-negative.
    """

    def __init__(self, norm: bool = False) -> None:
        super().__init__()
        inputs = (5, *WIDTHS[:-1])
        layers: list[nn.Module] = []
        for width_in, width_out, stride in zip(inputs, WIDTHS, STRIDES, strict=True):
            layers.append(nn.Conv2d(width_in, width_out, 3, stride, 1, bias=not norm))
            layers += [nn.BatchNorm2d(width_out)] if norm else []
            layers.append(nn.ReLU())
        self.layers = nn.Sequential(*layers)
        along = torch.linspace(-0.5, 0.5, SIDE)
        self.register_buffer("coordinates", torch.stack(torch.meshgrid(along, along, indexing="ij")), persistent=False)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        colours = pictures.permute(0, 3, 1, 2).float() / 255 - 0.5
        coordinates = self.coordinates.expand(len(pictures), -1, -1, -1)
        return self.layers(torch.cat([coordinates, colours], 1))


def load_backbone(path: Path = WEIGHTS) -> Backbone:
    """The committed network, float32, frozen."""
    network = Backbone()
    network.load_state_dict({name: value.float() for name, value in load_file(path).items()})
    return network.eval().requires_grad_(False)


def box_weights(boxes: torch.Tensor) -> torch.Tensor:
    """Share of every map cell in the mean under a box: (..., 4) pixel boxes -> (..., 8, 8), each adding up to 1.

    A cell counts by the area that the box covers of it, which is exact for any box and needs no sampling grid.
    """
    edges = torch.arange(MAP_SIDE, dtype=torch.float32) * STRIDE
    first, last = boxes.float().unflatten(-1, (2, 2, 1)).unbind(-3)  # (..., 2, 1): x and y
    x, y = (torch.minimum(last, edges + STRIDE) - torch.maximum(first, edges)).clamp(min=0).unbind(-2)
    area = y[..., :, None] * x[..., None, :]
    return area / area.sum((-2, -1), keepdim=True)


@torch.no_grad()
def features(pictures: np.ndarray, boxes: np.ndarray | None = None) -> np.ndarray:
    """Features of uint8 pictures (N, 64, 64, 3), float32.

    Without ``boxes``: (N, 256), the mean over the map. With ``boxes`` (N, R, 4) in pixels: (N, R, 261), the mean of
    the map under each box, and then x0, y0, x1, y1 and the area of the box as shares of the picture.
    """
    network, found = load_backbone(), []
    for start in range(0, len(pictures), _BATCH):
        part = slice(start, start + _BATCH)
        maps = network(torch.from_numpy(pictures[part]))
        if boxes is None:
            found.append(maps.mean((2, 3)))
        else:
            some = torch.from_numpy(boxes[part])
            means, share = torch.einsum("ndhw,nrhw->nrd", maps, box_weights(some)), some.float() / SIDE
            area = (share[..., 2:] - share[..., :2]).prod(-1, keepdim=True)
            found.append(torch.cat([means, share, area], -1))
    return torch.cat(found).numpy()
