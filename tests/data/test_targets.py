"""Teachers by name, the cache of their vectors, LSA, and objects that the caller hands over."""

import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from icrlib.data.targets import base, floor, for_dataset, hold, teacher, vectors
from icrlib.data.targets.base import Teacher
from icrlib.data.text import tokenize

CAPTIONS = ["a red ring", "a blue star", "a red star left of a ring", "two dogs", "a red ring", "a star", "dogs run"]


class Counting(Teacher):
    """Vectors that come from a caption's letters; remembers which captions it computed."""

    name, size = "counting", 5

    def __init__(self, identity="1" * 64, shift=0.1):
        self.identity, self.shift, self.computed = identity, shift, []

    def _parts(self, captions):
        self.computed += captions
        counts = [[text.count(c) + self.shift for c in "adrst"] for text in captions]
        yield list(range(len(captions))), torch.tensor(counts)


class Words:
    """As a SentenceTransformer answers: an array of counts of some words."""

    words = ("red", "blue", "ring", "star", "dogs", "left", "man", "two", "train", "nothing", "a")

    def __init__(self, scale=1.0, form=np.array):
        self.scale, self.form = scale, form

    def encode(self, captions):
        return self.form(
            [[tokenize(text).count(w) * self.scale + 0.1 * i for i, w in enumerate(self.words)] for text in captions]
        )


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("ICRLIB_CACHE", str(tmp_path))
    return tmp_path


def test_rows_follow_the_captions_and_have_length_one():
    counting = Counting()
    values = vectors(CAPTIONS, counting)
    assert values.dtype == torch.float32 and values.shape == (7, 5)
    torch.testing.assert_close(values.norm(dim=1), torch.ones(7))
    assert len(counting.computed) == 6  # what stands twice is computed once
    torch.testing.assert_close(values, torch.cat([Counting().encode([caption]) for caption in CAPTIONS]))


def test_vectors_are_computed_once_and_kept_by_teacher_and_captions(tiny, folder):
    first, again = vectors(tiny.train, Counting()), Counting()
    assert torch.equal(vectors(tiny.train.captions, again), first) and not again.computed
    other = Counting(identity="2" * 64, shift=3.0)
    assert not torch.allclose(vectors(tiny.train, other), first) and other.computed
    turned = Counting()
    assert torch.equal(vectors(tiny.train.captions[::-1], turned), first.flip(0)) and turned.computed
    vectors(CAPTIONS, Counting())
    names = [file.name[:8] for file in folder.glob("targets/*.npz")]
    assert len(names) == 4 and "095e8e80" in names, "what was made before is found under its name"


def test_a_killed_pass_keeps_its_whole_parts(monkeypatch):
    monkeypatch.setattr(base, "PART", 2)
    killed, again = Counting(), Counting()
    parts = killed._parts
    monkeypatch.setattr(killed, "_parts", lambda some: sys.exit(1) if len(killed.computed) >= 4 else parts(some))
    with pytest.raises(SystemExit):
        vectors(CAPTIONS, killed)
    assert torch.equal(vectors(CAPTIONS, again), Counting().encode(CAPTIONS)) and len(again.computed) == 2


@pytest.mark.parametrize(
    ("captions", "word"),
    [(["a", ""], "caption 1"), (["a", None], "caption 1"), ("a red ring", "list"), (["a star", "xyz"], "xyz")],
)
def test_captions_without_words_or_direction_are_refused(captions, word):
    with pytest.raises(ValueError, match=word):
        vectors(captions, Counting(shift=0.0))


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda data: teacher("sbret"), "sbert"),
        (lambda data: teacher("own-00000000"), "hold"),
        (lambda data: vectors(data.train, for_dataset(data, "form")), "not a caption as 'scenes' writes them"),
        (lambda data: teacher("lsa"), "captions"),
        (lambda data: hold(3), "encode"),
    ],
)
def test_targets_that_cannot_be_had(tiny, call, word):
    with pytest.raises(ValueError, match=word):
        call(tiny)


def test_a_place_of_somebodys_code_is_taken():
    values = teacher("tests.data.test_targets:Words").encode(CAPTIONS)
    assert torch.equal(values, teacher(hold(Words())).encode(CAPTIONS))
    assert teacher("tests.data.test_targets:Counting").name == "counting"


def test_lsa_equals_a_twin(tiny):
    """TF-IDF by hand in float64 and NumPy's full SVD: the same cosines between captions."""
    captions = [*tiny.train.captions, tiny.train.captions[0] + " ring ring ring"]  # one counts by its logarithm
    lsa = teacher("lsa", captions=captions)
    words = sorted({word for text in captions for word in tokenize(text)})
    counts = np.array([[tokenize(text).count(word) for word in words] for text in captions], float)
    idf = np.array([math.log((1 + len(captions)) / (1 + (column > 0).sum())) + 1 for column in counts.T])
    values = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0) * idf
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    left, strength, _ = np.linalg.svd(values, full_matrices=False)
    twin = (left * strength)[:, : lsa.size]
    twin /= np.linalg.norm(twin, axis=1, keepdims=True)
    values = lsa.encode(captions).double().numpy()
    assert lsa.size == len(words) - 1
    np.testing.assert_allclose(values @ values.T, twin @ twin.T, atol=2e-3)


def test_lsa_is_deterministic_and_its_captions_are_its_identity(tiny):
    captions = tiny.train.captions
    first, again = for_dataset(tiny, "lsa"), teacher("lsa", captions=list(captions))
    values = first.encode(captions)
    assert torch.equal(values, again.encode(captions)) and first.identity == again.identity
    assert first.identity != teacher("lsa", captions=captions[:-1]).identity
    mean = values.mean(0)
    torch.testing.assert_close(first.encode(["qwertz"])[0], mean / mean.norm(), atol=1e-3, rtol=0)
    one, other = first.encode(["red green blue ring", "blue ring green red"])
    torch.testing.assert_close(one, other)


@pytest.mark.parametrize("form", [np.array, list, lambda rows: torch.tensor(rows, requires_grad=True)])
def test_an_object_with_encode_is_held(form):
    name = hold(Words(form=form))
    assert name == hold(Words()) == "own-66178c86" != hold(Words(scale=2.0))
    made = teacher(name)
    assert made.name == name and made.size == len(Words.words)
    expected = torch.nn.functional.normalize(torch.tensor(Words().encode(CAPTIONS)), dim=1).float()
    torch.testing.assert_close(made.encode(CAPTIONS), expected)


@pytest.mark.parametrize(
    "answer",
    [
        lambda texts: ["a"] * len(texts),
        lambda texts: [[1.0]] * (len(texts) - 1) + [[1.0, 2.0]],
        lambda texts: np.ones(len(texts)),
        lambda texts: np.full((len(texts), 3), np.nan),
    ],
)
def test_answers_that_are_no_vectors(answer):
    with pytest.raises(ValueError, match="encode"):
        hold(SimpleNamespace(encode=answer))


def test_the_floor_is_the_best_constant():
    drawn = torch.randn(50, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    values = torch.nn.functional.normalize(drawn + 0.5, dim=1)
    best = (values.mean(0) / values.mean(0).norm()).requires_grad_()
    cost = (1 - torch.nn.functional.cosine_similarity(values, best[None])).mean()
    assert floor(values) == pytest.approx(float(cost.detach()))
    assert torch.autograd.grad(cost, best)[0].abs().max() < 1e-9  # no better direction near it
