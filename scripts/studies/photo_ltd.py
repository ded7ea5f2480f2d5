"""LTD on photos: rows 1.1, 1.4 and 1.5, and the sentence encoder itself as caption encoder (rows 4.*), on Flickr8k.

Finished features, so the half of the training in which the image network rests.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from icrlib.studies import Run, study

from .flickr8k import FEW_UPDATES, PHOTO_SEED, PHOTO_UPDATES, few_photos, photos
from .planned import RATES, best, chosen, finished, validation

RATES_HERE = (round(RATES[0] / 3, 11), *RATES[:2])  # rounded as records hold it
LEFT_OUT = {"": 0.0, "-drop": 0.1, "-drop0.2": 0.2}
BOUNDS = (0.1, 0.2, 0.3, 0.4, 0.5)  # a constant answer costs 0.72 here
PUBLISHED_BOUND = 0.2
SENTENCE = {"embed_dim": 384}
# Row: method, loss, settings. The caption head of rows 4.*.2 as released, and with vectors of length 1.
SENTENCES = {
    "fixed": ("alignment", SENTENCE),
    "tuned": ("ntxent", SENTENCE),
    "tuned-unit": ("ntxent", SENTENCE | {"caption_norm": True}),
}
COLDER, WARMER = 0.025, 0.1  # half and twice LTD's published temperature; scenes preferred the latter


@study(needs="features")
def photo_ltd_tuning() -> Iterator[Run]:
    """The rate of each of the sentence encoder's rows, which are cheap; the baseline's rate and left-out words."""
    for (name, (loss, settings)), lr in product(SENTENCES.items(), RATES_HERE):
        yield photos("photo_ltd_tuning", "sentence", loss, PHOTO_SEED, f"{name}-lr{lr:g}", settings | {"lr": lr})
    for lr, (tag, share) in product(RATES_HERE, LEFT_OUT.items()):
        yield photos(
            "photo_ltd_tuning",
            "ltd",
            "ntxent",
            PHOTO_SEED,
            f"lr{lr:g}{tag}",
            {"objective": "con", "lr": lr, "drop_words": share, "delete_words": min(share, 0.1)},
        )


def _baseline() -> dict:
    return chosen("photo_ltd_tuning", "ltd", "ntxent")


@study(search="photo_ltd_tuning", needs="features")
def photo_ltd_eta_tuning() -> Iterator[Run]:
    """Bounds of the decoded sentence vector."""
    base = _baseline()
    for eta in BOUNDS:
        yield photos(
            "photo_ltd_eta_tuning",
            "ltd",
            "ntxent",
            PHOTO_SEED,
            f"eta{eta:g}",
            base | {"objective": "lagrange", "target": "sbert", "eta": eta},
        )


@study(search="photo_ltd_tuning", later="photo_ltd_eta_tuning", wanted=3, needs="features")
def photo_ltd() -> Iterator[Run]:
    """Three seeds of each row: the published bound, and the one that the validation photos chose.

    The sentence encoder's rows and the baseline need no bound, and come first.
    """
    base = _baseline()
    rates = {name: best(photo_ltd_tuning.runs(), f"{name}-lr").settings["lr"] for name in SENTENCES}
    for seed, (name, (loss, settings)) in product(range(3), SENTENCES.items()):
        yield photos("photo_ltd", "sentence", loss, seed, name, settings | {"lr": rates[name]})
    for seed in range(3):
        yield photos("photo_ltd", "ltd", "ntxent", seed, "con", base | {"objective": "con"})
    if not finished("photo_ltd_eta_tuning"):
        return
    decoded = base | {"target": "sbert"}
    chosen_bound = best(photo_ltd_eta_tuning.runs()).settings["eta"]
    for seed in range(3):
        yield photos("photo_ltd", "ltd", "ntxent", seed, "dual", decoded | {"objective": "dual"})
        yield photos("photo_ltd", "ltd", "ntxent", seed, f"eta{chosen_bound:g}", _held(decoded, chosen_bound))
    for seed in range(3 if chosen_bound != PUBLISHED_BOUND else 0):
        yield photos("photo_ltd", "ltd", "ntxent", seed, f"eta{PUBLISHED_BOUND:g}", _held(decoded, PUBLISHED_BOUND))


def _held(decoded: dict, eta: float) -> dict:
    return decoded | {"objective": "lagrange", "eta": eta}


@study(search="photo_ltd_tuning", needs="features")
def photo_ltd_more_tuning() -> Iterator[Run]:
    """Two doubts: is the published temperature too low, as it was on scenes, and is the schedule too long?

    The tuned sentence vectors are at their best before a third of the updates is over; so is a bag of words, for which
    shorter schedules were searched.
    """
    for name in _PUBLISHED:
        yield from _more(name)


@study(search="photo_ltd_more_tuning", needs="features")
def photo_ltd_more() -> Iterator[Run]:
    """Three seeds of the best of those, where it is better on the validation photos than what was published."""
    for seed, (name, begins) in product(range(3), _PUBLISHED.items()):
        run = best(_more(name))
        if validation(run) > validation(best(photo_ltd_tuning.runs(), begins)):
            yield photos("photo_ltd_more", run.method, run.loss, seed, name, run.settings)


def _more(name: str) -> Iterator[Run]:
    """One row at other temperatures, and with other lengths of schedule."""
    short, shorter = (
        {"updates": PHOTO_UPDATES // part, "evaluate_every": PHOTO_UPDATES // (12 * part)} for part in (3, 6)
    )
    changes = {"warm": {"tau": WARMER}}
    if name != "con":
        cold = {"tau": COLDER}
        changes |= {
            "short": short,
            "warm-short": changes["warm"] | short,
            "shorter": shorter,
            "cold-short": cold | short,
        }
    run = best(photo_ltd_tuning.runs(), _PUBLISHED[name])
    for tag, change in changes.items():
        yield photos("photo_ltd_more_tuning", run.method, run.loss, PHOTO_SEED, f"{name}-{tag}", run.settings | change)


@study(needs="features")
def photo_few_sentences_tuning() -> Iterator[Run]:
    """The sentence encoder on 400 photos: rate, and the temperature of its tuned vectors."""
    for (name, (loss, settings)), lr in product(SENTENCES.items(), RATES):
        for tau in (None,) if loss == "alignment" else (0.05, WARMER):
            yield few_photos(
                "photo_few_sentences_tuning",
                "sentence",
                loss,
                PHOTO_SEED,
                f"{name}-lr{lr:g}" + (f"-tau{tau:g}" if tau else ""),
                _FEW | settings | {"lr": lr} | ({"tau": tau} if tau else {}),
            )


@study(search="photo_few_sentences_tuning", wanted=3, needs="features")
def photo_few_sentences() -> Iterator[Run]:
    """What that search chose, on three seeds."""
    for seed, name in product(range(3), SENTENCES):
        run = best(photo_few_sentences_tuning.runs(), f"{name}-lr")
        yield few_photos("photo_few_sentences", "sentence", run.loss, seed, name, run.settings)


_FEW = {"evaluate_every": FEW_UPDATES // 48}  # the other runs on 400 photos are looked at as often
_PUBLISHED = {"tuned-unit": "tuned-unit-lr", "tuned": "tuned-lr", "con": "lr"}  # how the tags of their searches begin
