"""``python -m pgm`` is the command ``pgm``."""

import sys

from pgm.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    sys.exit(main())
