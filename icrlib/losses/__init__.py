"""Losses on a score matrix and a mask of positives: ``per_query``, closed-form ``weights``, ``__call__``."""

from icrlib.losses import goal
from icrlib.losses.base import Loss, Pairs
from icrlib.losses.build import by_name, canonical, objectives
from icrlib.losses.goal import GradientObjective
from icrlib.losses.ifm import IFM
from icrlib.losses.integrability import integrability
from icrlib.losses.known import Alignment, BinomialDeviance, Circle, HardNTXent, MultiSimilarity
from icrlib.losses.ntxent import DCL, InfoNCE, NTXent
from icrlib.losses.siglip import SigLIP
from icrlib.losses.smoothap import SmoothAP
from icrlib.losses.sparse import SparseNTXent
from icrlib.losses.triplet import Triplet, TripletSH
from icrlib.names import LOSSES
from icrlib.score_checks import NonFiniteScores

__all__ = [
    "DCL",
    "IFM",
    "LOSSES",
    "Alignment",
    "BinomialDeviance",
    "Circle",
    "GradientObjective",
    "HardNTXent",
    "InfoNCE",
    "Loss",
    "MultiSimilarity",
    "NTXent",
    "NonFiniteScores",
    "Pairs",
    "SigLIP",
    "SmoothAP",
    "SparseNTXent",
    "Triplet",
    "TripletSH",
    "by_name",
    "canonical",
    "goal",
    "integrability",
    "objectives",
]
