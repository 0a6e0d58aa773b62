"""The ids of calls in the form that a model family was trained on, for clients and prompt alike.

    form_of("kimi_k2", CallIds.ANY)                                 # CallIdForm.NUMBERED
    CallIdSource(CallIdForm.NUMBERED, messages).new("get_weather")  # "functions.get_weather:0"
    CallIdSource(CallIdForm.NINE_LETTERS, messages).new("f")        # "b81Ac03Fe"
    CallIdSource(CallIdForm.UNIQUE, messages).new("f")              # "call_5f0c6e0d4fc84d6a9c7d1a2b"

A client sends an id back with the result of the call. If it were of another form, the template would refuse
it, or the model would read an id that it could not have written.
"""

import secrets
import string
from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import Enum

from parsers.events import CallBegin, Event
from server.request import Message
from server.traits import CallIds


class CallIdForm(Enum):
    """How ids look."""

    UNIQUE = "unique"
    """OpenAI's: `call_` and 24 characters that no other call has."""
    NINE_LETTERS = "nine letters"
    """Nine letters or digits: Mistral's."""
    NUMBERED = "numbered"
    """`functions.NAME:N`, where N counts all calls of the conversation from 0: Kimi's."""


FORMS = {
    "kimi_k2": CallIdForm.NUMBERED,
    "mistral_v3": CallIdForm.NINE_LETTERS,
    "mistral_v11": CallIdForm.NINE_LETTERS,
    "mistral_v13": CallIdForm.NINE_LETTERS,
}
"""The families that have a form of their own."""

LETTERS = string.ascii_letters + string.digits


def form_of(family: str, template: CallIds) -> CallIdForm:
    """The form for a family with a template that takes the ids `template`."""
    if template is CallIds.NINE_LETTERS:
        return CallIdForm.NINE_LETTERS
    return FORMS.get(family, CallIdForm.UNIQUE)


class CallIdSource:
    """Gives ids to the calls of one answer to `messages`, in order."""

    def __init__(self, form: CallIdForm, messages: Sequence[Message]) -> None:
        self._form = form
        self._number = sum(len(message.tool_calls) for message in messages)

    def named(self, events: Iterable[Event]) -> tuple[Event, ...]:
        """The events, each call with its id in place of the one that the model may have written."""
        return tuple(
            replace(event, id=self.new(event.name)) if isinstance(event, CallBegin) else event
            for event in events
        )

    def new(self, name: str) -> str:
        """The id of the next call, which is one of `name`."""
        number, self._number = self._number, self._number + 1
        match self._form:
            case CallIdForm.NUMBERED:
                return f"functions.{name}:{number}"
            case CallIdForm.NINE_LETTERS:
                return "".join(secrets.choice(LETTERS) for _ in range(9))
            case CallIdForm.UNIQUE:
                return f"call_{secrets.token_hex(12)}"


def renumbered(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with the ids of their calls in numbered form, in results as well.

    An id may come again in a later turn, so a result takes its number from the calls before it.
    """
    renamed: list[Message] = []
    source = CallIdSource(CallIdForm.NUMBERED, ())
    ids: dict[str, str] = {}
    for message in messages:
        calls = []
        for call in message.tool_calls:
            new_id = source.new(call.name)
            ids[call.id] = new_id
            calls.append(replace(call, id=new_id))
        result_of = ids.get(message.tool_call_id, message.tool_call_id)
        renamed.append(replace(message, tool_calls=tuple(calls), tool_call_id=result_of))
    return tuple(renamed)
