"""Defines the requests to the process of an ear, for both of its ends.

A request is a head and a frame of audio. Each answer is a line of JSON: `EarUpdate` to `FEED`, `VoiceTranscript` to
`FINISH` and `DISCARD`. The process writes `READY` when it can take the first.
"""

from struct import Struct

REQUEST_HEAD = Struct(">BI")
"""The head of a request: its kind, and the length of its audio."""

FEED, FINISH, DISCARD = 1, 2, 3
READY = b"{}"
FRAME_MOST = 64 * 1024  # bytes of audio of a request
ANSWER_MOST = 64 * 1024  # bytes of a line
