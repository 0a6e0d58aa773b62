"""From a request to the mask: what the model may write, as an XGrammar structural tag.

One strict tool `f`, `tool_choice: required`, Hermes format:

    Constraint(structural_tag='{"type": "structural_tag", "format": {… "<tool_call>\\n{\\"name\\": \\"f\\" …}}',
               calls={"f": CallRule(…, streams=True)}, answer=None)
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import xgrammar

from parsers.family import Family
from parsers.grammar import CallableTool, Format, structural_tag
from server.errors import ApiError, Code
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
    Tagged,
    ToolDefinition,
)
from server.schema.instance import InstanceValidator
from server.schema.plan import SchemaPlanner
from server.settings import ToolMask

ANY_OBJECT = {"type": "object"}
NO_ARGUMENTS = {"type": "object", "properties": {}, "additionalProperties": False}


class Held(StrEnum):
    """What held a call in form: the `constraint` label of the tool call metric."""

    SCHEMA = "schema"
    ENVELOPE = "envelope"
    NOTHING = "none"


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


@dataclass(frozen=True, slots=True)
class AnswerRule:
    """What an answer in a JSON format must satisfy. `strict`: it satisfies it, or the request fails."""

    name: str
    validator: InstanceValidator
    strict: bool
    streams: bool


@dataclass(frozen=True, slots=True)
class Constraint:
    """The mask, if any, and the rules to check what comes out of it by.

    `unmasked`: a keyword for every constraint of the request's schemas that is only checked afterwards.
    """

    structural_tag: str | None
    calls: Mapping[str, CallRule]
    answer: AnswerRule | None
    unmasked: tuple[str, ...] = ()


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
    rules = {tool.name: _call_rule(tool, planner, masked=masked) for tool in tools}
    if not masked and answer_format is None:
        return Constraint(None, rules, None)
    single = request.choice.mode is Mode.NAMED or not request.parallel
    tag = structural_tag(
        family,
        [CallableTool(rule.tool.name, rule.format) for rule in rules.values()],
        at_least=1 if request.choice.forces_call else 0,
        at_most=1 if single else max_calls,
        answer=None if request.choice.forces_call else answer_format,
        opens_reasoning=opens_reasoning,
    )
    return Constraint(_compact(tag), rules, answer)


def _call_rule(tool: ToolDefinition, planner: SchemaPlanner, *, masked: bool) -> CallRule:
    """Plan one tool: strict ones by their schema, the others as any JSON object."""
    schema = NO_ARGUMENTS if tool.parameters is None else tool.parameters
    validator = planner.validator(schema)
    if not masked:
        return CallRule(tool, {}, validator, Held.NOTHING, streams=False)
    if tool.strict or tool.parameters is None:
        plan = planner.plan(schema, closed=True)
        return CallRule(tool, plan.format, validator, Held.SCHEMA, streams=plan.exact)
    return CallRule(tool, planner.plan(ANY_OBJECT, closed=False).format, validator, Held.ENVELOPE, streams=True)


def _answer(answer_format: AnswerFormat, planner: SchemaPlanner) -> tuple[Format | None, AnswerRule | None]:
    """The structural tag format of the answer, and the rule to check it by if it is JSON."""
    match answer_format:
        case FreeText():
            return None, None
        case JsonObject():
            return planner.plan(ANY_OBJECT, closed=False).format, None
        case JsonSchema(name, schema, strict, _):
            plan = planner.plan(schema, closed=True)
            rule = AnswerRule(name, planner.validator(schema), strict, streams=plan.exact or not strict)
            return plan.format, rule
        case OneOf(choices):
            return {"type": "or", "elements": [{"type": "const_string", "value": c} for c in choices]}, None
        case Matching(regex):
            return _checked({"type": "regex", "pattern": regex}, "structured_outputs.regex"), None
        case Grammar(ebnf):
            return _checked({"type": "grammar", "grammar": ebnf}, "structured_outputs.grammar"), None
        case Tagged(tag):
            return _checked(_inner(tag), "structured_outputs.structural_tag"), None


def _inner(tag: Any) -> Any:
    """The format inside a structural tag, which may come as JSON text."""
    if isinstance(tag, str):
        try:
            tag = json.loads(tag)
        except ValueError as error:
            raise ApiError(
                Code.INVALID_VALUE,
                f"Invalid structural tag: it is not JSON ({error}).",
                "structured_outputs.structural_tag",
            ) from error
    return tag.get("format", tag) if isinstance(tag, dict) else tag


def _checked(answer_format: Format, param: str) -> Format:
    """Return the format if XGrammar can read it: the client's mistake is answered before the engine sees it."""
    try:
        xgrammar.Grammar.from_structural_tag(_compact({"type": "structural_tag", "format": answer_format}))
    except (RuntimeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0][:300]
        raise ApiError(Code.INVALID_VALUE, f"Invalid '{param}': {reason}", param) from error
    return answer_format


def _compact(tag: Mapping[str, Any]) -> str:
    return json.dumps(tag, ensure_ascii=False, separators=(",", ":"))
