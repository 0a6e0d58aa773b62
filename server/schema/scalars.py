"""Strings and numbers: the tightest node that XGrammar holds, and a note of what it does not.

`{"minLength": 2, "pattern": "^[a-z]*$"}` becomes the pattern alone, with a note on `minLength`.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from server.schema.formats import FORMATS
from server.schema.fragments import MAX_COUNTED, Fragments
from server.schema.members import Atom, largest, smallest, stated
from server.schema.regex import Translation, UntranslatableError, translate
from server.schema.unmasked import Ledger

Masked = dict[str, Any] | None
"""A schema that XGrammar holds exactly; None allows nothing."""

MAX_BOUND = 2**63 - 1
MAX_DIGITS = 15
"""Significant digits of a bound that is not an integer."""
MAX_MULTIPLE = 1024
MAX_LISTED = 500
"""Multiples between two bounds that are listed one by one."""


def string(atoms: Sequence[Atom], fragments: Fragments, ledger: Ledger) -> Masked:
    least, most = largest(atoms, "minLength"), smallest(atoms, "maxLength")
    if most is not None and least > most:
        return None
    chosen = _choose(atoms, ledger)
    if chosen is not None:
        if chosen.shortest < least:
            _note(atoms, "minLength", "the mask holds the pattern, and does not count", ledger)
        if most is not None and (chosen.longest is None or chosen.longest > most):
            _note(atoms, "maxLength", "the mask holds the pattern, and does not count", ledger)
        return fragments.value(f'"\\"" {chosen.ebnf} "\\""')
    if most is not None and most > MAX_COUNTED:
        _note(atoms, "maxLength", f"the mask counts up to {MAX_COUNTED} characters", ledger)
        most = None
    if least > MAX_COUNTED:
        _note(atoms, "minLength", f"the mask counts up to {MAX_COUNTED} characters", ledger)
        least = MAX_COUNTED
    return {"type": "string"} if least == 0 and most is None else fragments.text(least, most)


def _choose(atoms: Sequence[Atom], ledger: Ledger) -> Translation | None:
    """Take the first pattern, or else the first format, that the mask can hold; note all others."""
    chosen = _choose_pattern(atoms, ledger)
    taken = None
    for pointer, name in stated(atoms, "format"):
        known = FORMATS.get(name)
        if known is None:
            ledger.note(pointer, "format", f"the mask does not know the format {name}")
        elif chosen is None:
            chosen, taken = translate(known.pattern), name
        elif name != taken:
            ledger.note(pointer, "format", "the mask holds a pattern or another format for the same string")
        if known is not None and not known.exact:
            ledger.note(pointer, "format", f"the mask holds only the outline of {name}")
    return chosen


def _choose_pattern(atoms: Sequence[Atom], ledger: Ledger) -> Translation | None:
    chosen, taken = None, None
    for pointer, pattern in stated(atoms, "pattern"):
        if pattern == taken:
            continue
        try:
            translation = translate(pattern)
        except UntranslatableError as error:
            ledger.note(pointer, "pattern", str(error))
            continue
        if chosen is not None:
            ledger.note(pointer, "pattern", "the mask holds another pattern for the same string")
            continue
        chosen, taken = translation, pattern
        if not translation.exact:
            ledger.note(pointer, "pattern", "the mask does not count a repeat of this length")
    return chosen


def _note(atoms: Sequence[Atom], keyword: str, why: str, ledger: Ledger) -> None:
    for pointer, _ in stated(atoms, keyword):
        ledger.note(pointer, keyword, why)


def number(atoms: Sequence[Atom], fragments: Fragments, ledger: Ledger, *, integer: bool) -> Masked:
    step = _step(atoms, ledger, integer=integer)
    if integer or step is not None:
        return _whole(atoms, step or 1, fragments, ledger)
    node: dict[str, Any] = {"type": "number"}
    low, high = _bound(atoms, "minimum", max, ledger), _bound(atoms, "maximum", min, ledger)
    if low is not None and high is not None:
        if low[0] > high[0] or (low[0] == high[0] and "exclusive" in low[1] + high[1]):
            return None
        if low[0] == high[0]:
            return fragments.literals([low[0]])
    return node | {keyword: value for value, keyword in filter(None, (low, high))}


def _bound(
    atoms: Sequence[Atom], keyword: str, pick: Callable[[Iterable[Any]], Any], ledger: Ledger
) -> tuple[Any, str] | None:
    """The tightest bound that the mask holds, and whether its keyword is the exclusive one."""
    bounds: list[tuple[Any, str]] = []
    for name in ("exclusive" + keyword.capitalize(), keyword):
        for pointer, value in stated(atoms, name):
            if _is_short(value):
                bounds.append((value, name))
            else:
                ledger.note(pointer, name, f"the mask holds bounds of up to {MAX_DIGITS} digits")
    if not bounds:
        return None
    extreme = pick(value for value, _ in bounds)
    return next(bound for bound in bounds if bound[0] == extreme)


def _is_short(value: Any) -> bool:
    number = Decimal(str(value)).normalize()
    exponent = number.as_tuple().exponent
    return len(number.as_tuple().digits) <= MAX_DIGITS and abs(number) < 10**15 and int(exponent) >= -6


def _step(atoms: Sequence[Atom], ledger: Ledger, *, integer: bool) -> int | None:
    """The whole number that every value is a multiple of; None if none is known."""
    step: int | None = None
    for pointer, value in stated(atoms, "multipleOf"):
        part = Fraction(Decimal(str(value)))
        if part.denominator != 1 and not integer:
            ledger.note(pointer, "multipleOf", "the mask holds multiples of whole numbers only")
            continue
        step = math.lcm(step or 1, part.numerator)
    return step


def _whole(atoms: Sequence[Atom], step: int, fragments: Fragments, ledger: Ledger) -> Masked:
    low, high = _whole_bound(atoms, "minimum"), _whole_bound(atoms, "maximum")
    if low is not None and high is not None:
        first, last = -(-low // step) * step, high // step * step
        if first > last:
            return None
        if (last - first) // step < (MAX_LISTED if step > 1 else 1):
            return fragments.literals(list(range(first, last + 1, step)))
    node: dict[str, Any] = {"type": "integer"}
    for keyword, bound in (("minimum", low), ("maximum", high)):
        if bound is None:
            continue
        if abs(bound) <= MAX_BOUND:
            node[keyword] = bound
        else:
            for name in (keyword, "exclusive" + keyword.capitalize()):
                _note(atoms, name, "the mask holds bounds of up to 64 bits", ledger)
    if step > 1 and step <= MAX_MULTIPLE and len(node) == 1:
        node["multipleOf"] = step
    elif step > 1:
        _note(atoms, "multipleOf", "the mask holds multiples up to 1,024, without bounds", ledger)
    return node


def _whole_bound(atoms: Sequence[Atom], keyword: str) -> int | None:
    sign = 1 if keyword == "minimum" else -1
    bounds = [math.ceil(Fraction(str(v)) * sign) for _, v in stated(atoms, keyword)]
    exclusive = "exclusive" + keyword.capitalize()
    bounds += [math.floor(Fraction(str(v)) * sign) + 1 for _, v in stated(atoms, exclusive)]
    return max(bounds) * sign if bounds else None
