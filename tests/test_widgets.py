"""The slider's text: deterministic, labelled, complete. tests/book moves it in a real browser."""

import base64
import json
import sys

import ipywidgets
import matplotlib.pyplot as plt
import pytest
from bs4 import BeautifulSoup

from icrlib.widgets import frames_slider, live


def draw(value):
    figure, axes = plt.subplots(figsize=(2, 1))
    axes.plot([0, value])
    return figure


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
    assert slider().data == slider().data
    assert len({page_of(slider(**o))[0].input["id"] for o in ({}, {"values": (1, 2)}, {"label": "margin"})}) == 3


def test_label_keyboard_and_screen_reader():
    page, _ = page_of(slider(start=1))
    control, output = page.input, page.output
    assert control["type"] == "range" and control["max"] == "2" and control["value"] == "1"
    assert page.label["for"] == control["id"] and output["for"] == [control["id"]]
    assert control["aria-valuetext"] == "0.5" and "tabindex" not in control.attrs and "disabled" not in control.attrs
    # Without scripts (and in print) the first frame is there, with its description.
    assert page.img["alt"] == "frame for 0.5" and page.img["src"].startswith("data:image/png")


def test_text_that_looks_like_markup_stays_text():
    page, data = page_of(slider(label='a "<b>" & c', alt=lambda v: f'</script><i>"{v}"'))
    assert not page.find_all(["b", "i"]) and data["alt"][0] == '</script><i>"0.1"'


@pytest.mark.parametrize("wrong", [{"values": ()}, {"start": 3}, {"alt": lambda v: ""}, {"label": " "}])
def test_bad_input_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        slider(**wrong)


def test_live_sliders_appear_only_where_somebody_looks(monkeypatch):
    for name in ("JPY_SESSION_NAME", "VSCODE_PID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delitem(sys.modules, "google.colab", raising=False)
    labels, drawn = [], []
    monkeypatch.setattr(
        ipywidgets, "interact", lambda function, value: (labels.append(value.description), function(value.value))
    )
    monkeypatch.setattr("icrlib.widgets.frames.plt.show", lambda figure: None)
    live(drawn.append, [1, 2], label="x")
    assert not labels and not drawn
    monkeypatch.setenv("JPY_SESSION_NAME", "chapter.ipynb")
    live(drawn.append, [1, 2], label="x")
    assert labels == ["x"] and drawn == [1]
