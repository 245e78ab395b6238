"""A content store on disk: what one process has compiled, the next one reads.

No process ever waits for another. An entry is written under a temporary name and then renamed, so that whoever looks
finds all of it or nothing; and it carries its key and a checksum, so that whatever else may lie in its place (cut off,
damaged, swapped, planted) is noticed and counts as absent. Entries are bytes to this module: nothing is unpickled.
"""

import contextlib
import hashlib
import os
import stat
import struct
import sys
import time
from collections.abc import Callable
from typing import BinaryIO

from arrax.dtypes.canonical import warn_user
from arrax.xla import disk_eviction

MAGIC = b"ARRAXSTO"
FORMAT_VERSION = 1

# Magic, format version, length of the key, length of the payload, SHA-256 of lengths, key and payload.
_HEADER = struct.Struct("<8sIQQ32s")
_LENGTHS = struct.Struct("<QQ")

_READ_FLAGS = os.O_RDONLY
_WRITE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL
for _flag in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY", "O_NONBLOCK"):  # each platform has some of them
    _READ_FLAGS |= getattr(os, _flag, 0)
    _WRITE_FLAGS |= getattr(os, _flag, 0)

_TOUCH_AFTER_SECONDS = 60.0


class Untrusted(Exception):
    """The folder or an entry is not the user's alone, or is not a plain folder or file."""


class Damaged(Exception):
    """An entry is not what was written."""


def default_folder() -> str | None:
    """The user's folder for arrax's compiled programs, or None where there is no home.

    Returns: ``$XDG_CACHE_HOME/arrax``, else ``~/.cache/arrax``; ``~/Library/Caches/arrax`` on macOS,
      ``%LOCALAPPDATA%\\arrax`` on Windows.
    Source: XDG Base Directory Specification.
    """
    if sys.platform == "win32":
        caches = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/AppData/Local")
    elif sys.platform == "darwin":
        caches = os.path.expanduser("~/Library/Caches")
    else:
        caches = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(caches):  # the specification: relative paths are to be ignored
            caches = os.path.expanduser("~/.cache")
    return os.path.join(caches, "arrax") if os.path.isabs(caches) else None


def _never() -> bool:
    return False


class DiskStore:
    """Payloads by content key, in a folder of files that only the user may write.

    Safe between threads and processes, killed ones included. It never gives a wrong payload: whatever goes wrong makes it
    forget, with one warning in all, or raises where that is asked for.

    Args:
      folder: where the entries lie; made, private to the user, at the first ``put``.
      max_bytes: the entries' size in all; those used least recently make room. Each process that writes at the same
        time may exceed it by a sixteenth. There are at most some 65,000 entries.
      warn: takes the one warning.
      raises: asked at each failure whether it is to be raised, as a RuntimeError, instead.
    Example: ``DiskStore("/tmp/mine").put(b"key", b"payload")``.
    """

    __slots__ = ("_folder", "_max_bytes", "_raises", "_until_sweep", "_warn", "_warnings_left")

    def __init__(
        self,
        folder: str | os.PathLike[str],
        max_bytes: int = 2 << 30,
        *,
        warn: Callable[[str], None] = warn_user,
        raises: Callable[[], bool] = _never,
    ) -> None:
        self._folder = os.path.abspath(folder)
        self._max_bytes = max_bytes
        self._warn, self._raises = warn, raises
        self._warnings_left = [True]  # a list, since its pop is atomic between threads
        # Starting anywhere makes sweeps as frequent per byte written among many short processes as in one long one.
        self._until_sweep = int.from_bytes(os.urandom(4)) / 2**32 * max_bytes * disk_eviction.HEADROOM

    def get(self, key: bytes) -> bytes | None:
        """The payload stored under a key, or None.

        Args:
          key: the whole content key, of any length.
        Returns: what some process has ``put`` under exactly this key, or None if there is none that can be trusted.
        Example: ``store.get(b"key")`` is ``b"payload"``.
        """
        try:
            self._check_folder()
            return self._read(self._path_of(key), key)
        except FileNotFoundError:
            return None
        except Exception as error:  # whatever it is, compiling anew is better than stopping the user's program
            self.failed("read", error)
            return None

    def put(self, key: bytes, payload: bytes) -> None:
        """Store a payload under a key, replacing what is there.

        Args:
          key: the whole content key, of any length.
          payload: any bytes; more than the store's bound are not stored.
        Example: ``store.put(b"key", b"payload")``.
        """
        size = _HEADER.size + len(key) + len(payload)
        if size > self._max_bytes:
            return
        try:
            self._make_folder()
            self._write(hashlib.sha256(key).hexdigest(), key, payload)
            # Threads may lose a subtraction here: then the sweep comes a little later.
            self._until_sweep -= disk_eviction.charge(size, self._max_bytes)
            if self._until_sweep <= 0:
                self._until_sweep = self._max_bytes * disk_eviction.HEADROOM
                disk_eviction.sweep(self._folder, self._max_bytes, time.time())
        except Exception as error:  # as in get
            self.failed("write", error)

    def clear(self) -> None:
        """Remove all entries, and temporary files that nobody is writing any more."""
        try:
            self._check_folder()
            entries, temporaries = disk_eviction.list_files(self._folder)
            for entry in entries:
                disk_eviction.remove(entry.path)
            disk_eviction.remove_stale(temporaries, time.time())
        except FileNotFoundError:
            return
        except Exception as error:  # as in get
            self.failed("clear", error)

    def _path_of(self, key: bytes) -> str:
        return os.path.join(self._folder, disk_eviction.entry_name(hashlib.sha256(key).hexdigest()))

    def _make_folder(self) -> None:
        try:
            self._check_folder()
        except FileNotFoundError:
            os.makedirs(os.path.dirname(self._folder), mode=0o700, exist_ok=True)
            with contextlib.suppress(FileExistsError):  # another process was quicker
                os.mkdir(self._folder, 0o700)
            self._check_folder()

    def _check_folder(self) -> None:
        # At every use, since folders are removed, replaced and opened to others while programs run.
        status = os.lstat(self._folder)
        if not stat.S_ISDIR(status.st_mode):
            raise Untrusted("it is not a folder, or a link to one")
        _check_private(status)

    def _read(self, path: str, key: bytes) -> bytes | None:
        # A FIFO in the entry's place would block an open without O_NONBLOCK; a link fails to open.
        descriptor = os.open(path, _READ_FLAGS)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise Untrusted("an entry is not a plain file")
            _check_private(status)
            with open(descriptor, "rb", closefd=False) as file:
                payload = read_entry(file, status.st_size, key)
            _touch(descriptor, path, status.st_mtime)
            return payload
        except Damaged:
            disk_eviction.remove(path)
            raise
        finally:
            os.close(descriptor)

    def _write(self, digest: str, key: bytes, payload: bytes) -> None:
        temporary = os.path.join(self._folder, disk_eviction.temporary_name(digest))
        try:
            with open(os.open(temporary, _WRITE_FLAGS, 0o600), "wb") as file:
                write_entry(file, key, payload)
            os.replace(temporary, os.path.join(self._folder, disk_eviction.entry_name(digest)))
        except BaseException:  # a KeyboardInterrupt passes on, but leaves nothing behind
            disk_eviction.remove(temporary)
            raise

    def failed(self, deed: str, error: Exception) -> None:
        """Say what went wrong: raise it where that is asked for, otherwise warn, once.

        Args:
          deed: what could not be done, such as "read".
          error: why not.
        Raises:
          RuntimeError: if failures are to be raised.
        """
        message = f"arrax could not {deed} its cache of compiled programs in {self._folder!r}: {str(error) or type(error).__name__}"
        if self._raises():
            raise RuntimeError(message) from error
        if sys.is_finalizing():  # what writes files is gone already
            return
        with contextlib.suppress(IndexError):
            self._warnings_left.pop()
            with contextlib.suppress(Exception):  # under `python -W error` a warning raises
                self._warn(f"{message}. Programs are compiled again where the cache fails; the results are the same.")


