r"""Reads calls of Kimi K3, and what models make of them.

    reader = XtmlReader(Xtml(), {"f": {}})
    reader.read('<|open|>call tool="f" index="1"<|sep|>')                    # Name("f")
    reader.read('<|open|>argument key="a" type="string"<|sep|>te')           # Arguments('{"a": "te')
    reader.read('xt<|close|>argument<|sep|><|close|>call<|sep|>')            # Arguments('xt"}'), COMPLETE

Text is passed on as it comes; other values when they are whole. Also read: all arguments as one object in
`json` tags, whitespace between the tags, and calls whose end is missing. Where the schema wants text, the
type that the tag says does not matter.
"""

from typing import TYPE_CHECKING

from parsers.arguments.buffered import TextEnds
from parsers.arguments.json_text import write_json
from parsers.arguments.kinds import ALL, STRING, Parameters
from parsers.arguments.style import Name, Progress, Tools
from parsers.arguments.value_reader import ValueReader
from parsers.events import Reason
from parsers.markers import may_become

if TYPE_CHECKING:
    from parsers.arguments.xtml import Xtml

LONGEST_TAG = 256
"""Characters of a tag with its attributes; what is longer is none."""


class XtmlReader(ValueReader):
    """Reads one call. See `CallReader`."""

    def __init__(self, style: "Xtml", tools: Tools) -> None:
        tags = (style.open, style.close)
        super().__init__(self._around, ends=TextEnds((style.end("argument"),)), tags=tags)
        self._call, self._end_of_call = style.begin("call"), style.end("call")
        self._argument = style.begin("argument")
        self._object, self._end_of_object = style.begin("json"), style.end("json")
        self._sep = style.sep
        self._tools = tools
        self._parameters = Parameters({})
        self._given = False

    # The call.

    def _around(self) -> bool:
        self.skip()
        if not self.buffer or may_become(self.buffer, (self._call, self._end_of_call)):
            return False
        if not self.buffer.startswith(self._call):
            return self.end(Progress.PROSE)
        self.take(len(self._call))
        self.progress = Progress.OPEN
        self.mode = self._read_call
        return True

    def _read_call(self) -> bool:
        attributes = self._read_tag("", Reason.NO_NAME)
        if attributes is None:
            return False
        name = attributes.get("tool", "")
        if not name:
            return self.end(Progress.BROKEN, Reason.NO_NAME)
        self.say(Name(name))
        self._parameters = Parameters(self._tools.get(name, {}))
        self.mode = self.between
        return True

    def _read_tag(self, opening: str, otherwise: Reason) -> dict[str, str] | None:
        """The attributes of the tag that the buffer begins with, or None if it is not whole, or no tag."""
        at = self.buffer.find(self._sep)
        if (at if at >= 0 else len(self.buffer)) > LONGEST_TAG:
            self.end(Progress.BROKEN, otherwise)
            return None
        return None if at < 0 else _attributes(self.take(at + len(self._sep))[len(opening) : at])

    def between(self) -> bool:
        """Between the arguments."""
        self.skip()
        if not self.buffer or may_become(self.buffer, (self._argument, self._object, self._end_of_call)):
            return False
        if self.buffer.startswith(self._argument):
            self.mode = self._begin_argument
            return True
        if self.buffer.startswith(self._object) and not self._given:
            self.mode = self._begin_json
            return True
        if self.buffer.startswith(self._end_of_call):
            self.take(len(self._end_of_call))
        elif not self.buffer.startswith(self.tags):
            return self.end(Progress.BROKEN, Reason.BAD_MARKUP)
        # Else the end of the call is missing: its section ends here, or another call begins.
        self.say_json("}" if self._given else "{}")
        return self.complete()

    # All arguments as one object.

    def _begin_json(self) -> bool:
        if self._read_tag(self._object, Reason.BAD_MARKUP) is None:
            return False
        self.mode = self._read_json
        return True

    def _read_json(self) -> bool:
        self.skip()
        if not self.buffer:
            return False
        if self.buffer.startswith("{"):
            return self.begin_object(self._after_json)
        return self.end(Progress.BROKEN, Reason.NOT_AN_OBJECT)

    def _after_json(self) -> bool:
        self.mode = self._after_json
        self.skip()
        if not self.buffer or may_become(self.buffer, (self._end_of_object, self._end_of_call)):
            return False
        if self.buffer.startswith(self._end_of_object):
            self.take(len(self._end_of_object))
            return True
        if self.buffer.startswith(self._end_of_call):
            self.take(len(self._end_of_call))
        return self.complete()

    # An argument.

    def _begin_argument(self) -> bool:
        attributes = self._read_tag(self._argument, Reason.BAD_MARKUP)
        if attributes is None:
            return False
        key = attributes.get("key", "")
        as_text = attributes.get("type") == "string" or self._parameters.kinds(key) == STRING
        self.allowed = STRING if as_text else ALL
        self.say_json((", " if self._given else "{") + write_json(key) + ": " + ('"' if as_text else ""))
        self._given = True
        self.mode = self.read_value
        return True


def _attributes(text: str) -> dict[str, str]:
    """The attributes in ` key="a" type="string"`, in which only quotes and ampersands are escaped."""
    found: dict[str, str] = {}
    while '="' in text:
        key, _, text = text.partition('="')
        value, _, text = text.partition('"')
        found[key.strip()] = value.replace("&quot;", '"').replace("&amp;", "&")
    return found
