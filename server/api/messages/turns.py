"""The turns of a Messages request as messages of the conversation, each result joined to the call it answers.

    [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "21 °C"},
                                  {"type": "text", "text": "And tomorrow?"}]}]
    # (Message("tool", "21 °C", tool_call_id="call_1", name="weather"), Message("user", "And tomorrow?"))

Text blocks are joined by line breaks. Turns of one role that follow each other are one turn.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from server.api import refusals
from server.api.messages.blocks import (
    AssistantTurn,
    SystemTurn,
    Text,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Turn,
    UserTurn,
)
from server.request import Message, ToolCall

SEPARATOR = "\n"
FAILED = "Error: "
"""Before the result of a call that failed, where the model is told of it."""

SAID_NOTHING = "the tool failed and gave no reason."


def decode_turns(system: Text | None, turns: Sequence[Turn]) -> tuple[Message, ...]:
    """Decode the history. Raises `ApiError` (400) for a result that answers no call."""
    history = _History()
    if system is not None and (said := joined(system)):
        history.messages.append(Message("system", said, "system"))
    for index, turn in enumerate(turns):
        for message in _messages(turn, f"messages[{index}]", history):
            history.add(message)
    return tuple(history.messages)


def joined(text: Text | Sequence[TextBlock]) -> str:
    """The text of blocks as one."""
    return text if isinstance(text, str) else SEPARATOR.join(block.text for block in text)


@dataclass(slots=True)
class _History:
    messages: list[Message] = field(default_factory=list)
    calls: dict[str, str] = field(default_factory=dict)
    """The names of the calls so far, by their ids."""

    def add(self, message: Message) -> None:
        """Take a message into the conversation: as part of the turn before it, if that is of its role."""
        self.calls.update((call.id, call.name) for call in message.tool_calls)
        last = self.messages[-1] if self.messages else None
        if last is not None and last.role == message.role and message.role in ("user", "assistant"):
            self.messages[-1] = replace(
                last,
                content=SEPARATOR.join(filter(None, (last.content, message.content))),
                reasoning=SEPARATOR.join(filter(None, (last.reasoning, message.reasoning))),
                tool_calls=last.tool_calls + message.tool_calls,
            )
        else:
            self.messages.append(message)


def _messages(turn: Turn, param: str, history: _History) -> Iterator[Message]:
    match turn:
        case SystemTurn(content=content):
            yield Message("system", joined(content), param)
        case UserTurn(content=content) | AssistantTurn(content=content) if isinstance(content, str):
            yield Message(turn.role, content, param)
        case AssistantTurn():
            yield _assistant(turn, param)
        case UserTurn():
            yield from _results_and_text(turn, param, history)


def _assistant(turn: AssistantTurn, param: str) -> Message:
    blocks = turn.content if not isinstance(turn.content, str) else ()
    return Message(
        "assistant",
        joined([block for block in blocks if isinstance(block, TextBlock)]),
        param,
        reasoning=SEPARATOR.join(block.thinking for block in blocks if isinstance(block, ThinkingBlock)),
        tool_calls=tuple(
            ToolCall(block.id, block.name, json.dumps(block.input, ensure_ascii=False))
            for block in blocks
            if isinstance(block, ToolUseBlock)
        ),
    )


def _results_and_text(turn: UserTurn, param: str, history: _History) -> Iterator[Message]:
    """The results first, wherever they stand: nothing comes between a call and its result."""
    blocks = turn.content if not isinstance(turn.content, str) else ()
    results = 0
    for index, block in enumerate(blocks):
        if isinstance(block, ToolResultBlock):
            results += 1
            yield _result(block, f"{param}.content[{index}]", history)
    texts = [block for block in blocks if isinstance(block, TextBlock)]
    if texts or not results:
        yield Message("user", joined(texts), param)


def _result(block: ToolResultBlock, param: str, history: _History) -> Message:
    name = history.calls.get(block.tool_use_id)
    if name is None:
        raise refusals.invalid(
            f"{param}.tool_use_id",
            f"no earlier message has a tool_use block with the id {refusals.quote(block.tool_use_id)}. "
            "Send the assistant message that made the call before its result.",
        )
    content = "" if block.content is None else joined(block.content)
    if block.is_error:
        content = FAILED + (content or SAID_NOTHING)
    return Message("tool", content, param, tool_call_id=block.tool_use_id, name=name)
