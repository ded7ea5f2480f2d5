"""Datasets: ``load_dataset`` and what it returns."""

from icrlib.data.load import DATASETS, DRAWN, load_dataset
from icrlib.data.splits import Dataset, Split
from icrlib.data.text import Vocabulary, tokenize
from icrlib.files import cache_dir

__all__ = ["DATASETS", "DRAWN", "Dataset", "Split", "Vocabulary", "cache_dir", "load_dataset", "tokenize"]
