r"""`strictcall parse`: read a model's raw text as a family's parser does, without a model.

    $ strictcall parse --family hermes --tools tools.json < answer.txt
    {"content": "Sure.", "reasoning": "", "tool_calls": [{"id": "call_0", "name": "f", "arguments": "{}"}], …}

With `--jsonl` every line of the input is one answer, and every line of the output what was read of it:

    {"family": "hermes", "tools": […], "raw": "…", "prompt_opens_reasoning": true, "chunk": "random:7"}

`chunk` says in which pieces the parser is given the text: "whole", a number of characters, or "random:SEED".
"""

import argparse
import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parsers.events import CallArguments, CallBegin, CallEnd, Content, Event, Malformed, Reasoning
from parsers.registry import UnknownFamilyError, find
from server.terminal import CommandError, say

LONGEST_PIECE = 12
"""Characters of the longest piece of a random cut."""

NOTHING_READ: dict[str, Any] = {"content": "", "reasoning": "", "tool_calls": [], "failures": []}
"""What is written, beside the error, for a line that could not be read."""


class LineError(ValueError):
    """A line, or a file of tools, that is not what it should be. The message says where and why."""


@dataclass(slots=True)
class Reading:
    """What was read of an answer. `calls` are those that ended, by their index."""

    content: str = ""
    reasoning: str = ""
    begun: dict[int, dict[str, str]] = field(default_factory=dict)
    ended: list[int] = field(default_factory=list)
    failures: list[dict[str, str]] = field(default_factory=list)

    def add(self, event: Event) -> None:
        match event:
            case Content(text):
                self.content += text
            case Reasoning(text):
                self.reasoning += text
            case CallBegin(index, name, own_id):
                self.begun[index] = {"id": own_id or f"call_{index}", "name": name, "arguments": ""}
            case CallArguments(index, text):
                self.begun[index]["arguments"] += text
            case CallEnd(index):
                self.ended.append(index)
            case Malformed(raw, reason):
                self.failures.append({"reason": reason.value, "raw": raw})

    def as_json(self) -> str:
        calls = [self.begun[index] for index in self.ended]
        report = {"content": self.content, "reasoning": self.reasoning, "tool_calls": calls}
        return json.dumps(report | {"failures": self.failures}, ensure_ascii=False)


def run(argv: Sequence[str]) -> int:
    options = _arguments().parse_args(argv)
    if options.jsonl:
        failed = 0
        for line in filter(str.strip, sys.stdin):
            try:
                say(_read_line(line))
            except LineError as error:
                failed = 1
                say(json.dumps(NOTHING_READ | {"error": str(error)}, ensure_ascii=False))
        return failed
    try:
        tools = _tools(_json(options.tools.read_text("utf-8"))) if options.tools else {}
        answer = {"family": options.family, "raw": sys.stdin.read()}
        say(_read(answer, tools, opens_reasoning=options.prompt_opens_reasoning))
    except (LineError, OSError) as error:
        raise CommandError(str(error)) from error
    return 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="strictcall parse",
        description="Read raw model output from standard input as a family's parser does.",
    )
    form = parser.add_mutually_exclusive_group(required=True)
    form.add_argument("--family", help="the model family that wrote the text")
    form.add_argument("--jsonl", action="store_true", help="read one answer from each line instead")
    parser.add_argument("--tools", type=Path, metavar="FILE", help="the request's tools, as a JSON array")
    parser.add_argument(
        "--prompt-opens-reasoning", action="store_true", help="the prompt ended inside the reasoning span"
    )
    return parser


def _read_line(line: str) -> str:
    answer = _json(line)
    if not isinstance(answer, dict) or not isinstance(answer.get("raw"), str):
        raise LineError("A line is an object with 'family', 'tools' and 'raw', and 'raw' is text.")
    opens = bool(answer.get("prompt_opens_reasoning"))
    return _read(answer, _tools(answer.get("tools", [])), opens_reasoning=opens)


def _read(answer: Mapping[str, Any], tools: Mapping[str, Any], *, opens_reasoning: bool) -> str:
    try:
        family = find(str(answer.get("family")))
    except UnknownFamilyError as error:
        raise LineError(str(error)) from error
    parser = family.parser(tools, opens_reasoning=opens_reasoning)
    reading = Reading()
    for piece in _pieces(answer["raw"], answer.get("chunk", "whole")):
        for event in parser.feed(piece):
            reading.add(event)
    for event in parser.finish():
        reading.add(event)
    return reading.as_json()


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise LineError(f"This is not JSON ({error}): {text.strip()[:80]}") from error


def _tools(tools: Any) -> dict[str, Any]:
    """The schemas by name, of tools as a request spells them, with or without the envelope."""
    if not isinstance(tools, list):
        raise LineError("Tools are a JSON array of function tools, as in a request.")
    functions = [tool.get("function", tool) if isinstance(tool, dict) else {} for tool in tools]
    if not all(isinstance(function, dict) and "name" in function for function in functions):
        raise LineError("Every tool is an object with a 'name', or with a 'function' that has one.")
    return {function["name"]: function.get("parameters") or {} for function in functions}


def _pieces(text: str, chunk: Any) -> Iterator[str]:
    match str(chunk).partition(":"):
        case "whole", "", "":
            yield text
        case "random", ":", seed:
            yield from _cut_at_random(text, random.Random(seed))  # noqa: S311 - pieces, not secrets
        case size, "", "" if size.isdecimal() and int(size) > 0:
            for start in range(0, len(text), int(size)):
                yield text[start : start + int(size)]
        case _:
            raise LineError(f'\'chunk\' is "whole", a number of characters or "random:SEED", not {chunk!r}.')


def _cut_at_random(text: str, rng: random.Random) -> Iterator[str]:
    start = 0
    while start < len(text):
        length = rng.randint(1, LONGEST_PIECE)
        yield text[start : start + length]
        start += length
