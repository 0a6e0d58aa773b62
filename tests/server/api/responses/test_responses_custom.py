"""Custom tools in Responses: text in place of arguments, held by a grammar where there is one."""

from typing import Any

import pytest

from server.engine.protocol import Finish
from server.tokens.vocabulary import Vocabulary
from tests.server.api.responses.test_responses import LOOK, answer, error, post, streamed
from tests.server.scripted import always, call, serving

SQL = {"type": "custom", "name": "sql", "description": "Runs SQL."}


def grammar(definition: str, syntax: str = "regex") -> dict[str, Any]:
    return {**SQL, "format": {"type": "grammar", "syntax": syntax, "definition": definition}}


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        (SQL, 'SELECT "a\\b"\n\tFROM t -- 😀'),
        ({**SQL, "format": {"type": "text"}}, ""),
        (grammar("SELECT [a-z]+"), "SELECT abc"),
        (grammar("a|bc"), "bc"),
        (grammar('start: "(" start ")" | "x"', "lark"), "((x))"),
    ],
)
async def test_a_call_has_the_text(vocabulary: Vocabulary, tool: dict[str, Any], text: str) -> None:
    """As it is, without JSON around it; the model sees a function with one string."""
    async with serving(vocabulary, always(vocabulary, call("sql", {"input": text}))) as server:
        whole = await answer(server, tools=[tool], tool_choice={"type": "custom", "name": "sql"})
        stream = await streamed(server, tools=[tool], tool_choice="required")

        prompt = vocabulary.decode(server.engine.asked[0].prompt)
        held = server.metric(
            "strictcall_tool_calls_total", choice="required", constraint="schema", family="hermes"
        )
    for told in (whole, stream):
        [item] = told["output"]
        assert (item["type"], item["name"], item["input"]) == ("custom_tool_call", "sql", text)
    assert whole["tools"] == [tool]
    assert '"input": {"type": "string"' in prompt
    assert held == 1


async def test_the_whole_text_must_match(vocabulary: Vocabulary) -> None:
    """Every way of a choice is anchored at both ends, whatever an engine without a mask writes."""
    texts = [call("sql", {"input": text}) for text in ("bcx", "xa", "a")]
    async with serving(vocabulary, texts) as server:
        told = [await post(server, tools=[grammar("a|bc")], tool_choice="required") for _ in texts]

    assert [each.status_code for each in told] == [500, 500, 200]
    assert told[0].json()["error"]["code"] == "schema_violation"


async def test_a_cut_text_is_as_far_as_it_was_written(vocabulary: Vocabulary) -> None:
    """And its item is incomplete."""
    cut = call("sql", {"input": "SELECT abc"})[:-22]
    async with serving(vocabulary, always(vocabulary, cut, finish=Finish.LENGTH)) as server:
        whole = await answer(server, tools=[grammar("SELECT [a-z]+")])
        stream = await streamed(server, tools=[grammar("SELECT [a-z]+")])

    for told in (whole, stream):
        [item] = told["output"]
        assert item["status"] == told["status"] == "incomplete"
        assert "SELECT abc".startswith(item["input"])
        assert item["input"]


async def test_functions_and_custom_tools_stand_side_by_side(vocabulary: Vocabulary) -> None:
    """Each is called in its own way, and one of both kinds may be allowed."""
    text = f"{call('look', {'city': 'Lima'})}\n{call('sql', {'input': 'x'})}"
    allowed = [{"type": "custom", "name": "sql"}, {"type": "function", "name": "look"}]
    choice = {"type": "allowed_tools", "mode": "required", "tools": allowed}
    async with serving(vocabulary, always(vocabulary, text)) as server:
        told = await answer(server, tools=[LOOK, SQL], tool_choice=choice)

    assert [item["type"] for item in told["output"]] == ["function_call", "custom_tool_call"]


@pytest.mark.parametrize(
    ("tool", "code", "param"),
    [
        (grammar("start: WORD", "lark"), "invalid_value", "tools[0].format.definition"),
        (grammar("start: /(?=a)b/", "lark"), "invalid_value", "tools[0].format.definition"),
        (grammar('start: "a" start', "lark"), "invalid_function_parameters", "tools[0].format.definition"),
        (grammar("start: /\\p{Nope}/", "lark"), "invalid_function_parameters", "tools[0].format.definition"),
        (grammar("x", "ebnf"), "invalid_value", "tools[0].format.syntax"),
        (grammar(""), "string_below_min_length", "tools[0].format.definition"),
        (grammar("("), "invalid_value", "tools[0].format.definition"),
        (grammar("a)|(b"), "invalid_value", "tools[0].format.definition"),
        (grammar("(?=a)b"), "invalid_value", "tools[0].format.definition"),
        (grammar(r"\p{Nope}"), "invalid_function_parameters", "tools[0].format.definition"),
        (grammar("a" * 100_000), "invalid_function_parameters", "tools[0].format.definition"),
        ({**SQL, "format": {"type": "json"}}, "invalid_value", "tools[0].format.type"),
        ({"type": "custom"}, "missing_required_parameter", "tools[0].name"),
    ],
    ids=range(13),
)
async def test_what_cannot_be_held_is_refused(
    vocabulary: Vocabulary, tool: dict[str, Any], code: str, param: str
) -> None:
    """Before any model time."""
    async with serving(vocabulary, []) as server:
        told = await error(server, tools=[tool])

    assert (told["code"], told["param"]) == (code, param)
