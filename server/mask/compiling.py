"""Nothing reaches the engine's compiler that would keep it, and with it everybody, for long.

check_compiling(attempt.constraint, deadline)
# ApiError: Invalid schema for function 'f': In context=(), the mask takes longer than 10 s to compile, …
"""

import json

import xgrammar

from parsers.formats import either
from parsers.spelling import JSON, Spelling
from server.errors import ApiError, Code
from server.mask.constrain import Constraint
from server.mask.forms import compact_tag, form_tag
from server.request import AnswerFormat, Grammar, Matching, OneOf, Tagged
from server.schema.check import schema_refused
from server.schema.cost import estimate
from server.schema.deadline import CompileBusyError, CompileDeadline, Prepared
from server.schema.document import SchemaError
from server.schema.limits import SchemaLimits
from server.schema.plan import Root, SchemaPlanner
from server.schema.repeats import repeats
from server.schema.warmup import free_text_schemas, warm_up_schema
from server.telemetry.labels import Held
from server.tokens.vocabulary import Vocabulary

WAY_OUT = "make it simpler: fewer and shorter bounds, patterns and choices"


def compile_deadline(
    vocabulary: Vocabulary, planner: SchemaPlanner, *, seconds: float, spelling: Spelling = JSON
) -> CompileDeadline:
    """The deadline of a server with this vocabulary, whose calls have their arguments in this spelling.

    Nothing is started before a mask is doubtful, or the deadline is told to.
    """

    def prepare() -> Prepared:
        tokens = [vocabulary.token_bytes(id) for id in range(vocabulary.size)]
        ends = sorted(vocabulary.end_ids)
        info = xgrammar.TokenizerInfo(tokens, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=ends)
        return Prepared(info.serialize_json(), warm_up_tag(planner, spelling))

    return CompileDeadline(prepare, seconds=seconds)


def warm_up_tag(planner: SchemaPlanner, spelling: Spelling = JSON) -> str:
    """The masks that cost most when they are new: strings of bounded length, and of every format.

    Where arguments are not written as JSON, also free text as it is written there.

    XGrammar's compiler remembers the parts of a grammar by their structure, and these have those of every
    shorter bound in them. Otherwise the first request with a bounded string would wait for seconds.
    """
    bounded = planner.plan(warm_up_schema(), closed=True).format
    if spelling == JSON:
        return compact_tag(bounded)
    free = [
        planner.plan(schema, closed=False, root=Root.OBJECT, spelling=spelling).format
        for schema in free_text_schemas()
    ]
    return compact_tag(either([bounded, *free]))


def check_form(form: AnswerFormat, limits: SchemaLimits, deadline: CompileDeadline) -> None:
    """Raise `ApiError` for a form of the client's own that is too large to be read, or to be compiled."""
    match form:
        case OneOf() | Tagged():
            text = ""
        case Matching(text) | Grammar(text):
            pass
        case _:
            return
    param, tag = form_tag(form)
    if repeats(text) > limits.pattern_repeats:
        message = f"Invalid '{param}': {limits.over('pattern_repeats', 'it')}."
        raise ApiError(Code.INVALID_VALUE, message, param)
    if fault := _fault(tag, deadline):
        raise ApiError(Code.INVALID_VALUE, f"Invalid '{param}': {fault}.", param)


def check_compiling(constraint: Constraint, deadline: CompileDeadline) -> None:
    """Raise `ApiError` (400) that names the costliest part of a mask which cannot be compiled in time."""
    tag = constraint.structural_tag
    if tag is None or (fault := _fault(tag, deadline)) is None:
        return
    parts = [
        (rule.format, rule.tool.schema_param, name)
        for name, rule in constraint.calls.items()
        if rule.held is Held.SCHEMA
    ]
    answer = constraint.answer
    if answer is not None and answer.format is not None:
        parts.append((answer.format, answer.param, answer.name))
    if not parts:
        raise ApiError(Code.INVALID_VALUE, f"Invalid request: {fault}.", None)
    # Of a single part it need not be found out: a large one takes a tenth of a second.
    _, param, name = (
        parts[0] if len(parts) == 1 else max(parts, key=lambda part: estimate(json.dumps(part[0])))
    )
    raise schema_refused(SchemaError("#", fault), param=param, name=name)


def _fault(tag: str, deadline: CompileDeadline) -> str | None:
    try:
        fault = deadline.fault(tag)
    except CompileBusyError as error:
        message = "The server is busy with masks that take long to compile. Try again in a while."
        raise ApiError(Code.OVERLOADED, message, headers={"retry-after": "5"}) from error
    return None if fault is None else f"the mask {fault}; {WAY_OUT}"
