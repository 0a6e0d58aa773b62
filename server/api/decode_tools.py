"""The tools of a chat request and the choice among them, legacy functions included.

    {"tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "required"}
    # ChatTools(tools=(ToolDefinition("f", …),), choice=ToolChoice(Mode.REQUIRED), parallel=True)

`functions` and `function_call` are the older spelling of the same, with one call per answer.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from server.api import refusals
from server.api.chat_request import ChatRequestBody
from server.api.chat_tools import (
    AllowedTools,
    AllowedToolsChoice,
    FlatAllowedToolsChoice,
    FlatNamedTool,
    FunctionCallBody,
    FunctionDefinition,
    NamedTool,
    ToolChoiceBody,
)
from server.errors import ApiError
from server.request import Mode, ToolChoice, ToolDefinition


@dataclass(frozen=True, slots=True)
class ChatTools:
    """`parallel`: whether one answer may hold several calls."""

    tools: tuple[ToolDefinition, ...]
    choice: ToolChoice
    parallel: bool


def decode_tools(body: ChatRequestBody, *, all_strict: bool = False) -> ChatTools:
    """Decode tools and choice. Raises `ApiError` (400) for a choice that the tools do not allow."""
    decoded = _modern(body) if body.functions is None else _legacy(body, body.functions)
    if not all_strict:
        return decoded
    return replace(decoded, tools=tuple(replace(tool, strict=True) for tool in decoded.tools))


def _modern(body: ChatRequestBody) -> ChatTools:
    if body.function_call not in (None, "none") or (body.function_call and body.tools):
        raise _only_with("function_call", "functions")
    tools = tuple(_tool(tool.function, f"tools[{i}].function") for i, tool in enumerate(body.tools or ()))
    names = _unique_names(tools)
    if body.tool_choice not in (None, "none") and not tools:
        raise _only_with("tool_choice", "tools")
    choice = _default(tools) if body.tool_choice is None else _choice(body.tool_choice, names)
    return ChatTools(tools, choice, body.parallel_tool_calls is not False)


def _legacy(body: ChatRequestBody, functions: Sequence[FunctionDefinition]) -> ChatTools:
    if body.tools is not None:
        raise refusals.invalid(
            "functions", "it cannot be combined with 'tools'. Send all of them as 'tools'."
        )
    if body.tool_choice is not None:
        raise _only_with("tool_choice", "tools")
    tools = tuple(_tool(function, f"functions[{i}]") for i, function in enumerate(functions))
    names = _unique_names(tools)
    choice = _default(tools) if body.function_call is None else _legacy_choice(body.function_call, names)
    return ChatTools(tools, choice, parallel=False)


def _tool(function: FunctionDefinition, param: str) -> ToolDefinition:
    return ToolDefinition(
        name=function.name,
        description=function.description or "",
        parameters=function.parameters,
        strict=function.strict is True,
        param=param,
    )


def _unique_names(tools: Sequence[ToolDefinition]) -> Collection[str]:
    first: dict[str, str] = {}
    for tool in tools:
        if tool.name in first:
            reason = (
                f"{refusals.quote(tool.name)} is the name of '{first[tool.name]}' too. Names must be unique."
            )
            raise refusals.invalid(f"{tool.param}.name", reason)
        first[tool.name] = tool.param
    return first


def _default(tools: Sequence[ToolDefinition]) -> ToolChoice:
    return ToolChoice(Mode.AUTO if tools else Mode.NONE)


def _choice(asked: ToolChoiceBody, names: Collection[str]) -> ToolChoice:
    if isinstance(asked, str):
        return ToolChoice(Mode(asked))
    if isinstance(asked, AllowedToolsChoice):
        return _allowed(asked.allowed_tools, "tool_choice.allowed_tools.tools", names)
    if isinstance(asked, FlatAllowedToolsChoice):
        return _allowed(asked, "tool_choice.tools", names)
    return _named(_name(asked), names, "tool_choice", "tools")


def _legacy_choice(asked: FunctionCallBody, names: Collection[str]) -> ToolChoice:
    if isinstance(asked, str):
        return ToolChoice(Mode(asked))
    return _named(asked.name, names, "function_call", "functions")


def _named(name: str, names: Collection[str], path: str, among: str) -> ToolChoice:
    if name not in names:
        raise _not_found(path, name, among)
    return ToolChoice(Mode.NAMED, (name,))


def _allowed(asked: AllowedTools, path: str, names: Collection[str]) -> ToolChoice:
    allowed: dict[str, None] = {}
    for i, tool in enumerate(asked.tools):
        name = _name(tool)
        if name not in names:
            raise _not_found(f"{path}[{i}]", name, "tools")
        allowed[name] = None
    return ToolChoice(Mode(asked.mode), tuple(allowed))


def _name(tool: NamedTool | FlatNamedTool) -> str:
    return tool.name if isinstance(tool, FlatNamedTool) else tool.function.name


def _not_found(path: str, name: str, among: str) -> ApiError:
    return refusals.invalid(path, f"{refusals.quote(name)} is not the name of any of '{among}'.")


def _only_with(path: str, other: str) -> ApiError:
    return refusals.invalid(path, f"it is only allowed when '{other}' are specified.")
