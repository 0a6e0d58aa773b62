"""Rules of the body of Chat Completions: what is taken, what is refused, and that the description is true."""

from typing import Any

import jsonschema_rs
import pytest

from server.api.body_errors import read_body
from server.api.chat.request import EXAMPLES, ChatRequestBody
from server.errors import ApiError

USER = {"role": "user", "content": "Hi"}
BODY = {"model": "m", "messages": [USER]}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
ALLOWED = {"mode": "auto", "tools": [{"type": "function", "function": {"name": "f"}}]}

TAKEN: dict[str, list[Any]] = {
    "messages": [
        [{"role": "system", "content": "a"}, {"role": "developer", "content": "b"}, USER],
        [{"role": "user", "content": []}],
        [{"role": "user", "content": [{"type": "text", "text": "a"}]}],
        [{"role": "assistant"}, {"role": "tool"}, {"role": "function", "name": "f"}],
        [{"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}], "tool_calls": []}],
        [{"role": "assistant", "tool_calls": [{"function": {"name": "f"}}], "function_call": {"name": "g"}}],
    ],
    "tools": [
        [{"type": "function", "function": {"name": "f"}}],
        [{"type": "function", "function": {"name": "a-Z_9", "parameters": True, "strict": None}}],
        [TOOL] * 200,
    ],
    "tool_choice": [
        "none",
        "auto",
        "required",
        {"type": "function", "function": {"name": "f"}},
        {"type": "function", "name": "f"},
        {"type": "allowed_tools", "allowed_tools": ALLOWED},
        {"type": "allowed_tools", **ALLOWED},
        {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]},
    ],
    "parallel_tool_calls": [True, False],
    "functions": [[{"name": "f"}], [{"name": "f", "description": "d", "parameters": {}}] * 128],
    "function_call": ["none", "auto", {"name": "f"}],
    "response_format": [
        {"type": "text"},
        {"type": "json_object"},
        {"type": "json_schema", "json_schema": {"name": "n"}},
        {
            "type": "json_schema",
            "json_schema": {"name": "n" * 64, "schema": {"type": "object"}, "strict": True},
        },
    ],
    "structured_outputs": [
        {"choice": ["a", "b"]},
        {"regex": "a+"},
        {"json": {"type": "object"}},
        {"grammar": 'root ::= "a"'},
        {"structural_tag": {"type": "structural_tag"}},
        {"structural_tag": "{}"},
    ],
    "strictcall": [
        {},
        {"unsupported_keywords": "describe", "report": True, "strict_tools": False},
        {"on_violation": "retry", "max_attempts": 10},
        {"on_violation": None, "max_attempts": 1},
    ],
    "n": [1, 128],
    "stop": ["a", ["a"], ["a", "b", "c", "d"]],
    "max_completion_tokens": [1, 10**6],
    "max_tokens": [1],
    "logprobs": [True, False],
    "top_logprobs": [0, 20],
    "stream": [True, False],
    "stream_options": [{}, {"include_usage": True}, {"include_obfuscation": False, "other": 1}],
    "include_reasoning": [False],
    "temperature": [0, 2, 1.5],
    "top_p": [0, 1],
    "top_k": [-1, 0, 40],
    "min_p": [0, 0.5],
    "frequency_penalty": [-2, 2],
    "presence_penalty": [-2.0, 2.0],
    "repetition_penalty": [1, 1.1],
    "seed": [0, -(2**63), 2**63 - 1],
    "logit_bias": [{}, {"0": -100, "50256": 100.0}],
    "reasoning_effort": ["none", "minimal", "low", "medium", "high", "xhigh", "max"],
    "chat_template_kwargs": [{"enable_thinking": False}],
    "continue_final_message": [True],
    "metadata": [{}, {"k" * 64: "v" * 512}],
    "modalities": [["text"]],
    "prediction": [{"type": "content", "content": "x"}],
    "prompt_cache_key": ["k"],
    "prompt_cache_options": [{"ttl": "24h"}],
    "prompt_cache_retention": ["24h"],
    "safety_identifier": ["s" * 128],
    "service_tier": ["auto", "default", "flex", "scale", "priority", "fast"],
    "store": [True, False],
    "user": ["u"],
    "verbosity": ["low", "medium", "high"],
    "audio": [],
    "moderation": [],
    "web_search_options": [],
    "chat_template": [],
}
"""For each field, values that are taken; null is another for all that have a default."""

REFUSED: dict[str, list[tuple[Any, str, str]]] = {
    "model": [
        (None, "invalid_type", "model"),
        (5, "invalid_type", "model"),
        ("", "string_below_min_length", "model"),
    ],
    "messages": [
        (None, "invalid_type", "messages"),
        ("Hi", "invalid_type", "messages"),
        ({}, "invalid_type", "messages"),
        ([], "empty_array", "messages"),
        ([None], "invalid_type", "messages[0]"),
        (["Hi"], "invalid_type", "messages[0]"),
        ([{"role": "bot", "content": "a"}], "invalid_value", "messages[0].role"),
        ([{"role": None, "content": "a"}], "missing_required_parameter", "messages[0].role"),
        ([USER, {"role": "user"}], "missing_required_parameter", "messages[1].content"),
        ([{"role": "user", "content": None}], "invalid_type", "messages[0].content"),
        ([{"role": "user", "content": ["a"]}], "invalid_type", "messages[0].content[0]"),
        (
            [{"role": "user", "content": [{"text": "a"}]}],
            "missing_required_parameter",
            "messages[0].content[0].type",
        ),
        (
            [{"role": "user", "content": [{"type": "text"}]}],
            "missing_required_parameter",
            "messages[0].content[0].text",
        ),
        ([{"role": "user", "content": [{"type": "pdf"}]}], "invalid_value", "messages[0].content[0].type"),
        (
            [{"role": "assistant", "content": [{"type": "image_url"}]}],
            "invalid_value",
            "messages[0].content[0].type",
        ),
        ([{"role": "assistant", "tool_calls": {}}], "invalid_type", "messages[0].tool_calls"),
        (
            [{"role": "assistant", "tool_calls": [{}]}],
            "missing_required_parameter",
            "messages[0].tool_calls[0].function",
        ),
        (
            [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}],
            "invalid_type",
            "messages[0].tool_calls[0].function.arguments",
        ),
        (
            [{"role": "assistant", "tool_calls": [{"type": "custom", "custom": {"name": "f"}}]}],
            "missing_required_parameter",
            "messages[0].tool_calls[0].custom.input",
        ),
        ([{"role": "function", "content": "a"}], "missing_required_parameter", "messages[0].name"),
    ],
    "tools": [
        ([], "empty_array", "tools"),
        ({}, "invalid_type", "tools"),
        ([{}], "missing_required_parameter", "tools[0].type"),
        ([TOOL, {"type": "function"}], "missing_required_parameter", "tools[1].function"),
        ([{"type": "function", "function": {}}], "missing_required_parameter", "tools[0].function.name"),
        ([{"type": "function", "function": {"name": ""}}], "invalid_value", "tools[0].function.name"),
        ([{"type": "function", "function": {"name": "f g"}}], "invalid_value", "tools[0].function.name"),
        ([{"type": "function", "function": {"name": "f\n"}}], "invalid_value", "tools[0].function.name"),
        (
            [{"type": "function", "function": {"name": "f" * 65}}],
            "string_above_max_length",
            "tools[0].function.name",
        ),
        (
            [{"type": "function", "function": {"name": "f", "strict": "yes"}}],
            "invalid_type",
            "tools[0].function.strict",
        ),
        (
            [{"type": "function", "function": {"name": "f", "parameters": "{}"}}],
            "invalid_type",
            "tools[0].function.parameters",
        ),
        ([{"type": "custom", "custom": {}}], "missing_required_parameter", "tools[0].custom.name"),
        ([{"type": "web_search"}], "invalid_value", "tools[0].type"),
    ],
    "tool_choice": [
        ("any", "invalid_value", "tool_choice"),
        (True, "invalid_type", "tool_choice"),
        ({}, "missing_required_parameter", "tool_choice.type"),
        ({"type": "tool"}, "invalid_value", "tool_choice.type"),
        ({"type": "function"}, "missing_required_parameter", "tool_choice.function"),
        ({"type": "function", "function": {}}, "missing_required_parameter", "tool_choice.function.name"),
        ({"type": "function", "name": 5}, "invalid_type", "tool_choice.name"),
        ({"type": "allowed_tools"}, "missing_required_parameter", "tool_choice.allowed_tools"),
        ({"type": "allowed_tools", **ALLOWED, "mode": "any"}, "invalid_value", "tool_choice.mode"),
        (
            {"type": "allowed_tools", "allowed_tools": {**ALLOWED, "tools": []}},
            "empty_array",
            "tool_choice.allowed_tools.tools",
        ),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {**ALLOWED, "tools": [{"type": "function", "function": {}}]},
            },
            "missing_required_parameter",
            "tool_choice.allowed_tools.tools[0].function.name",
        ),
    ],
    "functions": [
        ([], "empty_array", "functions"),
        ([{"name": "f"}] * 129, "array_above_max_length", "functions"),
        ([{"name": "f g"}], "invalid_value", "functions[0].name"),
    ],
    "function_call": [
        ("f", "invalid_value", "function_call"),
        ({}, "missing_required_parameter", "function_call.name"),
    ],
    "response_format": [
        ("json", "invalid_type", "response_format"),
        ({}, "missing_required_parameter", "response_format.type"),
        ({"type": "json"}, "invalid_value", "response_format.type"),
        ({"type": "json_schema"}, "missing_required_parameter", "response_format.json_schema"),
        (
            {"type": "json_schema", "json_schema": {}},
            "missing_required_parameter",
            "response_format.json_schema.name",
        ),
        (
            {"type": "json_schema", "json_schema": {"name": ""}},
            "string_below_min_length",
            "response_format.json_schema.name",
        ),
        (
            {"type": "json_schema", "json_schema": {"name": "List[int]"}},
            "invalid_value",
            "response_format.json_schema.name",
        ),
        (
            {"type": "json_schema", "json_schema": {"name": "n", "schema": []}},
            "invalid_type",
            "response_format.json_schema.schema",
        ),
    ],
    "structured_outputs": [
        ({"choice": []}, "empty_array", "structured_outputs.choice"),
        ({"choice": [1]}, "invalid_type", "structured_outputs.choice[0]"),
        ({"regex": ""}, "string_below_min_length", "structured_outputs.regex"),
        ({"json": ["{}"]}, "invalid_type", "structured_outputs.json"),
        ({"structural_tag": []}, "invalid_type", "structured_outputs.structural_tag"),
    ],
    "strictcall": [
        (True, "invalid_type", "strictcall"),
        ({"reporting": True}, "unknown_parameter", "strictcall.reporting"),
        ({"unsupported_keywords": "ignore"}, "invalid_value", "strictcall.unsupported_keywords"),
        ({"on_violation": ["error"]}, "invalid_type", "strictcall.on_violation"),
        ({"max_attempts": 0}, "integer_below_min_value", "strictcall.max_attempts"),
        ({"max_attempts": 11}, "integer_above_max_value", "strictcall.max_attempts"),
        ({"report": "yes"}, "invalid_type", "strictcall.report"),
        ({"strict_tools": 1}, "invalid_type", "strictcall.strict_tools"),
    ],
    "n": [
        (0, "integer_below_min_value", "n"),
        (129, "integer_above_max_value", "n"),
        (1.5, "invalid_type", "n"),
        ("2", "invalid_type", "n"),
        (True, "invalid_type", "n"),
    ],
    "stop": [
        (5, "invalid_type", "stop"),
        ("", "string_below_min_length", "stop"),
        ([], "empty_array", "stop"),
        (["a", ""], "string_below_min_length", "stop[1]"),
        (["a"] * 5, "array_above_max_length", "stop"),
    ],
    "max_completion_tokens": [(0, "integer_below_min_value", "max_completion_tokens")],
    "max_tokens": [(0, "integer_below_min_value", "max_tokens"), (1.0, "invalid_type", "max_tokens")],
    "logprobs": [(1, "invalid_type", "logprobs"), ("true", "invalid_type", "logprobs")],
    "top_logprobs": [
        (-1, "integer_below_min_value", "top_logprobs"),
        (21, "integer_above_max_value", "top_logprobs"),
    ],
    "stream": [("true", "invalid_type", "stream")],
    "stream_options": [({"include_usage": 1}, "invalid_type", "stream_options.include_usage")],
    "temperature": [
        (-0.1, "decimal_below_min_value", "temperature"),
        (2.1, "decimal_above_max_value", "temperature"),
        ("1", "invalid_type", "temperature"),
        (True, "invalid_type", "temperature"),
    ],
    "top_p": [(1.1, "decimal_above_max_value", "top_p")],
    "top_k": [(-2, "integer_below_min_value", "top_k"), (2**64, "integer_above_max_value", "top_k")],
    "min_p": [(-0.1, "decimal_below_min_value", "min_p")],
    "frequency_penalty": [(2.1, "decimal_above_max_value", "frequency_penalty")],
    "presence_penalty": [(-2.1, "decimal_below_min_value", "presence_penalty")],
    "repetition_penalty": [(0, "decimal_below_min_value", "repetition_penalty")],
    "seed": [(2**63, "integer_above_max_value", "seed"), (-(2**63) - 1, "integer_below_min_value", "seed")],
    "logit_bias": [
        ([], "invalid_type", "logit_bias"),
        ({"the": 1}, "invalid_value", "logit_bias.the"),
        ({"-1": 1}, "invalid_value", "logit_bias.-1"),
        ({"1": 101}, "decimal_above_max_value", "logit_bias.1"),
        ({"1": None}, "invalid_type", "logit_bias.1"),
    ],
    "reasoning_effort": [("extreme", "invalid_value", "reasoning_effort")],
    "chat_template_kwargs": [("x", "invalid_type", "chat_template_kwargs")],
    "metadata": [
        ({str(i): "" for i in range(17)}, "invalid_value", "metadata"),
        ({"k" * 65: ""}, "string_above_max_length", "metadata." + "k" * 65),
        ({"k": "v" * 513}, "string_above_max_length", "metadata.k"),
        ({"k": 5}, "invalid_type", "metadata.k"),
    ],
    "modalities": [
        (["audio"], "unsupported_value", "modalities[0]"),
        (["smell"], "invalid_value", "modalities[0]"),
    ],
    "prediction": [({"type": "content"}, "missing_required_parameter", "prediction.content")],
    "safety_identifier": [("s" * 129, "string_above_max_length", "safety_identifier")],
    "service_tier": [("gold", "invalid_value", "service_tier")],
    "user": [(5, "invalid_type", "user")],
    "verbosity": [("loud", "invalid_value", "verbosity")],
    "audio": [({"voice": "alloy", "format": "wav"}, "unsupported_parameter", "audio")],
    "moderation": [({}, "unsupported_parameter", "moderation")],
    "web_search_options": [({}, "unsupported_parameter", "web_search_options")],
    "chat_template": [("{{ messages }}", "unsupported_parameter", "chat_template")],
}
"""For each field, values that are refused, with code and param."""

