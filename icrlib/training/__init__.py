"""Training: ``train`` runs one configuration, ``fit`` is the loop."""

from icrlib.training.loop import Diverged, fit
from icrlib.training.run import Run, train
from icrlib.training.saved import load_model

__all__ = ["Diverged", "Run", "fit", "load_model", "train"]
