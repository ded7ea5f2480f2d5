"""Choose the settings of scenes for each method and loss, on validation data of three tuning draws.

Reads the records of the study "tuning" (make records STUDY=tuning), candidates with the published constants only,
prints what was tried, and writes the best of each into icrlib/data/scenes/defaults.json. Test numbers are not looked
at, and the draws that claims are judged on are not among these. The rate in "settings" is for everything that was not
searched (other losses and methods) and is left as it is.
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from icrlib import evidence, records
from icrlib.data.scenes import generate
from icrlib.files import write_bytes
from icrlib.studies import lists

PLACE = Path(generate.__file__).with_name("defaults.json")
READS = 60.0  # per cent of swap twins on validation data; a bag of words has 50


@click.command(help=__doc__)
@click.option("--write", is_flag=True, help="Write defaults.json; otherwise only say what would be in it.")
def main(write: bool) -> None:
    found = [record for record in records.find(study="tuning") if published(record)]
    frame = evidence.candidates(found)
    click.echo(frame.to_string(index=False, na_rep="", float_format="{:.4g}".format))
    best = evidence.choices(found)
    first = frame.groupby(["method", "loss"], sort=False).first()
    for (method, loss), row in first.iterrows():
        if method != "bow" and row["val_swap_min"] < READS:
            click.echo(
                f"{method} with {loss} does not read in every draw: {row['val_swap_min']:.1f} % in one", err=True
            )
    about = json.loads(PLACE.read_text(encoding="utf-8"))
    about["sizes"] |= {"val": lists().VAL, "test": lists().TEST}
    about["settings"]["updates"] = lists().UPDATES
    about["tuned"] = {
        f"{method} {loss}": {name: value for name, value in settings.items() if value}
        for (method, loss), settings in best.items()
    }
    text = json.dumps(about, indent=2) + "\n"
    click.echo(text)
    if write:
        write_bytes(PLACE, text.encode())


def published(record: dict) -> bool:
    """Whether the loss has the constant that it was published with."""
    ((name, values),) = lists().CONSTANTS[record["config"]["loss"]].items()
    return record["config"]["loss_options"][name] == values[0]


if __name__ == "__main__":
    main()
