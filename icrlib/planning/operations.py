"""Operations of a training, counted and not measured: the products of matrices, which are nearly all of its arithmetic.

Each model and each auxiliary says its own (:mod:`icrlib.models.counts`); here they add up over a training, with its
evaluations. A model that says nothing is run once on torch's meta device, where tensors have a shape and no numbers,
while torch's own counter looks on. The page "hours" of the book turns it into hours, and tests hold the counts
against that counter. Norms, gates, softmaxes and the optimiser are not counted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from math import ceil
from typing import TYPE_CHECKING

import torch
from torch.utils.flop_counter import FlopCounterMode

from icrlib.data.karpathy import PUBLISHED
from icrlib.data.load import OUTLINES
from icrlib.data.outline import PHOTOS, photos_shape
from icrlib.models.base import RetrievalModel
from icrlib.models.build import build
from icrlib.models.counts import total
from icrlib.names import AUXILIARIES, METHODS, Registry

if TYPE_CHECKING:
    from icrlib.data.splits import Dataset

NETWORKS = {"resnet50": 8_174_272_512, "resnet152": 23_023_157_248}  # one photo of 224 x 224, forward, without its head


def assumed(config: Mapping) -> dict:
    """Sizes of the data that a configuration names, where the data is not at hand; see :func:`measured`.

    Scenes are alike from draw to draw, so theirs are known; a photo data set gets its published number of images,
    2,048 numbers a feature, 36 regions for a method that reads regions, and captions of about 14 words.
    """
    name, options = config["dataset"], config.get("data_options") or {}
    regions = bool(options.get("regions", takes(config["method"]) == "regions"))
    if name in OUTLINES:
        known = OUTLINES[name](options, regions=regions)
        return {**known.captions, "features": known.shape, "val": known.images["val"]}
    val = PUBLISHED.get(name, {"val": 1000})["val"]
    return {**PHOTOS, "features": photos_shape(regions), "val": val}


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


def takes(method: str) -> str:
    """What a method takes of an image: "vector", "regions", or "" where it does not say or is not to be had here."""
    kind = _kind(METHODS, method)
    return kind.takes if kind else ""


def _kind(registry: Registry, name: str) -> type | None:
    """The class of that name; None of a caller's own that cannot be imported here."""
    try:
        return registry.find(name)
    except ValueError:
        return None


def misfit(method: str, shape: tuple[int, ...]) -> str:
    """What is wrong with one image's features of this shape for a method: a sentence, or "" where they fit."""
    wanted = takes(method)
    if not wanted or (wanted == "regions") == (len(shape) == 2):
        return ""
    return (
        f"{method} takes {'regions' if wanted == 'regions' else 'one vector an image'}, and the features here are "
        f"{tuple(shape)} for each image"
    )


def of_update(config: Mapping, sizes: Mapping) -> float | None:
    """Operations of one update of a run, by its configuration as a record holds it, and the sizes of its data.

    None for what cannot be counted: a method of a caller's own that neither says nor can be run without numbers, an
    auxiliary that does not say, features of the other kind than the method takes, a network for photos that is not
    known here or learns, too.
    """
    images, captions = _batch(config, sizes)
    products, extra, network = _model(config, sizes, images, captions), _auxiliary(config, sizes), _network(config)
    if products is None or extra is None or network is None:
        return None
    return config.get("accumulate", 1) * (products[0] + extra[0] + images * network)


