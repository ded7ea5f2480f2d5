"""A study is one declared object: which runs answer a question, which of them are there, and what makes the others.

The book's studies are lists in ``scripts/studies/``, a generator of :class:`Run` with the question as its docstring:

    @study(search="tuning", wanted=10)
    def ecir() -> Iterator[Run]:
        \"""Everything as the data set's defaults are ...\"""
        yield Run("ecir", "scenes", "vse++", "ntxent", seed=0, settings={"lr": 0.003})

``studies["ecir"].runs()`` and so on is all that others know of them.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType

from icrlib.errors import choose
from icrlib.records import files
from icrlib.records.folder import PACKAGE

LISTS = "icrlib._studies"  # in the wheel; in a checkout scripts/studies is imported by this name


class Unfinished(ValueError):
    """What was asked for rests on runs that are missing; the message names the command that makes them."""


@dataclass(frozen=True)
class Run:
    """One run: ``data``, options of its data set, its parts, and the ``settings`` that are given; ``tag``: its name.

    ``study``: the folder below ``records/studies`` that keeps its record. ``photos``: it is trained on so many of the
    training photos only (``train=`` of :func:`icrlib.load_dataset`); None: on all. ``resolved``: its configuration,
    where its data was read already; then the run is named by its identity, and not by its tag.
    """

    study: str
    dataset: str
    method: str
    loss: str
    seed: int
    tag: str = ""
    settings: Mapping = field(default_factory=dict)
    data: Mapping = field(default_factory=dict)
    photos: int | None = None
    smoke: bool = False
    resolved: dict | None = field(default=None, repr=False, compare=False)

    def on(self, features: str | Path | None, device: str = "cpu") -> Run:
        """The same run on this machine's features and ``device``."""
        more = ({"features": str(features)} if features else {}) | ({"train": self.photos} if self.photos else {})
        return replace(self, data=dict(self.data) | more, settings=dict(self.settings) | {"device": device})

    def configuration(self) -> dict:
        """The configuration as a record would hold it, without reading data that is costly to read."""
        from icrlib.training import unread

        more = {"smoke": self.smoke, "source": self.data, "given": self.settings}
        names = self.dataset, self.method, self.loss
        return self.resolved or unread.configuration(*names, seed=self.seed, **more)[0]

    @property
    def identity(self) -> str:
        """What tells its configuration from every other; without the hash of its data where that was not read."""
        from icrlib.training.config import identity

        config = self.configuration()
        return config.get("identity") or identity(config)

    @property
    def path(self) -> Path:
        """Where its record is, or will be."""
        tag = self.identity if self.resolved else self.tag
        return files.path_for(self.dataset, self.method, self.loss, self.seed, tag, self.study)

    @property
    def done(self) -> bool:
        """Whether its record is there."""
        return files.exists(self.path)

    @property
    def folder(self) -> str:
        """Where it keeps itself while it is trained, below the folder of all runs."""
        place = self.path.relative_to(files.root()).with_name(self.path.stem)
        if not self.resolved:
            return place.as_posix()
        bare = files.path_for(self.dataset, self.method, self.loss, self.seed)
        return f"{bare.relative_to(files.root()).with_name(bare.stem).as_posix()}-{self.identity}"

    def __str__(self) -> str:
        return f"{self.method} {self.loss} seed {self.seed}" + (f", {self.tag}" if self.tag else "")


