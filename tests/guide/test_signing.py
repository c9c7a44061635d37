"""The programs of the guide that sign tokens: in Python and in JavaScript, each as `agent token` signs."""

import json
import os
import shutil
import subprocess
from base64 import urlsafe_b64decode
from pathlib import Path
from typing import Any

import pytest

from agent import cli
from agent.guide.pages import read_page
from agent.host import WallClock
from agent.server.signed_users import SignedUsers, sign_user
from tests.examples import sample

from .blocks import read_blocks

KEY = "a-key-of-the-website-and-the-server"
BLOCKS = {block.file: block.text for block in read_blocks("running.md", read_page("running"))}
READER = SignedUsers((KEY,), WallClock())


def claims(token: str) -> Any:
    """Return what a token says."""
    body = token.split(".")[1]
    return json.loads(urlsafe_b64decode(body + "=" * (-len(body) % 4)))


def sign_in_python(name: str, seconds: int) -> str:
    """Run the page's program in Python."""
    names: dict[str, Any] = {}
    exec(compile(BLOCKS["sign.py"], "sign.py", "exec"), names)
    return str(names["sign_user"](KEY, name, seconds))


def sign_in_javascript(name: str, seconds: int, folder: Path) -> str:
    """Run the page's program in Node."""
    (folder / "sign.mjs").write_text(BLOCKS["sign.mjs"], "utf-8")
    arguments = ", ".join(map(json.dumps, (KEY, name, seconds)))
    call = f'import {{ signUser }} from "./sign.mjs"; console.log(signUser({arguments}))'
    command = ["node", "--input-type=module", "-e", call]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True, timeout=60)
    return done.stdout.decode().strip()


def check(token: str, name: str, seconds: int) -> None:
    """Check that a token is good, and byte for byte what this server signs."""
    found = READER.read_user(token.encode())
    assert (found.name, seconds - 60 < found.seconds <= seconds) == (name, True)
    end = claims(token)["exp"]
    if name.isascii():
        assert token == sign_user(KEY, name, end)
    assert claims(token) == {"sub": name, "exp": end}


@pytest.mark.parametrize("name", ["ana", 'Bo "Ek"', "Åsa 😀"])
def test_python_signs_as_the_guide_says(name: str) -> None:
    """Any name, for as long as it is asked for."""
    check(sign_in_python(name, 3600), name, 3600)


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node here")
@pytest.mark.parametrize("name", sample(['Bo "Ek" Åsa 😀', "ana", "Åsa"], 3))
def test_javascript_signs_as_the_guide_says(name: str, tmp_path: Path) -> None:
    """The same."""
    check(sign_in_javascript(name, 3600, tmp_path), name, 3600)


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set an empty working folder, without a key."""
    monkeypatch.chdir(tmp_path)
    for name in [each for each in os.environ if each.startswith("AGENT_")]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("given", "seconds"), [((), 3600), (("--for", "90m"), 5400), (("--for", "366d"), 31_622_400)]
)
def test_the_command_signs_for_a_time(
    given: tuple[str, ...], seconds: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the key of the environment."""
    monkeypatch.setenv("AGENT_SIGN_KEY", KEY)
    assert cli.main(["token", "Åsa Ek", *given]) == 0
    check(capsys.readouterr().out.strip(), "Åsa Ek", seconds)


def test_the_key_comes_from_a_flag_or_a_file_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A key may begin like a flag."""
    (tmp_path / "agent.toml").write_text(f'sign_key = "{KEY}"\nold_sign_key = "{KEY}-before"\n')
    assert cli.main(["token", "ana"]) == 0
    check(capsys.readouterr().out.strip(), "ana", 3600)
    dashed = "-" + KEY
    assert cli.main(["token", "ana", f"--sign-key={dashed}"]) == 0
    signed = capsys.readouterr().out.strip()
    assert SignedUsers((dashed,), WallClock()).read_user(signed.encode()).seconds > 3500


@pytest.mark.parametrize(
    ("key", "words", "why"),
    [
        (None, ("ana",), "no key signs tokens here: set AGENT_SIGN_KEY, or sign_key in agent.toml"),
        ("short", ("ana",), "sign-key must have at least 32 characters"),
        (KEY, ("ana", "--for", "soon"), "--for must be a number and s, m, h or d"),
        (KEY, ("ana", "--for", "0h"), "--for must be"),
        (KEY, ("ana", "--for", "367d"), "--for must be"),
        (KEY, ("ana", "--for", "1h\n"), "--for must be"),
        (KEY, ("",), "a user's name must be one line of 1 to 128 characters"),
        (KEY, ("a" * 129,), "a user's name must be"),
        (KEY, ("a\nb",), "a user's name must be"),
        (KEY, ("visitor:1",), "a user's name must be"),
    ],
)
def test_a_token_that_cannot_be_made_is_said(
    key: str | None,
    words: tuple[str, ...],
    why: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In one line, with status 2, and without the key."""
    if key is not None:
        monkeypatch.setenv("AGENT_SIGN_KEY", key)
    assert cli.main(["token", *words]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"agent: {why}")
    assert said.err.count("\n") == 1
    assert KEY not in said.err
