"""Given values as text.

list(spelled([True, {"a": [1]}]))    # ["true", '{"a": [1]}']
"""

from collections.abc import Iterable, Iterator
from typing import Any

from parsers.arguments.json_text import write_json


def spelled(values: Iterable[Any]) -> Iterator[str]:
    """The JSON text of each value that has one that can be read again, in order."""
    for value in values:
        try:
            yield write_json(value)
        except ValueError:
            # No double holds it.
            continue


def json_inside(text: str) -> str:
    """The text as it stands between the quotes of a JSON string."""
    return write_json(text)[1:-1]
