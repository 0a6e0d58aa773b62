r"""Given values as text.

spelled({"a": [1]}, JSON)           # '{"a": [1]}'
inside("it's", PYTHON.text)         # "it\\'s"
"""

from collections.abc import Iterator, Mapping
from typing import Any

from parsers.arguments.json_text import write_json
from parsers.spelling import Escapes, Spelling, TextForm

_LETTERS = {"\n": "n", "\r": "r"}


def spelled(value: Any, spelling: Spelling) -> str | None:
    """The text of a value in a spelling that is the same at all places, or None if it has none."""
    match value:
        case None:
            return spelling.null
        case bool():
            return spelling.true if value else spelling.false
        case str():
            text = inside(value, spelling.text)
            return None if text is None else spelling.text.begin + text + spelling.text.end
        case Mapping():
            return _object(value, spelling)
        case list() | tuple():
            return _array(value, spelling)
        case _:
            return _number(value)


def inside(text: str, form: TextForm) -> str | None:
    """The text as it stands between its begin and its end, if it can."""
    if any(mark in text for mark in form.never):
        return None
    match form.escapes:
        case Escapes.JSON:
            return write_json(text)[1:-1]
        case Escapes.ENTITY:
            return text.replace("&", "&amp;").replace('"', "&quot;")
        case Escapes.LITERAL:
            escaped = {"\\", form.end, *_LETTERS}
            return "".join("\\" + _LETTERS.get(char, char) if char in escaped else char for char in text)
        case Escapes.NONE:
            return text


def _number(value: Any) -> str | None:
    try:
        return write_json(value)
    except ValueError:
        # No double holds it.
        return None


def _array(items: list[Any] | tuple[Any, ...], spelling: Spelling) -> str | None:
    form, inner = spelling.items, spelling.within or spelling
    written = [spelled(item, inner) for item in items]
    return None if None in written else form.begin + form.separator.join(filter(None, written)) + form.end


def _object(members: Mapping[str, Any], spelling: Spelling) -> str | None:
    form = spelling.members
    pairs = sorted(members.items()) if form.is_sorted else members.items()
    written = list(_members(dict(pairs), spelling))
    return None if None in written else form.begin + form.separator.join(filter(None, written)) + form.end


def _members(members: Mapping[str, Any], spelling: Spelling) -> Iterator[str | None]:
    form, inner = spelling.members, spelling.within or spelling
    for name, value in members.items():
        key, text = inside(name, form.key), spelled(value, inner)
        if key is None or text is None:
            yield None
            continue
        yield form.key.begin + key + form.key.end + form.equals + text
