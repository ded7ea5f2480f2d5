"""The slider's text: deterministic, labelled, complete. tests/book moves it in a real browser."""

import base64
import json

import ipywidgets
import matplotlib.pyplot as plt
from bs4 import BeautifulSoup

from icrlib.widgets import frames_slider, live


def draw(value):
    return plt.figure(figsize=(2, 1), facecolor=str(value / 2))


def slider(values=(0.1, 0.5, 2.0), label="temperature τ", alt="frame for {}".format, **options):
    return frames_slider(draw, values, label=label, alt=alt, **options)


def page_of(text):
    """The page, and what its script is given."""
    page = BeautifulSoup(text.data, "html.parser")
    return page, json.loads(page.find("script", type="application/json").string)


def test_one_frame_a_value_and_each_is_a_png():
    before = plt.get_fignums()
    _, data = page_of(slider())
    assert plt.get_fignums() == before  # figures are closed
    assert data["value"] == ["0.1", "0.5", "2.0"] and data["alt"][1] == "frame for 0.5"
    pictures = [base64.b64decode(p.removeprefix("data:image/png;base64,")) for p in data["png"]]
    assert len(set(pictures)) == 3 and all(p.startswith(b"\x89PNG") for p in pictures)
    assert page_of(slider(start=1))[0].img["alt"] == "frame for 0.5"  # also in print, and without scripts
    assert slider().data == slider().data
    assert len({page_of(slider(**o))[0].input["id"] for o in ({}, {"values": (1, 2)}, {"label": "margin"})}) == 3


def test_text_that_looks_like_markup_stays_text():
    page, data = page_of(slider(label='a "<b>" & c', alt=lambda v: f'</script><i>"{v}"'))
    assert not page.find_all(["b", "i"]) and data["alt"][0] == '</script><i>"0.1"'


def test_live_sliders_appear_only_where_somebody_looks(monkeypatch):
    drawn = []
    monkeypatch.setattr(ipywidgets, "interact", lambda function, value: function(value.value))
    monkeypatch.setattr("icrlib.widgets.frames.plt.show", lambda figure: None)
    for session in ("", "chapter.ipynb"):
        monkeypatch.setattr("icrlib.widgets.frames.os.environ", {"JPY_SESSION_NAME": session} if session else {})
        live(drawn.append, [1, 2], label="x")
        assert drawn == ([1] if session else [])
