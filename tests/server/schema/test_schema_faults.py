"""Known faults of other servers with schemas: a rule was dropped, what is right refused, or all crashed.

The numbers are those of our collection of faults.
"""

import json
from typing import Any

import pytest

from server.commands.check import Checker, Question
from server.mask.trial import byte_tokens
from server.schema.limits import DEFAULT_LIMITS
from tests.server.schema.faults import HELD, REFUSED


@pytest.fixture(scope="module", name="checker")
def _checker() -> Checker:
    return Checker(byte_tokens(), DEFAULT_LIMITS)


@pytest.mark.parametrize(("schema", "right", "wrong"), HELD.values(), ids=HELD)
def test_no_rule_is_dropped_and_nothing_right_is_lost(
    checker: Checker, schema: Any, right: list[Any], wrong: list[Any]
) -> None:
    """What breaks a rule passes either not the mask or not the check; what breaks none passes both."""
    for value in right:
        finding = checker.find(Question(schema, json.dumps(value)))
        assert (finding.error, finding.mask_accepts, finding.valid) == (None, True, True), value
    for value in wrong:
        finding = checker.find(Question(schema, json.dumps(value)))
        assert finding.error is None
        assert not (finding.mask_accepts and finding.valid), value


@pytest.mark.parametrize(("schema", "pointer", "words"), REFUSED.values(), ids=REFUSED)
def test_what_describes_nothing_is_refused_with_its_place(
    checker: Checker, schema: Any, pointer: str, words: str
) -> None:
    """And never made into a mask of anything, or of nothing."""
    finding = checker.find(Question(schema))

    assert finding.error is not None
    assert finding.error["pointer"] == pointer
    assert words in finding.error["message"]
