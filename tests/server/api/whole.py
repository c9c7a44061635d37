"""The HTTP API of a whole server over memory: its own desk, stores and brain, and a model that notes its prompts."""

import json
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import trio

from agent.compose.adapters import Adapters
from agent.llm.open import make_model_decider, make_model_drafter
from agent.memory.own_memory import OwnMemory
from agent.ports.action import Call
from agent.ports.model import CallDelta, Finish, ModelRequest, Piece, TextDelta
from agent.ports.note import ReadStore
from agent.retrieval.load import SourceFile
from agent.settings import Settings
from agent.testing.network import Network, network
from tests.hostile.obedient import sent

from ...threads.lab import Wall
from .. import parted
from . import TOKEN, Told, held_to_the_document, read, request

HOUSES = SourceFile.of("kb/house.md", "# House\n\nThe house opens at 8.\n")
_ORDER = re.compile(r"DECIDE (\{.*\})")


class NotingModel:
    """Decides what the user's message orders with `DECIDE {...}`, once; says `says` else; notes what it is asked.

    Implements `agent.ports.model.LanguageModel`.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.sent: list[ModelRequest] = []
        self.says = "As said."
        self.wait = 0.0  # seconds before each answer

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Answer."""
        self.asked.append(sent(request))
        self.sent.append(request)
        await trio.sleep(self.wait)
        ordered = _ORDER.findall(next((m.text for m in request.messages[::-1] if m.role == "user"), ""))
        came = sum(message.role == "tool" for message in request.messages) > 1
        if any(tool.name == "decide" for tool in request.tools):
            yield CallDelta(
                0, "c", "decide", ordered[-1] if ordered and not came else '{"mode":"NOOP","message":""}'
            )
            yield Finish("calls")
            return
        yield TextDelta(self.says)
        yield Finish("stop")


class Carried:
    """Carries calls out by answering what `answers` makes of them, and notes them (an `Executor`)."""

    def __init__(self) -> None:
        self.called: list[Call] = []
        self.answers: Callable[[Call], Mapping[str, Any]] = lambda call: {"found": "nothing"}

    async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
        """Answer."""
        begin()
        self.called.append(call)
        await trio.lowlevel.checkpoint()
        return self.answers(call)


@dataclass
class Whole:
    """A running server, and how it is asked. told: every answer that it gave, by the key that asked."""

    net: Network
    model: NotingModel
    carried: Carried
    told: dict[str | None, list[bytes]] = field(default_factory=dict)

    @property
    def memory(self) -> tuple[OwnMemory, ReadStore]:
        """What takes users' decisions about what is remembered, and where that is kept."""
        desk: OwnMemory = vars(self.net.app)["_api_services"].memory
        return desk, vars(desk)["_store"]

    async def raw(self, data: bytes, key: str | None = None) -> tuple[int, dict[str, str], bytes]:
        """Send bytes; return status, headers and body."""
        end = self.net.open()
        end.feed(data)
        answer = await read(end)
        self.told.setdefault(key, []).append(answer)
        return parted(answer)

    async def ask(
        self, method: str, target: str, body: Any = None, *headers: str, key: str | None = TOKEN
    ) -> Told:
        """Ask with a JSON body, or with bytes; return status, headers and the JSON value that came."""
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        status, told, content = await self.raw(request(method, target, data, *headers, key=key), key)
        return status, told, held_to_the_document(method, target, status, told, content)

    async def good(
        self, method: str, target: str, body: Any = None, *headers: str, key: str | None = TOKEN
    ) -> Any:
        """Ask for what is no problem; return its value."""
        status, _, value = await self.ask(method, target, body, *headers, key=key)
        assert status < 300, value
        return value

    async def code(
        self, method: str, target: str, body: Any = None, *headers: str, key: str | None = TOKEN
    ) -> str:
        """Ask for what is a problem; return its code."""
        status, _, value = await self.ask(method, target, body, *headers, key=key)
        assert status >= 400, value
        return str(value["code"])

    async def project(self, name: str, role: str = "You help.") -> tuple[str, str]:
        """Make a project; return its id and a key of it."""
        made = await self.good("POST", "/projects", {"name": name, "role_statement": role})
        key = await self.good("POST", f"/projects/{made['id']}/keys", {"name": name})
        return made["id"], key["key"]

    async def put(self, project: str, key: str, category: str, name: str, text: str) -> Any:
        """Upload a document; return it."""
        parts = (
            f'--b\r\nContent-Disposition: form-data; name="category"\r\n\r\n{category}\r\n'
            f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n{text}\r\n--b--\r\n'
        )
        kind = "Content-Type: multipart/form-data; boundary=b"
        return await self.good("POST", f"/projects/{project}/docs", parts.encode(), kind, key=key)

    async def chat(self, message: str, key: str | None = TOKEN, **fields: Any) -> Any:
        """Say something; return the answer."""
        return await self.good("POST", "/chat", {"user_id": "anna", "message": message, **fields}, key=key)

    async def act(self, tool: str, args: Mapping[str, Any], key: str | None = TOKEN, **fields: Any) -> Any:
        """Have a tool called, with arguments that the message names; return the call."""
        decided = json.dumps({"mode": "ACT", "tool": tool, "args": args})
        words = " ".join(str(each) for each in args.values())
        answer = await self.chat(f"Please {words} DECIDE {decided}", key, **fields)
        assert answer["tool_call"] is not None, answer
        return answer["tool_call"]


@asynccontextmanager
async def whole(**settings: Any) -> AsyncGenerator[Whole, None]:
    """Run a server for the time of a block, on what is kept in memory unless the settings say another place."""
    model, carried = NotingModel(), Carried()
    chosen = Settings.of(
        **{"pace_ms": 0, "rate_limit": 0, "api_rate": 0, "token": TOKEN, "data": "memory"} | settings
    )
    drafter = make_model_drafter(model, 256, chosen.answers.answer)
    parts = Adapters(model=drafter, decider=make_model_decider(model, 256), executor=carried, clock=Wall())
    async with network(chosen, parts, (HOUSES,)) as net:
        yield Whole(net, model, carried)
