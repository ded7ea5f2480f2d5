"""What README and the chapters on photos tell a reader to type is what the decision page found, word for word."""

from __future__ import annotations

import re

import pytest

from icrlib import records
from icrlib.evidence import decision
from tests.killing import ROOT

PLACES = ("README.md", "book/search/photos.py")
OWN = ("dataset", "features", "out", "seed", "root")  # what a reader's command says of the reader's own folder
FEW, MANY = "photos 400", "photos 6000"


def parameters(text: str) -> list[dict[str, str]]:
    """The parameters of each piece of a command that trains on photos, without those that are the reader's own."""
    text = re.sub(r"\\\n[#\s]*", " ", text)
    pieces = re.findall(r"(?:-p [\w.]+=[^\s`]+ *)+", text)
    found = [dict(re.findall(r"-p ([\w.]+)=([^\s`]+)", piece)) for piece in pieces]
    return [
        {name: value for name, value in one.items() if name not in OWN}
        for one in found
        if {"method", "loss", "lr"} <= set(one)
    ]


@pytest.fixture(scope="module")
def advised():
    rule = decision.Decision(records.find)
    few, many = decision.sentences.command(rule, FEW), decision.command(rule, MANY, ("bow", "ntxent"))
    return [parameters(text)[0] for text in (few, many)]


@pytest.mark.parametrize("place", PLACES)
def test_commands_are_those_of_the_decision_page(place, advised):
    text = (ROOT / place).read_text(encoding="utf-8")
    if place == "README.md":
        text = text.split("## From your photos to a search")[1].split("\n## ")[0]
    found = parameters(text)
    assert found and found[0] == advised[0] and all(one in advised for one in found)


def test_readmes_section_is_short():
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## From your photos to a search")[1]
    assert len(section.split("\n## ")[0].split()) < 400
