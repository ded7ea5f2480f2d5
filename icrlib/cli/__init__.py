"""The command line, ``icr``."""

from icrlib.cli.main import main

__all__ = ["main"]
