"""What the path asks of a family's record beside its parser and mask.

marker_tokens(MISTRAL_V11, vocabulary)    # {5: "[TOOL_CALLS]", 31: "[ARGS]", 32: "[CALL_ID]"}
"""

from parsers.family import Family
from parsers.marker_tokens import spellings
from server.tokens.vocabulary import Vocabulary


def marker_tokens(family: Family, vocabulary: Vocabulary) -> dict[int, str]:
    """The control tokens that the family's record spells anywhere, by id. What ends an answer is none.

    Special tokens are no part of an answer's text, but a parser finds calls by just such tokens.
    """
    spelled = "\0".join(spellings(family))
    texts = {id: vocabulary.token_text(id) for id in vocabulary.control_ids - vocabulary.end_ids}
    return {id: text for id, text in sorted(texts.items()) if text in spelled}
