"""What held one answer to its schemas, and what it broke: told to clients who ask for it.

coverage(constraint)
# Coverage(masked=(Rule(Subject.TOOL, "tag", "#/properties/tags", "type"), …), checked=(…))
Verdict(attempts=2, violations=((1, Violation(…)),), coverage=None)
"""

from collections.abc import Iterator
from dataclasses import dataclass

from server.answering.validate import Subject, Violation
from server.mask.constrain import NO_ARGUMENTS, Constraint
from server.request import Schema
from server.schema.report import Handling, constraints
from server.schema.unmasked import Unmasked
from server.telemetry.labels import Held


@dataclass(frozen=True, slots=True)
class Rule:
    """One constraint of the schema of a tool, or of the answer's format."""

    subject: Subject
    name: str
    pointer: str
    keyword: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """The constraints of a request's schemas, by who holds them."""

    masked: tuple[Rule, ...]
    checked: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one choice came about: `violations` with the number of the attempt, those that passed included.

    `coverage` is None where the client did not ask for it.
    """

    attempts: int
    violations: tuple[tuple[int, Violation], ...]
    coverage: Coverage | None

    @property
    def said(self) -> bool:
        """Whether clients are told of it: if they asked, and if something passed that is wrong."""
        return self.coverage is not None or any(violation.passes for _, violation in self.violations)


def coverage(constraint: Constraint) -> Coverage:
    """Go through every schema of a request that can be broken. Takes a while where they are large."""
    held: dict[Handling, list[Rule]] = {handling: [] for handling in Handling}
    for rule, handling in _rules(constraint):
        held[handling].append(rule)
    return Coverage(tuple(held[Handling.MASK]), tuple(held[Handling.CHECK]))


def _rules(constraint: Constraint) -> Iterator[tuple[Rule, Handling]]:
    for name, call in constraint.calls.items():
        schema = NO_ARGUMENTS if call.tool.parameters is None else call.tool.parameters
        masked = call.held is Held.SCHEMA
        yield from _handled(Subject.TOOL, name, schema, call.unmasked, masked=masked)
    if (answer := constraint.answer) is not None:
        yield from _handled(Subject.FORMAT, answer.name, answer.schema, answer.unmasked, masked=answer.masked)


def _handled(
    subject: Subject, name: str, schema: Schema, unmasked: tuple[Unmasked, ...], *, masked: bool
) -> Iterator[tuple[Rule, Handling]]:
    for row in constraints(schema, unmasked):
        handling = row.handling if masked or row.handling is Handling.ANNOTATION else Handling.CHECK
        yield Rule(subject, name, row.pointer, row.keyword), handling
