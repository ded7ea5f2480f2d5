"""The chapter on shortcuts, with made-up records of the stamped runs, and with none."""

from itertools import product
from pathlib import Path

import pytest

import chapter_cells
import icrlib
import studies
from icrlib import records

SCRIPT = Path(__file__).parents[2] / "book" / "shortcuts" / "contrastive.py"
LOSES = {"ntxent": 200.0, "ifm": 150.0, "dual": 100.0, "lagrange": 50.0}  # rsum without stamps, from 0 bits to 4


def made_up(without_stamped=False):
    """Two draws of each row; without stamps the row loses, the first by 2 more, with stamps all gain 30."""
    for row, bits, seed in product(LOSES, (0, 2, 4), (0, 1)):
        loss, given = studies.stamps.ROWS[row]
        config = {"loss": loss, "objective": given["objective"], "data_seed": seed,
                  "data_options": {"seed": seed, "bits": bits}}  # fmt: skip
        one = {"config": config | {"updates": 900}, "test": {
            "rsum": 300.0 + seed - LOSES[row] * bits / 4 + (2 * seed - 1) * bits / 2},
               "history": [{"val": {"rsum": value}} for value in (100.0, 110.0, 127.0)]}  # fmt: skip
        if not without_stamped:
            one["test"]["stamped"] = {"rsum": 310.0 + seed + 30 * bits / 4}
        yield one


def longer(gain):
    """Runs of the first draw with more updates: 100 more without stamps, and from 0 bits to 4 ``gain`` with them."""
    for one in made_up():
        config, test = one["config"], one["test"]
        bits = config["data_options"]["bits"]
        if config["data_seed"] == 0 and bits != 2 and (config["loss"], config["objective"]) in {
                ("ntxent", "con"), ("ntxent", "dual")}:  # fmt: skip
            yield one | {"config": config | {"updates": 2700}, "test": {
                "rsum": test["rsum"] + 100, "stamped": {"rsum": 420.0 + gain * bits / 4}}}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("there", [True, "near", False])
def test_what_the_stamped_runs_say(there, monkeypatch):
    monkeypatch.setenv("ICR_SMOKE", "1")
    monkeypatch.setitem(LOSES, "dual", 59.0 if there == "near" else 100.0)
    found = list(made_up()) if there else list(made_up(without_stamped=True))  # of the latter nothing is told
    more = {True: list(longer(50.0)), "near": list(longer(-20.0)), False: []}[there]
    given = {"ltd_stamps": found, "ltd_stamps_longer": more}
    monkeypatch.setattr(records, "find", lambda study=None, **_: given.get(study, []))
    names, shown = chapter_cells.run(SCRIPT)
    table = next(text for text in shown if "T_icr-ltd-stamps" in text or text.startswith("These 24 runs"))
    if there:
        assert "NT-Xent -200 without stamps and +30 with; IFM -150" in names["stamped_text"]
        assert names["stamped_text"].endswith({
            True: "LTD, constraint loses least of what is in the scenes (2 draws)",
            "near": "LTD, constraint and LTD, dual are too near to each other to say who loses less (2 draws)"}[there])
        said = names["longer_read"]
        gain, with_them = {True: ("+50", "now rise"), "near": ("-20", "still fall")}[there]
        assert "still climbed by 27, on average" in said and f"columns *with* {with_them}" in said
        assert f"NT-Xent -202 without stamps and {gain} with (before: -202 and +30)" in said and "IFM" not in said
        assert "300 to 301" in table and "340 to 341" in table and "not run yet" not in table
    else:
        assert names["longer_read"] == "" and "Not run yet: `make records STUDY=ltd_stamps_longer`." in shown
        assert table == "These 24 runs are not there yet; `make records STUDY=ltd_stamps` makes them."
        assert names["stamped_text"].startswith("not run yet: `make records STUDY=ltd_stamps`")


def test_the_list_differs_in_the_objective_alone():
    runs = list(studies.STUDIES["ltd_stamps"]())
    assert len(runs) == 4 * 3 * 2 and {run.method for run in runs} == {"ltd"} and {run.seed for run in runs} == {0, 1}
    assert {run.settings["tau"] for run in runs} == {0.1}
    assert [run.data["bits"] for run in runs[:12]] == [0] * 4 + [4] * 4 + [2] * 4
    data = icrlib.load_dataset("stamps", seed=0, bits=2, smoke=True, progress=False)
    assert data.name == "stamps" and "stamped" in data.test.others
