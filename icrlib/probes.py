"""Linear probes: what can be read, by a linear map, from what a model makes of captions and pictures of scenes?

A probe is a ridge regression in closed form on the answers' indicators, and the answer with the highest value counts.
It is fitted on ``train``, its penalty is chosen on ``val``, and it is read on ``test``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from icrlib.data.scenes.facts import KINDS, Fact, facts
from icrlib.data.scenes.generate import ScenesSplit
from icrlib.data.splits import Dataset
from icrlib.evaluation import embed
from icrlib.models.base import RetrievalModel

# In units of the mean variance of the encodings' directions; of equally good ones the largest.
PENALTIES = (10.0, 1.0, 0.1, 0.01, 0.001)
COLUMNS = ["of", "fact", "accuracy", "chance", "n", "penalty"]


def probe(model: RetrievalModel, data: Dataset) -> pd.DataFrame:
    """Every fact that captions and pictures of ``data`` state, read from the encodings of ``model``.

    One row a fact: ``of`` "caption" or "picture", ``fact``, ``accuracy`` in percent on ``data.test``, ``chance``: 50
    for a choice between two answers, else what the most frequent answer of the fitted cases would get; ``n`` cases of
    the test; ``penalty``. ``ValueError`` for data that are no scenes, and for encodings that are not one vector each.
    """
    splits = {name: getattr(data, name) for name in ("train", "val", "test")}
    if not all(isinstance(split, ScenesSplit) for split in splits.values()):
        raise ValueError(f"{data.name!r} does not know what is in its pictures; probes need the data set 'scenes'")
    return read({name: embed(model, split) for name, split in splits.items()}, splits)


def read(encoded: Mapping[str, tuple[Tensor, Tensor]], splits: Mapping, kinds: Sequence[str] = KINDS) -> pd.DataFrame:
    """:func:`probe` for encodings that are there: images (N, d) and captions (C, d) of each split by its name.

    With ``kinds=("caption",)`` the images are not looked at and may be None.
    """
    rows = []
    for place, of in enumerate(reversed(KINDS)):
        if of not in kinds:
            continue
        vectors = {name: _vectors(pair[place]) for name, pair in encoded.items()}
        stated = {name: facts(splits[name], of) for name in vectors}
        for fitted, judged, tested in zip(stated["train"], stated["val"], stated["test"], strict=True):
            maps = [fit(fitted, vectors["train"], penalty) for penalty in PENALTIES]
            right = [
                float(correct(judged, vectors["val"], weights).mean()) if len(judged.asked) else 0.0 for weights in maps
            ]
            best = right.index(max(right))
            found, n = correct(tested, vectors["test"], maps[best]), len(tested.asked)
            rows.append(
                (of, tested.name, 100 * float(found.mean()) if n else None, chance(fitted, tested), n, PENALTIES[best])
            )
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table.iloc[table["of"].map(KINDS.index).argsort(kind="stable")].reset_index(drop=True)


def fit(fact: Fact, vectors: Tensor, penalty: float) -> Tensor:
    """Weights (groups, d + 1, answers) of the probes of a fact, the last row a constant: ridge on centred indicators.

    With X the centred vectors of a group's known cases and Y their centred indicators, W = (X'X + λI)⁻¹X'Y, where λ is
    ``penalty`` times the mean of the diagonal of X'X. A group without cases has the weights zero.
    """
    row, group, label = fact.known.T
    groups = int(torch.cat([group, fact.asked[:, 1]]).max()) + 1 if len(group) or len(fact.asked) else 1
    weights = vectors.new_zeros(groups, vectors.shape[1] + 1, fact.answers)
    for number in group.unique().tolist():
        here = group == number
        x, y = vectors[row[here]], one_hot(label[here], fact.answers).to(vectors)
        middle, share = x.mean(0), y.mean(0)
        x, y = x - middle, y - share
        square = x.T @ x
        ridge = penalty * square.diagonal().mean() + 1e-12
        slope = torch.linalg.solve(square + ridge * torch.eye(len(square)).to(square), x.T @ y)
        weights[number, :-1], weights[number, -1] = slope, share - middle @ slope
    return weights


def correct(fact: Fact, vectors: Tensor, weights: Tensor) -> Tensor:
    """How right the probes are on each asked case, (Q,): 1, 0, or one half where a choice is a tie."""
    row, group, label, other = fact.asked.T
    group = group.clamp(max=len(weights) - 1)
    found = torch.einsum("qd,qda->qa", vectors[row], weights[group, :-1]) + weights[group, -1]
    if not fact.choice:
        return (found.argmax(1) == label).to(found)
    gap = (found.gather(1, label[:, None]) - found.gather(1, other[:, None]))[:, 0]
    return ((gap > 0).to(found) + (gap >= 0).to(found)) / 2


def chance(fitted: Fact, asked: Fact) -> float | None:
    """Percent right without a look at the encodings: 50 for a choice, else by each group's most frequent answer."""
    if asked.choice or not len(asked.asked):
        return 50.0 if asked.choice else None
    _, group, label = fitted.known.T
    most = {number: int(label[group == number].mode().values) for number in group.unique().tolist()}
    right = [most.get(number) == answer for number, answer in asked.asked[:, 1:3].tolist()]
    return 100 * sum(right) / len(right)


def _vectors(encodings: Tensor) -> Tensor:
    if not isinstance(encodings, Tensor):
        raise ValueError("probes read one vector a caption and a picture; this model makes sequences of them")
    return encodings.detach().cpu().double()


def compared(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Tables of several models of the same data side by side: the facts with their chance and n, a column a model.

    ``ValueError`` where the models were asked other cases.
    """
    first = next(iter(tables.values()))
    for name, table in tables.items():
        if not table[["of", "fact", "n"]].equals(first[["of", "fact", "n"]]):
            raise ValueError(f"the table of {name!r} is of other data than the first: facts or numbers of cases differ")
    return first[["of", "fact", "n", "chance"]].assign(**{name: table["accuracy"] for name, table in tables.items()})
