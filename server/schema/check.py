"""Refuse a schema before any model time is spent, in OpenAI's words.

check_schema({"type": "strin"}, param="tools[0].function.parameters", name="get_weather")
# ApiError: Invalid schema for function 'get_weather': In context=('type',), "strin" is not valid under …
"""

from typing import Any
from urllib.parse import unquote

from server.errors import ApiError, Code
from server.schema.bounds import check_bounds
from server.schema.document import Document, Located, SchemaError
from server.schema.instance import InstanceValidator
from server.schema.later import check_later
from server.schema.limits import DEFAULT_LIMITS, SchemaLimits
from server.schema.normal.resources import Resources


def check_schema(
    schema: Any, *, param: str, name: str, limits: SchemaLimits = DEFAULT_LIMITS
) -> InstanceValidator:
    """Return what checks the schema's values; raise `ApiError` unless the schema can be used at all.

    It must be within the limits, valid against the metaschema of its draft, and refer to nothing outside
    itself: nothing is ever fetched. The parameters of a tool must also describe an object. `param` is where
    the client wrote it: `tools[0].function.parameters`, or `response_format.json_schema.schema`.
    """
    try:
        return validator_of(schema, tool=is_tool(param), limits=limits)
    except SchemaError as error:
        raise schema_refused(error, param=param, name=name) from error


def validator_of(schema: Any, *, tool: bool, limits: SchemaLimits = DEFAULT_LIMITS) -> InstanceValidator:
    """As `check_schema`, but raises `SchemaError`. With `tool` the schema must describe an object."""
    if not isinstance(schema, dict | bool):
        raise SchemaError("#", f"a schema is an object or a boolean, not {_kind(schema)}")
    document = Document.load(schema, limits)
    _check_references(document)
    check_bounds(document, limits)
    validator = InstanceValidator(schema, document.draft)
    check_later(document)
    if tool:
        _check_object(document)
    return validator


def schema_refused(error: SchemaError, *, param: str, name: str) -> ApiError:
    """The response for a schema that `check_schema` or a planner cannot use."""
    if is_tool(param):
        kind, subject = Code.INVALID_TOOLS, f"function '{name}'"
    else:
        kind, subject = Code.INVALID_SCHEMA, f"response_format '{name}'"
    context = tuple(_unescape(part) for part in error.pointer.split("/")[1:])
    return ApiError(kind, f"Invalid schema for {subject}: In context={context}, {error.message}.", param)


def is_tool(param: str) -> bool:
    """Whether `param` is the place of a tool's parameters, which describe an object."""
    return param.startswith(("tools", "functions"))


def _unescape(token: str) -> str:
    return unquote(token).replace("~1", "/").replace("~0", "~")


def _kind(value: Any) -> str:
    names = {type(None): "null", str: "a string", list: "an array"}
    return names.get(type(value), "a number")


def _check_references(document: Document) -> None:
    """Say where a reference fails; the validator, which also refuses it, says only that it does."""
    resources = Resources(document)
    for node in () if document.has_embedded_resources else document.walk():
        reference = node.schema.get("$ref") if isinstance(node.schema, dict) else None
        if not isinstance(reference, str) or resources.target(reference, node) is not None:
            continue
        if reference.startswith("#"):
            raise SchemaError(node.pointer, f"the reference {reference!r} leads nowhere in the schema")
        if not _is_known(reference):
            raise SchemaError(
                node.pointer, f"the reference {reference!r} leads outside the schema; copy it into $defs"
            )


def _is_known(reference: str) -> bool:
    """Metaschemas come with the validator."""
    return reference.partition("://")[2].startswith("json-schema.org/")


def _check_object(document: Document) -> None:
    node: Located | None = document.root
    seen: set[Located] = set()
    while node is not None and node not in seen and isinstance(node.schema, dict):
        seen.add(node)
        kind = node.schema.get("type", "object")
        if "object" not in ([kind] if isinstance(kind, str) else kind):
            raise SchemaError(
                "#", f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'"
            )
        reference = node.schema.get("$ref")
        node = document.resolve(reference) if isinstance(reference, str) else None
    if node is not None and node.schema is False:
        raise SchemaError("#", "schema must be a JSON Schema of 'type: \"object\"', got 'false'")
