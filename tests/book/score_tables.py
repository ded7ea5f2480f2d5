"""The explorable tables that several files test."""

from __future__ import annotations

from icrlib import plots
from icrlib.losses import NTXent, SmoothAP, Triplet, TripletSH
from icrlib.widgets import explorer

FOUR = {"triplet": Triplet(), "triplet_sh": TripletSH(), "ntxent": NTXent(), "smoothap": SmoothAP()}


def example(**more):
    return explorer(*plots.example(), FOUR, about="four losses", **more)


def cell(visit, q, j):
    return visit.page.locator(f'button[data-cell="{q},{j}"]').first
