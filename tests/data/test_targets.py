"""Teachers by name, the cache of their vectors, LSA, and models of the reader's own."""

import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from icrlib.data.targets import store
from icrlib.data.targets.base import Teacher
from icrlib.data.targets.handed_over import Own, hold
from icrlib.data.targets.lsa import LSA
from icrlib.data.targets.order_sensitivity import floor
from icrlib.data.targets.store import vectors
from icrlib.data.targets.teachers import of_dataset, teacher
from icrlib.data.text import tokenize
from icrlib.files import cache_dir

CAPTIONS = ["a red ring", "a blue star", "a red star left of a ring", "two dogs", "a red ring", "a star", "dogs run"]


class Counting(Teacher):
    """Vectors that come from a caption's letters; remembers what it was asked."""

    size = 5

    def __init__(self, name="counting", identity="1" * 64, shift=0.0):
        self.name, self.identity, self.shift, self.asked = name, identity, shift, []

    def _parts(self, captions):
        self.asked += captions
        yield (
            list(range(len(captions))),
            torch.tensor([[text.count(c) + 0.1 + self.shift for c in "adrst"] for text in captions]),
        )


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


def files():
    return sorted((cache_dir() / "targets").glob("*.npz"))


def test_rows_follow_the_captions_and_have_length_one():
    made = Counting()
    values = vectors(CAPTIONS, made, cache=False)
    assert values.dtype == torch.float32 and values.shape == (7, 5)
    torch.testing.assert_close(values.norm(dim=1), torch.ones(7))
    assert torch.equal(values[0], values[4]) and len(made.asked) == 6  # what stands twice is computed once
    for caption, row in zip(CAPTIONS, values, strict=True):
        torch.testing.assert_close(row, Counting().encode([caption])[0])


def test_vectors_are_computed_once_and_kept(tiny):
    made = Counting()
    first = vectors(tiny.train, made)
    assert made.asked and len(files()) == 1
    again = Counting()
    assert torch.equal(vectors(tiny.train.captions, again), first) and not again.asked


def test_another_teacher_or_other_captions_never_take_them():
    first = vectors(CAPTIONS, Counting())
    other = Counting(identity="2" * 64, shift=3.0)
    assert not torch.allclose(vectors(CAPTIONS, other), first) and other.asked
    order = Counting()
    assert torch.equal(vectors(CAPTIONS[::-1], order), first.flip(0)) and order.asked
    assert len(files()) == 3


def test_a_cache_under_a_wrong_name_is_not_used(caplog):
    """Somebody copied another model's file to the name of this one's."""
    vectors(CAPTIONS, Counting())
    (mine,) = files()
    vectors(CAPTIONS, Counting(identity="2" * 64, shift=3.0))
    (foreign,) = set(files()) - {mine}
    mine.write_bytes(foreign.read_bytes())
    asked = Counting()
    assert torch.equal(vectors(CAPTIONS, asked), vectors(CAPTIONS, Counting(), cache=False)) and asked.asked
    assert "made by another teacher" in caplog.text and mine.name in caplog.text


def test_a_damaged_cache_is_named_and_made_anew(caplog):
    first = vectors(CAPTIONS, Counting())
    (path,) = files()
    content = bytearray(path.read_bytes())
    content[-200] ^= 1
    path.write_bytes(bytes(content))
    again = Counting()
    assert torch.equal(vectors(CAPTIONS, again), first) and again.asked
    assert path.name in caplog.text and "damaged" in caplog.text
    last = Counting()
    assert torch.equal(vectors(CAPTIONS, last), first) and not last.asked


def test_a_killed_pass_keeps_its_whole_parts(monkeypatch):
    monkeypatch.setattr(store, "PART", 2)
    killed = Counting()
    parts = killed._parts
    monkeypatch.setattr(killed, "_parts", lambda some: sys.exit(1) if len(killed.asked) >= 4 else parts(some))
    with pytest.raises(SystemExit):
        vectors(CAPTIONS, killed)
    again = Counting()
    assert torch.equal(vectors(CAPTIONS, again), vectors(CAPTIONS, Counting(), cache=False))
    assert len(again.asked) == 2


