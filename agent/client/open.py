"""Opens a terminal for `agent chat`: one whose lines can be edited, where there is one."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from importlib.util import find_spec

import trio

from .chat import Write
from .editor import Editor
from .history import history_file, keep_history, read_history
from .stdin import stdin_lines


@asynccontextmanager
async def opened_terminal(
    write: Write, steer: Callable[[str], None], able: bool
) -> AsyncGenerator[tuple[Write, AsyncGenerator[str, None]], None]:
    """Give what writes to the person, and the lines that the person types, for the time of a block.

    write: for what is no terminal, or can do nothing but show text. steer: writes to a terminal as it is. able:
    whether there is one that lines can be edited on.
    A SIGTERM ends the block early where lines are edited, so that the terminal is left as it was.
    """
    if not able or find_spec("termios") is None:
        yield write, stdin_lines()
        return
    from .tty import Screen, heed, keys, lines

    file = history_file()
    editor = Editor(read_history(file))
    typed: list[str] = []
    screen = Screen(editor, steer)

    async def noted() -> AsyncGenerator[str, None]:
        async with aclosing(lines(screen, editor)) as found:
            async for line in found:
                if line.strip():
                    typed.append(line)
                yield line

    try:
        with keys(screen, steer):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(heed, screen, 0, nursery.cancel_scope)
                yield screen.write, noted()
                nursery.cancel_scope.cancel()
    finally:
        keep_history(file, typed)
