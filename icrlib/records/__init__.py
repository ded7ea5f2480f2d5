"""What runs leave behind: one JSON file each."""

from icrlib.records.files import exists, find, load, path_for, write
from icrlib.records.folder import PACKAGE, root
from icrlib.records.form import SCHEMA
from icrlib.records.index import outlines

__all__ = ["PACKAGE", "SCHEMA", "exists", "find", "load", "outlines", "path_for", "root", "write"]
