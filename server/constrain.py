"""From a request to the mask: what the model may write, as an XGrammar structural tag.

One strict tool `f`, `tool_choice: required`:

    Constraint(structural_tag='{"type": "structural_tag", …}', calls={"f": CallRule(…)}, answer=None)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from parsers.arguments.style import ArgumentStyle
from parsers.family import Family
from parsers.grammar import CallableTool, Format
from server.family import check_arguments, holds_format
from server.forms import checked_form, compact_tag
from server.labels import Held
from server.policy import DEFAULT_POLICY, Policy
from server.request import (
    AnswerFormat,
    FreeText,
    Grammar,
    JsonObject,
    JsonSchema,
    Matching,
    Mode,
    OneOf,
    Request,
    Schema,
    Tagged,
    ToolDefinition,
)
from server.schema.check import schema_refused
from server.schema.document import SchemaError
from server.schema.inner import planned
from server.schema.instance import InstanceValidator
from server.schema.plan import Root, SchemaPlanner
from server.schema.report import outside_json
from server.schema.unmasked import Unmasked
from server.settings import ToolMask

ANY_OBJECT = {"type": "object"}
NO_ARGUMENTS = {"type": "object", "properties": {}, "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class CallRule:
    """What the calls of one tool must satisfy, and what already holds them to it.

    `streams`: whatever the mask lets through is a right call, so its pieces may be sent as they are written.
    """

    tool: ToolDefinition
    format: Format
    validator: InstanceValidator
    held: Held
    streams: bool
    unmasked: tuple[Unmasked, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerRule:
    """What an answer in a JSON format must satisfy. `streams` is as in `CallRule`.

    `masked`: the mask is made of the schema, and holds all of it but what is `unmasked`.
    """

    name: str
    validator: InstanceValidator
    strict: bool
    streams: bool
    unmasked: tuple[Unmasked, ...] = ()
    schema: Schema = True
    param: str = ""
    masked: bool = True
    format: Format | None = None
    """The part of the mask that is made of the schema."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """The mask, if any, and the rules to check what comes out of it by.

    `calls_only`: the mask lets nothing but calls pass, and a thought before them.
    """

    structural_tag: str | None
    calls: Mapping[str, CallRule]
    answer: AnswerRule | None
    calls_only: bool = False
    policy: Policy = DEFAULT_POLICY

    @property
    def schemas(self) -> Mapping[str, Mapping[str, Any]]:
        """The schema of each tool that may be called, which parsers need that read values without quotes."""
        return {name: _parameters(rule.tool) for name, rule in self.calls.items()}

    @property
    def unmasked(self) -> list[Unmasked]:
        """Every constraint of the request's schemas that the mask does not hold and the check must."""
        calls = [entry for rule in self.calls.values() for entry in rule.unmasked]
        return calls if self.answer is None else [*calls, *self.answer.unmasked]


def constrain(
    request: Request,
    *,
    family: Family,
    planner: SchemaPlanner,
    tool_mask: ToolMask,
    max_calls: int,
    opens_reasoning: bool,
) -> Constraint:
    """Build the mask of `request` and the rules behind it. Runs in a thread: a grammar may take a while.

    Raises `ApiError` (400) for a schema or a grammar that no mask can be built from.
    """
    tools = request.callable_tools
    answer_format, answer = _answer(request.answer_format, planner)
    masked = bool(tools) and (
        tool_mask is ToolMask.ENVELOPE
        or request.choice.forces_call
        or answer_format is not None
        or any(tool.strict for tool in tools)
    )
    rules = {tool.name: _call_rule(tool, planner, family.call.style, masked=masked) for tool in tools}
    if not masked and answer_format is None:
        return Constraint(None, rules, None, policy=request.policy)
    single = request.choice.mode is Mode.NAMED or not request.parallel
    free_answer = None if request.choice.forces_call else answer_format
    tag = family.structural_tag(
        [_callable(rule) for rule in rules.values()],
        at_least=1 if request.choice.forces_call else 0,
        at_most=1 if single else max_calls,
        answer=free_answer,
        opens_reasoning=opens_reasoning,
    )
    structural_tag = compact_tag(planned(tag["format"], planner, kept=free_answer))
    return Constraint(
        structural_tag, rules, answer, calls_only=request.choice.forces_call, policy=request.policy
    )