DESCRIPTION = jsonschema_rs.Draft202012Validator(ChatRequestBody.model_json_schema())


def cases(table: dict[str, list[Any]]) -> list[Any]:
    """One parameter set for each value of each field."""
    return [
        pytest.param(field, value, id=f"{field}-{index}")
        for field, values in table.items()
        for index, value in enumerate(values)
    ]


@pytest.mark.parametrize(("field", "value"), cases(TAKEN))
def test_a_supported_value_is_taken_as_it_is_and_described(field: str, value: Any) -> None:
    """Every value that OpenAI allows and we support is read, and valid by the published description."""
    body = {**BODY, field: value}
    dumped = read_body(ChatRequestBody, body).model_dump(by_alias=True, exclude_unset=True)

    assert dumped[field] == value
    assert DESCRIPTION.is_valid(body)


@pytest.mark.parametrize(("field", "case"), cases(REFUSED))
def test_a_wrong_value_is_refused_with_its_code_and_place(field: str, case: tuple[Any, str, str]) -> None:
    """Every wrong value is a 400 whose code and param are OpenAI's (B261)."""
    value, code, param = case
    with pytest.raises(ApiError) as caught:
        read_body(ChatRequestBody, {**BODY, field: value})

    assert (caught.value.status, caught.value.kind.code, caught.value.param) == (400, code, param)


