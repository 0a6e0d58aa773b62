"""`strictcall` of a message: what held it to its schemas, and what it broke.

    "strictcall": {
      "masked": [{"tool": "tag", "pointer": "#/properties/tags", "keyword": "type"}],
      "checked": [{"tool": "tag", "pointer": "#/properties/tags", "keyword": "uniqueItems"}],
      "violations": [{"attempt": 1, "tool": "tag", "path": "$.tags", "keyword": "uniqueItems", …}],
      "attempts": 2
    }

What is about the answer's format has `format` in place of `tool`.
"""

from collections.abc import Iterable
from typing import Any

from server.answering.verdict import Rule, Verdict


def verdict_member(verdict: Verdict) -> dict[str, Any]:
    """Return `strictcall` and its value, or nothing where clients are not told."""
    if not verdict.said:
        return {}
    body: dict[str, Any] = {}
    if (coverage := verdict.coverage) is not None:
        body = {"masked": _rules(coverage.masked), "checked": _rules(coverage.checked)}
    body["violations"] = [
        {
            "attempt": attempt,
            violation.subject.value: violation.name,
            "path": error.path,
            "keyword": error.keyword,
            "message": error.message,
        }
        for attempt, violation in verdict.violations
        for error in violation.errors
    ]
    body["attempts"] = verdict.attempts
    return {"strictcall": body}


def _rules(rules: Iterable[Rule]) -> list[dict[str, str]]:
    return [
        {rule.subject.value: rule.name, "pointer": rule.pointer, "keyword": rule.keyword} for rule in rules
    ]
