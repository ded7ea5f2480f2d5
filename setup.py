"""What pyproject.toml cannot say: the wheel carries records/ and the book's scripts as icrlib._records and ._static.

The log of single updates stays with the studies of which chapters draw it, and with no other. Runs of a search (seeds
from 100 on) are many and the book reads little of them, so the wheel carries them shortened further: without the ranks
of single queries, counted at the chosen epoch only, and of other evaluations than that and the last only plain numbers,
the rsum and the twins, on scenes and of some searches on photos. Of three studies chapters draw curves: on scenes these
keep every evaluation.
The chapters read the rest: tests/book/test_wheel.py executes those that look into single runs of searches.
"""

import json
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

CARRIED = {"icrlib._records": "records", "icrlib._static": "book/_static"}
SEARCH_SEEDS = 100  # settings are searched on seeds from here on, results come from those below
MEASURED = ("cocos", "order")  # at every evaluation; kept at the chosen one
LOGGED = ("tuning", "reading", "ecir", "ltd", "ltd_eta", "ltd_rules", "ltd_tuned", "ltd_more")
CURVES = ("tuning", "half_tuning", "ltd_rules")  # searches of which chapters draw single runs
# Searches on photos of which chapters read what was chosen alone; some were looked at 48 times.
PLAIN = (
    "photo_small_tuning",
    "photo_small_edges",
    "photo_few_sentences_tuning",
    "photo_ltd_tuning",
    "photo_ltd_more_tuning",
    "photo_small",
)
SURPASSED = ("photo_small",)  # by photo_small_own; of it the book reads numbers alone, as of a search
OFTEN = ("photo_small_own", "photo_few_sentences")  # looked at 48 times; the book reads what was chosen
packages, package_dir = find_packages(include=["icrlib", "icrlib.*"]), {}
for package, folder in CARRIED.items():
    if Path(folder).is_dir():
        packages.append(package)
        package_dir[package] = folder


def plain(history, chosen):
    """Of evaluations but the chosen and the last one only plain numbers, the rsum and the twins."""
    return [
        entry
        if entry["update"] == chosen or entry is history[-1]
        else {name: value for name, value in entry.items() if name == "twins" or not isinstance(value, dict)}
        | {"val": {"rsum": entry["val"]["rsum"]}}
        for entry in history
    ]


def shortened(record, study):
    """A record as the wheel carries it: a search's without what only its own run's reader would look at."""
    if not isinstance(record, dict) or "config" not in record:
        return record
    config, history, update = record["config"], record["history"], record["chosen"]["update"]
    curves = config["dataset"] == "scenes" and study in CURVES
    kept = record if study in LOGGED else {k: v for k, v in record.items() if k not in ("log", "log_columns")}
    if config["seed"] < SEARCH_SEEDS and study not in SURPASSED:
        return kept | {"history": plain(history, update)} if study in OFTEN else kept
    if not curves:
        kept = {key: value for key, value in kept.items() if key not in ("log", "log_columns")}
    history = [
        entry if entry["update"] == update else {name: value for name, value in entry.items() if name not in MEASURED}
        for entry in history
    ]
    if not curves and (config["dataset"] == "scenes" or study in PLAIN):
        history = plain(history, update)
    return kept | {"history": history, "test": {k: v for k, v in record["test"].items() if k != "ranks"}}


class BuildWithRecords(build_py):
    """Copies everything as usual, then shortens the copies of records, never the records."""

    def run(self):
        super().run()
        for path in Path(self.build_lib, "icrlib", "_records").rglob("*.json"):
            whole = json.loads(path.read_text(encoding="utf-8"))
            short = shortened(whole, path.parts[path.parts.index("studies") + 1] if "studies" in path.parts else "")
            if short != whole:
                path.unlink()  # a build may link instead of copying
                path.write_text(json.dumps(short, ensure_ascii=False), encoding="utf-8")


DATA = ["**/*.json", "**/*.jsonl", "**/*.csv", "**/*.md", "**/*.safetensors", "**/*.pt", "**/*.npz", "**/backbone.*"]
setup(
    packages=packages,
    package_dir=package_dir,
    cmdclass={"build_py": BuildWithRecords},
    package_data={"icrlib": DATA, "icrlib._records": DATA, "icrlib._static": ["*.js", "*.css"]},
)
