"""Schemas that have hurt other servers, sent to ours: each is answered, and the engine asked if it is a 200.

The numbers are those of our collection of faults.
"""

import json
import math
from typing import Any

import pytest

from server.schema.deadline import CompileDeadline
from server.tokens.vocabulary import Vocabulary
from tests.server.schema.faults import HEAVY, HELD, REFUSED, object_of
from tests.server.scripted import Server, Told, always, call, script, serving, told, tool

PARAMETERS = "tools[0].function.parameters"
SCHEMA = "response_format.json_schema.schema"
ROAD = {"$defs": {"A": object_of("s", s={"type": "string"})}, **object_of("to", to={"$ref": "#/$defs/A"})}
HOST = {"$defs": {"A": {"type": "string"}}, **object_of("ip", ip={"$ref": "#/$defs/A"})}


def in_form(schema: Any) -> dict[str, Any]:
    """A request for an answer in a schema."""
    asked = {"name": "out", "schema": schema, "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": asked}}


def trusting() -> CompileDeadline:
    """A deadline that tries nothing, as no engine is there to be kept."""
    return CompileDeadline(lambda: pytest.fail("nothing is to be tried"), seconds=1, doubtful_ms=math.inf)


async def refused(server: Server, **body: Any) -> dict[str, Any]:
    """The error of a request that must be refused before the engine is asked."""
    asked = len(server.engine.asked)
    response = await server.post(**body)
    assert (response.status_code, len(server.engine.asked)) == (400, asked), response.text
    error: dict[str, Any] = response.json()["error"]
    return error


@pytest.mark.parametrize(("schema", "right"), [case[:2] for case in HELD.values()], ids=HELD)
async def test_what_fits_is_answered(vocabulary: Vocabulary, schema: Any, right: list[Any]) -> None:
    """Under a mask, in either mode (B060, B236, B242, B245, B269)."""
    text = json.dumps(right[0], ensure_ascii=False)
    async with serving(vocabulary, always(vocabulary, text), deadline=trusting()) as server:
        assert await server.answers(**in_form(schema)) == [Told(text)]
        assert server.engine.asked[0].structural_tag is not None


@pytest.mark.parametrize(("schema", "pointer", "words"), REFUSED.values(), ids=REFUSED)
async def test_what_describes_nothing_is_a_400(
    vocabulary: Vocabulary, schema: Any, pointer: str, words: str
) -> None:
    """With the field and the place in it, for a tool and for an answer (B062, B098, B099, B229)."""
    context = tuple(pointer.split("/")[1:])
    async with serving(vocabulary, []) as server:
        answer = await refused(server, **in_form(schema))
        called = await refused(server, tools=[tool("f", object_of("a", a=schema), strict=True)])

    assert (answer["param"], answer["code"]) == (SCHEMA, "invalid_json_schema")
    assert f"In context={context}, " in answer["message"]
    assert words in answer["message"]
    assert (called["param"], called["code"]) == (PARAMETERS, "invalid_function_parameters")


@pytest.mark.parametrize(("schema", "words"), HEAVY.values(), ids=HEAVY)
async def test_a_heavy_schema_is_served_or_refused(
    vocabulary: Vocabulary, schema: Any, words: str | None
) -> None:
    """By a limit that has a name, and before the engine is asked; a plain request comes through behind it."""
    async with serving(vocabulary, always(vocabulary, "1"), deadline=trusting()) as server:
        if words is None:
            assert (await server.post(max_tokens=1, **in_form(schema))).status_code == 200
        else:
            error = await refused(server, **in_form(schema))
            assert error["param"].startswith(SCHEMA)
            assert words in error["message"]
        assert told(await server.chat()) == [Told("1")]


async def test_the_tool_at_fault_is_named(vocabulary: Vocabulary) -> None:
    """And the place in its parameters: of many tools, one must not cost a search (B078)."""
    good = tool("add_stock", object_of("sku", sku={"type": "string"}), strict=True)
    bad = tool("by_id", object_of("id", id={"type": "string", "pattern": "("}), strict=True)
    async with serving(vocabulary, []) as server:
        error = await refused(server, tools=[good, bad])

    assert error["param"] == "tools[1].function.parameters"
    assert "function 'by_id': In context=('properties', 'id', 'pattern')" in error["message"]


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "ship"}}], ids=str)
async def test_each_tool_has_its_own_definitions(vocabulary: Vocabulary, choice: Any) -> None:
    """Two of one name do not meet, wherever the mask puts them (B086, B087)."""
    tools = [tool("ship", ROAD, strict=True), tool("host", HOST, strict=True)]
    arguments = {"to": {"s": "Main St"}}
    async with serving(vocabulary, always(vocabulary, call("ship", arguments))) as server:
        [answer] = await server.answers(tools=tools, tool_choice=choice)

    assert answer.calls == (("ship", json.dumps(arguments)),)


async def test_a_broken_grammar_costs_no_other_request(vocabulary: Vocabulary) -> None:
    """Whichever comes first (B106, B232)."""
    good = {"structured_outputs": {"grammar": 'root ::= "yes" | "no"'}}
    async with serving(vocabulary, always(vocabulary, "yes")) as server:
        for broken in ("root ::= missing_rule", "root ::= root", "root ::="):
            assert told(await server.chat(**good)) == [Told("yes")]
            error = await refused(server, structured_outputs={"grammar": broken})
            assert error["param"] == "structured_outputs.grammar"


async def test_each_choice_has_its_own_mask(vocabulary: Vocabulary) -> None:
    """Three answers under one schema are three answers (B249)."""
    schema = object_of("k", k={"type": "integer"})
    texts = [json.dumps({"k": number}) for number in range(3)]
    async with serving(vocabulary, [script(vocabulary, text) for text in texts]) as server:
        answer = await server.chat(n=3, **in_form(schema))

    assert sorted(choice.content for choice in told(answer)) == texts
    assert len({asked.structural_tag for asked in server.engine.asked}) == 1


async def test_the_plain_format_is_no_format(vocabulary: Vocabulary) -> None:
    """It is as if nothing had been said (B235)."""
    async with serving(vocabulary, always(vocabulary, "Hi.")) as server:
        assert await server.answers(response_format={"type": "text"}) == [Told("Hi.")]
        assert server.engine.asked[0].structural_tag is None
