"""What needs the token is exactly what the router serves there: the same request with and without it, spelled oddly.

Each route in every spelling that has come to mind: each single character as a percent escape, doubled and dotted
slashes, another case, a slash behind, parameters, a query. What is answered to who shows the token tells which route a
spelling reaches; without the token exactly the spellings that reach a guarded route must be 401.
"""

from collections.abc import Iterator

import pytest

from agent.retrieval.load import SourceFile
from agent.retrieval.search import KnowledgeBase
from agent.server.admission import Admission
from agent.server.metrics import Metrics
from agent.server.page_routes import PageContents
from agent.server.request_head import Head, Refusal
from agent.server.responses import Answer
from agent.server.settings import ServerSettings
from tests.examples import sample

from . import exchange, later, page

TOKEN = "a-token-of-length"
FIGURES = b"agent_figure 1\n"
PRICES = KnowledgeBase.build([SourceFile.of("kb/a.md", "A lamp costs 5 kr.\n")])
ROUTES = (
    "/",
    "/healthz",
    "/readyz",
    "/metrics",
    "/asyncapi.json",
    "/session.mmd",
    "/static/app.js",
    "/embed.js",
    "/embed.json",
    "/agent.js",
    "/agent.d.ts",
    "/ws",
    "/source/kb/a.md",
    "/openers.json",
    "/docs",
    "/guide",
    "/guide/memory",
)
ADMISSION = Admission.of(ServerSettings(token=TOKEN))
METRICS = Metrics()
CONTENTS = PageContents(
    asyncapi=b"{}",
    session_diagram="",
    metrics=later(lambda: FIGURES),
    unready=later(lambda: ""),
    sections=PRICES.of_file,
    openers=lambda _: ("Why?",),
)
EDGE = page(CONTENTS, ADMISSION, METRICS)
SECRET = (FIGURES, b"A lamp costs", b"in the index", b"lines=3-5", b'["Why?"]')


def guarded(body: bytes) -> bool:
    """Whether this is what a route says that needs the token, also that there is no such source."""
    return any(part in body for part in SECRET)


def spellings(path: str) -> Iterator[str]:
    """Yield a path in other words; some of them reach the same route."""
    yield path
    for at, letter in enumerate(path):
        code = f"%{ord(letter):02x}"
        for escape in {code, code.upper(), f"%25{code[1:]}", f"%u00{code[1:]}", f"%c1%{ord(letter):02x}"}:
            yield path[:at] + escape + path[at + 1 :]
    yield "".join(f"%{ord(letter):02x}" for letter in path)
    yield "/" + "".join(f"%{ord(letter):02X}" for letter in path[1:])
    for odd in ("/", "//", "/.", "/..", "/./", "/../", "/x/..", "/x/../", "%2f", "%2F", "%2e", "\\", "%5c"):
        yield odd + path
        yield path + odd
        yield odd + path[1:]
    for behind in (
        "?",
        "?x",
        "?x=/metrics",
        "?/../metrics",
        ";x",
        ";jsessionid=1",
        "%00",
        "%20",
        "%0a",
        "%09",
    ):
        yield path + behind
    yield from ("#", f"/#{path}", f"{path}#x", f"/?{path}", f"/healthz/..{path}", f"/static/..{path}")
    yield from (path.upper(), path.title(), path.swapcase(), f"*{path}", f"/*{path}", f"{path}*")


def raw_request(method: str, target: str, token: bool) -> bytes:
    shown = f"Authorization: Bearer {TOKEN}\r\n" if token else ""
    return f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{shown}\r\n".encode()


async def routed(method: str, target: str, token: bool) -> tuple[int, bytes]:
    """Ask the HTTP server itself, also for what no head can hold; return status and body."""
    shown = ((b"authorization", f"Bearer {TOKEN}".encode()),) if token else ()
    head = Head(
        method=method.encode(),
        target=target.encode(),
        version=b"1.1",
        headers=((b"host", b"localhost"), *shown),
        raw=b"",
        rest=b"",
    )
    answer = await EDGE.http.admit(head, None)
    if isinstance(answer, Refusal):
        METRICS.count("rejections", str(answer.status))  # as the edge does
        answer = EDGE.http.answer_refusal(answer, head)
    assert isinstance(answer, Answer)
    return answer.status, b"" if method == "HEAD" else answer.content


