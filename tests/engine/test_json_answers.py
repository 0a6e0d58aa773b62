"""Answers in a form: JSON, and every kind of structured output, held by the mask of the real engine."""

import json
import re
from typing import Any

import jsonschema_rs
import pytest

from tests.engine.conftest import MODEL, RunningEngine, RunningServer

pytestmark = pytest.mark.engine

QUESTION = [{"role": "user", "content": "Which city do you like best, and how much?"}]
WILD: dict[str, Any] = {"messages": QUESTION, "temperature": 1.3, "seed": 3, "n": 3, "max_tokens": 60}
"""Three answers of a model that would rather say anything else."""

CITY = {
    "type": "object",
    "properties": {
        "city": {"enum": ["Oslo", "Paris", 'the "Big" one']},
        "score": {"type": "integer", "minimum": 1, "maximum": 5},
        "visited": {"type": ["boolean", "null"]},
        "next": {"anyOf": [{"type": "null"}, {"$ref": "#"}]},
    },
    "required": ["city", "score", "visited"],
    "additionalProperties": False,
}
TAG = {
    "type": "structural_tag",
    "format": {
        "type": "tag",
        "begin": "<city>",
        "content": {"type": "json_schema", "json_schema": {"enum": ["Oslo", "Paris"]}},
        "end": "</city>",
    },
}
COUNTING = 'root ::= number ("," number)?\nnumber ::= [1-9] [0-9]?'


def json_schema(schema: dict[str, Any] | bool, *, strict: bool = True) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "city", "schema": schema, "strict": strict}}


async def texts(server: RunningServer, **body: Any) -> list[str]:
    """The complete answers; a cut one says so, and is none."""
    answer = await server.chat(**{**WILD, **body})
    assert all(choice["finish_reason"] in ("stop", "length") for choice in answer["choices"])
    whole = [each["message"]["content"] for each in answer["choices"] if each["finish_reason"] == "stop"]
    assert whole, "every answer was cut: the budget is too small for this test"
    return whole


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "loose"])
async def test_an_answer_in_a_schema_fits_it(server: RunningServer, *, strict: bool) -> None:
    """With `strict` and without, the mask holds the schema."""
    for text in await texts(server, response_format=json_schema(CITY, strict=strict)):
        jsonschema_rs.validate(CITY, json.loads(text))


async def test_a_json_object_is_one(server: RunningServer) -> None:
    """Any object, from the first character on, though nothing in the prompt asks for JSON."""
    answer = await server.chat(**{**WILD, "response_format": {"type": "json_object"}})

    for choice in answer["choices"]:
        content = choice["message"]["content"]
        assert content.startswith("{")
        assert choice["finish_reason"] == "length" or isinstance(json.loads(content), dict)


STRUCTURED: dict[str, Any] = {
    "choice": (["good", "so so", 'a "b" \\ c'], r'good|so so|a "b" \\ c'),
    "regex": (r"[A-Z]{2}-[0-9]{3}", r"[A-Z]{2}-[0-9]{3}"),
    "json": ({"enum": ["left", "right"]}, '"left"|"right"'),
    "grammar": (COUNTING, "[1-9][0-9]?(,[1-9][0-9]?)?"),
    "structural_tag": (TAG, '<city>"(Oslo|Paris)"</city>'),
    "structural_tag-as-text": (json.dumps(TAG), '<city>"(Oslo|Paris)"</city>'),
}


@pytest.mark.parametrize("kind", STRUCTURED)
async def test_each_kind_of_structured_output_is_held(server: RunningServer, kind: str) -> None:
    """The whole answer has the form, from its first character to its last, and a stream has it too."""
    value, form = STRUCTURED[kind]
    asked = {"structured_outputs": {kind.removesuffix("-as-text"): value}}

    found = await texts(server, **asked)
    streamed = await server.stream(**{**WILD, "extra_body": asked})

    assert [text for text in found if not re.fullmatch(form, text)] == []
    contents = [choice["message"]["content"] for choice in streamed["choices"]]
    assert [text for text in contents if text in found] == found


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_tools_and_a_format_give_calls_or_an_answer_in_the_format(
    server: RunningServer, *, stream: bool
) -> None:
    """With `auto` each answer is one or the other; with `none` it is the format, with `required` a call."""
    nothing = {"type": "object", "properties": {}, "additionalProperties": False}
    function = {"name": "ask", "strict": True, "parameters": nothing}
    body = {
        **WILD,
        "tools": [{"type": "function", "function": function}],
        "parallel_tool_calls": False,
        "response_format": json_schema(CITY),
    }
    ask = server.stream if stream else server.chat
    answers = {choice: await ask(**body, tool_choice=choice) for choice in ("auto", "none", "required")}

    for wanted, answer in answers.items():
        for choice in answer["choices"]:
            calls, content = choice["message"].get("tool_calls"), choice["message"]["content"]
            if choice["finish_reason"] == "tool_calls":
                assert wanted != "none"
                assert not content
                assert [json.loads(call["function"]["arguments"]) for call in calls] == [{}]
            elif choice["finish_reason"] == "stop":
                assert wanted != "required"
                assert not calls
                jsonschema_rs.validate(CITY, json.loads(content))


