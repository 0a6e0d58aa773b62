"""Random walks through the masks: whatever a mask lets through, the parser reads to valid calls.

    STRICTCALL_WALKS=5000 pytest tests/parsers/test_grammar_walks.py

walks further than the 500 walks of each family that there are otherwise.
"""

import json
import os
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from transformers import AutoTokenizer

from parsers.family import Family
from parsers.formats import Format
from parsers.grammar import CallableTool
from parsers.marker_tokens import spellings
from parsers.registry import FAMILIES, find
from server.doctor.walk import Walker
from server.schema.plan import Root, SchemaPlan, SchemaPlanner
from tests.parsers.reading import cut, feed, fold
from tests.parsers.tokenizers import qwen3, smollm2
from tests.parsers.walking import walker_of_characters, walker_of_tokenizer

WALKS = int(os.environ.get("STRICTCALL_WALKS", "500"))
"""Of each family, over all its settings."""

TEXT = {"type": "string"}
EVERYTHING: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": TEXT,
        "kind": {"enum": ["plain", "<tool_call>", "</think>"]},
        "code": {"type": "string", "pattern": "^[a-z<>/_{}]{1,6}$"},
        "count": {"type": "integer", "minimum": 0, "maximum": 9},
        "share": {"type": "number"},
        "done": {"type": "boolean"},
        "nothing": {"type": "null"},
        "place": {
            "type": "object",
            "properties": {"name": TEXT, "floor": {"type": "integer"}},
            "required": ["name"],
            "additionalProperties": False,
        },
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
        "words": {"type": "array", "items": TEXT, "maxItems": 2},
        "perhaps": {"anyOf": [TEXT, {"type": "null"}]},
    },
    "required": ["text", "done"],
    "additionalProperties": False,
}
FINE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "short": {"type": "string", "minLength": 1, "maxLength": 4},
        "mixed": {"enum": ["a", 1, None, "1", "none"]},
        "size": {"type": "number", "exclusiveMinimum": -2, "maximum": 12.5},
        "either": {"anyOf": [{"type": "integer", "minimum": 3}, {"enum": ["x"]}]},
        "day": {"type": "string", "format": "date"},
        "id": {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "integer"}]},
        "text": {"type": ["string", "boolean", "null"]},
        "labels": {
            "type": "object",
            "patternProperties": {"^x_[a-z]+$": {"type": "string", "minLength": 1}},
            "additionalProperties": False,
            "minProperties": 1,
            "maxProperties": 2,
        },
        "shape": {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {"kind": {"const": "dot"}, "at": {"type": "integer"}},
                    "required": ["kind", "at"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {
                        "kind": {"const": "text"},
                        "at": {"type": "string", "pattern": "^[a-c<]+$"},
                    },
                    "required": ["kind", "at"],
                    "additionalProperties": False,
                },
            ]
        },
    },
    "required": ["short", "mixed"],
    "minProperties": 3,
    "maxProperties": 6,
    "additionalProperties": False,
}
"""Rules beyond those of types: lengths, bounds, formats, counts, and text beside other kinds."""
CHOICE: dict[str, Any] = {
    "anyOf": [
        {
            "type": "object",
            "properties": {"by": {"const": "name"}, "value": {"type": "string", "minLength": 1}},
            "required": ["by", "value"],
        },
        {
            "type": "object",
            "properties": {"by": {"const": "number"}, "value": {"type": "integer"}},
            "required": ["by", "value"],
        },
    ]
}
"""Arguments of one form or of another."""

NOTHING: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
ANSWER: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"enum": [1, 2]}, "why": TEXT},
    "required": ["n"],
    "additionalProperties": False,
}


PLANNER = SchemaPlanner()


def json_format(schema: dict[str, Any]) -> Format:
    """The mask of the schema's values in JSON, as the server makes it."""
    return PLANNER.plan(schema, closed=True).format


SETTINGS: dict[str, dict[str, Any]] = {
    "free": {"at_least": 0},
    "required": {"at_least": 1},
    "two": {"at_least": 2, "at_most": 2},
    "either": {"at_least": 0, "answer": json_format(ANSWER)},
    "opened": {"at_least": 1, "opens_reasoning": True},
    "opened, free": {"at_least": 0, "opens_reasoning": True},
}


TOOLS = {"note": EVERYTHING, "note_all": EVERYTHING, "ping": NOTHING, "fine": FINE, "choose": CHOICE}


