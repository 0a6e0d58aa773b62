"""The items of a response's output, and the events that tell of them while they are written.

    output = ResponseOutput("resp_6f1c…", names)
    output.add((Content("Hi"),))       # [output_item.added, content_part.added, output_text.delta]
    output.end(Status.COMPLETED)       # [output_text.done, content_part.done, output_item.done]
    output.items                       # [{"id": "msg_6f1c…00", "type": "message", …}]

There is one fold for both ways to answer, so a stream ends with the items that it told of. An item is open
while the model goes on with it; when it turns to something else, it is done.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from io import StringIO
from typing import Any, Protocol

from parsers.events import CallArguments, CallBegin, CallEnd, Content, Event, Reasoning, merge
from server.api.responses.names import ClientTool, ToolKind, ToolNames
from server.api.responses.sealed import sealed
from server.api.text_input import InputReader

Message = dict[str, Any]
"""An event of the stream, or an item, in OpenAI's form."""

ID_PREFIX = "resp_"


class Status(StrEnum):
    """How far a response or one of its items has come."""

    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    INCOMPLETE = "incomplete"
    FAILED = "failed"


class OutputPart(Protocol):
    """One item while it is written."""

    id: str
    status: Status

    def added(self) -> list[Message]:
        """The events that it begins with, but for its own `output_item.added`."""
        ...

    def feed(self, text: str, logprobs: Sequence[Message]) -> list[Message]: ...

    def done(self) -> list[Message]:
        """The events that it ends with, but for its own `output_item.done`."""
        ...

    def item(self) -> Message:
        """The item as far as it is written."""
        ...


