r"""A pattern that the whole of a text matches, out of one that is found in it.

whole_pattern("a|bc")       # "^(?:a|bc)$"
whole_pattern("a)|(b")      # raises UnsupportedPattern; "^(?:a)|(b)$" would be another pattern
"""

from server.schema.automata.charsets import WORD
from server.schema.automata.pattern import parse


def whole_pattern(pattern: str) -> str:
    """Anchor a pattern at both ends. Raises `UnsupportedPattern` for one that no mask could hold."""
    parse(pattern, lambda _: WORD)  # by itself, as it could end the group; its names are looked up later
    return f"^(?:{pattern})$"
