r"""The input of a custom tool out of its JSON, however the JSON is cut and escaped."""

import json

from hypothesis import given
from hypothesis import strategies as st

from server.api.text_input import InputReader

TEXTS = st.text(alphabet=st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from('"\\\n\t😀u{}')))


@given(TEXTS, st.booleans(), st.sampled_from(["", " ", "\n"]), st.data())
def test_any_text_is_read_from_any_pieces(
    text: str, ascii_only: bool, space: str, data: st.DataObject
) -> None:
    """Escapes and pairs of them may be cut anywhere; what the pieces gave is the text."""
    written = f'{{{space}"input"{space}:{space}{json.dumps(text, ensure_ascii=ascii_only)}{space}}}'
    cuts = sorted(data.draw(st.lists(st.integers(0, len(written)), max_size=8)))
    reader = InputReader()

    pieces = [reader.feed(written[start:end]) for start, end in zip([0, *cuts], [*cuts, None], strict=True)]

    assert "".join(pieces) == text == reader.text


@given(st.text(alphabet='\\u"dD83cCeE0n', max_size=24))
def test_half_a_pair_is_no_character(escapes: str) -> None:
    """A model may escape what is no text; what comes out can be sent on."""
    try:
        json.loads(f'"{escapes}"')
    except ValueError:
        return
    reader = InputReader()
    for character in f'{{"input": "{escapes}"}}':
        reader.feed(character)

    reader.text.encode()
    assert "\ud83d" not in reader.text


def test_a_cut_input_is_what_was_read_of_it() -> None:
    """The half escape at its end is not."""
    reader = InputReader()
    reader.feed('{"input": "SELECT \\u00')

    assert reader.text == "SELECT "


def test_arguments_without_an_input_stand_as_they_were_written() -> None:
    """Only what passed without a mask can be so."""
    reader = InputReader()

    assert reader.feed('{"sql": 5}') == ""
    assert reader.text == '{"sql": 5}'
