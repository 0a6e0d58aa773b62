"""From a request to the mask: what the model may write, as an XGrammar structural tag.

One strict tool `f`, `tool_choice: required`:

    Constraint(structural_tag='{"type": "structural_tag", …}', calls={"f": CallRule(…)}, answer=None)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from parsers.arguments.style import ArgumentStyle
from parsers.family import Family
from parsers.grammar import CallableTool, Format
from parsers.spelling import JSON, Spelling
from server.config.settings import ToolMask
from server.mask.forms import checked_form, compact_tag
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
from server.schema.instance import InstanceValidator
from server.schema.plan import Root, SchemaPlanner
from server.schema.unmasked import Unmasked
from server.telemetry.labels import Held

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
    outline: Mapping[str, Any] = field(default_factory=dict)
    """What a parser has to know of the arguments, where it cannot tell their kinds by their spelling."""


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
        """What parsers need to know of each tool that may be called."""
        return {name: rule.outline for name, rule in self.calls.items()}

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
    rules = {
        tool.name: _call_rule(tool, planner, family.call.style.spelling, masked=masked) for tool in tools
    }
    if not masked and answer_format is None:
        return Constraint(None, rules, None, policy=request.policy)
    single = request.choice.mode is Mode.NAMED or not request.parallel
    free_answer = None if request.choice.forces_call else answer_format
    tag = family.structural_tag(
        [CallableTool(name, rule.format) for name, rule in rules.items()],
        at_least=1 if request.choice.forces_call else 0,
        at_most=1 if single else max_calls,
        answer=free_answer,
        opens_reasoning=opens_reasoning,
    )
    structural_tag = compact_tag(tag["format"])
    return Constraint(
        structural_tag, rules, answer, calls_only=request.choice.forces_call, policy=request.policy
    )


def _call_rule(tool: ToolDefinition, planner: SchemaPlanner, spelling: Spelling, *, masked: bool) -> CallRule:
    """Plan one tool: strict ones by their schema, the others as any object."""
    schema = NO_ARGUMENTS if tool.parameters is None else tool.parameters
    param = tool.schema_param
    validator = planner.validator(schema, param=param, name=tool.name)
    if not masked:
        return CallRule(tool, {}, validator, Held.NOTHING, streams=False, outline=_parameters(tool))
    if not tool.strict and tool.parameters is not None:
        content = any_object(planner, spelling)
        return CallRule(tool, content, validator, Held.ENVELOPE, streams=False, outline=_parameters(tool))
    try:
        if tool.lark is None:
            plan = planner.plan(schema, closed=True, root=Root.OBJECT, spelling=spelling)
        else:
            plan = planner.plan_lark(tool.lark, schema, spelling=spelling)
    except SchemaError as error:
        raise schema_refused(error, param=param, name=tool.name) from error
    return CallRule(
        tool,
        plan.format,
        validator,
        Held.SCHEMA,
        streams=plan.exact,
        outline=plan.outline,
        unmasked=plan.unmasked,
    )


def unmasked_of(tool: ToolDefinition, planner: SchemaPlanner, style: ArgumentStyle) -> tuple[Unmasked, ...]:
    """Return what the mask of a tool's calls does not hold. Raises `ApiError` (400) as `constrain` does."""
    return _call_rule(tool, planner, style.spelling, masked=True).unmasked


def _parameters(tool: ToolDefinition) -> Mapping[str, Any]:
    """The schema of a tool's arguments. One that is no object says nothing about them."""
    if tool.parameters is None:
        return NO_ARGUMENTS
    return tool.parameters if isinstance(tool.parameters, Mapping) else {}


def any_object(planner: SchemaPlanner, spelling: Spelling = JSON) -> Format:
    return planner.plan(ANY_OBJECT, closed=False, root=Root.OBJECT, spelling=spelling).format


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
