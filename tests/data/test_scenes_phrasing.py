"""Captions told apart: the same facts, and no run of up to four words that holds an attribute with a shape."""

from __future__ import annotations

import re

import pytest
import torch

import icrlib
from icrlib.data.scenes.grammar import NUMBERS, ORDER, RELATIONS, SYNONYMS
from icrlib.data.targets.wording import MEANS
from icrlib.data.text import tokenize

SMALL = {"train": 200, "val": 20, "test": 150, "seed": 3, "progress": False}


@pytest.fixture(scope="module")
def both():
    return tuple(icrlib.load_dataset("scenes", phrasing=phrasing, **SMALL) for phrasing in ("plain", "apart"))


def bound(caption: str, longest: int) -> bool:
    """Does a run of up to ``longest`` words hold a shape and an attribute?"""
    facts = [MEANS.get(word, (None,))[0] for word in tokenize(caption)]  # "shape", "colour", "size", "fill" or None
    runs = [{*facts[i : i + longest]} - {None} for i in range(len(facts))]
    return any("shape" in run and len(run) > 1 for run in runs)


def test_no_run_of_four_words_tells_what_belongs_together(both):
    """Of every caption, those that twins ask among them; in plain captions nearly every one has such a pair."""
    plain, apart = both
    rows = apart.test.twin_questions[0].unique().tolist()
    assert len(rows) > 200
    assert not [caption for caption in apart.test.captions if bound(caption, 4)]
    more = [row for row in rows if any(len(thing) > 1 for thing in apart.test.forms[row]["things"])]
    assert all(bound(plain.test.captions[row], 4) for row in more) and len(more) > 0.9 * len(rows)
    assert all(bound(apart.test.captions[row], 100) for row in more), "the caption as a whole tells it"


def read_back(caption: str) -> dict:
    """The form of a caption told apart, read from its words alone."""
    caption, _, background = caption.removesuffix(" background").partition(" on a ")
    first, *later = re.split(r", (?=the (?:first|second|third) |and it is )", caption)
    form = {"relation": None, "count": None, "background": background or None}
    heads, _, count = re.sub("^(there is|we see) ", "", first).partition(" among ")
    form["count"] = NUMBERS.index(count.removesuffix(" things")) if count else None
    for relation in RELATIONS:
        if f" {relation} " in heads:
            form["relation"] = relation
    parts = re.split("|".join([", ", " and ", *(f" {relation} " for relation in RELATIONS)]), heads)
    form["things"] = [dict([MEANS[part.removeprefix("a ")]]) for part in parts]
    for fact in later:
        which, *words = fact.removeprefix("and it is ").removeprefix("the ").split()
        place, words = (ORDER.index(which), words) if which in ORDER else (0, [which, *words])
        form["things"][place] |= dict(MEANS[word] for word in words)
    return form


def test_the_sentence_says_what_its_form_says(both):
    for split in (both[1].train, both[1].test):
        assert [read_back(caption) for caption in split.captions] == split.forms
    text = " ".join(both[1].train.captions)
    assert all(f" {word} " in f" {text} ".replace(",", " ") for words in SYNONYMS.values() for word in words)
    assert all(words in text for words in ("there is ", "we see ", ", and it is "))


def test_pictures_forms_truth_and_twins_are_the_same(both):
    for plain, apart in zip(*((data.train, data.val, data.test) for data in both), strict=True):
        assert plain.forms == apart.forms and plain.graphs == apart.graphs and (plain.images == apart.images).all()
        assert torch.equal(plain.features, apart.features) and torch.equal(plain.relevance, apart.relevance)
        assert all(map(torch.equal, plain.twin_questions, apart.twin_questions))
    assert "phrasing" not in both[0].options and both[1].options == both[0].options | {"phrasing": "apart"}


def test_a_label_says_colour_and_shape_of_the_first_thing(both):
    """Of the same pictures; it is true of its own, as its form says, and many pictures share it."""
    split = icrlib.load_dataset("scenes", phrasing="label", **SMALL).test
    assert bool(split.relevance[torch.arange(len(split.captions)), split.image_of].all())
    for caption, form, plainly in zip(split.captions, split.forms, both[0].test.forms, strict=True):
        first = plainly["things"][0]
        assert caption.split()[1:] == [first[key] for key in ("colour", "shape") if key in first]
        assert form["things"] == [{key: first[key] for key in ("shape", "colour") if key in first}]
        assert form["relation"] is form["count"] is form["background"] is None
    assert len(set(split.captions)) < 80 < len(split.captions) / 5
