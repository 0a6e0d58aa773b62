r"""What of a conversation with calls reaches the model, tried on one that has all there is to lose.

    rehearsal = rehearse(template, HERMES)
    rehearsal.text       # "<|im_start|>system\nAnswer in haiku.…"
    rehearsal.lost       # (): everything is there; or ("call 2", "result 2")

Two tools, two calls side by side, and their two results, which the client sent in the wrong order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from parsers.family import Family
from server.errors import ApiError
from server.prompt.conversation import tool_definitions
from server.prompt.render import template_turns
from server.prompt.renderer import Renderer
from server.request import Message, ToolCall, ToolDefinition

TOOLS = (
    ToolDefinition(
        "find_wombat",
        "Say where a wombat sleeps.",
        {
            "type": "object",
            "properties": {
                "burrow": {"type": "string", "description": "The burrow's name."},
                "depth": {"type": "integer", "description": "How deep to look."},
            },
            "required": ["burrow"],
        },
        strict=True,
    ),
    ToolDefinition(
        "feed_numbat",
        "Give a numbat its meal.",
        {
            "type": "object",
            "properties": {"meal": {"type": "string", "description": "What it gets."}},
            "required": ["meal"],
        },
        strict=True,
    ),
)

QUESTION = (Message("system", "Answer in haiku."), Message("user", "Are they well?"))
CALLS = Message(
    "assistant",
    "",
    tool_calls=(
        ToolCall("call_5f0c6e0d4fc84d6a9c7d1a2b", "find_wombat", '{"burrow": "hillside", "depth": 7}'),
        ToolCall("call_b1946ac92492d2347c6235b4", "feed_numbat", '{"meal": "termites"}'),
    ),
)
RESULTS = (
    Message("tool", "munching", tool_call_id="call_b1946ac92492d2347c6235b4"),
    Message("tool", "sleeping", tool_call_id="call_5f0c6e0d4fc84d6a9c7d1a2b"),
)

EVERYTHING = ("everything",)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """How it went. `text` is the prompt, or the template's refusal; `lost` names what is wrong with it."""

    text: str
    lost: tuple[str, ...]

    def shown(self, kind: str) -> int:
        """How many of the two tools, calls or results are there: `kind` is `tool`, `call` or `result`."""
        return 0 if self.lost == EVERYTHING else 2 - sum(name.startswith(kind) for name in self.lost)


def rehearse(template: Renderer, family: Family) -> Rehearsal:
    """Render the conversation, and the same without calls: what only the calls add is theirs."""
    try:
        asked = _prompt(template, family, QUESTION)
        whole = _prompt(template, family, (*QUESTION, CALLS, *RESULTS))
    except ApiError as error:
        return Rehearsal(error.message, EVERYTHING)
    return Rehearsal(whole, (*_lost_before(asked), *_lost_calls(asked, whole), *_added(asked, whole)))


def _prompt(template: Renderer, family: Family, messages: Sequence[Message]) -> str:
    turns = template_turns(messages, template, family, lambda value: value)
    return template.render(turns, tools=tool_definitions(TOOLS, lambda value: value))


def _lost_before(asked: str) -> Iterator[str]:
    """What the first prompt lacks of the messages and tools."""
    for message in QUESTION:
        if message.content not in asked:
            yield f"the {message.role} message"
    for number, tool in enumerate(TOOLS, 1):
        properties = tool.parameters["properties"] if isinstance(tool.parameters, dict) else {}
        if not all(word in asked for word in (tool.name, tool.description or "", *properties)):
            yield f"tool {number}"


def _lost_calls(asked: str, whole: str) -> Iterator[str]:
    """What the whole prompt lacks of names, arguments and results, each in its order."""
    words = (("find_wombat", "burrow", "hillside", "depth", "7"), ("feed_numbat", "meal", "termites"))
    for number, of_call in enumerate(words, 1):
        if any(whole.count(word) <= asked.count(word) for word in of_call):
            yield f"call {number}"
    for number, result in enumerate(reversed(RESULTS), 1):
        if result.content not in whole:
            yield f"result {number}"
    for words_in_order in (("hillside", "termites"), ("sleeping", "munching")):
        places = [whole.find(word) for word in words_in_order]
        if -1 not in places and places != sorted(places):
            yield "the order"


def _added(asked: str, whole: str) -> Iterator[str]:
    """What no prompt should have."""
    for word, name in (("None", "'None' for no text"), ('\\"burrow', "arguments quoted twice")):
        if whole.count(word) > asked.count(word):
            yield name
    if 'strict"' in whole:
        yield "'strict' in a tool"
