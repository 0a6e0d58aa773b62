r"""What a chat template writes for calls in an answer: rendered, and cut out of the prompt.

    probe = Probe(template, Marks(control_strings))
    probe.written(("find_wombat", {"burrow": "hill"}))
    # '<tool_call>\n{"name": "find_wombat", "arguments": {"burrow": "hill"}}\n</tool_call>'

The prompt with an answer of calls is held against the one with an answer of text: what both begin and end
with is the turn around the answer.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from parsers.syntax import Span
from server.derive.marks import Marks
from server.errors import ApiError
from server.prompt.template import ChatTemplate
from server.prompt.traits import IDS, USER, Arguments

Call = tuple[str, Mapping[str, Any]]

TEXT = "Ωquokkas sleepΩ"
"""An answer that no call begins or ends like."""

FIND = {
    "type": "object",
    "properties": {
        "burrow": {"type": "string", "description": "Where."},
        "depth": {"type": "integer", "description": "How deep."},
        "dry": {"type": "boolean", "description": "Whether it rained."},
        "food": {"type": "array", "items": {"type": "string"}, "description": "What it gets."},
        "mood": {"type": ["object", "null"], "description": "How it feels."},
    },
    "required": ["burrow"],
}
FEED = {
    "type": "object",
    "properties": {"meal": {"type": "string", "description": "What it gets."}},
    "required": ["meal"],
}
REST = {"type": "object", "properties": {}, "required": []}
SCHEMAS: Mapping[str, Mapping[str, Any]] = {"find_wombat": FIND, "feed_numbat": FEED, "rest_wallaby": REST}


class NotDerivedError(ValueError):
    """A template shows no form of calls that a record could state; the message says why."""


class Probe:
    """Asks one template, in whose answers `span` may stand empty, and `ends` at the end of a turn."""

    def __init__(
        self, template: ChatTemplate, marks: Marks, *, ends: Collection[str] = (), span: Span | None = None
    ) -> None:
        self._template = template
        self._marks = marks
        self._ends = tuple(ends)
        self._span = span
        self.traits = template.traits
        self._plain = self._render({"role": "assistant", "content": TEXT})

    @property
    def parallel(self) -> bool:
        """Whether the template shows two calls in one turn."""
        return self.traits.parallel_calls

    def written(self, *calls: Call, text: str = "", thought: str = "") -> str:
        """What the template writes for an answer of these calls. Raises `NotDerivedError` if it refuses."""
        answer: dict[str, Any] = {
            "role": "assistant",
            "content": text or self.traits.empty_content,
            "tool_calls": [self._call(call, number) for number, call in enumerate(calls)],
        }
        if thought:
            answer[self.traits.reasoning_key] = thought
        return self._bare(self._marks.different(self._render(answer), self._plain))

    def _bare(self, answer: str) -> str:
        """The answer without an empty thought and without what only ends the turn."""
        if self._span is not None and answer.startswith(self._span.begin):
            between, end, rest = answer.removeprefix(self._span.begin).partition(self._span.end)
            if end and not between.strip():
                answer = rest.lstrip()
        while (bare := answer.rstrip()).endswith(self._ends):
            answer = bare.removesuffix(next(end for end in self._ends if bare.endswith(end)))
        return answer

    def _call(self, call: Call, number: int) -> dict[str, Any]:
        name, arguments = call
        ids = IDS[self.traits.call_ids]
        is_object = self.traits.arguments is Arguments.OBJECT
        given = dict(arguments) if is_object else json.dumps(arguments, ensure_ascii=False)
        return {
            # Of ids there are two; more calls than that have ids that come again, which no template minds.
            "id": ids[number % len(ids)],
            "type": "function",
            "function": {"name": name, "arguments": given},
        }

    def _render(self, answer: Mapping[str, Any]) -> str:
        tools = [
            {"type": "function", "function": {"name": name, "description": "Do it.", "parameters": schema}}
            for name, schema in SCHEMAS.items()
        ]
        turns: Sequence[dict[str, Any]] = [USER, dict(answer)]
        try:
            return self._template.render(turns, tools=tools, add_generation_prompt=False)
        except ApiError as error:
            raise NotDerivedError("it refuses an answer of calls") from error
