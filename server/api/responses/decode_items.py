"""The items of a Responses request as turns of the conversation, each result joined to the call it answers.

    [{"type": "reasoning", …}, {"type": "function_call", …}, {"type": "function_call_output", …}]
    # (Message("assistant", "", reasoning="…", tool_calls=(…,)), Message("tool", "21 °C", tool_call_id=…))

What the assistant said, thought and called in a row is one turn, as the model wrote it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from server.api import refusals
from server.api.chat.decode_messages import PART_SEPARATOR
from server.api.custom_tools import input_arguments
from server.api.responses.items import (
    CustomCallItem,
    FunctionCallItem,
    InputItem,
    ItemReference,
    MessageItem,
    OutputItem,
    Parts,
    ReasoningItem,
    RefusalPart,
)
from server.api.responses.names import spoken_name
from server.api.responses.sealed import unsealed
from server.request import Message, ToolCall


@dataclass(frozen=True, slots=True)
class Placed:
    """An item, and where the client wrote it (`input[2]`), for error messages."""

    item: InputItem
    param: str


@dataclass(slots=True)
class _Turn:
    """What the assistant did in a row."""

    param: str
    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)

    def message(self) -> Message:
        return Message(
            "assistant",
            PART_SEPARATOR.join(self.content),
            self.param,
            reasoning=PART_SEPARATOR.join(self.reasoning),
            tool_calls=tuple(self.calls),
        )


class _Conversation:
    """The turns so far. That of the assistant stays open as long as it goes on."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._turn: _Turn | None = None
        self._calls: dict[str, ToolCall] = {}

    def add(self, placed: Placed) -> None:
        item, param = placed.item, placed.param
        match item:
            case MessageItem(role="assistant"):
                self._assistant(param).content.append(text_of(item.content))
            case MessageItem():
                text = text_of(item.content)
                self._other(Message("user" if item.role == "user" else "system", text, param))
            case ReasoningItem():
                self._assistant(param).reasoning.append(thoughts_of(item))
            case FunctionCallItem():
                self._call(param, item.call_id, spoken_name(item.name, item.namespace), item.arguments)
            case CustomCallItem():
                arguments = input_arguments(item.input)
                self._call(param, item.call_id, spoken_name(item.name, item.namespace), arguments)
            case OutputItem():
                self._result(param, item)
            case ItemReference():
                raise refusals.invalid(
                    f"{param}.id",
                    f"this server has no item {refusals.quote(item.id)}. Send the item itself in its place.",
                )

    def finished(self) -> tuple[Message, ...]:
        self._close()
        return tuple(self._messages)

    def _assistant(self, param: str) -> _Turn:
        if self._turn is None:
            self._turn = _Turn(param)
        return self._turn

    def _close(self) -> None:
        if self._turn is not None:
            self._messages.append(self._turn.message())
            self._turn = None

    def _other(self, message: Message) -> None:
        self._close()
        self._messages.append(message)

    def _call(self, param: str, call_id: str, name: str, arguments: str) -> None:
        call = ToolCall(call_id, name, arguments)
        self._calls[call_id] = call
        self._assistant(param).calls.append(call)

    def _result(self, param: str, item: OutputItem) -> None:
        call = self._calls.get(item.call_id)
        if call is None:
            raise refusals.invalid(
                f"{param}.call_id",
                f"no earlier item is a call with the call_id {refusals.quote(item.call_id)}. "
                "Send the call before its output, or the 'previous_response_id' of the response that has it.",
            )
        self._other(Message("tool", text_of(item.output), param, tool_call_id=call.id, name=call.name))


def decode_items(items: Iterable[Placed]) -> tuple[Message, ...]:
    """Decode the items. Raises `ApiError` (400) for an output that answers no call, and a lost reference."""
    conversation = _Conversation()
    for placed in items:
        conversation.add(placed)
    return conversation.finished()


def placed(items: Sequence[InputItem], param: str) -> list[Placed]:
    """The items of the array at `param`."""
    return [Placed(item, f"{param}[{index}]") for index, item in enumerate(items)]


def text_of(parts: Parts | None) -> str:
    if parts is None or isinstance(parts, str):
        return parts or ""
    return PART_SEPARATOR.join(part.refusal if isinstance(part, RefusalPart) else part.text for part in parts)


def thoughts_of(item: ReasoningItem) -> str:
    """The model's thoughts: as they were sent, or sealed, or at least their summary."""
    if item.content:
        return "".join(part.text for part in item.content)
    sealed = unsealed(item.encrypted_content or "")
    if sealed is not None:
        return sealed
    return PART_SEPARATOR.join(part.text for part in item.summary or ())
