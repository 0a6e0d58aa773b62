r"""The characters of Unicode properties, asked of the check behind the mask, so that both mean the same.

UnicodeProperties()("Lu")     # ((65, 90), (192, 214), …), the characters that `^\p{Lu}$` matches
"""

import jsonschema_rs

from server.schema.automata.automaton import ANY_CHARACTER, Charset
from server.schema.automata.charsets import union
from server.schema.recent import Recent

_BLOCK = 4_096


class UnicodeProperties:
    """Safe for threads; remembers the last `size` properties."""

    def __init__(self, *, size: int = 32) -> None:
        self._charsets = Recent[str, Charset | None](size=size)

    def __call__(self, name: str) -> Charset | None:
        """The characters of a general category, a script or a property; None if the check knows none such."""
        if not name or not name.replace("_", "").replace("=", "").isalnum():
            return None
        return self._charsets.get(name, lambda: _ask(name))


def _ask(name: str) -> Charset | None:
    try:
        inside, outside = (
            jsonschema_rs.validator_for({"pattern": rf"^\{letter}{{{name}}}*$"}) for letter in "pP"
        )
    except (jsonschema_rs.ValidationError, ValueError):
        return None
    spans = []
    pending = [
        (start, min(start + _BLOCK - 1, last))
        for first, last in ANY_CHARACTER
        for start in range(first, last + 1, _BLOCK)
    ]
    while pending:
        first, last = pending.pop()
        text = "".join(map(chr, range(first, last + 1)))
        if inside.is_valid(text):
            spans.append((first, last))
        elif not outside.is_valid(text):
            middle = (first + last) // 2
            pending += [(first, middle), (middle + 1, last)]
    return union(tuple(spans))
