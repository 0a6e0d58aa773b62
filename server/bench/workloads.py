"""What a benchmark asks: the same requests for every server, by name and number.

    WORKLOADS["call"].body("small", 3)      # a strict call of a named function, about the third subject
    WORKLOADS["chat"].summary               # "plain text, 64 tokens at most"

Sampling is greedy, so that one server's answers are the same in every round. Subjects repeat after 16.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SUBJECTS = (
    *("Paris", "Lagos", "Hanoi", "Lima", "Oslo", "Quito", "Cairo", "Perth"),
    *("Delhi", "Turin", "Kyoto", "Accra", "Davos", "Tunis", "Sofia", "Minsk"),
)

TRIP: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Where to.", "maxLength": 40},
        "class": {"type": "string", "enum": ["economy", "business", "first"]},
        "passengers": {"type": "integer", "minimum": 1, "maximum": 9},
        "flexible_dates": {"type": "boolean"},
        "contact": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "maxLength": 40},
                "preferred_language": {"type": "string", "enum": ["english", "french", "spanish"]},
            },
            "required": ["name", "preferred_language"],
            "additionalProperties": False,
        },
    },
    "required": ["city", "class", "passengers", "flexible_dates", "contact"],
    "additionalProperties": False,
}
"""Parameters as agents have them: names and choices make most of a call, free text the rest."""

NOTE: Mapping[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string", "minLength": 4000}},
    "required": ["text"],
    "additionalProperties": False,
}


def tool(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A strict function as a client defines it."""
    function = {"name": name, "description": description, "parameters": parameters, "strict": True}
    return {"type": "function", "function": function}


BOOK = tool("book_flight", "Book a flight.", TRIP)
CANCEL = tool("cancel_flight", "Cancel a flight.", TRIP)
WRITE = tool("write_note", "Write a long note.", NOTE)


def named(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


@dataclass(frozen=True, slots=True)
class Workload:
    """One kind of request: `question` has a place for a subject, `rest` is the remainder of the body."""

    summary: str
    question: str
    max_tokens: int
    rest: Mapping[str, Any] = field(default_factory=dict)

    def body(self, model: str, number: int) -> dict[str, Any]:
        """The request of this number, to be streamed with its usage."""
        question = self.question.format(SUBJECTS[number % len(SUBJECTS)])
        return {
            "model": model,
            "messages": [{"role": "user", "content": question}],
            "max_tokens": self.max_tokens,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
            **self.rest,
        }


FLIGHT = "Book a business flight to {} for two, dates fixed. I am Ada Moss and speak English."

WORKLOADS: Mapping[str, Workload] = {
    "chat": Workload("plain text, 64 tokens at most", "Tell me a story that is set in {}.", 64),
    "call": Workload(
        "a strict call of a named function",
        FLIGHT,
        256,
        {"tools": [BOOK], "tool_choice": named("book_flight")},
    ),
    "required": Workload(
        "a strict call, required, of one of two functions",
        FLIGHT,
        256,
        {"tools": [BOOK, CANCEL], "tool_choice": "required", "parallel_tool_calls": False},
    ),
    "auto": Workload(
        "strict functions, a call if the model wants one", FLIGHT, 256, {"tools": [BOOK, CANCEL]}
    ),
    "json": Workload(
        "an answer in a strict JSON schema",
        FLIGHT,
        256,
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "trip", "strict": True, "schema": TRIP},
            }
        },
    ),
    "long": Workload(
        "a strict call with 4 KB of arguments",
        "Write all that you know of {} into a note.",
        1600,
        {"tools": [WRITE], "tool_choice": named("write_note")},
    ),
}
