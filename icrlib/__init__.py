"""icrlib: models, losses, data, training and records behind the book on image-caption retrieval."""

from icrlib import cocos, losses, metrics, paper, records
from icrlib.auxiliary import LagrangeMultiplier
from icrlib.data import load_dataset
from icrlib.evaluation import evaluate
from icrlib.training import Run, load_model, train

__all__ = ["LagrangeMultiplier", "Run", "cocos", "evaluate", "load_dataset", "load_model", "losses", "metrics", "paper",
           "records", "train"]  # fmt: skip
