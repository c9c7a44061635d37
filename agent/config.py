"""The limits that several rooms share, named here so that no number stands twice.

Every other limit stands in the room that uses it: at the top of its module, or, when several modules of the room use
it, in the `settings.py` of the room, or in its `limits.py` if the room has no settings. Here and there, sizes are bytes
and times are seconds, unless the name or the comment says otherwise.

`check` and `finite` are for the settings of an operator, which stand in the `settings.py` of their room.
"""

from math import isfinite

from .errors import UsageError

# --- the wire
MAX_FRAME = 64 * 1024
MAX_TEXT = 8000  # characters of a message
MAX_ID = 128  # characters of a message id
MAX_NESTING = 32
BAD_FRAMES = 3  # the third bad frame ...
BAD_FRAMES_WINDOW = 10.0  # ... in this time closes the connection
FRAMES_PER_SECOND = 200
HEAD_MAX = 16 * 1024
HEAD_TIMEOUT = 5.0
# Seconds for one plain HTTP request and its answer; for a question, without the time of its draft.
HTTP_TIMEOUT = 30.0
READY_WAIT = 5.0  # of a question that comes while the documents are being read
BODY_MAX = 256 * 1024  # of a request, its chunks' framing counted
ACCEPTED_AT_ONCE = 32  # connections, before other tasks have their turn
KEEPALIVE_EVERY = 20.0
KEEPALIVE_ANSWER = 20.0
CLOSE_TIMEOUT = 2.0  # for the client's half of the closing handshake
FLUSH_TIMEOUT = 1.0  # for frames that still wait when the client has closed
ADDRESSES_REMEMBERED = 4096  # with a rate of their own
OUTBOX_DELTAS = 8  # of one turn, waiting
WRITE_TIMEOUT = 10.0  # for one frame that was begun, with or without progress

# --- the session
CONFIRM_SECONDS = 120.0  # in which a suggestion can be confirmed, unless the settings say otherwise

# --- a turn
CHARACTERS_PER_TOKEN = 3  # an estimate: English has about 4, Swedish about 3; the lower is safe
DRAFT_MAX = 32 * 1024
ANSWER_TOKENS = 800  # of a language model's draft
PROMPT_THREAD_BATCH = 10  # oldest exchanges that leave a prompt at a time, so that its front seldom changes

# --- processes that are started
PROCESS_LEAVE_TIMEOUT = 1.0  # for letting go of a process
PROCESS_TERMINATE = 0.05  # until a process that was asked to end is killed
SANDBOX_REPLY = 64 * 1024 * 1024  # of one reply of the process that reads files of others

# --- tools
DOCUMENT_DEPTH = 32  # of a JSON document, and of a schema
TOOLS_REQUEST = 64
TOOLS_OPERATOR = 256
ROUNDS_MOST = 8  # calls of one turn that wait for no approval

# --- projects and threads
ROLE_CHARACTERS = 8000  # of a project's role for its model
UPLOAD_MAX = 10 * 1024 * 1024  # of one document, as it is sent
UPLOADS_AT_ONCE = 4
RULES_BYTES = 24 * 1024  # of all rules of a project: each stands in every prompt
IDEMPOTENCY_KEY = 128  # characters
PAGE_MOST, PAGE_USUAL = 200, 50  # entries of one page of a list

# --- actions
ACTION_TIMEOUT = 10.0
PAYLOAD_BYTES = 16 * 1024  # of an action's arguments, as JSON
PAYLOAD_NESTING = 16
WISH_MESSAGES = 4  # in which one action is asked for, the last of them
WEBHOOK_TIMEOUT = 8.0
# Seconds of a disk's silence: then the request to begin a turn or decide a call fails, and it never begins.
RECORD_TIMEOUT = 2.0
STORE_TIMEOUT = 10.0  # for a shielded claim or record of a store that does not report its silence itself
# Seconds between two looks whether a turn's claimed call, which has not begun, may still begin.
BEGIN_LOOK = 0.1
BEGIN_SURE = 1.0  # seconds for which such a look, or the claim, is trusted: a cancel elsewhere waits so long

# --- the memory
MEMORY_READ = 6.0  # that a turn waits for each look into the memory, under any load
STALL_LOOK = 0.25  # between two looks at a thread that works for a database
ITEM_TEXT = 500  # characters
ITEM_QUOTE = 300  # characters of a source's quote
PROPOSALS_PER_TURN = 3
PROPOSAL_LAPSES = 30 * 24 * 3600.0  # without a decision

# --- the process and its data
DRAIN_TIMEOUT = 25.0
LOG_FLUSH = 1.0  # at the end, for the lines of the log that still wait
MEMORY, USER_DATA = "memory", "user"  # values of `data` that name no folder: none, and the user's own


def check(*problems: tuple[bool, str]) -> None:
    """Raise `agent.errors.UsageError` with the message of the first problem that holds, if any.

    Each of `problems` is a condition and its message.
    """
    for wrong, message in problems:
        if wrong:
            raise UsageError(message)


def finite(*numbers: float) -> tuple[bool, str]:
    """Return the problem that `numbers` of settings are not all finite, for `check`."""
    return not all(map(isfinite, numbers)), "a number of seconds, milliseconds or messages must be finite"
