"""What is minimised: a loss, and at most one auxiliary objective beside it, weighed."""

from icrlib.auxiliary.base import Auxiliary, Criterion, Step
from icrlib.auxiliary.weighing import Fixed, LagrangeMultiplier
from icrlib.names import AUXILIARIES

__all__ = ["AUXILIARIES", "Auxiliary", "Criterion", "Fixed", "LagrangeMultiplier", "Step"]
