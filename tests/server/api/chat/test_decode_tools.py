"""Rules of tools and choices: what may, must and must not be called, and which choices make no sense."""

from typing import Any

import pytest

from server.api.body_errors import read_body
from server.api.chat.decode import decode_chat
from server.api.chat.request import ChatRequestBody
from server.errors import ApiError
from server.request import JsonSchema, Mode, Request, ToolChoice, ToolDefinition

USER = {"role": "user", "content": "Count the blue boxes"}
SCHEMA = {"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"]}


def tool(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **fields}}


TOOLS = [tool("add_stock", parameters=SCHEMA), tool("clock"), tool("look")]
FUNCTIONS = [{"name": "add_stock", "description": "Adds.", "parameters": SCHEMA}, {"name": "clock"}]


def decode(**fields: Any) -> Request:
    return decode_chat(read_body(ChatRequestBody, {"model": "m", "messages": [USER], **fields})).request


def refused(**fields: Any) -> tuple[str | None, str | None, str]:
    with pytest.raises(ApiError) as caught:
        decode(**fields)
    assert caught.value.status == 400
    return caught.value.kind.code, caught.value.param, caught.value.message


def names(request: Request) -> list[str]:
    return [each.name for each in request.callable_tools]


def test_a_tool_is_decoded_with_its_place() -> None:
    """Name, description, schema and strictness are kept, and where they stand (B055)."""
    request = decode(tools=[tool("f", description="d", parameters=SCHEMA, strict=True), tool("g")])

    assert request.tools == (
        ToolDefinition("f", "d", SCHEMA, strict=True, param="tools[0].function"),
        ToolDefinition("g", "", None, strict=False, param="tools[1].function"),
    )


@pytest.mark.parametrize("nothing", [{}, {"description": None, "parameters": None, "strict": None}])
def test_a_tool_needs_only_a_name(nothing: dict[str, Any]) -> None:
    """A tool without parameters takes no arguments; null is the same as absent."""
    assert decode(tools=[tool("f", **nothing)]).tools == (ToolDefinition("f", param="tools[0].function"),)


ALL = ["add_stock", "clock", "look"]
CHOICES = {
    "absent": (None, Mode.AUTO, None, ALL),
    "none": ("none", Mode.NONE, None, []),
    "auto": ("auto", Mode.AUTO, None, ALL),
    "required": ("required", Mode.REQUIRED, None, ALL),
    "named": (tool("clock"), Mode.NAMED, ("clock",), ["clock"]),
    "named_flat": ({"type": "function", "name": "clock"}, Mode.NAMED, ("clock",), ["clock"]),
    "allowed_auto": (
        {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [tool("look"), tool("clock")]}},
        Mode.AUTO,
        ("look", "clock"),
        ["clock", "look"],
    ),
    "allowed_required": (
        {
            "type": "allowed_tools",
            "allowed_tools": {"mode": "required", "tools": [tool("look"), tool("look")]},
        },
        Mode.REQUIRED,
        ("look",),
        ["look"],
    ),
    "allowed_flat": (
        {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "look"}]},
        Mode.REQUIRED,
        ("look",),
        ["look"],
    ),
}


@pytest.mark.parametrize(("choice", "mode", "allowed", "callable_"), CHOICES.values(), ids=CHOICES)
def test_every_form_of_choice_is_kept(
    choice: Any, mode: Mode, allowed: tuple[str, ...] | None, callable_: list[str]
) -> None:
    """No form of choice is dropped: it bounds what may be called (B034, B035, B036, B210)."""
    request = decode(tools=TOOLS, tool_choice=choice)

    assert request.choice == ToolChoice(mode, allowed)
    assert names(request) == callable_


def test_a_choice_stands_with_stream_and_template_arguments() -> None:
    """A forced call stays forced when the answer streams and thinking is off (B038, B046)."""
    request = decode(
        tools=TOOLS, tool_choice="required", stream=True, chat_template_kwargs={"enable_thinking": False}
    )

    assert (request.choice.forces_call, request.template_arguments) == (True, {"enable_thinking": False})


@pytest.mark.parametrize(("asked", "parallel"), [(None, True), (True, True), (False, False)])
def test_parallel_calls_can_be_turned_off(*, asked: bool | None, parallel: bool) -> None:
    """Several calls per answer are allowed unless the client says no (B052)."""
    assert decode(tools=TOOLS, parallel_tool_calls=asked).parallel is parallel


def test_tools_and_a_response_format_are_both_kept() -> None:
    """Neither tools nor the format of the answer is lost when a request has both (B053)."""
    answer = {"name": "out", "schema": {"type": "object"}}
    request = decode(tools=TOOLS, response_format={"type": "json_schema", "json_schema": answer})

    assert (names(request), isinstance(request.answer_format, JsonSchema)) == (ALL, True)


@pytest.mark.parametrize("fields", [{}, {"tool_choice": None}, {"tool_choice": "none"}, {"tools": None}])
def test_without_tools_nothing_is_called(fields: dict[str, Any]) -> None:
    """A choice of none needs no tools, as an SDK always sends it (B004); null is the same as absent."""
    request = decode(**fields)

    assert (request.tools, request.choice) == ((), ToolChoice(Mode.NONE))


