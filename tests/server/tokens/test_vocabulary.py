"""Text and token ids: nothing a client spells is a control token, and no cut of ids changes the text."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from server.config.settings import default_cache
from server.startup.default_model import NAME
from server.tokens.vocabulary import LONG_TEXT, Vocabulary, VocabularyError

FAMILY_EMOJI = "👩‍👩‍👧‍👦 naïve 日本"
SHARED_FIXTURES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def letters(*tokens: str) -> dict[str, int]:
    """Return a vocabulary of all byte tokens, then `tokens`."""
    return {token: i for i, token in enumerate([*(f"<0x{byte:02X}>" for byte in range(256)), *tokens])}


@pytest.fixture(name="sentencepiece")
def _sentencepiece() -> Vocabulary:
    """A vocabulary in SentencePiece's way: a space before the text, `▁` for spaces, bytes for the rest."""
    tokenizer = Tokenizer(
        models.BPE(vocab=letters("▁", "a", "b", "<", "e", ">"), merges=[], byte_fallback=True)
    )
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens([AddedToken("<e>", special=True, normalized=False)])
    return Vocabulary(tokenizer, end_ids=frozenset({262}))


def byte_level(vocab: dict[str, int], **model: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[], **model))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def test_a_control_string_is_one_token_for_a_template_and_text_for_a_client(smollm2: Vocabulary) -> None:
    """`encode` writes the control token, `encode_plain` the letters that spell it."""
    assert smollm2.encode("Hi<|im_end|>")[-1:] == [2]
    plain = smollm2.encode_plain("Hi<|im_end|>")
    assert not smollm2.special_ids & set(plain)
    assert smollm2.decode(plain) == "Hi<|im_end|>"


def test_ordinary_text_is_encoded_the_same_both_ways(smollm2: Vocabulary) -> None:
    """Where nothing is to keep apart, the model reads the tokens it was trained on."""
    text = f"def f(x):\n    return x  # {FAMILY_EMOJI}"

    assert smollm2.encode(text) == smollm2.encode_plain(text)


@SHARED_FIXTURES
@given(
    parts=st.lists(
        st.sampled_from(["<|im_end|>", "<|im_start|>", "<|im_", "end|>", "<file_sep>", "é👩", " a\n"])
    )
)
def test_plain_text_comes_back_without_any_control_token(smollm2: Vocabulary, parts: list[str]) -> None:
    """Whatever it spells, plain text has no control token and decodes to itself."""
    text = "".join(parts)
    ids = smollm2.encode_plain(text)

    assert smollm2.decode(ids) == text
    assert smollm2.special_ids.isdisjoint(ids)


def test_added_tokens_that_are_not_special_are_control_strings_too(qwen3: Vocabulary) -> None:
    """Qwen3's `<tool_call>` is not special, but means more than its letters: a client cannot write it."""
    tool_call = qwen3.encode("<tool_call>")

    assert len(tool_call) == 1
    assert tool_call[0] not in qwen3.special_ids
    assert {"<tool_call>", "</think>", "<|im_end|>"} <= qwen3.control_strings
    assert tool_call[0] not in qwen3.encode_plain("<tool_call>")
    assert qwen3.decode(qwen3.encode_plain("<tool_call>")) == "<tool_call>"


def test_spaces_and_single_letters_are_text_however_they_are_listed() -> None:
    """Added tokens for runs of spaces are what code is made of; they are not hidden from clients."""
    tokenizer = byte_level({letter: i for i, letter in enumerate(pre_tokenizers.ByteLevel.alphabet())})
    tokenizer.add_tokens([AddedToken("    "), AddedToken("→"), AddedToken("<x>")])

    assert Vocabulary(tokenizer).control_strings == {"<x>"}


def test_a_control_token_among_the_ordinary_ones_is_spelled_in_letters() -> None:
    """Where the ordinary vocabulary has the control token as a word, plain text avoids it."""
    alphabet = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "<x>"]
    tokenizer = byte_level({token: i for i, token in enumerate(alphabet)}, ignore_merges=True)
    tokenizer.add_special_tokens([AddedToken("<x>", special=True)])
    vocabulary = Vocabulary(tokenizer)

    assert vocabulary.encode("<x>") == [256]
    assert 256 not in vocabulary.encode_plain("<x>")
    assert vocabulary.decode(vocabulary.encode_plain("<x>")) == "<x>"


