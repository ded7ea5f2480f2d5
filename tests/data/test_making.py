"""`icr data make`: a dataset.json from captions in the forms that people have, and what it refuses."""

from __future__ import annotations

import gzip
import json
import shutil

import pytest
from PIL import Image

import icrlib
from icrlib.data import karpathy
from icrlib.data.making import make

from ..test_cli import icr

NAMES = [f"p{number:02}.jpg" for number in range(12)]


@pytest.fixture
def root(tmp_path):
    (tmp_path / "photos").mkdir()
    for number, name in enumerate(NAMES):
        Image.new("RGB", (24, 24), (20 * number, 90, 250 - 20 * number)).save(tmp_path / "photos" / name)
    return tmp_path / "photos"


def table(root, rows, name="captions.csv", by=",", head=("image", "caption")):
    lines = [head, *rows] if head else rows
    (root / name).write_text("\n".join(by.join(line) for line in lines) + "\n", encoding="utf-8")
    return root / name


def usual(ending=""):
    return [(name.replace(".jpg", ending or ".jpg"), f"a dog {n}") for n, name in enumerate(NAMES)]


def captions_of(root):
    """What the reader of the format makes of it: the captions of each picture, by its path below the image folder."""
    return {
        str(file.relative_to(karpathy.images(root))): captions
        for split in karpathy.read(root).values()
        for file, captions in zip(split.files, split.captions, strict=True)
    }


@pytest.mark.parametrize(
    "head, by, name",
    [
        (("image", "caption"), ",", "captions.csv"),
        (("image", "caption"), ",", "captions.txt"),  # Kaggle's Flickr8k
        (("File Name", "Text"), "\t", "any.TSV"),
        (("image_name", "comment"), "|", "results.csv"),  # Flickr30k
        (("photo", "description"), ";", "excel.csv"),
        (None, "\t", "captions.token"),
        (None, ",", "a.csv"),
    ],
)
def test_tables(root, head, by, name):
    table(root, usual(), name, by, head)
    made = make(root)
    assert made.counts == {"train": (8, 8), "val": (2, 2), "test": (2, 2)} and not made.notes
    assert captions_of(root) == {name: [text] for name, text in usual()}


def test_what_tables_hold(root):
    """Commas in quotes and without, several columns, lists, Flickr's numbers, Excel's mark, no endings, capitals."""
    file = root / "t.csv"
    rest = "".join(f"{name},,x\n" for name in NAMES[6:])
    file.write_text(
        "\ufeffnumber,caption_2,image,caption_1\r\n"
        '1,,p00.jpg,"one, two"\r\n2,more,p01.jpg,three, four\r\n3,"over\ntwo lines",p02,x\r\n4,,P03.JPG,x\r\n'
        '5,,images\\p04.jpg#0,"[""five"", ""six""]"\r\n\r\n6,,p05.jpg#3,x\r\n'
        + "".join(f"7,,{line}" for line in rest.replace(",,", ",").splitlines(keepends=True)),
        encoding="utf-8",
        newline="",
    )
    make(root)
    found = captions_of(root)
    assert found["p00.jpg"] == ["one, two"] and found["p01.jpg"] == ["more", "three, four"]
    assert found["p02.jpg"] == ["over two lines", "x"] and found["p03.jpg"] == found["p05.jpg"] == ["x"]
    assert found["p04.jpg"] == ["five", "six"]


def test_named_columns_and_quotes_between_tabs(root):
    rows = [(name, "7", f'"Hi", says a dog {n}') for n, name in enumerate(NAMES)]
    table(root, rows, "t.tsv", "\t", ("key", "votes", "says"))
    wrong = (({}, "--image"), ({"image": "key"}, "--caption"), ({"image": "key", "caption": "say"}, "says"))
    for options, word in wrong:
        with pytest.raises(ValueError, match=f"t.tsv, line 1: .*{word}"):
            make(root, **options)
    make(root, image="key", caption="says")
    assert captions_of(root)["p01.jpg"] == ['"Hi", says a dog 1']


def coco(file, names, first=0):
    images = [{"id": 100 + n, "file_name": name} for n, name in enumerate(names, first)]
    notes = [
        {"id": 7 * n, "image_id": 100 + n // 2, "caption": f"a cat {n}\n"}
        for n in range(2 * first, 2 * first + 2 * len(names))
    ]
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"info": {}, "images": images, "annotations": notes}))
    return file


def test_annotations_of_coco(root):
    """Of both parts at once, whose pictures lie in folders that the annotations do not name."""
    for part, some in (("train2017", NAMES[:8]), ("val2017", NAMES[8:])):
        (root / part).mkdir()
        for name in some:
            shutil.move(root / name, root / part / name)
    coco(root / "annotations" / "captions_train2017.json", NAMES[:8])
    coco(root / "annotations" / "captions_val2017.json", NAMES[8:], 8)
    make(root)
    assert captions_of(root)["val2017/p09.jpg"] == ["a cat 18", "a cat 19"]
    entry = json.loads((root / "dataset.json").read_text())["images"][1]
    assert entry["cocoid"] == 101 and [s["sentid"] for s in entry["sentences"]] == [14, 21] and entry["imgid"] == 1