def write_entry(file: BinaryIO, key: bytes, payload: bytes) -> None:
    """Write an entry: header, key, payload."""
    file.write(_HEADER.pack(MAGIC, FORMAT_VERSION, len(key), len(payload), _checksum(key, payload)))
    file.write(key)
    file.write(payload)


def read_entry(file: BinaryIO, size: int, key: bytes) -> bytes:
    """The payload of the entry in a file.

    Args:
      file: open for reading, at its beginning.
      size: how many bytes the file has; no more are read.
      key: the whole content key that the entry must carry.
    Raises:
      Damaged: the file is not a faultless entry of this key.
    """
    magic, version, key_size, payload_size, checksum = _HEADER.unpack(_read_exactly(file, _HEADER.size))
    if (magic, version, key_size) != (MAGIC, FORMAT_VERSION, len(key)):
        raise Damaged("an entry is of another kind, and was removed")
    if size != _HEADER.size + key_size + payload_size:
        raise Damaged("an entry has another size than it should, and was removed")
    found, payload = _read_exactly(file, key_size), _read_exactly(file, payload_size)
    if found != key or _checksum(key, payload) != checksum:
        raise Damaged("an entry has other bytes than were written, and was removed")
    return payload


def _checksum(key: bytes, payload: bytes) -> bytes:
    digest = hashlib.sha256(_LENGTHS.pack(len(key), len(payload)))
    digest.update(key)
    digest.update(payload)
    return digest.digest()


def _read_exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise Damaged("an entry ends too early, and was removed")
    return data


def _check_private(status: os.stat_result) -> None:
    if not hasattr(os, "geteuid"):
        return  # Windows has no modes; a user's folders are private there
    if status.st_uid != os.geteuid():
        raise Untrusted("it belongs to another user")
    if status.st_mode & 0o022:
        raise Untrusted("other users may write to it")


def _touch(descriptor: int, path: str, last_used: float) -> None:
    """Note that an entry has been used, once a minute at most, where the folder can be written."""
    if abs(time.time() - last_used) > _TOUCH_AFTER_SECONDS:
        with contextlib.suppress(OSError):
            os.utime(descriptor if os.utime in os.supports_fd else path)
