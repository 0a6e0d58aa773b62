r"""The validator's errors in words that a model can act on: what is expected, and what it wrote.

subject = Subject(schema, {"qty": "3"}, finder)
[list(told(error, subject)) for error in finder.iter_errors(subject.value)]
# [[Told(["qty"], "type", 'expected integer, got string "3"')]]

The validator decides what is wrong; only the words are ours.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jsonschema_rs import ValidationError, ValidationErrorKind

from server.schema.branches import Closest, Union, closest
from server.schema.finder import Finder, is_union
from server.schema.shown import chosen, counted, either, listed, literal, number, shown
from server.schema.twins import twins

Kind = ValidationErrorKind

EXAMPLES = {
    "date-time": "2024-05-17T09:30:00Z",
    "date": "2024-05-17",
    "time": "09:30:00Z",
    "duration": "P1DT2H",
    "email": "ann@example.com",
    "idn-email": "ann@example.com",
    "hostname": "example.com",
    "idn-hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/a",
    "uri-reference": "/a?b=c",
    "iri": "https://example.com/a",
    "iri-reference": "/a?b=c",
    "uri-template": "/a/{id}",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "json-pointer": "/a/0",
    "relative-json-pointer": "1/a",
    "regex": "^[a-z]+$",
}
"""One value of each format: a model follows an example better than a name."""


class Subject(NamedTuple):
    """The schema and the value, for what an error does not bring with it."""

    schema: Any
    value: Any
    finder: Finder | None = None
    """What found the errors, unless it was the validator itself."""

    def union(self, error: ValidationError) -> Union | None:
        """The branches of a union that an error stands for."""
        if self.finder is not None and is_union(error):
            return Union(self.finder.branches(error), depth=0)
        if isinstance(error.kind, Kind.AnyOf | Kind.OneOfNotValid | Kind.OneOfMultipleValid):
            return Union(error.kind.context, depth=len(error.instance_path))
        return None

    def rule(self, path: Sequence[str | int]) -> Any:
        """The part of the schema at a path; None where the path leads through a reference to elsewhere."""
        return _part(self.schema, path)

    def found(self, path: Sequence[str | int]) -> Any:
        """The part of the value at a path."""
        return _part(self.value, path)


def _part(whole: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        try:
            whole = whole[step]
        except (KeyError, IndexError, TypeError):
            return None
    return whole


class Told(NamedTuple):
    """One fault: where in the value, by which keyword of the schema, and the words for it."""

    path: Sequence[str | int]
    keyword: str
    message: str
    note: str = ""
    """Which branch of a union the value was taken to be meant for; of the innermost, if there are several."""


def told(error: ValidationError, subject: Subject) -> Iterator[Told]:
    """What one error comes to: one fault, or those of the branch of a union that the value is closest to."""
    union = subject.union(error)
    if union is None:
        yield Told(error.instance_path, keyword(error), _message(error, subject))
    elif fitting := [str(number) for number, errors in enumerate(union.branches, 1) if not errors]:
        branches = f"{', '.join(fitting[:-1])} and {fitting[-1]}"
        message = f"expected to fit one branch of oneOf, got {shown(error.instance)}, which fits {branches}"
        yield Told(error.instance_path, keyword(error), message)
    else:
        yield from _of_union(error, closest(union, subject.union), subject)


def _of_union(error: ValidationError, found: Closest, subject: Subject) -> Iterator[Told]:
    if not found.errors:
        yield Told(error.instance_path, keyword(error), _expected(either(found.kinds), error.instance))
        return
    note = f" (closest to branch {found.note} of {keyword(error)})" if found.note else ""
    above: Sequence[str | int] = ()
    if subject.finder is not None:
        # It looks at branches one by one, so the paths of their errors begin at the union's value.
        above, subject = error.instance_path, subject._replace(value=error.instance)
    for inner in found.errors:
        for fault in told(inner, subject):
            yield Told([*above, *fault.path], keyword(error), fault.message, fault.note or note)


_HOLDERS = (
    *("properties", "patternProperties", "additionalProperties", "items", "prefixItems", "additionalItems"),
    *("dependentSchemas", "dependencies", "contains", "propertyNames", "then", "else", "not"),
)
_NAMED_BY_THE_PATH = ("dependentRequired", "dependencies", "minContains", "maxContains")
_OF_A_PATTERN = (Kind.BacktrackLimitExceeded, Kind.RegexEngineFailure)


def keyword(error: ValidationError) -> str:
    """The keyword as the schema spells it; the validator's own name for it is now and then another."""
    path = error.schema_path
    if isinstance(error.kind, Kind.FalseSchema):
        return next((str(part) for part in reversed(path) if part in _HOLDERS), "not")
    if isinstance(error.kind, _OF_A_PATTERN):
        return "pattern"
    if isinstance(error.kind, Kind.Custom):
        return error.kind.keyword
    return str(path[-1]) if path and path[-1] in _NAMED_BY_THE_PATH else error.kind.name


