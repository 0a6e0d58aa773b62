"""What becomes of the rules of a schema that the mask cannot hold, and of what breaks them.

policy = Policy(unsupported_keywords=UnsupportedKeywords.DESCRIBE)
policy.on(strict=True)      # OnViolation.RETRY
policy.on(strict=False)     # OnViolation.REPORT
"""

from dataclasses import dataclass
from enum import StrEnum

MOST_ATTEMPTS = 10
"""Attempts that a request, or a setting, may ask for: each costs a whole generation."""


class UnsupportedKeywords(StrEnum):
    """What becomes of a strict schema with keywords that the mask does not hold."""

    REJECT = "reject"
    """The request is refused, before any model time."""
    VALIDATE = "validate"
    """They are checked when the value is complete."""
    DESCRIBE = "describe"
    """They are checked, and told to the model in the description of the field."""


class OnViolation(StrEnum):
    """What becomes of a complete call or answer that breaks its schema."""

    RETRY = "retry"
    """The model is told what is wrong, and writes it again; nothing of the wrong one passes on."""
    ERROR = "error"
    """The request fails, and nothing of it passes on."""
    REPORT = "report"
    """It passes on, marked."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The handling of one request: what its client asked for, and else what the server's settings say.

    `on_violation` None is `retry` for what is strict and `report` for all else. `max_attempts` counts the
    first one. With `report`, the answer says what the mask held and what was checked.
    """

    unsupported_keywords: UnsupportedKeywords = UnsupportedKeywords.VALIDATE
    on_violation: OnViolation | None = None
    max_attempts: int = 2
    report: bool = False
    strict_tools: bool = False
    """Every tool is strict, whatever its definition says."""

    def on(self, *, strict: bool) -> OnViolation:
        """What becomes of a call or an answer outside its schema."""
        if self.on_violation is not None:
            return self.on_violation
        return OnViolation.RETRY if strict else OnViolation.REPORT


DEFAULT_POLICY = Policy()
