r"""One call of a Harmony answer, from behind its header to the end of its message.

    call = HarmonyCall(MARKS, header="<|channel|>commentary to=functions.f<|message|>", index=0, fault=None)
    call.read('{"a": 1}<|call|>')    # [CallArguments(0, '{"a": 1}'), CallEnd(0)]
    call.rest                        # "<|call|>"

The arguments are passed on as the model's own characters, except that

    "{\"a\": 1}"    is decoded once       -> {"a": 1}
    nothing         means no arguments    -> {}
"""

import json
from collections.abc import Callable

from parsers.arguments.json_lexer import WHITESPACE, JsonLexer
from parsers.arguments.json_text import escape_surrogates, object_fault
from parsers.arguments.style import Progress
from parsers.events import CallArguments, CallEnd, Event, Malformed, Reason
from parsers.harmony_marks import Marks
from parsers.markers import first_marker, held_tail, may_become

_JSON_BUT_NO_OBJECT = "[-0123456789tfn"


class HarmonyCall:
    """Reads one call, whose `CallBegin` has been said if it has an `index`.

    A call with a `fault` from its header is read only to find its end. `rest` is what was read behind the
    call, once it is `over`.
    """

    def __init__(self, marks: Marks, *, header: str, index: int | None, fault: Reason | None) -> None:
        self.rest = ""
        self.over = False
        self._marks = marks
        self._stops = (*marks.ends, marks.start)
        self._index = index
        self._fault = fault
        self._header = header
        self._raw: list[str] = []
        """What was read of the body, in pieces."""
        self._buffer = ""
        self._events: list[Event] = []
        self._lexer = JsonLexer()
        self._string: list[str] | None = None
        """The pieces of arguments that are a JSON string."""
        self._mode: Callable[[], bool] = self._begin

    def read(self, text: str) -> list[Event]:
        """Read on, until the text or the call ends."""
        self._buffer += text
        while self._buffer and not self.over and self._mode():
            pass
        return self._take_events()

    def pass_plain(self, text: str) -> list[Event] | None:
        """Read text that can be nothing but the next piece of a text value; None if it has to be read on."""
        if self._mode != self._read_object or self._index is None or self._fault or self._buffer:
            return None
        if not self._lexer.pass_plain(text):
            return None
        self._raw.append(text)
        return [CallArguments(self._index, text)] if text else []

    def finish(self, *, truncated: bool) -> list[Event]:
        """The answer ends inside the call: by the token budget (`truncated`), or by itself."""
        if self._mode == self._begin and not (self._buffer or self._fault or truncated):
            self._say("{}")
            self._complete()
        else:
            self._raw.append(self._buffer)
            self._spoil(Reason.TRUNCATED if truncated else Reason.UNCLOSED)
        return self._take_events()

    def _take_events(self) -> list[Event]:
        events, self._events = self._events, []
        return events

    def _take(self, length: int) -> str:
        taken, self._buffer = self._buffer[:length], self._buffer[length:]
        self._raw.append(taken)
        return taken

    def _leave(self) -> bool:
        self.rest, self._buffer = self._buffer, ""
        self.over = True
        return False

    def _say(self, text: str) -> None:
        if text and self._index is not None and self._fault is None:
            self._events.append(CallArguments(self._index, text))

    def _complete(self) -> bool:
        """The arguments are whole: the call is as well, unless something is wrong with it."""
        if self._fault is None and self._index is not None:
            self._events.append(CallEnd(self._index))
            return self._leave()
        self._mode = self._seek_end
        return True

    def _spoil(self, reason: Reason) -> None:
        raw = self._header + "".join(self._raw)
        self._events.append(Malformed(raw, self._fault or reason, self._index))

    def _begin(self) -> bool:
        """In front of the arguments."""
        self._take(len(self._buffer) - len(self._buffer.lstrip(WHITESPACE)))
        if not self._buffer or may_become(self._buffer, self._stops):
            return False
        if self._buffer.startswith(self._stops):
            self._say("{}")
            return self._complete()
        if self._buffer[0] == "{":
            self._mode = self._read_object
        elif self._buffer[0] == '"':
            self._string = []
            self._mode = self._read_string
        else:
            known = self._buffer[0] in _JSON_BUT_NO_OBJECT
            return self._break(Reason.NOT_AN_OBJECT if known else Reason.BAD_JSON)
        return True

    def _read_object(self) -> bool:
        self._say(self._take(self._lexer.read(self._buffer)))
        if self._lexer.progress is Progress.BROKEN:
            return self._break(Reason.BAD_JSON)
        return self._lexer.progress is Progress.COMPLETE and self._complete()

    def _read_string(self) -> bool:
        pieces = self._string if self._string is not None else []
        pieces.append(self._take(self._lexer.read(self._buffer)))
        if self._lexer.progress is Progress.BROKEN:
            return self._break(Reason.BAD_JSON)
        if self._lexer.progress is not Progress.COMPLETE:
            return False
        text = json.loads("".join(pieces)).strip(WHITESPACE)
        if fault := object_fault(text):
            return self._break(fault)
        self._say(escape_surrogates(text))
        return self._complete()

    def _break(self, reason: Reason) -> bool:
        """Look for the end from where the body began: a string that never ends may have hidden it."""
        self._fault = self._fault or reason
        self._buffer = "".join(self._raw) + self._buffer
        self._raw = []
        self._mode = self._seek_end
        return True

    def _seek_end(self) -> bool:
        at, stop = first_marker(self._buffer, self._stops)
        if not stop:
            self._take(len(self._buffer) - held_tail(self._buffer, self._stops))
            return False
        self._take(at + len(stop) if stop != self._marks.start else at)
        self._spoil(Reason.BAD_JSON)
        return self._leave()
