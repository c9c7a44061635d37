"""`agent diagrams` and `agent schema`: descriptions that are drawn from the code."""

from pathlib import Path
from typing import Literal

from .. import diagrams as drawing
from ..protocol.asyncapi import document
from .output import FAILED, OK, write


def diagrams(folder: Path = Path("diagrams"), *, check: bool = False) -> int:
    """Write the diagrams that are drawn from the code; with `--check`, print their stale parts and exit 1.

    Example: agent diagrams --check
    """
    if check:
        stale = drawing.check(folder)
        write(stale)
        return FAILED if stale else OK
    for name in drawing.write(folder):
        write(f"{folder / name}\n")
    return OK


def schema(name: Literal["asyncapi"] = "asyncapi") -> None:
    """Print the description of the wire: an AsyncAPI 3 document, made from the message types.

    Example: agent schema asyncapi
    """
    write(document().decode())
