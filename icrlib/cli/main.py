"""The command line, ``icr``: run experiments, look at what runs, and go from photos to a search."""

from __future__ import annotations

import importlib
import signal
import sys

import click

# Where each command lives: only the one that is called is imported, for a search should not wait for a training's code.
# And what it does, in a line, so that the list of them is there at once.
COMMANDS = {
    "run": ("runs", "Run a chapter with parameters, or a row of a published table."),
    "settings": ("settings", "List all settings of a run: name, default, meaning."),
    "train": ("train", "Train the runs that a page of the book names and nobody has."),
    "keep": ("train", "Copy the records of what was trained to the book's."),
    "data": ("photos", "Make a dataset of a folder of photos, or look at one before anything is computed."),
    "features": ("photos", "Compute features of all photos of a dataset, once."),
    "index": ("albums", "Embed the pictures of an album, so that it can be searched."),
    "search": ("albums", "Search photos by words, or by a picture."),
    "audit": ("albums", "Measure a model, or an encoder of your own, on photos with captions."),
}
STOPPED = 128 + signal.SIGINT  # how a program ends that Ctrl-C stopped


class Friendly(click.Group):
    """Turns the library's own errors into one clear line and exit status 1, and Ctrl-C into one line and 130.

    What was typed wrong, an option that there is not, is click's own affair: usage, and exit status 2.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(self, ctx: click.Context, args: list[str]):
        name, _, rest = super().resolve_command(ctx, args)
        return name, getattr(importlib.import_module(f"icrlib.cli.{COMMANDS[name][0]}"), name), rest

    def invoke(self, ctx: click.Context):
        from icrlib import devices
        from icrlib.errors import in_words

        for stream in (sys.stdout, sys.stderr):  # a terminal that cannot write a caption's letters gets their numbers
            stream.reconfigure(errors="backslashreplace")
        devices.keep_freed()  # this process is ours, and training is a third faster
        try:
            return super().invoke(ctx)
        except (ValueError, OSError, ImportError, MemoryError) as err:
            if isinstance(err, BrokenPipeError):  # whoever read this has seen enough; click ends quietly
                raise
            raise click.ClickException(in_words(err)) from err
        except KeyboardInterrupt as err:
            # Everything is written whole or not at all, and what was done so far is kept by what did it.
            usual = "stopped; what was finished is kept, and the same command goes on from there"
            click.echo(f"\n{str(err) or usual}", err=True)
            sys.exit(STOPPED)


@click.group(
    cls=Friendly,
    commands={name: click.Command(name, short_help=about) for name, (_, about) in COMMANDS.items()},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="icrlib")
def main() -> None:
    """Train and audit image-caption retrieval: the book's experiments from the command line."""
