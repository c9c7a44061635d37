"""Every limit in one place: the bounds of the design and of the wire, named here so that no number stands twice.

The settings of an operator stand in the `settings.py` of their room. Sizes are bytes, times are seconds, unless the
name says otherwise.
"""

from math import isfinite

from .errors import UsageError

# --- the wire
MAX_FRAME = 64 * 1024
MAX_FRAGMENTS = 1024  # pieces of one message
MAX_TEXT = 8000  # characters of a message
FILLED_CHARACTERS = 2000  # of one field that a confirm fills in
MAX_ID = 128  # characters of a message id
MAX_NESTING = 32
BAD_FRAMES = 3  # the third bad frame ...
BAD_FRAMES_WINDOW = 10.0  # ... in this time closes the connection
FRAMES_PER_SECOND = 200
HEAD_MAX = 16 * 1024
HEAD_TIMEOUT = 5.0
IDLE_TIMEOUT = 5.0  # for the next request of a connection to begin
REQUESTS_MOST = 100  # of one connection
HTTP_TIMEOUT = (
    30.0  # for one plain HTTP request and its answer; for a question, without the time of its draft
)
BODY_MAX = 256 * 1024  # of a request, its chunks' framing counted
BODY_CHUNKS = 4096  # that it may come in
BODY_TIMEOUT = 10.0
TURNED_AWAY = (
    128  # connections over the cap that get CLOSE_TIMEOUT to read their refusal; more at a time get ...
)
TURNED_AWAY_BRIEFLY = 0.1
ACCEPTED_AT_ONCE = 32  # connections, before other tasks have their turn
ACCEPTED_IN_A_FLOOD = 1  # while FLOOD or more connections have not sent a request yet
FLOOD = 4 * ACCEPTED_AT_ONCE  # a head that comes with its connection is read two rounds later
KEEPALIVE_EVERY = 20.0
KEEPALIVE_ANSWER = 20.0
CLOSE_TIMEOUT = 2.0  # for the client's half of the closing handshake
FLUSH_TIMEOUT = 1.0  # for what still waits when the client has closed

# --- the crowd
VISITORS = 512  # connections without a place: heads being read, plain requests, refusals
FIRST_WORDS = 0.25  # seconds in which a new WebSocket need not give way: its first message may be on its way
RELIEF = 16  # of those that may give way, when no file descriptor is left
VISITORS_PER_ADDRESS = 256  # several rounds of ACCEPTED_AT_ONCE, so that a crowd of honest clients passes
WRONG_TOKENS = 20  # of one address in a minute that are answered at leisure
ADDRESS_SESSIONS = 10  # the message rate of one address, in rates of a session
ADDRESSES_REMEMBERED = 4096  # with a rate of their own
IPV6_PREFIX = 64  # bits of an IPv6 address that tell two clients apart
COME_BACK = 5  # seconds over which the returns of refused clients are spread
TOKEN_MIN = 16  # characters, where other machines can try
USERS_MOST = 1000  # with tokens of their own: a token is compared with all, in 0.3 ms
USERS_FILE_BYTES = 256 * 1024
USER_NAME = 128  # characters

# --- the page
NAME_MAX = 80  # characters of the name that an operator gives it ...
GREETING_MAX = 300  # ... and of the greeting

# --- the outbox
OUTBOX_DELTAS = 8  # of one turn, waiting
OUTBOX_FRAMES = 256  # control frames, waiting
OUTBOX_BYTES = 1024 * 1024
JOINED_BYTES = (
    64 * 1024
)  # of waiting frames that one write offers to the socket; a single frame may be larger
WRITE_TIMEOUT = 10.0  # for one frame that was begun, with or without progress

# --- the pace of deltas
PULSE_TICK = 0.005  # seconds between two moments at which deltas may go out
DELTAS_A_PASS = 8  # of one turn without a pace, before the turns of others
VOICES_A_PASS = 256  # turns, before other tasks have theirs: up to 15 ms without a pace

# --- the process
SWITCH_INTERVAL = 0.001  # for which a thread that computes keeps the interpreter when another wants it

