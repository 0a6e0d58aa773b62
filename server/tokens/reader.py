r"""Token ids to the parser's events: what a token spells is text, unless it is one of the family's markers.

reader = TokenReader(detokenizer, HERMES.parser(["f"], tokens=markers.values()), markers)
reader.feed(28)        # [Content("=")]
reader.feed(151657)    # []: the token <tool_call>, and perhaps a call
"""

from collections.abc import Mapping

from parsers.answer_parser import AnswerParser
from parsers.events import Event
from server.tokens.vocabulary import Detokenizer


class TokenReader:
    """Reads one sequence. `markers` are the tokens that the parser is told of by name, with their texts."""

    def __init__(self, detokenizer: Detokenizer, parser: AnswerParser, markers: Mapping[int, str]) -> None:
        self._detokenizer = detokenizer
        self._parser = parser
        self._markers = markers

    @property
    def in_reasoning(self) -> bool:
        return self._parser.in_reasoning

    def feed(self, token_id: int) -> list[Event]:
        """Read the next token."""
        text = self._detokenizer.step(token_id)
        marker = self._markers.get(token_id)
        if marker is None:
            return self._parser.feed(text)
        # Before it, there may be what stands for a character that was never completed.
        return self._parser.feed(text.removesuffix(marker)) + self._parser.feed_marker(marker)

    def finish(self, *, truncated: bool) -> list[Event]:
        """The sequence is over: it was cut off (`truncated`), or the model ended it.

        A character that the model left unfinished is shown as U+FFFD; one that was cut off is nothing yet.
        """
        tail = "" if truncated else self._detokenizer.finish()
        return self._parser.feed(tail) + self._parser.finish(truncated=truncated)
