"""The tools of a Messages request and the choice among them.

    {"tools": [{"name": "f", "input_schema": {…}}], "tool_choice": {"type": "any"}}
    # MessageTools(tools=(ToolDefinition("f", …),), choice=ToolChoice(Mode.REQUIRED), parallel=True)

Tools that Anthropic defines (web search, bash, …) have no schema that the model here could be shown: they
are left out, and named in the log.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from server.api import refusals
from server.api.messages.request import Choice, ClientTool, NoneChoice, PromptBody
from server.api.messages.request import ToolChoice as NamedChoice
from server.request import Mode, ToolChoice, ToolDefinition

EXAMPLES = "Examples of its arguments:"
MODES = {"auto": Mode.AUTO, "any": Mode.REQUIRED}


@dataclass(frozen=True, slots=True)
class MessageTools:
    """`parallel`: whether one answer may hold several calls."""

    tools: tuple[ToolDefinition, ...]
    choice: ToolChoice
    parallel: bool


def decode_tools(body: PromptBody, *, all_strict: bool) -> MessageTools:
    """Decode tools and choice. Raises `ApiError` (400) for a choice that the tools do not allow."""
    tools = tuple(
        _tool(tool, f"tools[{i}]", all_strict=all_strict)
        for i, tool in enumerate(body.tools or ())
        if isinstance(tool, ClientTool)
    )
    names = _unique_names(tools)
    choice = body.tool_choice
    return MessageTools(
        tools,
        ToolChoice(Mode.AUTO if tools else Mode.NONE) if choice is None else _choice(choice, names),
        parallel=choice is None or isinstance(choice, NoneChoice) or not choice.disable_parallel_tool_use,
    )


def _tool(tool: ClientTool, param: str, *, all_strict: bool) -> ToolDefinition:
    examples = tuple(tool.input_examples or ())
    return ToolDefinition(
        name=tool.name,
        description=_description(tool.description or "", examples),
        parameters=tool.input_schema,
        strict=all_strict or tool.strict is True,
        param=param,
        schema_key="input_schema",
        examples=examples,
    )


def _description(description: str, examples: Sequence[dict[str, object]]) -> str:
    """The description with the examples below it, one a line."""
    if not examples:
        return description
    lines = [EXAMPLES, *(json.dumps(example, ensure_ascii=False) for example in examples)]
    return "\n".join([description, "", *lines] if description else lines)


def _unique_names(tools: Sequence[ToolDefinition]) -> Collection[str]:
    first: dict[str, str] = {}
    for tool in tools:
        if tool.name in first:
            same = f"{refusals.quote(tool.name)} is the name of '{first[tool.name]}' too."
            raise refusals.invalid(f"{tool.param}.name", f"{same} Names must be unique.")
        first[tool.name] = tool.param
    return first


def _choice(asked: Choice, names: Collection[str]) -> ToolChoice:
    if isinstance(asked, NoneChoice):
        return ToolChoice(Mode.NONE)
    if not names:
        raise refusals.invalid(
            "tool_choice",
            "it is only allowed with 'tools' of the client's own, which have an 'input_schema'.",
        )
    if not isinstance(asked, NamedChoice):
        return ToolChoice(MODES[asked.type])
    if asked.name not in names:
        reason = f"{refusals.quote(asked.name)} is not the name of any of 'tools' with an 'input_schema'."
        raise refusals.invalid("tool_choice.name", reason)
    return ToolChoice(Mode.NAMED, (asked.name,))
