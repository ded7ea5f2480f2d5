"""Commands about photos with captions: check a folder, compute its features."""

from __future__ import annotations

from pathlib import Path

import click

from icrlib.cli import products
from icrlib.data import feature_folder, karpathy
from icrlib.data import features as extraction
from icrlib.data.load import DATASETS, DRAWN
from icrlib.errors import choose

FOLDER = click.Path(path_type=Path)


@click.group()
def data() -> None:
    """Look at a dataset before anything is computed."""


@data.command()
@click.argument("name", metavar="[NAME]", required=False)
@click.argument("folder", metavar="ROOT", type=FOLDER, required=False)
@click.option("--root", type=FOLDER, help="The same, by name.")
def check(name: str | None, folder: Path | None, root: Path | None) -> None:
    """Count what ROOT holds (dataset*.json and images) and list every problem at once.

    With NAME (flickr8k, flickr30k, coco) the counts are compared with the published splits, too. Exit status 1 if
    there is a problem; fewer images than published are none.

    \b
    icr data check photos/
    icr data check flickr8k --root photos/
    """
    if name and folder is None and root is None:
        name, folder = None, Path(name)
    root = root or folder
    if root is None:
        raise click.UsageError("say which folder: icr data check ROOT, or icr data check NAME --root ROOT")
    if name:
        choose(name, [known for known in DATASETS if known not in DRAWN], "dataset")
    counts, problems = karpathy.check(root)
    published = karpathy.PUBLISHED.get(name, {})
    for part, found in counts.items():
        words = found["words"] / max(1, found["captions"])
        differs = published.get(part, found["images"]) != found["images"]
        click.echo(
            f"{part:6} {found['images']:>8,} images {found['captions']:>9,} captions, {words:.1f} words each"
            + (f" (published: {published[part]:,} images)" if differs else "")
        )
    for problem in problems:
        click.echo(f"problem: {problem}")
    click.echo(f"{len(problems)} problems" if problems else "no problems")
    raise SystemExit(bool(problems))


@click.command()
@click.argument("root", type=FOLDER)
@click.argument("folder", type=FOLDER)
@click.option(
    "--backbone",
    default="resnet50",
    show_default=True,
    help="resnet50, resnet152, vit_b_16, efficientnet_lite2, scenes, or package.module:function.",
)
@click.option("--regions", default=0, help="Grid cells a side instead of one pooled vector, such as 4.")
@click.option("--skip-bad", is_flag=True, help="Leave out photos that cannot be decoded.")
@click.option("--device", default="auto", show_default=True)
@click.option("--workers", default=4, show_default=True, help="Threads that decode pictures.")
@products.FORCE
def features(root: Path, folder: Path, **options) -> None:
    """Compute features of all photos in ROOT once, into FOLDER; goes on where a killed one was.

    \b
    icr features photos/ features/ --backbone efficientnet_lite2
    icr run book/reproduce/run.ipynb -p dataset=flickr8k -p features=features/ -p out=runs/mine
    """
    done = extraction.extract(root, folder, **options)
    counts = feature_folder.noted(done).get("photos", {})
    if counts.get(feature_folder.REST):
        click.echo(f"{counts[feature_folder.REST]:,} photos have no caption: no training uses them, and a search does")
    if not counts or "train" in counts:
        click.echo(f"{done}: ready; use it as features={done}")
    else:
        click.echo(f"{done}: ready to be searched; there is no captioned photo in the training split to train on")
