"""COCO's ids for the rows of a split: through photos and features, in order and out of order, and what goes wrong."""

from __future__ import annotations

import pytest
import torch

import icrlib
from icrlib.data import coco, karpathy
from icrlib.data.judgements import BadJudgements
from icrlib.data.splits import Split

from .coco_files import change_annotations, ids_in, number_photos, split_and_annotations
from .photos import edit, extract, make


@pytest.fixture
def made(tmp_path):
    return split_and_annotations(tmp_path)


def part_of(split, rows):
    """The images ``rows`` of a split in that order, with their captions in reverse."""
    chosen = [(new, c) for new, row in enumerate(rows) for c in (split.image_of == row).nonzero()[:, 0].tolist()][::-1]
    return Split(
        split.name,
        split.features[rows],
        [split.captions[c] for _, c in chosen],
        torch.tensor([new for new, _ in chosen]),
        [split.image_ids[row] for row in rows],
    ), chosen


def test_in_the_order_of_the_json(made):
    split, path = made
    ids = coco.ids_of(path, split)
    assert (ids.images, ids.captions) == ids_in(path)
    assert coco.ids_of(path.parent, split) == ids


def test_in_another_order_and_in_part(made):
    split, path = made
    images, captions = ids_in(path)
    other, chosen = part_of(split, [7, 3, 28, 0, 12])
    ids = coco.ids_of(path, other)
    assert ids.images == [images[row] for row in (7, 3, 28, 0, 12)]
    assert ids.captions == [captions[c] for _, c in chosen]


def test_two_images_with_the_same_captions_are_told_apart_by_their_order_alone(made):
    split, path = made
    two = Split("test", split.features[:2], ["a red ring", "a red ring"], torch.tensor([0, 1]), ["2", "6"])
    change_annotations(
        path,
        lambda images: images.__setitem__(
            slice(None),
            [
                {
                    "filename": f"{n}.jpg",
                    "cocoid": n,
                    "split": "test",
                    "sentences": [{"raw": "A red ring.", "sentid": 10 + n}],
                }
                for n in (2, 6)
            ],
        ),
    )
    assert coco.ids_of(path, two) == coco.Ids([2, 6], [12, 16])


def test_case_and_punctuation_do_not_count(made):
    split, path = made
    plain = [text.upper().replace(",", " ,") + " ." for text in split.captions]
    assert (
        coco.ids_of(path, Split("test", split.features, plain, split.image_of, split.image_ids)).captions
        == ids_in(path)[1]
    )


def test_a_sixth_caption_in_the_json_alone_is_no_harm(made):
    split, path = made
    before = ids_in(path)[1]
    change_annotations(
        path,
        lambda images: [
            e["sentences"].insert(1, {"raw": "one more", "sentid": 9_000_000 + n}) for n, e in enumerate(images)
        ],
    )
    assert coco.ids_of(path, split).captions == before


def test_equal_captions_of_one_image_get_its_ids_in_their_order(made):
    split, path = made
    first, second = (split.image_of == 4).nonzero()[:2, 0].tolist()
    split.captions[second] = split.captions[first]
    change_annotations(
        path, lambda images: [e["sentences"][1].update(raw=e["sentences"][0]["raw"]) for e in images[3 + 4 : 3 + 5]]
    )
    assert coco.ids_of(path, split).captions == ids_in(path)[1]


def test_without_cocoid_the_file_name_tells(made):
    split, path = made
    images = ids_in(path)[0]
    change_annotations(path, lambda listed: [entry.pop("cocoid") for entry in listed])
    assert coco.ids_of(path, split).images == images


def test_from_photos_to_features_to_ids(tmp_path):
    """The whole way, with a photo that was left out: rows of features still find their ids."""
    root = make(tmp_path / "photos", test=7)
    expected = number_photos(root)
    (root / "images" / "test2.jpg").write_text("broken")
    folder = extract(root, tmp_path / "features", skip_bad=True)
    data = icrlib.load_dataset("coco", features=folder, min_count=1)
    for name in ("train", "val", "test"):
        images, sentences = expected[name]
        kept = [n for n in range(len(images)) if name != "test" or n != 2]
        ids = coco.ids_of(root, getattr(data, name))
        assert ids.images == [images[n] for n in kept]
        assert ids.captions == [number for n in kept for number in sentences[n]]
    assert coco.ids_of(root, data.test, "test") == ids
    with pytest.raises(ValueError, match="unknown split 'dev'; allowed: 'test', 'train', 'val'"):
        coco.ids_of(root, data.test, "dev")


def test_pictures_keep_no_id_of_their_own(tmp_path):
    root = make(tmp_path / "photos")
    edit(root, lambda images: None)
    with pytest.raises(karpathy.BadAnnotations, match="image 18: no usable 'sentid'; COCO's sentences have raw and"):
        coco.ids_of(root, icrlib.load_dataset("coco", root=root, images="published", backbone="scenes").test)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda e: e.pop("cocoid") and e.update(filename="a.jpg"), "image 5: no COCO id"),
        (lambda e: e.update(cocoid="12"), "image 5: no COCO id"),
        (lambda e: e["sentences"][0].update(sentid=None), "image 5: no COCO id"),
        (lambda e: e.pop("sentences"), "image 5: no usable 'sentences'"),
        (
            lambda e: e.update(cocoid=e["cocoid"] + 0, sentences=[]),
            "1 of the split's 30 images have captions that stand under no test image there, first row 2",
        ),
    ],
)
def test_annotations_without_ids_or_captions(made, change, message):
    split, path = made
    change_annotations(path, lambda images: change(images[5]))
    with pytest.raises(karpathy.BadAnnotations, match=message):
        coco.ids_of(path, split)


def test_captions_under_several_images(made):
    split, path = made
    change_annotations(path, lambda images: images.insert(3, images[3] | {"cocoid": 1}))
    with pytest.raises(karpathy.BadAnnotations, match="1 of the split's 30 images .* under more than one test image"):
        coco.ids_of(path, split)


def test_an_id_of_two_rows(made):
    split, path = made
    same = ids_in(path)[0][0]
    change_annotations(path, lambda images: images[9].update(cocoid=same))
    with pytest.raises(karpathy.BadAnnotations, match=f"the image id {same} belongs to 2 rows"):
        coco.ids_of(path, split)


def test_annotations_that_are_not_there(made, tmp_path):
    split, path = made
    path.unlink()
    with pytest.raises(FileNotFoundError, match="no such folder"):
        coco.ids_of(path, split)
    with pytest.raises(FileNotFoundError, match=r"exactly one dataset\*.json"):
        coco.ids_of(tmp_path, split)


def test_captions_that_nobody_judged_are_left_out(made):
    split, path = made
    ids = coco.ids_of(path, split)
    out = [int((split.image_of == row).nonzero()[0]) for row in (2, 5)]
    named = set(ids.captions) - {ids.captions[c] for c in out}
    kept, kept_ids = ids.keep(split, named)
    rest = [c for c in range(len(split.captions)) if c not in out]
    assert kept_ids.captions == [ids.captions[c] for c in rest] and kept_ids.images == ids.images
    assert kept.captions == [split.captions[c] for c in rest]
    assert kept.image_of.tolist() == [int(split.image_of[c]) for c in rest] and len(kept) == len(split)
    own = {ids.captions[c] for c in (split.image_of == 4).nonzero()[:, 0].tolist()}
    with pytest.raises(BadJudgements, match=f"1 of the split's 30 images .* COCO's image {ids.images[4]}. Such a file"):
        ids.keep(split, set(ids.captions) - own)
