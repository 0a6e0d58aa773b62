"""The shape of every error, for the API description.

{"error": {"message": "…", "type": "invalid_request_error", "param": "tools[0].type", "code": "invalid_type"}}
"""

from typing import Any

from pydantic import BaseModel, Field


class ErrorDetail(BaseModel):
    message: str
    type: str = Field(examples=["invalid_request_error"])
    param: str | None = Field(description="Where in the request the fault is.", examples=["tools[0].type"])
    code: str | None = Field(examples=["invalid_value"])


class ErrorBody(BaseModel):
    error: ErrorDetail


# Said for every endpoint. FastAPI then does not invent its own 422, which this server never answers.
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": ErrorBody, "description": "The request has a fault, which `error` names."},
    "5XX": {"model": ErrorBody, "description": "The server or the model failed; the request may be retried."},
}
