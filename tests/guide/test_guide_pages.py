"""The guide is whole: its pages, `agent guide`, `/guide`, its links, and the modules that it runs."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from agent import cli
from agent.commands.settings import GROUPS
from agent.guide import pages as guide
from agent.guide.pages import PAGES, read_page, read_title
from agent.protocol import inbound, outbound
from agent.protocol.kinds import KIND_OF_PATH
from agent.protocol.paths import TABLE as ROUTES
from agent.protocol.paths import match_path
from agent.server.page_routes import PageContents
from agent.server.responses import SECURITY
from agent.session.states import TABLE

from ..server import exchange, later, page, parted
from .readers import BUBBLE_ATTRIBUTES

ROOT = Path(__file__).parents[2]
FOLDER = Path(guide.__file__).parent
SERVER = page(
    PageContents(asyncapi=b"{}", session_diagram="", metrics=later(lambda: b""), unready=later(lambda: ""))
)
TEXTS = {name: read_page(name) for name in PAGES} | {"README": (ROOT / "README.md").read_text("utf-8")}
MADE = ("agent/lang/da/", "agent/actions/printer.py")  # by who follows a recipe
COMMANDS = ("/memory", "/v1")  # of `agent chat`, and the prefix of OpenAI's routes
LINK = re.compile(r"\]\(([^)\s]+)\)")


async def get(path: str) -> tuple[int, dict[str, str], str]:
    """Ask the server for a path; return status, headers and body."""
    status, headers, body = parted(
        await exchange(
            SERVER, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        )
    )
    return status, headers, body.decode()


class Page(HTMLParser):
    """The links of a page, and the tags in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.tags: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the tag, and its address."""
        self.tags.add(tag)
        self.links |= {value or "" for name, value in attrs if name in ("href", "src")}


def test_the_attributes_of_the_bubble_are_those_that_it_reads() -> None:
    """Each in the table, and in its script."""
    shown = set(re.findall(r"^\| `data-(\w+)` \|", TEXTS["running"], re.MULTILINE))
    script = (ROOT / "agent" / "server" / "static" / "embed.js").read_text("utf-8")
    (taken,) = re.findall(r"const \{ (.+) \} = script\.dataset;", script)
    read = {*taken.split(", "), *re.findall(r"script\.dataset\.(\w+)", script)}
    assert shown == read == BUBBLE_ATTRIBUTES


def test_every_file_is_a_page() -> None:
    """What stands in the folder is listed, with a title and a first sentence."""
    assert {path.stem for path in FOLDER.glob("*.md")} == set(PAGES)
    titles = [read_title(read_page(name)) for name in PAGES]
    assert len({title for title, _ in titles}) == len(PAGES)
    assert all(sentence[0].isupper() and sentence[-1] in ".:" for _, sentence in titles)


def test_the_command_prints_pages_and_names_them(capsys: pytest.CaptureFixture[str]) -> None:
    """A page as it is; the list without a name; for another name an error with the names."""
    for name in PAGES:
        assert cli.main(["guide", name]) == 0
        assert capsys.readouterr().out == read_page(name)
    assert cli.main(["guide"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(PAGES)
    for wrong in ("", "nothing", "../pyproject", "tools.md"):
        assert cli.main(["guide", wrong]) == 2
        said = capsys.readouterr()
        assert (said.out, said.err.count("\n")) == ("", 1)
        assert all(name in said.err for name in PAGES)


async def test_a_server_shows_every_page_and_all_its_links_lead_somewhere() -> None:
    """As HTML without a script or a style of its own, under the page's rules of content."""
    status, headers, body = await get("/guide")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert {f"/guide/{name}" for name in PAGES} < Page(body).links
    for name in PAGES:
        status, headers, body = await get(f"/guide/{name}")
        assert status == 200
        assert {each: headers[each] for each in SECURITY} == dict(SECURITY)
        found = Page(body)
        assert {f"/guide/{each}" for each in PAGES} < found.links
        assert found.tags.isdisjoint(("script", "style", "iframe", "form"))
        assert " style=" not in body
        for link in found.links - {"/openapi.json"}:  # of the API, which this server does not have
            assert link.startswith(("https://", "http://127.0.0.1:8787")) or (await get(link))[0] == 200, link