def of_training(config: Mapping, sizes: Mapping) -> float | None:
    """Operations of all updates and of the evaluations between them, which are forward only: a third of the products.

    None as for :func:`of_update`.
    """
    each, network = of_update(config, sizes), _network(config)
    if each is None:
        return None
    val, captions = sizes["val"], round(sizes["val"] * sizes["each"])
    look = _model(config, sizes, val, captions)[0] / 3 + val * network
    looks = -(-config["updates"] // config["evaluate_every"]) if config.get("evaluate_every") else 0
    return config["updates"] * each + looks * look + _second_stage(config, sizes)


def _second_stage(config: Mapping, sizes: Mapping) -> float:
    """What a matching head takes that ranks the first candidates of each query of the images that weights are chosen
    by, and of as many that they are tested on. 0 where nobody reranks, or the model does not say."""
    top, kind = config.get("rerank"), _kind(METHODS, config["method"])
    if not top or kind is None:
        return 0
    images = sizes["val"]
    captions = round(images * sizes["each"])
    pairs = 2 * (images * min(top, captions) + captions * min(top, images))
    products = kind.match_operations(pairs, sizes["padded"], **_on_pairs(config, sizes))
    return 0 if products is None else products / 3


def _on_pairs(config: Mapping, sizes: Mapping) -> dict:
    """Sizes that a matching head is counted by, beside pairs and words."""
    regions = sizes["features"][:-1]
    return {**config.get("model_options", {}), **({"regions": regions[0]} if regions else {})}


def kept_bytes(config: Mapping, sizes: Mapping) -> float:
    """About what a forward pass keeps for the backward pass, in single precision; 0 where it cannot be counted.

    Counted as autograd keeps it for torch's own layers. A test holds it against torch within a fifth.
    """
    products, extra = _model(config, sizes, *_batch(config, sizes)), _auxiliary(config, sizes)
    return 0.0 if products is None or extra is None else 4.0 * (products[1] + extra[1])


def _model(config: Mapping, sizes: Mapping, images: int, captions: int) -> tuple[float, float] | None:
    """(operations, numbers kept) of an update of the model alone."""
    kind = _kind(METHODS, config["method"])
    if kind is None or misfit(config["method"], sizes["features"]):
        return None
    *regions, feature_dim = sizes["features"]
    options, words = config.get("model_options", {}), _read(config, sizes)
    more = {**options, "feature_dim": feature_dim, "vocabulary": sizes["vocabulary"]}
    more |= {"regions": regions[0]} if regions else {}
    parts = kind.operations(images, captions, words, **more)
    if parts is None:
        shape = images, captions, ceil(words), tuple(sizes["features"]), sizes["vocabulary"]
        return run_on_meta(config["method"], json.dumps(options, sort_keys=True), *shape)
    return total(parts), kind.kept(images, captions, words, **more) or 0.0


def _auxiliary(config: Mapping, sizes: Mapping) -> tuple[float, float] | None:
    """(operations, numbers kept) of an update of the auxiliary; its words are filled up on every machine."""
    if not config.get("auxiliary"):
        return 0, 0.0
    kind = _kind(AUXILIARIES, config["auxiliary"])
    images, captions = _batch(config, sizes)
    more = {"embed_dim": config["model_options"].get("embed_dim"), "vocabulary": sizes["vocabulary"]}
    more |= {"images": images, "model": _kind(METHODS, config["method"]), "pair": _on_pairs(config, sizes)}
    more |= config.get("auxiliary_options", {})
    products = kind and kind.operations(captions, sizes["padded"], **more)
    return None if products is None else (products, kind.kept(captions, sizes["padded"], **more))


@cache
def run_on_meta(
    method: str, options: str, images: int, captions: int, words: int, shape: tuple[int, ...], vocabulary: int
) -> tuple[int, float] | None:
    """(operations, numbers kept) of an update of a model that says neither, by torch's counter on its meta device.

    Lengths of captions are the only numbers there: once real, for a model that asks for the longest, and once without
    numbers, for one that computes with them. None for a model that asks for any other.
    """
    for where in ("cpu", "meta"):
        lengths = torch.full((captions,), words, device=where)
        try:
            with torch.device("meta"):
                model = build(method, shape[-1], vocabulary, **json.loads(options))
                batch = torch.empty(images, *shape), torch.zeros(captions, words, dtype=torch.long), lengths
            return _watched(model, batch)
        except (NotImplementedError, RuntimeError, ValueError, TypeError):
            continue
    return None


def _watched(model: RetrievalModel, batch: tuple[torch.Tensor, ...]) -> tuple[int, float]:
    kept = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage()._cdata] = tensor.untyped_storage()
        return tensor

    own = {p.untyped_storage()._cdata for p in model.parameters()}
    hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
    with FlopCounterMode(display=False) as counter, hooks:
        model(*batch).sum().backward()
    return counter.get_total_flops(), sum(one.nbytes() for name, one in kept.items() if name not in own) / 4


def _batch(config: Mapping, sizes: Mapping) -> tuple[int, int]:
    """Images and captions of a batch."""
    images = config.get("batch_size", 128)
    captions = images * (sizes["each"] if config.get("batches") == "images" else 1)
    return images, round(captions) * (2 if config.get("negatives") == "foils" else 1)


def _network(config: Mapping) -> int | None:
    """Operations that the network for photos takes for one of them; 0 where features are finished."""
    if config.get("backbone") is None:
        return 0
    return None if config.get("finetune_after") is not None else NETWORKS.get(config["backbone"])
