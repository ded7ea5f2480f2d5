"""The explorable tables that several files test, and what a test does to any of the pages."""

from __future__ import annotations

from icrlib import plots
from icrlib.losses import NTXent, SmoothAP, Triplet, TripletSH
from icrlib.widgets import explorer

FOUR = {"triplet": Triplet(), "triplet_sh": TripletSH(), "ntxent": NTXent(), "smoothap": SmoothAP()}


def example(**more):
    return explorer(*plots.example(), FOUR, about="four losses", **more)


def drag(visit, handle, x, y):
    """Press the middle of ``handle``, move to the place (x, y) of the page, and let go."""
    box, mouse = handle.bounding_box(), visit.page.mouse
    mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    mouse.down()
    mouse.move(x, y, steps=9)
    mouse.up()


def cell(visit, q, j):
    return visit.page.locator(f'button[data-cell="{q},{j}"]').first