def _call_rule(
    tool: ToolDefinition, planner: SchemaPlanner, style: ArgumentStyle, *, masked: bool
) -> CallRule:
    """Plan one tool: strict ones by their schema, the others as any JSON object."""
    schema = NO_ARGUMENTS if tool.parameters is None else tool.parameters
    param = f"{tool.param}.parameters"
    validator = planner.validator(schema, param=param, name=tool.name)
    if not masked:
        return CallRule(tool, {}, validator, Held.NOTHING, streams=False)
    if not tool.strict and tool.parameters is not None:
        return CallRule(tool, any_object(planner), validator, Held.ENVELOPE, streams=False)
    try:
        plan = planner.plan(schema, closed=True, root=Root.OBJECT)
    except SchemaError as error:
        raise schema_refused(error, param=param, name=tool.name) from error
    if holds_format(style):
        return CallRule(tool, plan.format, validator, Held.SCHEMA, streams=plan.exact, unmasked=plan.unmasked)
    # A style's own format holds less than the plan, so such calls are checked before any of them is sent.
    unmasked = outside_json(schema, plan)
    rule = CallRule(tool, plan.format, validator, Held.SCHEMA, streams=False, unmasked=unmasked)
    check_arguments(style, _callable(rule), planner, param=param)
    return rule


def unmasked_of(tool: ToolDefinition, planner: SchemaPlanner, style: ArgumentStyle) -> tuple[Unmasked, ...]:
    """Return what the mask of a tool's calls does not hold. Raises `ApiError` (400) as `constrain` does."""
    return _call_rule(tool, planner, style, masked=True).unmasked


def _callable(rule: CallRule) -> CallableTool:
    """What the mask needs of a tool. Without a schema, any arguments are right."""
    schema = _parameters(rule.tool) if rule.held is Held.SCHEMA else {}
    return CallableTool(rule.tool.name, rule.format, schema)


def _parameters(tool: ToolDefinition) -> Mapping[str, Any]:
    """The schema of a tool's arguments. One that is no object says nothing about them."""
    if tool.parameters is None:
        return NO_ARGUMENTS
    return tool.parameters if isinstance(tool.parameters, Mapping) else {}


def any_object(planner: SchemaPlanner) -> Format:
    return planner.plan(ANY_OBJECT, closed=False, root=Root.OBJECT).format


def _answer(answer_format: AnswerFormat, planner: SchemaPlanner) -> tuple[Format | None, AnswerRule | None]:
    """The structural tag format of the answer, and the rule to check it by if it is JSON."""
    match answer_format:
        case FreeText():
            return None, None
        case JsonObject():
            return any_object(planner), None
        case JsonSchema():
            return _answer_in_schema(answer_format, planner)
        case OneOf() | Matching() | Grammar() | Tagged():
            return checked_form(answer_format), None


def _answer_in_schema(wanted: JsonSchema, planner: SchemaPlanner) -> tuple[Format, AnswerRule]:
    """The mask of a schema that no mask can hold is any object, unless it has to be strict."""
    validator = planner.validator(wanted.schema, param=wanted.param, name=wanted.name)
    try:
        plan = planner.plan(wanted.schema, closed=True)
    except SchemaError as error:
        if wanted.strict:
            raise schema_refused(error, param=wanted.param, name=wanted.name) from error
        rule = AnswerRule(
            wanted.name, validator, strict=False, streams=False, schema=wanted.schema, masked=False
        )
        return any_object(planner), rule
    rule = AnswerRule(
        wanted.name,
        validator,
        wanted.strict,
        streams=plan.exact,
        unmasked=plan.unmasked,
        schema=wanted.schema,
        param=wanted.param,
        format=plan.format,
    )
    return plan.format, rule
