"""Real PostgreSQL servers that have standbys, are standbys, stand behind a pooler, or have a full disk."""

import json
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import trio

from agent.commands.doctor import check_data
from agent.errors import StorageFailed, UsageError
from agent.host import WallClock, WorkerThreads
from agent.settings import Settings
from agent.storage.open import open_store
from agent.storage.settings import StorageSettings
from agent.storage.store import Store
from tests.clusters import PATIENCE, Cluster, running_cluster
from tests.logs import logged
from tests.servers import name_database, run_statement

pytestmark = pytest.mark.proof

RISKS = "the server has a standby and none that is synchronous"
WAITS = "the server waits for a synchronous standby and has none"
REFUSES = "the server has no synchronous standby, which --require-sync asks for"


@pytest.fixture(scope="module")
def primary() -> Iterator[Cluster]:
    """A server, and a user of it that has no right but to make tables."""
    with running_cluster() as made:
        run_statement(made.url, "CREATE ROLE plain LOGIN")
        run_statement(made.url, "GRANT CREATE ON DATABASE postgres TO plain")
        yield made


def wait_for(cluster: Cluster, statement: str, answer: object) -> None:
    """Wait until the server gives an answer."""
    give_up = time.monotonic() + PATIENCE
    while run_statement(cluster.url, statement) != [(answer,)]:
        assert time.monotonic() < give_up, statement
        time.sleep(0.05)


