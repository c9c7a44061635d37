"""Uploads on the chat page, and the operator's logo, greeting and questions, in a browser."""

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..e2e.test_process import serve
from ..server.test_branding import PNG, SVG
from . import ask, check_accessibility
from .conftest import OpenPage

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.proof
TOKEN = "the-operators-token"
SAUNA = b"# Sauna\n\nA sauna costs 90 kr an hour.\n"
FITS = "document.documentElement.scrollWidth <= innerWidth"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the documents: one about a house."""
    made = tmp_path_factory.mktemp("kb")
    (made / "house.md").write_text("# House\n\n## When does the house open?\n\nThe house opens at noon.\n")
    return made


@pytest.fixture
def address(tmp_path: Path, folder: Path) -> Iterator[str]:
    """The address of a server without a token, whose files are kept in memory."""
    with serve(tmp_path, "--pace-ms", "0", "--data", "memory", kb=folder) as (_, port):
        yield f"http://127.0.0.1:{port}/"


def call(address: str, method: str, path: str, body: Any = None) -> Any:
    """Ask the HTTP API as the operator."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
    request = urllib.request.Request(address + path, data, headers, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read() or b"null")


def upload(page: "Page", *files: tuple[str, bytes]) -> None:
    """Choose files in the dialog, which is open, and wait until each is done or refused."""
    rows = page.locator("#uploads-sent > li:is([data-state=done], [data-state=failed])")
    before = rows.count()
    with page.expect_file_chooser() as chooser:
        page.locator("#uploads-choose").click()
    payloads: Any = [{"name": name, "mimeType": "", "buffer": data} for name, data in files]
    chooser.value.set_files(payloads)
    rows.nth(before + len(files) - 1).wait_for()


def last_answer(page: "Page") -> str:
    return page.locator("#log > li.answer").last.inner_text()


@pytest.mark.parametrize(
    ("width", "scheme", "lang"),
    [(360, "dark", "sv"), (1280, "light", "en")],
)
def test_an_upload_is_read_answered_from_and_removed(
    address: str, open_page: OpenPage, width: int, scheme: str, lang: str
) -> None:
    """With the keyboard alone; its name is shown as text, its source opens, and axe finds nothing on the way."""
    name = "sauna <img src=x onerror=alert(1)> " + "long" * 12 + ".md"
    page = open_page(address, width=width, scheme=scheme, lang=lang)
    page.locator("#uploads-open").wait_for()  # it shows once the server has said that uploads are taken
    page.locator("#uploads-open").press("Enter")
    page.locator("#uploads[open] .detail", has_text="10 MB").wait_for()
    check_accessibility(page)
    upload(page, (name, SAUNA))
    row = page.locator("#uploads-sent > li")
    assert name in row.inner_text()
    assert ("Lästa avsnitt: 1." if lang == "sv" else "Sections read: 1.") in row.inner_text()
    page.locator("#uploads-list > li", has_text="sauna <img").wait_for()
    check_accessibility(page)
    assert page.evaluate(FITS)
    page.keyboard.press("Escape")
    ask(page, "What does a sauna cost?")
    assert "90 kr" in last_answer(page)
    assert f"docs/{name}" in last_answer(page)
    page.locator("#log .answer .open").first.click()
    page.locator("#source[open] mark", has_text="90 kr").wait_for()
    page.keyboard.press("Escape")
    page.locator("#uploads-open").click()
    page.locator("#uploads-list button").click()
    check_accessibility(page)
    page.locator("#uploads-list .sure button").first.press("Enter")
    page.locator("#uploads-list > li").wait_for(state="detached")
    assert "sauna <img" in page.locator("#uploads-told").inner_text()
    page.keyboard.press("Escape")
    ask(page, "What does a sauna cost?")
    assert "90 kr" not in last_answer(page)


def test_files_that_cannot_be_used_are_told_in_words(
    address: str, open_page: OpenPage, tmp_path: Path
) -> None:
    """Another kind, empty, too large and broken ones, each by its remedy; the others are taken all the same."""
    page = open_page(address, expected="docs")
    page.locator("#uploads-open").click()
    large = tmp_path / "large.txt"
    with large.open("wb") as file:
        file.truncate(10 * 1024 * 1024 + 1)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method))
    upload(page, ("a.exe", b"MZ"), ("empty.md", b""))
    with page.expect_file_chooser() as chooser:
        page.locator("#uploads-choose").click()
    chooser.value.set_files(large)
    page.locator("#uploads-sent > li", has_text="more than 10 MB").wait_for()
    assert "POST" not in sent  # each was refused before any byte of it was sent
    upload(page, ("broken.pdf", b"%PDF-1.7 nothing"), ("a.md", SAUNA), ("a.md", SAUNA), ("blank.txt", b" \n"))
    upload(page, ("a.md", SAUNA.replace(b"90", b"95")))
    told = page.locator("#uploads-sent > li .detail").all_inner_texts()
    assert "Files of this kind are not read." in told[0]
    assert "The file is empty." in told[1]
    assert "cannot be read" in told[3]
    assert told[4] == "Sections read: 1."
    assert "It was there already" in told[5]
    assert "holds no text" in told[6]
    assert "It replaces the earlier file" in told[7]
    assert page.locator("#uploads-list > li").count() == 1
    check_accessibility(page)
    page.keyboard.press("Escape")
    ask(page, "What does a sauna cost?")
    assert "95 kr" in last_answer(page)