@pytest.mark.parametrize("choice", [None, "none"])
def test_an_empty_list_of_tools_is_refused(choice: str | None) -> None:
    """As OpenAI does: an empty list is a client's mistake, and never an error of ours (B002, B049)."""
    code, param, message = refused(tools=[], tool_choice=choice)

    assert (code, param) == ("empty_array", "tools")
    assert message.startswith("Invalid 'tools': empty array.")


@pytest.mark.parametrize("choice", ["auto", "required", tool("f"), CHOICES["allowed_auto"][0]])
def test_a_choice_needs_tools(choice: Any) -> None:
    """To choose among no tools makes no sense, except none."""
    assert refused(tool_choice=choice) == (
        "invalid_value",
        "tool_choice",
        "Invalid 'tool_choice': it is only allowed when 'tools' are specified.",
    )


@pytest.mark.parametrize(
    ("choice", "param"),
    [
        (tool("nope"), "tool_choice"),
        ({"type": "function", "name": "nope"}, "tool_choice"),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "auto", "tools": [tool("clock"), tool("nope")]},
            },
            "tool_choice.allowed_tools.tools[1]",
        ),
        ({"type": "allowed_tools", "mode": "auto", "tools": [tool("nope")]}, "tool_choice.tools[0]"),
    ],
)
def test_a_choice_names_tools_that_are_there(choice: Any, param: str) -> None:
    """An unknown name is refused where it stands."""
    assert refused(tools=TOOLS, tool_choice=choice) == (
        "invalid_value",
        param,
        f"Invalid '{param}': 'nope' is not the name of any of 'tools'.",
    )


def test_names_of_tools_are_unique() -> None:
    """Two tools of one name could not be told apart in an answer."""
    code, param, message = refused(tools=[tool("f"), tool("g"), tool("f")])

    assert (code, param) == ("invalid_value", "tools[2].function.name")
    assert "'f' is the name of 'tools[0].function' too" in message


CUSTOM = {"type": "custom", "custom": {"name": "f"}}


def test_custom_tools_are_functions_of_one_string() -> None:
    """To the path; a choice names them by their own kind."""
    decoded = decode(tools=[CUSTOM, tool("g")], tool_choice={"type": "custom", "custom": {"name": "f"}})

    [custom, _] = decoded.tools
    assert custom.strict
    assert isinstance(custom.parameters, dict)
    assert custom.parameters["properties"] == {"input": {"type": "string"}}
    assert custom.schema_param == "tools[0].custom.format.grammar.definition"
    assert decoded.choice == ToolChoice(Mode.NAMED, ("f",))


@pytest.mark.parametrize(
    "choice",
    [
        {"type": "function", "function": {"name": "f"}},
        {"type": "custom", "custom": {"name": "g"}},
        {"type": "custom", "name": "g"},
    ],
    ids=str,
)
def test_a_choice_of_the_wrong_kind_is_refused(choice: dict[str, Any]) -> None:
    """A function is not a custom tool, whatever its name."""
    code, param, _ = refused(tools=[CUSTOM, tool("g")], tool_choice=choice)

    assert (code, param) == ("invalid_value", "tool_choice")


@pytest.mark.parametrize(
    ("call", "choice"),
    [
        (None, ToolChoice(Mode.AUTO)),
        ("auto", ToolChoice(Mode.AUTO)),
        ("none", ToolChoice(Mode.NONE)),
        ({"name": "clock"}, ToolChoice(Mode.NAMED, ("clock",))),
    ],
)
def test_legacy_functions_are_tools(call: Any, choice: ToolChoice) -> None:
    """`functions` are tools of which one may be called, and the answer is told in their words (B006)."""
    body = {"model": "m", "messages": [USER], "functions": FUNCTIONS, "function_call": call}
    decoded = decode_chat(read_body(ChatRequestBody, body))

    assert decoded.legacy_functions
    assert decoded.request.choice == choice
    assert not decoded.request.parallel
    assert decoded.request.tools == (
        ToolDefinition("add_stock", "Adds.", SCHEMA, param="functions[0]"),
        ToolDefinition("clock", param="functions[1]"),
    )


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"functions": FUNCTIONS, "tools": TOOLS}, "functions"),
        ({"functions": FUNCTIONS, "tool_choice": "auto"}, "tool_choice"),
        ({"functions": FUNCTIONS, "tool_choice": "none"}, "tool_choice"),
        ({"tools": TOOLS, "function_call": "none"}, "function_call"),
        ({"functions": FUNCTIONS, "function_call": {"name": "nope"}}, "function_call"),
        ({"functions": [{"name": "f"}, {"name": "f"}]}, "functions[1].name"),
        ({"function_call": "auto"}, "function_call"),
        ({"tools": TOOLS, "function_call": {"name": "clock"}}, "function_call"),
    ],
)
def test_the_two_spellings_are_not_mixed(fields: dict[str, Any], param: str) -> None:
    """Functions with tools, or the choice of the one with the other, is refused rather than guessed."""
    assert refused(**fields)[:2] == ("invalid_value", param)


def test_a_legacy_function_may_be_strict() -> None:
    """The older spelling never had the word, but who writes it means it."""
    request = decode(functions=[{"name": "f", "parameters": SCHEMA, "strict": True}])

    assert request.tools == (ToolDefinition("f", "", SCHEMA, strict=True, param="functions[0]"),)


def test_function_call_none_needs_no_functions() -> None:
    """`function_call: none` alone is as harmless as `tool_choice: none`."""
    assert decode(function_call="none").choice == ToolChoice(Mode.NONE)
