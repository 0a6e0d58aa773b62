r"""The prompt of a request: its messages and tools through the chat template, then as token ids.

    prompt = render(request, template=template, vocabulary=vocabulary, family=HERMES)
    prompt.text              # "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    prompt.token_ids         # (1, 4093, 198, 26843, 2, 198, 1, 520, 9531, 198)
    prompt.opens_reasoning   # False: the prompt does not end inside <think>

Everything here is synchronous and depends on its arguments alone, except for templates that write the date.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from parsers.call_ids import CallIdForm
from parsers.family import Family
from server.errors import ApiError, Code
from server.prompt.call_ids import form_of, renumbered
from server.prompt.conversation import Hide, tool_definitions, turns
from server.prompt.placeholders import Author, Controls, Piece, Placeholders
from server.prompt.renderer import Renderer
from server.prompt.thinking import template_arguments
from server.request import Message, Mode, Request
from server.tokens.vocabulary import SPECIAL_ROLES, Vocabulary

OURS = frozenset(
    {
        "messages",
        "tools",
        "add_generation_prompt",
        "continue_final_message",
        "chat_template",
        "tokenize",
        "raise_exception",
        "strftime_now",
        *SPECIAL_ROLES,
    }
)
"""Template variables that a request does not set by way of its template arguments."""

END_OF_FINAL = "end of the final message"
"""What the placeholder behind a message that is to be continued stands for. It is cut off."""

compile_controls = lru_cache(maxsize=16)(Controls)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model reads. `opens_reasoning`: it ends inside the reasoning span, where the model goes on."""

    text: str
    token_ids: tuple[int, ...]
    opens_reasoning: bool


def render(request: Request, *, template: Renderer, vocabulary: Vocabulary, family: Family) -> Prompt:
    """Render a request. Raises `ApiError` (400) if the template refuses it, with the template's own words.

    All tools are shown, whatever part of them `tool_choice` allows, so that prompts of one conversation share
    their beginning; with `tool_choice: none` no tool is.
    """
    _check_arguments(request)
    _check_final_message(request)
    try:
        pieces = _write(request, template, vocabulary, family)
    except RecursionError as error:
        raise ApiError(
            Code.INVALID_VALUE, "The messages or tools are nested too deeply for a prompt.", "tools"
        ) from error
    return Prompt(
        text="".join(piece.text for piece in pieces),
        token_ids=tuple(_encode(pieces, vocabulary)),
        opens_reasoning=_opens_reasoning(pieces, family, vocabulary),
    )


def template_turns(
    messages: Sequence[Message], template: Renderer, family: Family, hide: Hide
) -> list[dict[str, Any]]:
    """Return the messages as the template takes them, with ids and calls in the family's form."""
    if form_of(family, template.traits.call_ids) is CallIdForm.NUMBERED:
        messages = renumbered(messages)
    return turns(messages, template.traits, hide, family.write_calls)


def _check_arguments(request: Request) -> None:
    for name in request.template_arguments:
        if name in OURS:
            raise ApiError(
                Code.INVALID_VALUE,
                f"'{name}' in 'chat_template_kwargs' is set by the server; use the request's own fields.",
                f"chat_template_kwargs.{name}",
            )


def _check_final_message(request: Request) -> None:
    final = request.messages[-1]
    if request.continue_final_message and (final.role != "assistant" or final.tool_calls):
        raise ApiError(
            Code.INVALID_VALUE,
            "'continue_final_message' needs an assistant message without calls at the end of 'messages'.",
            "continue_final_message",
        )


def _controls(vocabulary: Vocabulary, family: Family) -> Controls:
    """Return what no client may spell: control tokens, and the markers that templates look for."""
    strings = vocabulary.control_strings
    if family.reasoning is not None:
        strings |= {family.reasoning.begin, family.reasoning.end}
    return compile_controls(strings)


def _write(request: Request, template: Renderer, vocabulary: Vocabulary, family: Family) -> list[Piece]:
    """Render with placeholders and cut the prompt at them."""
    controls = _controls(vocabulary, family)
    fill = partial(_fill, request, template, vocabulary, family)
    placeholders = Placeholders(controls)
    text = fill(placeholders)
    suspects = controls.around(placeholders.fragments, text)
    if suspects:
        # Such a control string is the template's own, or put together around a client's word: `<` + k + `>`.
        # With that word hidden, only the template's own are left.
        fragments = frozenset(placeholders.fragments)
        safer = Placeholders(controls, hidden=fragments)
        safer_text = fill(safer)
        if any(safer_text.count(string) < text.count(string) for string in suspects):
            placeholders, text = safer, safer_text
    return list(placeholders.cut(text))


def _fill(
    request: Request,
    template: Renderer,
    vocabulary: Vocabulary,
    family: Family,
    placeholders: Placeholders,
) -> str:
    """Return the template's text, in which placeholders stand for what a client spelled."""
    hide: Hide = placeholders.hide
    messages = template_turns(request.messages, template, family, hide)
    shown = () if request.choice.mode is Mode.NONE else request.tools
    end = placeholders.letter(END_OF_FINAL) if request.continue_final_message else ""
    if end:
        messages[-1]["content"] += end
    text = template.render(
        messages,
        tools=tool_definitions(shown, hide),
        add_generation_prompt=not end,
        arguments={
            **vocabulary.special_tokens,
            **template_arguments(template.traits.thinking, request.reasoning_effort),
            **placeholders.hide_spellings(request.template_arguments),
        },
    )
    return _cut_end(text, end)


def _cut_end(text: str, end: str) -> str:
    """Return the text up to the end of the message that is to be continued, if there is one."""
    if not end:
        return text
    before, mark, _ = text.rpartition(end)
    if not mark:
        raise ApiError(
            Code.TEMPLATE_REFUSED,
            "The model's chat template does not show the final message, so that it cannot be continued.",
            "continue_final_message",
        )
    return before


def _encode(pieces: Iterable[Piece], vocabulary: Vocabulary) -> Iterator[int]:
    for i, piece in enumerate(pieces):
        if piece.author is Author.CLIENT:
            yield from vocabulary.encode_plain(piece.text)
        else:
            yield from vocabulary.encode(piece.text, inside=i > 0)


def _opens_reasoning(pieces: Iterable[Piece], family: Family, vocabulary: Vocabulary) -> bool:
    """Return whether the template began the reasoning span in the answer's turn, and did not end it."""
    if family.reasoning is None:
        return False
    written = "".join(piece.text if piece.author is Author.TEMPLATE else "\0" for piece in pieces)
    for token_id in vocabulary.end_ids:
        written = written.rpartition(vocabulary.token_text(token_id))[2]
    return written.rfind(family.reasoning.begin) > written.rfind(family.reasoning.end)
