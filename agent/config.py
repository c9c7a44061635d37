"""Every limit and every setting, in one place.

`Settings` is what an operator may choose; the constants are bounds of the design and of the wire, named here so that
no number stands twice. Sizes are bytes, times are seconds, unless the name says otherwise.
"""

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from math import isfinite
from pathlib import Path
from typing import Literal, TypeAlias

from .errors import UsageError
from .lang import DEFAULT, LANGUAGES, Lang, either

# --- the wire
MAX_FRAME = 64 * 1024
MAX_FRAGMENTS = 1024  # pieces of one message
MAX_TEXT = 8000  # characters of a message
MAX_ID = 128  # characters of a message id
MAX_NESTING = 32
BAD_FRAMES = 3  # the third bad frame ...
BAD_FRAMES_WINDOW = 10.0  # ... in this time closes the connection
FRAMES_PER_SECOND = 200
HEAD_MAX = 16 * 1024
HEAD_TIMEOUT = 5.0
HTTP_TIMEOUT = 30.0  # for one plain HTTP request and its answer
TURNED_AWAY = 128  # connections over the cap that get CLOSE_TIMEOUT to read so; more at a time get ...
TURNED_AWAY_BRIEFLY = 0.1
ACCEPTED_AT_ONCE = 32  # connections, before other tasks have their turn
ACCEPTED_IN_A_FLOOD = 1  # while FLOOD or more are at the door, which have not said what they want
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
WRONG_TOKENS = 20  # of one address in a minute that are told so at leisure
ADDRESS_SESSIONS = 10  # the message rate of one address, in rates of a session
ADDRESSES_REMEMBERED = 4096  # whose rates are counted
IPV6_PREFIX = 64  # bits of an IPv6 address that tell two clients apart
COME_BACK = 5  # seconds over which clients are spread that are told to come back
TOKEN_MIN = 16  # characters, where other machines can try

# --- the page
NAME_MAX = 80  # characters of the name that an operator gives it ...
GREETING_MAX = 300  # ... and of the greeting

# --- the outbox
OUTBOX_DELTAS = 8  # of one turn, waiting
OUTBOX_FRAMES = 256  # control frames, waiting
OUTBOX_BYTES = 1024 * 1024
WRITE_TIMEOUT = 10.0

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
READ_AGAIN_FIRST = 0.25  # until what could not be read is tried again, twice as long each time ...
READ_AGAIN_MOST = 30.0  # ... up to this
SOURCE_CHARACTERS = 24_000  # of a file that are shown at once
GIVE_UP_TIMEOUT = 0.5  # for a reader that was given up; the server then goes without it

# --- a turn
CHARACTERS_PER_TOKEN = 3  # an estimate: English has about 4, Swedish about 3; the lower is safe
DRAFT_MAX = 32 * 1024
ANSWER_TOKENS = 800  # of a language model's draft, at most
EVIDENCE_CHARACTERS = (
    80_000  # of all that its statements show when cited: with a text they fit into an outbox
)

READ_AT_ONCE = 3_000  # characters of evidence whose numbers are read in one step: up to some 30 ms of CPU

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

# --- actions
ACTION_TIMEOUT = 10.0
PAYLOAD_BYTES = 16 * 1024  # of what an action is told, as JSON
PAYLOAD_NESTING = 16
WEBHOOK_TIMEOUT = 8.0
WEBHOOK_ANSWER_MAX = 16 * 1024
RECORD_TIMEOUT = 2.0  # claim and record, shielded
TOMBSTONE_SECONDS = 24 * 3600.0
LEDGER_ROWS = 100_000
LEDGER_WAITING = 10_000  # claims and readers that wait for the ledger's file
LEDGER_UNRECORDED = 10_000  # outcomes that wait for it; with so many nothing more is claimed
LEDGER_BATCH = 128  # claims, and outcomes, in one transaction
LEDGER_RETRY = 1.0  # between two tries of a file that does not work
LEDGER_LAST_TRY = 1.5  # for outcomes that still wait when the server ends ...
LEDGER_CLOSE_TIMEOUT = 3.0  # ... and for all of its end
MEMORY, USER_DATA = "memory", "user"  # values of `data` that name no folder: none, and the user's own

# --- the log
LOG_LINES = 4096  # waiting to be written
LOG_BYTES = 1024 * 1024
LOG_FLUSH = 1.0  # at the end, for what still waits

# --- the event loop
STEP_CPU = 0.050  # of one step of a task
LAG_WARN = 0.1  # a round of the loop that takes longer is a line in the log ...
LAG_STUCK = 2.0  # ... one that takes so long is said before it ends ...
LAG_QUIET = 5.0  # ... and then there is no further line for a while
LAG_WINDOW = 0.1  # of which the histogram has the longest round


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach `host`, a name or an IP address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _one_line(text: str, most: int) -> bool:
    return len(text) <= most and text.isprintable()


