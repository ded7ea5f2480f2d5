"""What several of these files work on: photos and scenes made once, and a module of a reader's own."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch

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


@pytest.fixture(scope="module")
def split() -> SimpleNamespace:
    """What a split knows of 150 scenes, without features."""
    made = draw_split(150, np.random.default_rng(4))
    graphs = [Scene.from_json(data) for data in made["graphs"]]
    known = {name: made[name] for name in ("forms", "captions", "twin_kind")}
    return SimpleNamespace(
        graphs=graphs, image_of=torch.arange(750) // 5, twin_of=torch.tensor(made["twin_of"]), **known
    )
