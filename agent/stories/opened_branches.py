"""Knows which branch each connection has open, and the tip of it that the connection has seen.

The thread of a connection's scope names its open branch. A connection has one at a time, and none when it has left.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..errors import StoryRefused
from ..ports.consult import ThreadListener
from ..ports.conversation import Scope
from ..ports.stories import BranchTip, SceneText


@dataclass(slots=True)
class OpenedBranch:
    """A branch that a connection has open. `tip` is the last scene that the connection was told of."""

    scope: Scope
    tip: BranchTip


class OpenedBranches:
    """The open branches of all connections of this process. `new_id`: returns an unguessable id."""

    def __init__(self, new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self._by_thread: dict[str, OpenedBranch] = {}
        self._threads: dict[ThreadListener, str] = {}

    def open_branch(self, listener: ThreadListener, scope: Scope, tip: BranchTip) -> Scope:
        """Open a branch for `listener` in place of its earlier one; return the scope of its next messages."""
        self.leave(listener)
        opened = scope.in_thread(self._new_id())
        self._threads[listener] = opened.thread
        self._by_thread[opened.thread] = OpenedBranch(scope, tip)
        return opened

    def find(self, scope: Scope) -> OpenedBranch:
        """Return the open branch of a connection's `scope`; raises `StoryRefused` where it has opened none."""
        opened = self._by_thread.get(scope.thread)
        if opened is None:
            raise StoryRefused("no_story", "No story is open; send open_story with the id of a story first.")
        return opened

    def advance(self, scope: Scope, scene: SceneText) -> None:
        """Note that the connection of `scope` was told `scene`, where it has the same branch open still."""
        opened = self._by_thread.get(scope.thread)
        if opened is not None:
            opened.tip = replace(opened.tip, seq=scene.seq, scene=scene, choices=())

    def leave(self, listener: ThreadListener) -> None:
        """Close the branch of `listener`, if it has one open."""
        thread = self._threads.pop(listener, None)
        if thread is not None:
            del self._by_thread[thread]
