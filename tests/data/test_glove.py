"""GloVe files: words with spaces, the release's second try, rows that are drawn, and bad files."""

import gzip
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


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "glove.txt"
    path.write_text("\n".join([*(line(*item) for item in LINES.items()), line("dog", 99.0)]) + "\n", "utf-8")
    return path


def load(path, words=WORDS, **options):
    return glove.load(path, words, size=SIZE, progress=False, **options)


def test_words_get_their_vectors(path):
    matrix = load(path)
    assert matrix.shape == (len(WORDS), SIZE) and matrix.dtype == torch.float32
    expected = {"dog": 1.0, "t-shirt": 3.0, "black/white": 4.0, "it's": 9.0, "0.5": 8.0, "café": 12.0, "<unk>": 11.0}
    drawn = torch.from_numpy(np.random.default_rng([0, 840]).standard_normal((len(WORDS), SIZE), np.float32))
    for row, word in enumerate(WORDS.words):  # of two lines for "dog" the first
        assert torch.equal(matrix[row], vector(expected[word]) if word in expected else drawn[row]), word


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
    names = list(dict.fromkeys([*(" ".join(rng.choice(parts, rng.integers(1, 4))) for _ in range(300))]))
    values = {name: rng.standard_normal(SIZE).round(4).tolist() for name in names}
    path = tmp_path / "many.txt"
    path.write_text("".join(f"{name} {' '.join(map(str, row))}\n" for name, row in values.items()))
    words = Vocabulary([*SPECIAL, *parts, "r-e-d", "x/y", "zz"])
    matrix = load(path, words)
    for number, word in enumerate(words.words):
        row = values.get(word, values.get(word.replace("-", "").replace(".", "").replace("'", "").split("/")[0]))
        if row is not None:
            torch.testing.assert_close(matrix[number], torch.tensor(row))


def test_other_rows_are_drawn_from_the_seed(path):
    matrix, again, other = load(path, seed=3), load(path, seed=3), load(path, seed=4)
    drawn = torch.tensor([word in ("<pad>", "<start>", "<end>", ".", "new", "qwertz", "a-b/c") for word in WORDS.words])
    assert torch.equal(matrix, again) and torch.equal(matrix[~drawn], other[~drawn])
    assert not (matrix[drawn] == other[drawn]).any()
    many = Vocabulary([*SPECIAL, "dog", *(f"w{i}" for i in range(4000))])
    rows = load(path, many)[5:]
    assert abs(float(rows.mean())) < 0.03 and abs(float(rows.std()) - 1) < 0.03


def test_packed_files_and_counts_in_front(path, tmp_path):
    first = load(path)
    content = path.read_bytes()
    packed = tmp_path / "glove.txt.gz"
    packed.write_bytes(gzip.compress(content))
    with zipfile.ZipFile(tmp_path / "glove.zip", "w") as archive:
        archive.writestr("glove.840B.300d.txt", content)
    counted = tmp_path / "fasttext.vec"
    counted.write_bytes(b"0.5 6\n" + content)  # counts, of which one is a word that is wanted
    for other in (packed, tmp_path / "glove.zip", counted):
        assert torch.equal(load(other), first)


@pytest.mark.parametrize(
    "content, word",
    [
        (line("dog", 1.0, 4), "4 numbers"),
        (line("dog", 1.0, 8), "word_size"),
        ("", "no word"),
        ("a 1\ndog 1 2", "line 2"),
        ("a 1\ndog 1 2 3 x 5 6", "line 2"),
        ("a 1\ndog 1 2 3 nan 5 6", "line 2"),
        (line("hund", 1.0), "language"),
    ],
)
def test_bad_files_are_named(tmp_path, content, word):
    path = tmp_path / "bad.txt"
    path.write_text(content + "\n")
    with pytest.raises(ValueError, match=f"bad.txt.*{word}"):
        load(path)


def test_missing_and_broken_files(path, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere.txt"):
        load(tmp_path / "nowhere.txt")
    whole = gzip.compress(path.read_bytes())
    flipped = whole[:40] + b"\xff" * 40 + whole[80:]
    for name, content in (("cut.gz", whole[:-20]), ("no.gz", b"no"), ("flipped.gz", flipped), ("no.zip", b"no")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=name):
            load(tmp_path / name)