def plans_of(family: Family) -> dict[str, SchemaPlan]:
    """The plans of all tools. All they leave to a check is that no key is written twice."""
    spelling = family.call.style.spelling
    plans = {
        name: PLANNER.plan(schema, closed=True, root=Root.OBJECT, spelling=spelling)
        for name, schema in TOOLS.items()
    }
    assert {entry.keyword for plan in plans.values() for entry in plan.unmasked} <= {"duplicate_key"}
    return plans


def words_of(family: Family) -> list[str]:
    """What walks try to write: calls, and everything that the record spells."""
    note = ("note", {"text": "a <b>", "done": True, "words": ["x"]})
    written = [family.write_calls([note]), family.write_calls([("ping", {})])]
    calls = [*written, *(family.call.separator + call for call in written), family.write_calls([note, note])]
    span = family.reasoning
    thought = [f"{span.begin}Hm.{span.end}{span.after}"] if span else []
    # Text that ends in a marker of its own only ends if that is written.
    members = family.call.style.spelling.members
    ends = [end for end in (members.after, members.closing) if end]
    return [*calls, *thought, *(part for part in spellings(family) if part.strip()), *2 * ends]


def wanted_of(family: Family, setting: str) -> dict[str, Any]:
    wanted = {"at_most": 3, "answer": None, "opens_reasoning": False} | SETTINGS[setting]
    tools = [CallableTool(name, plan.format) for name, plan in plans_of(family).items()]
    return {"tools": tools, **wanted}


def check(family: Family, wanted: dict[str, Any], text: str, rng: random.Random) -> int:
    """Assert that the answer is read to valid calls, the same in any pieces, and count them."""
    tools = {name: plan.outline for name, plan in plans_of(family).items()}
    opens, in_form = wanted["opens_reasoning"], bool(wanted["answer"])
    events, again = (
        feed(pieces, tools, opens_reasoning=opens, in_form=in_form, family=family)
        for pieces in ([text], cut(text, rng))
    )
    assert again == events

    answer = fold(events)
    assert answer.malformed == []
    prose = answer.reasoning if in_form else answer.content + answer.reasoning
    assert not any(marker in prose for marker in family.call.markers)
    assert wanted["at_least"] <= len(answer.calls) <= wanted["at_most"]
    assert not (wanted["at_least"] and answer.content)
    for name, arguments in answer.calls:
        assert jsonschema_rs.is_valid(TOOLS[name], json.loads(arguments)), (name, arguments)
    if wanted["answer"] and not answer.calls:
        assert jsonschema_rs.is_valid(ANSWER, json.loads(answer.content)), answer.content
    return len(answer.calls)


def walk_all(walker: Walker, family: Family, setting: str, walks: int) -> None:
    """Walk, and assert that what comes is read, and that most walks end and many call."""
    wanted = wanted_of(family, setting)
    grammar, words = walker.compile(json.dumps(family.structural_tag(**wanted))), words_of(family)
    ended = called = 0
    for seed in range(walks):
        rng = random.Random(seed)
        text = walker.walk(grammar, rng, words)
        if text is not None:
            try:
                called += check(family, wanted, text, rng)
            except AssertionError as error:
                error.add_note(f"seed {seed}: {text!r}")
                raise
            ended += 1
    assert ended > walks // 4
    assert called > walks // 50


def settings_of(family: Family) -> list[str]:
    opened = ("opened", "opened, free")
    return [name for name in SETTINGS if family.reasoning is not None or name not in opened]


@pytest.mark.parametrize(
    ("family", "setting"),
    [
        pytest.param(family, setting, id=f"{family.name}: {setting}")
        for family in FAMILIES
        for setting in settings_of(family)
    ],
)
def test_whatever_the_mask_emits_is_read_to_valid_calls(family: Family, setting: str) -> None:
    """The parser finds as many valid calls as are wanted, none malformed, in whatever pieces they come."""
    walk_all(walker_of_characters(), family, setting, WALKS // len(settings_of(family)))


# Vocabularies of real models, whose tokens run across the edges of markers and JSON.


@cache
def walker_of(directory: Path) -> Walker:
    return walker_of_tokenizer(AutoTokenizer.from_pretrained(directory))


REAL = ("hermes", "qwen3_coder", "llama3_json", "deepseek_v32", "glm47")


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("vocabulary", [smollm2, qwen3], ids=["smollm2", "qwen3"])
def test_real_tokens_are_read_to_valid_calls(vocabulary: Callable[[], Path], name: str) -> None:
    """It makes no difference that a token may hold the end of one part and the beginning of the next."""
    family = find(name)
    walker = walker_of(vocabulary())
    for setting in settings_of(family):
        walk_all(walker, family, setting, WALKS // len(settings_of(family)))
