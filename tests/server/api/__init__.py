"""The HTTP API over streams in memory: how its tests ask, and that whatever is answered is what the document says."""

import json
from functools import cache
from typing import Any

import jsonschema_rs
import trio
import trio.testing

from agent.protocol.openapi import document
from agent.protocol.problems import KIND
from agent.protocol.routes import ROUTES
from agent.server.admission import Admission
from agent.server.api.http_api import HttpApi
from agent.server.api.keys import Keys
from agent.server.http_server import HttpServer
from agent.server.limits import ConnectionLimits
from agent.server.metrics import Metrics
from agent.server.page_routes import PageContents, make_page_handlers
from agent.server.serve import Edge, serve_stream
from agent.server.settings import ServerSettings
from agent.testing.faults import PipeEnd, pipe

from .. import later, nobody, parted
from .stores import House

TOKEN = "a-token-of-24-characters"
Told = tuple[int, dict[str, str], Any]


@cache
def _document() -> Any:
    return json.loads(document())


@cache
def _validator(pointer: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for({"$ref": pointer, "components": _document()["components"]})


def _described(method: str, path: str, status: int) -> Any:
    """What the document says of an answer; None for what is no route."""
    for route in sorted(ROUTES, key=lambda route: route.path != path):
        if route.method == method and route.pattern.fullmatch(path):
            described = _document()["paths"][route.path][method.lower()]["responses"]
            answer = described[str(status)]  # a status that is not there is a finding
            if "$ref" in answer:
                return _document()["components"]["responses"][answer["$ref"].rsplit("/", 1)[1]]
            return answer
    return None


def held_to_the_document(method: str, target: str, status: int, headers: dict[str, str], body: bytes) -> Any:
    """Check an answer against `/openapi.json`; return its JSON value, None where there is none."""
    path = target.partition("?")[0]
    described = _described("GET" if method == "HEAD" else method, path, status)
    assert headers["connection"] == "close" or status < 400
    assert headers["x-content-type-options"] == "nosniff"
    if method == "HEAD" or status == 204:
        assert body == b""
        return None
    assert int(headers["content-length"]) == len(body)
    kind = headers["content-type"]
    if described is not None and status == 200 and "text/x-ndjson" in described["content"]:
        assert kind == "text/x-ndjson"
        lines = [json.loads(line) for line in body.splitlines()]
        shape = "DecisionView" if path.startswith("/calls") else "FeedbackView"
        for line in lines:
            _validator(f"#/components/schemas/{shape}").validate(line)
        return lines
    if status == 200 and described is not None and "application/json" not in described["content"]:
        assert kind.partition(";")[0] in described["content"]
        return body.decode()
    assert kind == (KIND if status >= 400 and (path, status) != ("/health", 503) else "application/json")
    value = json.loads(body)
    if described is None:
        assert status in (401, 404, 405, 429)
        _validator("#/components/schemas/Problem").validate(value)
    elif path != "/openapi.json":
        schema = described["content"][kind]["schema"]
        forms = [each["$ref"] for each in schema.get("anyOf", [schema])]
        if not any(_validator(form).is_valid(value) for form in forms):
            _validator(forms[0]).validate(value)
    if kind == KIND:
        assert value["status"] == status
        assert value["error"] == value["title"]
    return value


class Asker:
    """Asks an edge, and holds each answer to the document."""

    def __init__(self, edge: Edge, house: House, metrics: Metrics) -> None:
        self.edge = edge
        self.house = house
        self.metrics = metrics
        self.address = "192.0.2.7"

    async def raw(self, *pieces: bytes, end: bool = False) -> tuple[int, dict[str, str], bytes]:
        """Send bytes; return status, headers and body."""
        ours, theirs = pipe(1 << 30)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve_stream, self.edge, theirs, self.address)
            for piece in pieces:
                ours.feed(piece)
            if end:
                ours.eof()
            answer = await read(ours)
        self.left()
        return parted(answer)

    def left(self) -> None:
        """Nothing of anybody is left at the edge."""
        cap = self.edge.limits
        assert (cap.used, cap.places.used, cap.door.used) == (0, 0, 0)

    async def ask(
        self, method: str, target: str, body: Any = None, *headers: str, key: str | None = None
    ) -> Told:
        """Ask with a JSON body; return status, headers and the JSON value that came."""
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        status, told, content = await self.raw(request(method, target, data, *headers, key=key))
        assert told["connection"] == "close"
        return status, told, held_to_the_document(method, target, status, told, content)

    async def code(
        self, method: str, target: str, body: Any = None, *headers: str, key: str | None = None
    ) -> str:
        """Ask for what is a problem; return its code."""
        status, _, value = await self.ask(method, target, body, *headers, key=key)
        assert status >= 400, value
        return str(value["code"])


def code_in(value: Any) -> str | None:
    """Return the code of a problem, None where an answer is none."""
    return value.get("code") if isinstance(value, dict) else None


async def read(end: PipeEnd) -> bytes:
    """Read to the end of a connection, and close this side of it."""
    answer = bytearray()
    try:
        while data := await end.receive_some():
            answer += data
    except trio.BrokenResourceError:
        pass
    end.close()
    return bytes(answer)


def request(
    method: str, target: str, body: bytes | None = None, *headers: str, key: str | None = None
) -> bytes:
    """A request."""
    about = [] if body is None else [f"Content-Length: {len(body)}"]
    if body is not None and not any(each.lower().startswith("content-type") for each in headers):
        about.append("Content-Type: application/json")
    if key is not None:
        about.append(f"X-AGENT-KEY: {key}")
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", "Connection: close", *about, *headers]
    return "\r\n".join((*lines, "", "")).encode() + (body or b"")


def asker(
    house: House | None = None, unready: str = "", draining: bool = False, pace: float = 0.0, **settings: Any
) -> Asker:
    """Return what asks an edge of its own."""
    house = house or House()
    chosen = ServerSettings(**{"api_rate": 0.0} | settings)
    metrics, admission = Metrics(), Admission.of(chosen)
    cap = ConnectionLimits.of(chosen, 0)
    rooms = house.rooms()
    api = HttpApi(rooms, metrics, later(lambda: unready), lambda: draining, pace)
    keys = Keys(admission, cap.wrong_tokens, rooms.projects)
    page = make_page_handlers(
        PageContents(
            asyncapi=b"{}", session_diagram="", metrics=later(metrics.text), unready=later(lambda: "")
        )
    )
    http = HttpServer(keys, cap, metrics, page, {"problem": api}, rooms.new_id)
    return Asker(
        Edge(admission=admission, handler=nobody, http=http, limits=cap, observer=metrics), house, metrics
    )
