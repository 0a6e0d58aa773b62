"""A schema in, a plan out: what masks its values, and what is left to check.

plan = SchemaPlanner().plan({"type": "array", "uniqueItems": True}, closed=True)
plan.format           # {"type": "grammar", "grammar": "root ::= …"}, a part of a structural tag
plan.unmasked         # (Unmasked("#", "uniqueItems", "…"), …)
plan.validator        # checks the finished value against the whole schema
"""

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any

import xgrammar

from server.request import Schema
from server.schema.check import check_schema, is_tool
from server.schema.document import Document, SchemaError
from server.schema.fragments import Fragments
from server.schema.instance import InstanceValidator
from server.schema.limits import DEFAULT_LIMITS, SchemaLimits
from server.schema.lower import SchemaLowering
from server.schema.members import TYPES
from server.schema.prune import prune
from server.schema.recent import Recent
from server.schema.unmasked import Unmasked

MAX_GRAMMAR = 1_500_000
"""Characters of a plan's grammar; about 5 s of compiling, during which other grammars wait."""


class Root(Enum):
    """What the value as a whole may be."""

    ANY = "any"
    OBJECT = "object"
    """The arguments of a call: an object, even where the schema would admit something else."""


@dataclass(frozen=True, slots=True)
class SchemaPlan:
    """How the values of one schema are kept to it."""

    format: dict[str, str]
    """A structural tag format: XGrammar's EBNF of the value as JSON, spelled with `", "` and `": "`."""
    unmasked: tuple[Unmasked, ...]
    """The constraints that the format does not hold."""
    validator: InstanceValidator
    """Checks a value against the whole schema, and so also what is unmasked."""

    @property
    def exact(self) -> bool:
        """Whether the format allows nothing but values of the schema, each key written once."""
        return not self.unmasked


class SchemaPlanner:
    """Checks and plans schemas, and remembers the last `size` that it saw. Safe for threads."""

    def __init__(self, *, size: int = 256, limits: SchemaLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._plans = Recent[tuple[str, bool, Root], SchemaPlan](size=size)
        self._validators = Recent[tuple[str, bool], InstanceValidator](size=size)

    def validator(self, schema: Schema, *, param: str, name: str) -> InstanceValidator:
        """Return what checks the values of a schema that itself is right, or raise as `check_schema` does."""
        key = (_text(schema), is_tool(param))
        return self._validators.get(
            key, lambda: check_schema(schema, param=param, name=name, limits=self._limits)
        )

    def plan(self, schema: Schema, *, closed: bool, root: Root = Root.ANY) -> SchemaPlan:
        """Plan a schema, or return the plan made before.

        With `closed`, an object that declares keys and says nothing of others has no others in the mask.
        Raises `SchemaError` if the schema is invalid, over a limit, or has no value at all.
        """
        key = (_text(schema), closed, root)
        return self._plans.get(
            key, lambda: plan_schema(schema, closed=closed, root=root, limits=self._limits)
        )


def plan_schema(
    schema: Schema, *, closed: bool, root: Root = Root.ANY, limits: SchemaLimits = DEFAULT_LIMITS
) -> SchemaPlan:
    """Plan a schema afresh; see `SchemaPlanner.plan`."""
    document = Document.load(schema, limits)
    validator = InstanceValidator(schema, document.draft)
    fragments = Fragments(_text(schema))
    lowering = SchemaLowering(document, fragments, closed=closed)
    try:
        lowered = lowering.lower([document.root], TYPES if root is Root.ANY else ("object",))
        masked, definitions = prune(lowered, lowering.definitions)
    except RecursionError:
        raise SchemaError("#", "the schema is nested too deeply, its references followed") from None
    if masked is None:
        raise SchemaError("#", "no value satisfies the schema; its constraints contradict each other")
    grammar = fragments.write(_convert({**masked, "$defs": definitions} if definitions else masked))
    if len(grammar) > MAX_GRAMMAR:
        raise SchemaError(
            "#", "the mask of the schema would be too large; drop parts of it that are not in use"
        )
    return SchemaPlan({"type": "grammar", "grammar": grammar}, lowering.ledger.entries(), validator)


def _convert(masked: dict[str, Any]) -> str:
    try:
        grammar = xgrammar.Grammar.from_json_schema(
            json.dumps(masked, ensure_ascii=False), any_whitespace=False, strict_mode=False
        )
    except RuntimeError as error:
        raise SchemaError("#", f"the mask cannot hold the schema: {_last_line(error)}") from error
    return str(grammar)


def _last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1]


def _text(schema: Schema) -> str:
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
