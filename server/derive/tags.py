r"""Calls whose arguments stand in tags: `<function=f>\n<parameter=a>\nx\n</parameter>\n</function>`."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from parsers.arguments.tagged import Tagged
from parsers.syntax import CallSyntax
from server.derive.blocks import Around, marked_call_syntaxes
from server.derive.marks import Marks
from server.derive.probe import Probe
from server.derive.samples import ONE, TEXTS, pieces, sample


def tags(probe: Probe, marks: Marks) -> Iterator[CallSyntax]:
    """The syntaxes that such calls may have, if marks stand around keys and values."""
    found = sample(probe, TEXTS, TEXTS[0], "burrow", "potoroo", "depth", "bilby")
    mixed = pieces(probe.written(ONE), TEXTS[0], "burrow", "potoroo", "depth", "7531")
    if found is None or mixed is None or found.pieces[2] != found.pieces[4]:
        return
    before, behind_name, behind_key, behind_value, _, after = found.pieces
    key_begin = marks.common_tail(behind_name, behind_value)
    value_tail = behind_value.removesuffix(key_begin)
    quote = '"' if behind_key.startswith('"') and behind_name.endswith('"') else ""
    style = _style(behind_key.removeprefix(quote), mixed[4].removeprefix(quote), value_tail, marks)
    if not key_begin or not style.value_end or not after.startswith(value_tail):
        return
    style = replace(
        style,
        name_end=behind_name.removesuffix(key_begin).removeprefix(quote),
        key_begin=key_begin.removesuffix(quote),
        quote=quote,
    )
    between = found.between and found.between.removeprefix(value_tail).removesuffix(quote)
    around = Around(before.removesuffix(quote), after.removeprefix(value_tail), between)
    yield from marked_call_syntaxes(around, partial(_with_marks, style), marks)


def _style(behind_key: str, behind_json_key: str, value_tail: str, marks: Marks) -> Tagged:
    """The style, as far as what stands behind keys and values tells it."""
    edge = "\n" if behind_key.endswith("\n") and value_tail.startswith("\n") else ""
    key_end, value_begin, flag = _key_end(
        behind_key.removesuffix(edge), behind_json_key.removesuffix(edge), marks
    )
    value_end = value_tail.strip()
    return Tagged(
        opening="",
        name_end="",
        closing="",
        key_begin="",
        key_end=key_end,
        value_begin=value_begin,
        edge=edge,
        value_end=value_end,
        gap=value_tail.removeprefix(edge).removeprefix(value_end),
        flag=flag,
    )


def _key_end(behind_text_key: str, behind_json_key: str, marks: Marks) -> tuple[str, str, tuple[str, str]]:
    """What ends a key, what then begins a value, and what says which values are text and which JSON."""
    is_flagged = behind_text_key != behind_json_key
    if is_flagged and behind_text_key.endswith(">") and behind_json_key.endswith(">"):
        return ">", "", (behind_text_key[:-1], behind_json_key[:-1])
    before, mark, rest = marks.first(behind_text_key)
    if mark and rest:
        return before + mark, rest, ("", "")
    return behind_text_key, "", ("", "")


def _with_marks(style: Tagged, opening: str, before_closing: str, closing: str) -> Tagged:
    return replace(style, opening=opening, closing=before_closing.lstrip() + closing)
