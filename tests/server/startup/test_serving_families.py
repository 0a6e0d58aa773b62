"""Every family through the whole server: calls as its models write them are calls for the client."""

import json
import re
from typing import Any

import pytest
import xgrammar

from parsers.families.kimi_k2 import KIMI_K2
from parsers.families.mistral_v11 import MISTRAL_V11
from parsers.families.mistral_v13 import MISTRAL_V13
from parsers.families.qwen3_coder import QWEN3_CODER
from parsers.family import Family
from parsers.registry import FAMILIES, find
from server.tokens.vocabulary import Vocabulary
from templates import read_template
from tests.server.prompting import TEMPLATES
from tests.server.scripted import QUESTION, Told, always, serving, tool
from tests.server.special import with_special_tokens

SPECIAL = (
    *("[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]", "<|python_tag|>", "<|tool_call|>"),
    *("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>"),
    *("<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>", "｜DSML｜"),
    *("<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>"),
    *("<|tool_call_end|>", "<|tool_calls_section_end|>"),
    *("<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
    *("<think>", "</think>", "<minimax:tool_call>", "</minimax:tool_call>"),
    *("<|tool_call>", "<tool_call|>", '<|"|>', "<|python_start|>", "<|python_end|>"),
    *("<|START_THINKING|>", "<|END_THINKING|>", "<|START_ACTION|>", "<|END_ACTION|>"),
    *("<|action_start|>", "<|plugin|>", "<|action_end|>", "<|function_call|>"),
    *("<|tools_prefix|>", "<|tools_suffix|>", "<|open|>", "<|close|>", "<|sep|>", "]<]minimax[>["),
    *("<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>"),
    *("<start_function_call>", "<end_function_call>", "<escape>"),
    *("<｜tool_calls_begin｜>", "<｜tool_call_begin｜>", "<｜tool_sep｜>", "<｜tool_call_end｜>"),
    *("<｜tool_calls_end｜>", "<tool_calls:opensource>", "</tool_calls:opensource>"),
    *("<tool_call:opensource>", "</tool_call:opensource>", "<tool_sep:opensource>"),
    *("<arg_key:opensource>", "</arg_key:opensource>"),
    *("<arg_value:opensource>", "</arg_value:opensource>"),
)
"""What is a special token in the vocabulary of one model or another."""

WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
PARIS = {"city": "Paris", "days": 2}
TEMPLATE = read_template("hermes")
NAMED = {"type": "function", "function": {"name": "weather"}}

every_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)


@pytest.fixture(name="special", scope="module")
def _special(smollm2: Vocabulary) -> Vocabulary:
    return with_special_tokens(smollm2, *SPECIAL)


def thought(family: Family) -> str:
    """A thought as the family's models write it in front of calls."""
    span = family.reasoning
    return "" if span is None else f"{span.begin}Hm.{span.end}{span.after}"


def values(choice: Told) -> list[tuple[str, Any]]:
    return [(name, json.loads(arguments)) for name, arguments in choice.calls]


def lets_pass(structural_tag: str, text: str) -> bool:
    """Whether a model could write the text under the mask, and end there."""
    tokens = xgrammar.TokenizerInfo([*(bytes([byte]) for byte in range(256)), b"<end>"], stop_token_ids=[256])
    compiled = xgrammar.GrammarCompiler(tokens).compile_structural_tag(structural_tag)
    matcher = xgrammar.GrammarMatcher(compiled)
    return bool(matcher.accept_string(text) and matcher.accept_token(256))


async def is_served(family: Family, vocabulary: Vocabulary, *, strict: bool) -> None:
    """Two calls behind a thought reach the client, streamed or not, and the mask lets them pass."""
    text = thought(family) + family.write_calls([("weather", PARIS), ("ping", {})])
    tools = [tool("weather", WEATHER, strict=strict), tool("ping", strict=strict)]
    async with serving(vocabulary, always(vocabulary, text), template=TEMPLATE, family=family) as server:
        [choice] = await server.answers(tools=tools)

        assert values(choice) == [("weather", PARIS), ("ping", {})]
        assert (choice.content, choice.finish) == ("", "tool_calls")
        assert choice.reasoning == ("Hm." if family.reasoning else "")
        assert lets_pass(server.engine.asked[0].structural_tag or "", text)


