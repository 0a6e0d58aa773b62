"""What a chat template can do, found out by rendering small conversations once, at load time.

    probe(template.render)
    # Traits(tools=True, calls=True, arguments=Arguments.OBJECT, system=SystemRole.FRONT, …)

Reading a template's source cannot tell: templates refuse, drop, or quote a second time what they do not know.
The probe asks for a word of each thing, and looks whether it is in the prompt.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from server.errors import ApiError
from server.prompt.thinking import Switch, find_switch


class Arguments(Enum):
    """How the arguments of a call in the history are handed over."""

    OBJECT = "object"
    TEXT = "text"
    """As JSON text, like OpenAI's API; templates that take objects quote such text a second time."""


class SystemRole(Enum):
    """Where a template takes system messages."""

    ANYWHERE = "anywhere"
    FRONT = "front"
    """One, as the first message."""
    LAST_USER = "last user"
    """At the front, but the template writes it before the last user message and drops it once calls follow
    that. It is put into that message instead."""
    NONE = "none"


class TextBesideCalls(Enum):
    """Where a template shows the text of a turn that has calls, too."""

    TOGETHER = "together"
    BEFORE = "before"
    """Only in a turn of its own, before that of the calls."""
    NOWHERE = "nowhere"
    """It is refused or dropped, or the calls are: models that write either the one or the other."""


class CallIds(Enum):
    """Which ids of calls a template takes."""

    ANY = "any"
    NINE_LETTERS = "nine letters"
    """Nine letters or digits: Mistral's."""


@dataclass(frozen=True, slots=True)
class Traits:
    """The answers.

    `tools`: the tools' names reach the prompt. `calls`: so do names and arguments of calls in the history,
    and `results`: what the tools returned. `parallel_calls`: two calls of one turn both do. `text_calls`:
    calls that are written into the text of their turn do, with their results. `text_arguments`:
    arguments that are no JSON can be shown as they are. `developer`: the role is known. `empty_content`: what
    stands for no text beside calls. `reasoning_key`: the key under which earlier reasoning is looked for.
    `thinking`: the variables that turn reasoning on and off.
    """

    tools: bool
    calls: bool
    results: bool
    parallel_calls: bool
    text_calls: bool
    text_beside_calls: TextBesideCalls
    arguments: Arguments
    text_arguments: bool
    system: SystemRole
    developer: bool
    call_ids: CallIds
    empty_content: str | None
    reasoning_key: str
    thinking: Switch | None


