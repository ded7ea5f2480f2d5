"""The hash of the code behind a record: what changes it, and what does not."""

from __future__ import annotations

import icrlib
from icrlib import sources


def test_a_change_makes_stale_only_what_uses_it():
    """The sources of a record are those of its own dataset, method and loss."""
    kind = type(icrlib.losses.by_name("goal:cir x lin"))
    names = {f.relative_to(sources.PACKAGE).as_posix() for f in sources._sources("scenes", "vse++", kind)}
    assert {"losses/goal.py", "losses/base.py", "models/vse.py", "training.py", "data/scenes/generate.py"} <= names
    assert not names & {"losses/smoothap.py", "losses/integrability.py", "data/precomputed.py", "models/bow.py"}
    other = sources._sources("flickr8k", "bow", icrlib.losses.NTXent)
    assert sources.PACKAGE / "data/precomputed.py" in other and sources.PACKAGE / "losses/ntxent.py" in other
    fresh = sources._sources("flickr8k", "bow", icrlib.losses.NTXent, "published")
    assert sources.PACKAGE / "models/on_pictures.py" in fresh and sources.PACKAGE / "data/precomputed.py" not in fresh
    assert set(sources.METHODS) == set(icrlib.models.METHODS), "a method whose sources no record would cover"
    assert sources.code_hash("scenes", "bow", "ntxent") != sources.code_hash("scenes", "bow", "triplet")


class Doubled(icrlib.losses.NTXent):
    """A loss from outside the library."""

    def terms(self, pairs):
        return 2 * super().terms(pairs)

    def term_weights(self, pairs):
        return 2 * super().term_weights(pairs)


def test_a_loss_from_outside_the_library(tiny, monkeypatch):
    """Registered by name, it trains, and its own source is part of the code hash; also where no source is at hand."""
    monkeypatch.setitem(icrlib.losses.LOSSES, "doubled", Doubled)
    run = icrlib.train(tiny, loss="doubled", updates=2, progress=False)
    with_source = run.record["code_hash"]
    assert with_source != sources.code_hash("scenes", "vse++", "ntxent")
    monkeypatch.setattr(sources.inspect, "getsource", lambda kind: (_ for _ in ()).throw(OSError))
    assert sources.code_hash("scenes", "vse++", "doubled") not in (with_source, run.record["data_hash"])


SOURCE = '''"""What it is."""


class A:
    """Doc."""

    size = 3

    def double(self, x: float) -> float:
        """Twice x."""
        return 2 * x  # exactly
'''


def test_only_what_code_does_counts():
    """Comments, docstrings and layout are free; names, numbers and strings in use are not."""
    short = "class A:\n  size=3\n  def double(self,x:float)->float: return(2*x)"
    assert sources.meaning(SOURCE) == sources.meaning(short)
    for old, new in (("2 * x", "3 * x"), ("2 * x", "x * 2"), ("size = 3", "size = 4"), ("double", "twice"),
                     ("return 2", "return -2")):  # fmt: skip
        assert sources.meaning(SOURCE) != sources.meaning(SOURCE.replace(old, new)), new
    # A string that is used is no docstring.
    assert sources.meaning("a = 'x'") != sources.meaning("a = 'y'")
