r"""Matching: a head that sees both sides of a pair learns which of the hard pairs belong together (X-VLM; FS S4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from icrlib.auxiliary.base import Auxiliary, Step

LEAST = 1e-5  # added to each chance, as released, before pairs of one image are taken out
STREAM = 5  # of the dice; the data's augmentation has the first four
START = 0.07  # the released temperature before it learns


class Matching(Auxiliary):
    r"""Draw hard pairs from a batch for the model's matching head, ``model.match``.

    It gets the pairs of the batch, for each caption one image and for each image one caption that do not belong to
    it, B + B + B of B pairs. They are drawn by chances that follow the similarities s of the first stage,

    .. math:: p_{qj} \propto \mathrm{softmax}_j(s_{qj} / \tau) + 10^{-5},

    where j belongs to another image than q, else 0: **a caption is never a negative of its own image**, whatever the
    loss counts as positive. No gradient passes through the draws. The value is the mean cross-entropy.

    :math:`\tau` is the learned temperature (``learn_tau``), and 0.07 where the loss learns none, as a GOAL objective in
    place of the contrastive term.

    The dice follow from the seed, the update and the rows of the batch, so a resumed run draws the same pairs.
    """

    name = "matching"

    def prepare(self, data: Any, model: nn.Module) -> None:
        if getattr(model, "match", None) is None:
            raise ValueError(
                f"auxiliary='matching' trains a matching head, and {type(model).__name__} has none: it needs "
                "match(images, captions), the logits of pairs; take method='matching', or another auxiliary"
            )
        self.match = model.match  # the model's own weights, which are trained and saved with it
        self.image_of = data.train.image_of
        self.seed = torch.initial_seed()  # the run's: training has set it, and nothing is drawn from that generator

    def forward(self, step: Step) -> Tensor:
        images, captions, right = self.pairs(step)
        logits = self.match(step.images[images], step.captions[captions])
        return cross_entropy(logits.float(), right)

    def pairs(self, step: Step) -> tuple[Tensor, Tensor, Tensor]:
        """Row and column (P,) of the pairs for the head, and whether they belong together, 1 or 0."""
        scores, same = step.scores.detach(), self.same(step)
        # Row (M,) of each caption's image: in a batch of pairs the one that it came with.
        pairs = same.shape[0] == same.shape[1] and bool(same.diagonal().all())
        positive = torch.arange(len(same)) if pairs else same.float().argmax(0)
        columns, rows = torch.arange(len(positive)), torch.arange(len(scores))
        dice = self.dice(step)
        of_caption = drawn(self.chances(scores.T, same.T, step.tau), dice)
        of_image = drawn(self.chances(scores, same, step.tau), dice)
        parts = [(positive, columns), (of_caption, columns), (rows, of_image)]
        pairs = torch.cat([torch.stack(part) for part in parts], 1)
        right = torch.zeros(pairs.shape[1], dtype=torch.long)
        right[: len(positive)] = 1
        complete = (pairs >= 0).all(0)  # a batch of one image has no other
        return tuple(part[complete].to(scores.device) for part in (*pairs, right))

    def same(self, step: Step) -> Tensor:
        """Which images and captions of the batch belong together, bool (B, M): of one image, or positives."""
        of = self.image_of[step.batch.captions.cpu()]
        return (step.batch.images.cpu()[:, None] == of) | step.positives.cpu()

    def chances(self, scores: Tensor, same: Tensor, learned: Tensor | None = None) -> Tensor:
        """The chance (Q, M) of each candidate to be drawn for its query; 0 for those that belong to it."""
        tau = START if learned is None else learned
        chances = ((scores.double() / tau).softmax(1) + LEAST).cpu().masked_fill(same, 0)
        return chances / chances.sum(1, keepdim=True).clamp_min(LEAST / 2)

    def dice(self, step: Step) -> np.random.Generator:
        """Of one batch, whatever was drawn before."""
        rows = step.batch.captions.tolist()
        return np.random.default_rng([self.seed, step.update, 0, STREAM, *rows])


def drawn(chances: Tensor, dice: np.random.Generator) -> Tensor:
    """A candidate (Q,) of each query by its ``chances`` (Q, M); -1 where all of them are 0."""
    ends = chances.cumsum(1)
    thrown = torch.from_numpy(dice.random(len(chances)))[:, None] * ends[:, -1:]
    # The first whose end lies beyond: never one with chance 0, which ends where the one before it does.
    return (ends <= thrown).sum(1).masked_fill(ends[:, -1] == 0, -1)
