"""What is checked of answers: that mask, writer and parser speak of the same calls.

mask_refuses_an_unknown_tool(subject)    # Passed()
calls_are_read_whole(subject)            # Difference("the parser says bad_json", found="<tool_call>{…")
"""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from server.console.reading import Reading
from server.doctor.subject import (
    SCHEMAS,
    WRITTEN,
    Called,
    Difference,
    Finding,
    Passed,
    Subject,
    ends_that_are_spelled,
    wrong_calls,
)
from server.prompt.rehearsal import TOOLS
from server.request import Mode
from server.schema.instance import InstanceValidator
from server.schema.plan import SchemaPlanner
from server.tokens.markers import marker_tokens

ONE = WRITTEN[:1]
UNKNOWN: Called = ("find_wombats", ONE[0][1])
WRONG: Called = (ONE[0][0], {"burrow": "hillside", "depth": "deep"})

WALKS = 24
"""Random answers in each mode."""

# Bounded, so that walks end.
WALK_SCHEMA = {
    "type": "object",
    "properties": {
        "burrow": {"type": "string", "pattern": "^[a-z<>/_{}]{1,6}$"},
        "depth": {"type": "integer", "minimum": 0, "maximum": 9},
    },
    "required": ["burrow"],
    "additionalProperties": False,
}
WALK_TOOLS = (replace(TOOLS[0], parameters=WALK_SCHEMA),)


def mask_compiles(subject: Subject) -> Finding:
    for mode in (Mode.AUTO, Mode.REQUIRED):
        for parallel in (True, False):
            subject.mask(mode, parallel=parallel)
    return Passed()


def mask_lets_calls_through(subject: Subject) -> Finding:
    for mode in (Mode.AUTO, Mode.REQUIRED):
        for calls in (ONE, WRITTEN):
            answer = subject.thought + subject.family.write_calls(calls)
            if not subject.lets_through(subject.mask(mode), answer):
                return Difference(
                    f"with tool_choice {mode.value} it refuses what the writer writes", found=answer
                )
    return Passed()


def mask_refuses_an_unknown_tool(subject: Subject) -> Finding:
    return _refused(subject, [UNKNOWN])


def mask_refuses_a_wrong_type(subject: Subject) -> Finding:
    return _refused(subject, [WRONG])


def mask_refuses_a_second_call(subject: Subject) -> Finding:
    return _refused(subject, WRITTEN, parallel=False)


def mask_refuses_no_call(subject: Subject) -> Finding:
    for answer in ("", "No."):
        if subject.lets_through(subject.mask(Mode.REQUIRED), subject.thought + answer):
            return Difference("it lets an answer without calls through", found=answer)
    return Passed()


def _refused(subject: Subject, calls: Sequence[Called], *, parallel: bool = True) -> Finding:
    answer = subject.thought + subject.family.write_calls(calls)
    for mode in (Mode.AUTO, Mode.REQUIRED):
        if subject.lets_through(subject.mask(mode, parallel=parallel), answer):
            return Difference(f"with tool_choice {mode.value} it lets this through", found=answer)
    return Passed()


def calls_are_read_whole(subject: Subject) -> Finding:
    return _read_back(subject, lambda answer: subject.read([answer], opened=subject.opens))


def calls_are_read_letter_by_letter(subject: Subject) -> Finding:
    return _read_back(subject, lambda answer: subject.read(list(answer), opened=subject.opens))


def calls_are_read_as_tokens(subject: Subject) -> Finding:
    """As they come without a mask, where markers are tokens."""
    if subject.vocabulary is None:
        return Passed("not tried: a template has no tokens")
    return _read_back(subject, lambda answer: subject.read_tokens(answer, masked=False))


def _read_back(subject: Subject, read: Callable[[str], Reading]) -> Finding:
    reading = read(subject.thought + subject.family.write_calls(WRITTEN))
    finding = wrong_calls(reading, WRITTEN)
    if finding is None and reading.content:
        finding = Difference("text is left beside the calls", found=reading.content)
    return finding or Passed()


