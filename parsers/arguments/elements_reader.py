r"""Reads calls whose arguments are nested elements, and says them as JSON while they are written.

    reader = ElementsReader(mark, opening, closing, {"f": {"properties": {"l": {"type": "array"}}}})
    reader.read(']<]minimax[>[<invoke name="f">]<]minimax[>[<l>')    # Name("f"), Arguments('{"l": ')
    reader.read(']<]minimax[>[<item>1]<]minimax[>[</item>')          # Arguments("[1")
    reader.read(']<]minimax[>[</l>]<]minimax[>[</invoke>')           # Arguments("]}"), COMPLETE

Text values are passed on as they come; others when they are whole. Also read: names in any quotes or none,
whitespace between tags, missing end tags inside a call that ends, and a call whose end is missing.
"""

from dataclasses import dataclass
from typing import Any

from parsers.arguments.buffered import BufferedReader, TextEnds
from parsers.arguments.json_lexer import DEEPEST
from parsers.arguments.json_text import quoted, write_json
from parsers.arguments.kinds import ALL, STRING, kinds, properties, read_value, resolved
from parsers.arguments.style import Name, Progress, Schema, Tools
from parsers.events import Reason
from parsers.markers import first_marker, held_tail, may_become

LONGEST_TAG = 256
"""Characters of a tag; what is longer is none."""

_EMPTY = (("array", "[]"), ("object", "{}"), ("null", "null"))
"""What an element without content is, where it cannot be text."""


@dataclass(slots=True)
class _Element:
    """An element that is open. `closer` ends it in JSON, once it is known to hold elements."""

    key: str
    schema: Any
    allowed: frozenset[str]
    closer: str = ""
    given: bool = False


