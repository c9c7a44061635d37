"""A server that is sent files, uploaded and in its folder, and an innocent client that asks it all the time."""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from uuid import uuid4

from tests.bench.load.process import family

from .process import ServerProcess, server_process

PAGE = "# Plans\n\nThe Standard plan costs 299 kr a month.\n"
QUESTION = "What does the Standard plan cost per month?"
PATIENCE = 90.0  # seconds for a folder to be read, with what is killed over some of it


@dataclass
class Innocent:
    """Asks one question after another. took: seconds of each answer; wrong: answers that are none."""

    port: int
    took: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @contextmanager
    def asking(self) -> Iterator["Innocent"]:
        """Ask, in a thread, for the time of a block."""
        end = threading.Event()

        def run() -> None:
            while not end.wait(0.05):
                began = time.monotonic()
                try:
                    status, told = call(self.port, "POST", "/ask", {"text": QUESTION})
                except OSError as error:
                    self.wrong.append(repr(error))
                    continue
                self.took.append(time.monotonic() - began)
                if status != 200 or "299 kr" not in told:
                    self.wrong.append(f"{status} {told[:200]}")

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield self
        finally:
            end.set()
            thread.join()

    def percentile(self, share: float) -> float:
        """Return the seconds within which such a share of the answers came."""
        return sorted(self.took)[min(len(self.took) - 1, int(share * len(self.took)))]


def call(port: int, method: str, path: str, body: object = None) -> tuple[int, str]:
    """Return the status and text of the answer to a request with JSON."""
    data = b"" if body is None else json.dumps(body).encode()
    return _call(port, method, path, data, {"Content-Type": "application/json"})


def _call(port: int, method: str, path: str, data: bytes, headers: Mapping[str, str]) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, data, {"Accept": "application/json", **headers})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def upload(port: int, name: str, data: bytes) -> tuple[int, str]:
    """Send a file to the operator's own project."""
    boundary = uuid4().hex
    head = 'Content-Disposition: form-data; name="'
    body = b"".join(
        (
            f'--{boundary}\r\n{head}category"\r\n\r\nFACTS\r\n--{boundary}\r\n'.encode(),
            f'{head}file"; filename="{name}"\r\nContent-Type: application/octet-stream\r\n\r\n'.encode(),
            data,
            f"\r\n--{boundary}--\r\n".encode(),
        )
    )
    kind = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    return _call(port, "POST", "/projects/default/docs", body, kind)


def wait_held(port: int, file: str, text: str) -> None:
    """Wait until the index holds a text of a file of the folder."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        status, told = call(port, "GET", f"/source/{file}")
        if status == 200 and text in told:
            return
        time.sleep(0.05)
    raise AssertionError(f"{file} is not read")


def readers(pid: int) -> list[int]:
    """Return the processes of a server that read files of others."""
    return [each for each in family(pid)[1:] if b"agent.retrieval.reader" in _command(each)]


def servers(pid: int) -> list[int]:
    """Return a server's own processes: itself, and its workers."""
    apart = readers(pid)
    return [each for each in family(pid) if each not in apart]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def resident(pid: int) -> int:
    """Return the most bytes that a process, without its children, has held at some time; 0 when it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0)


@contextmanager
def attacked(folder: Path, *flags: str) -> Iterator[ServerProcess]:
    """Run a server on a folder with one good page, read, for the time of a block. It lives at the end."""
    folder.mkdir(exist_ok=True)
    (folder / "plans.md").write_text(PAGE)
    with server_process("--kb", str(folder), "--data", str(folder.parent / "data"), *flags) as server:
        wait_held(server.port, "kb/plans.md", "299 kr")
        yield server
