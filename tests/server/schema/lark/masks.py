"""Masks of Lark grammars in JSON, over the bytes of text.

mask = mask_of('start: "a"')
allows(mask, "a")     # True
"""

import json
from typing import Any

import xgrammar

from parsers.spelling import JSON
from server.schema.automata.properties import UnicodeProperties
from server.schema.emit.emit import emit
from server.schema.lark.values import lark_values
from tests.parsers.walking import walker_of_characters


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
