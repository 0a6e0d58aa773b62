r"""What stands between a call's begin marker and its end marker: usually one call, but models vary.

    block = Block(HERMES.call, frozenset({"f"}), first_index=0)
    block.read('\n{"name": "f", "arguments": {}}\n</tool_call> Done.')
                     # [CallBegin(0, "f"), CallArguments(0, "{}"), CallEnd(0)]
    block.rest       # " Done."

Several calls may stand in one block, the end marker may be missing, and there may be no call at all: then
the block's whole text is said as `Content`.
"""

from enum import Enum

from parsers.arguments.style import Name, Progress, Step
from parsers.events import CallArguments, CallBegin, CallEnd, Content, Event, Malformed, Reason
from parsers.family import CallSyntax
from parsers.markers import first_marker, held_tail, may_become


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
    """Reads one block from behind its begin marker. `rest` is what was read behind it, once it is over."""

    def __init__(self, syntax: CallSyntax, tools: frozenset[str], *, first_index: int) -> None:
        self.rest = ""
        self._syntax = syntax
        self._tools = tools
        self._next_index = first_index
        self._state = _State.BEFORE
        self._buffer = ""
        self._events: list[Event] = []
        self._raw = [syntax.begin]
        """The text since the last call that ended, in pieces."""
        self._ended = 0
        """How many calls of the block have ended, well or not."""
        self._owed: Malformed | None = None
        """A call that ended unreadable, whose end marker may still come and belongs to its text."""
        self._reader = syntax.style.reader()
        self._index: int | None = None
        self._fault: Reason | None = None

    @property
    def over(self) -> bool:
        return self._state is _State.OVER

    def read(self, text: str) -> list[Event]:
        """Read on, until the text or the block ends."""
        self._buffer += text
        while self._buffer and self._advance():
            pass
        return self._take_events()

    def finish(self, *, truncated: bool) -> list[Event]:
        """The output ends inside the block, by the token budget (`truncated`) or by itself."""
        self._raw.append(self._buffer)
        if self._state in (_State.CALL, _State.BROKEN):
            self._events.append(self._malformed(Reason.TRUNCATED if truncated else Reason.UNCLOSED))
        elif self._owed:
            self._pay("".join(self._raw))
        elif not self._ended and truncated:
            self._events.append(self._malformed(Reason.TRUNCATED))
        elif not self._ended:
            self._events.append(Content("".join(self._raw)))
        return self._take_events()

    def _take_events(self) -> list[Event]:
        events, self._events = self._events, []
        return events

    def _advance(self) -> bool:
        """Take a step, and say whether more can be done with the text at hand."""
        if self._state is _State.BROKEN:
            return self._read_broken()
        if self._state is _State.END:
            return self._read_end()
        return self._read_call()

    def _leave(self, rest: str) -> bool:
        self.rest, self._buffer = rest, ""
        self._state = _State.OVER
        return False

    def _read_call(self) -> bool:
        reading = self._reader.read(self._buffer)
        if self._state is _State.BEFORE and reading.progress not in (Progress.UNDECIDED, Progress.PROSE):
            self._state = _State.CALL
            self._pay("")
        self._raw.append(self._buffer[: reading.consumed])
        self._buffer = self._buffer[reading.consumed :]
        for step in reading.steps:
            self._say(step)
        self._fault = self._fault or reading.fault
        match reading.progress:
            case Progress.COMPLETE:
                return self._end_call()
            case Progress.PROSE:
                return self._find_no_call()
            case Progress.BROKEN:
                return self._break()
            case _:
                return False

    def _say(self, step: Step) -> None:
        if isinstance(step, Name):
            if step.text in self._tools:
                self._index = self._next_index
                self._next_index += 1
                self._events.append(CallBegin(self._index, step.text))
            else:
                self._fault = Reason.UNKNOWN_TOOL
        elif self._index is not None:
            self._events.append(CallArguments(self._index, step.text))

    def _malformed(self, otherwise: Reason) -> Malformed:
        return Malformed("".join(self._raw), self._fault or otherwise, self._index)

    def _end_call(self) -> bool:
        if self._fault is None and self._index is not None:
            self._events.append(CallEnd(self._index))
        else:
            self._owed = self._malformed(Reason.NO_NAME)
        self._raw = []
        self._ended += 1
        self._reader = self._syntax.style.reader()
        self._index = self._fault = None
        self._state = _State.BEFORE
        return True

    def _pay(self, tail: str) -> None:
        """Say the malformed call that is owed, with what has turned out to belong to it."""
        if self._owed:
            owed, self._owed = self._owed, None
            self._events.append(Malformed(owed.raw + tail, owed.reason, owed.index))

    def _find_no_call(self) -> bool:
        if not self._ended:
            self._events.append(Content("".join(self._raw)))
            return self._leave(self._buffer)
        self._state = _State.END
        return True

    def _read_end(self) -> bool:
        begin, end = self._syntax.begin, self._syntax.end
        if may_become(self._buffer, (begin, end)):
            return False
        around = "".join(self._raw)
        if self._buffer.startswith(end):
            self._pay(around + end)
            return self._leave(self._buffer[len(end) :])
        if self._owed:
            self._pay(around)
        elif around and not self._buffer.startswith(begin):
            self._events.append(Content(around))
        return self._leave(self._buffer)

    def _break(self) -> bool:
        """Look for a marker from where the call began: a string that never ends may have hidden it.

        No call can be found in what was a string after all: the quotes it needs would stand escaped there.
        """
        kept = 0 if self._ended else 1
        self._buffer = "".join(self._raw[kept:]) + self._buffer
        del self._raw[kept:]
        self._state = _State.BROKEN
        return True

    def _read_broken(self) -> bool:
        begin, end = self._syntax.begin, self._syntax.end
        at, marker = first_marker(self._buffer, (begin, end))
        if at < 0:
            at = len(self._buffer) - held_tail(self._buffer, (begin, end))
        elif marker == end:
            at += len(end)
        self._raw.append(self._buffer[:at])
        self._buffer = self._buffer[at:]
        if not marker:
            return False
        self._events.append(self._malformed(Reason.BAD_JSON))
        return self._leave(self._buffer)
