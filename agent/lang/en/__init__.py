"""English."""

from ..language import Language
from .actions import ACTING
from .counting import COUNTING
from .dating import DATING
from .inbox import INBOX
from .page import PAGE
from .remembering import REMEMBERING
from .saying import SAYING
from .sayings import COMPLETING, COURTESIES, DECIDING, INVENTING, PROMPTING, QUOTING, REFUSALS, TOOLING
from .story_page import STORY_PAGE
from .storytelling import STORYTELLING
from .words import FILING, RECALLING, SEARCHING, STATING, TELLING, WRITING

LANGUAGE = Language(
    code="en",
    name="English",
    writing=WRITING,
    telling=TELLING,
    searching=SEARCHING,
    recalling=RECALLING,
    stating=STATING,
    counting=COUNTING,
    dating=DATING,
    filing=FILING,
    tooling=TOOLING,
    refusals=REFUSALS,
    courtesies=COURTESIES,
    quoting=QUOTING,
    prompting=PROMPTING,
    acting=ACTING,
    remembering=REMEMBERING,
    completing=COMPLETING,
    deciding=DECIDING,
    inventing=INVENTING,
    page=PAGE,
    inbox=INBOX,
    story_page=STORY_PAGE,
    storytelling=STORYTELLING,
    saying=SAYING,
)
