"""Commands about photos with captions: make a data set of a folder, check it, compute its features."""

from __future__ import annotations

from pathlib import Path

import click

from icrlib.data import features as extraction
from icrlib.data import karpathy, making, precomputed
from icrlib.data.backbones import NAMES
from icrlib.errors import choose

FOLDER = click.Path(path_type=Path)


@click.group()
def data() -> None:
    """Make a dataset of a folder of photos, or look at one before anything is computed."""


@data.command()
@click.argument("place", metavar="ROOT")
@click.option("--root", type=FOLDER, help="ROOT, where a name stands in its place.")
def check(place: str, root: Path | None) -> None:
    """Count what ROOT holds (dataset*.json and images) and list every problem at once.

    With a name (flickr8k, flickr30k, coco) and --root the counts are compared with the published splits, too. Exit
    status 1 if there is a problem; fewer images than published are none.

    \b
    icr data check photos/
    icr data check flickr8k --root photos/
    """
    published = karpathy.PUBLISHED[choose(place, karpathy.PUBLISHED, "dataset")] if root else {}
    counts, problems, notes = karpathy.check(root or Path(place))
    for part, count in counts.items():
        words_each = count["words"] / max(1, count["captions"])
        differs = published.get(part, count["images"]) != count["images"]
        click.echo(
            f"{part:6} {count['images']:>8,} images {count['captions']:>9,} captions, {words_each:.1f} words each"
            + (f" (published: {published[part]:,} images)" if differs else "")
        )
    for line in (*notes, *(f"problem: {problem}" for problem in problems)):
        click.echo(line)
    click.echo(f"{len(problems)} problems" if problems else "no problems")
    raise SystemExit(bool(problems))


@data.command()
@click.argument("folder", type=FOLDER)
@click.option(
    "--captions",
    type=FOLDER,
    multiple=True,
    help="A table (CSV, TSV, Kaggle's captions.txt) or COCO's annotations; again for another one.",
)
@click.option("--image", metavar="COLUMN", help="The column that names pictures, where its name does not say so.")
@click.option("--caption", metavar="COLUMN", help="The column with the captions, likewise.")
@click.option(
    "--val", type=float, help="Share of the pictures, or how many, to choose a model by; else 0.15, at most 1,000."
)
@click.option("--test", type=float, help="Pictures to measure it on, likewise.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Which pictures these are.")
@click.option("--leave-out", is_flag=True, help="Go without pictures and captions that have no partner.")
@click.option("--distractors", is_flag=True, help="Pictures without caption join the test split, as wrong answers.")
@click.option("--force", is_flag=True, help="Write over the file that is there.")
def make(folder: Path, **options) -> None:
    """Write the dataset.json of the pictures in FOLDER, from captions in whatever form they are.

    Without --captions: text files beside the pictures (1.jpg, 1.txt, a caption a line), else the one table or JSON in
    FOLDER, else a folder a class, whose pictures are all called "a photo of a dog". Pictures may lie in FOLDER/images.

    \b
    icr data make photos/ --captions captions.csv
    icr data make coco/ --captions captions_train2017.json --captions captions_val2017.json
    icr data make photos/ --captions table.tsv --image id --caption says --val 500 --test 0.1
    """
    made = making.make(folder, **options)
    click.echo(f"captions: {made.source}")
    for part, (images, captions) in made.counts.items():
        click.echo(f"{part:6} {images:>8,} images {captions:>9,} captions")
    for note in made.notes:
        click.echo(note)
    click.echo(f"{made.path}: written; icr data check {folder} looks at every picture")


@click.command()
@click.argument("root", type=FOLDER)
@click.argument("folder", type=FOLDER)
@click.option(
    "--backbone", default="resnet50", show_default=True, help=f"{', '.join(NAMES)}, or package.module:function."
)
@click.option("--regions", default=0, help="Grid cells a side instead of one pooled vector, such as 4.")
@click.option("--skip-bad", is_flag=True, help="Leave out photos that cannot be decoded.")
@click.option("--device", default="auto", show_default=True)
@click.option("--workers", default=4, show_default=True, help="Threads that decode pictures.")
def features(root: Path, folder: Path, **options) -> None:
    """Compute features of all photos in ROOT once, into FOLDER; goes on where a killed one was.

    \b
    icr features photos/ features/ --backbone efficientnet_lite2
    icr run book/reproduce/run.ipynb -p dataset=flickr8k -p features=features/ -p out=runs/mine
    """
    done = extraction.extract(root, folder, **options)
    counts = precomputed.noted(done).get("photos", {})
    if left_out := precomputed.noted(done).get("left_out"):
        click.echo(f"{left_out:,} photos were left out, as they cannot be read; icr data check {root} names them")
    if rest := counts.get(precomputed.REST):
        click.echo(f"{rest:,} photos have no caption: no training uses them, and a search does")
    if not counts or "train" in counts:
        click.echo(f"{done}: ready; use it as features={done}")
    else:
        click.echo(f"{done}: ready to be searched; there is no captioned photo in the training split to train on")
