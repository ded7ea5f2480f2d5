"""A CLIP of Hugging Face's library as an encoder of one's own: ``icr index album/ --encoder icrlib.search.clip:CLIP``.

Radford et al. 2021. The package transformers, 4 or 5, is not installed with this book.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import torch
from PIL import Image
from torch import Tensor

from icrlib.data.backbones import import_torchvision


class CLIP:
    """``name``: a model on huggingface.co or a folder with one; else what ICR_CLIP says, else OpenAI's smallest.

    Its weights are downloaded by transformers at the first use, which is said before.
    """

    usual = "openai/clip-vit-base-patch32"

    def __init__(self, name: str | None = None) -> None:
        import_torchvision()  # transformers imports it, and some pairs with torch need help
        try:
            from transformers import CLIPModel, CLIPProcessor
        except ImportError as err:
            raise ImportError(f"a CLIP needs the package transformers: pip install transformers ({err})") from err
        name = name or os.environ.get("ICR_CLIP") or self.usual
        if not os.path.isdir(name):
            print(f"{name}: from the cache of transformers, or downloaded once (600 MB for the usual)", file=sys.stderr)
        self.model, self.prepare = CLIPModel.from_pretrained(name).eval(), CLIPProcessor.from_pretrained(name)

    @torch.no_grad()
    def encode_images(self, pictures: Sequence[Image.Image]) -> Tensor:
        inputs = self.prepare(images=list(pictures), return_tensors="pt")
        return vectors(self.model.get_image_features(**inputs))

    @torch.no_grad()
    def encode_captions(self, texts: Sequence[str]) -> Tensor:
        """A caption of more tokens than the model has places for (77) is cut."""
        longest = self.model.config.text_config.max_position_embeddings
        inputs = self.prepare(text=list(texts), return_tensors="pt", padding=True, truncation=True, max_length=longest)
        return vectors(self.model.get_text_features(**inputs))


def vectors(found: Tensor | object) -> Tensor:
    """(n, D): transformers 4 gives the projected vectors themselves, 5 an output that holds them."""
    return found if isinstance(found, Tensor) else found.pooler_output
