r"""A Lark grammar's text as what it says.

read_lark('start: WORD+\nWORD: /[a-z]+/', properties)
# LarkGrammar({"start": Repeated(Name("WORD"), 1, None), "WORD": Literal(…)}, ignored=())

What only steers a parse, and no text, is read and means nothing here: aliases, and the signs before the names
of rules. What would change which texts are meant is refused.
"""

from collections.abc import Mapping

from server.schema.automata.pattern import Properties
from server.schema.lark.common import COMMON
from server.schema.lark.literals import range_part, regexp_part, string_part
from server.schema.lark.syntax import (
    MAX_COUNT,
    MAX_LENGTH,
    START,
    Expansion,
    Expansions,
    Expression,
    LarkGrammar,
    Literal,
    Name,
    Repeated,
    UnsupportedGrammar,
    is_terminal,
    quoted,
)
from server.schema.lark.tokens import Kind, Token, tokens_of

_MAX_DEPTH = 50
_REPEATS: Mapping[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_ATOMS = (Kind.NAME, Kind.STRING, Kind.REGEXP)
_WAYS_OUT = {
    "%declare": "give the terminal a string or a regular expression",
    "%override": "write the definition that you mean",
    "%extend": "write the definition that you mean",
}


def read_lark(definition: str, properties: Properties) -> LarkGrammar:
    """Read a grammar whose names are all defined. Raises `UnsupportedGrammar`."""
    if len(definition) > MAX_LENGTH:
        raise UnsupportedGrammar(f"the grammar is too long: at most {MAX_LENGTH:,} characters can be a mask")
    reader = _Reader(definition, properties)
    reader.read()
    if START not in reader.definitions:
        raise UnsupportedGrammar(f"the grammar has no rule '{START}', with which the text begins")
    return LarkGrammar(reader.definitions, tuple(reader.ignored))


class _Reader:
    def __init__(self, definition: str, properties: Properties) -> None:
        self.definitions: dict[str, Expression] = {}
        self.ignored: list[Expression] = []
        self._tokens = list(tokens_of(definition))
        self._at = 0
        self._used: dict[str, tuple[int, str]] = {}
        """The names in use: the line of the first use, and what is being defined there."""
        self._owner = ""
        self._properties = properties

    def read(self) -> None:
        while self._peek().kind is not Kind.END:
            if self._take_kind(Kind.LINE):
                continue
            if directive := self._take_kind(Kind.DIRECTIVE):
                self._directive(directive)
            else:
                self._definition()
            if not self._take_kind(Kind.LINE) and self._peek().kind is not Kind.END:
                raise self._unexpected("the end of the line")
        self._check_names()

    def _check_names(self) -> None:
        for name, (line, owner) in self._used.items():
            if name not in self.definitions:
                what = "terminal" if is_terminal(name) else "rule"
                common = f"; %import common.{name} has it" if name in COMMON else ""
                raise UnsupportedGrammar(f"line {line}: there is no {what} {quoted(name)}{common}")
            if is_terminal(owner) and not is_terminal(name):
                raise UnsupportedGrammar(
                    f"line {line}: the terminal {quoted(owner)} is made of the rule {quoted(name)}: "
                    "make that a terminal, or this a rule"
                )

    # Statements.

    def _definition(self) -> None:
        while self._take("?") or self._take("!"):
            pass
        token = self._expect(Kind.NAME, "a rule, a terminal or a directive")
        if self._peek().text == "{":
            raise self._fault("templates are not held: write the rule out for each use")
        if self._take("."):
            raise self._fault(
                "priorities are not held, as they choose between readings and not texts: drop it"
            )
        self._sign(":")
        self._owner = token.text
        self._define(token, self._expansions(0))

    def _define(self, token: Token, expression: Expression) -> None:
        if token.text in self.definitions:
            raise self._fault(f"{quoted(token.text)} is defined twice")
        self.definitions[token.text] = expression

    def _directive(self, token: Token) -> None:
        if token.text == "%ignore":
            # What is ignored is a terminal, whether or not it has a name.
            self._owner = "IGNORED"
            self.ignored.append(self._expansions(0))
        elif token.text == "%import":
            self._import()
        else:
            way_out = _WAYS_OUT.get(token.text, "only %import and %ignore are")
            raise self._fault(f"{quoted(token.text)} is not held: {way_out}")

    def _import(self) -> None:
        path = "." if self._take(".") else ""
        library = path + self._expect(Kind.NAME, "a name").text
        if library != "common":
            raise self._fault(f"only terminals of 'common' can be imported, not of {quoted(library)}")
        if self._take("("):
            while True:
                self._imported(self._expect(Kind.NAME, "a name"))
                if not self._take(","):
                    break
            self._sign(")")
            return
        self._sign(".")
        token = self._expect(Kind.NAME, "a name")
        self._imported(token, self._expect(Kind.NAME, "a name") if self._take("->") else token)

    def _imported(self, token: Token, name: Token | None = None) -> None:
        if token.text not in COMMON:
            raise self._fault(f"there is no terminal {quoted(token.text)} in 'common'")
        self._define(name or token, Literal(regexp_part(COMMON[token.text], self._properties)))

    # Expressions.

    def _expansions(self, depth: int) -> Expression:
        if depth > _MAX_DEPTH:
            raise self._fault("the groups are nested too deeply")
        ways = [self._expansion(depth)]
        while self._next_way():
            ways.append(self._expansion(depth))
        return ways[0] if len(ways) == 1 else Expansions(tuple(ways))

    def _next_way(self) -> bool:
        """Step over a `|`, at the end of the line or at the beginning of the next."""
        if self._peek().kind is Kind.LINE and self._tokens[self._at + 1].text == "|":
            self._at += 1
        return self._take("|")

    def _expansion(self, depth: int) -> Expression:
        parts = []
        while (token := self._peek()).kind in (Kind.NAME, Kind.STRING, Kind.REGEXP) or token.text in (
            "(",
            "[",
        ):
            parts.append(self._repeated(self._atom(depth)))
        if self._take("->"):
            self._expect(Kind.NAME, "the name of an alias")
        return parts[0] if len(parts) == 1 else Expansion(tuple(parts))

    def _atom(self, depth: int) -> Expression:
        token = self._next()
        if token.text == "(":
            group = self._expansions(depth + 1)
            self._sign(")")
            return group
        if token.text == "[":
            group = self._expansions(depth + 1)
            self._sign("]")
            return Repeated(group, 0, 1)
        if token.kind is Kind.NAME:
            if self._peek().text == "{":
                raise self._fault("templates are not held: write the rule out for each use")
            self._used.setdefault(token.text, (token.line, self._owner))
            return Name(token.text)
        try:
            return self._literal(token)
        except UnsupportedGrammar as fault:
            raise UnsupportedGrammar(f"line {token.line}: {fault}") from None

    def _literal(self, token: Token) -> Expression:
        if token.kind is Kind.REGEXP:
            return Literal(regexp_part(token.text, self._properties))
        if self._take(".."):
            return Literal(range_part(token.text, self._expect(Kind.STRING, "a string").text))
        return Literal(string_part(token.text))

    def _repeated(self, part: Expression) -> Expression:
        sign = self._peek().text
        if sign in _REPEATS:
            self._at += 1
            return Repeated(part, *_REPEATS[sign])
        if not self._take("~"):
            return part
        least = self._count()
        most = self._count() if self._take("..") else least
        if most < least:
            raise self._fault(f"the count ~ {least}..{most} is malformed")
        return Repeated(part, least, most)

    def _count(self) -> int:
        text = self._expect(Kind.NUMBER, "a number").text
        if not text.isdecimal() or len(text) > 9 or int(text) > MAX_COUNT:
            raise self._fault(f"a count must be a number up to {MAX_COUNT:,}: use * or + for more")
        return int(text)

    # Tokens.

    def _peek(self) -> Token:
        return self._tokens[self._at]

    def _next(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _take(self, sign: str) -> bool:
        taken = self._peek().text == sign
        self._at += taken
        return taken

    def _take_kind(self, kind: Kind) -> Token | None:
        return self._next() if self._peek().kind is kind else None

    def _sign(self, sign: str) -> None:
        if not self._take(sign):
            raise self._unexpected(f"'{sign}'")

    def _expect(self, kind: Kind, what: str) -> Token:
        token = self._take_kind(kind)
        if token is None:
            raise self._unexpected(what)
        return token

    def _unexpected(self, expected: str) -> UnsupportedGrammar:
        return self._fault(f"{expected} is expected, and not {self._peek()}")

    def _fault(self, message: str) -> UnsupportedGrammar:
        return UnsupportedGrammar(f"line {self._peek().line}: {message}")
