"""The mask over the vocabularies of real models, whose tokens run across the edges of markers and JSON."""

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
import numpy as np
import pytest
import xgrammar as xgr
from transformers import AutoTokenizer

from parsers.families.hermes import HERMES
from parsers.grammar import CallableTool
from server.default_model import DefaultModelError, prepare
from server.settings import default_cache
from tests.parsers.reading import feed, fold

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


def smollm2() -> Path:
    """The default model: markers are ordinary text, in many tokens."""
    try:
        return prepare(default_cache() / "models", lambda line: None)
    except DefaultModelError as error:
        pytest.skip(str(error))


def qwen3() -> Path:
    """Markers are single tokens, which text can also spell in pieces."""
    directory = os.environ.get("STRICTCALL_TEST_DATA", "")
    if not directory:
        pytest.skip("STRICTCALL_TEST_DATA does not name a directory with other models' tokenizers")
    return Path(directory) / "tokenizers" / "qwen3"


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


def walk(tokenizer: Any, grammar: Any, plain: Any, rng: random.Random) -> list[int] | None:
    """Random tokens that the mask lets through up to the end token, or None if there is no end to them.

    Now and then it tries to write a call, as far as the mask lets it; else it prefers `plain` tokens.
    """
    matcher = xgr.GrammarMatcher(grammar)
    bitmask = xgr.allocate_token_bitmask(1, plain.size)
    call = tokenizer.encode(HERMES.write_calls(CALLS), add_special_tokens=False)
    tokens: list[int] = []
    script: list[int] = []
    while len(tokens) < 300:
        matcher.fill_next_token_bitmask(bitmask)
        allowed = unpacked(bitmask, plain.size)
        if not script and rng.random() < 0.1:
            script = call[rng.choice([0, 0, rng.randrange(len(call))]) :]
        if script and allowed[script[0]] and rng.random() < 0.95:
            token, script = script[0], script[1:]
        else:
            if (allowed & plain).any() and rng.random() < 0.9:
                allowed &= plain
            token, script = int(rng.choice(np.flatnonzero(allowed))), []
        assert matcher.accept_token(token)
        if token == tokenizer.eos_token_id:
            return tokens
        tokens.append(token)
    return None


@pytest.mark.parametrize("at_least", [0, 1])
def test_whatever_tokens_the_mask_emits_are_read_to_valid_calls(
    tokenizer: Any, compiler: Any, at_least: int
) -> None:
    """Random walks over real tokens give valid calls, the same in whole and token by token."""
    texts = tokenizer.batch_decode([[token] for token in range(len(tokenizer))])
    plain = np.array([text.isascii() for text in texts])
    grammar = compiled(compiler, at_least=at_least, at_most=3)
    ended = called = 0
    for seed in range(100):
        tokens = walk(tokenizer, grammar, plain, random.Random(seed))
        if tokens is None:
            continue
        text = tokenizer.decode(tokens, skip_special_tokens=False)
        answer = fold(feed([text], ["note"]))
        seen = f"seed {seed}: {text!r}"

        assert fold(feed(list(text), ["note"])) == answer, seen
        assert answer.malformed == [], seen
        assert at_least <= len(answer.calls) <= 3, seen
        for _, arguments in answer.calls:
            assert jsonschema_rs.is_valid(SCHEMA, json.loads(arguments)), seen
        ended += 1
        called += len(answer.calls)
    assert ended > 30
    assert called > 30
