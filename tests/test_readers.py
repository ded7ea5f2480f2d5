"""The table of readers is that of today's code, and the search for them finds what it should."""

from __future__ import annotations

import pytest

from tests import readers


def test_the_table_names_every_place_that_reads():
    there, told = readers.found(), set(readers.listed())
    assert not there - told, f"say in tests/readers.py what these read: {sorted(there - told)}"
    assert not told - there, f"these read nothing any more: {sorted(told - there)}"


@pytest.mark.parametrize(
    "source",
    [
        "def f(): open('x')",
        "def f(p): p.read_text()",
        "import numpy as np\ndef f(p): return np.load(p)",
        "from numpy import load as taken\ndef f(p): return taken(p)",
        "from json import loads\ndef f(p): return map(loads, p)",
        "import json\ndef f(p):\n    def g(): json.load(p)\n    g()",
        "from PIL import Image\nclass A:\n    def f(self, p): return Image.open(p)",
        "def f(p):\n    import pickle\n    return pickle.loads(p)",
        "import tarfile\ndef f(p): return tarfile.open(p)",
        "from safetensors.torch import load_file\ndef f(p): return load_file(p)",
        "from icrlib import parsing\ndef f(p): return parsing.of_json(p)",
        "import sqlite3\ndef f(p): return sqlite3.connect(p)",
        "from torch import load\ndef f(p): return load(p)",
        "import zipfile\ndef f(p): return zipfile.ZipFile(p)",
        "import csv\ndef f(p): return csv.DictReader(p)",
        "import os\ndef f(): return os.environ['X']",
        "def f(p): return build(p).read_bytes()",
    ],
)
def test_what_reads_is_seen(source):
    assert readers.functions(source) & {"f", "g"}


@pytest.mark.parametrize("source", ["def f(p): p.write_text('')", "def f(run): run.load(3)", "def f(): opened = 3"])
def test_what_does_not_is_not(source):
    assert not readers.functions(source)
