"""What there is, by name: methods, losses, auxiliaries, each imported only when somebody asks for it.

A new one is a file of its own and one line here; or no line at all, for everywhere that a caller says a name, a
``"package.module:Name"`` of the caller's own is taken, too. A *file* may name registered things only (:func:`handed`).
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections import UserDict
from collections.abc import Collection
from pathlib import Path
from typing import Any

from icrlib.errors import choose


def handed(file: str | os.PathLike, what: str, noted: object, given: str | None, known: Collection[str]) -> str:
    """The name to use: the one ``given`` by the caller, else what the ``file`` notes, if it is one of the ``known``.

    Every name that comes from a file passes here before it is looked up, so that a file never makes code run.
    ``ValueError`` names the file and the way out. ``what`` it is to be: "method", also the name of the option.
    """
    if given is not None:
        return given
    if isinstance(noted, str) and noted in known:
        return noted
    raise ValueError(
        f"{file}: this file names the {what} {noted!r}, which is not one of the library's ({', '.join(known)}). Code "
        f"never runs because a file says so: if you trust it, hand it over, {what}= (--{what}) with that name"
    )


class Registry(UserDict):
    """Classes by name. Values are classes, or places ``"package.module:Name"`` that are imported at first use.

    ``usual``: the name that is meant where nobody says one. ``base``: where the class is that all of them inherit from,
    and ``has``: what one of somebody's own has to have, in words.
    """

    def __init__(self, what: str, places: dict, aliases: dict | None = None, usual="", base="", has="") -> None:
        super().__init__(places)
        self.what, self.aliases, self.usual, self.base, self.has = what, dict(aliases or {}), usual, base, has

    def __getitem__(self, name: str) -> type:
        place = super().__getitem__(name)
        return imported(place, self.what) if isinstance(place, str) else place

    def canonical(self, name: str, more: tuple[str, ...] = ()) -> str:
        """The one spelling of ``name``; ``ValueError`` lists what there is. ``more``: patterns for that message."""
        name = self.aliases.get(name, name)
        return name if is_own(name) else choose(name, self, self.what, more=(*more, "package.module:Name"))

    def find(self, name: str) -> type:
        """The class of that name, or of a caller's own ``"package.module:Name"``."""
        name = self.canonical(name)
        return self._checked(imported(name, self.what)) if is_own(name) else self[name]

    def name_of(self, given: object) -> str:
        """The name that leads to a class, or to that of an object, from any process; ``ValueError`` where none does."""
        kind = self._checked(given if isinstance(given, type) else type(given))
        place = f"{kind.__module__}:{kind.__qualname__}"
        for name, registered in self.data.items():
            if registered in (place, kind):
                return name
        reached = getattr(sys.modules.get(kind.__module__), kind.__name__, None)
        if not is_own(place) or kind.__module__ == "__main__" or reached is not kind:
            raise ValueError(
                f"{self.what} {kind.__qualname__} of {kind.__module__}: no name leads to it from another process, so "
                f"no record could say what was trained. Put the class at the top of a file, such as mine.py beside "
                f"your notebook, and import it from there: its name is then 'mine:{kind.__name__}'"
            )
        return place

    def _checked(self, kind: object) -> type:
        if not self.base or (isinstance(kind, type) and issubclass(kind, imported(self.base))):
            return kind
        raise ValueError(
            f"{getattr(kind, '__qualname__', repr(kind))} is no {self.what}: a {self.what} is a subclass of "
            f"{self.base.replace(':', '.')} and has {self.has}"
        )


def is_own(name: object) -> bool:
    """Whether ``name`` has the form ``"package.module:Name"`` of a caller's own code."""
    module, colon, rest = name.partition(":") if isinstance(name, str) else ("", "", "")
    return bool(colon) and rest.isidentifier() and all(part.isidentifier() for part in module.split("."))


