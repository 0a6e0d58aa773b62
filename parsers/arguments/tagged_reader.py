r"""Reads calls in the tagged style, and what models make of it.

    reader = TaggedReader(style, {"f": {"properties": {"a": {"type": "integer"}}}})
    reader.read("<function=f>\n<parameter=a>\n1\n</parameter>\n")
                                       # Name("f"), Arguments("{"), Arguments('"a": '), Arguments("1")
    reader.read("</function>")         # Arguments("}"), Progress.COMPLETE

Text values are passed on as they come; others when they are whole. Also read: names in any quotes or none,
a missing end of a value before the next key, a missing end of the call, a JSON object in place of the
arguments or of the whole call, and whitespace between all tags. A repeated key is passed on again.
"""

from typing import TYPE_CHECKING

from parsers.arguments.buffered import TextEnds
from parsers.arguments.json_call import JsonCall
from parsers.arguments.json_lexer import WHITESPACE
from parsers.arguments.json_text import write_json
from parsers.arguments.kinds import ALL, STRING, Parameters, Spelled
from parsers.arguments.style import Name, Progress, Tools
from parsers.arguments.value_reader import ValueReader
from parsers.events import Reason
from parsers.markers import TAG_STARTS, first_marker, may_become

if TYPE_CHECKING:
    from parsers.arguments.tagged import Tagged

LONGEST_TAG = 256
"""Characters of a name or key with its attributes; what is longer is none."""


