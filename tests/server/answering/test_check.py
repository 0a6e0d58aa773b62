"""What is refused before any model time is spent."""

from typing import Any, cast

import pytest

from server.answering.check import check, fit
from server.errors import ApiError, Code
from server.request import JsonSchema, Message, Request, SamplingParams, ToolDefinition
from server.schema.plan import SchemaPlanner
from server.schema.profile import SchemaProfile
from server.tokens.vocabulary import Vocabulary


def ask(**fields: Any) -> Request:
    return Request(**{"id": "r", "api": "chat", "model": "m", "messages": (Message("user", "Hi"),), **fields})


class SmallVocabulary:
    """What `check` asks of a vocabulary: a hundred tokens, of five characters at most."""

    size = 100
    longest = 5


def checked(request: Request, profile: SchemaProfile = SchemaProfile.NATIVE) -> ApiError | None:
    """The refusal of a request by a server with the models m and n and a context of 10 tokens."""
    vocabulary = cast("Vocabulary", SmallVocabulary())
    try:
        check(
            request,
            model_names=("m", "n"),
            vocabulary=vocabulary,
            max_model_len=10,
            planner=SchemaPlanner(),
            profile=profile,
        )
    except ApiError as error:
        return error
    return None


GOOD = {
    "another name of the model": {"model": "n"},
    "the last token": {"sampling": SamplingParams(logit_bias={99: 1.0})},
    "a tool without parameters": {"tools": (ToolDefinition("f"),)},
    "a tool with any schema": {"tools": (ToolDefinition("f", parameters=True, param="tools[0].function"),)},
    "text that could just fit": {"messages": (Message("user", "a" * 49),)},
    "a schema": {
        "answer_format": JsonSchema("out", {"type": "array"}, strict=False, param="response_format")
    },
}


@pytest.mark.parametrize("fields", GOOD.values(), ids=GOOD)
def test_what_can_be_done_passes(fields: dict[str, Any]) -> None:
    """Nothing is refused that the server could do."""
    assert checked(ask(**fields)) is None


BAD_TYPE = {"type": "objekt"}
BAD = {
    "a model that is not served": ({"model": "gpt-4o"}, Code.MODEL_NOT_FOUND, "model"),
    "a token that does not exist": (
        {"sampling": SamplingParams(logit_bias={100: 1.0})},
        Code.INVALID_VALUE,
        "logit_bias",
    ),
    "parameters that are no schema": (
        {"tools": (ToolDefinition("f"), ToolDefinition("g", parameters=BAD_TYPE, param="tools[1].function"))},
        Code.INVALID_TOOLS,
        "tools[1].function.parameters",
    ),
    "parameters that are no object": (
        {"tools": (ToolDefinition("g", parameters={"type": "string"}, param="tools[0].function"),)},
        Code.INVALID_TOOLS,
        "tools[0].function.parameters",
    ),
    "text that cannot fit": (
        {"messages": (Message("user", "a" * 30), Message("user", "a" * 20))},
        Code.CONTEXT_LENGTH,
        "messages",
    ),
    "a format that is no schema": (
        {
            "answer_format": JsonSchema(
                "out", BAD_TYPE, strict=False, param="response_format.json_schema.schema"
            )
        },
        Code.INVALID_SCHEMA,
        "response_format.json_schema.schema",
    ),
}


@pytest.mark.parametrize(("fields", "code", "param"), BAD.values(), ids=BAD)
def test_what_cannot_be_done_is_refused_by_name(fields: dict[str, Any], code: Code, param: str) -> None:
    """The error names the place in the request, whether or not the tool may be called."""
    error = checked(ask(**fields))

    assert error is not None
    assert (error.kind, error.param) == (code, param)


def test_an_unknown_model_is_answered_with_those_there_are() -> None:
    """The way out is in the message."""
    assert str(checked(ask(model="gpt-4o"))) == "The model 'gpt-4o' does not exist. This server has 'm', 'n'."


@pytest.mark.parametrize(("asked", "budget"), [(None, 30), (5, 5), (30, 30), (31, 30)])
def test_an_answer_is_bounded_by_its_budget_and_by_the_context(asked: int | None, budget: int) -> None:
    """A budget over what the context leaves is a cap, not a mistake (B314)."""
    request = ask(sampling=SamplingParams(max_tokens=asked))

    assert fit(request, prompt_tokens=70, max_model_len=100) == budget


@pytest.mark.parametrize("tokens", [100, 5000])
def test_a_prompt_that_leaves_no_room_is_refused(tokens: int) -> None:
    """OpenAI's code and words, which agents look for to shorten their history."""
    with pytest.raises(ApiError, match="maximum context length is 100 tokens") as caught:
        fit(ask(), prompt_tokens=tokens, max_model_len=100)

    assert caught.value.kind is Code.CONTEXT_LENGTH
    assert str(tokens) in str(caught.value)


OPEN = {"type": "object", "properties": {"a": {"type": "string"}}}
CLOSED = {**OPEN, "required": ["a"], "additionalProperties": False}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        (
            {"tools": (ToolDefinition("f", parameters=OPEN, param="tools[0].function", strict=True),)},
            "tools[0]",
        ),
        ({"tools": (ToolDefinition("f", parameters=OPEN, param="tools[0].function"),)}, None),
        ({"tools": (ToolDefinition("f", parameters=CLOSED, param="tools[0].function", strict=True),)}, None),
        ({"answer_format": JsonSchema("out", OPEN, strict=True, param="response_format")}, "response_format"),
        ({"answer_format": JsonSchema("out", OPEN, strict=False, param="response_format")}, None),
    ],
    ids=["open", "not strict", "closed", "answer", "answer not strict"],
)
def test_the_profile_of_openai_refuses_strict_schemas_only(fields: dict[str, Any], param: str | None) -> None:
    """In the form of its own refusals; what is not strict it takes as it is."""
    error = checked(ask(**fields), SchemaProfile.OPENAI)

    assert checked(ask(**fields)) is None
    if param is None:
        assert error is None
    else:
        assert error is not None
        assert str(error.param).startswith(param)
        assert (
            "In context=(), 'additionalProperties' is required to be supplied and to be false."
            in error.message
        )
