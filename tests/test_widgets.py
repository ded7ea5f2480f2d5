"""The slider's text: deterministic, labelled, complete. tests/book moves it in a real browser."""

import base64
import json
from html.parser import HTMLParser

import matplotlib.pyplot as plt
import pytest

from icrlib.widgets import frames_slider


def draw(value):
    figure, axes = plt.subplots(figsize=(2, 1))
    axes.plot([0, value])
    return figure


def slider(values=(0.1, 0.5, 2.0), label="temperature τ", alt="frame for {}".format, **options):
    return frames_slider(draw, values, label=label, alt=alt, **options)


class Elements(HTMLParser):
    """Start tags with attributes, and the text of the JSON script."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.json, self._inside = [], "", False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = tag == "script" and dict(attrs).get("type") == "application/json"

    def handle_endtag(self, tag):
        self._inside = False

    def handle_data(self, data):
        self.json += data if self._inside else ""

    def only(self, tag):
        (attrs,) = [a for t, a in self.tags if t == tag]
        return attrs


def test_same_input_gives_same_text_and_other_input_another_id():
    assert slider().data == slider().data
    ids = {Elements(slider(**o).data).only("input")["id"] for o in ({}, {"values": (1, 2)}, {"label": "margin"})}
    assert len(ids) == 3


def test_one_frame_a_value_and_each_is_a_png():
    data = json.loads(Elements(slider().data).json)
    assert data["value"] == ["0.1", "0.5", "2.0"] and data["alt"][1] == "frame for 0.5"
    pictures = [base64.b64decode(p.removeprefix("data:image/png;base64,")) for p in data["png"]]
    assert len(set(pictures)) == 3 and all(p.startswith(b"\x89PNG") for p in pictures)
    assert all(b"Matplotlib" not in p for p in pictures)


def test_label_keyboard_and_screen_reader():
    page = Elements(slider(start=1).data)
    control = page.only("input")
    assert control["type"] == "range" and control["max"] == "2" and control["value"] == "1"
    assert page.only("label")["for"] == control["id"] == page.only("output")["for"]
    assert control["aria-valuetext"] == "0.5" and "tabindex" not in control and "disabled" not in control
    # Without scripts (and in print) the first frame is there, with its description.
    assert page.only("img")["alt"] == "frame for 0.5" and page.only("img")["src"].startswith("data:image/png")


def test_text_that_looks_like_markup_stays_text():
    page = Elements(slider(label='a "<b>" & c', alt=lambda v: f'</script><i>"{v}"').data)
    assert not [t for t, _ in page.tags if t in ("b", "i")]
    assert json.loads(page.json)["alt"][0] == '</script><i>"0.1"'


def test_figures_are_closed():
    before = plt.get_fignums()
    slider()
    assert plt.get_fignums() == before


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"values": ()}, "no values"),
        ({"start": 3}, "0 to 2"),
        ({"alt": lambda v: ""}, "alt"),
        ({"label": " "}, "label"),
    ],
)
def test_bad_input_is_refused_with_what_to_do(options, says):
    with pytest.raises(ValueError, match=says):
        slider(**options)


def test_live_sliders_appear_only_where_somebody_looks(monkeypatch):
    import sys

    import ipywidgets

    from icrlib.widgets import live

    for name in ("JPY_SESSION_NAME", "VSCODE_PID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delitem(sys.modules, "google.colab", raising=False)
    shown, drawn = [], []
    monkeypatch.setattr(ipywidgets, "interact", lambda function, value: (shown.append(value), function(value.value)))
    monkeypatch.setattr("icrlib.widgets.frames.plt.show", lambda figure: None)
    live(drawn.append, [1, 2], label="x")
    assert not shown and not drawn
    monkeypatch.setenv("JPY_SESSION_NAME", "chapter.ipynb")
    live(drawn.append, [1, 2], label="x")
    assert [slider.description for slider in shown] == ["x"] and drawn == [1]