def test_a_cache_that_cannot_be_written_is_done_without(monkeypatch, tmp_path, caplog):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ICRLIB_CACHE", str(tmp_path / "file"))
    assert vectors(CAPTIONS, Counting()).shape == (7, 5) and "not cached" in caplog.text


@pytest.mark.parametrize(
    "bad, said", [(["a", ""], "caption 1 is ''"), (["a", None], "caption 1 is None"), ("a red ring", "wanted a list")]
)
def test_what_is_no_caption_is_refused(bad, said):
    with pytest.raises(ValueError, match=said):
        vectors(bad, Counting())
    with pytest.raises(ValueError, match=said):
        Counting().encode(bad)


def test_a_vector_without_direction_names_its_caption():
    made = Counting(shift=-0.1)
    with pytest.raises(ValueError, match="counting gives no direction to 'xyz'"):
        made.encode(["a star", "xyz"])


# -- names -----------------------------------------------------------------------------------------------------


def test_unknown_names_and_arguments_are_refused(tiny):
    with pytest.raises(ValueError, match="unknown target 'sbret'.*'lsa'.*Did you mean 'sbert'"):
        teacher("sbret")
    with pytest.raises(ValueError, match="'sbert' takes no captions=; it takes folder="):
        teacher("sbert", captions=CAPTIONS)
    with pytest.raises(ValueError, match="'form' takes no folder=; leave it out"):
        teacher("form", folder="x")
    with pytest.raises(ValueError, match="which only 'scenes' knows"):
        of_dataset(tiny, "form")


def test_a_place_of_own_code_is_taken():
    values = teacher("tests.data.test_targets:Words").encode(CAPTIONS)
    assert torch.equal(values, Own(Words()).encode(CAPTIONS))
    assert teacher("tests.data.test_targets:Counting").name == "counting"


# -- LSA -------------------------------------------------------------------------------------------------------


def test_lsa_equals_a_twin(tiny):
    """TF-IDF by hand in float64 and NumPy's full SVD: the same cosines between captions."""
    captions = tiny.train.captions
    made = teacher("lsa", captions=captions)
    words = sorted({word for text in captions for word in tokenize(text)})
    counts = np.array([[tokenize(text).count(word) for word in words] for text in captions], float)
    idf = np.array([math.log((1 + len(captions)) / (1 + (column > 0).sum())) + 1 for column in counts.T])
    values = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0) * idf
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    left, strength, _ = np.linalg.svd(values, full_matrices=False)
    twin = (left * strength)[:, : made.size]
    twin /= np.linalg.norm(twin, axis=1, keepdims=True)
    found = made.encode(captions).double().numpy()
    assert made.size == len(words) - 1
    np.testing.assert_allclose(found @ found.T, twin @ twin.T, atol=2e-3)


def test_lsa_is_deterministic_and_sees_no_order(tiny):
    captions = tiny.train.captions
    first, again = (LSA(captions).encode(captions) for _ in range(2))
    assert torch.equal(first, again)
    values = LSA(captions).encode(["red green blue ring", "blue ring green red"])
    torch.testing.assert_close(values[0], values[1])


def test_lsa_knows_its_training_captions(tiny):
    first = teacher("lsa", captions=tiny.train.captions)
    assert first.identity == teacher("lsa", captions=list(tiny.train.captions)).identity
    assert first.identity != teacher("lsa", captions=tiny.train.captions[:-1]).identity
    assert torch.equal(of_dataset(tiny, "lsa"), first.encode(tiny.train.captions))
    unknown = first.encode(["qwertz"])
    mean = first.encode(tiny.train.captions).mean(0)
    torch.testing.assert_close(unknown[0], mean / mean.norm(), atol=1e-3, rtol=0)
    with pytest.raises(ValueError, match="fitted on captions"):
        teacher("lsa")
    with pytest.raises(ValueError, match="at least two different captions"):
        teacher("lsa", captions=["a", "a"])


