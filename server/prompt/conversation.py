"""Messages and tools as a chat template wants them, which is not quite as OpenAI's API has them.

    turns(messages, traits, hide, family.write_calls)
    # [{"role": "user", "content": "Hi"},
    #  {"role": "assistant", "content": "", "tool_calls": [
    #      {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}]},
    #  {"role": "tool", "tool_call_id": "call_1", "name": "f", "content": "2"}]

Nothing that a client wrote is lost on the way:

- system messages stay where they are if the template shows them there; else they are joined into one at the
  front, or at the beginning of a user message: of the first, or of the last as early Mistral models have it.
  A blank line joins them.
- tool results go into the order of the calls, since most formats pair them by position.
- a turn with several calls is one turn per call, each before its result, if the template shows one call only.
- the text of a turn of calls is a turn of its own before it, if the template shows it only there.
- calls are written into the text of their turn, as the family writes them, if the template shows none.
- arguments that are not a JSON object, often cut short by an earlier token budget, are shown as they are.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from server.prompt.traits import Arguments, CallIds, SystemRole, TextBesideCalls, Traits
from server.request import Json, Message, ToolCall, ToolDefinition

Hide = Callable[[Any], Any]
"""Makes a client's JSON value safe to show to a template: `Placeholders.hide`."""

WriteCalls = Callable[[Iterable[tuple[str, Mapping[str, Any]]]], str]
"""Writes calls as the model would: the family's."""

NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}


def turns(
    messages: Sequence[Message], traits: Traits, hide: Hide, write_calls: WriteCalls
) -> list[dict[str, Any]]:
    """Return the messages as template dicts."""
    settled = _order_results(_settle_system(messages, traits.system))
    if traits.text_calls and not traits.calls:
        return [_turn(message, traits, hide, write_calls) for message in settled]
    if not traits.parallel_calls:
        settled = _one_call_per_turn(settled)
    parts = (part for message in settled for part in _text_and_calls(message, traits.text_beside_calls))
    return [_turn(part, traits, hide) for part in parts]


def tool_definitions(tools: Iterable[ToolDefinition], hide: Hide) -> list[dict[str, Any]]:
    """Return the tools as template dicts, in the client's order; `strict` is between us and the client."""
    return [{"type": "function", "function": _function(tool, hide)} for tool in tools]