async def ask(data: bytes) -> tuple[int, bytes]:
    """Send a request to the whole edge; return status and body."""
    head, _, body = (await exchange(EDGE, data)).partition(b"\r\n\r\n")
    return int(head.split()[1]), body


@pytest.mark.parametrize("method", sample(["GET", "HEAD"], 2))
async def test_exactly_what_the_router_serves_there_needs_the_token(method: str) -> None:
    """Whatever the spelling: 401 where the figures would be, and the same answer as ever everywhere else."""
    reached = dict.fromkeys(ROUTES, 0)
    for route in ROUTES:
        for target in spellings(route):
            shown, body = await routed(method, target, token=True)
            status, told = await routed(method, target, token=False)
            secret = guarded((await routed("GET", target, token=True))[1])
            assert not guarded(told), target
            assert (status, told) == ((401, told) if secret else (shown, body)), target
            assert shown == 200 or not secret or target.startswith("/source/") or "%" in target, target
            reached[route] += secret and shown == 200
    for route in ("/metrics", "/source/kb/a.md", "/openers.json"):
        assert reached[route] > len(route)  # also by escapes of one letter each


async def test_the_whole_edge_reads_a_path_as_its_router_does() -> None:
    """Sniffer, admission and HTTP server between: escapes get nobody past the token, and a POST needs it everywhere."""
    escaped = ["/metrics"[:at] + f"%{ord('/metrics'[at]):02x}" + "/metrics"[at + 1 :] for at in range(8)]
    for target in ("/metrics", "/metrics?x", *escaped[1:], "/%6D%65trics", "//metrics", "/./metrics"):
        shown, body = await ask(raw_request("GET", target, token=True))
        status, told = await ask(raw_request("GET", target, token=False))
        assert (shown, status) in (((200, 401),) if body == FIGURES else ((404, 404),)), target
        assert FIGURES not in told
    for target in (
        "/source/kb/a.md",
        "/source/kb/a.md?lines=1",
        "/%73ource/kb%2Fa.md",
        "/source/%6bb/%61.md",
    ):
        shown, body = await ask(raw_request("GET", target, token=True))
        status, told = await ask(raw_request("GET", target, token=False))
        assert (shown, status, b"A lamp costs" in body, guarded(told)) == (200, 401, True, False), target
    for target in ("/", "/metrics", "/%6detrics", "/nothing", "/source/kb/a.md"):
        assert (await ask(raw_request("POST", target, token=False)))[0] == 401
        assert (await ask(raw_request("POST", target, token=True)))[0] in (404, 405)
    assert (await ask(raw_request("GET", "http://localhost/metrics", token=True)))[0] == 400


@pytest.mark.proof
async def test_the_whole_edge_in_every_spelling() -> None:
    """The same difference as above for all of them, through sniffer, admission and HTTP server."""
    for route in ROUTES:
        for target in spellings(route):
            for method in ("GET", "HEAD", "POST"):
                shown, _ = await ask(raw_request(method, target, token=True))
                status, told = await ask(raw_request(method, target, token=False))
                secret = guarded((await ask(raw_request("GET", target, token=True)))[1])
                closed = secret if method != "POST" else shown != 400
                assert not guarded(told), target
                assert status == (401 if closed else shown), (method, target)


async def test_a_refusal_for_want_of_the_token_is_counted() -> None:
    """Beside those that the edge refuses itself."""
    before = METRICS.text().count(b'agent_rejections_total{status="401"}')
    await routed("GET", "/metrics", token=False)
    assert before <= METRICS.text().count(b'agent_rejections_total{status="401"}') == 1


async def test_the_socket_without_an_upgrade_says_what_it_is() -> None:
    """A person who opens it in a browser learns where to go."""
    status, told = await ask(raw_request("GET", "/ws", token=False))
    assert status == 426
    assert b"ws://" in told