class ElementsReader(BufferedReader):
    """Reads one call. See `CallReader`."""

    def __init__(self, mark: str, opening: str, closing: str, tools: Tools) -> None:
        super().__init__(self._around)
        self._mark = mark
        self._opening = opening
        self._closing = closing
        self._tools = tools
        self._root: Schema = {}
        self._open: list[_Element] = []
        """The elements around this place, the call first."""
        self._value: list[str] = []
        """The content being read, where it is not passed on as it comes."""
        self._text_ends = TextEnds((closing,))

    # The name.

    def _around(self) -> bool:
        self.skip()
        if not self.buffer or may_become(self.buffer, (self._opening,)):
            return False
        if not self.buffer.startswith(self._opening):
            return self.end(Progress.PROSE)
        self.take(len(self._opening))
        self.progress = Progress.OPEN
        self.mode = self._read_name
        return True

    def _read_name(self) -> bool:
        at = self.buffer.find(">")
        name = self.buffer[: max(at, 0)].strip("\"' ")
        if (at if at >= 0 else len(self.buffer)) > LONGEST_TAG or (at >= 0 and not name):
            return self.end(Progress.BROKEN, Reason.NO_NAME)
        if at < 0:
            return False
        self.take(at + 1)
        self.say(Name(name))
        self._root = self._tools.get(name, {})
        self._open.append(_Element(name, self._root, frozenset({"object"}), closer="}"))
        self.say_json("{")
        self.mode = self._between
        return True

    # Tags.

    def _between(self) -> bool:
        """Where a tag has to follow."""
        self.skip()
        if not self.buffer or may_become(self.buffer, (self._mark,)):
            return False
        if not self.buffer.startswith(self._mark):
            return self.end(Progress.BROKEN, Reason.BAD_MARKUP)
        self.mode = self._read_tag
        return True

    def _read_tag(self) -> bool:
        """The buffer begins with a mark."""
        start = len(self._mark) + 1
        at = self.buffer.find(">", start)
        if (at if at >= 0 else len(self.buffer)) > start + LONGEST_TAG:
            return self.end(Progress.BROKEN, Reason.BAD_MARKUP)
        if at < 0:
            return False
        name = self.buffer[start:at].strip()
        if self.buffer[start - 1] != "<" or not name:
            return self.end(Progress.BROKEN, Reason.BAD_MARKUP)
        if self.buffer.startswith((self._opening, self._closing)):
            return self._end_call()
        if not name.startswith("/"):
            self.take(at + 1)
            return self._begin_element(name)
        if len(self._open) == 1:
            # The end of the call is missing: its section ends here.
            return self._end_call()
        self.take(at + 1)
        return self._end_elements(name[1:])

    def _end_call(self) -> bool:
        while self._open:
            self._settle()
        if self.buffer.startswith(self._closing):
            self.take(len(self._closing))
        return self.complete()

    def _begin_element(self, key: str) -> bool:
        around = self._open[-1]
        if "".join(self._value).strip() or len(self._open) >= DEEPEST:
            return self.end(Progress.BROKEN, Reason.BAD_MARKUP)
        self._value.clear()
        if not around.closer:
            is_array = "array" in around.allowed and (key == "item" or "object" not in around.allowed)
            around.closer = "]" if is_array else "}"
            self.say_json("[" if is_array else "{")
        self.say_json(
            (", " if around.given else "") + (write_json(key) + ": " if around.closer == "}" else "")
        )
        around.given = True
        schema = _schema_inside(around, key, self._root)
        allowed = kinds(schema, self._root)
        self._open.append(_Element(key, schema, allowed))
        if allowed == STRING:
            self.say_json('"')
            self._text_ends = TextEnds((f"{self._mark}</{key}>", self._closing))
        self.mode = self._read_text if allowed == STRING else self._read_value
        return True

    def _end_elements(self, key: str) -> bool:
        """An end tag: of the innermost element, unless it names one around that."""
        named = any(element.key == key for element in self._open[1:])
        while named and self._open[-1].key != key:
            self._settle()
        self._settle()
        self.mode = self._between
        return True

    # Content.

    def _read_text(self) -> bool:
        """Text, of which only its own end tag is no part."""
        markers = self._text_ends.markers
        at, marker = first_marker(self.buffer, markers)
        if at < 0:
            at = len(self.buffer) - held_tail(self.buffer, markers)
        self.say_json(quoted(self.take(at)))
        if not marker:
            return False
        self.mode = self._read_tag
        return True

    def text_ends(self) -> TextEnds | None:
        return self._text_ends if self.mode == self._read_text else None

    def _read_value(self) -> bool:
        """Content that may be elements, or a value."""
        at, marker = first_marker(self.buffer, (self._mark,))
        if at < 0:
            at = len(self.buffer) - held_tail(self.buffer, (self._mark,))
        self._value.append(self.take(at))
        if not marker:
            return False
        self.mode = self._read_tag
        return True

    def _settle(self) -> None:
        """The innermost element is whole."""
        element = self._open.pop()
        if element.allowed == STRING:
            self.say_json('"')
        elif element.closer:
            self.say_json(element.closer)
        else:
            self.say_json(_read(element.allowed, "".join(self._value), nested=len(self._open) > 1))
            self._value.clear()


def _read(allowed: frozenset[str], content: str, *, nested: bool) -> str:
    """The JSON text of content that holds no elements."""
    if "string" not in allowed and not content.strip():
        return next((spelled for kind, spelled in _EMPTY if kind in allowed), '""')
    return read_value(content, STRING if allowed == ALL and not nested else allowed)


def _schema_inside(around: _Element, key: str, root: Schema) -> Any:
    """The schema of an element in another."""
    schema = _branch(around.schema, root, "array" if around.closer == "]" else "object")
    if around.closer == "]":
        return resolved(schema, root).get("items", {})
    return properties(schema, root).get(key, resolved(schema, root).get("additionalProperties", {}))


def _branch(schema: Any, root: Schema, kind: str) -> Any:
    """The schema, or what it allows of one kind where it is a union."""
    known = resolved(schema, root)
    for branches in (known.get("anyOf"), known.get("oneOf")):
        if isinstance(branches, list):
            return next((branch for branch in branches if kind in kinds(branch, root)), schema)
    return schema
