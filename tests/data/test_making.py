"""`icr data make`: a dataset.json from captions in the forms that people have, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from PIL import Image

import icrlib
from icrlib import parsing
from icrlib.data import karpathy, precomputed
from icrlib.data.making import make
from icrlib.search import Index

from ..test_cli import icr
from .photos import extract

NAMES = [f"p{number:02}.jpg" for number in range(12)]
USUAL = [(name, f"a dog {n}") for n, name in enumerate(NAMES)]


@pytest.fixture
def root(tmp_path):
    (tmp_path / "photos").mkdir()
    for number, name in enumerate(NAMES):
        Image.new("RGB", (24, 24), (20 * number, 90, 250 - 20 * number)).save(tmp_path / "photos" / name)
    return tmp_path / "photos"


def table(root, rows=USUAL, name="captions.csv", by=",", head=("image", "caption"), encoding="utf-8"):
    text = "".join(by.join(line) + "\n" for line in [*([head] if head else []), *rows])
    (root / name).write_bytes(text.encode(encoding))
    return root / name


def renamed(root, name_of):
    """The pictures under other names, in folders that are made; what they are called now."""
    names = [name_of(n, name) for n, name in enumerate(NAMES)]
    for old, new in zip(NAMES, names, strict=True):
        (root / new).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(root / old, root / new)
    return names


def captions_of(root):
    """What the reader of the format makes of it: the captions of each picture, by its path below the image folder."""
    return {
        str(file.relative_to(karpathy.images(root))): captions
        for split in karpathy.read(root).values()
        for file, captions in zip(split.files, split.captions, strict=True)
    }


@pytest.mark.parametrize(
    "head, by, name, encoding",
    [
        (("image", "caption"), ",", "captions.txt", "utf-8"),  # Kaggle's Flickr8k
        (("File Name", "Text"), "\t", "any.TSV", "utf-8"),
        (("image_name", "comment"), "|", "results.csv", "utf-8"),  # Flickr30k
        (("photo", "description"), ";", "excel.csv", "utf-8-sig"),
        (None, "\t", "captions.token", "utf-8"),
        (None, ",", "a.csv", "utf-8-sig"),
        (None, '","', "quoted.csv", "utf-8"),
    ],
)
def test_tables(root, head, by, name, encoding):
    rows = [(f'"{one}', f'{text}, it runs"') for one, text in USUAL] if by == '","' else USUAL
    table(root, rows, name, by, head, encoding)
    made = make(root)
    assert made.counts == {"train": (8, 8), "val": (2, 2), "test": (2, 2)} and not made.notes
    assert captions_of(root) == {one.strip('"'): [text.strip('"')] for one, text in rows}


def test_what_tables_hold(root):
    """Commas in quotes and without, lists, Flickr's numbers, Excel's mark and its empty cells, no endings, capitals."""
    rest = "".join(f"7,{name},x\r\n" for name in NAMES[7:])
    (root / "t.csv").write_bytes(
        b"\xef\xbb\xbfnumber,image,caption\r\n"
        b'1,p00.jpg,"one, two"\r\n2,p01.jpg,three, four\r\n3,p02,"over\ntwo lines"\r\n4,P03.JPG,x,,\r\n'
        b'5,D:\\my photos\\p04.jpg#0,"[""five"", ""six""]"\r\n\r\n6,p05.jpg#3,x\r\n6,"C:\\photos\\p06.jpg",x\r\n'
        b"7,p05.jpg,\"['it''s', None, 'y']\"\r\n8,p06.jpg,[z] 7\r\n" + rest.encode()
    )
    make(root)
    found = captions_of(root)
    assert found["p00.jpg"] == ["one, two"] and found["p01.jpg"] == ["three, four"]
    assert found["p02.jpg"] == ["over two lines"] and found["p04.jpg"] == ["five", "six"]
    assert found["p03.jpg"] == ["x"] and found["p05.jpg"] == ["x", "its", "y"] and found["p06.jpg"] == ["x", "[z] 7"]


def test_named_columns_and_quotes_between_tabs(root):
    """And several columns of captions, some of whose cells are empty."""
    rows = [(name, "7", f'"Hi", says a dog {n}', "") for n, name in enumerate(NAMES)]
    table(root, [*rows[:-1], (*rows[-1][:3], "so")], "t.tsv", "\t", ("key", "votes", "text_1", "text_2"))
    for options, word in (({}, "--image"), ({"image": "key", "caption": "say"}, "'text_1'")):
        with pytest.raises(ValueError, match=f"t.tsv, line 1: .*{word}"):
            make(root, **options)
    make(root, image="key")
    assert captions_of(root)["p01.jpg"] == ['"Hi", says a dog 1']
    assert captions_of(root)["p11.jpg"] == ['"Hi", says a dog 11', "so"]


def coco(file, names, first=0):
    images = [{"id": 100 + n, "file_name": name} for n, name in enumerate(names, first)]
    numbers = range(2 * first, 2 * first + 2 * len(names))
    notes = [{"id": 7 * n, "image_id": 100 + n // 2, "caption": f"a cat {n}\n"} for n in numbers]
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"info": {}, "images": images, "annotations": notes}))
    return file


def test_annotations_of_coco(root):
    """Of both parts at once, whose pictures lie in folders that the annotations do not name."""
    renamed(root, lambda n, name: f"{'train' if n < 8 else 'val'}2017/{name}")
    coco(root / "annotations" / "captions_train2017.json", NAMES[:8])
    coco(root / "annotations" / "captions_val2017.json", NAMES[8:], 8)
    make(root)
    assert captions_of(root)["val2017/p09.jpg"] == ["a cat 18", "a cat 19"]


def test_a_text_beside_each_picture(root):
    """As img2dataset leaves them, in folders of shards, with its own notes beside them; endings in capitals, too."""
    for n, name in enumerate(renamed(root, lambda _, name: f"00000/{name}".replace("jpg", "JPG"))):
        (root / name).with_suffix(".TXT" if n == 7 else ".txt").write_text(f"a dog {n}\r\n\r\nit runs\r\n")
        (root / name).with_suffix(".json").write_text("{}")
    (root / "00000_stats.json").write_text("{}")
    assert make(root).source.startswith("12 text files beside pictures")
    assert captions_of(root)["00000/p07.JPG"] == ["a dog 7", "it runs"]


def test_a_folder_a_class(root):
    renamed(root, lambda n, name: f"images{'' if n < 6 else '/deep'}/{'angry_dog' if n % 2 else 'cat'}/{name}")
    result = icr("data", "make", str(root))
    assert result.exit_code == 0 and "the names of 4 folders, as 'a photo of a …'" in result.output, result.output
    assert captions_of(root)["deep/angry_dog/p07.jpg"] == ["a photo of an angry dog"]
    assert captions_of(root)["cat/p00.jpg"] == ["a photo of a cat"]


@pytest.mark.parametrize(
    "options, sizes", [({"val": 0.25, "test": 0.5}, (3, 6)), ({"val": 1, "test": 4.0}, (1, 4)), ({"val": 0.01}, (1, 2))]
)
def test_shares_and_numbers_of_pictures(root, options, sizes):
    table(root)
    assert [n for n, _ in make(root, **options).counts.values()] == [12 - sum(sizes), *sizes]


def test_two_folders_of_equal_names_are_not_one(root):
    """Captions of test/p01.jpg are none of train/p01.jpg, which alone is here; nor after bare names."""
    for parts in (("train/", "test/"), ("", "train/", "test/")):
        rows = [(f"{part}{name}", f"{part} {name}") for part in parts for name in NAMES]
        with pytest.raises(ValueError, match="train/ and of test/"):
            make(root, [table(root, rows)])


def test_a_column_that_counts_is_not_that_of_the_pictures(root):
    names = renamed(root, lambda n, name: f"{n}.jpg")
    for row in ((lambda n: (str(n), names[11 - n])), (lambda n: (names[11 - n], str(n)))):
        make(root, [table(root, [(*row(n), f"a dog {n}") for n in range(12)], head=None)], force=True)
        assert captions_of(root)["11.jpg"] == ["a dog 0"]


@pytest.mark.parametrize("row", ["{0}.jpg,a dog,a cat", "{0}.jpg,a dog, on grass", "{1};{0};a dog"])
def test_a_headless_table_that_can_be_read_in_two_ways_is_asked_for_names(root, row):
    renamed(root, lambda n, name: f"{n}.jpg")
    (root / "captions.csv").write_text("\n".join(row.format(n, 11 - n) for n in range(12)))
    with pytest.raises(parsing.BadFile, match="in a first line, image,caption"):
        make(root)


def test_a_headless_table_whose_first_picture_is_missing(root):
    (root / NAMES[0]).unlink()
    with pytest.raises(ValueError, match="leave-out"):
        make(root, [table(root, head=None)])
    make(root, [root / "captions.csv"], leave_out=True)
    assert len(captions_of(root)) == 11


def test_the_seed_draws_the_same_split_for_ever(root):
    table(root)
    for seed, val, test in ((0, [2, 9], [4, 7]), (1, [8, 11], [4, 7])):
        make(root, seed=seed, force=True)
        found = karpathy.read(root)
        assert [[int(file.stem[1:]) for file in found[part].files] for part in ("val", "test")] == [val, test]


@pytest.mark.parametrize(
    "options, word",
    [
        *(({"val": share}, "--val .*or a number") for share in (0, -1, 1.5, "0.1", float("nan"))),
        ({"val": 6, "test": 0.5}, "none left to train on"),
    ],
)
def test_splits_that_cannot_be(root, options, word):
    table(root)
    with pytest.raises(ValueError, match=word):
        make(root, **options)


def test_nothing_is_written_over(root):
    table(root)
    for there in ("dataset_old.json", "dataset.json.gz"):
        (root / there).touch()
        with pytest.raises(ValueError, match=f"{there} is there already"):
            make(root)
        (root / there).unlink()
    make(root)
    first = (root / "dataset.json").read_bytes()
    with pytest.raises(ValueError, match="write over it with --force"):
        make(root, seed=1)
    assert (root / "dataset.json").read_bytes() == first
    make(root, seed=1, force=True)
    assert (root / "dataset.json").read_bytes() != first


@pytest.mark.parametrize(
    "rows, message",
    [
        ([*USUAL, ("q.jpg", "x"), ("r.jpg", "y")], "2 captions name no picture, such as 'q.jpg' (@, line 14)"),
        (USUAL[1:], "1 pictures have no caption, such as 'p00.jpg'"),
        ([*USUAL[1:], (NAMES[0], "\xad")], "1 captions have no word, such as that of 'p00.jpg' (@, line 13)"),
    ],
)
def test_what_has_no_partner_is_refused_and_left_out_when_asked(root, rows, message):
    message = message.replace("@", str(table(root, rows)))
    result = icr("data", "make", str(root))
    assert result.exit_code == 1 and message in result.output and len(result.output.splitlines()) == 1
    assert not (root / "dataset.json").exists()
    result = icr("data", "make", str(root), "--leave-out")
    assert result.exit_code == 0 and f"left out: {message}" in result.output
    assert set(captions_of(root)) == {name for name, text in rows if text != "\xad" and name in NAMES}
    assert ("1 pictures have no caption, such as 'p00.jpg'" in result.output) == (len(captions_of(root)) < 12)
    icr("data", "make", str(root), "--leave-out", "--distractors", "--force")
    assert set(captions_of(root)) == set(NAMES)


def test_names_of_this_folder_and_of_two(root):
    """A path of another place is found by its end, in the folder."""
    for place in ("sub", "other"):
        (root / place).mkdir()
        shutil.copy(root / NAMES[0], root / place / "twin.jpg")
    rows = [("../../p01.jpg", "u"), *USUAL[2:]]
    table(root, [(str(root / NAMES[0]), "x"), ("sub/twin.jpg", "y"), ("photos\\other\\twin.jpg", "z"), *rows])
    make(root)
    found = captions_of(root)
    assert (found["p00.jpg"], found["other/twin.jpg"], found["p01.jpg"]) == (["x"], ["z"], ["u"])
    table(root, [("twin.jpg", "y"), *rows])
    with pytest.raises(ValueError, match="line 2: .*other/twin.jpg or sub/twin.jpg"):
        make(root, force=True)


@pytest.mark.parametrize("name", ["my dog: {}.jpg", "a: {}.jpg", "cafe\u0301 {}.jpg", "a,{}.jpg"])
def test_names_that_are_odd(root, name):
    """Colons, spaces, commas in quotes, and accents that a table composes otherwise than the disk."""
    names = renamed(root, lambda n, _: name.format(n))
    table(root, [(f'"{one}"'.replace("e\u0301", "é"), "a dog") for one in names], head=None)
    make(root)
    assert set(captions_of(root)) == set(names) and all(file.is_file() for file in karpathy.read(root)["train"].files)


@pytest.mark.parametrize(("name", "word"), [("a\nb.jpg", "line break"), ("a\\b.jpg", "backslash")])
def test_names_that_the_format_cannot_hold(root, name, word):
    (root / NAMES[0]).rename(root / name)
    with pytest.raises(ValueError, match=word):
        make(root, [table(root)])


TEXT = "image,caption\np00.jpg,a café\n"
TWICE = b'{"images": [{"id": 7, "file_name": "p00.jpg"}, {"id": %s, "file_name": "%s"}], "annotations": []}'


@pytest.mark.parametrize(
    "name, content, word",
    [
        *(("t.csv", content, "line 1: .*--image") for content in (b"", b"a line\n", b"x," + b"y" * 140_000)),
        ("t.csv", b'image,caption\np00.jpg,"a dog\np01.jpg,x\n', "line 2: .*quotation mark"),
        ("t.csv", b'image,caption\np00.jpg,"a dog\np01.jpg,a pizza"\n', "line 2: .*quotation mark"),
        ("t.tsv", b'image\tcaption\np00.jpg\t"a dog\np01.jpg\ta pizza"\n', "line 2: .*quotation mark"),
        ("t.csv", b"image,caption_1,caption_2\np00.jpg,a dog, brown,a cat\n", "line 2: 4 columns.*quotes"),
        ("t.csv", b"image,caption\np00.jpg," + b"x" * 140_000 + b"\n", "line 2: "),
        ("t.csv", b"image,votes,caption\np00.jpg,x\n", "line 2: 2 columns where the first line has 3"),
        ("t.csv", b"image,caption,votes\np00.jpg,a,7\np01.jpg,a dog, it runs,7\n", "line 3: 4 columns.*quotes"),
        ("t.csv", b"caption,image\na dog, it runs,p00.jpg\n", "line 2: 3 columns.*quotes"),
        ("t.csv", TEXT.encode("latin-1"), "line 2: .*iconv -f LATIN1 -t UTF-8"),
        *(("t.csv", TEXT.encode(kind), f"iconv -f {kind} -t UTF-8") for kind in ("UTF-16", "UTF-16LE", "UTF-16BE")),
        ("t.csv", b"PK\3\4\xff", "save the table as CSV"),
        ("c.json", b'{"images": [{"id": 1}], "annotations": []}', "file_name"),
        ("c.json", b'{"images": [], "annotations": [{"image_id": 1, "category_id": 3}]}', "caption"),
        ("c.json", b'{"images": [], "annotations": [{"image_id": 1, "caption": "x"}]}', "id 1"),
        ("c.json", TWICE % (b"7", b"p01.jpg"), "several images have the id 7"),
        ("c.json", TWICE % (b"8", b"p00.jpg"), "several images have the file_name 'p00.jpg'"),
    ],
)
def test_broken_files(root, name, content, word):
    (root / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"{name}.*{word}") as err:
        make(root)
    assert "\n" not in str(err.value)


def test_refusals_of_folders(root, tmp_path):
    for name in ("a.csv", "b.csv"):
        table(root, name=name)
    with pytest.raises(ValueError, match="a.csv, b.csv"):
        make(root)
    for name in ("a.csv", "b.csv"):
        (root / name).unlink()
    renamed(root, lambda n, name: f"{'train' if n % 2 else 'val'}2017/{name}")  # folders, but of no classes
    (tmp_path / "empty").mkdir()
    for folder, message in ((root, "--captions"), (tmp_path / "empty", "no pictures")):
        with pytest.raises(ValueError, match=message):
            make(folder)


def test_from_a_table_to_a_search_among_distractors(root, tmp_path):
    """As typed: make, check and features; a search and an audit see the pictures without a caption, too."""
    table(root, [(name, text) for n, name in enumerate(NAMES[:10]) for text in (f"a ring {n % 5}", f"a box {name}")])
    made = icr("data", "make", str(root), "--val", "3", "--distractors")
    assert made.exit_code == 0 and "test: 2 pictures without caption, as distractors" in made.output, made.output
    result = icr("data", "check", str(root))
    assert result.exit_code == 0 and "no problems" in result.output and "val           3 images" in result.output
    assert "test: 2 pictures without caption" in result.output
    folder = extract(root, tmp_path / "features")
    data = icrlib.load_dataset("flickr8k", features=folder, min_count=1)
    sizes = {"updates": 2, "batch_size": 4, "embed_dim": 4, "word_dim": 4, "progress": False}
    model = icrlib.train(data, out=tmp_path / "run", positives="text", relevance="text", **sizes).model
    more = precomputed.distractors(folder)
    found = icrlib.evaluate(model, data.test, distractors=more)
    assert len(more) == 2 and len(Index.of(model, folder)) == 12
    result = icr("audit", str(root), "--model", str(tmp_path / "run"), "--features", str(folder))
    assert f"2 photos without caption as distractors; rsum {found['rsum']:.1f}" in result.output, result.output


def test_a_locale_that_is_not_utf_8(root):
    """What the disk and the table hold is UTF-8, whatever the terminal is; what it cannot write it gets as numbers."""
    table(root, [(name, f"一只狗 {n} it’s") for n, name in enumerate(NAMES)])
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

    def icr_there(*words):
        words = [sys.executable, "-m", "icrlib", *words]
        return subprocess.run(words, env=os.environ | plain, capture_output=True, text=True, timeout=200)

    result = icr_there("data", "make", str(root))
    assert result.returncode == 0 and captions_of(root)["p03.jpg"] == ["一只狗 3 it’s"], result.stderr
    (root / "p00.jpg").rename(root / "é.jpg")
    (root / "captions.csv").write_text((root / "captions.csv").read_text("utf-8").replace("p00", "é"), "utf-8")
    result = icr_there("data", "make", str(root), "--force")
    assert result.returncode == 1 and re.fullmatch(r"Error: .*LC_ALL=C.UTF-8.*\n", result.stderr), result.stderr