def choose_sync(cluster: Cluster, names: str) -> None:
    """Let commits wait for these standbys."""
    run_statement(cluster.url, f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
    run_statement(cluster.url, "SELECT pg_reload_conf()")
    wait_for(cluster, "SHOW synchronous_standby_names", names)


async def start(url: str, require_sync: bool = False) -> str:
    """Start the stores on a server, and end them; return what is warned of."""
    settings = StorageSettings(url, require_sync=require_sync)
    with logged("warning") as log:
        async with open_store(settings, Path("kb"), WorkerThreads(1), WallClock()):
            pass
    return "".join(json.loads(line)["why"] for line in log.getvalue().splitlines())


async def test_a_failover_that_may_forget_is_told_at_the_start(primary: Cluster) -> None:
    """Where there is a standby and commits wait for none; `--require-sync` ends the start; `agent doctor` tells it."""
    plain = primary.url.replace("postgres@", "plain@")
    for url in (plain, primary.url):
        assert await start(url) == ""
        with pytest.raises(UsageError, match=REFUSES):
            await start(url, require_sync=True)
    standby = Cluster()
    try:
        standby.copy(primary)
        standby.start()
        wait_for(primary, "SELECT count(*) FROM pg_stat_replication", 1)
        for url in (primary.url, plain):
            assert (await start(url)).startswith(RISKS)
            with pytest.raises(UsageError, match=REFUSES) as told:
                await start(url, require_sync=True)
            assert "\n" not in str(told.value)
            asked = await check_data(Settings.of(data=url))
            assert (asked.grade, RISKS in asked.words) == ("note", True)
            asked = await check_data(Settings.of(data=url, require_sync=True))
            assert (asked.grade, REFUSES in asked.words) == ("fail", True)
        with pytest.raises(UsageError, match="the server is a standby: name the primary"):
            await start(standby.url)
        choose_sync(primary, "*")
        for url in (primary.url, plain):
            assert await start(url, require_sync=True) == ""
            assert (await check_data(Settings.of(data=url))).grade == "ok"
        run_statement(primary.url, "ALTER DATABASE postgres SET synchronous_commit = local")
        for url in (primary.url, plain):
            assert (await start(url)).startswith(RISKS)
        run_statement(primary.url, "ALTER DATABASE postgres SET synchronous_commit = off")
        with pytest.raises(UsageError, match="synchronous_commit is off"):
            await start(primary.url)
        run_statement(primary.url, "ALTER DATABASE postgres RESET synchronous_commit")
    finally:
        standby.remove()
    wait_for(primary, "SELECT count(*) FROM pg_stat_replication", 0)
    assert (await check_data(Settings.of(data=plain))).words.partition(", but ")[2].startswith(WAITS)
    choose_sync(primary, "")


SECRET = "s3cret-password"


@pytest.fixture(scope="module")
def secured(primary: Cluster) -> str:
    """The URL of a user who needs a password, without it."""
    run_statement(primary.url, f"CREATE ROLE secured LOGIN SUPERUSER PASSWORD '{SECRET}'")
    [(file,)] = run_statement(primary.url, "SHOW hba_file")
    rules = Path(file)
    rules.write_text(f"host all secured 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")
    run_statement(primary.url, "SELECT pg_reload_conf()")
    return primary.url.replace("postgres@", "secured@")


async def test_a_password_is_given_by_url_environment_or_file(
    secured: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any of them, or with another one, the start names the three."""
    names_three = "refuses this user's password: check the URL, PGPASSWORD or PGPASSFILE"
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UsageError, match=names_three):
        await start(secured)
    with pytest.raises(UsageError, match=names_three) as told:
        await start(secured.replace("@", f":{SECRET}-is-another@"))
    assert SECRET not in str(told.value)
    assert await start(secured.replace("@", f":{SECRET}@")) == ""
    with monkeypatch.context() as environment:
        environment.setenv("PGPASSWORD", SECRET)
        assert await start(secured) == ""
    passwords = tmp_path / "passwords"
    passwords.write_text(f"127.0.0.1:*:*:secured:{SECRET}\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    assert await start(secured) == ""


async def test_an_encryption_that_the_server_does_not_have_is_told(primary: Cluster) -> None:
    """With the option that asks for it."""
    with pytest.raises(UsageError, match="agree on no encryption: check sslmode in the URL"):
        await start(f"{primary.url}?sslmode=require")


@contextmanager
def pooled(cluster: Cluster, folder: Path, **settings: str) -> Iterator[str]:
    """A pooler of transactions before the server; its URL. Skips the test where there is none."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        pytest.skip("needs PgBouncer: apt-get install pgbouncer")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "users").write_text('"postgres" ""\n')
    chosen = {
        "listen_addr": "127.0.0.1",
        "listen_port": port,
        "unix_socket_dir": "",
        "auth_type": "trust",
        "auth_file": folder / "users",
        "pool_mode": "transaction",
        **settings,
    }
    lines = [f"{name} = {value}" for name, value in chosen.items()]
    databases = f"[databases]\n* = host=127.0.0.1 port={cluster.port}\n"
    (folder / "pooler.ini").write_text("\n".join([databases, "[pgbouncer]", *lines]))
    as_root = ["-u", "nobody"] if os.geteuid() == 0 else []
    for each in (folder, *folder.parents[:3]):
        each.chmod(each.stat().st_mode | 0o005)
    with subprocess.Popen([program, *as_root, folder / "pooler.ini"], stderr=subprocess.DEVNULL) as process:
        try:
            give_up = time.monotonic() + PATIENCE
            while process.poll() is None and time.monotonic() < give_up:
                with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.05)
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
        finally:
            process.terminate()


async def test_a_pooler_of_transactions_is_refused(primary: Cluster, tmp_path: Path) -> None:
    """One that refuses the settings of a session, one that drops them, and one whose server has them already."""
    ignores = {"ignore_startup_parameters": "options"}
    run_statement(primary.url, "CREATE DATABASE pooled")
    run_statement(primary.url, "ALTER DATABASE pooled SET search_path = agent_ledger")
    for settings, database in (({}, "postgres"), (ignores, "postgres"), (ignores, "pooled")):
        with pooled(primary, tmp_path, **settings) as url:
            with pytest.raises(UsageError, match="it is behind a pooler that") as told:
                await start(name_database(url, database))
            assert "\n" not in str(told.value)
            assert "name the server itself" in str(told.value)


@contextmanager
def small_disk() -> Iterator[Path]:
    """A file system of 200 MB, in memory. Skips the test where none may be mounted."""
    folder = Path(tempfile.mkdtemp(prefix="disk"))
    mount = ["mount", "-t", "tmpfs", "-o", "size=200m,mode=755", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        folder.rmdir()
        pytest.skip("needs the right to mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()


async def fill(store: Store) -> None:
    """Keep what takes room."""
    for number in range(10_000):
        await store.projects.create_project(f"p{number}", "Shop", secrets.token_hex(4000), 0)


async def test_a_full_disk_is_told_while_serving_and_over_once_there_is_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What cannot be written fails with the remedy, and nothing has to be started again."""
    with small_disk() as disk:
        monkeypatch.setattr(tempfile, "tempdir", str(disk))
        with running_cluster(max_wal_size="64MB", min_wal_size="32MB") as cluster:
            settings, threads = StorageSettings(cluster.url), WorkerThreads(1)
            async with open_store(settings, Path("kb"), threads, WallClock()) as store:
                await store.projects.create_project("first", "Shop", "", 0)
                ballast = disk / "ballast"
                with suppress(OSError), ballast.open("wb", buffering=0) as file:
                    while file.write(bytes(4096)):
                        pass
                with pytest.raises(StorageFailed, match="the server's disk is full: make room on it"):
                    await fill(store)
                ballast.unlink()
                with trio.fail_after(PATIENCE):
                    while True:
                        with suppress(StorageFailed):
                            await store.projects.create_project("last", "Shop", "", 0)
                            break
                        await trio.sleep(0.1)
