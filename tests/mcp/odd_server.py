"""An MCP server written by hand, which behaves as its arguments say: garbage, flood, deaf, child, big."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

WAYS = frozenset(sys.argv[1:])
GARBAGE = (
    b"Starting on port 99913 ...\n\n\x00\xff\xfe\n{\n[]\n1\nnull\n{}\n[[[[\n"
    b'{"jsonrpc":"2.0"}\n{"jsonrpc":"2.0","id":77,"result":{}}\n{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}\n'
    b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"99913"}}\n'
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n'
    b'{"jsonrpc":"2.0","id":5,"result":{"a":NaN}}\n{"jsonrpc":"2.0","id":"\\ud800","result":{}}\n'
    + b'{"a":' * 20_000
    + b"\n"
    + b'"'
    + b"x" * 3_000_000
    + b'"\n'
)


def say(raw: bytes) -> None:
    sys.stdout.buffer.write(raw)
    sys.stdout.buffer.flush()


def answer(id: Any, result: Any) -> None:
    say(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode() + b"\n")


def flood() -> None:
    while True:
        say(b'{"jsonrpc":"2.0","id":0,"result":{}}\n' * 2_000)


def asks() -> None:
    """Ask the client things, and answer none of its answers."""
    for number in range(200):
        say(
            json.dumps({"jsonrpc": "2.0", "id": f"q{number}", "method": "sampling/createMessage"}).encode()
            + b"\n"
        )
        say(json.dumps({"jsonrpc": "2.0", "id": f"p{number}", "method": "ping"}).encode() + b"\n")


def told(arguments: Any) -> Any:
    """Return what this process can see."""
    child = [subprocess.Popen(["sleep", "600"]).pid] if "child" in WAYS else []
    return {"pids": [os.getpid(), *child], "env": sorted(os.environ), "arguments": arguments}


def main() -> None:
    if "deaf" in WAYS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "garbage" in WAYS:
        say(GARBAGE)
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        id, method = asked.get("id"), asked.get("method")
        if method == "initialize":
            version = asked["params"]["protocolVersion"]
            about = {"name": "odd", "version": "0"}
            answer(id, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about})
        elif method == "tools/list" and (asked.get("params") or {}).get("cursor") is None:
            schema = {"type": "object"}
            answer(id, {"tools": [{"name": "told", "inputSchema": schema}], "nextCursor": "2"})
        elif method == "tools/list":
            answer(id, {"tools": [{"name": "stay", "inputSchema": {"type": "object"}}]})
        elif method == "ping":
            answer(id, {})
        elif method == "tools/call" and asked["params"]["name"] == "told":
            if "garbage" in WAYS:
                say(GARBAGE)
                asks()
            answer(id, {"content": [], "structuredContent": told(asked["params"]["arguments"])})
            if "flood" in WAYS:
                threading.Thread(target=flood, daemon=True).start()
        elif method == "tools/call":
            time.sleep(600)
    while "deaf" in WAYS:
        time.sleep(600)


main()
