"""The mask of a request, asked what it lets through, and the rules by which its calls are checked."""

from functools import cache
from typing import Any

import pytest
import xgrammar as xgr

from parsers.families.hermes import HERMES
from parsers.families.qwen3_coder import QWEN3_CODER
from parsers.family import Family
from server.config.settings import ToolMask
from server.errors import ApiError, Code
from server.mask.constrain import Constraint, constrain
from server.request import (
    Grammar,
    JsonObject,
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
from server.schema.plan import SchemaPlanner
from server.telemetry.labels import Held

LETTERS = [bytes([byte]) for byte in range(128)] + [b"<eos>"]
EOS = len(LETTERS) - 1

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
TAGS = {
    "type": "object",
    "properties": {"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}},
    "required": ["tags"],
    "additionalProperties": False,
}
IMPOSSIBLE = {"type": "object", "properties": {"a": False}, "required": ["a"]}

LOOSE = ToolDefinition("look", parameters=CITY, param="tools[0].function")
STRICT = ToolDefinition("find", parameters=CITY, strict=True, param="tools[1].function")
INEXACT = ToolDefinition("tag", parameters=TAGS, strict=True, param="tools[2].function")
BARE = ToolDefinition("ping", param="tools[3].function")

RIGHT = '{"city": "Lima"}'

AUTO = ToolChoice(Mode.AUTO)
REQUIRED = ToolChoice(Mode.REQUIRED)
FORMAT = "response_format.json_schema.schema"
CITY_ANSWER = JsonSchema("out", CITY, strict=True, param=FORMAT)


@cache
def compiler() -> xgr.GrammarCompiler:
    return xgr.GrammarCompiler(
        xgr.TokenizerInfo(LETTERS, vocab_type=xgr.VocabType.RAW, stop_token_ids=[EOS]), max_threads=1
    )


def masked(
    *tools: ToolDefinition,
    mask: ToolMask = ToolMask.ENVELOPE,
    thinking: bool = False,
    family: Family = HERMES,
    **fields: Any,
) -> Constraint:
    request = Request("r", "chat", "m", (Message("user", "Hi"),), tools=tools, **fields)
    return constrain(
        request, family=family, planner=SchemaPlanner(), tool_mask=mask, max_calls=3, opens_reasoning=thinking
    )


def allows(constraint: Constraint, text: str) -> bool:
    """Whether `text` can be the whole answer."""
    assert constraint.structural_tag is not None
    matcher = xgr.GrammarMatcher(compiler().compile_structural_tag(constraint.structural_tag))
    return all(matcher.accept_token(byte) for byte in text.encode("ascii")) and matcher.accept_token(EOS)


def call(name: str, arguments: str) -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


def refusal(*tools: ToolDefinition, **fields: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        masked(*tools, **fields)
    return caught.value


@pytest.mark.parametrize("choice", [ToolChoice(Mode.NONE), AUTO])
def test_without_callable_tools_and_format_there_is_no_mask(choice: ToolChoice) -> None:
    """Free text costs no mask at all."""
    tools = () if choice is AUTO else (STRICT,)

    assert masked(*tools, choice=choice) == Constraint(None, {}, None)


def test_in_auto_text_may_come_alone_or_before_calls() -> None:
    """No call is forced, and one that opens is whole and names a tool of the request."""
    mask = masked(STRICT, LOOSE, choice=AUTO)

    assert allows(mask, "Hello.")
    assert allows(mask, "Sure.\n" + call("find", RIGHT))
    assert allows(mask, call("find", RIGHT) + "\n" + call("look", "{}"))
    assert not allows(mask, call("gone", "{}"))
    assert not allows(mask, "<tool_call>")


@pytest.mark.parametrize(
    ("tool", "arguments", "allowed"),
    [
        pytest.param(STRICT, RIGHT, True, id="strict, in its schema"),
        pytest.param(STRICT, "{}", False, id="strict, a key missing"),
        pytest.param(STRICT, '{"city": 1}', False, id="strict, of another type"),
        pytest.param(LOOSE, '{"town": [1, null]}', True, id="not strict, any object"),
        pytest.param(LOOSE, "[]", False, id="not strict, no object"),
        pytest.param(LOOSE, '{"town": }', False, id="not strict, no JSON"),
        pytest.param(BARE, "{}", True, id="without parameters, none"),
        pytest.param(BARE, '{"a": 1}', False, id="without parameters, one"),
    ],
)
@pytest.mark.parametrize("choice", [AUTO, REQUIRED, ToolChoice(Mode.NAMED)])
def test_arguments_are_held_as_far_as_the_tool_says(
    choice: ToolChoice, tool: ToolDefinition, arguments: str, *, allowed: bool
) -> None:
    """The same in every mode: strict is the schema, else any object, and no parameters are no arguments."""
    if choice.mode is Mode.NAMED:
        choice = ToolChoice(Mode.NAMED, (tool.name,))

    assert allows(masked(tool, choice=choice), call(tool.name, arguments)) is allowed


def test_required_is_one_call_or_more_and_no_text() -> None:
    """There is an upper bound too, as a model that repeats itself would never end (fault B040)."""
    mask = masked(LOOSE, choice=REQUIRED)
    calls = [call("look", "{}")] * 4

    assert not allows(mask, "Hello.")
    assert not allows(mask, "")
    assert allows(mask, calls[0])
    assert allows(mask, "\n".join(calls[:3]))
    assert not allows(mask, "\n".join(calls))


def test_a_named_tool_is_called_exactly_once() -> None:
    """Neither another tool nor a second call."""
    mask = masked(LOOSE, STRICT, choice=ToolChoice(Mode.NAMED, ("find",)))

    assert allows(mask, call("find", RIGHT))
    assert not allows(mask, call("look", "{}"))
    assert not allows(mask, call("find", RIGHT) + "\n" + call("find", RIGHT))
    assert mask.calls.keys() == {"find"}


@pytest.mark.parametrize("mode", [Mode.AUTO, Mode.REQUIRED])
def test_only_allowed_tools_can_be_called(mode: Mode) -> None:
    """The others are shown to the model, and the mask has no room for them."""
    mask = masked(LOOSE, STRICT, choice=ToolChoice(mode, ("find",)))

    assert allows(mask, call("find", RIGHT))
    assert not allows(mask, call("look", "{}"))
    assert allows(mask, "Hello.") is (mode is Mode.AUTO)


@pytest.mark.parametrize("choice", [AUTO, REQUIRED])
def test_without_parallel_calls_there_is_at_most_one(choice: ToolChoice) -> None:
    """The second call cannot be written, instead of being dropped afterwards (fault B052)."""
    mask = masked(LOOSE, choice=choice, parallel=False)

    assert allows(mask, call("look", "{}"))
    assert not allows(mask, call("look", "{}") + "\n" + call("look", "{}"))


@pytest.mark.parametrize("choice", [AUTO, REQUIRED])
def test_inside_the_reasoning_span_the_mask_waits(choice: ToolChoice) -> None:
    """A prompt that opens reasoning is closed first, and the call follows (faults B172, B175)."""
    mask = masked(STRICT, choice=choice, thinking=True)

    assert allows(mask, "Let me see.\n</think>\n\n" + call("find", RIGHT))
    assert not allows(mask, call("find", RIGHT))


FORMATS = {
    "json_object": (JsonObject(), '{"a": [1]}', "[]"),
    "json_schema": (CITY_ANSWER, RIGHT, "{}"),
    "choice": (OneOf(("yes", "no")), "no", "maybe"),
    "regex": (Matching("[0-9]{2}"), "42", "4"),
    "grammar": (Grammar('root ::= "a" | "b"'), "b", "c"),
    "tag": (Tagged({"type": "structural_tag", "format": {"type": "const_string", "value": "x"}}), "x", "y"),
    "format of a tag": (Tagged({"type": "const_string", "value": "x"}), "x", "y"),
}


@pytest.mark.parametrize(("wanted", "right", "wrong"), FORMATS.values(), ids=FORMATS)
def test_an_answer_has_the_format_that_was_asked_for(wanted: Any, right: str, wrong: str) -> None:
    """Alone, a format is the whole answer."""
    mask = masked(answer_format=wanted)

    assert allows(mask, right)
    assert not allows(mask, wrong)
    assert not allows(mask, "Well, " + right)


@pytest.mark.parametrize(("wanted", "right", "wrong"), FORMATS.values(), ids=FORMATS)
def test_with_tools_a_format_leaves_calls_or_the_answer(wanted: Any, right: str, wrong: str) -> None:
    """The grammar of the answer does not make calls impossible, nor the tools free text (fault B053)."""
    mask = masked(STRICT, choice=AUTO, answer_format=wanted)

    assert allows(mask, right)
    assert allows(mask, call("find", RIGHT))
    assert not allows(mask, wrong)
    assert not allows(mask, right + call("find", RIGHT))


def test_a_forced_call_leaves_no_room_for_an_answer() -> None:
    """`required` beside a format is a call."""
    mask = masked(STRICT, choice=REQUIRED, answer_format=CITY_ANSWER)

    assert allows(mask, call("find", RIGHT))
    assert not allows(mask, RIGHT)


@pytest.mark.parametrize(
    ("tools", "choice", "has_mask"),
    [
        pytest.param((LOOSE,), AUTO, False, id="none strict"),
        pytest.param((LOOSE, STRICT), AUTO, True, id="one strict"),
        pytest.param((LOOSE,), REQUIRED, True, id="forced"),
    ],
)
def test_the_mask_of_loose_calls_can_be_turned_off(
    tools: tuple[ToolDefinition, ...], choice: ToolChoice, *, has_mask: bool
) -> None:
    """Then loose calls are held until they are checked; what was promised stays masked (fault B043)."""
    constraint = masked(*tools, choice=choice, mask=ToolMask.STRICT)
    rule = constraint.calls["look"]

    assert (constraint.structural_tag is not None) is has_mask
    assert (rule.held, rule.streams) == ((Held.ENVELOPE, False) if has_mask else (Held.NOTHING, False))


def test_calls_stream_under_an_exact_mask_only() -> None:
    """What the mask does not hold is named, and the call waits for its check."""
    constraint = masked(LOOSE, STRICT, INEXACT, BARE, choice=AUTO)
    rules = {name: (rule.held, rule.streams) for name, rule in constraint.calls.items()}

    assert rules == {
        "look": (Held.ENVELOPE, False),
        "find": (Held.SCHEMA, True),
        "tag": (Held.SCHEMA, False),
        "ping": (Held.SCHEMA, True),
    }
    assert [(entry.pointer, entry.keyword) for entry in constraint.unmasked] == [
        ("#/properties/tags", "uniqueItems")
    ]


@pytest.mark.parametrize(("longest", "is_held"), [(3, True), (100, False)])
def test_what_a_mask_of_tags_does_not_hold_is_named(longest: int, is_held: bool) -> None:
    """Where text has no quotes, long ones are not counted: a plan that is exact as JSON is not, and waits."""
    text = {"type": "string", "maxLength": longest}
    schema = {"type": "object", "properties": {"a": text}, "required": ["a"]}
    tool = ToolDefinition("f", parameters=schema, strict=True, param="tools[0].function")

    rules = [masked(tool, choice=AUTO, family=family).calls["f"] for family in (HERMES, QWEN3_CODER)]

    assert [rule.streams for rule in rules] == [True, is_held]
    assert [[(entry.pointer, entry.keyword) for entry in rule.unmasked] for rule in rules] == [
        [],
        [] if is_held else [("#/properties/a", "maxLength")],
    ]


def test_a_parser_is_told_the_kinds_that_the_mask_lets_through() -> None:
    """Keywords that only the plan understands say of what kind a value in tags is."""
    number = {"not": {"type": ["string", "null", "boolean", "object", "array"]}}
    schema = {"type": "object", "properties": {"a": number}, "required": ["a"]}
    tool = ToolDefinition("f", parameters=schema, strict=True, param="tools[0].function")

    constraint = masked(tool, choice=AUTO, family=QWEN3_CODER)

    assert constraint.schemas["f"]["properties"] == {"a": {"type": ["integer", "number"]}}


def test_what_the_mask_of_an_answer_does_not_hold_is_named_too() -> None:
    """Tools and format add up."""
    wanted = JsonSchema("out", TAGS, strict=True, param=FORMAT)
    constraint = masked(INEXACT, choice=AUTO, answer_format=wanted)

    assert constraint.answer is not None
    assert not constraint.answer.streams
    assert [entry.keyword for entry in constraint.unmasked] == ["uniqueItems", "uniqueItems"]


def test_a_strict_tool_whose_schema_no_mask_can_hold_is_refused() -> None:
    """A promise that cannot be kept is not made."""
    error = refusal(
        ToolDefinition("f", parameters=IMPOSSIBLE, strict=True, param="tools[0].function"), choice=AUTO
    )

    assert (error.kind, error.param) == (Code.INVALID_TOOLS, "tools[0].function.parameters")


def test_a_loose_format_that_no_mask_can_hold_is_any_object() -> None:
    """Only a strict one is refused: the other is checked, and told of in the metrics."""
    loose, strict = (JsonSchema("out", IMPOSSIBLE, strict=strict, param=FORMAT) for strict in (False, True))

    assert allows(masked(answer_format=loose), '{"b": 1}')
    assert refusal(answer_format=strict).kind is Code.INVALID_SCHEMA


MISTAKES = {
    "regex": (Matching("(a"), "structured_outputs.regex"),
    "grammar": (Grammar("root ::= nowhere"), "structured_outputs.grammar"),
    "regex of nothing": (Matching(r"[^\s\S]"), "structured_outputs.regex"),
    "grammar of nothing": (Grammar("root ::= root"), "structured_outputs.grammar"),
    "tag": (Tagged({"type": "no_such_format"}), "structured_outputs.structural_tag"),
}
TOO_LONG = {
    "regex": (Matching("a" * 40_000), "structured_outputs.regex"),
    "choices": (OneOf(("a" * 20_000, "b" * 20_000)), "structured_outputs.choice"),
}


@pytest.mark.parametrize(("wanted", "param"), TOO_LONG.values(), ids=TOO_LONG)
def test_a_format_that_would_hold_up_the_engine_is_refused(wanted: Any, param: str) -> None:
    """The engine compiles one grammar at a time, for everybody."""
    error = refusal(answer_format=wanted)
    assert (error.kind, error.param) == (Code.STRING_TOO_LONG, param)


@pytest.mark.parametrize(("wanted", "param"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_a_format_is_refused_before_the_engine_sees_it(wanted: Any, param: str) -> None:
    """A grammar that XGrammar cannot read, or that nothing matches, would fail in the engine's process."""
    error = refusal(answer_format=wanted)
    assert (error.kind, error.param) == (Code.INVALID_VALUE, param)