@pytest.mark.parametrize("strict", [False, True])
@every_family
async def test_calls_are_read_where_markers_are_special_tokens(
    family: Family, strict: bool, special: Vocabulary
) -> None:
    """The detokenizer keeps the family's own markers, which are no text otherwise."""
    await is_served(family, special, strict=strict)


@every_family
async def test_calls_are_read_where_markers_are_text(family: Family, vocabulary: Vocabulary) -> None:
    """Models that were trained on a family's form without its tokens write the same letters."""
    await is_served(family, vocabulary, strict=True)


@pytest.mark.parametrize("name", ["hermes", "qwen3_coder", "llama3_json", "mistral_v11"])
async def test_calls_are_read_with_the_vocabulary_of_a_real_model(name: str, qwen3: Vocabulary) -> None:
    """Qwen3's has tokens for the markers that are no special ones."""
    await is_served(find(name), qwen3, strict=True)


async def test_special_tokens_that_are_no_markers_stay_out_of_the_answer(special: Vocabulary) -> None:
    """Only the markers of the family that is served are text."""
    text = "[INST]<|python_tag|>Hi"
    async with serving(special, always(special, text), template=TEMPLATE, family=MISTRAL_V11) as server:
        [choice] = await server.answers(tools=[tool("ping")])

    assert choice.content == "[INST]Hi"


