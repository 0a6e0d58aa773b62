"""Formats: what the mask allows is of the format, and it leaves out next to nothing that is."""

from collections.abc import Callable

import jsonschema_rs
import pytest

from server.schema.automata.automaton import Automaton
from server.schema.automata.languages import Languages
from server.schema.automata.rules import HasFormat, Rule
from server.schema.formats import CHECKED, FORMATS
from server.schema.unmasked import Ledger

LANGUAGES = Languages()
SAMPLES = {
    "date": ["2020-02-29", "0000-01-01", "9999-12-31", "2000-02-29"],
    "time": ["12:00:00Z", "12:00:00.1234567890z", "23:59:60Z", "23:59:60+00:00", "12:00:00-23:59"],
    "date-time": ["2020-01-01T12:00:00Z", "2020-01-01t12:00:00z", "1998-12-31T23:59:60Z"],
    "duration": ["P1Y", "P1W", "P0D", "PT1M", "P1Y2M3DT4H5M6S"],
    "uuid": ["2EB8AA08-aa98-11ea-b4aa-73b441d16380"],
    "ipv4": ["1.2.3.4", "0.0.0.0", "255.255.255.255"],
    "ipv6": ["::", "::1", "1::", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "::1.2.3.4",
             "1::1.2.3.4", "1:2:3:4:5:6:1.2.3.4", "64:ff9b::1.2.3.4", "1:2:3:4::1.2.3.4"],
    "hostname": ["a", "a.b", "a--b", "1.2.3.4", "A-B.C", "a" * 63],
    "email": ["a@b", "a.b@c.d", '"a b"@c.d', '"a\\"b"@c.d', "a@[127.0.0.1]", "a@[IPv6:::1]",
              "!#$%&'*+/=?^_`{|}~-@b.c"],
    "uri": ["a:", "http://", "http://[::1]:80/?a#b", "http://[v1.a]", "http://u:p@a:80/%20", "mailto:a@b.c",
            "urn:isbn:1", "file:///a", "a:/b", "a:?b", "http://a//b", "http://!$&'()*+,;=/"],
    "uri-reference": ["", "a", "/a", "//a", "?b", "#c", "a:b", "a/b:c", "//[::1]", "http://a/b?c#d"],
    "iri": ["http://é/ü?ß#ö", "a:b"],
    "iri-reference": ["", "é", "//ü/"],
    "json-pointer": ["", "/a", "/~0~1", "//"],
    "relative-json-pointer": ["0", "1/a", "0#", "10/a~0"],
}  # fmt: skip


def check(name: str) -> Callable[[str], bool]:
    return jsonschema_rs.validator_for({"format": name}, validate_formats=True).is_valid


def language(name: str) -> Automaton:
    automaton = LANGUAGES.text([Rule("#", "format", HasFormat(name))], Ledger())
    assert automaton is not None
    return automaton


@pytest.mark.parametrize("name", [name for name, known in FORMATS.items() if known.exact])
def test_an_exact_format_allows_nothing_that_the_check_refuses(
    name: str, draw: Callable[[Automaton, int], list[str]]
) -> None:
    """Where nothing is noted, nothing is wrong."""
    drawn = draw(language(name), 1_000)

    assert len(drawn) > 100
    assert [text for text in drawn if not check(name)(text)] == []


@pytest.mark.parametrize("name", FORMATS)
def test_what_the_check_takes_for_a_format_can_be_written(name: str) -> None:
    """Also what is rare."""
    automaton = language(name)

    assert [text for text in SAMPLES[name] if not check(name)(text)] == []
    assert [text for text in SAMPLES[name] if not automaton.accepts(text)] == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("date", "2021-02-29"),
        ("date", "1900-02-29"),
        ("time", "24:00:00Z"),
        ("time", "12:00:60Z"),
        ("date-time", "2020-01-01 12:00:00Z"),
        ("duration", "P1Y1D"),
        ("uuid", "2eb8aa08aa9811eab4aa73b441d16380"),
        ("ipv4", "01.2.3.4"),
        ("ipv6", "1::2::3"),
        ("ipv6", "1:2:3:4:5:6:7:8::"),
        ("hostname", "a-.b"),
        ("email", "a..b@c"),
        ("uri", "http://a:b/"),
        ("uri", "//a"),
        ("uri", "http://a/%zz"),
        ("uri", "http://[1.2.3.4]"),
        ("uri-reference", "1:b"),
        ("json-pointer", "/~2"),
    ],
)
def test_what_is_not_of_a_format_cannot_be_written(name: str, text: str) -> None:
    """The classes of mistakes that a pattern can tell."""
    assert not check(name)(text)
    assert not language(name).accepts(text)


@pytest.mark.parametrize("name", ["int32", "byte", "password", "color", "phone"])
def test_a_format_that_nobody_knows_means_nothing(name: str) -> None:
    """The check lets every string pass, so there is nothing to note."""
    assert name not in FORMATS.keys() | CHECKED
    assert check(name)("\0 {[")


@pytest.mark.parametrize("name", sorted(CHECKED))
def test_a_format_without_a_pattern_is_known_to_the_check(name: str) -> None:
    """It is noted for good reason."""
    assert not check(name)("\0 {[")
