"""The explorable things of the pages, as several files test them, and what a test does to any of their pages."""

from __future__ import annotations

import torch

from icrlib import plots
from icrlib.losses import GradientObjective, NTXent, SmoothAP, Triplet, TripletSH
from icrlib.widgets import explorer, explorer_on_circle, loop_explorer

FOUR = {"triplet": Triplet(), "triplet_sh": TripletSH(), "ntxent": NTXent(), "smoothap": SmoothAP()}
ROW, OWN = torch.tensor([[0.6, 0.5, 0.45, 0.3, 0.7]], dtype=torch.float64), torch.eye(5, dtype=torch.bool)[:1]
ANGLES = ([10.0, 60.0, 130.0, 250.0], [100.0, 20.0, 200.0, 215.0])
SQUARE = (0.3, 0.1, 0.7, 0.5)
CON_LIN = GradientObjective("con", "lin")


def example(**more):
    scores, positives = plots.example()
    return explorer(**{"scores": scores, "positives": positives, "losses": FOUR, "about": "four losses"} | more)


def one_row(**more):
    return example(scores=ROW, positives=OWN, together=True, selected=(0, 1), curve=True, **more)


def on_circle(losses=FOUR, pictures=ANGLES[0], captions=ANGLES[1]):
    return explorer_on_circle(pictures, captions, losses, about="four pairs")


def loop(objective=CON_LIN):
    return loop_explorer(objective, about="a walk")


def drag(visit, handle, x, y):
    """Press the middle of ``handle``, move to the place (x, y) of the page, and let go."""
    box, mouse = handle.bounding_box(), visit.page.mouse
    mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    mouse.down()
    mouse.move(x, y, steps=9)
    mouse.up()


def of_table(visit, what, index=0):
    """What one of the page's tables, circles or walks keeps of its state, for tests."""
    return visit.page.evaluate(f"k => document.querySelectorAll('.score-table')[k].scoreTable.{what}", index)
