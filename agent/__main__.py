"""`python -m agent` is the `agent` command."""

import gc
import sys

from . import cli


def main() -> None:
    """Run the command line of this process and exit with its status."""
    status = cli.main()
    gc.freeze()  # else what is left of a large knowledge base is looked through once more, which takes a second
    sys.exit(status)


if __name__ == "__main__":
    main()
