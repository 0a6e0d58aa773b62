"""The ids of calls in the form that a model family was trained on, for clients and prompt alike.

    form_of(KIMI_K2, CallIds.ANY)                   # CallIdForm.NUMBERED
    CallIdSource(form, messages).named(events)      # the events of one answer, its calls with ids

A client sends an id back with the result of the call. If it were of another form, the template would refuse
it, or the model would read an id that it could not have written. An id that the model wrote itself is kept,
unless it is of another form or some other call's.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from parsers.call_ids import CallIdForm
from parsers.events import CallBegin, Event
from parsers.family import Family
from server.prompt.traits import CallIds
from server.request import Message


def form_of(family: Family, template: CallIds) -> CallIdForm:
    """The form for a family with a template that takes the ids `template`."""
    return CallIdForm.NINE_LETTERS if template is CallIds.NINE_LETTERS else family.call_ids


class CallIdSource:
    """Gives ids to the calls of one answer to `messages`, in order."""

    def __init__(self, form: CallIdForm, messages: Sequence[Message]) -> None:
        self._form = form
        self._given = {call.id for message in messages for call in message.tool_calls}
        self._number = sum(len(message.tool_calls) for message in messages)

    def named(self, events: Iterable[Event]) -> tuple[Event, ...]:
        """The events, each call with its id: the one that the model wrote, if it can be kept."""
        return tuple(
            replace(event, id=self._id(event)) if isinstance(event, CallBegin) else event for event in events
        )

    def _id(self, call: CallBegin) -> str:
        id = call.id or ""
        kept = id not in self._given and self._form.holds(id, call.name)
        number, self._number = self._number, self._number + 1
        while not kept:
            id = self._form.new(call.name, number)
            kept = id not in self._given
            number += 1
        self._given.add(id)
        return id


def renumbered(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with the ids of their calls in numbered form, in results as well.

    An id may come again in a later turn, so a result takes its number from the calls before it.
    """
    renamed: list[Message] = []
    number = 0
    ids: dict[str, str] = {}
    for message in messages:
        calls = []
        for call in message.tool_calls:
            ids[call.id] = new_id = CallIdForm.NUMBERED.new(call.name, number)
            number += 1
            calls.append(replace(call, id=new_id))
        result_of = ids.get(message.tool_call_id, message.tool_call_id)
        renamed.append(replace(message, tool_calls=tuple(calls), tool_call_id=result_of))
    return tuple(renamed)
