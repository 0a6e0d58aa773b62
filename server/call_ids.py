"""The ids of calls in the form that a model family was trained on, for clients and prompt alike.

    form_of("kimi_k2", CallIds.ANY)                 # CallIdForm.NUMBERED
    CallIdForm.NUMBERED.new("get_weather", 0)       # "functions.get_weather:0"
    CallIdForm.NINE_LETTERS.new("get_weather", 0)   # "b81Ac03Fe"
    CallIdForm.UNIQUE.new("get_weather", 0)         # "call_5f0c6e0d4fc84d6a9c7d1a2b"
    CallIdSource(form, messages).named(events)      # the events of one answer, its calls with ids

A client sends an id back with the result of the call. If it were of another form, the template would refuse
it, or the model would read an id that it could not have written. An id that the model wrote itself is kept,
unless it is of another form or some other call's.
"""

import re
import secrets
import string
from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import Enum

from parsers.events import CallBegin, Event
from server.request import Message
from server.traits import CallIds

LETTERS = string.ascii_letters + string.digits


class CallIdForm(Enum):
    """How ids look."""

    UNIQUE = "unique"
    """OpenAI's: `call_` and 24 characters that no other call has."""
    NINE_LETTERS = "nine letters"
    """Nine letters or digits: Mistral's."""
    NUMBERED = "numbered"
    """`functions.NAME:N`, where N counts all calls of the conversation from 0: Kimi's."""

    def holds(self, id: str, name: str) -> bool:
        """Whether the id of a call of `name` is of this form."""
        match self:
            case CallIdForm.NUMBERED:
                return re.fullmatch(rf"functions\.{re.escape(name)}:[0-9]{{1,9}}", id) is not None
            case CallIdForm.NINE_LETTERS:
                return re.fullmatch(r"[0-9a-zA-Z]{9}", id) is not None
            case CallIdForm.UNIQUE:
                return False  # No model writes ids that no other call anywhere has.

    def new(self, name: str, number: int) -> str:
        """An id of this form for a call of `name`, before which there are `number` others."""
        match self:
            case CallIdForm.NUMBERED:
                return f"functions.{name}:{number}"
            case CallIdForm.NINE_LETTERS:
                return "".join(secrets.choice(LETTERS) for _ in range(9))
            case CallIdForm.UNIQUE:
                return f"call_{secrets.token_hex(12)}"


FORMS = {
    "kimi_k2": CallIdForm.NUMBERED,
    "mistral_v3": CallIdForm.NINE_LETTERS,
    "mistral_v11": CallIdForm.NINE_LETTERS,
    "mistral_v13": CallIdForm.NINE_LETTERS,
}
"""The families that have a form of their own."""


def form_of(family: str, template: CallIds) -> CallIdForm:
    """The form for a family with a template that takes the ids `template`."""
    if template is CallIds.NINE_LETTERS:
        return CallIdForm.NINE_LETTERS
    return FORMS.get(family, CallIdForm.UNIQUE)


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
