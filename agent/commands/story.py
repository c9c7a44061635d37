"""`agent story`: begins, lists, plays, exports and imports stories of a running server, and checks a data folder.

All but `check` call the server at `url` over its HTTP API and `/story`, so that a `token` opens its user's stories.
"""

import json
import signal
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlencode, urlsplit, urlunsplit

import trio
from cyclopts import App, Parameter

from ..client.client import connect
from ..client.open import open_terminal
from ..client.remote import DEFAULT_URL
from ..client.story import HELP, StoryTerminal
from ..config import MEMORY, USER_DATA
from ..errors import CannotConnect, StorageFailed, UsageError, WireClosed
from ..host import WallClock, WorkerThreads
from ..http_client import FAILURES, HttpClient
from ..lang import DEFAULT, Lang
from ..storage.open import explain_missing, is_kept, open_story_store
from ..storage.settings import StorageSettings
from ..storage.stories import FILE as STORY_FILE
from ..text.terminal import printable_line
from .memory_access import Data
from .output import FAILED, OK, complain, on_a_terminal, steer, write

_ANSWER_TIMEOUT = 30.0  # seconds
_FAULTS_SHOWN = 20  # of each kind
_ANSWER_MOST = 64 * 1024 * 1024  # bytes of an answer, such as an export

command = App(
    name="story",
    help="Begin, list, play, export and import the stories of a server, and check its data folder.\n\n"
    'Example: agent story new "The mill"',
)

Url = Annotated[str, Parameter(env_var="AGENT_URL", help="The server's page.")]
Secret = Annotated[str | None, Parameter(env_var="AGENT_TOKEN", help="A token of the server or of a user.")]


@command.command(name="list", sort_key=1)
async def list_stories(*, url: Url = DEFAULT_URL, token: Secret = None) -> int:
    """List stories, the one changed last first: id, language, title.

    Example: agent story list
    """
    answer = await _call(url, token, "GET", "/stories")
    for each in json.loads(answer)["stories"]:
        write(printable_line(f"{each['id']}  {each['lang']}  {each['title']}") + "\n")
    return OK


@command.command(sort_key=2)
async def new(
    title: str, *, foundation: str = "", lang: Lang = DEFAULT, url: Url = DEFAULT_URL, token: Secret = None
) -> int:
    """Begin a story in a running server, and print its `id`, which `agent story play` takes.

    Example: agent story new "The mill" --foundation "A valley without roads."

    Parameters
    ----------
    foundation
        Holds in every scene: the world, its rules, the tone.
    """
    body = {"title": title, "foundation": foundation, "lang": lang}
    answer = await _call(url, token, "POST", "/stories", json.dumps(body).encode())
    write(json.loads(answer)["id"] + "\n")
    return OK


@command.command(sort_key=3)
async def play(
    story: str | None = None, *, branch: str | None = None, url: Url = DEFAULT_URL, token: Secret = None
) -> int:
    """Direct a story at the terminal; without an id, the one changed last.

    Example: agent story play

    Parameters
    ----------
    branch
        The id of a branch; by default the one that was told last.
    """
    if story is None:
        stories = json.loads(await _call(url, token, "GET", "/stories"))["stories"]
        if not stories:
            raise UsageError('there is no story yet: begin one with agent story new "TITLE"')
        story = str(stories[0]["id"])
    try:
        async with connect(_join(url, "/story"), token) as client:
            with trio.open_signal_receiver(signal.SIGINT) as interrupts:
                async with open_terminal(write, steer, on_a_terminal()) as (show, typed):
                    terminal = StoryTerminal(client, show)
                    if sys.stdin.isatty():
                        show(f"{HELP}\n")
                    trouble = await terminal.open_story(story, branch)
                    if trouble:
                        complain(trouble)
                        return FAILED
                    async with aclosing(typed) as lines:
                        return await terminal.run(lines, interrupts)
    except (CannotConnect, WireClosed) as error:
        complain(str(error))
        return FAILED


@command.command(sort_key=4)
async def export(
    story: str,
    *,
    form: Literal["json", "markdown"] = "json",
    branch: str | None = None,
    url: Url = DEFAULT_URL,
    token: Secret = None,
) -> int:
    """Print a story: as JSON that `agent story import` takes, or with `--form markdown` a branch of it to read.

    Example: agent story export ID > mill.json
    """
    query = {"form": form} | ({"branch": branch} if branch else {})
    write((await _call(url, token, "GET", f"/stories/{story}/export?{urlencode(query)}")).decode())
    return OK


@command.command(name="import", sort_key=5)
async def import_story(file: Path, *, url: Url = DEFAULT_URL, token: Secret = None) -> int:
    """Store an exported story as a new one, whole or not at all, and print its id.

    Example: agent story import mill.json
    """
    try:
        content = await trio.Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None
    write(json.loads(await _call(url, token, "POST", "/stories/import", content))["id"] + "\n")
    return OK


@command.command(sort_key=6)
async def check(*, data: Data = USER_DATA) -> int:
    """Read all stories of a data folder, and name what does not hold together.

    Safe to use while servers run.

    Example: agent story check --data ./data
    """
    if data == MEMORY:
        raise UsageError(
            "stories that are not in a folder end with their server: name a folder with --data DIR"
        )
    run_sync, clock = WorkerThreads(2), WallClock()
    if not await is_kept(data, STORY_FILE, run_sync, clock):
        raise UsageError(explain_missing("story", data))
    try:
        async with open_story_store(StorageSettings(data=data), run_sync, clock, complain_of) as store:
            faults = await store.list_faults(_FAULTS_SHOWN)
    except StorageFailed as error:
        raise UsageError(str(error)) from None
    for each in faults:
        write(f"{each}\n")
    write("All stories hold together.\n" if not faults else "")
    return FAILED if faults else OK


def complain_of(trouble: str) -> None:
    """Print why the stories cannot be read, if there is a reason."""
    if trouble:
        complain(f"the stories: {trouble}")


async def _call(url: str, token: str | None, method: str, path: str, body: bytes = b"") -> bytes:
    """Return the body of the answer to `method` and `path` of the server at `url`.

    Raises `CannotConnect` with the reason.
    """
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    client = HttpClient(_join(url, path), headers)
    try:
        with trio.fail_after(_ANSWER_TIMEOUT):
            async with client.post(body, method=method) as answer:
                status: int = answer.head.status_code
                content = await answer.read_body(_ANSWER_MOST)
    except trio.TooSlowError:
        raise CannotConnect("the server did not answer in time") from None
    except FAILURES:
        raise CannotConnect(
            "the server cannot be reached: start it with agent serve, or name it with --url"
        ) from None
    if content is None:
        raise CannotConnect("the answer of the server is too large")
    if status >= 400:
        raise CannotConnect(_read_problem(content) or f"the server answered with HTTP status {status}")
    return content


def _read_problem(content: bytes) -> str:
    try:
        return str(json.loads(content)["detail"])
    except (ValueError, KeyError, TypeError):
        return ""


def _join(url: str, path: str) -> str:
    """Return the address of `path` on the server whose page or socket is `url`."""
    parts = urlsplit(url if "//" in url else f"http://{url}")
    scheme = {"ws": "http", "wss": "https"}.get(parts.scheme, parts.scheme)
    path, _, query = path.partition("?")
    return urlunsplit((scheme, parts.netloc, path, query, ""))
