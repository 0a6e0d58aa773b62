"""What is asked of a family's record: its markers among a vocabulary's tokens."""

from parsers.families.deepseek_v3 import DEEPSEEK_V3
from parsers.families.hermes import HERMES
from parsers.families.llama3_json import LLAMA3_JSON
from parsers.families.mistral_v11 import MISTRAL_V11
from parsers.family import Family
from server.tokens.markers import marker_tokens
from server.tokens.vocabulary import Vocabulary
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