class Render(Protocol):
    """`ChatTemplate.render`, as far as it is needed here."""

    def __call__(
        self,
        messages: Sequence[dict[str, Any]],
        *,
        tools: Sequence[dict[str, Any]] | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> str: ...


USER = {"role": "user", "content": "quokka"}
ANSWER = {"role": "assistant", "content": "numbat"}
TOOL_NAME = "find_wombat"
TOOL = {
    "type": "function",
    "function": {
        "name": TOOL_NAME,
        "description": "Find a wombat.",
        "parameters": {
            "type": "object",
            "properties": {"burrow": {"type": "string", "description": "Where."}},
            "required": ["burrow"],
        },
    },
}
IDS = {
    CallIds.ANY: ("call_0123456789abcdef", "call_fedcba9876543210"),
    CallIds.NINE_LETTERS: ("a1b2c3d4e", "f5g6h7i8j"),
}
REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")


def probe(render: Render) -> Traits:
    """Ask all questions: about twenty renderings of a few lines each."""
    ask = _Question(render)
    arguments, call_ids, empty = ask.call_form()
    form = _CallForm(arguments, call_ids, empty)
    return Traits(
        tools=ask.shows([USER], TOOL_NAME, tools=[TOOL]),
        calls=ask.shows(form.history(), TOOL_NAME, "burrow", "hill", tools=[TOOL]),
        results=ask.shows(form.history(), "bandicoot", tools=[TOOL]),
        parallel_calls=ask.shows(
            form.history(calls=2), "hill", "creek", "bandicoot", "bettong", tools=[TOOL]
        ),
        text_calls=ask.shows(form.written_history(), "hill", "bandicoot", tools=[TOOL]),
        text_beside_calls=ask.text_beside_calls(form),
        arguments=arguments,
        text_arguments=ask.shows(form.history(text='{"burrow": potoroo'), "potoroo", tools=[TOOL]),
        system=ask.system_role(form),
        developer=ask.shows([{"role": "developer", "content": "bilby"}, USER], "bilby"),
        call_ids=call_ids,
        empty_content=empty,
        reasoning_key=ask.reasoning_key(form),
        thinking=find_switch(render),
    )


@dataclass(frozen=True, slots=True)
class _CallForm:
    """One way to write a conversation with calls in it."""

    arguments: Arguments
    ids: CallIds
    empty: str | None

    def history(
        self, *, calls: int = 1, text: str = "", turn: Mapping[str, str] | None = None
    ) -> list[dict[str, Any]]:
        """Return a user turn, calls that look for a hill and a creek, and their results."""
        places, results = ("hill", "creek")[:calls], ("bandicoot", "bettong")[:calls]
        ids = IDS[self.ids]
        tool_calls = [
            {
                "id": id,
                "type": "function",
                "function": {"name": TOOL_NAME, "arguments": self._form(place, text)},
            }
            for id, place in zip(ids, places, strict=False)
        ]
        assistant = {"role": "assistant", "content": self.empty, "tool_calls": tool_calls, **(turn or {})}
        answers = [
            {"role": "tool", "name": TOOL_NAME, "tool_call_id": id, "content": result}
            for id, result in zip(ids, results, strict=False)
        ]
        return [USER, assistant, *answers]

    def written_history(self) -> list[dict[str, Any]]:
        """Return the same of one call that is the text of its turn."""
        user, _, answer = self.history()
        return [user, {"role": "assistant", "content": f"{TOOL_NAME}: hill"}, answer]

    def _form(self, place: str, text: str) -> object:
        if text:
            return text
        return {"burrow": place} if self.arguments is Arguments.OBJECT else f'{{"burrow": "{place}"}}'


class _Question:
    """Asks one template."""

    def __init__(self, render: Render) -> None:
        self._render = render

    def shows(
        self, messages: list[dict[str, Any]], *words: str, tools: list[dict[str, Any]] | None = None
    ) -> bool:
        """Return whether the conversation can be rendered and all the words are in the prompt."""
        try:
            prompt = self._render(messages, tools=tools)
        except ApiError:
            return False
        return all(word in prompt for word in words)

    def call_form(self) -> tuple[Arguments, CallIds, str | None]:
        """Return the first way to write a call that the template shows, or at least does not refuse."""
        ways = list(itertools.product(Arguments, CallIds, ("", None)))
        for words in ((TOOL_NAME, "burrow", "hill", "bandicoot"), (TOOL_NAME, "burrow", "hill"), ()):
            for way in ways:
                if self.shows(_CallForm(*way).history(), *words, tools=[TOOL]):
                    return way
        return ways[0]

    def system_role(self, form: _CallForm) -> SystemRole:
        """Return where system messages are shown."""
        first, second = ({"role": "system", "content": word} for word in ("bilby", "dunnart"))
        late = [first, USER, ANSWER, second, USER]
        if self.shows([first, second, USER], "bilby", "dunnart") and self.shows(late, "bilby", "dunnart"):
            return SystemRole.ANYWHERE
        if not self.shows([first, USER], "bilby"):
            return SystemRole.NONE
        calls = form.history()
        dropped = self.shows(calls, tools=[TOOL]) and not self.shows([first, *calls], "bilby", tools=[TOOL])
        return SystemRole.LAST_USER if dropped else SystemRole.FRONT

    def text_beside_calls(self, form: _CallForm) -> TextBesideCalls:
        """Return where text beside calls is shown."""
        words = ("potoroo", "hill", "bandicoot")
        if self.shows(form.history(turn={"content": "potoroo"}), *words, tools=[TOOL]):
            return TextBesideCalls.TOGETHER
        user, *calls = form.history()
        text = {"role": "assistant", "content": "potoroo"}
        if self.shows([user, text, *calls, ANSWER, USER], *words, tools=[TOOL]):
            return TextBesideCalls.BEFORE
        return TextBesideCalls.NOWHERE

    def reasoning_key(self, form: _CallForm) -> str:
        """Return the key under which the reasoning before a call is shown."""
        for key in REASONING_KEYS:
            if self.shows(form.history(turn={key: "potoroo"}), "potoroo", tools=[TOOL]):
                return key
        return REASONING_KEYS[0]
