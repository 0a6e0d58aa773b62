"""Where a chat template looks for the tools: by what name, and in what form.

    PLACES[0].put([USER], [TOOL])    # Put([USER], {"tools": [TOOL]})
    PLACES[2].put([USER], [TOOL])    # Put([USER], {"functions": '[{"name": "find_wombat", …}]'})

Most take a list of OpenAI's tools as `tools`. The place of a template is found by trying, at load time.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

Turn = dict[str, Any]
"""One message as a template sees it."""


@dataclass(frozen=True, slots=True)
class Put:
    """What a template is given: the messages, and the variables that hold tools."""

    messages: Sequence[Turn]
    variables: Mapping[str, Any] = field(default_factory=dict)


class Place(Protocol):
    """A place for tools."""

    def put(self, messages: Sequence[Turn], tools: Sequence[Turn]) -> Put:
        """Messages and variables with the tools in their place, of which there may be none."""
        ...


@dataclass(frozen=True, slots=True)
class Listed:
    """A variable with the list of tools."""

    name: str

    def put(self, messages: Sequence[Turn], tools: Sequence[Turn]) -> Put:
        return Put(messages, {self.name: tools})


@dataclass(frozen=True, slots=True)
class Written:
    """A variable with the functions as JSON text: FireFunction's."""

    name: str

    def put(self, messages: Sequence[Turn], tools: Sequence[Turn]) -> Put:
        return Put(messages, {self.name: _functions_text(tools, indent=4)})


@dataclass(frozen=True, slots=True)
class InSystemMessage:
    """A key of the system message, with the functions as JSON text: Phi-4-mini's."""

    key: str

    def put(self, messages: Sequence[Turn], tools: Sequence[Turn]) -> Put:
        if not tools:
            return Put(messages)
        has_system = bool(messages) and messages[0]["role"] == "system"
        first = messages[0] if has_system else {"role": "system", "content": ""}
        rest = messages[1:] if has_system else messages
        return Put([{**first, self.key: _functions_text(tools)}, *rest])


def _functions_text(tools: Sequence[Turn], indent: int | None = None) -> str:
    return json.dumps([tool["function"] for tool in tools], ensure_ascii=False, indent=indent)


PLACES: tuple[Place, ...] = (
    Listed("tools"),
    Listed("xml_tools"),
    Written("functions"),
    InSystemMessage("tools"),
)
"""All places that are known, the usual one first."""