# -- models of one's own ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form",
    [
        np.array,
        torch.tensor,
        list,
        lambda rows: [np.array(row) for row in rows],
        lambda rows: [torch.tensor(row) for row in rows],
    ],
)
def test_an_object_with_encode_is_held(form):
    name = hold(Words(form=form))
    assert name.startswith("own-") and len(name) == 12
    made = teacher(name)
    assert made.name == name and made.size == len(Words.words)
    expected = torch.nn.functional.normalize(torch.tensor(Words().encode(CAPTIONS)), dim=1).float()
    torch.testing.assert_close(made.encode(CAPTIONS), expected)


def test_the_name_comes_from_the_answers():
    class Noisy(Words):
        def encode(self, captions):
            return super().encode(captions) + 1e-9

    assert hold(Words()) == hold(Words()) == hold(Noisy()) != hold(Words(scale=2.0))


def test_an_unknown_or_bad_object_is_refused():
    with pytest.raises(ValueError, match="'own-00000000'.*hold"):
        teacher("own-00000000")
    with pytest.raises(ValueError, match="method encode.*got int"):
        hold(3)
    with pytest.raises(ValueError, match=r"6 texts gave numbers of shape \(6,\); wanted \(6, d\)"):
        hold(Words(form=lambda rows: np.zeros(len(rows))))
    name = hold(Words())
    with pytest.raises(ValueError, match="takes no folder="):
        teacher(name, folder="x")


def test_the_floor_is_the_best_constant():
    drawn = torch.randn(50, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    values = torch.nn.functional.normalize(drawn + 0.5, dim=1)
    best = (values.mean(0) / values.mean(0).norm()).requires_grad_()
    cost = (1 - torch.nn.functional.cosine_similarity(values, best[None])).mean()
    assert floor(values) == pytest.approx(float(cost.detach()))
    assert torch.autograd.grad(cost, best)[0].abs().max() < 1e-9  # no better direction near it
    others = torch.randn(2000, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    tried = torch.nn.functional.normalize(others, dim=1)
    assert float((1 - values @ tried.T).mean(0).min()) >= floor(values)


async def _late():
    return [[1.0]]


class Growing:
    """Its answers have a number more each time."""

    size = 2

    def encode(self, texts):
        self.size += 1
        return np.eye(len(texts), self.size) + 1


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda texts: None, "no array of numbers but NoneType"),
        (lambda texts: ["a"] * len(texts), "no array of numbers but list"),
        (lambda texts: "text", "no array of numbers but str"),
        (lambda texts: [[1.0]] * (len(texts) - 1) + [[1.0, 2.0]], "no array of numbers but list"),
        (lambda texts: np.ones(len(texts)), "gave numbers of shape"),
        (lambda texts: np.full((len(texts), 3), np.nan), "NaN"),
        (lambda texts: [object()] * len(texts), "no array of numbers but list"),
        (lambda texts: 1 / 0, "ZeroDivisionError: division by zero .test_targets.py"),
        (lambda texts: sys.exit(3), "SystemExit: 3"),
    ],
)
def test_answers_of_a_target_that_are_no_vectors(answer, told):
    with pytest.raises(ValueError, match=told):
        Own(SimpleNamespace(encode=answer))


def test_late_growing_and_sparse_answers_of_a_target():
    coming = _late()
    with pytest.raises(ValueError, match="no array of numbers but coroutine"):
        Own(SimpleNamespace(encode=lambda texts: coming))
    coming.close()
    grows = Own(Growing())
    with pytest.raises(ValueError, match=r"gave numbers of shape \(1, 4\); wanted \(1, 3\)"):
        grows.encode(["a dog"])
    plain = Own(SimpleNamespace(encode=lambda texts: torch.eye(len(texts), 9) + 0.5))
    sparse = Own(SimpleNamespace(encode=lambda texts: (torch.eye(len(texts), 9) + 0.5).to_sparse()))
    assert sparse.identity == plain.identity
