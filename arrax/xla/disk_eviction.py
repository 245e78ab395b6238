"""Which files of a disk store are its own, and which of them go when it has grown too large."""

import contextlib
import os
import re
from typing import NamedTuple

ENTRY_SUFFIX = ".entry"
TEMPORARY_SUFFIX = ".part"
STALE_AFTER_SECONDS = 3600.0
MAX_FILES = 1 << 16  # file systems bound these too; a list of as many takes 0.4 s, once in 4,096 writes
HEADROOM = 1 / 16  # this share of the bound may be written between two sweeps

_ENTRY_NAME = re.compile(r"[0-9a-f]{64}" + re.escape(ENTRY_SUFFIX))
_TEMPORARY_NAME = re.compile(r"[0-9a-f]{64}\.\d+\.[0-9a-f]{16}" + re.escape(TEMPORARY_SUFFIX))


class StoredFile(NamedTuple):
    """A file of the store: when it was last used, how many bytes it has, where it lies."""

    last_used: float
    size: int
    path: str


def entry_name(digest: str) -> str:
    """The file name of the entry whose key has the SHA-256 ``digest``, in hexadecimal digits."""
    return digest + ENTRY_SUFFIX


def temporary_name(digest: str) -> str:
    """A file name that no other process, thread or fork uses, for an entry that is being written."""
    return f"{digest}.{os.getpid()}.{os.urandom(8).hex()}{TEMPORARY_SUFFIX}"


def list_files(folder: str) -> tuple[list[StoredFile], list[StoredFile]]:
    """The entries in a folder, and the temporary files. Whatever else lies there is not the store's, and is left out.

    Args:
      folder: path of the store's folder.
    Returns: entries and temporary files, in no order.
    Raises: OSError if the folder cannot be listed.
    """
    entries: list[StoredFile] = []
    temporaries: list[StoredFile] = []
    with os.scandir(folder) as listing:
        for item in listing:
            kind = _list_of(item.name, entries, temporaries)
            if kind is None:
                continue
            with contextlib.suppress(OSError):  # another process may have removed it since
                if item.is_file(follow_symlinks=False):
                    status = item.stat(follow_symlinks=False)
                    kind.append(StoredFile(status.st_mtime, status.st_size, item.path))
    return entries, temporaries


def charge(size: int, max_bytes: int) -> int:
    """What a file of a size takes of the bound: as small files are many, at least its share of the number of files."""
    return max(size, max_bytes // MAX_FILES)


def sweep(folder: str, max_bytes: int, now: float) -> None:
    """Remove the entries used least recently, and what killed processes have left half-written.

    What stays leaves room for all that is written until the next sweep; the newest entry stays, however large.

    Args:
      folder: path of the store's folder.
      max_bytes: the bound on the size of all entries, each of which counts at least its share, see ``charge``.
      now: the time, in seconds since the epoch.
    Raises: OSError if the folder cannot be listed.
    """
    entries, temporaries = list_files(folder)
    remove_stale(temporaries, now)
    total = sum(charge(entry.size, max_bytes) for entry in entries)
    if total <= max_bytes * (1 - HEADROOM):
        return
    for entry in sorted(entries)[:-1]:
        if total <= max_bytes * (1 - 2 * HEADROOM):  # lower than need be: otherwise every sweep would have to remove
            break
        remove(entry.path)
        total -= charge(entry.size, max_bytes)


def remove_stale(temporaries: list[StoredFile], now: float) -> None:
    """Remove temporary files that no living process can still be writing."""
    for temporary in temporaries:
        if abs(now - temporary.last_used) > STALE_AFTER_SECONDS:  # a clock set back gives times in the future
            remove(temporary.path)


def remove(path: str) -> None:
    """Remove a file if that is possible. Two processes may try to remove the same one."""
    with contextlib.suppress(OSError):
        os.unlink(path)


def _list_of(name: str, entries: list[StoredFile], temporaries: list[StoredFile]) -> list[StoredFile] | None:
    if _ENTRY_NAME.fullmatch(name):
        return entries
    return temporaries if _TEMPORARY_NAME.fullmatch(name) else None
