"""How long does a command make one wait before it does anything? Against the least that a search must import."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import click
import numpy as np

import icrlib
from benchmarks.timing import compare, show

REPEATS = 3
NOTEBOOK = Path(__file__).resolve().parents[1] / "book" / "do" / "run.ipynb"
PLANS = (f"run {NOTEBOOK} -p loss=ntxent --plan", "plan -p loss=triplet,ntxent -p seed=0,1,2")


def called(*words: str) -> None:
    """A program of its own, from its start to its end."""
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)


def processor_seconds(*words: str) -> float:
    """What a program of its own takes of the processor, in the second of two calls: the first makes the index."""
    called(*words)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    called(*words)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def searchable(folder: Path) -> tuple[str, str]:
    """A trained bag of words and the features of its pictures, in a folder: what a search needs."""
    drawn = icrlib.load_dataset("scenes", train=60, val=20, test=20, progress=False)
    features = folder / "features"
    features.mkdir()
    for split, part in ((drawn.train, "train"), (drawn.val, "dev"), (drawn.test, "test")):
        np.save(features / f"{part}_ims.npy", np.asarray(split.features))
        (features / f"{part}_caps.txt").write_text("".join(f"{caption}\n" for caption in split.captions))
    data = icrlib.load_dataset("flickr8k", features=features)
    icrlib.train(data, "bow", updates=4, embed_dim=8, out=folder / "run", progress=False)
    return str(folder / "run"), str(features)


def main(device: str) -> None:
    """The table of beginnings; a command line has no device."""
    with tempfile.TemporaryDirectory() as place:
        run, features = searchable(Path(place))
        commands = {
            "icr --help": ["--help"],
            "icr status": ["status", place],
            "icr search RUN WORDS": ["search", run, "a red ring", "--features", features],
        }
        rows = [
            compare(
                what,
                lambda words=words: called("-m", "icrlib", *words),
                lambda: called("-c", "import torch"),
                "importing PyTorch alone",
                higher_is_better=False,
                repeats=REPEATS,
            )
            for what, words in commands.items()
        ]
    show("From the shell's prompt to the answer", rows)
    least = processor_seconds("-c", "import torch")
    click.echo(f"\nProcessor time of a plan, beside {least:.1f} s for importing PyTorch alone:")
    for words in PLANS:
        shown = words.replace(str(NOTEBOOK), NOTEBOOK.name)
        click.echo(f"  icr {shown:44} {processor_seconds('-m', 'icrlib', *words.split()):.1f} s")
