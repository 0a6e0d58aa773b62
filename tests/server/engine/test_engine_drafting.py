"""Forced text is planned in the tokens that the tokenizer makes of it, as far as nothing can change them."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgrammar as xgr
from transformers import AutoTokenizer

from parsers.families.hermes import HERMES
from parsers.grammar import CallableTool
from server.doctor.walk import Walker
from server.engine.drafting import MOST_FORCED, MOST_PIECES, MOST_SECONDS, Forced, Plan, TokenPlanner
from server.mask.forms import compact_tag
from server.schema.plan import SchemaPlanner
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
MOST = MOST_FORCED * MOST_PIECES
FAMILY = HERMES.without_reasoning()
PLANNER = SchemaPlanner()

TOKENIZERS = [pytest.param(smollm2, id="smollm2"), pytest.param(qwen3, id="qwen3")]


def planned_ids(planner: TokenPlanner, matcher: Any, written: Sequence[int]) -> list[int]:
    return [each.token for each in planner.plan(matcher, written).forced]


class Model:
    """A tokenizer, and what plans for it."""

    def __init__(self, directory: Path) -> None:
        self.tokenizer: Any = AutoTokenizer.from_pretrained(directory)
        self.walker: Walker = walker_of_tokenizer(self.tokenizer)
        self.planner = TokenPlanner(self.tokenizer.backend_tokenizer, self.walker.tokens)
        self.end: int = self.tokenizer.eos_token_id

    def ids(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def allowed(self, format_: dict[str, Any], written: Sequence[int]) -> list[str]:
        """What a narrowed mask allows behind `written`."""
        matcher = xgr.GrammarMatcher(self.walker.compile(compact_tag(format_)))
        assert all(matcher.accept_token(token) for token in written)
        mask = xgr.allocate_token_bitmask(1, len(self.walker.tokens))
        matcher.fill_next_token_bitmask(mask)
        for forced in self.planner.plan(matcher, written).forced[:1]:
            self.planner.masks.narrow(mask.numpy()[0], forced)
        bits = np.unpackbits(mask.numpy().view(np.uint8), bitorder="little")
        return [self.walker.tokens[token].decode(errors="replace") for token in bits.nonzero()[0]]

    def plan(self, format_: dict[str, Any], written: Sequence[int]) -> list[str]:
        """What is planned behind `written`, token by token."""
        matcher = xgr.GrammarMatcher(self.walker.compile(compact_tag(format_)))
        assert all(matcher.accept_token(token) for token in written)
        return [self.tokenizer.decode([token]) for token in planned_ids(self.planner, matcher, written)]


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
        planned_tokens = planned_ids(used.planner, matcher, answer[:at])
        assert planned_tokens == answer[at : at + len(planned_tokens)]
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


@pytest.mark.parametrize("at_most", [pytest.param(1, id="last"), pytest.param(2, id="another-may-follow")])
def test_a_plan_goes_as_far_as_the_answer_may_end(at_most: int) -> None:
    """What closes a call is forced. The end token needs no plan: the step that reads the rest writes it."""
    used = model(smollm2)
    written = used.ids(f'<tool_call>\n{{"name": "f", "arguments": {CALL}')

    assert "".join(used.plan(call("f", at_most=at_most), written)) == "}\n</tool_call>"


def test_a_long_constant_is_planned_piece_by_piece() -> None:
    """A plan is bounded, and the plans together are nearly the tokens of the whole."""
    used = model(smollm2)
    text = "All work and no play makes a long constant. " * 100
    matcher = xgr.GrammarMatcher(used.walker.compile(compact_tag(value({"const": text}))))
    answer, plans = used.ids(f'"{text}"'), []
    at = 0
    while tokens := planned_ids(used.planner, matcher, answer[:at]):
        assert all(matcher.accept_token(token) for token in tokens)
        assert tokens == answer[at : at + len(tokens)]
        at += len(tokens)
        plans.append(used.tokenizer.decode(tokens))

    assert at == len(answer)
    assert MOST < max(map(len, plans)) * 2 <= 2 * MOST


ENDLESS = [
    pytest.param('root ::= "a" root', "", "a" * MOST, id="from-the-start"),
    pytest.param('root ::= "x" | "y" loop\nloop ::= "ab" loop', "y", "ab" * (MOST // 2), id="later"),
]


@pytest.mark.parametrize(("grammar", "written", "forced"), ENDLESS)
def test_what_is_forced_without_end_is_planned_up_to_the_bound(
    grammar: str, written: str, forced: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client's grammar may lead nowhere. XGrammar's own jump forward would never come back from it."""
    # There is a bound of time too, which a busy machine meets first.
    monkeypatch.setattr("server.engine.drafting.time.perf_counter", lambda: 0.0)
    used = model(smollm2)
    text = "".join(used.plan({"type": "grammar", "grammar": grammar}, used.ids(written)))

    assert forced.startswith(text)
    assert len(text) > MOST // 2


@pytest.mark.parametrize(
    ("written", "allowed", "forbidden"),
    [
        pytest.param('{"city": "Oslo",', {' "'}, {" ", ' "d'}, id="inside"),
        pytest.param('{"city":', {' "', ' ""', ' "/', ' "-'}, {" "}, id="where-free-text-begins"),
        pytest.param('{"city": "Oslo", "days":', {" ", " -"}, {" 1"}, id="where-a-number-begins"),
    ],
)
def test_a_narrowed_mask_forbids_other_cuts_of_forced_text_and_no_text(
    written: str, allowed: set[str], forbidden: set[str]
) -> None:
    """A token that ends within the forced text is the planned one. What reaches beyond it stays allowed."""
    used = model(smollm2)
    found = used.allowed(value(WEATHER), used.ids(written))

    assert allowed <= set(found)
    assert not forbidden & set(found)


def test_a_plan_says_nothing_once_it_was_left_or_has_ended() -> None:
    """Where nothing is forced, that is known too, and not looked for again."""
    plan = Plan(1, (Forced(5, b"ab"), Forced(6, b"b")), goes_on=False)
    opened = Plan(1, (), goes_on=False)

    assert [plan.rest(written) for written in ([9], [9, 5])] == [plan.forced, plan.forced[1:]]
    assert [plan.rest(written) for written in ([9, 6], [9, 5, 6], [9, 5, 7])] == [None, None, None]
    assert [opened.rest(written) for written in ([9], [9, 5])] == [(), None]


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
    used.planner.plan(matcher, ids)
    matcher.fill_next_token_bitmask(after)

    assert before.tolist() == after.tolist()
    assert matcher.accept_token(used.end) is (written == CALL)


def test_a_character_of_which_only_the_first_byte_is_certain_is_not_planned() -> None:
    """`é` and `è` begin with the same byte. What stands before them is planned."""
    used = model(smollm2)

    assert used.plan(value({"enum": ["caf\u00e9", "caf\u00e8"]}), []) == ['"', "c"]
    assert used.plan(value({"enum": ["\u00e9", "\u00e8"]}), used.ids('"')) == []


def test_a_plan_ends_when_its_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found until then is planned, but for the last token, which may still change."""
    used = model(smollm2)
    whole = used.plan(value(WEATHER), [])
    clock = iter(range(1000))
    monkeypatch.setattr("server.engine.drafting.time.perf_counter", lambda: next(clock) * MOST_SECONDS / 8)
    found = used.plan(value(WEATHER), [])

    assert found == whole[: len(found)]
    assert 0 < len(found) < len(whole)
