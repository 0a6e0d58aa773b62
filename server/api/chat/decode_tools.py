"""The tools of a chat request and the choice among them, legacy functions included.

    {"tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "required"}
    # ChatTools(tools=(ToolDefinition("f", …),), choice=ToolChoice(Mode.REQUIRED), parallel=True)

`functions` and `function_call` are the older spelling of the same, with one call per answer.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from server.api import refusals
from server.api.chat.request import ChatRequestBody
from server.api.chat.tools import (
    AllowedTools,
    AllowedToolsChoice,
    ChatTool,
    CustomTool,
    FlatAllowedToolsChoice,
    FlatNamedTool,
    FunctionCallBody,
    FunctionDefinition,
    FunctionTool,
    GrammarInput,
    NamedCustomTool,
    NamedTool,
    ToolChoiceBody,
)
from server.api.custom_tools import input_schema, lark_of
from server.errors import ApiError
from server.request import Mode, ToolChoice, ToolDefinition

Kinds = Mapping[str, Collection[str]]
"""The names of the tools, by what a choice calls their type."""


@dataclass(frozen=True, slots=True)
class ChatTools:
    """`parallel`: whether one answer may hold several calls. `custom`: those that are called with text."""

    tools: tuple[ToolDefinition, ...]
    choice: ToolChoice
    parallel: bool
    custom: frozenset[str] = frozenset()


def decode_tools(body: ChatRequestBody, *, all_strict: bool = False) -> ChatTools:
    """Decode tools and choice. Raises `ApiError` (400) for a choice that the tools do not allow."""
    decoded = _modern(body) if body.functions is None else _legacy(body, body.functions)
    if not all_strict:
        return decoded
    return replace(decoded, tools=tuple(replace(tool, strict=True) for tool in decoded.tools))


def _modern(body: ChatRequestBody) -> ChatTools:
    if body.function_call not in (None, "none") or (body.function_call and body.tools):
        raise _only_with("function_call", "functions")
    tools = tuple(_any_tool(tool, f"tools[{i}]") for i, tool in enumerate(body.tools or ()))
    names = frozenset(_unique_names(tools))
    custom = frozenset(tool.custom.name for tool in body.tools or () if isinstance(tool, CustomTool))
    if body.tool_choice not in (None, "none") and not tools:
        raise _only_with("tool_choice", "tools")
    kinds = {"function": names - custom, "custom": custom}
    choice = _default(tools) if body.tool_choice is None else _choice(body.tool_choice, kinds)
    return ChatTools(tools, choice, body.parallel_tool_calls is not False, custom)


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


def _any_tool(tool: ChatTool, param: str) -> ToolDefinition:
    if isinstance(tool, FunctionTool):
        return _tool(tool.function, f"{param}.function")
    custom, path = tool.custom, "format.grammar"
    grammar = custom.format.grammar if isinstance(custom.format, GrammarInput) else None
    return ToolDefinition(
        name=custom.name,
        description=custom.description or "",
        parameters=input_schema(grammar, f"{param}.custom.{path}"),
        strict=True,
        param=f"{param}.custom",
        schema_key=f"{path}.definition",
        lark=lark_of(grammar),
    )


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


def _choice(asked: ToolChoiceBody, kinds: Kinds) -> ToolChoice:
    if isinstance(asked, str):
        return ToolChoice(Mode(asked))
    if isinstance(asked, AllowedToolsChoice):
        return _allowed(asked.allowed_tools, "tool_choice.allowed_tools.tools", kinds)
    if isinstance(asked, FlatAllowedToolsChoice):
        return _allowed(asked, "tool_choice.tools", kinds)
    return _named(_name(asked), kinds[asked.type], "tool_choice", "tools")


def _legacy_choice(asked: FunctionCallBody, names: Collection[str]) -> ToolChoice:
    if isinstance(asked, str):
        return ToolChoice(Mode(asked))
    return _named(asked.name, names, "function_call", "functions")


def _named(name: str, names: Collection[str], path: str, among: str) -> ToolChoice:
    if name not in names:
        raise _not_found(path, name, among)
    return ToolChoice(Mode.NAMED, (name,))


def _allowed(asked: AllowedTools, path: str, kinds: Kinds) -> ToolChoice:
    allowed: dict[str, None] = {}
    for i, tool in enumerate(asked.tools):
        name = _name(tool)
        if name not in kinds[tool.type]:
            raise _not_found(f"{path}[{i}]", name, "tools")
        allowed[name] = None
    return ToolChoice(Mode(asked.mode), tuple(allowed))


def _name(tool: NamedTool | NamedCustomTool | FlatNamedTool) -> str:
    match tool:
        case NamedTool():
            return tool.function.name
        case NamedCustomTool():
            return tool.custom.name
    return tool.name


def _not_found(path: str, name: str, among: str) -> ApiError:
    return refusals.invalid(path, f"{refusals.quote(name)} is not the name of any of '{among}'.")


def _only_with(path: str, other: str) -> ApiError:
    return refusals.invalid(path, f"it is only allowed when '{other}' are specified.")
