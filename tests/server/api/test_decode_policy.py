"""`strictcall` of a request, laid over the policy of the server's settings."""

from typing import Any

import pytest

from server.api.chat.request import StrictcallOptions
from server.api.decode_policy import decode_policy
from server.errors import ApiError
from server.policy import OnViolation, Policy, UnsupportedKeywords

DEFAULT = Policy(unsupported_keywords=UnsupportedKeywords.REJECT, max_attempts=4)

CASES: list[tuple[dict[str, Any], Policy]] = [
    ({}, DEFAULT),
    ({"report": False, "strict_tools": False, "max_attempts": None}, DEFAULT),
    ({"unsupported_keywords": "describe"}, Policy(UnsupportedKeywords.DESCRIBE, max_attempts=4)),
    (
        {"on_violation": "report", "report": True},
        Policy(UnsupportedKeywords.REJECT, OnViolation.REPORT, max_attempts=4, report=True),
    ),
    (
        {"on_violation": "retry", "max_attempts": 3, "strict_tools": True},
        Policy(UnsupportedKeywords.REJECT, OnViolation.RETRY, max_attempts=3, strict_tools=True),
    ),
]


@pytest.mark.parametrize(("asked", "policy"), CASES)
def test_a_request_says_what_is_to_be_otherwise(asked: dict[str, Any], policy: Policy) -> None:
    """All else is as the settings have it."""
    assert decode_policy(StrictcallOptions(**asked), DEFAULT) == policy


def test_without_the_field_the_settings_hold() -> None:
    """As for every client that does not know of it."""
    assert decode_policy(None, DEFAULT) is DEFAULT


def test_strict_tools_of_the_server_cannot_be_undone() -> None:
    """Its operator has promised it to whoever runs the calls."""
    policy = decode_policy(StrictcallOptions(strict_tools=False), Policy(strict_tools=True))

    assert policy.strict_tools


@pytest.mark.parametrize("then", ["error", "report"])
def test_attempts_without_a_retry_are_refused(then: Any) -> None:
    """They would be waited for in vain."""
    with pytest.raises(ApiError) as caught:
        decode_policy(StrictcallOptions(on_violation=then, max_attempts=3), DEFAULT)

    assert caught.value.param == "strictcall.max_attempts"


@pytest.mark.parametrize(
    ("strict", "asked", "then"),
    [
        (True, None, OnViolation.RETRY),
        (False, None, OnViolation.REPORT),
        *((strict, then, then) for strict in (True, False) for then in OnViolation),
    ],
)
def test_what_is_asked_for_is_for_strict_and_loose_alike(
    asked: OnViolation | None, then: OnViolation, *, strict: bool
) -> None:
    """Only where nothing is asked for are they different."""
    assert Policy(on_violation=asked).on(strict=strict) is then
