"""Calls that are one JSON object: `{"name": "f", "arguments": {}}`, or `{"f": {}}`."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from parsers.arguments.json_call import JsonCall
from parsers.arguments.keyed_json import KeyedJson
from parsers.arguments.style import ArgumentStyle
from parsers.syntax import CallSyntax
from server.derive.blocks import Around, call_syntax
from server.derive.marks import Marks
from server.derive.probe import Call, Probe
from server.derive.samples import ONE, TWO

USUAL_KEYS = ("arguments", "parameters")


def json_objects(probe: Probe, marks: Marks) -> Iterator[CallSyntax]:
    """The syntax of such calls, if there is an object with name and arguments."""
    text = probe.written(ONE)
    found = _find(ONE, text)
    if found is None:
        return
    start, end, value = found
    between = None
    if probe.parallel:
        pair = probe.written(ONE, TWO)
        first, second = _find(ONE, pair), _find(TWO, pair)
        if first is None or second is None:
            return
        between = pair[first[1] : second[0]]
    style = _style(value)
    if style is not None:
        yield call_syntax(Around(text[:start], text[end:], between), style, marks)


def _find(call: Call, text: str) -> tuple[int, int, dict[str, Any]] | None:
    """Where the object of a call begins and ends, and what it is."""
    name, arguments = call
    for start in (place for place, char in enumerate(text) if char == "{"):
        try:
            value, end = json.JSONDecoder().raw_decode(text, start)
        except ValueError:
            continue
        if arguments in value.values() and (name in value or name in value.values()):
            return start, end, value
    return None


def _style(value: Mapping[str, Any]) -> ArgumentStyle | None:
    """The style of the object of the first call, None if it holds more than the style can say."""
    name, arguments = ONE
    if value == {name: arguments}:
        return KeyedJson()
    key_of = {json.dumps(item): key for key, item in value.items()}
    name_key, arguments_key = key_of.get(json.dumps(name), ""), key_of[json.dumps(arguments)]
    number_key = key_of.get('"0"', "")
    if set(value) != {name_key, arguments_key, number_key} - {""}:
        return None
    also = tuple(key for key in USUAL_KEYS if key not in (name_key, arguments_key))
    return JsonCall(name=name_key, arguments=arguments_key, also=also, number=number_key)
