"""An `Isolate` for tests, which reads files in this process, since they are the tests' own."""

from collections.abc import Callable

from ..errors import GivenUp
from ..retrieval.reader import answer_request


class InProcess:
    """Reads a file in this process (implements `agent.ports.work.Isolate`), with no limits but the readers' own."""

    def __init__(self) -> None:
        self._closed = False

    def start(self) -> None:
        """Start nothing; see `Isolate`."""

    def ask(
        self,
        request: bytes,
        seconds: float,
        look: Callable[[], object],
        begin: Callable[[], object] = lambda: None,
    ) -> bytes:
        """Return the reply to `request`; see `Isolate`."""
        if self._closed:
            raise GivenUp("it was closed")
        look()
        begin()
        return answer_request(request)

    def close(self) -> None:
        """Refuse further requests; see `Isolate`."""
        self._closed = True