def _expected(what: str, instance: Any) -> str:
    return f"expected {what}, got {shown(instance)}"


def _message(error: ValidationError, subject: Subject) -> str:
    """The words for a fault that is no union's."""
    for words in (_of_a_scalar, _of_an_object, _of_an_array):
        if (message := words(error, subject)) is not None:
            return message
    return _of_another(error, subject)


def _of_a_scalar(error: ValidationError, subject: Subject) -> str | None:
    value: Any = error.instance
    match error.kind:
        case Kind.Type(types):
            written = subject.rule(error.schema_path)
            return _expected(either(written if isinstance(written, list) else types), value)
        case Kind.Enum(options):
            return _expected(chosen(options) if options else "no value at all", value)
        case Kind.Constant(wanted):
            return _expected(literal(wanted), value)
        case Kind.MinLength(limit):
            return f"expected at least {counted(limit, 'character')}, got {len(value):,}: {literal(value)}"
        case Kind.MaxLength(limit):
            return f"expected at most {counted(limit, 'character')}, got {len(value):,}: {literal(value)}"
        case Kind.Pattern(pattern):
            return _expected(f"a string that matches the pattern {pattern}", value)
        case Kind.Format(name):
            example = f" such as {literal(EXAMPLES[name])}" if name in EXAMPLES else ""
            return _expected(f"a string in the format {name}{example}", value)
        case Kind.ContentEncoding(name) | Kind.ContentMediaType(name):
            return _expected(f"a string that holds {name}", value)
    return _of_a_number(error)


_BOUNDS: Mapping[type[Kind], str] = {
    Kind.Minimum: "at least",
    Kind.Maximum: "at most",
    Kind.ExclusiveMinimum: "more than",
    Kind.ExclusiveMaximum: "less than",
}


def _of_a_number(error: ValidationError) -> str | None:
    kind = error.kind
    if isinstance(kind, Kind.MultipleOf):
        return _expected(f"a multiple of {number(kind.multiple_of)}", error.instance)
    bound = _BOUNDS.get(type(kind))
    return None if bound is None else f"expected {bound} {literal(kind.value)}, got {literal(error.instance)}"


def _of_an_object(error: ValidationError, subject: Subject) -> str | None:
    value: Any = error.instance
    match error.kind:
        case Kind.Required(name):
            return f"expected the key {literal(name)}{_beside(error, subject)}, got {_keys(value)}"
        case Kind.AdditionalProperties(unexpected):
            return f"expected {_known_keys(error, subject)}, got {listed(unexpected, joint=' and ')}"
        case Kind.UnevaluatedProperties(unexpected):
            return f"expected {_further('key', error, subject)}, got {listed(unexpected, joint=' and ')}"
        case Kind.MinProperties(limit):
            return f"expected at least {counted(limit, 'key')}, got {len(value):,}"
        case Kind.MaxProperties(limit):
            return f"expected at most {counted(limit, 'key')}, got {len(value):,}"
        case Kind.PropertyNames(inner):
            faults = "; ".join(fault.message for fault in told(inner, subject))
            return f"the key {literal(inner.instance)} is wrong: {faults}"
    return None


