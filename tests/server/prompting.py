"""Short ways to write a conversation and to see the prompt that becomes of it."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from parsers.families.hermes import HERMES
from server.errors import ApiError
from server.prompt import renderer
from server.prompt.render import Prompt, render
from server.prompt.template import ChatTemplate
from server.request import Message, Mode, Request, ToolCall, ToolChoice, ToolDefinition
from server.tokens.vocabulary import Vocabulary

TEMPLATES = Path(__file__).parents[1] / "data" / "templates"

USER = Message("user", "Hi")

WEATHER = ToolDefinition(
    "get_weather",
    "Look out of the window.",
    {"type": "object", "properties": {"city": {"type": "string"}}},
    strict=True,
)

TIME = ToolDefinition("get_time")

AUTO = ToolChoice(Mode.AUTO)


def load(name: str) -> ChatTemplate:
    return ChatTemplate((TEMPLATES / f"{name}.jinja").read_text(), origin="a test")


def ask(*messages: Message, **fields: Any) -> Request:
    return Request(id="r", api="chat", model="m", messages=messages, **fields)


def call(id: str, arguments: str, name: str = "get_weather") -> ToolCall:
    return ToolCall(id, name, arguments)


def calls(*tool_calls: ToolCall, content: str = "") -> Message:
    return Message("assistant", content, tool_calls=tool_calls)


def result(id: str, content: str) -> Message:
    return Message("tool", content, tool_call_id=id)


@dataclass(frozen=True, slots=True)
class Renderer:
    """Renders with one template and the default model's vocabulary."""

    template: renderer.Renderer
    vocabulary: Vocabulary

    def __call__(self, *messages: Message, **fields: Any) -> Prompt:
        return self.request(ask(*messages, **fields))

    def request(self, request: Request) -> Prompt:
        return render(request, template=self.template, vocabulary=self.vocabulary, family=HERMES)

    def using(self, name: str) -> "Renderer":
        return replace(self, template=load(name))

    def refusal(self, *messages: Message, **fields: Any) -> ApiError:
        with pytest.raises(ApiError) as caught:
            self(*messages, **fields)
        return caught.value
