"""What a Messages request becomes, and what is refused of it."""

import random
from typing import Any

import pytest

from server.api.body_errors import read_body
from server.api.messages.decode import DecodedMessage, decode_message
from server.api.messages.request import MessagesRequestBody
from server.errors import ApiError, Code
from server.request import Message, Mode, ToolCall, ToolChoice
from server.tokens.vocabulary import Vocabulary
from tests.server.messaging import post
from tests.server.scripted import always, serving

USER = {"role": "user", "content": "Hi"}
USE = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": "é"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "7"}
TEXT = {"type": "text", "text": "And?"}
TOOL = {"name": "f", "input_schema": {"type": "object", "properties": {"a": {"type": "string"}}}}


def decoded(**body: Any) -> DecodedMessage:
    """A decoded request of a good body, changed by `body`."""
    return decode_message(
        read_body(MessagesRequestBody, {"model": "m", "max_tokens": 9, "messages": [USER], **body})
    )


def turns(*messages: dict[str, Any], **body: Any) -> tuple[Message, ...]:
    return decoded(messages=list(messages), **body).request.messages


def refused(**body: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        decoded(**body)
    return caught.value


def test_system_is_the_first_message() -> None:
    """As text or as blocks; an empty one is none."""
    assert turns(USER, system="Be brief.")[0] == Message("system", "Be brief.", "system")
    assert turns(USER, system=[TEXT, TEXT])[0].content == "And?\nAnd?"
    assert [message.role for message in turns(USER, system="")] == ["user"]


def test_a_call_and_its_result_are_joined() -> None:
    """The result knows the name of its call, and comes before the text beside it."""
    assistant = {"role": "assistant", "content": [TEXT, USE]}

    assert turns(USER, assistant, {"role": "user", "content": [TEXT, RESULT]})[1:] == (
        Message("assistant", "And?", "messages[1]", tool_calls=(ToolCall("toolu_1", "f", '{"a": "é"}'),)),
        Message("tool", "7", "messages[2].content[1]", tool_call_id="toolu_1", name="f"),
        Message("user", "And?", "messages[2]"),
    )


@pytest.mark.parametrize(
    ("content", "shown"),
    [("no", "Error: no"), ([{"type": "text", "text": "no"}], "Error: no"), (None, "Error: the tool failed")],
)
def test_a_failed_call_is_told_as_one(content: Any, shown: str) -> None:
    """Servers that read `is_error` and drop it let the model take an error for a result."""
    result = {**RESULT, "content": content, "is_error": True}
    history = turns(USER, {"role": "assistant", "content": [USE]}, {"role": "user", "content": [result]})

    assert history[-1].content.startswith(shown)


def test_thoughts_come_back_as_reasoning() -> None:
    """Those that only their author can read are left out."""
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    content = [thought, {"type": "redacted_thinking", "data": "x"}, TEXT]

    assert turns(USER, {"role": "assistant", "content": content})[-1].reasoning == "Hm."


def test_turns_of_one_role_are_one() -> None:
    """As Anthropic says; templates that want turns to alternate take them so."""
    assert [
        message.content for message in turns(USER, USER, {"role": "assistant", "content": "a"}, USER)
    ] == [
        "Hi\nHi",
        "a",
        "Hi",
    ]


@pytest.mark.parametrize(
    ("body", "effort"),
    [
        ({}, None),
        ({"thinking": {"type": "disabled"}, "output_config": {"effort": "high"}}, "none"),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2000}, "medium"),
        ({"thinking": {"type": "adaptive"}}, None),
        ({"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}}, "max"),
    ],
)
def test_thinking_is_our_effort(body: dict[str, Any], effort: str | None) -> None:
    """`disabled` is no effort at all, and `adaptive` leaves it to the model."""
    assert decoded(**body).request.reasoning_effort == effort


def test_examples_are_shown_in_the_description() -> None:
    """The model reads them below what the tool does."""
    [tool] = decoded(tools=[{**TOOL, "description": "Do.", "input_examples": [{"a": "é"}]}]).request.tools

    assert tool.description == 'Do.\n\nExamples of its arguments:\n{"a": "é"}'


def test_tools_of_anthropics_own_are_left_out() -> None:
    """Nobody could run them here; the log says so."""
    search = {"type": "web_search_20250305", "name": "web_search"}
    with_search = decoded(tools=[search, TOOL])

    assert [tool.param for tool in with_search.request.tools] == ["tools[1]"]
    assert with_search.ignored == ("tools[] of type web_search_20250305",)
    assert refused(tools=[search], tool_choice={"type": "any"}).param == "tool_choice"
    assert refused(tools=[search, TOOL], tool_choice={"type": "tool", "name": "web_search"}).status == 400


def test_empty_lists_are_none() -> None:
    """Clients of Anthropic's send them."""
    request = decoded(tools=[], stop_sequences=[], mcp_servers=[]).request

    assert (request.tools, request.stop, request.choice) == ((), (), ToolChoice(Mode.NONE))


def test_marks_of_caches_are_taken_everywhere() -> None:
    """They change nothing, and are not even worth a line of the log."""
    mark = {"cache_control": {"type": "ephemeral"}}
    body = decoded(
        system=[{**TEXT, **mark}],
        tools=[{**TOOL, **mark}],
        messages=[{"role": "user", "content": [{**TEXT, **mark}]}],
        **mark,
    )

    assert body.ignored == ()


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        ({"max_tokens": None}, "max_tokens", Code.INVALID_TYPE),
        ({"max_tokens": 0}, "max_tokens", Code.BELOW_MIN),
        ({"messages": []}, "messages", Code.EMPTY_ARRAY),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].role", Code.INVALID_VALUE),
        (
            {"messages": [{"role": "user", "content": [{"type": "image"}]}]},
            "messages[0].content[0].type",
            Code.UNSUPPORTED_VALUE,
        ),
        (
            {"messages": [{"role": "user", "content": [USE]}]},
            "messages[0].content[0].type",
            Code.INVALID_VALUE,
        ),
        (
            {"messages": [{"role": "assistant", "content": [RESULT]}]},
            "messages[0].content[0].type",
            Code.INVALID_VALUE,
        ),
        (
            {"messages": [{"role": "user", "content": [RESULT]}]},
            "messages[0].content[0].tool_use_id",
            Code.INVALID_VALUE,
        ),
        (
            {"messages": [USER, {"role": "assistant", "content": [{**USE, "input": "{}"}]}]},
            "messages[1].content[0].input",
            Code.INVALID_TYPE,
        ),
        ({"tools": [{"name": "f"}]}, "tools[0].input_schema", Code.MISSING_PARAMETER),
        ({"tools": [TOOL, TOOL]}, "tools[1].name", Code.INVALID_VALUE),
        ({"tool_choice": {"type": "any"}}, "tool_choice", Code.INVALID_VALUE),
        (
            {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "g"}},
            "tool_choice.name",
            Code.INVALID_VALUE,
        ),
        ({"tools": [TOOL], "tool_choice": "auto"}, "tool_choice", Code.INVALID_TYPE),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 1024}},
            "thinking.budget_tokens",
            Code.INVALID_VALUE,
        ),
        ({"output_format": {"type": "json_schema"}}, "output_format", Code.UNSUPPORTED_PARAMETER),
        ({"container": "c"}, "container", Code.UNSUPPORTED_PARAMETER),
        ({"mcp_servers": [{}]}, "mcp_servers", Code.UNSUPPORTED_PARAMETER),
        ({"temperature": 1.5}, "temperature", Code.DECIMAL_ABOVE_MAX),
    ],
)
def test_what_is_refused_names_its_field(body: dict[str, Any], param: str, code: Code) -> None:
    """The path is the client's own."""
    error = refused(**body)

    assert (error.param, error.kind) == (param, code)