@dataclass(frozen=True)
class Study:
    """A list of runs under its ``name``; what else it says about itself is as :func:`study` takes it."""

    name: str
    plan: Callable[[], Iterable[Run]]
    search: tuple[str, ...] = ()
    partly: bool = False
    later: tuple[str, ...] = ()
    wanted: int | None = None
    needs: str = ""
    apart: Mapping[tuple[str, str], str] = field(default_factory=dict)
    leaves_out: Callable[[Run], bool] = lambda run: False

    @property
    def question(self) -> str:
        """What it asks, in a line."""
        return (inspect.getdoc(self.plan) or self.name).splitlines()[0].replace("``", "")

    def runs(self) -> list[Run]:
        """All of them, in the order in which they matter; :class:`Unfinished` while the search has gaps.

        For the best of what is there of a search may not be the best.
        """
        for name in () if self.partly else self.search:
            studies[name].ready()
        return list(self.plan())

    def records(self, **wanted) -> list[dict]:
        """The records of its runs, of those with ``method=``, ``loss=``, … as for ``records.find``."""
        return files.find(study=self.name, **wanted)

    def missing(self, losses: Iterable[str] = ()) -> list[Run]:
        """The runs without a record, of these ``losses``, or all; what it leaves out is not missing."""
        wanted = [run for run in self.runs() if not losses or run.loss in losses]
        return [run for run in wanted if not run.done and not self.leaves_out(run)]

    def ready(self) -> None:
        """Refuse to go on from a search with gaps."""
        if left := len(self.missing()):
            raise Unfinished(f"{left} runs of the search are missing; make records STUDY={self.name} first")

    def complete(self, method: str, loss: str) -> bool:
        """Whether a model with a loss has as many records as are ``wanted``, or else all of its runs."""
        if self.wanted:
            return len(self.records(method=method, loss=loss)) >= self.wanted
        return not any((run.method, run.loss) == (method, loss) for run in self.missing())

    def before(self) -> list[Study]:
        """The searches that it waits for, each behind those that it waits for itself."""
        found: dict[str, Study] = {}
        for name in (*self.search, *self.later):
            found |= {one.name: one for one in (*studies[name].before(), studies[name])}
        return list(found.values())

    def todo(self, losses: Iterable[str] = ()) -> Iterator[tuple[Study, list[Run]]]:
        """What is missing, with the study that has it: a search before what waits for it.

        Each list is made when its turn has come; :class:`Unfinished` where what came before was not trained since.
        """
        for one in (*self.before(), self):
            if left := one.missing(losses if one is self or self.partly else ()):
                yield one, left

    def command(self, losses: Iterable[str] = (), method: str = "", search: bool = True) -> tuple[str, ...]:
        """What to type, in this order, to get the runs of a method with these losses; a list ``apart`` has its own."""
        losses = set(losses)
        own = {loss: name for (model, loss), name in self.apart.items() if model == method and loss in losses}
        typed = dict.fromkeys((*(self.search if search else ()), self.name) if losses - set(own) or not losses else ())
        with_features = " FEATURES=folder" if self.needs == "features" else ""
        found = dict.fromkeys(f"make records STUDY={name}{with_features}" for name in typed)
        for name in dict.fromkeys(own[loss] for loss in sorted(own)):
            found |= dict.fromkeys(studies[name].command(search=search))
        return tuple(found)


class Register(Mapping):
    """The studies by name. The book's lists are imported when somebody first asks for one."""

    def __init__(self) -> None:
        self._known: dict[str, Study] = {}

    def __getitem__(self, name: str) -> Study:
        lists()
        return self._known[choose(name, self._known, "study")]

    def __contains__(self, name: object) -> bool:
        lists()
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        lists()
        return iter(self._known)

    def __len__(self) -> int:
        lists()
        return len(self._known)

    def add(self, one: Study) -> Study:
        if one.name in self._known:
            raise ValueError(f"a study {one.name!r} is declared twice; give one of them another name")
        self._known[one.name] = one
        return one


studies = Register()


def study(
    *,
    search: str | tuple[str, ...] = (),
    partly: bool = False,
    later: str | tuple[str, ...] = (),
    wanted: int | None = None,
    needs: str = "",
    apart: Mapping[tuple[str, str], str] | None = None,
    leaves_out: Callable[[Run], bool] = lambda run: False,
) -> Callable[[Callable[[], Iterable[Run]]], Study]:
    """Register the runs that a function lists as the study of its name; its docstring is the question.

    ``search``: studies that must be finished before anybody can say which runs these are; ``partly``: of a loss its own
    part of them is enough. ``later``: studies that only some of the runs wait for. ``wanted``: how many records a loss
    needs before it has a say. ``needs``: "features" of photos. ``apart``: {(method, loss): the study that has these
    runs in a list of its own}. ``leaves_out``: whether a run is not worth training, as the others turned out.
    """

    def declare(plan: Callable[[], Iterable[Run]]) -> Study:
        first, then = ((one,) if isinstance(one, str) else tuple(one) for one in (search, later))
        return studies.add(Study(plan.__name__, plan, first, partly, then, wanted, needs, apart or {}, leaves_out))

    return declare


def lists(part: str = "") -> ModuleType:
    """The book's lists, ``scripts/studies``: the package in the wheel, or the folder of a checkout under its name.

    ``part``: a module of them, such as "situations", where the runs of the decision page are.
    """
    if part:
        return importlib.import_module(f"{lists().__name__}.{part}")
    if LISTS in sys.modules:
        return sys.modules[LISTS]
    folder = PACKAGE.parent / "scripts" / "studies"
    if (PACKAGE / "_studies").is_dir():
        return importlib.import_module(LISTS)
    about = importlib.util.spec_from_file_location(
        LISTS, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    module = sys.modules[LISTS] = importlib.util.module_from_spec(about)
    try:
        about.loader.exec_module(module)
    except BaseException:
        del sys.modules[LISTS]  # half of the lists is no register
        raise
    return module
