"""Handlers for feedback: give it, list it, and export it as JSON lines."""

from typing import Final

import msgspec

from ...ports.conversation import Scope
from ...ports.feedback import Rating
from ...ports.pages import Window
from ...protocol.http import FeedbackExport, FeedbackQuery, NewFeedback
from ...protocol.views import FeedbackPage, FeedbackReceipt
from ..responses import Answer
from . import views
from .answers import answer_with
from .context import ApiServices, Request
from .pages import answer_page, parse_window

LINES: Final = "text/x-ndjson"

_encoder = msgspec.json.Encoder()


async def give_feedback(services: ApiServices, request: Request) -> Answer:
    """Store a user's verdict on an answer of a thread; its texts are in no answer, so that no copy of them is kept."""
    new: NewFeedback = request.body
    rating = Rating(
        message=new.message_id,
        verdict=new.verdict,
        text=(new.text or "").strip(),
        model=services.model,
        at=services.clock.now_ms(),
    )
    stored = await services.feedback.put_message_feedback(
        rating, Scope(request.project, new.thread_id, new.user_id)
    )
    return answer_with(FeedbackReceipt(stored.number, stored.message, stored.thread, stored.verdict))


async def list_feedback(services: ApiServices, request: Request) -> Answer:
    """Answer with a page of a project's feedback."""
    query: FeedbackQuery = request.query
    window = parse_window("feedback", query)
    after = max(window.after, query.after or 0)
    page = await services.feedback.feedback(request.project, Window(window.limit, after), query.verdict)
    return answer_page("feedback", page, views.feedback, FeedbackPage)


async def export_feedback(services: ApiServices, request: Request) -> Answer:
    """Answer with the next feedback of a project as JSON lines; none where no more follows."""
    query: FeedbackExport = request.query
    window = Window(query.limit, query.after or 0)
    page = await services.feedback.feedback(request.project, window, query.verdict)
    return Answer(
        status=200, content=_encoder.encode_lines([views.feedback(each) for each in page.entries]), kind=LINES
    )
