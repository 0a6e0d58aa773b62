r"""Try values on the mask of a plan, without a model.

    mask = MaskTrial(plan, byte_tokens())
    mask.accepts({"b": 1, "a": 2})    # True, where the schema declares a before b: it is written in its order
    mask.compile_ms                   # 3.1

A value is written as the mask spells it: the order of its keys is the mask's to choose, and the notation of
its numbers.
"""

import json
import time
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import xgrammar

from server.mask.forms import BYTES, END_OF_BYTES, compact_tag
from server.schema.document import SchemaError
from server.schema.nodes import Node, Reference, Values
from server.schema.normal.values import arranged, number_texts
from server.schema.plan import SchemaPlan


def byte_tokens() -> xgrammar.TokenizerInfo:
    """A vocabulary of bytes, for which every mask is exact, and quick to compile."""
    return xgrammar.TokenizerInfo(BYTES, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[END_OF_BYTES])


class MaskTrial:
    """A compiled mask. `compile_ms`: the milliseconds that it took, with nothing remembered from others.

    Raises `SchemaError` if XGrammar cannot compile it.
    """

    def __init__(self, plan: SchemaPlan, tokens: xgrammar.TokenizerInfo) -> None:
        self._values = plan.values
        compiler = xgrammar.GrammarCompiler(tokens, max_threads=1, cache_enabled=False)
        started = time.perf_counter()
        try:
            self._compiled = compiler.compile_structural_tag(compact_tag(plan.format))
        except RuntimeError as error:
            raise SchemaError("#", f"the mask cannot be compiled: {error}") from error
        self.compile_ms = round((time.perf_counter() - started) * 1000, 1)

    def accepts(self, value: Any) -> bool:
        """Whether the value can be written under the mask, and the answer end there."""
        found = arranged(self._values.root, value, _Definitions(self._values))
        matcher = xgrammar.GrammarMatcher(self._compiled)
        written = _write(value if found is None else found[0], matcher)
        return written and bool(matcher.is_completed())


class _Definitions:
    """Follows the references of finished values."""

    def __init__(self, values: Values) -> None:
        self._values = values

    def seen(self, node: Node) -> Node:
        while isinstance(node, Reference):
            node = self._values.definitions[node.name]
        return node


def _write(value: Any, matcher: Any) -> bool:
    """Write a value into the matcher, piece by piece; False as soon as the mask lets none pass."""
    match value:
        case Mapping():
            return _write_object(value, matcher)
        case list():
            for index, item in enumerate(value):
                if not (matcher.accept_string(", " if index else "[") and _write(item, matcher)):
                    return False
            return bool(matcher.accept_string("]" if value else "[]"))
        case _:
            return any(matcher.accept_string(text) for text in _spellings(value))


def _write_object(members: Mapping[str, Any], matcher: Any) -> bool:
    before = "{"
    for name, value in members.items():
        key = f"{before}{json.dumps(name, ensure_ascii=False)}: "
        if not (matcher.accept_string(key) and _write(value, matcher)):
            return False
        before = ", "
    return bool(matcher.accept_string("}" if members else "{}"))


def _spellings(value: Any) -> Iterator[str]:
    """The texts of a string, a number or a constant: a mask need not know all spellings of a number."""
    if isinstance(value, Decimal):
        # More than a float holds: it comes as a Decimal, which `json` cannot write.
        yield str(value)
        return
    yield json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        yield from number_texts(value)
