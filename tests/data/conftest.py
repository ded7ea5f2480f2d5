"""What several of these files work on: photos and scenes made once, and a module of a reader's own."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

from icrlib.data.scenes.generate import draw_split
from icrlib.data.scenes.graph import Scene

from .photos import make


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    """A folder of photos that nobody changes."""
    return make(tmp_path_factory.mktemp("photos") / "root")


@pytest.fixture
def readers_own(request, monkeypatch) -> str:
    """The name under which the ``network`` of the test's file is found."""
    module = ModuleType("readers_own")
    module.network = request.module.network
    monkeypatch.setitem(sys.modules, "readers_own", module)
    return "readers_own:network"


@pytest.fixture(scope="module")
def drawn() -> dict:
    """400 scenes as they are drawn: graphs, pictures, captions and forms."""
    return draw_split(400, np.random.default_rng(5))


@pytest.fixture(scope="module")
def scenes(drawn) -> list[Scene]:
    return [Scene.from_json(data) for data in drawn["graphs"]]