def thoughts_are_read(subject: Subject) -> Finding:
    """A thought and a call behind it: the mask lets them through, and the parser tells them apart."""
    span = subject.span
    if span is None:
        return Passed("the model has no span that its template spells")
    opened = subject.opens
    begin = "" if opened else span.begin
    answer = f"{begin}Hm.{span.end}{span.after}{subject.family.write_calls(ONE)}"
    if not subject.lets_through(subject.mask(Mode.AUTO), answer):
        return Difference("the mask refuses it", found=answer)
    reading = subject.read([answer], opened=opened)
    if finding := wrong_calls(reading, ONE):
        return finding
    if reading.reasoning != "Hm.":
        return Difference("the parser reads another thought", "Hm.", reading.reasoning)
    where = "the prompt opens it" if opened else "the model opens it"
    return Passed(f"{span.begin} … {span.end}, and {where}")


def markers_are_known(subject: Subject) -> Finding:
    """Tells which markers the model writes as tokens of their own."""
    if subject.vocabulary is None:
        return Passed("all text, as far as a template tells")
    tokens = set(marker_tokens(subject.family, subject.vocabulary).values())
    spelled = [
        *subject.family.call.landmarks,
        *((subject.span.begin, subject.span.end) if subject.span else ()),
    ]
    text = [marker for marker in dict.fromkeys(spelled) if marker not in tokens]
    known_ends = ends_that_are_spelled(subject.family, subject.vocabulary).values()
    ends = [marker for marker in text if marker in known_ends]
    for end in ends:
        if not _may_end_with(subject, end):
            return Difference(f"{end} ends an answer, and the call before it is not whole")
    kinds = (
        ("tokens", sorted(tokens)),
        ("text", [marker for marker in text if marker not in ends]),
        ("ends of an answer", ends),
    )
    return Passed("; ".join(f"{kind}: {' '.join(found)}" for kind, found in kinds if found))


def _may_end_with(subject: Subject, marker: str) -> bool:
    """Whether calls are read without their last marker, which ends the answer."""
    written = subject.thought + subject.family.write_calls(ONE)
    reading = subject.read([written.removesuffix(marker)], opened=subject.opens)
    return written.endswith(marker) and wrong_calls(reading, ONE) is None


def walks_end_in_valid_calls(subject: Subject) -> Finding:
    """Random answers that the mask lets through are read to calls that fit their schema."""
    validator = SchemaPlanner().validator(WALK_SCHEMA, param="", name=WALK_TOOLS[0].name)
    words = _words(subject)
    ended = called = 0
    for mode in (Mode.AUTO, Mode.REQUIRED):
        mask = subject.mask(mode, tools=WALK_TOOLS)
        for seed in range(WALKS):
            answer = subject.walker.walk(mask, random.Random(seed), words)  # noqa: S311 - walks, not secrets
            if answer is None:
                continue
            reading = subject.read_tokens(answer, masked=True)
            if finding := _wrong_walk(reading, validator, forced=mode is Mode.REQUIRED):
                return replace(finding, said=f"{finding.said} (seed {seed})", found=answer)
            ended += 1
            called += len(reading.calls)
    if not called:
        return Difference("no walk came to a call")
    return Passed(f"{ended} answers, {called} calls")


def _words(subject: Subject) -> list[str]:
    """What walks like to write: calls, their markers, and thoughts."""
    write, span = subject.family.write_calls, subject.span
    call = (WALK_TOOLS[0].name, {"burrow": "<a>", "depth": 7})
    texts = [write([call]), write([call, call]), *subject.family.call.markers]
    if span:
        texts += [span.begin, f"Hm.{span.end}{span.after}", f"Hm.{span.end}{span.after}{write([call])}"]
    return texts


def _wrong_walk(reading: Reading, validator: InstanceValidator, *, forced: bool) -> Difference | None:
    if reading.failures:
        return Difference(f"the parser says {reading.failures[0]['reason']}")
    for call in reading.calls:
        if call["name"] not in SCHEMAS or validator.errors(json.loads(call["arguments"])):
            return Difference(f"the parser reads {call['name']} {call['arguments']}")
    if forced and (reading.content or not reading.calls):
        return Difference("a call was required, and the parser reads text")
    return None
