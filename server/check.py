"""What can be refused before any model time is spent, and needs more than the request's own shape.

check(request, model_names=("SmolLM2-135M-Instruct",), …)   # returns, or raises ApiError(404 model_not_found)
"""

from collections.abc import Sequence
from dataclasses import replace

from server.errors import ApiError, Code
from server.request import JsonSchema, Request
from server.schema.plan import SchemaPlanner


def check(
    request: Request, *, model_names: Sequence[str], vocabulary_size: int, planner: SchemaPlanner
) -> None:
    """Refuse an unknown model or token and every schema that is not one. Raises `ApiError` (4xx)."""
    if request.model not in model_names:
        served = ", ".join(f"'{name}'" for name in model_names)
        raise ApiError(
            Code.MODEL_NOT_FOUND,
            f"The model '{request.model}' does not exist. This server has {served}.",
            "model",
        )
    for token_id in request.sampling.logit_bias:
        if token_id >= vocabulary_size:
            raise ApiError(
                Code.INVALID_VALUE,
                f"Invalid 'logit_bias': there is no token {token_id}, the model has {vocabulary_size}.",
                "logit_bias",
            )
    for tool in request.tools:
        if tool.parameters is not None:
            planner.validator(tool.parameters, param=f"{tool.param}.parameters", name=tool.name)
    if isinstance(request.answer_format, JsonSchema):
        answer = request.answer_format
        planner.validator(answer.schema, param=answer.param, name=answer.name)


def fit(request: Request, *, prompt_tokens: int, max_model_len: int) -> Request:
    """Bound the answer by what the context leaves: the budget is a cap, the context another.

    Raises `ApiError` (400 context_length_exceeded) if it leaves nothing.
    """
    room = max_model_len - prompt_tokens
    if room < 1:
        message = (
            f"This model's maximum context length is {max_model_len} tokens. However, your messages and "
            f"tools resulted in {prompt_tokens} tokens, which leaves none for an answer. Please shorten them."
        )
        raise ApiError(Code.CONTEXT_LENGTH, message, "messages")
    budget = min(request.sampling.max_tokens or room, room)
    return replace(request, sampling=replace(request.sampling, max_tokens=budget))
