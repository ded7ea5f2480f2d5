r"""Latent target decoding: from a caption's vector, find what a sentence encoder says of the caption (LTD Eqs. 5-6)."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from icrlib.auxiliary.base import Auxiliary, Step
from icrlib.data import targets
from icrlib.errors import at_least


class LatentTarget(Auxiliary):
    r"""Decode a caption's vector :math:`\hat q` by three layers to :math:`\tilde y`; the value is mean 1 − cos(ỹ, y).

    y is the ``target`` of the *whole* caption, also where the encoder saw it with words left out (RF §6.4): "sbert"
    (all-MiniLM-L6-v2, the paper's), "lsa", "form" (scenes: the caption's logical form), or the name that
    :func:`icrlib.data.targets.hold` gave to an object of your own. Layers d → ``hidden`` → ``hidden`` → size of y with
    ReLU between, biases, Xavier's weights, as released (LTD Eq. 5 prints no biases). ``hidden``: d/2 if nothing is
    said, which is the published 512 of 1,024.
    """

    name = "reconstruction"

    def __init__(self, target: str = "sbert", hidden: int | None = None) -> None:
        super().__init__()
        self.target, self.hidden = target, None if hidden is None else at_least("hidden", hidden, 1)

    def prepare(self, data: Any, model: nn.Module) -> None:
        """The targets of all training captions, from the cache if they are there; and the decoder."""
        self.teacher = targets.for_dataset(data, self.target)
        # Not part of a checkpoint: they follow from the data and the teacher, and are large.
        self.register_buffer("targets", targets.vectors(data.train, self.teacher), persistent=False)
        dims = model.options["embed_dim"]
        hidden = self.hidden or dims // 2
        sizes = (dims, hidden, hidden, self.targets.shape[1])
        layers = [nn.Linear(inputs, outputs) for inputs, outputs in zip(sizes, sizes[1:], strict=False)]
        for layer in layers:
            nn.init.xavier_uniform_(layer.weight)
        self.decode = nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])

    def forward(self, step: Step) -> Tensor:
        wanted = self.targets[step.batch.captions.to(self.targets.device)]
        return (1 - cosine_similarity(self.decode(step.captions.to(self.decode[0].weight.dtype)), wanted)).mean()

    def about(self) -> dict:
        """What a record says of the targets: ``floor``, what the best constant answer would reach (mean 1 − cos)."""
        return {"target": self.target, "teacher": self.teacher.identity, "floor": targets.floor(self.targets)}
