"""Every kind of file that a person may hand over, damaged in every way: one line that names it and the way out, status
1, nothing written; or it is read all the same, as what it still says.

The kinds are those of the table, tests/readers.py. ``pytest -s`` prints the counts of outcomes at the end.
"""

from __future__ import annotations

import builtins
import errno
import gzip
import io
import json
import lzma
import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import icrlib
import job
import reproduce
from icrlib import records
from icrlib.data import cxc, eccv, glove, karpathy, precomputed
from icrlib.data.fewer import fewer
from icrlib.data.targets.minilm import MiniLM
from icrlib.data.text import SPECIAL, Vocabulary
from icrlib.errors import in_words
from icrlib.planning import missing
from icrlib.records import archive
from icrlib.search.album import Album, of_model
from tests import readers
from tests.data.encoders import make_folder
from tests.data.photos import extract, make
from tests.data.regions import make as boxes
from tests.test_cli import icr

SIZES = {"updates": 2, "batch_size": 8, "embed_dim": 4, "evaluate_every": 1, "progress": False, "word_dim": 4}
COUNTS: dict[str, Counter] = {}
SECONDS = 20  # after which a reader is taken to wait for ever


@dataclass(frozen=True)
class Case:
    """A ``kind`` of the table: the ``file`` of it below the folder, and what reads it: (exit status, what is said)."""

    kind: str
    file: str
    use: Callable[[Path], tuple[int, str]]


def typed(*words: str) -> Callable[[Path], tuple[int, str]]:
    def use(there: Path) -> tuple[int, str]:
        result = icr(*(str(word).replace("@", f"{there}/") for word in words))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.output

    return use


def called(work: Callable[[Path], object]) -> Callable[[Path], tuple[int, str]]:
    """A function of the library, with what the command line makes of its errors."""

    def use(there: Path) -> tuple[int, str]:
        try:
            return 0, str(work(there))
        except (ValueError, OSError, ImportError) as err:
            return 1, in_words(err)

    return use


def resumed(there: Path) -> None:
    (there / "run" / "record.json").unlink()
    icrlib.train(icrlib.load_dataset("flickr8k", features=there / "features", min_count=1), out=there / "run", **SIZES)


def profiled(there: Path) -> dict:
    return reproduce._settings(reproduce._profile(str(there / "profile")) / "config.yaml")


def worked(there: Path) -> tuple[int, str]:
    (there / "job" / "failed.txt").unlink(missing_ok=True)
    said = io.StringIO()
    real, sys.stderr = sys.stderr, said
    try:
        return job.main(there / "job"), said.getvalue()
    finally:
        sys.stderr = real


