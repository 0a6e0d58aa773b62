"""Rules of the answer's format: OpenAI's `response_format`, vLLM's `structured_outputs`, never both."""

from typing import Any

import pytest

from server.api.body_errors import read_body
from server.api.chat.decode_format import decode_format
from server.api.chat.request import ChatRequestBody
from server.errors import ApiError
from server.request import AnswerFormat, FreeText, Grammar, JsonObject, JsonSchema, Matching, OneOf, Tagged

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


def decode(**fields: Any) -> AnswerFormat:
    return decode_format(read_body(ChatRequestBody, {**BODY, **fields}))


def refused(**fields: Any) -> tuple[str | None, str | None, str]:
    with pytest.raises(ApiError) as caught:
        decode(**fields)
    assert caught.value.status == 400
    return caught.value.kind.code, caught.value.param, caught.value.message


def json_schema(**definition: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "out", **definition}}


PARAM = "response_format.json_schema.schema"
FORMATS: dict[str, tuple[dict[str, Any] | None, AnswerFormat]] = {
    "absent": (None, FreeText()),
    "text": ({"type": "text"}, FreeText()),
    "json_object": ({"type": "json_object"}, JsonObject()),
    "schema": (json_schema(schema=SCHEMA), JsonSchema("out", SCHEMA, strict=False, param=PARAM)),
    "strict": (json_schema(schema=SCHEMA, strict=True), JsonSchema("out", SCHEMA, strict=True, param=PARAM)),
    "not_strict": (
        json_schema(schema=True, strict=None),
        JsonSchema("out", schema=True, strict=False, param=PARAM),
    ),
    "no_schema": (json_schema(description="d"), JsonObject()),
    "null_schema": (json_schema(schema=None, strict=True), JsonObject()),
}


@pytest.mark.parametrize(("asked", "expected"), FORMATS.values(), ids=FORMATS)
def test_response_format(asked: dict[str, Any] | None, expected: AnswerFormat) -> None:
    """Text is no format (B235); without a schema any object will do; schemas know their place (B229)."""
    assert decode(response_format=asked) == expected


STRUCTURED: dict[str, tuple[dict[str, Any], AnswerFormat]] = {
    "choice": ({"choice": ["a", "b"]}, OneOf(("a", "b"))),
    "regex": ({"regex": "a+", "json": None}, Matching("a+")),
    "json": (
        {"json": SCHEMA},
        JsonSchema("structured_outputs", SCHEMA, strict=True, param="structured_outputs.json"),
    ),
    "json_text": (
        {"json": '{"type": "integer"}'},
        JsonSchema("structured_outputs", {"type": "integer"}, strict=True, param="structured_outputs.json"),
    ),
    "json_object": ({"json_object": True}, JsonObject()),
    "grammar": ({"grammar": 'root ::= "a"'}, Grammar('root ::= "a"')),
    "structural_tag": ({"structural_tag": {"format": {}}}, Tagged({"format": {}})),
    "structural_tag_text": ({"structural_tag": '{"format": {}}'}, Tagged({"format": {}})),
}


@pytest.mark.parametrize(("asked", "expected"), STRUCTURED.values(), ids=STRUCTURED)
def test_structured_outputs(asked: dict[str, Any], expected: AnswerFormat) -> None:
    """Each of vLLM's ways to constrain an answer is read; a schema or a tag may also be its JSON text."""
    assert decode(structured_outputs=asked) == expected
    assert decode(structured_outputs=asked, response_format={"type": "text"}) == expected


@pytest.mark.parametrize(
    ("asked", "count"), [({}, 0), ({"json_object": False}, 0), ({"regex": "a", "choice": ["a"]}, 2)]
)
def test_structured_outputs_are_exactly_one(asked: dict[str, Any], count: int) -> None:
    """None, or two at once, is refused rather than guessed."""
    assert refused(structured_outputs=asked) == (
        "invalid_value",
        "structured_outputs",
        (
            "Invalid 'structured_outputs': expected exactly one of 'choice', 'regex', 'json', 'json_object', "
            f"'grammar', and 'structural_tag', but got {count} of them."
        ),
    )


def test_only_one_format_can_be_asked_for() -> None:
    """The two ways to ask for a format cannot both be followed."""
    code, param, message = refused(structured_outputs={"regex": "a"}, response_format={"type": "json_object"})

    assert (code, param) == ("invalid_value", "structured_outputs")
    assert message.endswith("it cannot be combined with 'response_format'. Send one of them.")


@pytest.mark.parametrize(
    ("text", "code"), [("{", "invalid_value"), ("[" * 100_000, "invalid_value"), ("[]", "invalid_type")]
)
def test_the_text_of_a_structural_tag_is_an_object(text: str, code: str) -> None:
    """Text that is not JSON, or not an object, is refused; endless nesting is not followed."""
    assert refused(structured_outputs={"structural_tag": text})[:2] == (
        code,
        "structured_outputs.structural_tag",
    )
