"""Commands about a finished model and pictures: embed any folder of them, search it in the shell or in a browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from icrlib import parsing
from icrlib.data.cache import array_of
from icrlib.data.pictures import ENDINGS
from icrlib.names import died, imported
from icrlib.search.album import Album, of_model
from icrlib.search.encoders import Encoder, Own, Trained, network_of
from icrlib.search.index import SPLITS, Hit, Index, names_picture, plain
from icrlib.search.page import About, is_page, warning, write_page
from icrlib.training.saved import folder_of

FOLDER = click.Path(path_type=Path)
OWN = click.option(
    "--encoder",
    metavar="PACKAGE.MODULE:NAME",
    help="An object of your own with encode_captions and encode_images, such as a CLIP; it is called "
    "where it is a function or class.",
)
MODEL = click.option("--model", type=FOLDER, help="A run folder (out=…), or what Run.save wrote.")
FEATURES = click.option(
    "--features", type=FOLDER, help="The features that the model was trained on: they name their network."
)


def own_code(command: Callable) -> Callable:
    """Options that hand over what a saved model names and the library does not have."""
    for option in (
        click.option("--teacher", help="The sentence encoder of the model, if it is one of your own, likewise."),
        click.option("--method", help="The method, if it is one of your own, package.module:Name."),
        click.option("--backbone", help="The network of the model's features, where nothing else names it."),
    ):
        command = option(command)
    return command


@click.command()
@click.argument("folder", type=FOLDER)
@MODEL
@FEATURES
@own_code
@OWN
@click.option("--embeddings", type=FOLDER, help="Vectors made elsewhere, .npy, a row for each picture.")
@click.option(
    "--files",
    type=FOLDER,
    help="Whose rows these are: a text file, one path from FOLDER a line; by default "
    "FOLDER's pictures in the order of their paths.",
)
def index(
    folder: Path,
    model: Path | None,
    features: Path | None,
    encoder: str | None,
    embeddings: Path | None,
    files: Path | None,
    **own: str | None,
) -> None:
    """Embed all pictures below FOLDER once, so that icr search can find them; no captions are needed.

    An album that is there is brought up to date with what made it.

    What it makes lies in FOLDER/.icr, with a copy of the model; no picture is touched. Run it again and only new and
    changed pictures are embedded, also after it was killed. Formats: JPEG, PNG, WebP, GIF, BMP, TIFF, and HEIC where
    the package pillow-heif is installed.

    \b
    icr index album/ --model runs/mine --features features/
    icr search "a dog on a beach" --index album/.icr
    icr index album/ --encoder my_clip:load
    icr index album/ --embeddings images.npy --files names.txt
    """
    album = Album(folder)
    going_on = album.begun and encoder is None and embeddings is None
    if sum(given is not None for given in (model, encoder, embeddings)) != 1 and not (going_on and model is None):
        raise click.UsageError(
            "say one thing that embeds the pictures: --model FOLDER, --encoder PACKAGE.MODULE:NAME, or "
            "--embeddings FILE with vectors that are there already"
        )
    if model is None and (features is not None or any(own.values()) and not going_on):
        raise click.UsageError("--features, --backbone, --method and --teacher are about a model; add --model FOLDER")
    if files is not None and embeddings is None:
        raise click.UsageError("--files says whose rows --embeddings holds; give both, or leave it out")
    if embeddings is not None:
        names = parsing.lines(files) if files else album.names()
        vectors = array_of(embeddings, "write it again with numpy.save, a row for each picture")
        album.take(vectors, names, str(embeddings), click.echo)
        click.echo(f"{album.place}: {len(names):,} pictures")
        return
    if model is not None or not going_on:
        made, kept = encoder_of(model, encoder, features, **own), model and folder_of(model)
    else:
        made = album.encoder(**own)
        kept = album.model if isinstance(made, Trained) else None
    found = album.update(made, kept, tell=click.echo)
    click.echo(
        f"{album.place}: {found.new:,} new, {found.changed:,} changed, {found.gone:,} gone, {found.same:,} as before"
    )
    for problem in found.problems[:20]:
        click.echo(f"left out: {plain(problem)}")
    if len(found.problems) > 20:
        click.echo(f"left out: {len(found.problems) - 20:,} more")
    click.echo(
        f'search it: icr search "a dog on a beach" --index {album.place}' + (f" --encoder {encoder}" if encoder else "")
    )


@click.command()
@click.argument("words", nargs=-1, metavar="[MODEL] QUERY")
@click.option("--features", "folder", type=FOLDER, help="The feature folder to search in.")
@click.option("--photos", type=FOLDER, help="Or the folder of photos, for a model trained on pictures.")
@click.option("--index", "album", type=FOLDER, help="Or a folder that icr index has embedded; it has its own model.")
@click.option(
    "--split",
    type=click.Choice(SPLITS),
    default="all",
    show_default=True,
    help="Only the photos of a split; all: also those without captions.",
)
@click.option("--top", default=5, show_default=True, help="How many answers.")
@click.option("--html", type=FOLDER, help="Also write a page with the pictures.")
@click.option("--force", is_flag=True, help="Write the page over another file.")
@own_code
@OWN
def search(
    words: tuple[str, ...],
    folder: Path | None,
    photos: Path | None,
    album: Path | None,
    split: str,
    top: int,
    html: Path | None,
    force: bool,
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
    if sum(place is not None for place in (folder, photos, album)) != 1:
        raise click.UsageError(
            "say where to search: --features FOLDER, --photos FOLDER for a model on pictures, or "
            "--index FOLDER of icr index"
        )
    model, query = _asked(words, album is not None)
    if html and html.exists() and not force and not is_page(html):
        raise ValueError(f"{html} is there, and no page of a search; choose another name, or --force")
    found = _index(model, folder, photos, album, split, encoder, **own)
    if names_picture(query):
        hits, about = found.by_picture(query, top, own["backbone"]), About.of(found)
    else:
        if query.lower().endswith(ENDINGS):
            click.echo(f"{plain(query)}: no such picture; searched as words")
        hits, about = found.by_text(query, top), About.of(found, query)
    if about.unknown:
        click.echo(plain(warning(about.unknown, query)))
    for hit in hits:
        click.echo(_line(hit))
    if html:
        write_page(html, query, hits, about)
        click.echo(f"page: {html}")


def _asked(words: tuple[str, ...], own_model: bool) -> tuple[Path | None, str]:
    """Model and query out of what was typed."""
    if len(words) != (1 if own_model else 2):
        how = "QUERY (the index has its own model)" if own_model else "MODEL and QUERY"
        raise click.UsageError(f"got {len(words)} words; wanted {how}. Put a query of several words in quotation marks")
    return (None if own_model else Path(words[0])), words[-1]


def _index(
    model: Path | None,
    folder: Path | None,
    photos: Path | None,
    album: Path | None,
    split: str,
    encoder: str | None,
    **own: str | None,
) -> Index:
    if album is not None:
        if split != "all":
            raise click.UsageError("an album has no splits; leave --split out")
        place = Album(album)
        return place.index(place.encoder(called(encoder) if encoder else None, **own))
    if encoder is not None:
        raise click.UsageError("--encoder goes with --index; here MODEL says what encodes")
    from icrlib.training.saved import load_model

    place = folder_of(model)
    trained = load_model(place, **own)
    made = Index.of(trained, folder, split) if folder else Index.of_photos(trained, photos, split)
    made.encoder.name = place.name
    return made


def _line(hit: Hit) -> str:
    shown = hit.file or hit.caption
    return f"{hit.rank:>3}  {hit.score:6.3f}  {plain(shown)}" + (
        f"  ({plain(hit.caption)})" if hit.file and hit.caption else ""
    )


def encoder_of(model: Path | None, encoder: str | None, features: Path | None, **own: str | None) -> Encoder:
    """An object of the caller's own, or a saved model with the network of the features that it was trained on."""
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