@pytest.mark.parametrize(
    ("example", "status"), [({"a": "x"}, 200), ({"a": 7}, 400), ({}, 200)], ids=["right", "wrong", "empty"]
)
async def test_examples_must_fit_the_schema(
    vocabulary: Vocabulary, example: dict[str, Any], status: int
) -> None:
    """An example that breaks the schema would teach the model to."""
    tools = [{**TOOL, "input_examples": [{"a": "fine"}, example]}]
    async with serving(vocabulary, always(vocabulary, "Hi.")) as server:
        response = await post(server, tools=tools)
        assert len(server.engine.asked) == (status == 200)

    assert response.status_code == status
    if status == 400:
        assert response.json()["error"]["type"] == "invalid_request_error"
        assert "tools[0].input_examples[1]" in response.json()["error"]["message"]
        assert "$.a" in response.json()["error"]["message"]


async def test_a_schema_is_refused_where_the_client_wrote_it(vocabulary: Vocabulary) -> None:
    """A tool's schema is its `input_schema` here."""
    async with serving(vocabulary, []) as server:
        response = await post(
            server, tools=[{"name": "f", "input_schema": {"type": "strin"}, "strict": True}]
        )

    assert response.status_code == 400
    assert "'f'" in response.json()["error"]["message"]


BLOCKS = [
    TEXT,
    USE,
    RESULT,
    {"type": "thinking", "thinking": "Hm.", "signature": ""},
    {"type": "redacted_thinking", "data": "x"},
    {"type": "image", "source": {}},
    {"type": "tool_result", "tool_use_id": "other"},
    {"type": "text"},
    {"type": None},
    {},
    "text",
    None,
]


async def test_blocks_in_any_order_are_answered_or_refused(vocabulary: Vocabulary) -> None:
    """Whatever the order of roles and blocks: 200 or 400, whole or counted."""
    draw = random.Random(7)
    statuses = set()
    async with serving(vocabulary, always(vocabulary, "Hi.")) as server:
        for _ in range(300):
            messages = [
                {
                    "role": draw.choice(["user", "assistant", "user", "assistant", "system"]),
                    "content": draw.choice(
                        ["", "Hi", draw.choices(BLOCKS[: draw.choice([5, 5, 5, 12])], k=3)]
                    ),
                }
                for _ in range(draw.randint(1, 4))
            ]
            path = draw.choice(["/v1/messages", "/v1/messages/count_tokens"])
            response = await post(server, path, messages=messages, stream=draw.random() < 0.3)
            statuses.add(response.status_code)
            assert response.status_code in (200, 400), (messages, response.text)

    assert statuses == {200, 400}
