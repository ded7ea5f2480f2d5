"""The command that measures a model, or an encoder of the reader's own, on photos that have captions."""

from __future__ import annotations

from pathlib import Path

import click

from icrlib.cli.albums import FEATURES, FOLDER, MODEL, OWN, encoder_of, own_code
from icrlib.data import karpathy
from icrlib.search.audit import audit as measured


@click.command()
@click.argument("photos", type=FOLDER)
@MODEL
@FEATURES
@own_code
@OWN
@click.option("--split", type=click.Choice(["train", "val", "test"]), default="test", show_default=True)
@click.option(
    "--relevance",
    type=click.Choice(["own", "text"]),
    default="own",
    show_default=True,
    help="What is right for a caption: its own photo, or every photo with a caption of the same text.",
)
@click.option("--batch-size", default=128, show_default=True, help="Pairs in a batch that a loss would see.")
def audit(
    photos: Path,
    model: Path | None,
    features: Path | None,
    encoder: str | None,
    split: str,
    relevance: str,
    batch_size: int,
    **own: str | None,
) -> None:
    """Measure a model, or an encoder of your own, on PHOTOS: a folder with images/ and a dataset*.json.

    Two tables. How well it retrieves: recalls in percent, captions of a photo and the photo of a caption. And what is
    left to learn: for each of four losses the share of queries that have no gradient, that is, are right by more than
    the loss asks for, and how many negatives the others' gradients are effectively made of. A loss of which hardly any
    query has a gradient has nothing to teach this encoder on these photos.

    \b
    icr audit photos/ --encoder my_clip:load
    icr audit photos/ --model runs/mine --features features/
    """
    made = encoder_of(model, encoder, features, **own)
    some = karpathy.read(photos, complete=False)[split]
    result = measured(made, some, batch_size, relevance=relevance)
    captions, bare = sum(map(len, some.captions)), some.captions.count([])
    more = f", {bare:,} photos without caption as distractors" if bare else ""
    click.echo(
        f"{made.name}: {len(some) - bare:,} photos of the split {split!r}, {captions:,} captions{more}; rsum "
        f"{result.measures['rsum']:.1f}"
    )
    click.echo(result.recalls().to_string(float_format="{:,.1f}".format))
    click.echo(f"\nWhat a loss would find in batches of {batch_size} pairs:")
    click.echo(result.left.to_string(float_format="{:,.1f}".format))