def deep(levels: int) -> dict[str, Any]:
    form: dict[str, Any] = {"type": "any_text"}
    for _ in range(levels):
        form = {"type": "sequence", "elements": [form]}
    return form


SCHEMA_PATH = "response_format.json_schema.schema"
REFUSED = [
    pytest.param({"structured_outputs": {"regex": "([a-z"}}, "structured_outputs.regex", id="regex"),
    pytest.param({"structured_outputs": {"regex": "(?<=a)b"}}, "structured_outputs.regex", id="look-behind"),
    pytest.param({"structured_outputs": {"grammar": "root ::= x"}}, "structured_outputs.grammar", id="rule"),
    pytest.param({"structured_outputs": {"grammar": "((("}}, "structured_outputs.grammar", id="grammar"),
    pytest.param(
        {"structured_outputs": {"structural_tag": {"type": "structural_tag", "format": {"type": "x"}}}},
        "structured_outputs.structural_tag",
        id="tag",
    ),
    pytest.param(
        {"structured_outputs": {"structural_tag": "{"}}, "structured_outputs.structural_tag", id="tag-no-json"
    ),
    pytest.param(
        {
            "structured_outputs": {
                "structural_tag": {"format": {"type": "json_schema", "json_schema": {"type": "strin"}}}
            }
        },
        "structured_outputs.structural_tag",
        id="schema-in-tag",
    ),
    pytest.param(
        {"structured_outputs": {"structural_tag": {"format": deep(90)}}},
        "structured_outputs.structural_tag",
        id="deep-tag",
    ),
    pytest.param({"structured_outputs": {"choice": []}}, "structured_outputs.choice", id="no-choice"),
    pytest.param({"structured_outputs": {"json": {"type": "strin"}}}, "structured_outputs.json", id="json"),
    pytest.param({"structured_outputs": {}}, "structured_outputs", id="nothing"),
    pytest.param({"response_format": json_schema({"type": "strin"})}, SCHEMA_PATH, id="schema"),
    pytest.param(
        {"response_format": json_schema({"$ref": "https://example.com/x.json"})}, SCHEMA_PATH, id="remote"
    ),
    pytest.param(
        {"response_format": {"type": "json_object"}, "structured_outputs": {"choice": ["a"]}},
        "structured_outputs",
        id="two-formats",
    ),
]


@pytest.mark.parametrize(("body", "param"), REFUSED)
async def test_a_form_that_cannot_be_held_is_refused_and_harms_nobody(
    server: RunningServer, running: RunningEngine, body: dict[str, Any], param: str
) -> None:
    """400 before any model time, naming the field; the engine has not seen it."""
    compiled = server.metric("strictcall_grammar_compile_seconds_count")
    response = await server.http.post(
        "/v1/chat/completions", json={"model": MODEL, "messages": QUESTION, "max_tokens": 2, **body}
    )

    error = response.json()["error"]
    assert (response.status_code, error["param"]) == (400, param)
    assert error["code"]
    assert server.metric("strictcall_grammar_compile_seconds_count") == compiled
    await running.engine.check()


UNUSUAL = {
    "endless": ({"grammar": 'root ::= "a" root'}, 200),
    "empty": ({"grammar": 'root ::= ""'}, 200),
    "empty-choice": ({"choice": ["", "a"]}, 200),
    "nothing-fits": ({"regex": r"[^\s\S]"}, 400),
    "only-itself": ({"grammar": "root ::= root"}, 400),
    "dead-end": ({"regex": r"a[^\s\S]"}, 400),
}


@pytest.mark.parametrize("kind", UNUSUAL)
async def test_a_form_that_leads_nowhere_harms_nobody(server: RunningServer, kind: str) -> None:
    """It is refused, or ends with its budget or with nothing; the next is answered."""
    form, status = UNUSUAL[kind]
    body = {"model": MODEL, "messages": QUESTION, "max_tokens": 5, "structured_outputs": form}
    response = await server.http.post("/v1/chat/completions", json=body)
    after = await texts(server, structured_outputs={"choice": ["yes", "no"]})

    assert response.status_code == status, response.text
    assert set(after) <= {"yes", "no"}


async def test_a_grammar_that_becomes_slow_ends_its_own_answer(server: RunningServer) -> None:
    """A rule that reads a text in ever more ways would have every stream wait for its masks."""
    ended = server.metric("strictcall_masks_given_up_total")
    body = {
        "model": MODEL,
        "messages": QUESTION,
        "max_tokens": 2_000,
        "structured_outputs": {"grammar": 'root ::= s\ns ::= "ab" | s s'},
        "logit_bias": {"2": -100},
    }
    response = await server.http.post("/v1/chat/completions", json=body)
    after = await texts(server, structured_outputs={"choice": ["yes", "no"]})

    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (400, "mask_too_slow")
    assert "in ever more ways" in error["message"]
    assert server.metric("strictcall_masks_given_up_total") == ended + 1
    assert set(after) <= {"yes", "no"}
