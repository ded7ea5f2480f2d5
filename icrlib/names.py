"""What there is, by name: methods, losses, auxiliaries, vocabularies, each imported only when somebody asks for it.

A new one is a file of its own and one line here; or no line at all, for everywhere that a name is taken, a caller's own
``"package.module:Name"`` is taken, too.
"""

from __future__ import annotations

import importlib
from collections import UserDict

from icrlib.errors import choose


class Registry(UserDict):
    """Classes by name. Values are classes, or places ``"package.module:Name"`` that are imported at first use.

    ``usual``: the name that is meant where nobody says one.
    """

    def __init__(
        self, what: str, places: dict[str, str | type], aliases: dict[str, str] | None = None, usual: str = ""
    ) -> None:
        super().__init__(places)
        self.what, self.aliases, self.usual = what, dict(aliases or {}), usual

    def __getitem__(self, name: str) -> type:
        found = super().__getitem__(name)
        return imported(found, self.what) if isinstance(found, str) else found

    def canonical(self, name: str, more: tuple[str, ...] = ()) -> str:
        """The one spelling of ``name``; ``ValueError`` lists what there is. ``more``: patterns for that message."""
        name = self.aliases.get(name, name)
        if is_own(name):
            return name
        return choose(name, self, self.what, more=(*more, "package.module:Name"))

    def find(self, name: str) -> type:
        """The class of that name, or of a caller's own ``"package.module:Name"``."""
        name = self.canonical(name)
        return imported(name, self.what) if is_own(name) else self[name]


def is_own(name: object) -> bool:
    """Whether ``name`` has the form ``"package.module:Name"`` of a caller's own code."""
    module, colon, rest = name.partition(":") if isinstance(name, str) else ("", "", "")
    return bool(colon) and rest.isidentifier() and all(part.isidentifier() for part in module.split("."))


def imported(place: str, what: str = "class") -> type:
    """The class at ``"package.module:Name"``; ``ValueError`` says which half of it is missing."""
    module, _, name = place.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as err:
        raise ValueError(f"{what} {place!r}: there is no module {err.name!r}; is its folder on PYTHONPATH?") from err
    except AttributeError as err:
        raise ValueError(f"{what} {place!r}: {module} has no {name!r}") from err


METHODS = Registry(
    "method",
    {
        "vse++": "icrlib.models.vse:VSE",
        "bow": "icrlib.models.bow:BagOfWords",
        "vsrn": "icrlib.models.vsrn:VSRN",
        "vse_infty": "icrlib.models.vse_infty:VSEInfty",
        "cmn": "icrlib.models.cmn:CMN",
        "ltd": "icrlib.models.ltd:LTD",
        "sentence": "icrlib.models.sentence:Sentence",
    },
    usual="vse++",
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
        "dcl": "icrlib.losses.dcl:DCL",
        "ntxent_sparse": "icrlib.losses.sparse:SparseNTXent",
        "alignment": "icrlib.losses.alignment:Alignment",
    },
    {"infonce": "ntxent"},
    usual="ntxent",
)
AUXILIARIES = Registry(
    "auxiliary",
    {
        "latent": "icrlib.auxiliary.latent:LatentTarget",
        "tokens": "icrlib.auxiliary.tokens:TokenDecoder",
    },
)
VOCABULARIES = Registry(
    "vocabulary",
    {
        "words": "icrlib.data.text:Vocabulary",
        "sentences": "icrlib.data.targets.sentences:Sentences",
    },
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
