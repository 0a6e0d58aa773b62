r"""`strictcall check`: what a server will make of a JSON Schema, before any model sees it.

    $ strictcall check order.json
    pointer              keyword      handling  why
    #                    type         mask
    #/properties/tags    uniqueItems  check     the mask does not compare items
    …
    23 constraints: 22 by the mask, 1 checked afterwards. Compiled in 3.1 ms.

`--instance` says whether a value fits, and what is wrong with it. With `--jsonl` every line of the input is
`{"schema": …, "instance"?: …, "strict"?: false, "policy"?: "validate", "profile"?: "native"}`, and every line
of the output what was found.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import xgrammar

from server.console import files
from server.console.files import read_json, read_text, standard_input
from server.console.terminal import CommandError, say
from server.mask.trial import MaskTrial, byte_tokens
from server.mask.unsupported import unmasked_keywords
from server.policy import UnsupportedKeywords
from server.schema.check import validator_of
from server.schema.document import SchemaError
from server.schema.instance import NO_ERRORS, Errors, NotJsonError, parse_json
from server.schema.limits import DEFAULT_LIMITS, SchemaLimits, read_limit
from server.schema.plan import SchemaPlan, SchemaPlanner
from server.schema.profile import SchemaProfile, check_profile
from server.schema.report import ASSERTIONS, Handling, Row, report

Member = TypeVar("Member", bound=StrEnum)

HEAD = ("pointer", "keyword", "handling", "why")


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one schema, and of a value if there is one. `error`: why the schema is refused."""

    error: Mapping[str, str] | None = None
    plan: tuple[Row, ...] = ()
    mask_accepts: bool | None = None
    valid: bool | None = None
    errors: Errors = NO_ERRORS
    compile_ms: float | None = None

    def as_json(self) -> str:
        rows = [{**asdict(row), "handling": row.handling.value} for row in self.plan]
        errors = [asdict(error) for error in self.errors]
        found = {
            "accepted": self.error is None,
            **asdict(self),
            "plan": rows,
            "errors": errors,
            "more_errors": self.errors.more,
        }
        return json.dumps(found, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Question:
    """A schema, and the text of a value, if any. `strict`: objects have the keys that they declare only.

    `policy` and `profile` are those of a server that is asked to hold a strict schema.
    """

    schema: Any
    instance: str | None = None
    strict: bool = False
    policy: UnsupportedKeywords = UnsupportedKeywords.VALIDATE
    profile: SchemaProfile = SchemaProfile.NATIVE


def run(argv: Sequence[str]) -> int:
    options = _options(argv)
    checker = Checker(_tokens(options.tokenizer), DEFAULT_LIMITS.changed(options.schema_limit or ()))
    if options.jsonl:
        for line in filter(str.strip, standard_input()):
            say(_answer(line, checker))
        return 0
    instance = None if options.instance is None else read_text(options.instance)
    question = Question(
        read_json(options.schema),
        instance,
        strict=options.strict,
        policy=UnsupportedKeywords(options.policy or UnsupportedKeywords.VALIDATE),
        profile=SchemaProfile(options.profile or SchemaProfile.NATIVE),
    )
    finding = checker.find(question)
    for line in [finding.as_json()] if options.json else _lines(finding):
        say(line)
    return 0 if finding.error is None and finding.valid is not False else 1


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = _arguments()
    options = parser.parse_args(argv)
    own = (options.schema, options.instance, options.strict, options.policy, options.profile)
    if options.jsonl and any(own):
        parser.error("with --jsonl each line has its own 'schema', 'instance', 'strict', 'policy', 'profile'")
    if not options.jsonl and options.schema is None:
        parser.error("name the file of a schema, or give lines on standard input with --jsonl")
    return options


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="strictcall check",
        description="Say who holds each constraint of a JSON Schema: the mask, or the check after it.",
    )
    parser.add_argument("schema", type=Path, nargs="?", metavar="SCHEMA", help="a file with a JSON Schema")
    parser.add_argument("--instance", type=Path, metavar="FILE", help="a JSON value to check against it")
    parser.add_argument(
        "--strict", action="store_true", help="close objects that do not say so, as strict tools do"
    )
    parser.add_argument(
        "--policy",
        choices=list(UnsupportedKeywords),
        metavar="|".join(UnsupportedKeywords),
        help="reject: refuse the schema if the mask cannot hold all of it",
    )
    parser.add_argument(
        "--profile",
        choices=list(SchemaProfile),
        metavar="|".join(SchemaProfile),
        help="openai: refuse what OpenAI's own strict mode refuses",
    )
    parser.add_argument(
        "--schema-limit",
        action="append",
        type=_limit,
        metavar="NAME=COUNT",
        help="change how large a schema may be, as for a server; repeatable",
    )
    parser.add_argument("--tokenizer", metavar="DIR", help="compile for this model's vocabulary")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON in place of the table")
    form.add_argument("--jsonl", action="store_true", help="read one schema from each line instead")
    return parser