async def test_the_schema_tells_what_is_text(vocabulary: Vocabulary) -> None:
    """Without quotes, only the type of a parameter tells 2 from "2"."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}}
    text = QWEN3_CODER.write_calls([("f", {"n": 2, "s": "2"})])
    async with serving(vocabulary, always(vocabulary, text), template=TEMPLATE, family=QWEN3_CODER) as server:
        [choice] = await server.answers(tools=[tool("f", schema)])

    assert values(choice) == [("f", {"n": 2, "s": "2"})]


async def test_a_strict_call_outside_its_schema_is_not_sent(vocabulary: Vocabulary) -> None:
    """Text in tags is not counted by the mask where it is long, so the check has to."""
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string", "minLength": 90}},
        "required": ["city"],
        "additionalProperties": False,
    }
    text = QWEN3_CODER.write_calls([("weather", {"city": "Rio"})])
    async with serving(vocabulary, always(vocabulary, text), template=TEMPLATE, family=QWEN3_CODER) as server:
        tools = [tool("weather", schema, strict=True)]
        response = await server.post(tools=tools)
        chunks = await server.stream(tools=tools)

    assert response.status_code == 500
    assert response.json()["error"]["code"] == "schema_violation"
    assert chunks[-1]["error"]["code"] == "schema_violation"
    assert not any("tool_calls" in chunk["choices"][0]["delta"] for chunk in chunks[:-1])


@every_family
async def test_a_wrong_call_is_written_again_in_the_familys_form(
    family: Family, vocabulary: Vocabulary
) -> None:
    """The retry is a conversation like any other: with a call, its result, and one more call."""
    schema = {
        "type": "object",
        "properties": {"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}},
        "required": ["tags"],
        "additionalProperties": False,
    }
    texts = [family.write_calls([("tag", {"tags": tags})]) for tags in (["a", "a"], ["a", "b"])]
    async with serving(vocabulary, texts * 2, template=TEMPLATE, family=family) as server:
        [choice] = await server.answers(tools=[tool("tag", schema, strict=True)])

        assert values(choice) == [("tag", {"tags": ["a", "b"]})]
        assert choice.finish == "tool_calls"
        assert len(server.engine.asked) == 4


async def test_a_strict_call_in_json_is_streamed_as_it_is_written(vocabulary: Vocabulary) -> None:
    """Where the mask holds the whole schema nothing has to wait."""
    text = MISTRAL_V13.write_calls([("weather", PARIS)])
    async with serving(vocabulary, always(vocabulary, text), template=TEMPLATE, family=MISTRAL_V13) as server:
        chunks = await server.stream(tools=[tool("weather", WEATHER, strict=True)])

    assert sum("tool_calls" in chunk["choices"][0]["delta"] for chunk in chunks) > 3


def ids_of(answer: dict[str, Any]) -> list[str]:
    return [call["id"] for call in answer["choices"][0]["message"]["tool_calls"]]


def streamed_ids(chunks: list[dict[str, Any]]) -> list[str]:
    deltas = [call for chunk in chunks for call in chunk["choices"][0]["delta"].get("tool_calls", ())]
    return [delta["id"] for delta in deltas if "id" in delta]


@pytest.mark.parametrize("choice", ["auto", "required", NAMED])
async def test_mistrals_ids_are_nine_letters_whatever_the_choice(vocabulary: Vocabulary, choice: Any) -> None:
    """Its templates refuse all others on the next turn (B184)."""
    text = MISTRAL_V13.write_calls([("weather", PARIS)])
    async with serving(vocabulary, always(vocabulary, text), template=TEMPLATE, family=MISTRAL_V13) as server:
        asked = {"tools": [tool("weather", WEATHER)], "tool_choice": choice}
        ids = ids_of(await server.chat(**asked)) + streamed_ids(await server.stream(**asked))

    assert len(ids) == 2
    assert all(re.fullmatch("[0-9a-zA-Z]{9}", id) for id in ids)


@pytest.mark.parametrize("choice", ["auto", "required"])
async def test_kimis_ids_count_over_the_conversation_whatever_the_choice(
    vocabulary: Vocabulary, choice: str
) -> None:
    """The number goes on where the history ends, whatever the model wrote (B186)."""
    text = KIMI_K2.write_calls([("weather", PARIS), ("ping", {})])
    history = [
        *QUESTION,
        {
            "role": "assistant",
            "tool_calls": [
                {
                    "id": "functions.ping:0",
                    "type": "function",
                    "function": {"name": "ping", "arguments": "{}"},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "functions.ping:0", "content": "pong"},
    ]
    async with serving(vocabulary, always(vocabulary, text), template=TEMPLATE, family=KIMI_K2) as server:
        asked = {
            "messages": history,
            "tools": [tool("weather", WEATHER), tool("ping")],
            "tool_choice": choice,
        }
        whole, streamed = ids_of(await server.chat(**asked)), streamed_ids(await server.stream(**asked))

    assert whole == streamed == ["functions.weather:1", "functions.ping:2"]


async def test_kimis_prompt_has_its_own_ids(vocabulary: Vocabulary) -> None:
    """Ids of other servers in the history become those that the model would have written."""
    history = [
        *QUESTION,
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "ping", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "pong"},
    ]
    template = (
        "{% for m in messages %}{{ m.role }} {{ m.content }} {{ m.tool_call_id }}"
        "{% for c in m.tool_calls %}{{ c.id }} {{ c.function | tojson }}{% endfor %}|{% endfor %}"
    )
    async with serving(vocabulary, always(vocabulary, "Hi"), template=template, family=KIMI_K2) as server:
        await server.chat(messages=history)
        prompt = vocabulary.decode(server.engine.asked[0].prompt)

    assert prompt == (
        'user Hi |assistant  functions.ping:0 {"name": "ping", "arguments": {}}|tool pong functions.ping:0|'
    )


async def test_mistrals_template_takes_the_ids_it_is_sent_back(vocabulary: Vocabulary) -> None:
    """The call and its result go into the next prompt under the id that the client was given (B184)."""
    template = (TEMPLATES / "nine_letter_ids.jinja").read_text(encoding="utf-8")
    text = MISTRAL_V13.write_calls([("weather", PARIS)])
    async with serving(vocabulary, always(vocabulary, text), template=template, family=MISTRAL_V13) as server:
        tools = [tool("weather", WEATHER)]
        turn = (await server.chat(tools=tools))["choices"][0]["message"]
        [id] = ids_of({"choices": [{"message": turn}]})
        result = {"role": "tool", "tool_call_id": id, "content": "sunny"}
        await server.chat(messages=[*QUESTION, turn, result], tools=tools)
        prompt = vocabulary.decode(server.engine.asked[1].prompt)

    assert prompt.count(id) == 2
    assert "sunny" in prompt
