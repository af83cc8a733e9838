"""A sweep file: one line of JSON per run, each on the disk before the next is begun."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any

from experiments.running import Record
from pebble.errors import FormatError

__all__ = ["RunFile", "read_runs"]


def read_runs(path: str | os.PathLike[str]) -> list[Record]:
    """The records of a sweep file, the last one of each run, in the order of the file.

    A last line that was cut off by a kill is left out.

    Raises
    ------
    FormatError
        It cannot be read, or another line is no record: its number is in the error.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise FormatError(os.fspath(path), f"cannot be read: {error.strerror or error}") from error
    return list(_parse(os.fspath(path), data)[0].values())


def _parse(name: str, data: bytes) -> tuple[dict[str, Record], int]:
    """The records by key, and the length of what is whole."""
    records: dict[str, Record] = {}
    whole = 0
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        if not line.endswith(b"\n"):
            break
        if line.strip():
            try:
                record = json.loads(line)
                key = record["key"]
            except (ValueError, TypeError, KeyError) as error:
                raise FormatError(name, "this is no record of a sweep", number) from error
            records.pop(key, None)
            records[key] = record
        whole += len(line)
    return records, whole


class RunFile:
    """A sweep file open for appending, by one process at a time.

    Parameters
    ----------
    path : path
    resume : bool
        Go on with a file that has records; otherwise such a file is refused.

    Attributes
    ----------
    records : dict
        What is done, by the runs' keys.

    Raises
    ------
    FormatError
        Another process appends to it; it has records and `resume` is false; or it is no sweep file.
    """

    def __init__(self, path: str | os.PathLike[str], *, resume: bool = False) -> None:
        self.path = os.fspath(path)
        try:
            self._file = open(self.path, "a+b", buffering=0)  # noqa: SIM115 - closed by close()
        except OSError as error:
            raise FormatError(self.path, f"cannot be written: {error.strerror or error}") from error
        try:
            self._open(resume)
        except BaseException:
            self._file.close()
            raise

    def _open(self, resume: bool) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise FormatError(self.path, "another sweep is writing this file") from error
        self._file.seek(0)
        self.records, whole = _parse(self.path, self._file.read())
        if self.records and not resume:
            raise FormatError(
                self.path, f"it holds {len(self.records)} runs: resume it, or name another file"
            )
        # A line that a kill cut off would swallow the next one.
        self._file.truncate(whole)

    def append(self, record: Record) -> None:
        """Write one record; it is on the disk when this returns."""
        line = json.dumps(record, ensure_ascii=False, default=_plain, allow_nan=False) + "\n"
        self._file.write(line.encode())
        os.fsync(self._file.fileno())
        self.records[record["key"]] = record

    def close(self) -> None:
        """Let go of the file, and of the lock on it."""
        self._file.close()

    def __enter__(self) -> RunFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _plain(value: Any) -> Any:
    """JSON form of NumPy's scalars; other values are shown as text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
