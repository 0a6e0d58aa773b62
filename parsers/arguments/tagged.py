r"""The argument style of calls whose arguments stand in tags, one by one, in place of JSON.

    Qwen3-Coder    <function=f>\n<parameter=a>\ntext\n</parameter>\n</function>
    MiniMax M2     <invoke name="f">\n<parameter name="a">text</parameter>\n</invoke>
    DSML           <｜DSML｜invoke name="f">\n<｜DSML｜parameter name="a" string="true">text</｜DSML｜…
    GLM 4.5        f\n<arg_key>a</arg_key>\n<arg_value>text</arg_value>\n</tool_call>

Text stands as it is, without quotes and escapes, and all else is JSON. Which of both a value is comes from
the tool's schema, or from the tag where the family writes it there. The rules of the text, for mask, writer
and reader alike:

* Where the style has an `edge`, a newline, exactly one at each end of a value belongs to the markup. No
  other whitespace does.
* A value holds no `value_end`. (Should a model write one that no markup follows, it is read as text.)
"""

from dataclasses import dataclass
from typing import Any

from parsers.arguments.json_text import write_json
from parsers.arguments.kinds import Spelled
from parsers.arguments.style import Call, CallableTool, Frame, Tools
from parsers.arguments.tagged_reader import TaggedReader
from parsers.spelling import JSON, KindsBy, Members, Signs, Spelling, TextForm

ANY_KEY = "[a-zA-Z_][a-zA-Z0-9_.-]{0,63}"
"""Keys that the schema does not name, in masks."""


FREE_KEY = f"^{ANY_KEY}$"
NAMED_KEY = r"^[^\s<>\"'](|[^<>\"'\n]{0,198}[^\s<>\"'])$"
"""Keys that the schema names, if they can be read."""


@dataclass(frozen=True, slots=True)
class Tagged:
    """`opening`, the name, `name_end`; arguments, each with `gap` behind it; `closing`.

    An argument is `key_begin`, its key, `key_end`, `value_begin`, `edge`, the value, `edge`, `value_end`.
    `quote` stands around name and key. `flag` is what the tag says behind the key of text and of JSON, in
    families that do.
    """

    opening: str
    name_end: str
    closing: str
    key_begin: str
    key_end: str
    value_end: str
    value_begin: str = ""
    edge: str = ""
    gap: str = "\n"
    quote: str = ""
    flag: tuple[str, str] = ("", "")

    @property
    def surplus(self) -> tuple[str, ...]:
        return (self.closing,)

    def cue(self, _name: str) -> str:
        return ""

    def head(self, _name: str) -> str:
        return ""

    def frame(self, tool: CallableTool) -> Frame:
        return Frame(self._head(tool.name), tool.arguments, self.closing)

    def write(self, call: Call) -> str:
        written = (self._write(key, value) for key, value in call.arguments.items())
        return self._head(call.name) + "".join(written) + self.closing

    def reader(self, tools: Tools) -> TaggedReader:
        return TaggedReader(self, tools)

    @property
    def spelling(self) -> Spelling:
        """How arguments are written."""
        text_flag, json_flag = self.flag
        others = dict.fromkeys(("number", "boolean", "null", "array", "object"), json_flag)
        return Spelling(
            text=JSON.text,
            members=Members(
                begin="",
                end="",
                separator="",
                key=TextForm(self.key_begin + self.quote, self.quote),
                equals=self.key_end + self.value_begin + self.edge,
                signs=Signs(string=text_flag, **others),
                after=self._after_value,
                names=NAMED_KEY,
                free=FREE_KEY,
            ),
            items=JSON.items,
            within=Spelling(
                # The reader takes an argument in a text for one that the call still lacks.
                text=TextForm("", "", never=(self.value_end, self.key_begin)),
                members=JSON.members,
                items=JSON.items,
                within=JSON,
                kinds=KindsBy.SPELLING if self.flags_text else KindsBy.SCHEMA_OR_TEXT,
            ),
        )

    @property
    def flags_text(self) -> bool:
        """Whether the tags say what is text."""
        return self.flag != ("", "")

    @property
    def value_marker(self) -> str:
        """The last marker before a value."""
        return self.value_begin.strip() or self.key_end

    def read_key(self, header: str) -> tuple[str, Spelled]:
        """The key, and what its tag says of the value, from the text before `value_marker`."""
        text_flag, json_flag = self.flag
        header = header.strip()
        if header.startswith(("'", '"')):
            key, _, attributes = header[1:].partition(header[0])
        else:
            key, _, attributes = header.removesuffix(self.key_end).partition(" string=")
            attributes = " string=" + attributes
        if self.flags_text and text_flag.strip() in attributes:
            return key, Spelled.AS_TEXT
        as_json = self.flags_text and json_flag.strip() in attributes
        return key, Spelled.AS_JSON if as_json else Spelled.BY_SCHEMA

    def _head(self, name: str) -> str:
        return self.opening + self.quote + name + self.quote + self.name_end

    def _write(self, key: str, value: Any) -> str:
        spelled = value if isinstance(value, str) else write_json(value)
        # In JSON it could only stand in a string, and is told from the end by that.
        if isinstance(value, str) and self.value_end in value:
            raise ValueError(f"A value of '{key}' holds '{self.value_end}', by which values end.")
        before, after = self._around(key, is_text=isinstance(value, str))
        return before + spelled + after

    def _around(self, key: str, *, is_text: bool) -> tuple[str, str]:
        """What stands before and after a value."""
        return self.key_begin + self.quote + key + self._behind_key(is_text=is_text), self._after_value

    @property
    def _after_value(self) -> str:
        return self.edge + self.value_end + self.gap

    def _behind_key(self, *, is_text: bool) -> str:
        return self.quote + self.flag[0 if is_text else 1] + self.key_end + self.value_begin + self.edge
