"""The APIs, as tests that are the same for all of them see them.

    body = RESPONSES.body([Tool("look", CITY, strict=True)], "required")
    RESPONSES.told(answer)                        # Told(calls=(("look", '{"city": "Lima"}'),), …)
    RESPONSES.told(RESPONSES.folded(stream))      # the same, of the text of a stream

`finish` is told in chat's words: stop, length or tool_calls.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from server.api.messages.encode import input_of
from tests.message_events import fold_message, message_events
from tests.response_events import response_of
from tests.server.scripted import Told, chunks, fold, told

CHOICES = ("none", "auto", "required", "named", "allowed_auto", "allowed_required")
"""Every choice of tools that an API may have; those that name one name the first."""

QUESTION = "What is the weather in Oslo, and what time is it there?"


@dataclass(frozen=True, slots=True)
class Tool:
    """A function, whatever the API calls it."""

    name: str
    parameters: Mapping[str, Any]
    strict: bool = False


class Surface(Protocol):
    """One API."""

    name: str
    path: str
    choices: tuple[str, ...]
    """Those of `CHOICES` that it has words for."""

    def body(
        self,
        tools: list[Tool],
        choice: str,
        *,
        parallel: bool = True,
        question: str = QUESTION,
        **sampling: Any,
    ) -> dict[str, Any]:
        """The body of a request; `sampling` may have `max_tokens`, `temperature` and `seed`."""
        ...

    def told(self, answer: dict[str, Any]) -> Told:
        """What a client was told by an answer."""
        ...

    def folded(self, stream: str) -> dict[str, Any]:
        """The answer that the text of a stream comes to."""
        ...

    def arguments(self, written: str) -> str:
        """What `told` makes of arguments of which this much was written."""
        ...


class Chat:
    name = "chat"
    path = "/v1/chat/completions"
    choices: tuple[str, ...] = CHOICES

    def body(
        self,
        tools: list[Tool],
        choice: str,
        *,
        parallel: bool = True,
        question: str = QUESTION,
        **sampling: Any,
    ) -> dict[str, Any]:
        named = {"type": "function", "function": {"name": tools[0].name}}
        functions = [
            {"name": tool.name, "parameters": tool.parameters, "strict": tool.strict} for tool in tools
        ]
        return {
            "messages": [{"role": "user", "content": question}],
            "tools": [{"type": "function", "function": function} for function in functions],
            "tool_choice": _choice(choice, named, nested=True),
            "parallel_tool_calls": parallel,
            **sampling,
        }

    def told(self, answer: dict[str, Any]) -> Told:
        [only] = told(answer)
        return only

    def folded(self, stream: str) -> dict[str, Any]:
        return fold(chunks(stream))

    def arguments(self, written: str) -> str:
        return written


class Responses:
    name = "responses"
    path = "/v1/responses"
    choices: tuple[str, ...] = CHOICES

    def body(
        self,
        tools: list[Tool],
        choice: str,
        *,
        parallel: bool = True,
        question: str = QUESTION,
        **sampling: Any,
    ) -> dict[str, Any]:
        if "max_tokens" in sampling:
            sampling["max_output_tokens"] = sampling.pop("max_tokens")
        named = {"type": "function", "name": tools[0].name}
        return {
            "input": question,
            "tools": [
                {"type": "function", "name": tool.name, "parameters": tool.parameters, "strict": tool.strict}
                for tool in tools
            ],
            "tool_choice": _choice(choice, named, nested=False),
            "parallel_tool_calls": parallel,
            **sampling,
        }

    def told(self, answer: dict[str, Any]) -> Told:
        items: dict[str, list[dict[str, Any]]] = {"message": [], "reasoning": [], "function_call": []}
        for item in answer["output"]:
            items[item["type"]].append(item)
        calls = tuple((item["name"], item["arguments"]) for item in items["function_call"])
        finish = "length" if answer["status"] == "incomplete" else "tool_calls" if calls else "stop"
        return Told(_text(items["message"]), _text(items["reasoning"]), calls, finish)

    def folded(self, stream: str) -> dict[str, Any]:
        return response_of(stream)

    def arguments(self, written: str) -> str:
        return written


class Messages:
    name = "messages"
    path = "/v1/messages"
    choices: tuple[str, ...] = ("none", "auto", "required", "named")

    def body(
        self,
        tools: list[Tool],
        choice: str,
        *,
        parallel: bool = True,
        question: str = QUESTION,
        **sampling: Any,
    ) -> dict[str, Any]:
        # Where it samples, the seed is the engine's own.
        sampling.pop("seed", None)
        said: dict[str, Any] = {"type": {"required": "any", "named": "tool"}.get(choice, choice)}
        if choice == "named":
            said["name"] = tools[0].name
        if choice != "none":
            said["disable_parallel_tool_use"] = not parallel
        return {
            "max_tokens": 500,
            "messages": [{"role": "user", "content": question}],
            "tools": [
                {"name": tool.name, "input_schema": tool.parameters, "strict": tool.strict} for tool in tools
            ],
            "tool_choice": said,
            **sampling,
        }

    def told(self, answer: dict[str, Any]) -> Told:
        texts: dict[str, str] = {"text": "", "thinking": ""}
        calls = []
        for block in answer["content"]:
            if block["type"] == "tool_use":
                calls.append((block["name"], json.dumps(block["input"])))
            else:
                texts[block["type"]] += block[block["type"]]
        finish = {"end_turn": "stop", "max_tokens": "length", "tool_use": "tool_calls"}
        return Told(texts["text"], texts["thinking"], tuple(calls), finish[answer["stop_reason"]])

    def folded(self, stream: str) -> dict[str, Any]:
        return fold_message(message_events(stream))

    def arguments(self, written: str) -> str:
        return json.dumps(input_of(written))


def _choice(choice: str, named: dict[str, Any], *, nested: bool) -> Any:
    if choice == "named":
        return named
    if not choice.startswith("allowed_"):
        return choice
    allowed = {"mode": choice.removeprefix("allowed_"), "tools": [named]}
    return {"type": "allowed_tools", **({"allowed_tools": allowed} if nested else allowed)}


def _text(items: list[dict[str, Any]]) -> str:
    return "".join(part["text"] for item in items for part in item["content"])


CHAT: Surface = Chat()
RESPONSES: Surface = Responses()
MESSAGES: Surface = Messages()
SURFACES = (CHAT, RESPONSES, MESSAGES)