# --- workers
WORKERS_MAX = 64
WORKER_MESSAGE = 1024 * 1024  # of one message between supervisor and worker; figures take some 20 KiB
WORKER_WAITING = 4 * WORKER_MESSAGE  # of unread messages after which a process is taken to hang
WORKER_START = 60.0  # until a worker accepts connections
WORKER_ANSWER = 1.0  # for the others' figures, when one worker is asked for those of all
WORKER_PAUSE_FIRST = 0.1  # before a dead one is started again, twice as long each time ...
WORKER_PAUSE_MOST = 5.0  # ... up to this
WORKER_SETTLED = 10.0  # a worker that has lived so long did not die at once
WORKER_DEATHS = 6  # at once, in a row, after which the server ends
WORKER_FULL = 0.01  # until the next try, when no worker takes a connection
WORKER_END = 10.0  # for a worker that was told to end at once, before it is killed
WORKER_PROBE = 1.0  # between two questions to a worker whether it is alive
WORKER_SILENT = 5  # unanswered ones after which a worker gets no connection, and is killed in a drain ...
WORKER_LOST = 30  # ... and those after which it is killed at any time

# --- the session
LIVE_SUGGESTIONS = 8
QUEUED_MESSAGES = 8
CONFIRM_SECONDS = 30.0
SUGGESTIONS_REMEMBERED = 1024  # closed suggestions a session can still answer for
UNWIND_TIMEOUT = 2.0  # a Brain's clean-up after a cancel
DRAIN_TIMEOUT = 25.0

# --- reading the knowledge base
FILE_BYTES = 4 * 1024 * 1024  # of one file; one that is over this or ...
FILE_LINES = 100_000  # ... this, or takes more CPU than ...
FILE_SECONDS = 20.0  # ... this to be cut into snippets, is left out and named
SNIPPET_LINES = 3  # of one snippet
SNIPPET_CHARACTERS = 3000  # of one snippet; a longer line is cited in parts
PASSAGE_SNIPPETS = 200  # a part of a file under one heading that has more is several passages
CONTEXT_CHARACTERS = 400  # of the line that leads into a list
READ_AGAIN_FIRST = 0.25  # until an unreadable file is tried again, twice as long each time ...
READ_AGAIN_MOST = 30.0  # ... up to this
SOURCE_CHARACTERS = 24_000  # of a file that are shown at once
HITS_KEPT = 256  # questions of one snapshot whose hits are kept, each of at most ...
HITS_KEPT_CHARACTERS = 16_000  # ... so many, of the question and of all its statements
GIVE_UP_TIMEOUT = 0.5  # for a reader that was given up; the server then goes without it

# --- a turn
CHARACTERS_PER_TOKEN = 3  # an estimate: English has about 4, Swedish about 3; the lower is safe
DRAFT_MAX = 32 * 1024
ASKED_CHARACTERS = (
    2000  # of a model's question, or its words beside a call; a longer one is replaced by a fixed one
)
DECISION_MAX = 64 * 1024  # characters of a model's decision, with its arguments and its JSON
ANSWER_TOKENS = 800  # of a language model's draft
EVIDENCE_CHARACTERS = (
    80_000  # of all citations of its statements: together with a text they fit into an outbox
)

# Of a prompt's parts, in characters; an excess is left out where possible, otherwise the prompt is refused.
PROMPT_TOOLS = (
    1024 * 1024
)  # as they are listed: the bounds of their definitions, and what writing them out adds
PROMPT_EVIDENCE = 256 * 1024  # of the best statements
PROMPT_THREAD = 96 * 1024  # of earlier exchanges; the oldest go ...
PROMPT_THREAD_BATCH = 10  # ... so many at a time, so that the front of the prompt seldom changes
PROMPT_MESSAGE = 64 * 1024  # of the user's words: a few messages where a wish spans several
PROMPT_REPAIR = 16 * 1024  # of the reasons for a second try
HISTORY_LEFT = 4  # exchanges that must be left for that; otherwise ...
HISTORY_FREED = 0.25  # ... this share of a conversation's bound is freed of its oldest exchanges

READ_AT_ONCE = 3_000  # characters of evidence whose numbers are read in one step: up to some 30 ms of CPU

# --- other servers that are asked
HTTP_LEAVE_TIMEOUT = 1.0  # for letting go of an answer, and of its connection

