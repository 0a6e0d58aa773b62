"""The history of a chat request as turns of the conversation, each result joined to the call it answers.

    [{"role": "developer", "content": [{"type": "text", "text": "Be brief."}]}]
    # (Message(role="system", content="Be brief.", param="messages[0]"),)

Text parts are joined by line breaks. A result names its call by id; where clients send no ids (null ids,
legacy functions), results belong to the calls of the latest turn, in their order.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from server.api import refusals
from server.api.chat.messages import (
    AnyCalledTool,
    AssistantMessage,
    AssistantText,
    CalledCustomTool,
    CalledFunction,
    ChatMessage,
    FunctionMessage,
    RefusalPart,
    Text,
    ToolMessage,
)
from server.api.custom_tools import input_arguments
from server.errors import ApiError, Code
from server.request import Message, ToolCall

PART_SEPARATOR = "\n"


def decode_messages(messages: Sequence[ChatMessage]) -> tuple[Message, ...]:
    """Decode the history. Raises `ApiError` (400) for a result that answers no call."""
    calls = _Calls()
    return tuple(_message(message, index, calls) for index, message in enumerate(messages))


@dataclass(slots=True)
class _Pending:
    call: ToolCall
    answered: bool = False


@dataclass(slots=True)
class _Calls:
    """The calls so far: all by their ids, those of the latest turn also in order."""

    by_id: dict[str, deque[_Pending]] = field(default_factory=dict)
    latest: deque[_Pending] = field(default_factory=deque)

    def begin(self, calls: Sequence[ToolCall]) -> None:
        """A turn of the assistant made these calls."""
        pending = [_Pending(call) for call in calls]
        self.latest = deque(pending)
        turn: dict[str, deque[_Pending]] = {}
        for each in pending:
            turn.setdefault(each.call.id, deque()).append(each)
        self.by_id.update(turn)

    def named(self, call_id: str) -> ToolCall | None:
        """The call with this id; of several in one turn, each in its turn."""
        same = self.by_id.get(call_id)
        if same is None:
            return None
        pending = same.popleft() if len(same) > 1 else same[0]
        pending.answered = True
        return pending.call

    def next(self) -> ToolCall | None:
        """The first call of the latest turn that has no result yet."""
        while self.latest:
            pending = self.latest.popleft()
            if not pending.answered:
                pending.answered = True
                return pending.call
        return None


def _message(message: ChatMessage, index: int, calls: _Calls) -> Message:
    param = f"messages[{index}]"
    if isinstance(message, AssistantMessage):
        return _assistant(message, index, calls)
    if isinstance(message, ToolMessage):
        call = _answered_call(message, param, calls)
        return Message("tool", _text(message.content), param, tool_call_id=call.id, name=call.name)
    if isinstance(message, FunctionMessage):
        answered = calls.next()
        if answered is None:
            raise refusals.invalid(param, "no earlier 'function_call' waits for this result.")
        return Message("tool", _text(message.content), param, tool_call_id=answered.id, name=message.name)
    role = "system" if message.role == "developer" else message.role
    return Message(role, _text(message.content), param, name=message.name or "")


def _assistant(message: AssistantMessage, index: int, calls: _Calls) -> Message:
    made = tuple(_made_calls(message, index))
    if made:
        calls.begin(made)
    return Message(
        "assistant",
        _text(message.content) or message.refusal or "",
        f"messages[{index}]",
        reasoning=message.reasoning or message.reasoning_content or "",
        tool_calls=made,
        name=message.name or "",
    )


def _made_calls(message: AssistantMessage, index: int) -> Iterator[ToolCall]:
    calls = [(tool.id, *_called(tool)) for tool in message.tool_calls or ()]
    if message.function_call is not None:
        calls.append((None, *_called_function(message.function_call)))
    for number, (call_id, name, arguments) in enumerate(calls):
        yield ToolCall(call_id or f"call_{index}_{number}", name, arguments)


def _called(tool: AnyCalledTool) -> tuple[str, str]:
    if isinstance(tool, CalledCustomTool):
        return tool.custom.name, input_arguments(tool.custom.input)
    return _called_function(tool.function)


def _called_function(function: CalledFunction) -> tuple[str, str]:
    return function.name, "{}" if function.arguments is None else function.arguments


def _answered_call(message: ToolMessage, param: str, calls: _Calls) -> ToolCall:
    path = f"{param}.tool_call_id"
    if not message.tool_call_id:
        call = calls.next()
        if call is None:
            raise _no_id(path)
        return call
    named = calls.named(message.tool_call_id)
    if named is None:
        call_id = refusals.quote(message.tool_call_id)
        raise refusals.invalid(
            path,
            f"no earlier message has a tool call with the id {call_id}. "
            "Send the assistant message that made the call before its result.",
        )
    return named


def _no_id(path: str) -> ApiError:
    message = f"Missing required parameter: '{path}'. No earlier tool call waits for this result."
    return refusals.refusal(Code.MISSING_PARAMETER, path, message)


def _text(content: Text | AssistantText | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return PART_SEPARATOR.join(
        part.refusal if isinstance(part, RefusalPart) else part.text for part in content
    )
