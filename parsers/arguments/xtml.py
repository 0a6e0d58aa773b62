r"""The argument style of Kimi K3, in whose markup three tokens stand for the brackets of tags.

    <|open|>call tool="f" index="1"<|sep|>
    <|open|>argument key="a" type="string"<|sep|>text<|close|>argument<|sep|>
    <|open|>argument key="n" type="number"<|sep|>1<|close|>argument<|sep|>
    <|close|>call<|sep|>

(on one line). Each argument says its type: text stands as it is, and all else is JSON. Only in names and
keys are `&` and `"` escaped. A value holds no end of an argument.
"""

from dataclasses import dataclass
from typing import Any

from parsers.arguments.json_text import write_json
from parsers.arguments.kinds import kind_of, kinds, properties, resolved, standalone
from parsers.arguments.style import Call, CallableTool, Frame, Schema, Tools
from parsers.arguments.tagged import ANY_KEY, text_format
from parsers.arguments.xtml_reader import ARGUMENT, CALL, END_OF_ARGUMENT, END_OF_CALL, SEP, XtmlReader
from parsers.formats import Format, either, json_schema, optional, regex, sequence, star, tag, text

DEEPEST_UNION = 3
"""Unions that the mask follows inside each other; behind that it holds a value to its type."""

_TYPES = ("string", "number", "boolean", "null", "object", "array")


@dataclass(frozen=True, slots=True)
class Xtml:
    """The format has no variants."""

    opening = CALL
    closing = END_OF_CALL

    def cue(self, _name: str) -> str:
        return ""

    def frame(self, tool: CallableTool) -> Frame:
        number = sequence(regex("[1-9][0-9]{0,3}"), text('"' + SEP))
        return Frame(_before_number(tool.name), sequence(number, _arguments(tool.schema)), END_OF_CALL)

    def write(self, call: Call) -> str:
        arguments = (_write(key, value) for key, value in call.arguments.items())
        return f'{_before_number(call.name)}{call.number + 1}"{SEP}{"".join(arguments)}{END_OF_CALL}'

    def reader(self, tools: Tools) -> XtmlReader:
        return XtmlReader(tools)


def _before_number(name: str) -> str:
    return f'{CALL} tool="{_escaped(name)}" index="'


def _escaped(value: str) -> str:
    return value.replace("&", "&amp;").replace('"', "&quot;")


def _before_value(key: str, named: str) -> str:
    return f'{ARGUMENT} key="{_escaped(key)}" type="{named}"{SEP}'


def _write(key: str, value: Any) -> str:
    spelled = value if isinstance(value, str) else write_json(value)
    if END_OF_ARGUMENT in spelled:
        raise ValueError(f"The value of '{key}' holds '{END_OF_ARGUMENT}', by which values end.")
    return _before_value(key, _type_of(kind_of(value))) + spelled + END_OF_ARGUMENT


def _type_of(kind: str) -> str:
    return "number" if kind == "integer" else kind


# The mask.


def _arguments(schema: Schema) -> Format:
    """The arguments of a call, in the order of the schema's properties."""
    named = properties(schema, schema)
    required = resolved(schema, schema).get("required", ())
    if not named:
        return text("") if schema.get("additionalProperties") is False else star(_any_argument())
    arguments = ((key, _argument(key, value, schema)) for key, value in named.items())
    return sequence(*(one if key in required else optional(one) for key, one in arguments))


def _argument(key: str, schema: Any, root: Schema) -> Format:
    values = _values(schema, root)
    return either([tag(_before_value(key, named), value, END_OF_ARGUMENT) for named, value in values])


def _any_argument() -> Format:
    behind_key = [tag(f'" type="{named}"{SEP}', value, END_OF_ARGUMENT) for named, value in _values({}, {})]
    return sequence(text(ARGUMENT + ' key="'), regex(ANY_KEY), either(behind_key))


def _values(schema: Any, root: Schema, depth: int = 0) -> list[tuple[str, Format]]:
    """The values that a schema allows, each with the type that its tag says."""
    allowed = kinds(schema, root)
    schema = resolved(schema, root) if depth < DEEPEST_UNION else {}
    for branches in (schema.get("anyOf"), schema.get("oneOf")):
        if isinstance(branches, list) and branches:
            return [value for branch in branches for value in _values(branch, root, depth + 1)]
    choices = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(choices, list):
        allowed = frozenset(map(kind_of, choices))
    return [
        (named, _value(schema, root, named, allowed))
        for named in _TYPES
        if named in map(_type_of, sorted(allowed))
    ]


def _value(schema: Schema, root: Schema, named: str, allowed: frozenset[str]) -> Format:
    """A value of the type `named`, which is one of several that the schema may allow."""
    if named == "string":
        return text_format(_of_type(schema, "string"), END_OF_ARGUMENT)
    kind = "integer" if named == "number" and "number" not in allowed else named
    return json_schema(standalone(_of_type(schema, kind), root))


def _of_type(schema: Schema, kind: str) -> Schema:
    """The schema with nothing but values of one type."""
    choices = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(choices, list):
        return {"enum": [choice for choice in choices if _type_of(kind_of(choice)) == _type_of(kind)]}
    return {**schema, "type": kind}
