"""Write the README's picture, book/_static/one-picture.png: the first figure of the book's intro."""

from __future__ import annotations

from pathlib import Path

from icrlib import plots
from icrlib.losses import NTXent, SmoothAP, Triplet, TripletSH

LOSSES = {"triplet": Triplet(), "triplet_sh": TripletSH(), "ntxent": NTXent(), "smoothap": SmoothAP()}

if __name__ == "__main__":
    plots.style()
    figure = plots.scores_and_weights(*plots.example(), LOSSES, columns=5)
    target = Path(__file__).parent.parent / "book" / "_static" / "one-picture.png"
    figure.savefig(target, dpi=90, metadata={"Software": None})
