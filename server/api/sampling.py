"""How tokens are drawn: what the APIs that have OpenAI's older parameters, and vLLM's, have in common.

sampling_of(SamplingBody(temperature=0.5, logit_bias={"42": -100}), max_tokens=20, logprobs=None)
# SamplingParams(temperature=0.5, logit_bias={42: -100.0}, max_tokens=20, …)
"""

from typing import Annotated

from pydantic import Field

from server.api.body_types import RequestBody
from server.request import SamplingParams

Penalty = Annotated[float, Field(ge=-2, le=2)]
TokenId = Annotated[str, Field(pattern="^[0-9]{1,9}$")]
Bias = Annotated[float, Field(ge=-100, le=100)]


class SamplingBody(RequestBody):
    """The part of a body that says it. Null is the model's own default, or OpenAI's."""

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=-1, le=2**31 - 1)] | None = Field(
        None, description="0 and -1 consider every token."
    )
    min_p: Annotated[float, Field(ge=0, le=1)] | None = None
    frequency_penalty: Penalty | None = None
    presence_penalty: Penalty | None = None
    repetition_penalty: Annotated[float, Field(ge=0.01, le=10)] | None = None
    seed: Annotated[int, Field(ge=-(2**63), le=2**63 - 1)] | None = None
    logit_bias: (
        Annotated[dict[TokenId, Bias], Field(json_schema_extra={"additionalProperties": False})] | None
    ) = Field(
        None, description="From token ids to what is added to their logits.", examples=[{"15496": -100}]
    )


def sampling_of(body: SamplingBody, *, max_tokens: int | None, logprobs: int | None) -> SamplingParams:
    """Decode it. How many tokens and log probabilities there may be, each API says in its own way."""
    return SamplingParams(
        temperature=body.temperature,
        top_p=body.top_p,
        top_k=body.top_k,
        min_p=body.min_p,
        frequency_penalty=body.frequency_penalty or 0.0,
        presence_penalty=body.presence_penalty or 0.0,
        repetition_penalty=body.repetition_penalty,
        seed=body.seed,
        logit_bias={int(token_id): bias for token_id, bias in (body.logit_bias or {}).items()},
        max_tokens=max_tokens,
        logprobs=logprobs,
    )
