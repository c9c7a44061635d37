"""A process that works on what others have sent: what it is asked, how it ends, and what it holds."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agent.config import SANDBOX_REPLY
from agent.errors import GivenUp, SandboxFailed, SandboxKilled
from agent.sandbox import Sandbox
from agent.sandboxed import SANDBOX_MEMORY, SANDBOX_SPENT

ROOT = Path(__file__).parents[1]
HANG = 20.0  # seconds after which a test fails instead


@pytest.fixture
def box() -> Iterator[Sandbox]:
    with closing(Sandbox("tests.boxed")) as made:
        yield made


def ask(box: Sandbox, request: str, seconds: float = HANG) -> str:
    return box.ask(request.encode(), seconds, lambda: None).decode()


def is_gone(pid: int) -> bool:
    """Tell whether a process has ended, after a wait for it."""
    until = time.monotonic() + HANG
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


def test_it_is_kept_and_replaced_when_it_has_ended(box: Sandbox) -> None:
    """None is started before it is needed; one answers until a request ends it, and another one the next."""
    assert box.pid is None
    first = ask(box, "pid")
    assert ask(box, "print") == "print"
    assert (ask(box, "pid"), str(box.pid)) == (first, first)
    with pytest.raises(SandboxKilled):
        ask(box, "exit")
    assert box.pid is None
    assert is_gone(int(first))
    assert ask(box, "pid") != first


def test_whoever_gives_up_or_closes_it_ends_it(box: Sandbox) -> None:
    """A request that is given up before its turn ends nothing."""
    pid = int(ask(box, "pid"))
    began = threading.Event()
    ended = []

    def sleeps() -> None:
        try:
            box.ask(b"sleep 60", 60, lambda: None, began.set)
        except GivenUp as error:
            ended.append(error)

    def give_up() -> None:
        raise GivenUp

    thread = threading.Thread(target=sleeps)
    thread.start()
    assert began.wait(HANG)
    with pytest.raises(GivenUp):
        box.ask(b"pid", HANG, give_up)
    assert box.pid == pid
    box.close()
    thread.join(HANG)
    assert len(ended) == 1
    assert is_gone(pid)
    box.start()
    with pytest.raises(GivenUp):
        ask(box, "pid")
    assert box.pid is None


def test_what_does_not_start_is_no_fault_of_a_request() -> None:
    """A module that is not there, as where code was replaced under a running server."""
    with closing(Sandbox("tests.no_such_module")) as box, pytest.raises(SandboxFailed):
        ask(box, "pid")


@pytest.mark.proof
@pytest.mark.parametrize(
    ("request_", "seconds"),
    [
        (f"memory {SANDBOX_MEMORY}", HANG),
        (f"long {SANDBOX_REPLY + 1}", HANG),
        ("compute", HANG),
        ("sleep 60", 0.2),
    ],
)
def test_what_goes_over_a_limit_ends_it(box: Sandbox, request_: str, seconds: float) -> None:
    """Memory, its answer's length, CPU, and the time that it was given."""
    pid = int(ask(box, "pid"))
    with pytest.raises(SandboxKilled):
        ask(box, request_, seconds)
    assert is_gone(pid)
    assert int(ask(box, "pid")) != pid


@pytest.mark.proof
def test_it_writes_no_file(box: Sandbox, tmp_path: Path) -> None:
    """Not a byte of one."""
    with pytest.raises(SandboxKilled):
        ask(box, f"write {tmp_path / 'a'}")
    assert not (tmp_path / "a").stat().st_size


@pytest.mark.proof
def test_whoever_gives_up_ends_what_is_under_way(box: Sandbox) -> None:
    """At its next look; the next request has another process."""
    pid = int(ask(box, "pid"))
    until = time.monotonic() + 0.2

    def look() -> None:
        if time.monotonic() > until:
            raise GivenUp

    with pytest.raises(GivenUp):
        box.ask(b"sleep 60", 60, look)
    assert is_gone(pid)
    assert int(ask(box, "pid")) != pid


@pytest.mark.proof
def test_one_that_has_kept_much_memory_is_replaced(box: Sandbox) -> None:
    """It answers first, so that the next file has all the memory that a file may take."""
    pid = ask(box, "pid")
    request = f"memory {SANDBOX_SPENT}"
    assert ask(box, request) == request
    assert ask(box, "pid") != pid


@pytest.mark.proof
def test_one_that_was_killed_meanwhile_is_replaced(box: Sandbox) -> None:
    """As by a system that is short of memory: the next request is not blamed."""
    pid = int(ask(box, "pid"))
    os.kill(pid, 9)
    assert is_gone(pid)
    assert int(ask(box, "pid")) != pid


@pytest.mark.proof
def test_it_holds_nothing_of_its_owner(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """No descriptor but its own pipes, not even one that is inheritable, and no secret of the environment."""
    monkeypatch.setenv("AGENT_TOKEN", "a-secret-of-the-server")
    with open(__file__) as file:
        os.set_inheritable(file.fileno(), True)
        ask(box, "pid")
        links = {os.readlink(each) for each in Path(f"/proc/{box.pid}/fd").iterdir()}
    assert {link.partition(":")[0] for link in links} == {"pipe", "/dev/null"}
    assert "secret" not in ask(box, "environment")
    assert b"secret" not in Path(f"/proc/{box.pid}/environ").read_bytes()
    assert b"secret" not in Path(f"/proc/{box.pid}/cmdline").read_bytes()


@pytest.mark.proof
@pytest.mark.parametrize("request_", ["", "sleep 60", "compute"])
def test_it_ends_with_its_owner_however_that_ends(request_: str) -> None:
    """Killed, with a request under way or without one."""
    code = (
        "import sys, threading\n"
        "from agent.sandbox import Sandbox\n"
        "box = Sandbox('tests.boxed')\n"
        "print(box.ask(b'pid', 20, lambda: None).decode(), flush=True)\n"
        f"if {request_!r}: box.ask({request_.encode()!r}, 60, lambda: None)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        time.sleep(0.2)
        owner.kill()
        owner.wait(HANG)
    assert is_gone(pid)