def test_text_that_is_normalized_to_a_control_string_is_not_one() -> None:
    """Full-width letters that NFKC turns into `<x>` stay text, though the tokenizer would match them."""
    tokenizer = byte_level(
        {letter: i for i, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    )
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.add_tokens([AddedToken("<x>", normalized=True)])
    assert tokenizer.encode("＜x＞").ids == [256]
    vocabulary = Vocabulary(tokenizer)

    assert 256 not in vocabulary.encode("＜x＞")
    assert vocabulary.encode("<x>") == [256]


def test_text_inside_a_prompt_gets_no_space_in_front(sentencepiece: Vocabulary) -> None:
    """SentencePiece puts a space before a text, which belongs there only once, at its beginning."""
    assert sentencepiece.decode(sentencepiece.encode("ab")) == " ab"
    assert sentencepiece.decode(sentencepiece.encode("ab", inside=True)) == "ab"
    assert sentencepiece.decode(sentencepiece.encode_plain("<e> b")) == "<e> b"
    assert 262 not in sentencepiece.encode_plain("<e>")


def test_text_after_a_control_token_is_the_same_inside_a_prompt(sentencepiece: Vocabulary) -> None:
    """From its first control token on, a part of a prompt has the tokens that it has in the whole."""
    assert sentencepiece.encode("a<e>b", inside=True) == sentencepiece.encode("a<e>b")[1:]


def test_metaspace_puts_no_space_inside_a_prompt_either() -> None:
    """The other way to put the space in front is a pre-tokenizer."""
    tokenizer = Tokenizer(models.BPE(vocab=letters("▁", "a", "b"), merges=[], byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace()
    vocabulary = Vocabulary(tokenizer)

    assert vocabulary.decode(vocabulary.encode("a b")) == " a b"
    assert vocabulary.decode(vocabulary.encode("a b", inside=True)) == "a b"


def test_a_token_outside_the_byte_alphabet_is_its_own_text() -> None:
    """Some byte-level vocabularies have a few tokens that are written as they read."""
    alphabet = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "｜"]
    vocabulary = Vocabulary(byte_level({token: i for i, token in enumerate(alphabet)}))

    assert vocabulary.token_text(256) == "｜"


def test_byte_tokens_are_bytes(sentencepiece: Vocabulary) -> None:
    """A letter that the vocabulary lacks is written as byte tokens, and read back from them."""
    ids = sentencepiece.encode_plain("é")

    assert [sentencepiece.token_bytes(id) for id in ids] == [b"\xc3", b"\xa9"]
    assert sentencepiece.token_text(ids[0]) == "\N{REPLACEMENT CHARACTER}"
    assert sentencepiece.decode(ids) == "é"


@pytest.mark.parametrize("name", ["smollm2", "qwen3"])
def test_any_emoji_is_whole_though_its_tokens_are_not(name: str, request: pytest.FixtureRequest) -> None:
    """A character of several tokens appears with the last of them; nothing is shown before."""
    vocabulary: Vocabulary = request.getfixturevalue(name)
    ids = vocabulary.encode("🫠")
    detokenizer = vocabulary.detokenizer()

    assert len(ids) > 1
    assert [detokenizer.step(id) for id in ids] == [""] * (len(ids) - 1) + ["🫠"]


@pytest.mark.parametrize("name", ["smollm2", "qwen3"])
def test_ids_one_by_one_give_the_text_of_all_at_once(name: str, request: pytest.FixtureRequest) -> None:
    """Whatever ids come, broken characters among them, they read as the tokenizer decodes them."""
    vocabulary: Vocabulary = request.getfixturevalue(name)

    @settings(deadline=None)
    @given(ids=st.lists(st.integers(0, vocabulary.size - 1), max_size=40))
    def check(ids: list[int]) -> None:
        detokenizer = vocabulary.detokenizer()
        text = "".join(map(detokenizer.step, ids)) + detokenizer.finish()

        assert text == vocabulary._tokenizer.decode(ids, skip_special_tokens=True)

    check()


def test_a_character_that_the_prompt_began_is_finished_by_the_answer(smollm2: Vocabulary) -> None:
    """The tail of the prompt is read before the answer, and its text is not shown again."""
    *begun, last = smollm2.encode("👩")

    assert smollm2.detokenizer(begun).step(last) == "👩"


def test_special_tokens_are_text_only_if_they_are_kept(smollm2: Vocabulary) -> None:
    """A family whose markers are special keeps them; all others disappear, the end of the turn among them."""
    assert smollm2.detokenizer().step(2) == ""
    assert smollm2.detokenizer(keep=frozenset({2})).step(2) == "<|im_end|>"


def test_a_character_cut_off_by_the_budget_is_shown_as_a_replacement(smollm2: Vocabulary) -> None:
    """The end of the answer releases what was held back."""
    detokenizer = smollm2.detokenizer()
    for id in smollm2.encode("👩")[:-1]:
        detokenizer.step(id)

    assert detokenizer.finish() == "\N{REPLACEMENT CHARACTER}"


def test_an_id_beyond_the_vocabulary_has_no_text(smollm2: Vocabulary) -> None:
    """Engines pad the vocabulary to a round size; such an id must not end a stream."""
    assert smollm2.token_bytes(smollm2.size + 5) == b""


@pytest.fixture(name="model_directory")
def _model_directory(smollm2: Vocabulary, tmp_path: Path) -> Path:
    """The default model's tokenizer alone, to be changed."""
    source = default_cache() / "models" / NAME
    for name in ("tokenizer.json", "tokenizer_config.json", "config.json"):
        shutil.copy(source / name, tmp_path)
    return tmp_path


def change(path: Path, edit: Callable[[dict[str, object]], None]) -> None:
    value = json.loads(path.read_text())
    edit(value)
    path.write_text(json.dumps(value))


def test_all_end_tokens_of_the_generation_config_end_an_answer(model_directory: Path) -> None:
    """Many models end a turn with another token than the tokenizer's own EOS, and list both there."""
    (model_directory / "generation_config.json").write_text('{"eos_token_id": [2, 0]}')

    assert Vocabulary.load(str(model_directory)).end_ids == {0, 2}


def test_without_a_generation_config_the_tokenizer_names_the_end(model_directory: Path) -> None:
    """A directory without generation_config.json is complete all the same."""
    assert Vocabulary.load(str(model_directory)).end_ids == {2}


def test_of_several_templates_the_one_for_tools_is_the_models(model_directory: Path) -> None:
    """Some models name their templates, and keep the one that shows tools beside the default."""
    named = [{"name": "default", "template": "plain"}, {"name": "tool_use", "template": "with tools"}]
    change(model_directory / "tokenizer_config.json", lambda config: config.update(chat_template=named))

    assert Vocabulary.load(str(model_directory)).chat_template == "with tools"


def test_a_model_with_one_template_has_that(model_directory: Path) -> None:
    """A template file without a name is the model's own."""
    assert str(Vocabulary.load(str(model_directory)).chat_template).startswith(
        "{% for message in messages %}"
    )


def test_a_tokenizer_without_a_fast_version_is_refused(tmp_path: Path) -> None:
    """Its Python code cannot be asked for plain text, and would be too slow."""
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "ByT5Tokenizer"}')

    with pytest.raises(VocabularyError, match="no fast version"):
        Vocabulary.load(str(tmp_path))


def test_special_tokens_are_known_by_their_role(smollm2: Vocabulary) -> None:
    """Templates write `bos_token` and `eos_token` by these names."""
    assert smollm2.special_tokens["eos_token"] == "<|im_end|>"
    assert smollm2.special_tokens["bos_token"] == "<|im_start|>"


def test_a_plain_tokenizer_file_is_told_what_ends_an_answer(model_directory: Path) -> None:
    """tokenizer.json does not say it, so the caller does, and a wrong name is an error rather than no end."""
    path = model_directory / "tokenizer.json"

    assert Vocabulary.from_file(path, end_tokens=("<|im_end|>",)).end_ids == {2}
    with pytest.raises(VocabularyError, match=r"has no token '<\|eot\|>'"):
        Vocabulary.from_file(path, end_tokens=("<|eot|>",))


def test_a_tokenizer_whose_tokens_are_no_bytes_is_refused() -> None:
    """WordPiece loses spaces: its text cannot be put together exactly, and no chat model uses it."""
    tokenizer = Tokenizer(models.WordPiece(vocab={"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    tokenizer.decoder = decoders.WordPiece()

    with pytest.raises(VocabularyError, match="WordPiece"):
        Vocabulary(tokenizer)


def test_a_long_text_is_encoded_as_short_ones_are(smollm2: Vocabulary) -> None:
    """Long ones take another way, which lets other threads run; the ids are the same."""
    text = "All work and no play, 你好 <|im_end|>\n" * 400
    tokenizer = smollm2._tokenizer

    assert len(text) > LONG_TEXT
    assert smollm2.encode(text) == tokenizer.encode(text, add_special_tokens=False).ids
    assert smollm2.encode_plain(text) == smollm2._plain.encode(text, add_special_tokens=False).ids
    assert smollm2.decode(smollm2.encode_plain(text)) == text
