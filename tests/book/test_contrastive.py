"""The chapter on shortcuts, with made-up records of the stamped runs, and with none."""

from itertools import product
from pathlib import Path

import pytest

import chapter_cells
import icrlib
from icrlib import records
from icrlib.studies import lists, studies

SCRIPT = Path(__file__).parents[2] / "book" / "shortcuts" / "contrastive.py"
LOSES = {"ntxent": 200.0, "ifm": 150.0, "dual": 100.0, "lagrange": 50.0}  # rsum without stamps, from 0 bits to 4


def made_up(without_stamped=False):
    """Two draws of each row; without stamps the row loses, the first by 2 more, with stamps all gain 30."""
    for row, bits, seed in product(LOSES, (0, 2, 4), (0, 1)):
        loss, given = lists().stamps.ROWS[row]
        config = {
            "loss": loss,
            "objective": given["objective"],
            "data_seed": seed,
            "data_options": {"seed": seed, "bits": bits},
        }
        one = {
            "config": config | {"updates": 900},
            "test": {"rsum": 300.0 + seed - LOSES[row] * bits / 4 + (2 * seed - 1) * bits / 2},
            "history": [{"val": {"rsum": value}} for value in (100.0, 110.0, 127.0)],
        }
        if not without_stamped:
            one["test"]["stamped"] = {"rsum": 310.0 + seed + 30 * bits / 4}
        yield one


def longer(draws):
    """More updates: 100 more without stamps, and from 0 bits to 4 a draw's gain with them; dual LTD loses 10 less."""
    for one in made_up():
        config, test = one["config"], one["test"]
        bits, dual = config["data_options"]["bits"], config["objective"] == "dual"
        ours = config["loss"] == "ntxent" and config["objective"] != "lagrange" and config["data_seed"] in draws
        if ours and bits != 2:
            yield one | {
                "config": config | {"updates": 2700},
                "history": [{"val": {"rsum": 300.0}}] * 3,
                "test": {
                    "rsum": test["rsum"] + 100 + (LOSES["dual"] - LOSES["ntxent"] + 10) * bits / 4 * dual,
                    "stamped": {"rsum": 420.0 + draws[config["data_seed"]] * bits / 4},
                },
            }


@pytest.mark.slow
@pytest.mark.parametrize("there", ["gain", "fall", "both ways", "one draw", None])
def test_what_the_stamped_runs_say(there, monkeypatch):
    monkeypatch.setenv("ICR_SMOKE", "1")
    found = list(made_up()) if there else list(made_up(without_stamped=True))  # of the latter nothing is told
    if there == "one draw":
        found = [one for one in found if one["config"]["data_seed"] == 0]
    more = {
        "gain": {0: 50, 1: 50},
        "fall": {0: -20, 1: -20},
        "both ways": {0: 50, 1: -20},
        "one draw": {0: 50},
        None: {},
    }
    given = {"ltd_stamps": found, "ltd_stamps_longer": list(longer(more[there]))}
    monkeypatch.setattr(records, "find", lambda study=None, **_: given.get(study, []))
    names, shown = chapter_cells.run(SCRIPT)
    table = next(text for text in shown if "T_icr-ltd-stamps" in text or text.startswith("These 24 runs"))
    if not there:
        assert names["longer_read"] == "" and "Not run yet: `make records STUDY=ltd_stamps_longer`." in shown
        assert table == "These 24 runs are not there yet; `make records STUDY=ltd_stamps` makes them."
        assert names["stamped_text"].startswith("not run yet: `make records STUDY=ltd_stamps`")
        return
    alone, beside = names["stamped_text"], names["longer_read"]
    each = next(text for text in shown if "still gained" in text)
    assert "gained 27 rsum on the validation data, on average, and the longer ones 0." in each
    assert "not run yet" not in table
    if there == "one draw":
        assert "NT-Xent -202 without stamps, +50 with; LTD, dual -192 without stamps" in beside and "IFM" not in beside
        assert "is +10 beside that of the loss alone, which is one draw." in beside
        assert "is -152 after 900 updates and -197 after 2,700 updates:" in names["less_time"] and names["used"]
        return
    assert "NT-Xent -200 without stamps and +30 with; IFM -150" in alone
    assert "300 to 301" in table and "340 to 341" in table
    gain, with_them = {
        "gain": ("+50 and +50", "With stamps all gain"),
        "fall": ("-20 and -20", "With stamps all lose, still"),
        "both ways": ("+50 and -20", "With stamps some gain and some lose."),
    }[there]
    assert f"NT-Xent -202 and -198 without stamps, {gain} with" in beside and with_them in beside
    assert "Without stamps all lose, by 188 to 202" in beside
    assert "had changed by -202 and -198 and -102 and -98" in beside
    assert "is +10 and +10 beside that of the loss alone, on both draws to its favour." in beside
    worth = {"gain": "267 to 272", "fall": "197 to 202", "both ways": "197 to 272"}[there]
    assert names["used"] == (there == "gain")
    assert f"worth: 19 to 20 rsum between with and without for NT-Xent, where 4 bits have {worth}. So the" in each


def test_the_list_differs_in_the_objective_alone():
    runs = studies["ltd_stamps"].runs()
    assert len(runs) == 4 * 3 * 2 and {run.method for run in runs} == {"ltd"} and {run.seed for run in runs} == {0, 1}
    assert {run.settings["tau"] for run in runs} == {0.1}
    assert [run.data["bits"] for run in runs[:12]] == [0] * 4 + [4] * 4 + [2] * 4
    data = icrlib.load_dataset("stamps", seed=0, bits=2, smoke=True, progress=False)
    assert data.name == "stamps" and "stamped" in data.test.others
