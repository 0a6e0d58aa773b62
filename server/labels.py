"""The values of metric labels that are not the words of another part: each a closed set, known beforehand.

Held.SCHEMA.value        # "schema", as in strictcall_tool_calls_total{constraint="schema"}
"""

from enum import StrEnum


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