Network: TypeAlias = IPv4Network | IPv6Network


def proxies(trusted: tuple[str, ...]) -> tuple[Network, ...]:
    """Return the networks that `trust_proxy` names: addresses or CIDR networks, several with commas between.

    Raises UsageError for what is none, and for a network that holds everybody.
    """
    named = [name.strip() for value in trusted for name in value.split(",")]
    try:
        networks = tuple(ip_network(name) for name in named)
    except ValueError as error:
        raise UsageError(
            f"trust-proxy takes IP addresses and networks such as 10.0.0.5,10.1.0.0/16: {error}"
        ) from None
    if any(network.prefixlen == 0 for network in networks):
        raise UsageError("trust-proxy must not trust every address: name those of your proxies")
    return networks


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator chose: one frozen value, checked when it is made.

    Raises `agent.errors.UsageError`, one line that names the setting, when a value cannot work.

    Args:
        host: Address to bind. One that other machines reach needs a token, or insecure.
        port: TCP port; 0 takes a free one.
        kb: Folder with the knowledge base: documents in Markdown, HTML, reStructuredText or plain text, and PDF and
            DOCX with agent-server[documents].
        name: What the chat page is called, in its title and its head.
        greeting: What it says before anything was asked.
        lang: Language of a refusal when a question's own cannot be told.
        model: What drafts answers: mock, or script:FILE (a JSON array of scripted drafts).
        mock_hallucinate: Share of the mock's drafts that hold an invented number, 0 to 1.
        mock_seed: Seed of the mock; the same seed gives the same run.
        mock_delay_ms: Milliseconds before each piece of the mock's draft.
        mock_ask: The mock asks back when its best snippet scores below this, 0 to 1; 0 is never.
        pace_ms: Milliseconds between two words of a verified answer; 0 sends them at once.
        turn_timeout: Seconds that a draft may take.
        verify: whole holds an answer back until all of it is verified; sentence says each sentence once it is.
        binding: strict asks that each number stands in a row, list item or sentence of its source with a word that
            the answer's sentence names it by; off asks only that it stands there.
        own_counts: Lets a count in words stand that no source holds, when the answer itself lists as many items ("two
            ways: by card and by invoice").
        answer: What the model is asked for: text, or claims (each with the snippets that hold it).
        vectors: What finds the same said in other words: static (small, any language), minilm (English), bert:FOLDER,
            openai:MODEL, off; auto is static where it is installed.
        vectors_url: Where an OpenAI-compatible server gives the vectors of openai:MODEL, such as
            http://127.0.0.1:11434/v1. Its key, if it wants one, is AGENT_VECTORS_KEY.
        evidence_tokens: Size of the snippets a model is given, in tokens (about 3 characters); 0 is no limit.
        history_tokens: Size of what was said before that a model is given with a question, in tokens; 0 is none. It is
            never a source.
        clarify: Let the model ask back when the snippets do not say.
        redrafts: How often a draft that does not stand is made again, 0 or 1.
        keep_standing: Keep the sentences that stand of a last draft that does not, instead of a refusal.
        confidence: Say how sure an answer is; off, every answer says low.
        action_webhook: URL that a confirmed action is posted to; without it actions are only recorded.
        action_delay_ms: Milliseconds that a recorded action takes, BEFORE[,AFTER] the point of no return.
        data: Folder that remembers actions across restarts; several servers may share it. user is this user's
            folder for programs' data, memory forgets at exit.
        token: Secret that clients must bring. Better given as AGENT_TOKEN: other users see flags.
        insecure: Serve other machines without a token.
        allow_host: Further Host header that is ours, such as a proxy's name.
        allow_origin: Further Origin whose pages may connect.
        max_connections: WebSockets at a time. When all are taken, who never sent a message gives way to a newcomer;
            if there is none, the newcomer is told to come back later.
        max_per_address: WebSockets of one address (IPv6: of one /64); 0 is no limit. By default half of
            max_connections, and no limit for this machine.
        rate_limit: Messages per second and session that interrupt or queue; 0 is no limit.
        address_rate: Messages per second of one address, all its sessions together; 0 is no limit. By default ten
            times rate_limit, and no limit for this machine.
        idle_timeout: Seconds that a WebSocket may stay without a first message; 0 is no limit.
        trust_proxy: Address or network of a proxy in front, whose X-Forwarded-For says who a client is; several
            with commas between.
        log_format: Log lines for people (console) or programs (json); they go to standard error.
        log_level: Least level that is logged. debug shows what users and the model said, and why each answer is what it
            is: the query, the sections found, each draft, each number.
    """

    host: str = "127.0.0.1"
    port: int = 8787
    kb: Path = Path("kb")
    name: str = ""
    greeting: str = ""
    lang: Lang = DEFAULT
    model: str = "mock"
    mock_hallucinate: float = 0.0
    mock_seed: int = 0
    mock_delay_ms: float = 0.0
    mock_ask: float = 0.0
    pace_ms: float = 20.0
    turn_timeout: float = 30.0
    verify: Literal["whole", "sentence"] = "whole"
    binding: Literal["off", "strict"] = "off"
    own_counts: bool = False
    answer: Literal["text", "claims"] = "text"
    vectors: str = "auto"
    vectors_url: str | None = None
    evidence_tokens: int = 2000
    history_tokens: int = 500
    clarify: bool = True
    redrafts: int = 1
    keep_standing: bool = False
    confidence: bool = True
    action_webhook: str | None = None
    action_delay_ms: tuple[float, float] = (0.0, 0.0)
    data: str = MEMORY
    token: str | None = None
    insecure: bool = False
    allow_host: tuple[str, ...] = ()
    allow_origin: tuple[str, ...] = ()
    max_connections: int = 1000
    max_per_address: int | None = None
    rate_limit: float = 20.0
    address_rate: float | None = None
    idle_timeout: float = 3600.0
    trust_proxy: tuple[str, ...] = ()
    log_format: Literal["console", "json"] = "console"
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    def __post_init__(self) -> None:
        """Check what the types cannot say."""
        numbers = (
            self.mock_delay_ms,
            self.pace_ms,
            self.turn_timeout,
            self.rate_limit,
            self.address_rate or 0.0,
            self.idle_timeout,
            *self.action_delay_ms,
        )
        token = self.token
        proxies(self.trust_proxy)
        problems = (
            (not all(map(isfinite, numbers)), "a number of seconds, milliseconds or messages must be finite"),
            (
                token is not None
                and not (token.isascii() and token.isprintable() and token.strip() == token != ""),
                "token must be printable ASCII, not empty, without spaces around it",
            ),
            (
                token is not None and len(token) < TOKEN_MIN and not is_loopback(self.host),
                f"token must have at least {TOKEN_MIN} characters where other machines can try (host {self.host}): "
                'python3 -c "import secrets; print(secrets.token_urlsafe())" makes one',
            ),
            (
                not self.insecure and token is None and not is_loopback(self.host),
                f"host {self.host} is open to other machines: set a token, or --insecure to serve without one",
            ),
            (
                self.action_webhook is not None
                and not self.action_webhook.startswith(("http://", "https://")),
                "action-webhook must be a URL that begins with http:// or https://",
            ),
            (not _one_line(self.name, NAME_MAX), f"name must be one line of at most {NAME_MAX} characters"),
            (
                not _one_line(self.greeting, GREETING_MAX),
                f"greeting must be one line of at most {GREETING_MAX} characters",
            ),
            (not self.data.strip(), "data must be a folder, user or memory"),
            (not 0 <= self.port <= 65535, "port must be 0 to 65535"),
            (self.lang not in LANGUAGES, f"lang must be {either()}"),
            (not 0 <= self.mock_hallucinate <= 1, "mock-hallucinate must be 0 to 1"),
            (self.mock_delay_ms < 0, "mock-delay-ms must not be negative"),
            (not 0 <= self.mock_ask <= 1, "mock-ask must be 0 to 1"),
            (self.pace_ms < 0, "pace-ms must not be negative"),
            (self.turn_timeout <= 0, "turn-timeout must be positive"),
            (self.verify not in ("whole", "sentence"), "verify must be whole or sentence"),
            (self.binding not in ("off", "strict"), "binding must be off or strict"),
            (self.answer not in ("text", "claims"), "answer must be text or claims"),
            (
                self.answer == "claims" and self.verify == "sentence",
                "answer claims are verified whole: leave out --verify sentence",
            ),
            (self.evidence_tokens < 0, "evidence-tokens must not be negative"),
            (self.history_tokens < 0, "history-tokens must not be negative"),
            (self.redrafts not in (0, 1), "redrafts must be 0 or 1"),
            (min(self.action_delay_ms) < 0, "action-delay-ms must not be negative"),
            (self.rate_limit < 0, "rate-limit must not be negative"),
            (self.max_connections < 1, "max-connections must be at least 1"),
            ((self.max_per_address or 0) < 0, "max-per-address must not be negative"),
            ((self.address_rate or 0) < 0, "address-rate must not be negative"),
            (self.idle_timeout < 0, "idle-timeout must not be negative"),
            (self.log_format not in ("console", "json"), "log-format must be console or json"),
            (
                self.log_level not in ("debug", "info", "warning", "error"),
                "log-level must be debug, info, warning or error",
            ),
            (
                self.model != "mock" and not self.model.startswith("script:"),
                "model must be mock or script:FILE",
            ),
        )
        for wrong, message in problems:
            if wrong:
                raise UsageError(message)

    @property
    def usual_address_rate(self) -> float:
        """Messages per second of another machine's address, where `address_rate` does not say."""
        return ADDRESS_SESSIONS * self.rate_limit
