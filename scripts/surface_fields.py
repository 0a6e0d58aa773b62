"""Every field that a client may send, by API: is it supported, ignored, or refused with which error?

    field_table()     # [("temperature", "yes", "yes", "yes", "yes"), ("store", "ignored", "yes", "", ""), …]

It is read from the bodies' own types, so that it cannot say what the server does not do. Where an API has no
word for a field, its cell is empty: such a field is ignored, and named in the log.
"""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from server.api.body_types import Ignored, Unsupported
from server.api.chat.request import ChatRequestBody
from server.api.completions.request import CompletionsRequestBody
from server.api.messages.request import MessagesRequestBody
from server.api.responses.request import ResponseRequestBody

SURFACES: Mapping[str, type[BaseModel]] = {
    "chat": ChatRequestBody,
    "responses": ResponseRequestBody,
    "messages": MessagesRequestBody,
    "completions": CompletionsRequestBody,
}
"""The body of each API, in the order of the table's columns."""

SUPPORTED = "yes"
IGNORED = "ignored"


def field_table() -> list[tuple[str, ...]]:
    """Return one row for each field of any API: its path, and a cell for each of `SURFACES`."""
    cells = {api: dict(_fields(body)) for api, body in SURFACES.items()}
    paths = dict.fromkeys(path for fields in cells.values() for path in fields)
    return [(path, *(cells[api].get(path, "") for api in SURFACES)) for path in paths]


def _fields(body: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Yield path and cell of each field, those of the objects in it behind it."""
    merged: dict[str, list[str]] = {}
    for path, said in _walk(body, "", ()):
        merged.setdefault(path, []).extend(each for each in said if each not in merged.get(path, ()))
    for path, said in merged.items():
        # What is ignored in one kind of object, and read in another, is read.
        kept = [each for each in said if each != IGNORED or SUPPORTED not in said]
        yield path, "; ".join(kept)


def _walk(
    body: type[BaseModel], prefix: str, within: tuple[type[BaseModel], ...]
) -> Iterator[tuple[str, list[str]]]:
    for name, field in body.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        marks = [*field.metadata, *_marks(field.annotation)]
        said = _said(field, marks)
        yield path, said
        if SUPPORTED not in said:
            continue
        for inner, listed in _objects(field.annotation, listed=False):
            if inner not in (*within, body):
                yield from _walk(inner, f"{path}{'[]' if listed else ''}.", (*within, body))


def _said(field: FieldInfo, marks: list[Any]) -> list[str]:
    """What is done with a field: the values it may not have have errors of their own."""
    if any(isinstance(mark, Unsupported) and not mark.values for mark in field.metadata):
        refused = next(mark for mark in field.metadata if isinstance(mark, Unsupported))
        others = " and ".join(f"`{value}`" for value in refused.but if value is not None)
        return [f"`{refused.code}`" + (f" but for {others}" if others else "")]
    said = [IGNORED if any(isinstance(mark, Ignored) for mark in field.metadata) else SUPPORTED]
    for mark in marks:
        if isinstance(mark, Unsupported) and mark.values:
            values = ", ".join(f"`{_spelled(value)}`" for value in mark.values)
            said.append(f"{values}: `{mark.code}`")
    return said


def _spelled(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _marks(annotation: Any) -> Iterator[Any]:
    """The marks of what stands in a type, but for those of the fields of objects in it."""
    for part in get_args(annotation):
        if isinstance(part, Unsupported):
            yield part
        else:
            yield from _marks(part)


def _objects(annotation: Any, *, listed: bool) -> Iterator[tuple[type[BaseModel], bool]]:
    """The objects that a type may hold, and whether they are items of an array."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, listed
    array = getattr(annotation, "__origin__", None) is list
    for part in get_args(annotation):
        yield from _objects(part, listed=listed or array)
