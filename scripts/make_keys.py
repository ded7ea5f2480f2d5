"""Write records/keys.csv: the key of each record of the book and where it lies, by which `icrlib.runs` finds it.

A key that stands there twice is of a run that was trained twice, on two machines: the first row counts.
"""

from __future__ import annotations

import csv
from pathlib import Path

from icrlib import records
from icrlib.experiments.store import key_of

# Studies that trained again what others had: theirs are the second records of a key.
# But "ladder" comes first: with the same results, digit for digit, it also counted twins by what was exchanged.
LATER = ("batch_lengths", "ltd_eta", "reading", "vsrn_size_edges", "vsrn_size_tuning", "vsrn_sizes")


def main() -> None:
    root = records.root()
    every = [(key_of(record["config"]), Path(record["path"])) for record in records.find(study="*")]
    rows = sorted(((key, path.relative_to(root).as_posix()) for key, path in every), key=_order)
    with (root / "keys.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("key", "path"), *rows])
    print(f"{len(rows)} records of {len({key for key, _ in rows})} runs")


def _order(row: tuple[str, str]) -> tuple:
    key, path = row
    study = path.split("/")[1]
    return key, study in LATER, study != "ladder", path


if __name__ == "__main__":
    main()
