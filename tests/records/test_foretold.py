"""The lines of predictions: damaged ones are named."""

from __future__ import annotations

import json

import pytest

from icrlib import parsing
from icrlib.records import foretold


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "line 2: .*get the file again"),
        ("[]", "line 2: the line must be object"),
        ('{"name": "a"}', "line 2: the line .*runs"),
        ("\x00", "line 2: "),
    ],
)
def test_a_damaged_line_is_named(tmp_path, monkeypatch, line, why):
    place = tmp_path / foretold.LINES
    monkeypatch.setattr(foretold, "root", lambda: tmp_path)
    assert foretold.lines() == {}
    whole = {name: "a" for name in ("name", "runs", "claim", "measure", "reason")} | {"low": 0, "high": None}
    place.write_text(json.dumps(whole) + "\n")
    assert foretold.lines() == {"a": whole}
    place.write_text(place.read_text() + line + "\n")
    with pytest.raises(parsing.BadFile, match=why):
        foretold.lines()
