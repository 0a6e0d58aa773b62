r"""EBNF of our own inside the EBNF that XGrammar makes of a schema.

XGrammar's converter has no way to say "this rule here", so a constant stands in the schema and is replaced
in its output: `fragments.value('"true" | "false"')` gives `{"const": "strictcall:0"}`, and `write` turns the
converter's `"\"strictcall:0\""` into `("true" | "false")`. Also mends what the converter gets wrong for all
strings: surrogates, and a second spelling of a declared key.
"""

import json
import re
from typing import Any

MAX_COUNTED = 256
"""Longest string that is counted by the mask: each count is a rule, cold 26 ms with a vocabulary of 150k."""

_CHAR = r"[^\0-\x1f\"\\\ud800-\udfff]"
_HEX = "[0-9A-Fa-f]"
_ESCAPE = (
    rf'(["\\/bfnrt] | "u" ([0-9A-CEFa-cef] {_HEX} | [Dd] [0-7]) {_HEX} {_HEX}'
    rf' | "u" [Dd] [89ABab] {_HEX} {_HEX} "\\u" [Dd] [C-Fc-f] {_HEX} {_HEX})'
)
"""After the backslash: surrogates only in pairs."""
_KEY_ESCAPE = r'(["\\bfnrt] | "u00" ("0" [0-7be-f] | "1" [0-9a-f]))'
"""After the backslash in a key that the schema does not declare: one spelling for each character."""

_MENDED = {
    r"[^\0-\x1f\"\\\r\n": r"[^\0-\x1f\"\\\r\n\ud800-\udfff",
    "[eE] basic_number_4 basic_number_digits{1, -1}": "[eE] basic_number_4 [0-9] [0-9]?",
}
"""What XGrammar's rules for any JSON say, and what they should: no surrogates, no `1e999`."""


class Fragments:
    """The fragments of one schema. `taken` is the schema's text, which no marker may meet."""

    def __init__(self, taken: str) -> None:
        self._prefix = "strictcall"
        while self._prefix in taken:
            self._prefix += "x"
        self._expressions: list[str] = []
        self._counted: set[tuple[int, int | None]] = set()

    def value(self, ebnf: str) -> dict[str, Any]:
        """A node whose text is `ebnf`."""
        return {"const": self._marker(ebnf)}

    def key(self, ebnf: str) -> str:
        """A pattern for `patternProperties` whose key, between the quotes, is `ebnf`."""
        return f"^{self._marker(ebnf)}$"

    def literals(self, values: list[Any]) -> dict[str, Any]:
        """A node that is one of these JSON values, spelled with `", "` and `": "`."""
        texts = dict.fromkeys(json.dumps(value, ensure_ascii=False) for value in values)
        return self.value(" | ".join(map(_literal, texts)))

    def text(self, least: int, most: int | None) -> dict[str, Any]:
        """A string of `least` to `most` code points, none above `MAX_COUNTED`; an escape counts as one."""
        self._counted.add((least, most))
        return self.value(f'"\\"" {_rule(least, most)}')

    def _marker(self, ebnf: str) -> str:
        self._expressions.append(ebnf)
        return f"{self._prefix}{len(self._expressions) - 1:06d}"

    def write(self, grammar: str) -> str:
        """Put the fragments into the converter's output."""

        def expression(match: re.Match[str]) -> str:
            return f"({self._expressions[int(match[1] or match[2])]})"

        constant = rf'"\\"{self._prefix}(\d{{6}})\\""'
        pattern = rf'Regex\("\^{self._prefix}(\d{{6}})\$", json_string=true\)'
        lines = re.sub(f"{constant}|{pattern}", expression, grammar).splitlines()
        return "\n".join([*map(_mend, lines), *self._rules()]) + "\n"

    def _rules(self) -> list[str]:
        rules = {
            "text_any": f'"\\"" | {_CHAR} text_any | "\\\\" text_escape text_any',
            "text_escape": _ESCAPE,
            "key_any": f'"\\"" | {_CHAR} key_any | "\\\\" key_escape key_any',
            "key_escape": _KEY_ESCAPE,
        }
        pending = set(self._counted)
        while pending:
            least, most = pending.pop()
            if (name := _rule(least, most)) in rules:
                continue
            after = (max(least - 1, 0), None if most is None else most - 1)
            options = [] if least else ['"\\""']
            if most != 0:
                options += [f"{_CHAR} {_rule(*after)}", f'"\\\\" text_escape {_rule(*after)}']
                pending.add(after)
            rules[name] = " | ".join(options)
        return [f"{name} ::= {body}" for name, body in rules.items()]


def _rule(least: int, most: int | None) -> str:
    """Rules count down, so that a compiler's rule cache serves every smaller bound."""
    if most is None:
        return f"text_{least}_up" if least else "text_any"
    return f"text_{least}_{most}"


def _literal(text: str) -> str:
    plain = (c if " " <= c <= "~" and c not in '"\\\\' else f"\\U{ord(c):08x}" for c in text)
    return f'"{"".join(plain)}"'


def _mend(rule: str) -> str:
    name, arrow, body = rule.partition(" ::= ")
    if name == "basic_escape":
        return f"{name}{arrow}{_ESCAPE}"
    for said, meant in _MENDED.items():
        body = body.replace(said, meant)
    if "_addl_key" in name:
        body = re.sub(r"\bbasic_string_sub\b", "key_any", body)
        body = re.sub(r"\bbasic_escape\b", "key_escape", body)
    return f"{name}{arrow}{body}"
