r"""Input target decoding: from a caption's vector, write the caption again, word by word (LTD Eqs. 3-4)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from icrlib.auxiliary.base import Auxiliary, Step
from icrlib.errors import at_least, choose

SOFTMAX = {"vocabulary": 2, "time": 1}  # which axis of (batch, word, vocabulary) the scores are normalised over


class TokenDecoder(Auxiliary):
    r"""A GRU that starts from the caption's vector reads the words so far and guesses the next (RF §6.3).

    Own embedding of the words; the GRU's first state is the normalised caption vector; a linear layer gives a score for
    each word of the vocabulary. The value is the negative log-likelihood of the words, summed over each caption's
    words and averaged over captions: nats a caption. The words are those that the encoder saw.

    ``softmax="time"`` is what the release computes: scores are normalised over the *positions* of the caption, padding
    included, so that nothing says which word comes next; a uniform answer costs log T a word, T the longest caption of
    the batch. The bound :math:`\eta = 6` belongs to it. "vocabulary" is what LTD Eq. 4 says.
    ``decoder_words``: how many numbers a word has in the decoder.
    """

    name = "reconstruction"

    def __init__(self, softmax: str = "vocabulary", decoder_words: int = 300) -> None:
        super().__init__()
        self.axis = SOFTMAX[choose(softmax, SOFTMAX, "softmax")]
        self.size = at_least("decoder_words", decoder_words, 1)

    def prepare(self, data: Any, model: nn.Module) -> None:
        if not model.reads_words:
            raise ValueError(
                f"auxiliary='tokens' writes the caption's words again, but {type(model).__name__} knows "
                "captions as wholes; take method='ltd', or auxiliary='latent'"
            )
        words, size = len(model.vocabulary), model.options["embed_dim"]
        self.embed = nn.Embedding(words, self.size)
        self.gru = nn.GRU(self.size, size, batch_first=True)
        self.score = nn.Linear(size, words)

    def forward(self, step: Step) -> Tensor:
        numbers = step.numbers[:, : int(step.lengths.max())]
        states, _ = self.gru(self.embed(numbers), step.captions.to(self.score.weight.dtype)[None])
        inside = torch.arange(numbers.shape[1], device=numbers.device) < step.lengths[:, None]
        if self.axis == SOFTMAX["time"]:  # behind a caption's end the released decoder's states are 0
            states = states * inside[..., None]
        chances = self.score(states).log_softmax(self.axis)[:, :-1]
        right = chances.gather(2, numbers[:, 1:, None])[..., 0]
        return -(right * inside[:, 1:]).sum() / len(numbers)
