"""The mask over the vocabularies of real models, whose tokens run across the edges of markers and JSON."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgrammar as xgr
from transformers import AutoTokenizer

from parsers.families.hermes import HERMES
from parsers.grammar import CallableTool
from tests.parsers.tokenizers import qwen3, smollm2

# Bounded, so that walks end. (Under `maxLength` XGrammar lets raw tabs into strings.)
TEXT = r'^[^"\\\x00-\x1f]{0,20}$'
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "pattern": TEXT},
        "kind": {"enum": ["<tool_call>", "</tool_call>", "plain"]},
        "tags": {"type": "array", "items": {"type": "string", "pattern": TEXT}, "maxItems": 2},
    },
    "required": ["text", "kind"],
    "additionalProperties": False,
}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("note", {"text": "a </tool_call> é 🚀", "kind": "<tool_call>"}),
    ("note", {"text": "", "kind": "plain", "tags": ["x", "<think>"]}),
]


@pytest.fixture(scope="module", name="tokenizer", params=[smollm2, qwen3], ids=lambda find: find.__name__)
def _tokenizer(request: pytest.FixtureRequest) -> Any:
    find: Callable[[], Path] = request.param
    return AutoTokenizer.from_pretrained(find())


@pytest.fixture(scope="module", name="compiler")
def _compiler(tokenizer: Any) -> xgr.GrammarCompiler:
    return xgr.GrammarCompiler(xgr.TokenizerInfo.from_huggingface(tokenizer), max_threads=2)


def compiled(compiler: Any, *, tools: int = 1, at_least: int = 0, at_most: int = 16) -> Any:
    tag = HERMES.structural_tag(
        [
            CallableTool(name, {"type": "json_schema", "json_schema": SCHEMA, "max_whitespace_cnt": 2})
            for name in ["note", *(f"note_{number}" for number in range(1, tools))]
        ],
        at_least=at_least,
        at_most=at_most,
        answer=None,
        opens_reasoning=False,
    )
    return compiler.compile_structural_tag(json.dumps(tag))


def test_what_is_written_can_be_sampled(tokenizer: Any, compiler: Any) -> None:
    """The tokens of a whole answer, with text before its calls, all pass the mask."""
    text = "Two notes, <b>now</b>.\n" + HERMES.write_calls(CALLS)
    matcher = xgr.GrammarMatcher(compiled(compiler))

    for token in tokenizer.encode(text, add_special_tokens=False):
        assert matcher.accept_token(token), tokenizer.decode([token])
    assert matcher.accept_token(tokenizer.eos_token_id)


def test_answer_cannot_end_inside_a_call(tokenizer: Any, compiler: Any) -> None:
    """Up to the end of the end marker, the end token is masked."""
    matcher = xgr.GrammarMatcher(compiled(compiler, at_least=1, at_most=1))
    bitmask = xgr.allocate_token_bitmask(1, len(tokenizer))
    end = tokenizer.eos_token_id

    for token in tokenizer.encode(HERMES.write_calls(CALLS[:1]), add_special_tokens=False):
        matcher.fill_next_token_bitmask(bitmask)
        assert not unpacked(bitmask, len(tokenizer))[end]
        assert matcher.accept_token(token)
    matcher.fill_next_token_bitmask(bitmask)
    assert np.flatnonzero(unpacked(bitmask, len(tokenizer))).tolist() == [end]


def unpacked(bitmask: Any, size: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.unpackbits(bitmask.numpy().view(np.uint8), bitorder="little")[:size].astype(bool)
