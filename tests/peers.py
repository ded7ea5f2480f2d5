"""Peers that tests compare with, where importing them takes some care."""

from __future__ import annotations

import importlib

from icrlib.data.backbones import import_torchvision


def import_torchmetrics():
    """torchmetrics' retrieval measures. It imports torchvision, which may first need the library's repair."""
    import_torchvision()
    return importlib.import_module("torchmetrics.functional.retrieval")
