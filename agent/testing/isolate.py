"""Answers in this process what is asked of the one that reads files of others: for tests, where files are our own."""

from collections.abc import Callable

from ..errors import GivenUp
from ..retrieval.reader import answer


class InProcess:
    """Answers here and now (implements `agent.ports.work.Isolate`), within no limits but those of the readers."""

    def __init__(self) -> None:
        self._closed = False

    def start(self) -> None:
        """See `Isolate`."""

    def ask(
        self,
        request: bytes,
        seconds: float,
        look: Callable[[], object],
        begin: Callable[[], object] = lambda: None,
    ) -> bytes:
        """See `Isolate`."""
        if self._closed:
            raise GivenUp("it was closed")
        look()
        begin()
        return answer(request)

    def close(self) -> None:
        """See `Isolate`."""
        self._closed = True
