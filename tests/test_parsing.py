"""Text and JSON that others wrote: read as it is meant, or refused with the file and the place."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from icrlib import parsing

SCHEMA = {
    "type": "object",
    "required": ["name", "sizes"],
    "properties": {"name": {"type": "string"}, "sizes": {"type": "array", "items": {"type": "integer"}}},
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.json"


def refuse(path, match, read=parsing.of_json, **more):
    with pytest.raises(parsing.BadFile, match=match) as err:
        read(path, **more)
    assert str(err.value).startswith(str(path)) and "\n" not in str(err.value)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"a\nb\n", ["a", "b"]),
        (b"a\r\nb", ["a", "b"]),
        (b"", []),
        (b"\n\n", ["", ""]),
        (b"\xef\xbb\xbfa\nb", ["a", "b"]),
        ("x\u2028y\u0085z\x0bw\x0c\x1c\nb".encode(), ["x\u2028y\u0085z\x0bw\x0c\x1c", "b"]),
    ],
)
def test_lines(path, raw, expected):
    path.write_bytes(raw)
    assert parsing.lines(path) == expected


def test_text_that_is_none(path):
    path.write_bytes(b"one\ntwo\rthree\n")
    refuse(path, "line 2: .*carriage return", parsing.lines)
    path.write_bytes(b"one\ntwo\nth\xffree\n")
    refuse(path, "line 3: .*UTF-8.*byte 10", parsing.lines)
    with pytest.raises(FileNotFoundError):
        parsing.lines(path.with_name("nowhere"))
    refuse(path.parent, "cannot be read", parsing.text)


def test_packed_files(path):
    packed = path.with_name("a.json.gz")
    content = gzip.compress(json.dumps({"a": list(range(50))}).encode())
    packed.write_bytes(content)
    assert parsing.of_json(packed) == {"a": list(range(50))}
    for damaged in (content[:-9], content[:5], b"plain", content[:20] + b"\0\0\0" + content[23:]):
        packed.write_bytes(damaged)
        refuse(packed, "cannot be read")


@pytest.mark.parametrize("content", ['{"a": 1', "", '{"a": NaN}', "[" * 100_000 + "]" * 100_000, "9" * 5000])
def test_what_is_no_json(path, content):
    path.write_text(content)
    refuse(path, "not a whole JSON file")


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({}, "it has no name, sizes"),
        ([1], r"it must be object; got \[1\]"),
        ({"name": 3, "sizes": []}, "it.name must be string; got 3"),
        ({"name": "a", "sizes": [1, True]}, r"it.sizes\[1\] must be integer; got True"),
        ({"name": "a", "sizes": "x" * 100}, "it.sizes must be array; got 'x+[.]+"),
    ],
)
def test_the_form_is_checked(path, value, why):
    path.write_text(json.dumps(value))
    refuse(path, why, schema=SCHEMA)
    path.write_text('{"name": "a", "sizes": [1], "more": null}')
    assert parsing.of_json(path, SCHEMA)["sizes"] == [1]


def test_lines_of_json(path):
    assert parsing.json_lines(path, SCHEMA) == []
    line = json.dumps({"name": "a", "sizes": []})
    path.write_text(f"{line}\n{line}\n")
    assert len(parsing.json_lines(path, SCHEMA)) == 2
    path.write_text(f"{line}\n[]\n")
    refuse(path, "line 2", parsing.json_lines, schema=SCHEMA)


@settings(max_examples=200)
@given(raw=st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(path, raw):
    path.write_bytes(raw)
    for read in (parsing.text, parsing.lines, parsing.of_json):
        try:
            read(path)
        except parsing.BadFile as err:
            assert str(path) in str(err)
