"""The command line, ``icr``: run experiments, look at tables and records, and go from photos to a search."""

from __future__ import annotations

import click

from icrlib import devices
from icrlib.cli import judge, photos, records, runs, settings


class Friendly(click.Group):
    """Turns the library's own errors into one clear line and exit status 2."""

    def invoke(self, ctx: click.Context):
        try:
            return super().invoke(ctx)
        except (ValueError, FileNotFoundError, ImportError) as err:
            raise click.UsageError(str(err)) from err


@click.group(cls=Friendly, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="icrlib")
def main() -> None:
    """Train and audit image-caption retrieval: the book's experiments from the command line."""
    devices.keep_freed()  # this process is ours, and training is a third faster


for command in (runs.run, settings.settings, runs.tables, runs.status, records.plan, records.compare, records.records,
                photos.data, photos.features, photos.search, judge.judge):  # fmt: skip
    main.add_command(command)