def test_a_file_is_dropped_and_a_lost_one_sent_again(address: str, open_page: OpenPage) -> None:
    """Nothing of a file is kept whose connection was lost before its end; its name and content are still here."""
    page = open_page(address, expected="docs")
    page.locator("#uploads-open").wait_for()
    page.route(
        "**/docs", lambda route: route.abort() if route.request.method == "POST" else route.continue_()
    )
    page.locator("#question").fill("half a question")
    page.evaluate(
        """() => {
          const files = new DataTransfer();
          files.items.add(new File(["# Sauna\\n\\nA sauna costs 90 kr.\\n"], "sauna.md"));
          for (const kind of ["dragover", "drop"])
            document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: files, bubbles: true, cancelable: true }));
        }"""
    )
    row = page.locator("#uploads-sent > li[data-state=failed]", has_text="The connection was lost")
    row.wait_for()
    assert page.locator("#uploads-list > li").count() == 0
    page.unroute("**/docs")
    row.get_by_role("button", name="Try again").click()
    page.locator("#uploads-list > li", has_text="sauna.md").wait_for()
    page.keyboard.press("Escape")
    assert page.locator("#question").input_value() == "half a question"


def test_a_projects_key_opens_its_own_documents_until_it_is_revoked(
    tmp_path: Path, folder: Path, open_page: OpenPage
) -> None:
    """Its page answers from them alone; then it asks for a key, and what was typed stays."""
    with serve(tmp_path, "--token", TOKEN, "--data", "memory", "--pace-ms", "0", kb=folder) as (_, port):
        address = f"http://127.0.0.1:{port}/"
        project = call(address, "POST", "projects", {"name": "P", "role_statement": "You help."})["id"]
        key = call(address, "POST", f"projects/{project}/keys", {"name": "k"})
        page = open_page(address, expected="401|WebSocket")
        page.locator("#token").fill(key["key"])
        page.keyboard.press("Enter")
        page.locator("#uploads-open").click()
        upload(page, ("sauna.md", SAUNA))
        page.keyboard.press("Escape")
        ask(page, "What does a sauna cost?")
        assert "90 kr" in last_answer(page)
        page.locator("#log .answer .open").first.click()
        page.locator("#source[open] mark", has_text="90 kr").wait_for()
        page.keyboard.press("Escape")
        ask(page, "When does the house open?")
        assert "noon" not in last_answer(page)
        page.locator("#question").fill("half a question")
        call(address, "DELETE", f"projects/{project}/keys/{key['id']}")
        page.locator("#locked[open]").wait_for()
        check_accessibility(page)
        assert page.locator("#question").input_value() == "half a question"
        page.locator("#token").fill(TOKEN)
        page.keyboard.press("Enter")
        page.locator("#state[data-state=idle]").wait_for()
        page.locator("#uploads-open").click()
        page.locator("#uploads .detail", has_text="No document has been uploaded").wait_for()
        page.keyboard.press("Escape")
        ask(page, "When does the house open?")
        assert "noon" in last_answer(page)


def test_a_user_with_a_token_sees_no_uploads(tmp_path: Path, folder: Path, open_page: OpenPage) -> None:
    """The documents are the operator's."""
    (tmp_path / "users.toml").write_text('ana = "a-token-of-ana-that-is-long"\n')
    arguments = ("--token", TOKEN, "--users", "users.toml", "--data", "memory")
    with serve(tmp_path, *arguments, kb=folder) as (_, port):
        page = open_page(f"http://127.0.0.1:{port}/", expected="401|WebSocket")
        page.locator("#token").fill("a-token-of-ana-that-is-long")
        with page.expect_response("**/uploads.json"):
            page.keyboard.press("Enter")
        page.locator("#state[data-state=idle]").wait_for()
        assert page.locator("#uploads-open").is_hidden()


@pytest.mark.parametrize("logo", [SVG, PNG], ids=["svg", "png"])
def test_the_page_is_the_operators(tmp_path: Path, folder: Path, open_page: OpenPage, logo: bytes) -> None:
    """His logo, whose script does not run, his greeting, and his questions in each language, which are asked."""
    (tmp_path / "logo").write_bytes(logo)
    (tmp_path / "starters.txt").write_text("When does the house open?\n[sv]\nNär öppnar huset?\n", "utf-8")
    arguments = ("--logo", "logo", "--starters", "starters.txt", "--greeting", "Ask <b>us</b>.")
    with serve(tmp_path, *arguments, "--data", "memory", "--pace-ms", "0", kb=folder) as (_, port):
        address = f"http://127.0.0.1:{port}/"
        page = open_page(address, width=360, expected="Blocked script execution in .*/logo")
        page.locator("#openers button", has_text="When does the house open?").wait_for()
        assert page.locator("#greeting").inner_text() == "Ask <b>us</b>."
        page.locator("#logo").wait_for()
        page.locator("#state[data-state=idle]").wait_for()
        check_accessibility(page)
        page.locator("#openers button").click()
        page.locator("#log > li.answer.ended", has_text="noon").wait_for()
        page.locator("#language").select_option("sv")
        page.locator("#openers button", has_text="När öppnar huset?").wait_for(state="attached")
        dialogs: list[str] = []
        bare = page.context.new_page()
        bare.on("dialog", lambda dialog: dialogs.append(dialog.message))
        assert bare.goto(f"{address}logo").status == 200  # type: ignore[union-attr]
        assert dialogs == []
