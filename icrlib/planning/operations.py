"""Operations of a training, counted and not measured: the products of matrices, which are nearly all of its arithmetic.

A product of n rows with a × b weights takes n·a·b multiplications and as many additions. Training needs three such
products: one forward, and two backward, for the gradient of the weights and for that of the inputs. The second of these
is left out where the inputs are data, which do not learn. The page "paper-scale" of the book goes through it step by
step, and tests hold the counts against torch's own counter. Norms, gates, softmaxes and the optimiser are not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import torch

from icrlib.data.karpathy import PUBLISHED

if TYPE_CHECKING:
    from icrlib.data.splits import Dataset

Parts = dict[str, int]  # operations by part of the model


def product(rows: int, inputs: int, outputs: int) -> int:
    """Operations of a matrix product: a multiplication and an addition each."""
    return 2 * rows * inputs * outputs


def captions_part(captions: int, d: int, words: float, word_dim: int = 300) -> Parts:
    """A GRU over captions of ``words`` words each: three gates, so each word meets two matrices.

    The first state is zero and does not learn, so nothing has to be passed back to it: one product fewer.
    """
    read = captions * words
    return {
        "words into the GRU": 3 * product(read, word_dim, 3 * d),
        "recurrence, words": 3 * product(read, d, 3 * d) - product(captions, d, 3 * d),
    }


def vse(
    images: int = 128,
    captions: int = 128,
    d: int = 1024,
    words: float = 27,
    *,
    feature_dim: int = 2048,
    word_dim: int = 300,
) -> Parts:
    """One update of VSE++: ``images`` features of ``feature_dim`` numbers beside ``captions`` captions."""
    return {
        "image layer": 2 * product(images, feature_dim, d),
        **captions_part(captions, d, words, word_dim),
        "scores": 3 * product(images, d, captions),
    }


def bow(images: int = 128, captions: int = 128, d: int = 1024, words: float = 27, *, feature_dim: int = 2048) -> Parts:
    """One update of the bag of words: the mean of word vectors is no product of matrices."""
    return {"image layer": 2 * product(images, feature_dim, d), "scores": 3 * product(images, d, captions)}


def vsrn(
    images: int = 128,
    captions: int = 128,
    d: int = 2048,
    words: float = 27,
    *,
    regions: int = 36,
    feature_dim: int = 2048,
    word_dim: int = 300,
    blocks: int = 4,
) -> Parts:
    """One update of VSRN: ``blocks`` graph convolutions of ``regions`` regions each, and a GRU that reads them."""
    rows = images * regions
    block = product(rows, d, 3 * d) + 2 * product(rows, d, regions) + product(rows, d, d)
    return {
        "image layer": 2 * product(rows, feature_dim, d),
        "four graph blocks" if blocks == 4 else "graph blocks": blocks * 3 * block,
        "regions into the GRU": 3 * product(rows, d, 3 * d),
        "recurrence, regions": 3 * product(rows, d, 3 * d) - product(images, d, 3 * d),
        **captions_part(captions, d, words, word_dim),
        "scores": 3 * product(images, d, captions),
    }


METHODS: dict[str, Callable[..., Parts]] = {"vse++": vse, "bow": bow, "vsrn": vsrn}
TAKES = {"vse++": 1, "bow": 1, "vsrn": 2}  # dimensions of one image's features: a vector, or regions
NETWORKS = {"resnet50": 8_174_272_512, "resnet152": 23_023_157_248}  # one photo of 224 x 224, forward, without its head
# What is assumed of data that nobody has at hand: ``words`` of a caption with both marks, ``padded``: of the longest of
# 128, to which a GPU fills up the others; ``each``: captions an image.
PHOTOS = {"words": 14.0, "padded": 27.0, "each": 5.0, "vocabulary": 8_481}
SCENES = {"words": 11.8, "padded": 20.0, "each": 5.0, "vocabulary": 54}
SHAPES = {
    ("scenes", False): (256,),
    ("scenes", True): (8, 261),
    ("photos", False): (2048,),
    ("photos", True): (36, 2048),
}


def total(parts: Parts) -> int:
    """All parts together."""
    return sum(parts.values())


def assumed(config: Mapping) -> dict:
    """Sizes of the data that a configuration names, where the data is not at hand; see :func:`measured`.

    Scenes are alike from draw to draw, so theirs are known; a photo data set gets its published number of images,
    2,048 numbers a feature, 36 regions for a method that reads regions, and captions of about 14 words.
    """
    name, options = config["dataset"], config.get("data_options") or {}
    regions = bool(options.get("regions", config["method"] == "vsrn"))
    if name in ("scenes", "rendered", "stamps"):
        return SCENES | {"features": SHAPES["scenes", regions], "val": options.get("val", 500)}
    val = PUBLISHED.get(name, {"val": 1000})["val"]
    return PHOTOS | {"features": SHAPES["photos", regions], "val": val}


def measured(data: Dataset) -> dict:
    """Sizes of data that is at hand: ``features``, the shape of one image's; ``words`` of a caption, marks included,
    and ``padded``, of the longest of 128, both over the first 2,000; ``each``, captions an image; ``val``, images to
    choose by; ``vocabulary``, its words."""
    lengths = data.vocabulary.encode(data.train.captions[:2000])[1].float()
    mixed = lengths[torch.randperm(len(lengths), generator=torch.Generator().manual_seed(0))].split(128)
    return {
        "features": tuple(data.train.features.shape[1:]),
        "val": len(data.val),
        "vocabulary": len(data.vocabulary),
        "words": float(lengths.mean()),
        "padded": float(sum(batch.max() for batch in mixed) / len(mixed)),
        "each": len(data.train.captions) / len(data.train),
    }


def machine(config: Mapping) -> str:
    """ "GPU" or "CPU": what a configuration runs on."""
    return "GPU" if str(config.get("device", "cpu")).startswith("cuda") else "CPU"


def _read(config: Mapping, sizes: Mapping) -> float:
    """Words that the GRU reads of each caption: on a CPU no padding is computed."""
    return sizes["padded"] if machine(config) == "GPU" else sizes["words"]


def misfit(method: str, shape: tuple[int, ...]) -> str:
    """What is wrong with one image's features of this shape for a method: a sentence, or "" where they fit."""
    if TAKES.get(method, len(shape)) == len(shape):
        return ""
    takes = "regions" if TAKES[method] == 2 else "one vector an image"
    return f"{method} takes {takes}, and the features here are {tuple(shape)} for each image"


