"""Foils: false captions of the same words, in training with each caption of a batch; who may have them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

import icrlib
from icrlib.data import augment
from icrlib.data.load import OUTLINES
from icrlib.data.scenes.grammar import false_forms, truth
from icrlib.data.targets.wording import MEANS, parse
from icrlib.data.text import tokenize
from icrlib.training import loop
from icrlib.training.config import resolve
from tests.data.test_scenes_phrasing import read_back
from tests.training.test_resume import same_run

SMALL = dict(embed_dim=8, batch_size=16, progress=False)


@pytest.fixture(scope="module", params=["plain", "apart"])
def scenes(request):
    return icrlib.load_dataset("scenes", smoke=True, phrasing=request.param, progress=False)


def dice(number: int = 0) -> np.random.Generator:
    return augment.dice(0, number, augment.FOILS)


def meaning(caption: str) -> Counter:
    unsaid = ("a", "an", "there", "is", "we", "see")
    return Counter(MEANS.get(word, word) for word in tokenize(caption) if word not in unsaid)


def test_every_form_is_false_and_of_the_same_facts(scenes):
    """Facts are the same where two things or a relation can tell a lie; else one fact is another."""
    split, same = scenes.train, 0
    for form, image in zip(split.forms, split.image_of.tolist(), strict=True):
        foils = false_forms(form, split.graphs[image])
        assert foils and truth(form, split.graphs[image])
        for one in foils:
            assert not truth(one, split.graphs[image])
            before, after = (Counter((k, v) for thing in f["things"] for k, v in thing.items()) for f in (form, one))
            same += before == after
            assert before == after or (before - after).total() == 1
            assert all(form[key] == one[key] for key in ("relation", "count", "background"))
    assert same > 500


def test_captions_of_foils_say_what_is_false(scenes):
    split = scenes.train
    rows = torch.arange(0, len(split.captions), 7)
    captions = split.foils(rows, dice())
    assert captions == split.foils(rows, dice()) != split.foils(rows, dice(1))
    for row, caption in zip(rows.tolist(), captions, strict=True):
        form = read_back(caption) if split.phrasing == "apart" else parse(caption).form
        assert not truth(form, split.graphs[int(split.image_of[row])])
        assert (meaning(caption) - meaning(split.captions[row])).total() <= 1


def test_a_batch_has_them_behind_its_own(scenes):
    config = resolve(scenes, "bow", "ntxent", given={"batch_size": 16, "negatives": "foils"})
    plain = resolve(scenes, "bow", "ntxent", given={"batch_size": 16})
    model, _ = loop.prepare(scenes, config)
    step, without = (next(loop.forward(model, scenes.train, c, 3)) for c in (config, plain))
    assert step.scores.shape == step.positives.shape == (16, 32)
    assert torch.equal(step.positives[:, :16], without.positives) and not step.positives[:, 16:].any()
    torch.testing.assert_close(step.scores[:, :16], without.scores)
    expected = scenes.vocabulary.encode(scenes.train.foils(step.batch.captions, dice(3)))
    torch.testing.assert_close(step.scores[:, 16:], model.similarity(step.images, model.encode_captions(*expected)))


def test_words_left_out_are_left_out_of_both(scenes):
    given = {"batch_size": 16, "drop_words": 0.5, "delete_words": 0.2}
    plain = resolve(scenes, "bow", "ntxent", given=given)
    config = resolve(scenes, "bow", "ntxent", given=given | {"negatives": "foils"})
    model, _ = loop.prepare(scenes, config)
    step, without = (next(loop.forward(model, scenes.train, c, 3)) for c in (config, plain))
    assert torch.equal(step.lengths[:16], without.lengths)
    width = without.numbers.shape[1]
    assert torch.equal(step.numbers[:16, :width], without.numbers) and not step.numbers[:16, width:].any()
    for part in (slice(16), slice(16, None)):
        assert 0.2 < float((step.numbers[part] == augment.UNKNOWN).sum() / step.lengths[part].sum()) < 0.7


@pytest.mark.parametrize("loss", ["triplet_sh", "goal:cir x sig-ms"])
def test_training_with_foils(scenes, loss, tmp_path):
    """Any loss; two runs are the same, and not as without foils."""
    options = dict(updates=4, evaluate_every=2, negatives="foils", lr=0.01, **SMALL)
    run = icrlib.train(scenes, "bow", loss, out=tmp_path / "run", **options)
    assert run.record["config"]["negatives"] == "foils" and run.history[-1]["cocos"]["t2i"]["C_q"] >= 0
    same_run(run, icrlib.train(scenes, "bow", loss, **options))
    other = icrlib.train(scenes, "bow", loss, **{**options, "negatives": "batch"})
    assert other.record["identity"] != run.record["identity"]
    assert any(not torch.equal(a, b) for a, b in zip(run.model.parameters(), other.model.parameters(), strict=True))


def test_who_may_have_them(tiny, scenes):
    """Data without forms, methods that read no words and a second objective may not, and so say the outlines."""
    with pytest.raises(ValueError, match="logical form"):
        resolve(tiny, "bow", "ntxent", given={"negatives": "foils"})
    with pytest.raises(ValueError, match="objective"):
        resolve(scenes, "ltd", "ntxent", given={"negatives": "foils", "target": "lsa"})
    with pytest.raises(ValueError, match="foils"):
        resolve(scenes, "bow", "ntxent", given={"negatives": "foil"})
    assert scenes.foils
    assert [OUTLINES[name]({}).foils for name in ("scenes", "rendered", "stamps")] == [True, True, False]
