"""The XGrammar formats that masks are put together from, as structural tags spell them.

sequence(text("a"), optional(text("b")))  ->  {"type": "sequence", "elements": [{"type": "const_string", …
"""

from collections.abc import Mapping, Sequence
from typing import Any

Format = Mapping[str, Any]
"""An XGrammar structural-tag format."""


def text(value: str) -> Format:
    return {"type": "const_string", "value": value}


def free_text(excluded: Sequence[str]) -> Format:
    """Any text that holds none of the `excluded` strings."""
    return {"type": "any_text", "excludes": list(excluded)}


def regex(pattern: str) -> Format:
    return {"type": "regex", "pattern": pattern}


def json_schema(schema: Mapping[str, Any]) -> Format:
    return {"type": "json_schema", "json_schema": schema}


def tag(begin: str, content: Format, end: str) -> Format:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def optional(content: Format) -> Format:
    return {"type": "optional", "content": content}


def star(content: Format) -> Format:
    return {"type": "star", "content": content}


def repeat(content: Format, *, at_least: int, at_most: int) -> Format:
    return {"type": "repeat", "min": at_least, "max": at_most, "content": content}


def sequence(*elements: Format) -> Format:
    return elements[0] if len(elements) == 1 else {"type": "sequence", "elements": list(elements)}


def either(elements: Sequence[Format]) -> Format:
    return elements[0] if len(elements) == 1 else {"type": "or", "elements": list(elements)}
