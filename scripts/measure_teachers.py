"""Write down what sentence encoders see of captions of scenes: icrlib/data/targets/measured.json, one entry a teacher.

For teachers that are too large to be asked whenever the book is built. "mpnet" wants its packages or a folder; the
error of icrlib names the ways.
"""

from __future__ import annotations

import json
from pathlib import Path

import click

import icrlib
from icrlib.data.targets import measured, teacher
from icrlib.files import write_bytes

FILE = Path(measured.__file__).with_name(measured.RECORDED)


@click.command(help=__doc__)
@click.argument("names", nargs=-1, required=True)
def main(names: tuple[str, ...]) -> None:
    data = icrlib.load_dataset("scenes", seed=0)
    found = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    for name in names:
        found[name] = {key: round(value, 6) for key, value in measured.measured(data, teacher(name)).items()}
        click.echo(f"{name}: {found[name]}")
    write_bytes(FILE, (json.dumps(found, indent=1, sort_keys=True) + "\n").encode())


if __name__ == "__main__":
    main()
