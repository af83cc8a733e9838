"""``python -m pebble`` is the command ``pebble``."""

from __future__ import annotations

import sys

from pebble.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
