"""What the nodes of a schema allow, for tests.

values_of({"not": {"const": 1}}).allows(1)      # False
"""

from dataclasses import dataclass
from typing import Any

from server.schema.automata.languages import Languages
from server.schema.document import Document
from server.schema.nodes import Node, Reference, Values
from server.schema.normal.normaliser import Normaliser
from server.schema.normal.values import arranged

LANGUAGES = Languages()


@dataclass(frozen=True)
class Meaning:
    values: Values
    noted: list[tuple[str, str]]
    """What a mask of them does not hold, keys that are written twice aside."""

    def allows(self, value: Any) -> bool:
        return arranged(self.values.root, value, self) is not None

    def arranged(self, value: Any) -> Any:
        found = arranged(self.values.root, value, self)
        assert found is not None
        return found[0]

    def seen(self, node: Node) -> Node:
        while isinstance(node, Reference):
            node = self.values.definitions[node.name]
        return node

    @property
    def root(self) -> Node:
        return self.seen(self.values.root)


def meaning_of(schema: Any, *, closed: bool = False) -> Meaning:
    """Normalise a schema. Raises `SchemaError` if no value satisfies it."""
    values, unmasked = Normaliser(Document.load(schema), LANGUAGES, closed=closed).values()
    noted = [(entry.pointer, entry.keyword) for entry in unmasked if entry.keyword != "duplicate_key"]
    return Meaning(values, noted)


def wrong_of(schema: Any, good: list[Any], bad: list[Any]) -> list[Any]:
    """The values that the nodes of a schema judge otherwise than they should; all, if something is noted."""
    meaning = meaning_of(schema)
    if meaning.noted:
        return [*meaning.noted, *good, *bad]
    return [value for value in good if not meaning.allows(value)] + [v for v in bad if meaning.allows(v)]
