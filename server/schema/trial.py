r"""Try values on the mask of a plan, without a model.

    mask = MaskTrial(plan.format, byte_tokens())
    mask.accepts({"b": 1, "a": 2})    # True, where the schema declares a before b: it is written in its order
    mask.compile_ms                   # 3.1

A value is written as the mask spells it, key by key: the order of keys is the mask's to choose.
"""

import itertools
import json
import time
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import xgrammar

from parsers.formats import Format
from server.forms import BYTES, END_OF_BYTES, compact_tag
from server.schema.document import SchemaError

MOST_PIECES = 20_000
"""Pieces of text that are tried for one value. Keys that the schema does not declare can be written in any
order, so a value that fits in none would be tried in all of them."""


def byte_tokens() -> xgrammar.TokenizerInfo:
    """A vocabulary of bytes, for which every mask is exact, and quick to compile."""
    return xgrammar.TokenizerInfo(BYTES, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[END_OF_BYTES])


_NO_MORE: Any = object()


class MaskTrial:
    """A compiled mask. `compile_ms`: the milliseconds that it took, with nothing remembered from others.

    Raises `SchemaError` if XGrammar cannot compile it.
    """

    def __init__(self, answer_format: Format, tokens: xgrammar.TokenizerInfo) -> None:
        compiler = xgrammar.GrammarCompiler(tokens, max_threads=1, cache_enabled=False)
        started = time.perf_counter()
        try:
            self._compiled = compiler.compile_structural_tag(compact_tag(answer_format))
        except RuntimeError as error:
            raise SchemaError("#", f"the mask cannot be compiled: {error}") from error
        self.compile_ms = round((time.perf_counter() - started) * 1000, 1)

    def accepts(self, value: Any) -> bool:
        """Whether the value can be written under the mask, and the answer end there."""
        matcher = xgrammar.GrammarMatcher(self._compiled)
        writer = _Writer(matcher)
        return any(matcher.is_completed() for _ in writer.write(value))


class _Writer:
    """Writes values into a matcher. Each way that the mask lets pass is one step of the iterator."""

    def __init__(self, matcher: Any) -> None:
        self._matcher = matcher
        self._left = MOST_PIECES

    def write(self, value: Any) -> Iterator[None]:
        """Write the value in every way. What was written is taken back before the next way."""
        match value:
            case Mapping():
                yield from self._object(dict(value))
            case list():
                yield from self._array(value)
            case _:
                for spelling in _spellings(value):
                    yield from self._text(spelling)

    def _text(self, text: str) -> Iterator[None]:
        self._left -= 1
        if self._left > 0 and self._matcher.accept_string(text):
            yield
            self._matcher.rollback(1)

    def _array(self, items: list[Any]) -> Iterator[None]:
        ways = [self._item(items, 0)]
        while ways:
            # Nothing recurses but what is nested, or a long array would overrun the stack.
            if next(ways[-1], _NO_MORE) is _NO_MORE:
                ways.pop()
            elif len(ways) <= len(items):
                ways.append(self._item(items, len(ways)))
            else:
                yield

    def _item(self, items: list[Any], at: int) -> Iterator[None]:
        """One item with what stands before it; behind the last one, the end."""
        if at == len(items):
            yield from self._text("]" if items else "[]")
            return
        for _ in self._text(", " if at else "["):
            yield from self.write(items[at])

    def _object(self, members: dict[str, Any]) -> Iterator[None]:
        ways = [self._member(members, "{")]
        while ways:
            rest = next(ways[-1], _NO_MORE)
            if rest is _NO_MORE:
                ways.pop()
            elif rest is None:
                yield
            else:
                ways.append(self._member(rest, ", "))

    def _member(self, members: dict[str, Any], before: str) -> Iterator[dict[str, Any] | None]:
        """Any of the members; yields those that are left. Behind the last one the end, which leaves None."""
        if not members:
            for _ in self._text("{}" if before == "{" else "}"):
                yield None
            return
        for key, value in members.items():
            rest = {name: other for name, other in members.items() if name != key}
            for _ in self._text(f"{before}{json.dumps(key, ensure_ascii=False)}: "):
                for _ in self.write(value):
                    yield rest


def _spellings(value: Any) -> Iterator[str]:
    """The texts of a string, a number or a constant: a mask need not know all spellings of a number."""
    if isinstance(value, Decimal):
        # More than a float holds: it comes as a Decimal, which `json` cannot write.
        yield str(value)
        return
    yield json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        whole = [str(int(value))] if value.is_integer() else []
        yield from itertools.chain(whole, [format(Decimal(repr(value)), "f")])
