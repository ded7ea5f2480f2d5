"""How far does a search get with 0, 400 and 6,000 captioned photos? Lines of records/zero_shot.jsonl, all made anew.

FEATURES are Flickr8k's pooled ones of EfficientNet-Lite2, whose own last layer the encoder imagenet-words goes through.
Three kinds of lines. "names": what classes are called and how many count, on the validation photos. "ladder": the
encoder alone, and added to the scores of models that learnt from captions, with the weight that is best on the
validation photos. "silence": can one tell from the scores that the photo of a caption is not in the album?
Models are taken from runs/, or trained again with the settings of their records.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import torch
from torch import Tensor

import icrlib
import probe_runs
from icrlib import records
from icrlib.data.backbones import import_torchvision
from icrlib.data.splits import Dataset, Split
from icrlib.data.targets import vectors
from icrlib.evaluation import best_ranks, measure, rank, scores
from icrlib.evidence import photo_intervals
from icrlib.files import write_bytes
from icrlib.records.zero_shot import LINES
from icrlib.search.imagenet_words import ImageNetWords, class_names, convex, sentences
from icrlib.studies import Run, studies

# Captioned photos, method: the study whose three seeds are taken, and how their tag begins.
TRAINED = {
    (400, "bow"): ("photo_small_own", ""),
    (400, "sentence"): ("photo_few_sentences", "tuned-unit"),
    (6000, "bow"): ("photo_length", ""),
    (6000, "sentence"): ("photo_ltd_more", "tuned-unit"),
}
WEIGHTS = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 4.0)
ALARMS = 0.1  # false ones, at most


@click.command(help=__doc__)
@click.argument("features", type=click.Path(path_type=Path, exists=True))
def main(features: Path) -> None:
    torch.set_num_threads(1)
    made, data = ImageNetWords(), icrlib.load_dataset("flickr8k", features=features)
    alone = {name: zero(made, getattr(data, name)) for name in ("val", "test")}
    lines = [*names(made, data.val), row(0, None, alone, data), silence(0, None, [alone], data)]
    for (photos, method), (study, tag) in TRAINED.items():
        runs = [
            run
            for run in studies[study].runs()
            if (run.method, run.loss) == (method, "ntxent") and run.tag.startswith(tag)
        ]
        found = [of_model(run, features) for run in runs]
        lines += [added(photos, method, found, alone, data), silence(photos, method, found, data)]
        click.echo(json.dumps(lines[-2]))
    text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in lines)
    write_bytes(records.root() / LINES, text.encode())


def zero(made: ImageNetWords, split: Split) -> Tensor:
    """Scores (N, C) of a split without any training."""
    return made.of_features(split.features.float()) @ made.texts(split.captions).T


def of_model(run: Run, features: Path) -> dict[str, Tensor]:
    """Scores of the validation and test photos by the model of a run."""
    data = icrlib.load_dataset(run.dataset, **run.on(features, into=Path("runs")).data)
    model, _ = probe_runs.model_of(run, records.load(run.path), data)
    return {name: scores(model, getattr(data, name)) for name in ("val", "test")}


def names(made: ImageNetWords, val: Split) -> Iterator[dict]:
    """Validation rsum of what could stand for a class, with the ten highest classes and with all."""
    import_torchvision()
    from torchvision.models._meta import _IMAGENET_CATEGORIES as single

    told = {"torchvision": [[name] for name in single], "wordnet": class_names()}
    forms = {name: sentences(some) for name, some in told.items()}
    captions, probabilities = made.texts(val.captions), made.network.classes(val.features.float()).softmax(1)
    for name, some in forms.items():
        for top in (10, 1000):
            images = convex(probabilities, vectors(some, made.teacher, progress=False), top)
            yield {"kind": "names", "names": name, "classes": top, "val_rsum": rounded(rsum(images @ captions.T, val))}


def judged(found: Tensor, split: Split) -> dict:
    """Measures of scores (N, C)."""
    return measure(found, torch.arange(found.shape[1]), split, similarity=columns)


def columns(found: Tensor, numbers: Tensor) -> Tensor:
    """Scores that are there already, in the place of a similarity: images are rows, captions numbers of columns."""
    return found[:, numbers]


def rsum(found: Tensor, split: Split) -> float:
    return judged(found, split)["rsum"]


def row(photos: int, method: str | None, found: dict[str, Tensor], data: Dataset) -> dict:
    """Test measures with a bootstrap over test images, and the ranks that it is from."""
    result = judged(found["test"], data.test)
    ranks = rank(found["test"], torch.arange(len(data.test.captions)), data.test, similarity=columns)
    record = {"test": {"rsum": result["rsum"], "ranks": {side: packed(best_ranks(one)) for side, one in ranks.items()}}}
    hits = photo_intervals._hits(record, "test.rsum")
    se = photo_intervals.bootstrap(hits, np.bincount(data.test.image_of.numpy())).std(ddof=1)
    return {
        "kind": "ladder",
        "photos": photos,
        "method": method,
        "val_rsum": rounded(rsum(found["val"], data.val)),
        "test": {side: {cut: rounded(result[side][cut]) for cut in ("r1", "r5", "r10")} for side in ("i2t", "t2i")}
        | {"rsum": result["rsum"], "half": rounded(1.96 * se), "ranks": record["test"]["ranks"]},
    }


def added(photos: int, method: str, found: list[dict], alone: dict, data: Dataset) -> dict:
    """A model's scores, alone and with those of the encoder; three seeds, one weight for all, 95 % of the gain."""
    tried = {
        weight: float(np.mean([rsum(one["val"] + weight * alone["val"], data.val) for one in found]))
        for weight in WEIGHTS
    }
    weight = max(tried, key=tried.get)
    without = [row(photos, method, one, data) for one in found]
    both = [row(photos, method, {name: one[name] + weight * alone[name] for name in one}, data) for one in found]
    gain = photo_intervals.estimate(both, without, "test.rsum")
    low, high = gain.interval(0.95)
    return {
        "kind": "ladder",
        "photos": photos,
        "method": method,
        "weight": weight,
        "val_rsum": {f"{weight:g}": rounded(value) for weight, value in tried.items()},
        "alone": means(without),
        "added": means(both),
        "gain": {"mean": rounded(gain.mean), "low": rounded(low), "high": rounded(high)},
    }


