"""The command that measures a trained model with other people's right answers: CxC, ECCV Caption."""

from __future__ import annotations

from pathlib import Path

import click

from icrlib import judged
from icrlib.cli import products
from icrlib.cli.albums import own_code
from icrlib.data import cxc, eccv, photos, precomputed
from icrlib.data.coco import Ids, ids_of
from icrlib.data.judgements import Judgements
from icrlib.data.splits import Split
from icrlib.files import write_bytes
from icrlib.models.base import RetrievalModel
from icrlib.models.on_pictures import OnPictures
from icrlib.training.saved import folder_of, load_model

PLACE = click.Path(path_type=Path)
HEAD = "direction,measure"  # of its table as a file


class Threshold(click.ParamType):
    """``none`` or a number; that it lies between 0 and 5 is checked with the other thresholds' rule."""

    name = "none|number"

    def convert(self, value, param, ctx):
        if value == "none":
            return None
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is neither none nor a number", param, ctx)


@click.command()
@click.argument("model", type=PLACE)
@click.option("--features", type=PLACE, help="The feature folder of the split.")
@click.option("--photos", "root", type=PLACE, help="Or the folder of photos, for a model trained on pictures.")
@click.option("--annotations", type=PLACE, help="dataset_coco.json, or its folder; default: the folder of photos.")
@click.option("--cxc", "rated", type=PLACE, help="CxC's sits_test.csv (or .csv.gz), or its folder.")
@click.option("--eccv", "extended", type=PLACE, help="The folder of ECCV Caption's JSON files.")
@click.option(
    "--threshold",
    "thresholds",
    type=Threshold(),
    multiple=True,
    default=("none", "3", "4"),
    show_default=True,
    help="CxC pairs that score this much or more count as right; repeatable.",
)
@click.option("--keep-originals", is_flag=True, help="A caption's own image counts whatever its score.")
@click.option("--ignore-missing", is_flag=True, help="Drop pairs that are not in the split: for a part of it.")
@click.option("--split", "part", type=click.Choice(["val", "test"]), default="test", show_default=True)
@click.option("--csv", "output", type=PLACE, help="Also write the table to this file.")
@products.FORCE
@own_code
def judge(
    model: Path,
    features: Path | None,
    root: Path | None,
    annotations: Path | None,
    rated: Path | None,
    extended: Path | None,
    thresholds: tuple[float | None, ...],
    keep_originals: bool,
    ignore_missing: bool,
    part: str,
    output: Path | None,
    force: bool,
    **own: str | None,
) -> None:
    """Measure MODEL on COCO where more than the own pairs are right: Crisscrossed Captions, ECCV Caption.

    MODEL is a run folder (out=…), the record in it, or what Run.save wrote. The table has a column for the own pairs,
    for each threshold of CxC side by side, and for ECCV Caption; recalls, R-precision and mAP@R are in percent.

    \b
    icr judge runs/coco --features features/coco/ --annotations coco/dataset_coco.json --cxc cxc/
    icr judge runs/coco --photos coco/ --cxc cxc/ --threshold 3 --eccv eccv_caption/

    With --cxc, captions that no file names, such as COCO's sixth of an image, are left out. Where to get the
    files: the book's appendix on datasets.
    """
    _complete(features, root, annotations, rated, extended, part)
    if output:
        products.product(output, lambda text: text.startswith(HEAD), "a table of this command", force)
    ratings = cxc.read(rated, part=part) if rated else None
    trained = load_model(folder_of(model), **own)
    split = _split(trained, features, root, part)
    ids, missing = ids_of(annotations or root, split), "ignore" if ignore_missing else "refuse"
    split, ids = _judged_part(split, ids, ratings, extended)
    found = [Judgements.own(split)]
    if ratings:
        found += [
            cxc.judgements(ratings, ids, threshold=threshold, keep_originals=keep_originals, missing=missing)
            for threshold in thresholds
        ]
    if extended:
        found.append(eccv.judgements(extended, ids, missing=missing))
    table = judged.table(judged.compare(trained, split, {one.name: one for one in found}, progress=True))
    for one in found:
        if one.dropped:
            click.echo(f"{one.name}: {one.dropped:,} right answers are not in the split and were dropped")
    click.echo(f"{len(split):,} images, {len(split.captions):,} captions")
    click.echo(table.to_string(float_format="{:,.1f}".format))
    if output:
        write_bytes(output, table.to_csv(index_label=HEAD.split(",")).encode())
        click.echo(f"table: {output}")


def _complete(
    features: Path | None,
    root: Path | None,
    annotations: Path | None,
    rated: Path | None,
    extended: Path | None,
    part: str,
) -> None:
    """Refuse what cannot be measured, before anything is read."""
    if (features is None) == (root is None):
        raise click.UsageError("say where the split is: --features FOLDER, or --photos FOLDER for a model on pictures")
    if rated is None and extended is None:
        raise click.UsageError("say who judges: --cxc PLACE, --eccv FOLDER, or both")
    if annotations is None and root is None:
        raise click.UsageError("features keep no COCO ids: give --annotations dataset_coco.json as well")
    if extended and part != "test":
        raise click.UsageError("ECCV Caption is about the test split only: leave --eccv out, or --split val")


def _split(model: RetrievalModel, features: Path | None, root: Path | None, part: str) -> Split:
    """The split to measure on, of the kind that the model takes."""
    if root:
        if not isinstance(model, OnPictures):
            raise ValueError("this model was trained on finished features; give their folder, --features")
        return getattr(photos.load(root, name="photos", images="published", backbone=model.options["backbone"]), part)
    split, wanted = getattr(precomputed.load(features, name="photos"), part), model.options["feature_dim"]
    if split.features.shape[-1] != wanted:
        raise ValueError(
            f"{features}: features of size {split.features.shape[-1]}, but the model was trained on "
            f"{wanted}; use the features (or the backbone) of its training"
        )
    return split


def _judged_part(split: Split, ids: Ids, ratings: cxc.Ratings | None, extended: Path | None) -> tuple[Split, Ids]:
    """Without the captions that nobody was shown. ECCV Caption lists right answers only, so it alone cannot tell."""
    if not ratings:
        return split, ids
    named = set(ratings.first) | (eccv.captions_of(eccv.read(extended)) if extended else set())
    kept, kept_ids = ids.keep(split, named)
    if len(kept.captions) < len(split.captions):
        click.echo(f"{len(split.captions) - len(kept.captions):,} captions that no file names are left out")
    return kept, kept_ids
