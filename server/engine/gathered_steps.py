"""Steps whose tokens nobody waits for are told together, so that the process which serves HTTP wakes once.

    {0: EngineCoreOutputs(…)}               # what vLLM's scheduler says of a step: a message to each client
    StepMessages(told, due=())              # the same, but there is nothing to send yet
    StepMessages(told, due=[…])             # and here there are the messages of earlier steps to send as well

A request says how many of its tokens may come together by vLLM's own `stream_interval`. What else there is in
a step goes at once, and takes along what was kept. Messages are not merged: each has the time and the figures
of its step, so that vLLM's metrics are those of single steps.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from vllm.v1.engine import EngineCoreOutput, EngineCoreOutputs
from vllm.v1.request import Request

from server.engine.seams import require

AT_ONCE = 1
"""The interval of what is waited for."""

Message = tuple[int, EngineCoreOutputs]
"""For the client of this number."""


class StepMessages(dict[int, EngineCoreOutputs]):
    """The messages of one step, by client. Its items are what is to be sent, which vLLM asks for once."""

    def __init__(self, told: Mapping[int, EngineCoreOutputs], due: Sequence[Message]) -> None:
        super().__init__(told)
        self._due = due

    def items(self) -> Sequence[Message]:  # type: ignore[override]  # a client may have several
        return self._due


class GatheredSteps:
    """Mixed into a scheduler of vLLM: keeps messages back while all that they tell may wait."""

    requests: dict[str, Request]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        require(self, "requests")
        self._kept: list[Message] = []
        self._tokens = 0
        """As many of one sequence were kept at most."""

    def update_from_output(self, *args: Any, **kwargs: Any) -> Any:
        told = super().update_from_output(*args, **kwargs)  # type: ignore[misc]  # the method is that of the scheduler mixed in
        if not told:
            return told
        self._kept += told.items()
        interval = self._interval(told)
        if interval != AT_ONCE:
            self._tokens += longest(told)
            if self._tokens < interval:
                return StepMessages(told, ())
        due, self._kept, self._tokens = self._kept, [], 0
        return StepMessages(told, due)

    def _interval(self, told: Mapping[int, EngineCoreOutputs]) -> int:
        """The tokens that all who are told may wait for."""
        least = None
        for message in told.values():
            if not message.outputs or message.finished_requests:
                return AT_ONCE  # what is said besides
            for output in message.outputs:
                interval = interval_of(output, self.requests.get(output.request_id))
                if interval == AT_ONCE:
                    return AT_ONCE
                least = interval if least is None else min(least, interval)
        return least or AT_ONCE


def interval_of(output: EngineCoreOutput, request: Request | None) -> int:
    """The tokens that who made a request waits for: the first comes at once, and so do the last."""
    if request is None or request.sampling_params is None or output.finish_reason is not None:
        return AT_ONCE
    if request.num_output_tokens <= len(output.new_token_ids):
        return AT_ONCE
    return request.sampling_params.stream_interval or AT_ONCE


def longest(told: Mapping[int, EngineCoreOutputs]) -> int:
    """The most tokens that a step has added to one sequence."""
    outputs = (output for message in told.values() for output in message.outputs)
    return max((len(output.new_token_ids) for output in outputs), default=0)
