"""Arrays in files: one by itself, and those that were made once and are kept in the cache."""

from __future__ import annotations

import io
import logging
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from icrlib.files import StorageError, write_bytes

log = logging.getLogger(__name__)
# What reading a damaged archive, an encrypted one, one of another kind, or a single array dies of.
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError, ValueError, TypeError)


def array_of(path: str | os.PathLike, way: str, mmap_mode: str | None = None) -> np.ndarray:
    """The array in a .npy file, never unpickled; ``ValueError`` where it is not whole or none, with a ``way`` out."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: no such file; wanted an array as .npy")
    try:
        array = np.load(path, mmap_mode=mmap_mode, allow_pickle=False)
    except (ValueError, EOFError, OSError, OverflowError, MemoryError, SyntaxError, TypeError) as err:
        raise ValueError(f"{path}: not a whole .npy array ({err}); {way}") from err
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{path}: an archive of several arrays (.npz); save the one that is wanted by itself as .npy")
    return array


def array_bytes(values: np.ndarray) -> bytes:
    """The content of the .npy file of an array."""
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    return buffer.getvalue()


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays by name, whole or not at all; each with its checksum, as .npz files have them."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # noise does not compress
    write_bytes(path, buffer.getvalue())


def read_arrays(path: Path) -> dict[str, np.ndarray] | None:
    """What :func:`write_arrays` wrote, by name; None where there is nothing, or a damaged file, which is logged."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except FileNotFoundError:
        return None
    except DAMAGED as err:
        log.warning("%s: damaged (%s); what it held is made again", path, err)
        return None


def cached(path: Path, make: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """:func:`read_arrays`, else what ``make`` gives, kept; a cache that cannot be written is named and done without."""
    arrays = read_arrays(path)
    if arrays is None:
        arrays = make()
        try:
            write_arrays(path, arrays)
        except StorageError as err:
            log.warning("not cached: %s", err)
    return arrays
