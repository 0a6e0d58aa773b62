r"""Schemas as tools have them, with values that they allow: made by chance, and always the same.

    $ python benchmarks/tool_schemas.py
    {"schema": {"type": "object", "properties": {"priority": …}}, "outputs": ["{\"priority\": …}", …]}

Lengths, patterns, formats, ranges, enums, nested objects, and unions that a property tells apart.
"""

import json
import random
from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]
Field = tuple[Schema, Callable[[random.Random], Any]]
"""A schema, and what makes a value of it."""

SEED = 7
OUTPUTS = 3
"""Of each schema."""
WORDS = (
    *("order", "status", "report", "weekly", "team", "deploy", "review", "the", "a", "quick", "draft", "v2"),
    *("Zürich", "“note”", "日本", '"as', 'is"'),
)
KEYS = (
    *(
        "title",
        "query",
        "summary",
        "owner",
        "priority",
        "labels",
        "address",
        "due_date",
        "amount",
        "quantity",
    ),
    *("currency", "channel", "callback", "contact", "page", "limit", "items", "options", "filters", "target"),
    *("reason", "comment", "attachment", "region", "language"),
)
PATTERNS: dict[str, Callable[[random.Random], str]] = {
    "^ORD-[0-9]{8}$": lambda chance: f"ORD-{chance.randrange(10**8):08}",
    "^[a-z0-9]+(-[a-z0-9]+)*$": lambda chance: "-".join(chance.choices(["ab", "x1", "news"], k=3)),
    r"^\+[1-9][0-9]{7,14}$": lambda chance: f"+{chance.randrange(10**9, 10**12)}",
    "^#[0-9a-fA-F]{6}$": lambda chance: f"#{chance.randrange(16**6):06x}",
    r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$": lambda chance: (
        f"{chance.randrange(9)}.{chance.randrange(40)}.1"
    ),
    "^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$": lambda chance: f"DE89{chance.randrange(10**15, 10**18)}",
    r"^[\w.-]{3,32}$": lambda chance: f"user.{chance.randrange(1_000)}",
}
FORMATS: dict[str, Callable[[random.Random], str]] = {
    "date": lambda chance: f"2026-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}",
    "date-time": lambda chance: f"2026-11-{chance.randint(1, 30):02}T12:30:00Z",
    "email": lambda chance: f"ada{chance.randrange(99)}@mail.example.org",
    "uri": lambda chance: f"https://example.org/items/{chance.randrange(999)}?q=a%20b",
    "uuid": lambda chance: "2eb8aa08-aa98-11ea-b4aa-" + f"{chance.randrange(16**12):012x}",
    "ipv4": lambda chance: f"192.168.{chance.randrange(256)}.{chance.randrange(256)}",
}  # fmt: skip


def prose(chance: random.Random, most: int) -> str:
    text = " ".join(chance.choices(WORDS, k=max(1, most // 8)))
    return text[:most].strip() or "a"


def text(chance: random.Random) -> Field:
    most = chance.choice([16, 32, 40, 64, 80, 100, 120, 140, 200, 255])
    schema = {"type": "string", "minLength": chance.choice([0, 1, 1, 3]), "maxLength": most}
    return schema, lambda draw: "abc" + prose(draw, min(most - 3, 90))


def free_text(_: random.Random) -> Field:
    return {"type": "string", "description": "As the user put it."}, lambda draw: prose(draw, 90)


def pattern(chance: random.Random) -> Field:
    chosen = chance.choice(list(PATTERNS))
    return {"type": "string", "pattern": chosen}, PATTERNS[chosen]


def formatted(chance: random.Random) -> Field:
    name = chance.choice(list(FORMATS))
    return {"type": "string", "format": name}, FORMATS[name]


def choice(chance: random.Random) -> Field:
    words = [f"{word}_{chance.randrange(100)}" for word in chance.sample(KEYS, chance.randint(2, 9))]
    return {"type": "string", "enum": words}, lambda draw: draw.choice(words)


def integer(chance: random.Random) -> Field:
    least, most = chance.choice([(0, 100), (1, 50), (1, 65_535), (-90, 90), (1_900, 2_100), (0, 10**6)])
    return {"type": "integer", "minimum": least, "maximum": most}, lambda draw: draw.randint(least, most)


def number(chance: random.Random) -> Field:
    schema: Schema = chance.choice(
        [
            {"type": "number", "minimum": 0},
            {"type": "number", "minimum": -180, "maximum": 180},
            {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.01},
            {"type": "number"},
        ]
    )
    return schema, lambda draw: draw.randint(1, 17_999) / 100


def boolean(_: random.Random) -> Field:
    return {"type": "boolean", "default": False}, lambda draw: draw.random() < 0.5


def nullable(chance: random.Random) -> Field:
    schema, value = chance.choice([text, integer, formatted, choice])(chance)
    return {"anyOf": [schema, {"type": "null"}]}, lambda draw: value(draw) if draw.random() < 0.7 else None


def both(chance: random.Random) -> Field:
    """A length and a pattern that stand in two places, as code that composes schemas writes them."""
    most = chance.choice([20, 30, 48])
    parts = [{"type": "string", "maxLength": most}, {"pattern": "^[A-Za-z]"}]
    return {"allOf": parts}, lambda draw: "Re " + prose(draw, most - 3)


def listed(chance: random.Random) -> Field:
    schema, value = chance.choice([text, choice, pattern, integer, record])(chance)
    most = chance.choice([3, 5, 10, 20])
    whole = {"type": "array", "items": schema, "minItems": chance.choice([0, 1]), "maxItems": most}
    return whole, lambda draw: [value(draw) for _ in range(draw.randint(1, 3))]


def union(chance: random.Random) -> Field:
    """One of three objects, which a constant property tells apart."""
    branches = [record(chance, kind=kind) for kind in ("user", "group", "channel")]
    return {"oneOf": [schema for schema, _ in branches]}, lambda draw: draw.choice(branches)[1](draw)


def record(chance: random.Random, *, kind: str | None = None, fields: int = 3, depth: int = 1) -> Field:
    simple = [text, text, free_text, pattern, formatted, choice, integer, number, boolean, nullable, both]
    makers = chance.choices(simple + [listed, listed, record, union] * (depth > 1), k=fields)
    members = {key: make(chance) for key, make in zip(chance.sample(KEYS, fields), makers, strict=True)}
    if kind is not None:
        members = {"kind": ({"const": kind}, lambda _: kind), **members}
    required = [key for key in members if key == "kind" or chance.random() < 0.6]
    schema = {
        "type": "object",
        "properties": {key: schema for key, (schema, _) in members.items()},
        "required": required,
        "additionalProperties": False,
    }
    return schema, lambda draw: {
        key: value(draw) for key, (_, value) in members.items() if key in required or draw.random() < 0.5
    }


def tools(count: int) -> list[tuple[Schema, list[str]]]:
    """Schemas of tools, each with the texts of some of its values."""
    made = []
    for place in range(count):
        chance = random.Random(SEED * 1_000 + place)  # noqa: S311 - the same every time is the point
        schema, value = record(chance, fields=chance.randint(3, 9), depth=2)
        made.append((schema, [json.dumps(value(chance), ensure_ascii=False) for _ in range(OUTPUTS)]))
    return made


def main() -> None:
    for schema, outputs in tools(50):
        print(json.dumps({"schema": schema, "outputs": outputs}, ensure_ascii=False))


if __name__ == "__main__":
    main()