# --- processes that are started
PROCESS_LEAVE_TIMEOUT = 1.0  # for letting go of one
PROCESS_TERMINATE = 0.05  # until a process that was asked to end is killed

# --- the process that reads files of others
SANDBOX_MEMORY = 512 * 1024 * 1024  # of its address space: itself takes some 75 MiB
SANDBOX_SPENT = 256 * 1024 * 1024  # of it still in use after a reply; with more the process ends
SANDBOX_CPU = 22  # whole seconds for one request; readers that watch their own time stop at FILE_SECONDS
SANDBOX_FILES = 16  # that it has open: a module that a file's marks ask for, beside its pipes
SANDBOX_REPLY = 64 * 1024 * 1024  # of one reply
SANDBOX_START = 30.0  # until it answers; usually half a second
FOREIGN_BYTES = 1024 * 1024  # of a file of the folder; a larger one is read there, of any kind
FOREIGN_TEXT = 64 * 1024  # of a project's text, likewise: each was read there once when it came
FOREIGN_SECONDS = 40.0  # for one file to be read there; a machine that is busy gives it half of a processor
FOREIGN_KILLERS = 1024  # files that ended that process, and are not tried again

# --- models
MODEL_EVENT_MAX = 1024 * 1024  # of one event, or line, of an answer: a whole answer may come as one
MODEL_ANSWER_MAX = 8 * 1024 * 1024  # of an answer as it is sent; a token takes some 300
MODEL_CALLS = 128  # calls of tools in one answer
MODEL_PROCESSES = 16  # of the claude command at once; more wait, within the time of their first piece
MODEL_RETRIES = 2  # after the first try
MODEL_RETRY_PAUSE = 0.5  # before the first of them, about; twice as long before the next
MODEL_RETRY_AFTER_MAX = 30.0  # that a service may ask for; a longer one fails the request
MODEL_FAILURES = 5  # in a row, after which a model is left alone ...
MODEL_REST = 30.0  # ... until one request may try it again

# --- vectors
EMBED_AT_ONCE = (
    32  # sections that a model of sentences embeds in one look at the knowledge base: about a second
)
EMBED_BREAK = 0.05  # seconds between two such looks
EMBED_TEXT_MAX = 8_000  # characters of one text that are embedded
EMBED_WORDS_KEPT = 100_000  # words whose tokens are remembered, some 200 bytes each
SERVED_BATCH = 32  # texts in one request to a served model
SERVED_TIMEOUT = 30.0  # for one such request and its answer
SERVED_ANSWER_MAX = 16 * 1024 * 1024  # 32 rows of 4,096 numbers, written out, are 3 MiB

# --- validated calls
SCHEMA_BYTES = 64 * 1024  # of one tool's JSON Schema, written as JSON
SCHEMAS_KEPT = 128  # compiled, by their digest
DOCUMENT_DEPTH = 32  # of a document, and of a schema
DOCUMENT_VALUES = 20_000  # in one document that operations build: `copy` may double it each time
PATCH_OPERATIONS = 256  # in one patch
ANSWER_CHARACTERS = 256 * 1024  # of one answer of a model, its text and its calls together ...
ANSWER_CALLS = 64  # ... and how many calls are in it
REPAIR_CHARACTERS = 64 * 1024  # of a text that is read as almost JSON ...
REPAIR_TIMEOUT = 2.0  # ... in a worker thread, which usually takes milliseconds
PROBLEMS_MAX = 64  # of one document, in the order in which they are found ...
PROBLEMS_TOLD = 16  # ... and how many of them a model gets at once
FOUND_CHARACTERS = 80  # of a wrong value that a problem quotes
PARTIAL_BYTES = 16  # new ones, or ...
PARTIAL_SECONDS = 0.02  # ... this time, before a growing document is read again
PATTERN_BYTES = (
    64 * 1024
)  # of a schema's pattern, compiled; 16 KiB are matched with it in 3 ms, with 1 MiB in 400

