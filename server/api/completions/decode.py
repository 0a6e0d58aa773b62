"""Completions in: the checked body becomes one internal request for each prompt.

decode_completions(CompletionsRequestBody(model="m", prompt=["a", "b"]), max_n=16)
# DecodedCompletions(requests=(Request(…, source=RawText("a")), Request(…, source=RawText("b"))), …)
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from server.api import refusals
from server.api.chat.decode import told_ignored
from server.api.chat.decode_format import decode_format
from server.api.completions.request import CompletionsRequestBody, prompt_kind
from server.api.decode_policy import decode_policy
from server.api.sampling import sampling_of
from server.policy import DEFAULT_POLICY, Policy
from server.request import PromptSource, RawText, RawTokens, Request, SamplingParams

MAX_TOKENS = 16
"""What an answer may have unless the request says so: as at OpenAI."""


@dataclass(frozen=True, slots=True)
class DecodedCompletions:
    """The requests, which differ in their prompts only. `ignored` is as in `DecodedChat`."""

    requests: tuple[Request, ...]
    echo: bool = False
    include_usage: bool = False
    ignored: tuple[str, ...] = ()


def decode_completions(
    body: CompletionsRequestBody, *, max_n: int, policy: Policy = DEFAULT_POLICY
) -> DecodedCompletions:
    """Decode a body that may ask for `max_n` choices. Raises `ApiError` (400) naming the field at fault."""
    sources = tuple(_sources(body))
    _check_together(body, len(sources), max_n)
    id = f"cmpl-{uuid.uuid4().hex}"
    request = Request(
        id=id,
        api="completions",
        model=body.model,
        messages=(),
        answer_format=decode_format(body),
        sampling=_sampling(body),
        stop=(body.stop,) if isinstance(body.stop, str) else tuple(body.stop or ()),
        n=body.n or 1,
        policy=decode_policy(body.strictcall, policy),
        stream=body.stream is True,
    )
    return DecodedCompletions(
        requests=tuple(replace(request, source=source) for source in sources),
        echo=body.echo is True,
        include_usage=body.stream_options is not None and body.stream_options.include_usage is True,
        ignored=told_ignored(body.unknown),
    )


def _sources(body: CompletionsRequestBody) -> Iterator[PromptSource]:
    kind = prompt_kind(body.prompt)
    several = kind in ("|texts", "|token lists")
    prompts: Any = body.prompt if several else [body.prompt]
    for index, each in enumerate(prompts):
        param = f"prompt[{index}]" if several else "prompt"
        if isinstance(each, str):
            if not each:
                raise refusals.empty_text(param)
            yield RawText(each, param)
        else:
            yield RawTokens(tuple(each), param)


def _check_together(body: CompletionsRequestBody, prompts: int, max_n: int) -> None:
    choices = prompts * (body.n or 1)
    if choices > max_n:
        raise refusals.invalid(
            "n" if prompts == 1 else "prompt",
            f"{prompts} prompts with {body.n or 1} choices each are {choices} choices, and this server "
            f"generates {max_n} at most for one request (--max-n). Send several requests.",
        )
    if body.stream_options is not None and not body.stream:
        raise refusals.invalid("stream_options", "it is only allowed when 'stream' is true.")
    if body.echo and body.logprobs is not None:
        raise refusals.invalid(
            "echo",
            "it cannot be combined with 'logprobs': those of the prompt are not known. Leave one out.",
        )


def _sampling(body: CompletionsRequestBody) -> SamplingParams:
    return sampling_of(
        body,
        max_tokens=body.max_tokens or MAX_TOKENS,
        logprobs=body.logprobs,
    )
