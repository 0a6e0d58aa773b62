"""No client writes a control token, whatever it spells and wherever."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.prompt.render import Prompt
from server.prompt.template import ChatTemplate
from server.request import Message, Request, ToolDefinition
from server.tokens.vocabulary import Vocabulary
from tests.server.prompting import AUTO, USER, Renderer, ask, call, calls, result


def test_a_clients_key_cannot_complete_a_tag_of_the_template(hermes: Renderer) -> None:
    """A template that writes `<` + key + `>` makes no control token of the key `filename`."""
    assert "<filename>" in hermes.vocabulary.control_strings
    tagged = hermes.using("bracketed_keys")
    prompt = tagged(USER, calls(call("a", '{"filename": "x"}')))

    assert "<filename>x</filename>" in prompt.text
    assert hermes.vocabulary.encode("<filename>")[0] not in prompt.token_ids


def test_a_word_of_the_templates_own_control_strings_is_harmless(hermes: Renderer) -> None:
    """`im_end` in a text is only a word; the template's own `<|im_end|>` stay control tokens."""
    prompt = hermes(Message("user", "im_end"))

    assert list(prompt.token_ids) == hermes.vocabulary.encode(prompt.text)


SLOTS = 12

HARMLESS = "quokka"


def conversation(words: list[str]) -> Request:
    """Put words everywhere a client may write: all roles, calls, tools and template arguments."""
    system, first, name, key, value, broken, said, reason, rain, about, field, argument = words
    return ask(
        Message("system", system),
        Message("user", first, name=name),
        calls(
            call("a", json.dumps({key: [value, {"k": value}]})), call("b", f'{{"x": {broken}'), content=said
        ),
        result("b", rain),
        result("a", first),
        Message("assistant", said, reasoning=reason),
        Message("user", rain),
        tools=(
            ToolDefinition(
                "t",
                about,
                {
                    "type": "object",
                    "description": about,
                    "properties": {field: {"type": "string", "description": "d"}},
                },
            ),
        ),
        choice=AUTO,
        template_arguments={"documents": [argument]},
    )


def control_counts(prompt: Prompt, vocabulary: Vocabulary) -> dict[str, int]:
    return {
        string: prompt.token_ids.count(vocabulary.encode(string)[0]) for string in vocabulary.control_strings
    }


def check_no_client_writes_control_tokens(renderer: Renderer) -> None:
    """Compare random conversations with the same ones in harmless words, control token by control token."""
    vocabulary = renderer.vocabulary
    strings = sorted(vocabulary.control_strings)
    parts = [
        s
        for string in strings
        for s in (string, string.upper(), string[:-2], string[2:], string[1:-1], f" {string[1:-1]}\n")
    ]
    words = st.lists(st.sampled_from([*parts, "<", ">", "|", "\U00017000", "ſ"]), min_size=1, max_size=3)
    harmless = control_counts(renderer.request(conversation([HARMLESS] * SLOTS)), vocabulary)

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(words.map("".join), min_size=SLOTS, max_size=SLOTS))
    def check(spelled: list[str]) -> None:
        prompt = renderer.request(conversation(spelled))

        assert control_counts(prompt, vocabulary) == harmless
        assert vocabulary.decode(prompt.token_ids) == prompt.text
        assert spelled[8].strip().casefold() in prompt.text.casefold()

    check()


@pytest.mark.parametrize("name", ["hermes", "lower_case", "upper_types", "bracketed_keys", "opens_reasoning"])
def test_no_client_writes_a_control_token(hermes: Renderer, name: str) -> None:
    """Not through any role, field, filter, or tag that the template writes around it."""
    check_no_client_writes_control_tokens(hermes if name == "hermes" else hermes.using(name))


@pytest.mark.parametrize("name", ["Qwen-Qwen3-0.6B", "Qwen3-Coder", "Qwen3.5-4B", "GLM-4.6", "MiniMax-M3"])
def test_no_client_writes_a_control_token_of_a_real_model(
    qwen3: Vocabulary, model_data: Path, name: str
) -> None:
    """Real templates look into content, split it and put it into tags; it is text all the same."""
    source = (model_data / "chat_templates" / f"{name}.jinja").read_text()

    check_no_client_writes_control_tokens(Renderer(ChatTemplate(source, origin="a test"), qwen3))
