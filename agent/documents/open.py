"""Chooses the reader of a file by its suffix; the parser of a format is imported when the first such file is read."""

from collections.abc import Callable
from pathlib import PurePosixPath

from agent.errors import AgentError

from .blocks import Document, GiveUp, Unreadable
from .step_counter import StepCounter

Reader = Callable[[str, bytes, StepCounter], Document]


def _markdown(file: str, data: bytes, step_counter: StepCounter) -> Document:
    from .markdown import read_markdown as reader

    return reader(file, data, step_counter)


def _mdx(file: str, data: bytes, step_counter: StepCounter) -> Document:
    from .markdown import read_markdown as reader

    return reader(file, data, step_counter, mdx=True)


def _text(file: str, data: bytes, step_counter: StepCounter) -> Document:
    from .text import read_text as reader

    return reader(file, data, step_counter)


def _html(file: str, data: bytes, step_counter: StepCounter) -> Document:
    from .html import read_html as reader

    return reader(file, data, step_counter)


def _rst(file: str, data: bytes, step_counter: StepCounter) -> Document:
    from .rst import read_rst as reader

    return reader(file, data, step_counter)


def _pdf(file: str, data: bytes, step_counter: StepCounter) -> Document:
    from .pdf import read_pdf as reader

    return reader(file, data, step_counter)


def _docx(file: str, data: bytes, step_counter: StepCounter) -> Document:
    from .docx import read_docx as reader

    return reader(file, data, step_counter)


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
"""The suffixes of the files that can be read, in lower case."""


def parse_document(file: str, data: bytes, given_up: GiveUp = lambda: False) -> Document:
    """Read one file.

    `file`: its name as it will be cited; its suffix, in any case, decides the format. `data`: its bytes. `given_up`:
    called every few milliseconds at most; reading ends once it returns true; it may also raise an `AgentError` of its
    own. Blocks; the time is linear in the length. Raises `Unreadable` with the reason in a few words,
    `agent.errors.GivenUp`, and `MemoryError`; nothing else, for any bytes.
    """
    suffix = PurePosixPath(file).suffix.lower()
    reader = _READERS.get(suffix)
    if reader is None:
        raise Unreadable(f"is of a kind that is not read ({suffix or 'no suffix'})")
    step_counter = StepCounter(given_up)
    step_counter.check()
    try:
        return reader(file, data, step_counter)
    except (AgentError, MemoryError):
        raise
    except RecursionError:
        raise Unreadable("is nested too deeply") from None
    except Exception as error:  # third-party parsers may raise anything on untrusted bytes
        raise Unreadable(f"cannot be read as {suffix[1:]} ({type(error).__name__})") from error
