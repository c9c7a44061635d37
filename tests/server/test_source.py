"""A source over HTTP: what the index holds and nothing else, escaped, marked, bounded, and refused in plain words."""

import json
from collections.abc import Sequence
from urllib.parse import quote

import pytest

from agent.ports.search import Passage
from agent.retrieval.load import SourceFile
from agent.retrieval.search import KnowledgeBase
from agent.server.page_routes import PageContents
from agent.server.responses import SECURITY

from . import exchange, later, page, parted

ODD = "kb/åäö & co/what? #1 100%.md"
HOSTILE = "kb/<img src=x onerror=alert(1)>.md"
BASE = KnowledgeBase.build(
    [
        SourceFile.of("kb/prices.md", "# Prices\n\nBasic costs 149 kr.\n\nStandard costs 299 kr.\n"),
        SourceFile.of(ODD, "Fees are 39 kr.\n"),
        SourceFile.of(
            HOSTILE, '# <b>Bold</b> & "quoted"\n\nIt costs 5 kr \\<script>alert(1)\\</script> & more.\n'
        ),
    ]
)
READING = [False]


def sections(file: str) -> Sequence[Passage] | None:
    return None if READING[0] else BASE.of_file(file)


SERVER = page(
    PageContents(
        asyncapi=b"",
        session_diagram="",
        metrics=later(lambda: b""),
        unready=later(lambda: ""),
        sections=sections,
    )
)


async def get(target: str, headers: str = "", method: str = "GET") -> tuple[int, dict[str, str], str]:
    """Ask for a target; return status, headers and body."""
    request = f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n".encode(
        "latin-1"
    )
    status, named, body = parted(await exchange(SERVER, request))
    return status, named, body.decode()


async def test_a_browser_gets_a_page_with_the_lines_and_numbers_marked() -> None:
    """With the security headers, in its language, without a script; HEAD has no body."""
    status, headers, body = await get("/source/kb/prices.md?lines=3")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert {name: headers[name] for name in SECURITY} == dict(SECURITY)
    assert (
        '<h2>Prices</h2><p class="line paragraph" aria-current="true"><span class="number">3</span>' in body
    )
    assert "Basic costs <mark>149 kr</mark>." in body
    assert "<span>Standard costs 299 kr.</span>" in body
    assert "Lines marked: 3" in body
    assert 'href="/source/kb/prices.md">The whole file' not in body  # that is all of it
    assert "<script" not in body
    swedish = await get("/source/kb/prices.md?lines=3-5", "Accept-Language: sv-SE, en\r\n")
    assert "Markerade rader: 3–5" in swedish[2]
    assert swedish[1]["vary"] == "Accept, Accept-Language"
    head = await get("/source/kb/prices.md?lines=3", method="HEAD")
    assert (head[0], head[1]["content-length"], head[2]) == (200, str(len(body.encode())), "")


async def test_a_program_gets_the_same_as_data() -> None:
    """Texts are in runs, of which each second one is a number."""
    status, headers, body = await get("/source/kb/prices.md?lines=5-5", "Accept: application/json\r\n")
    assert (status, headers["content-type"]) == (200, "application/json")
    assert json.loads(body) == {
        "file": "kb/prices.md",
        "lines": [5, 5],
        "whole": True,
        "above": False,
        "below": None,
        "parts": [
            {
                "heading": "Prices",
                "lines": [
                    {"line": 3, "kind": "paragraph", "cited": False, "text": ["Basic costs 149 kr."]},
                    {
                        "line": 5,
                        "kind": "paragraph",
                        "cited": True,
                        "text": ["Standard costs ", "299 kr", "."],
                    },
                ],
            }
        ],
    }
    whole = json.loads((await get("/source/kb/prices.md", "Accept: application/json\r\n"))[2])
    assert (whole["lines"], whole["whole"]) == (None, True)


