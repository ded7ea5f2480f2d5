"""Teachers by name."""

from __future__ import annotations

from collections.abc import Sequence

from icrlib.data.splits import Dataset
from icrlib.data.targets.base import Teacher
from icrlib.data.targets.handed_over import HELD, HandedOver
from icrlib.names import Registry

# A teacher is imported at its first use, so that tokenizers and scikit-learn are needed only by those who use them.
TEACHERS = Registry(
    "target",
    {
        "sbert": "icrlib.data.targets.minilm:MiniLM",
        "lsa": "icrlib.data.targets.lsa:LSA",
        "form": "icrlib.data.targets.form:Form",
    },
)


def teacher(name: str, captions: Sequence[str] | None = None) -> Teacher:
    """The teacher of that name; ``ValueError`` where there is none.

    "sbert" is all-MiniLM-L6-v2, "form" reads captions of ``scenes``, "lsa" is fitted on the training ``captions``,
    which the others do not use. "own-1a2b3c4d" is what :func:`icrlib.data.targets.hold` returned, and
    "package.module:Name" a class that is called without arguments and has ``encode(list of texts)``.
    """
    if name in HELD:
        return HELD[name]
    if str(name).startswith("own-"):
        raise ValueError(
            f"target {name!r} is an object that this process does not know: call icrlib.data.targets.hold(object) first"
        )
    made = TEACHERS.find(name)(**{"captions": captions} if name == "lsa" else {})
    return made if isinstance(made, Teacher) else HandedOver(made)


def for_dataset(data: Dataset, name: str) -> Teacher:
    """The teacher of that name, fitted on the training captions where it learns. "form" wants ``scenes``."""
    if name == "form" and not hasattr(data.train, "forms"):
        raise ValueError(
            f"target 'form' is the logical form of a caption, which only 'scenes' knows; {data.name!r} "
            "does not. Take 'sbert', 'lsa' or a model of your own"
        )
    return teacher(name, data.train.captions)
