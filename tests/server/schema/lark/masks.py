"""Masks of Lark grammars in JSON, over the characters of text.

mask = mask_of('start: "a"')
allows(mask, "a")                    # True
some_text(mask, random.Random(0))    # "a"
"""

import json
import random
from typing import Any

import numpy as np
import xgrammar

from parsers.spelling import JSON
from server.schema.automata.properties import UnicodeProperties
from server.schema.emit.emit import emit
from server.schema.lark.values import lark_values
from tests.parsers.walking import CHARACTERS, walker_of_characters

BEGIN, END = '{"input": "', '"}'
LONGEST = 12
"""Characters of a text: some grammars have many parses of it, which takes ever longer."""


def mask_of(definition: str) -> Any:
    grammar = emit(lark_values(definition, UnicodeProperties()), JSON)
    tag = {"type": "structural_tag", "format": {"type": "grammar", "grammar": grammar}}
    return walker_of_characters().compile(json.dumps(tag))


def allows(mask: Any, text: str) -> bool:
    """Whether the arguments of a call may have this text."""
    matcher = xgrammar.GrammarMatcher(mask)
    return bool(matcher.accept_string(json.dumps({"input": text}, ensure_ascii=False))) and bool(
        matcher.is_completed()
    )


def some_text(mask: Any, rng: random.Random) -> str | None:
    """A random text that the mask allows, or None if that does not end in time."""
    matcher = xgrammar.GrammarMatcher(mask)
    bitmask = xgrammar.allocate_token_bitmask(1, len(CHARACTERS))
    matcher.accept_string(BEGIN)
    written = ""
    while len(written) < LONGEST:
        if rng.random() < 0.3 and matcher.accept_string(END):
            # Behind a backslash the quote was one of the text.
            return str(json.loads(BEGIN + written + END)["input"]) if matcher.is_completed() else None
        matcher.fill_next_token_bitmask(bitmask)
        bits = np.unpackbits(bitmask.numpy()[0].view(np.uint8), bitorder="little")
        choices = [character for character in "abcxABX()</#z- \\n" if bits[ord(character)]]
        if not choices:
            return None
        character = rng.choice(choices)
        matcher.accept_string(character)
        written += character
    return None
