"""Reading and writing of possibly gzipped files: any damage is a FormatError, a write is all or nothing."""

from __future__ import annotations

import gzip
import os
import secrets
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from pebble.errors import FormatError

__all__ = ["GZIP_MAGIC", "atomic_writer", "bounded", "reading"]

GZIP_MAGIC = b"\x1f\x8b"
# A graph's text shrinks by a factor of 3 to 30; what shrinks by more than this, and is large, is a bomb.
_MOST_UNPACKED = 100
_HARMLESS = 1 << 25
_BLOCK = 1 << 20


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for reading, unpacked if it is gzipped.

    Raises
    ------
    FormatError
        It cannot be opened or read, or its gzip data is damaged, also when that shows only later, inside
        the ``with`` block.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as raw:
            packed = raw.peek(2)[:2] == GZIP_MAGIC
            if not packed and name.endswith(".gz"):
                raise FormatError(name, "the name ends in .gz, but this is no gzip data")
            if packed:
                with gzip.open(raw, "rb") as unpacked:
                    yield unpacked  # type: ignore[misc]
            else:
                yield raw
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(name, f"the gzip data is damaged or cut off ({error})") from error
    except OSError as error:
        raise FormatError(name, f"cannot be read: {error.strerror or error}") from error


def bounded(stream: IO[bytes] | gzip.GzipFile, name: str) -> bytes:
    """All bytes of a stream that `reading` has opened; FormatError if they unpack out of all proportion."""
    if not isinstance(stream, gzip.GzipFile):
        return stream.read()
    packed: Any = stream.fileobj
    content = bytearray()
    while block := stream.read(_BLOCK):
        content += block
        if len(content) > max(_HARMLESS, _MOST_UNPACKED * packed.tell()):
            raise FormatError(
                name, f"the gzip data unpacks to more than {_MOST_UNPACKED} times its size: unpack it by hand"
            )
    return bytes(content)


@contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing, gzipped if its name ends in ``.gz``.

    The bytes go to a new file in the same folder, which takes the place of `path` only once it is complete:
    whatever fails, `path` holds either the old content or all of the new one.

    Raises
    ------
    FormatError
        It cannot be written.
    """
    name = os.fspath(path)
    target = Path(os.path.realpath(name))
    try:
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            # A pipe or a device cannot be replaced, only written to.
            with open(target, "wb") as raw, _packed(raw, name) as out:
                yield out
            return
        draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
        try:
            with open(draft, "xb") as raw:
                if target.exists():
                    os.chmod(draft, stat.S_IMODE(target.stat().st_mode))
                with _packed(raw, name) as out:
                    yield out
                raw.flush()
                os.fsync(raw.fileno())
            os.replace(draft, target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise FormatError(name, f"cannot be written: {error.strerror or error}") from error


@contextmanager
def _packed(raw: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    if not name.endswith(".gz"):
        yield raw
        return
    # No time stamp and no name inside: the same schedule gives the same bytes.
    with gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=3, mtime=0) as out:
        yield out  # type: ignore[misc]
