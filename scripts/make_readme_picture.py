"""Write the README's picture, book/_static/one-picture.png: a score matrix, and the weights of four losses."""

from pathlib import Path

import matplotlib.pyplot as plt

from icrlib import plots
from icrlib.losses import NTXent, SmoothAP, Triplet, TripletSH

if __name__ == "__main__":
    plots.style()
    scores, positives = plots.example()
    figure, axes = plt.subplots(1, 5, figsize=(14.5, 3.2))
    plots.matrix(axes[0], scores, positives, title="scores s")
    for ax, loss in zip(axes[1:], (Triplet(), TripletSH(), NTXent(), SmoothAP()), strict=True):
        plots.matrix(ax, loss.weights(scores, positives), positives, title=f"weights of {loss.label}", weights=True)
        ax.title.set_color(loss.colour)
    target = Path(__file__).parents[1] / "book" / "_static" / "one-picture.png"
    figure.savefig(target, dpi=90, metadata={"Software": None})
