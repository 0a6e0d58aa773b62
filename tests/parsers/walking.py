r"""Random walks in tests: over one token for each character, or over the vocabulary of a real model.

walker = walker_of_characters()
walker.walk(walker.compile(tag), random.Random(0), words=["<tool_call>"])    # "Hm<tool_call>\n{…", or None
"""

from functools import cache
from typing import Any

import xgrammar as xgr

from server.doctor.walk import Walker

CHARACTERS = [bytes([byte]) for byte in range(128)] + [char.encode() for char in "é世🚀｜▁"] + [b"<eos>"]
"""One token for each ASCII character, a few for others, and an end token."""


@cache
def walker_of_characters() -> Walker:
    """Over one token for each character, which walks the furthest in the least time."""
    return Walker.over(CHARACTERS, len(CHARACTERS) - 1)


def walker_of_tokenizer(tokenizer: Any) -> Walker:
    """Over the vocabulary of a model, as the engine knows it."""
    info = xgr.TokenizerInfo.from_huggingface(tokenizer)
    return Walker.over(info.decoded_vocab, tokenizer.eos_token_id, info)
