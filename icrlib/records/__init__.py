"""What runs leave behind: one JSON file each; and the golden runs, which tell whether code still does the same."""

from icrlib.records.files import SCHEMA, find, load, path_for, write
from icrlib.records.folder import PACKAGE, root

__all__ = ["PACKAGE", "SCHEMA", "find", "load", "path_for", "root", "write"]
