"""Reads the operator's files for the chat page: the logo, and the questions to begin with.

A logo is served from the server's own address and shown as an image, in which a browser runs no script and loads
nothing; opened by itself, its policy forbids both.

The questions stand in a text file, one a line. A line such as `[sv]` gives the language of the lines after it; those
before the first such line are in the server's language. Empty lines, and lines that begin with `#`, are left out.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import UsageError
from ..lang import LANGUAGES, Lang
from .settings import ServerSettings

LOGO_BYTES = 64 * 1024
STARTERS_BYTES = 16 * 1024
STARTERS_MOST = 6  # questions of a language
STARTER_CHARACTERS = 200

LOGO_POLICY: Mapping[str, str] = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
}
"""Headers of a logo: no script in it runs, and nothing else is loaded."""

_PNG = b"\x89PNG\r\n\x1a\n"
_NOT_A_LOGO = "it is no SVG and no PNG image"


@dataclass(frozen=True, slots=True)
class Logo:
    """An image. `kind`: its media type."""

    content: bytes
    kind: str


@dataclass(frozen=True, slots=True)
class Branding:
    """The operator's parts of the page. `logo`: None without one. `starters`: questions to begin with, by language."""

    logo: Logo | None = None
    starters: Mapping[Lang, Sequence[str]] = field(default_factory=dict)


def read_branding(settings: ServerSettings, lang: Lang) -> Branding:
    """Read the files that `settings` name. `lang`: the server's language. Blocks; called at the start.

    Raises `agent.errors.UsageError`, one line that names the file, if one of them cannot be used.
    """
    return Branding(
        None if settings.logo is None else _read_logo(settings.logo),
        {} if settings.starters is None else _read_starters(settings.starters, lang),
    )


def _read_logo(path: Path) -> Logo:
    content = _read_bytes("logo", path, LOGO_BYTES)
    if content.startswith(_PNG):
        if not _is_whole_png(content):
            raise UsageError(f"logo {path}: the PNG image is damaged; save it anew")
        return Logo(content, "image/png")
    if not _is_svg(content):
        raise UsageError(f"logo {path}: {_NOT_A_LOGO}; save it as one of these")
    return Logo(content, "image/svg+xml")


def _is_whole_png(content: bytes) -> bool:
    """Tell whether each chunk of a PNG image has its checksum, from the header to the end (PNG, section 5.3)."""
    at, kinds = len(_PNG), []
    while at + 12 <= len(content):
        length = int.from_bytes(content[at : at + 4])
        chunk, end = content[at + 4 : at + 8 + length], at + 12 + length
        if end > len(content) or zlib.crc32(chunk) != int.from_bytes(content[end - 4 : end]):
            return False
        kinds.append(chunk[:4])
        at = end
    return kinds[:1] == [b"IHDR"] and b"IDAT" in kinds and kinds[-1:] == [b"IEND"]


def _is_svg(content: bytes) -> bool:
    """Tell whether the first element of a text is `svg`; what stands before it is skipped."""
    try:
        text = content.decode("utf-8-sig").lstrip()
    except UnicodeDecodeError:
        return False
    ends = {"<?": "?>", "<!--": "-->", "<!": ">"}
    while (begin := next((each for each in ends if text.startswith(each)), "")) != "":
        text = text.partition(ends[begin])[2].lstrip()
    return text.startswith("<svg") and text[4:5] in (" ", "\t", "\r", "\n", ">") and "</svg>" in text


def _read_starters(path: Path, lang: Lang) -> dict[Lang, tuple[str, ...]]:
    try:
        lines = _read_bytes("starters", path, STARTERS_BYTES).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise UsageError(f"starters {path}: it is not UTF-8 (byte {error.start})") from None
    found: dict[Lang, tuple[str, ...]] = {}
    for number, line in enumerate(map(str.strip, lines), 1):
        if not line or line.startswith("#"):
            continue
        if line.startswith("[") and line.endswith("]"):
            if line[1:-1] not in LANGUAGES:
                known = " or ".join(f"[{each}]" for each in LANGUAGES)
                raise UsageError(f"starters {path}: line {number} names no language; write {known}")
            lang = line[1:-1]
            continue
        if len(line) > STARTER_CHARACTERS or not line.isprintable():
            raise UsageError(
                f"starters {path}: line {number} must be one question of at most {STARTER_CHARACTERS} characters"
            )
        found[lang] = (*found.get(lang, ()), line)
        if len(found[lang]) > STARTERS_MOST:
            raise UsageError(f"starters {path}: give at most {STARTERS_MOST} questions in each language")
    if not found:
        raise UsageError(f"starters {path}: it holds no question; write one on each line")
    return found


def _read_bytes(setting: str, path: Path, most: int) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise UsageError(f"{setting} {path}: it cannot be read ({error.strerror})") from None
    except ValueError:
        raise UsageError(f"{setting}: this is no path of a file") from None
    if len(content) > most:
        raise UsageError(f"{setting} {path}: it has over {most // 1024} KiB")
    return content
