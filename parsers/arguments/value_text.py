r"""A value that is no text and stands between tags: its text is collected until it is whole.

value = ValueText()
value.add('{"a": "</value>')
value.in_string     # True: the tag is part of the string
value.take()        # '{"a": "</value>'
"""

from parsers.arguments.json_lexer import JsonLexer


class ValueText:
    """Collects one value after the other."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._lexer = JsonLexer()

    @property
    def in_string(self) -> bool:
        """Whether the value is an object or an array so far, and a string in it is not closed yet."""
        return self._lexer.in_nested_string

    def add(self, text: str) -> None:
        self._pieces.append(text)
        self._lexer.read(text)

    def take(self) -> str:
        """The value, which is whole; the next one is another."""
        text = "".join(self._pieces)
        self._pieces.clear()
        self._lexer = JsonLexer()
        return text
