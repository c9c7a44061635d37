"""Commands for operators over a PostgreSQL server: they look, decide and forget there, and make nothing."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from agent import cli
from tests.servers import empty_database, fresh_database, name_database, run_statement

pytestmark = pytest.mark.proof


@pytest.fixture
def url() -> Iterator[str]:
    """A database that a server has kept."""
    with fresh_database() as made:
        yield made


def test_commands_that_look_make_nothing_in_a_database_without_tables(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They say that it is another one, by host and name."""
    with empty_database() as url:
        for command in (
            ["memory", "list"],
            ["memory", "check"],
            ["memory", "rebuild", "--vectors", "off"],
            ["actions"],
            ["feedback", "list"],
            ["recall", "budget", "--vectors", "off"],
        ):
            assert cli.main([*command, "--data", url]) == 2
            told = capsys.readouterr().err
            assert told.count("\n") == 1
            assert told.endswith(": name the database that a server keeps, its --data URL\n")
        assert run_statement(url, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'agent%'") == []


def test_an_operator_decides_and_forgets_there(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is said of forgetting is true of a server: nobody reads it, and others' copies have it for a while."""

    def run(*command: str) -> str:
        assert cli.main([*command, "--data", url]) == 0
        return capsys.readouterr().out

    run("memory", "propose", "fact", "budget of atlas", "The budget is 50 000 kr.", "--user", "ana")
    run("memory", "accept", "i1")
    assert "The budget is 50 000 kr." in run("memory", "list")
    told = run("memory", "forget", "i1")
    assert told.splitlines() == [
        "i1 is forgotten, and 0 messages and answers with it",
        "nobody can read them any more; the server's log, standbys and backups have them until these are over",
    ]
    assert "budget" not in run("memory", "export", "--turns")
    checked = run("memory", "check").splitlines()
    assert checked[:2] == ["servers: 0", "items: 1 forgotten"]


def test_no_help_shows_the_url_of_the_environment(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its password may stand there."""
    monkeypatch.setenv("AGENT_DATA", "postgresql://u:s3cret-password@h/d")
    for command in (["serve", "--help", "all"], ["doctor", "--help"], ["memory", "list", "--help"]):
        assert cli.main(command) == 0
        told = capsys.readouterr()
        assert "AGENT_DATA" in told.out
        assert "s3cret" not in told.out + told.err


def test_a_start_on_a_bad_url_ends_with_a_sentence(capsys: pytest.CaptureFixture[str], url: str) -> None:
    """Exit status 2, and no password; each sentence names the remedy."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        answers = threading.Thread(target=_answer_as_a_web_server, args=(other,), daemon=True)
        answers.start()
        port = other.getsockname()[1]
        login = "postgresql://u:s3cret-password@127.0.0.1"
        for bad, remedy in (
            (f"{login}:1/d", "check the URL's host and port, and that PostgreSQL runs"),
            (f"{login}:{port}/d?sslmode=disable", "is no PostgreSQL server: check the URL's host and port"),
            (f"{login}:{port}/d", "is no PostgreSQL server: check the URL's host and port"),
            (f"{login}:1/d?sslmode=perhaps", "check the URL"),
            (f"{login}:port/d", "it is postgresql://USER@HOST:PORT/DATABASE"),
            (f"{login}:1", "names no database"),
            (name_database(url, "missing"), "make it first"),
        ):
            assert cli.main(["serve", "--port", "0", "--vectors", "off", "--data", bad]) == 2
            told = capsys.readouterr()
            assert told.err.count("\n") == 1, told.err
            assert remedy in told.err
            assert "s3cret" not in told.out + told.err


def _answer_as_a_web_server(listener: socket.socket) -> None:
    with suppress(OSError):
        while True:
            connection, _ = listener.accept()
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.close()
