"""``icr judge`` as typed: a trained model, photos in COCO's format, CxC and ECCV Caption beside the own pairs."""

from __future__ import annotations

import io
import shutil

import numpy as np
import pandas as pd
import pytest

import icrlib
from icrlib import judged
from icrlib.data import features
from icrlib.data.judgements import Judgements

from .data.coco_files import draw_ratings, ids_in, number_photos, write_lists, write_ratings
from .data.photos import edit, make
from .test_cli import icr

SIZES = {"updates": 4, "batch_size": 8, "embed_dim": 8, "word_dim": 8, "progress": False}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Photos with COCO's ids, features, a model, and both kinds of judgements; one caption is in no file of CxC."""
    folder = tmp_path_factory.mktemp("judge")
    make(folder / "photos", test=12)
    number_photos(folder / "photos")
    path = folder / "photos" / "dataset_scenes.json"
    images, captions = ids_in(path)
    rows = [row for row in draw_ratings(path, more=60) if row[0] != captions[3]]
    write_ratings(folder / "cxc" / "sits_test.csv", rows)
    write_lists(folder / "eccv", {images[0]: captions[:4], images[5]: captions[8:12]}, {captions[0]: images[:2]})
    features.extract(folder / "photos", folder / "features", backbone="scenes", progress=False)
    icrlib.train(icrlib.load_dataset("coco", features=folder / "features", min_count=1), out=folder / "run", **SIZES)
    return folder


def words(place, *more):
    return [
        "judge",
        str(place / "run"),
        "--features",
        str(place / "features"),
        "--annotations",
        str(place / "photos"),
        *more,
    ]


def columns(result):
    """The header of the printed table; names hold spaces, so two divide them."""
    header = next(line for line in result.output.splitlines() if "own pairs" in line)
    return [name.strip() for name in header.split("  ") if name.strip()]


def test_thresholds_stand_side_by_side(place, tmp_path):
    result = icr(*words(place, "--cxc", str(place / "cxc"), "--csv", str(tmp_path / "table.csv")))
    assert result.exit_code == 0, result.output
    assert columns(result) == ["own pairs", "CxC, all rated", "CxC ≥ 3", "CxC ≥ 4"]
    assert "1 captions that no file names are left out" in result.output and "12 images, 23 captions" in result.output
    table = pd.read_csv(io.StringIO((tmp_path / "table.csv").read_text()), index_col=[0, 1])
    answers = table.loc["i2t"].loc["right answers a query"] * table.loc["i2t"].loc["queries"]
    assert answers["CxC, all rated"] > answers["CxC ≥ 3"] > answers["CxC ≥ 4"] and answers["own pairs"] == 23
    # The first column is what the library says of the same split without the caption that nobody judged.
    model, test = icrlib.load_model(place / "run"), icrlib.load_dataset("coco", features=place / "features").test
    rest = [c for c in range(24) if c != 3]
    texts = [test.captions[c] for c in rest]
    test = icrlib.data.Split("test", test.features, texts, test.image_of[rest], test.image_ids)
    known = judged.table({"own": judged.evaluate_judged(model, test, Judgements.own(test))})["own"]
    pd.testing.assert_series_equal(table["own pairs"], known, check_names=False)


def test_own_thresholds_originals_and_both_files(place):
    both = words(place, "--cxc", str(place / "cxc" / "sits_test.csv"), "--eccv", str(place / "eccv"))
    result = icr(*both, "--threshold", "3.5", "--threshold", "none", "--keep-originals")
    assert result.exit_code == 0, result.output
    assert columns(result) == ["own pairs", "CxC ≥ 3.5 or own", "CxC, all rated", "ECCV Caption"]
    assert "12 images, 24 captions" in result.output  # ECCV Caption names the one that CxC lacks
    alone = icr(*words(place, "--eccv", str(place / "eccv")))
    assert columns(alone) == ["own pairs", "ECCV Caption"] and "12 images, 24 captions" in alone.output


def test_a_model_on_pictures(place, tmp_path):
    data = icrlib.load_dataset("coco", root=place / "photos", images="published", backbone="scenes", min_count=1)
    icrlib.train(data, out=tmp_path / "run", **SIZES)
    cxc = ("--cxc", str(place / "cxc"))
    result = icr("judge", str(tmp_path / "run" / "record.json"), "--photos", str(place / "photos"), *cxc)
    assert result.exit_code == 0 and "rsum" in result.output, result.output
    wrong = icr("judge", str(place / "run"), "--photos", str(place / "photos"), *cxc)
    assert wrong.exit_code == 1 and "was trained on finished features" in wrong.output


def test_a_part_of_the_split(place, tmp_path):
    """Features of some images only: refused with what to do, and then done."""
    edited = tmp_path / "photos"
    make(edited, test=12)
    number_photos(edited)
    edit(edited, lambda images: images.__delitem__(slice(-3, None)))
    features.extract(edited, tmp_path / "features", backbone="scenes", progress=False)
    given = [
        "judge",
        str(place / "run"),
        "--features",
        str(tmp_path / "features"),
        "--annotations",
        str(place / "photos"),
        "--cxc",
        str(place / "cxc"),
    ]
    wrong = icr(*given)
    told = " ".join(wrong.output.split())
    assert wrong.exit_code == 1 and "3 of its 12 images" in told and "(--ignore-missing)" in told, told
    result = icr(*given, "--ignore-missing")
    assert result.exit_code == 0 and "right answers are not in the split and were dropped" in result.output


def test_what_is_missing_is_said_before_anything_is_read(place):
    run, cxc = str(place / "run"), ("--cxc", "nowhere")
    for given, message in (
        ((run, *cxc), "say where the split is"),
        ((run, "--features", "x", "--photos", "y", *cxc), "say where the split is"),
        ((run, "--features", "x"), "say who judges"),
        ((run, "--features", "x", *cxc), "give --annotations dataset_coco.json"),
        ((run, "--photos", "x", "--eccv", "y", "--split", "val"), "about the test split only"),
        ((run, "--photos", "x", *cxc, "--threshold", "high"), "'high' is neither none nor a number"),
        ((run, "--photos", "x", *cxc), "nowhere: no sits_test.csv"),
        ((run, "--photos", "x", *cxc, "--split", "val"), "nowhere: no sits_val.csv"),
    ):
        result = icr("judge", *given)
        assert result.exit_code in (1, 2) and message in " ".join(result.output.split()), result.output


def test_wrong_judgements_and_wrong_features(place, tmp_path):
    write_ratings(tmp_path / "sits_test.csv", [(1, 2, "4", "c2i_original")])
    other = icr(*words(place, "--cxc", str(tmp_path)))
    assert other.exit_code == 1 and "12 of the split's 12 images have no caption that was judged" in " ".join(
        other.output.split()
    )
    high = icr(*words(place, "--cxc", str(place / "cxc"), "--threshold", "6"))
    assert high.exit_code == 1 and "threshold must be a number between 0 and 5" in " ".join(high.output.split())
    short = shutil.copytree(place / "features", tmp_path / "features")
    for part in ("train", "dev", "test"):
        np.save(short / f"{part}_ims.npy", np.load(short / f"{part}_ims.npy")[:, :10])
    given = words(place, "--cxc", str(place / "cxc"))
    given[given.index("--features") + 1] = str(short)
    narrow = icr(*given)
    assert narrow.exit_code == 1 and "features of size 10, but the model was trained on 256" in " ".join(
        narrow.output.split()
    )
