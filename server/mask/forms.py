"""The forms of an answer that a client writes itself: read and compiled before the engine sees them.

checked_form(Matching("[a-z]+"))       # {"type": "regex", "pattern": "[a-z]+"}
checked_form(Matching("(a"))           # ApiError: Invalid 'structured_outputs.regex': … not closed
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import xgrammar

from parsers.grammar import Format
from server.errors import ApiError, Code
from server.mask.dead_ends import has_dead_end
from server.request import Grammar, Matching, OneOf, Tagged

BYTES = [bytes([byte]) for byte in range(256)] + [b"<end>"]
"""A vocabulary that can spell any text, and compiles at once."""
END_OF_BYTES = 256

MAX_FORM_LENGTH = 32_768
"""Characters of a form as JSON. The engine compiles one grammar at a time, for everybody, and cannot be
told to stop: a literal of this length takes it a fraction of a second, one of a megabyte took minutes."""

MAX_FORM_DEPTH = 64
"""Levels of arrays and objects in a structural tag; vLLM takes no more."""

ORIGIN = re.compile(r"^\[[0-9:]+\] \S+:\d+: ")
"""The time and the place in XGrammar's own source that its messages begin with."""

Form = OneOf | Matching | Grammar | Tagged


def checked_form(form: Form) -> Format:
    """Return the form as a structural tag format. Raises `ApiError` (400) that names the field at fault."""
    param, tag = form_tag(form)
    answer_format = _format(form)[1]
    try:
        dead = has_dead_end(xgrammar.Grammar.from_structural_tag(tag))
        possible = _can_begin(tag)
    except (RuntimeError, ValueError) as error:
        raise ApiError(Code.INVALID_VALUE, f"Invalid '{param}': {reason_of(error)}", param) from error
    if not possible:
        raise ApiError(Code.INVALID_VALUE, f"Invalid '{param}': no answer can match it.", param)
    if dead:
        message = (
            f"Invalid '{param}': an answer could begin in a way that nothing may follow. Leave out the parts "
            "that no text can match."
        )
        raise ApiError(Code.INVALID_VALUE, message, param)
    return answer_format


def reason_of(error: Exception) -> str:
    """What XGrammar says is wrong, in its own words."""
    return ORIGIN.sub("", str(error).strip().partition("\n")[0])[:300]


def compact_tag(answer_format: Format) -> str:
    """The structural tag of a format, as the engine takes it."""
    tag: Mapping[str, Any] = {"type": "structural_tag", "format": answer_format}
    return json.dumps(tag, ensure_ascii=False, separators=(",", ":"))


def form_tag(form: Form) -> tuple[str, str]:
    """The field that a form stands in, and its structural tag. Raises `ApiError` if it is too large."""
    param, answer_format = _format(form)
    tag = compact_tag(answer_format)
    if len(tag) > MAX_FORM_LENGTH:
        message = f"Invalid '{param}': it is too long. At most {MAX_FORM_LENGTH} characters can be a mask."
        raise ApiError(Code.STRING_TOO_LONG, message, param)
    if _is_deep(answer_format):
        message = (
            f"Invalid '{param}': it is nested too deeply. At most {MAX_FORM_DEPTH} levels can be a mask."
        )
        raise ApiError(Code.INVALID_VALUE, message, param)
    return param, tag


def _format(form: Form) -> tuple[str, Format]:
    match form:
        case OneOf(choices):
            texts = [{"type": "const_string", "value": choice} for choice in choices]
            return "structured_outputs.choice", {"type": "or", "elements": texts}
        case Matching(regex):
            return "structured_outputs.regex", {"type": "regex", "pattern": regex}
        case Grammar(ebnf):
            return "structured_outputs.grammar", {"type": "grammar", "grammar": ebnf}
        case Tagged(tag):
            return "structured_outputs.structural_tag", tag.get("format", tag)


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_FORM_DEPTH):
        inner = [one.values() if isinstance(one, Mapping) else one for one in level]
        level = [one for values in inner for one in values if isinstance(one, Mapping | list)]
    return bool(level)


def _can_begin(tag: str) -> bool:
    """Whether some first byte, or the end, passes the mask: where none does the engine fails."""
    compiler = xgrammar.GrammarCompiler(xgrammar.TokenizerInfo(BYTES, stop_token_ids=[END_OF_BYTES]))
    matcher = xgrammar.GrammarMatcher(compiler.compile_structural_tag(tag))
    mask = xgrammar.allocate_token_bitmask(1, len(BYTES))
    matcher.fill_next_token_bitmask(mask)
    return bool(mask.any())
