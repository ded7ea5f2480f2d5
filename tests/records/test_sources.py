"""Which code a record lists: what its run uses, all of that, and nothing else; and what counts as a change."""

from __future__ import annotations

import sys

import pytest

import icrlib
from icrlib.records import ledger, sources


def test_a_record_lists_what_its_run_used_and_nothing_else(tiny):
    run = icrlib.train(tiny, loss="goal:cir x lin", updates=2, progress=False)
    listed = run.record["sources"]
    assert {
        "losses/goal.py",
        "losses/base.py",
        "models/vse.py",
        "models/parts/gru.py",
        "training/loop.py",
        "sampling.py",
        "metrics.py",
        "evaluation.py",
        "auxiliary/base.py",
    } <= set(listed)
    assert not set(listed) & {
        "losses/smoothap.py",
        "losses/known.py",
        "losses/integrability.py",
        "models/bow.py",
        "data/precomputed.py",
    }
    warm = icrlib.train(tiny, "bow", loss="ntxent", warmup=1, updates=2, progress=False).record["sources"]
    assert {"models/bow.py", "losses/ntxent.py", "losses/triplet.py"} <= set(warm) and "models/vse.py" not in warm


def test_the_closure_of_a_data_set():
    scenes, folder, photos = (
        set(sources.sources_of(f"icrlib.data.{m}")) for m in ("scenes.generate", "precomputed", "photos")
    )
    assert {"data/scenes/grammar.py", "data/scenes/backbone.py", "data/text.py"} <= scenes
    assert "data/precomputed.py" not in scenes and "data/crops.py" not in folder
    assert {"data/crops.py", "data/backbones.py", "data/pictures.py"} <= photos


# Reading, writing, progress, messages and reports: a change there moves no number, so no record lists them.
@pytest.mark.parametrize(
    "name",
    [
        "files.py",
        "progress.py",
        "errors.py",
        "names.py",
        "devices.py",
        "data/load.py",
        "training/settings.py",
        "training/config.py",
        "training/checkpoints.py",
        "training/run.py",
        "training/outcome.py",
        "training/probe.py",
        "records/files.py",
        "losses/build.py",
        "models/build.py",
    ],
)
def test_what_lies_outside(tiny, name):
    assert (sources.PACKAGE / name).is_file()
    assert name not in icrlib.train(tiny, updates=2, progress=False).record["sources"]


def test_everything_a_run_imports_is_listed_or_outside(tiny):
    """The static closure against the modules that are really there after a run in a fresh process would be too slow to
    ask each time; here: every module that a listed file imports is listed, or lies outside."""
    listed = icrlib.train(tiny, updates=2, progress=False).record["sources"]
    for name in listed:
        for module in sources._imports(sources.PACKAGE / name):
            inside = module.removeprefix("icrlib.")
            outside = any(inside == o or inside.startswith(f"{o}.") for o in sources.OUTSIDE)
            assert outside or inside.replace(".", "/") + ".py" in listed, (name, module)


class Doubled(icrlib.losses.NTXent):
    """A loss from outside the library."""

    def terms(self, pairs):
        return 2 * super().terms(pairs)

    def term_weights(self, pairs):
        return 2 * super().term_weights(pairs)


def test_a_loss_from_outside_the_library(tiny, monkeypatch):
    """Registered by name, it trains, and its own source is listed; also where no source is at hand."""
    monkeypatch.setitem(icrlib.losses.LOSSES, "doubled", Doubled)
    listed = icrlib.train(tiny, loss="doubled", updates=2, progress=False).record["sources"]
    place = f"{__name__}:Doubled"
    assert listed[place] == sources.now(place) and "losses/base.py" not in (place,)
    monkeypatch.setattr(sources.inspect, "getsource", lambda kind: (_ for _ in ()).throw(OSError))
    assert sources.now(place) not in (listed[place], None)


def test_a_class_of_a_notebook_has_no_module_to_import():
    assert sources.now("no_such_module:Thing") is not None  # by its name alone
    assert "no_such_module" not in sys.modules


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
    for old, new in (
        ("2 * x", "3 * x"),
        ("2 * x", "x * 2"),
        ("size = 3", "size = 4"),
        ("double", "twice"),
        ("return 2", "return -2"),
    ):
        assert sources.meaning(SOURCE) != sources.meaning(SOURCE.replace(old, new)), new
    # A string that is used is no docstring.
    assert sources.meaning("a = 'x'") != sources.meaning("a = 'y'")


@pytest.fixture
def book(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger, "root", lambda: tmp_path)
    return tmp_path


def test_an_equivalence_clears_a_change_and_only_that(book):
    now = sources.now("metrics.py")
    assert ledger.differing({"metrics.py": "a" * 16, "scores.py": sources.now("scores.py")}) == ["metrics.py"]
    ledger.append([{"file": "metrics.py", "old": "a" * 16, "new": "b" * 16}])
    assert ledger.differing({"metrics.py": "a" * 16}) == ["metrics.py"]
    ledger.append([{"file": "metrics.py", "old": "b" * 16, "new": now}])  # over two changes
    assert ledger.differing({"metrics.py": "a" * 16}) == []
    assert ledger.differing({"metrics.py": "c" * 16}) == ["metrics.py"]
    assert ledger.differing({"scores.py": "a" * 16}) == ["scores.py"]  # another file's equivalence says nothing
    assert ledger.differing({"gone.py": "a" * 16}) == ["gone.py"]
    ledger.append([{"file": "metrics.py", "old": "d" * 16, "new": sources.now("scores.py")}])
    assert ledger.differing({"scores.py": "d" * 16}) == ["scores.py"]


def test_the_ledger_is_appended_to(book):
    ledger.append([{"file": "x.py", "old": "1", "new": "2"}])
    first = ledger.path().read_bytes()
    ledger.append([{"file": "x.py", "old": "2", "new": "3"}])
    assert ledger.path().read_bytes().startswith(first) and len(ledger.read()) == 2
    ledger.path().write_text("{}\n")
    with pytest.raises(ValueError, match="line 1: not an equivalence"):
        ledger.read()
