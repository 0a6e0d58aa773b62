r"""`strictcall parse`: read a model's raw output as a family's parser does, without a model.

    $ strictcall parse --family hermes --tools tools.json < answer.txt
    {"content": "Sure.", "reasoning": "", "tool_calls": [{"id": "call_0", "name": "f", "arguments": "{}"}], …}

With `--jsonl` every line of the input is one answer, and every line of the output what was read of it:

    {"family": "hermes", "tools": […], "raw": "…", "prompt_opens_reasoning": true, "chunk": "random:7"}

`chunk` says in which pieces the parser is given the text: "whole", a number of characters, or "random:SEED".

With `--tokenizer DIR` the text is encoded and read token by token, as the server reads an answer that no mask
holds: a marker is one only where it is its own token. `chunk` then counts tokens. A line may give the tokens
itself, as `"token_ids": [27, 14172, …]`, which is how text that only spells a marker is written.
"""

import argparse
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from parsers.arguments.style import Schema
from parsers.family import Family
from parsers.registry import UnknownFamilyError, find
from server.config.settings import SettingsError
from server.console.files import parse_json, read_json, standard_input
from server.console.reading import Reading
from server.console.terminal import CommandError, say

if TYPE_CHECKING:
    from server.tokens.vocabulary import Vocabulary

Output = TypeVar("Output", str, list[int])

LONGEST_PIECE = 12
"""Characters, or tokens, of the longest piece of a random cut."""

NOTHING_READ: dict[str, Any] = {"content": "", "reasoning": "", "tool_calls": [], "failures": []}
"""What is written, beside the error, for a line that could not be read."""


class LineError(ValueError):
    """A line, or a file of tools, that is not what it should be. The message says where and why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer to be read. `token_ids`, where there are some, are what a tokenizer made of `raw`."""

    family: Family
    tools: Mapping[str, Schema]
    raw: str
    token_ids: object = None
    opens_reasoning: bool = False
    chunk: object = "whole"


def run(argv: Sequence[str]) -> int:
    options = _options(argv)
    vocabulary = _vocabulary(options.tokenizer) if options.tokenizer else None
    if options.jsonl:
        failed = 0
        for line in filter(str.strip, standard_input()):
            try:
                say(_report(_read(_answer(line), vocabulary)))
            except LineError as error:
                failed = 1
                say(json.dumps(NOTHING_READ | {"error": str(error)}, ensure_ascii=False))
        return failed
    try:
        family = find(options.family)
        tools = _tools(read_json(options.tools)) if options.tools else {}
    except UnknownFamilyError as error:
        raise SettingsError(f"--family: {error}") from error
    except LineError as error:
        raise CommandError(f"{options.tools}: {error}") from error
    answer = Answer(family, tools, standard_input().read(), opens_reasoning=options.prompt_opens_reasoning)
    say(_report(_read(answer, vocabulary)))
    return 0


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = _arguments()
    options = parser.parse_args(argv)
    if options.jsonl and (options.tools or options.prompt_opens_reasoning):
        parser.error("with --jsonl each line has its own 'tools' and 'prompt_opens_reasoning'")
    return options


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="strictcall parse",
        description="Read raw model output from standard input as a family's parser does.",
    )
    form = parser.add_mutually_exclusive_group(required=True)
    form.add_argument("--family", help="the model family that wrote the text")
    form.add_argument("--jsonl", action="store_true", help="read one answer from each line instead")
    parser.add_argument(
        "--tools",
        type=Path,
        metavar="FILE",
        help="the request's tools, as a JSON array; without any, nothing is a call",
    )
    parser.add_argument(
        "--prompt-opens-reasoning", action="store_true", help="the prompt ended inside the reasoning span"
    )
    parser.add_argument(
        "--tokenizer", type=Path, metavar="DIR", help="read token by token, with this model's tokenizer"
    )
    return parser


def _vocabulary(directory: Path) -> "Vocabulary":
    if not directory.is_dir():
        raise CommandError(f"There is no directory '{directory}' to read a tokenizer from.")
    # It imports transformers, which takes seconds.
    from server.startup.start import load_vocabulary

    return load_vocabulary(str(directory))


