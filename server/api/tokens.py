"""`POST /tokenize` and `POST /detokenize`: what a model reads of a text or a conversation, as vLLM says it.

POST /tokenize {"prompt": "Hello"}            → {"count": 1, "max_model_len": 8192, "tokens": [19556]}
POST /tokenize {"messages": […], "tools": […]} → the same, of the prompt that a chat request would have
POST /detokenize {"tokens": [19556]}          → {"prompt": "Hello"}
"""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Body, Request
from pydantic import BaseModel, Discriminator, Field, Tag

from server.api import refusals
from server.api.body_types import RequestBody
from server.api.chat.decode import decode_chat
from server.api.chat.request import ChatRequestBody
from server.api.models import find_model
from server.context import Context, context_of
from server.prompt.render import render

router = APIRouter(tags=["tokens"])


class TextBody(RequestBody):
    """A prompt as it stands: what spells a control token is one."""

    prompt: str
    model: str | None = None
    return_token_strs: bool | None = None


class ConversationBody(ChatRequestBody):
    """A chat request, of which only the prompt is made."""

    model: str = ""
    return_token_strs: bool | None = None


class DetokenizeBody(RequestBody):
    tokens: list[Annotated[int, Field(ge=0, le=2**31 - 1)]]
    model: str | None = None


class Tokens(BaseModel):
    count: int
    max_model_len: int
    tokens: list[int]
    token_strs: list[str] | None = None


class Text(BaseModel):
    prompt: str


def kind_of(body: Any) -> str:
    return "|text" if isinstance(body, dict) and body.get("prompt") is not None else "|conversation"


TokenizeBody = Annotated[
    Annotated[TextBody, Tag("|text")] | Annotated[ConversationBody, Tag("|conversation")],
    Discriminator(kind_of),
]


@router.post("/tokenize")
async def tokenize(body: Annotated[TokenizeBody, Body()], request: Request) -> Tokens:
    """Count and list the tokens of a text, or of a conversation with its tools."""
    context = context_of(request)
    find_model(body.model, context)
    ids = await asyncio.to_thread(token_ids, body, context)
    texts = [context.vocabulary.token_text(id) for id in ids] if body.return_token_strs else None
    return Tokens(count=len(ids), max_model_len=context.engine.max_model_len, tokens=ids, token_strs=texts)


@router.post("/detokenize")
async def detokenize(body: DetokenizeBody, request: Request) -> Text:
    """Give the text of tokens, control tokens included."""
    context = context_of(request)
    find_model(body.model, context)
    for index, token_id in enumerate(body.tokens):
        if token_id >= context.vocabulary.size:
            size = context.vocabulary.size
            raise refusals.invalid(f"tokens[{index}]", f"there is no token {token_id}, the model has {size}.")
    return Text(prompt=await asyncio.to_thread(context.vocabulary.decode, body.tokens))


def token_ids(body: TextBody | ConversationBody, context: Context) -> list[int]:
    if isinstance(body, TextBody):
        return context.vocabulary.encode(body.prompt)
    request = decode_chat(body, max_n=context.settings.max_n).request
    prompt = render(request, template=context.template, vocabulary=context.vocabulary, family=context.family)
    return list(prompt.token_ids)
