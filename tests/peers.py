"""Peers that tests compare with, where importing them takes some care."""

from __future__ import annotations

import importlib
import sys

import torch

_KEPT = []  # a torch Library takes its operators back when it is collected


def import_torchmetrics():
    """torchmetrics' retrieval measures. It imports torchvision, whose CUDA wheel lacks two operators on a CPU torch.

    Only on that very error they are declared (never run), and torchvision is imported again.
    """
    name = "torchmetrics.functional.retrieval"
    try:
        return importlib.import_module(name)
    except RuntimeError as err:
        if "torchvision::" not in str(err):
            raise
    for module in [m for m in sys.modules if m.split(".")[0] in ("torchvision", "torchmetrics")]:
        del sys.modules[module]
    library = torch.library.Library("torchvision", "FRAGMENT")
    for operator in ("nms", "qnms"):
        library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _KEPT.append(library)
    return importlib.import_module(name)
