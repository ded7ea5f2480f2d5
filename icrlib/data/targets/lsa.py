"""Latent semantic analysis: target vectors for any language, from the training captions alone.

The words' TF-IDF counts, projected on their leading singular directions (Deerwester et al. 1990). LTD's paper names
targets for languages without a sentence encoder as future work. A bag of words: it sees no order at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import torch
from torch import Tensor

from icrlib.data.targets.base import Teacher, distinct
from icrlib.data.text import tokenize
from icrlib.files import sha256_of


class LSA(Teacher):
    """TF-IDF (1 + log count, smoothed idf) and a truncated SVD, fitted on ``captions`` at the first use.

    ``size`` is 256, or less where there are fewer different words or captions. A caption without a word of the training
    captions gets their mean direction, the best guess about it.
    """

    name, size = "lsa", 256

    def __init__(self, captions: Sequence[str] | None = None) -> None:
        if captions is None:
            raise ValueError("target 'lsa' is fitted on captions: teacher('lsa', captions=data.train.captions)")
        self.captions, texts = list(captions), distinct(captions)[0]
        words = {word for caption in texts for word in tokenize(caption)}
        self.size = min(LSA.size, len(words) - 1, len(texts) - 1)
        self.identity = sha256_of("lsa 1", str(self.size), *(part for text in self.captions for part in (text, "")))

    @cached_property
    def _fitted(self) -> tuple:
        """The counter, the projection, and the mean direction (d,) of the training captions."""
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer

        counts = TfidfVectorizer(tokenizer=tokenize, token_pattern=None, lowercase=False, sublinear_tf=True)
        projection = TruncatedSVD(self.size, n_iter=7, random_state=0)
        values = torch.from_numpy(projection.fit_transform(counts.fit_transform(self.captions)))
        return counts, projection, torch.nn.functional.normalize(values, dim=1).mean(0)

    def _parts(self, captions: list[str]) -> Iterator[tuple[list[int], Tensor]]:
        counts, projection, mean = self._fitted
        values = torch.from_numpy(projection.transform(counts.transform(captions)))
        values[values.norm(dim=1) < 1e-9] = mean
        yield list(range(len(captions))), values
