"""GloVe files: words with spaces, the release's second try, rows that are drawn, the cache, and bad files."""

import gzip
import os
import zipfile

import numpy as np
import pytest
import torch

from icrlib.data import glove
from icrlib.data.text import SPECIAL, Vocabulary

SIZE = 6
LINES = {  # a word of the file: what its first number is
    ",": 0.5,
    "dog": 1.0,
    "ring": 2.0,
    "tshirt": 3.0,
    "black": 4.0,
    ". . .": 5.0,
    "at name@domain.com": 6.0,
    "new york": 7.0,
    "0.5": 8.0,
    "its": 9.0,
    "Dog": 10.0,
    "<unk>": 11.0,
    "café": 12.0,
    "non\xa0breaking": 13.0,
}
WORDS = Vocabulary([*SPECIAL, "dog", "t-shirt", "black/white", "it's", ".", "new", "0.5", "qwertz", "café", "a-b/c"])


def line(word, first, size=SIZE):
    return " ".join([word, *(f"{first + i / 8:g}" for i in range(size))])


def vector(first):
    return torch.tensor([first + i / 8 for i in range(SIZE)])


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("ICRLIB_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "glove.txt"
    path.write_text("\n".join([*(line(*item) for item in LINES.items()), line("dog", 99.0)]) + "\n", "utf-8")
    return path


def load(path, words=WORDS, **options):
    return glove.load(path, words, size=SIZE, progress=False, **options)


def test_words_get_their_vectors(path):
    matrix, found = load(path)
    assert matrix.shape == (len(WORDS), SIZE) and matrix.dtype == torch.float32 and found.dtype == torch.bool
    expected = {"dog": 1.0, "t-shirt": 3.0, "black/white": 4.0, "it's": 9.0, "0.5": 8.0, "café": 12.0, "<unk>": 11.0}
    assert {word for word, there in zip(WORDS.words, found.tolist(), strict=True) if there} == set(expected)
    for word, first in expected.items():  # of two lines for "dog" the first
        assert torch.equal(matrix[WORDS.number[word]], vector(first)), word


def test_the_second_try_is_the_releases():
    """Written again from RF §6.2, character by character."""
    for word in ("t-shirt", "black/white", "u.s.", "it's", "rock-'n'-roll", "a-b/c.d/e", "plain", "/", "..."):
        twin = ""
        for character in word:
            if character == "/":
                break
            twin += "" if character in "-.'" else character
        assert glove.cleaned(word) == twin


def test_a_twin_that_reads_every_line(tmp_path):
    """300 random lines, some of whose words hold spaces and numbers, read by regular means."""
    rng = np.random.default_rng(0)
    parts = ["red", "dog", "0.25", "-", "7", "x", "it", "'s", "a/b", "."]
    names = [f"frequent{i}" for i in range(60)]  # the 840B file, too, has its words with spaces far from its beginning
    names = list(dict.fromkeys([*names, *(" ".join(rng.choice(parts, rng.integers(1, 4))) for _ in range(300))]))
    values = {name: rng.standard_normal(SIZE).round(4).tolist() for name in names}
    path = tmp_path / "many.txt"
    path.write_text("".join(f"{name} {' '.join(map(str, row))}\n" for name, row in values.items()))
    words = Vocabulary([*SPECIAL, *parts, "r-e-d", "x/y", "zz"])
    twin = {}
    for word in words.words:
        hit = values.get(word, values.get(word.replace("-", "").replace(".", "").replace("'", "").split("/")[0]))
        if hit is not None:
            twin[word] = hit
    matrix, found = load(path, words)
    assert {word for word, there in zip(words.words, found.tolist(), strict=True) if there} == set(twin)
    for word, row in twin.items():
        torch.testing.assert_close(matrix[words.number[word]], torch.tensor(row))


def test_other_rows_are_drawn_from_the_seed(path, tmp_path):
    matrix, found = load(path, seed=3)
    again, _ = load(path, seed=3)
    other, _ = load(path, seed=4)
    assert torch.equal(matrix, again) and torch.equal(matrix[found], other[found])
    assert not (matrix[~found] == other[~found]).any()
    fewer = tmp_path / "fewer.txt"
    fewer.write_text(line("dog", 1.0) + "\n")
    some, less = load(fewer, seed=3)
    assert torch.equal(some[~found], matrix[~found]) and less.sum() == 1  # a row's draw is its own
    many = Vocabulary([*SPECIAL, "dog", *(f"w{i}" for i in range(4000))])
    drawn = load(path, many)[0][5:]
    assert abs(float(drawn.mean())) < 0.03 and abs(float(drawn.std()) - 1) < 0.03


def test_packed_files_and_counts_in_front(path, tmp_path):
    first = load(path)
    content = path.read_bytes()
    packed = tmp_path / "glove.txt.gz"
    packed.write_bytes(gzip.compress(content))
    with zipfile.ZipFile(tmp_path / "glove.zip", "w") as archive:
        archive.writestr("glove.840B.300d.txt", content)
    counted = tmp_path / "fasttext.vec"
    counted.write_bytes(b"15 6\n" + content)
    for other in (packed, tmp_path / "glove.zip", counted):
        matrix, found = load(other)
        assert torch.equal(matrix, first.matrix) and torch.equal(found, first.found)


def test_it_is_read_once(path, monkeypatch, caplog):
    first = load(path)
    with monkeypatch.context() as patch:
        patch.setattr(glove, "_scan", lambda *_: pytest.fail("read again"))
        assert torch.equal(load(path).matrix, first.matrix)
    (kept,) = (glove.cache_dir() / "glove").glob("*.npz")
    kept.write_bytes(kept.read_bytes()[:-1])
    assert torch.equal(load(path).matrix, first.matrix) and "damaged" in caplog.text


def test_a_changed_file_or_vocabulary_is_read_again(path):
    load(path)
    path.write_text(path.read_text("utf-8").replace("dog 1 ", "dog 5 "), "utf-8")
    os.utime(path, ns=(1, 1))
    matrix, _ = load(path)
    assert float(matrix[WORDS.number["dog"], 0]) == 5
    turned = Vocabulary([*SPECIAL, *WORDS.words[:3:-1]])
    assert float(load(path, turned).matrix[turned.number["dog"], 0]) == 5


@pytest.mark.parametrize(
    "content, said",
    [
        (line("dog", 1.0, 4), "a word and 4 numbers; wanted 6"),
        (line("dog", 1.0, 8), "a word and 8 numbers; wanted 6"),
        ("", "a word and 0 numbers"),
        ("\n".join(line(w, 1.0) for w in "abc") + "\ndog 1 2", "line 4: 2 numbers"),
        ("\n".join(line(w, 1.0) for w in "abc") + "\ndog 1 2 3 x 5 6", "line 4: not numbers"),
        ("\n".join(line(w, 1.0) for w in "abc") + "\ndog 1 2 3 nan 5 6", "line 4: 6 numbers, 1 of them not"),
        (line("hund", 1.0), "none of the 14 words.*language"),
    ],
)
def test_bad_files_are_named(tmp_path, content, said):
    path = tmp_path / "bad.txt"
    path.write_text(content + "\n")
    with pytest.raises(ValueError, match=f"bad.txt.*{said}"):
        load(path)


def test_missing_and_broken_files(path, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere.txt: no such file; wanted word vectors"):
        load(tmp_path / "nowhere.txt")
    whole = gzip.compress(path.read_bytes())
    flipped = whole[:40] + b"\xff" * 40 + whole[80:]
    for name, content in (("cut.gz", whole[:-20]), ("no.gz", b"no"), ("flipped.gz", flipped), ("no.zip", b"no")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=f"{name}: cannot be read to its end"):
            load(tmp_path / name)
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.txt", "a")
        archive.writestr("b.txt", "b")
    with pytest.raises(ValueError, match="one .txt file"):
        load(tmp_path / "two.zip")