def test_pictures_of_2014_in_the_folders_of_2017(root):
    for n, name in enumerate(NAMES):
        shutil.move(root / name, root / f"{n:012}.jpg")
    file = coco(root.parent / "c.json", [f"COCO_val2014_{n:012}.jpg" for n in range(12)])
    make(root, [file])
    assert captions_of(root)["000000000003.jpg"] == ["a cat 6", "a cat 7"]


def test_a_text_beside_each_picture(root):
    """As img2dataset leaves them, in folders of shards, with its own notes beside them."""
    (root / "00000").mkdir()
    for n, name in enumerate(NAMES):
        shutil.move(root / name, root / "00000" / name.replace("jpg", "JPG"))
        (root / "00000" / name.replace("jpg", "txt")).write_text(f"a dog {n}\n\nit runs\n")
        (root / "00000" / name.replace("jpg", "json")).write_text("{}")
    (root / "00000_stats.json").write_text("{}")
    made = make(root)
    assert made.source.startswith("12 text files beside pictures")
    assert captions_of(root)["00000/p07.JPG"] == ["a dog 7", "it runs"]


def test_a_folder_a_class(root):
    for n, name in enumerate(NAMES):
        place = root / ("images" if n < 6 else "images/deep") / ("angry_dog" if n % 2 else "cat")
        place.mkdir(parents=True, exist_ok=True)
        shutil.move(root / name, place / name)
    result = icr("data", "make", str(root))
    assert result.exit_code == 0, result.output
    assert "the names of 4 folders, as 'a photo of a …'" in result.output
    assert captions_of(root)["deep/angry_dog/p07.jpg"] == ["a photo of an angry dog"]
    make(root, template="this is {}.", force=True)
    assert captions_of(root)["cat/p00.jpg"] == ["this is cat."]
    with pytest.raises(ValueError, match="one {} for its name"):
        make(root, template="a photo", force=True)


def test_folders_that_are_no_classes(root):
    for n, name in enumerate(NAMES):
        place = root / ("train2017" if n % 2 else "val2017")
        place.mkdir(exist_ok=True)
        shutil.move(root / name, place / name)
    with pytest.raises(ValueError, match="--captions"):
        make(root)


def test_the_seed_draws_and_shares_are_kept(root):
    table(root, usual())
    drawn = {}
    for seed in (0, 0, 1):
        make(root, seed=seed, val=0.25, test=0.5, force=True)
        found = karpathy.read(root)
        assert [len(found[part]) for part in ("train", "val", "test")] == [3, 3, 6]
        drawn.setdefault(seed, []).append([file.name for file in found["test"].files])
    assert drawn[0][0] == drawn[0][1] != drawn[1][0]
    for options, word in (
        ({"val": 0.5, "test": 0.5}, "none left to train on"),
        *(({"val": share}, "--val") for share in (0, 1, -1, float("nan"), 20)),
        ({"seed": -1}, "seed"),
    ):
        with pytest.raises(ValueError, match=word):
            make(root, force=True, **options)


def test_nothing_is_written_over(root):
    table(root, usual())
    for there in ("dataset.json", "dataset_old.json", "dataset.json.gz"):
        (root / there).write_bytes(gzip.compress(b"{}"))
        with pytest.raises(ValueError, match=f"{there} is there already"):
            make(root)
        assert gzip.decompress((root / there).read_bytes()) == b"{}"
        (root / there).unlink()
    make(root)
    first = (root / "dataset.json").read_bytes()
    with pytest.raises(ValueError, match="write over it with --force"):
        make(root, seed=1)
    assert (root / "dataset.json").read_bytes() == first
    make(root, seed=1, force=True)
    assert (root / "dataset.json").read_bytes() != first
    assert make(root, out=root.parent / "dataset_b.json").path.is_file()


@pytest.mark.parametrize(
    "rows, message",
    [
        ([*usual(), ("q.jpg", "x"), ("r.jpg", "y")], "2 captions name no picture, such as 'q.jpg' (@, line 14)"),
        (usual()[1:], "1 pictures have no caption, such as 'p00.jpg'"),
        ([*usual()[1:], (NAMES[0], " ")], "1 captions have no word, such as that of 'p00.jpg' (@, line 13)"),
    ],
)
def test_what_has_no_partner_is_refused_and_left_out_when_asked(root, rows, message):
    message = message.replace("@", str(table(root, rows)))
    result = icr("data", "make", str(root))
    assert result.exit_code == 1 and message in result.output and len(result.output.splitlines()) == 1
    assert not (root / "dataset.json").exists()
    result = icr("data", "make", str(root), "--leave-out")
    assert result.exit_code == 0 and f"left out: {message}" in result.output
    assert set(captions_of(root)) == {name for name, text in rows if text.strip() and name in NAMES}


