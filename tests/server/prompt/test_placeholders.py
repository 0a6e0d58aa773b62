"""What a client spells is hidden from templates and comes back as text, whatever else is in it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.errors import ApiError, Code
from server.prompt.placeholders import FIRST, LAST, Author, Controls, Piece, Placeholders

CONTROLS = Controls(frozenset({"<|im_start|>", "<|im_end|>", "<think>", "</think>", "[INST]"}))


def cut(text: str) -> list[Piece]:
    placeholders = Placeholders(CONTROLS)
    return list(placeholders.cut(placeholders.hide(text)))


def test_text_without_control_strings_is_not_touched() -> None:
    """The usual case: the template sees what the client wrote."""
    value = {"a": ["x < y", 1, None, True, {"b": "[1] é 👩"}]}

    assert Placeholders(CONTROLS).hide(value) == value


def test_a_control_string_is_cut_out() -> None:
    """The prompt is cut around what the client spelled."""
    assert cut("a<|im_end|>b") == [
        Piece("a", Author.TEMPLATE),
        Piece("<|im_end|>", Author.CLIENT),
        Piece("b", Author.TEMPLATE),
    ]


@pytest.mark.parametrize("text", ["<|IM_End|>", "<|ım_end|>", "[ınſt]"])
def test_a_change_of_case_cannot_make_a_control_string(text: str) -> None:
    """What `lower` or `upper` would turn into a control string is hidden as well."""
    hidden = Placeholders(CONTROLS).hide(f"a {text} b")

    assert len(hidden) == len("a . b")
    assert cut(f"a {text} b")[1] == Piece(text, Author.CLIENT)


@pytest.mark.parametrize(
    ("text", "edge"),
    [
        pytest.param("<|im_", "<|im_", id="all of it"),
        pytest.param("x <|", "<|", id="the end"),
        pytest.param("x <  \n", "<", id="the end before white space that may be trimmed"),
        pytest.param("end|> x", "end|>", id="the beginning"),
        pytest.param("  think> x", "think>", id="the beginning after white space"),
    ],
)
def test_an_edge_that_another_text_could_complete_is_cut_off(text: str, edge: str) -> None:
    """Two texts in a row, each harmless, cannot make a control string together."""
    pieces = cut(text)

    assert [piece.text for piece in pieces if piece.author is Author.CLIENT] == [edge]
    assert "".join(piece.text for piece in pieces) == text


def test_an_edge_of_a_plain_word_is_no_edge() -> None:
    """Where a control string is made of letters, half of all texts would begin or end with one of them."""
    placeholders = Placeholders(Controls(frozenset({"assistant"})))

    assert placeholders.hide("pasta") == "pasta"
    assert placeholders.hide("an assistant!") != "an assistant!"


def test_a_whole_string_inside_a_control_string_is_remembered() -> None:
    """A template may write `<` + name + `>`; whether it does shows only in the prompt."""
    placeholders = Placeholders(CONTROLS)

    value = {"think": ["/think", "other", "type", " im_end\n", " " * 500]}
    assert placeholders.hide(value) == value
    assert placeholders.fragments == {"think", "/think", " im_end\n"}
    assert CONTROLS.around(placeholders.fragments, "a<think>") == ["<think>"]
    assert CONTROLS.around(placeholders.fragments, "a think") == []


def test_words_of_schemas_are_remembered_only_if_a_control_string_is_made_of_one() -> None:
    """Templates branch on `type` and its values, which are no danger except beside a `<type>`."""
    harmless, harmful = (
        Placeholders(Controls(frozenset({"<|type_of|>"}))),
        Placeholders(Controls(frozenset({"<type>"}))),
    )
    harmless.hide("type")
    harmful.hide("type")

    assert harmless.fragments == set()
    assert harmful.fragments == {"type"}


def test_spellings_can_be_hidden_without_remembering_words() -> None:
    """Template arguments choose among branches by whole words, but spell no control string either."""
    placeholders = Placeholders(CONTROLS)

    assert placeholders.hide_spellings({"mode": "think"}) == {"mode": "think"}
    assert placeholders.fragments == set()
    assert placeholders.hide_spellings(["<think>"]) == [FIRST]


def test_a_placeholder_that_the_client_wrote_is_its_own_letter() -> None:
    """A client's Tangut is not mistaken for a placeholder."""
    text = f"{FIRST}<|im_end|>{LAST}{FIRST}"

    assert "".join(piece.text for piece in cut(text)) == text


def test_half_a_surrogate_pair_is_replaced() -> None:
    r"""JSON may hold a lone `\ud83d`, which no tokenizer can encode."""
    assert "".join(piece.text for piece in cut(json.loads(r'"a\ud83db"'))) == "a\N{REPLACEMENT CHARACTER}b"


def test_placeholders_survive_what_templates_do() -> None:
    """Trimming, changes of case, JSON and Python's own spelling leave a placeholder as it is."""
    placeholders = Placeholders(CONTROLS)
    hidden = placeholders.hide("<|im_end|>")

    for written in (hidden.strip(), hidden.upper(), hidden.lower(), hidden.title(), repr([hidden])[2:-2]):
        assert [piece.text for piece in placeholders.cut(written)] == ["<|im_end|>"]


def test_more_spellings_than_placeholders_are_refused() -> None:
    """Only an attack spells thousands of different ones; it is told so before any model time is spent."""
    every_letter = "".join(map(chr, range(ord(FIRST), ord(LAST) + 1)))
    with pytest.raises(ApiError, match="too many different control tokens") as caught:
        Placeholders(CONTROLS).hide(f"{every_letter}<|im_end|>")

    assert caught.value.kind is Code.INVALID_VALUE


@given(
    st.lists(
        st.sampled_from(
            ["<|im_end|>", "<|im_", "end|>", "<", ">", "think", "[INST]", FIRST, "ſ", " ", "İ", "a"]
        )
    ).map("".join)
)
def test_text_comes_back_and_no_template_piece_has_a_control_string(text: str) -> None:
    """Whatever the mixture, the pieces join to the text, and only a client's piece spells control strings."""
    pieces = cut(text)

    assert "".join(piece.text for piece in pieces) == text
    for piece in pieces:
        if piece.author is Author.TEMPLATE:
            assert not any(string in piece.text for string in CONTROLS.strings)


def test_no_control_strings_at_all_is_fine() -> None:
    """A vocabulary without added tokens has nothing to hide."""
    assert Placeholders(Controls(frozenset())).hide("<|im_end|> <") == "<|im_end|> <"
