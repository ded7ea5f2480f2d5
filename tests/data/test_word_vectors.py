"""Word vectors that come with the data: where an embedding starts, and part of what the data is."""

from __future__ import annotations

import pytest
import torch

import icrlib


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("ICRLIB_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "words.txt"
    path.write_text("red 0.1 0.2 0.3 0.4\nring -1 0 1 2\nnobody 9 9 9 9\n", encoding="utf-8")
    return path


def scenes(**options):
    return icrlib.load_dataset("scenes", smoke=True, **options)


def test_the_embedding_starts_there_and_rests(file):
    data = scenes(word_vectors=file, word_size=4)
    red = data.vocabulary.number["red"]
    assert data.word_vectors[red].tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4])
    options = dict(objective="con", word_dim=4, embed_dim=8, updates=3, evaluate_every=3, progress=False)
    run = icrlib.train(data, "ltd", **options)
    assert torch.equal(run.model.embed.weight, data.word_vectors)
    later = icrlib.train(data, "ltd", finetune_after=1, **options)
    assert not torch.equal(later.model.embed.weight, data.word_vectors)


def test_they_are_part_of_what_the_data_is(file):
    plain, given = scenes(), scenes(word_vectors=file, word_size=4)
    file.write_text("red 0.1 0.2 0.3 0.5\n", encoding="utf-8")
    other = scenes(word_vectors=file, word_size=4)
    assert len({plain.fingerprint, given.fingerprint, other.fingerprint}) == 3
    assert plain.options.get("word_vectors") is None and given.options["word_vectors"] != other.options["word_vectors"]


def test_methods_that_would_ignore_them_say_so(file):
    with pytest.raises(ValueError, match="takes no word vectors"):
        icrlib.train(scenes(word_vectors=file, word_size=4), "vse++", updates=3, progress=False)


def test_another_size(file):
    data = scenes(word_vectors=file, word_size=4)
    with pytest.raises(ValueError, match="take word_dim=4"):
        icrlib.train(data, "ltd", objective="con", word_dim=5, embed_dim=8, updates=3, progress=False)
    with pytest.raises(ValueError, match="wanted 300"):
        scenes(word_vectors=file)
