"""``python -m pebble`` is the command ``pebble``; both start here."""

from __future__ import annotations

import sys

__all__ = ["run"]


def run() -> int:
    """The command line, Ctrl-C during its imports included: one line, exit code 130.

    Returns
    -------
    int
        The exit code, see `pebble.cli.main.main`.
    """
    try:
        from pebble.cli.main import main

        return main()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)  # noqa: T201 - what prints elsewhere may not be imported yet
        return 130


if __name__ == "__main__":
    sys.exit(run())
