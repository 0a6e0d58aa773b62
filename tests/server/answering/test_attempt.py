"""What the engine is asked: how many tokens may come together, which is cheaper than one by one."""

from typing import Any

import pytest

from parsers.families.hermes import HERMES
from server.answering.answer import prepare
from server.answering.attempt import GATHERED
from server.policy import OnViolation, Policy
from server.request import JsonSchema, Message, Mode, Request, SamplingParams, ToolChoice, ToolDefinition
from server.tokens.vocabulary import Vocabulary
from tests.server.scripted import serving

SINGLE = 1
SETS = {"type": "object", "properties": {"tags": {"type": "array", "uniqueItems": True}}}
"""No mask holds it: what has this schema is checked when it is complete, and held until then."""
WORDS = {
    "type": "object",
    "properties": {"word": {"enum": ["a", "b"]}},
    "required": ["word"],
    "additionalProperties": False,
}
"""The mask holds all of it: it passes as it is written."""
RIGHT = '{"word": "a"}'
"""An answer in both, as they come."""
REPORT = Policy(on_violation=OnViolation.REPORT)


def called(schema: dict[str, Any], mode: Mode = Mode.REQUIRED) -> dict[str, Any]:
    tool = ToolDefinition("f", parameters=schema, strict=True, param="tools[0].function")
    return {"tools": (tool,), "choice": ToolChoice(mode)}


def answered(schema: dict[str, Any]) -> dict[str, Any]:
    return {"answer_format": JsonSchema("set", schema, strict=True, param="response_format")}


WHOLE: list[dict[str, Any]] = [
    {},
    called(WORDS),
    called(SETS, Mode.AUTO),
    {"sampling": SamplingParams(logprobs=2)},
]
HELD = [called(SETS), answered(SETS), {**answered(SETS), **called(SETS, Mode.AUTO)}]
TOLD: list[dict[str, Any]] = [
    {},
    called(WORDS),
    called(SETS, Mode.AUTO),
    answered(WORDS),
    {**answered(SETS), **called(WORDS, Mode.AUTO)},
    {**called(SETS), "policy": REPORT},
    {**answered(SETS), "policy": REPORT},
]


async def interval(vocabulary: Vocabulary, *, reasons: bool = False, **fields: Any) -> int:
    """What the engine would be asked to gather for a request with these fields."""
    request = Request(id="r", api="chat", model="smol", messages=(Message("user", "Hi"),), **fields)
    family = HERMES if reasons else HERMES.without_reasoning()
    async with serving(vocabulary, [RIGHT], family=family) as server:
        answer = await prepare(request, server.context)
        _ = [step async for step in answer.steps()]
        [asked] = server.engine.asked
        return asked.sampling.stream_interval


@pytest.mark.parametrize("fields", WHOLE)
async def test_tokens_of_an_answer_that_is_told_whole_are_gathered(
    vocabulary: Vocabulary, fields: dict[str, Any]
) -> None:
    """Nobody sees one before the last."""
    assert await interval(vocabulary, **fields) == GATHERED


@pytest.mark.parametrize("fields", HELD)
async def test_tokens_of_a_stream_are_gathered_where_all_of_it_is_held(
    vocabulary: Vocabulary, fields: dict[str, Any]
) -> None:
    """The client is told nothing before a call or the answer is complete and checked."""
    assert await interval(vocabulary, stream=True, **fields) == GATHERED


@pytest.mark.parametrize("fields", TOLD)
async def test_a_token_that_may_be_told_comes_at_once(vocabulary: Vocabulary, fields: dict[str, Any]) -> None:
    """One tool or format that passes as it is written is enough for that."""
    assert await interval(vocabulary, stream=True, **fields) == SINGLE


async def test_reasoning_is_told_before_what_is_held(vocabulary: Vocabulary) -> None:
    """Where a model may think first, its thoughts come one by one."""
    assert await interval(vocabulary, stream=True, reasons=True, **called(SETS)) == SINGLE


async def test_a_stop_sequence_is_looked_for_in_each_token(vocabulary: Vocabulary) -> None:
    """Behind it the engine would write for nothing."""
    assert await interval(vocabulary, stop=("END",)) == SINGLE
