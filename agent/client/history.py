"""The lines that a person typed in earlier chats, in a file that nobody else can read."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from .editor import REMEMBERED

_MOST = 1024 * 1024  # bytes of the file that are read: its end


def history_file(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return where it is kept (XDG base directories); None for a user without a home folder."""
    chosen = Path(environment.get("XDG_STATE_HOME", ""))
    if not chosen.is_absolute():
        home = environment.get("HOME", "")
        if not home:
            return None
        chosen = Path(home) / ".local" / "state"
    return chosen / "agent-server" / "history"


def read_history(file: Path | None) -> list[str]:
    """Return the lines that are kept, oldest first; none where they cannot be read. Blocks."""
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
    return ["".join(filter(str.isprintable, line)) for line in lines if line.strip()][-REMEMBERED:]


def keep_history(file: Path | None, typed: Sequence[str]) -> None:
    """Keep what was typed behind what other chats have kept meanwhile; nothing where that cannot be. Blocks."""
    if file is None or not typed:
        return
    lines = [*read_history(file), *typed][-REMEMBERED:]
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=file.parent, encoding="utf-8", delete=False) as new:  # of mode 0600
            new.write("".join(f"{line}\n" for line in lines))
        os.replace(new.name, file)
