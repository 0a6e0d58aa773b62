"""What is asked of a family's record: its markers among a vocabulary's tokens, and what its mask holds."""

import pytest

from parsers.arguments.style import CallableTool
from parsers.families.deepseek_v3 import DEEPSEEK_V3
from parsers.families.hermes import HERMES
from parsers.families.llama3_json import LLAMA3_JSON
from parsers.families.mistral_v11 import MISTRAL_V11
from parsers.families.qwen3_coder import QWEN3_CODER
from parsers.family import Family
from server.errors import ApiError, Code
from server.family import check_arguments, holds_format, marker_tokens
from server.schema.plan import SchemaPlanner
from server.vocabulary import Vocabulary
from tests.server.special import with_special_tokens


def kept(family: Family, vocabulary: Vocabulary) -> set[str]:
    return set(marker_tokens(family, vocabulary).values())


def test_markers_that_are_special_tokens_are_kept(smollm2: Vocabulary) -> None:
    """Those inside a call, which only its style spells, as well as those around it."""
    tokens = ("[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "[INST]", "<|python_tag|>")
    vocabulary = with_special_tokens(smollm2, *tokens)

    assert kept(MISTRAL_V11, vocabulary) == {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"}
    assert kept(LLAMA3_JSON, vocabulary) == {"<|python_tag|>"}
    assert kept(HERMES, vocabulary) == set()


def test_a_token_within_a_longer_marker_is_kept(smollm2: Vocabulary) -> None:
    """A record may spell text and token as one marker."""
    assert kept(DEEPSEEK_V3, with_special_tokens(smollm2, "<｜tool▁sep｜>")) == {"<｜tool▁sep｜>"}


def test_what_ends_an_answer_is_no_marker(smollm2: Vocabulary) -> None:
    """An end token is never text, whatever a record spells."""
    vocabulary = with_special_tokens(smollm2, "<tool_call>", end="<tool_call>")

    assert kept(HERMES, vocabulary) == set()


def test_a_style_says_whether_it_holds_the_format_it_is_given() -> None:
    """JSON in an envelope is held to the plan's grammar; arguments in tags have a mask of their own."""
    assert holds_format(HERMES.call.style)
    assert holds_format(MISTRAL_V11.call.style)
    assert not holds_format(QWEN3_CODER.call.style)


def test_a_schema_that_no_mask_can_be_made_of_is_refused() -> None:
    """The client is told before any model time is spent, in words about its own schema."""
    style, param = QWEN3_CODER.call.style, "tools[0].function.parameters"

    def tool(pattern: str) -> CallableTool:
        schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}
        return CallableTool("f", {}, schema)

    check_arguments(style, tool("^[a-z]+$"), SchemaPlanner(), param=param)
    with pytest.raises(ApiError) as refused:
        check_arguments(style, tool("^(?=x)y$"), SchemaPlanner(), param=param)

    assert (refused.value.kind, refused.value.param) == (Code.INVALID_TOOLS, param)
    assert "cannot be held to it (Regex parsing error" in refused.value.message
    assert "leave out 'strict'" in refused.value.message
