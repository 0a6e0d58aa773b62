r"""The terminals that `%import common.NAME` knows, each as one regular expression.

COMMON["INT"]     # "/[0-9]+/"

Lark's own `ESCAPED_STRING` and `C_COMMENT` end where they first can, which lazy repeats say there; here they
hold nothing that would have ended them.
"""

from collections.abc import Mapping

_DECIMAL = r"(?:[0-9]+\.[0-9]*|\.[0-9]+)"
_EXPONENT = r"[eE][+-]?[0-9]+"
_FLOAT = f"(?:[0-9]+{_EXPONENT}|{_DECIMAL}(?:{_EXPONENT})?)"
_NUMBER = f"(?:{_FLOAT}|[0-9]+)"

COMMON: Mapping[str, str] = {
    name: f"/{pattern}/"
    for name, pattern in {
        "DIGIT": "[0-9]",
        "HEXDIGIT": "[0-9A-Fa-f]",
        "INT": "[0-9]+",
        "SIGNED_INT": "[+-]?[0-9]+",
        "DECIMAL": _DECIMAL,
        "FLOAT": _FLOAT,
        "SIGNED_FLOAT": f"[+-]?{_FLOAT}",
        "NUMBER": _NUMBER,
        "SIGNED_NUMBER": f"[+-]?{_NUMBER}",
        "ESCAPED_STRING": r'"(?:[^"\\\n]|\\[^\n])*"',
        "LCASE_LETTER": "[a-z]",
        "UCASE_LETTER": "[A-Z]",
        "LETTER": "[A-Za-z]",
        "WORD": "[A-Za-z]+",
        "CNAME": "[A-Za-z_][A-Za-z0-9_]*",
        "WS_INLINE": r"[ \t]+",
        "WS": r"[ \t\f\r\n]+",
        "CR": r"\r",
        "LF": r"\n",
        "NEWLINE": r"(?:\r?\n)+",
        "SH_COMMENT": r"#[^\n]*",
        "CPP_COMMENT": r"\/\/[^\n]*",
        "C_COMMENT": r"\/\*(?:[^*]|\*+[^*\/])*\*+\/",
        "SQL_COMMENT": r"--[^\n]*",
    }.items()
}
