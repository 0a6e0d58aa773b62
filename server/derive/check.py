"""Whether a guessed family is right: the template, the writer, the mask and the parser must all agree.

disagreement(family, probe)     # None, or "the parser does not read a call with two arguments"
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import xgrammar

from parsers.arguments.style import CallableTool
from parsers.events import CallArguments, CallBegin, Content, Event, Malformed
from parsers.family import MarkedFamily
from parsers.formats import Format
from parsers.spelling import Spelling
from server.derive.probe import SCHEMAS, TEXT, Call, NotDerivedError, Probe
from server.mask.forms import BYTES, END_OF_BYTES, compact_tag
from server.schema.document import SchemaError
from server.schema.plan import Root, SchemaPlanner

FIND: Call = ("find_wombat", {"burrow": "hill", "depth": 7})
FEED: Call = ("feed_numbat", {"meal": "termites"})
REST: Call = ("rest_wallaby", {})
QUOTED: Call = ("find_wombat", {"burrow": 'a "hole"\nunder <b>it\'s</b> {tree}, [1] = \\o/', "depth": 12})
TYPED: Call = (
    "find_wombat",
    {"burrow": "", "dry": True, "food": ["nuts", "a, b"], "mood": {"calm": False, "at": None}},
)

AS_WRITTEN: Mapping[str, Sequence[Call]] = {
    "one call": (FIND,),
    "a call without arguments": (REST,),
    "text that wants escapes": (QUOTED,),
    "two calls": (FIND, FEED),
    "three calls": (FEED, REST, FIND),
}
"""What the writer has to write as the template does, but for whitespace."""

AS_READ: Mapping[str, Sequence[Call]] = {**AS_WRITTEN, "values of every type": (TYPED,)}
"""What the parser has to read, as the template wrote it."""


def disagreement(family: MarkedFamily, probe: Probe) -> str | None:
    """What speaks against the family, if anything."""
    if not _is_announced(family):
        return "nothing announces its calls"
    for what, calls in AS_READ.items():
        if len(calls) > 1 and not probe.parallel:
            continue
        written = probe.written(*calls)
        if what in AS_WRITTEN and not _writes(family, calls, written):
            return f"{what} would be written in another way than the template does"
        if not _reads(family, written, calls, ""):
            return f"{what} would not be read"
    return _beside_calls(family, probe) or _under_the_mask(family, probe)


def _is_announced(family: MarkedFamily) -> bool:
    """Whether calls have a marker, or an answer of calls begins as no text does."""
    call = family.call
    is_marked = bool(call.begin or call.style.opening)
    return is_marked or family.write_calls([FIND]).lstrip().startswith(("{", "["))


def _writes(family: MarkedFamily, calls: Sequence[Call], written: str) -> bool:
    """Whether the writer agrees with the template.

    A newline more or less between tags is no reason to ask a model for calls in a form that it never saw.
    """
    try:
        return "".join(family.write_calls(calls).split()) == "".join(written.split())
    except ValueError:
        return False


def _reads(family: MarkedFamily, text: str, calls: Sequence[Call], content: str) -> bool:
    """Whether the parser reads exactly this, whole, letter by letter, and in threes."""
    for size in (len(text) or 1, 1, 3):
        parser = family.parser(SCHEMAS)
        events = [event for i in range(0, len(text), size) for event in parser.feed(text[i : i + size])]
        if _told([*events, *parser.finish()]) != (content, list(calls)):
            return False
    return True


def _told(events: Iterable[Event]) -> tuple[str, list[Call]] | None:
    """Text and calls; None if anything was malformed."""
    content = ""
    calls: list[tuple[str, str]] = []
    for event in events:
        match event:
            case Content(text):
                content += text
            case CallBegin(_, name):
                calls.append((name, ""))
            case CallArguments(_, text):
                calls[-1] = (calls[-1][0], calls[-1][1] + text)
            case Malformed():
                return None
    return content.strip(), [(name, json.loads(arguments)) for name, arguments in calls]


def _beside_calls(family: MarkedFamily, probe: Probe) -> str | None:
    """What is wrong with answers that are not only calls, as far as the template shows them."""
    if not _reads(family, TEXT, (), TEXT):
        return "text would be read as a call"
    if (span := family.reasoning) is not None:
        thought = f"{span.begin}\nThey sleep.\n{span.end}{span.after}"
        if not _reads(family, thought + family.write_calls([FIND]), (FIND,), ""):
            return "a call behind a thought would not be read"
    try:
        written = probe.written(FIND, text=TEXT)
    except NotDerivedError:
        return None
    if TEXT in written and family.call.begin and not _reads(family, written, (FIND,), TEXT):
        return "a call behind text would not be read"
    return None


def _under_the_mask(family: MarkedFamily, probe: Probe) -> str | None:
    """What is wrong with the mask, if anything."""
    spelling = family.call.style.spelling
    try:
        tools = [CallableTool(name, _format(schema, spelling)) for name, schema in SCHEMAS.items()]
        tag = family.structural_tag(tools, at_least=1, at_most=3, answer=None, opens_reasoning=False)
        compiler = xgrammar.GrammarCompiler(xgrammar.TokenizerInfo(BYTES, stop_token_ids=[END_OF_BYTES]))
        compiled = compiler.compile_structural_tag(compact_tag(tag["format"]))
    except (RuntimeError, ValueError, SchemaError):
        return "its mask cannot be built"
    for what, calls in AS_WRITTEN.items():
        if len(calls) > 1 and not probe.parallel:
            continue
        matcher = xgrammar.GrammarMatcher(compiled)
        text = family.write_calls(calls)
        if not (matcher.accept_string(text) and matcher.accept_token(END_OF_BYTES)):
            return f"its mask would not allow {what}"
    return None


def _format(schema: Mapping[str, Any], spelling: Spelling) -> Format:
    planner = SchemaPlanner(size=1)
    return planner.plan(schema, closed=True, root=Root.OBJECT, spelling=spelling).format
