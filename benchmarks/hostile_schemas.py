"""Requests whose schemas, grammars and forms are meant to hurt a server, or have hurt one.

    $ python benchmarks/hostile_schemas.py
    B060, answer                                                       285 bytes
    …

Small ones are lines of `tests/data/engine/hostile.jsonl`; `B…` are the numbers of our collection of faults of
other servers. Large ones are made here. A schema comes as the strict form of an answer, and as the parameters
of a strict tool; what is a request already comes as it is.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.heavy_schemas import Schema, heavy_schemas, record, words

DATA = Path(__file__).parents[1] / "tests" / "data" / "engine" / "hostile.jsonl"
COMMON: dict[str, Any] = {
    "model": "SmolLM2-135M-Instruct",
    "messages": [{"role": "user", "content": "Count the blue boxes."}],
    "max_tokens": 3,
    "temperature": 0,
    "strictcall": {"on_violation": "report"},
}
"""A few tokens show that a mask works; that an answer breaks its schema is no fault of the server's."""

HUGE_NUMBER = "9" * 5_000
"""More digits than Python reads."""

NO_OBJECTS = frozenset(("enum", "const", "items", "contains"))
"""Keywords of schemas that are about other values, where they do not say of which type."""


@dataclass(frozen=True, slots=True)
class Row:
    """One request, as its body is sent."""

    name: str
    content: bytes


def rows() -> list[Row]:
    """All requests, in an order that stays the same."""
    lines = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    schemas = [(line["name"], line["schema"]) for line in lines if "schema" in line]
    bodies = [(line["name"], line["body"]) for line in lines if "body" in line]
    made = []
    for name, schema in [*schemas, *heavy_schemas()]:
        made += [
            Row(f"{name}, answer", encoded(in_answer(schema))),
            Row(f"{name}, tool", encoded(in_tool(schema))),
        ]
    made += [Row(name, encoded(body)) for name, body in [*bodies, *heavy_requests()]]
    number = encoded(in_answer({"const": "a number"})).replace(b'"a number"', HUGE_NUMBER.encode())
    return [*made, Row("a constant of 5,000 digits", number)]


def encoded(body: dict[str, Any]) -> bytes:
    """The body with what all have in common. JSON has no infinity, but a number that Python takes for it."""
    return json.dumps({**COMMON, **body}).replace("Infinity", "1e400").encode()


def in_answer(schema: Schema) -> dict[str, Any]:
    asked = {"name": "out", "schema": schema, "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": asked}}


def in_tool(schema: Schema) -> dict[str, Any]:
    return {"tools": [tool("f", parameters(schema))], "tool_choice": "required"}


def parameters(schema: Schema) -> Schema:
    """The schema itself if it may be that of an object, else that of a property."""
    if not isinstance(schema, dict):
        return schema
    if schema.get("type", "object") == "object" and NO_OBJECTS.isdisjoint(schema):
        return schema
    definitions = {key: schema[key] for key in ("$schema", "$defs") if key in schema}
    return {**definitions, **record(x=schema)}


def tool(name: str, schema: Schema) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": schema, "strict": True}}


def heavy_requests() -> Iterator[tuple[str, dict[str, Any]]]:
    """What is large as a whole."""
    yield from heavy_tools()
    yield from heavy_grammars()
    for name, form in heavy_forms():
        yield name, {"structured_outputs": form}


def heavy_record(unlike: int = 0) -> Schema:
    """Many bounds, and a pattern that no other number has."""
    ids = {"type": "array", "items": {"type": "string", "pattern": rf"^[\w.-]{{3,{32 + unlike}}}$"}}
    fields = {f"f{n}": {"type": "string", "minLength": n % 4, "maxLength": 60 + n + unlike} for n in range(9)}
    return record(**fields, ids={**ids, "maxItems": 50})


def tool_sets(count: int) -> list[Row]:
    """Requests of ten heavy tools each, of which none has a schema of another's."""
    return [
        Row(f"tools {at}", encoded({"tools": [tool(f"f{n}", heavy_record(10 * at + n)) for n in range(10)]}))
        for at in range(count)
    ]


