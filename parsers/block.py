r"""What stands between a block's begin marker and its end marker: usually one call, but models vary.

    block = Block(HERMES.call, {"f": {}}, first_index=0, begin="<tool_call>")
    block.read('\n{"name": "f", "arguments": {}}\n</tool_call> Done.')
                     # [CallBegin(0, "f"), CallArguments(0, "{}"), CallEnd(0)]
    block.rest       # " Done."

Several calls may stand in one block, the end marker may be missing, and there may be no call at all: then
the block's whole text is said as `Content`.
"""

from collections.abc import Callable
from enum import Enum
from io import StringIO

from parsers.arguments.style import CallReader, Name, Progress, Reading, Step, Tools
from parsers.arguments.unmarked import UnmarkedReader
from parsers.events import CallArguments, CallBegin, CallEnd, Content, Event, Malformed, Reason
from parsers.markers import first_marker, held_tail, may_become
from parsers.syntax import CallSyntax


class _State(Enum):
    BEFORE = "before"
    """Where a call may stand, the first of the block or another."""
    CALL = "call"
    """Inside a call."""
    END = "end"
    """Where no further call stands: the end marker, if the model wrote one."""
    BROKEN = "broken"
    """In a call that cannot be read further."""
    OVER = "over"


class Block:
    """Reads one block from behind its begin marker. `rest` is what was read behind it, once it is over.

    `begin` is the marker that it began with: empty if none announced it, and then the first call has to
    prove that it is one.
    """

    def __init__(self, syntax: CallSyntax, tools: Tools, *, first_index: int, begin: str) -> None:
        self.rest = ""
        self.next_index = first_index
        """That of the next call that begins."""
        self._syntax = syntax
        self._tools = tools
        self._begin = begin
        self._state = _State.BEFORE
        self._buffer = ""
        self._events: list[Event] = []
        self._raw = _buffer_of(begin)
        """The text since the last call that ended."""
        self._ended = 0
        """How many calls of the block have ended, well or not."""
        self._owed: Malformed | None = None
        """A call that ended unreadable, whose end marker may still come and belongs to its text."""
        self._reader = self._new_reader()
        self._progress = Progress.AROUND
        self._index: int | None = None
        self._fault: Reason | None = None
        self._pass: Callable[[str], str | None] | None = None
        """How the call that is being read passes on plain text, where it is one of which pieces are said."""

    @property
    def over(self) -> bool:
        return self._state is _State.OVER

    @property
    def surplus(self) -> tuple[str, ...]:
        """What behind the block is no text, though nothing has begun that it would end."""
        return self._syntax.surplus if self._ended else ()

    def read(self, text: str) -> list[Event]:
        """Read on, until the text or the block ends."""
        self._buffer += text
        while self._buffer and self._advance():
            pass
        is_open = self._state is _State.CALL and self._index is not None and not self._fault
        self._pass = self._reader.pass_plain if is_open and not self._buffer else None
        return self._take_events()

    def pass_plain(self, text: str) -> list[Event] | None:
        """Read text that can be nothing but the next piece of a text value; None if it has to be read on."""
        if self._pass is None or self._index is None or (passed := self._pass(text)) is None:
            return None
        self._raw.write(text)
        return [CallArguments(self._index, passed)] if passed else []

    def finish(self, *, truncated: bool) -> list[Event]:
        """The output ends inside the block, by the token budget (`truncated`) or by itself."""
        self._raw.write(self._buffer)
        text = self._raw.getvalue()
        if self._state in (_State.CALL, _State.BROKEN):
            self._events.append(self._malformed(Reason.TRUNCATED if truncated else Reason.UNCLOSED))
        elif self._owed:
            self._pay(text)
        elif not self._ended:
            announced = truncated and self._begin
            self._events.append(self._malformed(Reason.TRUNCATED) if announced else Content(text))
        elif self._progress is Progress.UNDECIDED or not self._syntax.end:
            self._say_text(self._syntax.behind(text))
        return self._take_events()

    def _new_reader(self) -> CallReader:
        reader = self._syntax.style.reader(self._tools)
        if self._begin or self._ended:
            return reader
        return UnmarkedReader(reader, self._tools, opening=self._syntax.style.opening)

    def _take_events(self) -> list[Event]:
        events, self._events = self._events, []
        return events

    def _advance(self) -> bool:
        """Take a step, and say whether more can be done with the text at hand."""
        match self._state:
            case _State.CALL | _State.BEFORE:
                return self._read_call()
            case _State.BROKEN:
                return self._read_broken()
            case _:
                return self._read_end()

    def _leave(self, rest: str) -> bool:
        self.rest, self._buffer = rest, ""
        self._state = _State.OVER
        return False

    def _read_call(self) -> bool:
        reading = self._reader.read(self._buffer)
        self._progress = reading.progress
        self._consume(reading)
        if self._state is _State.BEFORE and _shows_a_call(reading.progress):
            self._state = _State.CALL
            self._settle_around()
        for step in reading.steps:
            self._say(step)
        self._fault = self._fault or reading.fault
        if reading.progress.goes_on:
            return False
        match reading.progress:
            case Progress.COMPLETE:
                return self._end_call()
            case Progress.PROSE:
                return self._find_no_call()
            case _:
                return self._break()

    def _consume(self, reading: Reading) -> None:
        if reading.consumed < 0:
            text = self._raw.getvalue()
            self._raw = _buffer_of(text[: reading.consumed])
            self._buffer = text[reading.consumed :] + self._buffer
        else:
            self._raw.write(self._buffer[: reading.consumed])
            self._buffer = self._buffer[reading.consumed :]

    def _say(self, step: Step) -> None:
        if isinstance(step, Name):
            if step.text in self._tools:
                self._index = self.next_index
                self.next_index += 1
                self._events.append(CallBegin(self._index, step.text, step.id))
            else:
                self._fault = Reason.UNKNOWN_TOOL
        elif self._index is not None:
            self._events.append(CallArguments(self._index, step.text))

    def _malformed(self, otherwise: Reason) -> Malformed:
        return Malformed(self._raw.getvalue(), self._fault or otherwise, self._index)

    def _end_call(self) -> bool:
        if self._fault is None and self._index is not None:
            self._events.append(CallEnd(self._index))
        else:
            self._owed = self._malformed(Reason.NO_NAME)
        if not self._syntax.ends_with_its_call:
            return self._await_call()
        self._pay("")
        self._ended += 1
        return self._leave(self._buffer)

    def _await_call(self) -> bool:
        """A call is over, well or not: another may follow."""
        self._raw = _buffer_of("")
        self._ended += 1
        self._reader = self._new_reader()
        self._progress = Progress.AROUND
        self._index = self._fault = None
        self._state = _State.BEFORE
        return True

    def _pay(self, tail: str) -> None:
        """Say the malformed call that is owed, with what has turned out to belong to it."""
        if self._owed:
            owed, self._owed = self._owed, None
            self._events.append(Malformed(owed.raw + tail, owed.reason, owed.index))

    def _settle_around(self) -> None:
        """Another call has begun: what stands before its own marker belongs to the one before it."""
        if self._ended:
            text = self._raw.getvalue()
            at = max(text.find(self._syntax.style.opening), 0)
            self._pay(text[:at])
            self._raw = _buffer_of(text[at:])

    def _find_no_call(self) -> bool:
        # The reader may have taken the first characters of a marker for what stands around calls.
        around = self._raw.getvalue()
        kept = len(around) - held_tail(around, self._syntax.markers)
        if not self._ended:
            kept = max(kept, 1)
            self._say_text(around[:kept])
            return self._leave(around[kept:] + self._buffer)
        self._raw, self._buffer = _buffer_of(around[:kept]), around[kept:] + self._buffer
        self._state = _State.END
        return True

    def _read_end(self) -> bool:
        end = self._syntax.end
        if may_become(self._buffer, (*self._syntax.markers, end)):
            return False
        around = self._raw.getvalue()
        if end and self._buffer.startswith(end):
            self._pay(around + end)
            return self._leave(self._buffer[len(end) :])
        if self._owed:
            self._pay(around)
        elif not self._buffer.startswith(self._syntax.markers):
            self._say_text(self._syntax.behind(around))
        return self._leave(self._buffer)

    def _say_text(self, text: str) -> None:
        if text:
            self._events.append(Content(text))

    def _break(self) -> bool:
        """Look for a marker from where the call began: a string that never ends may have hidden it.

        No call can be found in what was a string after all: the quotes it needs would stand escaped there.
        """
        text = self._raw.getvalue()
        # The markers that the call itself begins with are not what it ends at.
        kept = len(self._begin) if not self._ended else 0
        opening = text.find(self._syntax.style.opening, kept)
        kept = opening + len(self._syntax.style.opening) if opening >= 0 else kept
        landmarks = self._syntax.landmarks
        at, marker = first_marker(text[kept:], landmarks)
        kept = kept + at if marker else len(text) - held_tail(text[kept:], landmarks)
        self._raw, self._buffer = _buffer_of(text[:kept]), text[kept:] + self._buffer
        self._state = _State.BROKEN
        return True

    def _read_broken(self) -> bool:
        style, heads = self._syntax.style, self._syntax.heads(self._tools)
        markers = (*self._syntax.landmarks, *heads)
        at, marker = first_marker(self._buffer, markers)
        if at < 0:
            at = len(self._buffer) - held_tail(self._buffer, markers)
        elif marker in (self._syntax.end, style.closing):
            at += len(marker)
        self._raw.write(self._buffer[:at])
        self._buffer = self._buffer[at:]
        if not marker:
            return False
        if marker == style.closing:
            self._owed = self._malformed(Reason.BAD_JSON)
            return self._await_call()
        self._events.append(self._malformed(Reason.BAD_JSON))
        return self._await_call() if marker in heads else self._leave(self._buffer)


def _shows_a_call(progress: Progress) -> bool:
    return progress in (Progress.OPEN, Progress.COMPLETE, Progress.BROKEN)


def _buffer_of(text: str) -> StringIO:
    """A buffer that begins with the text. It takes a long call's pieces in less room than a list of them."""
    buffer = StringIO()
    buffer.write(text)
    return buffer
