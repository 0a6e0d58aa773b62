"""What the path needs of a family's record beside its parser and mask: which control tokens are its markers.

    marker_ids(MISTRAL_V11, vocabulary)    # the ids of [TOOL_CALLS], [ARGS] and [CALL_ID], where it has them

Control tokens are no part of an answer's text, but a parser finds calls by just such tokens.
"""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import lru_cache

from parsers.family import Family
from server.vocabulary import Vocabulary


@lru_cache(maxsize=16)
def marker_ids(family: Family, vocabulary: Vocabulary) -> frozenset[int]:
    """The ids of the special tokens that the family's record spells anywhere. What ends an answer is none."""
    spelled = "\0".join(spellings(family))
    special = vocabulary.special_ids - vocabulary.end_ids
    return frozenset(id for id in special if vocabulary.token_text(id) in spelled)


def spellings(record: object) -> Iterator[str]:
    """Every string of a record and of the records in it."""
    if isinstance(record, str):
        yield record
    elif isinstance(record, tuple):
        for member in record:
            yield from spellings(member)
    elif is_dataclass(record):
        for field in fields(record):
            yield from spellings(getattr(record, field.name))
