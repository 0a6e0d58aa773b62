"""What can be refused before any model time is spent, and needs more than the request's own shape.

check(request, model_names=("SmolLM2-135M-Instruct",), …)   # returns, or raises ApiError(404 model_not_found)
"""

from collections.abc import Sequence

from server.errors import ApiError, Code
from server.request import JsonSchema, RawText, RawTokens, Request, Schema, ToolDefinition
from server.schema.check import schema_refused
from server.schema.document import SchemaError
from server.schema.instance import InstanceValidator
from server.schema.plan import SchemaPlanner
from server.schema.profile import SchemaProfile, check_profile
from server.tokens.vocabulary import Vocabulary


def check(
    request: Request,
    *,
    model_names: Sequence[str],
    vocabulary: Vocabulary,
    max_model_len: int,
    planner: SchemaPlanner,
    profile: SchemaProfile,
) -> None:
    """Refuse what cannot be answered, cheapest first. Raises `ApiError` (4xx)."""
    if request.model not in model_names:
        served = ", ".join(f"'{name}'" for name in model_names)
        message = f"The model '{request.model}' does not exist. This server has {served}."
        raise ApiError(Code.MODEL_NOT_FOUND, message, "model")
    for token_id in request.sampling.logit_bias:
        if token_id >= vocabulary.size:
            message = f"Invalid 'logit_bias': there is no token {token_id}, the model has {vocabulary.size}."
            raise ApiError(Code.INVALID_VALUE, message, "logit_bias")
    if isinstance(request.source, RawTokens):
        _check_tokens(request.source, vocabulary.size)
    _check_length(request, longest_token=vocabulary.longest, max_model_len=max_model_len)
    _check_schemas(request, planner, profile)


def _check_length(request: Request, *, longest_token: int, max_model_len: int) -> None:
    """Refuse text that cannot fit however it is cut into tokens, before anybody waits for the cutting."""
    letters = sum(len(message.content) for message in request.messages)
    if isinstance(request.source, RawText):
        letters = len(request.source.text)
    least = letters // longest_token
    if least >= max_model_len:
        raise context_exceeded(f"at least {least}", max_model_len, param=request.source.param)


def _check_tokens(source: RawTokens, size: int) -> None:
    for i, token_id in enumerate(source.token_ids):
        if token_id >= size:
            message = f"Invalid '{source.param}[{i}]': there is no token {token_id}, the model has {size}."
            raise ApiError(Code.INVALID_VALUE, message, f"{source.param}[{i}]")


def _check_schemas(request: Request, planner: SchemaPlanner, profile: SchemaProfile) -> None:
    for tool in request.tools:
        if tool.parameters is not None:
            param = tool.schema_param
            validator = planner.validator(tool.parameters, param=param, name=tool.name)
            _check_examples(tool, validator)
            if tool.strict:
                _check_profile(tool.parameters, profile, param=param, name=tool.name)
    if isinstance(request.answer_format, JsonSchema):
        answer = request.answer_format
        planner.validator(answer.schema, param=answer.param, name=answer.name)
        if answer.strict:
            _check_profile(answer.schema, profile, param=answer.param, name=answer.name)


def _check_examples(tool: ToolDefinition, validator: InstanceValidator) -> None:
    for i, example in enumerate(tool.examples):
        if errors := validator.errors(example):
            param = f"{tool.param}.input_examples[{i}]"
            message = f"Invalid '{param}': it does not fit '{tool.schema_param}': {errors[0]}."
            raise ApiError(Code.INVALID_VALUE, message, param)


def _check_profile(schema: Schema, profile: SchemaProfile, *, param: str, name: str) -> None:
    try:
        check_profile(schema, profile)
    except SchemaError as error:
        raise schema_refused(error, param=param, name=name) from error


def fit(request: Request, *, prompt_tokens: int, max_model_len: int) -> int:
    """Return the tokens an answer may have: the budget is a cap, and what the context leaves another.

    Raises `ApiError` (400 context_length_exceeded) if it leaves nothing.
    """
    room = max_model_len - prompt_tokens
    if room < 1:
        raise context_exceeded(str(prompt_tokens), max_model_len, param=request.source.param)
    return min(request.sampling.max_tokens or room, room)


def context_exceeded(tokens: str, max_model_len: int, *, param: str) -> ApiError:
    """The error for a prompt that leaves no room; clients look for its first sentence."""
    message = (
        f"This model's maximum context length is {max_model_len} tokens. However, your messages and tools "
        f"resulted in {tokens} tokens, which leaves none for an answer. Please shorten them."
    )
    return ApiError(Code.CONTEXT_LENGTH, message, param)
