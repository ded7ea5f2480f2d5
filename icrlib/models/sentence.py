"""A sentence encoder as caption encoder: its vectors as they are, or behind a head (LTD Table 2, rows 4.*)."""

from __future__ import annotations

from typing import Any, ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from icrlib.models.base import RetrievalModel, arguments, check_features
from icrlib.models.ltd import head
from icrlib.names import imported


class Sentence(RetrievalModel):
    """Images learn to meet the vectors of a sentence encoder, which never learns (RF §6.12).

    Image: features → linear → ReLU → linear → L2 norm, into the ``embed_dim`` numbers of ``teacher``. Caption: the
    teacher's unit vector; with ``tuned`` through two more layers, ``embed_dim`` → ``embed_dim`` → ``embed_dim``, which
    is the paper's "fine-tuned" target. As released that result is *not* normalised, so its "cosines" have no bound;
    ``caption_norm=True`` normalises it.

    There are no words: a caption's only "word number" is its place in a table of vectors. So the order of words is
    not asked here, and words cannot be dropped.
    """

    label = "Sentence encoder"
    takes = "vector"
    reads_words = False
    published: ClassVar[dict[str, dict]] = {
        "*": {
            "embed_dim": 384,
            "optimiser": "adamp",
            "schedule": "cosine_epoch",
            "lr": 2e-4,
            "epochs": 30,
            "batch_size": 128,
            "erase": 0.2,
        },
        "ntxent": {"tau": 0.05, "tuned": True},
    }

    def __init__(
        self,
        feature_dim: int,
        words: int,
        embed_dim: int = 384,
        teacher: str = "sbert",
        tuned: bool = False,
        caption_norm: bool = False,
    ) -> None:
        super().__init__()
        self.options = arguments(locals())
        if caption_norm and not tuned:
            raise ValueError("caption_norm= is about the head of tuned=True; the teacher's own vectors have length 1")
        self.caption_norm = caption_norm
        self.vocabulary = imported("icrlib.data.targets.teachers:Sentences")(teacher)
        if self.vocabulary.size != embed_dim:
            raise ValueError(
                f"the vectors of teacher {teacher!r} have {self.vocabulary.size} numbers and embed_dim is "
                f"{embed_dim}; take embed_dim={self.vocabulary.size}"
            )
        self.image_head = head(feature_dim, embed_dim, norm=False)
        self.caption_head = head(embed_dim, embed_dim, norm=False) if tuned else nn.Identity()

    def prepare(self, data: Any) -> None:
        """Nothing of the data's vocabulary is used: the captions' vectors come from the teacher."""

    def encode_images(self, features: Tensor) -> Tensor:
        check_features(features, self.options["feature_dim"])
        return F.normalize(self.image_head(features), dim=1)

    def encode_captions(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Places (B, 1) in the table of vectors to (B, d): unit vectors, unless ``tuned`` without ``caption_norm``."""
        made = self.caption_head(self.vocabulary.vectors(words[:, 0]))
        return F.normalize(made, dim=1) if self.caption_norm else made
