"""Made-up records of LTD's studies on scenes: a real record of each draw with another objective and result in it.

And the cells of shortcuts/tables that read such records.
"""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np

import chapter_cells
from chapter_cells import taken
from icrlib import records
from record_files import put

REAL = sorted(records.find(study="ecir", method="vse++", loss="ntxent"), key=lambda r: r["config"]["seed"])[:5]
SHORTCUTS = Path(__file__).parents[2] / "book" / "shortcuts"
TABLES, DECODING = SHORTCUTS / "tables.py", SHORTCUTS / "decoding.py"
BETA, PUBLISHED, PROJECTED = (
    {"objective": "dual"},
    *({"objective": "lagrange", "multiplier": rule} for rule in ("published", "projected")),
)
WEIGHED = {"dual": BETA, "published": PUBLISHED, "projected": PROJECTED}
KINDS = {
    "sbert": {"auxiliary": "latent", "auxiliary_options": {"target": "sbert"}},
    "words": {"auxiliary": "tokens", "auxiliary_options": {"softmax": "vocabulary", "decoder_words": 64}},
    "form": {"auxiliary": "latent", "auxiliary_options": {"target": "form"}},
    "time": {"auxiliary": "tokens", "auxiliary_options": {"softmax": "time", "decoder_words": 64}},
}
ETA = {"sbert": 0.1, "words": 9.0, "form": 0.33, "time": 6.0}
ROWS = [(kind, way) for kind in KINDS for way in WEIGHED if (kind, way) != ("time", "projected")]


def made_up(kind, way, seed, *, rsum=400.0, swap=60.0, begins=1500, val=400.0, **settings):
    """A real record of that draw with another model, objective and result written into it."""
    record = copy.deepcopy(next(r for r in REAL if r["config"]["seed"] == seed))
    beside = {"objective": "con", "auxiliary": None, "auxiliary_options": {}}
    if kind != "con":
        beside = KINDS[kind] | WEIGHED[way]
    held = beside["objective"] == "lagrange"
    beside = {"beta": 1.0, "multiplier": "published", "eta": ETA[kind] if held else None} | beside
    record["config"] |= {"method": "ltd", "model_options": {"embed_dim": 128, "word_dim": 64}} | beside | settings
    if kind in ("sbert", "form"):
        record["auxiliary"] = {"target": kind, "floor": {"sbert": 0.34, "form": 0.66}[kind] + 0.01 * seed}
    for entry in record["history"]:
        entry["twins"]["swap"] = 50.0 if begins is None or entry["update"] < begins else 70.0
        if kind != "con":
            entry["reconstruction"] = 0.5 - entry["update"] / 10000 + 0.01 * seed
        if held:
            entry["lambda"] = entry["update"] / 1000
    record["chosen"] = {"update": record["history"][-2]["update"], "val_rsum": val}
    record["test"]["rsum"], record["wall_seconds"] = rsum, 50.0 + seed
    record["test"]["twins"] |= {"swap": swap, "attribute": 90.0 + seed}
    return record


def gains(kind, way):
    """How far each draw is ahead of the loss alone, in rsum; by ten for each row, up to a wobble."""
    wobble = np.array([0.7 * seed - 0.2 * seed**2 for seed in range(5)])
    return 10.0 * (ROWS.index((kind, way)) - 4) + wobble


def everything(book, study="ltd", rows=ROWS, seeds=range(5), **settings):
    for seed in seeds:
        put(book, study, made_up("con", "con", seed, rsum=400.0 + 9 * seed, swap=60.0, **settings), "con")
        for kind, way in rows:
            more = gains(kind, way)[seed]
            put(
                book,
                study,
                made_up(
                    kind,
                    way,
                    seed,
                    rsum=400.0 + 9 * seed + more,
                    swap=60.0 + more / 10,
                    begins=1000 if kind == "form" else None if kind == "time" else 1500,
                    **settings,
                ),
                f"{kind}-{way}",
            )


def decoding_imports():
    return [
        cell for start in ("import inspect", "import icrlib\n") for cell in taken(DECODING, start, 1, "smoke = chapter")
    ]


def tables(*wanted, **given):
    """The cells ``wanted`` of shortcuts/tables, each (start, last), with its helpers: names, and what they show."""
    helpers = [
        *taken(TABLES, "import matplotlib", until="smoke = chapter"),
        *taken(TABLES, "OURS = "),
        *taken(TABLES, "def over_baseline", until="AHEAD ="),
        *taken(TABLES, "def warmer", until="WARM = "),
    ]
    cells = [cell for start, last in wanted for cell in taken(TABLES, start, last)]
    names = {"smoke": False, "SIDES": {"i2t": "image to text", "t2i": "text to image"}} | given
    return chapter_cells.execute([*helpers, *cells], names)
