"""Commands about a finished model and pictures: embed a folder of them, search it, measure how well that works."""

from __future__ import annotations

import os
from pathlib import Path

import click

from icrlib.data import karpathy
from icrlib.data.pictures import ENDINGS
from icrlib.names import died, imported
from icrlib.search.album import Album, of_model
from icrlib.search.audit import audit as measured
from icrlib.search.encoders import Encoder, Own, network_of
from icrlib.search.index import Index
from icrlib.search.page import is_page, write_page
from icrlib.training.saved import folder_of, load_model

FOLDER = click.Path(path_type=Path)
OWN = [
    click.Option(
        ["--encoder"],
        metavar="PACKAGE.MODULE:NAME",
        help="An object of your own with encode_captions and encode_images, such as a CLIP; it is called where it is a "
        "function or class.",
    ),
    click.Option(["--backbone"], help="The network of the features, where nothing else names it."),
    click.Option(["--method"], help="The method, if it is one of your own, package.module:Name."),
    click.Option(["--teacher"], help="The model's sentence encoder, if it is one of your own, likewise."),
]
ENCODER = [
    click.Option(["--model"], type=FOLDER, help="A run folder (out=…), or what Run.save wrote."),
    click.Option(["--features"], type=FOLDER, help="The features of the model's training: they name their network."),
    *OWN,
]


@click.command(params=[*ENCODER])
@click.argument("folder", type=FOLDER)
def index(folder: Path, model: Path | None, features: Path | None, encoder: str | None, **own: str | None) -> None:
    """Embed all pictures below FOLDER once, so that icr search can find them; no captions are needed.

    What it makes lies in FOLDER/.icr, with a copy of the model; no picture is touched. Run it again, with FOLDER alone,
    and only new and changed pictures are embedded, also after it was killed. Formats: JPEG, PNG, WebP, GIF, BMP, TIFF,
    and HEIC where the package pillow-heif is installed.

    \b
    icr index album/ --model runs/mine --features features/
    icr search "a dog on a beach" --index album/.icr
    icr index album/ --encoder my_clip:load
    """
    album = Album(folder)
    if model is None and encoder is None and album.begun:
        made, copy = album.encoder(**own), album.model
    else:
        made, copy = encoder_of(model, encoder, features, **own), model and folder_of(model)
    counts, problems = album.update(made, copy)
    click.echo(f"{album.place}: {', '.join(f'{count:,} {what}' for what, count in counts.items())}")
    for problem in problems:
        click.echo(f"left out: {plain(problem)}")
    more = f" --encoder {encoder}" if encoder else ""
    click.echo(f'search it: icr search "a dog on a beach" --index {album.place}{more}')