@pytest.mark.parametrize("headers", ["Host: evil.example", "Host: localhost\r\nOrigin: https://evil.example"])
async def test_the_page_of_another_site_reads_no_guide(headers: str) -> None:
    """`Host` and `Origin` are checked as for the chat page."""
    request = f"GET /guide/tools HTTP/1.1\r\n{headers}\r\nConnection: close\r\n\r\n"
    status, _, body = parted(await exchange(SERVER, request.encode()))
    assert status in (421, 403)
    assert b"<h1>" not in body


@pytest.mark.parametrize("path", ["/guide/nothing", "/guide/..%2fpages.py", "/guide/pages.py", "/guide/a/b"])
async def test_there_is_no_other_page(path: str) -> None:
    """A name that is none of the list is 404, whatever file it could name."""
    assert (await get(path))[0] == 404


async def test_html_in_a_page_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raw HTML and links with a scheme of their own are not passed on."""
    bad = "# Bad\n\nIt says. <script>alert(1)</script> [a](javascript:alert(1)) [b](../secret.md)\n"
    monkeypatch.setattr("agent.server.guide.read_page", lambda _: bad)
    server = page(
        PageContents(
            asyncapi=b"{}", session_diagram="", metrics=later(lambda: b""), unready=later(lambda: "")
        )
    )
    request = b"GET /guide/tools HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    _, _, body = parted(await exchange(server, request))
    found = Page(body.decode())
    assert "script" not in found.tags
    assert not [link for link in found.links if "secret" in link or "javascript" in link]


@pytest.mark.parametrize("name", TEXTS)
def test_files_and_modules_that_it_names_are_there(name: str) -> None:
    """Links, paths in code marks, tests and modules of the checkout."""
    text = TEXTS[name]
    folder = ROOT if name == "README" else FOLDER
    for link in LINK.findall(text):
        assert link.startswith("http") or (folder / link).exists(), link
    for path in re.findall(r"`((?:agent|tests|diagrams|kb)/[\w./]*)`", text):
        assert (ROOT / path).exists() or path in MADE, path
    for path in re.findall(r"pytest [^`]*?(tests/[\w/.]+)", text):
        assert (ROOT / path).exists(), path
    for module in re.findall(r"python -m ((?:agent|tests)[\w.]*)", text):
        place = ROOT / module.replace(".", "/")
        file = place / "__main__.py" if place.is_dir() else place.with_suffix(".py")
        assert file.exists(), module
        assert "__main__" in file.name or "__main__" in file.read_text("utf-8"), module


def test_every_arrow_of_the_diagram_is_a_row_of_the_table() -> None:
    """The short diagram of a session leaves rows out, and invents none."""
    rows = {(row.source.value, (row.target or row.source).value, row.trigger.value) for row in TABLE.rows}
    arrows = re.findall(r"^    (\w+) --> (\w+): (\w+)$", TEXTS["websocket"], re.MULTILINE)
    assert len(arrows) > 12
    assert set(arrows) <= rows


def test_every_frame_of_the_wire_is_named_with_its_fields() -> None:
    """The two tables name each type that can be sent; those of the client name all of its fields."""
    rows = re.findall(r"^\| (`.+?) \| (.+) \|$", TEXTS["websocket"], re.MULTILINE)
    named = {kind: fields for kinds, fields in rows for kind in re.findall(r"`(\w+)`", kinds)}
    frames = {
        struct.__struct_config__.tag: struct
        for union in (inbound.Inbound, outbound.Outbound)
        for struct in union.__args__
    }
    assert set(frames) == set(named)
    for struct in inbound.Inbound.__args__:
        fields = set(struct.__struct_encode_fields__) - {"id"}
        assert {field for field in fields if f"`{field}`" not in named[struct.__struct_config__.tag]} == set()


@pytest.mark.parametrize("name", TEXTS)
def test_settings_and_routes_that_it_names_are_there(name: str) -> None:
    """Each flag in a sentence is a setting of the server or one of the few of other commands; each path is a route."""
    settings = {flag for flags in GROUPS.values() for flag in flags} | {
        "explain",
        "help",
        "check",
        "once",
        "json",
    }
    flags = re.findall(r"`--([a-z-]+)", TEXTS[name])
    assert set(flags) <= settings
    paths = {route.path for route in ROUTES}
    for path in re.findall(r"`(?:(?:GET|POST|PUT|DELETE) )?(/[a-z][a-z0-9/_.{}-]*)`", TEXTS[name]):
        found = path in paths or match_path(path.encode()).routes or path in COMMANDS
        assert found or path.encode() in KIND_OF_PATH or path.startswith("/etc/"), path
