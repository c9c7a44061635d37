"""A conversation: whose it is, and what was said in it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose a question is: three names, each "" where it is not known. Nobody is shown what is another scope's.

    project: what the server was set up for. thread: one conversation; a connection is one. user: who asks.
    """

    project: str = ""
    thread: str = ""
    user: str = ""

    def in_thread(self, thread: str) -> "Scope":
        """Return the same user's scope in another thread."""
        return Scope(self.project, thread, self.user)

    def includes(self, other: "Scope") -> bool:
        """Return whether what is said in another scope is the same user's; of nobody's it has to be one thread."""
        same = (self.project, self.user) == (other.project, other.user)
        return same and (self.user != "" or self.thread == other.thread)


NO_SCOPE = Scope()


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question that was answered, and the answer as it was said: verified, and not refused.

    withdrawn: its user cancelled after it, so that the next message tells nothing that it asked for. message: the id
    of the question, "" where it had none. cites: ids of what its answer cites that is remembered.
    """

    question: str
    answer: str
    withdrawn: bool = False
    message: str = ""
    cites: tuple[str, ...] = ()
