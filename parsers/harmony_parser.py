r"""The parser of Harmony answers: messages of a header and a body, each on a channel or for a tool.

    parser = HarmonyParser(Marks(), ["f"])
    parser.feed("<|channel|>analysis<|message|>Hm.<|end|>")               # [Reasoning("Hm.")]
    parser.feed("<|start|>assistant<|channel|>commentary to=functions.f")  # []
    parser.feed(' <|constrain|>json<|message|>{"a"')                       # [CallBegin(0, "f"), CallArgume…
    parser.feed(": 1}")                                                    # [CallArguments(0, ": 1}"), …]
    parser.finish()                                                        # []

The prompt ends in `<|start|>assistant`, so the first message has no start of its own. The rules:

* `analysis` is reasoning, and so is nothing else; `final`, and `commentary` for no tool, are content.
* A message for a tool is a call, whatever its channel. If the request does not have the tool, it is
  malformed.
* A body ends at `<|end|>`, `<|call|>`, `<|return|>`, `<|start|>` or the end of the answer; that of a call
  ends with its JSON, in which all of these are text. In any other body a whole header begins a new message,
  as if the end had not been forgotten.
* An answer in a form on `final` goes on to the end, whatever it spells.
* What is no header is text: of the message that it stands in, and content where it stands in none.
* Two messages of one kind have a newline between them. Whitespace is dropped where that of other families
  is: before a call, behind it, and around a thought. All other text is exact.
"""

from collections import deque
from collections.abc import Callable, Collection, Mapping
from enum import Enum

from parsers.arguments.json_lexer import WHITESPACE
from parsers.arguments.style import Schema
from parsers.events import CallBegin, Content, Event, Malformed, Reason, Reasoning
from parsers.form import FormText
from parsers.harmony_call import HarmonyCall
from parsers.harmony_header import LONGEST_HEADER, Header, is_cut_off, may_begin_header, read_header
from parsers.harmony_marks import ANALYSIS, FINAL, Marks
from parsers.markers import first_marker, held_tail
from parsers.pieces import in_pieces
from parsers.prose import Prose


class _Place(Enum):
    """Where a header stands."""

    BETWEEN = "between"
    """Between two messages, or in front of the first one."""
    INSIDE = "inside"
    """In a body, or in text that has none."""


_BEHIND_A_CALL = WHITESPACE + "]},;`"
"""What models leave behind the arguments of a call, and is no text."""


