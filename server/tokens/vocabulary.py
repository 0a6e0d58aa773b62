"""The model's vocabulary: text to ids and back, with control tokens kept apart from text that spells them.

    vocabulary.encode("Hi<|im_end|>")          # [19556, 2]: the token that ends the turn
    vocabulary.encode_plain("Hi<|im_end|>")    # [19556, 47, 108, 306, 79, 486, 108, 46]: only text
    detokenizer = vocabulary.detokenizer(prompt_ids[-16:])
    detokenizer.step(19556)                    # "Hi"

Only fast tokenizers are read. Their Rust part is called directly: the Python around it costs more than it.
"""

import codecs
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

SPECIAL_ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
"""The names by which chat templates may ask for a special token's text."""


LONG_TEXT = 4096
"""Characters that take milliseconds to encode."""


class VocabularyError(ValueError):
    """The tokenizer cannot be used; the message says why."""


class Vocabulary:
    """A tokenizer, and what the server must know of it.

    `control_strings` are the texts of all added tokens, special or not, and `control_ids` their ids: written
    in a prompt, each text becomes one id with a meaning beyond its letters. `special_ids` are those that
    belong to no answer's text. `end_ids` end an answer. `special_tokens` are texts by role (`bos_token`).
    `chat_template` is the model's own. `longest` is the most characters that one token can stand for.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        end_ids: frozenset[int] = frozenset(),
        special_tokens: Mapping[str, str] | None = None,
        chat_template: str | None = None,
    ) -> None:
        self.end_ids = end_ids
        self.special_tokens = dict(special_tokens or {})
        self.chat_template = chat_template
        self.size = tokenizer.get_vocab_size(with_added_tokens=True)

        added = tokenizer.get_added_tokens_decoder()
        self._added = {id: token.content for id, token in added.items()}
        self.special_ids = frozenset(id for id, token in added.items() if token.special)
        # A run of spaces, or a single letter, is text however it is listed.
        control = {id: text for id, text in self._added.items() if len(text.strip()) > 1}
        self.control_strings = frozenset(control.values())

        self.control_ids = frozenset(control)
        longest_first = sorted(self.control_strings, key=len, reverse=True)
        self._control = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        description = json.loads(tokenizer.to_str())
        if description["normalizer"] and any(added[id].normalized for id in control):
            tokenizer = Tokenizer.from_str(json.dumps(_with_exact_control(description, self.control_ids)))
        self._tokenizer = tokenizer
        self._plain = Tokenizer.from_str(json.dumps(_without_control(description, self.control_ids)))
        self._puts_space_in_front = _puts_space_in_front(description)
        opening = tokenizer.encode("").ids
        begins = self.special_tokens.get("bos_token")
        self._opening = opening if opening and opening == [tokenizer.token_to_id(begins or "")] else []
        self._to_bytes = _byte_reader(description["decoder"])
        self._bytes: dict[int, bytes] = {}
        """What has been spelled before: nearly all that a model writes."""
        self.longest = max(map(len, tokenizer.get_vocab()), default=1)

    @classmethod
    def load(cls, name: str) -> "Vocabulary":
        """Load a model directory or a hub name. Raises `VocabularyError`, or `OSError` if it is not there."""
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(name)
        if not tokenizer.is_fast:
            raise VocabularyError(f"The tokenizer of {name} has no fast version (tokenizer.json).")
        end_ids = {tokenizer.eos_token_id} - {None} | _generation_end_ids(name)
        roles = {role: text for role in SPECIAL_ROLES if (text := getattr(tokenizer, role, None)) is not None}
        return cls(
            tokenizer.backend_tokenizer,
            end_ids=frozenset(end_ids),
            special_tokens={role: str(text) for role, text in roles.items()},
            chat_template=_one_template(tokenizer.chat_template),
        )

    @classmethod
    def from_file(cls, path: Path, *, end_tokens: Sequence[str] = ()) -> "Vocabulary":
        """Load a plain `tokenizer.json`, which does not say what ends an answer: `end_tokens` does."""
        tokenizer = Tokenizer.from_file(str(path))
        ids = {text: tokenizer.token_to_id(text) for text in end_tokens}
        if missing := [text for text, id in ids.items() if id is None]:
            raise VocabularyError(f"{path} has no token {missing[0]!r}.")
        return cls(tokenizer, end_ids=frozenset(id for id in ids.values() if id is not None))

    def encode(self, text: str, *, inside: bool = False) -> list[int]:
        """Encode what a template wrote: control strings become control tokens.

        `inside` says that more text goes before: no space is put in front, as some tokenizers do.
        """
        if inside and self._puts_space_in_front:
            found = self._control.search(text)
            start = found.start() if found else len(text)
            rest = self.encode(text[start:]) if found else []
            return self.encode_plain(text[:start]) + rest
        return _encoded(self._tokenizer, text)

    def encode_document(self, text: str) -> list[int]:
        """Encode a text from its beginning, behind the token that begins one where the model has such."""
        ids = self.encode(text)
        return ids if ids[:1] == self._opening else [*self._opening, *ids]

    def encode_plain(self, text: str) -> list[int]:
        """Encode what a client wrote: no control token comes out, whatever the text spells."""
        ids = _encoded(self._plain, text)
        if self.control_ids.isdisjoint(ids):
            return ids
        # Some vocabularies list a control token among the ordinary ones as well; no letter spells it alone.
        return [id for letter in text for id in self._plain.encode(letter, add_special_tokens=False).ids]

    def decode(self, token_ids: Sequence[int]) -> str:
        """Return the text of the ids, control tokens included."""
        return b"".join(map(self.token_bytes, token_ids)).decode(errors="replace")

    def token_bytes(self, token_id: int) -> bytes:
        """Return the UTF-8 bytes of one token, which may be a part of a character. Unused ids have none."""
        known = self._bytes.get(token_id)
        if known is not None:
            return known
        spelled = self._spell(token_id)
        if spelled:  # of ids that have none there is no end
            self._bytes[token_id] = spelled
        return spelled

    def _spell(self, token_id: int) -> bytes:
        if (text := self._added.get(token_id)) is not None:
            return text.encode()
        token = self._tokenizer.id_to_token(token_id)
        return b"" if token is None else self._to_bytes(token)

    def token_text(self, token_id: int) -> str:
        """Return the text of one token, with U+FFFD for the part of a character."""
        return self.token_bytes(token_id).decode(errors="replace")

    def detokenizer(
        self, prompt_tail: Sequence[int] = (), *, keep: frozenset[int] = frozenset()
    ) -> "Detokenizer":
        """Return a reader of the ids that follow `prompt_tail`. Special tokens in `keep` are text."""
        return Detokenizer(self, prompt_tail, self.special_ids - keep)


class Detokenizer:
    """Turns ids into text one by one. However they are cut, the text is that of all of them at once.

    It joins bytes, and so costs the same for every token; decoding the last few ids again and again, as
    streaming decoders do, costs more the longer a character stays incomplete.
    """

    def __init__(self, vocabulary: Vocabulary, prompt_tail: Sequence[int], hidden: frozenset[int]) -> None:
        self._vocabulary = vocabulary
        self._hidden = hidden
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for token_id in prompt_tail:
            self.step(token_id)

    def step(self, token_id: int) -> str:
        """Return the text that this id completes: "" inside a character, and for a hidden token."""
        if token_id in self._hidden:
            return ""
        return self._decoder.decode(self._vocabulary.token_bytes(token_id))

    def finish(self) -> str:
        """Return what stands for a character that was never completed: U+FFFD or nothing."""
        return self._decoder.decode(b"", final=True)


def _encoded(tokenizer: Tokenizer, text: str) -> list[int]:
    """The ids of a text. A long one is encoded as a batch: only that lets other threads run meanwhile."""
    if len(text) < LONG_TEXT:
        return list(tokenizer.encode(text, add_special_tokens=False).ids)
    [encoding] = tokenizer.encode_batch_fast([text], add_special_tokens=False)
    return list(encoding.ids)


def _generation_end_ids(name: str) -> set[int]:
    """Return the end ids of generation_config.json, which lists those the tokenizer does not name."""
    from transformers import GenerationConfig

    try:
        listed = GenerationConfig.from_pretrained(name).eos_token_id
    except OSError:
        return set()
    return set(listed) if isinstance(listed, list) else {listed} - {None}


def _one_template(template: str | Mapping[str, str] | None) -> str | None:
    """Choose among several named templates: that for tools, else the default one."""
    if isinstance(template, Mapping):
        return template.get("tool_use") or template.get("default")
    return template


def _with_exact_control(description: Mapping[str, Any], control_ids: frozenset[int]) -> dict[str, Any]:
    """Return the tokenizer's description with control tokens that only their exact text spells.

    Else text that is normalized to it, such as one in full-width letters, would become the control token.
    """
    added_tokens = [
        {**token, "normalized": token["normalized"] and token["id"] not in control_ids}
        for token in description["added_tokens"]
    ]
    return {**description, "added_tokens": added_tokens}


def _without_control(description: Mapping[str, Any], control_ids: frozenset[int]) -> dict[str, Any]:
    """Return the tokenizer's description without its control tokens, and without spaces put in front."""
    ordinary = description["model"]["vocab"]
    ordinary = ordinary if isinstance(ordinary, dict) else {}
    plain = {
        **description,
        "added_tokens": [
            token
            for token in description["added_tokens"]
            # One that is not in the ordinary vocabulary would be given another id.
            if token["id"] not in control_ids and ordinary.get(token["content"]) == token["id"]
        ],
        "post_processor": None,
    }
    for part in ("normalizer", "pre_tokenizer"):
        plain[part] = _without_prefix(description[part])
    return plain


