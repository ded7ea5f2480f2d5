"""Files that are whole or absent: atomic writes and content hashes."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

LOCK = ".lock"
PART = ".part"


class StorageError(ValueError, OSError):
    """A file could not be written; what was there before is untouched."""


def cache_dir() -> Path:
    """Where generated data is kept: ``$ICRLIB_CACHE``, else the user's cache folder. Safe to delete."""
    return Path(os.environ.get("ICRLIB_CACHE") or platformdirs.user_cache_dir("icrlib"))


def make_folder(path: str | os.PathLike) -> Path:
    """Make the folder and those above it; :class:`StorageError` says why it cannot be."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise StorageError(_explain(Path(path), err)) from err
    return Path(path)


@contextlib.contextmanager
def alone(folder: str | os.PathLike, taken: str) -> Iterator[None]:
    """Make ``folder`` and keep other processes out of it; ``ValueError`` says ``taken`` where one is in it.

    The lock goes with the process, however that ends.
    """
    lock = FileLock(make_folder(folder) / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ValueError(f"{folder}: {taken}") from None
    except (OSError, NotImplementedError) as err:  # a folder that may only be read, a file system without locks
        raise StorageError(_explain(Path(folder), err)) from err
    try:
        yield
    finally:
        lock.release()


def busy(folder: str | os.PathLike) -> bool:
    """Is a process in ``folder``, by :func:`alone`? Looks, and writes nothing."""
    path = Path(folder) / LOCK
    if not path.exists():
        return False
    try:
        with FileLock(path).acquire(timeout=0):
            return False
    except Timeout:
        return True
    except (OSError, NotImplementedError):  # where nothing can be written, nobody writes
        return False


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success it replaces ``path`` in one step.

    A reader therefore sees the old file or the new one, never a part. If the block raises, or the process is killed,
    ``path`` keeps what it held. A full disk or a folder that may not be written raises :class:`StorageError`, which
    names the file and the way out.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=PART)
        os.close(handle)
    except OSError as err:
        raise StorageError(_explain(path, err)) from err
    temporary = Path(name)
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        # mkstemp makes private files; give the new one what a plain open() would have given.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except OSError as err:
        raise StorageError(_explain(path, err)) from err
    finally:
        temporary.unlink(missing_ok=True)


def claim_path(path: str | os.PathLike, what: str) -> Path:
    """Make sure that ``path`` is free and can be written, before the work whose result goes there.

    ``ValueError`` where a file is there: ``what``, such as "record", is never written over. :class:`StorageError` where
    its folder cannot be made or written.
    """
    path = Path(path)
    if path.exists():
        raise ValueError(f"{path}: this {what} exists, and a {what} is written once. Choose another path.")
    with contextlib.suppress(_Tried), atomic_path(path):
        raise _Tried
    return path


class _Tried(Exception):
    """The way out of a write that was only tried."""


def write_bytes(path: str | os.PathLike, content: bytes) -> None:
    """Write ``content`` to ``path`` atomically."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


def is_within(path: str | os.PathLike, folder: str | os.PathLike) -> bool:
    """Whether ``path`` lies in ``folder``, wherever links in it lead."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def sha256_of(*parts: bytes | str | os.PathLike) -> str:
    """Hex digest over ``parts`` in order: bytes as they are, paths by their content, text as UTF-8."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, os.PathLike):
            with open(part, "rb") as file:
                while chunk := file.read(1 << 20):
                    digest.update(chunk)
        else:
            digest.update(part.encode() if isinstance(part, str) else part)
        digest.update(b"\0")
    return digest.hexdigest()


def _explain(path: Path, err: Exception) -> str:
    if getattr(err, "errno", None) == errno.ENOSPC:
        return f"{path}: no space left on the device. Free some, or choose another folder; nothing was lost."
    if getattr(err, "errno", None) in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
        return f"{path}: this folder cannot be written ({err.strerror}). Choose another with out= or ICRLIB_CACHE."
    return f"{path}: could not be written ({err}). Nothing that was there before is lost."


class DamagedFile(ValueError):
    """A file that this library wrote is not as it was written."""


def write_sealed(path: str | os.PathLike, content: bytes) -> None:
    """Write ``content`` atomically behind its SHA-256, so that :func:`read_sealed` notices any damage."""
    write_bytes(path, hashlib.sha256(content).digest() + content)


def read_sealed(path: str | os.PathLike) -> bytes:
    """Content that :func:`write_sealed` wrote; :class:`DamagedFile` if a byte of it changed or is missing."""
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe would be waited for for ever
        raise DamagedFile(f"{path}: no plain file")
    stored = Path(path).read_bytes()
    if hashlib.sha256(stored[32:]).digest() != stored[:32]:
        raise DamagedFile(f"{path}: damaged (its checksum does not match)")
    return stored[32:]
