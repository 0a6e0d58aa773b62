r"""JSON text as chat templates write it, and what keeps a text from being arguments.

write_json({"é": "\ud83d"})  ->  '{"é": "\\ud83d"}'
object_fault("[1]")          ->  Reason.NOT_AN_OBJECT
"""

from json import JSONEncoder
from json.encoder import encode_basestring
from typing import Any

from parsers.arguments.json_lexer import JsonLexer
from parsers.arguments.style import Progress
from parsers.events import Reason

_encode = JSONEncoder(ensure_ascii=False, allow_nan=False).encode
"""What `json.dumps` does, without making an encoder for every piece of text."""


def write_json(value: Any) -> str:
    """JSON text with a space behind commas and colons. Raises ValueError for NaN and the infinities."""
    return escape_surrogates(_encode(value))


def quoted(text: str) -> str:
    """The text as the inside of a JSON string."""
    return escape_surrogates(encode_basestring(text))[1:-1]


def escape_surrogates(text: str) -> str:
    """Spell lone surrogates as escapes, since no UTF-8 response can carry them. `text` is JSON."""
    # Surrogates are all that UTF-8 cannot hold, and Python spells them as JSON does.
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


def is_json(text: str) -> bool:
    """Whether `text` is one JSON value and nothing else."""
    lexer = JsonLexer()
    # The space ends a bare number.
    end = lexer.read(text + " ")
    return lexer.progress is Progress.COMPLETE and end >= len(text)


def object_fault(text: str) -> Reason | None:
    """What keeps `text` from being one JSON object, if anything."""
    if not is_json(text):
        return Reason.BAD_JSON
    return None if text.startswith("{") else Reason.NOT_AN_OBJECT
