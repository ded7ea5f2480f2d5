"""What runs leave behind: one JSON file each."""

from icrlib.records.files import below, exists, load, write
from icrlib.records.folder import PACKAGE, root
from icrlib.records.form import SCHEMA

__all__ = ["PACKAGE", "SCHEMA", "below", "exists", "load", "root", "write"]