def imported(place: str, what: str = "class") -> Any:
    """What is at ``"package.module:Name"``: for methods, losses, encoders, networks, whatever a *caller* names.

    ``ValueError`` where it is of another form, and says which half of it is missing or what the module itself died of.
    """
    if not is_own(place):
        raise ValueError(f"{what} {place!r}: write PACKAGE.MODULE:NAME, as import takes it")
    module, _, name = place.partition(":")
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as err:
        why = f"there is no module {err.name!r} ({err}); is its folder on PYTHONPATH?"
        raise ValueError(f"{what} {place!r}: {why}") from err
    except (Exception, SystemExit) as err:  # the module's own code runs: whatever it dies of, and one that leaves
        raise ValueError(f"{what} {place!r}: importing {module} fails:\n  {died(err)}") from err
    try:
        return getattr(loaded, name)
    except AttributeError as err:
        raise ValueError(f"{what} {place!r}: {module} has no {name!r} ({err})") from err


def died(err: BaseException) -> str:
    """What somebody's own code died of, and where, in a line."""
    frame = traceback.extract_tb(err.__traceback__)[-1]
    place = f" ({Path(frame.filename).name}, line {frame.lineno})"
    if isinstance(err, SyntaxError):  # it says its place itself, and the last to run was the importer
        place = ""
    return f"{type(err).__name__}: {' '.join(str(err).split())}{place}"


METHODS = Registry(
    "method",
    {
        "vse++": "icrlib.models.vse:VSE",
        "bow": "icrlib.models.bow:BagOfWords",
        "vsrn": "icrlib.models.vsrn:VSRN",
        "vse_infty": "icrlib.models.vse_infty:VSEInfty",
        "cmn": "icrlib.models.cmn:CMN",
        "matching": "icrlib.models.matching:TwoStage",
        "ltd": "icrlib.models.ltd:LTD",
        "sentence": "icrlib.models.sentence:Sentence",
    },
    usual="vse++",
    base="icrlib.models.base:RetrievalModel",
    has="options (the arguments of its constructor, feature_dim and words among them), encode_images(features) and "
    "encode_captions(words, lengths), which give unit vectors (B, d)",
)
LOSSES = Registry(
    "loss",
    {
        "triplet": "icrlib.losses.triplet:Triplet",
        "triplet_sh": "icrlib.losses.triplet:TripletSH",
        "ntxent": "icrlib.losses.ntxent:NTXent",
        "smoothap": "icrlib.losses.smoothap:SmoothAP",
        "ntxent_hard": "icrlib.losses.known:HardNTXent",
        "circle": "icrlib.losses.known:Circle",
        "binomial_deviance": "icrlib.losses.known:BinomialDeviance",
        "multi_similarity": "icrlib.losses.known:MultiSimilarity",
        "ifm": "icrlib.losses.ifm:IFM",
        "siglip": "icrlib.losses.siglip:SigLIP",
        "dcl": "icrlib.losses.ntxent:DCL",
        "ntxent_sparse": "icrlib.losses.sparse:SparseNTXent",
        "alignment": "icrlib.losses.known:Alignment",
    },
    {"infonce": "ntxent"},
    usual="ntxent",
    base="icrlib.losses.base:Loss",
    has="terms(pairs) and term_weights(pairs); it is a frozen dataclass whose fields are its options",
)
AUXILIARIES = Registry(
    "auxiliary",
    {
        "latent": "icrlib.auxiliary.latent:LatentTarget",
        "tokens": "icrlib.auxiliary.tokens:TokenDecoder",
        "matching": "icrlib.auxiliary.matching:Matching",
    },
    base="icrlib.auxiliary.base:Auxiliary",
    has="forward(step), the value of a batch, and prepare(data, model) where it needs targets",
)


def label(name: str, **options) -> str:
    """How the text writes a loss or method: its class's ``label``, "cir × lin" for "goal:cir x lin", else as it is.

    What stands in brackets behind the name stays: "Triplet-SH (warm-up 500)". ``options``: of a model, where they give
    it another name, "bag of words, pairs".
    """
    if name.startswith("goal:"):
        return name.removeprefix("goal:").replace(" x ", " × ")
    name, bracket, rest = name.partition(" (")
    for registry in (LOSSES, METHODS):
        if name in registry:
            name = (registry[name].titled(**options) if options else registry[name].label) or name
            break
    return name + bracket + rest


def is_baseline(method: str) -> bool:
    """Whether a method is the row that all others are held against, and no contestant."""
    return method in METHODS and METHODS[method].baseline
