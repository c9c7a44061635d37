"""Identifies a conversation by its `Scope` and holds its exchanges."""

from dataclasses import dataclass

HEARD = "heard-"
"""The beginning of the keys of messages that a recogniser made of audio, also where memory stores them."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The owner of a question: three names, each "" where it is not known. No scope sees the data of another one.

    `project` is the set-up of the server that the question belongs to. `thread` is one conversation; a connection is
    one. `user` is the author.
    """

    project: str = ""
    thread: str = ""
    user: str = ""

    def in_thread(self, thread: str) -> "Scope":
        """Return the same user's scope in another `thread`."""
        return Scope(self.project, thread, self.user)

    def includes(self, other: "Scope") -> bool:
        """Return whether `other` belongs to the same user; for an unknown user ("") the threads must be the same
        too.
        """
        same = (self.project, self.user) == (other.project, other.user)
        return same and (self.user != "" or self.thread == other.thread)


NO_SCOPE = Scope()


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question that was answered, with its answer: verified, and not refused.

    `withdrawn` says that the user cancelled after it, so that the next message fills in none of its wishes. `message`
    is the id of the question, "" where it had none. `cites` holds the ids of the memory items and turns that the answer
    cites.
    """

    question: str
    answer: str
    withdrawn: bool = False
    message: str = ""
    cites: tuple[str, ...] = ()

    @property
    def heard(self) -> bool:
        """Whether a recogniser made the question of audio."""
        return self.message.startswith(HEARD)
