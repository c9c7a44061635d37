"""Packages of other people as clients of the real command: `openai` in Node, and generators from the OpenAPI document.

`openapi-python-client` and `openapi-typescript` make a client and types that reach every route, and whose calls of
`/ask` are answered. The packages of Node are installed once, by npm, into a temporary folder.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from agent.protocol.paths import DESCRIBED

from .test_openai import LOOK_UP, QUESTION, wait_until_ready
from .test_process import PATIENCE, environment, serve

pytestmark = pytest.mark.proof

PACKAGES = ("openai@6", "openapi-typescript@7")
INSTALL = (
    *("install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"),
    *("--fetch-retries=0", "--fetch-timeout=20000"),
)
OPENAI = """
import OpenAI from "openai";
const [baseURL, question, look_up] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
const asked = { model: "agent", messages: [{ role: "user", content: question }] };
const { message, finish_reason } = (await client.chat.completions.create(asked)).choices[0];
let streamed = "";
let pieces = 0;
for await (const chunk of await client.chat.completions.create({ ...asked, stream: true })) {
  streamed += chunk.choices[0].delta.content ?? "";
  pieces += 1;
}
const messages = [{ role: "user", content: "Get order A-17, please." }];
const tools = [JSON.parse(look_up)];
const called = await client.chat.completions.stream({ model: "agent", messages, tools }).finalMessage();
const [call] = called.tool_calls;
messages.push(called, { role: "tool", tool_call_id: call.id, content: '{"state": "sent on 4 May"}' });
const told = (await client.chat.completions.create({ model: "agent", messages, tools })).choices[0].message;
const { output_text } = await client.responses.create({ model: "agent", input: question });
const wrong = await client.models.retrieve("gpt").catch((error) => [error.status, error.code]);
console.log(JSON.stringify({
  models: (await client.models.list()).data.map((model) => model.id),
  text: message.content, cites: message.citations[0].file, finish_reason, streamed, output_text, pieces,
  tool: call.function.name, arguments: JSON.parse(call.function.arguments), told: told.content, wrong,
}));
"""
PYTHON = """
import sys

from agent_client import AuthenticatedClient
from agent_client.api.default import ask
from agent_client.models import AskRequest, ErrorAnswer

url, question = sys.argv[1:]
with AuthenticatedClient(base_url=url, token="none") as client:
    answer = ask.sync(client=client, body=AskRequest(text=question))
    print(answer.text, answer.citations[0].file)
    refused = ask.sync(client=client, body=AskRequest(text=""))
    print(isinstance(refused, ErrorAnswer), refused.error.code)
"""
TYPESCRIPT = """
import type { paths } from "./api";
type Ask = paths["/ask"]["post"];
type Chat = paths["/v1/chat/completions"]["post"];
export const asked: Ask["requestBody"]["content"]["application/json"] = { text: "What does a card cost?" };
export const read = (answer: Ask["responses"][200]["content"]["application/json"]): string => answer.text;
export const chat: Chat["requestBody"]["content"]["application/json"] = {
  messages: [{ role: "user", content: "What does a card cost?" }],
};
// @ts-expect-error: a question has a text
export const wrong: Ask["requestBody"]["content"]["application/json"] = {};
"""


@pytest.fixture(name="url", scope="module")
def _url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a server that has read its documents."""
    with serve(tmp_path_factory.mktemp("packages"), "--vectors", "off") as (_, port):
        wait_until_ready(port)
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(name="modules", scope="module")
def _modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which Node finds the packages."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("Node and npm are not installed here")
    folder = tmp_path_factory.mktemp("node")
    done = run(folder, "npm", *INSTALL, *PACKAGES, check=False)
    if done.returncode:
        pytest.skip(f"npm cannot install {' and '.join(PACKAGES)}: {' '.join(done.stderr.split())[:200]}")
    return folder


def run(
    folder: Path, *words: str, check: bool = True, env: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a program to its end in a folder; by itself it must succeed."""
    done = subprocess.run(
        words, cwd=folder, env=env, capture_output=True, text=True, timeout=2 * PATIENCE, check=False
    )
    assert not (check and done.returncode), done.stdout + done.stderr
    return done


def test_openai_in_node_asks_streams_and_runs_its_own_tool(url: str, modules: Path) -> None:
    """Over both protocols. Its helpers put a streamed call together; an error is its own exception with our code."""
    (modules / "ask.mjs").write_text(OPENAI)
    printed: dict[str, Any] = json.loads(
        run(modules, "node", "ask.mjs", f"{url}/v1", QUESTION, json.dumps(LOOK_UP)).stdout
    )
    assert "299 kr" in printed["text"]
    assert printed.pop("streamed") == printed.pop("output_text") == printed.pop("text")
    assert printed.pop("pieces") > 10
    assert "sent on 4 May" in printed.pop("told")
    assert printed == {
        "models": ["agent"],
        "cites": "kb/pricing.md",
        "finish_reason": "stop",
        "tool": "get_order",
        "arguments": {"order_id": "A-17"},
        "wrong": [404, "model_not_found"],
    }


def test_openapi_typescript_makes_types_of_every_path(url: str, modules: Path) -> None:
    """They compile, and of a request's fields only those are needed that the server needs."""
    programs = modules / "node_modules" / ".bin"
    run(modules, str(programs / "openapi-typescript"), f"{url}/openapi.json", "-o", "api.ts")
    paths = (modules / "api.ts").read_text(encoding="utf-8").partition("export interface paths {")[2]
    found = set(re.findall(r'^ {4}"(/[^"]*)": \{$', paths.partition("\n}\n")[0], re.MULTILINE))
    assert found == {route.template for route in DESCRIBED}
    (modules / "use.ts").write_text(TYPESCRIPT)
    run(modules, str(programs / "tsc"), "--noEmit", "--strict", "use.ts")


def test_openapi_python_client_makes_a_client_that_asks(url: str, tmp_path: Path) -> None:
    """Of every route, without a warning; the client reads answers and errors as values."""
    if find_spec("openapi_python_client") is None:
        pytest.skip("install the extra `proof` for the generator of clients")
    (tmp_path / "config.json").write_text('{"post_hooks": []}')  # it would run Ruff over the client
    options = ("--config", "config.json", "--meta", "none", "--output-path", "agent_client")
    generate = (sys.executable, "-m", "openapi_python_client", "generate", "--fail-on-warning")
    run(tmp_path, *generate, "--url", f"{url}/openapi.json", *options)
    operations = {path.stem for path in (tmp_path / "agent_client" / "api" / "default").glob("[a-z]*.py")}
    assert operations == {route.name for route in DESCRIBED}
    (tmp_path / "use.py").write_text(PYTHON)
    printed = run(tmp_path, sys.executable, "use.py", url, QUESTION, env=environment()).stdout
    assert "299 kr" in printed
    assert printed.endswith(" kb/pricing.md\nTrue no_question\n")
