"""What tools are called by the model, and by the client: functions, custom tools, and those of a namespace.

spoken_name("find", "crm")                             # "crm__find"
names = ToolNames({"crm__find": ClientTool(ToolKind.FUNCTION, "find", "crm")})
names.of("crm__find")                                  # ClientTool(ToolKind.FUNCTION, "find", "crm")
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class ToolKind(StrEnum):
    FUNCTION = "function"
    CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class ClientTool:
    """A tool as its client knows it."""

    kind: ToolKind
    name: str
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class ToolNames:
    """The tools of a request by the names that the model knows."""

    tools: Mapping[str, ClientTool] = field(default_factory=dict)

    def of(self, name: str) -> ClientTool:
        return self.tools.get(name) or ClientTool(ToolKind.FUNCTION, name)


def spoken_name(name: str, namespace: str | None) -> str:
    """The name that the model knows."""
    return f"{namespace}__{name}" if namespace else name
