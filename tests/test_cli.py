"""The command line: where settings come from, what a wrong one says, and each command's exit status."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, redirect_stdout
from dataclasses import fields
from importlib import metadata
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs

from agent import cli, log
from agent.client import chat
from agent.client.descriptions import describe_close
from agent.commands import ask as asking
from agent.commands import serve as serving
from agent.commands import talk
from agent.commands.settings import GROUPS
from agent.compose.adapters import Adapters
from agent.errors import CannotConnect, UsageError, WireClosed
from agent.host import SWITCH_INTERVAL, shorten_switch_interval
from agent.server.lag import watch_loop
from agent.settings import Settings
from agent.workers import process as worker
from tests.examples import sample


class FakeServer:
    """Stands for the composition root; it drains as soon as it listens, unless a test gives it signals to get."""

    made: ClassVar[list["FakeServer"]] = []
    signals: ClassVar[list[int]] = []
    fault: ClassVar[Exception | None] = None
    unread = ""

    def __init__(self, settings: Settings, adapters: Adapters) -> None:
        self.settings = settings
        self.adapters = adapters
        self.port = settings.server.port or 4711
        self.heard: list[str] = []
        self._end = trio.Event()
        FakeServer.made.append(self)

    async def ready(self) -> None:
        """Be ready at once."""
        await trio.lowlevel.checkpoint()

    async def run(self, task_status: "trio.TaskStatus[FakeServer]" = trio.TASK_STATUS_IGNORED) -> None:
        """Listen until drained, or fail as a test wants it."""
        if self.fault:
            raise self.fault
        task_status.started(self)
        if not self.signals:
            await trio.testing.wait_all_tasks_blocked(0.01)
            return
        for number in self.signals:
            signal.raise_signal(number)
            await trio.testing.wait_all_tasks_blocked(0.01)
        await self._end.wait()

    def drain(self) -> None:
        """Note it; the end comes with the second signal."""
        self.heard.append("drain")
        if len(self.signals) == 1:
            self._end.set()

    def stop(self) -> None:
        """Note it, and end."""
        self.heard.append("stop")
        self._end.set()


@pytest.fixture(autouse=True)
def logged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[Any]]:
    """Run in an empty folder with a knowledge base, without AGENT_* variables, with a fake server; return the log."""
    for name in [each for each in os.environ if each.startswith("AGENT_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kb").mkdir()
    monkeypatch.setattr(serving, "Server", FakeServer)
    monkeypatch.setattr(log, "configure", lambda *_, **__: None)
    monkeypatch.setattr(serving, "share_heaps", lambda: None)
    monkeypatch.setattr(serving, "shorten_switch_interval", lambda: None)
    monkeypatch.setattr(serving, "freeze_heap", lambda: None)
    monkeypatch.setattr(serving, "freeze_so_far", lambda: None)
    monkeypatch.setattr(FakeServer, "made", [])
    monkeypatch.setattr(FakeServer, "signals", [])
    with capture_logs() as entries:
        yield entries


def served(*arguments: str) -> Settings:
    """Return the settings that `agent serve` comes to."""
    assert cli.main(["serve", *arguments]) == 0
    return FakeServer.made[-1].settings


def test_flags_win_over_environment_and_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flag, then AGENT_*, then agent.toml, then the default."""
    Path("agent.toml").write_text('port = 1\npace_ms = 1\nlang = "sv"\nallow_host = ["a", "b"]\n')
    monkeypatch.setenv("AGENT_PORT", "2")
    monkeypatch.setenv("AGENT_PACE_MS", "2.5")
    settings = served("--port", "3", "--allow-origin", "http://x", "--allow-origin", "http://y")
    assert (settings.server.port, settings.session.pace_ms, settings.answers.lang) == (3, 2.5, "sv")
    assert settings.server.allow_host == ("a", "b")
    assert settings.server.allow_origin == ("http://x", "http://y")
    assert settings.session.rate_limit == 20


@pytest.mark.parametrize(
    ("given", "expected"), [("300", (300.0, 0.0)), ("300,50.5", (300.0, 50.5)), ("0,1", (0.0, 1.0))]
)
def test_action_delay_is_before_and_after(given: str, expected: tuple[float, float]) -> None:
    """One value is the time before; two are before and after."""
    assert served("--action-delay-ms", given).actions.action_delay_ms == expected


def test_the_file_may_name_the_knowledge_base(tmp_path: Path) -> None:
    """Though a command is called kb too."""
    (tmp_path / "docs").mkdir()
    Path("agent.toml").write_text('kb = "docs"\n')
    assert served().documents.kb == Path("docs")


