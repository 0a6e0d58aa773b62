r"""The arguments of a custom tool with a Lark grammar, as values: its one string `input`.

lark_values('start: "a"', properties)
# Values(Object((Property("input", Phrase(…), required=True),), ()), {})
"""

from server.schema.automata.pattern import Properties
from server.schema.lark.productions import productions_of
from server.schema.lark.reading import read_lark
from server.schema.nodes import Object, Phrase, Property, Values

INPUT = "input"
"""The name of a custom tool's text among its arguments."""


def lark_values(definition: str, properties: Properties) -> Values:
    """The values of the arguments. Raises `UnsupportedGrammar`."""
    phrase = Phrase(productions_of(read_lark(definition, properties)))
    return Values(Object((Property(INPUT, phrase, required=True),), ()), {})
