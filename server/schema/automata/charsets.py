"""Sets of characters, and what several of them tell apart.

union(DIGIT, ((0x61, 0x7A),))      # ((48, 57), (97, 122))
classes_of([DIGIT, WORD])          # digits; letters and "_"; everything else
"""

from collections.abc import Iterable, Sequence

from server.schema.automata.automaton import ANY_CHARACTER, Charset

Classes = tuple[Charset, ...]
"""Charsets that are disjoint and make up all characters, ordered by their first character."""

DIGIT: Charset = ((0x30, 0x39),)
WORD: Charset = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
SPACE: Charset = (
    (0x09, 0x0D),
    (0x20, 0x20),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
)

_SURROGATES = (0xD800, 0xDFFF)
_LAST = 0x10FFFF
_BETWEEN_CASES = 0x20


def single(character: str) -> Charset:
    return ((ord(character), ord(character)),)


def size_of(charset: Charset) -> int:
    """How many characters a charset has."""
    return sum(last - first + 1 for first, last in charset)


def union(*charsets: Charset) -> Charset:
    merged: list[tuple[int, int]] = []
    for first, last in sorted(span for charset in charsets for span in charset):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def invert(charset: Charset) -> Charset:
    """All characters that are not in the charset."""
    gaps, start = [], 0
    for first, last in union(charset, (_SURROGATES,)):
        if first > start:
            gaps.append((start, first - 1))
        start = last + 1
    return (*gaps, (start, _LAST)) if start <= _LAST else tuple(gaps)


def with_cases(charset: Charset) -> Charset:
    """The characters, and each letter of ASCII among them in its other case as well."""
    lower, upper = ((0x61, 0x7A),), ((0x41, 0x5A),)
    return union(charset, _moved(charset, lower, -_BETWEEN_CASES), _moved(charset, upper, _BETWEEN_CASES))


def _moved(charset: Charset, within: Charset, by: int) -> Charset:
    return tuple((first + by, last + by) for first, last in common(charset, within))


def common(one: Charset, other: Charset) -> Charset:
    """The characters that are in both sets."""
    found, at = [], 0
    for first, last in one:
        while at < len(other) and other[at][1] < first:
            at += 1
        for low, high in other[at:]:
            if low > last:
                break
            found.append((max(first, low), min(last, high)))
    return tuple(found)


def classes_of(charsets: Iterable[Charset]) -> Classes:
    """The coarsest classes of which every charset is a union."""
    partitions = [(charset, invert(charset)) for charset in dict.fromkeys(charsets) if charset]
    return refine([tuple(filter(None, partition)) for partition in partitions])[0]


def members(charset: Charset, classes: Classes) -> list[int]:
    """The places of the classes that the charset is the union of."""
    inside = set()
    starts = {part[0][0]: place for place, part in enumerate(classes)}
    for first, last in charset:
        inside |= {place for start, place in starts.items() if first <= start <= last}
    return sorted(inside)


def refine(partitions: Sequence[Classes]) -> tuple[Classes, list[tuple[int, ...]]]:
    """The classes that all partitions together tell apart, and for each of them its place in each partition.

    refine([(DIGIT, rest)])     # ((DIGIT, rest), [(0,), (1,)]), in the order of the first characters
    """
    places = [-1] * len(partitions)
    changes: dict[int, list[tuple[int, int]]] = {first: [] for first, _ in ANY_CHARACTER}
    for which, partition in enumerate(partitions):
        for place, charset in enumerate(partition):
            for first, _ in charset:
                changes.setdefault(first, []).append((which, place))
    cuts = sorted(changes)
    spans: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for cut, following in zip(cuts, [*cuts[1:], _LAST + 1], strict=True):
        for which, place in changes[cut]:
            places[which] = place
        # No set has surrogates, so none begins among them.
        last = _SURROGATES[0] - 1 if following == _SURROGATES[1] + 1 else following - 1
        spans.setdefault(tuple(places), []).append((cut, last))
    return tuple(union(tuple(ranges)) for ranges in spans.values()), list(spans)
