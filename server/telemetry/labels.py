"""The values of metric labels that are not the words of another part: each a closed set, known beforehand.

Held.SCHEMA.value        # "schema", as in strictcall_tool_calls_total{constraint="schema"}
"""

from enum import StrEnum

from server.schema.report import ASSERTIONS

KEYWORDS = frozenset({*ASSERTIONS, "json", "duplicate_key"})
"""What a value can break: the keywords of its schema, JSON itself, and a key of its own that it has twice."""


class Held(StrEnum):
    """What held a call in form while it was written."""

    SCHEMA = "schema"
    ENVELOPE = "envelope"
    """Only the call's form: a known name, and an object for arguments."""
    NOTHING = "none"


class AbortCause(StrEnum):
    """Why a generation was ended before the model ended it."""

    DISCONNECT = "disconnect"
    STOP_SEQUENCE = "stop_sequence"
    FAILURE = "failure"
    TIMEOUT = "timeout"
    """The request had taken all of its time."""
    STOPPING = "stopping"
    """The server stopped, and could not wait any longer."""
    RETRY = "retry"
    """What was written broke its schema, and is written again."""


class Repair(StrEnum):
    """What came of a call or an answer that broke its schema and was written again."""

    REPAIRED = "repaired"
    FAILED = "failed"
    UNFINISHED = "unfinished"
    """The budget ended it, the client left, or the engine failed."""


class Refusal(StrEnum):
    """Why a request was refused that nothing was wrong with."""

    QUEUE_FULL = "queue_full"
    STOPPING = "stopping"


class Closed(StrEnum):
    """Why a connection was closed that its client had left open."""

    MALFORMED = "malformed"
    HEAD_TOO_LARGE = "head_too_large"
    HEAD_TIMEOUT = "head_timeout"
    UNREAD = "unread"
    """Its client did not read what it was sent."""


class Restart(StrEnum):
    """What came of starting an engine anew that had died."""

    STARTED = "started"
    FAILED = "failed"


class Loss(StrEnum):
    """What became of a request whose worker was lost."""

    RESENT = "resent"
    """It had given no token, and was sent to a worker again."""
    FAILED = "failed"


def keyword_label(keyword: str) -> str:
    """Return the `keyword` label of a constraint; what is no keyword that we know is `other`."""
    return keyword if keyword in KEYWORDS else "other"
