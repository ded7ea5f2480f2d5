"""Tiny sentence encoders on disk, of BERT's form, and a slow twin in float64."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
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
    """The unit vector of one caption's tokens: float64, one head, query and key at a time."""
    w = {name: value.double().numpy() for name, value in weights.items() if value.is_floating_point()}
    wide = config["hidden_size"] // config["num_attention_heads"]

    def norm(x, name):
        variance = sum((value - x.mean()) ** 2 for value in x) / len(x)
        x = (x - x.mean()) / math.sqrt(variance + config["layer_norm_eps"])
        return x * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(x, name):
        return w[f"{name}.weight"] @ x + w[f"{name}.bias"]

    def attended(query, keys, values):
        scores = [query @ key / math.sqrt(wide) for key in keys]
        shares = [math.exp(score - max(scores)) for score in scores]
        return sum(share / sum(shares) * value for share, value in zip(shares, values, strict=True))

    rows = []
    for place, number in enumerate(ids):
        parts = (("word", number), ("position", place), ("token_type", 0))
        row = sum(w[f"embeddings.{name}_embeddings.weight"][index] for name, index in parts)
        rows.append(norm(row, "embeddings.LayerNorm"))
    for at in (f"encoder.layer.{layer}." for layer in range(config["num_hidden_layers"])):
        q, k, v = (
            [linear(row, f"{at}attention.self.{name}").reshape(-1, wide) for row in rows]
            for name in ("query", "key", "value")
        )
        after = []
        for row, query in zip(rows, q, strict=True):
            heads = [attended(query[h], [key[h] for key in k], [value[h] for value in v]) for h in range(len(query))]
            mixed = linear(np.concatenate(heads), f"{at}attention.output.dense")
            row = norm(row + mixed, f"{at}attention.output.LayerNorm")
            inner = linear(row, f"{at}intermediate.dense")
            inner = np.array([value * 0.5 * (1 + math.erf(value / math.sqrt(2))) for value in inner])
            after.append(norm(row + linear(inner, f"{at}output.dense"), f"{at}output.LayerNorm"))
        rows = after
    mean = sum(rows) / len(rows)
    return mean / math.sqrt(sum(value**2 for value in mean))