def of_update(config: Mapping, sizes: Mapping) -> float | None:
    """Operations of one update of a run, by its configuration as a record holds it, and the sizes of its data.

    None for what cannot be counted: a method of a caller's own, an auxiliary, features of the other kind than the
    method takes, a network for photos that is not known here or learns, too.
    """
    count, network = _counter(config, sizes), _network(config)
    if count is None or network is None:
        return None
    images = config.get("batch_size", 128)
    return config.get("accumulate", 1) * (total(count(*_batch(config, sizes))) + images * network)


def of_training(config: Mapping, sizes: Mapping) -> float | None:
    """Operations of all updates and of the evaluations between them, which are forward only: a third of the products.

    None as for :func:`of_update`.
    """
    each, network = of_update(config, sizes), _network(config)
    if each is None:
        return None
    val, captions = sizes["val"], round(sizes["val"] * sizes["each"])
    look = total(_counter(config, sizes)(val, captions)) / 3 + val * network
    looks = -(-config["updates"] // config["evaluate_every"]) if config.get("evaluate_every") else 0
    return config["updates"] * each + looks * look


def kept_bytes(config: Mapping, sizes: Mapping) -> float:
    """About what a forward pass keeps for the backward pass, in single precision; 0 where it cannot be counted.

    Counted as autograd keeps it for torch's own layers: of a word in a GRU eight states, of a region in a graph
    convolution six rows. A test holds it against torch within a fifth.
    """
    if _counter(config, sizes) is None:
        return 0.0
    (images, captions), options = _batch(config, sizes), config["model_options"]
    *regions, feature_dim = sizes["features"]
    d, rows = options["embed_dim"], images * (regions[0] if regions else 1)
    read = _read(config, sizes) * (options.get("word_dim", 300) + 8 * d)
    words = captions * (d if config["method"] == "bow" else read)
    graph = rows * d * (8 + 6 * options.get("blocks", 4)) if config["method"] == "vsrn" else images * d
    return 4.0 * (rows * feature_dim + words + graph)


def _counter(config: Mapping, sizes: Mapping) -> Callable[[int, int], Parts] | None:
    """Operations of an update by its numbers of images and captions."""
    *regions, feature_dim = sizes["features"]
    options, method = config.get("model_options", {}), config["method"]
    fits = not misfit(method, sizes["features"]) and "embed_dim" in options
    if method not in METHODS or config.get("auxiliary") or not fits:
        return None
    more = {name: options[name] for name in ("word_dim", "blocks") if name in options}
    more |= {"regions": regions[0]} if regions else {}
    return partial(METHODS[method], d=options["embed_dim"], words=_read(config, sizes), feature_dim=feature_dim, **more)


def _batch(config: Mapping, sizes: Mapping) -> tuple[int, int]:
    """Images and captions of a batch."""
    images = config.get("batch_size", 128)
    return images, round(images * (sizes["each"] if config.get("batches") == "images" else 1))


def _network(config: Mapping) -> int | None:
    """Operations that the network for photos takes for one of them; 0 where features are finished."""
    if config.get("backbone") is None:
        return 0
    return None if config.get("finetune_after") is not None else NETWORKS.get(config["backbone"])
