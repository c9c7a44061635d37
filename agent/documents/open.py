"""Chooses the reader of a file by its suffix; what only some formats need is imported when such a file is there."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import PurePosixPath

from agent.errors import AgentError

from .breath import Breath
from .form import Document, GiveUp, NotInstalled, Unreadable

Reader = Callable[[str, bytes, Breath], Document]


def _markdown(file: str, data: bytes, breath: Breath) -> Document:
    from .markdown import read as reader

    return reader(file, data, breath)


def _mdx(file: str, data: bytes, breath: Breath) -> Document:
    from .markdown import read as reader

    return reader(file, data, breath, mdx=True)


def _text(file: str, data: bytes, breath: Breath) -> Document:
    from .text import read as reader

    return reader(file, data, breath)


def _html(file: str, data: bytes, breath: Breath) -> Document:
    from .html import read as reader

    return reader(file, data, breath)


def _rst(file: str, data: bytes, breath: Breath) -> Document:
    from .rst import read as reader

    return reader(file, data, breath)


def _pdf(file: str, data: bytes, breath: Breath) -> Document:
    _want("pypdfium2")
    from .pdf import read as reader

    return reader(file, data, breath)


def _docx(file: str, data: bytes, breath: Breath) -> Document:
    _want("docx")
    from .docx import read as reader

    return reader(file, data, breath)


def _want(module: str) -> None:
    if find_spec(module) is None:
        raise NotInstalled("needs more to be read: pip install 'agent-server[documents]'")


_READERS: dict[str, Reader] = {
    ".md": _markdown,
    ".markdown": _markdown,
    ".mdx": _mdx,
    ".txt": _text,
    ".html": _html,
    ".htm": _html,
    ".rst": _rst,
    ".pdf": _pdf,
    ".docx": _docx,
}

SUFFIXES: frozenset[str] = frozenset(_READERS)
"""Of the files that can be read, in lower case."""


def read(file: str, data: bytes, given_up: GiveUp = lambda: False) -> Document:
    """Read one file.

    file: its name as it will be cited; its suffix, in any case, says what it is. data: its bytes. given_up: asked
    every few milliseconds at most; once it is true, reading ends; it may also raise an `AgentError` of its own.
    Blocks; the time is linear in the length.
    Raises `Unreadable`, which says why in a few words, `agent.errors.GivenUp`, and MemoryError; else nothing, whatever
    the bytes.
    """
    suffix = PurePosixPath(file).suffix.lower()
    reader = _READERS.get(suffix)
    if reader is None:
        raise Unreadable(f"is of a kind that is not read ({suffix or 'no suffix'})")
    breath = Breath(given_up)
    breath.ask()
    try:
        return reader(file, data, breath)
    except (AgentError, MemoryError):
        raise
    except RecursionError:
        raise Unreadable("is nested too deeply") from None
    except Exception as error:  # parsers of other people, on bytes of other people
        raise Unreadable(f"cannot be read as {suffix[1:]} ({type(error).__name__})") from error
