"""Finds the errors of a value without trying every branch of every union in it.

The validator's own list holds, for a union that fails, the errors of all its branches, and so of all unions
below them: a tree of expressions, seven levels deep, takes it minutes. Here a union is one error until
somebody asks for its branches, and whether a value fits a branch is asked of the validator, which remembers.

    finder = Finder({"anyOf": [{"type": "null"}, {"minimum": 5}]}, options)
    [error] = finder.iter_errors(3)             # kind Custom("anyOf", …)
    finder.branches(error)                 # [[<3 is not of type "null">], [<3 is less than 5>]]
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from jsonschema_rs import Registry, ValidationError, ValidationErrorKind, Validator, validator_for

UNIONS = ("anyOf", "oneOf")
_BY_THE_WHOLE = frozenset(("$dynamicRef", "$recursiveRef", "unevaluatedItems", "unevaluatedProperties"))
"""Keywords by which a branch means something else when it is looked at by itself."""
_BASES = ("$id", "id")
_METASCHEMAS = "://json-schema.org/"
"""What references to metaschemas have in them: the unions there are not the schema's own."""
_ROOT = "strictcall://schema/root"


class Finder:
    """Finds the errors of values of one schema, which is valid. Safe for threads."""

    def __init__(self, schema: Any, options: Mapping[str, Any]) -> None:
        self._schema = schema
        self._options = options
        self._registry = Registry([(_ROOT, schema)])
        self._validators: dict[tuple[str, bool], Validator] = {}
        self._keywords = {name: _union_of(name, self) for name in UNIONS}

    def iter_errors(self, value: Any) -> Iterator[ValidationError]:
        return self._validator("").iter_errors(value)

    def branches(self, error: ValidationError) -> list[list[ValidationError]]:
        """The errors of each branch of a union that failed; their paths begin at its value."""
        places = self.places(error.schema_path)
        return [list(self._validator(place).iter_errors(error.instance)) for place in places]

    def fits(self, place: str, value: Any) -> bool:
        # The validator's own unions: it remembers what it has tried, and calls nobody back.
        return self._validator(place, own=True).is_valid(value)

    def places(self, path: Sequence[str | int]) -> list[str]:
        """The fragments of the branches of the union at a path of the schema."""
        branches = self._schema
        for step in path:
            branches = branches[step]
        parts = [quote(str(step).replace("~", "~0").replace("/", "~1")) for step in path]
        return ["/".join(("", *parts, str(number))) for number in range(len(branches))]

    def _validator(self, place: str, *, own: bool = False) -> Validator:
        if (place, own) not in self._validators:
            schema = {"$ref": f"{_ROOT}#{place}"}
            keywords = {} if own else self._keywords
            validator = validator_for(schema, registry=self._registry, keywords=keywords, **self._options)
            self._validators[place, own] = validator
        return self._validators[place, own]


def can_find(schema: Any) -> bool:
    """Whether each branch of the schema's unions means the same by itself."""
    pending: list[Any] = [{**schema, **dict.fromkeys(_BASES)}] if isinstance(schema, dict) else []
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            has_base = any(isinstance(part.get(base), str) for base in _BASES)
            if has_base or not _BY_THE_WHOLE.isdisjoint(part) or _METASCHEMAS in str(part.get("$ref")):
                return False
            pending += part.values()
        elif isinstance(part, list):
            pending += part
    return True


def is_union(error: ValidationError) -> bool:
    """Whether an error of a finder stands for a union."""
    return isinstance(error.kind, ValidationErrorKind.Custom) and error.kind.keyword in UNIONS


def _union_of(name: str, finder: Finder) -> type[Any]:
    """The keyword in place of the validator's own, which says whether, and no more."""

    class Union:
        def __init__(self, _parent: Any, _branches: Any, path: list[str | int]) -> None:
            self._places = finder.places(path)

        def validate(self, instance: Any) -> None:
            fitting = sum(finder.fits(place, instance) for place in self._places)
            if fitting == 0 or (name == "oneOf" and fitting > 1):
                raise ValueError(name)

    return Union
