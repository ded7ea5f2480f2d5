"""``scenes``: small pictures of coloured shapes whose captions are true or false, and known to be. See CARD.md."""

from icrlib.data.scenes.generate import ScenesSplit, load
from icrlib.data.scenes.grammar import caption, truth, truth_matrix
from icrlib.data.scenes.graph import Scene, Thing, describe, sample, twin
from icrlib.data.scenes.pictures import render
from icrlib.data.scenes.twins import twin_accuracy

__all__ = [
    "Scene",
    "ScenesSplit",
    "Thing",
    "caption",
    "describe",
    "load",
    "render",
    "sample",
    "truth",
    "truth_matrix",
    "twin",
    "twin_accuracy",
]
