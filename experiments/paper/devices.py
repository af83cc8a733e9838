"""Devices and the words that their fast memories hold."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from pebble.errors import FormatError
from pebble.formats.files import reading

__all__ = ["Device", "read_devices"]


@dataclass(frozen=True)
class Device:
    """A device with a word size.

    Attributes
    ----------
    name, word : str
    M : int
        Words in the fast memory of one core.
    """

    name: str
    word: str
    M: int


def read_devices(path: str | os.PathLike[str] | None = None) -> list[Device]:
    """Every device of a TOML file with every word size in it.

    Parameters
    ----------
    path : path, optional
        Tables ``[[device]]`` with `name` and `memory_kib`, ``[[word]]`` with `name` and `bytes`; by default
        the list that comes with the package.

    Raises
    ------
    FormatError
        It cannot be read, is no TOML, or lacks one of these.

    Examples
    --------
    >>> [d.M for d in read_devices() if d.name == "NVIDIA A100"]
    [83968, 41984]
    """
    file = Path(__file__).with_name("devices.toml") if path is None else Path(path)
    with reading(file) as stream:
        try:
            document = tomllib.loads(stream.read().decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise FormatError(str(file), f"this is no TOML: {error}") from error
    try:
        return [
            Device(
                str(device["name"]), str(word["name"]), int(device["memory_kib"]) * 1024 // int(word["bytes"])
            )
            for device in document["device"]
            for word in document["word"]
        ]
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise FormatError(
            str(file), f"[[device]] needs name and memory_kib, [[word]] name and bytes ({error!r})"
        ) from error
