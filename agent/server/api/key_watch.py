"""Ends the sessions of a project's key once it opens nothing any more.

A request shows its key each time, but a WebSocket only once. So the keys of open WebSockets are looked up again, each
every `CHECK_EVERY` seconds, however many connections it has opened. The store is asked, and not the request that
revokes the key: another process may have taken that one. While the store cannot be read, the sessions go on.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import trio

from ...errors import StorageFailed
from ...ports.projects import ProjectStore

CHECK_EVERY: Final = 1.0


class KeyWatch:
    """The keys of open WebSockets, by their digests. For one event loop."""

    def __init__(self, projects: ProjectStore) -> None:
        self._projects = projects
        self._ends: dict[str, list[Callable[[], None]]] = {}
        self._in_use = trio.Event()

    def __len__(self) -> int:
        return len(self._ends)

    @contextmanager
    def hold(self, digest: str, end: Callable[[], None]) -> Iterator[None]:
        """Watch a key for the time of a block; `end` is called once it opens nothing, perhaps more than once."""
        ends = self._ends.setdefault(digest, [])
        ends.append(end)
        self._in_use.set()
        try:
            yield
        finally:
            ends.remove(end)
            if not ends:
                del self._ends[digest]

    async def run(self) -> None:
        """Look the keys up until cancelled, which leaves nothing."""
        while True:
            await self._in_use.wait()
            await trio.sleep(CHECK_EVERY)
            for digest in tuple(self._ends):
                if not await self._opens_project(digest):
                    for end in tuple(self._ends.get(digest, ())):
                        end()
            if not self._ends:
                self._in_use = trio.Event()

    async def _opens_project(self, digest: str) -> bool:
        try:
            return await self._projects.find_key(digest) is not None
        except StorageFailed:
            return True
