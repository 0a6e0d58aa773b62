"""Calls whose arguments are literals of some language: `f(a='x', b=2)`, `call:f{a:<|"|>x<|"|>,b:2}`."""

from collections.abc import Iterator
from dataclasses import replace

from parsers.arguments.literal_call import Dialect, Keys, LiteralCall
from parsers.syntax import CallSyntax
from server.derive.blocks import Around, call_syntax
from server.derive.marks import Marks
from server.derive.probe import Probe
from server.derive.samples import TEXTS, pieces, sample


def literals(probe: Probe, marks: Marks) -> Iterator[CallSyntax]:
    """The syntaxes that such calls may have, if texts stand in quotes behind their keys."""
    found = sample(probe, TEXTS, TEXTS[0], "burrow", "potoroo", "depth", "bilby")
    if found is None:
        return
    before, begin, behind_key, behind_text, behind_other_key, after = found.pieces
    quote = _shared_edge(behind_key, behind_text)
    equals = behind_key.removesuffix(quote)
    # Else it is JSON, or values stand in tags.
    if '"' in begin or not quote or behind_key != behind_other_key or not equals or marks.is_mark(equals):
        return
    end = after.removeprefix(quote)[:1]
    around = Around(
        before,
        after.removeprefix(quote + end),
        found.between and found.between.removeprefix(quote + end),
    )
    for dialect in _dialects(probe, quote=quote, equals=equals, comma=behind_text.removeprefix(quote)):
        yield _prefixed(call_syntax(around, LiteralCall(dialect, begin=begin, end=end), marks))


def _shared_edge(text: str, other: str) -> str:
    """The longest text that the one ends with and the other begins with."""
    return next((text[-n:] for n in range(len(text), 0, -1) if other.startswith(text[-n:])), "")


def _prefixed(syntax: CallSyntax) -> CallSyntax:
    """The syntax with a word in front of the name as a part of each call: `call:`."""
    letter = next((char for char in syntax.lead if char.isalnum()), None)
    if letter is None or not isinstance(syntax.style, LiteralCall):
        return syntax
    prefix = syntax.lead[syntax.lead.index(letter) :]
    style = replace(syntax.style, prefix=prefix)
    return replace(syntax, style=style, lead=syntax.lead.removesuffix(prefix))


def _dialects(probe: Probe, *, quote: str, equals: str, comma: str) -> Iterator[Dialect]:
    """How literals may be spelled. Whether text is escaped is left to be tried."""
    words = {}
    for value in (True, False, None):
        found = pieces(probe.written((TEXTS[0], {"burrow": value, "depth": 7531})), "burrow", "depth")
        if found is None:
            return
        words[value] = found[1].removeprefix(equals).removesuffix(comma)
    nested = pieces(probe.written((TEXTS[0], {"burrow": {"depth": 7531}})), "burrow", "depth", "7531")
    if nested is None:
        return
    is_bare = nested[1].endswith("{")
    for escapes in (True, False):
        yield Dialect(
            quote=quote,
            escapes=escapes,
            keys=Keys.BARE_AND_SORTED if is_bare else Keys.QUOTED,
            equals=equals,
            comma=comma,
            colon=nested[2].removeprefix("" if is_bare else quote),
            true=words[True],
            false=words[False],
            null=words[None],
        )
