"""Check a finished value: is it JSON, and does it fit the schema, all of it.

validator = InstanceValidator({"properties": {"items": {"items": {"required": ["id"]}}}})
validator.errors({"items": [{}]})
# Errors((InstanceError("$.items[0]", "required", 'expected the key "id", got an empty object'),), more=0)
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import islice
from typing import Any, overload

import jsonschema_rs

from server.schema.document import Document, SchemaError
from server.schema.drafts import Draft, detect_draft, with_draft
from server.schema.finder import Finder, can_find
from server.schema.references import is_recursive
from server.schema.wording import Subject, told

MAX_ERRORS = 20
"""Errors that are told of one value."""
MAX_COUNTED = 1_000
"""Errors that are counted; no reader needs to know how many more there are."""
_MAX_INT_DIGITS = 4_000
"""Digits that Python reads as an int; longer numbers are read as decimals."""
_FIRST_INEXACT = 2.0**53
_LONGEST = 10**_MAX_INT_DIGITS - 1
_LATER_FORMATS = (
    *("duration", "idn-hostname", "iri", "iri-reference", "json-pointer", "relative-json-pointer"),
    *("uri-reference", "uri-template", "uuid"),
)
"""Formats that draft 4, 6 or 7 does not know. Whoever names one means it, whatever `$schema` stands above."""
OPTIONS: Mapping[str, Any] = {
    "validate_formats": True,
    "formats": {
        name: jsonschema_rs.validator_for({"format": name}, validate_formats=True).is_valid
        for name in _LATER_FORMATS
    },
    "offline": True,
    "pattern_options": jsonschema_rs.RegexOptions(),
}
BACKTRACKING: Mapping[str, Any] = {
    **OPTIONS,
    "pattern_options": jsonschema_rs.FancyRegexOptions(backtrack_limit=100_000),
}
"""For schemas whose patterns look around or refer back.

Not for all: its library takes "a" for `^a+b*a+$` (jsonschema-rs 0.60.3), and may give up on a long text.
"""


@dataclass(frozen=True, slots=True)
class InstanceError:
    """What is wrong with a value, and where: `path` is like `$.items[2].qty`."""

    path: str
    keyword: str
    """The schema's keyword; `json` and `duplicate_key` where the text itself is at fault."""
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


@dataclass(frozen=True, slots=True)
class Errors(Sequence[InstanceError]):
    """All that is wrong with one value. The first `MAX_ERRORS` are told, `more` are only counted."""

    told: tuple[InstanceError, ...] = ()
    more: int = 0

    def __len__(self) -> int:
        return len(self.told)

    @overload
    def __getitem__(self, index: int) -> InstanceError: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[InstanceError, ...]: ...
    def __getitem__(self, index: int | slice) -> InstanceError | tuple[InstanceError, ...]:
        return self.told[index]

    def lines(self) -> list[str]:
        """One line an error, for a model or a person: `$.qty: expected integer, got string "3"`."""
        more = [f"… and {self.more:,} more errors"] if self.more else []
        return [*map(str, self.told), *more]


NO_ERRORS = Errors()


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
        self._schema = with_draft(schema, draft)
        self._finder = None
        self._says_where = True
        try:
            self._validator, options = _compiled(self._schema)
            if can_find(schema):
                self._finder = Finder(self._schema, options)
            else:
                # Without the finder, a tree of unions would be tried in every way.
                self._says_where = not is_recursive(Document(schema, draft))
        except jsonschema_rs.ValidationError as error:
            raise SchemaError(_pointer(error.instance_path), error.message) from error
        except (jsonschema_rs.ReferencingError, ValueError) as error:
            raise SchemaError("#", str(error)) from error

    def errors(self, value: Any) -> Errors:
        """What breaks the schema, in the validator's order and in words for a model."""
        if self._validator.is_valid(value):
            return NO_ERRORS
        if not self._says_where:
            message = (
                "expected a value that fits the schema, which refers to itself in too many ways to say more"
            )
            return Errors((InstanceError("$", "$ref", message),))
        found = dict.fromkeys(islice(self._faults(_writable(value)), MAX_COUNTED))
        if not found:
            # Only a number that was cut for the report was at fault.
            found = {InstanceError("$", "json", "expected numbers of fewer digits"): None}
        return Errors(tuple(found)[:MAX_ERRORS], max(len(found) - MAX_ERRORS, 0))

    def _faults(self, value: Any) -> Iterator[InstanceError]:
        subject = Subject(self._schema, value, self._finder)
        for error in (self._finder or self._validator).iter_errors(value):
            for path, keyword, message, note in told(error, subject):
                yield InstanceError(json_path(path), keyword, message + note)


def _compiled(schema: Any) -> tuple[jsonschema_rs.Validator, Mapping[str, Any]]:
    try:
        return jsonschema_rs.validator_for(schema, **OPTIONS), OPTIONS
    except jsonschema_rs.ValidationError:
        return jsonschema_rs.validator_for(schema, **BACKTRACKING), BACKTRACKING


def _writable(value: Any) -> Any:
    """The value with every number short enough that Python lets it be written."""
    match value:
        case dict():
            return {key: _writable(item) for key, item in value.items()}
        case list():
            return [_writable(item) for item in value]
        case Decimal() if len(value.as_tuple().digits) > _MAX_INT_DIGITS:
            return -_LONGEST if value.is_signed() else _LONGEST
        case bool():
            return value
        case int() if abs(value) > _LONGEST:
            return _LONGEST if value > 0 else -_LONGEST
    return value


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

    Whole numbers come as `int` where a float would not have all their digits, and numbers that neither can
    hold as `Decimal`. Raises `NotJsonError`, whose keyword is
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


def _read_float(text: str) -> float | int | Decimal:
    value = float(text)
    if abs(value) < _FIRST_INEXACT:
        return value
    if math.isfinite(value):
        # Of a large number, a float has only the first digits: 2^53 + 1 would be even.
        exact = Decimal(text)
        return int(exact) if exact == exact.to_integral_value() else value
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
