"""``python -m ffai``: the same as the ``ffai`` command."""

import sys

from ffai.cli import main

if __name__ == "__main__":
    sys.exit(main())
