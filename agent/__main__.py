"""`python -m agent` is the `agent` command."""

import sys

from . import cli


def main() -> None:
    """Run the command line of this process and exit with its status."""
    sys.exit(cli.main())


if __name__ == "__main__":
    main()
