"""Arrays in files: one by itself, and those that were made once and are kept in the cache."""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from icrlib.files import StorageError, atomic_path, write_bytes
from icrlib.parsing import UNREADABLE

log = logging.getLogger(__name__)


def array_of(path: str | os.PathLike, way: str, mmap_mode: str | None = None, ragged: str | None = None) -> np.ndarray:
    """The array in a .npy file; ``ValueError`` where it is not whole or none, with a ``way`` out: "save it again".

    ``ragged``: another way out for an array of objects, such as one of rows of unequal sizes; it is never unpickled.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: no such file; wanted an array as .npy")
    try:
        found = np.load(path, mmap_mode=mmap_mode, allow_pickle=False)
    except (ValueError, EOFError, OSError, OverflowError, MemoryError, SyntaxError, TypeError) as err:
        if ragged and _holds_objects(path):
            raise ValueError(
                f"{path}: an array of Python objects, as NumPy saves rows of unequal sizes; it is not opened, since "
                f"opening would run what it holds. {ragged}"
            ) from err
        raise ValueError(f"{path}: not a whole .npy array ({err}); {way}") from err
    if not isinstance(found, np.ndarray):
        raise ValueError(f"{path}: an archive of several arrays (.npz); save the one that is wanted by itself as .npy")
    return found


def _holds_objects(path: str | os.PathLike) -> bool:
    """Whether the head of a .npy file announces objects."""
    try:
        with open(path, "rb") as file:
            heads = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
            return heads[np.lib.format.read_magic(file)](file)[2].hasobject
    except (ValueError, OSError, KeyError, SyntaxError, TypeError):
        return False


def write_array(path: str | os.PathLike, values: np.ndarray) -> None:
    """Write a .npy file, whole or not at all."""
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    write_bytes(path, buffer.getvalue())


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays by name, whole or not at all; each with its checksum, as .npz files have them."""
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, **arrays)  # noise does not compress


def arrays_of(path: Path) -> dict[str, np.ndarray]:
    """What :func:`write_arrays` wrote; ``ValueError`` where a byte of it is another."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise
    except (*UNREADABLE, ValueError, TypeError) as err:  # the last: a single array
        raise ValueError(f"{path}: damaged ({err})") from err


def read_arrays(path: Path, what: str, again: str) -> dict[str, np.ndarray] | None:
    """What :func:`keep_arrays` wrote, by name, or None where it has to be made: nothing there, or a damaged file.

    The second is said, with ``what`` the file holds and how that is had ``again``: "drawing it".
    """
    try:
        return arrays_of(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as err:
        log.warning("%s: the cache of %s cannot be used (%s); %s again", path, what, err, again)
        return None


def keep_arrays(path: Path, arrays: Mapping[str, np.ndarray], what: str) -> None:
    """Write the arrays, whole or not at all; a cache that cannot be written is named and done without.

    ``what``: "the dataset is", for the sentence that says so.
    """
    try:
        write_arrays(path, arrays)
    except StorageError as err:
        log.warning("%s not cached: %s", what, err)
