"""Lark grammars in the spelling of each family: what the mask lets through is a text of the grammar."""

import json
import random
from typing import Any

import pytest
import xgrammar

from parsers.family import Family
from parsers.grammar import CallableTool
from parsers.registry import FAMILIES
from server.schema.plan import SchemaPlan, SchemaPlanner
from tests.parsers.reading import cut, feed, fold
from tests.parsers.walking import walker_of_characters
from tests.server.schema.lark.meaning import means

PLANNER = SchemaPlanner()
SCHEMA = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
MARKS = r"""
start: A "x" ["(" start ")"] B?
A: /<?\/?[par]{0,4}\n?/
B: /[<\/]+/ | "\"" | "'" | /\n</ | "&" | "\\"
"""
"""What spells pieces of the marks that text ends with, in rules that meet."""
WALKS = 30


def mask_for(family: Family, plan: SchemaPlan) -> Any:
    tag = family.structural_tag(
        [CallableTool("f", plan.format)], at_least=1, at_most=1, answer=None, opens_reasoning=False
    )
    return walker_of_characters().compile(json.dumps(tag))


def plan_for(family: Family) -> SchemaPlan:
    return PLANNER.plan_lark(MARKS, SCHEMA, spelling=family.call.style.spelling)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_whatever_the_mask_emits_is_read_to_text_of_the_grammar(family: Family) -> None:
    """Marks that terminals could spell together are in no text, and quotes are escaped."""
    plan = plan_for(family)
    mask, walker = mask_for(family, plan), walker_of_characters()
    members = family.call.style.spelling.members
    words = ["<", "/par", "\n", "x", *(end for end in (members.after, members.closing) if end)]
    ended = 0
    for seed in range(WALKS):
        rng = random.Random(seed)
        written = walker.walk(mask, rng, words)
        if written is not None:
            answer = fold(feed(cut(written, rng), {"f": plan.outline}, family=family))
            [(_, arguments)] = answer.calls
            text = json.loads(arguments)["input"]
            assert len(text) > 60 or means(MARKS, text), (seed, written)
            ended += 1
    assert plan.exact
    assert ended > WALKS // 10


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_texts_of_a_grammar_can_be_written(family: Family) -> None:
    """As the model was trained to: the mask is in no right text's way."""
    mask = mask_for(family, plan_for(family))
    for text in ("x", "</p\nx\n<", '<x"', "x(x(x&))"):
        matcher = xgrammar.GrammarMatcher(mask)

        assert means(MARKS, text)
        assert matcher.accept_string(family.write_calls([("f", {"input": text})])), text
        assert matcher.is_completed()
