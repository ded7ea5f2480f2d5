"""Commands about photos: check a folder, compute its features, search it with a trained model."""

from __future__ import annotations

from pathlib import Path

import click

from icrlib import search as searching
from icrlib.cli import products
from icrlib.data import feature_folder, karpathy
from icrlib.data import features as extraction
from icrlib.data.load import DATASETS, DRAWN
from icrlib.errors import choose
from icrlib.training.saved import load_model

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
        click.echo(f"{part:6} {found['images']:>8,} images {found['captions']:>9,} captions, {words:.1f} words each"
                   + (f" (published: {published[part]:,} images)" if differs else ""))  # fmt: skip
    for problem in problems:
        click.echo(f"problem: {problem}")
    click.echo(f"{len(problems)} problems" if problems else "no problems")
    raise SystemExit(bool(problems))


@click.command()
@click.argument("root", type=FOLDER)
@click.argument("folder", type=FOLDER)
@click.option("--backbone", default="resnet50", show_default=True,
              help="resnet50, resnet152, vit_b_16, efficientnet_lite2, scenes, or package.module:function.")
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


@click.command()
@click.argument("model", type=FOLDER)
@click.argument("query")
@click.option("--features", "folder", type=FOLDER, help="The feature folder to search in.")
@click.option("--photos", type=FOLDER, help="Or the folder of photos, for a model trained on pictures.")
@click.option("--split", type=click.Choice(["train", "val", "test"]), default="test", show_default=True)
@click.option("--top", default=5, show_default=True)
@click.option("--html", type=FOLDER, help="Also write a page with the pictures.")
@products.FORCE
@click.option("--backbone", help="The network, if the folder or the model does not name one of the library's.")
@click.option("--method", help="The method, if it is one of your own, package.module:Name.")
def search(model: Path, query: str, folder: Path | None, photos: Path | None, split: str, top: int, html: Path | None,
           backbone: str | None, method: str | None, force: bool) -> None:  # fmt: skip
    """Search photos by words, or captions by a picture: QUERY is a text, or the path of a picture.

    MODEL is a run folder (out=…), the record in it, or what Run.save wrote.

    \b
    icr search runs/mine "a dog jumps over a hoop" --features features/
    icr search runs/mine photo.jpg --features features/
    """
    if (folder is None) == (photos is None):
        raise click.UsageError("say where to search: --features FOLDER, or --photos FOLDER for a model on pictures")
    if html:
        products.product(html, searching.is_page, "the page of an earlier search", force)
    model = model.parent if model.name == "record.json" else model
    trained = load_model(model, method=method, backbone=backbone)
    of = searching.Index.of if folder else searching.Index.of_photos
    index = of(trained, folder or photos, split)
    hits = index.by_picture(query, top, backbone) if Path(query).is_file() else index.by_text(query, top)
    for hit in hits:
        click.echo(f"{hit.rank:>3}  {hit.score:6.3f}  {hit.file if hit.file else hit.caption}"
                   + (f"  ({hit.caption})" if hit.file else ""))  # fmt: skip
    if html:
        searching.write_page(html, query, hits)
        click.echo(f"page: {html}")
