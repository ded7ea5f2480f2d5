"""Read the names of ImageNet's 1,000 classes from WordNet again: icrlib/search/imagenet_names.json, licence and all.

DATA is the file data.noun of WordNet 3.0, which Debian's package wordnet-base holds
(apt-get download wordnet-base; dpkg-deb -x wordnet-base_*.deb there; there/usr/share/wordnet/data.noun).
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import click

from icrlib.files import write_bytes
from icrlib.search.imagenet_words import NAMES


@click.command(help=__doc__)
@click.argument("data", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def main(data: Path) -> None:
    told = json.loads(NAMES.read_text(encoding="utf-8"))
    words = synsets(data)
    told["names"] = {number: words[number] for number in told["names"]}  # which classes there are stays
    rows = ",\n".join(f"  {json.dumps(key)}: {json.dumps(some)}" for key, some in told.pop("names").items())
    head = "".join(f" {json.dumps(key)}: {json.dumps(value)},\n" for key, value in told.items())
    write_bytes(NAMES, f'{{\n{head} "names": {{\n{rows}\n }}\n}}\n'.encode())


def synsets(data: Path) -> dict[str, list[str]]:
    """The words of each noun synset by its number, as wndb(5WN) lays them out."""
    found = {}
    for line in data.read_text(encoding="ascii").splitlines():
        if not line.startswith(" "):  # the licence is above
            number, _, _, count, *rest = line.split(" ")
            words = rest[: 2 * int(count, 16) : 2]
            found[f"n{number}"] = [re.sub(r"\(\w+\)$", "", word).replace("_", " ") for word in words]
    return found


if __name__ == "__main__":
    main()
