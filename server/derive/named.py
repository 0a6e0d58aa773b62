r"""Calls that are a name with JSON behind it: `f[ARGS]{}`, `<function=f>{}</function>`."""

import json
from collections.abc import Iterator
from functools import partial

from parsers.arguments.named_json import NamedJson
from parsers.syntax import CallSyntax
from server.derive.blocks import Around, marked_call_syntaxes
from server.derive.marks import Marks
from server.derive.probe import Probe
from server.derive.samples import ONE, sample


def named_json(probe: Probe, marks: Marks) -> Iterator[CallSyntax]:
    """The syntaxes that such calls may have, if there is JSON of the arguments behind the name."""
    name, arguments = ONE
    found = sample(probe, ONE, name, json.dumps(arguments))
    if found is None:
        return
    before, between, after = found.pieces
    # Else the name is a part of a JSON object, or nothing tells where it ends.
    if between and not before.endswith('"'):
        style_of = partial(_style, between)
        yield from marked_call_syntaxes(Around(before, after, found.between), style_of, marks)


def _style(behind_name: str, opening: str, after: str, closing: str) -> NamedJson:
    between, fence = behind_name, ""
    if "```" in behind_name:
        line, line_end, fence = behind_name.partition("\n")
        between = line + line_end
    return NamedJson(opening=opening, between=between, closing=closing, fence=fence, after=after)