# --- tools
TOOL_NAME = 128  # characters
TOOL_DESCRIPTION = 2000  # characters
TOOL_SCHEMA_BYTES = 16 * 1024  # of one tool's parameters, written as JSON ...
TOOL_SCHEMA_DEPTH = 16
TOOL_SCHEMA_PARTS = 2000  # ... and the schemas in it, where each $ref counts as all that it leads to ...
TOOL_SCHEMA_PATTERNS = 32  # ... and the patterns, counted so too: as many are matched in 0.1 s at the most
TOOLS_REQUEST = 64
TOOLS_OPERATOR = 256
TOOLS_BYTES = 128 * 1024  # of all tools of a request, or of the operator, written as JSON
TOOLS_FILE_BYTES = 1024 * 1024  # of the operator's file, blanks and all
ROUNDS_MOST = 8  # calls of one turn that wait for no approval
TOOLS_PATTERNS = 64  # of all tools of a request: each takes some 40 us to compile, on the event loop
TOOLS_KEPT_BYTES = 2 * 1024 * 1024  # of the cache of read tools, written as JSON
ARGUMENT_FOUND = 40  # characters of a wrong argument that are told
# Values in arguments, times those in their schema, each $ref counted as all that it leads to: more than so many are
# refused unchecked (60 ns each at the worst), and of more than so many that do not fit it is not told what is wrong
# (7 us each: the library makes every error of every branch, and cannot be stopped).
ARGUMENT_WORK = 500_000
ARGUMENT_WORK_TOLD = 5_000
ARGUMENT_NEEDS = 512  # of one call, numbers, identifiers and words, that are each looked for in its sources
SOURCES_BYTES = (
    32 * 1024
)  # of the pointers to its arguments, which its user is shown with where each comes from

# --- projects and threads
PROJECTS_MOST = 10_000
NAME_CHARACTERS = 200  # of the name of a project or a key
ROLE_CHARACTERS = 8000  # of a project's role for its model
DESCRIPTION_CHARACTERS = 2000  # of a caller's reason for a failed call
FILENAME_CHARACTERS = 200
DOCUMENTS_MOST = 1000  # of one project ...
DOCUMENTS_BYTES = 100 * 1024 * 1024  # ... and of all their texts, as UTF-8
UPLOAD_MAX = 10 * 1024 * 1024  # of one document, as it is sent ...
UPLOAD_TEXT = 2 * 1024 * 1024  # ... and of its text, as UTF-8
UPLOADS_AT_ONCE = 4
UPLOAD_TIMEOUT = 30.0  # for one to come
READING_TIMEOUT = (
    25.0  # for a thread, and for what it then reads: less than the HTTP_TIMEOUT that answers for all
)
UPLOAD_FIELDS = 8  # beside the file, each of at most ...
UPLOAD_FIELD = 1024  # ... so much, name and headers too
RULES_BYTES = 24 * 1024  # of all rules of a project: each stands in every prompt
MESSAGES_MOST = 10_000  # of one thread
THREADS_AWAKE = 1000
THREAD_CALM = 60.0  # after which one goes to sleep
THREAD_WAKES_WITH = 64  # exchanges, of which the newest that fit are kept
APPROVAL_SECONDS = 24 * 3600.0  # in which a thread's call can be approved, and be taken by its caller
LEASE_SECONDS = 600.0  # in which the caller reports what it has begun
APPROVE_WAIT = 14.0  # that the approver waits for the call that the server then runs
SWEEP_EVERY = 1.0  # seconds between two looks for due work
RESULT_BYTES = 64 * 1024  # of a caller's report, as JSON
INDEXES_KEPT = 64  # indexes of projects that are kept in memory, the last used
IDEMPOTENCY_SECONDS = 24 * 3600.0
IDEMPOTENCY_KEY = 128  # characters
PAGE_MOST, PAGE_USUAL = 200, 50  # entries of one page of a list
PAGE_BYTES = 1024 * 1024  # of one page, told as JSON, unless its only entry has more
EVENTS_WAITING = 64  # events that a reader of a stream may be behind ...
EVENTS_MOST = 4 * EVENTS_WAITING  # ... before its stream ends, for events of any kind
EVENTS_STILL_HERE = 15.0  # of silence, after which a comment says so
KEYS_REMEMBERED = 1000  # of projects that have worked: they are looked up also while other keys are guessed
API_REQUESTS = 100.0  # of one key, or of one address without one, in a minute