def _keys(value: Mapping[str, Any]) -> str:
    if not value:
        return "an empty object"
    return f"only the key{'' if len(value) == 1 else 's'} {listed(dict(value), joint=' and ')}"


def _beside(error: ValidationError, subject: Subject) -> str:
    """For `dependentRequired`: the key that is there and asks for the missing one."""
    rules, keys = subject.rule(error.schema_path), subject.found(error.instance_path)
    if not isinstance(rules, dict) or not isinstance(error.kind, Kind.Required):
        return ""
    askers = [
        key
        for key, names in rules.items()
        if key in keys and isinstance(names, list) and error.kind.property in names
    ]
    return f" beside {literal(askers[0])}" if askers else ""


def _known_keys(error: ValidationError, subject: Subject) -> str:
    node = subject.rule(error.schema_path[:-1])
    known = node.get("properties") if isinstance(node, dict) else None
    if not isinstance(known, dict) or node.get("patternProperties"):
        return "no further keys"
    return f"no keys but {listed(known, joint=' and ')}" if known else "no keys"


def _further(noun: str, error: ValidationError, subject: Subject) -> str:
    """What `unevaluatedProperties` and `unevaluatedItems` allow."""
    allowed = subject.rule(error.schema_path)
    return f"no further {noun}s" if allowed in (False, None) else f"further {noun}s to fit {literal(allowed)}"


def _of_an_array(error: ValidationError, subject: Subject) -> str | None:
    value: Any = error.instance
    match error.kind:
        case Kind.MinItems(limit):
            return f"expected at least {counted(limit, 'item')}, got {len(value):,}"
        case Kind.MaxItems(limit) | Kind.AdditionalItems(limit):
            return f"expected at most {counted(limit, 'item')}, got {len(value):,}"
        case Kind.UnevaluatedItems(unexpected):
            return f"expected {_further('item', error, subject)}, got {counted(len(unexpected), 'other')}"
        case Kind.UniqueItems():
            first, second, item = twins(value)
            return f"expected items that all differ, got {literal(item)} at [{first}] and [{second}]"
        case Kind.Contains():
            return _of_contains(error, subject)
    return None


def _of_contains(error: ValidationError, subject: Subject) -> str:
    node = subject.rule(error.schema_path[:-1])
    node = node if isinstance(node, dict) else {}
    least, most = node.get("minContains", 1), node.get("maxContains")
    bounds = f"at least {least:,}" if most is None else f"from {least:,} to {most:,}"
    return _expected(f"{bounds} items that fit {literal(node.get('contains'))}", error.instance)


def _of_another(error: ValidationError, subject: Subject) -> str:
    match error.kind:
        case Kind.FalseSchema() if keyword(error) == "additionalProperties":
            # Where no key is known the validator names none either.
            return f"expected no keys, got {listed(subject.found(error.instance_path), joint=' and ')}"
        case Kind.FalseSchema():
            return _expected(_ABSENT.get(keyword(error), "no value here"), error.instance)
        case Kind.Not(refused):
            return _expected(f"a value that does not fit {literal(refused)}", error.instance)
        case Kind.BacktrackLimitExceeded() | Kind.RegexEngineFailure():
            return _expected("a string that the pattern can be matched with in bounded time", error.instance)
    return error.message


_ABSENT: Mapping[str, str] = {
    **dict.fromkeys(("properties", "patternProperties"), "this key to be absent"),
    **dict.fromkeys(("items", "prefixItems", "additionalItems", "contains"), "this item to be absent"),
    "propertyNames": "an object without keys",
}
