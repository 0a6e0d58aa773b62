"""What was read of a whole answer, put together from the parser's events, for commands that show it.

reading = Reading()
reading.add(CallBegin(0, "f"))
reading.add(CallArguments(0, "{}"))
reading.add(CallEnd(0))
reading.calls    # [{"id": "call_0", "name": "f", "arguments": "{}"}]
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from parsers.events import CallArguments, CallBegin, CallEnd, Content, Event, Malformed, Reasoning


@dataclass(slots=True)
class Reading:
    """What was read so far. `ended` are the indices of the calls that are complete."""

    content: str = ""
    reasoning: str = ""
    begun: dict[int, dict[str, str]] = field(default_factory=dict)
    ended: list[int] = field(default_factory=list)
    failures: list[dict[str, str]] = field(default_factory=list)

    @property
    def calls(self) -> list[dict[str, str]]:
        """The complete calls, in order. One to which the model gave no id has one of its number."""
        return [self.begun[index] for index in self.ended]

    def add(self, events: Iterable[Event]) -> None:
        for event in events:
            match event:
                case Content(text):
                    self.content += text
                case Reasoning(text):
                    self.reasoning += text
                case CallBegin(index, name, own_id):
                    self.begun[index] = {"id": own_id or f"call_{index}", "name": name, "arguments": ""}
                case CallArguments(index, text):
                    self.begun[index]["arguments"] += text
                case CallEnd(index):
                    self.ended.append(index)
                case Malformed(raw, reason):
                    self.failures.append({"reason": reason.value, "raw": raw})
