"""Checks the speech and the hearing of one connection with voice, as far as its client can see them.

Pure, and a part of an `Account`. Audio belongs to the last `speech` frame, so audio is allowed only between that frame
and the `speech_end` of its message.
"""

from typing import Any, ClassVar

from .figures import Tally
from .wire import Frame


class Speeches:
    """The speeches of one connection, and whether the final of an utterance is due.

    `name`: begins the text of each broken promise. `seq`: the number of the last `speech` frame. `live`: the message of
    the speech in progress, None without one. `is_heard_due`: sound was sent whose final `heard` has not come.
    """

    def __init__(self, name: str, tally: Tally) -> None:
        self.seq = 0
        self.live: str | None = None
        self.is_heard_due = False
        self._name = name
        self._tally = tally
        self._ends: dict[str, str] = {}  # the last reason of `speech_end`, by message
        self._furthest: dict[str, int] = {}  # the greatest `to` of `speech` frames, by message
        self._lengths: dict[str, int] = {}  # characters of a response, by message

    @property
    def is_waiting(self) -> bool:
        """Whether an end of a speech or a final is still to come."""
        return self.live is not None or self.is_heard_due

    def enter_response(self, frame: Frame) -> None:
        """Enter a response, whose text the speech about it may say."""
        id = frame["id"]
        self._lengths[id] = len(frame["text"])
        self._check_range(id)

    def enter_refusal(self) -> None:
        """Enter that audio was refused since all places are taken: no final follows."""
        self.is_heard_due = False

    def check_frame(self, frame: Frame) -> None:
        """Check a frame of one of `KINDS`."""
        self.KINDS[frame["type"]](self, frame)

    def check_settled(self) -> None:
        """Check that each speech has ended, and each utterance was made out."""
        if self.live is not None:
            self._report("V2", f"the speech about {self.live} has not ended")
        if self.is_heard_due:
            self._report("V2", "what was said is neither heard nor dropped")

    def _check_audio(self, _: Frame) -> None:
        self._tally.count("audio frames")
        if self.live is None:
            self._report("V1", f"audio after {next(reversed(self._ends.values()), 'no speech')}")

    def _check_speech(self, frame: Frame) -> None:
        id, begin, end = frame["id"], frame["from"], frame["to"]
        if self.live not in (None, id):
            self._report("V2", f"a speech about {id} within that about {self.live}")
        if self._ends.get(id, "done") != "done":
            self._report("V1", f"a speech about {id} after {self._ends[id]}")
        if frame["seq"] != self.seq + 1:
            self._report("V2", f"speech {frame['seq']} after {self.seq}")
        self.seq, self.live = frame["seq"], id
        if not 0 <= begin <= end:
            self._report("V2", f"{id}: the characters {begin} to {end} are said")
        self._furthest[id] = max(end, self._furthest.get(id, 0))
        self._check_range(id)

    def _check_speech_end(self, frame: Frame) -> None:
        id, reason = frame["id"], frame["reason"]
        self._tally.count(f"speech {reason}")
        if self.live not in (None, id) or self._ends.get(id, "done") != "done":
            self._report("V2", f"the speech about {id} ended {reason}, after {self._ends.get(id)}")
        if reason not in ("done", "cancelled"):
            self._report("S7", f"the speech about {id} ended {reason}")
        self._ends.pop(id, None)  # the last in order
        self._ends[id] = reason
        self.live = None

    def _check_heard(self, frame: Frame) -> None:
        if frame.get("final", False):
            self._tally.count("utterances heard" if frame["text"] else "utterances without words")
            self.is_heard_due = False

    def _check_range(self, id: str) -> None:
        length, furthest = self._lengths.get(id), self._furthest.get(id, 0)
        if length is not None and furthest > length:
            self._report("V2", f"{id}: {furthest} characters are said of {length}")

    def _report(self, promise: str, text: str) -> None:
        self._tally.violation(promise, f"{self._name}: {text}")

    KINDS: ClassVar[dict[str, Any]] = {
        "audio": _check_audio,
        "speech": _check_speech,
        "speech_end": _check_speech_end,
        "heard": _check_heard,
    }
