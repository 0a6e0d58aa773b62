"""Agents that send everything back, turn after turn: nothing is refused, and nothing is lost on the way."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from server.engine.scripted import Asked, Script
from server.tokens.vocabulary import Vocabulary
from tests.response_events import events_of
from tests.server.api.responses.test_responses import LOOK, SEARCH
from tests.server.scripted import call, script, serving

TURNS = 26
TEMPLATE = """{%- for message in messages -%}
[{{ message.role }}|{{ message.reasoning_content or "" }}|{{ message.content or "" }}
{%- for call in message.tool_calls or [] -%}
|{{ call.function.name }}{{ call.function.arguments | tojson }}
{%- endfor -%}]
{%- endfor -%}
{%- if tools %}{{ tools | tojson }}{% endif %}"""
"""Shows all there is to show of a message."""

Item = dict[str, Any]
Echo = Callable[[Item], Item]


def verbatim(item: Item) -> Item:
    return item


def as_codex(item: Item) -> Item:
    """What Codex keeps: the sealed thought without its text, and messages by what they say."""
    if item["type"] == "reasoning":
        return {key: item[key] for key in ("type", "summary", "encrypted_content")}
    passthrough = {"internal_chat_message_metadata_passthrough": {"turn": 1}}
    return {key: value for key, value in item.items() if key not in ("id", "status")} | passthrough


def as_reference(item: Item) -> Item:
    """What the AI SDK sends to servers that store."""
    return {"type": "item_reference", "id": item["id"]}


def written(vocabulary: Vocabulary) -> Callable[[Asked], Script]:
    """A model that thinks, speaks, and calls once or twice; each turn something else."""
    turns = iter(range(TURNS + 1))

    def write(_asked: Asked) -> Script:
        turn = next(turns)
        calls = "\n".join(call("look", {"city": f"city {turn} {n}"}) for n in range(1 + turn % 2))
        return script(vocabulary, f"<think>Thought {turn}.</think>\n\nText {turn}.\n{calls}", size=7)

    return write


@pytest.mark.parametrize(
    ("echo", "store"),
    [(verbatim, False), (as_codex, False), (as_reference, True)],
    ids=["verbatim", "codex", "references"],
)
async def test_26_turns_come_back_whole(vocabulary: Vocabulary, echo: Echo, *, store: bool) -> None:
    """In whatever way a client keeps them, the model sees each thought, text, call and output."""
    history: list[Item] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]}
    ]
    expected = "[system||Be brief.][user||Go.]"
    async with serving(vocabulary, written(vocabulary), template=TEMPLATE) as server:
        for turn in range(TURNS):
            answer = await server.http.post(
                "/v1/responses",
                json={
                    "model": "smol",
                    "instructions": "Be brief.",
                    "input": history,
                    "tools": [LOOK, SEARCH],
                    "include": ["reasoning.encrypted_content"],
                    "store": store,
                    "stream": True,
                    "client_metadata": {"x": "y"},
                },
            )
            assert answer.status_code == 200, answer.text
            done = [each["item"] for each in events_of(answer.text) if each["type"].endswith("item.done")]
            prompt = vocabulary.decode(server.engine.asked[-1].prompt)
            assert prompt.startswith(expected), (prompt[-400:], expected[-400:])
            calls = [item for item in done if item["type"] == "function_call"]
            outputs = [
                {"type": "function_call_output", "call_id": each["call_id"], "output": f"Sun {turn} {number}"}
                for number, each in enumerate(calls)
            ]
            history += [*map(echo, done), *outputs]
            made = "".join(f"|look{json.dumps(json.loads(each['arguments']))}" for each in calls)
            expected += f"[assistant|Thought {turn}.|Text {turn}.{made}]"
            expected += "".join(f"[tool||{each['output']}]" for each in outputs)
