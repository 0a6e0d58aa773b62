"""The tools of a Responses request and the choice among them.

    {"tools": [{"type": "function", "name": "f"}, {"type": "web_search"}], "tool_choice": "required"}
    # ResponseTools(tools=(ToolDefinition("f", strict=True, …),), choice=ToolChoice(Mode.REQUIRED), …,
    #               warnings=("tools[1]: 'web_search' runs on OpenAI's servers and not here; …",))

A custom tool is a function with one string, `input`, to the model, and its grammar is what holds that.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from server.api import refusals
from server.api.chat.decode import for_log
from server.api.custom_tools import input_schema, lark_of
from server.api.responses.names import ClientTool, ToolKind, ToolNames, spoken_name
from server.api.responses.request import ResponsePromptBody
from server.api.responses.tools import (
    AllowedTools,
    CustomTool,
    FunctionTool,
    GrammarInput,
    HostedTool,
    NamedTool,
    NamespaceTool,
    ResponseToolChoice,
)
from server.errors import ApiError
from server.request import Mode, Schema, ToolChoice, ToolDefinition

HOSTED_ONLY = "It runs on OpenAI's servers. Choose one of the functions, or leave 'tool_choice' out."


@dataclass(frozen=True, slots=True)
class ResponseTools:
    """`warnings`: what is skipped."""

    tools: tuple[ToolDefinition, ...]
    choice: ToolChoice
    names: ToolNames
    warnings: tuple[str, ...] = ()


def decode_response_tools(body: ResponsePromptBody, *, all_strict: bool = False) -> ResponseTools:
    """Decode tools and choice. Raises `ApiError` (400) for a choice that the tools do not allow."""
    found = _Found(all_strict)
    for index, tool in enumerate(body.tools or ()):
        found.add(tool, f"tools[{index}]")
    choice = _choice(body.tool_choice, found)
    names = ToolNames({name: client for name, (_, client) in found.tools.items()})
    tools = tuple(tool for tool, _ in found.tools.values())
    return ResponseTools(tools, choice, names, tuple(found.warnings))


class _Found:
    """The tools so far, by the names that the model knows."""

    def __init__(self, all_strict: bool) -> None:  # noqa: FBT001 (nothing else is passed)
        self.tools: dict[str, tuple[ToolDefinition, ClientTool]] = {}
        self.warnings: list[str] = []
        self._all_strict = all_strict

    def add(
        self,
        tool: FunctionTool | CustomTool | NamespaceTool | HostedTool,
        param: str,
        namespace: str | None = None,
    ) -> None:
        match tool:
            case NamespaceTool():
                for index, each in enumerate(tool.tools):
                    self.add(each, f"{param}.tools[{index}]", tool.name)
            case HostedTool():
                self.skip(param, tool.type)
            case CustomTool():
                form = tool.format if isinstance(tool.format, GrammarInput) else None
                schema = input_schema(form, f"{param}.format")
                definition = _definition(tool, param, namespace, schema, strict=True)
                held = replace(definition, schema_key="format.definition", lark=lark_of(form))
                self._put(held, ClientTool(ToolKind.CUSTOM, tool.name, namespace))
            case FunctionTool():
                strict = tool.strict is not False or self._all_strict
                definition = _definition(tool, param, namespace, tool.parameters, strict=strict)
                self._put(definition, ClientTool(ToolKind.FUNCTION, tool.name, namespace))

    def skip(self, param: str, kind: str) -> None:
        self.warnings.append(
            f"{param}: '{for_log(kind)}' runs on OpenAI's servers and not here; the model is not told of it."
        )

    def named(self, asked: NamedTool, param: str) -> str:
        """The name that the model knows of the tool that is asked for. Raises `ApiError` (400)."""
        name = spoken_name(asked.name, asked.namespace)
        found = self.tools.get(name)
        if found is None or found[1].kind.value != asked.type:
            reason = f"{refusals.quote(name)} is not the name of any tool of type '{asked.type}' in 'tools'."
            raise refusals.invalid(param, reason)
        return name

    def _put(self, tool: ToolDefinition, client: ClientTool) -> None:
        if tool.name in self.tools:
            other = self.tools[tool.name][0].param
            reason = f"{refusals.quote(tool.name)} is the name of '{other}' too. Names must be unique."
            raise refusals.invalid(f"{tool.param}.name", reason)
        self.tools[tool.name] = tool, client


def _definition(
    tool: FunctionTool | CustomTool,
    param: str,
    namespace: str | None,
    parameters: Schema | None,
    *,
    strict: bool,
) -> ToolDefinition:
    return ToolDefinition(
        name=spoken_name(tool.name, namespace),
        description=tool.description or "",
        parameters=parameters,
        strict=strict,
        param=param,
    )


def _choice(asked: ResponseToolChoice | None, found: _Found) -> ToolChoice:
    if asked is None:
        return ToolChoice(Mode.AUTO if found.tools else Mode.NONE)
    if isinstance(asked, HostedTool):
        raise refusals.unsupported_value("tool_choice.type", asked.type, HOSTED_ONLY)
    if isinstance(asked, NamedTool):
        return ToolChoice(Mode.NAMED, (found.named(asked, "tool_choice"),))
    if isinstance(asked, AllowedTools):
        return _allowed(asked, found)
    return _mode(Mode(asked), found)


def _mode(mode: Mode, found: _Found) -> ToolChoice:
    if mode is Mode.REQUIRED and not found.tools:
        raise _nothing_to_call("tool_choice")
    return ToolChoice(mode if found.tools else Mode.NONE)


def _allowed(asked: AllowedTools, found: _Found) -> ToolChoice:
    allowed = tuple(dict.fromkeys(_allowed_names(asked, found)))
    if not allowed and asked.mode == "required":
        raise _nothing_to_call("tool_choice.tools")
    return ToolChoice(Mode(asked.mode), allowed) if allowed else ToolChoice(Mode.NONE)


def _allowed_names(asked: AllowedTools, found: _Found) -> Iterator[str]:
    for index, tool in enumerate(asked.tools):
        param = f"tool_choice.tools[{index}]"
        if isinstance(tool, HostedTool):
            found.skip(param, tool.type)
        else:
            yield found.named(tool, param)


def _nothing_to_call(param: str) -> ApiError:
    return refusals.invalid(
        param, "a call is required, but there is no function or custom tool that this server could call."
    )
