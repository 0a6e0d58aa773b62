"""Events as clients read them off the wire: faults that broke the clients of other servers.

Every chunk of a stream, key by key; the numbers are those of the collection of faults.
"""

from typing import Any

import pytest

from server.tokens.vocabulary import Vocabulary
from tests.server.scripted import Told, always, call, serving, tool

SKU = {"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"]}
TOOLS = [tool("ping"), tool("add_stock", SKU), tool("add_strict", SKU, strict=True)]
TEXT = "Sure.\n" + "\n".join(
    [call("add_stock", {"sku": "b7"}), call("ping", {}), call("add_strict", {"sku": "b8"})]
)


async def deltas_of(vocabulary: Vocabulary, size: int) -> list[dict[str, Any]]:
    async with serving(vocabulary, always(vocabulary, TEXT, size=size)) as server:
        chunks = await server.stream(tools=TOOLS)
    assert {tuple(chunk) for chunk in chunks} == {("id", "object", "created", "model", "choices")}
    return [chunk["choices"][0]["delta"] for chunk in chunks]


@pytest.mark.parametrize("size", [1, 5, 1000])
async def test_a_call_is_identified_once_and_no_key_is_ever_null(vocabulary: Vocabulary, size: int) -> None:
    """id, type and name come with the first delta of a call and never again (B297, B298, B300, B301)."""
    calls = [each for delta in await deltas_of(vocabulary, size) for each in delta.get("tool_calls", [])]
    begins = [each for each in calls if "id" in each]
    rest = [each for each in calls if "id" not in each]

    assert [(each["index"], each["type"], each["function"]["name"]) for each in begins] == [
        (0, "function", "add_stock"),
        (1, "function", "ping"),
        (2, "function", "add_strict"),
    ]
    assert len({each["id"] for each in begins}) == 3
    assert all(each["id"] for each in begins)
    assert {(*each, *each["function"]) for each in rest} == {("index", "function", "arguments")}


@pytest.mark.parametrize("size", [1, 5, 1000])
async def test_no_delta_is_empty_but_the_last(vocabulary: Vocabulary, size: int) -> None:
    """Nothing is sent that says nothing, and no key that OpenAI does not have (B152, B306)."""
    first, *middle, last = await deltas_of(vocabulary, size)

    assert (first, last) == ({"role": "assistant", "content": ""}, {})
    for delta in middle:
        [(key, value)] = delta.items()
        assert key in ("content", "tool_calls")
        assert value
        if key == "tool_calls":
            [each] = value
            assert "id" in each or each["function"]["arguments"]


@pytest.mark.parametrize("size", [1, 5, 1000])
async def test_no_markup_is_content(vocabulary: Vocabulary, size: int) -> None:
    """The content of the stream is that of the whole answer (B166)."""
    deltas = await deltas_of(vocabulary, size)

    assert "".join(delta.get("content", "") for delta in deltas) == "Sure."


async def test_a_whole_call_has_text_for_arguments_and_an_id(vocabulary: Vocabulary) -> None:
    """Arguments are a JSON string, and content is null beside calls, but there (B302, B304)."""
    async with serving(vocabulary, [call("ping", {})]) as server:
        message = (await server.chat(tools=TOOLS))["choices"][0]["message"]

    [each] = message["tool_calls"]
    assert each["function"] == {"name": "ping", "arguments": "{}"}
    assert each["id"].startswith("call_")
    assert message["content"] is None


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        pytest.param(call("ping", {}), (("ping", "{}"),), id="B133"),
        pytest.param(
            '<tool_call>\n{"name": "ping", "arguments": {"a": 6, "b": 7}}\n</tool_call>',
            (("ping", '{"a": 6, "b": 7}'),),
            id="B128",
        ),
        pytest.param(
            '<tool_call>{"name":"ping","arguments":{"q":"a","o":{"n":3,"d":null}}}</tool_call>',
            (("ping", '{"q":"a","o":{"n":3,"d":null}}'),),
            id="B138",
        ),
        pytest.param(
            '<tool_call>\n{"name": "ping", "arguments": {"city": "Zürich 東京 🍋"}}\n</tool_call>',
            (("ping", '{"city": "Zürich 東京 🍋"}'),),
            id="B129 B162 B168",
        ),
        pytest.param(
            call("ping", {"cmd": "make 2>&1 </tool_call"}),
            (("ping", '{"cmd": "make 2>&1 </tool_call"}'),),
            id="B164",
        ),
    ],
)
async def test_arguments_come_as_they_were_written(vocabulary: Vocabulary, text: str, calls: Any) -> None:
    """Streamed and not, by any number of tokens: no value lost, added twice or escaped."""
    anything = {"type": "object"}
    for size in (1, 2, 3, 7):
        async with serving(vocabulary, always(vocabulary, text, size=size)) as server:
            assert await server.answers(tools=[tool("ping", anything)]) == [
                Told(calls=calls, finish="tool_calls")
            ]


async def test_one_call_alone_is_a_call_to_the_finish_reason(vocabulary: Vocabulary) -> None:
    """The first call of a stream was counted as none (B200, B202)."""
    async with serving(vocabulary, always(vocabulary, call("ping", {}))) as server:
        chunks = await server.stream(tools=TOOLS)

    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"