def means(rows: list[dict]) -> dict:
    """Mean test measures of the seeds."""
    flat = {"rsum": [one["test"]["rsum"] for one in rows]} | {
        f"{side}.{cut}": [one["test"][side][cut] for one in rows]
        for side in ("i2t", "t2i")
        for cut in ("r1", "r5", "r10")
    }
    return {name: rounded(float(np.mean(values))) for name, values in flat.items()} | {
        "seeds": [rounded(value) for value in flat["rsum"]]
    }


def silence(photos: int, method: str | None, found: list[dict], data: Dataset) -> dict:
    """Percent of captions that are said to have no photo, by signs that are too low, while it is there and not there.

    Below the tenth of the validation captions, and ("best possible") below the tenth of the test captions themselves.
    """
    told = {sign: [_silent(sign, one, data) for one in found] for sign in SIGNS}
    keys = ("false alarms", "caught", "caught, best possible")
    return {
        "kind": "silence",
        "photos": photos,
        "method": method,
        "signs": {
            sign: dict(zip(keys, np.round(np.mean(rows, 0), 2).tolist(), strict=True)) for sign, rows in told.items()
        },
    }


SIGNS = {
    "best": lambda top, mean, spread: top[0],
    "best above the mean of the album": lambda top, mean, spread: top[0] - mean,
    "best above the mean, in spreads": lambda top, mean, spread: (top[0] - mean) / spread,
    "best above the second": lambda top, mean, spread: top[0] - top[1],
    "best above the next nine": lambda top, mean, spread: top[0] - top[1:10].mean(0),
}


def _silent(sign: str, found: dict[str, Tensor], data: Dataset) -> tuple[float, float, float]:
    there = {name: _sign(sign, found[name]) for name in ("val", "test")}
    gone = found["test"].clone()
    gone[data.test.image_of, torch.arange(gone.shape[1])] = torch.nan
    taken = _sign(sign, gone)
    low, lowest = there["val"].quantile(ALARMS), there["test"].quantile(ALARMS)
    return tuple(100 * float(part.float().mean()) for part in (there["test"] < low, taken < low, taken < lowest))


def _sign(sign: str, found: Tensor) -> Tensor:
    """(C,) of scores (N, C); a photo that is not there is NaN."""
    mean = found.nanmean(0)
    spread = ((found - mean) ** 2).nanmean(0).sqrt()
    return SIGNS[sign](found.nan_to_num(-torch.inf).topk(10, 0).values, mean, spread)


def packed(ranks: Tensor) -> str:
    return base64.b64encode(ranks.numpy().astype("<u2").tobytes()).decode()


def rounded(value: float) -> float:
    return round(float(value), 2)


if __name__ == "__main__":
    main()
