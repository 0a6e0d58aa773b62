"""`GET /v1/models` and `GET /v1/models/{model}`: the one served model, under each of its names.

{"object": "list", "data": [{"id": "SmolLM2-135M-Instruct", "object": "model", "max_model_len": 8192, …}]}
"""

from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from server.context import Context, context_of
from server.errors import ApiError, Code

SHOWN_NAME_LENGTH = 200

router = APIRouter(tags=["models"])


class ModelCard(BaseModel):
    id: str
    object: Literal["model"] = "model"
    created: int = Field(description="When the model was loaded, in seconds since 1970.")
    owned_by: str = "strictcall"
    root: str = Field(description="The canonical name, of which `id` may be an alias.")
    max_model_len: int = Field(description="Tokens that prompt and answer may have together.")


class ModelList(BaseModel):
    object: Literal["list"] = "list"
    data: list[ModelCard]


@router.get("/v1/models")
async def list_models(request: Request) -> ModelList:
    """List every name that `model` may have in a request."""
    context = context_of(request)
    return ModelList(data=[card(name, context) for name in context.model_names])


@router.get("/v1/models/{model:path}")
async def retrieve_model(model: str, request: Request) -> ModelCard:
    """Describe one model; its name may hold slashes."""
    context = context_of(request)
    find_model(model, context)
    return card(model, context)


def find_model(name: str | None, context: Context) -> None:
    """Raise `ApiError` (404 model_not_found) if no model is called `name`; none at all is the served one."""
    if name and name not in context.model_names:
        served = ", ".join(f"'{name}'" for name in context.model_names)
        message = f"The model '{name[:SHOWN_NAME_LENGTH]}' does not exist. This server has {served}."
        raise ApiError(Code.MODEL_NOT_FOUND, message, "model")


def card(name: str, context: Context) -> ModelCard:
    return ModelCard(
        id=name,
        created=context.created,
        root=context.model_names[0],
        max_model_len=context.engine.max_model_len,
    )