# --- MCP servers
MCP_SERVERS = 16  # that an operator's file may name
MCP_NAME = 63  # characters of a server's name
MCP_START = 30.0  # for one to start and to list its tools; its command may have to fetch it first
MCP_START_WAIT = 3.0  # that the start of this server waits for them; those that are slower join later
MCP_PAUSE_FIRST = 1.0  # before one that ended is started again, twice as long each time ...
MCP_PAUSE_MOST = 60.0  # ... up to this
MCP_SETTLED = 60.0  # one that has lived so long did not end at once
MCP_PING_EVERY = 30.0  # until one is asked again whether it answers; at once, where a call got no answer ...
MCP_PING_ANSWER = 5.0  # ... and one that does not answer in this time is ended
MCP_LEAVE = 0.5  # for one to end by itself, when its input has
MCP_LINE_MAX = 1024 * 1024  # bytes of one message: all tools, of TOOLS_BYTES, with their descriptions
MCP_PAGES = 16  # of one list of tools
MCP_ANSWER_MAX = 16 * 1024  # bytes of a result, as JSON
MCP_ERROR_CHARACTERS = 1000  # of a tool's own error text
MCP_NOISE = 1000  # unrequested lines, at once; after them ...
MCP_NOISE_RATE = 500.0  # ... so many a second are read
MCP_NOISE_PAUSE = 0.05  # until the rate is looked at again
MCP_OWED = 16  # questions of a server that wait for our answer; further ones get none
MCP_NOTICE = 1.0  # for sending a server the cancel of a request

# --- actions
ACTION_TIMEOUT = 10.0
PAYLOAD_BYTES = 16 * 1024  # of an action's arguments, as JSON
PAYLOAD_NESTING = 16
PAYLOAD_TOKENS = 400  # of a payload that a language model writes
PAYLOAD_WAIT = 5.0  # for a language model that still fills one in when the answer stands
WISH_MESSAGES = 4  # in which one action is asked for, the last of them
WEBHOOK_TIMEOUT = 8.0
WEBHOOK_ANSWER_MAX = 16 * 1024
RECORD_TIMEOUT = (
    2.0  # of a disk's silence: then the request to begin a turn or decide a call fails, and it never begins
)
STORE_TIMEOUT = 10.0  # for a shielded claim or record of a store that does not report its silence itself
BEGIN_LOOK = (
    0.1  # seconds between two looks whether a turn's claimed call, which has not begun, may still begin
)
BEGIN_SURE = 1.0  # seconds for which such a look, or the claim, is trusted: a cancel elsewhere waits so long
TOMBSTONE_SECONDS = 24 * 3600.0
LEDGER_ROWS = 100_000
LEDGER_WAITING = 10_000  # claims and readers that wait for the ledger's file
LEDGER_UNRECORDED = 10_000  # outcomes that wait for it; with so many nothing more is claimed
LEDGER_BATCH = 128  # claims, and outcomes, in one transaction
LEDGER_READS = 16  # in one visit to its thread: claims meanwhile wait for them
LEDGER_RETRY = 1.0  # between two tries of a file that does not work
LEDGER_LAST_TRY = 1.5  # for outcomes that still wait when the server ends ...
LEDGER_CLOSE_TIMEOUT = 3.0  # ... and for all of its end
RETENTION_EVERY = 600.0  # seconds between two looks for rows that have reached their retention
RETENTION_ROWS = 200  # deleted in one transaction, so that other writes wait some milliseconds ...
RETENTION_PAUSE = 0.1  # ... and seconds until the next one
RETENTION_DAYS = 36_500  # that may be set at most
MEMORY, USER_DATA = "memory", "user"  # values of `data` that name no folder: none, and the user's own