def _answer(line: str) -> Answer:
    """The answer that a line describes."""
    described = _json(line)
    if not isinstance(described, dict) or not isinstance(described.get("raw", ""), str):
        raise LineError("A line is an object with 'family', 'tools' and 'raw', and 'raw' is text.")
    if "raw" not in described and "token_ids" not in described:
        raise LineError("A line has 'raw', or with --tokenizer 'token_ids'.")
    return Answer(
        _family(str(described.get("family"))),
        _tools(described.get("tools", [])),
        described.get("raw", ""),
        token_ids=described.get("token_ids"),
        opens_reasoning=bool(described.get("prompt_opens_reasoning")),
        chunk=described.get("chunk", "whole"),
    )


def _family(name: str) -> Family:
    try:
        return find(name)
    except UnknownFamilyError as error:
        raise LineError(str(error)) from error


def _read(answer: Answer, vocabulary: "Vocabulary | None") -> Reading:
    return _read_text(answer) if vocabulary is None else _read_tokens(answer, vocabulary)


def _read_text(answer: Answer) -> Reading:
    if answer.token_ids is not None and not answer.raw:
        raise LineError("'token_ids' can be read only with --tokenizer.")
    parser = answer.family.parser(answer.tools, opens_reasoning=answer.opens_reasoning)
    reading = Reading()
    for piece in _pieces(answer.raw, answer.chunk):
        reading.add(parser.feed(piece))
    reading.add(parser.finish())
    return reading


def _read_tokens(answer: Answer, vocabulary: "Vocabulary") -> Reading:
    """Read the answer as the server does, which takes the tokens of a piece one by one."""
    from server.tokens.markers import marker_tokens
    from server.tokens.reader import TokenReader

    markers = marker_tokens(answer.family, vocabulary)
    parser = answer.family.parser(
        answer.tools, opens_reasoning=answer.opens_reasoning, tokens=markers.values()
    )
    reader = TokenReader(vocabulary.detokenizer(keep=frozenset(markers)), parser, markers)
    reading = Reading()
    for piece in _pieces(_token_ids(answer, vocabulary), answer.chunk):
        for token_id in piece:
            reading.add(reader.feed(token_id))
    reading.add(reader.finish(truncated=False))
    return reading


def _token_ids(answer: Answer, vocabulary: "Vocabulary") -> list[int]:
    ids = answer.token_ids
    if ids is None:
        # A prompt goes before the answer, and so no space that some tokenizers put in front of a text.
        return vocabulary.encode(_encodable(answer.raw), inside=True)
    if isinstance(ids, list) and all(type(id) is int and 0 <= id < vocabulary.size for id in ids):
        return ids
    raise LineError(f"'token_ids' is an array of whole numbers from 0 to {vocabulary.size - 1}.")


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise LineError("'raw' has half of a surrogate pair, which no token spells.") from error
    return text


def _report(reading: Reading) -> str:
    report = {"content": reading.content, "reasoning": reading.reasoning, "tool_calls": reading.calls}
    return json.dumps(report | {"failures": reading.failures}, ensure_ascii=False)


def _json(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError as error:
        raise LineError(f"This is not JSON ({error}): {text.strip()[:80]}") from error


def _tools(tools: Any) -> dict[str, Any]:
    """The schemas by name, of tools as a request spells them, with or without the envelope."""
    if not isinstance(tools, list):
        raise LineError("Tools are a JSON array of function tools, as in a request.")
    functions = [tool.get("function", tool) if isinstance(tool, dict) else {} for tool in tools]
    if not all(
        isinstance(function, dict) and isinstance(function.get("name"), str) for function in functions
    ):
        raise LineError("Every tool is an object with a 'name', or with a 'function' that has one.")
    schemas = {function["name"]: function.get("parameters") or {} for function in functions}
    for name, schema in schemas.items():
        if not isinstance(schema, dict):
            raise LineError(f"The 'parameters' of the tool '{name}' are a JSON Schema, which is an object.")
    return schemas


def _pieces(output: Output, chunk: object) -> Iterator[Output]:
    match str(chunk).partition(":"):
        case "whole", "", "":
            yield output
        case "random", ":", seed:
            yield from _cut_at_random(output, random.Random(seed))  # noqa: S311 - pieces, not secrets
        case size, "", "" if size.isdecimal() and int(size) > 0:
            for start in range(0, len(output), int(size)):
                yield output[start : start + int(size)]
        case _:
            raise LineError(f"'chunk' is 'whole', a number of characters or 'random:SEED', not {chunk!r}.")


def _cut_at_random(output: Output, rng: random.Random) -> Iterator[Output]:
    start = 0
    while start < len(output):
        length = rng.randint(1, LONGEST_PIECE)
        yield output[start : start + length]
        start += length