def _limit(text: str) -> tuple[str, int]:
    try:
        return read_limit(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


class Checker:
    """Answers questions, and remembers the schemas it has seen."""

    def __init__(self, tokens: xgrammar.TokenizerInfo, limits: SchemaLimits) -> None:
        self._tokens = tokens
        self._limits = limits
        self._planner = SchemaPlanner(limits=limits)
        self._compiled: tuple[SchemaPlan, MaskTrial] | None = None

    def find(self, question: Question) -> Finding:
        try:
            validator_of(question.schema, tool=False, limits=self._limits)
            check_profile(question.schema, question.profile)
            plan = self._planner.plan(question.schema, closed=question.strict)
            _check_policy(plan, question.policy)
            mask = self._mask(plan)
        except SchemaError as error:
            return Finding(error={"pointer": error.pointer, "message": error.message})
        rows = report(question.schema, plan)
        if question.instance is None:
            return Finding(plan=rows, compile_ms=mask.compile_ms)
        try:
            value = parse_json(question.instance)
        except NotJsonError as error:
            return Finding(None, rows, False, False, Errors((error.error,)), mask.compile_ms)
        errors = plan.validator.errors(value)
        try:
            accepted: bool | None = mask.accepts(value)
        except RecursionError:
            accepted = None  # it is nested too deeply to be tried
        return Finding(None, rows, accepted, not errors, errors, mask.compile_ms)

    def _mask(self, plan: SchemaPlan) -> MaskTrial:
        """The mask, which is kept for the next question: values of one schema come one after the other."""
        if self._compiled is None or self._compiled[0] is not plan:
            self._compiled = plan, MaskTrial(plan, self._tokens)
        return self._compiled[1]


def _check_policy(plan: SchemaPlan, policy: UnsupportedKeywords) -> None:
    named = unmasked_keywords(plan.unmasked)
    if policy is UnsupportedKeywords.REJECT and named:
        pointer = next(entry.pointer for entry in plan.unmasked if entry.keyword in ASSERTIONS)
        raise SchemaError(pointer, f"the mask cannot hold {named}")


def _lines(finding: Finding) -> Iterator[str]:
    """The finding as a table for people."""
    if finding.error is not None:
        yield f"refused: {finding.error['message']} ({finding.error['pointer']})"
        return
    cells = [HEAD, *((row.pointer, row.keyword, row.handling.value, row.why) for row in finding.plan)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
    masked = sum(row.handling is Handling.MASK for row in finding.plan)
    checked = sum(row.handling is Handling.CHECK for row in finding.plan)
    yield (
        f"{masked + checked} constraints: {masked} by the mask, {checked} checked afterwards. "
        f"Compiled in {finding.compile_ms} ms."
    )
    if finding.valid is not None:
        yield "The value fits." if finding.valid else "The value does not fit:"
        yield from (f"  {line}" for line in finding.errors.lines())


def _answer(line: str, checker: Checker) -> str:
    try:
        question = _asked(files.parse_json(line))
    except (ValueError, TypeError, KeyError) as error:
        known = f"; {error}" if isinstance(error, _OptionError) else ""
        wrong = {"pointer": "#", "message": f"A line is a JSON object with a 'schema'{known}."}
        return Finding(error=wrong).as_json()
    return checker.find(question).as_json()


class _OptionError(ValueError):
    """A `policy` or a `profile` that there is not."""


def _asked(line: Any) -> Question:
    return Question(
        line["schema"],
        json.dumps(line["instance"], ensure_ascii=False) if "instance" in line else None,
        strict=bool(line.get("strict")),
        policy=_option(line, "policy", UnsupportedKeywords.VALIDATE),
        profile=_option(line, "profile", SchemaProfile.NATIVE),
    )


def _option(line: Any, name: str, default: Member) -> Member:
    value, kind = line.get(name), type(default)
    if value is None:
        return default
    if value not in list(kind):
        raise _OptionError(f"its '{name}' is one of {', '.join(kind)}")
    return kind(value)


def _tokens(tokenizer: str | None) -> xgrammar.TokenizerInfo:
    if tokenizer is None:
        return byte_tokens()
    from transformers import AutoTokenizer

    from server.tokens.vocabulary import loading_fault

    try:
        return xgrammar.TokenizerInfo.from_huggingface(AutoTokenizer.from_pretrained(tokenizer))
    except (OSError, ValueError) as error:
        raise CommandError(f"The tokenizer '{tokenizer}' cannot be loaded: {loading_fault(error)}") from error
