"""Numbers: the mask compares and divides as arithmetic does."""

import json
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.schema.automata.languages import Languages
from server.schema.automata.rules import (
    AtLeast,
    AtMost,
    MultipleOf,
    Not,
    NotWhole,
    NumberLimit,
    Rule,
    Whole,
)
from server.schema.nodes import Number
from server.schema.unmasked import Ledger

LANGUAGES = Languages()
BOUNDS = st.one_of(
    st.integers(-200, 200).map(Decimal),
    st.decimals(-30, 30, places=2),
    st.sampled_from(["0", "-0", "1e-7", "9007199254740993", "0.1", "1e300", "-1e300"]).map(Decimal),
)
DIVISORS = st.sampled_from(
    [
        Decimal(text)
        for text in ("1", "2", "7", "10", "60", "1000", "0.01", "0.25", "1.5", "1e-8", "120", "3e5")
    ]
)
LIMITS = st.one_of(
    st.builds(AtLeast, BOUNDS, st.booleans()),
    st.builds(AtMost, BOUNDS, st.booleans()),
    st.builds(MultipleOf, DIVISORS),
    st.lists(BOUNDS, max_size=2).map(lambda numbers: Not(tuple(numbers))),
    st.just(Whole()),
    st.just(NotWhole()),
)
TEXTS = st.one_of(
    st.from_regex(r"\A-?(0|[1-9][0-9]{0,4})(\.[0-9]{1,4})?\Z"),
    # No more digits than any number may have.
    BOUNDS.map(lambda bound: format(bound, "f")[:17]).filter(lambda text: text[-1] != "."),
    st.builds(lambda number, divisor: format(number * divisor, "f"), st.integers(-99, 99), DIVISORS),
)


def numbers(limits: Sequence[NumberLimit], *, integer: bool = False) -> tuple[Number | None, list[str]]:
    ledger = Ledger()
    number = LANGUAGES.number([Rule("#", "limit", limit) for limit in limits], ledger, integer=integer)
    return number, [entry.why for entry in ledger.entries()]


def keeps(text: str, limit: NumberLimit) -> bool:
    """What arithmetic says."""
    value = Fraction(text)
    match limit:
        case AtLeast(bound, exclusive):
            return value > Fraction(bound) if exclusive else value >= Fraction(bound)
        case AtMost(bound, exclusive):
            return value < Fraction(bound) if exclusive else value <= Fraction(bound)
        case MultipleOf(divisor):
            return (value / Fraction(divisor)).denominator == 1
        case Not(excluded):
            return value not in map(Fraction, excluded)
        case Whole():
            return "." not in text
        case NotWhole():
            return value.denominator != 1


@settings(max_examples=200, deadline=None)
@given(st.lists(LIMITS, min_size=1, max_size=3), st.lists(TEXTS, min_size=1, max_size=10))
def test_numbers_are_held_as_arithmetic_has_them(limits: list[NumberLimit], texts: list[str]) -> None:
    """Where nothing is noted, what the mask allows is what keeps all limits; else it is more."""
    number, notes = numbers(limits)

    for text in texts:
        allowed = number is not None and (
            number.text.accepts(text) if number.text else "." not in text or not number.integer
        )
        kept = all(keeps(text, limit) for limit in limits)
        assert allowed or not kept
        assert kept or not allowed or notes


@pytest.mark.parametrize("text", ["01", "-01", "+1", ".5", "1.", "1e2", "--1", "", "-", "1.2.3", "٣", "0x1"])
def test_only_plain_decimal_notation_can_be_written(text: str) -> None:
    """What is not JSON, or has an exponent, is no number of a mask with bounds."""
    number, _ = numbers([AtLeast(Decimal(-1_000))])

    assert number is not None
    assert number.text is not None
    assert not number.text.accepts(text)


def test_zero_has_a_sign_if_it_is_written_with_one() -> None:
    """`-0` is 0: it is at least 0, at most 0, and a multiple of anything."""
    number, notes = numbers([AtLeast(Decimal(0)), AtMost(Decimal("-0")), MultipleOf(Decimal(7))])

    assert notes == []
    assert number is not None
    assert number.text is not None
    assert [text for text in ("0", "-0", "0.00", "-0.0", "1", "-7") if number.text.accepts(text)] == [
        "0", "-0", "0.00", "-0.0",
    ]  # fmt: skip


