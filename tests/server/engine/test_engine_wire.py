"""What goes over the wire to a worker, and how what comes back is read."""

import pytest

from server.engine.sampling import drawn
from server.engine.wire import Failure, refusal, sampling_body
from server.request import SamplingParams


@pytest.mark.parametrize(("asked", "sent"), [(None, None), (0, 0), (5, 6), (20, 20)])
def test_no_more_logprobs_are_asked_for_than_a_worker_gives(asked: int | None, sent: int | None) -> None:
    """A worker of vLLM refuses more than 20 unless it is told otherwise."""
    assert sampling_body(SamplingParams(max_tokens=1, logprobs=asked), {}).get("logprobs") == sent


def test_a_requests_own_values_come_before_the_models() -> None:
    """Zero is a value too; what nobody sets is left to the engine."""
    assert drawn(SamplingParams(temperature=0), {"temperature": 0.6, "top_k": 20}) == {
        "temperature": 0,
        "top_k": 20,
    }


def test_the_likeliest_token_alone_is_asked_for_in_the_engines_way() -> None:
    """OpenAI's `top_p: 0` is outside of what vLLM takes."""
    assert 0 < drawn(SamplingParams(top_p=0), {})["top_p"] < 0.001


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gone", "gone"),
        ("", "status 502"),
        ('{"error": {"message": "no", "code": 400}}', "no"),
        ('{"error": "Unauthorized"}', '{"error": "Unauthorized"}'),
    ],
)
def test_a_refusal_is_read_whatever_it_is(text: str, message: str) -> None:
    """A router answers in plain text, vLLM in JSON."""
    assert refusal(502, text) == Failure(502, message)
