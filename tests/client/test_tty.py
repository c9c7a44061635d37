"""What a person types stays whole on the screen whatever comes meanwhile, and a cancel leaves nothing behind."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import pytest
import trio

from agent.client.editor import LineEditor
from agent.client.history import append_history, find_history_file, read_history
from agent.client.tty import Screen, read_keys, read_lines

WIDTH = 20
PATIENCE = 60.0  # seconds; a machine that is busy with other things is slow
STEP = re.compile(r"\x1b\[(\d*)([AGCK])|(.)", re.DOTALL)


class Glass:
    """A terminal of WIDTH columns, as far as a screen uses one."""

    def __init__(self) -> None:
        self.rows = [""]
        self.at = [0, 0]

    def steer(self, text: str) -> None:
        """Show it."""
        for number, command, letter in STEP.findall(text):
            row, column = self.at
            count = int(number or 1)
            if command == "A":
                self.at[0] = max(0, row - 1)
            elif command == "G":
                self.at[1] = count - 1
            elif command == "C":
                self.at[1] = column + count
            elif command == "K":
                self.rows[row] = self.rows[row][:column]
            elif letter == "\r":
                self.at[1] = 0
            elif letter == "\n":
                self._down()
            else:
                assert letter.isprintable(), repr(letter)
                if column == WIDTH:
                    self._down()
                    row, column = self.at
                self.rows[row] = self.rows[row][:column].ljust(column) + letter + self.rows[row][column + 1 :]
                self.at[1] = column + 1

    def _down(self) -> None:
        self.at = [self.at[0] + 1, 0]
        if self.at[0] == len(self.rows):
            self.rows.append("")


def shown() -> tuple[Glass, LineEditor, Screen]:
    glass, editor = Glass(), LineEditor()
    return glass, editor, Screen(editor, glass.steer, lambda: WIDTH)


@pytest.mark.parametrize("size", [1, 3, 7, 20])
def test_an_answer_that_streams_in_leaves_the_typed_line_whole(size: int) -> None:
    """However its pieces fall on the rows, also where one ends with its row."""
    glass, editor, screen = shown()
    text = "A streamed answer, longer than a row or two, 40 letters.\nAnd a second line!!!\n\nEnd"
    for at in range(0, len(text), size):
        screen.write(text[at : at + size])
        editor.feed(b"x")
        screen.draw()
        assert glass.rows[glass.at[0]] == editor.visible_row(WIDTH)[0]
    expected = [
        row
        for line in text.split("\n")
        for row in (line[at : at + WIDTH] for at in range(0, max(1, len(line)), WIDTH))
    ]
    assert glass.rows[: len(expected)] == expected
    assert [row for row in glass.rows[len(expected) :] if row] == [editor.visible_row(WIDTH)[0]]


def test_a_finished_line_stays_among_what_was_said() -> None:
    """Below a text that was still coming, and above what comes next."""
    glass, _, screen = shown()
    screen.write("half an ans")
    screen.write_typed("stop")
    screen.write("(stopped)\n")
    screen.leave()
    assert glass.rows == ["half an ans", "> stop", "(stopped)", ""]


def test_nothing_that_is_written_steers_the_terminal() -> None:
    """What a server says is cleaned; the row has nothing in it that steers."""
    written: list[str] = []
    screen = Screen(LineEditor(), written.append, lambda: WIDTH)
    screen.write("a\x1b[2J\x9b\r\u202eb")
    assert "\x1b[2J" not in "".join(written)
    assert "a\ufffd[2J\ufffd\ufffd\ufffdb" in "".join(written)


async def test_lines_come_from_a_terminal_and_a_cancel_leaves_it_as_it_was() -> None:
    """No thread reads it, and its modes are back."""
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    threads = threading.active_count()
    glass, editor, screen = shown()
    got: list[str] = []
    finished = trio.Event()

    async def read() -> None:
        async for line in read_lines(screen, editor, theirs):
            got.append(line)
            finished.set()

    with read_keys(screen, lambda _: None, theirs):
        assert not termios.tcgetattr(theirs)[3] & (termios.ICANON | termios.ECHO)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            os.write(ours, b"helol\x7f\x7flo\r")
            await finished.wait()
            nursery.cancel_scope.cancel()
        assert threading.active_count() == threads
    assert got == ["hello"]
    assert termios.tcgetattr(theirs) == before
    os.close(ours)
    os.close(theirs)
    assert glass.rows[0] == "> hello"


def test_a_history_is_nobody_elses_and_has_a_bound(tmp_path: Path) -> None:
    """It is in the user's folder for states, and what cannot be read or kept is none."""
    assert find_history_file({}) is None
    assert find_history_file({"HOME": "/h"}) == Path("/h/.local/state/agent-server/history")
    file = find_history_file({"XDG_STATE_HOME": str(tmp_path / "s"), "HOME": "/h"})
    assert file == tmp_path / "s" / "agent-server" / "history"
    assert read_history(file) == []
    append_history(file, [])
    assert not file.exists()
    append_history(file, ["one", "två"])
    append_history(file, [str(number) for number in range(498)] + ["\x1b[2J last"])
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    kept = read_history(file)
    assert (len(kept), kept[:2], kept[-1]) == (500, ["två", "0"], "[2J last")
    assert [each.name for each in file.parent.iterdir()] == ["history"]
    (tmp_path / "link").symlink_to(file)
    assert read_history(tmp_path / "link") == []
    append_history(tmp_path / "link" / "no folder", ["x"])


@pytest.mark.proof
@pytest.mark.parametrize("end", ["\x04", "SIGTERM"])
def test_a_chat_under_a_real_terminal_edits_lines_and_leaves_it_well(end: str, tmp_path: Path) -> None:
    """A wrong key taken back, an answer that comes while another line is typed, and the line before a key away."""
    command = [sys.executable, "-m", "agent"]
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path), "TERM": "xterm", "AGENT_DATA": "memory"}
    kb = Path(__file__).parents[2] / "kb"
    server = subprocess.Popen(
        [*command, "serve", "--kb", str(kb), "--port", "0", "--vectors", "off"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    try:
        assert server.stdout is not None
        server.stdout.readline()
        port = int(server.stdout.readline().rsplit(b":", 1)[1].split(b"/")[0])
        chat = subprocess.Popen(
            [*command, "chat", f"ws://127.0.0.1:{port}/ws"],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment,
            start_new_session=True,
        )
        said = ""

        def until(words: str) -> None:
            nonlocal said
            deadline = time.monotonic() + PATIENCE
            while words not in said:
                ready, _, _ = select.select([ours], [], [], max(0, deadline - time.monotonic()))
                assert ready, said
                said += os.read(ours, 4096).decode(errors="replace")

        until("/quit")
        os.write(ours, b"What does the Standrd\x7f\x7fard plan cost?\r")
        until("299 ")
        os.write(ours, b"/source 1")
        until("> /source 1")
        until("Sources:")
        os.write(ours, b"\r")
        until("^^^^^^")
        os.write(ours, b"\x1b[A\x1b[A")
        said = ""
        until("> What does the Standard plan cost?")
        os.write(ours, b"\x15")
        if end == "SIGTERM":
            chat.send_signal(signal.SIGTERM)
        else:
            os.write(ours, end.encode())
        assert chat.wait(PATIENCE) == (1 if end == "SIGTERM" else 0)
        assert termios.tcgetattr(theirs) == before
        kept = (tmp_path / "agent-server" / "history").read_text()
        assert kept == "What does the Standard plan cost?\n/source 1\n"
    finally:
        server.kill()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()
        os.close(ours)
        os.close(theirs)