def test_action_delay_of_the_file_may_be_a_list() -> None:
    """TOML has numbers and lists of its own."""
    Path("agent.toml").write_text("action_delay_ms = [10, 20]\n")
    assert served().actions.action_delay_ms == (10.0, 20.0)
    Path("agent.toml").write_text('action_delay_ms = "10,20"\n')
    assert served().actions.action_delay_ms == (10.0, 20.0)


@pytest.mark.parametrize(
    ("arguments", "environment", "file", "words"),
    sample(
        [
            (["--port", "x"], {}, "", "--port"),
            (["--port", "70000"], {}, "", "port must be 0 to 65535"),
            (["--nope"], {}, "", "--nope"),
            (["surplus"], {}, "", "surplus"),
            (["--lang", "de"], {}, "", "--lang"),
            (["--model", "gpt"], {}, "", "model must be"),
            (["--action-delay-ms", "x"], {}, "", "BEFORE,AFTER"),
            (["--action-delay-ms", "1,2,3"], {}, "", "BEFORE,AFTER"),
            (["--host", "0.0.0.0"], {}, "", "--insecure"),
            ([], {"AGENT_PORT": "x"}, "", "AGENT_PORT"),
            ([], {"AGENT_PORT": "70000"}, "", "port must be 0 to 65535"),
            ([], {"AGENT_TOKEN": ""}, "", "token must be"),
            ([], {}, "prot = 1", "prot"),
            ([], {}, 'port = "x"', "port"),
            ([], {}, "port =", "agent.toml cannot be read"),
            ([], {}, "kb = 5", "there is no knowledge base in"),
            ([], {}, "[kb]\nfolder = 1", "kb"),
            ([], {}, "[serve]\nport = 1", "serve"),
            (["--kb", "nowhere"], {}, "", "--kb DIR"),
        ],
        3,
    ),
)
def test_a_wrong_setting_is_one_line_and_status_2(
    arguments: list[str],
    environment: dict[str, str],
    file: str,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Wherever it stands, it is named on standard error, and no server is made."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    if file:
        Path("agent.toml").write_text(file)
    assert cli.main(["serve", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n"), FakeServer.made) == ("", 1, [])
    assert words in err


def test_a_folder_without_a_knowledge_base_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """It says how to point to one."""
    Path("kb").rmdir()
    assert cli.main(["serve"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n"), FakeServer.made) == ("", 1, [])
    assert "--kb DIR" in err


def test_a_folder_as_agent_toml_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A file that cannot be read is told like one that cannot be understood."""
    Path("agent.toml").mkdir()
    assert cli.main(["serve"]) == 2
    assert "agent.toml cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--token", "sixteen-letters-"], ["--insecure"]])
def test_other_machines_are_served_with_a_token_or_a_word(arguments: list[str]) -> None:
    """The two ways to bind an address that is not loopback."""
    assert served("--host", "0.0.0.0", *arguments).server.host == "0.0.0.0"


@pytest.mark.parametrize(
    ("host", "place"),
    [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::1", "[::1]"), ("::", "[::1]")],
)
def test_serve_prints_where_page_and_socket_are(
    host: str, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the port that was bound, and an address that a browser can open."""
    served("--host", host, "--port", "0", "--insecure")
    assert capsys.readouterr().out == (
        f"page    http://{place}:4711/\nsocket  ws://{place}:4711/ws\n"
        "answers quoting: no language model is set (--model openai:NAME asks one)\n"
    )


def test_serve_prepares_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heaps are shared before anything is made; the server is set aside when it listens, and then what it has read."""
    seen: list[str] = []

    def note(what: str) -> None:
        seen.append(f"{what}, servers {len(FakeServer.made)}")

    monkeypatch.setattr(serving, "share_heaps", lambda: note("heaps"))
    monkeypatch.setattr(serving, "freeze_heap", lambda: note("aside"))
    monkeypatch.setattr(serving, "freeze_so_far", lambda: note("read"))
    monkeypatch.setattr(serving, "restore_collection", lambda: note("over"))
    served()
    assert seen == ["heaps, servers 0", "aside, servers 1", "read, servers 1", "over, servers 1"]


def test_serve_lets_threads_that_compute_keep_the_interpreter_for_a_moment_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a process of its own, and in those of its workers."""
    intervals: list[float] = []
    for module in (serving, worker):
        monkeypatch.setattr(module, "shorten_switch_interval", shorten_switch_interval)
        monkeypatch.setattr(module, "share_heaps", lambda: None)
    monkeypatch.setattr("sys.setswitchinterval", intervals.append)
    served()
    monkeypatch.setattr("sys.argv", ["worker"])
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError, match="not enough values"):
        worker.main()
    signal.signal(signal.SIGINT, before)
    assert intervals == [SWITCH_INTERVAL] * 2


def test_a_start_and_an_end_are_one_line_each(
    logged: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What serves where and from what, then how it ended and how long it served."""
    monkeypatch.setattr(metadata, "version", {"agent-server": "1.2.3"}.__getitem__)
    for signals, how in ([], "drained"), ([signal.SIGTERM], "drained"), ([signal.SIGTERM] * 2, "stopped"):
        monkeypatch.setattr(FakeServer, "signals", signals)
        logged.clear()
        served("--port", "0", "--data", "memory")
        start, end = logged
        assert start == {
            "event": "server started",
            "log_level": "info",
            "version": "1.2.3",
            "host": "127.0.0.1",
            "port": 4711,
            "kb": tmp_path / "kb",
            "model": "mock",
            "ledger": "memory",
        }
        assert end.pop("seconds") >= 0
        assert end == {"event": "server ended", "log_level": "info", "how": how}


def test_a_server_that_breaks_says_so_and_one_that_never_listened_says_nothing(
    logged: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of a bug is a line too; a port in use is told by the complaint alone."""

    async def breaks(self: FakeServer, task_status: Any) -> None:
        task_status.started(self)
        raise KeyError("bug")

    monkeypatch.setattr(FakeServer, "fault", UsageError("port 1 is in use"))
    assert cli.main(["serve"]) == 2
    assert logged == []
    monkeypatch.setattr(FakeServer, "run", breaks)
    with pytest.raises(BaseExceptionGroup):
        cli.main(["serve"])
    assert [(line["event"], line.get("how")) for line in logged] == [
        ("server started", None),
        ("server ended", "broken"),
    ]


def test_the_loop_of_a_server_is_watched() -> None:
    """`agent serve` is the one that measures it."""
    served()
    assert FakeServer.made[-1].adapters.watch_loop is watch_loop


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_and_a_second_ends_it(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ends are exit status 0."""
    monkeypatch.setattr(FakeServer, "signals", [number])
    served()
    assert FakeServer.made[-1].heard == ["drain"]
    monkeypatch.setattr(FakeServer, "signals", [number, signal.SIGTERM])
    served()
    assert FakeServer.made[-1].heard == ["drain", "stop"]


def test_a_signal_before_it_listens_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the knowledge base is read there is nothing to drain."""

    async def never(self: FakeServer, task_status: Any) -> None:
        signal.raise_signal(signal.SIGTERM)
        await trio.sleep_forever()

    monkeypatch.setattr(FakeServer, "run", never)
    served()
    assert FakeServer.made[-1].heard == []


@pytest.mark.parametrize(
    "fault",
    [
        UsageError("port 1 is\nin use"),
        ExceptionGroup("", [ExceptionGroup("", [UsageError("port 1 is in use")])]),
    ],
)
def test_what_the_server_refuses_is_one_line(
    fault: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A port in use, an unreadable script: the line, and status 2."""
    monkeypatch.setattr(FakeServer, "fault", fault)
    assert cli.main(["serve"]) == 2
    assert capsys.readouterr().err == "agent: port 1 is in use\n"


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is the operator's to mend is made short."""
    monkeypatch.setattr(FakeServer, "fault", KeyError("bug"))
    with pytest.raises(BaseExceptionGroup):
        cli.main(["serve"])


def test_the_overview_imports_no_command() -> None:
    """It has their summaries, which are the first sentences of their help; so it takes a third of a second less."""
    assert {
        name: " ".join((cli.app[name].help or "").split("\n\n")[0].split()) for name in cli.COMMANDS
    } == cli.SUMMARIES
    code = "import sys; from agent.cli import main; main(['--help']); sys.exit('agent.app' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def overview() -> str:
    """What `agent --help` prints, without its lines."""
    with redirect_stdout(StringIO()) as out:
        assert cli.main(["--help"]) == 0
    return " ".join(out.getvalue().replace("│", " ").split())


@pytest.mark.parametrize("command", sample(sorted(cli.COMMANDS), 3))
def test_help_says_what_a_command_does_with_an_example(
    command: str, overview: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command's help has an example; the overview lists it."""
    assert cli.main([command, "--help"]) == 0
    said = capsys.readouterr().out
    assert f"Example: agent {command}" in said
    summary = " ".join(said.split("\n\n")[1].split())
    assert f" {command} {summary} " in overview


TWELVE = [
    "kb",
    "host",
    "port",
    "name",
    "token",
    "users",
    "model",
    "base-url",
    "tools",
    "data",
    "memory",
    "workers",
]
"""The settings that people use."""


def helped(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the help that a command line prints."""
    assert cli.main(arguments) == 0
    return capsys.readouterr().out


def flags_of(help: str) -> list[str]:
    """Return the flags that a help describes, in its order."""
    return re.findall(r"^│ --([a-z-]+)", help, re.MULTILINE)


def test_the_help_of_serve_shows_the_settings_that_people_use(capsys: pytest.CaptureFixture[str]) -> None:
    """Twelve of them, in this order; it says how to see the others."""
    help = helped(capsys, "serve", "--help")
    assert flags_of(help) == TWELVE
    assert "agent serve --help all" in help


def test_help_all_shows_every_setting_in_its_group(capsys: pytest.CaptureFixture[str]) -> None:
    """Each with the words of the settings themselves; the next plain help is short again."""
    help = helped(capsys, "serve", "--help", "all")
    assert flags_of(help) == [flag for group in GROUPS.values() for flag in group]
    assert re.findall("╭─ (.*?) ─", help) == list(GROUPS)
    assert "BEFORE[,AFTER] the point of no return" in " ".join(help.replace("│", " ").split())
    assert flags_of(helped(capsys, "serve", "-h")) == TWELVE
    assert helped(capsys, "serve", "-h", "all") == help


def test_every_setting_has_one_group() -> None:
    """A setting without a group would stand in no help."""
    grouped = [flag for group in GROUPS.values() for flag in group]
    rooms = (getattr(Settings(), room.name) for room in fields(Settings))
    assert sorted(grouped) == sorted(each.name.replace("_", "-") for room in rooms for each in fields(room))
    assert list(GROUPS["Settings"]) == TWELVE


def test_a_question_may_end_in_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`all` belongs to --help only right after it, and where no `--` ends the flags."""
    asked: list[str] = []

    async def ask(client: Any, question: str, *_: Any) -> int:
        asked.append(question)
        return 0

    connecting(monkeypatch, [])
    monkeypatch.setattr(chat, "ask_once", ask)
    assert cli.main(["ask", "is", "that", "all"]) == 0
    assert cli.main(["ask", "--", "--help", "all"]) == 0
    assert asked == ["is that all", "--help all"]


def test_the_overview_has_the_commands_of_developers_apart(capsys: pytest.CaptureFixture[str]) -> None:
    """Below those of people."""
    people, developers = (
        set(re.findall(r"^│ ([a-z]+) ", part, re.MULTILINE))
        for part in helped(capsys, "--help").split("─ For developers ─")
    )
    assert developers == cli.DEVELOPERS >= {"soak", "verify", "diagrams", "schema"}
    assert people == set(cli.COMMANDS) - cli.DEVELOPERS


def test_version_is_that_of_the_package(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The version that was installed."""
    monkeypatch.setattr(metadata, "version", {"agent-server": "1.2.3"}.__getitem__)
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == "1.2.3\n"


def test_unknown_command_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelt command says which there are."""
    assert cli.main(["srve"]) == 2
    assert capsys.readouterr().err.startswith('agent: Unknown command "srve".')


class FakeClient:
    """Answers every question with the same frames."""

    def __init__(self, frames: list[dict[str, Any]]) -> None:
        self._frames = frames

    async def ask(self, text: str, id: str | None = None, lang: str | None = None) -> str:
        """Take the question."""
        return "1"

    async def ping(self) -> None:
        """Answer at once."""
        await trio.lowlevel.checkpoint()

    async def next_frame(self) -> dict[str, Any]:
        """Return the next frame, then hang up."""
        await trio.lowlevel.checkpoint()
        if not self._frames:
            raise WireClosed(4401)
        return self._frames.pop(0)


def connecting(monkeypatch: pytest.MonkeyPatch, frames: list[dict[str, Any]] | None) -> list[Any]:
    """Let the commands connect to a fake server, or to none; return the list of what they dialled."""
    dialled: list[Any] = []

    @asynccontextmanager
    async def connect(url: str, token: str | None) -> AsyncGenerator[FakeClient, None]:
        dialled.append((url, token))
        if frames is None:
            raise CannotConnect(f"cannot connect to {url}: Connection refused")
        yield FakeClient(frames)

    for module in (talk, asking):
        monkeypatch.setattr(module, "connect", connect)
    return dialled


def test_ask_prints_the_answer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Answer and sources on standard output; url and token from the environment or flags."""
    answer: list[dict[str, Any]] = [
        {"type": "stream", "delta": "Yes."},
        {"type": "response", "text": "Yes.", "citations": []},
    ]
    dialled = connecting(monkeypatch, answer)
    monkeypatch.setenv("AGENT_TOKEN", "t")
    assert cli.main(["ask", "Really?", "--url", "localhost:1"]) == 0
    assert capsys.readouterr().out == "Yes.\n"
    assert dialled == [("localhost:1", "t")]


def test_ask_joins_its_words(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A question needs no quotes; without any word it is none."""
    asked: list[str] = []

    async def ask(client: Any, question: str, *_: Any) -> int:
        asked.append(question)
        return 0

    dialled = connecting(monkeypatch, [])
    monkeypatch.setattr(chat, "ask_once", ask)
    assert cli.main(["ask", "what", "does", "it", "cost", "--url", "localhost:1"]) == 0
    assert cli.main(["ask", "what does it", "cost?"]) == 0
    assert asked == ["what does it cost", "what does it cost?"]
    dialled.clear()
    assert cli.main(["ask"]) == cli.main(["ask", " "]) == 2
    assert capsys.readouterr().err.count("there is no question") == 2
    assert dialled == []


def test_an_unknown_option_is_told_where_the_known_ones_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["ask", "Really?", "--port", "8000"]) == 2
    assert capsys.readouterr().err == "agent: Unknown option: --port. `agent ask --help` lists the options.\n"


@pytest.mark.parametrize("command", [["ask", "Really?"], ["chat"]])
def test_no_server_is_one_line_and_status_1(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is nobody at the other end."""
    connecting(monkeypatch, None)
    assert cli.main(command) == 1
    assert capsys.readouterr().err == "agent: cannot connect to ws://127.0.0.1:8787/ws: Connection refused\n"


def test_ask_tells_why_the_server_closed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong token is a close code; it is told in words."""
    connecting(monkeypatch, [])
    assert cli.main(["ask", "Really?"]) == 1
    expected = "the connection was closed: not authorised (4401); give the server's token with --token or AGENT_TOKEN"
    assert capsys.readouterr().err == f"agent: {expected}\n"


def test_chat_ends_with_the_connection(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The chat greets a person with its commands, and status 1 says that the server closed."""

    async def nobody() -> AsyncGenerator[str, None]:
        await trio.sleep_forever()
        yield ""

    connecting(monkeypatch, [])
    monkeypatch.setattr("agent.client.open.read_stdin_lines", nobody)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert cli.main(["chat", "localhost:1"]) == 1
    assert capsys.readouterr().out == f"{chat.HELP}\n! {describe_close(4401)}\n"


def test_diagrams_are_written_and_checked(capsys: pytest.CaptureFixture[str]) -> None:
    """Stale ones are shown as a diff and exit 1."""
    assert cli.main(["diagrams", "--check"]) == 1
    assert "+# Session" in capsys.readouterr().out
    assert cli.main(["diagrams"]) == 0
    assert str(Path("diagrams/session.md")) in capsys.readouterr().out
    assert cli.main(["diagrams", "--check"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("arguments", [["schema"], ["schema", "asyncapi"]])
def test_schema_prints_the_wire(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The AsyncAPI document, and nothing else."""
    assert cli.main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["asyncapi"] == "3.0.0"


def test_a_reader_that_leaves_is_no_traceback() -> None:
    """`agent schema | head -1` ends quietly."""
    read, write = os.pipe()
    os.close(read)
    process = subprocess.Popen(
        [sys.executable, "-m", "agent", "schema"],
        env={**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[1])},
        stdout=write,
        stderr=subprocess.PIPE,
    )
    os.close(write)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (1, b"")


def test_a_reader_that_leaves_while_tasks_run_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """`agent chat | head -1`: the same comes out of a nursery; beside another fault it is not passed over."""
    let_go: list[object] = []
    monkeypatch.setattr(cli, "discard", let_go.append)
    monkeypatch.setattr(FakeServer, "fault", ExceptionGroup("", [BrokenPipeError()]))
    assert cli.main(["serve"]) == 1
    assert let_go == [sys.stdout]
    monkeypatch.setattr(FakeServer, "fault", ExceptionGroup("", [BrokenPipeError(), KeyError("bug")]))
    with pytest.raises(BaseExceptionGroup):
        cli.main(["serve"])


def test_a_complaint_that_nobody_reads_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing of it is left that would fail at exit."""
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        assert cli.main(["--nope"]) == 2
        monkeypatch.undo()
