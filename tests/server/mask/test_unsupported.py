"""Keywords that the mask does not hold: named in a refusal, or told to the model in words."""

from typing import Any

import pytest

from parsers.families.hermes import HERMES
from server.config.settings import ToolMask
from server.errors import ApiError, Code
from server.mask.constrain import Constraint, constrain
from server.mask.unsupported import WORDS, described, in_words, refuse_unmasked, with_rules
from server.request import JsonSchema, Message, Mode, Request, ToolChoice, ToolDefinition
from server.schema.plan import SchemaPlanner
from server.schema.report import ASSERTIONS
from server.schema.unmasked import Unmasked

UNIQUE = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
FREE_KEYS = {"type": "object", "additionalProperties": {"type": "integer"}}


def tags(**more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"tags": {**UNIQUE, **more}}, "required": ["tags"]}


def tool(parameters: Any, *, strict: bool = True, **more: Any) -> ToolDefinition:
    return ToolDefinition("f", parameters=parameters, strict=strict, param="tools[0].function", **more)


def ask(*tools: ToolDefinition, **more: Any) -> Request:
    choice = ToolChoice(Mode.AUTO if tools else Mode.NONE)
    return Request("r", "chat", "m", (Message("user", "Hi"),), tools=tools, choice=choice, **more)


def constrained(request: Request) -> Constraint:
    return constrain(
        request,
        family=HERMES,
        planner=SchemaPlanner(),
        tool_mask=ToolMask.ENVELOPE,
        max_calls=4,
        opens_reasoning=False,
    )


def shown(definition: ToolDefinition) -> ToolDefinition:
    [only] = described(ask(definition), SchemaPlanner(), HERMES.call.style).tools
    return only


def refusal(request: Request) -> ApiError:
    with pytest.raises(ApiError) as caught:
        refuse_unmasked(constrained(request))
    return caught.value


def test_a_refusal_names_keyword_place_and_reason() -> None:
    """It is about the first function that has one, and names the rest too."""
    second = ToolDefinition("g", parameters=tags(), strict=True, param="tools[1].function")
    error = refusal(ask(tool(tags()), second))

    assert (error.kind, error.param) == (Code.INVALID_TOOLS, "tools[0].function.parameters")
    assert error.message.startswith(
        "Invalid schema for function 'f': the mask cannot hold 'uniqueItems' at '#/properties/tags' ("
    )
    assert "; for function 'g': the mask cannot hold 'uniqueItems'" in error.message


def test_a_format_is_refused_as_a_format() -> None:
    """With the code for it, and its place."""
    error = refusal(ask(answer_format=JsonSchema("out", tags(), strict=True, param="response_format.x")))

    assert (error.kind, error.param) == (Code.INVALID_SCHEMA, "response_format.x")
    assert "response_format 'out'" in error.message


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(ask(tool(tags(), strict=False)), id="a loose tool"),
        pytest.param(
            ask(answer_format=JsonSchema("out", tags(), strict=False, param="x")), id="a loose format"
        ),
        pytest.param(ask(tool({"type": "object", "properties": {}})), id="what the mask holds"),
        pytest.param(ask(tool(FREE_KEYS)), id="keys that may be doubled"),
    ],
)
def test_what_is_no_broken_promise_is_not_refused(request_: Request) -> None:
    """Of what is loose nothing was promised, and that no key stands twice is no keyword of the client's."""
    refuse_unmasked(constrained(request_))


def test_a_rule_is_written_behind_the_description_of_its_field() -> None:
    """In a copy: the client's schema is what is checked."""
    parameters = tags(description="What it is about.")
    seen = shown(tool(parameters))

    assert isinstance(seen.parameters, dict)
    assert seen.parameters["properties"]["tags"] == {
        **UNIQUE,
        "description": "What it is about. The items all differ.",
    }
    assert parameters == tags(description="What it is about.")


def noted(parameters: Any, *places: tuple[str, str]) -> ToolDefinition:
    entries = (Unmasked(pointer, keyword, "why") for pointer, keyword in places)
    return with_rules(tool(parameters, description="Counts."), entries)


def test_a_rule_of_all_arguments_is_written_behind_the_description_of_the_tool() -> None:
    """Templates show it; the description of the arguments as a whole seldom."""
    parameters = {"type": "object", "minProperties": 2, "properties": {"a": False}}
    seen = noted(parameters, ("#", "minProperties"), ("#/properties/a", "not"))

    assert seen.parameters == parameters
    assert seen.description == (
        "Counts. There are at least 2 keys. At #/properties/a: It does not fit false."
    )


def test_rules_are_found_in_lists_references_and_escaped_keys() -> None:
    """Wherever the pointer leads; several rules of one field stand behind each other."""
    parameters = {
        "type": "object",
        "properties": {"a/b ": {"anyOf": [{"type": "null"}, UNIQUE]}, "c": {"$ref": "#/$defs/d"}},
        "$defs": {"d": {**UNIQUE, "minItems": 2}},
    }
    seen: Any = noted(
        parameters,
        ("#/properties/a~1b%20/anyOf/1", "uniqueItems"),
        ("#/$defs/d", "uniqueItems"),
        ("#/$defs/d", "minItems"),
    ).parameters

    assert seen["properties"]["a/b "]["anyOf"][1]["description"] == "The items all differ."
    assert seen["$defs"]["d"]["description"] == "The items all differ. There are at least 2 items."
    assert seen["properties"]["c"] == {"$ref": "#/$defs/d"}


@pytest.mark.parametrize(
    "definition",
    [tool(tags(), strict=False), tool(None), tool(True), tool(FREE_KEYS)],
    ids=["loose", "no schema", "true", "no keyword unmasked"],
)
def test_nothing_else_is_changed(definition: ToolDefinition) -> None:
    """What the model reads is then what the client wrote."""
    assert shown(definition) == definition


@pytest.mark.parametrize("keyword", sorted(WORDS))
def test_every_keyword_is_told_with_its_value(keyword: str) -> None:
    """Words without the value would be no rule; one keyword has none."""
    words = in_words(keyword, {keyword: ["value"]})

    assert ('["value"]' in words) is (keyword != "uniqueItems")
    assert words.endswith(".")


def test_the_keywords_that_have_words_are_those_that_can_be_broken() -> None:
    """References and lists of properties are broken only through what stands in them."""
    through = {"$ref", "$dynamicRef", "$recursiveRef", "properties", "additionalItems"}

    assert {*WORDS} == ASSERTIONS - through


def test_an_older_spelling_is_found_by_its_new_name() -> None:
    """Plans speak 2020-12."""
    assert in_words("dependentRequired", {"dependencies": {"a": ["b"]}}).endswith('{"a": ["b"]}.')


def test_a_long_value_is_cut() -> None:
    """The model reads the schema as well."""
    assert len(in_words("not", {"not": {"enum": ["word"] * 500}})) < 350
