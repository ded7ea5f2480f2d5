"""Tiny sentence encoders on disk, of BERT's form, and a slow twin in float64."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from scipy.special import ndtr, softmax
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = ["a", "man", "plays", "guitar", "two", "dogs", "run", "through", "snow", "red", "blue", "ring", "left", "of"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
CONFIG = {"hidden_size": 12, "num_attention_heads": 3, "num_hidden_layers": 2, "layer_norm_eps": 1e-5}


def random_weights(seed: int = 0) -> dict[str, torch.Tensor]:
    """Weights of a model with :data:`CONFIG`, large enough that attention is far from uniform."""
    d, inner = CONFIG["hidden_size"], 20
    shapes = {
        f"embeddings.{name}_embeddings.weight": (count, d)
        for name, count in (("word", len(WORDS) + 4), ("position", 300), ("token_type", 2))
    }
    linear, norms = {}, ["embeddings.LayerNorm"]
    for at in (f"encoder.layer.{layer}." for layer in range(CONFIG["num_hidden_layers"])):
        linear |= {f"{at}attention.{part}": (d, d) for part in ("self.query", "self.key", "self.value", "output.dense")}
        linear |= {f"{at}intermediate.dense": (inner, d), f"{at}output.dense": (d, inner)}
        norms += [f"{at}attention.output.LayerNorm", f"{at}output.LayerNorm"]
    for name, shape in (linear | dict.fromkeys(norms, (d,))).items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


def make_folder(folder: Path, seed: int = 0, **config) -> Path:
    """A folder as Sentence-Transformers lays it out, with a word-level tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file(random_weights(seed), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(CONFIG | {"model_type": "bert"} | config))
    _, unknown, first, last = SPECIAL
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(SPECIAL + WORDS)}, unk_token=unknown))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    ends = [(first, SPECIAL.index(first)), (last, SPECIAL.index(last))]
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{first} $A {last}", special_tokens=ends)
    tokenizer.enable_padding(length=16, pad_id=0)  # as the published file does
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def slow(weights: dict[str, torch.Tensor], config: dict, ids: list[int]) -> np.ndarray:
    """The unit vector of one caption's tokens, in NumPy and float64."""
    w = {name: value.double().numpy() for name, value in weights.items() if value.is_floating_point()}
    count = config["num_attention_heads"]

    def norm(x, name):
        scaled = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + config["layer_norm_eps"])
        return scaled * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(x, name):
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    words, places, kinds = (w[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type"))
    x = norm(words[ids] + places[: len(ids)] + kinds[0], "embeddings.LayerNorm")
    for at in (f"encoder.layer.{layer}" for layer in range(config["num_hidden_layers"])):
        parts = [np.split(linear(x, f"{at}.attention.self.{name}"), count, 1) for name in ("query", "key", "value")]
        heads = [softmax(q @ k.T / q.shape[1] ** 0.5, axis=1) @ v for q, k, v in zip(*parts, strict=True)]
        mixed = linear(np.concatenate(heads, 1), f"{at}.attention.output.dense")
        x = norm(x + mixed, f"{at}.attention.output.LayerNorm")
        inner = linear(x, f"{at}.intermediate.dense")
        x = norm(x + linear(inner * ndtr(inner), f"{at}.output.dense"), f"{at}.output.LayerNorm")  # exact GELU
    return x.mean(0) / np.linalg.norm(x.mean(0))
