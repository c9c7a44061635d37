"""Reads the blocks of code of a page, and the commands of a block.

The first word behind a fence is the language of its block; the second one, where it stands, is the file that the reader
saves it as. A `text` block holds parts of the lines that the commands before it print, in their order.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"^```", re.MULTILINE)
_INDENTED = re.compile(r"^ +```", re.MULTILINE)
_RECIPES = "extending.md"  # its blocks in lists are taken by tests/actions/test_add_an_executor.py
_HEREDOC = re.compile(r"<<'(\w+)'")
_ASSIGNMENT = re.compile(r"[A-Z_]+=\S*")
_INSTALL = re.compile(
    r"\s*(python3 -m venv|\. \.venv/bin/activate|(\.venv/bin/)?pip install|apt-get install)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block of a page; `line` is that of its fence."""

    page: str
    line: int
    language: str
    file: str
    text: str

    @property
    def place(self) -> str:
        """The page and the line, for messages."""
        return f"{self.page}, line {self.line}"


def read_blocks(page: str, text: str) -> list[Block]:
    """Return the blocks of a page in their order."""
    blocks = []
    for match in _FENCE.finditer(text):
        language, _, file = match["info"].partition(" ")
        line = text.count("\n", 0, match.start()) + 1
        assert not file or f"`{file}`" in text[: match.start()], (
            f"{page}, line {line}: no sentence names {file}"
        )
        blocks.append(Block(page=page, line=line, language=language, file=file, text=match["text"]))
    assert len(_MARK.findall(text)) == 2 * len(blocks), f"{page} has a fence that is not closed"
    assert page == _RECIPES or _INDENTED.search(text) is None, (
        f"{page} has a block in a list, which nothing takes"
    )
    return blocks


def split_installs(script: str) -> tuple[list[str], str]:
    """Return the commands of a script that install something, and the rest of the script."""
    installs, rest = [], []
    for line in script.splitlines():
        parts = line.split(" && ") if _INSTALL.match(line) else [line]
        installs += [part.strip() for part in parts if _INSTALL.match(part)]
        rest += [part for part in parts if not _INSTALL.match(part)]
    return installs, "".join(f"{line}\n" for line in rest)


def find_commands(script: str) -> Iterator[tuple[dict[str, str], list[str]]]:
    """Yield the variables and the words of each command of a script, without its redirections and here-documents."""
    lines = iter(script.replace("\\\n", " ").splitlines())
    exported: dict[str, str] = {}
    for line in lines:
        heredoc = _HEREDOC.search(line)
        if heredoc is not None:
            while next(lines) != heredoc[1]:
                pass
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if set(word) <= set(";|&()"):
                if words[:1] == ["export"]:
                    exported |= _split_variables(words[1:])[0]
                elif words:
                    variables, rest = _split_variables(words)
                    yield exported | variables, rest
                words = []
            else:
                words.append(word)


def _split_variables(words: list[str]) -> tuple[dict[str, str], list[str]]:
    variables: dict[str, str] = {}
    while words and _ASSIGNMENT.fullmatch(words[0]):
        name, _, value = words[0].partition("=")
        variables[name] = "made-by-another-command" if value.startswith("$") else value
        words = words[1:]
    at = next((at for at, word in enumerate(words) if set(word) <= set("<>")), len(words))
    return variables, words[:at]
