"""Opens a terminal for `agent chat`, with line editing where the terminal allows it."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from importlib.util import find_spec

import trio

from .chat import Write
from .editor import LineEditor
from .history import append_history, find_history_file, read_history
from .stdin import read_stdin_lines


@asynccontextmanager
async def open_terminal(
    write: Write, steer: Callable[[str], None], able: bool
) -> AsyncGenerator[tuple[Write, AsyncGenerator[str, None]], None]:
    """Yield a function that writes to the user, and the lines that the user types, for the time of a block.

    `write`: used for plain output, without line editing. `steer`: writes control sequences to a terminal. `able`:
    whether the terminal supports line editing. With line editing, a SIGTERM ends the block early, so that the terminal
    is restored.
    """
    if not able or find_spec("termios") is None:
        yield write, read_stdin_lines()
        return
    from .tty import Screen, read_keys, read_lines, watch_signals

    file = find_history_file()
    editor = LineEditor(read_history(file))
    typed: list[str] = []
    screen = Screen(editor, steer)

    async def record_lines() -> AsyncGenerator[str, None]:
        async with aclosing(read_lines(screen, editor)) as found:
            async for line in found:
                if line.strip():
                    typed.append(line)
                yield line

    try:
        with read_keys(screen, steer):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(watch_signals, screen, 0, nursery.cancel_scope)
                yield screen.write, record_lines()
                nursery.cancel_scope.cancel()
    finally:
        append_history(file, typed)
