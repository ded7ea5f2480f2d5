"""push/one-picture has a card of each registered loss: constants of its class, and those that searches chose."""

import html
import re
from dataclasses import fields
from pathlib import Path

import pytest

from chapters import Book
from icrlib.experiments import named
from icrlib.losses import LOSSES, by_name
from notebook_checks import Chapter

BOOK = Book(Path(__file__).resolve().parents[2])
SYMBOLS = {"margin": "[αm]", "tau": "τ", "eps": "ε", "scale": "t", "bias": "b", "alpha": "α", "beta": "β", "lam": "λ"}


def cards():
    """Of each card, by what the call names: its HTML."""
    outputs = Chapter(BOOK.path("push/one-picture", ".ipynb")).outputs()
    shown = [out.get("data", {}).get("text/html", "") for _, out in outputs]
    parts = [part for text in shown for part in text.split('<div class="loss-card"')[1:]]
    return {html.unescape(re.search(r'<code>loss="(.*?)"</code>', part)[1]): part for part in parts}


def test_every_registered_loss_has_one_and_goals_family_has_one():
    assert list(cards()) == [*LOSSES, "goal:T x P"]


@pytest.mark.parametrize("name", LOSSES)
def test_it_has_the_formula_of_the_loss_its_constants_and_its_page(name):
    card, loss = cards()[name], by_name(name)
    constants, found = card.split("<small>")[1].split("Found here:")
    assert card.count(r"\(") == 2 and r"\ell = " in card  # the loss and its weights
    assert f"{loss.queries} over queries" in constants and ("images with all captions" in constants) == (
        loss.batches == "images"
    )
    for option in fields(loss):
        if option.name in SYMBOLS:
            value = f"{getattr(loss, option.name):g}".replace("-", "−")
            assert re.search(rf"{SYMBOLS[option.name]} = {re.escape(value)}\b", constants)
    page = re.search(r'href="([^"]+)\.html"', card)[1]
    assert BOOK.path("push/" + page, ".ipynb").resolve().is_file()


@pytest.mark.parametrize("name, losses", [("own constants", ("triplet", "triplet_sh", "ntxent", "smoothap")),
                                          ("beyond", ("dcl", "ifm", "siglip", "ntxent_sparse"))])  # fmt: skip
def test_what_was_found_here_is_what_the_searches_chose(name, losses):
    chosen, moved = named.searched()[f"scenes, {name}"]
    for loss in losses:
        found = cards()[loss].split("Found here:")[1]
        for option in set(SYMBOLS) & moved["vse++", loss]:
            value = f"{chosen['vse++', loss][option]:g}".replace("-", "−")
            assert re.search(rf"{SYMBOLS[option]} = {re.escape(value)}\b", found)
