"""Token ids to events: what is a marker, what is text, and that the cut of the output changes nothing."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.events import Content, Event, merge
from parsers.families.hermes import HERMES
from parsers.families.mistral_v13 import MISTRAL_V13
from parsers.family import Family
from server.tokens.markers import marker_tokens
from server.tokens.reader import TokenReader
from server.tokens.vocabulary import Vocabulary
from tests.parsers.reading import Answer, fold
from tests.server.special import with_special_tokens

TOOLS = ("f", "g")
MARKERS = ("<tool_call>", "</tool_call>", "<think>", "</think>", "[TOOL_CALLS]", "[ARGS]")


@pytest.fixture(name="special", scope="module")
def _special(smollm2: Vocabulary) -> Vocabulary:
    """A vocabulary to which the markers are special tokens, and which can spell them as text too."""
    return with_special_tokens(smollm2, *MARKERS)


def reader(family: Family, vocabulary: Vocabulary, *, opens_reasoning: bool = False) -> TokenReader:
    markers = marker_tokens(family, vocabulary)
    parser = family.parser(TOOLS, opens_reasoning=opens_reasoning, tokens=markers.values())
    return TokenReader(vocabulary.detokenizer(keep=frozenset(markers)), parser, markers)


def events_of(ids: list[int], vocabulary: Vocabulary, family: Family = HERMES) -> list[Event]:
    tokens = reader(family, vocabulary)
    events = [event for id in ids for event in tokens.feed(id)]
    return events + tokens.finish(truncated=False)


def read(ids: list[int], vocabulary: Vocabulary, family: Family = HERMES) -> Answer:
    return fold(events_of(ids, vocabulary, family))


def text(vocabulary: Vocabulary, spelled: str) -> list[int]:
    return vocabulary.encode_plain(spelled)


def test_a_token_is_a_marker_and_its_text_is_not(special: Vocabulary) -> None:
    """A model that explains its own markup in letters calls nothing."""
    call = text(special, '\n{"name": "f", "arguments": {}}\n')
    [begin], [end] = special.encode("<tool_call>"), special.encode("</tool_call>")
    spelled = text(special, "<tool_call>") + call + text(special, "</tool_call>")

    assert read([begin, *call, end], special).calls == [("f", "{}")]
    assert read(spelled, special) == Answer('<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>')


def test_text_that_spells_an_end_does_not_end_a_call(special: Vocabulary) -> None:
    """Only the token does, and in the arguments the letters are part of a string."""
    written = '\n{"name": "f", "arguments": {"a": "</tool_call>"}}\n'
    ids = [*special.encode("<tool_call>"), *text(special, written), *special.encode("</tool_call> Done.")]

    answer = read(ids, special)

    assert [json.loads(arguments) for _, arguments in answer.calls] == [{"a": "</tool_call>"}]
    assert answer.malformed == []


def test_a_marker_token_inside_a_string_is_its_text(special: Vocabulary) -> None:
    """A model may well copy its own marker, as one token, into an argument."""
    written = '<tool_call>\n{"name": "f", "arguments": {"a": "x<tool_call>y"}}\n</tool_call>'

    answer = read(special.encode(written), special)

    assert [json.loads(arguments) for _, arguments in answer.calls] == [{"a": "x<tool_call>y"}]


def test_a_marker_cuts_a_character_off(special: Vocabulary) -> None:
    """What stands for the missing bytes is text before the marker, and the marker is still one."""
    first = text(special, "🚀")[0]
    call = special.encode('<tool_call>{"name": "f", "arguments": {}}</tool_call>')
    assert special.token_text(first) == "\ufffd"

    answer = read([*text(special, "Go "), first, *call], special)

    assert answer.content == "Go \ufffd"
    assert answer.calls == [("f", "{}")]


def test_special_tokens_that_the_family_does_not_spell_are_no_text(special: Vocabulary) -> None:
    """They are neither markers nor letters."""
    assert read(special.encode("[TOOL_CALLS]Hi"), special).content == "Hi"
    assert read(special.encode("[TOOL_CALLS]f[ARGS]{}"), special, MISTRAL_V13).calls == [("f", "{}")]


def test_a_thought_ends_with_its_token(special: Vocabulary) -> None:
    """A thought about the tag goes on."""
    tokens = reader(HERMES, special, opens_reasoning=True)
    spelled = [event for id in text(special, "The tag </think> ends it.") for event in tokens.feed(id)]
    assert tokens.in_reasoning
    ended = [event for id in special.encode("</think>") for event in tokens.feed(id)]

    assert not tokens.in_reasoning
    assert fold([*spelled, *ended, *tokens.finish(truncated=False)]).reasoning == "The tag </think> ends it."


def test_what_is_held_back_is_said_at_the_end(special: Vocabulary) -> None:
    """Half a marker in letters is text, and so is a marker behind which nothing comes."""
    half = text(special, "a <tool_")
    marker = special.encode("<tool_call>")

    assert merge(events_of(half, special)) == [Content("a <tool_")]
    assert merge(events_of([*half, *marker], special)) == [Content("a <tool_<tool_call>")]


PARTS = st.lists(
    st.one_of(
        st.sampled_from(MARKERS),
        st.sampled_from(
            ('{"name": "f", "arguments": {}}', '{"name": "g", "arg', "\n", "🚀 é", "<tool", "Hi")
        ),
        st.text(max_size=4),
    ),
    max_size=8,
)


@given(parts=PARTS, seed=st.integers(0, 2**16))
def test_tokens_of_text_make_no_difference(special: Vocabulary, parts: list[str], seed: int) -> None:
    """Markers as tokens and text as text: however the text is cut into tokens, the same is read."""
    rng = random.Random(seed)
    whole: list[int] = []
    pieces: list[int] = []
    for part in parts:
        if part in MARKERS:
            whole += special.encode(part)
            pieces += special.encode(part)
        else:
            at = rng.randint(0, len(part))
            whole += text(special, part)
            pieces += [*text(special, part[:at]), *text(special, part[at:])]

    assert merge(events_of(pieces, special)) == merge(events_of(whole, special))


@pytest.mark.parametrize(("truncated", "said"), [(False, "é\ufffd"), (True, "é")])
def test_half_a_character_at_the_end(special: Vocabulary, truncated: bool, said: str) -> None:
    """One that the model left so is shown as U+FFFD; of one that was cut off there is nothing to show yet."""
    ids = text(special, "é🚀")
    tokens = reader(HERMES, special)
    events = [event for id in ids[:-1] for event in tokens.feed(id)]

    assert fold(events + tokens.finish(truncated=truncated)).content == said
