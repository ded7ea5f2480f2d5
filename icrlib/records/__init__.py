"""What runs leave behind: one JSON file each, which code they used, and which changes of code moved nothing."""

from icrlib.records.files import SCHEMA, find, load, path_for, write
from icrlib.records.folder import PACKAGE, root

__all__ = ["PACKAGE", "SCHEMA", "find", "load", "path_for", "root", "write"]