# --- the memory
MEMORY_WAITING = 4096  # exchanges that wait to be kept; one more is a gap
MEMORY_BATCH = 64  # of them that are kept in one transaction
MEMORY_TRIES = 3  # of a batch, with a pause between them of ...
MEMORY_RETRY = 1.0
MEMORY_WRITE = 15.0  # that the store may take for anything
MEMORY_ANSWER = 5.0  # that the answer to a plain request waits for its message's proposals
MEMORY_ASKED = 2  # items that one message asks its user about; the others are listed
MEMORY_READ = 6.0  # that a turn waits for each look into the memory, under any load ...
MEMORY_CAUGHT_UP = (
    8.0  # ... and besides for its user's earlier exchanges to be kept; it then says that some are missing
)
MEMORY_LEFT_OUT = 600.0  # in which turns say that earlier exchanges of their user could not be kept
STALL_LOOK = 0.25  # between two looks at a thread that works for a database, which ...
STALL_LOOKS = 4  # ... so many find at the same work when its disk stalls: then callers stop waiting for it
PICTURE_READ = 256  # newest live items of their types, of which a turn's prompt gets some
RECALLED = 12  # excerpts that a turn is given, of ...
RECALLED_TOKENS = 1_000  # ... together, estimated
RECALLED_SHOWN = 4  # messages of the shown conversation that may be cited besides
NOTES_AT_ONCE = 4  # messages that a model reads for items to remember, of as many threads
NOTE_TIMEOUT = 20.0  # for one of them
NOTE_TRIES = 3
NOTE_TAKEN = 60.0  # after which another process may read it: the first is gone, or has ended
NOTE_AGAIN = 5.0  # after one that failed, and twice as long each time after that, up to ...
NOTE_AGAIN_MOST = 300.0
NOTE_LOOK = 30.0  # between two looks for messages that other processes left unread
NOTE_OFFERS = 1024  # messages of which the found items may still be offered to their users
NOTE_KNOWN = 30  # items that a model is shown lest it proposes them again, of those that are live, and of proposed ones
NOTE_TOKENS = 600  # of a model's output for one message
EXPIRE_EVERY = 60.0  # between two looks for items past their end
CONSULTS_WAITING = 8  # of one client's questions to the memory, behind the one that is being answered
CONSULT_TIMEOUT = 10.0  # for one of them
RECALLS_PER_SECOND = 10.0  # of one client, and so many at once
RECALL_TEXT = 500  # characters of a query
RECALL_MOST, RECALL_USUAL = 50, 10  # excerpts
ITEMS_LISTED = 20  # in one frame, which takes 100 KiB at the worst: those that may wait fit into an outbox
SOURCES_LISTED = 8  # of one item, the first of them
ITEM_TEXT = 500  # characters
ITEM_REPLACES = 16  # items that one is said to replace
ITEM_QUOTE = 300  # characters of a source's quote
ITEM_REF = 300  # characters of a source's reference: a message's id, a file's path
ITEM_KEY = 8  # stems
ITEM_SOURCES = 20  # of an item that are returned; it may have more
ITEM_HISTORY = 1000  # newest changes that are returned of an item and of the items that it replaced
ITEM_LATEST = (
    253_402_300_799_999  # Unix milliseconds: the end of the year 9999, the last that a date can be of
)
PROPOSALS_PER_TURN = 3
EVENT_LASTS = 7 * 24 * 3600.0
IDEA_LASTS = 30 * 24 * 3600.0
LESSON_LASTS = 90 * 24 * 3600.0
PICTURE_LOOPS = 10  # items of each kind in a prompt at most, and their tokens, 800 in all
PICTURE_EVENTS = 5
PICTURE_IDEAS = 5
PICTURE_STANDING = 20  # rules, preferences and lessons
PICTURE_LOOPS_TOKENS = 220
PICTURE_EVENTS_TOKENS = 110
PICTURE_IDEAS_TOKENS = 110
PICTURE_STANDING_TOKENS = 360
PROPOSAL_LAPSES = 30 * 24 * 3600.0  # without a decision
EXPIRED_AT_ONCE = 100  # items in one transaction

# --- the log
LOG_LINES = 4096  # waiting to be written
LOG_BYTES = 1024 * 1024
LOG_FLUSH = 1.0  # at the end, for the lines that still wait

# --- the event loop
LAG_WARN = 0.1  # a round of the loop that takes longer is a line in the log ...
LAG_STUCK = 2.0  # ... one that takes so long is logged before it ends ...
LAG_QUIET = 5.0  # ... and then there is no further line for a while
LAG_WINDOW = 0.1  # of each the histogram gets the longest round


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
