"""Two servers over one database, for all tests of this folder."""

import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.e2e.flow import PROGRAM, House, Server, house, start_server
from tests.servers import empty_database

WITHOUT_HINTS = """
from agent.__main__ import main
from agent.ports.hints import NO_HINTS
from agent.storage.postgres.place import DatabaseServer
DatabaseServer.carry_hints = lambda *_: NO_HINTS
main()
"""


@pytest.fixture(scope="package")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """What servers over one database of their own share."""
    with empty_database() as url, house(tmp_path_factory.mktemp("nodes"), url) as made:
        yield made


@pytest.fixture(scope="package")
def nodes(shared: House) -> Iterator[tuple[Server, Server]]:
    """Two of them; with NODES_HINTS=off they hear of each other only when they look."""
    program = ("-c", WITHOUT_HINTS) if os.environ.get("NODES_HINTS") == "off" else PROGRAM
    with ExitStack() as stack:
        one, other = (start_server(shared.folder, shared.flags(), program) for _ in range(2))
        stack.callback(one.kill)
        stack.callback(other.kill)
        yield one, other
