"""Ask servers over data folders for a call at a printer: python -m tests.actions.printing TOOLS FOLDER...

Run this with a package that has such an executor, as the guide's recipe makes one. Prints the status and the JSON body
of each answer to `POST /chat` on a line of its own.
"""

import json
import sys
from pathlib import Path

import trio
from trio.testing import MockClock

from agent.compose.adapters import Adapters
from agent.llm.script import ScriptEntry, ScriptModel
from agent.ports.decide import Act, Noop
from agent.retrieval.load import SourceFile
from agent.settings import Settings
from agent.testing.fakes import Noon, ScriptedDecider
from agent.testing.network import network
from tests.server import parted
from tests.server.api import TOKEN, read, request

ASKED = json.dumps({"user_id": "anna", "message": "Print the invoice"}).encode()
HOUSE = SourceFile.of("kb/house.md", "# House\n\nThe house opens at 8.\n")


async def call_printer(tools: str, folder: str) -> tuple[int, object]:
    """Return status and body of the answer of a server that keeps its data in `folder`."""
    settings = Settings.of(token=TOKEN, tools=Path(tools), data=folder, vectors="off", pace_ms=0)
    parts = Adapters(
        model=ScriptModel((ScriptEntry(match="", text="It is printed."),)),
        decider=ScriptedDecider(Act("print_it", {"title": "invoice"}), Noop()),
        clock=Noon(),
    )
    async with network(settings, parts, (HOUSE,)) as net:
        end = net.open()
        end.feed(request("POST", "/chat", ASKED, key=TOKEN))
        status, _, body = parted(await read(end))
    return status, json.loads(body)


if __name__ == "__main__":
    for each in sys.argv[2:]:
        answer = trio.run(call_printer, sys.argv[1], each, clock=MockClock(autojump_threshold=0))
        sys.stdout.write(f"{json.dumps(answer)}\n")