@click.command()
@click.argument("words", nargs=-1, metavar="[MODEL] QUERY")
@click.option("--features", "folder", type=FOLDER, help="The feature folder to search in.")
@click.option("--index", "album", type=FOLDER, help="Or a folder that icr index has embedded; it has its own model.")
@click.option("--top", type=click.IntRange(1), default=5, show_default=True, help="How many answers.")
@click.option("--html", type=FOLDER, help="Also write a page with the pictures, each a link to its file.")
def search(
    words: tuple[str, ...],
    folder: Path | None,
    album: Path | None,
    top: int,
    html: Path | None,
    encoder: str | None,
    **own: str | None,
) -> None:
    """Search photos by words, or by a picture: QUERY is a text, or the path of a picture.

    MODEL is a run folder (out=…), the record in it, or what Run.save wrote; with --index it is left out. For a picture
    the answers are captions, or photos like it where there are none.

    \b
    icr search runs/mine "a dog jumps over a hoop" --features features/
    icr search runs/mine photo.jpg --features features/
    icr search "a dog on a beach" --index album/.icr --html answers.html
    """
    if (folder is None) == (album is None):
        raise click.UsageError("say where to search: --features FOLDER, or --index FOLDER of icr index")
    if len(words) != (1 if album else 2):
        form = "QUERY (the index has its own model)" if album else "MODEL and QUERY"
        raise click.UsageError(
            f"got {len(words)} words; expected {form}. Put a query of several words in quotation marks"
        )
    if html and html.exists() and not is_page(html):
        raise ValueError(f"{html}: this file is no page of a search, so it is not written over; choose another name")
    query = words[-1]
    if album:
        place = Album(album)
        index = place.index(place.encoder(called(encoder) if encoder else None, encoder or "", **own))
    elif encoder:
        raise click.UsageError("--encoder goes with --index; here MODEL says what encodes")
    else:
        place = folder_of(Path(words[0]))
        index = Index.of(load_model(place, **own), folder)
        index.encoder.name = place.name
    if os.path.isfile(query):
        hits = index.by_picture(query, top, own["backbone"])
    else:
        if query.lower().endswith(ENDINGS):
            click.echo(f"{plain(query)}: no such picture; searched as words")
        hits = index.by_text(query, top)
    if warning := index.warning(query):
        click.echo(plain(warning))
    for hit in hits:
        caption = f"  ({plain(hit.caption)})" if hit.file and hit.caption else ""
        click.echo(f"{hit.rank:>3}  {hit.score:6.3f}  {plain(hit.file or hit.caption)}{caption}")
    if html:
        write_page(html, query, hits, index)
        click.echo(f"page: {html}")


search.params += OWN  # behind its own


@click.command(params=[*ENCODER])
@click.argument("photos", type=FOLDER)
@click.option("--split", type=click.Choice(["train", "val", "test"]), default="test", show_default=True)
@click.option(
    "--relevance",
    type=click.Choice(["own", "text"]),
    default="own",
    show_default=True,
    help="What is right for a caption: its own photo, or every photo with a caption of the same text.",
)
def audit(photos: Path, split: str, relevance: str, **encoder: Path | str | None) -> None:
    """Measure a model, or an encoder of your own, on PHOTOS: a folder with images/ and a dataset*.json.

    How well it retrieves: recalls in percent, and the median rank, of captions of a photo and of the photo of a
    caption. Photos without caption are distractors.

    \b
    icr audit photos/ --encoder my_clip:load
    icr audit photos/ --model runs/mine --features features/
    """
    made = encoder_of(**encoder)
    some = karpathy.read(photos, complete=False)[split]
    result = measured(made, some, relevance=relevance)
    captions, bare = sum(map(len, some.captions)), some.captions.count([])
    more = f", {bare:,} photos without caption as distractors" if bare else ""
    click.echo(
        f"{made.name}: {len(some) - bare:,} photos of the split {split!r}, {captions:,} captions{more}; rsum "
        f"{result.measures['rsum']:.1f}"
    )
    click.echo(result.recalls().to_string(float_format="{:,.1f}".format))


def plain(text: str) -> str:
    """A caption or file name for a terminal: what would move the cursor or colour the screen is shown as a mark."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def encoder_of(model: Path | None, encoder: str | None, features: Path | None, **own: str | None) -> Encoder:
    """An object of the caller's own, or a saved model with the network of the features that it was trained on."""
    if (model is None) == (encoder is None):
        raise click.UsageError("say what encodes the pictures: --model FOLDER, or --encoder PACKAGE.MODULE:NAME")
    if model is None:
        return Own(called(encoder), encoder)
    place = folder_of(model)
    network, regions = network_of(features, own["backbone"]) if features else (None, 0)
    return of_model(place, place.name, network, regions, **own)


def called(place: str) -> object:
    """The object behind package.module:name, which the caller typed; made, where it is a class or function."""
    found = imported(place, "--encoder")
    if not isinstance(found, type) and (hasattr(found, "encode_captions") or not callable(found)):
        return found
    try:
        return found()
    except (Exception, SystemExit) as err:  # somebody's own code, which may want arguments, files, a network
        raise ValueError(f"--encoder {place}: calling it without arguments fails:\n  {died(err)}") from err