WORDS = Vocabulary([*SPECIAL, "dog", "ring", "red"])
IDENTITY = {"identity": "x", "data_hash": "x"}
SEARCH = ("search", "@run", "a red ring", "--features", "@features")
BOXES = ("search", "@seeing", "a dog", "--features", "@boxes")
OWN = {"name": "flickr8k", "min_count": 1}
CASES = [
    Case("model", "run/model.json", typed(*SEARCH)),
    Case("model", "run/model.safetensors", typed(*SEARCH)),
    Case("model", "album/.icr/model/model.json", typed("search", "a ring", "--index", "@album")),
    Case("notes of a run", "run/config.json", typed("status", "@run")),
    Case("notes of a run", "run/config.json", called(resumed)),
    Case("notes of a run", "run/config.json", called(lambda there: missing._foreign(there / "run", IDENTITY))),
    Case("checkpoint", "run/checkpoint.pt", called(resumed)),
    Case("checkpoint", "half/checkpoint.pt", typed("status", "@half")),
    Case("record", "run/record.json", typed("compare", "@run/record.json", "@said.json")),
    Case(
        "archive of records",
        "studies/s.jsonl.xz",
        called(lambda t: list(archive.read(t / "studies/s.jsonl.xz"))),
    ),
    Case("notes of features", "features/features.json", typed("search", "@run", "@t.jpg", "--features", "@features")),
    Case("features", "features/test_ims.npy", typed(*SEARCH)),
    Case("features", "few/train_ims.npy", called(lambda there: fewer(there / "few", 3, there / "less"))),
    Case("features", "boxes/test_ims.npy", typed(*BOXES)),
    Case("numbers of regions", "boxes/test_lens.npy", typed(*BOXES)),
    Case("numbers of regions", "boxes/train_lens.npy", called(lambda there: fewer(there / "boxes", 3, there / "less"))),
    Case("numbers of regions", "boxes/dev_lens.npy", called(lambda t: precomputed.load(t / "boxes", **OWN))),
    Case("captions", "features/test_caps.txt", typed(*SEARCH)),
    Case("captions", "features/test_ids.txt", typed(*SEARCH)),
    Case("captions", "few/train_caps.txt", called(lambda there: fewer(there / "few", 3, there / "less"))),
    Case("names of pictures", "features/test_files.txt", typed(*SEARCH)),
    Case("names of pictures", "names.txt", typed("index", "@other", "--embeddings", "@v.npy", "--files", "@names.txt")),
    Case("vectors of pictures", "v.npy", typed("index", "@other", "--embeddings", "@v.npy", "--files", "@names.txt")),
    Case("parts of features", "work/.parts", called(lambda t: extract(t / "bad", t / "work", skip_bad=True))),
    Case("vocabulary", "words.json", called(lambda there: Vocabulary.load(there / "words.json"))),
    Case("annotations", "photos/dataset_scenes.json", called(lambda there: karpathy.read(there / "photos"))),
    Case("annotations", "packed/dataset.json.gz", called(lambda there: karpathy.read(there / "packed"))),
    Case("captions to make a data set of", "raw/1.txt", typed("data", "make", "@raw")),
    Case("captions to make a data set of", "raw/c.csv", typed("data", "make", "@raw", "--captions", "@raw/c.csv")),
    Case("captions to make a data set of", "raw/c.tsv", typed("data", "make", "@raw", "--captions", "@raw/c.tsv")),
    Case("captions to make a data set of", "raw/c.json", typed("data", "make", "@raw", "--captions", "@raw/c.json")),
    Case("judgements", "cxc/sits_test.csv", called(lambda there: cxc.read(there / "cxc" / "sits_test.csv"))),
    Case("judgements", "eccv/eccv_image_to_caption.json", called(lambda there: eccv.read(there / "eccv"))),
    Case("word vectors", "glove.txt", called(lambda t: glove.load(t / "glove.txt", WORDS, size=3, cache=False))),
    Case("word vectors", "glove.txt.gz", called(lambda t: glove.load(t / "glove.txt.gz", WORDS, size=3, cache=False))),
    Case("pictures", "t.jpg", typed("search", "@run", "@t.jpg", "--features", "@features", "--backbone", "scenes")),
    Case("album", "album/.icr/album.sqlite", typed("search", "a ring", "--index", "@album")),
    Case("notebook", "page.ipynb", typed("run", "@page.ipynb", "--plan")),
    Case("earlier product", "page.html", typed(*SEARCH, "--html", "@page.html")),
    Case("sentence encoder", "encoder/config.json", called(lambda t: MiniLM(t / "encoder").encode(["a dog"]))),
    Case("sentence encoder", "encoder/model.safetensors", called(lambda t: MiniLM(t / "encoder").encode(["a dog"]))),
    Case("sentence encoder", "encoder/tokenizer.json", called(lambda t: MiniLM(t / "encoder").encode(["a dog"]))),
    Case("profile", "profile/config.yaml", called(profiled)),
    Case("parameters of a job", "job/parameters.json", worked),
]
NOT_TRIED = {"list of a plan": "written and read by the same command, under the hash of its content"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    make(folder / "photos", train=6, val=3, test=3)
    extract(folder / "photos", folder / "features")
    data = icrlib.load_dataset("flickr8k", features=folder / "features", min_count=1)
    icrlib.train(data, out=folder / "run", **SIZES)
    shutil.copytree(folder / "run", folder / "half")
    (folder / "half" / "record.json").unlink()
    for name in ("album", "other"):
        (folder / name).mkdir()
        for file in sorted((folder / "photos" / "images").iterdir())[:2]:
            shutil.copy(file, folder / name)
    Album(folder / "album").update(of_model(folder / "run", "run", "scenes"), folder / "run", progress=False)
    names = Album(folder / "other").names()
    shutil.copy(folder / "other" / names[0], folder / "t.jpg")
    (folder / "names.txt").write_text("\n".join(names) + "\n")
    np.save(folder / "v.npy", np.eye(2, dtype=np.float32))
    shutil.copy(folder / "run" / "record.json", folder / "said.json")
    shutil.copytree(folder / "features", folder / "few")
    boxes(folder / "boxes")
    icrlib.train(precomputed.load(folder / "boxes", **OWN), "scan", out=folder / "seeing", **SIZES)
    (folder / "studies").mkdir()
    line = json.dumps({"path": "a.json", "record": records.load(folder / "said.json")})
    (folder / "studies" / "s.jsonl.xz").write_bytes(lzma.compress(line.encode() + b"\n"))
    shutil.copytree(folder / "photos", folder / "bad")  # one that is damaged keeps the parts of the others
    (folder / "bad" / "images" / "train0.jpg").write_bytes(b"")
    with pytest.raises(ValueError, match="photos cannot be used"):
        extract(folder / "bad", folder / "work")
    WORDS.save(folder / "words.json")
    (folder / "packed" / "images").mkdir(parents=True)
    (folder / "packed" / "dataset.json.gz").write_bytes(
        gzip.compress((folder / "photos" / "dataset_scenes.json").read_bytes())
    )
    made_of_raw(folder)
    (folder / "cxc").mkdir()
    rows = "".join(f"COCO_val2014:sentid:{n},COCO_val2014_{n:012d}.jpg,4.0,c2i_original\n" for n in range(9))
    (folder / "cxc" / "sits_test.csv").write_text("caption,image,agg_score,sampling_method\n" + rows)
    (folder / "eccv").mkdir()
    for name in ("image_to_caption", "caption_to_image"):
        (folder / "eccv" / f"eccv_{name}.json").write_text(json.dumps({"1": [1, 2], "2": [3]}))
    vectors = "".join(f"{word} 0.5 1 {number}\n" for number, word in enumerate(("dog", "ring", "red")))
    (folder / "glove.txt").write_text(vectors)
    (folder / "glove.txt.gz").write_bytes(gzip.compress(vectors.encode()))
    cell = {"cell_type": "code", "source": 'loss: str = "ntxent"  # it', "metadata": {"tags": ["parameters"]}}
    (folder / "page.ipynb").write_text(json.dumps({"cells": [cell]}))
    icr(*(str(word).replace("@", f"{folder}/") for word in (*SEARCH, "--html", "@page.html")))
    make_folder(folder / "encoder")
    (folder / "profile").mkdir()
    shutil.copy(reproduce.PROFILES / "gpu" / "config.yaml", folder / "profile")
    (folder / "job").mkdir()
    (folder / "job" / "parameters.json").write_text(json.dumps({"parameters": {"seed": 1}, "record": None}))
    yield folder
    print(table())


def made_of_raw(folder: Path) -> None:
    """Pictures, and their captions in each form that a data set is made of."""
    (folder / "raw").mkdir()
    for number in range(5):
        Image.new("RGB", (9, 9)).save(folder / "raw" / f"{number}.png")
        (folder / "raw" / f"{number}.txt").write_text("a ring\na red ring\n")
    for by, name in ((",", "c.csv"), ("\t", "c.tsv")):
        rows = [("image", "caption"), *((f"{number}.png", '"a ring"') for number in range(5))]
        (folder / "raw" / name).write_text("".join(f"{by.join(row)}\n" for row in rows))
    images = [{"id": number, "file_name": f"{number}.png"} for number in range(5)]
    notes = [{"image_id": number, "id": number, "caption": "a ring"} for number in range(5)]
    (folder / "raw" / "c.json").write_text(json.dumps({"images": images, "annotations": notes}))


def values(content: bytes) -> Iterator[tuple[str, bytes]]:
    """A JSON file with a wrong type at every key of its first two levels, with numbers that none is, with NaN."""
    try:
        whole = json.loads(content)
    except ValueError:
        return
    for name, new in (("wrong type", {"x": [None]}), ("huge number", 10**50), ("NaN", float("nan"))):
        for path in places(whole):
            yield name, json.dumps(put(whole, path, new)).encode()


def places(value: object, path: tuple = ()) -> Iterator[tuple]:
    yield path
    if len(path) < 2:
        inside = (
            value.items() if isinstance(value, dict) else list(enumerate(value))[:2] if isinstance(value, list) else ()
        )
        for key, one in inside:
            yield from places(one, (*path, key))


def put(value: object, path: tuple, new: object) -> object:
    if not path:
        return new
    some = dict(value) if isinstance(value, dict) else list(value)
    some[path[0]] = put(some[path[0]], path[1:], new)
    return some


def damages(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Kind of damage and what the file then holds."""
    yield "empty", b""
    yield from (("cut off", content[: len(content) * part // 8]) for part in (1, 4, 7))
    picture = io.BytesIO()
    Image.new("RGB", (9, 9)).save(picture, "PNG")
    yield "other kind", picture.getvalue()
    yield "other kind", b"a line of text, and no more\n"
    yield "ten times", content * 10
    yield from values(content)
    if content.startswith(b"\x93NUMPY"):
        array = np.load(io.BytesIO(content))
        for name, new in (
            ("NaN", array * np.nan),
            ("wrong type", array.astype("U5")),
            ("ten times", np.tile(array, (10, 1))),
        ):
            buffer = io.BytesIO()
            np.save(buffer, new)
            yield name, buffer.getvalue()
        yield "huge number", content.replace(b"'shape': (", b"'shape': (9999999999", 1)


@pytest.fixture
def there(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(job, "execute", lambda parameters, output, handle: (0, ""))
    monkeypatch.setattr(job, "keep", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(whole, tmp_path / "there", symlinks=True)


def tree(folder: Path) -> set[str]:
    """What is there, but for locks and what commands write of themselves when all is well."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.name not in (".lock", ".job.lock")}


def outcome(case: Case, there: Path) -> tuple[str, str]:
    """ "refused", "read" or what is wrong, and what was said."""

    def late(*_: object) -> None:
        raise AssertionError("it waits for ever")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        status, said = case.use(there)
    except BaseException as err:
        return f"traceback: {type(err).__name__}: {str(err)[:200]}", ""
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    if status == 0:
        return "read", said
    if status != 1:
        return f"status {status}", said
    last = said[max(said.rfind("Error: "), 0) :].strip()  # behind what was found before
    places = [str(there / place) for place in (case.file, *Path(case.file).parents[:-1])]
    named = Path(case.file).name in last or any(place in last for place in places)
    return ("refused" if named and "Traceback" not in said and len(last.splitlines()) <= 2 else "not named"), said


def emulated(monkeypatch: pytest.MonkeyPatch, path: Path, number: int) -> None:
    """The file cannot be opened, as the system says by ``number``; tests often run as root, who may read all."""

    def refusing(real):
        def opened(file, *words, **more):
            if not isinstance(file, int) and os.path.abspath(os.fsdecode(file)) == str(path):
                raise OSError(number, os.strerror(number), os.fspath(file))
            return real(file, *words, **more)

        return opened

    real = builtins.open
    monkeypatch.setattr(builtins, "open", refusing(real))
    monkeypatch.setattr(io, "open", refusing(real))


def test_every_kind_of_the_table_has_its_case():
    assert {case.kind for case in CASES} | set(NOT_TRIED) == set(readers.STRANGERS)


def label(case: Case) -> str:
    return f"{case.kind}: {Path(case.file).name}"


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=label)
def test_damaged(case, there, monkeypatch):
    path = next((there / case.file).iterdir()) if (there / case.file).is_dir() else there / case.file
    spare, wrong = there.parent / "spare", []
    shutil.copytree(there, spare, symlinks=True)
    before = tree(spare)

    def restore() -> None:
        if tree(there) != before:
            shutil.rmtree(there)
            shutil.copytree(spare, there, symlinks=True)
        remove(path)
        shutil.copy2(spare / path.relative_to(there), path)

    def tried(damage: str, emulate: Callable[[pytest.MonkeyPatch], None] = lambda patch: None) -> None:
        there_before = tree(there)
        with monkeypatch.context() as patch:
            emulate(patch)
            found, said = outcome(case, there)
        if found == "refused" and (more := tree(there) - there_before):
            found = f"wrote {sorted(more)[:3]}"
        COUNTS.setdefault(f"{label(case)} | {damage}", Counter())[found.partition(":")[0]] += 1
        if found not in ("refused", "read"):
            wrong.append((damage, found, said))
        restore()

    assert outcome(case, there)[0] == "read", "it is read where nothing is wrong with it"
    restore()
    content = path.read_bytes()
    for damage, new in damages(content):
        path.write_bytes(new)
        tried(damage)
    remove(path)
    tried("missing")
    for damage, make_it in (
        ("a folder", os.mkdir),
        ("a pipe", os.mkfifo),
        ("a link to nothing", lambda at: os.symlink("nowhere", at)),
        ("a link", lambda at: os.symlink(spare / path.relative_to(there), at)),
    ):
        remove(path)
        make_it(path)
        tried(damage)
    for damage, number in (("unreadable", errno.EACCES), ("broken disk", errno.EIO)):
        tried(damage, lambda patch, number=number: emulated(patch, path, number))
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    tried("full disk", lambda patch: patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(full)))
    assert not wrong, "\n".join(map(str, wrong))


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def table() -> str:
    """Kind and damage, and how often each outcome was."""
    return "\n".join(f"{name}: {dict(found)}" for name, found in sorted(COUNTS.items()))
