"""A schema in, a plan out: what masks its values, and what is left to check.

plan = SchemaPlanner().plan({"type": "array", "uniqueItems": True}, closed=True)
plan.format           # {"type": "grammar", "grammar": "root ::= …"}, a part of a structural tag
plan.unmasked         # (Unmasked("#", "uniqueItems", "…"), …)
plan.validator        # checks the finished value against the whole schema

The mask allows only JSON. It allows what the schema does not only where the plan says so, and less than the
schema in these ways: keys come in the order of the schema, undeclared ones last; whole numbers are not
spelled `1.0`, and bounded ones have no exponent. A closed plan has, besides, the declared keys only where a
schema does not speak of others, and where no type is stated, the types that the keywords speak about.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from parsers.spelling import JSON, Spelling
from server.request import Schema
from server.schema.automata.languages import Languages
from server.schema.automata.properties import UnicodeProperties
from server.schema.check import check_schema, is_tool
from server.schema.contents import unmasked_contents
from server.schema.document import Document, SchemaError
from server.schema.emit.emit import emit
from server.schema.emit.places import outline_for
from server.schema.instance import InstanceValidator
from server.schema.lark.syntax import UnsupportedGrammar
from server.schema.lark.values import INPUT, lark_values
from server.schema.later import check_later
from server.schema.limits import DEFAULT_LIMITS, SchemaLimits
from server.schema.nodes import Values
from server.schema.normal.facts import KINDS, Kind
from server.schema.normal.normaliser import Normaliser
from server.schema.recent import Recent
from server.schema.unmasked import Ledger, Unmasked

MAX_GRAMMAR = 1_500_000
"""Characters of a plan's grammar; about 5 s of compiling, during which other grammars wait."""


class Root(Enum):
    """What the value as a whole may be."""

    ANY = "any"
    OBJECT = "object"
    """The arguments of a call: an object, even where the schema would admit something else."""

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return KINDS if self is Root.ANY else ("object",)


@dataclass(frozen=True, slots=True)
class SchemaPlan:
    """How the values of one schema are kept to it."""

    format: dict[str, str]
    """A structural tag format: XGrammar's EBNF of the value in its spelling."""
    unmasked: tuple[Unmasked, ...]
    """The constraints that the format does not hold."""
    validator: InstanceValidator
    """Checks a value against the whole schema, and so also what is unmasked."""
    outline: Mapping[str, Any]
    """The kinds of the value's parts, as a schema, for a reader that cannot tell them by their spelling."""
    values: Values = field(repr=False)
    """What the format spells, before it is spelled."""

    @property
    def exact(self) -> bool:
        """Whether the format allows nothing but values of the schema, each key written once."""
        return not self.unmasked


class SchemaPlanner:
    """Checks and plans schemas, and remembers the last `size` that it saw. Safe for threads."""

    def __init__(self, *, size: int = 256, limits: SchemaLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._plans = Recent[tuple[str, bool, Root, Spelling], SchemaPlan](size=size)
        self._validators = Recent[tuple[str, bool], InstanceValidator](size=size)
        self._lark_plans = Recent[tuple[str, Spelling], SchemaPlan](size=size)
        self._languages = Languages()
        self._properties = UnicodeProperties()

    def validator(self, schema: Schema, *, param: str, name: str) -> InstanceValidator:
        """Return what checks the values of a schema that itself is right, or raise as `check_schema` does."""
        key = (_text(schema), is_tool(param))
        return self._validators.get(
            key, lambda: check_schema(schema, param=param, name=name, limits=self._limits)
        )

    def plan(
        self, schema: Schema, *, closed: bool, root: Root = Root.ANY, spelling: Spelling = JSON
    ) -> SchemaPlan:
        """Plan a schema whose values are to be written in a spelling, or return the plan made before.

        With `closed`, an object that declares keys and says nothing of others has no others in the mask.
        Raises `SchemaError` if the schema is invalid, over a limit, or has no value at all.
        """
        key = (_text(schema), closed, root, spelling)
        return self._plans.get(key, lambda: self._plan(schema, spelling, closed=closed, root=root))

    def plan_lark(self, definition: str, schema: Schema, *, spelling: Spelling = JSON) -> SchemaPlan:
        """Plan the arguments of a custom tool, which are of the schema, for text of a Lark grammar.

        Raises `SchemaError` as `plan` does, and for a grammar that is not held.
        """
        return self._lark_plans.get(
            (definition, spelling), lambda: self._plan_lark(definition, schema, spelling)
        )

    def _plan_lark(self, definition: str, schema: Schema, spelling: Spelling) -> SchemaPlan:
        try:
            values = lark_values(definition, self._properties)
        except UnsupportedGrammar as fault:
            raise SchemaError(f"#/properties/{INPUT}", str(fault)) from fault
        validator = InstanceValidator(schema, Document.load(schema, self._limits).draft)
        return self._written(values, (), validator, spelling)

    def _plan(self, schema: Schema, spelling: Spelling, *, closed: bool, root: Root) -> SchemaPlan:
        document = Document.load(schema, self._limits)
        validator = InstanceValidator(schema, document.draft)
        check_later(document)
        normaliser = Normaliser(document, self._languages, closed=closed)
        try:
            values, unmasked = normaliser.values(root.kinds)
        except RecursionError:
            raise _too_deep() from None
        return self._written(values, (*unmasked, *unmasked_contents(document)), validator, spelling)

    def _written(
        self, values: Values, unmasked: Iterable[Unmasked], validator: InstanceValidator, spelling: Spelling
    ) -> SchemaPlan:
        """The plan of values, in their spelling."""
        ledger = Ledger()
        try:
            grammar = emit(values, spelling, self._languages, ledger)
            outline = outline_for(values, spelling)
        except RecursionError:
            raise _too_deep() from None
        if len(grammar) > MAX_GRAMMAR:
            raise SchemaError(
                "#", "the mask of the schema would be too large; drop parts of it that are not in use"
            )
        noted = (*unmasked, *ledger.entries())
        return SchemaPlan({"type": "grammar", "grammar": grammar}, noted, validator, outline, values)


def plan_schema(
    schema: Schema, *, closed: bool, root: Root = Root.ANY, spelling: Spelling = JSON
) -> SchemaPlan:
    """Plan a schema afresh; see `SchemaPlanner.plan`."""
    return SchemaPlanner(size=1).plan(schema, closed=closed, root=root, spelling=spelling)


def _too_deep() -> SchemaError:
    return SchemaError("#", "the schema is nested too deeply, its references followed")


def _text(schema: Schema) -> str:
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
