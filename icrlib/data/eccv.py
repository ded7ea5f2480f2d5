"""ECCV Caption (Chun et al., 2022): right answers for a part of COCO's test queries; and its authors' reading of CxC.

Five models proposed them and people checked them.

The files are those of the release's ``eccv_caption/data/``, ``{eccv,cxc}_image_to_caption.json`` and
``…_caption_to_image.json``, or the same gzipped: ``{query id: [ids of its right candidates]}``, COCO's image ids and
sentence ids. The two directions have queries of their own: candidates are all of the split.
"""

from __future__ import annotations

import os
from pathlib import Path

from icrlib import parsing
from icrlib.data.coco import Ids
from icrlib.data.judgements import BadJudgements, Judgements, file_in
from icrlib.errors import choose

FILES = {"i2t": "image_to_caption", "t2i": "caption_to_image"}
NAMES = {"eccv": "ECCV Caption", "cxc": "CxC, as ECCV Caption has it"}


def read(place: str | os.PathLike, which: str = "eccv") -> dict[str, dict[int, list[int]]]:
    """``{"i2t": {image id: [sentence ids]}, "t2i": {sentence id: [image ids]}}`` from the folder ``place``.

    ``which``: "eccv", or "cxc" for the pairs that the release counts as CxC's. ``FileNotFoundError`` where a file is
    missing, :class:`BadJudgements` (a ``ValueError``) where it is not of this form.
    """
    choose(which, NAMES, "judgements")
    return {side: _lists(_file(place, which, side)) for side in FILES}


def captions_of(lists: dict[str, dict[int, list[int]]]) -> set[int]:
    """All sentence ids that :func:`read` found, as queries and as answers."""
    return set(lists["t2i"]).union(*lists["i2t"].values())


def judgements(place: str | os.PathLike, ids: Ids, *, which: str = "eccv", missing: str = "refuse") -> Judgements:
    """What :func:`read` finds, as rows of the split that has these ``ids``.

    ``missing``: see :meth:`icrlib.data.coco.Ids.place`.
    """
    lists, sides, dropped = read(place, which), {}, 0
    for side, found in lists.items():
        queries = [query for query, answers in found.items() for _ in answers]
        answers = [answer for answers in found.values() for answer in answers]
        pairs = (queries, answers) if side == "i2t" else (answers, queries)
        image, caption, kept = ids.place(*pairs, str(_file(place, which, side)), missing)
        sides[side] = image, caption
        dropped += int((~kept).sum())
    return Judgements(NAMES[which], sides["i2t"], sides["t2i"], len(ids.images), len(ids.captions), dropped)


def _file(place: str | os.PathLike, which: str, side: str) -> Path:
    source = "eccv_caption/data/ of the repository naver-ai/eccv-caption"
    return file_in(Path(place), f"{which}_{FILES[side]}.json", ["data", "eccv_caption/data"], source)


def _lists(path: Path) -> dict[int, list[int]]:
    try:
        listed = parsing.of_json(path, {"type": "object"}, "the file")
        found = {int(query): answers for query, answers in listed.items()}
    except ValueError as err:  # BadFile is one
        raise BadJudgements(f"{path}: not a whole JSON file {{query id: [ids]}} ({err}); get it again") from err
    if not found:
        raise BadJudgements(f"{path}: it names no query; get it again")
    for query, answers in found.items():
        whole = isinstance(answers, list) and all(isinstance(a, int) and not isinstance(a, bool) for a in answers)
        if not whole or not answers or len(set(answers)) != len(answers):
            raise BadJudgements(f"{path}, query {query}: {str(answers)[:60]} is no list of ids, each once")
    return found
