"""`response_format` and `structured_outputs` of a chat request, as the format that the answer must have.

{"response_format": {"type": "json_schema", "json_schema": {"name": "city", "schema": {…}}}}
# JsonSchema(name="city", schema={…}, strict=False, param="response_format.json_schema.schema")
"""

import json
from typing import Protocol

from server.api import refusals
from server.api.chat.request import (
    JsonObjectFormat,
    JsonSchemaFormat,
    ResponseFormat,
    StructuredOutputs,
)
from server.request import (
    AnswerFormat,
    FreeText,
    Grammar,
    Json,
    JsonObject,
    JsonSchema,
    Matching,
    OneOf,
    Tagged,
)

JSON_PATH = "structured_outputs.json"
TAG_PATH = "structured_outputs.structural_tag"


class Formatted(Protocol):
    """A body that says of what form its answer is."""

    @property
    def response_format(self) -> ResponseFormat | None: ...

    @property
    def structured_outputs(self) -> StructuredOutputs | None: ...


def decode_format(body: Formatted) -> AnswerFormat:
    """The format of the answer. Raises `ApiError` (400) if the request asks for two, or for half of one."""
    asked = _response_format(body.response_format) if body.response_format is not None else FreeText()
    if body.structured_outputs is None:
        return asked
    if not isinstance(asked, FreeText):
        raise refusals.invalid(
            "structured_outputs", "it cannot be combined with 'response_format'. Send one of them."
        )
    return _structured(body.structured_outputs)


def _response_format(asked: ResponseFormat) -> AnswerFormat:
    if isinstance(asked, JsonSchemaFormat):
        definition = asked.json_schema
        if definition.schema_ is None:
            return JsonObject()
        return JsonSchema(
            name=definition.name,
            schema=definition.schema_,
            strict=definition.strict is True,
            param="response_format.json_schema.schema",
        )
    return JsonObject() if isinstance(asked, JsonObjectFormat) else FreeText()


def _structured(asked: StructuredOutputs) -> AnswerFormat:
    """The one form that is asked for; `false` asks for none."""
    formats: list[AnswerFormat] = []
    if asked.choice is not None:
        formats.append(OneOf(tuple(asked.choice)))
    if asked.regex is not None:
        formats.append(Matching(asked.regex))
    if asked.json_ is not None:
        # Whoever asks for this field asks for a mask: what it cannot hold must be refused.
        schema = _object(asked.json_, JSON_PATH)
        formats.append(JsonSchema(name="structured_outputs", schema=schema, strict=True, param=JSON_PATH))
    if asked.json_object:
        formats.append(JsonObject())
    if asked.grammar is not None:
        formats.append(Grammar(asked.grammar))
    if asked.structural_tag is not None:
        formats.append(Tagged(_object(asked.structural_tag, TAG_PATH)))
    if len(formats) != 1:
        raise refusals.invalid(
            "structured_outputs",
            "expected exactly one of 'choice', 'regex', 'json', 'json_object', 'grammar', and "
            f"'structural_tag', but got {len(formats)} of them.",
        )
    return formats[0]


def _object(value: dict[str, Json] | str, path: str) -> dict[str, Json]:
    """An object, or what the text of one says."""
    if isinstance(value, dict):
        return value
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError) as fault:
        raise refusals.invalid(path, "the text is not JSON.") from fault
    if not isinstance(parsed, dict):
        raise refusals.wrong_type(path, "the JSON text of an object", parsed)
    return parsed
