"""A model and its features, made from photos with captions: what the tests of search and audit begin with."""

from __future__ import annotations

import pytest

import icrlib
from tests.data.photos import extract, make

SIZES = {"updates": 4, "batch_size": 8, "embed_dim": 8, "progress": False}


@pytest.fixture(scope="package")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    make(folder / "photos", test=12)
    extract(folder / "photos", folder / "features")
    data = icrlib.load_dataset("flickr8k", features=folder / "features", min_count=1)
    icrlib.train(data, out=folder / "run", word_dim=8, **SIZES)
    return folder
