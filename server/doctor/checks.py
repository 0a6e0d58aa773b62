"""All checks of a subject, in the order in which they are told.

for rule, finding in examined(subject):
    …    # "both tools are in the prompt", Passed()
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from server.doctor import answer_checks as answers
from server.doctor import template_checks as template
from server.doctor.subject import Difference, Finding, Subject
from server.errors import ApiError


@dataclass(frozen=True, slots=True)
class Check:
    """`rule` says what holds if `of` finds nothing."""

    rule: str
    of: Callable[[Subject], Finding]


CHECKS = (
    Check("both tools are in the prompt", template.tools_are_shown),
    Check("both calls are", template.calls_are_shown),
    Check("both results are", template.results_are_shown),
    Check("they stand in order, with nothing that is not theirs", template.nothing_is_out_of_place),
    Check("calls that the template shows are read as calls", template.shown_calls_are_read),
    Check("calls are written as the template shows them", template.written_calls_are_shown),
    Check("the masks compile", answers.mask_compiles),
    Check("the mask lets written calls through", answers.mask_lets_calls_through),
    Check("the mask refuses an unknown tool", answers.mask_refuses_an_unknown_tool),
    Check("the mask refuses a wrong type", answers.mask_refuses_a_wrong_type),
    Check("the mask refuses a second call where one is allowed", answers.mask_refuses_a_second_call),
    Check("the mask refuses no call where one is required", answers.mask_refuses_no_call),
    Check("written calls are read back whole", answers.calls_are_read_whole),
    Check("written calls are read back letter by letter", answers.calls_are_read_letter_by_letter),
    Check("written calls are read back token by token", answers.calls_are_read_as_tokens),
    Check("random answers under the mask are read to valid calls", answers.walks_end_in_valid_calls),
    Check("markers can be written", answers.markers_are_known),
    Check("thoughts are told from calls", answers.thoughts_are_read),
    Check("ids come back from the client", template.ids_come_back),
)


def examined(subject: Subject, checks: Sequence[Check] = CHECKS) -> Iterator[tuple[str, Finding]]:
    """Make the checks. One that cannot be made has found the reason."""
    for check in checks:
        yield check.rule, _finding(check, subject)


def _finding(check: Check, subject: Subject) -> Finding:
    try:
        return check.of(subject)
    except ApiError as error:
        return Difference(error.message)
    except (RuntimeError, ValueError) as error:
        return Difference(str(error).strip().partition("\n")[0])
