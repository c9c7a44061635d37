"""The operator's files for the page: a logo that runs nothing, and questions to begin with."""

import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.errors import UsageError
from agent.server.branding import LOGO_BYTES, STARTERS_BYTES, STARTERS_MOST, Branding, Logo, read_branding
from agent.server.page_routes import PageContents
from agent.server.settings import ServerSettings
from tests.server import exchange, later, page

SVG = b'<?xml version="1.0"?>\n<!-- <html> -->\n<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
CONTENTS = PageContents(
    asyncapi=b"{}", session_diagram="", metrics=later(lambda: b""), unready=later(lambda: "")
)


def chunk(kind: bytes, data: bytes = b"") -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PNG = b"".join(
    (
        b"\x89PNG\r\n\x1a\n",
        chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)),
        chunk(b"IDAT", zlib.compress(b"\0\0")),
        chunk(b"IEND"),
    )
)


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()


def read(tmp_path: Path, lang: str = "en", **files: bytes) -> Branding:
    paths: dict[str, Any] = {}
    for name, content in files.items():
        paths[name] = tmp_path / name
        paths[name].write_bytes(content)
    return read_branding(ServerSettings(**paths), lang)


@pytest.mark.parametrize(("content", "kind"), [(SVG, "image/svg+xml"), (PNG, "image/png")])
async def test_a_logo_is_served_as_an_image_that_runs_nothing(
    content: bytes, kind: str, tmp_path: Path
) -> None:
    """Also when it is opened by itself; and the page names it only where there is one."""
    branding = read(tmp_path, logo=content)
    assert branding.logo == Logo(content, kind)
    edge = page(replace(CONTENTS, logo=branding.logo))
    head, _, body = (await exchange(edge, get("/logo"))).partition(b"\r\n\r\n")
    assert body == content
    assert f"Content-Type: {kind}".encode() in head
    assert b"default-src 'none'; style-src 'unsafe-inline'; sandbox" in head
    assert b"nosniff" in head
    assert b"default-src 'self'" not in head
    assert b'name="agent-logo" content="/logo"' in await exchange(edge, get("/"))
    assert b'name="agent-logo" content=""' in await exchange(page(CONTENTS), get("/"))
    assert (await exchange(page(CONTENTS), get("/logo"))).startswith(b"HTTP/1.1 404")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no SVG and no PNG"),
        (b"<html><svg></svg></html>", "no SVG and no PNG"),
        (b"<!-- <svg> </svg>", "no SVG and no PNG"),
        (b"<svgx></svgx>", "no SVG and no PNG"),
        (b"\xff\xd8\xff\xe0 a jpeg", "no SVG and no PNG"),
        (PNG[:-4], "damaged"),
        (PNG[:20] + b"\x09" + PNG[21:], "damaged"),
        (PNG[:8], "damaged"),
        (b"<svg>" + b" " * LOGO_BYTES + b"</svg>", "over 64 KiB"),
    ],
)
def test_what_is_no_logo_is_told_in_a_line(content: bytes, why: str, tmp_path: Path) -> None:
    """Of another kind, damaged, or too large; nothing of it is repeated."""
    with pytest.raises(UsageError, match=why) as told:
        read(tmp_path, logo=content)
    assert "\n" not in str(told.value)


def test_questions_stand_one_a_line_under_their_language(tmp_path: Path) -> None:
    """Those above the first language are in the server's; empty lines and notes are left out."""
    given = "\ufeffVad kostar det?\n\n# a note\n[en]\nWhat does it cost?\n  When?  \n[sv]\nNär?\n"
    branding = read(tmp_path, lang="sv", starters=given.encode())
    assert branding.starters == {"sv": ("Vad kostar det?", "När?"), "en": ("What does it cost?", "When?")}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"# nothing\n[sv]\n", "holds no question"),
        (b"Why?\n[xx]\nHm?\n", "line 2 names no language"),
        (b"x" * 201, "line 1 must be one question"),
        (b"Why?\nWh\x1b[2Jy?\n", "line 2 must be one question"),
        (b"Why\xff?\n", "not UTF-8"),
        (b"Why?\n" * (STARTERS_MOST + 1), "at most 6 questions"),
        (b"#" * (STARTERS_BYTES + 1), "over 16 KiB"),
    ],
)
def test_a_file_of_questions_that_cannot_be_used_is_told_in_a_line(
    content: bytes, why: str, tmp_path: Path
) -> None:
    """With the line that is at fault, where one is, and without its words."""
    with pytest.raises(UsageError, match=why) as told:
        read(tmp_path, starters=content)
    assert "\n" not in str(told.value)
    assert "\x1b" not in str(told.value)


def test_a_file_that_is_not_there_or_is_a_folder_is_told(tmp_path: Path) -> None:
    """With the reason of the system."""
    with pytest.raises(UsageError, match=r"logo .*: it cannot be read \(No such file or directory\)"):
        read_branding(ServerSettings(logo=tmp_path / "none.svg"), "en")
    with pytest.raises(UsageError, match=r"starters .*: it cannot be read \(Is a directory\)"):
        read_branding(ServerSettings(starters=tmp_path), "en")
