"""Rules that stand on both sides of themselves, written so that a text is read in one way.

untangled({"e": (("e", PLUS, "e"), ("e", BANG), (MINUS, "e"), (NUMBER,))})
# {"e": (("e#behind",), ("e", PLUS, "e#behind")),
#  "e#behind": (("e#before",), ("e#behind", BANG)),
#  "e#before": ((NUMBER,), (MINUS, "e#before"))}

The texts are the same. As it is mostly written, `expr: expr "+" expr | NUMBER` has a parse for each way to
put parentheses into a sum, and a sum of 400 numbers took XGrammar ten seconds.
"""

from collections.abc import Iterator, Mapping

from server.schema.lark.syntax import Way, Ways


def untangled(rules: Mapping[str, Ways]) -> dict[str, Ways]:
    """The rules without those that both begin and end with themselves."""
    found: dict[str, Ways] = {}
    for name in rules:
        found |= _split(name, tuple(_opened(name, rules)))
    return found


def _opened(name: str, rules: Mapping[str, Ways]) -> Iterator[Way]:
    """The ways of a rule; those of a rule that leads back to it in place of that rule's name."""
    for way in rules[name]:
        inner = rules.get(way[0], ()) if len(way) == 1 and isinstance(way[0], str) else ()
        if way == (name,):
            continue
        leads_back = any(name in _edges(each) for each in inner)
        if leads_back and not any(way[0] in each for each in inner):
            yield from inner
        else:
            yield way


def _split(name: str, ways: Ways) -> dict[str, Ways]:
    """The operands, with what is before them, behind them and between them, in a rule each."""
    between = [way[1:-1] for way in ways if len(way) > 1 and way[0] == name == way[-1]]
    behind = [way[1:] for way in ways if way[:1] == (name,) != way[-1:]]
    before = [way[:-1] for way in ways if way[:1] != (name,) == way[-1:]]
    if not between and not (behind and before):
        return {name: ways}
    found: dict[str, Ways] = {}
    operands = tuple(way for way in ways if name not in _edges(way))
    if before:
        inner = f"{name}#before"
        found[inner] = (*operands, *((*way, inner) for way in before))
        operands = ((inner,),)
    outer = f"{name}#behind"
    found[outer] = (*operands, *((outer, *way) for way in behind))
    return found | {name: ((outer,), *((name, *way, outer) for way in between))}


def _edges(way: Way) -> Way:
    return way[:1] + way[-1:]
