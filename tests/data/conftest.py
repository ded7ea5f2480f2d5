"""What several of these files work on: photos and scenes made once, and a module of a reader's own."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from icrlib.data.scenes.generate import ScenesSplit, load

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


@pytest.fixture(scope="session")
def drawn() -> ScenesSplit:
    """500 scenes."""
    return load(5, train=2, val=2, test=500, progress=False).test
