"""The files in `agent/deploy`, and the programs that they are for, where these are installed."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from ..e2e.test_process import serve
from .readers import READERS, ROOT
from .walk import PATIENCE, find_port, is_ready

DEPLOY = ROOT / "agent" / "deploy"
FILES = {file.name: file.read_text("utf-8") for file in DEPLOY.iterdir() if file.is_file()}
HOST = "assistant.example.com"
ACCESS = ("--allow-host", HOST, "--trust-proxy", "127.0.0.1")


def needs(program: str) -> str:
    """Return the path of a program, or skip the test."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    return found


@contextlib.contextmanager
def running(command: list[str], folder: Path, port: int) -> Iterator[None]:
    """Run a proxy for the time of a block, from when it passes requests on."""
    with (folder / "proxy.log").open("wb") as log:
        proxy = subprocess.Popen(
            command, cwd=folder, env=os.environ | {"HOME": str(folder)}, stdout=log, stderr=log
        )
    try:
        end = time.monotonic() + PATIENCE
        while not is_ready(port, HOST):
            assert proxy.poll() is None, (folder / "proxy.log").read_text("utf-8")
            assert time.monotonic() < end, (folder / "proxy.log").read_text("utf-8")
            time.sleep(0.1)
        yield
    finally:
        proxy.send_signal(signal.SIGTERM)
        proxy.wait(PATIENCE)


async def upgraded(port: int, origin: str) -> bytes:
    """Open a WebSocket through a proxy, as a page of `origin` does; return the first line of the answer."""
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    head = f"GET /ws HTTP/1.1\r\nHost: {HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nOrigin: {origin}\r\n"
    with trio.fail_after(PATIENCE):
        async with stream:
            await stream.send_all(f"{head}{key}\r\n".encode())
            return (await stream.receive_some(1024)).partition(b"\r\n")[0]


def check_upgrades(port: int) -> None:
    """The proxy's own page may connect, and the page of another site may not."""
    assert b" 101 " in trio.run(upgraded, port, f"https://{HOST}")
    assert b" 403 " in trio.run(upgraded, port, "https://elsewhere.example")


@pytest.mark.parametrize("name", sorted(FILES))
def test_what_a_file_names_is_there(name: str) -> None:
    """Settings, extras, other files and metrics; and the page on running names the file."""
    READERS[name](DEPLOY / name)
    assert f"(../deploy/{name})" in (ROOT / "agent" / "guide" / "running.md").read_text("utf-8")


@pytest.mark.proof
def test_nginx_passes_the_page_and_the_websocket_on(tmp_path: Path) -> None:
    """With the file as printed, but for its ports and its certificate."""
    nginx, port = needs("nginx"), find_port()
    with serve(tmp_path, *ACCESS) as (_, upstream):
        conf = (
            FILES["assistant.conf"].replace("listen 443 ssl", f"listen {port}").replace("8787", str(upstream))
        )
        lines = [line for line in conf.splitlines() if "ssl_certificate" not in line]
        (tmp_path / "assistant.conf").write_text("\n".join(lines))
        folders = "".join(
            f"{kind}_temp_path {tmp_path}/{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (tmp_path / "nginx.conf").write_text(
            f"daemon off;\nmaster_process off;\npid {tmp_path}/pid;\nerror_log stderr;\nevents {{}}\n"
            f"http {{\naccess_log off;\n{folders}include {tmp_path}/assistant.conf;\n}}\n"
        )
        with running([nginx, "-c", f"{tmp_path}/nginx.conf", "-e", "stderr"], tmp_path, port):
            check_upgrades(port)


@pytest.mark.proof
def test_caddy_passes_the_page_and_the_websocket_on(tmp_path: Path) -> None:
    """With the file as printed, but for its ports and without a certificate."""
    caddy, port = needs("caddy"), find_port()
    with serve(tmp_path, *ACCESS) as (_, upstream):
        file = FILES["Caddyfile"].replace(HOST, f"http://{HOST}:{port}").replace("8787", str(upstream))
        (tmp_path / "Caddyfile").write_text("{\n    admin off\n}\n" + file)
        with running([caddy, "run", "--config", "Caddyfile", "--adapter", "caddyfile"], tmp_path, port):
            check_upgrades(port)


@pytest.mark.proof
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """Without a complaint, with a program that is there in place of its own."""
    systemd = needs("systemd-analyze")
    unit = tmp_path / "agent.service"
    unit.write_text(FILES["agent.service"].replace("/opt/agent/.venv/bin/agent", sys.executable))
    done = subprocess.run(
        [systemd, "verify", str(unit)], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.proof
def test_the_image_can_be_made(tmp_path: Path) -> None:
    """Its instructions, carried out below a folder in a virtual environment: the server starts and is found healthy.

    The packages that the project needs are those of this environment, which spares half a minute of installing.
    """
    root, port = tmp_path / "root", find_port()
    copied, command, check = read_dockerfile(FILES["Dockerfile"])
    for sources, target in copied:
        for source in sources:
            (root / target).mkdir(parents=True, exist_ok=True)
            if (ROOT / source).is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(ROOT / source, root / target, ignore=ignored, dirs_exist_ok=True)
            else:
                shutil.copy(ROOT / source, root / target)
    for name in ("docs", "data"):
        (root / name).mkdir()
    (root / "docs" / "cards.md").write_text("# Cards\n\nA lost card is replaced for 25 EUR.\n")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True, timeout=PATIENCE)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", root / "src"], check=True, timeout=300)
    moved = [
        word.replace("/docs", str(root / "docs")).replace("/data", str(root / "data")) for word in command
    ]
    server = subprocess.Popen(
        [python, "-m", *moved, "--port", str(port)],
        cwd=root / "data",
        env={"PATH": os.environ["PATH"], "HOME": str(root), "AGENT_TOKEN": "0123456789abcdef"}
        | {"PYTHONPATH": sysconfig.get_paths()["purelib"]},
    )
    try:
        end = time.monotonic() + PATIENCE
        while subprocess.run(
            [python, *check[1:-1], check[-1].replace("8787", str(port))], check=False, capture_output=True
        ).returncode:
            assert server.poll() is None
            assert time.monotonic() < end
            time.sleep(0.2)
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE) == 0


def read_dockerfile(text: str) -> tuple[list[tuple[list[str], str]], list[str], list[str]]:
    """Return what is copied where, the command, and the command of the health check."""
    copied, command, check = [], [], []
    for line in text.replace("\\\n", " ").splitlines():
        instruction, _, rest = line.partition(" ")
        if instruction == "COPY":
            *sources, target = rest.split()
            copied.append((sources, target.lstrip("/")))
        elif instruction == "CMD":
            command = json.loads(rest)
        elif instruction == "HEALTHCHECK":
            check = json.loads(rest[rest.index("[") :])
    return copied, command, check
