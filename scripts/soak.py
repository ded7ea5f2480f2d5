"""Kill commands at random moments, again and again, and see that the end is what one go makes.

Four kinds of work on rendered photos: training, features, features that replace an older folder, and the index of an
album. Each is started in a process of its own and killed (SIGKILL) after a random time, started again, killed again,
and at last left to finish. Its result must be bit-identical with that of an undisturbed run; before the end, what was
there earlier must still be whole, or be refused by name.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

from icrlib.data import precomputed
from icrlib.progress import bar

ROOT = Path(__file__).resolve().parents[1]
PLACE = "photos", "features", "run"
SCRIPTS = {
    "training": "import icrlib; icrlib.train(icrlib.load_dataset('flickr8k', features={source!r}, min_count=1), 'bow', "
    "updates=60, evaluate_every=5, batch_size=16, embed_dim=16, seed=0, progress=False, out={out!r})",
    "features": "from icrlib.data import features as f; f.PART = 4; "
    "f.extract({photos!r}, {out!r}, backbone='scenes', progress=False)",
    "replacing": "from icrlib.data import features as f; f.PART = 4; "
    "f.extract({photos!r}, {out!r}, backbone='scenes', progress=False)",
    "index": "from icrlib.search import album as a; a.TOGETHER = 2; "
    "a.Album({out!r}).update(a.of_model(a.Path({model!r}), 'run', 'scenes'), a.Path({model!r}), progress=False)",
}


@click.command(help=__doc__)
@click.option("--times", default=30, show_default=True, help="Works of each kind.")
@click.option("--kills", default=2, show_default=True, help="Kills in each.")
@click.option("--kind", "kinds", type=click.Choice(list(SCRIPTS)), multiple=True, default=tuple(SCRIPTS))
@click.option("--seed", default=0, show_default=True)
def main(times: int, kills: int, kinds: tuple[str, ...], seed: int) -> None:
    sys.path.insert(0, str(ROOT))
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        _prepare(base)
        failed = False
        for kind in kinds:
            whole, took = _undisturbed(kind, base)
            wrong, hit = {}, 0
            for number in bar(range(times), kind):
                out = _fresh(kind, base, f"{kind}-{number}")
                hit += sum(_killed(kind, base, out, dice.uniform(0, took)) for _ in range(kills))
                _run(kind, base, out)
                if (found := result(kind, out)) != whole:
                    wrong[number] = what_differs(found, whole)
                shutil.rmtree(out)
            click.echo(f"{kind}: {times} works, {hit} of {times * kills} kills hit them, {len(wrong)} ends differ")
            for number, what in wrong.items():
                click.echo(f"  {kind} {number}: {what}")
            failed |= bool(wrong)
    raise SystemExit(failed)


def _prepare(base: Path) -> None:
    from tests.data.photos import make

    make(base / "photos", train=24, val=8, test=8)
    make(base / "older", train=24, val=8, test=8)
    path = base / "older" / "dataset_scenes.json"
    entries = json.loads(path.read_text())
    for entry in entries["images"]:
        entry["sentences"] = [{"raw": "an older caption"}]
    path.write_text(json.dumps(entries))
    for kind, out in (("features", "features"), ("training", "run")):
        subprocess.run([sys.executable, "-c", _script(kind, base, base / out)], cwd=ROOT, check=True)


def _script(kind: str, base: Path, out: Path) -> str:
    photos, source, model = (str(base / name) for name in PLACE)
    return SCRIPTS[kind].format(photos=photos, source=source, model=model, out=str(out))


def _fresh(kind: str, base: Path, name: str) -> Path:
    """Where a work goes; with an older folder for one that replaces, and pictures for an album."""
    out = base / name
    if kind == "replacing":
        # The same photos with other captions: an older state of the same folder.
        current = base / "photos" / "dataset_scenes.json"
        new = current.read_bytes()
        current.write_bytes((base / "older" / "dataset_scenes.json").read_bytes())
        subprocess.run([sys.executable, "-c", _script(kind, base, out)], cwd=ROOT, check=True)
        current.write_bytes(new)
    if kind == "index":
        shutil.copytree(base / "photos" / "images", out)
    return out


def _undisturbed(kind: str, base: Path) -> tuple[object, float]:
    out, start = _fresh(kind, base, f"{kind}-whole"), time.monotonic()
    _run(kind, base, out)
    return result(kind, out), time.monotonic() - start


def _run(kind: str, base: Path, out: Path) -> None:
    subprocess.run([sys.executable, "-c", _script(kind, base, out)], cwd=ROOT, check=True)


def _killed(kind: str, base: Path, out: Path, after: float) -> bool:
    """Whether the kill came before the end; what is there then is whole, old or new, or refused by name."""
    process = subprocess.Popen([sys.executable, "-c", _script(kind, base, out)], cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        process.wait(timeout=after)
        return False
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
    if kind == "replacing":
        try:
            captions = set(precomputed.load(out, name="flickr8k", min_count=1).train.captions)
        except ValueError as err:
            assert "unfinished" in str(err), err
        else:
            assert (captions == {"an older caption"}) or "an older caption" not in captions, "two runs in one folder"
    return True


def result(kind: str, out: Path) -> object:
    """What has to be the same: every number and text, without times."""
    if kind == "training":
        record = json.loads((out / "record.json").read_text())
        weights = hashlib.sha256((out / "model.safetensors").read_bytes()).hexdigest()
        return record["history"], record["test"], weights
    if kind == "index":
        with sqlite3.connect(out / ".icr" / "album.sqlite") as base:
            return list(base.execute("select name, vector from pictures order by name"))
    return {path.name: path.read_bytes() for path in sorted(out.glob("*_*"))}


def what_differs(found: object, whole: object) -> str:
    """The files that one of two folders has and the other has not, or has otherwise; else how two results begin."""
    if isinstance(found, dict) and isinstance(whole, dict):
        return ", ".join(sorted(name for name in found.keys() | whole.keys() if found.get(name) != whole.get(name)))
    return f"{str(found)[:200]} against {str(whole)[:200]}"


if __name__ == "__main__":
    os.environ.update(OMP_NUM_THREADS="1", TQDM_DISABLE=os.environ.get("TQDM_DISABLE", ""))
    main()
