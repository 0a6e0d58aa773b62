r"""A family for a model that nobody has described, from what its chat template writes for calls in a history.

    derive(source, control_strings=vocabulary.control_strings)
    # MarkedFamily("derived", CallSyntax("<call>", "</call>", JsonCall(), …), reasoning=None)

The template renders a handful of answers; what stands before, between and after names and arguments is
fitted to each argument style. A fit is taken only if the writer writes what the template wrote, the mask
allows it and the parser reads it back.
"""

import itertools
import re
from collections.abc import Collection
from dataclasses import replace

from parsers.family import MarkedFamily
from parsers.syntax import Span
from server.derive.check import disagreement
from server.derive.literals import literals
from server.derive.marks import Marks
from server.derive.named import named_json
from server.derive.objects import json_objects
from server.derive.probe import NotDerivedError, Probe
from server.derive.samples import ONE
from server.derive.tags import tags
from server.prompt.template import ChatTemplate, TemplateLoadError

__all__ = ["NotDerivedError", "derive"]

NAME = "derived"

TROUBLE = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What may come of fitting anything to whatever a stranger's template writes."""

FITS = (json_objects, named_json, literals, tags)
"""What makes guesses at the calls' syntax, the most telling first."""

THOUGHT = "potoroos think"
_THINK_END = re.compile(r"</([\w:]*think[\w:]*)>|\[/(THINK)\]")


def derive(
    source: str, *, control_strings: Collection[str] = (), end_strings: Collection[str] = ()
) -> MarkedFamily:
    """The family of the model with this chat template. Raises `NotDerivedError`, and nothing else.

    `control_strings` are the texts of the vocabulary's control tokens, and `end_strings` of those that end
    an answer, which are no part of it.
    """
    try:
        return _derive(source, Marks(control_strings), tuple(end_strings))
    except (NotDerivedError, TemplateLoadError) as error:
        raise NotDerivedError(str(error)) from error
    except TROUBLE as error:
        raise NotDerivedError(f"what it writes cannot be read ({error!r})") from error


def _derive(source: str, marks: Marks, ends: tuple[str, ...]) -> MarkedFamily:
    template = ChatTemplate(source, origin="the model's own")
    if not (template.traits.tools and template.traits.calls):
        raise NotDerivedError(f"it shows no {'calls' if template.traits.tools else 'tools'}")
    span = _shown_span(Probe(template, marks, ends=ends), marks)
    probe = Probe(template, marks, ends=ends, span=span)
    span = span or _spelled_span(source)
    reason = "none of the styles of arguments fits"
    guesses = itertools.chain.from_iterable(fit(probe, marks) for fit in FITS)
    for number, syntax in enumerate(guesses):
        around = span and replace(span, after=span.after.removesuffix(syntax.before))
        family = MarkedFamily(NAME, syntax, around)
        found = disagreement(family, probe)
        if found is None:
            return family
        reason = found if number == 0 else reason
    raise NotDerivedError(reason)


def _shown_span(probe: Probe, marks: Marks) -> Span | None:
    """The span of reasoning, where the template shows what the model thought before a call."""
    before, found, after = probe.written(ONE, thought=THOUGHT).partition(THOUGHT)
    _, end, rest = marks.first(after)
    head, word = marks.after_last(before)
    if not found or not head or not end:
        return None
    begin = marks.split(head)[-1] + (word if word.strip() else "")
    return Span(begin, end, after=rest[: len(rest) - len(rest.lstrip())])


def _spelled_span(source: str) -> Span | None:
    """The span of which the template only spells the marks."""
    for found in _THINK_END.finditer(source):
        begin = found[0].replace("/", "", 1)
        if begin in source:
            return Span(begin, found[0], after="\n\n")
    return None