def test_an_integer_has_no_fraction() -> None:
    """Not even `.0`, which JSON Schema would allow."""
    number, _ = numbers([AtMost(Decimal(5))], integer=True)

    assert number is not None
    assert number.integer
    assert number.text is not None
    assert [text for text in ("5", "-12", "5.0", "4.5") if number.text.accepts(text)] == ["5", "-12"]


@pytest.mark.parametrize(
    "limits", [[], [MultipleOf(Decimal(1))], [MultipleOf(Decimal(12_345_678_901))]], ids=str
)
def test_without_limits_that_are_held_the_spelling_is_left_open(limits: list[NumberLimit]) -> None:
    """Exponents are for those who have no bounds to keep."""
    assert numbers(limits, integer=True)[0] == Number(integer=True, text=None)


@pytest.mark.parametrize(
    "limits",
    [
        [AtLeast(Decimal(5)), AtMost(Decimal(4))],
        [AtLeast(Decimal(5)), AtMost(Decimal(5), exclusive=True)],
        [Whole(), NotWhole()],
        [AtLeast(Decimal(1)), AtMost(Decimal(6)), MultipleOf(Decimal(7))],
    ],
    ids=str,
)
def test_limits_that_contradict_each_other_leave_no_number(limits: list[NumberLimit]) -> None:
    """An empty language is told, not emitted."""
    assert numbers(limits) == (None, [])


@pytest.mark.parametrize(
    ("limit", "keyword", "bound"),
    [
        (AtMost(Decimal("0.3"), exclusive=True), "exclusiveMaximum", 0.3),
        (AtLeast(Decimal("0.3"), exclusive=True), "exclusiveMinimum", 0.3),
        (AtMost(Decimal("0.3")), "maximum", 0.3),
        (MultipleOf(Decimal("0.3")), "multipleOf", 0.3),
        (AtMost(Decimal(10**12), exclusive=True), "exclusiveMaximum", 10**12),
    ],
    ids=str,
)
def test_rounding_to_a_double_does_not_cross_a_bound(limit: NumberLimit, keyword: str, bound: float) -> None:
    """A number so close to a bound that a double cannot tell them apart is not written on its wrong side."""
    number, notes = numbers([limit])
    tails = [f"{digit * count}{end}" for digit in "0239" for count in range(20) for end in "0139"]
    close = [f"{whole}.{tail}" for whole in ("0", "999999999999") for tail in tails]
    close += [f"0.3{'0' * count}1" for count in range(20)]
    close += [f"0.2{'9' * count}" for count in range(20)]
    is_valid = jsonschema_rs.validator_for({keyword: bound}).is_valid

    assert notes == []
    assert number is not None
    assert number.text is not None
    written = [text for text in close if number.text.accepts(text)]
    assert written
    assert [text for text in written if not is_valid(json.loads(text))] == []


def test_a_run_of_digits_ends() -> None:
    """A double holds every number of a mask, so that no reader makes an infinity of it."""
    number, _ = numbers([AtLeast(Decimal(0))])

    assert number is not None
    assert number.text is not None
    assert number.text.accepts("9" * 40)
    assert not number.text.accepts("9" * 41)


def test_numbers_have_room_for_the_digits_of_their_bounds() -> None:
    """A bound of 301 digits has numbers above it, and a tiny one has numbers beside it."""
    large, _ = numbers([AtLeast(Decimal("1e300"))])
    tiny, _ = numbers([AtLeast(Decimal("1e-20"), exclusive=True), AtMost(Decimal("2e-20"), exclusive=True)])

    assert large is not None
    assert large.text is not None
    assert large.text.accepts("1" + "0" * 300)
    assert not large.text.accepts("9" * 300)
    assert tiny is not None
    assert tiny.text is not None
    assert tiny.text.accepts("0." + "0" * 19 + "15")


def test_bounds_beyond_any_double_are_noted() -> None:
    """Nobody writes 400 digits, and no mask counts them."""
    number, notes = numbers([AtMost(Decimal("1e400")), AtLeast(Decimal(3))])

    assert notes == ["the mask would be too large with it"]
    assert number is not None
    assert number.text is not None
    assert not number.text.accepts("2")