class TaggedReader(ValueReader):
    """Reads one call. See `CallReader`."""

    def __init__(self, style: "Tagged", tools: Tools) -> None:
        self._next_key = "\n" + style.key_begin
        """How the next argument begins where the end of a value is missing."""
        ends = TextEnds((style.edge + style.value_end, style.value_end, self._next_key))
        super().__init__(self._around, ends=ends, tags=TAG_STARTS)
        self._style = style
        self._tools = tools
        self._json = JsonCall().reader(tools)
        self._name = ""
        self._parameters = Parameters({})
        self._given: set[str] = set()
        self._key_markers = tuple(
            filter(None, (style.value_marker, style.value_end, style.key_begin, style.closing))
        )
        """What ends a key, and what shows that its end is missing."""

    # The name.

    def _around(self) -> bool:
        self.skip()
        opening = self._style.opening
        if self.buffer.startswith(("{", "[")):
            self.mode = self._json_call
            return True
        if not self.buffer or may_become(self.buffer, (opening,)):
            return False
        if not self.buffer.startswith(opening):
            return self.end(Progress.PROSE)
        self.take(len(opening))
        self.progress = Progress.OPEN if opening else Progress.UNDECIDED
        self.mode = self._read_name
        return True

    def _json_call(self) -> bool:
        """The whole call is JSON, as in the families that write it so."""
        reading = self._json.read(self.buffer)
        self.take(reading.consumed)
        for step in reading.steps:
            self.say(step)
        self.progress, self.fault = reading.progress, reading.fault
        return False

    def _read_name(self) -> bool:
        end = self._style.name_end.strip()
        at, stop = first_marker(self.buffer, tuple(filter(None, (end, "\n", *TAG_STARTS))))
        if _is_too_long(at, self.buffer):
            return self._find_no_name()
        if at < 0 or (stop == "<" and may_become(self.buffer[at:], (end,))):
            return False
        header = self.buffer[:at].strip()
        self._name = header.removesuffix("/").strip("\"' ")
        if not self._name or any(char in WHITESPACE for char in self._name):
            return self._find_no_name()
        self.take(at + (len(end) if stop == end else 0))
        if header.endswith("/"):
            return self._end_call()
        self.mode = self.between
        if self._style.opening:
            self._begin_call()
        return True

    def _find_no_name(self) -> bool:
        if self.progress is Progress.UNDECIDED:
            return self.end(Progress.PROSE)
        return self.end(Progress.BROKEN, Reason.NO_NAME)

    def _begin_call(self) -> None:
        """There is no doubt that it is a call. Without a marker of its own, its first tag tells."""
        if self._name:
            self.progress = Progress.OPEN
            self.say(Name(self._name))
            self._parameters = Parameters(self._tools.get(self._name, {}))
            self._name = ""

    # Between the arguments.

    def between(self) -> bool:
        self.skip()
        key_begin, closing = self._style.key_begin, self._style.closing
        if not self.buffer or may_become(self.buffer, (key_begin, closing)):
            return False
        if self.buffer.startswith(key_begin):
            self._begin_call()
            self.take(len(key_begin))
            self.mode = self._read_key
            return True
        if self.buffer.startswith(closing):
            self.take(len(closing))
            return self._end_call()
        return self._read_other()

    def _read_other(self) -> bool:
        """Neither an argument nor the end of the call."""
        if self.progress is Progress.UNDECIDED:
            return self.end(Progress.PROSE)
        if self.buffer.startswith("{") and not self._given:
            return self.begin_object(self._after_object)
        if self.buffer.startswith(TAG_STARTS):
            # The end of the call is missing: its block ends here, or another call begins.
            return self._end_call()
        return self.end(Progress.BROKEN, Reason.BAD_MARKUP)

    def _after_object(self) -> bool:
        """The arguments were one JSON object: the call is complete, but for its closing marker."""
        self.mode = self._after_object
        self.skip()
        if not self.buffer or may_become(self.buffer, (self._style.closing,)):
            return False
        if self.buffer.startswith(self._style.closing):
            self.take(len(self._style.closing))
        return self.complete()

    def _end_call(self) -> bool:
        self._begin_call()
        self.say_json("}" if self._given else "{}")
        return self.complete()

    # An argument.

    def _read_key(self) -> bool:
        at, marker = first_marker(self.buffer, self._key_markers)
        if _is_too_long(at, self.buffer) or marker not in ("", self._style.value_marker):
            return self.end(Progress.BROKEN, Reason.BAD_MARKUP)
        if at < 0:
            return False
        header = self.take(at + len(self._style.value_marker))[:at]
        key, spelled = self._style.read_key(header)
        self.allowed = self._decide(key, spelled)
        self.say_json((", " if self._given else "{") + write_json(key) + ": ")
        self._given.add(key)
        if self.allowed == STRING:
            self.say_json('"')
        self.mode = self._begin_value
        return True

    def _decide(self, key: str, spelled: Spelled) -> frozenset[str]:
        """What kinds of value this one may be, by the schema and by what its tag says of it."""
        known = self._parameters.kinds(key)
        if known == STRING or spelled is Spelled.AS_TEXT:
            return STRING
        if spelled is Spelled.AS_JSON:
            return ALL
        if known == ALL and not self._style.flags_text:
            return STRING
        return known

    def _begin_value(self) -> bool:
        if self.buffer.startswith(self._style.edge):
            self.take(len(self._style.edge))
        self.mode = self.read_value
        return True

    def read_end(self, marker: str) -> bool:
        return self._read_next_key() if marker == self._next_key else super().read_end(marker)

    def _read_next_key(self) -> bool:
        """An argument in a value is text, unless it is one that the call still lacks."""
        value_marker, value_end = self._style.value_marker, self._style.value_end
        rest = self.buffer[len(self._next_key) :]
        at, marker = first_marker(rest, (value_marker, value_end))
        is_none = marker == value_end or _is_too_long(at, rest)
        if not marker and not is_none:
            return False
        key, _ = self._style.read_key("" if is_none else rest[:at])
        if self._parameters.has(key) and key not in self._given:
            self.settle()
        else:
            self.pass_value(self.take(len(self._next_key)))
        return True


def _is_too_long(at: int, text: str) -> bool:
    """Whether what ends at `at`, or does not end in `text`, can be no tag."""
    return (at if at >= 0 else len(text)) > LONGEST_TAG
