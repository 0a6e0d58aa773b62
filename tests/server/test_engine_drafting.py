"""Forced text is planned in the tokens that the tokenizer makes of it, as far as nothing can change them."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import xgrammar as xgr
from transformers import AutoTokenizer

from parsers.families.hermes import HERMES
from parsers.grammar import CallableTool
from server.engine.drafting import MOST_FORCED, Plan, TokenPlanner
from server.forms import compact_tag
from server.schema.plan import SchemaPlanner
from server.walk import Walker
from tests.parsers.tokenizers import qwen3, smollm2
from tests.parsers.walking import walker_of_tokenizer

WEATHER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "unit": {"enum": ["celsius", "fahrenheit"]},
        "windy": {"type": "boolean"},
    },
    "required": ["city", "days", "unit", "windy"],
    "additionalProperties": False,
}
TAGS: dict[str, Any] = {
    "type": "object",
    "properties": {"tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["tags"],
    "additionalProperties": False,
}
CALL = '{"city": "Oslo", "days": 3, "unit": "celsius", "windy": true}'
FAMILY = HERMES.without_reasoning()
PLANNER = SchemaPlanner()

TOKENIZERS = [pytest.param(smollm2, id="smollm2"), pytest.param(qwen3, id="qwen3")]


class Model:
    """A tokenizer, and what plans for it."""

    def __init__(self, directory: Path) -> None:
        self.tokenizer: Any = AutoTokenizer.from_pretrained(directory)
        self.walker: Walker = walker_of_tokenizer(self.tokenizer)
        self.planner = TokenPlanner(self.tokenizer.backend_tokenizer, vocabulary_size=len(self.walker.tokens))
        self.end: int = self.tokenizer.eos_token_id

    def ids(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def plan(self, format_: dict[str, Any], written: Sequence[int]) -> list[str]:
        """What is planned behind `written`, token by token."""
        matcher = xgr.GrammarMatcher(self.walker.compile(compact_tag(format_)))
        assert all(matcher.accept_token(token) for token in written)
        tokens, _ = self.planner.plan(matcher, written, ends=[self.end])
        return [self.tokenizer.decode([token]) for token in tokens]


@cache
def model(directory: Callable[[], Path]) -> Model:
    return Model(directory())


def value(schema: dict[str, Any]) -> dict[str, Any]:
    return dict(PLANNER.plan(schema, closed=True).format)


def call(*names: str, at_most: int = 1) -> dict[str, Any]:
    """One or more calls of these tools, all of which take the same arguments."""
    tools = [CallableTool(name, value(WEATHER)) for name in names]
    tag = FAMILY.structural_tag(tools, at_least=1, at_most=at_most, answer=None, opens_reasoning=False)
    return dict(tag["format"])


@pytest.mark.parametrize("directory", TOKENIZERS)
@pytest.mark.parametrize("names", [("get_weather",), ("get_weather", "get_time")])
def test_a_plan_is_how_the_tokenizer_cuts_the_whole_answer(
    directory: Callable[[], Path], names: tuple[str, ...]
) -> None:
    """Whatever is free in between, its neighbours are cut as they would be in the finished text."""
    used = model(directory)
    text = f'<tool_call>\n{{"name": "get_weather", "arguments": {CALL}}}\n</tool_call>'
    answer = [*used.ids(text), used.end]
    matcher = xgr.GrammarMatcher(used.walker.compile(compact_tag(call(*names))))
    at = free = 0
    while at < len(answer):
        planned_tokens, _ = used.planner.plan(matcher, answer[:at], ends=[used.end])
        assert list(planned_tokens) == answer[at : at + len(planned_tokens)]
        at += len(planned_tokens)
        free += at < len(answer)
        assert all(matcher.accept_token(token) for token in answer[at - len(planned_tokens) : at + 1])
        at += 1

    assert free <= 0.35 * len(answer)


@pytest.mark.parametrize(
    ("schema", "written", "tokens"),
    [
        pytest.param(WEATHER, '{"city": "Os', [], id="free-text"),
        pytest.param(WEATHER, '{"city": "Oslo",', [' "', "days", '":', " "], id="before-digits"),
        pytest.param(
            WEATHER,
            '{"city": "Oslo", "days": 3, "unit": "c',
            ["elsius", '",', ' "', "wind", "y", '":'],
            id="before-words-that-take-the-space",
        ),
        pytest.param(TAGS, "{", ['"', "tags", '":'], id="before-a-bracket-that-a-quote-may-join"),
    ],
)
def test_a_token_is_planned_only_if_what_follows_cannot_change_it(
    schema: dict[str, Any], written: str, tokens: list[str]
) -> None:
    """The space before `true` belongs to the next token, that before a digit stands alone."""
    used = model(smollm2)

    assert used.plan(value(schema), used.ids(written)) == tokens


def test_a_plan_follows_a_model_that_has_cut_free_text_in_its_own_way() -> None:
    """Behind a lone quote, where the tokenizer would have joined quote and comma, the comma stands alone."""
    used = model(smollm2)
    written = [*used.ids('{"city": "Oslo'), *used.ids('"')]

    assert used.plan(value(WEATHER), written) == [",", ' "', "days", '":', " "]


@pytest.mark.parametrize(
    ("at_most", "ends"), [pytest.param(1, True, id="last"), pytest.param(2, False, id="another-may-follow")]
)
def test_the_end_is_planned_where_nothing_else_may_follow(at_most: int, ends: bool) -> None:
    """Behind the only call that a request allows comes the end token, and that is certain."""
    used = model(smollm2)
    written = used.ids(f'<tool_call>\n{{"name": "f", "arguments": {CALL}')
    tokens = used.plan(call("f", at_most=at_most), written)

    assert "".join(tokens).startswith("}\n</tool_call>")
    assert (tokens[-1] == used.tokenizer.eos_token) is ends


def test_a_long_plan_goes_on_where_it_ends() -> None:
    """A constant of any length is planned piece by piece, and the pieces are the tokens of the whole."""
    used = model(smollm2)
    text = "All work and no play makes a long constant. " * 1000
    matcher = xgr.GrammarMatcher(used.walker.compile(compact_tag(value({"const": text}))))
    answer = used.ids(f'"{text}"')
    at, plans, goes_on = 0, 0, True
    while goes_on:
        tokens, goes_on = used.planner.plan(matcher, answer[:at], ends=[used.end])
        assert all(matcher.accept_token(token) for token in tokens)
        assert list(tokens) == [*answer, used.end][at : at + len(tokens)]
        at, plans = at + len(tokens), plans + 1

    assert len(text) > 4 * MOST_FORCED
    assert (at, plans > 1) == (len(answer) + 1, True)


def test_a_plan_covers_its_tokens_and_an_empty_one_its_place() -> None:
    """Where nothing is forced, that is known too, and not looked for again."""
    assert [Plan(5, (1, 2), goes_on=False).covers(at) for at in range(4, 8)] == [False, True, True, False]
    assert [Plan(5, (), goes_on=False).covers(at) for at in range(4, 7)] == [False, True, False]


@pytest.mark.parametrize(
    "written", ["", '{"', '{"city": "Os', '{"city": "Oslo", "days": 3, "unit": "c', CALL]
)
def test_a_matcher_is_left_as_it_was_found(written: str) -> None:
    """Planning looks ahead, and the mask of the next token must be the one before."""
    used = model(smollm2)
    matcher = xgr.GrammarMatcher(used.walker.compile(compact_tag(value(WEATHER))))
    ids = used.ids(written)
    assert all(matcher.accept_token(token) for token in ids)
    before, after = (xgr.allocate_token_bitmask(1, len(used.walker.tokens)) for _ in range(2))
    matcher.fill_next_token_bitmask(before)
    used.planner.plan(matcher, ids, ends=[used.end])
    matcher.fill_next_token_bitmask(after)

    assert before.tolist() == after.tolist()
    assert matcher.accept_token(used.end) is (written == CALL)


def test_a_character_of_which_only_the_first_byte_is_certain_is_not_planned() -> None:
    """`é` and `è` begin with the same byte. What stands before them is planned."""
    used = model(smollm2)

    assert used.plan(value({"enum": ["caf\u00e9", "caf\u00e8"]}), []) == ['"', "c", "af"]
    assert used.plan(value({"enum": ["\u00e9", "\u00e8"]}), used.ids('"')) == []
