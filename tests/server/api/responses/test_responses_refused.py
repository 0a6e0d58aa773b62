"""`/v1/responses`: what is refused, with which error, before the engine is asked."""

from typing import Any

import pytest

from server.tokens.vocabulary import Vocabulary
from tests.server.api.responses.test_responses import LOOK, error
from tests.server.scripted import serving

REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"input": None}, "missing_required_parameter", "input"),
    ({"input": []}, "empty_array", "input"),
    ({"input": 5}, "invalid_type", "input"),
    ({"input": [5]}, "invalid_type", "input[0]"),
    ({"input": [{}]}, "missing_required_parameter", "input[0].type"),
    ({"input": [{"type": "web_search_call", "id": "ws_1"}]}, "invalid_value", "input[0].type"),
    ({"input": [{"role": "tool", "content": "x"}]}, "invalid_value", "input[0].role"),
    (
        {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]},
        "unsupported_value",
        "input[0].content[0].type",
    ),
    (
        {"input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]},
        "invalid_value",
        "input[0].call_id",
    ),
    ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "invalid_value", "input[0].id"),
    ({"input": "word " * 9000}, "context_length_exceeded", "input"),
    ({"background": True}, "unsupported_value", "background"),
    ({"conversation": "conv_1"}, "unsupported_parameter", "conversation"),
    ({"prompt": {"id": "pmpt_1"}}, "unsupported_parameter", "prompt"),
    ({"previous_response_id": "resp_1"}, "previous_response_not_found", "previous_response_id"),
    ({"max_output_tokens": 0}, "integer_below_min_value", "max_output_tokens"),
    ({"stream_options": {}}, "invalid_value", "stream_options"),
    ({"include": ["x"]}, "invalid_value", "include[0]"),
    ({"tools": [{"type": "functoin", "name": "f"}]}, "invalid_value", "tools[0].type"),
    ({"tools": [{"type": "function"}]}, "missing_required_parameter", "tools[0].name"),
    ({"tools": [LOOK, LOOK]}, "invalid_value", "tools[1].name"),
    ({"tools": [LOOK], "tool_choice": {"type": "function", "name": "x"}}, "invalid_value", "tool_choice"),
    ({"tools": [LOOK], "tool_choice": {"type": "custom", "name": "look"}}, "invalid_value", "tool_choice"),
    (
        {"tools": [{**LOOK, "parameters": {"type": "strin"}}]},
        "invalid_function_parameters",
        "tools[0].parameters",
    ),
    (
        {"text": {"format": {"type": "json_schema", "name": "x", "schema": {"type": "strin"}}}},
        "invalid_json_schema",
        "text.format.schema",
    ),
    (
        {"text": {"format": {"type": "json_schema", "schema": {}}}},
        "missing_required_parameter",
        "text.format.name",
    ),
    ({"response_format": {"type": "json_object"}, "model": "x"}, "model_not_found", "model"),
    ({"strictcall": {"reprt": True}}, "unknown_parameter", "strictcall.reprt"),
]


@pytest.mark.parametrize(("body", "code", "param"), REFUSED, ids=[str(row) for row in range(len(REFUSED))])
async def test_what_is_wrong_is_refused_before_any_model_time(
    vocabulary: Vocabulary, body: dict[str, Any], code: str, param: str
) -> None:
    """With the field at fault, as this API names it."""
    async with serving(vocabulary, []) as server:
        for stream in (False, True) if "stream_options" not in body else (False,):
            told = await error(server, **body, stream=stream)

            assert (told["code"], told["param"]) == (code, param)