async def test_nothing_of_a_file_is_read_as_html() -> None:
    """Neither its name, nor its headings, nor its text."""
    status, _, body = await get(f"/source/{quote(HOSTILE)}?lines=3")
    assert status == 200
    assert "<title>kb/&lt;img src=x onerror=alert(1)&gt;.md</title>" in body
    assert "&lt;script&gt;" in body or "\\&lt;script&gt;" in body
    for raw in ("<img", "<script", "<b>", 'src=x onerror=alert(1)">'):
        assert raw not in body


@pytest.mark.parametrize(
    "spelled", [quote(ODD), quote(ODD, safe=""), "".join(f"%{byte:02X}" for byte in ODD.encode())]
)
async def test_a_name_may_hold_anything_that_is_escaped(spelled: str) -> None:
    """Spaces, letters of any script, question marks, hashes, percent signs."""
    assert "<mark>39 kr</mark>" in (await get(f"/source/{spelled}?lines=1"))[2]


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/kb",
        "/kb/",
        "/kb/none.md",
        "/prices.md",
        "/KB/prices.md",
        "/kb/prices.md/",
        "/kb//prices.md",
        "/kb/./prices.md",
        "/kb/../kb/prices.md",
        "/kb/%2e%2e/kb/prices.md",
        "/kb%2F..%2F..%2Fetc%2Fpasswd",
        "/../../../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/kb/prices.md%00",
        "/kb/%00/prices.md",
        "/kb/prices.md%0a",
        "/kb/prices.md%20",
        "/kb/prices%252emd",
        "/kb/%c0%ae%c0%ae/prices.md",
        "/kb/%ff%fe.md",
        "/file:///etc/passwd",
        f"/kb/{'a' * 8000}",
    ],
)
async def test_what_is_not_in_the_index_is_not_there(path: str) -> None:
    """Whatever a name looks like, it is looked up and no path; the answer does not repeat it."""
    status, headers, body = await get(f"/source{path}?lines=1")
    assert status in (404, 307)
    if status == 307:  # the router's own, for the missing slash
        assert headers["location"].endswith("/source/?lines=1")
    assert "root:" not in body
    assert "passwd" not in body


@pytest.mark.parametrize(
    "lines",
    [
        "",
        "0",
        "0-3",
        "5-3",
        "-3",
        "3-",
        "a",
        "3-x",
        "3,5",
        "1e3",
        "+3",
        "%2B3",
        "٣",
        "%D9%A3",
        "3 ",
        "9999999999",
        "3&lines=4",
    ],
)
async def test_bad_lines_say_how_to_write_them(lines: str) -> None:
    """One line, or two with a hyphen between; a row of digits that is too long is none."""
    target = f"/source/kb/prices.md?lines={quote(lines, safe='%&+=')}"
    status, _, body = await get(target)
    assert (status, "lines=3-5" in body) == (400, True)


async def test_lines_that_hold_nothing_are_404() -> None:
    """Blank ones, and those behind the end; what to do is said."""
    for lines in ("2", "100-200", "999999999"):
        status, _, body = await get(f"/source/kb/prices.md?lines={lines}")
        assert (status, "leave out lines" in body) == (404, True)


async def test_while_the_documents_are_read_there_is_none() -> None:
    """503, and when to come back."""
    READING[0] = True
    status, headers, body = await get("/source/kb/prices.md?lines=3")
    READING[0] = False
    assert (status, headers["retry-after"], "being read" in body) == (503, "1", True)


async def test_what_a_browser_holds_is_not_sent_again() -> None:
    """Each form and each set of lines has a tag of its own."""
    data = "Accept: application/json\r\n"
    tags = set()
    for target, accept in (("", ""), ("", data), ("?lines=3", ""), ("?lines=3", data), ("?lines=5", data)):
        _, headers, _ = await get(f"/source/kb/prices.md{target}", accept)
        tags.add(headers["etag"])
        held = f"{accept}If-None-Match: {headers['etag']}\r\n"
        status, headers, body = await get(f"/source/kb/prices.md{target}", held)
        assert (status, body, headers["vary"]) == (304, "", "Accept, Accept-Language")
    assert len(tags) == 5
