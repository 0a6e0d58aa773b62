"""Masks that would keep the engine's compiler: refused by the name of the part that costs most."""

from typing import Any, cast

import pytest

from parsers.families.hermes import HERMES
from server.config.settings import ToolMask
from server.errors import ApiError, Code
from server.mask.compiling import check_compiling, check_form, compile_deadline, warm_up_tag
from server.mask.constrain import constrain
from server.request import (
    AnswerFormat,
    FreeText,
    Grammar,
    JsonSchema,
    Matching,
    Message,
    Mode,
    OneOf,
    Request,
    Tagged,
    ToolChoice,
    ToolDefinition,
)
from server.schema.deadline import CompileBusyError, CompileDeadline
from server.schema.limits import DEFAULT_LIMITS
from server.schema.plan import SchemaPlanner
from server.tokens.vocabulary import Vocabulary
from tests.server.scripted import serving, tool

SMALL = {"type": "object", "properties": {"a": {"type": "null"}}}
LARGE = {"type": "object", "properties": {f"a{number}": {"type": "string"} for number in range(9)}}


class Doubting:
    """A deadline that finds fault with every mask, or is busy."""

    def __init__(self, *, busy: bool = False) -> None:
        self.busy = busy
        self.asked: list[str] = []

    def fault(self, tag: str) -> str | None:
        self.asked.append(tag)
        if self.busy:
            raise CompileBusyError
        return "takes longer than 10 s to compile"

    def close(self) -> None:
        """Nothing runs."""


def refusal(deadline: Doubting, *tools: ToolDefinition, form: AnswerFormat | None = None) -> ApiError | None:
    """What becomes of a request whose mask the deadline is asked about."""
    request = Request(
        id="r",
        api="chat",
        model="m",
        messages=(Message("user", "Hi"),),
        tools=tools,
        choice=ToolChoice(Mode.AUTO),
        answer_format=form or FreeText(),
    )
    asked = cast("CompileDeadline", deadline)
    try:
        check_form(request.answer_format, DEFAULT_LIMITS, asked)
        constraint = constrain(
            request,
            family=HERMES,
            planner=SchemaPlanner(),
            tool_mask=ToolMask.STRICT,
            max_calls=3,
            opens_reasoning=False,
        )
        check_compiling(constraint, asked)
    except ApiError as error:
        return error
    return None


def strict(name: str, schema: Any, number: int = 0) -> ToolDefinition:
    return ToolDefinition(name, parameters=schema, strict=True, param=f"tools[{number}].function")


ANSWER = JsonSchema("out", LARGE, strict=True, param="response_format.json_schema.schema")


@pytest.mark.parametrize(
    ("tools", "form", "param", "subject"),
    [
        ([strict("f", SMALL), strict("g", LARGE, 1)], None, "tools[1].function.parameters", "function 'g'"),
        ([strict("g", LARGE), strict("f", SMALL, 1)], None, "tools[0].function.parameters", "function 'g'"),
        ([strict("f", SMALL)], ANSWER, ANSWER.param, "response_format 'out'"),
        ([], ANSWER, ANSWER.param, "response_format 'out'"),
    ],
    ids=["second tool", "first tool", "answer beside", "answer alone"],
)
def test_the_part_that_costs_most_is_named(
    tools: list[ToolDefinition], form: AnswerFormat | None, param: str, subject: str
) -> None:
    """With what it takes too long for, and what would make it cheaper."""
    error = refusal(Doubting(), *tools, form=form)

    assert error is not None
    assert (error.status, error.param) == (400, param)
    assert f"Invalid schema for {subject}: In context=(), the mask takes longer than 10 s" in error.message
    assert "fewer and shorter bounds" in error.message


FORMS: list[tuple[AnswerFormat, str]] = [
    (OneOf(("a", "b")), "structured_outputs.choice"),
    (Matching("[a-z]+"), "structured_outputs.regex"),
    (Grammar('root ::= "a"'), "structured_outputs.grammar"),
    (Tagged({"format": {"type": "any_text"}}), "structured_outputs.structural_tag"),
]


@pytest.mark.parametrize(("form", "param"), FORMS, ids=[param for _, param in FORMS])
def test_forms_of_the_client_are_tried_before_they_are_read(form: AnswerFormat, param: str) -> None:
    """Reading one compiles it, in this process."""
    error = refusal(Doubting(), form=form)

    assert error is not None
    assert (error.kind, error.param) == (Code.INVALID_VALUE, param)
    assert f"Invalid '{param}': the mask takes longer than 10 s" in error.message


@pytest.mark.parametrize(
    ("form", "param"),
    [
        (Matching("^([a-z]{1,200}-){1,200}[0-9]{1,500}$"), "structured_outputs.regex"),
        (Grammar('root ::= ("a"{1,200} "b"){1,200}'), "structured_outputs.grammar"),
    ],
    ids=["regex", "grammar"],
)
def test_counts_within_counts_are_refused_untried(form: AnswerFormat, param: str) -> None:
    """XGrammar writes all of them out."""
    deadline = Doubting()

    error = refusal(deadline, form=form)

    assert error is not None
    assert (error.kind, error.param, deadline.asked) == (Code.INVALID_VALUE, param, [])
    assert "--schema-limit pattern_repeats=" in error.message


DEEP: dict[str, Any] = {"type": "any_text"}
for _ in range(70):
    DEEP = {"type": "sequence", "elements": [DEEP]}


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (Matching("a" * 40_000), "too long"),
        (OneOf(tuple(str(number) for number in range(9_000))), "too long"),
        (Tagged({"format": DEEP}), "nested too deeply"),
    ],
    ids=["regex", "choices", "tag"],
)
def test_what_is_too_large_is_refused_untried(form: AnswerFormat, words: str) -> None:
    """It would be refused later all the same."""
    deadline = Doubting()

    error = refusal(deadline, form=form)

    assert error is not None
    assert (words in error.message, deadline.asked) == (True, [])


def test_a_server_that_is_busy_compiling_says_so() -> None:
    """It is the server's state and not the client's fault, so SDKs try again."""
    error = refusal(Doubting(busy=True), strict("f", SMALL))

    assert error is not None
    assert (error.status, error.kind, dict(error.headers)) == (503, Code.OVERLOADED, {"retry-after": "5"})


def test_without_a_mask_nothing_is_asked() -> None:
    """A request for text costs nothing."""
    deadline = Doubting()

    assert refusal(deadline) is None
    assert deadline.asked == []


def test_the_process_begins_with_the_vocabulary_and_the_warm_up_of_the_engine(vocabulary: Vocabulary) -> None:
    """What it measures is then what the engine would take."""
    planner = SchemaPlanner()
    deadline = compile_deadline(vocabulary, planner, seconds=1)

    prepared = deadline._prepare()

    assert f'"vocab_size":{vocabulary.size}' in prepared.vocabulary.replace(" ", "")
    assert prepared.warm_up == warm_up_tag(planner)


async def test_a_refused_mask_never_reaches_the_engine(vocabulary: Vocabulary) -> None:
    """It is refused like any other schema (B252)."""
    async with serving(vocabulary, [], deadline=cast("CompileDeadline", Doubting())) as server:
        response = await server.post(tools=[tool("f", SMALL, strict=True)])

    assert response.status_code == 400
    assert response.json()["error"]["code"] == "invalid_function_parameters"
    assert server.engine.asked == []
