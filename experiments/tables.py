"""Sweep records as a table: CSV with the standard library, Parquet with pyarrow."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from typing import Any

from experiments.running import Record
from pebble.errors import MissingExtraError
from pebble.formats.files import atomic_writer

__all__ = ["columns", "write_csv", "write_parquet"]

_SPREAD = ("params",)
_LEFT_OUT = ("traceback",)


def columns(records: Sequence[Record]) -> list[str]:
    """The columns of a table: fields in their order, parameters as ``params.n``, options as JSON."""
    found: dict[str, None] = {}
    for record in records:
        for key in _flat(record):
            found.setdefault(key)
    return list(found)


def write_csv(records: Sequence[Record], path: str | os.PathLike[str]) -> None:
    """Write records as CSV, gzipped if the name ends in ``.gz``; None is an empty cell.

    Raises
    ------
    FormatError
        It cannot be written.
    """
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns(records), restval="")
    writer.writeheader()
    for record in records:
        writer.writerow(_flat(record))
    with atomic_writer(path) as stream:
        stream.write(text.getvalue().encode())


def write_parquet(records: Sequence[Record], path: str | os.PathLike[str]) -> None:
    """Write records as Parquet, one column per field, with the types that their values have.

    Raises
    ------
    MissingExtraError
        The extra ``parquet`` is not installed.
    FormatError
        It cannot be written.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("Parquet needs pyarrow: pip install 'red-blue-pebble[parquet]'") from error
    names = columns(records)
    rows = [_flat(record) for record in records]
    arrays = {name: pyarrow.array(_of_one_type([row.get(name) for row in rows])) for name in names}
    with atomic_writer(path) as stream:
        pyarrow.parquet.write_table(pyarrow.table(arrays), stream)


def _flat(record: Record) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for key, value in record.items():
        if key in _LEFT_OUT:
            continue
        if key in _SPREAD:
            row.update({f"{key}.{name}": item for name, item in value.items()})
        else:
            row[key] = json.dumps(value) if isinstance(value, list | dict) else value
    return row


def _of_one_type(values: list[Any]) -> list[Any]:
    """The values, as text where they are of several kinds (a parameter of that name in two families)."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or len(kinds) <= 1:
        return values
    return [None if value is None else str(value) for value in values]
