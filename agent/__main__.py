"""Runs `python -m agent` as the `agent` command."""

import gc
import sys

from . import cli


def main() -> None:
    """Run the command line of this process and exit with its status."""
    status = cli.main()
    gc.freeze()  # otherwise the last collection walks the rest of a large knowledge base, which takes a second
    sys.exit(status)


if __name__ == "__main__":
    main()
