r"""The parser: a family's markup, and the text of an answer in pieces, to events. One machine for all.

    parser = Parser(HERMES.call, HERMES.reasoning, ["f"])
    parser.feed('Sure.\n<tool_call>\n{"name": "f", "argu')    # [Content("Sure."), CallBegin(0, "f")]
    parser.feed('ments": {"a": 1}}\n</tool_call>')            # [CallArguments(0, '{"a": 1}'), CallEnd(0)]
    parser.finish()                                           # []

However the text is cut, the merged events are the same, and an answer that is not streamed is one long
feed. Work is linear in the text, and what is held back between two feeds is never lost. The rules:

* Markers are found in text. (Where they are tokens of their own, `marker_tokens.py` tells them from text
  that spells them.)
* Where a family's calls have no begin marker, one is read at the very start of the answer, and elsewhere
  only by its style's cue. Such a call, and one that stands without its block's markers, has to prove that
  it is one, or it is text.
* A reasoning span is read only at the very start of the answer, or when the prompt has opened it. What a
  call inside it means is the record's `CallInside`.
* Without tools, call markers are text. With tools, so is a begin marker that no call follows.
* An answer in a form, such as JSON, that does not begin with a call has none: what it spells is its own.
* A call begins when its name is known and ends with its arguments, whether its end marker comes or not.
  The first thing wrong with a call is its reason. One that cannot be read on ends at the first marker
  after its own begin marker, so that the calls beside it are not lost.
* Whitespace directly before a call is dropped; after a call, it is dropped if another call or the end
  follows. So are newlines that begin a reasoning span or follow it, and whitespace that ends it. All other
  text is exact, which is why trailing whitespace is held back until something follows.
"""

from collections import deque
from collections.abc import Collection, Mapping
from enum import Enum

from parsers.arguments.json_lexer import WHITESPACE
from parsers.arguments.style import Schema, Tools
from parsers.block import Block
from parsers.events import Event, Malformed, Reason
from parsers.form import FormText
from parsers.markers import first_marker, held_tail, may_become
from parsers.pieces import in_pieces
from parsers.prose import AnswerProse
from parsers.syntax import CallInside, CallSyntax, Span

_NO_SPAN = Span("", "")
"""For families that do not reason: it is never looked for."""


class _State(Enum):
    START = "start"
    """Before the first character that is not whitespace: a reasoning span may begin."""
    FIRST = "first"
    """Before the first character of the content: a call that has no marker may begin."""
    CHOICE = "choice"
    """Before the first character of an answer that is in a form or is calls, and never both."""
    FORM = "form"
    """In an answer in a form."""
    TEXT = "text"
    """In content or reasoning."""
    HELD = "held"
    """After a call marker in a reasoning span: only the end tells what it is."""
    BLOCK = "block"
    """Behind a call's begin marker."""
    BEHIND = "behind"
    """Behind a block of calls, where its end may be written once more."""


