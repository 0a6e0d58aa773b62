"""vLLM's token-in/token-out API on the wire: a request's body, and what each event of its stream says.

    request_body("req-1-0", "qwen", [1, 2], {"max_tokens": 9}, tag)   # for POST /inference/v1/generate
    read_event('{"choices": [{"token_ids": [28], …}], …}', 0)         # Output((28,))
    read_event('{"choices": [], "usage": {…}}', 0)                    # Usage(cached_tokens=16)
    read_event('{"error": {"message": "…", "code": 400}}', 0)         # Failure(400, "…")

What is here was read in vLLM 0.32.0 and measured on it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from server.engine.protocol import EngineError, Finish, Output, TokenLogprob, given_up
from server.engine.sampling import drawn
from server.request import SamplingParams

PATH = "/inference/v1/generate"
DONE = "[DONE]"

FINISHES = {"stop": Finish.STOP, "length": Finish.LENGTH}
SHUT_DOWN = "abort"
"""The finish reason of what a worker gave up by itself, being stopped. We abort by closing the stream."""

MOST_LOGPROBS = 20
"""More are refused, unless a worker's `--max-logprobs` is higher, which we are not told."""
IMPOSSIBLE = -9999.0
"""What stands on the wire for the logprob of a token that the mask forbids."""
MOST_MESSAGE = 500
"""Characters of what a worker says that an error repeats."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What the stream says after its last token; `cached_tokens` is 0 where the worker does not tell."""

    cached_tokens: int


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the worker does not go on. `status` is one of HTTP."""

    status: int
    message: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """The worker gave the request up because it is being shut down."""


Event = Output | Usage | Failure | Stopped


def request_body(
    request_id: str,
    model: str,
    prompt: Sequence[int],
    sampling: Mapping[str, Any],
    structural_tag: str | None,
) -> dict[str, Any]:
    """Return the body that asks for one streamed sequence. `sampling` is that of `sampling_body`."""
    constraint = {} if structural_tag is None else {"structured_outputs": {"structural_tag": structural_tag}}
    return {
        "request_id": request_id,
        "model": model,
        "token_ids": list(prompt),
        "stream": True,
        "stream_options": {"include_usage": True},
        "sampling_params": {**sampling, **constraint},
    }


def sampling_body(sampling: SamplingParams, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return vLLM's form of `sampling`; `defaults` are the model's, which this API does not fill in."""
    fields = {
        **drawn(sampling, defaults),
        "frequency_penalty": sampling.frequency_penalty,
        "presence_penalty": sampling.presence_penalty,
        "seed": sampling.seed,
        "logit_bias": {str(token): bias for token, bias in sampling.logit_bias.items()} or None,
        "max_tokens": sampling.max_tokens,
        "logprobs": asked_logprobs(sampling.logprobs),
        "detokenize": False,
        "skip_special_tokens": False,
        "stream_interval": sampling.stream_interval,
    }
    return {name: value for name, value in fields.items() if value is not None}


def asked_logprobs(alternatives: int | None) -> int | None:
    """Return how many to ask for: the drawn token takes a place of its own on the wire."""
    return min(alternatives + 1, MOST_LOGPROBS) if alternatives else alternatives


def read_event(data: str, alternatives: int) -> Event:
    """Return what one event says. Raises `EngineError` if it is none of this API."""
    try:
        event = json.loads(data)
        if "error" in event:
            return failure(event["error"])
        if not event["choices"]:
            details = (event.get("usage") or {}).get("prompt_tokens_details") or {}
            return Usage(details.get("cached_tokens") or 0)
        [choice] = event["choices"]
        return read_choice(choice, alternatives)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EngineError(f"A worker sent what is no event of {PATH}: {data[:MOST_MESSAGE]!r}.") from error


def read_choice(choice: Mapping[str, Any], alternatives: int) -> Output | Stopped:
    reason = choice["finish_reason"]
    if reason == SHUT_DOWN:
        return Stopped()
    if reason is not None and reason not in FINISHES:
        raise given_up(reason, choice.get("stop_reason"))
    logprobs = (choice.get("logprobs") or {}).get("content") or ()
    return Output(
        token_ids=tuple(choice["token_ids"]),
        finish=FINISHES.get(reason),
        logprobs=tuple(read_logprob(each, alternatives) for each in logprobs),
    )


def read_logprob(told: Mapping[str, Any], alternatives: int) -> TokenLogprob:
    """Return the token's logprob and the likeliest `alternatives`, without those that the mask forbids."""
    top = [(each["token_id"], each["logprob"]) for each in told.get("top_logprobs") or ()]
    possible = sorted((pair for pair in top if pair[1] > IMPOSSIBLE), key=lambda pair: -pair[1])
    return TokenLogprob(told["token_id"], told["logprob"], tuple(possible[:alternatives]))


def failure(error: Mapping[str, Any]) -> Failure:
    return Failure(
        int(error.get("code") or 500), str(error.get("message") or "no reason given")[:MOST_MESSAGE]
    )


def refusal(status: int, text: str) -> Failure:
    """Return what a response with this status and body says: vLLM's error, or a router's plain text."""
    try:
        return Failure(status, failure(json.loads(text)["error"]).message)
    except (ValueError, KeyError, TypeError, AttributeError):
        return Failure(status, text[:MOST_MESSAGE].strip() or f"status {status}")
