"""A probe: the scores of one fixed batch at set moments of a training, for pictures of what a loss does to them."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from icrlib.data.regions import Regions
from icrlib.data.splits import Split
from icrlib.files import write_bytes
from icrlib.models.base import RetrievalModel

PAIRS, MOMENTS = 16, 30


class Snapshots:
    """Scores (16, 16) of the first captions of 16 images of ``split``, at 30 moments from first weights to last.

    Twins follow each other in ``scenes``, so the first images hold some. Looking changes nothing: no dice are thrown,
    and the model's mode is put back.
    """

    def __init__(self, split: Split, updates: int) -> None:
        if not isinstance(split.features, (torch.Tensor, Regions)):
            raise ValueError("probe= looks at features, and this model is trained on pictures; leave probe= out")
        self.split = split
        self.images = torch.arange(min(PAIRS, len(split)))
        self.captions = torch.tensor([int((split.image_of == row).nonzero()[0]) for row in self.images.tolist()])
        self.moments = sorted({round(updates * k / (MOMENTS - 1)) for k in range(MOMENTS)})
        self.seen: dict[int, list] = {}

    @torch.no_grad()
    def look(self, update: int, model: RetrievalModel) -> None:
        """Note the scores if this is one of the moments; ``update``: how many have been made."""
        if update not in self.moments or update in self.seen:
            return
        mode = model.training
        model.eval()
        words, lengths = model.vocabulary.encode([self.split.captions[row] for row in self.captions.tolist()])
        images = model.encode_images(self.split.features[self.images].to(model.device).float())
        captions = model.encode_captions(words.to(model.device), lengths.to(model.device))
        self.seen[update] = [[round(s, 4) for s in row] for row in model.similarity(images, captions).tolist()]
        model.train(mode)

    def state_dict(self) -> dict:
        return {"seen": {str(update): scores for update, scores in self.seen.items()}}

    def load_state_dict(self, state: dict) -> None:
        self.seen = {int(update): scores for update, scores in state["seen"].items()}

    def write(self, path: str | Path, identity: str) -> None:
        """The probe as a small JSON: ``identity`` of the run, ``images`` and ``captions`` (rows), ``moments``."""
        moments = [{"update": update, "scores": scores} for update, scores in sorted(self.seen.items())]
        about = {"identity": identity, "images": self.images.tolist(), "captions": self.captions.tolist()}
        about["moments"] = moments
        write_bytes(path, (json.dumps(about) + "\n").encode())
