"""Vocabularies in which markers are special tokens, as they are in many models that cannot be shipped.

with_special_tokens(smollm2, "[TOOL_CALLS]", "[ARGS]").encode("[TOOL_CALLS]f")    # [49152, 106]
"""

from tokenizers import Tokenizer

from server.config.settings import default_cache
from server.startup.default_model import prepare
from server.tokens.vocabulary import Vocabulary


def with_special_tokens(base: Vocabulary, *texts: str, end: str | None = None) -> Vocabulary:
    """The default model's vocabulary with more special tokens; `end` ends an answer in place of its own."""
    directory = prepare(default_cache() / "models", lambda line: None)
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    tokenizer.add_special_tokens(list(texts))
    end_ids = base.end_ids if end is None else frozenset(tokenizer.encode(end).ids)
    return Vocabulary(tokenizer, end_ids=end_ids, special_tokens=base.special_tokens)
