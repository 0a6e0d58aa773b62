"""Check a finished value: is it JSON, and does it fit the schema, all of it.

validator = InstanceValidator({"properties": {"items": {"items": {"required": ["id"]}}}})
validator.errors({"items": [{}]})
# [InstanceError("$.items[0]", "required", '"id" is a required property')]
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import jsonschema_rs

from server.schema.document import SchemaError
from server.schema.drafts import Draft, detect_draft, with_draft

MAX_ERRORS = 20
"""Errors that are told of one value."""
_MAX_INT_DIGITS = 4_000
"""Digits that Python reads as an int; longer numbers are read as decimals."""
_BACKTRACKING = jsonschema_rs.FancyRegexOptions(backtrack_limit=100_000)


@dataclass(frozen=True, slots=True)
class InstanceError:
    """What is wrong with a value, and where: `path` is like `$.items[2].qty`."""

    path: str
    keyword: str
    """The schema's keyword; `json` and `duplicate_key` where the text itself is at fault."""
    message: str


class NotJsonError(ValueError):
    """A text that is not JSON, or not JSON that may be passed on."""

    def __init__(self, error: InstanceError) -> None:
        super().__init__(error.message)
        self.error = error


class InstanceValidator:
    """One schema, compiled. Formats are asserted; nothing is ever fetched. Safe for threads."""

    def __init__(self, schema: Any, draft: Draft | None = None) -> None:
        """Raises `SchemaError` if the schema is not valid, or refers to what is not in it."""
        draft = draft or detect_draft(schema)
        try:
            self._validator = jsonschema_rs.validator_for(
                with_draft(schema, draft), validate_formats=True, offline=True, pattern_options=_BACKTRACKING
            )
        except jsonschema_rs.ValidationError as error:
            raise SchemaError(_pointer(error.instance_path), error.message) from error
        except (jsonschema_rs.ReferencingError, ValueError) as error:
            raise SchemaError("#", str(error)) from error

    def errors(self, value: Any) -> list[InstanceError]:
        """What breaks the schema, at most `MAX_ERRORS` of it, in the validator's order."""
        found: list[InstanceError] = []
        for error in self._validator.iter_errors(value):
            found.append(InstanceError(json_path(error.instance_path), _keyword(error), error.message))
            if len(found) == MAX_ERRORS:
                break
        return found


_HOLDERS = (
    *("properties", "patternProperties", "additionalProperties", "items", "prefixItems", "additionalItems"),
    *("dependentSchemas", "dependencies", "contains", "propertyNames", "then", "else", "not"),
)


def _keyword(error: jsonschema_rs.ValidationError) -> str:
    """The keyword as the schema spells it; the validator's own name for it is now and then another."""
    path = error.schema_path
    if error.kind.name == "falseSchema":
        return next((str(part) for part in reversed(path) if part in _HOLDERS), "not")
    if path and path[-1] in ("dependentRequired", "dependencies", "minContains", "maxContains"):
        return str(path[-1])
    return error.kind.name


def json_path(path: Sequence[str | int]) -> str:
    """`["items", 2, "a b"]` is `$.items[2]["a b"]`."""
    text = "$"
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if part.isidentifier() else f"[{json.dumps(part, ensure_ascii=False)}]"
    return text


def _pointer(path: Sequence[str | int]) -> str:
    return "/".join(("#", *(str(part).replace("~", "~0").replace("/", "~1") for part in path)))


def parse_json(text: str) -> Any:
    """Read JSON strictly: no NaN or Infinity, no lone surrogates, no key twice in one object.

    Numbers that a float or a short int cannot hold come as `Decimal`. Raises `NotJsonError`, whose keyword is
    `json` or `duplicate_key`.
    """
    try:
        value = json.loads(
            text,
            object_pairs_hook=_distinct,
            parse_constant=_refuse_constant,
            parse_float=_read_float,
            parse_int=_read_int,
        )
    except json.JSONDecodeError as error:
        message = f"the text is not JSON: {error.msg} at character {error.pos}"
        raise NotJsonError(InstanceError("$", "json", message)) from error
    except RecursionError as error:
        raise NotJsonError(InstanceError("$", "json", "the value is nested too deeply")) from error
    if "\\u" in text or not _is_encodable(text):
        _refuse_surrogates(value)
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        # `add` returns None, which is false: the first key that is there already is the one.
        key = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        message = f"the key {json.dumps(key)} stands twice in one object"
        raise NotJsonError(InstanceError("$", "duplicate_key", message))
    return value


def _refuse_constant(name: str) -> Any:
    raise NotJsonError(InstanceError("$", "json", f"{name} is not JSON"))


def _read_float(text: str) -> float | Decimal:
    value = float(text)
    if math.isfinite(value):
        return value
    try:
        return Decimal(text)
    except InvalidOperation:
        message = f"the number {text[:40]} is out of any range"
        raise NotJsonError(InstanceError("$", "json", message)) from None


def _read_int(text: str) -> int | Decimal:
    return int(text) if len(text) <= _MAX_INT_DIGITS else Decimal(text)


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse_surrogates(value: Any) -> None:
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            pending += part
            pending += part.values()
        elif isinstance(part, list):
            pending += part
        elif isinstance(part, str) and not _is_encodable(part):
            message = f"the string {json.dumps(part)} has half of a surrogate pair"
            raise NotJsonError(InstanceError("$", "json", message))