class HarmonyParser:
    """Reads one answer: see `AnswerParser`, and `Family.parser` for what it is made with."""

    def __init__(
        self,
        marks: Marks,
        tools: Mapping[str, Schema] | Collection[str],
        *,
        opens_reasoning: bool = False,
        in_form: bool = False,
    ) -> None:
        self._marks = marks
        self._form = FormText(marks.ends) if in_form else None
        self._tools = tools
        self._input: deque[str] = deque()
        self._buffer = ""
        self._events: list[Event] = []
        self._calls = 0
        self._call: HarmonyCall | None = None
        self._header = ""
        """What has been read of the header."""
        self._place = _Place.BETWEEN
        self._content = Prose(Content)
        self._reasoning = Prose(Reasoning)
        self._prose = self._content
        """Where text goes now: that of the message, and a header that is none."""
        self._began: list[Prose] = []
        """What there has been a message of."""
        self._separator = ""
        """What stands before the next text."""
        self._mode: Callable[[], bool] = self._read_header
        if opens_reasoning:
            self._begin_text(self._reasoning)

    @property
    def in_reasoning(self) -> bool:
        return self._prose is self._reasoning

    def feed(self, text: str) -> list[Event]:
        if self._call and (passed := self._call.pass_plain(text)) is not None:
            return passed
        self._input.extend(in_pieces(text))
        while self._input:
            self._buffer += self._input.popleft()
            while self._buffer and self._mode():
                pass
        return self._take_events()

    def feed_marker(self, marker: str) -> list[Event]:
        return self.feed(marker)

    def finish(self, *, truncated: bool = False) -> list[Event]:
        if self._call:
            self._events += self._call.finish(truncated=truncated)
        elif self._mode == self._read_header:
            self._finish_header(truncated=truncated)
        else:
            self._say(self._buffer)
        for piece in self._form.finish() if self._form else ():
            self._say(piece)
        self._events += self._prose.release()
        return self._take_events()

    def _take_events(self) -> list[Event]:
        events, self._events = self._events, []
        return events

    def _take(self, length: int) -> str:
        taken, self._buffer = self._buffer[:length], self._buffer[length:]
        return taken

    def _say(self, text: str) -> None:
        if text:
            self._events += self._prose.add(self._separator + text)
            self._separator = ""

    # The header.

    def _await_message(self) -> None:
        """A message has ended: another may begin."""
        if self._prose is self._reasoning:
            self._reasoning.drop()
            self._prose = self._content
        self._separator = ""
        self._header = ""
        self._place = _Place.BETWEEN
        self._mode = self._read_header

    def _read_header(self) -> bool:
        marks = self._marks
        stops = (marks.message, *marks.ends, marks.start, marks.channel, marks.constrain)
        at, stop = first_marker(self._buffer, stops)
        self._header += self._take(at if stop else len(self._buffer) - held_tail(self._buffer, stops))
        if len(self._header) > LONGEST_HEADER or not self._goes_on():
            return self._recover()
        if not stop:
            return False
        if stop in (marks.channel, marks.constrain) or (stop == marks.start and not self._header.strip()):
            self._header += self._take(len(stop))
        elif stop == marks.message:
            self._begin_message(self._header + self._take(len(stop)), read_header(self._header, marks))
        elif read_header(self._header, marks) != Header():
            return self._recover()
        else:
            # Nothing has begun that could end here.
            self._take(0 if stop == marks.start else len(stop))
            self._await_message()
        return True

    def _goes_on(self) -> bool:
        """Whether what has been read may be the beginning of a header."""
        marks = self._marks
        at, _ = first_marker(self._header, (marks.channel, marks.constrain))
        before = self._header if at < 0 else self._header[:at] + " "
        return may_begin_header(before.lstrip(WHITESPACE).removeprefix(marks.start))

    def _recover(self) -> bool:
        """What was read is no header, and so it is text."""
        header, self._header = self._header, ""
        self._say(header)
        self._mode = self._read_body
        return True

    def _begin_message(self, text: str, header: Header) -> None:
        if not (header.channel or header.recipient) and header.strange:
            self._header = text
            self._recover()
            return
        self._header = ""
        if header.strange:
            self._prose = self._content
            self._say(" ".join(header.strange))
            self._began.append(self._content)
        if header.recipient:
            self._begin_call(text, header.tool)
            return
        self._begin_text(self._reasoning if header.channel == ANALYSIS else self._content)
        if self._form and header.channel == FINAL:
            self._mode = self._read_form

    def _begin_text(self, prose: Prose) -> None:
        if prose is not self._prose:
            self._prose.drop()
        self._prose = prose
        self._separator = "\n" if prose in self._began else ""
        if prose is self._reasoning and not self._separator:
            prose.follow_marker()
        self._began.append(prose)
        self._mode = self._read_body

    def _read_form(self) -> bool:
        """In an answer in a form, which goes on to the end, whatever it spells."""
        for piece in self._form.read(self._take(len(self._buffer))) if self._form else ():
            self._say(piece)
        return False

    def _finish_header(self, *, truncated: bool) -> None:
        """The answer ends in a header. Of a whole one, or the beginning of one, nothing has to be said."""
        text = self._header + self._buffer
        header = read_header(text, self._marks)
        if header.recipient and self._place is _Place.BETWEEN:
            self._events += self._content.release()
            self._events.append(Malformed(text, Reason.TRUNCATED if truncated else Reason.UNCLOSED))
        elif header.recipient or not is_cut_off(header):
            self._say(text)

    # The body.

    def _read_body(self) -> bool:
        marks = self._marks
        stops = (*marks.ends, marks.start, marks.channel)
        at, stop = first_marker(self._buffer, stops)
        self._say(self._take(at if stop else len(self._buffer) - held_tail(self._buffer, stops)))
        if stop in marks.ends:
            self._take(len(stop))
            self._await_message()
        elif stop == marks.start:
            self._await_message()
        elif stop:
            self._header = self._take(len(stop))
            self._place = _Place.INSIDE
            self._mode = self._read_header
        return bool(stop)

    def _begin_call(self, header: str, name: str) -> None:
        self._prose.drop()
        self._prose = self._content
        known = name in self._tools
        index = self._calls if known else None
        if known:
            self._events.append(CallBegin(self._calls, name))
            self._calls += 1
        fault = None if known else Reason.UNKNOWN_TOOL
        self._call = HarmonyCall(self._marks, header=header, index=index, fault=fault)
        self._mode = self._read_call

    def _read_call(self) -> bool:
        call = self._call
        if call is None:
            self._buffer = self._buffer.lstrip(_BEHIND_A_CALL)
            self._mode = self._read_body if self._buffer else self._mode
            return bool(self._buffer)
        self._events += call.read(self._take(len(self._buffer)))
        if call.over:
            self._input.extendleft(reversed(in_pieces(call.rest)))
            self._call = None
            self._content.follow_call()
        return False
