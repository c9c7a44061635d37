"""The lines that a user typed in earlier chats, in a file that other users cannot read."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from .editor import HISTORY_LINES

_MOST = 1024 * 1024  # bytes of the file that are read: its end


def find_history_file(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the path of the history file (XDG base directories); `None` for a user without a home folder."""
    chosen = Path(environment.get("XDG_STATE_HOME", ""))
    if not chosen.is_absolute():
        home = environment.get("HOME", "")
        if not home:
            return None
        chosen = Path(home) / ".local" / "state"
    return chosen / "agent-server" / "history"


def read_history(file: Path | None) -> list[str]:
    """Return the lines of `file`, oldest first; none when it cannot be read. Blocks."""
    if file is None:
        return []
    try:
        with open(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as kept:
            size = os.fstat(kept.fileno()).st_size
            kept.seek(max(0, size - _MOST))
            data = kept.read(_MOST)
    except OSError:
        return []
    lines = data.decode(errors="replace").split("\n")
    return ["".join(filter(str.isprintable, line)) for line in lines if line.strip()][-HISTORY_LINES:]


def append_history(file: Path | None, typed: Sequence[str]) -> None:
    """Append `typed` to the lines that other chats have written meanwhile; do nothing when that fails. Blocks."""
    if file is None or not typed:
        return
    lines = [*read_history(file), *typed][-HISTORY_LINES:]
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=file.parent, encoding="utf-8", delete=False) as new:  # of mode 0600
            new.write("".join(f"{line}\n" for line in lines))
        os.replace(new.name, file)