def heavy_tools() -> Iterator[tuple[str, dict[str, Any]]]:
    heavy = heavy_record()
    many = [tool(f"f{n}", record(**{f"k{n}": heavy})) for n in range(64)]
    for choice in ("auto", "required"):
        yield f"64 heavy tools, {choice}", {"tools": many, "tool_choice": choice}
    named = {"type": "function", "function": {"name": "f7"}}
    yield "10 heavy tools, one named", {"tools": many[:10], "tool_choice": named}
    yield (
        "128 tools with 40 choices",
        {"tools": [tool(f"f{n}", record(a={"enum": words(40, 30)})) for n in range(128)]},
    )
    yield "1,000 tools", {"tools": [tool(f"f{n}", record(a={"type": "string"})) for n in range(1_000)]}
    large = [tool(f"f{n}", parameters(schema)) for n, (_, schema) in enumerate(heavy_schemas())]
    yield "10 tools with large schemas", {"tools": large[:10]}
    yield "a heavy tool and a heavy format", {**in_answer(heavy), "tools": [tool("f", heavy)]}


def heavy_grammars() -> Iterator[tuple[str, dict[str, Any]]]:
    """Lark grammars of custom tools."""
    words = " | ".join(f'"k{number:05d}"' for number in range(2_900))
    rules = "".join(f'r{number}: r{(number + 1) % 900} | "x"\n' for number in range(900))
    yield "a Lark grammar of 2,900 words", lark(f"start: {words}")
    yield "a Lark grammar of 1 MB", lark('start: "a"\n' + "// x\n" * 200_000)
    yield "a Lark grammar of nested counts", lark('start: (("(" start ")") ~ 0..900) ~ 0..900 | "x"')
    yield "a Lark grammar of empty loops", lark('start: ((start? ""*)*)* "x" | ""')
    yield "a Lark grammar of circles", lark(f"start: r0\n{rules}")
    yield "a Lark grammar of many states", lark("start: /(a|b)*a(a|b){40}/")
    yield "a Lark grammar without an end", lark('start: "x" start')
    yield "a Lark grammar of 3,000 brackets", lark(f"start: {'(' * 3_000}B{')' * 3_000}")


def lark(definition: str) -> dict[str, Any]:
    grammar = {"syntax": "lark", "definition": definition}
    custom = {"name": "f", "format": {"type": "grammar", "grammar": grammar}}
    return {"tools": [{"type": "custom", "custom": custom}], "tool_choice": "required"}


def heavy_forms() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "3,000 choices", {"choice": words(3_000, 6)}
    yield "20,000 choices", {"choice": words(20_000, 20)}
    yield "a choice of 30 KB", {"choice": ["x" * 30_000]}
    yield "a regex of 30 KB", {"regex": "[a-z0-9]" * 3_500}
    yield "a regex of 1 MB", {"regex": "a" * 1_000_000}
    yield "a regex of 3,000 brackets", {"regex": "(" * 3_000 + ")" * 3_000}
    rules = "".join(f'r{n} ::= "a" r{n + 1} | [b-z] r{n + 1}\n' for n in range(900))
    yield "a grammar of 900 rules", {"grammar": f'root ::= r0\n{rules}r900 ::= "z"'}
    yield "a grammar of 3,000 brackets", {"grammar": f'root ::= {"(" * 3_000}"a"{")" * 3_000}'}
    deep: dict[str, Any] = {"type": "any_text"}
    for _ in range(90):
        deep = {"type": "sequence", "elements": [deep]}
    yield "a tag 90 deep", {"structural_tag": {"type": "structural_tag", "format": deep}}
    yield "a schema 20,000 deep, as text", {"json": '{"items":' * 20_000 + "{}" + "}" * 20_000}


def main() -> None:
    for row in rows():
        print(f"{row.name:<60}{len(row.content):>10,} bytes")


if __name__ == "__main__":
    main()
