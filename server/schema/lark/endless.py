"""Rules that no text is long enough for, as each of their ways leads on to such a rule.

endless({"s": ((A, "s"), ("t",)), "t": ((A,),)})     # None: t ends, and so may s
endless({"s": ((A, "s"),)})                          # "s"
"""

from collections.abc import Mapping

from server.schema.lark.syntax import Way


def endless(rules: Mapping[str, tuple[Way, ...]]) -> str | None:
    """The first rule that has no text, if there is one."""
    users: dict[str, list[tuple[str, int]]] = {name: [] for name in rules}
    missing: dict[tuple[str, int], set[str]] = {}
    for name, ways in rules.items():
        for number, way in enumerate(ways):
            missing[name, number] = needed = {symbol for symbol in way if isinstance(symbol, str)}
            for other in needed:
                users[other].append((name, number))
    ending = {name for (name, _), needed in missing.items() if not needed}
    pending = list(ending)
    while pending:
        other = pending.pop()
        for user in users[other]:
            missing[user].discard(other)
            if not missing[user] and user[0] not in ending:
                ending.add(user[0])
                pending.append(user[0])
    return next((name for name in rules if name not in ending), None)
