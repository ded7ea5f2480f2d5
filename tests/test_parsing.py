"""Text and JSON that others wrote: read as it is meant, or refused with the file and the place."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from icrlib import parsing

ANY = settings(max_examples=300)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
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
    assert str(err.value).startswith(str(path))


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (b"a\nb\n", ["a", "b"]),
        (b"a\r\nb", ["a", "b"]),
        (b"", []),
        (b"\n\n", ["", ""]),
        (b"\xef\xbb\xbfa\nb", ["a", "b"]),
        ("x\u2028y\u0085z\x0bw\x0c\x1c\nb".encode(), ["x\u2028y\u0085z\x0bw\x0c\x1c", "b"]),
    ],
)
def test_lines(path, raw, found):
    path.write_bytes(raw)
    assert parsing.lines(path) == found


def test_text_that_is_none(path):
    path.write_bytes(b"one\ntwo\rthree\n")
    refuse(path, "line 2: a carriage return", parsing.lines)
    path.write_bytes(b"one\ntwo\nth\xffree\n")
    refuse(path, "line 3: not UTF-8 text .*byte 10", parsing.lines)
    with pytest.raises(FileNotFoundError):
        parsing.lines(path.with_name("nowhere"))
    refuse(path.parent, "cannot be read", parsing.text)


@pytest.mark.parametrize(
    "damage",
    [lambda raw: raw[:-9], lambda raw: raw[:5], lambda raw: b"plain", lambda raw: raw[:20] + b"\0\0\0" + raw[23:]],
)
def test_gzip(path, damage):
    packed = path.with_name("a.json.gz")
    whole = gzip.compress(json.dumps({"a": list(range(50))}).encode())
    packed.write_bytes(whole)
    assert parsing.of_json(packed) == {"a": list(range(50))}
    packed.write_bytes(damage(whole))
    refuse(packed, "cannot be read")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ('{"a": 1', "not a whole JSON file"),
        ("", "not a whole JSON file"),
        ('{"a": NaN}', "NaN is no number"),
        ('{"a": -Infinity}', "-Infinity is no number"),
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
    ],
)
def test_what_no_file_holds(path, content, why):
    path.write_text(content)
    refuse(path, why)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"sizes": []}, "it has no name"),
        ({}, "it has no name, sizes"),
        ([1], "it must be object; got \\[1\\]"),
        ({"name": 3, "sizes": []}, "it.name must be string; got 3"),
        ({"name": "a", "sizes": [1, True]}, "it.sizes\\[1\\] must be integer; got True"),
        ({"name": "a", "sizes": "x" * 100}, "it.sizes must be array; got 'x+…"),
    ],
)
def test_the_form_is_checked(path, value, why):
    path.write_text(json.dumps(value))
    refuse(path, why, schema=SCHEMA)
    path.write_text('{"name": "a", "sizes": [1], "more": null}')
    assert parsing.of_json(path, SCHEMA)["sizes"] == [1]


@ANY
@given(value=JSON)
def test_any_json_is_read_as_json_reads_it(path, value):
    path.write_text(json.dumps(value))
    assert parsing.of_json(path) == json.loads(path.read_text())
    wrong = parsing.misfit(value, SCHEMA)

    def whole(size):
        return not isinstance(size, bool) and isinstance(size, (int, float)) and size == int(size)

    fits = (
        isinstance(value, dict)
        and isinstance(value.get("name"), str)
        and isinstance(value.get("sizes"), list)
        and all(map(whole, value["sizes"]))
    )
    assert (wrong is None) == fits


@ANY
@given(raw=st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(path, raw):
    path.write_bytes(raw)
    for read in (parsing.text, parsing.lines, parsing.of_json):
        try:
            read(path)
        except parsing.BadFile as err:
            assert str(path) in str(err)
