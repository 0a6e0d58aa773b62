r"""The catalogue of edge cases: `tests/data/catalogue.jsonl`, one line for each way to meet a row of it.

A line has the `row`, its `rule` in words, and one of

* `test`: the test that holds the rule, where it is about more than the text of one answer;
* `raw`: an answer of `family`, which may be several, as their models write it;
* `parts`: an answer that is written in the own form of `every` family of a kind. A text stands as it is, and
  a list of calls as the family's models write it. «Words» in both are the family's markup, `replace` puts
  other text in place of what was written, and `cut` is the text before which the answer is cut off:

      {"row": "8", "parts": ["Sure.\n", [["f", {"a": "«end» CUT"}]]], "cut": "CUT", …}

`expect` is what is read: the `content`, the `reasoning`, the `calls`, and the reasons of the `failures`. What
it does not name is empty. `tools` are their schemas by name, where they are not those of `TOOLS`.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parsers.arguments.json_call import JsonCall
from parsers.arguments.keyed_json import KeyedJson
from parsers.arguments.literal_call import LiteralCall
from parsers.arguments.named_json import NamedJson
from parsers.arguments.style import Call, Tools
from parsers.arguments.tagged import Tagged
from parsers.arguments.xtml import Xtml
from parsers.family import Family, MarkedFamily
from parsers.registry import FAMILIES, find
from parsers.syntax import CallInside

CATALOGUE = Path(__file__).parents[1] / "data" / "catalogue.jsonl"

TEXT = {"type": "string"}
TOOLS: Tools = {
    "f": {
        "type": "object",
        "properties": {
            "a": TEXT,
            "b": TEXT,
            "n": {"type": "integer"},
            "x": {"type": "number"},
            "t": {"type": "boolean"},
            "l": {"type": "array"},
            "o": {"type": "object"},
            "maybe_text": {"anyOf": [TEXT, {"type": "null"}]},
            "maybe_number": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
    },
    "g": {"type": "object", "properties": {}},
}
"""The tools of a line that names none."""

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Written:
    """An answer of one family, and what is read from it."""

    family: Family
    tools: Tools
    raw: str
    cut_off: bool
    form: str
    expect: dict[str, Any]


def lines() -> list[Line]:
    """All lines of the catalogue."""
    return [json.loads(line) for line in CATALOGUE.read_text("utf-8").splitlines()]


def answers(line: Line) -> Iterator[Written]:
    """The answers of a line, of each family that it concerns and that can spell its calls."""
    tools, cut_off = line.get("tools", TOOLS), "cut" in line
    for family in _families(line):
        if "raw" in line:
            yield Written(family, tools, line["raw"], cut_off, "", line["expect"])
            continue
        with suppress(ValueError):
            for form, opener in _openers(line, family).items():
                raw, expect = _raw(line, family, opener), _expected(line, family, opener)
                yield Written(family, tools, raw, cut_off, form, expect)


# The kinds of families.


def _has_style(*styles: type) -> Callable[[Family], bool]:
    return lambda family: isinstance(family.call.style, styles)


def _reasons(call_inside: CallInside) -> Callable[[Family], bool]:
    return lambda family: (
        isinstance(family, MarkedFamily)
        and family.reasoning is not None
        and family.reasoning.call_inside is call_inside
    )


def _tags(condition: Callable[[Tagged], bool]) -> Callable[[Family], bool]:
    return lambda family: isinstance(family.call.style, Tagged) and condition(family.call.style)


KINDS: dict[str, Callable[[Family], bool]] = {
    "family": lambda _: True,
    "family whose calls are JSON": _has_style(JsonCall, KeyedJson, NamedJson),
    "family whose calls are one JSON object": _has_style(JsonCall),
    "family whose calls are literals": _has_style(LiteralCall),
    "family whose arguments stand in tags": _has_style(Tagged),
    "family that writes text without quotes": _has_style(Tagged, Xtml),
    "family whose tags do not say what is text": _tags(lambda style: not style.flags_text),
    "family whose tags stand in a block": _tags(lambda style: bool(style.opening)),
    "family that marks the end of its calls": lambda family: bool(family.call.begin and family.call.end),
    "family whose calls wait for the end of reasoning": _reasons(CallInside.AWAITS_END),
    "family whose calls end the reasoning": _reasons(CallInside.ENDS_SPAN),
}


def _families(line: Line) -> list[Family]:
    if "every" in line:
        return [family for family in FAMILIES if KINDS[line["every"]](family)]
    names = line["family"]
    return [find(name) for name in ([names] if isinstance(names, str) else names)]


# An answer in a family's own form.


def _openers(line: Line, family: Family) -> dict[str, str]:
    """What stands in front of calls, by the name of that form.

    Where no marker announces calls, they are only certain behind one that may. Without it, they are where
    they are well-formed and the whole answer.
    """
    if family.call.begin:
        return {"": ""}
    announced = {"": family.call.openers[0]}
    well_formed = len(line["parts"]) == 1 and "failures" not in line["expect"]
    return announced | {", not announced": ""} if well_formed else announced


def _raw(line: Line, family: Family, opener: str) -> str:
    raw = "".join(_part(part, family, opener) for part in line["parts"])
    for old, new in line.get("replace", {}).items():
        replaced = raw.replace(spelled(family, old), spelled(family, new))
        assert replaced != raw, f"Nothing of {raw!r} is replaced by {new!r}."
        raw = replaced
    return raw.partition(line["cut"])[0] if "cut" in line else raw


def _part(part: Any, family: Family, opener: str) -> str:
    if isinstance(part, str):
        return spelled(family, part)
    # What stands before the first call belongs to it only if nothing else does.
    return opener + family.write_calls(_each_text(part, family)).removeprefix(family.call.before)


def _expected(line: Line, family: Family, opener: str) -> dict[str, Any]:
    calls = [part for part in line["parts"] if not isinstance(part, str)]
    words = {"written": _part(calls[0], family, opener)} if calls else {}
    expect = {key: _each_text(value, family, words) for key, value in line["expect"].items()}
    return {key: value for key, value in expect.items() if value}


def _each_text(value: Any, family: Family, words: Mapping[str, str] | None = None) -> Any:
    """The value with the words spelled in every text that is in it."""
    if isinstance(value, str):
        return spelled(family, value, words)
    if isinstance(value, list):
        return [_each_text(item, family, words) for item in value]
    if isinstance(value, dict):
        return {key: _each_text(item, family, words) for key, item in value.items()}
    return value


def spelled(family: Family, text: str, words: Mapping[str, str] | None = None) -> str:
    """The text with the family's own markup for «words»."""
    syntax, style, span = family.call, family.call.style, family.reasoning
    begin = syntax.markers[0]
    markup = {
        "begin": begin,
        "half": begin[:-1],
        "lead": syntax.lead,
        "call": style.write(Call("f", {})),
        "opening": style.opening,
        "closing": style.closing,
        "end": syntax.end or style.closing or begin,
        **(words or {}),
    }
    if isinstance(style, JsonCall):
        markup |= {"name": style.name, "arguments": style.arguments}
    if isinstance(style, Tagged):
        markup |= {key: getattr(style, key) for key in TAGS}
    if span:
        markup |= {"think": span.begin, "/think": span.end}
    for word, marker in markup.items():
        text = text.replace(f"«{word}»", marker)
    return text


TAGS = ("key_begin", "key_end", "edge", "value_end", "gap")