class Parser:
    """Reads one answer: see `AnswerParser`, and `Family.parser` for what it is made with."""

    def __init__(
        self,
        syntax: CallSyntax,
        span: Span | None,
        tools: Mapping[str, Schema] | Collection[str],
        *,
        opens_reasoning: bool = False,
        in_form: bool = False,
        dropped: tuple[str, ...] = (),
    ) -> None:
        self._syntax = syntax
        self._span = span or _NO_SPAN
        self._call_inside = self._span.call_inside
        self._tools: Tools = tools if isinstance(tools, Mapping) else {name: {} for name in tools}
        self._cues = self._syntax.cues(self._tools)
        self._call_markers = (*syntax.markers, *self._cues) if tools else ()
        self._in_form = in_form
        self._form = FormText(dropped)
        self._dropped = dropped
        """Marks in the content that are no part of it."""
        self._content_state = _State.TEXT if self._syntax.begin or not tools else _State.FIRST
        if in_form and tools:
            self._content_state = _State.CHOICE
        self._state = _State.START if span else self._content_state
        self._input: deque[str] = deque()
        self._buffer = ""
        self._held: list[str] = []
        self._events: list[Event] = []
        self._calls = 0
        self._block = Block(self._syntax, self._tools, first_index=0, begin="")
        self._prose = AnswerProse()
        if span and opens_reasoning:
            self._prose.enter_reasoning()

    @property
    def in_reasoning(self) -> bool:
        """Whether the end of what was fed stands in the reasoning span, by what is known so far."""
        return self._prose.in_reasoning

    def feed(self, text: str) -> list[Event]:
        """Read the next piece of the answer."""
        if (passed := self._block.pass_plain(text)) is not None:
            return passed
        self._input.extend(in_pieces(text))
        self._read_input()
        return self._take_events()

    def feed_marker(self, marker: str) -> list[Event]:
        """Read a marker that came as a token. It reads like the text that spells it."""
        return self.feed(marker)

    def finish(self, *, truncated: bool = False) -> list[Event]:
        """The answer is over: it was cut off (`truncated`), or the model ended it. Feed no more."""
        if self._state is _State.HELD and not truncated:
            self._call_inside = CallInside.ENDS_SPAN
            self._release_held()
            self._read_input()
        if self._state is _State.BLOCK:
            self._events += self._prose.around(self._block.finish(truncated=truncated))
        cut = self._buffer if truncated and self._is_cut_marker() else ""
        for piece in (*self._form.finish(), *self._held, self._buffer.removesuffix(cut)):
            self._events += self._prose.add(piece)
        if cut:
            self._events += self._prose.around([Malformed(cut, Reason.TRUNCATED)])
        self._events += self._prose.release()
        return self._take_events()

    def _is_cut_marker(self) -> bool:
        """Whether the text ends within a call's marker. Punctuation alone may begin anything."""
        markers = () if self.in_reasoning or not self._tools else self._syntax.markers
        return may_become(self._buffer, markers) and any(map(str.isalnum, self._buffer))

    def _take_events(self) -> list[Event]:
        events, self._events = self._events, []
        return events

    def _read_input(self) -> None:
        while self._input:
            self._buffer += self._input.popleft()
            while self._advance():
                pass

    def _advance(self) -> bool:
        """Take a step, and say whether more can be done with the text at hand."""
        match self._state:
            case _State.BLOCK:
                return self._read_block()
            case _State.TEXT:
                return self._read_text()
            case _State.HELD:
                return self._read_held()
            case _State.BEHIND:
                return self._read_behind()
            case _State.FIRST:
                return self._read_first()
            case _State.CHOICE:
                return self._read_choice()
            case _State.FORM:
                return self._read_form()
            case _State.START:
                return self._read_start()

    def _take(self, length: int) -> str:
        taken, self._buffer = self._buffer[:length], self._buffer[length:]
        return taken

    def _pass_blank(self) -> None:
        blank = len(self._buffer) - len(self._buffer.lstrip(WHITESPACE))
        self._events += self._prose.add(self._take(blank))

    def _read_start(self) -> bool:
        begin = self._span.begin
        self._pass_blank()
        if may_become(self._buffer, (begin,)):
            return False
        if self._buffer.startswith(begin):
            # Written even where the prompt has opened the span, by some models.
            self._take(len(begin))
            self._prose.enter_reasoning()
        self._state = _State.TEXT if self.in_reasoning else self._content_state
        return True

    def _read_first(self) -> bool:
        self._pass_blank()
        if not self._buffer or may_become(self._buffer, self._syntax.openers):
            return False
        self._state = _State.TEXT
        if not self._buffer.startswith(self._syntax.openers):
            self._begin_block("")
        return True

    def _read_choice(self) -> bool:
        self._pass_blank()
        if not self._buffer or may_become(self._buffer, (*self._dropped, *self._syntax.markers)):
            return False
        if mark := next(filter(self._buffer.startswith, self._dropped), ""):
            self._drop(mark)
        elif not self._syntax.begin:
            self._state = _State.FIRST
        else:
            is_call = self._buffer.startswith(self._call_markers)
            self._state = _State.TEXT if is_call else _State.FORM
        return True

    def _read_form(self) -> bool:
        for piece in self._form.read(self._take(len(self._buffer))):
            self._events += self._prose.add(piece)
        return False

    def _drop(self, mark: str) -> None:
        """Read a mark that is no part of the content."""
        self._take(len(mark))
        self._prose.follow_marker()

    def _begin_block(self, begin: str) -> None:
        self._block = Block(self._syntax, self._tools, first_index=self._calls, begin=begin)
        self._state = _State.BLOCK

    def _markers(self) -> tuple[str, ...]:
        others = (self._span.end,) if self.in_reasoning else self._dropped
        return (*self._call_markers, *others)

    def _read_text(self) -> bool:
        markers = self._markers()
        at, marker = first_marker(self._buffer, markers)
        if at < 0:
            at = len(self._buffer) - held_tail(self._buffer, markers)
        self._events += self._prose.add(self._take(at))
        if not marker:
            return False
        if self.in_reasoning and marker == self._span.end:
            self._take(len(marker))
            self._prose.leave_reasoning()
            self._state = self._content_state
        elif marker in self._dropped:
            self._drop(marker)
        elif self.in_reasoning and self._call_inside is CallInside.AWAITS_END:
            self._state = _State.HELD
        else:
            # What is part of the call is left for it to begin with.
            own = marker in (self._syntax.style.opening, *self._cues)
            self._begin_block(self._take(0 if own else len(marker)))
        return True

    def _read_held(self) -> bool:
        end = self._span.end
        at, marker = first_marker(self._buffer, (end,))
        if at < 0:
            self._held.append(self._take(len(self._buffer) - held_tail(self._buffer, (end,))))
            return False
        for piece in (*self._held, self._take(at)):
            self._events += self._prose.add(piece)
        self._held.clear()
        self._take(len(marker))
        self._prose.leave_reasoning()
        self._state = self._content_state
        return True

    def _release_held(self) -> None:
        self._input.extend((*self._held, self._buffer))
        self._held.clear()
        self._buffer = ""
        self._state = _State.TEXT

    def _read_block(self) -> bool:
        text, self._buffer = self._buffer, ""
        self._events += self._prose.around(self._block.read(text))
        if self._block.over:
            self._calls = self._block.next_index
            is_form = self._in_form and not self._syntax.begin and not self._calls
            self._state = _State.FORM if is_form else _State.BEHIND
            self._input.extendleft(reversed(in_pieces(self._block.rest)))
        return False

    def _read_behind(self) -> bool:
        surplus = self._block.surplus
        self._pass_blank()
        if not self._buffer or may_become(self._buffer, surplus):
            return False
        if again := next(filter(self._buffer.startswith, surplus), ""):
            self._take(len(again))
            self._prose.follow_call()
        else:
            self._state = _State.TEXT
        return True
