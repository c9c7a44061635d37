"""Answers the requests of readers beside the turn: opening a branch of a story."""

from collections.abc import Callable
from typing import Any

import structlog
import trio

from ..errors import StorageFailed, StoryRefused, describe_error
from ..ports.consult import ConsultReply, ThreadListener
from ..ports.conversation import Scope
from ..ports.story_store import StoryStore
from ..protocol.outbound import Error
from ..protocol.stories import OpenStory, StoryChoice, StoryFrame
from .opened_branches import OpenedBranches

OPEN_TIMEOUT = 10.0  # seconds to open a branch

_NO_NAME = "A guest has no stories on this server; connect with a token of your own."
STORY_FAILED = "The stories cannot be read or written just now; try again in a moment."

_log = structlog.get_logger("agent.stories")


class StoryConsultant:
    """Opens branches for readers (implements `agent.ports.consult.Consultant`).

    `new_id`: names the log line of a fault. `guests`: clients without a name may connect, and have no stories then;
    otherwise such a client is the operator's.
    """

    def __init__(
        self, store: StoryStore, branches: OpenedBranches, new_id: Callable[[], str], guests: bool = False
    ) -> None:
        self._guests = guests
        self._store = store
        self._branches = branches
        self._new_id = new_id

    async def answer(self, frame: OpenStory, scope: Scope, listener: ThreadListener) -> ConsultReply:
        """Open a branch for the connection of `scope`, within `OPEN_TIMEOUT` seconds; return its frame, or an error."""
        owner = scope.in_thread("")  # stories belong to their user, on every connection
        try:
            if self._guests and not scope.user:
                raise StoryRefused("unknown_story", _NO_NAME)
            with trio.fail_after(OPEN_TIMEOUT):
                tip = await self._store.open_branch(owner, frame.story, frame.branch)
        except StoryRefused as refused:
            return ConsultReply(_make_error(refused.code, refused.message, frame))
        except (StorageFailed, trio.TooSlowError):
            return ConsultReply(_make_error("story_failed", STORY_FAILED, frame))
        except Exception as broken:  # noqa: BLE001 - the edge of one request
            fault = self._new_id()
            _log.error("request to a story broke", fault=fault, **describe_error(broken))
            message = f"Something broke here; try again, or report fault {fault}."
            return ConsultReply(_make_error("internal", message, frame))
        opened = StoryFrame(
            story=tip.story,
            branch=tip.branch,
            name=tip.name,
            seq=tip.seq,
            scene=tip.scene.scene if tip.scene is not None else None,
            version=tip.version or None,
            choices=tuple(StoryChoice(each.id, each.text) for each in tip.choices),
            id=frame.id,
        )
        return ConsultReply(opened, self._branches.open_branch(listener, owner, tip))

    def leave(self, listener: ThreadListener, scope: Scope) -> None:
        """Forget the branch that `listener` has open."""
        self._branches.leave(listener)

    async def run(self) -> None:
        """Return at once: readers are told of nothing that they did not ask for."""
        await trio.lowlevel.checkpoint()


def _make_error(code: Any, message: str, frame: OpenStory) -> Error:
    return Error(code=code, message=message, id=frame.id)
