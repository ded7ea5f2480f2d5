"""Files that are whole or absent: atomic writes, folders for one process at a time, content hashes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

LOCK = ".lock"


class StorageError(ValueError, OSError):
    """A file could not be written; what was there before is untouched."""


def cache_dir() -> Path:
    """Where generated data is kept: ``$ICRLIB_CACHE``, else the user's cache folder. Safe to delete."""
    return Path(os.environ.get("ICRLIB_CACHE") or platformdirs.user_cache_dir("icrlib"))


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """What the system says about writing ``path`` becomes a :class:`StorageError` with the way out."""
    try:
        yield
    except (OSError, NotImplementedError) as err:  # the second: a file system without locks
        why = getattr(err, "strerror", None) or str(err)
        raise StorageError(
            f"{path}: this cannot be written ({why[:1].lower()}{why[1:]}). Free some space, or choose another folder, "
            "such as with out= or ICRLIB_CACHE; nothing that was there before is lost."
        ) from err


def make_folder(path: str | os.PathLike) -> Path:
    """Make the folder and those above it; :class:`StorageError` says why it cannot be."""
    path = Path(path)
    with _explained(path):
        path.mkdir(parents=True, exist_ok=True)
    return path


@contextlib.contextmanager
def alone(folder: str | os.PathLike, taken: str) -> Iterator[None]:
    """Make ``folder`` and keep other processes out of it; ``ValueError`` says ``taken`` where one is in it.

    The lock goes with the process, however that ends.
    """
    lock = FileLock(make_folder(folder) / LOCK)
    with _explained(Path(folder)):
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise ValueError(f"{folder}: {taken}") from None
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; what is written there replaces ``path`` in one step.

    A reader therefore sees the old file or the new one, never a part. If the block raises, or the process is killed,
    ``path`` keeps what it held. A full disk or a folder that may not be written raises :class:`StorageError`, which
    names the file and the way out.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        with _explained(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield temporary
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def write_bytes(path: str | os.PathLike, content: bytes) -> None:
    """Write ``content`` to ``path`` atomically."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


def claim_path(path: str | os.PathLike) -> Path:
    """Make sure that the ``path`` of a record is free and can be written, before the work whose result goes there.

    ``ValueError`` where a file is there: it is never written over. :class:`StorageError` where its folder cannot be
    made or written.
    """
    path = Path(path)
    if path.exists():
        raise ValueError(f"{path}: this record exists, and a record is written once. Choose another path.")
    with _explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path.parent).close()
    return path


def sha256_of(*parts: bytes | str | os.PathLike) -> str:
    """Hex digest over ``parts`` in order: bytes as they are, paths by their content, text as UTF-8."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, os.PathLike):
            with open(part, "rb") as file:
                hashlib.file_digest(file, lambda: digest)
        else:
            digest.update(part.encode() if isinstance(part, str) else part)
        digest.update(b"\0")
    return digest.hexdigest()