# 1.0 is an integer to JSON Schema, but OpenAI refuses it as one.
@pytest.mark.parametrize(("field", "case"), [case for case in cases(REFUSED) if case.id != "max_tokens-1"])
def test_the_description_forbids_what_is_refused(field: str, case: tuple[Any, str, str]) -> None:
    """What the body refuses is also invalid by the published description, so clients can rely on it."""
    assert not DESCRIPTION.is_valid({**BODY, field: case[0]})


def test_every_field_has_cases() -> None:
    """A field that is added is added to these tables too."""
    assert set(TAKEN) == set(ChatRequestBody.model_fields) - {"model"}


@pytest.mark.parametrize("field", [name for name in ChatRequestBody.model_fields if name not in BODY])
def test_null_is_absent_for_every_optional_field(field: str) -> None:
    """Clients send null for what they leave out; it means the same (B002)."""
    assert read_body(ChatRequestBody, {**BODY, field: None}) == read_body(ChatRequestBody, BODY)


@pytest.mark.parametrize("field", ["model", "messages"])
def test_what_is_required_must_be_there(field: str) -> None:
    """Without model or messages there is no request."""
    with pytest.raises(ApiError) as caught:
        read_body(ChatRequestBody, {key: value for key, value in BODY.items() if key != field})

    assert (caught.value.kind.code, caught.value.param) == ("missing_required_parameter", field)


def test_an_integer_is_a_fine_number() -> None:
    """JSON has one kind of number: `1` is taken where a decimal is expected."""
    body = read_body(ChatRequestBody, {**BODY, "temperature": 1, "logit_bias": {"7": 5}})

    assert (body.temperature, body.logit_bias) == (1.0, {"7": 5.0})


@pytest.mark.parametrize("example", EXAMPLES)
def test_published_examples_work(example: dict[str, Any]) -> None:
    """The examples of the description are valid, for it and for us."""
    read_body(ChatRequestBody, example)

    assert DESCRIPTION.is_valid(example)