def plain_definitions(definitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return tool dicts for templates that read schemas as if all had one type and a description.

    A copy for the prompt: the mask and the checks keep the client's schema.
    """
    plain = []
    for definition in definitions:
        function = definition["function"]
        parameters = {"properties": {}, "required": [], **_plain_schema(function["parameters"])}
        plain.append({**definition, "function": {"description": "", **function, "parameters": parameters}})
    return plain


def _settle_system(messages: Sequence[Message], role: SystemRole) -> list[Message]:
    """Put system messages where the template takes them."""
    system = [message for message in messages if message.role == "system"]
    in_place = role is SystemRole.ANYWHERE
    if role is SystemRole.FRONT:
        in_place = len(system) == 1 and messages[0].role == "system"
    if in_place or not system:
        return list(messages)
    others = [message for message in messages if message.role != "system"]
    text = "\n\n".join(message.content for message in system)
    if role is SystemRole.FRONT:
        return [replace(system[0], content=text), *others]
    users = [i for i, message in enumerate(others) if message.role == "user"]
    if not users:
        return [replace(system[0], role="user", content=text), *others]
    at = users[-1] if role is SystemRole.LAST_USER else users[0]
    user = replace(others[at], content=f"{text}\n\n{others[at].content}")
    return [*others[:at], user, *others[at + 1 :]]


def _order_results(messages: Sequence[Message]) -> list[Message]:
    """Put the results that follow a turn of calls into the order of the calls, each with its tool's name."""
    ordered: list[Message] = []
    results: list[Message] = []
    calls: tuple[ToolCall, ...] = ()
    for message in messages:
        if message.role == "tool":
            results.append(message)
            continue
        ordered += _pair(results, calls)
        results = []
        ordered.append(message)
        calls = message.tool_calls or calls
    return ordered + _pair(results, calls)


def _pair(results: Sequence[Message], calls: Sequence[ToolCall]) -> list[Message]:
    """Sort results like their calls. Those without an id answer the calls that no other answers, in order."""
    answered = {result.tool_call_id for result in results}
    open_ids = (call.id for call in calls if call.id not in answered)
    named = [
        result if result.tool_call_id else replace(result, tool_call_id=next(open_ids, ""))
        for result in results
    ]
    names = {call.id: call.name for call in calls}
    places = {call.id: i for i, call in enumerate(calls)}
    named.sort(key=lambda result: places.get(result.tool_call_id, len(places)))
    return [replace(result, name=result.name or names.get(result.tool_call_id, "")) for result in named]


def _one_call_per_turn(messages: Sequence[Message]) -> list[Message]:
    """Split each turn of several calls into turns of one call, each followed by its result."""
    split: list[Message] = []
    waiting: list[ToolCall] = []
    for message in messages:
        if message.role == "tool":
            # Results are in the order of the calls, so that the calls before this one have none.
            while waiting and any(call.id == message.tool_call_id for call in waiting):
                split.append(_single(message, waiting.pop(0)))
            split.append(message)
            continue
        split += [_single(message, call) for call in waiting]
        waiting = list(message.tool_calls[1:])
        split.append(replace(message, tool_calls=message.tool_calls[:1]))
    return split + [_single(messages[-1], call) for call in waiting]


def _single(near: Message, call: ToolCall) -> Message:
    return Message("assistant", "", param=near.param, tool_calls=(call,))


def _text_and_calls(message: Message, place: TextBesideCalls) -> tuple[Message, ...]:
    """Put the text of a turn of calls where the template shows it. Where it shows none, calls come first."""
    if place is TextBesideCalls.TOGETHER or not (message.tool_calls and message.content):
        return (message,)
    calls = replace(message, content="")
    if place is TextBesideCalls.NOWHERE:
        return (calls,)
    return replace(message, tool_calls=()), replace(calls, reasoning="")


def _turn(
    message: Message, traits: Traits, hide: Hide, write_calls: WriteCalls | None = None
) -> dict[str, Any]:
    """Return a template dict. With `write_calls`, calls are text."""
    turn: dict[str, Any] = {"role": message.role, "content": hide(message.content)}
    if message.name:
        turn["name"] = hide(message.name)
    if message.role == "tool":
        turn["tool_call_id"] = hide(_call_id(message.tool_call_id, traits.call_ids))
    if message.reasoning:
        turn[traits.reasoning_key] = hide(message.reasoning)
    if message.tool_calls and write_calls:
        turn["content"] += write_calls([_written(call, hide, write_calls) for call in message.tool_calls])
    elif message.tool_calls:
        turn["content"] = turn["content"] or traits.empty_content
        turn["tool_calls"] = [_call(call, traits, hide) for call in message.tool_calls]
    return turn


def _call(call: ToolCall, traits: Traits, hide: Hide) -> dict[str, Any]:
    return {
        "id": hide(_call_id(call.id, traits.call_ids)),
        "type": "function",
        "function": {"name": hide(call.name), "arguments": _arguments(call.arguments, traits, hide)},
    }


def _written(call: ToolCall, hide: Hide, write_calls: WriteCalls) -> tuple[str, Mapping[str, Any]]:
    """Return a call with arguments that can be written: those that cannot are the text of one."""
    name, arguments = hide(call.name), _object(call.arguments)
    if arguments is not None:
        with suppress(ValueError):
            write_calls([(name, hidden := hide(arguments))])
            return name, hidden
    return name, {"arguments": hide(call.arguments)}


def _arguments(text: str, traits: Traits, hide: Hide) -> Json:
    """Return arguments as the template shows them, with letters where the client sent escapes of them."""
    value = _object(text)
    if value is not None:
        hidden = hide(value)
        is_object = traits.arguments is Arguments.OBJECT
        return hidden if is_object else json.dumps(hidden, ensure_ascii=False)
    shown_as_text = traits.text_arguments or traits.arguments is Arguments.TEXT
    return hide(text) if shown_as_text else {"arguments": hide(text)}


def _object(text: str) -> dict[str, Any] | None:
    """Return the object that arguments are, None if they are none."""
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _call_id(id: str, ids: CallIds) -> str:
    """Return an id that the template takes: the client's if it can be, else always the same for the same."""
    if ids is CallIds.ANY or (len(id) == 9 and id.isascii() and id.isalnum()):
        return id
    return hashlib.sha256(id.encode(errors="surrogatepass")).hexdigest()[:9]


def _function(tool: ToolDefinition, hide: Hide) -> dict[str, Any]:
    function: dict[str, Any] = {"name": hide(tool.name)}
    if tool.description:
        function["description"] = hide(tool.description)
    has_schema = isinstance(tool.parameters, Mapping)
    function["parameters"] = hide(tool.parameters if has_schema else NO_PARAMETERS)
    return function


def _plain_schema(schema: Json) -> dict[str, Any]:
    """Return a schema with one `type` and a `description` at every level."""
    if not isinstance(schema, Mapping):
        return {"type": "string", "description": ""}
    plain = {"description": "", **schema, "type": _one_type(schema)}
    for keyword in ("properties", "$defs", "definitions"):
        if isinstance(members := schema.get(keyword), Mapping):
            plain[keyword] = {name: _plain_schema(member) for name, member in members.items()}
    for keyword in ("anyOf", "oneOf", "allOf"):
        if isinstance(members := schema.get(keyword), Sequence):
            plain[keyword] = [_plain_schema(member) for member in members]
    if "items" in schema:
        plain["items"] = _plain_schema(schema["items"])
    return plain


def _one_type(schema: Mapping[str, Any]) -> str:
    """Return the type that describes the schema best: the first that is not null."""
    listed = schema.get("type")
    if isinstance(listed, str):
        return listed
    if isinstance(listed, list):
        return next((str(name) for name in listed if name != "null"), "null")
    for keyword in ("anyOf", "oneOf", "allOf"):
        if isinstance(members := schema.get(keyword), list):
            types = [_one_type(member) for member in members if isinstance(member, Mapping)]
            return next((name for name in types if name != "null"), "null")
    return "object" if "properties" in schema or "$ref" in schema else "string"
