"""`strictcall` of a chat request: how its schemas are handled, where not as the server's settings say.

{"strictcall": {"on_violation": "error", "report": true}}
# Policy(on_violation=OnViolation.ERROR, report=True, …)
"""

from dataclasses import replace

from server.api import refusals
from server.api.chat.request import StrictcallOptions
from server.policy import OnViolation, Policy, UnsupportedKeywords


def decode_policy(asked: StrictcallOptions | None, default: Policy) -> Policy:
    """Return the policy of a request. Raises `ApiError` (400) for fields that contradict each other."""
    if asked is None:
        return default
    if asked.max_attempts is not None and asked.on_violation not in (None, "retry"):
        raise refusals.invalid(
            "strictcall.max_attempts", "it is only allowed when 'strictcall.on_violation' is 'retry'."
        )
    policy = replace(
        default,
        report=asked.report is True,
        strict_tools=default.strict_tools or asked.strict_tools is True,
    )
    if asked.unsupported_keywords is not None:
        policy = replace(policy, unsupported_keywords=UnsupportedKeywords(asked.unsupported_keywords))
    if asked.on_violation is not None:
        policy = replace(policy, on_violation=OnViolation(asked.on_violation))
    if asked.max_attempts is not None:
        policy = replace(policy, max_attempts=asked.max_attempts)
    return policy
