"""The control for reading: a bag of words that also has neighbouring words, and nothing that reads."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from icrlib.studies import Run, study

from .ecir import CONSTANTS
from .flickr8k import PHOTO_SEED, photos
from .planned import CLAIM_DRAWS, RATES, TUNING_DRAWS, chosen, scenes, sized

NGRAMS = (2, 3)


@study()
def word_pairs_tuning() -> Iterator[Run]:
    """Rate and temperature for a bag of words with pairs and with triples, as many candidates as VSE++ had."""
    for ngrams, seed, tau, lr in product(NGRAMS, TUNING_DRAWS, CONSTANTS["ntxent"]["tau"], RATES):
        settings = sized("bow") | {"ngrams": ngrams, "lr": lr, "tau": tau}
        yield scenes("word_pairs_tuning", "bow", "ntxent", seed, f"ngrams{ngrams}-lr{lr:g}-tau{tau:g}", settings)


@study(search="word_pairs_tuning", wanted=10)
def word_pairs() -> Iterator[Run]:
    """Does a bag of words know which words belong together, once it has pairs? The best of the search, on ten draws."""
    best = {ngrams: chosen("word_pairs_tuning", "bow", "ntxent", {"ngrams": ngrams}) for ngrams in NGRAMS}
    for seed, ngrams in product(CLAIM_DRAWS, NGRAMS):
        yield scenes("word_pairs", "bow", "ntxent", seed, f"ngrams{ngrams}", best[ngrams])


@study(search="photo_tuning", needs="features")
def photo_pairs_tuning() -> Iterator[Run]:
    """The same on photos: the rates of the bag of words, with the word dropout that it chose and with none."""
    for lr, drop_words in product(RATES, (0.0, 0.2)):
        settings = {"ngrams": 2, "lr": lr, "drop_words": drop_words}
        tag = f"lr{lr:g}-drop{drop_words:g}"
        yield photos("photo_pairs_tuning", "bow", "ntxent", PHOTO_SEED, tag, settings)


@study(search="photo_pairs_tuning", wanted=3, needs="features")
def photo_pairs() -> Iterator[Run]:
    """Pairs on photos, as that search chose, on three seeds; the bag of words itself is in ``photo_runs``."""
    for seed in range(3):
        best = chosen("photo_pairs_tuning", "bow", "ntxent")
        yield photos("photo_pairs", "bow", "ntxent", seed, "ngrams2", best)
