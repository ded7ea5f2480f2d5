"""The CLIP recipe with both shapes of answer that transformers gives, and with the package itself where it is there."""

from __future__ import annotations

import json
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from icrlib.data.backbones import import_torchvision
from icrlib.search.clip import CLIP
from icrlib.search.encoders import Own

PLACES, SIZE = 6, 5


class Model:
    """Stands in for CLIPModel: as many places for tokens, and answers as ``wrap`` has them."""

    wrap = staticmethod(lambda found: found)
    config = SimpleNamespace(text_config=SimpleNamespace(max_position_embeddings=PLACES))

    @classmethod
    def from_pretrained(cls, name):
        return cls()

    def eval(self):
        return self

    def get_image_features(self, pixel_values):
        return self.wrap(pixel_values.flatten(1)[:, :SIZE])

    def get_text_features(self, input_ids):
        if input_ids.shape[1] > PLACES:
            raise ValueError(f"Sequence length must be less than max_position_embeddings (got {input_ids.shape[1]})")
        return self.wrap(torch.nn.functional.one_hot(input_ids, 9).sum(1).float())


class Processor:
    """Stands in for CLIPProcessor: a token is the length of a word."""

    @classmethod
    def from_pretrained(cls, name):
        return cls()

    def __call__(self, images=None, text=None, return_tensors="", padding=False, truncation=False, max_length=None):
        if images is not None:
            rows = [np.asarray(picture.resize((4, 4))) for picture in images]
            return {"pixel_values": torch.tensor(np.stack(rows)).float() + 1}
        ids = [[min(8, len(word)) for word in one.split()][: max_length if truncation else None] for one in text]
        return {"input_ids": torch.tensor([row + [0] * (max(map(len, ids)) - len(row)) for row in ids])}


@pytest.fixture(params=["4", "5"])
def stand_in(request, monkeypatch):
    """A module transformers whose model answers as that version's does."""
    module = ModuleType("transformers")
    wrap = (lambda found: found) if request.param == "4" else (lambda found: SimpleNamespace(pooler_output=found))
    module.CLIPModel = type("CLIPModel", (Model,), {"wrap": staticmethod(wrap)})
    module.CLIPProcessor = Processor
    monkeypatch.setitem(sys.modules, "transformers", module)


def two(tmp_path):
    files = [tmp_path / name for name in ("a.png", "b.png")]
    for number, file in enumerate(files):
        Image.new("RGB", (9, 7), (200 * number, 30, 90)).save(file)
    return files


def answers(made, tmp_path):
    """Vectors of two pictures and of two captions, one of them long, through the search's own way."""
    own = Own(made, "clip")
    pictures, texts = own.pictures(two(tmp_path)), own.texts(["a dog", "the snow, a dog in it " * 50])
    assert pictures.dtype == np.float32 and not texts.requires_grad
    for found in (torch.from_numpy(pictures), texts):
        assert len(found) == 2 and torch.allclose(found.norm(dim=1), torch.ones(2)) and not found[0].equal(found[1])
    return pictures, texts


def test_both_shapes_of_an_answer(stand_in, tmp_path, capsys):
    answers(CLIP(), tmp_path)
    assert "openai/clip-vit-base-patch32" in capsys.readouterr().err, "a download is told before"


def test_a_long_caption_is_cut_to_its_beginning(stand_in):
    made = CLIP()
    whole, cut = made.encode_captions(["one three five seven nine eleven", "one three five seven nine eleven " * 20])
    assert whole.equal(cut)


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match="pip install transformers"):
        CLIP()


@pytest.mark.slow
def test_with_the_package_and_random_weights(tmp_path, capsys):
    """Where transformers is installed, 4 or 5: a small random model in a folder; nothing is downloaded."""
    import_torchvision()
    package = pytest.importorskip("transformers")
    (tmp_path / "clip").mkdir()
    letters = [letter + end for letter in "abcdefghijklmnopqrstuvwxyz" for end in ("", "</w>")]
    words = {word: number for number, word in enumerate([*letters, "<|startoftext|>", "<|endoftext|>"])}
    (tmp_path / "vocab.json").write_text(json.dumps(words))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = package.CLIPTokenizer(str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt"))
    reader = package.CLIPImageProcessor(size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16})
    package.CLIPProcessor(reader, tokenizer).save_pretrained(tmp_path / "clip")
    sizes = {"hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    ends = {"bos_token_id": len(letters), "eos_token_id": len(letters) + 1, "pad_token_id": len(letters) + 1}
    config = package.CLIPConfig(
        text_config=sizes | ends | {"vocab_size": len(words), "max_position_embeddings": PLACES},
        vision_config=sizes | {"image_size": 16, "patch_size": 8},
        projection_dim=SIZE,
    )
    package.CLIPModel(config).save_pretrained(tmp_path / "clip")
    pictures, texts = answers(CLIP(str(tmp_path / "clip")), tmp_path)
    assert pictures.shape == (2, SIZE) and texts.shape == (2, SIZE) and "downloaded" not in capsys.readouterr().err
