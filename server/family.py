"""What the path asks of a family's record beside its parser and mask.

marker_tokens(MISTRAL_V11, vocabulary)    # {5: "[TOOL_CALLS]", 31: "[ARGS]", 32: "[CALL_ID]"}
holds_format(QWEN3_CODER.call.style)   # False: its arguments stand in tags, for which it makes its own mask
"""

import xgrammar

from parsers.arguments.style import ArgumentStyle, CallableTool
from parsers.family import Family
from parsers.marker_tokens import spellings
from server.errors import ApiError, Code
from server.forms import compact_tag, reason_of
from server.schema.inner import planned
from server.schema.plan import SchemaPlanner
from server.vocabulary import Vocabulary


def marker_tokens(family: Family, vocabulary: Vocabulary) -> dict[int, str]:
    """The control tokens that the family's record spells anywhere, by id. What ends an answer is none.

    Special tokens are no part of an answer's text, but a parser finds calls by just such tokens.
    """
    spelled = "\0".join(spellings(family))
    texts = {id: vocabulary.token_text(id) for id in vocabulary.control_ids - vocabulary.end_ids}
    return {id: text for id, text in sorted(texts.items()) if text in spelled}


def holds_format(style: ArgumentStyle) -> bool:
    """Whether the style's mask holds arguments to the format it is given, not to one of its own making."""
    one, other = ({"type": "const_string", "value": value} for value in ("one", "other"))
    return style.frame(CallableTool("f", one)) != style.frame(CallableTool("f", other))


def check_arguments(style: ArgumentStyle, tool: CallableTool, planner: SchemaPlanner, *, param: str) -> None:
    """Refuse a schema of which the style makes a mask that cannot be built. Raises `ApiError` (400)."""
    try:
        xgrammar.Grammar.from_structural_tag(compact_tag(planned(style.frame(tool).content, planner)))
    except (RuntimeError, ValueError) as error:
        message = (
            f"Invalid schema for function '{tool.name}': this model's form of calls cannot be held to it "
            f"({reason_of(error)}). Write it in other words, or leave out 'strict'."
        )
        raise ApiError(Code.INVALID_TOOLS, message, param) from error
