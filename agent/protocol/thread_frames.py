"""Makes the frames about threads from stored threads, and the stored details of an answer from its frame; pure."""

import msgspec

from ..ports.feedback import Feedback
from ..ports.thread_history import ThreadMessage, ThreadSummary
from .consult_frames import AnswerDetails, FrameMessage, FrameRating, FrameThread
from .outbound import Response
from .records import from_record

# UTF-8 bytes of details that are stored: each message fits into an answer of the server.
DETAILS_MOST = 64 * 1024

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[AnswerDetails] = msgspec.json.Decoder(AnswerDetails)


def encode_details(response: Response) -> str:
    """Return what an answer is shown with beside its text, as JSON; "" where that is over `DETAILS_MOST` bytes."""
    details = _encoder.encode(from_record(AnswerDetails, response))
    return details.decode() if len(details) <= DETAILS_MOST else ""


def make_thread(summary: ThreadSummary) -> FrameThread:
    """Return a stored thread as a part of a frame."""
    return FrameThread(thread=summary.scope.thread, title=summary.title, at=summary.at, count=summary.count)


def make_message(message: ThreadMessage, rated: Feedback | None = None) -> FrameMessage:
    """Return a stored message as a part of a frame, with the details that were stored with it.

    `rated`: the feedback on an answer. Of an answer whose details cannot be read the text is withheld: a later version
    may have stored them.
    """
    unreadable, details = False, AnswerDetails()
    try:
        details = _decoder.decode(message.details) if message.details else details
    except msgspec.DecodeError:
        unreadable = True
    return FrameMessage(
        **{name: getattr(details, name) for name in AnswerDetails.__struct_fields__},
        message=message.message,
        role=message.role,
        text="" if unreadable else message.text,
        at=message.at,
        by=message.speaker,
        unsourced=message.unsourced or unreadable,
        feedback=FrameRating(rated.verdict, rated.text) if rated and message.role == "assistant" else None,
    )
