"""Products of matrices, counted: nearly all of the arithmetic of a training, part by part.

A product of n rows with a × b weights takes n·a·b multiplications and as many additions. Training needs three such
products: one forward, and two backward, for the gradient of the weights and for that of the inputs. The second of these
is left out where the inputs are data, which do not learn. A model says its own in ``operations``, and in ``kept`` what
autograd keeps for the backward pass; tests hold both against torch.
"""

from __future__ import annotations

Parts = dict[str, int]  # operations by part of the model


def product(rows: int, inputs: int, outputs: int) -> int:
    """Operations of a matrix product: a multiplication and an addition each."""
    return 2 * rows * inputs * outputs


def total(parts: Parts) -> int:
    """All parts together."""
    return sum(parts.values())


def captions_part(captions: int, d: int, words: float, word_dim: int = 300) -> Parts:
    """A GRU over captions of ``words`` words each: three gates, so each word meets two matrices.

    The first state is zero and does not learn, so nothing has to be passed back to it: one product fewer.
    """
    read = captions * words
    return {
        "words into the GRU": 3 * product(read, word_dim, 3 * d),
        "recurrence, words": 3 * product(read, d, 3 * d) - product(captions, d, 3 * d),
    }


def kept_of_words(captions: int, d: int, words: float, word_dim: int = 300) -> float:
    """Numbers that autograd keeps of a GRU over captions, as torch's own: of a word its vector and eight states."""
    return captions * words * (word_dim + 8 * d)