class MessagePart:
    """Text for the user."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.status = Status.IN_PROGRESS
        self._text = StringIO()
        self._logprobs: list[Message] = []
        self._begun = False

    def added(self) -> list[Message]:
        event = {"type": "response.content_part.added", "content_index": 0, "part": self._part()}
        self._begun = True
        return [event]

    def feed(self, text: str, logprobs: Sequence[Message]) -> list[Message]:
        self._text.write(text)
        self._logprobs += logprobs
        delta = {"content_index": 0, "delta": text, "logprobs": [*logprobs]}
        return [{"type": "response.output_text.delta", **delta}]

    def done(self) -> list[Message]:
        part = self._part()
        told = {"content_index": 0, "text": part["text"], "logprobs": part["logprobs"]}
        return [
            {"type": "response.output_text.done", **told},
            {"type": "response.content_part.done", "content_index": 0, "part": part},
        ]

    def item(self) -> Message:
        content = [self._part()] if self._begun else []
        return {
            "id": self.id,
            "type": "message",
            "status": self.status,
            "role": "assistant",
            "content": content,
        }

    def _part(self) -> Message:
        text = self._text.getvalue()
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": [*self._logprobs]}


class ReasoningPart:
    """What the model thought. `seals`: the text is sent a second time, for clients that keep no other."""

    def __init__(self, id: str, *, seals: bool) -> None:
        self.id = id
        self.status = Status.IN_PROGRESS
        self._text = StringIO()
        self._seals = seals
        self._begun = False

    def added(self) -> list[Message]:
        event = {"type": "response.content_part.added", "content_index": 0, "part": self._part()}
        self._begun = True
        return [event]

    def feed(self, text: str, _logprobs: Sequence[Message]) -> list[Message]:
        self._text.write(text)
        return [{"type": "response.reasoning_text.delta", "content_index": 0, "delta": text}]

    def done(self) -> list[Message]:
        part = self._part()
        return [
            {"type": "response.reasoning_text.done", "content_index": 0, "text": part["text"]},
            {"type": "response.content_part.done", "content_index": 0, "part": part},
        ]

    def item(self) -> Message:
        content = [self._part()] if self._begun else []
        item: Message = {
            "id": self.id,
            "type": "reasoning",
            "status": self.status,
            "summary": [],
            "content": content,
        }
        if self._seals:
            item["encrypted_content"] = sealed(self._text.getvalue()) if self._begun else None
        return item

    def _part(self) -> Message:
        return {"type": "reasoning_text", "text": self._text.getvalue()}


class FunctionCallPart:
    """A call, with the JSON text of its arguments."""

    def __init__(self, id: str, call_id: str, tool: ClientTool) -> None:
        self.id = id
        self.status = Status.IN_PROGRESS
        self._call_id = call_id
        self._tool = tool
        self._arguments = StringIO()

    def added(self) -> list[Message]:
        return []

    def feed(self, text: str, _logprobs: Sequence[Message]) -> list[Message]:
        self._arguments.write(text)
        return [{"type": "response.function_call_arguments.delta", "delta": text}]

    def done(self) -> list[Message]:
        arguments = self._arguments.getvalue()
        told = {"name": self._tool.name, "arguments": arguments}
        return [{"type": "response.function_call_arguments.done", **told}]

    def item(self) -> Message:
        called = called_member(self._call_id, self._tool)
        arguments = self._arguments.getvalue()
        return {
            "id": self.id,
            "type": "function_call",
            "status": self.status,
            **called,
            "arguments": arguments,
        }


class CustomCallPart:
    """A call of a custom tool, with its input as text."""

    def __init__(self, id: str, call_id: str, tool: ClientTool) -> None:
        self.id = id
        self.status = Status.IN_PROGRESS
        self._call_id = call_id
        self._tool = tool
        self._reader = InputReader()
        self._begun = False

    def added(self) -> list[Message]:
        self._begun = True
        return []

    def feed(self, text: str, _logprobs: Sequence[Message]) -> list[Message]:
        read = self._reader.feed(text)
        return [{"type": "response.custom_tool_call_input.delta", "delta": read}] if read else []

    def done(self) -> list[Message]:
        return [{"type": "response.custom_tool_call_input.done", "input": self._reader.text}]

    def item(self) -> Message:
        called = called_member(self._call_id, self._tool)
        text = self._reader.text if self._begun else ""
        return {"id": self.id, "type": "custom_tool_call", "status": self.status, **called, "input": text}


def called_member(call_id: str, tool: ClientTool) -> Message:
    """The members that say what was called."""
    called = {"call_id": call_id, "name": tool.name}
    return called if tool.namespace is None else {**called, "namespace": tool.namespace}


class ResponseOutput:
    """Folds the events of an answer into items."""

    def __init__(self, response_id: str, names: ToolNames, *, seals_reasoning: bool = False) -> None:
        self._hex = response_id.removeprefix(ID_PREFIX)
        self._names = names
        self._seals = seals_reasoning
        self._done: list[Message] = []
        self._open: OutputPart | None = None

    @property
    def items(self) -> list[Message]:
        """All items, the one that is being written included."""
        return [*self._done, *([] if self._open is None else [self._open.item()])]

    def add(self, events: Iterable[Event], logprobs: Sequence[Message] = ()) -> list[Message]:
        """Take events of the path; return those of the stream. `logprobs` are of the tokens they came by."""
        told: list[Message] = []
        for event in merge(events):
            match event:
                case Content(text):
                    told += self._continue(MessagePart, text, logprobs)
                    logprobs = ()
                case Reasoning(text):
                    told += self._continue(ReasoningPart, text, ())
                case CallBegin(_, name, call_id):
                    told += self._begin_call(name, call_id or "")
                case CallArguments(_, text):
                    told += self._feed(text, ())
                case CallEnd():
                    told += self.end(Status.COMPLETED)
        return told

    def end(self, status: Status) -> list[Message]:
        """The open item ends."""
        if (part := self._open) is None:
            return []
        index = len(self._done)
        part.status = status
        told = self._placed(part, part.done())
        item = part.item()
        self._done.append(item)
        self._open = None
        return [*told, {"type": "response.output_item.done", "output_index": index, "item": item}]

    def empty_message(self) -> list[Message]:
        """A message without text, where the model has written nothing else to end with."""
        return [*self._begin(self._message()), *self.end(Status.COMPLETED)]

    def _continue(
        self, kind: type[MessagePart | ReasoningPart], text: str, logprobs: Sequence[Message]
    ) -> list[Message]:
        told: list[Message] = []
        if not isinstance(self._open, kind):
            told += self.end(Status.COMPLETED)
            told += self._begin(self._message() if kind is MessagePart else self._reasoning())
        return [*told, *self._feed(text, logprobs)]

    def _begin_call(self, name: str, call_id: str) -> list[Message]:
        told = self.end(Status.COMPLETED)
        tool = self._names.of(name)
        if tool.kind is ToolKind.CUSTOM:
            return [*told, *self._begin(CustomCallPart(self._id("ctc"), call_id, tool))]
        return [*told, *self._begin(FunctionCallPart(self._id("fc"), call_id, tool))]

    def _message(self) -> MessagePart:
        return MessagePart(self._id("msg"))

    def _reasoning(self) -> ReasoningPart:
        return ReasoningPart(self._id("rs"), seals=self._seals)

    def _begin(self, part: OutputPart) -> list[Message]:
        index = len(self._done)
        added = {"type": "response.output_item.added", "output_index": index, "item": part.item()}
        self._open = part
        return [added, *self._placed(part, part.added())]

    def _feed(self, text: str, logprobs: Sequence[Message]) -> list[Message]:
        return [] if self._open is None else self._placed(self._open, self._open.feed(text, logprobs))

    def _placed(self, part: OutputPart, events: Iterable[Message]) -> list[Message]:
        place = {"item_id": part.id, "output_index": len(self._done)}
        return [{**event, **place} for event in events]

    def _id(self, kind: str) -> str:
        """An id that names the response too, by which a stored item is found."""
        return f"{kind}_{self._hex}{len(self._done):02x}"
