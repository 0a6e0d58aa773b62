"""The mask of tools that say nothing of their arguments, in every family."""

import random

from parsers.arguments.style import CallableTool
from parsers.family import Family, write_call
from server.schema.plan import Root, plan_schema
from tests.parsers.reading import feed, fold
from tests.parsers.test_grammar import accepts, by_family, compiled
from tests.parsers.walking import walker_of_characters


@by_family
def test_tool_without_a_schema_takes_any_arguments(family: Family) -> None:
    """A call of a tool that is not strict is held to the form of a call, and to its name."""
    spelling = family.call.style.spelling
    any_object = plan_schema({"type": "object"}, closed=False, root=Root.OBJECT, spelling=spelling)
    tools = [CallableTool("any", any_object.format)]
    grammar = compiled(family, tools, at_least=1)

    for arguments in ({}, {"a": "x"}, {"a": "x", "b": "null"}):
        assert accepts(grammar, write_call(family, "any", arguments))
    walker = walker_of_characters()
    words = [write_call(family, "any", {"a": "x", "b": "y"})]
    ended = 0
    for seed in range(20):
        text = walker.walk(grammar, random.Random(seed), words)
        if text is not None:
            answer = fold(feed([text], {"any": {}}, family=family))
            assert (answer.malformed, answer.content) == ([], ""), f"seed {seed}: {text!r}"
            ended += 1
    assert ended > 3
