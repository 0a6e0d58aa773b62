r"""From the values of a schema to a grammar of their text.

print(emit(Values(Array((), Null()), {}), JSON))
# root ::= r2
# r0 ::= ", null" r0 | "]"
# r1 ::= "null" r0 | "]"
# r2 ::= "[" r1
"""

from parsers.spelling import Spelling
from server.schema.automata.languages import Languages
from server.schema.document import SchemaError
from server.schema.emit.ebnf import written
from server.schema.emit.kinds import names_of
from server.schema.emit.limited import LimitedTexts
from server.schema.emit.places import Place
from server.schema.emit.rules import Rules
from server.schema.emit.values import Grammar, ValueRules
from server.schema.nodes import Values
from server.schema.unmasked import Ledger


def emit(
    values: Values, spelling: Spelling, languages: Languages | None = None, ledger: Ledger | None = None
) -> str:
    """The EBNF of the values' text, from the rule `root` on.

    The ledger notes what the text is not held to although the values are, as only spellings without quotes
    need. Raises `SchemaError` if none of the values can be written in this spelling.
    """
    limited = LimitedTexts(languages or Languages(), Ledger() if ledger is None else ledger)
    grammar = Grammar(Rules(), values.definitions, limited, names_of(values))
    found = ValueRules.of(grammar, spelling).expression(values.root, Place.root(values))
    if found is None:
        raise SchemaError("#", "no value of the schema can be written in this model's form of calls")
    return grammar.rules.grammar(written(found))