def _without_prefix(part: Any) -> Any:
    """Return a normalizer or pre-tokenizer that puts no space in front of the text."""
    if part is None or part["type"] == "Prepend":
        return None
    if "prepend_scheme" in part:
        return {**part, "prepend_scheme": "never"}
    if "add_prefix_space" in part:
        return {**part, "add_prefix_space": False}
    for steps in ("normalizers", "pretokenizers"):
        if steps in part:
            kept = [step for step in map(_without_prefix, part[steps]) if step is not None]
            return {**part, steps: kept}
    return part


def _puts_space_in_front(description: Mapping[str, Any]) -> bool:
    parts = (description["normalizer"], description["pre_tokenizer"])
    return any(_without_prefix(part) != part for part in parts)


def _byte_reader(decoder: Any) -> Callable[[str], bytes]:
    """Return the function from an ordinary token's text to its bytes, for this kind of decoder."""
    steps = decoder.get("decoders", [decoder]) if decoder else []
    kinds = {step["type"] for step in steps}
    if "ByteLevel" in kinds:
        return _byte_level
    if kinds & {"ByteFallback", "Metaspace", "Replace"}:
        return _byte_fallback
    raise VocabularyError(f"Tokenizers with the decoder {sorted(kinds) or None} are not supported.")


def _letters_of_bytes() -> dict[str, int]:
    """Return GPT-2's alphabet: a printable character for each byte, so that a vocabulary can be JSON."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(0x100) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(rest)}


BYTE_OF_LETTER = _letters_of_bytes()


def _byte_level(token: str) -> bytes:
    try:
        return bytes([BYTE_OF_LETTER[letter] for letter in token])
    except KeyError:
        return token.encode()


def _byte_fallback(token: str) -> bytes:
    if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
        return bytes.fromhex(token[3:5])
    return token.replace("▁", " ").encode()


def loading_fault(error: Exception) -> str:
    """What the library's long message says is the matter: its first line, where that is no list's head."""
    reason = str(error).strip().partition("\n")[0].strip()
    return "there is no tokenizer in it, such as a tokenizer.json" if reason.endswith(":") else reason
