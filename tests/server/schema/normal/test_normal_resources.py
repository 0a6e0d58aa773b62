"""Where references lead."""

from typing import Any

import pytest

from server.schema.document import Document
from server.schema.normal.resources import Resources
from tests.server.schema.normal.meaning import meaning_of, wrong_of

DOCUMENT = Document.load(
    {
        "$id": "http://x.y/root.json",
        "$defs": {
            "a/b": {"$anchor": "here"},
            "c": {"$id": "inner/c.json", "$defs": {"d": {"$anchor": "here", "type": "null"}}},
            "e": {"$id": "urn:example:e", "$defs": {"f": {}}},
        },
    }
)


@pytest.mark.parametrize(
    ("reference", "at", "target"),
    [
        ("#", "#", "#"),
        ("#/$defs/a~1b", "#", "#/$defs/a~1b"),
        ("#here", "#", "#/$defs/a~1b"),
        ("root.json", "#/$defs/a~1b", "#"),
        ("http://x.y/root.json#here", "#/$defs/c", "#/$defs/a~1b"),
        ("inner/c.json", "#", "#/$defs/c"),
        ("inner/c.json#/$defs/d", "#", "#/$defs/c/$defs/d"),
        ("#here", "#/$defs/c", "#/$defs/c/$defs/d"),
        ("#", "#/$defs/c/$defs/d", "#/$defs/c"),
        ("urn:example:e#/$defs/f", "#", "#/$defs/e/$defs/f"),
        ("#/$defs/f", "#/$defs/e", "#/$defs/e/$defs/f"),
        ("#nowhere", "#", None),
        ("#/$defs/z", "#", None),
        ("other.json", "#", None),
    ],
)
def test_references_are_read_against_their_own_resource(reference: str, at: str, target: str | None) -> None:
    """By pointer, by anchor, by address."""
    nodes = {node.pointer: node for node in DOCUMENT.walk()}
    found = Resources(DOCUMENT).target(reference, nodes[at])

    assert (found and found.pointer) == target


EXACT: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "the outermost dynamic anchor": (
        {
            "$id": "http://x.y/strings",
            "$ref": "list",
            "$defs": {
                "own": {"$dynamicAnchor": "item", "type": "string"},
                "list": {
                    "$id": "list",
                    "type": "array",
                    "items": {"$dynamicRef": "#item"},
                    "$defs": {"any": {"$dynamicAnchor": "item"}},
                },
            },
        },
        [["a"]],
        [[1]],
    ),
    "the same list by itself": (
        {"$id": "http://x.y/list", "type": "array", "items": {"$dynamicRef": "#item"}}
        | {"$defs": {"any": {"$dynamicAnchor": "item", "type": "integer"}}},
        [[1]],
        [["a"]],
    ),
    "a tree of its own kind": (
        {
            "$schema": "https://json-schema.org/draft/2019-09/schema",
            "$id": "http://x.y/outer",
            "$recursiveAnchor": True,
            "$ref": "tree",
            "unevaluatedProperties": False,
            "$defs": {
                "tree": {
                    "$id": "tree",
                    "$recursiveAnchor": True,
                    "type": "object",
                    "properties": {"next": {"$recursiveRef": "#"}},
                }
            },
        },
        [{"next": {"next": {}}}],
        [{"next": {"other": 1}}, {"next": 1}],
    ),
    "draft 7 reads nothing beside $ref": (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "items": {"$ref": "#/definitions/a", "type": "null"},
            "definitions": {"a": {"type": "integer"}},
            "type": "array",
        },
        [[1]],
        [[None]],
    ),
}


@pytest.mark.parametrize(("schema", "good", "bad"), EXACT.values(), ids=EXACT)
def test_references_mean_what_the_drafts_say(schema: Any, good: list[Any], bad: list[Any]) -> None:
    """Dynamic ones as well, within the document."""
    assert wrong_of(schema, good, bad) == []


def test_a_reference_to_what_is_not_in_the_document_is_noted() -> None:
    """Metaschemas, which the check knows."""
    meaning = meaning_of({"$ref": "https://json-schema.org/draft/2020-12/schema"})

    assert meaning.noted == [("#", "$ref")]
    assert meaning.allows({"type": "strin"})
