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
CONFIG = {
    "hidden_size": 12,
    "num_attention_heads": 3,
    "num_hidden_layers": 2,
    "intermediate_size": 20,
    "layer_norm_eps": 1e-5,
}
LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "o": "attention.output.dense",
    "norm": "attention.output.LayerNorm",
}


def random_weights(seed: int = 0, positions: int = 300) -> dict[str, torch.Tensor]:
    """Weights of a model with :data:`CONFIG`, large enough that attention is far from uniform."""
    generator = torch.Generator().manual_seed(seed)
    d, inner = CONFIG["hidden_size"], CONFIG["intermediate_size"]
    shapes = {
        "embeddings.word_embeddings.weight": (len(WORDS) + 4, d),
        "embeddings.position_embeddings.weight": (positions, d),
        "embeddings.token_type_embeddings.weight": (2, d),
    }
    linear = {}
    for layer in range(CONFIG["num_hidden_layers"]):
        at = f"encoder.layer.{layer}."
        linear |= {at + LAYER[part]: (d, d) for part in "qkvo"}
        linear |= {at + "intermediate.dense": (inner, d), at + "output.dense": (d, inner)}
    norms = ["embeddings.LayerNorm"] + [
        f"encoder.layer.{layer}.{name}"
        for layer in range(CONFIG["num_hidden_layers"])
        for name in (LAYER["norm"], "output.LayerNorm")
    ]
    for name, shape in linear.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    for name in norms:
        shapes |= {f"{name}.weight": (d,), f"{name}.bias": (d,)}
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
    eps = config["layer_norm_eps"]
    heads, d = config["num_attention_heads"], config["hidden_size"]
    wide = d // heads

    def norm(x, name):
        variance = sum((value - x.mean()) ** 2 for value in x) / len(x)
        return (x - x.mean()) / math.sqrt(variance + eps) * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(x, name):
        return w[f"{name}.weight"] @ x + w[f"{name}.bias"]

    def gelu(value):
        return value * 0.5 * (1 + math.erf(value / math.sqrt(2)))

    rows = []
    for place, number in enumerate(ids):
        row = w["embeddings.word_embeddings.weight"][number].copy()
        row += w["embeddings.position_embeddings.weight"][place]
        row += w["embeddings.token_type_embeddings.weight"][0]
        rows.append(norm(row, "embeddings.LayerNorm"))
    for layer in range(config["num_hidden_layers"]):
        at, names = f"encoder.layer.{layer}.", LAYER
        q, k, v = ([linear(row, at + names[part]) for row in rows] for part in "qkv")
        after = []
        for i, row in enumerate(rows):
            mixed = np.zeros(d)
            for head in range(heads):
                part = slice(head * wide, (head + 1) * wide)
                scores = [q[i][part] @ k[j][part] / math.sqrt(wide) for j in range(len(rows))]
                shares = [math.exp(score - max(scores)) for score in scores]
                for j, share in enumerate(shares):
                    mixed[part] += share / sum(shares) * v[j][part]
            row = norm(row + linear(mixed, at + names["o"]), at + names["norm"])
            inner = np.array([gelu(value) for value in linear(row, at + "intermediate.dense")])
            after.append(norm(row + linear(inner, at + "output.dense"), at + "output.LayerNorm"))
        rows = after
    mean = sum(rows) / len(rows)
    return mean / math.sqrt(sum(value**2 for value in mean))