def test_no_name_leads_out_of_the_folder(root):
    """A path of another place is found by its end, in the folder; a picture that is only elsewhere is not."""
    Image.new("RGB", (24, 24)).save(root.parent / "q.jpg")
    make(root, [table(root, [("../../p00.jpg", "a dog"), *usual()[1:]])])
    assert captions_of(root)["p00.jpg"] == ["a dog"]
    table(root, [("../q.jpg", "a dog"), *usual()])
    with pytest.raises(ValueError, match="q.jpg"):
        make(root, force=True)


def test_names_of_this_folder_and_of_two(root):
    (root / "sub").mkdir()
    shutil.copy(root / NAMES[0], root / "sub" / "twin.jpg")
    (root / "other").mkdir()
    shutil.copy(root / NAMES[0], root / "other" / "twin.jpg")
    rows = usual()[1:]
    table(root, [(str(root / NAMES[0]), "x"), ("sub/twin.jpg", "y"), ("photos\\other\\twin.jpg", "z"), *rows])
    make(root)
    assert captions_of(root)["p00.jpg"] == ["x"] and captions_of(root)["other/twin.jpg"] == ["z"]
    table(root, [(NAMES[0], "x"), ("twin.jpg", "y"), *rows])
    with pytest.raises(ValueError, match="line 3: .*other/twin.jpg or sub/twin.jpg"):
        make(root, force=True)


@pytest.mark.parametrize(
    "name, content, word",
    [
        ("t.csv", b"", "line 1: .*--image"),
        ("t.csv", b"a line\n", "line 1: .*--image"),
        ("t.csv", b'image,caption\np00.jpg,"a dog\np01.jpg,x\n', "line 2: .*quotation mark"),
        ("t.csv", b"image,votes,caption\np00.jpg,x\n", "line 2: 2 columns"),
        ("t.csv", b"image,caption\np00.jpg,\xff\xfe\n", "line 2: .*UTF-8"),
        ("t.csv", b"image,caption\np00.jpg," + b"x" * 140_000 + b"\n", "line 2: "),
        ("c.json", b"{", "JSON"),
        ("c.json", b"[]", "COCO"),
        ("c.json", b'{"images": []}', "annotations"),
        ("c.json", b'{"images": [{"id": 1}], "annotations": []}', "file_name"),
        ("c.json", b'{"images": [], "annotations": [{"image_id": 1, "category_id": 3}]}', "caption"),
        ("c.json", b'{"images": [], "annotations": [{"image_id": 1, "caption": "x"}]}', "id 1"),
    ],
)
def test_broken_files(root, name, content, word):
    (root / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"{name}.*{word}"):
        make(root)


def test_refusals_of_folders(root, tmp_path):
    (tmp_path / "empty").mkdir()
    for words, message in (
        (("nowhere",), "nowhere"),
        ((str(root),), "no captions"),
        ((str(root), "--captions", "no.csv"), "no.csv"),
        ((str(root), "--captions", str(root)), str(root)),
        ((str(tmp_path / "empty"),), "no pictures"),
    ):
        result = icr("data", "make", *words)
        assert result.exit_code == 1 and message in result.output and len(result.output.splitlines()) == 1
    table(root, usual(), "a.csv")
    table(root, usual(), "b.csv")
    with pytest.raises(ValueError, match="a.csv, b.csv"):
        make(root)


def test_a_name_that_no_line_can_hold(root):
    (root / NAMES[0]).rename(root / "a\nb.jpg")
    for name in (*NAMES[1:], "a\nb.jpg"):
        (root / name.replace("jpg", "txt")).write_text("x")
    with pytest.raises(ValueError, match="line break"):
        make(root)


def test_from_a_table_to_a_training(root, tmp_path):
    """As typed: make, check, features; then a model is trained on what came out, and searched."""
    table(root, [(name, text) for n, name in enumerate(NAMES) for text in (f"a ring {n % 4}", f"a box {name}")])
    assert icr("data", "make", str(root), "--val", "0.25").exit_code == 0
    result = icr("data", "check", str(root))
    assert result.exit_code == 0 and "no problems" in result.output and "3 images" in result.output
    result = icr("features", str(root), str(tmp_path / "features"), "--backbone", "scenes")
    assert result.exit_code == 0, result.output
    data = icrlib.load_dataset("flickr8k", features=tmp_path / "features", min_count=1)
    sizes = {"updates": 2, "batch_size": 4, "embed_dim": 4, "word_dim": 4, "progress": False}
    icrlib.train(data, out=tmp_path / "run", positives="text", relevance="text", **sizes)
    words = ("search", str(tmp_path / "run"), "a ring 1", "--features", str(tmp_path / "features"), "--top", "12")
    assert len(icr(*words).output.splitlines()) == 12
