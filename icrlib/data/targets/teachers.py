"""Teachers by name, and the target vectors of a data set."""

from __future__ import annotations

import os
from collections.abc import Sequence

from torch import Tensor

from icrlib.data.splits import Dataset
from icrlib.data.targets.base import Teacher
from icrlib.data.targets.handed_over import HELD, Own
from icrlib.data.targets.store import vectors
from icrlib.names import Registry, is_own

# A teacher is imported when it is asked for, so that tokenizers and scikit-learn are needed only by those who use them.
TEACHERS = Registry(
    "target",
    {
        "sbert": "icrlib.data.targets.minilm:MiniLM",
        "lsa": "icrlib.data.targets.lsa:LSA",
        "form": "icrlib.data.targets.form:Form",
    },
)


def teacher(name: str, folder: str | os.PathLike | None = None, captions: Sequence[str] | None = None) -> Teacher:
    """The teacher of that name.

    "sbert" (all-MiniLM-L6-v2) comes from ``folder`` or from its package; "lsa" is
    fitted on ``captions``, the training captions; "form" reads captions of ``scenes``; "own-1a2b3c4d" is what
    :func:`icrlib.data.targets.hold` returned; "package.module:Name" is a class (called without arguments) or an object
    with ``encode(list of texts)``. ``ValueError`` for an unknown name or an argument that the teacher does not take.
    """
    given = {key: value for key, value in (("folder", folder), ("captions", captions)) if value is not None}
    if isinstance(name, str) and name.startswith("own-"):
        if name not in HELD:
            raise ValueError(
                f"target {name!r} is a model of somebody's own that is not known in this process: call "
                "icrlib.data.targets.hold(model) first"
            )
        return _plain(HELD[name], name, given)
    kind = TEACHERS.find(name)
    if is_own(name):
        made = kind() if isinstance(kind, type) else kind
        return _plain(made if isinstance(made, Teacher) else Own(made), name, given)
    wanted = {"sbert": "folder", "lsa": "captions"}.get(name)
    for key in given:
        if key != wanted:
            raise ValueError(f"target {name!r} takes no {key}=; {f'it takes {wanted}=' if wanted else 'leave it out'}")
    return kind(**given)


def size_of(name: str) -> int | None:
    """How many numbers a vector of that teacher has, as far as that is known without it: "lsa" has fewer of few
    captions. None of a caller's own class."""
    if name in HELD:
        return HELD[name].size
    return None if is_own(name) or name not in TEACHERS else TEACHERS[name].size


def of_dataset(data: Dataset, name: str, progress: bool = True) -> Tensor:
    """Target vectors (C, d) of the training captions of ``data``, cached; float32, rows of length 1."""
    return vectors(data.train, for_dataset(data, name), progress)


def for_dataset(data: Dataset, name: str) -> Teacher:
    """The teacher of that name, fitted on the training captions where it learns. "form" wants ``scenes``."""
    if name == "form" and not hasattr(data.train, "forms"):
        raise ValueError(
            f"target 'form' is the logical form of a caption, which only 'scenes' knows; {data.name!r} "
            "does not. Take 'sbert', 'lsa' or a model of your own"
        )
    return teacher(name, captions=data.train.captions if name == "lsa" else None)


def _plain(made: Teacher, name: str, given: dict) -> Teacher:
    if given:
        raise ValueError(f"target {name!r} takes no {' and no '.join(f'{key}=' for key in given)}")
    return made
