"""Arrays that were made once, kept in the cache."""

from __future__ import annotations

import io
import logging
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from icrlib.files import DamagedFile, StorageError, read_sealed, write_sealed

log = logging.getLogger(__name__)


def read_arrays(path: Path, what: str, again: str) -> dict[str, np.ndarray] | None:
    """What :func:`keep_arrays` wrote, by name, or None where it has to be made: nothing there, or a damaged file.

    The second is said, with ``what`` the file holds and how that is had ``again``: "drawing it".
    """
    try:
        with np.load(io.BytesIO(read_sealed(path)), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        return None
    except (DamagedFile, OSError, ValueError) as err:
        log.warning("%s: the cache of %s cannot be used (%s); %s again", path, what, err, again)
        return None


def keep_arrays(path: Path, arrays: Mapping[str, np.ndarray], what: str) -> None:
    """Write the arrays, whole or not at all and sealed; a cache that cannot be written is named and done without.

    ``what``: "the dataset is", for the sentence that says so.
    """
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # noise does not compress
    try:
        write_sealed(path, buffer.getvalue())
    except StorageError as err:
        log.warning("%s not cached: %s", what, err)
