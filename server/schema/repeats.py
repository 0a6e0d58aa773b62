r"""How often a regular expression repeats one of its parts, counts within counts multiplied.

repeats("^a{3}$")               # 3
repeats("(a{1,20}-){1,30}")     # 600
repeats(r"\{9}[{9}]")           # 1: these braces are characters
"""

import re

_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*(?:\]|\Z)|\{(\d+)(?:,(\d*))?\}|[()]|.", re.DOTALL)
"""One step through an expression: an escape, a class, a count, a bracket, or a character.

A class that is not closed reaches to the end, or each of many would be looked for that far."""


def repeats(pattern: str) -> int:
    """The greatest product of the counts that stand around any one part of an expression."""
    groups = [1]
    last = 1
    for token in _TOKEN.finditer(pattern):
        match token[0]:
            case "(":
                groups.append(1)
            case ")":
                last = groups.pop() if len(groups) > 1 else 1
                groups[-1] = max(groups[-1], last)
            case _ if token[1] is not None:
                last *= max(int(token[2] or token[1]), 1)
                groups[-1] = max(groups[-1], last)
            case _:
                last = 1
    return max(groups)
